"""Confidence intervals for figures of pairs whose documents recur.

One document stands in many pairs, so pairs are not independent and resampling them one by one gives intervals
that are too narrow. Here documents are reweighted and a pair gets the product of the weights of its two documents:
the Bayesian pigeonhole bootstrap (Owen 2007; Owen and Eckles 2012, §3), with independent exponential weights as in
Rubin (1981). It is mildly conservative. Exponential weights leave no pair out, so that a draw without a related pair
cannot happen. All systems see the same draws, which makes their differences paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.field import Judgement

Floats = NDArray[np.float64]

LEVEL = 0.95
_CELLS = 2_000_000


class DocumentBootstrap:
    """Draws of weights for the pairs of one field."""

    def __init__(self, pairs: Sequence[Judgement], draws: int, seed: Sequence[int]) -> None:
        """Reweight the documents of `pairs` `draws` times."""
        ids = sorted({name for pair in pairs for name in (pair.a, pair.b)})
        place = {name: number for number, name in enumerate(ids)}
        self._rows = np.array([(place[pair.a], place[pair.b]) for pair in pairs], np.int64)
        self._weights = np.random.default_rng(seed).exponential(size=(draws, len(ids)))

    def blocks(self) -> Iterator[Floats]:
        """Weights of the pairs, [b, P] at a time, the same on every call."""
        step = max(1, _CELLS // max(1, len(self._rows)))
        for start in range(0, len(self._weights), step):
            block = self._weights[start : start + step]
            yield block[:, self._rows[:, 0]] * block[:, self._rows[:, 1]]


def query_draws(values: Floats, draws: int, seed: Sequence[int]) -> Floats:
    """Weighted means [B] of the figures of queries [Q], under exponential weights of the queries."""
    weights = np.random.default_rng(seed).exponential(size=(draws, len(values)))
    means: Floats = weights @ values / weights.sum(1)
    return means


def interval(draws: Floats) -> tuple[float, float] | None:
    """The central 95 % of the draws; None where there are none, or some that are not numbers."""
    if not len(draws) or not np.isfinite(draws).all():
        return None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)
