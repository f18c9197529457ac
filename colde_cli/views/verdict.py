"""The verdict on two documents in one sentence: what they are, and what changed most."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from colde_cli.similarity.alignment import State
from colde_cli.similarity.flags import FlagKind
from colde_cli.similarity.genre import Genre, common_genre
from colde_cli.views.wording import first_capital, plural, same_texts

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison

_TOUCHED = {
    FlagKind.AMOUNT: "amounts",
    FlagKind.PARTY: "parties",
    FlagKind.OBLIGATION: "duties",
    FlagKind.NEGATION: "negations",
    FlagKind.EXCEPTION: "exceptions",
    FlagKind.SCOPE: "scope",
    FlagKind.COMPARISON: "limits",
    FlagKind.PERCENTAGE: "percentages",
    FlagKind.DATE: "dates",
    FlagKind.UNIT: "units",
    FlagKind.NUMBER: "numbers",
    FlagKind.REFERENCE: "references",
    FlagKind.TERM: "terms",
    FlagKind.NAME: "names",
}
"""What a flag touches; a clause that came or went is counted by itself."""
_MOST_TOUCHED = 3
_PLURALS = {Genre.POLICY: "policies"}
_STATES = {State.EDITED: "edited", State.MOVED: "moved", State.ONLY_B: "added", State.ONLY_A: "dropped"}


def one_text(comparison: Comparison) -> bool:
    """Whether both documents are versions of one text: nobody then asks whether they are related."""
    return comparison.same_content or comparison.versions


def verdict_sentence(comparison: Comparison) -> str:
    """Say what two documents are: `Two versions of one contract: 10 clauses edited, 1 added; 7 changes touch dates`."""
    if comparison.same_content:
        return f"{first_capital(same_texts(comparison))}."
    kind = common_genre(comparison.a.document, comparison.b.document)
    if not comparison.versions:
        return _apart(comparison, kind)
    changed = ", ".join(_counted(comparison, kind)) or "no passage differs"
    touched = _touched(comparison)
    return f"Two versions of one {kind.value}: {changed}{f'; {touched}' if touched else ''}."


def _apart(comparison: Comparison, kind: Genre) -> str:
    names = _PLURALS.get(kind, f"{kind.value}s")
    if comparison.related is None:
        return f"Two different {names}."
    if comparison.related and comparison.alignment is not None:
        return f"Two {names} on related subjects."
    return f"Two {'' if comparison.related else 'un'}related {names}."


def _counted(comparison: Comparison, kind: Genre) -> list[str]:
    noun = "clause" if kind in (Genre.CONTRACT, Genre.POLICY) else "passage"
    counts = [
        (word, comparison.summary[state]) for state, word in _STATES.items() if comparison.summary[state]
    ]
    return [
        f"{plural(count, noun) if not place else f'{count:,}'} {word}"
        for place, (word, count) in enumerate(counts)
    ]


def _touched(comparison: Comparison) -> str:
    """`7 changes touch amounts, dates or duties`; "" without flags."""
    flagged = [{flag.kind for flag in pair.flags} & set(_TOUCHED) for pair in comparison.passages]
    count = sum(map(bool, flagged))
    if not count:
        return ""
    often = Counter(kind for kinds in flagged for kind in kinds).most_common(_MOST_TOUCHED)
    names = [_TOUCHED[kind] for kind, _ in often]
    listed = " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
    return f"{plural(count, 'change')} {'touches' if count == 1 else 'touch'} {listed}"
