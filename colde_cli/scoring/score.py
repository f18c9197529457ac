"""Two encodings to one document score: the only place where that happens, for every command and every measurement.

CoLDE's own score is the cosine of the document vectors (§3.3). One vector blurs what is small and telling, so that a
model may weigh further parts in (`encoder.layout.ScoreWeights`): counterparts of chunks, and rare words. Each is
symmetric, does not change when a document says everything m times over, and is 1 for a document and itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.scoring.calibration import Calibration, probability
from colde_cli.scoring.config import PARTS, ScoreWeights
from colde_cli.scoring.lexicon import Terms, overlap

FloatArray = NDArray[np.float32]


class Scorable(Protocol):
    """What the score needs of a document: an `Encoding`, or as much of one as a corpus keeps."""

    @property
    def document_vector(self) -> FloatArray:
        """[D], unit length."""

    @property
    def centred_unit_vectors(self) -> FloatArray:
        """[n, H], centred chunk vectors of unit length."""

    @property
    def shares(self) -> FloatArray:
        """[n], the share of each chunk in the document's tokens."""

    @property
    def terms(self) -> Terms | None:
        """Its weighed words."""

    @property
    def opening(self) -> Terms | None:
        """Those of its first words."""

    @property
    def domains(self) -> FloatArray:
        """[1 + K], how much it is of each kind of text, "other" first."""


class ScoringConfig(Protocol):
    """What a model's configuration states about its scores."""

    @property
    def threshold(self) -> float | None:
        """Document score at which the verdict flips."""

    @property
    def calibration(self) -> Calibration | None:
        """Of the document score."""

    @property
    def score_weights(self) -> ScoreWeights | None:
        """Weights of the parts of the document score; None for the cosine of the document vectors alone."""


class Configured(Protocol):
    """What says of what a score is made: an encoder."""

    @property
    def config(self) -> ScoringConfig:
        """Of the model."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A part of a document score.

    Attributes:
        name: "document", "chunks", "words" or "opening".
        score: in [-1, 1].
        weight: its share, for documents of these kinds.
    """

    name: str
    score: float
    weight: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model says of two documents.

    Attributes:
        score: in [-1, 1].
        parts: of which it is the mean, by their weights.
        threshold: the score from which documents of these kinds count as related; None where not fitted.
        probability: that they are related; None where the model is not calibrated.
    """

    score: float
    parts: tuple[ScorePart, ...]
    threshold: float | None
    probability: float | None


_PLAIN = ScoreWeights()


def cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cosine of every row of `a` [n, D] with every row of `b` [m, D]: [n, m] in [-1, 1].

    The section score ŷ_p[i, j] = cos(z_{s,i}, z_{t,j}) for section vectors (CoLDE §3.3), the chunk score for centred
    chunk vectors. A row of zeros has cosine 0 with everything.
    """
    scores: FloatArray = np.clip(_unit(a) @ _unit(b).T, -1.0, 1.0)
    return scores


def cosine(a: FloatArray, b: FloatArray) -> float:
    """Cosine of two vectors [D]: the document score ŷ_d = cos(z(s), z(t)) (CoLDE §3.3)."""
    return float(cosines(a[None, :], b[None, :])[0, 0])


def _unit(vectors: FloatArray) -> FloatArray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: FloatArray = (vectors / np.maximum(norms, np.finfo(np.float32).tiny)).astype(np.float32)
    return scaled


def document_score(a: Scorable, b: Scorable, encoder: Configured) -> float:
    """The score of two documents that `encoder` has encoded, in [-1, 1]: the weighted mean of its parts."""
    return _mean(score_parts(a, b, encoder))


def document_scores(
    left: Sequence[Scorable], right: Sequence[Scorable], encoder: Configured
) -> NDArray[np.float64]:
    """The scores of pairs of documents, [P].

    Args:
        left: the first document of each pair.
        right: the second of each, as many.
        encoder: what encoded them all.
    """
    scores = [document_score(a, b, encoder) for a, b in zip(left, right, strict=True)]
    return np.asarray(scores, np.float64)


