"""Confidence intervals, and tests between systems that scored the same pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.data import LabelledPair

Floats = NDArray[np.float64]

LEVEL = 0.95
_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """One metric under B random weightings. All systems see the same weightings, so that differences are paired.

    Attributes:
        documents: [B], values with random weights of documents.
        pairs: [B], values with random weights of pairs; zeros for a metric of queries.
    """

    documents: Floats
    pairs: Floats

    def minus(self, other: Self) -> Draws:
        """The difference of two metrics, draw by draw."""
        return Draws(self.documents - other.documents, self.pairs - other.pairs)

    def around(self, value: float) -> Floats:
        """Draws [B] about the measured value, scaled to the variance of the metric."""
        wide, narrow = float(self.documents.var()), float(self.pairs.var())
        wanted = max(wide - 2 * narrow, narrow) if narrow else wide
        scale = min(1.0, (wanted / wide) ** 0.5) if wide > 0 else 0.0
        return value + scale * (self.documents - value)


def mean_draws(several: Sequence[Draws]) -> Draws:
    """Draws of the mean of a metric over evaluation sets without common documents."""
    return Draws(
        np.mean([item.documents for item in several], axis=0),
        np.mean([item.pairs for item in several], axis=0),
    )


class PairBootstrap:
    """Random exponential weights for the pairs of one evaluation set (Bayesian bootstrap)."""

    def __init__(self, pairs: Sequence[LabelledPair], draws: int, seed: Sequence[int]) -> None:
        """Make `draws` weightings of each kind; equal pairs and seeds give equal weights."""
        ids = sorted({name for pair in pairs for name in (pair.a, pair.b)})
        place = {name: number for number, name in enumerate(ids)}
        self._rows = np.array([(place[pair.a], place[pair.b]) for pair in pairs], np.int64)
        self._documents = len(ids)
        self._draws = draws
        self._seed = tuple(seed)

    def by_documents(self) -> Iterator[Floats]:
        """Yield blocks of weights [b, P]: products of the random weights of the two documents of a pair."""
        for weights in self._blocks(self._documents, 0):
            yield weights[:, self._rows[:, 0]] * weights[:, self._rows[:, 1]]

    def by_pairs(self) -> Iterator[Floats]:
        """Yield blocks of weights [b, P]: random weights of the pairs themselves."""
        yield from self._blocks(len(self._rows), 1)

    def _blocks(self, width: int, kind: int) -> Iterator[Floats]:
        generator = np.random.default_rng([*self._seed, kind])
        step = max(1, _CELLS // max(1, len(self._rows)))
        for start in range(0, self._draws, step):
            yield generator.exponential(size=(min(step, self._draws - start), width))


def query_draws(values: Floats, draws: int, seed: Sequence[int]) -> Draws:
    """Means of the metrics of queries [Q] under random exponential weights of the queries."""
    weights = np.random.default_rng([*seed, 2]).exponential(size=(draws, len(values)))
    return Draws(weights @ values / weights.sum(1), np.zeros(draws))


def interval(draws: Floats) -> tuple[float, float] | None:
    """The central 95 % of the draws; None without draws, or if one is not finite."""
    if not len(draws) or not np.isfinite(draws).all():
        return None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


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
    """Correct p values for their number (Holm 1979): the chance of any false positive stays at the level.

    A test that could not be made (None) is not counted.
    """
    known = sorted((value, place) for place, value in enumerate(values) if value is not None)
    corrected: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[place] = highest
    return corrected
