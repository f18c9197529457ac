"""Find the domains of a document: the training files that it resembles, or "other".

Two contracts belong together for other reasons than two papers do, so the weights and probabilities of a score may
depend on the domain (`scoring.config.Domain`). The prototype of a domain is the mean direction of its documents. A
document belongs to each domain by a share: the softmax of its cosines with the prototypes, in which a constant stands
for "other".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import ModelError
from colde_cli.files import load_arrays

FloatArray = NDArray[np.float32]

_SHARPNESS = 20.0
_OTHER = 0.15
"""Cosine with a domain above which a document rather belongs to it than to "other". Of 0.15, 0.2, 0.25, 0.3 and 0.4 the
best on validation pairs of the five domains of the shipped model and of two further ones. The documents of the five
have 0.46 to 0.77 with their own (medians), those of the two 0.12 and 0.44 with the nearest."""


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The prototypes of K domains.

    Attributes:
        centre: [H], the mean of the means of the domains, subtracted from every document.
        prototypes: [K, H], unit length, in the order of `ScoreWeights.domains`.
    """

    centre: FloatArray
    prototypes: FloatArray

    @classmethod
    def learn(cls, documents: Sequence[FloatArray]) -> Domains:
        """Learn the prototypes from the mean chunk vectors of each domain's documents, [N_k, H]."""
        means = np.stack([vectors.mean(0) for vectors in documents])
        centre = means.mean(0)
        prototypes = [_unit(vectors - centre).mean(0) for vectors in documents]
        return cls(centre.astype(np.float32), _unit(np.stack(prototypes)).astype(np.float32))

    @classmethod
    def load(cls, path: Path) -> Domains:
        """Read prototypes.

        Raises:
            ModelError: the file is damaged.
        """
        centre, prototypes = load_arrays(path, "centre", "prototypes")
        kinds = centre.dtype.kind + prototypes.dtype.kind
        if kinds != "ff" or centre.ndim != 1 or prototypes.shape[1:] != centre.shape:
            raise ModelError(f"{path} is damaged; fetch or train the model again.")
        return cls(centre, prototypes)

    def save(self, path: Path) -> None:
        """Write the prototypes; the same content gives the same bytes."""
        with path.open("wb") as file:
            np.savez(file, centre=self.centre, prototypes=self.prototypes)

    def membership(self, mean: FloatArray) -> FloatArray:
        """The shares of "other" and of each domain in a document: [1 + K], sum 1.

        Args:
            mean: [H], mean of the document's chunk vectors.
        """
        cosines = self.prototypes @ _unit(mean - self.centre)
        logits = _SHARPNESS * np.concatenate([[_OTHER], cosines])
        weights = np.exp(logits - logits.max())
        shares: FloatArray = (weights / weights.sum()).astype(np.float32)
        return shares

    def nearness(self, means: FloatArray, shares: FloatArray) -> FloatArray:
        """How near the documents of a field lie to each domain together, [K]: cosines of their means with prototypes.

        In the mean for a domain each document has its share in that domain as its weight.

        Args:
            means: [N, H], the mean chunk vector of each document.
            shares: [N, 1 + K], as of `membership`.
        """
        directions = _unit(shares[:, 1:].T @ (means - self.centre))
        return np.asarray(np.einsum("kh,kh->k", directions, self.prototypes), np.float32)


def shared_domains(a: FloatArray, b: FloatArray) -> NDArray[np.float64]:
    """The shares of "other" and of each domain in a pair of documents: [1 + K], sum 1.

    The share of a domain is the geometric mean of those in the documents, and "other" has the rest: what tells two
    contracts says nothing of a contract and a paper.

    Args:
        a: [..., 1 + K], the shares in the first document, or in many.
    """
    both = np.sqrt(a[..., 1:].astype(np.float64) * b[..., 1:])
    other = np.maximum(0.0, 1.0 - both.sum(axis=-1, keepdims=True))
    shares = np.concatenate([other, both], axis=-1)
    normal: NDArray[np.float64] = shares / shares.sum(axis=-1, keepdims=True)
    return normal


_SHORT, _LONG = 500, 1500
"""Different words and pairs of words of the longest text that is wholly short, and of the shortest that is not short at
all: those of some 350 and 1,100 words of English."""


def shortness(size: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """How short a text is, in [0, 1], by its number of different words and pairs of words.

    They say how long a text is without its repetitions, and a card of a corpus holds them. Between the bounds the share
    falls with the logarithm.
    """
    logarithms = np.log(np.clip(size, _SHORT, _LONG))
    return np.asarray((np.log(_LONG) - logarithms) / (np.log(_LONG) - np.log(_SHORT)))


def with_short(shares: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of a pair with that of short texts after those of "other" and the domains, [..., 2 + K], sum 1.

    It is the geometric mean of the `shortness` of both, as that of a domain is: a clause and a whole contract are not
    compared as two clauses are.

    Args:
        shares: [..., 1 + K], as of `shared_domains`.
    """
    short = np.broadcast_to(np.sqrt(a * b), shares.shape[:-1])[..., None]
    return np.concatenate([shares * (1 - short), short], axis=-1)


def _unit(vectors: FloatArray) -> FloatArray:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatArray = vectors / np.maximum(norms, 1e-12)
    return scaled
