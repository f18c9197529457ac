"""Match passages of two documents one to one, then join neighbours where a passage was split or merged.

A passage may stay without a partner. Candidates are taken best first; a candidate that keeps the order needs a lower
score.

The matching with the largest sum of scores (`scipy.optimize.linear_sum_assignment`) gives 19 of 8,970 passages of 120
version pairs another partner (benchmarks/results): not worth SciPy in every installation.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from colde_cli.similarity.candidates import Keys, PairCandidate, Places

BoolArray = NDArray[np.bool_]

IN_ORDER = 0.1
"""Added to the worth of a candidate that has the same neighbours in both documents."""

MAX_GROUP = 4
"""Maximum number of passages on one side of a group."""

_GAIN = 0.5
"""Joining two groups must save this share of their differing words. If one group has an empty side, the share is of
twice that group's words: they count once for each document."""

_MIN_SAVED = 3
"""Minimum number of words that joining must save."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which a candidate becomes a pair of partners.

    Attributes:
        kept: for a candidate that keeps the order.
        moved: for a candidate that does not.
        next: for a candidate with both passages equally far from a pair of partners; `kept` if None.
        reach: distance in passages to the nearest pair of partners; beyond it order means nothing and `moved` holds.
    """

    kept: float
    moved: float
    next: float | None = None
    reach: float = inf

    def least(self, standing: Standing) -> float:
        """Return the score that a candidate must reach."""
        if not standing.kept or standing.distance > self.reach:
            return self.moved
        return self.next if self.next is not None and standing.offset == 0 else self.kept


@dataclass(frozen=True, slots=True)
class Standing:
    """The place of a candidate among the pairs of partners that kept their order.

    Attributes:
        kept: it is between the same two pairs in both documents.
        offset: difference of its distances to one pair in A and in B; the beginning of a document counts as a pair.
        distance: to the nearest pair, in passages, the larger of A's and B's; infinite where there is none.
    """

    kept: bool
    offset: int
    distance: float


class Matching:
    """The partners found so far, passages of A with passages of B; grows round by round.

    `weights` are the words of all passages of A, and `others` of all of B; the heaviest run of passages counts as
    having kept its order.
    """

    def __init__(self, weights: Sequence[int], others: Sequence[int] = ()) -> None:
        self.weights, self.others = weights, others
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        self.score: dict[int, float] = {}

    def add(self, a: int, b: int, score: float) -> None:
        """Make two passages partners."""
        self.partner[a] = b
        self.taken.add(b)
        self.score[a] = score

    def free(self, candidate: PairCandidate) -> bool:
        """Whether neither of the two has a partner."""
        return candidate.a not in self.partner and candidate.b not in self.taken

    def grow(self, candidates: Iterable[PairCandidate], thresholds: Thresholds) -> None:
        """Make partners of free candidates that reach the threshold, best first."""
        order = _Order(self.partner, self.weights)
        placed = [(candidate, order.standing(candidate)) for candidate in candidates if self.free(candidate)]
        good = [
            (candidate.score + IN_ORDER * standing.kept, standing.offset, candidate)
            for candidate, standing in placed
            if candidate.score >= thresholds.least(standing)
        ]
        self.take(good)

    def near(self, of_a: Sequence[int], of_b: Sequence[int], reach: float) -> BoolArray:
        """Whether passages, ascending, are within `reach` of one pair of partners, on the same side of it: [n, m]."""
        near = np.zeros((len(of_a), len(of_b)), bool)
        for a in in_order(self.partner, self.weights):
            b = self.partner[a]
            for rows, columns in (
                (_between(of_a, a - reach, a), _between(of_b, b - reach, b)),
                (_between(of_a, a + 1, a + reach + 1), _between(of_b, b + 1, b + reach + 1)),
            ):
                near[rows, columns] = True
        return near

    def abreast(self) -> Places:
        """Expect each passage of A at two places in B, counted from the partners before it and after it.

        The beginnings of both documents count as partners here, and so do their ends.
        """
        shifts = [(a, self.partner[a] - a) for a in sorted(in_order(self.partner, self.weights))]
        places: list[tuple[int, ...]] = []
        before = 0
        for a, after in [*shifts, (len(self.weights), len(self.others) - len(self.weights))]:
            places += [(i + before, i + after) for i in range(len(places), a)]
            before = after
        return places

    def abreast_both_ways(self) -> tuple[Places, Places]:
        """Expect each passage of A in B, and each of B in A."""
        turned = Matching(self.others, self.weights)
        turned.partner = {of_b: of_a for of_a, of_b in self.partner.items()}
        return self.abreast(), turned.abreast()

    def take(self, good: list[tuple[float, int, PairCandidate]]) -> None:
        """Make partners of free candidates, best first, each given with its worth and `Standing.offset`."""
        good.sort(key=lambda item: (-item[0], item[1], item[2].a + item[2].b, abs(item[2].a - item[2].b)))
        for _, _, candidate in good:
            if self.free(candidate):
                self.add(candidate.a, candidate.b, candidate.score)


