"""Scores at three levels, as pure functions of arrays (CoLDE §3.3; made precise in the docstrings).

*Score* is always a cosine in [-1, 1]. Attention is not a score: each of its rows sums to 1 even where
nothing matches, so it is only ever shown beside a cosine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
