"""Which passages without a partner in wording can have one in meaning: encoding the others would be in vain."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Span
from colde_cli.documents.passages import Passage

FloatArray = NDArray[np.float32]
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