def _between(numbers: Sequence[int], first: float, after: float) -> slice:
    """Find the slice of an ascending list that holds the numbers from `first` up to, not including, `after`."""
    return slice(bisect_left(numbers, first), bisect_left(numbers, after))


class _Order:
    """The partners that kept their order, as anchors; candidates are placed between them."""

    def __init__(self, partner: Mapping[int, int], weights: Sequence[int]) -> None:
        kept = in_order(partner, weights)
        self._a = [-1, *sorted(kept)]
        self._b = [-1, *(partner[a] for a in self._a[1:])]

    def standing(self, candidate: PairCandidate) -> Standing:
        """Place a candidate among the anchors."""
        anchor = bisect_left(self._a, candidate.a) - 1
        forward = candidate.a - self._a[anchor], candidate.b - self._b[anchor]
        kept, offset = forward[1] > 0, abs(forward[0] - forward[1])
        # The beginning of a document is an anchor, but no pair of partners.
        distance = max(forward) if anchor else inf
        if anchor + 1 < len(self._b):
            backward = self._a[anchor + 1] - candidate.a, self._b[anchor + 1] - candidate.b
            kept, offset = kept and backward[1] > 0, min(offset, abs(backward[0] - backward[1]))
            distance = min(distance, max(backward))
        return Standing(kept, offset, distance)


def in_order(partner: Mapping[int, int], weights: Sequence[int]) -> set[int]:
    """Find the heaviest set of passages of A with partners in the same order: all others have moved.

    It is the heaviest increasing subsequence, found in n log n. The `weights` of all passages of A are at least 1.
    """
    # For the best runs so far: the partner at the end (ascending), the weight (ascending too), the last passage of A.
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
    kept: set[int] = set()
    step = last[-1] if last else None
    while step is not None:
        kept.add(step)
        step = before[step]
    return kept


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring passages of A and their partners in B, by index, ascending without a gap; one side may be empty.

    Attributes:
        score: of the two passages that were matched; 0 where a side is empty.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    score: float = 0.0

    def turned(self) -> Group:
        """The same passages with A and B exchanged."""
        return Group(self.b, self.a, self.score)


def parted(groups: Iterable[Group], apart: Collection[Group]) -> list[Group]:
    """Put each passage of the groups in `apart` into a group of its own; the order is that of `join`."""
    of_a: dict[int, Group] = {}
    of_b: dict[int, Group] = {}
    for group in groups:
        of_a |= {i: Group((i,), ()) if group in apart else group for i in group.a}
        of_b |= {j: Group((), (j,)) if group in apart else group for j in group.b}
    return _ordered(of_a, of_b)


def turned(groups: Iterable[Group]) -> list[Group]:
    """Exchange A and B in all groups; they are in the order of the new A."""
    mirrored = [group.turned() for group in groups]
    of_a = {index: group for group in mirrored for index in group.a}
    return _ordered(of_a, {index: group for group in mirrored for index in group.b})


