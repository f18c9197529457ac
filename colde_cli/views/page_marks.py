"""The changes between two documents as highlights on the pages of a PDF, with notes, and as its outline.

Colours are those of the HTML report. Words that were deleted are struck through as well, inserted ones underlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO, Literal

from colde_cli.documents.document import Span
from colde_cli.documents.pdf.places import STRUCK, UNDERLINED, Entry, Look, Mark, read_places
from colde_cli.similarity.pairs import PassagePair, State, in_document
from colde_cli.similarity.redline import redline
from colde_cli.similarity.section_changes import SectionChange, SectionState
from colde_cli.views.changes import flags_of_edit
from colde_cli.views.sentences import changed_words
from colde_cli.views.wording import first_capital, flag_words, pair_state, place, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Section
    from colde_cli.documents.passages import Passage
    from colde_cli.documents.pdf.places import PagePlaces, Quad
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.mentions import Flag
    from colde_cli.similarity.redline import Edit
    from colde_cli.similarity.triage import WeightedChange

Side = Literal["a", "b"]

DELETED = Look("Deleted", (251, 217, 214), (159, 29, 21), STRUCK)
INSERTED = Look("Inserted", (205, 238, 218), (10, 90, 49), UNDERLINED)
MOVED = Look("Moved", (245, 238, 255), (123, 63, 196))
EDITED_BAR = Look("Edited", (181, 125, 18), (181, 125, 18))
MOVED_BAR = Look("Moved", (123, 63, 196), (123, 63, 196))
DELETED_HERE = Look("Deleted here", (159, 29, 21), (159, 29, 21))
INSERTED_HERE = Look("Inserted here", (10, 90, 49), (10, 90, 49))

_LONGEST = 1500
"""Maximum number of characters of a text in a note."""
_TITLE = 100
"""Maximum number of characters of an entry of the outline."""
_HEADING = 60
_SHORTEST = 12
"""Minimum number of characters of a passage that gets a bar; shorter ones are pieces of formulas."""


@dataclass(slots=True)
class PageMarks:
    """What is added to the pages of one document."""

    marks: list[Mark] = field(default_factory=list)  # in the order of the alignment
    places: dict[int, Quad] = field(default_factory=dict)  # of the first mark of each pair, by its number
    headings: list[Entry] = field(default_factory=list)  # of the outline, for headings that changed
    unplaced: int = 0  # number of changes with words that were not found on the pages


def read_marks(
    comparison: Comparison, side: Side, file: BinaryIO, password: str | None, pages: tuple[int, int] | None
) -> PageMarks | None:
    """Read where the words of one document are, and place all changes there; None if that is not known.

    The comparison is one with passages; the pages are those that were read, None for all.
    """
    marker = _Marker(comparison, side)
    places = read_places(file, marker.own, password, pages, marker.pages())
    return None if places is None else marker.placed(places)


def outline(comparison: Comparison, places: Mapping[int, Quad], headings: Sequence[Entry]) -> Entry:
    """The entry "Changes", with an entry for each change that has a place, the weightiest first, and for headings."""
    changes = [_entry(comparison, change, places) for change in comparison.changes]
    return Entry("Changes", None, (*(entry for entry in changes if entry is not None), *headings))


class _Marker:
    """Makes the marks of one of the two documents."""

    def __init__(self, comparison: Comparison, side: Side) -> None:
        self.own, self._other = comparison.a.document, comparison.b.document
        if side == "b":
            self.own, self._other = self._other, self.own
        self._comparison = comparison
        self._in_a = side == "a"
        self._look = DELETED if self._in_a else INSERTED
        self._places: PagePlaces

    def pages(self) -> set[int]:
        """Find the pages that may get marks."""
        spans = [section.pages for _, section in self._headings()]
        for pair, before in self._with_neighbours():
            if pair.state is not State.SAME:
                spans += [passage.pages for passage in self._sides(pair)[0] or before[-1:]]
        return {page for span in spans if span is not None for page in range(span[0], span[1] + 1)}

    def placed(self, places: PagePlaces) -> PageMarks:
        """Place all changes."""
        self._places = places
        made = PageMarks()
        for number, (pair, before) in enumerate(self._with_neighbours()):
            if pair.state is State.SAME:
                continue
            marks = list(self._marks(pair, before))
            if marks:
                made.places[number] = marks[0].quads[0]
            elif self._sides(pair)[0]:
                made.unplaced += 1
            made.marks += marks
        for change, section in self._headings():
            marks = list(self._heading(section, change))
            made.marks += marks
            if marks:
                made.headings.append(Entry(shorten(marks[0].note, _TITLE), marks[0].quads[0]))
        return made

    def _sides(self, pair: PassagePair) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        """The passages of this document, and those of the other."""
        return (pair.a, pair.b) if self._in_a else (pair.b, pair.a)

    def _with_neighbours(self) -> Iterator[tuple[PassagePair, tuple[Passage, ...]]]:
        """Yield all pairs, each with the passages of this document that stand before it."""
        before: tuple[Passage, ...] = ()
        for pair in self._comparison.passages:
            yield pair, before
            before = self._sides(pair)[0] or before

    def _headings(self) -> Iterator[tuple[SectionChange, Section]]:
        """Yield the changes of headings that this document shows, each with its section here."""
        for change in self._comparison.section_changes:
            if change.state in (SectionState.RENAMED, SectionState.ADDED, SectionState.DROPPED):
                for index in (change.a if self._in_a else change.b)[:1]:
                    yield change, self.own.sections[index]

    def _marks(self, pair: PassagePair, before: Sequence[Passage]) -> Iterator[Mark]:
        """Mark the words of a pair that changed, and its margin; of a passage of the other document only its place."""
        own, other = self._sides(pair)
        name = "B" if self._in_a else "A"
        where = ", ".join(filter(None, (name, *(place(self._other, other, _HEADING) if other else ()))))
        flags = _flag_lines(pair.flags)
        if not own:
            if self._comparison.versions and before:
                text = shorten(pair.a_text or pair.b_text, _LONGEST)
                note = "\n".join([f"Only in {where}:", text, *flags])
                yield from self._gap(before[-1], before[-1].span.end, note)
        elif not other:
            name, text = ("A", pair.a_text) if pair.a else ("B", pair.b_text)
            note = "\n".join([f"Only in {name}: {shorten(text, _LONGEST)}", *flags])
            yield from self._whole(own, self._look, note)
        else:
            moved = pair.state is State.MOVED
            if moved:
                yield from self._whole(own, MOVED, f"Moved: in {where}.")
            note = "\n".join([first_capital(pair_state(pair)), *flags])
            for passage in own:
                if len(passage.span) >= _SHORTEST:
                    quads = self._places.margin(passage.span)
                    yield from _by_page(MOVED_BAR if moved else EDITED_BAR, quads, note)
            for edit in pair.edits:
                yield from self._edit(pair, edit)

    def _heading(self, section: Section, change: SectionChange) -> Iterator[Mark]:
        """Mark the words of a heading that changed."""
        span = self.own.heading_span(section)
        own = self.own.text[span.start : span.end]
        others = change.b if self._in_a else change.a
        note, spans = f"Heading only in {'A' if self._in_a else 'B'}: {own}", [span]
        if others:
            there = self._other.heading_span(self._other.sections[others[0]])
            other = self._other.text[there.start : there.end]
            note = f"Heading: {own} → {other}" if self._in_a else f"Heading: {other} → {own}"
            spans = [Span(span.start + edit.a.start, span.start + edit.a.end) for edit in redline(own, other)]
        for part in spans:
            yield from _by_page(self._look, self._places.quads(span, part), shorten(note, _LONGEST))

    def _whole(self, passages: Sequence[Passage], look: Look, note: str) -> Iterator[Mark]:
        for passage in passages:
            yield from _by_page(look, self._places.quads(passage.span, passage.span), note)

    def _edit(self, pair: PassagePair, edit: Edit) -> Iterator[Mark]:
        """Mark the words of an edit; its span is one of the text of neighbouring passages."""
        own, note = self._sides(pair)[0], _edit_note(pair, edit)
        span = in_document(own, edit.a if self._in_a else edit.b)
        for passage in own:
            if not len(span) and span.start <= passage.span.end:
                yield from self._gap(passage, span.start, note)
                return
            if (begin := max(span.start, passage.span.start)) < (after := min(span.end, passage.span.end)):
                yield from _by_page(self._look, self._places.quads(passage.span, Span(begin, after)), note)

    def _gap(self, passage: Passage, offset: int, note: str) -> Iterator[Mark]:
        quad = self._places.caret(passage.span, offset)
        if quad is not None:
            yield Mark(INSERTED_HERE if self._in_a else DELETED_HERE, (quad,), note)


def _by_page(look: Look, quads: Sequence[Quad], note: str) -> Iterator[Mark]:
    for _, group in groupby(quads, key=lambda quad: quad.page):
        yield Mark(look, tuple(group), note)


def _edit_note(pair: PassagePair, edit: Edit) -> str:
    old, new = pair.words_of(edit)
    kind = "Replaced" if old and new else "Deleted" if old else "Inserted"
    texts = [f"{name}: {shorten(text, _LONGEST)}" for name, text in (("A", old), ("B", new)) if text]
    return "\n".join([kind, *texts, *_flag_lines(flags_of_edit(pair, edit))])


def _flag_lines(flags: Sequence[Flag]) -> list[str]:
    return [f"Flag: {kind} {change}" for kind, change in flag_words(flags)]


def _entry(comparison: Comparison, change: WeightedChange, first: Mapping[int, Quad]) -> Entry | None:
    """The entry of a change; the passages of one that runs through several are under it. None without a place."""
    numbers = [number for number in change.pairs if number in first]
    if not numbers:
        return None
    title = first_capital(changed_words(comparison.passages[numbers[0]]))
    if len(numbers) == 1:
        return Entry(shorten(title, _TITLE), first[numbers[0]])
    inner = tuple(Entry(f"p. {first[number].page}", first[number]) for number in numbers)
    return Entry(shorten(f"{len(numbers)} times {title}", _TITLE), first[numbers[0]], inner)
