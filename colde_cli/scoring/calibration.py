"""Score to probability with a fitted `Calibration` (Platt 1999; isotonic regression as knots)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Calibration:
    """Score to probability, fitted on validation pairs (Platt 1999, or isotonic as knots).

    Attributes:
        kind: "platt": sigmoid(slope * score + intercept); "isotonic": linear between knots.
        slope: of Platt's sigmoid.
        intercept: of Platt's sigmoid.
        scores: ascending knots of the isotonic fit.
        probabilities: the value at each knot.
    """

    kind: Literal["platt", "isotonic"] = "platt"
    slope: float = 1.0
    intercept: float = 0.0
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()


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


def calibration_of(values: dict[str, Any]) -> Calibration:
    """A calibration as `config.json` holds it."""
    listed: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Calibration(**listed)
