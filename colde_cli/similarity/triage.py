"""Order the changes between two documents by weight, what costs money first, and write passages as JSON.

The weight of a change is that of its weightiest flag, and a little for further flags and for the words that changed. A
change without flags weighs less than any with one. Last come the lines of the cover, page numbers, and changes of
capital and small letters alone. The same replacement throughout is one change, and so is a passage that stands twice.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from colde_cli.documents.document import Document
from colde_cli.documents.passages import Passage, whole_pages
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.similarity.plain_data import edits_data, fields_data, pages_data, rounded

_FURTHER, _MAX_FURTHER = 0.2, 5
"""Weight added for each further flag of a passage, up to a number of flags."""
_WORDS, _MAX_WORDS = 0.45, 4.5
"""Weight added for each doubling of the words that changed, and its maximum; a tenth of that beside a flag."""
_FORMAL, _CASE = 0.02, 0.01
"""Weight of a line of the cover, and of a change of case."""
_SAME_RUN = 1.0
"""Taken from the weight of a clause that came or went beside a weightier one: they are one new or dropped section."""
_UNCERTAIN = 0.03
"""An uncertain reading weighs less than any change that is certain."""
_THROUGHOUT = 3
"""Minimum number of passages with the same replacement and no other edit that make one change."""
_CLAUSE_AGAIN = 6
"""Minimum number of words that changed in passages with the same text which make one change: terms for the United
States and for Europe, in one file, say the same twice."""


@dataclass(frozen=True, slots=True)
class WeightedChange:
    """A change to show: usually one pair of passages, or the same replacement or the same text in several.

    Attributes:
        pairs: places in the alignment, in order.
        weight: see `weight`.
        replacement: the words of A and of B where the same replacement runs through several passages.
    """

    pairs: tuple[int, ...]
    weight: float
    replacement: tuple[str, str] | None = None


def weight(pair: PassagePair) -> float:
    """Weigh a pair; 0 for one that is the same."""
    if pair.state is State.SAME:
        return 0.0
    if pair.formal:
        return _FORMAL
    if not pair.flags and pair.edits and all(a.casefold() == b.casefold() for a, b in map(pair.words_of, pair.edits)):
        return _CASE
    weight = words = min(_MAX_WORDS, _WORDS * math.log2(1 + changed_words(pair)))
    if pair.flags:
        further = _FURTHER * min(_MAX_FURTHER, len(pair.flags) - 1)
        weight = max(flag.kind.weight + flag.gravity for flag in pair.flags) + further + words / 10
    return round(_UNCERTAIN * weight if pair.uncertain else weight, 3)


def changed_words(pair: PassagePair) -> int:
    """Count the words deleted and inserted; all words of a passage of only one document."""
    if not pair.a or not pair.b:
        return len(pair.a_text.split()) + len(pair.b_text.split())
    return sum(len(words.split()) for edit in pair.edits for words in pair.words_of(edit))


def ordered_changes(pairs: Sequence[PassagePair]) -> tuple[WeightedChange, ...]:
    """List all changes, the weightiest first; of equal weight in the order of A."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        if (only := replacement(pair)) is not None:
            places[only].append(number)
    throughout = {words: found for words, found in places.items() if len(found) >= _THROUGHOUT}
    changes = [
        WeightedChange(tuple(found), max(weight(pairs[number]) for number in found), words)
        for words, found in throughout.items()
    ]
    grouped = {number for found in throughout.values() for number in found}
    beside = _beside_weightier(pairs)
    again: dict[object, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        if pair.state is not State.SAME and number not in grouped:
            again[(pair.a_text, pair.b_text) if changed_words(pair) >= _CLAUSE_AGAIN else number].append(number)
    for found in again.values():
        heaviest = max(weight(pairs[number]) - _SAME_RUN * (number in beside) for number in found)
        changes.append(WeightedChange(tuple(found), round(heaviest, 3)))
    return tuple(sorted(changes, key=lambda change: (-change.weight, change.pairs)))


def _beside_weightier(pairs: Sequence[PassagePair]) -> set[int]:
    """The flagged passages of only one document in a row within a section, but for the weightiest of each row."""
    beside: set[int] = set()
    for side, row in groupby(enumerate(pairs), key=lambda item: _only_side(item[1])):
        flagged = [(weight(pair), -number) for number, pair in row if side is not None and pair.flags]
        beside |= {-number for _, number in sorted(flagged)[:-1]}
    return beside


def _only_side(pair: PassagePair) -> tuple[State, int] | None:
    """The one document that has a passage, and its section there; None for a passage of both."""
    if pair.a and pair.b:
        return None
    return pair.state, (pair.a or pair.b)[0].section


def replacement(pair: PassagePair) -> tuple[str, str] | None:
    """The words of A and of B, if all edits of a passage that kept its place replace the same words."""
    if pair.state is not State.EDITED:
        return None
    sides = {pair.words_of(edit) for edit in pair.edits}
    if len(sides) != 1:
        return None
    a, b = next(iter(sides))
    return (a, b) if a and b else None


def passage_data(pair: PassagePair, a: Document, b: Document) -> dict[str, Any]:
    """Build the `passage` object of schema colde.diff/2."""
    return {
        "state": pair.state.value,
        "score": rounded(pair.score),
        "edits": len(pair.edits),
        "weight": weight(pair),
        **({"uncertain": True} if pair.uncertain else {}),
        "flags": list(dict.fromkeys(flag.kind.value for flag in pair.flags)),
        "flagged": [fields_data(flag, "kind a b") for flag in pair.flags],
        "a": _passages(a, pair.a, pair.a_text),
        "b": _passages(b, pair.b, pair.b_text),
        "redline": edits_data(pair.edits),
    }


def placed_data(pair: PassagePair, a: Document, b: Document) -> dict[str, Any]:
    """A `passage` object that is read by itself: its sides name their section; without what needs all the others."""
    data = passage_data(pair, a, b)
    for side, document in (("a", a), ("b", b)):
        if data[side] is not None:
            data[side] = {"heading": document.sections[data[side]["section"]].heading, **data[side]}
    return {key: data[key] for key in ("state", "weight", "flagged", "a", "b", "redline")}


def _passages(document: Document, passages: Sequence[Passage], text: str) -> dict[str, Any] | None:
    if not passages:
        return None
    numbers = [number.label for passage in passages for number in document.numbers_of(passage.span)]
    return {
        "section": passages[0].section,
        **({"clauses": numbers} if numbers else {}),
        "pages": pages_data(whole_pages(passages)),
        "text": text,
        "spans": [[passage.span.start, passage.span.end] for passage in passages],
    }
