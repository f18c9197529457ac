"""Scores of judged pairs to a `Calibration`: Platt's sigmoid for few pairs, isotonic regression for many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from colde_cli.encoder.layout import Calibration

# Isotonic regression overfits below about a thousand pairs (Niculescu-Mizil & Caruana 2005, §5).
_MANY = 1000


def fit_calibration(related: ArrayLike, scores: ArrayLike) -> Calibration:
    """Fit the probability that a pair is related, given its score.

    Args:
        related: bool [P], both values present.
        scores: [P].
    """
    truth, values = np.asarray(related, bool), np.asarray(scores, np.float64)
    return _isotonic(truth, values) if len(values) >= _MANY else _platt(truth, values)


def _platt(related: np.ndarray, scores: np.ndarray) -> Calibration:
    """Platt (1999) with his smoothed targets, which keep separable pairs from an infinite slope."""
    from sklearn.linear_model import LogisticRegression

    positives, negatives = int(related.sum()), int((~related).sum())
    target = np.where(related, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # A target t is a pair counted t times as related and 1 - t times as not.
    column = np.concatenate([scores, scores])[:, None]
    labels = np.repeat([1, 0], len(scores))
    weights = np.concatenate([target, 1 - target])
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(column, labels, sample_weight=weights)
    return Calibration("platt", float(model.coef_[0, 0]), float(model.intercept_[0]))


def _isotonic(related: np.ndarray, scores: np.ndarray) -> Calibration:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, related.astype(float))
    knots = tuple(float(value) for value in model.X_thresholds_)
    return Calibration("isotonic", scores=knots, probabilities=tuple(float(p) for p in model.y_thresholds_))
