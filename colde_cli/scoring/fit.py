"""Fit the weights of a score, its thresholds and its calibrations to labelled pairs.

Needs scikit-learn and SciPy, which the extra `train` or `evaluate` brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.scoring.config import PARTS, Calibration, Domain, Scorable, ScoreWeights, probability
from colde_cli.scoring.profile import MIN_DOCUMENTS, FieldProfile
from colde_cli.scoring.score import part_score

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHORT_TEXTS = Domain("short texts", 0.611, Calibration("platt", 21.85, -13.44), mean=0.35, words=0.1, wording=0.55)
"""How two short texts are scored, such as clauses: by how much they have in common, not by what tells them from others.
Chosen on 472 pairs of sections of US bills that people graded, which also gave threshold and calibration ("related" and
above), and on 1,066 pairs of passages of validation documents, graded by where they stand. Weights that differ by .1
change either correlation by .005 at most (benchmarks/results/laboratory.md)."""

_FITTED = np.array([part != "wording" for part in PARTS])
"""Parts that may get a weight in long texts. With wording among them left-out pairs are told no better (mean ROC-AUC
.8921 without, .8920 with it)."""

USUAL = ScoreWeights(colde=0.05, mean=0.05, chunks=0.35, words=0.3, mentions=0.2, opening=0.05, short=SHORT_TEXTS)
"""Weights for a model with too few pairs to fit its own: about those of the shipped model, and some of "colde"."""

MIN_PAIRS = 50
"""Number of related pairs, and of unrelated ones, that a fit of weights needs."""

_RIDGE = 1e-4
_DOMAIN_RIDGE = 3e-4
"""Strength with which the coefficients of a domain are held near the common ones; chosen by cross-validation on the
validation pairs of the shipped model (0.01, 0.003, 0.001, 0.0003)."""
_GAIN = 0.0005
"""A part is dropped if the ROC-AUC of left-out pairs rises by this much without it. Smaller rises are noise."""

_DOMAIN_GAIN = 0.003
"""The same threshold for the pairs of one domain, which are fewer."""

_FEWEST = 5
"""Pairs of either label that a half needs."""
_SPLITS = 6
"""Random halves of the documents of a domain, each half fitted and measured once, which decide on the parts."""


@dataclass(frozen=True, slots=True, eq=False)
class PartTables:
    """The parts of P pairs, [P, 7] each, in the order of `PARTS`, under two kinds of statistics.

    Attributes:
        domain: those of the domain of the pair.
    """

    model: Floats
    domain: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FitPairs:
    """P labelled pairs.

    Attributes:
        related: bool [P].
        documents: int [P, 2], numbers of the documents.
        domains: int [P], the domain of each pair, an index of `names`.
    """

    related: Bools
    documents: Ints
    domains: Ints
    names: Sequence[str]

    @property
    def codes(self) -> list[int]:
        """The domains with enough pairs for weights of their own; none if there are fewer than two."""
        codes = [code for code in np.unique(self.domains).tolist() if has_enough(self.related[self.domains == code])]
        return codes if len(codes) > 1 else []


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFit:
    """Fitted weights and verdicts.

    Attributes:
        threshold: for documents of no known domain.
        calibration: for documents of no known domain.
        domains: codes of the domains, in the order of `score_weights.domains`.
    """

    score_weights: ScoreWeights
    threshold: float
    calibration: Calibration
    domains: tuple[int, ...] = ()


def part_table(left: Sequence[Scorable], right: Sequence[Scorable], score_weights: ScoreWeights) -> Floats:
    """The scores of all parts for P pairs of documents, [P, 7] in the order of `PARTS`."""
    pairs = zip(left, right, strict=True)
    rows = [[part_score(name, a, b, score_weights) for name in PARTS] for a, b in pairs]
    return np.array(rows, np.float64).reshape(len(rows), len(PARTS))


def fit_score_weights(pairs: FitPairs, tables: PartTables, start: ScoreWeights = USUAL) -> ScoreFit:
    """Fit the weights that best tell related pairs from unrelated ones, with thresholds and calibrations.

    A domain with enough pairs gets weights of its own, held near the common ones. The weights for documents of no known
    domain are fitted to all domains, and their verdict to scores that each domain gets from the weights of the others.
    A part that harms gets no weight. Whether it harms is measured on pairs that the fit has not seen. A whole domain is
    left out for the weights of "other", half of its documents for those of a domain. Within a field of no known domain
    the shares are those of `start`, which also gives the constants, and the weights where there are too few pairs or no
    part helps.
    """
    related, domains, codes = pairs.related, pairs.domains, pairs.codes
    every, usual = _FITTED, start.by_kind[0]
    if not codes:
        common = _fitted(related, tables.model, domains, every, usual) if has_enough(related) else usual
        return ScoreFit(_with_weights(start, common), *fit_verdict(related, tables.model @ _normal(common)))
    # A part that known domains need is kept.
    kept = _without_harm(every, lambda parts: _left_out_auc(pairs, tables, parts, usual), _GAIN)
    common = _fitted(related, tables.model, domains, kept, usual)
    towards = _fitted(related, tables.domain, domains, kept, usual)
    fitted = tuple(_fit_domain(pairs, code, tables.domain, kept, usual, towards) for code in codes)
    scores = _held_out_scores(related, tables.model, domains, kept, usual)
    weights = replace(_with_weights(start, common), domains=fitted)
    return ScoreFit(weights, *fit_verdict(related, scores), tuple(codes))


def _without_harm(kept: Bools, judge: Callable[[Bools], tuple[float, float]], least: float) -> Bools:
    """Drop parts, the most harmful first, while the ROC-AUC of left-out pairs rises by `least` without them: bool [7].

    `judge` gives this ROC-AUC with some parts, and a second one that no drop may lower.
    """
    best, guard = judge(kept)
    while kept.sum() > 1:
        smaller = [kept & (np.arange(len(kept)) != part) for part in np.flatnonzero(kept)]
        judged = [judge(parts) for parts in smaller]
        gains = [found - best if guarded >= guard else -1.0 for found, guarded in judged]
        place = int(np.argmax(gains))
        if gains[place] < least:
            break
        kept, (best, guard) = smaller[place], judged[place]
    return kept


def _left_out_auc(pairs: FitPairs, tables: PartTables, kept: Bools, usual: Floats) -> tuple[float, float]:
    """ROC-AUC of pairs that were left out of the fit: of all kinds of pairs, and of those of known domains alone."""
    related, domains = pairs.related, pairs.domains
    unknown = []
    for table in (tables.model, tables.domain):
        scores = _held_out_scores(related, table, domains, kept, usual)
        inside = [domains == code for code in np.unique(domains)]
        unknown.append(float(np.nanmean([_auc(related[rows], scores[rows]) for rows in inside])))
    # How well the weights of a domain tell pairs of documents that they were not fitted to.
    found = [_domain_auc(pairs, tables.domain, code, kept, usual) for code in pairs.codes]
    measured = [value for value in found if value is not None]
    known = float(np.mean(measured)) if measured else 0.0
    return float(np.mean([*unknown, known])), known


def _auc(related: Bools, scores: Floats) -> float:
    """The ROC-AUC; NaN where all pairs have one label."""
    from scipy.stats import rankdata

    count = int(related.sum())
    if count in (0, len(related)):
        return float("nan")
    above = rankdata(scores)[related].sum() - count * (count + 1) / 2
    return float(above / (count * (len(related) - count)))


def _domain_auc(pairs: FitPairs, table: Floats, code: int, kept: Bools, usual: Floats) -> float | None:
    """The ROC-AUC of left-out pairs of one domain; None where its pairs cannot be halved."""
    related, domains = pairs.related, pairs.domains
    inside = domains == code
    towards = _fitted(related[~inside], table[~inside], domains[~inside], kept, usual)
    found = [
        _auc(related[test], table[test] @ _domain_coefficients(related[train], table[train], kept, towards))
        for train, test in _halves(pairs, np.flatnonzero(inside))
    ]
    return float(np.nanmean(found)) if found else None


def _halves(pairs: FitPairs, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs to fit and pairs to measure, without a document in common and without a link between the two."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names, ends = np.unique(pairs.documents[rows], return_inverse=True)
    ends = ends.reshape(-1, 2)
    links = ends[pairs.related[rows]]
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(len(names), len(names)))
    count, groups = connected_components(graph, directed=False)
    generator = np.random.default_rng(0)
    for _ in range(_SPLITS):
        first = (generator.random(count) < 0.5)[groups][ends]
        sides = rows[first.all(1)], rows[~first.any(1)]
        labels = [pairs.related[side] for side in sides]
        if min(count for side in labels for count in (side.sum(), (~side).sum())) >= _FEWEST:
            yield sides
            yield sides[1], sides[0]


def _held_out_scores(related: Bools, table: Floats, domains: Ints, kept: Bools, usual: Floats) -> Floats:
    """Score the pairs of each domain with weights fitted to the other domains: [P]."""
    scores = np.zeros(len(related))
    for code in np.unique(domains):
        inside = domains == code
        others = _fitted(related[~inside], table[~inside], domains[~inside], kept, usual)
        scores[inside] = table[inside] @ _normal(others)
    return scores


def _fit_domain(pairs: FitPairs, code: int, table: Floats, kept: Bools, usual: Floats, common: Floats) -> Domain:
    """Fit one domain with the parts that earn their weight in it, of those `kept` in all.

    In contracts of one type the same subjects stand in other words, so chunks that match tell little there.
    """
    earned = _without_harm(
        kept, lambda parts: (_domain_auc(pairs, table, code, parts, usual) or 0.0, 0.0), _DOMAIN_GAIN
    )
    rows = np.flatnonzero(pairs.domains == code)
    related, own = pairs.related[rows], table[rows]
    weights = _normal(_domain_coefficients(related, own, earned, common))
    calibration = fit_domain_calibration(pairs, rows, own @ weights)
    threshold = best_threshold(related, own @ weights)
    parts = dict(zip(PARTS, weights.tolist(), strict=True))
    return Domain(pairs.names[code], threshold, calibration, **parts)


def _domain_coefficients(related: Bools, table: Floats, kept: Bools, common: Floats) -> Floats:
    """Coefficients of one domain, held near the common ones."""
    one_domain, found = np.zeros(len(related), np.int64), np.zeros(len(PARTS))
    found[kept] = _logistic(related, table[:, kept], one_domain, common[kept], _DOMAIN_RIDGE)
    return found if found.sum() > 0 else common


def _fitted(related: Bools, table: Floats, domains: Ints, kept: Bools, usual: Floats) -> Floats:
    """Fitted coefficients of the parts that are kept, 0 for the others; the usual ones where no part helps."""
    found = np.zeros(len(PARTS))
    found[kept] = _logistic(related, table[:, kept], domains, np.zeros(int(kept.sum())), _RIDGE)
    return found if found.sum() > 0 else usual * kept + 1e-9 * kept


def has_enough(related: Bools) -> bool:
    """Whether there are enough related and unrelated pairs to fit weights."""
    return bool(min(related.sum(), (~related).sum()) >= MIN_PAIRS)


def _normal(coefficients: Floats) -> Floats:
    """Coefficients as weights, which sum to 1."""
    weights: Floats = coefficients / coefficients.sum()
    return weights


def _with_weights(score_weights: ScoreWeights, coefficients: Floats) -> ScoreWeights:
    return replace(score_weights, **dict(zip(PARTS, _normal(coefficients).tolist(), strict=True)))


def _logistic(related: Bools, table: Floats, domains: Ints, towards: Floats, ridge: float) -> Floats:
    """Fit coefficients of the parts, at least 0, by logistic regression with an intercept for each domain.

    Minimises the sum over domains of the mean log-loss, plus `ridge` times the squared distance from `towards`.
    """
    from scipy.optimize import minimize

    codes = np.unique(domains, return_inverse=True)[1]
    parts, count, signs = table.shape[1], int(codes.max()) + 1, np.where(related, 1.0, -1.0)
    mass = 1.0 / np.bincount(codes)[codes]

    def loss(point: Floats) -> tuple[float, Floats]:
        coefficients, intercepts = point[:parts], point[parts:]
        margins = signs * (table @ coefficients + intercepts[codes])
        away = coefficients - towards
        value = float(mass @ np.logaddexp(0, -margins)) + ridge * float(away @ away)
        slopes = -mass * signs / (1 + np.exp(np.clip(margins, -500, 500)))
        return value, np.concatenate([table.T @ slopes + 2 * ridge * away, np.bincount(codes, slopes, count)])

    start = np.concatenate([np.maximum(towards, 1.0), np.zeros(count)])
    bounds = [(0.0, None)] * parts + [(None, None)] * count
    optimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    coefficients: Floats = optimum.x[:parts]
    return coefficients


def fit_verdict(related: Bools, scores: Floats) -> tuple[float, Calibration]:
    """The threshold with the best F1, and a calibration, for many pairs: labels [P] and scores [P]."""
    return best_threshold(related, scores), fit_calibration(related, scores)


# Isotonic regression overfits below about a thousand pairs (Niculescu-Mizil & Caruana 2005, §5).
_MANY = 1000


def fit_calibration(related: ArrayLike, scores: ArrayLike) -> Calibration:
    """Fit the probability that a pair is related to its score: Platt's sigmoid, isotonic from 1,000 pairs.

    Args:
        related: bool [P], both values present.
        scores: [P].
    """
    truth, values = np.asarray(related, bool), np.asarray(scores, np.float64)
    if len(values) >= _MANY:
        from sklearn.isotonic import IsotonicRegression

        model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(values, truth.astype(float))
        knots, heights = (tuple(map(float, ends)) for ends in (model.X_thresholds_, model.y_thresholds_))
        return Calibration("isotonic", scores=knots, probabilities=heights)
    from sklearn.linear_model import LogisticRegression

    # Platt (1999), with his smoothed targets: separable pairs would have an infinite slope.
    target = _smoothed(truth)
    # A target t is a pair counted t times as related and 1 - t times as not.
    column = np.concatenate([values, values])[:, None]
    labels = np.repeat([1, 0], len(values))
    weights = np.concatenate([target, 1 - target])
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(column, labels, sample_weight=weights)
    return Calibration("platt", float(model.coef_[0, 0]), float(model.intercept_[0]))


def _smoothed(related: Bools) -> Floats:
    positives, negatives = int(related.sum()), int((~related).sum())
    return np.where(related, (positives + 1) / (positives + 2), 1 / (negatives + 2))


_MIN_CEILING = 0.3

_CEILING_GAIN = 0.005
"""Log-loss of left-out pairs that a ceiling must save. It saves .040 on training and validation pairs of contracts; on
their validation pairs alone, of five types, it costs .070, on those of encyclopaedia articles .005."""


def fit_domain_calibration(pairs: FitPairs, rows: Ints, scores: Floats) -> Calibration:
    """Fit the probability of the pairs of one domain: as `fit_calibration`, or with a ceiling where that is better.

    A sigmoid has certainty at its end. Where a relation is more than likeness, pairs beyond some score are related no
    more often than those at it: of contracts of one type about half. The sigmoid then says too little in the middle
    and too much at the end. Whether a ceiling helps is measured on halves of the documents that the fit has not seen.
    It is the model of labels of which a constant share is missing (Elkan and Noto 2008).
    """
    plain, place = fit_calibration(pairs.related[rows], scores), dict(zip(rows.tolist(), scores, strict=True))

    def loss(related: Bools, scores: Floats, curve: Calibration) -> float:
        likely = np.clip(probability(scores, curve), 1e-6, 1 - 1e-6)
        return float(-np.log(np.where(related, likely, 1 - likely)).mean())

    losses = []
    for train, test in _halves(pairs, rows):
        here, there = (np.array([place[row] for row in side]) for side in (train.tolist(), test.tolist()))
        known = pairs.related[train]
        curves = fit_calibration(known, here), _with_ceiling(known, here)
        losses.append([loss(pairs.related[test], there, curve) for curve in curves])
    if not losses or np.subtract(*np.mean(losses, axis=0)) < _CEILING_GAIN:
        return plain
    return _with_ceiling(pairs.related[rows], scores)


def _with_ceiling(related: Bools, scores: Floats) -> Calibration:
    """The sigmoid and the ceiling that make the labels most likely, with Platt's smoothed targets."""
    from scipy.optimize import minimize

    target = _smoothed(related)

    def loss(point: Floats) -> tuple[float, Floats]:
        slope, intercept, ceiling = point
        sigmoid = probability(slope * scores + intercept, Calibration())
        likely = np.clip(ceiling * sigmoid, 1e-9, 1 - 1e-9)
        value = float(-(target * np.log(likely) + (1 - target) * np.log(1 - likely)).sum())
        errors = (likely - target) / (1 - likely)
        slopes = errors * (1 - sigmoid)
        return value, np.array([slopes @ scores, slopes.sum(), errors.sum() / ceiling])

    start = np.array([10.0, -10 * scores.mean(), 0.7])
    bounds = [(0.0, None), (None, None), (_MIN_CEILING, 1.0)]
    slope, intercept, ceiling = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x.tolist()
    return Calibration("platt", slope, intercept, ceiling=ceiling)


