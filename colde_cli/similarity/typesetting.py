"""Tell whether two texts are the same, and find the places where typesetting alone differs.

Two texts that are not the same have an edit that a redline shows, or a place here: no difference goes untold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from colde_cli.documents.document import Document, Span, document_text
from colde_cli.documents.notation import in_line
from colde_cli.similarity.layout_marks import content_marks, without_bullets, without_dashes, without_typesetting
from colde_cli.similarity.pairs import Alignment, PassagePair, State, in_document
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, between, changed_blocks, normal
from colde_cli.similarity.section_changes import SectionState, section_changes

_PIECE = re.compile(r"\S+")
_AROUND = 5
"""Maximum number of words shown before and after a place."""
_MOST_CELLS = 10**9
"""Pieces of A times pieces of B; more would take too much memory, and make one place."""

Form = Callable[[str], str]
"""Brings a text into the form in which it is compared."""


@dataclass(frozen=True, slots=True)
class TypesettingPlace:
    """A place where two texts differ, though no edit shows it: in blanks, hyphens, quotation marks, bullets, ligatures.

    Attributes:
        a: its characters in `Document.text` of the first document; empty where only the second has any.
        b: its characters in the second document.
        a_text: those of `a`, on one line.
        b_text: those of `b`, on one line.
        before: a few words before it, as the second document has them.
    """

    a: Span
    b: Span
    a_text: str
    b_text: str
    before: str = ""
    after: str = ""


def same_texts(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> bool:
    """Whether two texts are the same, apart from white space and ignored differences; see `form_between`."""
    if a.report.unread_values or b.report.unread_values:
        return False  # the values that could not be read may differ
    if content(a, ignore) == content(b, ignore):
        return True
    left, right = forms_between(a, b, ignore)
    return left(document_text(a)) == right(document_text(b))


def content(document: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Join the text of all sections, every run of white space as one blank, without ignored differences."""
    return normal(document_text(document), ignore)


