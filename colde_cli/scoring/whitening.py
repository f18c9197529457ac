"""Whiten chunk vectors: subtract what a field has in common, and shrink the directions in which all its texts vary.

Chunk vectors of one field lie close together. They differ most in a few directions that say little about which
documents belong together. Dividing each principal direction by a power of its standard deviation evens them out (ZCA;
for sentence vectors Su et al. 2021, arXiv:2103.15316). Full whitening raises noise as well: a power between none and
all did best on validation pairs of seven fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
Floats = NDArray[np.float64]

RANK = 96
"""Principal directions that are kept; all others share one variance. Of 32, 64 and all 384, 64 was nearly as good as
all."""

PRIOR_DOCUMENTS = 50
"""Documents that the covariance of the model counts for. 50 and 200 differ little on validation pairs."""

_POWER = 0.35
"""Power of the variances: 0 only centres, 0.5 whitens in full. Chosen among 0, 0.25, 0.35 and 0.5."""
_FLOOR = 0.02
"""Added to each variance, as a share of the largest."""


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Vectors [n, D] scaled to unit length; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: FloatArray = (vectors / np.maximum(norms, np.finfo(np.float32).tiny)).astype(np.float32)
    return scaled


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """A linear map of chunk vectors, up to a factor that no cosine depends on.

    Attributes:
        centre: [H], subtracted first.
        directions: [k, H], principal directions, at right angles and of unit length.
        gains: [k], the factor along each direction; every other direction has factor 1.
    """

    centre: FloatArray
    directions: FloatArray
    gains: FloatArray

    @classmethod
    def learn(cls, centre: FloatArray, covariance: Floats) -> Whitening:
        """Learn it from the centre [H] and the covariance [H, H] of a field."""
        directions, variances, rest = principal(covariance)
        floor = _FLOOR * max(float(variances[0]), float(np.finfo(np.float32).tiny))
        gains = np.power((np.asarray(variances, np.float64) + floor) / (rest + floor), -_POWER)
        return cls(centre.astype(np.float32), directions, gains.astype(np.float32))

    def apply(self, vectors: FloatArray) -> FloatArray:
        """Map chunk vectors [n, H]; they do not get unit length."""
        centred = vectors - self.centre
        along = centred @ self.directions.T
        whitened: FloatArray = (centred + (along * (self.gains - 1)) @ self.directions).astype(np.float32)
        return whitened

    def unit_vectors(self, vectors: FloatArray) -> FloatArray:
        """Map chunk vectors [n, H], and scale them to unit length."""
        return unit_rows(self.apply(vectors))


def principal(covariance: Floats) -> tuple[FloatArray, FloatArray, float]:
    """The `RANK` principal directions [k, H] of a covariance, their variances [k], and the mean of all others'."""
    ascending, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(ascending[::-1], 0.0), vectors[:, ::-1]
    kept = min(RANK, len(values))
    rest = float(values[kept:].mean()) if kept < len(values) else float(values[-1])
    # Files keep directions as float16, row by row: what is learned and what is read are the same, and so are their
    # products, which depend on the order in memory.
    directions = vectors[:, :kept].T.astype(np.float16, order="C").astype(np.float32)
    return directions, values[:kept].astype(np.float32), rest


def composed(directions: FloatArray, variances: FloatArray, rest: float) -> Floats:
    """The covariance [H, H] of principal directions, see `principal`."""
    wide = directions.astype(np.float64)
    covariance: Floats = (wide.T * (variances - rest)) @ wide + rest * np.eye(wide.shape[1])
    return covariance


def mean_of_means(documents: Sequence[FloatArray]) -> FloatArray:
    """The centre [H] of documents, given the chunk vectors [n, H] of each; every document counts the same."""
    means = [vectors.mean(0, dtype=np.float64) for vectors in documents]
    centre: FloatArray = np.mean(means, axis=0).astype(np.float32)
    return centre


def covariance_of(documents: Sequence[FloatArray], centre: FloatArray) -> Floats:
    """The covariance [H, H] of chunk vectors about a centre, with trace 1; every document counts the same."""
    total = np.zeros((len(centre), len(centre)))
    for vectors in documents:
        # Sums of float32 differ in the last digits with the place of an array in memory.
        centred = (vectors - centre).astype(np.float64)
        total += centred.T @ centred / len(centred)
    trace = float(np.trace(total))
    return total / trace if trace > 0 else isotropic(len(centre))


def blended_covariance(field: Floats, documents: int, model: Floats) -> Floats:
    """The covariance of a field; that of the model counts for `PRIOR_DOCUMENTS` documents."""
    share = documents / (documents + PRIOR_DOCUMENTS)
    blended: Floats = share * field + (1 - share) * model
    return blended


def isotropic(size: int) -> Floats:
    """The covariance [size, size] that prefers no direction, with trace 1."""
    covariance: Floats = np.eye(size) / size
    return covariance