_FIELD_SLOPE = 1.4
"""Usual slope of the log-odds over scores within a field, in standard deviations of the scores of random pairs: the
mean of wiki, pmc and patents (validation pairs: 1.4, 1.2 and 1.7)."""

_FIELD_SLOPE_VARIANCE = 0.25
"""How far the slopes of fields are expected to lie apart. Of 0.25, 1 and no bound, chosen on 20 to 100 pairs of the
same three fields."""

_USUAL_SPREAD = 0.1
"""Standard deviation of the scores of random pairs, where a field has too few documents to know it."""


_MIN_SPREAD = 0.02


def fit_within_field(related: Bools, scores: Floats, profile: FieldProfile) -> tuple[float, Calibration]:
    """Fit threshold and calibration to few labelled pairs of a field; isotonic from 1,000 pairs.

    Few pairs leave the slope of Platt's sigmoid open, so it is held near a usual one (the maximum of the posterior).
    The threshold has the highest expected F1 by these probabilities. That of the labels themselves jumps with each.

    Args:
        related: bool [P], both values present.
        scores: [P], within the field.
    """
    if len(scores) >= _MANY:
        calibration = fit_calibration(related, scores)
    else:
        spread = float(profile.scores.std()) if profile.documents >= MIN_DOCUMENTS else _USUAL_SPREAD
        calibration = _steady_platt(related, scores, _FIELD_SLOPE / max(spread, _MIN_SPREAD))
    return best_threshold(probability(scores, calibration), scores), calibration


