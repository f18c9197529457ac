"""What changed, as rows of a list: state, flags, place and a few words of each pair."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colde_cli.similarity.alignment import PassagePair, State
from colde_cli.similarity.flags import FlagKind
from colde_cli.views.report import names
from colde_cli.views.report.clean import short

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.redline import Edit

_CONTEXT = 36
"""Characters shown before and after an edit."""
_SAID = 80
"""Characters of an edit, or of a passage without a partner, that are shown."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A few words of a pair: what stayed before, what was deleted, what was inserted, what stayed after."""

    before: str
    deleted: str
    inserted: str
    after: str


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
    excerpt: Excerpt


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


def excerpt(pair: PassagePair) -> Excerpt:
    """A few words that say which pair this is."""
    if not pair.edits:
        return Excerpt(short(pair.a_text or pair.b_text, 2 * _SAID), "", "", "")
    edit = _telling(pair)
    a, b = edit.a, edit.b
    before = _whole_words(pair.a_text[max(0, a.start - _CONTEXT) : a.start], cut_first=a.start > _CONTEXT)
    after = _whole_words(pair.a_text[a.end : a.end + _CONTEXT], cut_last=a.end + _CONTEXT < len(pair.a_text))
    if len(b):
        # An insertion keeps the blanks that it has in B.
        before += " " * (_blank(pair.b_text, b.start - 1) and not len(a) and not before.endswith(" "))
        after = " " * (_blank(pair.b_text, b.end) and not after.startswith(" ")) + after
    deleted, inserted = pair.a_text[a.start : a.end], pair.b_text[b.start : b.end]
    return Excerpt(before, short(deleted, _SAID), short(inserted, _SAID), after)


def _blank(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isspace()


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


def _whole_words(text: str, *, cut_first: bool = False, cut_last: bool = False) -> str:
    """Context on one line, an ellipsis where it was cut; blanks at its inner end are kept as one."""
    words = text
    if cut_first and " " in words:
        words = f"…{words.partition(' ')[2]}"
    if cut_last and " " in words:
        words = f"{words.rpartition(' ')[0]}…"
    lead = " " if words[:1].isspace() else ""
    tail = " " if words[-1:].isspace() else ""
    return f"{lead}{short(words, 2 * _CONTEXT)}{tail}"
