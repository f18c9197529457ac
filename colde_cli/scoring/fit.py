"""Fit the weights of a score, its thresholds and its calibrations to labelled pairs.

Needs scikit-learn and SciPy, which the extra `train` or `evaluate` brings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.scoring.config import PARTS, Calibration, Domain, ScoreWeights, probability
from colde_cli.scoring.profile import LEAST_DOCUMENTS, FieldProfile
from colde_cli.scoring.score import Scorable, part_score

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USUAL = ScoreWeights(document=0.14, chunks=0.35, words=0.38, opening=0.13)
"""Weights for a model with too few pairs to fit its own: about those of the shipped model."""

ENOUGH = 50
"""Number of related pairs, and of unrelated ones, that a fit of weights needs."""

_RIDGE = 1e-4
_DOMAIN_RIDGE = 1e-3
"""Strength with which the coefficients of a domain are held near the common ones; chosen by cross-validation on the
validation pairs of the shipped model (0.1, 0.03, 0.01, 0.003, 0.001)."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFit:
    """Fitted weights and verdicts.

    Attributes:
        score_weights: with those of the domains.
        threshold: for documents of no known domain.
        calibration: for documents of no known domain.
        domains: codes of the domains, in the order of `score_weights.domains`.
    """

    score_weights: ScoreWeights
    threshold: float
    calibration: Calibration
    domains: tuple[int, ...] = ()


def part_table(left: Sequence[Scorable], right: Sequence[Scorable], score_weights: ScoreWeights) -> Floats:
    """The scores of all parts for P pairs of documents, [P, 4] in the order of `PARTS`."""
    rows = [
        [part_score(name, a, b, score_weights) for name in PARTS] for a, b in zip(left, right, strict=True)
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(PARTS))


def fit_score_weights(
    related: Bools, table: Floats, domains: Ints, names: Sequence[str], start: ScoreWeights = USUAL
) -> ScoreFit:
    """Fit the weights that best tell related pairs from unrelated ones, with thresholds and calibrations.

    A domain with enough pairs gets weights of its own, held near the common ones. The verdict for documents of no
    known domain is fitted to scores that each domain gets from the weights of the others.

    Args:
        related: bool [P].
        table: [P, 4], of `part_table`.
        domains: int [P], the domain of each pair, an index of `names`.
        names: of the domains.
        start: gives the constants, and the weights where there are too few pairs or no part helps.
    """
    common = _coefficients(related, table, domains, start)
    score_weights = _with_weights(start, common)
    codes = [code for code in np.unique(domains).tolist() if _enough(related[domains == code])]
    if len(codes) < 2:
        scores = table @ _normal(common)
        return ScoreFit(score_weights, best_threshold(related, scores), fit_calibration(related, scores))
    fitted = tuple(
        _fit_domain(names[code], related[domains == code], table[domains == code], common) for code in codes
    )
    held_out = _held_out_scores(related, table, domains, start)
    return ScoreFit(
        replace(score_weights, domains=fitted),
        best_threshold(related, held_out),
        fit_calibration(related, held_out),
        tuple(codes),
    )


def _held_out_scores(related: Bools, table: Floats, domains: Ints, start: ScoreWeights) -> Floats:
    """Score the pairs of each domain with weights fitted to the other domains: [P]."""
    scores = np.zeros(len(related))
    for code in np.unique(domains):
        inside = domains == code
        others = _coefficients(related[~inside], table[~inside], domains[~inside], start)
        scores[inside] = table[inside] @ _normal(others)
    return scores


def _fit_domain(name: str, related: Bools, table: Floats, common: Floats) -> Domain:
    one_domain = np.zeros(len(related), np.int64)
    coefficients = _logistic(related, table, one_domain, common, _DOMAIN_RIDGE)
    weights = _normal(coefficients if coefficients.sum() > 0 else common)
    scores = table @ weights
    document, chunks, words, opening = weights.tolist()
    threshold, calibration = best_threshold(related, scores), fit_calibration(related, scores)
    return Domain(name, document, chunks, words, opening, threshold, calibration)