def join(matching: Matching, a: Sequence[Keys], b: Sequence[Keys], links: Mapping[tuple[int, int], int]) -> list[Group]:
    """Put every passage of A and of B into exactly one group, in the order of A.

    Neighbours are joined where that makes the redline shorter: a passage was split, or two were merged. A passage found
    only in B follows the group of the passage before it in B. `links`: how many words of a passage of A are words of a
    passage of B (`WordFlow`).
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
    _Joiner(a, b, of_a, of_b, links).run()
    return _ordered(of_a, of_b)


class _Joiner:
    """Joins neighbouring groups in place; `of_a` and `of_b` map every passage to its group."""

    def __init__(
        self,
        a: Sequence[Keys],
        b: Sequence[Keys],
        of_a: dict[int, Group],
        of_b: dict[int, Group],
        links: Mapping[tuple[int, int], int],
    ) -> None:
        characters: dict[str, str] = {}
        self._a, self._b = ([_spelled(keys, characters) for keys in side] for side in (a, b))
        self._of_a, self._of_b = of_a, of_b
        self._links = links
        self._distances: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def run(self) -> None:
        """Join neighbours in A, then neighbours in B, until nothing is gained."""
        changed = True
        while changed:
            changed = self._pass(self._of_a, len(self._a)) | self._pass(self._of_b, len(self._b))

    def _pass(self, groups: dict[int, Group], count: int) -> bool:
        changed = False
        for index in range(1, count):
            first, second = groups[index - 1], groups[index]
            joined = None if first is second else _joined(first, second)
            if joined is not None and self._gains(first, second, joined):
                self._of_a.update(dict.fromkeys(joined.a, joined))
                self._of_b.update(dict.fromkeys(joined.b, joined))
                changed = True
        return changed

    def _gains(self, first: Group, second: Group, joined: Group) -> bool:
        if self._settled(first) and self._settled(second):
            return False
        if self._flows_into(first, second) or self._flows_into(second, first):
            return True
        apart = self._distance(first) + self._distance(second)
        saved = apart - self._distance(joined)
        alone = [self._words(group) for group in (first, second) if not (group.a and group.b)]
        return saved >= _MIN_SAVED and saved >= _GAIN * (2 * min(alone) if alone else apart)

    def _flows_into(self, alone: Group, other: Group) -> bool:
        """Whether a passage on one side only has most of its words, in their order, in the other group."""
        if alone.a and alone.b:
            return False
        pairs = [(i, j) for i in alone.a for j in other.b] or [(i, j) for i in other.a for j in alone.b]
        return 2 * sum(self._links.get(pair, 0) for pair in pairs) >= self._words(alone)

    def _settled(self, group: Group) -> bool:
        """Whether both sides are the same, so that joining saves nothing."""
        return bool(group.a and group.b) and self._distance(group) == 0

    def _distance(self, group: Group) -> int:
        """Count the words to delete and insert to turn one side into the other."""
        sides = group.a, group.b
        if sides not in self._distances:
            from rapidfuzz.distance import Indel

            self._distances[sides] = int(Indel.distance(_text(self._a, group.a), _text(self._b, group.b)))
        return self._distances[sides]

    def _words(self, group: Group) -> int:
        return max(len(_text(self._a, group.a)), len(_text(self._b, group.b)))


def _spelled(keys: Keys, characters: dict[str, str]) -> str:
    """Spell words as one character each; RapidFuzz compares such a text several times as fast.

    New words are added to the `characters` of each word so far. If characters run out, words share them.
    """
    return "".join(characters.setdefault(key, chr(len(characters) % (sys.maxunicode + 1))) for key in keys)


def _text(spelled: Sequence[str], indices: Sequence[int]) -> str:
    return "".join(spelled[index] for index in indices)


def _joined(first: Group, second: Group) -> Group | None:
    """Join two groups; None if they are no neighbours, would be too large, or both lack the same side."""
    a, b = tuple(sorted((*first.a, *second.a))), tuple(sorted((*first.b, *second.b)))
    if not a or not b or len(a) > MAX_GROUP or len(b) > MAX_GROUP:
        return None
    if a[-1] - a[0] >= len(a) or b[-1] - b[0] >= len(b):
        return None
    return Group(a, b, max(first.score, second.score))


def _ordered(of_a: dict[int, Group], of_b: dict[int, Group]) -> list[Group]:
    """List every group once, in the order of A; a group without A follows the passage before it in B."""
    following: dict[int, list[Group]] = {}
    before = -1
    for j, group in sorted(of_b.items()):
        if group.a:
            before = j
        else:
            following.setdefault(before, []).append(group)
    ordered = list(following.get(-1, ()))
    done: set[int] = set()
    for _, group in sorted(of_a.items()):
        if id(group) in done:
            continue
        done.add(id(group))
        ordered.append(group)
        for j in group.b:
            ordered.extend(following.get(j, ()))
    return ordered
