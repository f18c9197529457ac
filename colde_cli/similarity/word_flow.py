"""Align the words of two documents as one flow: anchors first, then what stands between them, then what moved.

Anchors are runs of words that occur once in either document, as in patience diff; between two anchors the search goes
on with what occurs once there. What is left of it is a longest common subsequence. Paragraphs, cells and lines play no
part, so that a table reads the same in a Word file and in a PDF.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Span
from colde_cli.similarity.matching import in_order
from colde_cli.similarity.redline import plain

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Run = tuple[int, int, int]
"""The place of some words in A and in B, and their number."""
Breaks = Callable[[int], int]
"""How deeply a word is parted from the one before it."""

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters that are written without blanks between words: each one is a word."""
_WORD = re.compile(rf"\d+(?:[.,:]\d+)*|[{UNSPACED}]|[^\W\d_{UNSPACED}]+|[✓✔☑☐☒✗✘\ufffd]")
_ANCHORS = (4, 2, 1)
"""Numbers of words of a run that is an anchor if it occurs once on either side."""
_FEW = 10_000
_MANY = 200_000_000
"""Words of A times words of B: up to `_FEW` no anchors are sought, up to `_MANY` a common subsequence is found."""
_MOVED = 6
"""Minimum number of words of a run that moved."""
_STOP = re.compile(r"[.!?;:][)\]\"'”’]*\s")
_LONGEST_GAP = 8
"""Maximum number of words that may be the same letters, divided in another way."""


@dataclass(frozen=True, slots=True, eq=False)
class FlowSide:
    """The n words of one of two documents, in the order of its text, headings included.

    Attributes:
        keys: without case, kinds of quotes and ligatures.
        starts: offsets of their first characters, [n].
        ends: offsets after their last characters, [n].
        first: for each word the first word of the other document that it is, -1 for none, [n].
        last: the last one: a word may be several, divided in another way.
    """

    keys: list[str]
    starts: IntArray
    ends: IntArray
    first: IntArray
    last: IntArray

    @classmethod
    def of(cls, text: str) -> FlowSide:
        """Find letters, numbers and check marks; bars, bullets, leaders and other signs are no words."""
        keys: list[str] = []
        starts, ends = array("q"), array("q")
        forms: dict[str, str] = {}  # one object for all words of a form: long texts have millions of words
        for match in _WORD.finditer(text):
            word = match[0]
            key = forms.get(word)
            if key is None:
                key = word.casefold() if word.isascii() else plain(word).casefold()
                forms[word] = key
            keys.append(key)
            starts.append(match.start())
            ends.append(match.end())
        spans = (np.array(side, np.int64) for side in (starts, ends))
        return cls(keys, *spans, *(np.full(len(keys), -1, np.int64) for _ in range(2)))

    def before(self, offset: int) -> int:
        """The number of words that begin before an offset."""
        return int(np.searchsorted(self.starts, offset))

    def places(self, spans: Sequence[Span]) -> IntArray:
        """Find the stretch, of some in order and apart, that holds each word; -1 for none: [n]."""
        places = np.full(len(self.keys), -1, np.int64)
        for place, span in enumerate(spans):
            places[self.before(span.start) : self.before(span.end)] = place
        return places


@dataclass(frozen=True, slots=True, eq=False)
class WordFlow:
    """The words of two documents, aligned."""

    a: FlowSide
    b: FlowSide

    @classmethod
    def of(cls, a: str, b: str) -> WordFlow:
        """Align the words of two texts; those of B and A are aligned as those of A and B."""
        sides = FlowSide.of(a), FlowSide.of(b)
        # Of several equally good alignments, the order decides.
        left, right = sides[::-1] if sides[1].keys < sides[0].keys else sides
        breaks = _breaks(b if left is sides[1] else a, left), _breaks(a if left is sides[1] else b, right)
        for i, j, k, n in _blocks(left.keys, right.keys, breaks):
            straight = j - i == n - k
            left.first[i:j] = left.last[i:j] = np.arange(k, n) if straight else k
            right.first[k:n] = right.last[k:n] = np.arange(i, j) if straight else i
            if not straight:
                left.last[i:j], right.last[k:n] = n - 1, j - 1
        return cls(*sides)


