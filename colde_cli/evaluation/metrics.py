"""Figures of scored pairs: areas under curves, the best threshold, and what it gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.areas import average_precisions, roc_areas, threshold_figures


@dataclass(frozen=True, slots=True)
class PairMetrics:
    """How well scores tell related pairs from unrelated ones, over all pairs at once.

    Attributes:
        pairs: how many.
        positives: how many of them are related.
        auc: area under the ROC curve.
        field_auc: mean of the areas of every field for itself, where there are several; else the same.
        average_precision: area under the precision-recall curve, as a step function.
        threshold: the score from which a pair counts as related.
        precision: at the threshold.
        recall: at the threshold.
        f1: at the threshold.
        accuracy: at the threshold.
    """

    pairs: int
    positives: int
    auc: float
    field_auc: float
    average_precision: float
    threshold: float
    precision: float
    recall: float
    f1: float
    accuracy: float

    def to_json(self) -> dict[str, float]:
        """All figures by name."""
        return asdict(self)


def pair_metrics(
    related: ArrayLike, scores: ArrayLike, threshold: float | None = None, fields: ArrayLike | None = None
) -> PairMetrics:
    """Measure scores against judgements.

    Args:
        related: bool [P], both values present.
        scores: [P].
        threshold: the score from which a pair counts as related; the one with the best F1 if None.
        fields: int [P], the field of knowledge of each pair; one field if None.
    """
    truth, values = np.asarray(related, bool), np.asarray(scores, np.float64)
    cut = best_threshold(truth, values) if threshold is None else threshold
    once = np.ones((1, len(truth)))
    at_threshold = threshold_figures(truth, values >= cut, once)
    return PairMetrics(
        pairs=len(truth),
        positives=int(truth.sum()),
        auc=float(roc_areas(truth, values, once)[0]),
        field_auc=_field_auc(truth, values, np.zeros(len(truth)) if fields is None else np.asarray(fields)),
        average_precision=float(average_precisions(truth, values, once)[0]),
        threshold=cut,
        **{name: float(value[0]) for name, value in at_threshold.items()},
    )


def _field_auc(truth: NDArray[np.bool_], scores: NDArray[np.float64], fields: NDArray[np.generic]) -> float:
    """Mean of the AUCs of all fields that have related and unrelated pairs.

    Over all pairs at once the AUC also compares scores of different fields, and the largest field decides.
    """
    members = [fields == field for field in np.unique(fields)]
    judged = [chosen for chosen in members if truth[chosen].any() and not truth[chosen].all()]
    if len(judged) < 2:
        judged = [np.ones(len(truth), bool)]
    areas = [roc_areas(truth[chosen], scores[chosen], np.ones((1, chosen.sum()))) for chosen in judged]
    return float(np.mean(areas))


def best_threshold(related: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The score from which F1 is highest, half-way between the two neighbouring scores.

    Of several, the highest; where calling everything related is best, the lowest score.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(related[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + related.sum())
    # A threshold cannot part equal scores.
    last_of_its_kind = np.append(ranked[:-1] > ranked[1:], True)
    best = int(np.where(last_of_its_kind, f1, -1.0).argmax())
    if best == len(ranked) - 1:
        return float(ranked[best])
    return float((ranked[best] + ranked[best + 1]) / 2)
