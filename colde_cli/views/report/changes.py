"""What changed, as rows of a list: state, flags, place and a few words of each pair."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colde_cli.similarity.alignment import PassagePair, State
from colde_cli.similarity.flags import FlagKind
from colde_cli.views.escaping import short
from colde_cli.views.redline import Kind, Piece, pieces
from colde_cli.views.report import names

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.redline import Edit

_CONTEXT = 36
"""Characters shown before and after an edit."""
_SAID = 80
"""Characters of an edit, or of a passage without a partner, that are shown."""


@dataclass(frozen=True, slots=True)
class Change:
    """A row of the list.

    Attributes:
        number: of the pair, the N of its permalink #pN.
        letter: of its state.
        state: in words.
        kinds: of its flags.
        flags: kind, what A says, what B says.
        section: heading of A's, or where the pair stands only in B of B's.
        pages: where it stands in A and in B.
        excerpt: the edit that a flag is about, else the first; else the beginning of the passage.
    """

    number: int
    letter: str
    state: str
    kinds: list[str]
    flags: list[tuple[str, str, str]]
    section: str
    pages: str
    excerpt: tuple[Piece, ...]


def changes(comparison: Comparison) -> list[Change]:
    """All pairs that are not the same, in their order."""
    return [
        _change(comparison, number, pair)
        for number, pair in enumerate(comparison.passages)
        if pair.state is not State.SAME
    ]


def kind_counts(found: Sequence[Change]) -> list[tuple[str, int]]:
    """How many changes have a flag of each kind, the kinds in the order of `FlagKind`."""
    counts = Counter(kind for change in found for kind in change.kinds)
    return [(kind.value, counts[kind.value]) for kind in FlagKind if counts[kind.value]]


def longest(comparison: Comparison, found: Sequence[Change], most: int = 4) -> list[Change]:
    """Of what only one of two related documents has the longest passages, in their order; of strangers none."""
    if comparison.related is False:
        return []
    alone = [change for change in found if change.letter in "ab"]
    pairs = comparison.passages
    alone.sort(key=lambda change: -len(pairs[change.number].a_text or pairs[change.number].b_text))
    return sorted(alone[:most], key=lambda change: change.number)


def _change(comparison: Comparison, number: int, pair: PassagePair) -> Change:
    name = names.section_name(comparison.a.document, pair.a) or names.section_name(
        comparison.b.document, pair.b
    )
    places = [
        f"{side} {page}" for side, page in (("A", names.pages(pair.a)), ("B", names.pages(pair.b))) if page
    ]
    return Change(
        number,
        names.LETTERS[pair.state],
        names.state_words(pair),
        names.kinds(pair),
        [(flag.kind.value, short(flag.a, _SAID), short(flag.b, _SAID)) for flag in pair.flags],
        name,
        " → ".join(places),
        excerpt(pair),
    )


def excerpt(pair: PassagePair) -> tuple[Piece, ...]:
    """A few words that say which pair this is."""
    if not pair.edits:
        return (Piece(Kind.STAYED, short(pair.a_text or pair.b_text, 2 * _SAID), gap=False),)
    return pieces(pair, _CONTEXT, _SAID, only=_telling(pair))


def _telling(pair: PassagePair) -> Edit:
    """The edit that the first flag is about, as far as its words tell; else the first edit."""
    for flag in pair.flags[:1]:
        for edit in pair.edits:
            sides = ((flag.a, pair.a_text, edit.a), (flag.b, pair.b_text, edit.b))
            if any(
                said and span.start < found.end() and found.start() < span.end
                for said, text, span in sides
                for found in re.finditer(re.escape(said), text)
            ):
                return edit
    return pair.edits[0]
