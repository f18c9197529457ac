"""Figures of scored pairs under attack, all pure functions of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.areas import roc_areas, threshold_figures

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairFigures:
    """How well scores under attack tell related pairs from unrelated ones, and how far they moved.

    Attributes:
        pairs: how many.
        auc: area under the ROC curve; None where all pairs have one judgement.
        f1: at the threshold of the clean scores; None without a threshold.
        accuracy: at that threshold; None without one.
        moved_related: mean of score under attack minus clean score, over related pairs; None where there are none.
        moved_unrelated: the same over unrelated pairs.
    """

    pairs: int
    auc: float | None
    f1: float | None
    accuracy: float | None
    moved_related: float | None
    moved_unrelated: float | None

    def to_json(self) -> Mapping[str, float | None]:
        """All figures by name."""
        return asdict(self)


def pair_figures(
    related: NDArray[np.bool_], scores: Array, clean: Array, threshold: float | None
) -> PairFigures:
    """Measure scores under attack.

    Args:
        related: the judgements, [P].
        scores: under attack, [P].
        clean: of the same pairs as they are, [P].
        threshold: from which a pair counts as related; it was chosen on clean scores.
    """
    moved = scores - clean
    f1, accuracy = (None, None) if threshold is None else _verdicts(related, scores >= threshold)
    return PairFigures(
        pairs=len(scores),
        auc=auc(related, scores),
        f1=f1,
        accuracy=accuracy,
        moved_related=_mean(moved[related]),
        moved_unrelated=_mean(moved[~related]),
    )


def auc(related: NDArray[np.bool_], scores: Array) -> float | None:
    """Area under the ROC curve; None where all pairs have one judgement."""
    if related.all() or not related.any():
        return None
    return float(roc_areas(related, scores, np.ones((1, len(related))))[0])


def spearman(a: ArrayLike, b: ArrayLike) -> float | None:
    """Correlation of ranks in [-1, 1]; None where one of the two is constant."""
    left, right = ranks(np.asarray(a, np.float64)), ranks(np.asarray(b, np.float64))
    if not len(left) or not left.std() or not right.std():
        return None
    return float(np.corrcoef(left, right)[0, 1])


def ranks(values: Array) -> Array:
    """Ranks from 1, equal values sharing the mean of theirs."""
    from scipy.stats import rankdata

    shared: Array = rankdata(values)
    return shared


def _verdicts(related: NDArray[np.bool_], said: NDArray[np.bool_]) -> tuple[float, float]:
    figures = threshold_figures(related, said, np.ones((1, len(related))))
    f1, accuracy = (float(figures[name][0]) for name in ("f1", "accuracy"))
    # Where nothing is related and nothing is called so, nothing was found.
    return (0.0 if np.isnan(f1) else f1), accuracy


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None
