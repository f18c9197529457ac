"""Figures of scored pairs under many weightings at once: what the bootstrap needs, and, with weights of 1, the figures.

Every function takes `related` bool [P], `scores` [P] and `weights` [B, P] and returns [B]; NaN where one of
the two judgements has no weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.systems import Scorer
from colde_cli.scoring.fit import best_threshold

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def roc_areas(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """Area under the ROC curve: how often a related pair scores above an unrelated one, ties counted half."""
    positive, negative = _mass(related, scores, weights)
    # Mass of the unrelated strictly below, and half of those at the same score.
    below = np.cumsum(negative, axis=1) - negative / 2
    return _ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1), np.nan)


def average_precisions(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """Area under the precision-recall curve as a step function: mean precision at the related pairs."""
    positive, negative = (mass[:, ::-1] for mass in _mass(related, scores, weights))
    hits = np.cumsum(positive, axis=1)
    precision = _ratio(hits, hits + np.cumsum(negative, axis=1), 0.0)
    return _ratio((positive * precision).sum(1), positive.sum(1), np.nan)


def threshold_figures(related: Bools, said: Bools, weights: Floats) -> dict[str, Floats]:
    """Precision, recall, F1 and accuracy of calling the pairs `said` related.

    Where nothing is called related, precision and F1 are 0.
    """
    hits, called = weights @ (said & related), weights @ said
    there = weights @ related
    return {
        "precision": _ratio(hits, called, 0.0),
        "recall": _ratio(hits, there, np.nan),
        "f1": _ratio(2 * hits, called + there, np.nan),
        "accuracy": _ratio(weights @ (said == related), weights.sum(1), np.nan),
    }


def brier_scores(related: Bools, probabilities: Floats, weights: Floats) -> Floats:
    """Mean squared distance of probability and judgement (Brier 1950); 0 is best."""
    return _ratio(weights @ (probabilities - related) ** 2, weights.sum(1), np.nan)


def _mass(related: Bools, scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weight of related and of unrelated pairs at every distinct score, ascending: two of [B, G]."""
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] > ranked[:-1]))
    sorted_weights = weights[:, order]
    positive = np.add.reduceat(sorted_weights * related[order], starts, axis=1)
    return positive, np.add.reduceat(sorted_weights, starts, axis=1) - positive


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    result = np.full(np.shape(below), otherwise)
    np.divide(above, below, out=result, where=below > 1e-12)
    return result


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


Points = tuple[tuple[float, float], ...]


_MOST = 120
_BARS = 24


@dataclass(frozen=True, slots=True)
class Histogram:
    """Scores of related and unrelated pairs in bars of equal width.

    Attributes:
        edges: of the bars, one more than there are bars.
        related: pairs in each bar.
        unrelated: pairs in each bar.
    """

    edges: tuple[float, ...]
    related: tuple[int, ...]
    unrelated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """What is plotted of one system on one field.

    Attributes:
        roc: false alarms and hits, both in parts of 1, from (0, 0) to (1, 1).
        precision_recall: recall and precision, recall ascending.
        reliability: bins of probabilities; empty where there is no calibration.
        histogram: of the scores.
    """

    roc: Points
    precision_recall: Points
    reliability: tuple[Bin, ...]
    histogram: Histogram


def make_curves(related: Bools, scores: Floats, bins: tuple[Bin, ...]) -> Curves:
    """Curves of scored pairs; both judgements are present."""
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], related[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    hits, alarms = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    recall, false_alarms = hits / truth.sum(), alarms / (~truth).sum()
    roc = ((0.0, 0.0), *_thinned(false_alarms, recall))
    return Curves(roc, _thinned(recall, hits / (hits + alarms)), bins, _histogram(related, scores))


def _thinned(x: Floats, y: Floats) -> Points:
    """At most so many points of a curve, its ends among them."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(_MOST, len(x))).round().astype(int))
    return tuple((float(x[place]), float(y[place])) for place in kept)


def _histogram(related: Bools, scores: Floats) -> Histogram:
    low, high = float(scores.min()), float(scores.max())
    edges = np.linspace(low, high if high > low else low + 1, _BARS + 1)
    counts = [np.histogram(scores[chosen], edges)[0] for chosen in (related, ~related)]
    yes, no = (tuple(int(count) for count in found) for found in counts)
    return Histogram(tuple(float(edge) for edge in edges), yes, no)


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


DEPTH = 10
_BLOCK = 20_000


def retrieval_figures(
    scorer: Scorer, gallery: Sequence[str], relevant: Mapping[str, frozenset[str]]
) -> dict[str, Floats]:
    """Figures of every query, [Q] each, in the order of `relevant`.

    Args:
        scorer: of the system.
        gallery: all documents; a query is not searched for itself.
        relevant: for every query the documents of the gallery that it should find.
    """
    table = _score_table(scorer, gallery)
    place = {name: row for row, name in enumerate(gallery)}
    found = [
        _hits(table[place[query]], place[query], [place[name] for name in names])
        for query, names in relevant.items()
    ]
    return {
        "recall_at_10": np.array([hits[:DEPTH].sum() / hits.sum() for hits in found]),
        "mrr": np.array([1 / (1 + int(hits.argmax())) for hits in found]),
        "ndcg_at_10": np.array([ndcg(hits) for hits in found]),
    }


def ndcg(hits: NDArray[np.bool_], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen 2002).

    Args:
        hits: [n], whether the document at each rank is relevant; at least one is.
        depth: ranks that count.
    """
    discounts = 1 / np.log2(np.arange(2, min(depth, len(hits)) + 2))
    ideal = discounts[: int(hits.sum())].sum()
    return float((hits[:depth] * discounts).sum() / ideal)


def _hits(scores: Floats, query: int, relevant: Sequence[int]) -> NDArray[np.bool_]:
    """Whether the document at each rank is relevant; of equal scores the one with the smaller id goes first."""
    order = np.argsort(-scores, kind="stable")
    order = order[order != query]
    return np.isin(order, relevant)


def _score_table(scorer: Scorer, gallery: Sequence[str]) -> Floats:
    """Scores of all documents with one another [n, n], each pair scored once."""
    size = len(gallery)
    table = np.zeros((size, size))
    rows, columns = np.triu_indices(size, 1)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs = [
            (gallery[row], gallery[column]) for row, column in zip(rows[block], columns[block], strict=True)
        ]
        table[rows[block], columns[block]] = scorer.scores(pairs)
    return table + table.T