def score_parts(a: Scorable, b: Scorable, encoder: Configured) -> tuple[ScorePart, ...]:
    """The parts of a document score, with the shares that the model's configuration gives them."""
    score_weights = encoder.config.score_weights or _PLAIN
    shares = _kinds(a, b, score_weights) @ _shares(score_weights)
    return tuple(
        ScorePart(name, part_score(name, a, b, score_weights), float(weight))
        for name, weight in zip(PARTS, shares, strict=True)
        if weight > 0
    )


def verdict(a: Scorable, b: Scorable, encoder: Configured) -> Verdict:
    """Score, threshold and probability of two documents, for what kinds of text they are.

    All that depends on the kind is averaged over the kinds of the two.
    """
    config, parts = encoder.config, score_parts(a, b, encoder)
    score = _mean(parts)
    score_weights = config.score_weights or _PLAIN
    domains = _kinds(a, b, score_weights)
    if config.threshold is None or config.calibration is None:
        return Verdict(score, parts, config.threshold, None)
    thresholds = np.array([config.threshold, *(kind.threshold for kind in score_weights.domains)])
    calibrations = [config.calibration, *(kind.calibration for kind in score_weights.domains)]
    chances = np.array([float(probability(score, calibration)) for calibration in calibrations])
    return Verdict(score, parts, float(domains @ thresholds), float(domains @ chances))


def _mean(parts: Sequence[ScorePart]) -> float:
    return sum(part.weight * part.score for part in parts)


def _kinds(a: Scorable, b: Scorable, score_weights: ScoreWeights) -> NDArray[np.float64]:
    """Of what kinds two documents are, [1 + K], sums to 1."""
    if not score_weights.domains:
        return np.ones(1)
    both: NDArray[np.float64] = (a.domains.astype(np.float64) + b.domains) / 2
    normal: NDArray[np.float64] = both / both.sum()
    return normal


def _shares(score_weights: ScoreWeights) -> NDArray[np.float64]:
    """The shares of the parts for each kind, "other" first: [1 + K, 4]."""
    choices = (score_weights, *score_weights.domains)
    return np.array([[float(getattr(choice, name)) for name in PARTS] for choice in choices], np.float64)


def part_score(name: str, a: Scorable, b: Scorable, score_weights: ScoreWeights) -> float:
    """One part of a document score, in [-1, 1].

    Raises:
        ValueError: no part of this name, or an encoding without the words that it needs.
    """
    if name == "document":
        return cosine(a.document_vector, b.document_vector)
    if name == "chunks":
        return counterparts(a, b, score_weights.sharpness)
    found = {"words": (a.terms, b.terms), "opening": (a.opening, b.opening)}.get(name)
    if found is None or found[0] is None or found[1] is None:
        raise ValueError(f"an encoding has no {name}")
    return saturated(overlap(found[0], found[1]), score_weights.saturation)


def counterparts(a: Scorable, b: Scorable, sharpness: float) -> float:
    """How well the chunks of two documents find a counterpart in the other, in [-1, 1].

    For every chunk the cosine m_i of its best match, and over the chunks of each document the soft maximum
    t · log Σ_i s_i · exp(m_i / t), where s_i is a chunk's share of the tokens; the mean of the two. A few chunks that
    match count more than many that nearly do, however long the document is.
    """
    table = np.clip(a.centred_unit_vectors @ b.centred_unit_vectors.T, -1.0, 1.0).astype(np.float64)
    both = (
        _soft_maximum(table.max(axis=1), a.shares, sharpness),
        _soft_maximum(table.max(axis=0), b.shares, sharpness),
    )
    return max(-1.0, min(1.0, sum(both) / 2))


def saturated(value: float, half: float) -> float:
    """An overlap in [0, 1] to the same range, steep where it is small: x (1 + k) / (x + k).

    Two documents of one field share few rare words; two versions share nearly all. The first step says most.
    """
    return value * (1 + half) / (value + half)


def _soft_maximum(values: NDArray[np.float64], shares: FloatArray, sharpness: float) -> float:
    highest = float(values.max())
    total = float(shares.astype(np.float64) @ np.exp((values - highest) / sharpness))
    return highest + sharpness * float(np.log(total))
