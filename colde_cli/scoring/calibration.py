"""Turn a score into a probability (Platt 1999; isotonic regression: Zadrozny & Elkan 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted map from score to probability.

    Attributes:
        kind: "platt" is sigmoid(slope · score + intercept); "isotonic" is linear between knots.
        scores: knots of the isotonic map, ascending.
        probabilities: the value at each knot.
    """

    kind: Literal["platt", "isotonic"] = "platt"
    slope: float = 1.0
    intercept: float = 0.0
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()


def probability(scores: ArrayLike, calibration: Calibration) -> NDArray[np.float64]:
    """Probability that two documents are related, for scores of any shape; beyond the outer knots it is constant."""
    values = np.asarray(scores, dtype=np.float64)
    if calibration.kind == "isotonic":
        return np.asarray(np.interp(values, calibration.scores, calibration.probabilities))
    logits = calibration.slope * values + calibration.intercept
    # The sigmoid as a tanh: the same function, and no overflow on either side.
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))


def calibration_of(values: dict[str, Any]) -> Calibration:
    """Read a calibration from the values of `config.json`."""
    read: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Calibration(**read)
