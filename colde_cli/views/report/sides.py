"""The text of each document in reading order: headings, passages with their edits, page breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from colde_cli.documents.document import Span
from colde_cli.similarity.pairs import State, in_document
from colde_cli.views.escaping import harmless
from colde_cli.views.report.overview import STATE_LETTERS, pages, state_words
from colde_cli.views.wording import flag_kinds, heading, section_state

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, Section
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.pairs import PassagePair

_PER_BLOCK = 12
"""Number of items that a browser lays out together when they come near the screen."""


@dataclass(frozen=True, slots=True)
class TextRun:
    """A piece of a passage: "text", "cut" (an edit), "gap" (an insertion of the other side) or "page" (a break)."""

    kind: str
    text: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A heading, a passage or a page break, with the number of section, pair or page; `link` leads to its partner."""

    kind: str
    anchor: str = ""
    number: int = 0
    letter: str = ""
    level: int = 0
    note: str = ""
    link: str = ""
    where: str = ""
    kinds: Sequence[str] = ()
    runs: Sequence[TextRun] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """A document in the page: its letter, "a" or "b", and blocks of items in reading order."""

    letter: str
    blocks: Sequence[Sequence[Item]]


def sides(comparison: Comparison) -> tuple[Side, Side]:
    """The texts of both documents."""
    a, b = _section_notes(comparison)
    return _side(comparison, "a", a), _side(comparison, "b", b)


def _side(comparison: Comparison, letter: str, notes: Mapping[int, str]) -> Side:
    items = enumerate(_SideBuilder(comparison, letter, notes).items())
    groups = groupby(items, lambda numbered: numbered[0] // _PER_BLOCK)
    return Side(letter, [[item for _, item in group] for _, group in groups])


def _section_notes(comparison: Comparison) -> tuple[dict[int, str], dict[int, str]]:
    """The states of changed sections in A and in B, by index."""
    a: dict[int, str] = {}
    b: dict[int, str] = {}
    for change in comparison.section_changes:
        if words := section_state(change):
            a.update(dict.fromkeys(change.a, words))
            b.update(dict.fromkeys(change.b, words))
    return a, b


def heading_partners(comparison: Comparison) -> list[int]:
    """For each section of B the section of A whose heading it took over; -1 for none."""
    partners = [-1] * len(comparison.b.document.sections)
    for change in comparison.section_changes:
        if change.a and change.b:
            partners[change.b[0]] = change.a[0]
    return partners


class _SideBuilder:
    """Builds the items of one document."""

    def __init__(self, comparison: Comparison, letter: str, notes: Mapping[int, str]) -> None:
        encoding, alignment = (comparison.a if letter == "a" else comparison.b), comparison.aligned
        self._letter, self._notes = letter, notes
        self._document: Document = encoding.document
        self._passages = alignment.a if letter == "a" else alignment.b
        self._pairs: dict[int, tuple[int, PassagePair]] = {
            passage.index: (number, pair)
            for number, pair in enumerate(alignment.pairs)
            for passage in (pair.a if letter == "a" else pair.b)
        }
        self._page = 0

    def items(self) -> Iterator[Item]:
        """Headings, passages and page breaks in reading order."""
        by_section: dict[int, list[Passage]] = {}
        for passage in self._passages:
            by_section.setdefault(passage.section, []).append(passage)
        for section in self._document.sections:
            yield from self._break_before(section.span.start)
            yield self._heading(section)
            self._page = max(self._page, self._page_at(section.body_start - 1))
            for passage in by_section.get(section.index, ()):
                yield from self._break_before(passage.span.start)
                yield self._passage(passage)

    def _page_at(self, place: int) -> int:
        pages = self._document.pages_of(Span(max(0, place), max(0, place)))
        return pages[0] if pages else 0

    def _break_before(self, place: int) -> Iterator[Item]:
        page = self._page_at(place)
        if page > self._page:
            self._page = page
            yield Item("page", number=page)

    def _heading(self, section: Section) -> Item:
        text = harmless(f"{section.number} {section.heading}").strip() if section.heading else heading(section)
        return Item(
            "heading",
            f"{self._letter}s{section.index}",
            section.index,
            level=min(6, 3 + max(1, section.level)),
            note=self._notes.get(section.index, ""),
            runs=(TextRun("text", text),),
        )

    def _passage(self, passage: Passage) -> Item:
        number, pair = self._pairs[passage.index]
        here, there = (pair.a, pair.b) if self._letter == "a" else (pair.b, pair.a)
        runs = tuple(self._runs(passage, pair))
        if passage.index != here[0].index:
            return Item("passage", "", number, STATE_LETTERS[pair.state], runs=runs)
        own_id, other_id = ("p", "q") if self._letter == "a" or not there else ("q", "p")
        changed = pair.state is not State.SAME
        return Item(
            "passage",
            f"{own_id}{number}",
            number,
            STATE_LETTERS[pair.state],
            note=state_words(pair) if changed else "",
            link=f"{other_id}{number}" if changed and there else "",
            where=pages(there) if changed else "",
            kinds=flag_kinds(pair.flags),
            runs=runs,
        )

    def _runs(self, passage: Passage, pair: PassagePair) -> Iterator[TextRun]:
        """The passage in pieces, cut at its edits and page breaks."""
        start, place = passage.span.start, passage.span.start
        for at, end, run in sorted(self._marks(passage, pair), key=lambda mark: mark[:2]):
            if at > place:
                yield TextRun("text", harmless(self._document.text[place:at]))
            yield run
            place = max(place, end)
        if place < passage.span.end:
            yield TextRun("text", harmless(self._document.text[max(place, start) : passage.span.end]))

    def _marks(self, passage: Passage, pair: PassagePair) -> Iterator[tuple[int, int, TextRun]]:
        """Edits and page breaks inside a passage, as offsets in the document; a page break cuts an edit in two."""
        breaks = list(self._pages_inside(passage.span))
        for page, at in breaks:
            yield at, at, TextRun("page", number=page)
        for number, edit in enumerate(pair.edits):
            span = in_document(pair.a, edit.a) if self._letter == "a" else in_document(pair.b, edit.b)
            if not len(span) and passage.span.start <= span.start <= passage.span.end:
                yield span.start, span.start, TextRun("gap", number=number)
            first, last = max(passage.span.start, span.start), min(passage.span.end, span.end)
            for start, end in _pieces(first, last, [at for _, at in breaks]):
                yield start, end, TextRun("cut", harmless(self._document.text[start:end]), number)

    def _pages_inside(self, span: Span) -> Iterator[tuple[int, int]]:
        last = self._page_at(span.end - 1)
        for page in range(self._page + 1, last + 1):
            at = self._document.page_starts[page - 1]
            if span.start < at < span.end:
                yield page, at
        self._page = max(self._page, last)


def _pieces(first: int, last: int, breaks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The parts of [first, last) between breaks."""
    inside = [place for place in breaks if first < place < last]
    bounds = [first, *inside, last]
    yield from ((start, end) for start, end in pairwise(bounds) if start < end)
