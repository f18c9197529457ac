"""The changes between two documents as highlights on the pages of a PDF, with notes, and as its outline.

Colours are those of the HTML report. Words that were deleted are struck through as well, inserted ones underlined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO, Literal

from colde_cli.documents.document import Span
from colde_cli.documents.pdf.marking import Entry, Look, Mark, Stroke
from colde_cli.documents.pdf.places import read_places
from colde_cli.similarity.alignment import PassagePair, State
from colde_cli.similarity.redline import redline
from colde_cli.similarity.section_changes import SectionChange, SectionState
from colde_cli.views.redline import flags_of_edit
from colde_cli.views.wording import first_capital, flag_words, pair_state, place, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Section
    from colde_cli.documents.passages import Passage
    from colde_cli.documents.pdf.places import PagePlaces, Quad
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.flags import Flag
    from colde_cli.similarity.redline import Edit
    from colde_cli.similarity.triage import WeightedChange

Side = Literal["a", "b"]

NO_PLACES = "the places of its words are not known; print it to a new PDF."

DELETED = Look("Deleted", (251, 217, 214), (159, 29, 21), Stroke.STRUCK)
INSERTED = Look("Inserted", (205, 238, 218), (10, 90, 49), Stroke.UNDERLINED)
MOVED = Look("Moved", (245, 238, 255), (123, 63, 196))
EDITED_BAR = Look("Edited", (181, 125, 18), (181, 125, 18))
MOVED_BAR = Look("Moved", (123, 63, 196), (123, 63, 196))
DELETED_HERE = Look("Deleted here", (159, 29, 21), (159, 29, 21))
INSERTED_HERE = Look("Inserted here", (10, 90, 49), (10, 90, 49))

_LONGEST = 1500
"""Maximum number of characters of a text in a note."""
_TITLE, _SIDE = 100, 40
"""Maximum number of characters of an entry of the outline, and of each of two texts in it."""
_HEADING = 60
_SHORTEST = 12
"""Minimum number of characters of a passage that gets a bar; shorter ones are pieces of formulas."""
_HEADING_STATES = {SectionState.RENAMED, SectionState.ADDED, SectionState.DROPPED}
_MAX_FLAGS = 2


@dataclass(slots=True)
class PageMarks:
    """What is added to the pages of one document.

    Attributes:
        marks: in the order of the alignment.
        places: of the first mark of each pair of passages, by its number.
        headings: entries of the outline for headings that changed.
        unplaced: number of changes with words that were not found on the pages.
    """

    marks: list[Mark] = field(default_factory=list)
    places: dict[int, Quad] = field(default_factory=dict)
    headings: list[Entry] = field(default_factory=list)
    unplaced: int = 0


def marked_pages(comparison: Comparison, side: Side) -> set[int]:
    """Find the pages of one document that may get marks."""
    pages: set[int] = set()
    for pair, before in _with_neighbours(comparison, side):
        if pair.state is State.SAME:
            continue
        for passage in (pair.a if side == "a" else pair.b) or before[-1:]:
            pages |= _pages(passage.pages)
    for _, sections in _headings(comparison, side):
        for section in sections:
            pages |= _pages(section.pages)
    return pages


def _pages(span: tuple[int, int] | None) -> set[int]:
    return set() if span is None else set(range(span[0], span[1] + 1))


def _headings(comparison: Comparison, side: Side) -> Iterator[tuple[SectionChange, list[Section]]]:
    """Yield the changes of headings that one document shows, each with its sections there."""
    document = (comparison.a if side == "a" else comparison.b).document
    for change in comparison.section_changes:
        if change.state in _HEADING_STATES:
            own = change.a if side == "a" else change.b
            yield change, [document.sections[index] for index in own[:1]]


def read_marks(
    comparison: Comparison, side: Side, file: BinaryIO, password: str | None, pages: tuple[int, int] | None
) -> PageMarks | None:
    """Read where the words of one document are, and place all changes there; None if that is not known.

    Args:
        comparison: with passages.
        side: of the document.
        file: the PDF, open.
        password: of an encrypted file.
        pages: that were read; None for all.
    """
    document = (comparison.a if side == "a" else comparison.b).document
    places = read_places(file, document, password, pages, marked_pages(comparison, side))
    return None if places is None else page_marks(comparison, side, places)


def page_marks(comparison: Comparison, side: Side, places: PagePlaces) -> PageMarks:
    """Place all changes on the pages of one document.

    Args:
        comparison: with passages.
        side: of the document.
        places: of its words.
    """
    made = PageMarks()
    marker = _Marker(comparison, side, places)
    for number, (pair, before) in enumerate(_with_neighbours(comparison, side)):
        marks = [] if pair.state is State.SAME else list(marker.marks(pair, before))
        if marks:
            made.places[number] = marks[0].quads[0]
        elif pair.state is not State.SAME and (pair.a if side == "a" else pair.b):
            made.unplaced += 1
        made.marks += marks
    for change, sections in _headings(comparison, side):
        for section in sections:
            marks = list(marker.heading(section, change))
            made.marks += marks
            if marks:
                made.headings.append(Entry(shorten(marks[0].note, _TITLE), marks[0].quads[0]))
    return made


def outline(comparison: Comparison, places: Mapping[int, Quad], headings: Sequence[Entry]) -> Entry:
    """The entry "Changes", with an entry for each change that has a place, the weightiest first, and for headings."""
    found = (_entry(comparison, change, places) for change in comparison.changes)
    return Entry("Changes", None, (*(entry for entry in found if entry is not None), *headings))


def _with_neighbours(comparison: Comparison, side: Side) -> Iterator[tuple[PassagePair, tuple[Passage, ...]]]:
    """Yield all pairs, each with the passages of one document that stand before it."""
    before: tuple[Passage, ...] = ()
    for pair in comparison.passages:
        yield pair, before
        before = (pair.a if side == "a" else pair.b) or before


class _Marker:
    """Makes the marks of pairs in one of the two documents."""

    def __init__(self, comparison: Comparison, side: Side, places: PagePlaces) -> None:
        self._own, self._other = comparison.a.document, comparison.b.document
        if side == "b":
            self._own, self._other = self._other, self._own
        self._versions = comparison.versions
        self._in_a = side == "a"
        self._places = places

    def marks(self, pair: PassagePair, before: Sequence[Passage]) -> Iterator[Mark]:
        """Mark the words of a pair that changed, and its margin; of a passage of the other document only its place."""
        own, other = (pair.a, pair.b) if self._in_a else (pair.b, pair.a)
        if not own:
            if self._versions and before:
                yield from self._gap(
                    before[-1], before[-1].span.end, _missing(pair, self._place(other, own=False))
                )
        elif not other:
            look = DELETED if self._in_a else INSERTED
            yield from self._whole(own, look, _alone(pair))
        else:
            if pair.state is State.MOVED:
                yield from self._whole(own, MOVED, f"Moved: in {self._place(other, own=False)}.")
            yield from self._bar(pair, own)
            for edit in pair.edits:
                yield from self._edit(pair, edit)

    def heading(self, section: Section, change: SectionChange) -> Iterator[Mark]:
        """Mark the words of a heading that changed."""
        span = self._own.heading_span(section)
        own, look = self._own.text[span.start : span.end], DELETED if self._in_a else INSERTED
        others = change.b if self._in_a else change.a
        note, spans = f"Heading only in {'A' if self._in_a else 'B'}: {own}", [span]
        if others:
            section = self._other.sections[others[0]]
            place = self._other.heading_span(section)
            other = self._other.text[place.start : place.end]
            note = f"Heading: {own} → {other}" if self._in_a else f"Heading: {other} → {own}"
            spans = [Span(span.start + edit.a.start, span.start + edit.a.end) for edit in redline(own, other)]
        for part in spans:
            yield from _by_page(look, self._places.quads(span, part), shorten(note, _LONGEST))

    def _place(self, passages: Sequence[Passage], *, own: bool) -> str:
        """`B, p. 3, 2 Methods`."""
        document = self._own if own else self._other
        name = "A" if self._in_a == own else "B"
        return ", ".join(part for part in (name, *place(document, passages, _HEADING)) if part)

    def _whole(self, passages: Sequence[Passage], look: Look, note: str) -> Iterator[Mark]:
        for passage in passages:
            yield from _by_page(look, self._places.quads(passage.span, passage.span), note)

    def _bar(self, pair: PassagePair, own: Sequence[Passage]) -> Iterator[Mark]:
        look = MOVED_BAR if pair.state is State.MOVED else EDITED_BAR
        lines = [first_capital(pair_state(pair)), *_flag_lines(pair.flags)]
        for passage in own:
            if len(passage.span) >= _SHORTEST:
                yield from _by_page(look, self._places.margin(passage.span), "\n".join(lines))

    def _edit(self, pair: PassagePair, edit: Edit) -> Iterator[Mark]:
        own = edit.a if self._in_a else edit.b
        look = DELETED if self._in_a else INSERTED
        note = _edit_note(pair, edit)
        passages = pair.a if self._in_a else pair.b
        if not len(own):
            for passage, offset in _at(passages, own.start):
                yield from self._gap(passage, offset, note)
                return
        for passage, part in _parts(passages, own):
            yield from _by_page(look, self._places.quads(passage.span, part), note)

    def _gap(self, passage: Passage, offset: int, note: str) -> Iterator[Mark]:
        quad = self._places.caret(passage.span, offset)
        if quad is not None:
            yield Mark(INSERTED_HERE if self._in_a else DELETED_HERE, (quad,), note)


def _by_page(look: Look, quads: Sequence[Quad], note: str) -> Iterator[Mark]:
    for _, group in groupby(quads, key=lambda quad: quad.page):
        yield Mark(look, tuple(group), note)


def _parts(passages: Sequence[Passage], span: Span) -> Iterator[tuple[Passage, Span]]:
    """Divide a span of the text of neighbouring passages among them, as spans of the document."""
    start = 0
    for passage in passages:
        begin, end = max(span.start, start), min(span.end, start + len(passage.span))
        if begin < end:
            shift = passage.span.start - start
            yield passage, Span(begin + shift, end + shift)
        start += len(passage.span) + 2  # a blank line is between them


def _at(passages: Sequence[Passage], offset: int) -> Iterator[tuple[Passage, int]]:
    """Find the passage at an offset of the text of neighbouring passages, and the offset in the document."""
    start = 0
    for passage in passages:
        if offset <= start + len(passage.span):
            yield passage, max(0, offset - start) + passage.span.start
        start += len(passage.span) + 2


def _edit_note(pair: PassagePair, edit: Edit) -> str:
    old, new = pair.words_of(edit)
    kind = "Replaced" if old and new else "Deleted" if old else "Inserted"
    texts = [f"{name}: {shorten(text, _LONGEST)}" for name, text in (("A", old), ("B", new)) if text]
    return "\n".join([kind, *texts, *_flag_lines(flags_of_edit(pair, edit))])


def _alone(pair: PassagePair) -> str:
    name, text = ("A", pair.a_text) if pair.a else ("B", pair.b_text)
    return "\n".join([f"Only in {name}: {shorten(text, _LONGEST)}", *_flag_lines(pair.flags)])


def _missing(pair: PassagePair, where: str) -> str:
    lines = [f"Only in {where}:", shorten(pair.a_text or pair.b_text, _LONGEST), *_flag_lines(pair.flags)]
    return "\n".join(lines)


def _flag_lines(flags: Sequence[Flag]) -> list[str]:
    return [f"Flag: {kind} {change}" for kind, change in flag_words(flags)]


def _entry(comparison: Comparison, change: WeightedChange, first: Mapping[int, Quad]) -> Entry | None:
    """The entry of a change; the passages of one that runs through several are under it. None without a place."""
    numbers = [number for number in change.pairs if number in first]
    if not numbers:
        return None
    title = _title(comparison.passages[numbers[0]])
    if len(numbers) == 1:
        return Entry(shorten(title, _TITLE), first[numbers[0]])
    inner = tuple(Entry(f"p. {first[number].page}", first[number]) for number in numbers)
    return Entry(shorten(f"{len(numbers)} times {title}", _TITLE), first[numbers[0]], inner)


def _title(pair: PassagePair) -> str:
    if not pair.a or not pair.b:
        name, text = ("A", pair.a_text) if pair.a else ("B", pair.b_text)
        return f"Only in {name}: {text}"
    if pair.flags:
        return first_capital(
            "; ".join(f"{kind} {change}" for kind, change in flag_words(pair.flags[:_MAX_FLAGS], 1))
        )
    if not pair.edits:
        return f"Moved: {pair.a_text}"
    edit = pair.edits[0]
    old, new = pair.words_of(edit)
    sides = " → ".join(shorten(text, _SIDE) or "–" for text in (old, new))
    return f"{first_capital(pair.state.value)}: {sides}"