def _blocks(a: list[str], b: list[str], breaks: tuple[Breaks, Breaks]) -> Iterator[tuple[int, int, int, int]]:
    """Yield words [i, j) of A that are words [k, n) of B: as many of them, or the same letters divided differently."""
    numbers: dict[str, int] = {}
    left, right = (np.array([numbers.setdefault(key, len(numbers)) for key in side], np.int64) for side in (a, b))
    runs = _slid(sorted(_in_order(left, right)), (left, right), breaks)
    free = np.ones(len(a), bool), np.ones(len(b), bool)
    for i, k, length in runs:
        free[0][i : i + length] = free[1][k : k + length] = False
    divided = list(_divided(a, b, runs))
    for i, j, k, n in divided:
        free[0][i:j] = free[1][k:n] = False
    yield from divided
    yield from ((i, i + length, k, k + length) for i, k, length in (*runs, *_moved(left, right, free)))


def _in_order(a: IntArray, b: IntArray) -> Iterator[Run]:
    """Yield runs of words in the same order: their places in A and in B, and their length."""
    from rapidfuzz.distance import LCSseq

    spelled = [side.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass") for side in (a, b)]
    open_gaps = [(0, len(a), 0, len(b))]
    while open_gaps:
        i, j, k, n = open_gaps.pop()
        head = _alike(a[i:j], b[k:n])
        if head:
            yield i, k, head
        i, k = i + head, k + head
        tail = _alike(a[i:j][::-1], b[k:n][::-1])
        if tail:
            yield j - tail, n - tail, tail
        j, n = j - tail, n - tail
        cells = (j - i) * (n - k)
        if not cells:
            continue
        anchors = _anchors(a[i:j], b[k:n]) if cells > _FEW else []
        if anchors:
            runs = [(0, 0, 0), *anchors, (j - i, n - k, 0)]
            for one, two in pairwise(runs):
                gap = i + one[0] + one[2], i + two[0], k + one[1] + one[2], k + two[1]
                if gap[0] < gap[1] and gap[2] < gap[3]:
                    open_gaps.append(gap)
            yield from ((i + place, k + other, length) for place, other, length in anchors)
        elif cells > _MANY:
            open_gaps += [(i, (i + j) // 2, k, (k + n) // 2), ((i + j) // 2, j, (k + n) // 2, n)]
        else:
            for block in LCSseq.opcodes(spelled[0][i:j], spelled[1][k:n]):
                if block.tag == "equal":
                    yield i + block.src_start, k + block.dest_start, block.src_end - block.src_start


def _breaks(text: str, side: FlowSide) -> Breaks:
    """How deeply words are parted from those before them: by nothing, a sentence, a line or a paragraph."""

    def depth(word: int) -> int:
        if word in (0, len(side.keys)):
            return 3
        gap = text[side.ends[word - 1] : side.starts[word]]
        lines = gap.count("\n")
        return min(lines + 1, 3) if lines else int(_STOP.search(gap) is not None)

    return depth


def _slid(runs: list[Run], words: tuple[IntArray, IntArray], breaks: tuple[Breaks, Breaks]) -> list[Run]:
    """Slide the words that only one document has to where they begin with a paragraph, a line or a sentence.

    "the old pump and [the new pump and] it" may as well be "[the old pump and] the new pump and it".
    """
    slid = runs[:1]
    for run in runs[1:]:
        before = slid[-1]
        ends = before[0] + before[2], before[1] + before[2]
        gaps = run[0] - ends[0], run[1] - ends[1]
        if min(gaps) == 0 and max(gaps) > 0:
            side = int(gaps[0] == 0)
            own, first, after = words[side], ends[side], run[side]
            back = _alike(own[first - before[2] : first][::-1], own[:after][::-1])
            forth = _alike(own[first : first + run[2]], own[after : after + run[2]])
            # The nearest of the deepest places; of two as near, the one before.
            best = max(range(-back, forth + 1), key=lambda step: (breaks[side](first + step), -abs(step), -step))
            slid[-1] = (before[0], before[1], before[2] + best)
            run = (run[0] + best, run[1] + best, run[2] - best)  # noqa: PLW2901
        slid.append(run)
    return [run for run in slid if run[2]]


def _alike(a: IntArray, b: IntArray) -> int:
    """How many words at the beginning are the same."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _anchors(a: IntArray, b: IntArray) -> list[Run]:
    """Find the runs of words that occur once in A and in B and keep their order, apart from one another."""
    for size in _ANCHORS:
        places, others = _once_in_both(a, b, size)
        if not len(places):
            continue
        # Those that stand one word apart in both documents go together.
        first = np.flatnonzero((np.diff(places, prepend=-2) != 1) | (np.diff(others, prepend=-2) != 1))
        counts = np.diff(first, append=len(places)).tolist()
        begins = places[first].tolist(), others[first].tolist()
        runs: list[Run] = []
        for number in sorted(in_order(dict(enumerate(begins[1])), counts)):
            place, other, length = begins[0][number], begins[1][number], counts[number] + size - 1
            if runs:
                before = runs[-1]
                ends = before[0] + before[2], before[1] + before[2]
                if place - before[0] == other - before[1] and place <= ends[0]:
                    runs[-1] = (before[0], before[1], place + length - before[0])
                    continue
                cut = max(0, ends[0] - place, ends[1] - other)
                place, other, length = place + cut, other + cut, length - cut
            if length > 0:
                runs.append((place, other, length))
        return runs
    return []


def _once_in_both(
    a: IntArray, b: IntArray, size: int, free: tuple[BoolArray, BoolArray] | None = None
) -> tuple[IntArray, IntArray]:
    """Find the runs of `size` words that occur once in A and in B: their places in A, ascending, and in B.

    Args:
        free: the words to look at; None for all.
    """
    codes, places = [], []
    for side, words in enumerate((a, b)):
        count = len(words) - size + 1
        if count <= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        code = np.zeros(count, np.uint64)
        inside = np.ones(count, bool)
        for step in range(size):
            code = code * np.uint64(0x9E3779B97F4A7C15) + words[step : step + count].astype(np.uint64) + np.uint64(1)
            if free is not None:
                inside &= free[side][step : step + count]
        known = np.flatnonzero(inside)
        values, index, counts = np.unique(code[known], return_index=True, return_counts=True)
        codes.append(values[counts == 1])
        places.append(known[index[counts == 1]])
    _, of_a, of_b = np.intersect1d(codes[0], codes[1], assume_unique=True, return_indices=True)
    left, right = places[0][of_a], places[1][of_b]
    for step in range(size):  # two runs may have the same code
        same = a[left + step] == b[right + step]
        left, right = left[same], right[same]
    order = np.argsort(left)
    return left[order], right[order]


def _moved(a: IntArray, b: IntArray, free: tuple[BoolArray, BoolArray]) -> Iterator[Run]:
    """Yield runs of words that stand elsewhere, among the free ones, each as long as it can be; they are taken."""
    places, others = _once_in_both(a, b, _MOVED, free)
    for place, other in zip(places.tolist(), others.tolist(), strict=True):
        ahead = min(_free(free[0][place:]), _free(free[1][other:]))
        length = _alike(a[place : place + ahead], b[other : other + ahead])
        if length < _MOVED:
            continue  # part of a run before it
        behind = min(_free(free[0][:place][::-1]), _free(free[1][:other][::-1]))
        before = _alike(a[place - behind : place][::-1], b[other - behind : other][::-1])
        i, k, length = place - before, other - before, length + before
        free[0][i : i + length] = free[1][k : k + length] = False
        yield i, k, length


def _free(words: BoolArray) -> int:
    """How many words at the beginning are free; of a long text no more is looked at than need be."""
    seen = 1024
    while seen < len(words) and words[:seen].all():
        seen *= 4
    taken = np.flatnonzero(~words[:seen])
    return int(taken[0]) if len(taken) else len(words)


def _divided(a: list[str], b: list[str], runs: Sequence[Run]) -> Iterator[tuple[int, int, int, int]]:
    """Yield words [i, j) of A that are words [k, n) of B with the same letters, divided in another way."""
    edges = [(0, 0, 0), *runs, (len(a), len(b), 0)]
    for one, two in pairwise(edges):
        (i, j), (k, n) = (one[0] + one[2], two[0]), (one[1] + one[2], two[1])
        if min(j - i, n - k) > 0 and max(j - i, n - k) <= _LONGEST_GAP:
            left, right = a[i:j], b[k:n]
            numbers = [[key for key in side if key[0].isdigit()] for side in (left, right)]
            if "".join(left) == "".join(right) and numbers[0] == numbers[1]:  # no digits are joined
                yield i, j, k, n
