"""Metrics of scored pairs, with confidence intervals and tests between systems that scored the same pairs.

The metrics are AUC, precision and recall, calibration error, curves, and retrieval. The functions named `weighted_...`
take the labels `related` bool [P], scores or verdicts [P], and `weights` [B, P], and return one value for each of the B
weightings, [B]. The bootstrap draws random weights; weights of 1 give the plain metric. A value is NaN where related or
unrelated pairs have no weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.systems import PairScorer
from colde_cli.scoring.fit import best_threshold

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_CONFIDENCE = 0.95
_CELLS = 2_000_000


def weighted_auc(related: Bools, scores: Floats, weights: Floats) -> Floats:
    """AUC: how often a related pair scores above an unrelated one; ties count half."""
    positive, negative = _weight_by_score(related, scores, weights)
    # Weight of the unrelated pairs strictly below, plus half of those at the same score.
    below = np.cumsum(negative, axis=1) - negative / 2
    return _ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1), np.nan)


def auc(related: Bools, scores: Floats) -> float:
    """AUC of pairs that all weigh the same."""
    return float(weighted_auc(related, scores, np.ones((1, len(related))))[0])


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
    """How well scores tell related pairs from unrelated ones, over all pairs at once."""

    pairs: int
    positives: int
    auc: float
    field_auc: float  # mean of the AUCs of the single data files if there are several; else as `auc`
    average_precision: float  # area under the precision-recall curve, as a step function
    threshold: float  # the score from which a pair counts as related; the figures below are measured at it
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
        auc=auc(truth, values),
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
    return float(np.mean([auc(truth[chosen], scores[chosen]) for chosen in measurable]))


Points = tuple[tuple[float, float], ...]

_MAX_POINTS = 120
_BARS = 24


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of related and unrelated pairs by score, in bars of equal width."""

    edges: tuple[float, ...]  # of the bars, one more than there are bars
    related: tuple[int, ...]
    unrelated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """The plots of one system on one evaluation set."""

    roc: Points  # (false positive rate, true positive rate) from (0, 0) to (1, 1)
    precision_recall: Points  # (recall, precision), recall ascending
    reliability: tuple[Bin, ...]  # bins of probabilities; empty without a calibration
    histogram: Histogram


def make_curves(related: Bools, scores: Floats, bins: tuple[Bin, ...]) -> Curves:
    """Make the curves of scored pairs, related and unrelated ones among them."""
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], related[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    hits, false_positives = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    recall, false_positive_rate = hits / truth.sum(), false_positives / (~truth).sum()
    roc = ((0.0, 0.0), *_thinned(false_positive_rate, recall))
    low, high = float(scores.min()), float(scores.max())
    edges = np.linspace(low, high if high > low else low + 1, _BARS + 1)
    bars = [tuple(np.histogram(scores[side], edges)[0].tolist()) for side in (related, ~related)]
    histogram = Histogram(tuple(edges.tolist()), *bars)
    return Curves(roc, _thinned(recall, hits / (hits + false_positives)), bins, histogram)


def _thinned(x: Floats, y: Floats) -> Points:
    """At most 120 points of a curve, both ends among them."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(_MAX_POINTS, len(x))).round().astype(int))
    return tuple((float(x[place]), float(y[place])) for place in kept)


BINS = 15
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs with similar probabilities."""

    count: int
    probability: float
    share: float  # the share of them that is related, in [0, 1]


def reliability(related: NDArray[np.bool_], probabilities: NDArray[np.float64], bins: int = BINS) -> tuple[Bin, ...]:
    """Sort pairs into bins of equal size by probability, ascending (Nguyen and O'Connor 2015); drop empty bins.

    Pairs of equal probability share a bin, by their middle rank, so that the order of pairs does not matter.
    """
    ranked = np.sort(probabilities)
    middle = (np.searchsorted(ranked, probabilities, "left") + np.searchsorted(ranked, probabilities, "right")) / 2
    place = np.minimum((middle / len(ranked) * bins).astype(int), bins - 1)
    chosen = [place == number for number in np.unique(place)]
    return tuple(
        Bin(int(rows.sum()), float(probabilities[rows].mean()), float(related[rows].mean())) for rows in chosen
    )


def chance_calibration_error(probabilities: NDArray[np.float64], seed: int = 0, bins: int = BINS) -> float:
    """The expected calibration error that sampling alone would give, if every probability were exactly right.

    With few pairs in a bin, the share of related ones differs from the probability by chance: an error of 0.05 over 400
    pairs may be nothing else. Labels are drawn from the probabilities, and the mean of the errors is returned (the null
    hypothesis of Vaicenavicius et al. 2019).
    """
    generator = np.random.default_rng(seed)
    draws = generator.random((_DRAWS, len(probabilities))) < probabilities
    return float(np.mean([expected_calibration_error(reliability(row, probabilities, bins)) for row in draws]))


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
        gallery: ids of all documents; a query does not find itself.
    """
    table = _score_table(scorer, gallery)
    place = {name: row for row, name in enumerate(gallery)}
    ranked = []
    for query, names in relevant.items():
        order = np.argsort(-table[place[query]], kind="stable")  # of equal scores the smaller id goes first
        ranked.append(np.isin(order[order != place[query]], [place[name] for name in names]))
    return {
        "recall_at_10": np.array([hits[:DEPTH].sum() / hits.sum() for hits in ranked]),
        "mrr": np.array([1 / (1 + int(hits.argmax())) for hits in ranked]),
        "ndcg_at_10": np.array([ndcg(hits) for hits in ranked]),
    }


def ndcg(hits: NDArray[np.bool_], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen 2002).

    Args:
        hits: bool [n], whether the document at each rank is relevant; at least one is.
    """
    discounts = 1 / np.log2(np.arange(2, min(depth, len(hits)) + 2))
    ideal = discounts[: int(hits.sum())].sum()
    return float((hits[:depth] * discounts).sum() / ideal)


def _score_table(scorer: PairScorer, gallery: Sequence[str]) -> Floats:
    """Scores of all pairs of documents, [n, n]; each pair is scored once."""
    size = len(gallery)
    table = np.zeros((size, size))
    rows, columns = np.triu_indices(size, 1)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs = [(gallery[row], gallery[column]) for row, column in zip(rows[block], columns[block], strict=True)]
        table[rows[block], columns[block]] = scorer.scores(pairs)
    return table + table.T


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """One metric under B random weightings. All systems see the same weightings, so that differences are paired."""

    documents: Floats  # [B], values with random weights of documents
    pairs: Floats  # [B], values with random weights of pairs; zeros for a metric of queries

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
        np.mean([item.documents for item in several], axis=0), np.mean([item.pairs for item in several], axis=0)
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
    tail = (1 - _CONFIDENCE) / 2
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
