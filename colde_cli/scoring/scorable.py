"""What a score needs of a document, and of the model that encoded it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.scoring.config import Calibration, ScoreWeights
from colde_cli.scoring.lexicon import Terms

FloatArray = NDArray[np.float32]


class Scorable(Protocol):
    """What a score needs of a document: an `Encoding`, or the shorter `Card` that a corpus keeps."""

    @property
    def document_vector(self) -> FloatArray:
        """[D], unit length."""

    @property
    def chunk_vectors(self) -> FloatArray:
        """[n, H], as the chunk encoder gives them."""

    @property
    def centred_unit_vectors(self) -> FloatArray:
        """[n, H], centred chunk vectors of unit length."""

    @property
    def shares(self) -> FloatArray:
        """[n], the share of each chunk in the document's tokens."""

    @property
    def terms(self) -> Terms | None:
        """The weighted words; None for a model without a lexicon."""

    @property
    def opening(self) -> Terms | None:
        """The weighted words of the opening; None for a model without a lexicon."""

    @property
    def domains(self) -> FloatArray:
        """[1 + K], the shares of "other" and of each domain."""


class ScoringConfig(Protocol):
    """What a model states about its scores: `ModelConfig` or `SystemConfig`."""

    @property
    def threshold(self) -> float | None:
        """Document score at which the verdict flips."""

    @property
    def calibration(self) -> Calibration | None:
        """Of the document score."""

    @property
    def score_weights(self) -> ScoreWeights | None:
        """Weights of the parts; None for the cosine of the document vectors alone."""