def _steady_platt(related: Bools, scores: Floats, usual: float) -> Calibration:
    """Platt's sigmoid with a normal prior on its slope, which has the mean `usual`."""
    from scipy.optimize import minimize

    precision = (_FIELD_SLOPE / usual) ** 2 / _FIELD_SLOPE_VARIANCE

    def loss(point: Floats) -> tuple[float, Floats]:
        margins = point[0] * scores + point[1]
        errors = probability(margins, Calibration()) - related
        away = point[0] - usual
        value = float((np.logaddexp(0, margins) - related * margins).sum()) + precision * away**2 / 2
        return value, np.array([errors @ scores + precision * away, errors.sum()])

    start = np.array([usual, -usual * scores.mean()])
    slope, intercept = minimize(loss, start, jac=True, method="BFGS").x.tolist()
    return Calibration("platt", slope, intercept)


def best_threshold(related: Bools | Floats, scores: Floats) -> float:
    """The threshold with the highest F1, half-way between two neighbouring scores.

    `related` may be probabilities: F1 is then the ratio of expected counts.

    Of several such thresholds, the highest. The lowest score, where F1 is best if all pairs count as related.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(related[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + related.sum())
    # A threshold cannot part equal scores.
    last_of_its_score = np.append(ranked[:-1] > ranked[1:], True)
    best = int(np.where(last_of_its_score, f1, -1.0).argmax())
    if best == len(ranked) - 1:
        return float(ranked[best])
    return float((ranked[best] + ranked[best + 1]) / 2)
