"""Scores of sections and chunks, as pure functions of arrays (CoLDE §3.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk

FloatArray = NDArray[np.float32]


def cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cosine of every row of `a` [n, D] with every row of `b` [m, D]: [n, m] in [-1, 1].

    The section score ŷ_p[i, j] = cos(z_{s,i}, z_{t,j}) for section vectors, the chunk score for centred
    chunk vectors. A row of zeros has cosine 0 with everything.
    """
    scores: FloatArray = np.clip(_unit(a) @ _unit(b).T, -1.0, 1.0)
    return scores


def cosine(a: FloatArray, b: FloatArray) -> float:
    """Cosine of two vectors [D]: the document score ŷ_d = cos(z(s), z(t))."""
    return float(cosines(a[None, :], b[None, :])[0, 0])


def explanation(a_to_b: FloatArray, b_to_a: FloatArray, chunk_scores: FloatArray) -> FloatArray:
    """How much each pair of chunks speaks for the documents being alike: E [n_a, n_b], at least 0.

    E = ½ (Ā_{a→b}·n_b + (Ā_{b→a}·n_a)ᵀ) ⊙ max(C, 0): attention in both directions, scaled so that 1 is
    uniform, counted only where the chunks are alike.

    Args:
        a_to_b: attention of the chunks of A over those of B, [n_a, n_b], rows sum to 1.
        b_to_a: the same from B, [n_b, n_a].
        chunk_scores: C, cosines of centred chunk vectors, [n_a, n_b].
    """
    attention = 0.5 * (relative_attention(a_to_b) + relative_attention(b_to_a).T)
    result: FloatArray = attention * np.maximum(chunk_scores, 0.0)
    return result


def relative_attention(attention: FloatArray) -> FloatArray:
    """Attention [n, m] in multiples of uniform attention: 1 where a chunk is attended to like any other."""
    result: FloatArray = attention * np.float32(attention.shape[1])
    return result


def _unit(vectors: FloatArray) -> FloatArray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: FloatArray = (vectors / np.maximum(norms, np.finfo(np.float32).tiny)).astype(np.float32)
    return scaled


IntArray = NDArray[np.int64]

TELLING = 32.0
"""Tokens of shared stretch after which what the vectors leave open is 1/e of what it was: some 25 words. Of 16, 24,
32, 48 and 64, chosen on validation documents (benchmarks/planted.py)."""

_MISS = 0.5
"""What a place in a stretch costs whose two tokens do not stand side by side in the other chunk."""


def with_shared_wording(cosines: FloatArray, stretches: FloatArray) -> FloatArray:
    """Chunk scores that also see wording shared in one place: 1 − (1 − cosine) · exp(−stretch / 32), in [-1, 1].

    Never below the cosine, and equal to it where no wording is shared.

    Args:
        cosines: of centred chunk vectors, [n, m].
        stretches: of `shared_stretches`, [n, m].
    """
    scores: FloatArray = 1 - (1 - cosines) * np.exp(-stretches / np.float32(TELLING))
    return scores


def shared_stretches(a: Sequence[Chunk], b: Sequence[Chunk]) -> FloatArray:
    """Length of the longest stretch of wording that each chunk of `a` shares with each of `b`: [n, m] in tokens.

    Every place in a chunk at which two tokens begin that stand side by side anywhere in the other chunk counts 1,
    every other −½, and the run of places with the largest sum is taken, at least 0. Of the two readings, A's chunk
    by B's and B's by A's, the smaller counts, so that a phrase repeated in one of them does not add up.
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)), np.float32)
    left, right = _couples(a), _couples(b)
    known, codes = np.unique(np.concatenate([*left, *right]), return_inverse=True)
    pieces = np.split(codes, np.cumsum([len(piece) for piece in (*left, *right)])[:-1])
    left, right = pieces[: len(a)], pieces[len(a) :]
    return np.minimum(_stretches(left, right, len(known)), _stretches(right, left, len(known)).T)


def _couples(chunks: Sequence[Chunk]) -> list[IntArray]:
    """For each chunk a number for every two neighbouring tokens, specials left out."""
    found = []
    for chunk in chunks:
        ids = np.asarray(chunk.ids[1:-1], np.int64)
        found.append((ids[:-1] << 32) + ids[1:])
    return found


def _stretches(own: Sequence[IntArray], other: Sequence[IntArray], kinds: int) -> FloatArray:
    """Best sum over a run of places of each of `own`, by what stands in each of `other`: [n, m]."""
    codes, rows = np.concatenate(own), np.repeat(np.arange(len(own)), [len(piece) for piece in own])
    # Chunks stand so far apart on one line that no run pays off that reaches into the next.
    apart = 4 * max(len(piece) for piece in own)
    places = np.arange(len(codes)) + rows * apart
    result = np.zeros((len(own), len(other)), np.float32)
    present = np.zeros(kinds, bool)
    for column, piece in enumerate(other):
        present[piece] = True
        hits = np.flatnonzero(present[codes])
        present[piece] = False
        if len(hits):
            # Sum of a run from hit i to hit j is heights[j] - heights[i] + 1: all places between are misses.
            heights = (1 + _MISS) * np.arange(len(hits)) - _MISS * places[hits]
            sums = heights - np.minimum.accumulate(heights) + 1
            np.maximum.at(result[:, column], rows[hits], sums.astype(np.float32))
    return result