def _coefficients(related: Bools, table: Floats, domains: Ints, start: ScoreWeights) -> Floats:
    """Fitted coefficients of the parts; the weights of `start` where there are too few pairs or no part helps."""
    usual = np.array([float(getattr(start, name)) for name in PARTS])
    if not _enough(related):
        return usual
    coefficients = _logistic(related, table, domains, np.zeros(len(PARTS)), _RIDGE)
    return coefficients if coefficients.sum() > 0 else usual


def _enough(related: Bools) -> bool:
    return bool(min(related.sum(), (~related).sum()) >= ENOUGH)


def _normal(coefficients: Floats) -> Floats:
    """Coefficients as weights, which sum to 1."""
    weights: Floats = coefficients / coefficients.sum()
    return weights


def _with_weights(score_weights: ScoreWeights, coefficients: Floats) -> ScoreWeights:
    document, chunks, words, opening = _normal(coefficients).tolist()
    return replace(score_weights, document=document, chunks=chunks, words=words, opening=opening)


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


# Isotonic regression overfits below about a thousand pairs (Niculescu-Mizil & Caruana 2005, §5).
_MANY = 1000


def fit_calibration(related: ArrayLike, scores: ArrayLike) -> Calibration:
    """Fit the probability that a pair is related to its score: Platt's sigmoid, isotonic from 1,000 pairs.

    Args:
        related: bool [P], both values present.
        scores: [P].
    """
    truth, values = np.asarray(related, bool), np.asarray(scores, np.float64)
    return _isotonic(truth, values) if len(values) >= _MANY else _platt(truth, values)


def _platt(related: np.ndarray, scores: np.ndarray) -> Calibration:
    """Platt (1999), with his smoothed targets: separable pairs would have an infinite slope."""
    from sklearn.linear_model import LogisticRegression

    positives, negatives = int(related.sum()), int((~related).sum())
    target = np.where(related, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # A target t is a pair counted t times as related and 1 - t times as not.
    column = np.concatenate([scores, scores])[:, None]
    labels = np.repeat([1, 0], len(scores))
    weights = np.concatenate([target, 1 - target])
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(column, labels, sample_weight=weights)
    return Calibration("platt", float(model.coef_[0, 0]), float(model.intercept_[0]))


def _isotonic(related: np.ndarray, scores: np.ndarray) -> Calibration:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, related.astype(float))
    knots = tuple(float(value) for value in model.X_thresholds_)
    return Calibration("isotonic", scores=knots, probabilities=tuple(float(p) for p in model.y_thresholds_))


_FIELD_SLOPE = 1.5
"""Usual slope of the log-odds over scores within a field, in standard deviations of the scores of random pairs: the
mean of wiki, pmc and patents (validation pairs: 1.5, 1.3 and 1.8)."""

_FIELD_SLOPE_VARIANCE = 0.25
"""How far the slopes of fields are expected to lie apart. Of 0.25, 1 and no bound, chosen on 20 to 100 pairs of the
same three fields."""

_USUAL_SPREAD = 0.14
"""Standard deviation of the scores of random pairs, where a field has too few documents to know it."""


_LEAST_SPREAD = 0.02


def fit_within_field(related: Bools, scores: Floats, profile: FieldProfile) -> tuple[float, Calibration]:
    """Fit threshold and calibration to few labelled pairs of a field; isotonic from 1,000 pairs.

    Few pairs leave the slope of Platt's sigmoid open, so it is held near a usual one (the maximum of the posterior).
    The threshold has the highest expected F1 by these probabilities. That of the labels themselves jumps with each.

    Args:
        related: bool [P], both values present.
        scores: [P], within the field.
        profile: gives the spread of scores of random pairs.
    """
    if len(scores) >= _MANY:
        calibration = fit_calibration(related, scores)
    else:
        spread = float(profile.scores.std()) if profile.documents >= LEAST_DOCUMENTS else _USUAL_SPREAD
        calibration = _steady_platt(related, scores, _FIELD_SLOPE / max(spread, _LEAST_SPREAD))
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
