"""One-to-one matching with a "no partner" option, aware of order; pure functions of candidates.

Candidates are taken best first. The matching with the largest sum of scores (`scipy.optimize.linear_sum_assignment`)
gives 19 of 8,970 passages of 120 version pairs another partner (`benchmarks/alignment.py assignment`): not worth SciPy
as a dependency of every installation.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from colde_cli.similarity.candidates import Candidate, Keys

BoolArray = NDArray[np.bool_]

IN_ORDER = 0.1
"""What it is worth to a candidate to stand between the same neighbours on both sides."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which a candidate is a partner.

    Attributes:
        kept: where the order is kept.
        moved: where a passage would have moved.
        next: where both stand equally far from a neighbour that answers; `kept` if None.
        reach: passages up to the nearest neighbour that answers, beyond which order says nothing and `moved` holds.
    """

    kept: float
    moved: float
    next: float | None = None
    reach: float = inf

    def least(self, place: Place) -> float:
        """What a candidate must reach."""
        if not place.kept or place.distance > self.reach:
            return self.moved
        return self.next if self.next is not None and place.offset == 0 else self.kept


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate stands between partners that kept their order.

    Attributes:
        kept: between the same two on both sides.
        offset: by how much its distances to one of them differ, the beginning of a document counted as one.
        distance: the larger of its distances to the nearest of them, in passages; infinite where there is none.
    """

    kept: bool
    offset: int
    distance: float


class Matching:
    """Which passage of B answers which of A, as far as known; grows round by round."""

    def __init__(self) -> None:
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        self.score: dict[int, float] = {}

    def add(self, a: int, b: int, score: float) -> None:
        """Make two passages partners."""
        self.partner[a] = b
        self.taken.add(b)
        self.score[a] = score

    def free(self, candidate: Candidate) -> bool:
        """Neither of the two has a partner."""
        return candidate.a not in self.partner and candidate.b not in self.taken

    def grow(self, candidates: Sequence[Candidate], bar: Thresholds, weights: Sequence[int]) -> None:
        """Take from candidates what is free and reaches the bar, best first.

        Args:
            candidates: in any order.
            bar: scores from which two are partners.
            weights: words of each passage of A, by which the run of passages that kept their order is chosen.
        """
        order = _Order(self.partner, weights)
        placed = [(candidate, order.place(candidate)) for candidate in candidates if self.free(candidate)]
        good = [
            (candidate.score + IN_ORDER * place.kept, place.offset, candidate)
            for candidate, place in placed
            if candidate.score >= bar.least(place)
        ]
        self.take(good)

    def near(
        self, of_a: Sequence[int], of_b: Sequence[int], reach: float, weights: Sequence[int]
    ) -> BoolArray:
        """Whether passages stand within `reach` of two that answer each other, on the same side of both: [n, m].

        Args:
            of_a: passages of A, ascending.
            of_b: of B.
            reach: passages.
            weights: as for `grow`.
        """
        found = np.zeros((len(of_a), len(of_b)), bool)
        for a in in_order(self.partner, weights):
            b = self.partner[a]
            for rows, columns in (
                (_between(of_a, a - reach, a), _between(of_b, b - reach, b)),
                (_between(of_a, a + 1, a + reach + 1), _between(of_b, b + 1, b + reach + 1)),
            ):
                found[rows, columns] = True
        return found

    def abreast(self, sizes: tuple[int, int], weights: Sequence[int]) -> list[tuple[int, int]]:
        """For each passage of A where it would stand in B, counted from what it follows and from what it precedes.

        The beginnings of both documents count as partners here, and so do their ends.

        Args:
            sizes: passages of A and of B.
            weights: as for `grow`.
        """
        shift = [(a, self.partner[a] - a) for a in sorted(in_order(self.partner, weights))]
        found: list[tuple[int, int]] = []
        last = 0
        for a, after in [*shift, (sizes[0], sizes[1] - sizes[0])]:
            found += [(i + last, i + after) for i in range(len(found), a)]
            last = after
        return found

    def take(self, good: list[tuple[float, int, Candidate]]) -> None:
        """Choose among candidates that reach the bar, given what each is worth and how far it is out of step."""
        good.sort(key=lambda item: (-item[0], item[1], item[2].a + item[2].b, abs(item[2].a - item[2].b)))
        for _, _, candidate in good:
            if self.free(candidate):
                self.add(candidate.a, candidate.b, candidate.score)


def _between(numbers: Sequence[int], first: float, last: float) -> slice:
    """Where numbers from `first` up to, not including, `last` stand."""
    return slice(bisect_left(numbers, first), bisect_left(numbers, last))


class _Order:
    """The partners that kept their order, as posts between which others stand."""

    def __init__(self, partner: Mapping[int, int], weights: Sequence[int]) -> None:
        kept = in_order(partner, weights)
        self._a = [-1, *sorted(kept)]
        self._b = [-1, *(partner[a] for a in self._a[1:])]

    def place(self, candidate: Candidate) -> Place:
        """Where a candidate stands among the posts."""
        post = bisect_left(self._a, candidate.a) - 1
        forward = candidate.a - self._a[post], candidate.b - self._b[post]
        kept, offset = forward[1] > 0, abs(forward[0] - forward[1])
        # The beginning of a document is a post, but no neighbour that answers.
        distance = max(forward) if post else inf
        if post + 1 < len(self._b):
            backward = self._a[post + 1] - candidate.a, self._b[post + 1] - candidate.b
            kept, offset = kept and backward[1] > 0, min(offset, abs(backward[0] - backward[1]))
            distance = min(distance, max(backward))
        return Place(kept, offset, distance)


def in_order(partner: Mapping[int, int], weights: Sequence[int]) -> set[int]:
    """The heaviest set of passages of A whose partners stand in the same order: all others have moved.

    The heaviest increasing subsequence, in n log n.

    Args:
        partner: for each passage of A that of B.
        weights: of all passages of A, at least 1.
    """
    # Ends of the best runs so far: partners ascending, and so their weights.
    ends: list[int] = []
    totals: list[int] = []
    last: list[int] = []
    before: dict[int, int | None] = {}
    for a in sorted(partner):
        b = partner[a]
        place = bisect_left(ends, b)
        total = weights[a] + (totals[place - 1] if place else 0)
        before[a] = last[place - 1] if place else None
        stop = place
        while stop < len(ends) and totals[stop] <= total:
            stop += 1
        ends[place:stop], totals[place:stop], last[place:stop] = [b], [total], [a]
    found: set[int] = set()
    step = last[-1] if last else None
    while step is not None:
        found.add(step)
        step = before[step]
    return found


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
