"""Find pairs of passages that may be partners, by wording and by meaning.

Comparing every passage of A with every passage of B word for word would take too long, and so would encoding all of
them. Two cheap tables come first: cosines of weighted words, and cosines of the chunks that contain the passages.

Two long documents have a billion pairs of passages, so that a large table is never made whole: what is made of it is
made from some of its rows or columns at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk
from colde_cli.documents.passages import Passage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, warm
from colde_cli.encoder.runtime import Progress
from colde_cli.scoring.score import cosines
from colde_cli.scoring.score_table import row_blocks

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Rows = Callable[[int, int], FloatArray]
"""Makes some rows of a table, from one up to another: [stop - start, m]."""
Keys = tuple[str, ...]
"""The words of a passage, case ignored."""
Places = Sequence[tuple[int, ...]]
"""For each passage of a document the places in the other one where its partner is expected (`Matching.abreast`)."""

CHUNKS, WORDS = 0.55, 0.12
"""Passages are not expected to mean the same if the cosines of their chunks and of their words are both below these
thresholds. In 90 pairs of documents meaning alone made 347 certain partners; 3 of them are below both thresholds. So
are 84 % of the words of unrelated papers (benchmarks/results)."""

_BUCKETS = 4096
_PER_PASSAGE = 6
_ROWS, _CELLS = 1024, 1 << 24
"""Rows or columns of a table that are worked on at the same time, at most, and cells."""
_MIN_COSINE = 0.15
"""Minimum cosine of weighted words at which two passages are compared word by word."""

REPEATED = 50
_AROUND = 8
"""A form may say "None." a thousand times. Where more than `REPEATED` passages are equally good partners, only
`_AROUND` of them on either side of an expected place are tried."""


@dataclass(frozen=True, slots=True)
class PairCandidate:
    """A passage (or section) of A and one of B that may be partners, by index; `score` is 0 to 1."""

    a: int
    b: int
    score: float


def wording(a: Keys, b: Keys) -> float:
    """Compute the share of words that two passages have in common in the same order, 0 to 1."""
    from rapidfuzz.distance import Indel

    return float(Indel.normalized_similarity(a, b))


@dataclass(frozen=True, slots=True, eq=False)
class _WeightedWords:
    """The words of n passages and pairs of neighbouring words, hashed and weighted: n rows [4096] of unit length.

    Attributes:
        buckets: those that are not 0, of one row after the other.
        weights: in these buckets.
        ends: of each row in these, after a 0: [n + 1].
    """

    buckets: NDArray[np.uint16]
    weights: FloatArray
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def rows(self, places: IntArray) -> FloatArray:
        """The rows at r places, [r, 4096]."""
        dense = np.zeros((len(places), _BUCKETS), np.float32)
        ends = self.ends[places + 1]
        counts = ends - self.ends[places]
        held = np.repeat(ends - np.cumsum(counts), counts) + np.arange(counts.sum())
        dense[np.repeat(np.arange(len(places)), counts), self.buckets[held]] = self.weights[held]
        return dense


@dataclass(frozen=True, slots=True, eq=False)
class WordCosines:
    """Cosines [n, m] of some passages of A and of B, by their words and pairs of neighbouring words.

    Attributes:
        of_a: indices of the passages of A, ascending.
        of_b: indices of the passages of B, ascending.
        words: of both, weighted by their rarity among these passages.
    """

    of_a: list[int]
    of_b: list[int]
    words: tuple[_WeightedWords, _WeightedWords]
    _whole: list[FloatArray] = field(default_factory=list)  # a small table, once it is made

    @classmethod
    def of(cls, a: Sequence[Keys], b: Sequence[Keys], of_a: list[int], of_b: list[int]) -> WordCosines:
        """Compare the passages at `of_a` and `of_b`, given the words of all passages."""
        return cls(of_a, of_b, _weighted_words([a[i] for i in of_a], [b[j] for j in of_b]))

    def turned(self) -> WordCosines:
        """The cosines of the passages of B with those of A."""
        return WordCosines(self.of_b, self.of_a, self.words[::-1], [whole.T for whole in self._whole])

    def rows(self, start: int, stop: int) -> FloatArray:
        """The cosines of some passages of A with all of B, by their places in `of_a`: [stop - start, m]."""
        return self._at(np.arange(start, stop), np.arange(len(self.of_b)))

    def columns(self, start: int, stop: int) -> FloatArray:
        """The cosines of some passages of B with all of A: [stop - start, n]."""
        return self.turned().rows(start, stop)

    def _at(self, rows: IntArray, columns: IntArray) -> FloatArray:
        if len(self.of_a) * len(self.of_b) > _CELLS:
            return self._product(rows, columns)
        if not self._whole:
            self._whole.append(self._product(np.arange(len(self.of_a)), np.arange(len(self.of_b))))
        cells: FloatArray = self._whole[0][np.ix_(rows, columns)]
        return cells

    def _product(self, rows: IntArray, columns: IntArray) -> FloatArray:
        left, right = self.words
        table = np.empty((len(rows), len(columns)), np.float32)
        for above, below in row_blocks(len(rows), _BUCKETS, _CELLS, _ROWS):
            some = left.rows(rows[above:below])
            for first, last in row_blocks(len(columns), _BUCKETS, _CELLS, _ROWS):
                table[above:below, first:last] = some @ right.rows(columns[first:last]).T
        return table

    def meet(self, of: tuple[list[int], list[int]], met: tuple[BoolArray, BoolArray]) -> None:
        """Note which of some passages have words like those of any other one, so that they could mean the same.

        Most do: only those that have not met one yet are compared with more of the other side.

        Args:
            of: passages of A and of B by their indices, ascending.
            met: what is known of them, [n] and [m].
        """
        places = np.searchsorted(self.of_a, of[0]), np.searchsorted(self.of_b, of[1])
        for table, own, other in ((self, 0, 1), (self.turned(), 1, 0)):
            for start in range(0, len(places[other]), _ROWS):
                some, alone = slice(start, start + _ROWS), np.flatnonzero(~met[own])
                alike = table._at(places[own][alone], places[other][some]) >= WORDS
                met[own][alone] = alike.any(1)
                met[other][some] |= alike.any(0)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkCosines:
    """Cosines of the chunks of two documents.

    Attributes:
        a: the chunks of A, in reading order.
        b: the chunks of B, in reading order.
        among: computes the cosines [n, m] of the centred vectors of some chunks of A and of B.
    """

    a: tuple[Chunk, ...]
    b: tuple[Chunk, ...]
    among: Callable[[list[int], list[int]], FloatArray]

    @classmethod
    def of(cls, a: Encoding, b: Encoding) -> ChunkCosines:
        """Compare the chunks of two encodings, as far as they are asked for."""
        vectors_of_b = lru_cache(1)(b.vectors_of)  # the same for all rows

        def among(rows: list[int], columns: list[int]) -> FloatArray:
            warm((a, rows), (b, columns))
            return cosines(a.vectors_of(rows), vectors_of_b(tuple(columns)))

        return cls(a.chunks, b.chunks, among)

    def of_passages(self, a: Sequence[Passage], b: Sequence[Passage]) -> Iterator[FloatArray]:
        """For every two passages, find the highest cosine of the chunks that overlap them: [len(a), len(b)].

        It is 1 for a passage outside all chunks: nothing is known about it. No other chunks are asked for.

        Yields:
            Some rows of the table at a time, in order.
        """
        ranges_b = _overlapping(self.b, b)
        columns = _members(ranges_b)
        for start, stop in row_blocks(len(a), len(b), _CELLS, _ROWS):
            some = _overlapping(self.a, a[start:stop])
            rows = _members(some)
            if rows and columns:
                highest = _highest_of_ranges(self.among(rows, columns), rows, some)
                yield _highest_of_ranges(highest.T, columns, ranges_b).T
            else:
                yield np.ones((len(some), len(b)), np.float32)


def around(places: Sequence[int], before: int, expected: Sequence[int]) -> list[int]:
    """Choose a few of many passages that are all as good and stand at `places`, as indices into these; both ascend.

    They are near those `expected`, where anything is known of them.
    """
    ranks = (before, *(bisect_left(places, place) for place in expected))
    near = {n for rank in ranks for n in range(max(0, rank - _AROUND), min(len(places), rank + _AROUND))}
    return sorted(near)


def lexical_candidates(
    a: Sequence[Keys], b: Sequence[Keys], alike: WordCosines, expected: tuple[Places, Places] | None = None
) -> list[PairCandidate]:
    """Find pairs with similar words, scored by `wording`: the best six for each passage, and those that tie with them.

    Of many ties those near the `expected` places of all passages of A, and of B, are kept; without these, those of the
    same rank.
    """
    best = _best((alike.rows, alike.columns), _MIN_COSINE, (alike.of_a, alike.of_b), expected)
    chosen = ((alike.of_a[i], alike.of_b[j]) for i, j, _ in best)
    return [PairCandidate(i, j, wording(a[i], b[j])) for i, j in chosen]


def meaning_candidates(
    a: Sequence[Keys],
    b: Sequence[Keys],
    texts: tuple[Sequence[str], Sequence[str]],
    of: tuple[list[int], list[int]],
    expected: tuple[Places, Places],
    encoder: DocumentEncoder,
    progress: Progress | None = None,
) -> list[PairCandidate]:
    """Find pairs with a similar meaning, scored by 1 − (1 − cosine) · (1 − wording)."""
    of_a, of_b = of
    if not of_a or not of_b:
        return []
    left, right = [texts[0][i] for i in of_a], [texts[1][j] for j in of_b]
    vectors = encoder.encode_passages([*left, *right], progress)
    sides = vectors[: len(left)], vectors[len(left) :]
    if not (sides[0].any() and sides[1].any()):
        return []
    there, back = (
        lambda start, stop, own=own, other=other: cosines(own[start:stop], other) for own, other in (sides, sides[::-1])
    )
    candidates = []
    for i, j, cosine in _best((there, back), 0.0, of, expected):
        score = 1 - (1 - cosine) * (1 - wording(a[of_a[i]], b[of_b[j]]))
        candidates.append(PairCandidate(of_a[i], of_b[j], score))
    return candidates


def _best(
    table: tuple[Rows, Rows],
    least: float,
    of: tuple[list[int], list[int]],
    expected: tuple[Places, Places] | None = None,
) -> list[tuple[int, int, float]]:
    """Find the cells that are among the best of their row or column, and at least `least`, each with its cosine.

    Args:
        table: makes rows of it, and of the same table turned.
    """
    of_rows, of_columns = of
    in_rows, in_columns = expected or (None, None)
    best = _best_of_rows(table[0], least, of_rows, of_columns, in_rows)
    turned = _best_of_rows(table[1], least, of_columns, of_rows, in_columns)
    best |= {(i, j): cosine for (j, i), cosine in turned.items() if (i, j) not in best}
    return [(i, j, cosine) for (i, j), cosine in sorted(best.items())]


def _best_of_rows(
    rows: Rows,
    least: float,
    of_rows: Sequence[int],
    of_columns: Sequence[int],
    expected: Places | None,
) -> dict[tuple[int, int], float]:
    """Find the cells that are among the best of their row; of many that tie, those near the expected ones."""
    best: dict[tuple[int, int], float] = {}
    edge = len(of_columns) - min(_PER_PASSAGE, len(of_columns))
    met: Counter[int] = Counter()
    for start, stop in row_blocks(len(of_rows), len(of_columns), _CELLS, _ROWS) if of_columns else ():
        some = rows(start, stop)
        lowest = np.partition(some, edge, axis=1)[:, [edge]]
        keep = (some >= lowest) & (some >= least)
        for row in np.flatnonzero(keep.sum(1) > REPEATED).tolist():
            tied = np.flatnonzero(keep[row] & (some[row] == lowest[row]))
            places = [of_columns[column] for column in tied.tolist()]
            near = around(places, met[places[0]], expected[of_rows[start + row]] if expected else ())
            keep[row, tied] = False
            keep[row, tied[near]] = True
            met[places[0]] += 1
        cells = zip(np.argwhere(keep).tolist(), some[keep].tolist(), strict=True)
        best |= {(start + row, column): cosine for (row, column), cosine in cells}
    return best


def _weighted_words(a: Sequence[Keys], b: Sequence[Keys]) -> tuple[_WeightedWords, _WeightedWords]:
    """Hash words and pairs of neighbouring words of n and of m passages, and weigh them by rarity."""
    hashed = [_hashed(side) for side in (a, b)]
    having = sum((np.bincount(side.buckets, minlength=_BUCKETS) for side in hashed), np.zeros(_BUCKETS, np.int64))
    rarity = np.log((1 + len(a) + len(b)) / (1 + having)).astype(np.float32) + 0.5
    for side in hashed:
        side.weights[:] = np.sqrt(side.weights) * rarity[side.buckets]
        for start, stop in row_blocks(len(side), _BUCKETS, _CELLS, _ROWS):
            norms = np.maximum(np.linalg.norm(side.rows(np.arange(start, stop)), axis=1), np.finfo(np.float32).tiny)
            held = slice(side.ends[start], side.ends[stop])
            side.weights[held] /= np.repeat(norms, np.diff(side.ends[start : stop + 1]))
    return hashed[0], hashed[1]


def _hashed(passages: Sequence[Keys]) -> _WeightedWords:
    """The words and pairs of words of passages, each with its count."""
    buckets, counts, ends = [np.zeros(0, np.uint16)], [np.zeros(0, np.float32)], [0]
    for keys in passages:
        pairs = (f"{first} {second}" for first, second in pairwise(keys))
        hashes = np.bincount([crc32(word.encode()) % _BUCKETS for word in (*keys, *pairs)], minlength=_BUCKETS)
        known = np.flatnonzero(hashes)
        buckets.append(known.astype(np.uint16))
        counts.append(hashes[known].astype(np.float32))
        ends.append(ends[-1] + len(known))
    return _WeightedWords(np.concatenate(buckets), np.concatenate(counts), np.array(ends, np.int64))


def _overlapping(chunks: Sequence[Chunk], passages: Sequence[Passage]) -> list[range]:
    """For each passage, the indices of the chunks that overlap it."""
    starts, ends = [chunk.span.start for chunk in chunks], [chunk.span.end for chunk in chunks]
    spans = [passage.span for passage in passages]
    return [range(bisect_right(ends, span.start), bisect_left(starts, span.end)) for span in spans]


def _members(ranges: Sequence[range]) -> list[int]:
    return sorted({index for indices in ranges for index in indices})


def _highest_of_ranges(cosines: FloatArray, rows: Sequence[int], ranges: Sequence[range]) -> FloatArray:
    """For each range of chunks, take the maximum over their rows, 1 for none: [p, m] from [len(rows), m]."""
    highest = np.ones((len(ranges), cosines.shape[1]), np.float32)
    for row, chunks in zip(highest, ranges, strict=True):
        if chunks:
            first = bisect_left(rows, chunks[0])
            row[:] = cosines[first : first + len(chunks)].max(0)
    return highest
