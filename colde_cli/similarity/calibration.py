"""Score to probability with a fitted `Calibration` (Platt 1999; isotonic regression as knots)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.encoder.layout import Calibration


def probability(scores: ArrayLike, calibration: Calibration) -> NDArray[np.float64]:
    """Probability that two documents are related, for each of their scores (any shape, kept).

    Platt: sigmoid(slope · score + intercept). Isotonic: linear between the fitted knots, constant beyond.
    """
    values = np.asarray(scores, dtype=np.float64)
    if calibration.kind == "isotonic":
        return np.asarray(np.interp(values, calibration.scores, calibration.probabilities))
    logits = calibration.slope * values + calibration.intercept
    # The sigmoid as a tanh: the same function, and no overflow on either side.
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))
