"""Confidence intervals for figures of pairs whose documents recur.

One document stands in many pairs, so that pairs are not independent, and resampling them one by one gives intervals
that may be too narrow. Two bootstraps with exponential weights (Rubin 1981) are drawn instead. In one, documents are
weighted and a pair gets the product of the weights of its two documents: the pigeonhole bootstrap (Owen 2007; Owen
and Eckles 2012). In the other, pairs are weighted. To first order the former has the variance

    V_documents = sum over documents of (sum of the influences of its pairs)² + sum over pairs of influence²

and the latter V_pairs, the second of these sums, while the variance for pairs that share documents is the first sum
minus the second (Fafchamps and Gubert 2007; as for two-way clusters, Cameron, Gelbach and Miller 2011). So the
draws of documents are drawn together until their variance is V_documents - 2 V_pairs, and never below V_pairs.
Exponential weights leave no pair out, so that a draw without a related pair cannot happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.field import Judgement

Floats = NDArray[np.float64]

LEVEL = 0.95
_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """One figure under many weightings; all systems see the same ones, which makes their differences paired.

    Attributes:
        documents: [B], documents weighted.
        pairs: [B], pairs weighted; zeros for a figure that is not made of pairs.
    """

    documents: Floats
    pairs: Floats

    def minus(self, other: Self) -> Draws:
        """The difference of two figures, draw by draw."""
        return Draws(self.documents - other.documents, self.pairs - other.pairs)

    def around(self, value: float) -> Floats:
        """Draws [B] with the variance that the figure has, about its value."""
        wide, narrow = float(self.documents.var()), float(self.pairs.var())
        wanted = max(wide - 2 * narrow, narrow) if narrow else wide
        scale = min(1.0, (wanted / wide) ** 0.5) if wide > 0 else 0.0
        return value + scale * (self.documents - value)


def mean_draws(several: Sequence[Draws]) -> Draws:
    """Draws of the mean of a figure over fields, which share no documents."""
    return Draws(
        np.mean([item.documents for item in several], axis=0),
        np.mean([item.pairs for item in several], axis=0),
    )


class PairBootstrap:
    """Weightings of the pairs of one field."""

    def __init__(self, pairs: Sequence[Judgement], draws: int, seed: Sequence[int]) -> None:
        """Draw `draws` weightings of each kind; the same ones for the same pairs and seed."""
        ids = sorted({name for pair in pairs for name in (pair.a, pair.b)})
        place = {name: number for number, name in enumerate(ids)}
        self._rows = np.array([(place[pair.a], place[pair.b]) for pair in pairs], np.int64)
        self._documents = len(ids)
        self._draws = draws
        self._seed = tuple(seed)

    def by_documents(self) -> Iterator[Floats]:
        """Weights [b, P] at a time, products of the weights of the two documents."""
        for weights in self._blocks(self._documents, 0):
            yield weights[:, self._rows[:, 0]] * weights[:, self._rows[:, 1]]

    def by_pairs(self) -> Iterator[Floats]:
        """Weights [b, P] at a time, of the pairs themselves."""
        yield from self._blocks(len(self._rows), 1)

    def _blocks(self, width: int, kind: int) -> Iterator[Floats]:
        generator = np.random.default_rng([*self._seed, kind])
        step = max(1, _CELLS // max(1, len(self._rows)))
        for start in range(0, self._draws, step):
            yield generator.exponential(size=(min(step, self._draws - start), width))


def query_draws(values: Floats, draws: int, seed: Sequence[int]) -> Draws:
    """Weighted means of the figures of queries [Q], under exponential weights of the queries."""
    weights = np.random.default_rng([*seed, 2]).exponential(size=(draws, len(values)))
    return Draws(weights @ values / weights.sum(1), np.zeros(draws))


def interval(draws: Floats) -> tuple[float, float] | None:
    """The central 95 % of the draws; None where there are none, or some that are not numbers."""
    if not len(draws) or not np.isfinite(draws).all():
        return None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)
