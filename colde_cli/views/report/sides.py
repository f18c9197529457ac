"""The text of each document once, in reading order: headings, passages with their redline, page breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from colde_cli.documents.document import Span
from colde_cli.similarity.alignment import State
from colde_cli.views.escaping import harmless
from colde_cli.views.report import names
from colde_cli.views.wording import became, heading

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, Section
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.comparison import Comparison

_PER_BLOCK = 12
"""Items that a browser lays out together, once they come near the screen."""


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a passage: "text", "cut" (an edit of it), "gap" (where the other inserted something) or "page"."""

    kind: str
    text: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A heading, a passage or a page break.

    Attributes:
        kind: "heading", "passage" or "page".
        anchor: its id in the page, or "".
        number: of the pair, the section or the page.
        letter: of the pair's state.
        level: of the heading in the page, 4 to 6.
        note: what became of the heading's section, or of the pair, in words.
        link: to the partner's id, or "".
        where: pages of the partner.
        kinds: of the pair's flags.
        runs: the text.
    """

    kind: str
    anchor: str = ""
    number: int = 0
    letter: str = ""
    level: int = 0
    note: str = ""
    link: str = ""
    where: str = ""
    kinds: Sequence[str] = ()
    runs: Sequence[Run] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """A document as the page shows it: `letter` is "a" or "b", `blocks` are items in reading order."""

    letter: str
    blocks: Sequence[Sequence[Item]]


def sides(comparison: Comparison) -> tuple[Side, Side]:
    """Both documents."""
    notes = _section_notes(comparison)
    return (
        Side("a", _blocks(_Writer(comparison, "a", notes[0]).items())),
        Side("b", _blocks(_Writer(comparison, "b", notes[1]).items())),
    )


def _blocks(items: Iterator[Item]) -> list[list[Item]]:
    """Items in groups."""
    numbered = enumerate(items)
    return [[item for _, item in group] for _, group in groupby(numbered, lambda each: each[0] // _PER_BLOCK)]


def _section_notes(comparison: Comparison) -> tuple[dict[int, str], dict[int, str]]:
    """What became of sections, by index, where a heading should say so."""
    a: dict[int, str] = {}
    b: dict[int, str] = {}
    for change in comparison.section_changes:
        if words := became(change):
            a.update(dict.fromkeys(change.a, words))
            b.update(dict.fromkeys(change.b, words))
    return a, b


class _Writer:
    """Writes one document down."""

    def __init__(self, comparison: Comparison, letter: str, notes: Mapping[int, str]) -> None:
        own, alignment = (comparison.a if letter == "a" else comparison.b), comparison.aligned
        self._letter, self._notes = letter, notes
        self._document: Document = own.document
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
        text = harmless(section.heading).strip() or heading(section)
        return Item(
            "heading",
            f"{self._letter}s{section.index}",
            section.index,
            level=min(6, 3 + max(1, section.level)),
            note=self._notes.get(section.index, ""),
            runs=(Run("text", text),),
        )

    def _passage(self, passage: Passage) -> Item:
        number, pair = self._pairs[passage.index]
        own, other = (pair.a, pair.b) if self._letter == "a" else (pair.b, pair.a)
        runs = tuple(self._runs(passage, pair))
        if passage.index != own[0].index:
            return Item("passage", "", number, names.LETTERS[pair.state], runs=runs)
        here, there = ("p", "q") if self._letter == "a" or not other else ("q", "p")
        changed = pair.state is not State.SAME
        return Item(
            "passage",
            f"{here}{number}",
            number,
            names.LETTERS[pair.state],
            note=names.state_words(pair) if changed else "",
            link=f"{there}{number}" if changed and other else "",
            where=names.pages(other) if changed else "",
            kinds=names.kinds(pair),
            runs=runs,
        )

    def _runs(self, passage: Passage, pair: PassagePair) -> Iterator[Run]:
        """The passage in pieces, cut at its edits and at the pages that begin inside it."""
        start, place = passage.span.start, passage.span.start
        for at, end, run in sorted(self._marks(passage, pair), key=lambda mark: mark[:2]):
            if at > place:
                yield Run("text", harmless(self._document.text[place:at]))
            yield run
            place = max(place, end)
        if place < passage.span.end:
            yield Run("text", harmless(self._document.text[max(place, start) : passage.span.end]))

    def _marks(self, passage: Passage, pair: PassagePair) -> Iterator[tuple[int, int, Run]]:
        """Edits and page breaks inside a passage, as offsets into the document; an edit ends at a page break."""
        breaks = list(self._pages_inside(passage.span))
        for page, at in breaks:
            yield at, at, Run("page", number=page)
        offset = self._offset(passage, pair)
        for number, edit in enumerate(pair.edits):
            own = edit.a if self._letter == "a" else edit.b
            first = max(passage.span.start, own.start + offset)
            last = min(passage.span.end, own.end + offset)
            if own.start == own.end and passage.span.start <= own.start + offset <= passage.span.end:
                yield first, first, Run("gap", number=number)
            for start, end in _pieces(first, last, [at for _, at in breaks]):
                yield start, end, Run("cut", harmless(self._document.text[start:end]), number)

    def _offset(self, passage: Passage, pair: PassagePair) -> int:
        """What turns a place in the pair's text, its passages joined by a blank line, into one of the document."""
        before = 0
        for other in pair.a if self._letter == "a" else pair.b:
            if other.index == passage.index:
                break
            before += len(other.span) + 2
        return passage.span.start - before

    def _pages_inside(self, span: Span) -> Iterator[tuple[int, int]]:
        last = self._page_at(span.end - 1)
        for page in range(self._page + 1, last + 1):
            at = self._document.page_starts[page - 1]
            if span.start < at < span.end:
                yield page, at
        self._page = max(self._page, last)


def _pieces(first: int, last: int, breaks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The parts of [first, last) between breaks; none where it is empty."""
    inside = [place for place in breaks if first < place < last]
    bounds = [first, *inside, last]
    yield from ((start, end) for start, end in pairwise(bounds) if start < end)
