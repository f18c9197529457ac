"""Metrics of scored pairs: AUC, precision and recall, calibration error, curves, and retrieval.

The functions named `weighted_...` take the labels `related` bool [P], scores or verdicts [P], and `weights` [B, P], and
return one value for each of the B weightings, [B]. The bootstrap draws random weights; weights of 1 give the plain
metric. A value is NaN where related or unrelated pairs have no weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.systems import PairScorer
from colde_cli.scoring.fit import best_threshold

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def weighted_auc(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """AUC: how often a related pair scores above an unrelated one; ties count half."""
    positive, negative = _weight_by_score(related, scores, weights)
    # Weight of the unrelated pairs strictly below, plus half of those at the same score.
    below = np.cumsum(negative, axis=1) - negative / 2
    return _ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1), np.nan)


def weighted_average_precision(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """Area under the precision-recall curve as a step function: the mean precision at the related pairs."""
    positive, negative = (weight[:, ::-1] for weight in _weight_by_score(related, scores, weights))
    hits = np.cumsum(positive, axis=1)
    precision = _ratio(hits, hits + np.cumsum(negative, axis=1), 0.0)
    return _ratio((positive * precision).sum(1), positive.sum(1), np.nan)


def weighted_verdict_metrics(related: Bools, called: Bools, weights: Floats) -> dict[str, Floats]:
    """Precision, recall, F1 and accuracy of the verdicts `called` bool [P].

    If no pair is called related, precision and F1 are 0.
    """
    hits, positive_calls = weights @ (called & related), weights @ called
    positives = weights @ related
    return {
        "precision": _ratio(hits, positive_calls, 0.0),
        "recall": _ratio(hits, positives, np.nan),
        "f1": _ratio(2 * hits, positive_calls + positives, np.nan),
        "accuracy": _ratio(weights @ (called == related), weights.sum(1), np.nan),
    }


def weighted_brier(related: Bools, probabilities: Floats, weights: Floats) -> Floats:
    """Brier score: mean squared distance of probability and label (Brier 1950); 0 is best."""
    return _ratio(weights @ (probabilities - related) ** 2, weights.sum(1), np.nan)


def _weight_by_score(related: Bools, scores: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weight of the related and of the unrelated pairs at each of G distinct scores, ascending: two of [B, G]."""
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
        pairs: number of pairs.
        positives: number of related pairs.
        auc: over all pairs at once.
        field_auc: mean of the AUCs of the single data files if there are several; else as `auc`.
        average_precision: area under the precision-recall curve, as a step function.
        threshold: the score from which a pair counts as related; the figures below are measured at it.
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
        """All metrics by name."""
        return asdict(self)


def pair_metrics(
    related: ArrayLike, scores: ArrayLike, threshold: float | None = None, fields: ArrayLike | None = None
) -> PairMetrics:
    """Measure scores against labels.

    Args:
        related: bool [P], both values present.
        scores: [P].
        threshold: the score from which a pair counts as related; the one with the best F1 if None.
        fields: int [P], the data file of each pair; one file if None.
    """
    truth, values = np.asarray(related, bool), np.asarray(scores, np.float64)
    cut = best_threshold(truth, values) if threshold is None else threshold
    once = np.ones((1, len(truth)))
    at_threshold = weighted_verdict_metrics(truth, values >= cut, once)
    return PairMetrics(
        pairs=len(truth),
        positives=int(truth.sum()),
        auc=float(weighted_auc(truth, values, once)[0]),
        field_auc=_field_auc(truth, values, np.zeros(len(truth)) if fields is None else np.asarray(fields)),
        average_precision=float(weighted_average_precision(truth, values, once)[0]),
        threshold=cut,
        **{name: float(value[0]) for name, value in at_threshold.items()},
    )


def _field_auc(truth: NDArray[np.bool_], scores: NDArray[np.float64], fields: NDArray[np.generic]) -> float:
    """Mean of the AUCs of all data files with related and unrelated pairs.

    The AUC over all pairs at once also compares scores of different files, and the largest file dominates it.
    """
    of_files = [fields == field for field in np.unique(fields)]
    measurable = [chosen for chosen in of_files if truth[chosen].any() and not truth[chosen].all()]
    if len(measurable) < 2:
        measurable = [np.ones(len(truth), bool)]
    aucs = [weighted_auc(truth[chosen], scores[chosen], np.ones((1, chosen.sum()))) for chosen in measurable]
    return float(np.mean(aucs))


Points = tuple[tuple[float, float], ...]

