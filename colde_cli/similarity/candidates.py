"""Which passages of two documents could answer each other, and how alike they are in wording and in meaning."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Span
from colde_cli.documents.passages import Passage
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.encoder.runtime import Progress
from colde_cli.similarity.chunk_scores import cosines

FloatArray = NDArray[np.float32]

_BUCKETS = 4096
_PER_PASSAGE = 6
_LEAST = 0.15
"""Cosine of weighed words below which two passages are not compared word by word."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage of A and one of B that could answer each other.

    Attributes:
        a: index of the passage of A.
        b: index of that of B.
        score: how alike they are, 0 to 1.
    """

    a: int
    b: int
    score: float


Keys = tuple[str, ...]
"""The words of a passage, case ignored."""


def wording(a: Keys, b: Keys) -> float:
    """The share of their words that two passages have in common in the same order, 0 to 1."""
    from rapidfuzz.distance import Indel

    return float(Indel.normalized_similarity(a, b))


@dataclass(frozen=True, slots=True, eq=False)
class TellingWords:
    """How many telling words passages share.

    Attributes:
        of_a: which passages of A, ascending.
        of_b: which of B.
        cosines: of their words and pairs of neighbouring words, weighed by rarity among them, [n, m].
    """

    of_a: list[int]
    of_b: list[int]
    cosines: FloatArray

    @classmethod
    def of(cls, a: Sequence[Keys], b: Sequence[Keys], of_a: list[int], of_b: list[int]) -> TellingWords:
        """Compare some passages, given the words of all passages of A and of B."""
        left, right = _bags([a[i] for i in of_a], [b[j] for j in of_b])
        return cls(of_a, of_b, left @ right.T)

    def among(self, of_a: list[int], of_b: list[int]) -> FloatArray:
        """The cosines of some of them, by the numbers of the passages."""
        places = np.searchsorted(self.of_a, of_a), np.searchsorted(self.of_b, of_b)
        found: FloatArray = self.cosines[np.ix_(*places)]
        return found


def lexical_candidates(a: Sequence[Keys], b: Sequence[Keys], shared: TellingWords) -> list[Candidate]:
    """Pairs that share telling words, scored by `wording`: for each passage at most six, and more where they tie.

    Args:
        a: the words of all passages of A.
        b: of B.
        shared: of the passages to look at.
    """
    chosen = [(shared.of_a[i], shared.of_b[j]) for i, j in _best(shared.cosines, _LEAST)]
    return [Candidate(i, j, wording(a[i], b[j])) for i, j in chosen]


def meaning_candidates(
    a: Sequence[Keys],
    b: Sequence[Keys],
    texts: tuple[Sequence[str], Sequence[str]],
    of: tuple[list[int], list[int]],
    encoder: DocumentEncoder,
    progress: Progress | None = None,
) -> list[Candidate]:
    """Pairs that mean much the same, scored by 1 − (1 − cosine) · (1 − wording).

    The passages are encoded as chunks of their own, by the same encoder.

    Args:
        a: the words of all passages of A.
        b: of B.
        texts: the passages of A, and those of B.
        of: which of A to look at, and which of B.
        encoder: of meaning.
        progress: called with the number of passages just encoded.
    """
    of_a, of_b = of
    if not of_a or not of_b:
        return []
    left, right = [texts[0][i] for i in of_a], [texts[1][j] for j in of_b]
    vectors = encoder.encode_passages([*left, *right], progress)
    if not (vectors[: len(left)].any() and vectors[len(left) :].any()):
        return []
    table = cosines(vectors[: len(left)], vectors[len(left) :])
    found = []
    for i, j in _best(table, 0.0):
        cosine = max(0.0, float(table[i, j]))
        score = 1 - (1 - cosine) * (1 - wording(a[of_a[i]], b[of_b[j]]))
        found.append(Candidate(of_a[i], of_b[j], score))
    return found


def _best(table: FloatArray, least: float) -> list[tuple[int, int]]:
    """The places that are among the best of their row or of their column."""
    if not table.size:
        return []
    keep = np.zeros(table.shape, bool)
    for axis in (0, 1):
        edge = table.shape[axis] - min(_PER_PASSAGE, table.shape[axis])
        keep |= table >= np.partition(table, edge, axis).take([edge], axis)
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(keep & (table >= least)), strict=True)]


def _bags(a: Sequence[Keys], b: Sequence[Keys]) -> tuple[FloatArray, FloatArray]:
    """Words and pairs of neighbours, hashed, weighed by rarity: [n, 4096] and [m, 4096], unit length."""
    counts = np.zeros((len(a) + len(b), _BUCKETS), np.float32)
    for row, keys in zip(counts, (*a, *b), strict=True):
        pairs = (f"{first} {second}" for first, second in pairwise(keys))
        hashes = [crc32(word.encode()) % _BUCKETS for word in (*keys, *pairs)]
        row[:] = np.bincount(hashes, minlength=_BUCKETS)
    rarity = np.log((1 + len(counts)) / (1 + (counts > 0).sum(0, keepdims=True))).astype(np.float32) + 0.5
    # In place: of two documents of 200 pages the table takes some 100 MB.
    np.sqrt(counts, out=counts)
    counts *= rarity
    counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return counts[: len(a)], counts[len(a) :]


BoolArray = NDArray[np.bool_]

CHUNKS, WORDS = 0.55, 0.12
"""Cosines of the chunks that hold two passages, and of their telling words, below which both they are not expected to
mean the same. Of 347 pairs that meaning alone had made partners with certainty in 90 pairs of documents 3 are below
both, and 84 % of the words of unrelated papers (docs/results-alignment.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkScores:
    """How alike the chunks of two documents are.

    Attributes:
        a: the chunks of A, in reading order.
        b: of B.
        cosines: [n, m] of their centred vectors.
    """

    a: tuple[Chunk, ...]
    b: tuple[Chunk, ...]
    cosines: FloatArray

    def of_passages(self, a: Sequence[Passage], b: Sequence[Passage]) -> FloatArray:
        """For passages of A and of B the highest cosine of chunks that hold some of them: [len(a), len(b)].

        A passage that stands in no chunk is taken to be as good as any.
        """
        rows = _highest(self.cosines, self.a, a)
        return _highest(rows.T, self.b, b).T


def _highest(cosines: FloatArray, chunks: Sequence[Chunk], passages: Sequence[Passage]) -> FloatArray:
    """For each passage the highest of the rows of its chunks: [p, m] from [n, m]."""
    starts, ends = [chunk.span.start for chunk in chunks], [chunk.span.end for chunk in chunks]
    found = np.ones((len(passages), cosines.shape[1]), np.float32)
    for row, passage in zip(found, passages, strict=True):
        first, last = _range(starts, ends, passage.span)
        if first < last:
            row[:] = cosines[first:last].max(0)
    return found


def _range(starts: list[int], ends: list[int], span: Span) -> tuple[int, int]:
    """The first of the chunks that a span touches, and the one after the last."""
    return bisect_right(ends, span.start), bisect_left(starts, span.end)


def promising(chunks: FloatArray, words: FloatArray, near: BoolArray) -> tuple[list[int], list[int]]:
    """Which rows, and which columns, have a pair that could mean the same.

    Args:
        chunks: cosines of the chunks that hold two passages, [n, m].
        words: cosines of their telling words, [n, m].
        near: whether both stand near a neighbour that answers, [n, m]: likeness of another kind is not asked for.
    """
    pairs = near | (chunks >= CHUNKS) | (words >= WORDS)
    return np.flatnonzero(pairs.any(1)).tolist(), np.flatnonzero(pairs.any(0)).tolist()
