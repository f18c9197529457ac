"""Splits and merges: neighbouring passages are read as one where that makes their redline shorter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from colde_cli.similarity.candidates import Keys
from colde_cli.similarity.matching import Matching

MOST = 4
"""Passages that one side of a group may hold."""

_GAIN = 0.5
"""What joining must save: this share of the words that differ where both have counterparts, else of the words of that
which has none, on both sides."""

_LEAST = 3
"""Words that joining must save."""


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring passages of A and of B that answer each other, by index; one of the two may be empty.

    Attributes:
        a: of A, ascending without a gap.
        b: of B, likewise.
        score: of the two that were matched; 0 where a side is empty.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    score: float = 0.0


def join(matching: Matching, a: Sequence[Keys], b: Sequence[Keys]) -> list[Group]:
    """Every passage of A and of B in exactly one group, in the order of A.

    What stands only in B follows the group of the passage before it in B.

    Args:
        matching: one-to-one partners.
        a: the words of all passages of A.
        b: of B.
    """
    of_a: dict[int, Group] = {}
    of_b: dict[int, Group] = {}
    for i in range(len(a)):
        j = matching.partner.get(i)
        group = Group((i,), () if j is None else (j,), matching.score.get(i, 0.0))
        of_a[i] = group
        if j is not None:
            of_b[j] = group
    for j in range(len(b)):
        of_b.setdefault(j, Group((), (j,)))
    joiner = _Joiner(a, b, of_a, of_b)
    joiner.run()
    return _ordered(of_a, of_b)


class _Joiner:
    def __init__(
        self, a: Sequence[Keys], b: Sequence[Keys], of_a: dict[int, Group], of_b: dict[int, Group]
    ) -> None:
        code: dict[str, str] = {}
        self._a, self._b = ([_spelled(keys, code) for keys in side] for side in (a, b))
        self._of_a, self._of_b = of_a, of_b
        self._distances: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def run(self) -> None:
        """Join neighbours in A, then neighbours in B, until nothing is gained."""
        changed = True
        while changed:
            changed = self._pass(self._of_a, len(self._a)) | self._pass(self._of_b, len(self._b))

    def _pass(self, own: dict[int, Group], count: int) -> bool:
        changed = False
        for index in range(1, count):
            first, second = own[index - 1], own[index]
            if first is not second and self._gains(first, second):
                self._merge(first, second)
                changed = True
        return changed

    def _gains(self, first: Group, second: Group) -> bool:
        joined = _neighbours(first, second)
        if joined is None or (self._settled(first) and self._settled(second)):
            return False
        apart = self._distance(first) + self._distance(second)
        saved = apart - self._distance(joined)
        alone = [self._words(group) for group in (first, second) if not (group.a and group.b)]
        return saved >= _LEAST and saved >= _GAIN * (2 * min(alone) if alone else apart)

    def _settled(self, group: Group) -> bool:
        """Nothing can be gained for it: it is the same on both sides."""
        return bool(group.a and group.b) and self._distance(group) == 0

    def _distance(self, group: Group) -> int:
        place = group.a, group.b
        if place not in self._distances:
            from rapidfuzz.distance import Indel

            distance = Indel.distance(self._text(self._a, group.a), self._text(self._b, group.b))
            self._distances[place] = int(distance)
        return self._distances[place]

    def _words(self, group: Group) -> int:
        return max(len(self._text(self._a, group.a)), len(self._text(self._b, group.b)))

    @staticmethod
    def _text(own: Sequence[str], indices: Sequence[int]) -> str:
        return "".join(own[index] for index in indices)

    def _merge(self, first: Group, second: Group) -> None:
        joined = _neighbours(first, second)
        if joined is None:
            return
        for i in joined.a:
            self._of_a[i] = joined
        for j in joined.b:
            self._of_b[j] = joined


def _spelled(keys: Keys, code: dict[str, str]) -> str:
    """Words as a text of one character each, which RapidFuzz compares several times as fast.

    Args:
        keys: the words.
        code: the character of each word so far; it grows. Words beyond all characters share those of others.
    """
    return "".join(code.setdefault(key, chr(len(code) % (sys.maxunicode + 1))) for key in keys)


def _neighbours(first: Group, second: Group) -> Group | None:
    """Both as one; None where they are no neighbours, would be too large, or have no counterpart at all."""
    a, b = tuple(sorted((*first.a, *second.a))), tuple(sorted((*first.b, *second.b)))
    if not a or not b or len(a) > MOST or len(b) > MOST:
        return None
    if a[-1] - a[0] >= len(a) or b[-1] - b[0] >= len(b):
        return None
    return Group(a, b, max(first.score, second.score))


def _ordered(of_a: dict[int, Group], of_b: dict[int, Group]) -> list[Group]:
    found: list[Group] = []
    done: set[int] = set()
    following: dict[int, list[Group]] = {}
    before = -1
    for j, group in sorted(of_b.items()):
        if group.a:
            before = j
        else:
            following.setdefault(before, []).append(group)
    found.extend(following.get(-1, ()))
    for _, group in sorted(of_a.items()):
        if id(group) in done:
            continue
        done.add(id(group))
        found.append(group)
        for j in group.b:
            found.extend(following.get(j, ()))
    return found
