"""Tests between two systems on the same pairs, and the correction for making several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def bootstrap_p(differences: NDArray[np.float64]) -> float | None:
    """Two-sided p of a difference of 0, from paired draws of the difference [B]; None without draws.

    The level at which a percentile interval would just reach 0 (Efron and Tibshirani 1993, §15.4); with the
    observed sample counted as a draw, it is never below 2 / (B + 1).
    """
    if not len(differences) or not np.isfinite(differences).all():
        return None
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    return min(1.0, 2 * (1 + min(below, above)) / (len(differences) + 1))


def mcnemar_p(right: ArrayLike, other_right: ArrayLike) -> float:
    """Two-sided exact p of McNemar's test (1947) that two systems are right equally often.

    Args:
        right: bool [P], where the one system's verdict is right.
        other_right: bool [P], the same of the other.
    """
    from scipy.stats import binomtest

    one, other = np.asarray(right, bool), np.asarray(other_right, bool)
    only_one, only_other = int((one & ~other).sum()), int((other & ~one).sum())
    if only_one + only_other == 0:
        return 1.0
    return float(binomtest(only_one, only_one + only_other, 0.5).pvalue)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """P values corrected for their number (Holm 1979): the chance of any false alarm stays at the level.

    A test that could not be made (None) is not counted.
    """
    known = sorted((value, place) for place, value in enumerate(values) if value is not None)
    corrected: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[place] = highest
    return corrected
