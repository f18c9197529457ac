"""Shares of the parts of a document score, thresholds and calibrations, fitted to labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.scoring.calibration import Calibration
from colde_cli.scoring.config import PARTS, Domain, ScoreWeights
from colde_cli.scoring.score import Scorable, part_score

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USUAL = ScoreWeights(document=0.14, chunks=0.35, words=0.38, opening=0.13)
"""Shares for a model with too few pairs to fit its own: about those of the shipped model."""

ENOUGH = 50
"""Related pairs, and unrelated ones, from which shares are fitted."""

_RIDGE = 1e-4
_KIND_RIDGE = 1e-3
"""How far a kind's coefficients are held near the common ones; chosen by cross-validation on the validation pairs of
the shipped model (0.1, 0.03, 0.01, 0.003, 0.001)."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How a model scores and judges.

    Attributes:
        score_weights: shares, for every kind of text.
        threshold: for documents of no kind that is known.
        calibration: for those.
        domains: the fields that became kinds, in the order of `score_weights.domains`.
    """

    score_weights: ScoreWeights
    threshold: float
    calibration: Calibration
    domains: tuple[int, ...] = ()


def part_table(left: Sequence[Scorable], right: Sequence[Scorable], score_weights: ScoreWeights) -> Floats:
    """The score of every part for pairs of documents, [P, 4] in the order of `PARTS`."""
    rows = [
        [part_score(name, a, b, score_weights) for name in PARTS] for a, b in zip(left, right, strict=True)
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(PARTS))


def fit_combination(
    related: Bools, table: Floats, fields: Ints, names: Sequence[str], start: ScoreWeights = USUAL
) -> Fit:
    """The shares with which the parts tell related pairs from unrelated ones best, and the verdicts they give.

    Every field with enough pairs becomes a kind of text with shares of its own, held near the common ones. What is
    said of documents of no known kind rests on scores that each field got from the shares of the others.

    Args:
        related: bool [P].
        table: [P, 4], of `part_table`.
        fields: int [P], the field of knowledge of each pair, an index of `names`.
        names: of the fields.
        start: gives all but the shares; its own stay where there are too few pairs, or none helps.
    """
    common = _coefficients(related, table, fields, start)
    score_weights = _with(start, common)
    domains = [code for code in np.unique(fields).tolist() if _enough(related[fields == code])]
    if len(domains) < 2:
        scores = table @ _normal(common)
        return Fit(score_weights, best_threshold(related, scores), fit_calibration(related, scores))
    held = np.zeros(len(related))
    for code in np.unique(fields):
        own = fields == code
        held[own] = table[own] @ _normal(_coefficients(related[~own], table[~own], fields[~own], start))
    found = tuple(
        _kind(names[code], related[fields == code], table[fields == code], common) for code in domains
    )
    return Fit(
        replace(score_weights, domains=found),
        best_threshold(related, held),
        fit_calibration(related, held),
        tuple(domains),
    )


def _kind(name: str, related: Bools, table: Floats, common: Floats) -> Domain:
    """Shares, threshold and calibration of one kind of text."""
    one_field = np.zeros(len(related), np.int64)
    weights = _logistic(related, table, one_field, common, _KIND_RIDGE)
    shares = _normal(weights if weights.sum() > 0 else common)
    scores = table @ shares
    document, chunks, words, opening = shares.tolist()
    threshold, calibration = best_threshold(related, scores), fit_calibration(related, scores)
    return Domain(name, document, chunks, words, opening, threshold, calibration)


def _coefficients(related: Bools, table: Floats, fields: Ints, start: ScoreWeights) -> Floats:
    """Of the parts; the shares of `start` where there are too few pairs, or where no part helps."""
    usual = np.array([float(getattr(start, name)) for name in PARTS])
    if not _enough(related):
        return usual
    weights = _logistic(related, table, fields, np.zeros(len(PARTS)), _RIDGE)
    return weights if weights.sum() > 0 else usual


def _enough(related: Bools) -> bool:
    return bool(min(related.sum(), (~related).sum()) >= ENOUGH)


def _normal(weights: Floats) -> Floats:
    shares: Floats = weights / weights.sum()
    return shares


def _with(score_weights: ScoreWeights, weights: Floats) -> ScoreWeights:
    document, chunks, words, opening = _normal(weights).tolist()
    return replace(score_weights, document=document, chunks=chunks, words=words, opening=opening)


def _logistic(related: Bools, table: Floats, fields: Ints, towards: Floats, ridge: float) -> Floats:
    """Coefficients of the parts, at least 0.

    What is minimised is the mean log-loss of each field, summed, and `ridge` times the squared distance from `towards`.
    """
    from scipy.optimize import minimize

    codes = np.unique(fields, return_inverse=True)[1]
    parts, count, signs = table.shape[1], int(codes.max()) + 1, np.where(related, 1.0, -1.0)
    mass = 1.0 / np.bincount(codes)[codes]

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, intercepts = point[:parts], point[parts:]
        margins = signs * (table @ weights + intercepts[codes])
        away = weights - towards
        value = float(mass @ np.logaddexp(0, -margins)) + ridge * float(away @ away)
        slopes = -mass * signs / (1 + np.exp(np.clip(margins, -500, 500)))
        return value, np.concatenate([table.T @ slopes + 2 * ridge * away, np.bincount(codes, slopes, count)])

    start = np.concatenate([np.maximum(towards, 1.0), np.zeros(count)])
    bounds = [(0.0, None)] * parts + [(None, None)] * count
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    weights: Floats = found.x[:parts]
    return weights


# Isotonic regression overfits below about a thousand pairs (Niculescu-Mizil & Caruana 2005, §5).
_MANY = 1000


def fit_calibration(related: ArrayLike, scores: ArrayLike) -> Calibration:
    """Fit the probability that a pair is related, given its score.

    Args:
        related: bool [P], both values present.
        scores: [P].
    """
    truth, values = np.asarray(related, bool), np.asarray(scores, np.float64)
    return _isotonic(truth, values) if len(values) >= _MANY else _platt(truth, values)


def _platt(related: np.ndarray, scores: np.ndarray) -> Calibration:
    """Platt (1999) with his smoothed targets, which keep separable pairs from an infinite slope."""
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
