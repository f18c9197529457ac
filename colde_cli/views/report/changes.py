"""The list of changes: state, flags, place and a few words of each pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colde_cli.documents.passages import whole_pages
from colde_cli.similarity.alignment import PassagePair, State
from colde_cli.similarity.flags import FlagKind
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.triage import weight
from colde_cli.views.escaping import short
from colde_cli.views.redline import Piece, holds, pieces
from colde_cli.views.wording import STATE_WORDS, heading, page_range

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.redline import Edit

STATE_LETTERS = {State.SAME: "s", State.EDITED: "e", State.MOVED: "m", State.ONLY_A: "a", State.ONLY_B: "b"}
"""States in the data and the classes of the page."""
_CONTEXT = 36
"""Characters shown before and after an edit."""
_EXCERPT = 80
"""Characters shown of an edit, or of a passage without a partner."""


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A row of the list.

    Attributes:
        number: of the pair; its permalink is #pN.
        weight: of the pair.
        letter: of its state.
        kinds: of its flags.
        flags: kind, words of A, words of B.
        section: heading in A, or in B if the pair is only there.
        pages: in A and in B.
        excerpt: the edit of the first flag, else the first edit, else the beginning of the passage.
    """

    number: int
    weight: float
    letter: str
    state: str
    kinds: list[str]
    flags: list[tuple[str, str, str]]
    section: str
    pages: str
    excerpt: tuple[Piece, ...]


def changes(comparison: Comparison) -> list[ListedChange]:
    """All pairs that are not the same, in their order."""
    return [
        _change(comparison, number, pair)
        for number, pair in enumerate(comparison.passages)
        if pair.state is not State.SAME
    ]


def weightiest(comparison: Comparison, listed: Sequence[ListedChange]) -> list[tuple[ListedChange, int]]:
    """The flagged changes, the weightiest first, each with the number of passages that it runs through."""
    rows = {change.number: change for change in listed}
    firsts = ((rows[change.pairs[0]], len(change.pairs)) for change in comparison.changes)
    return [(row, passages) for row, passages in firsts if row.flags]


def kind_counts(listed: Sequence[ListedChange]) -> list[tuple[str, int]]:
    """The number of changes with a flag of each kind, in the order of `FlagKind`."""
    counts = Counter(kind for change in listed for kind in change.kinds)
    return [(kind.value, counts[kind.value]) for kind in FlagKind if counts[kind.value]]


def longest(comparison: Comparison, listed: Sequence[ListedChange], most: int = 4) -> list[ListedChange]:
    """The longest passages of only one document, in their order; none if the documents are unrelated."""
    if comparison.related is False:
        return []
    alone = [change for change in listed if change.letter in "ab"]
    pairs = comparison.passages
    alone.sort(key=lambda change: -len(pairs[change.number].a_text or pairs[change.number].b_text))
    return sorted(alone[:most], key=lambda change: change.number)


def state_words(pair: PassagePair) -> str:
    """`edited`, `moved and edited`."""
    if pair.state is State.MOVED and pair.edits:
        return "moved and edited"
    return STATE_WORDS[pair.state]


def flag_kinds(pair: PassagePair) -> list[str]:
    """The kinds of a pair's flags, each once."""
    return list(dict.fromkeys(flag.kind.value for flag in pair.flags))


def pages(passages: Sequence[Passage]) -> str:
    """`p. 3`; "" without pages or passages."""
    return page_range(whole_pages(passages))


def _change(comparison: Comparison, number: int, pair: PassagePair) -> ListedChange:
    a, b = comparison.a.document, comparison.b.document
    sides = [f"{side} {page}" for side, page in (("A", pages(pair.a)), ("B", pages(pair.b))) if page]
    return ListedChange(
        number,
        weight(pair),
        STATE_LETTERS[pair.state],
        state_words(pair),
        flag_kinds(pair),
        [(flag.kind.value, short(flag.a, _EXCERPT), short(flag.b, _EXCERPT)) for flag in pair.flags],
        _section_name(a, pair.a) if pair.a else _section_name(b, pair.b),
        " → ".join(sides),
        change_excerpt(pair),
    )


def _section_name(document: Document, passages: Sequence[Passage]) -> str:
    return short(heading(document.sections[passages[0].section]), 60)


def change_excerpt(pair: PassagePair) -> tuple[Piece, ...]:
    """Choose a few words that identify the pair."""
    if not pair.edits:
        return (Piece(Operation.KEPT, short(pair.a_text or pair.b_text, 2 * _EXCERPT), gap=False),)
    return pieces(pair, _CONTEXT, _EXCERPT, only=_flagged_edit(pair))


def _flagged_edit(pair: PassagePair) -> Edit:
    """The edit that holds words of the first flag, else the first edit."""
    flagged = (edit for edit in pair.edits if pair.flags[:1] and holds(pair, edit, pair.flags[0]))
    return next(flagged, pair.edits[0])