_MOST_POINTS = 120
_BARS = 24


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of related and unrelated pairs by score, in bars of equal width.

    Attributes:
        edges: of the bars, one more than there are bars.
    """

    edges: tuple[float, ...]
    related: tuple[int, ...]
    unrelated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """The plots of one system on one evaluation set.

    Attributes:
        roc: (false positive rate, true positive rate) from (0, 0) to (1, 1).
        precision_recall: (recall, precision), recall ascending.
        reliability: bins of probabilities; empty without a calibration.
    """

    roc: Points
    precision_recall: Points
    reliability: tuple[Bin, ...]
    histogram: Histogram


def make_curves(related: Bools, scores: Floats, bins: tuple[Bin, ...]) -> Curves:
    """Make the curves of scored pairs, related and unrelated ones among them."""
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], related[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    hits, false_positives = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    recall, false_positive_rate = hits / truth.sum(), false_positives / (~truth).sum()
    roc = ((0.0, 0.0), *_thinned(false_positive_rate, recall))
    return Curves(roc, _thinned(recall, hits / (hits + false_positives)), bins, _histogram(related, scores))


def _thinned(x: Floats, y: Floats) -> Points:
    """At most 120 points of a curve, both ends among them."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(_MOST_POINTS, len(x))).round().astype(int))
    return tuple((float(x[place]), float(y[place])) for place in kept)


def _histogram(related: Bools, scores: Floats) -> Histogram:
    low, high = float(scores.min()), float(scores.max())
    edges = np.linspace(low, high if high > low else low + 1, _BARS + 1)
    counts = [np.histogram(scores[chosen], edges)[0] for chosen in (related, ~related)]
    positives, negatives = (tuple(int(count) for count in bars) for bars in counts)
    return Histogram(tuple(float(edge) for edge in edges), positives, negatives)


BINS = 15
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs with similar probabilities.

    Attributes:
        count: number of pairs.
        probability: their mean probability.
        share: the share of them that is related, in [0, 1].
    """

    count: int
    probability: float
    share: float


def reliability(
    related: NDArray[np.bool_], probabilities: NDArray[np.float64], bins: int = BINS
) -> tuple[Bin, ...]:
    """Sort pairs into bins of equal size by probability, ascending (Nguyen and O'Connor 2015); drop empty bins.

    Pairs of equal probability share a bin, by their middle rank, so that the order of pairs does not matter.
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


def chance_calibration_error(probabilities: NDArray[np.float64], seed: int = 0, bins: int = BINS) -> float:
    """The expected calibration error that sampling alone would give, if every probability were exactly right.

    With few pairs in a bin, the share of related ones differs from the probability by chance: an error of 0.05 over 400
    pairs may be nothing else. Labels are drawn from the probabilities, and the mean of the errors is returned (the null
    hypothesis of Vaicenavicius et al. 2019).
    """
    generator = np.random.default_rng(seed)
    draws = generator.random((_DRAWS, len(probabilities))) < probabilities
    return float(
        np.mean([expected_calibration_error(reliability(row, probabilities, bins)) for row in draws])
    )


def expected_calibration_error(bins: tuple[Bin, ...]) -> float:
    """ECE: distance of mean probability and share of related pairs, averaged over the pairs (Naeini et al. 2015)."""
    total = sum(item.count for item in bins)
    return sum(item.count * abs(item.probability - item.share) for item in bins) / total


DEPTH = 10
_BLOCK = 20_000


def retrieval_figures(
    scorer: PairScorer, gallery: Sequence[str], relevant: Mapping[str, frozenset[str]]
) -> dict[str, Floats]:
    """Recall at 10, reciprocal rank and nDCG at 10 of every query, [Q] each, in the order of `relevant`.

    Args:
        scorer: of the system.
        gallery: ids of all documents; a query does not find itself.
        relevant: for every query the ids of its partners in the gallery.
    """
    table = _score_table(scorer, gallery)
    place = {name: row for row, name in enumerate(gallery)}
    ranked = [
        _hits(table[place[query]], place[query], [place[name] for name in names])
        for query, names in relevant.items()
    ]
    return {
        "recall_at_10": np.array([hits[:DEPTH].sum() / hits.sum() for hits in ranked]),
        "mrr": np.array([1 / (1 + int(hits.argmax())) for hits in ranked]),
        "ndcg_at_10": np.array([ndcg(hits) for hits in ranked]),
    }


def ndcg(hits: NDArray[np.bool_], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen 2002).

    Args:
        hits: bool [n], whether the document at each rank is relevant; at least one is.
        depth: number of ranks that count.
    """
    discounts = 1 / np.log2(np.arange(2, min(depth, len(hits)) + 2))
    ideal = discounts[: int(hits.sum())].sum()
    return float((hits[:depth] * discounts).sum() / ideal)


def _hits(scores: Floats, query: int, relevant: Sequence[int]) -> NDArray[np.bool_]:
    """Whether the document at each rank is relevant, bool [n - 1]; of equal scores the smaller id goes first."""
    order = np.argsort(-scores, kind="stable")
    order = order[order != query]
    return np.isin(order, relevant)


def _score_table(scorer: PairScorer, gallery: Sequence[str]) -> Floats:
    """Scores of all pairs of documents, [n, n]; each pair is scored once."""
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
