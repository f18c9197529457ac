"""What kind of text a document is: nearest of the fields of knowledge that a model was trained on, or none of them.

What makes two contracts belong together is not what makes two papers do so: shares and probabilities of a model may
depend on the kind (`encoder.layout.Domain`). A kind is known by the mean of its documents' chunk vectors. A document
belongs to all kinds in shares, a softmax of its cosines with them, and to "other" where it is like none: a field that
no training file was of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.files import load_arrays

FloatArray = NDArray[np.float32]

_SHARPNESS = 20.0
_DOUBT = 0.25
"""Cosine from which a document rather is of a kind than of none. Documents of the five fields of the shipped model
have 0.4 to 0.7 with their own (medians), those of two other fields 0.14 and 0.25 with the nearest."""


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """Prototypes of kinds of text.

    Attributes:
        centre: [H], what all texts have in common.
        prototypes: [K, H], unit length, in the order of the model's kinds.
    """

    centre: FloatArray
    prototypes: FloatArray

    @classmethod
    def learn(cls, documents: Sequence[FloatArray]) -> Domains:
        """Prototypes of kinds, given the mean chunk vectors of documents of each, [N_k, H]."""
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
        return cls(*load_arrays(path, "centre", "prototypes"))

    def save(self, path: Path) -> None:
        """Write the prototypes; the same content gives the same bytes."""
        with path.open("wb") as file:
            np.savez(file, centre=self.centre, prototypes=self.prototypes)

    def membership(self, mean: FloatArray) -> FloatArray:
        """How much a document is of "other" and of every kind: [1 + K], sums to 1.

        Args:
            mean: [H], of its chunk vectors.
        """
        cosines = self.prototypes @ _unit(mean - self.centre)
        logits = _SHARPNESS * np.concatenate([[_DOUBT], cosines])
        weights = np.exp(logits - logits.max())
        shares: FloatArray = (weights / weights.sum()).astype(np.float32)
        return shares


def _unit(vectors: FloatArray) -> FloatArray:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: FloatArray = vectors / np.maximum(norms, 1e-12)
    return scaled
