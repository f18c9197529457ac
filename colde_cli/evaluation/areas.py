"""Figures of scored pairs under many weightings at once: what the bootstrap needs, and, with weights of 1, the figures.

Every function takes `related` bool [P], `scores` [P] and `weights` [B, P] and returns [B]; NaN where one of
the two judgements has no weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def roc_areas(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """Area under the ROC curve: how often a related pair scores above an unrelated one, ties counted half."""
    positive, negative = _mass(related, scores, weights)
    # Mass of the unrelated strictly below, and half of those at the same score.
    below = np.cumsum(negative, axis=1) - negative / 2
    return _ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1), np.nan)


def average_precisions(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """Area under the precision-recall curve as a step function: mean precision at the related pairs."""
    positive, negative = (mass[:, ::-1] for mass in _mass(related, scores, weights))
    hits = np.cumsum(positive, axis=1)
    precision = _ratio(hits, hits + np.cumsum(negative, axis=1), 0.0)
    return _ratio((positive * precision).sum(1), positive.sum(1), np.nan)


def threshold_figures(related: Bools, said: Bools, weights: Floats) -> dict[str, Floats]:
    """Precision, recall, F1 and accuracy of calling the pairs `said` related.

    Where nothing is called related, precision and F1 are 0.
    """
    hits, called = weights @ (said & related), weights @ said
    there = weights @ related
    return {
        "precision": _ratio(hits, called, 0.0),
        "recall": _ratio(hits, there, np.nan),
        "f1": _ratio(2 * hits, called + there, np.nan),
        "accuracy": _ratio(weights @ (said == related), weights.sum(1), np.nan),
    }


def brier_scores(related: Bools, probabilities: Floats, weights: Floats) -> Floats:
    """Mean squared distance of probability and judgement (Brier 1950); 0 is best."""
    return _ratio(weights @ (probabilities - related) ** 2, weights.sum(1), np.nan)


def _mass(related: Bools, scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weight of related and of unrelated pairs at every distinct score, ascending: two of [B, G]."""
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] > ranked[:-1]))
    sorted_weights = weights[:, order]
    positive = np.add.reduceat(sorted_weights * related[order], starts, axis=1)
    return positive, np.add.reduceat(sorted_weights, starts, axis=1) - positive


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    result = np.full(np.shape(below), otherwise)
    np.divide(above, below, out=result, where=below > 1e-12)
    return result
