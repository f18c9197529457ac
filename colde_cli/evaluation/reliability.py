"""Whether probabilities mean what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 15
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs with like probabilities.

    Attributes:
        count: how many.
        probability: their mean probability.
        share: how many of them are related, in parts of 1.
    """

    count: int
    probability: float
    share: float


def reliability(
    related: NDArray[np.bool_], probabilities: NDArray[np.float64], bins: int = BINS
) -> tuple[Bin, ...]:
    """Bins of equal mass, ascending (Nguyen and O'Connor 2015); those left empty are dropped.

    Pairs of equal probability stay together, by their middle rank, so that the order of pairs does not matter.
    """
    ranked = np.sort(probabilities)
    middle = (
        np.searchsorted(ranked, probabilities, "left") + np.searchsorted(ranked, probabilities, "right")
    ) / 2
    place = np.minimum((middle / len(ranked) * bins).astype(int), bins - 1)
    chosen = [place == number for number in np.unique(place)]
    return tuple(
        Bin(int(rows.sum()), float(probabilities[rows].mean()), float(related[rows].mean()))
        for rows in chosen
    )


def error_by_chance(probabilities: NDArray[np.float64], seed: int = 0, bins: int = BINS) -> float:
    """The ECE to be expected of these probabilities were each of them exactly right.

    Few pairs in a bin are related in just the share that they should be: an ECE of 0.05 over 400 pairs may be nothing
    but that. Judgements are drawn from the probabilities, and the mean of the ECEs is taken (the null of Vaicenavicius
    et al. 2019).
    """
    generator = np.random.default_rng(seed)
    draws = generator.random((_DRAWS, len(probabilities))) < probabilities
    return float(
        np.mean([expected_calibration_error(reliability(row, probabilities, bins)) for row in draws])
    )


def expected_calibration_error(bins: tuple[Bin, ...]) -> float:
    """ECE: mean distance of probability and share over the pairs (Naeini et al. 2015)."""
    total = sum(item.count for item in bins)
    return sum(item.count * abs(item.probability - item.share) for item in bins) / total