def forms_between(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[Form, Form]:
    """The forms in which texts of two documents are compared: what differs in them differs.

    For a PDF and its source, typesetting, bullets and table bars are ignored; for a Word file that numbers its lists by
    itself and a text with the numbers, the marks of list items. Bullets are typesetting and marks of list items, too.
    Two formats may write exponents and fractions in two ways.
    """
    counted = a.report.counted_numbers is not b.report.counted_numbers
    across, bulleted = a.format != b.format, ignore.whitespace or ignore.list_marks
    ignore = between(a, b, ignore)
    printed = ignore.layout
    ignore = replace(ignore, whitespace=ignore.whitespace or printed, list_marks=ignore.list_marks or counted)
    marks = content_marks(a.text, b.text) - {"|"}

    def form(other: Document) -> Form:
        def changed(text: str) -> str:
            if printed:
                text = without_typesetting(without_dashes(text, other.text), marks)
            elif bulleted:
                text = without_bullets(text)
            return normal(in_line(text) if across else text, ignore)

        return changed

    return form(b), form(a)


def typesetting_places(
    a: Document, b: Document, alignment: Alignment, ignore: IgnoreOptions = NOTHING_IGNORED
) -> tuple[TypesettingPlace, ...]:
    """Find the places where two documents that are not the same differ though no edit shows it, in the order of B.

    They stand in paired passages, between the edits, and in headings of the same name. If nothing differs there, and no
    passage or section changed, they are `places_anywhere`.
    """
    search = _PlaceSearch((a, b), ignore)
    changes = section_changes(alignment, a, b, ignore)
    for change in changes:
        if change.a and change.b and change.state is not SectionState.RENAMED:
            search.add(a.heading_span(a.sections[change.a[0]]), b.heading_span(b.sections[change.b[0]]))
    for pair in alignment.pairs:
        if pair.a and pair.b:
            for one, two in _kept(pair):
                search.add(one, two)
    shown = any(pair.state is not State.SAME for pair in alignment.pairs)
    if not (search.found or shown or any(change.state is not SectionState.MATCHED for change in changes)):
        return places_anywhere(a, b, ignore)
    return search.ordered()


def places_anywhere(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[TypesettingPlace, ...]:
    """Find all places where two whole texts differ, in the order of B: such as a heading in another place."""
    search = _PlaceSearch((a, b), ignore)
    search.add(Span(0, len(a.text)), Span(0, len(b.text)))
    return search.ordered()


class _PlaceSearch:
    """Collects the places where stretches of two documents differ.

    Attributes:
        found: by their offsets in both texts.
    """

    def __init__(self, documents: tuple[Document, Document], ignore: IgnoreOptions) -> None:
        self._texts = documents[0].text, documents[1].text
        self._forms = forms_between(*documents, ignore)
        self.found: dict[tuple[int, int], TypesettingPlace] = {}

    def add(self, a: Span, b: Span) -> None:
        """Add the places of two stretches, as offsets in the texts of the documents."""
        one, two = (text[span.start : span.end] for text, span in zip(self._texts, (a, b), strict=True))
        if one.split() == two.split() or self._forms[0](one) == self._forms[1](two):
            return
        left, right = (
            [(start + match.start(), start + match.end()) for match in _PIECE.finditer(text)]
            for text, start in ((one, a.start), (two, b.start))
        )
        for i, j, k, n in self._blocks(left, right):
            place = self._place(
                Span(*_reach(left, i, j, a)),
                Span(*_reach(right, k, n, b)),
                right[max(0, k - _AROUND) : k],
                right[n : n + _AROUND],
            )
            self.found.setdefault((place.a.start, place.b.start), place)

    def ordered(self) -> tuple[TypesettingPlace, ...]:
        """All places, in the order of B."""
        return tuple(sorted(self.found.values(), key=lambda place: (place.b.start, place.a.start)))

    def _blocks(
        self, left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int, int]]:
        """Pieces [i, j) of A that are pieces [k, n) of B."""
        keys = [
            [form(text[start:end]) for start, end in pieces]
            for form, text, pieces in zip(self._forms, self._texts, (left, right), strict=True)
        ]
        # How many pieces at the beginning, and how many at the end, are the same.
        most = min(len(left), len(right))
        head = next((place for place in range(most) if keys[0][place] != keys[1][place]), most)
        rest = range(most - head)
        tail = next((place for place in rest if keys[0][-1 - place] != keys[1][-1 - place]), most - head)
        one, two = (side[head : len(side) - tail] for side in keys)
        if len(one) * len(two) > _MOST_CELLS:
            yield head, head + len(one), head, head + len(two)
        elif two < one:  # so that B with A has the same places
            yield from ((head + i, head + j, head + k, head + n) for k, n, i, j in changed_blocks(two, one))
        else:
            yield from ((head + i, head + j, head + k, head + n) for i, j, k, n in changed_blocks(one, two))

    def _place(
        self, a: Span, b: Span, before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]
    ) -> TypesettingPlace:
        one, two = (
            " ".join(text[span.start : span.end].split()) for text, span in zip(self._texts, (a, b), strict=True)
        )
        words = (" ".join(self._texts[1][start:end] for start, end in side) for side in (before, after))
        return TypesettingPlace(a, b, one, two, *words)


def _reach(pieces: Sequence[tuple[int, int]], first: int, last: int, within: Span) -> tuple[int, int]:
    """The characters of pieces [first, last); of none, the place after the piece before."""
    if first < last:
        return pieces[first][0], pieces[last - 1][1]
    place = pieces[first - 1][1] if first else within.start
    return place, place


def _kept(pair: PassagePair) -> Iterator[tuple[Span, Span]]:
    """The stretches of a pair between its edits, as offsets in the texts of the documents."""
    ends = Span(len(pair.a_text), len(pair.a_text)), Span(len(pair.b_text), len(pair.b_text))
    starts = Span(0, 0)
    bounds = [(starts, starts), *((edit.a, edit.b) for edit in pair.edits), ends]
    for before, after in pairwise(bounds):
        yield (
            in_document(pair.a, Span(before[0].end, after[0].start)),
            in_document(pair.b, Span(before[1].end, after[1].start)),
        )


def typesetting_data(places: Sequence[TypesettingPlace]) -> list[dict[str, Any]]:
    """Build the places as JSON has them."""
    return [
        {
            "a": {"text": place.a_text, "span": [place.a.start, place.a.end]},
            "b": {"text": place.b_text, "span": [place.b.start, place.b.end]},
            "before": place.before,
            "after": place.after,
        }
        for place in places
    ]
