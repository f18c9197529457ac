"""How a space of vectors looks, as LA(SER)³ measures it (Xiao et al. 2023, after Ethayarajh 2019).

Elongating a text draws its token vectors towards each other: intra-document similarity tells by how much, once the
similarity that any two vectors of the space have anyway (anisotropy) is taken off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def anisotropy(vectors: ArrayLike) -> float:
    """Mean cosine of random pairs: the exact mean over all pairs of different rows, which sampling would estimate.

    Args:
        vectors: [N, D], N at least 2, of texts (or of parts of texts) drawn at random; of any length but zero.

    Returns:
        About 0 in a space without a common direction, 1 where all vectors point the same way.

    Raises:
        ValueError: fewer than two vectors, or one of length zero.
    """
    units = _units(vectors)
    count = len(units)
    if count < 2:
        raise ValueError("anisotropy needs at least two vectors")
    # Σ_i Σ_j u_i·u_j = |Σ u|², of which the N products of a vector with itself are 1 each.
    total = units.sum(0)
    return float((total @ total - count) / (count * (count - 1)))


def part_similarity(parts: ArrayLike, document: ArrayLike) -> float:
    """Mean cosine between the parts of a document [n, D] (tokens or chunks) and its own vector [D].

    Raises:
        ValueError: no part, or a vector of length zero.
    """
    units, whole = _units(parts), _units(np.asarray(document)[None])
    if not len(units):
        raise ValueError("a document needs at least one part")
    return float((units @ whole[0]).mean())


def intra_document_similarity(
    parts: Sequence[ArrayLike], documents: ArrayLike, baseline: float | None = None
) -> float:
    """Mean over documents of `part_similarity`, minus anisotropy.

    Args:
        parts: for each of N documents [n_i, D].
        documents: [N, D]; usually the mean of the parts.
        baseline: the anisotropy to take off; that of `documents` if None. Take one baseline for all lengths of a
            text, else the figure shows both changes at once.

    Raises:
        ValueError: numbers of documents differ, a document has no part, or a vector has length zero.
    """
    wholes = np.asarray(documents, np.float64)
    if baseline is None:
        baseline = anisotropy(wholes)
    found = [part_similarity(rows, whole) for rows, whole in zip(parts, wholes, strict=True)]
    return float(np.mean(found)) - baseline


def _units(vectors: ArrayLike) -> FloatArray:
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("a vector of length zero has no direction")
    units: FloatArray = rows / lengths
    return units
