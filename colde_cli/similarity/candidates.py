"""Find pairs of passages that may be partners, by wording and by meaning.

Comparing every passage of A with every passage of B word for word would take too long, and so would encoding all of
them. Two cheap tables come first: cosines of weighted words, and cosines of the chunks that contain the passages.

Two long documents have 100 million pairs of passages, so that what is made of a table is made from some of its rows or
columns at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk
from colde_cli.documents.passages import Passage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, warm
from colde_cli.encoder.runtime import Progress
from colde_cli.scoring.score import cosines

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
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
_ROWS = 1024
"""Rows or columns of a table that are worked on at the same time."""
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
class WordCosines:
    """Cosines of some passages of A and of B, by their words and pairs of neighbouring words.

    Attributes:
        of_a: indices of the passages of A, ascending.
        of_b: indices of the passages of B, ascending.
        cosines: [n, m]; words are weighted by their rarity among these passages.
    """

    of_a: list[int]
    of_b: list[int]
    cosines: FloatArray

    @classmethod
    def of(cls, a: Sequence[Keys], b: Sequence[Keys], of_a: list[int], of_b: list[int]) -> WordCosines:
        """Compare the passages at `of_a` and `of_b`, given the words of all passages."""
        left, right = _weighted_words([a[i] for i in of_a], [b[j] for j in of_b])
        return cls(of_a, of_b, left @ right.T)

    def among(self, of_a: list[int], of_b: list[int]) -> FloatArray:
        """Select the cosines of some of these passages, by their indices."""
        rows, columns = np.searchsorted(self.of_a, of_a), np.searchsorted(self.of_b, of_b)
        cosines: FloatArray = self.cosines[np.ix_(rows, columns)]
        return cosines


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

        def among(rows: list[int], columns: list[int]) -> FloatArray:
            warm((a, rows), (b, columns))
            return cosines(a.vectors_of(rows), b.vectors_of(columns))

        return cls(a.chunks, b.chunks, among)

    def of_passages(self, a: Sequence[Passage], b: Sequence[Passage]) -> Iterator[FloatArray]:
        """For every two passages, find the highest cosine of the chunks that overlap them: [len(a), len(b)].

        It is 1 for a passage outside all chunks: nothing is known about it. No other chunks are asked for.

        Yields:
            Some rows of the table at a time, in order.
        """
        ranges_a, ranges_b = _overlapping(self.a, a), _overlapping(self.b, b)
        rows, columns = _members(ranges_a), _members(ranges_b)
        cosines = self.among(rows, columns) if rows and columns else None
        for start in range(0, len(a), _ROWS):
            some = ranges_a[start : start + _ROWS]
            if cosines is None:
                yield np.ones((len(some), len(b)), np.float32)
            else:
                yield _highest_of_ranges(_highest_of_ranges(cosines, rows, some).T, columns, ranges_b).T


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
    best = _best(alike.cosines, _MIN_COSINE, (alike.of_a, alike.of_b), expected)
    chosen = [(alike.of_a[i], alike.of_b[j]) for i, j in best]
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
    if not (vectors[: len(left)].any() and vectors[len(left) :].any()):
        return []
    table = cosines(vectors[: len(left)], vectors[len(left) :])
    candidates = []
    for i, j in _best(table, 0.0, of, expected):
        cosine = max(0.0, float(table[i, j]))
        score = 1 - (1 - cosine) * (1 - wording(a[of_a[i]], b[of_b[j]]))
        candidates.append(PairCandidate(of_a[i], of_b[j], score))
    return candidates


def promising(chunks: FloatArray, words: FloatArray, near: BoolArray) -> tuple[list[int], list[int]]:
    """Select the passages worth encoding, as rows and columns: they could mean the same as one of the other side.

    Args:
        chunks: cosines of the chunks that contain two passages, [n, m].
        words: cosines of their words, [n, m].
        near: whether both are near a pair of partners, [n, m]; then lower cosines will do.
    """
    pairs = near | (chunks >= CHUNKS) | (words >= WORDS)
    return np.flatnonzero(pairs.any(1)).tolist(), np.flatnonzero(pairs.any(0)).tolist()


def _best(
    table: FloatArray, least: float, of: tuple[list[int], list[int]], expected: tuple[Places, Places] | None = None
) -> list[tuple[int, int]]:
    """Find the cells that are among the best of their row or column, and at least `least`, in a table [n, m]."""
    if not table.size:
        return []
    of_rows, of_columns = of
    in_rows, in_columns = expected or (None, None)
    keep = _best_of_rows(table, least, of_rows, of_columns, in_rows)
    # The best of a column are the best of a row of the transposed table.
    keep |= _best_of_rows(table.T, least, of_columns, of_rows, in_columns).T
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(keep), strict=True)]


def _best_of_rows(
    table: FloatArray, least: float, of_rows: Sequence[int], of_columns: Sequence[int], expected: Places | None
) -> BoolArray:
    """Mark the cells that are among the best of their row, [n, m]; of many that tie, those near the expected ones."""
    keep = np.zeros(table.shape, bool)
    edge = table.shape[1] - min(_PER_PASSAGE, table.shape[1])
    met: Counter[int] = Counter()
    for start in range(0, len(table), _ROWS):
        some, best = table[start : start + _ROWS], keep[start : start + _ROWS]
        lowest = np.partition(some, edge, axis=1)[:, [edge]]
        best[:] = (some >= lowest) & (some >= least)
        for row in np.flatnonzero(best.sum(1) > REPEATED).tolist():
            tied = np.flatnonzero(best[row] & (some[row] == lowest[row]))
            places = [of_columns[column] for column in tied.tolist()]
            near = around(places, met[places[0]], expected[of_rows[start + row]] if expected else ())
            best[row, tied] = False
            best[row, tied[near]] = True
            met[places[0]] += 1
    return keep


def _weighted_words(a: Sequence[Keys], b: Sequence[Keys]) -> tuple[FloatArray, FloatArray]:
    """Hash words and pairs of neighbouring words, weighted by rarity: [n, 4096] and [m, 4096], unit length."""
    counts = np.zeros((len(a) + len(b), _BUCKETS), np.float32)
    for row, keys in zip(counts, (*a, *b), strict=True):
        pairs = (f"{first} {second}" for first, second in pairwise(keys))
        hashes = [crc32(word.encode()) % _BUCKETS for word in (*keys, *pairs)]
        row[:] = np.bincount(hashes, minlength=_BUCKETS)
    blocks = [counts[start : start + _ROWS] for start in range(0, len(counts), _ROWS)]
    having = sum(((block > 0).sum(0) for block in blocks), np.zeros(_BUCKETS, np.int64))
    rarity = np.log((1 + len(counts)) / (1 + having)).astype(np.float32) + 0.5
    # In place: the table of two documents of 200 pages takes some 100 MB.
    for block in blocks:
        np.sqrt(block, out=block)
        np.multiply(block, rarity, out=block)
        norms = np.maximum(np.linalg.norm(block, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        np.divide(block, norms, out=block)
    return counts[: len(a)], counts[len(a) :]


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
