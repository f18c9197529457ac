"""Shares of the parts of a document score, and the verdicts that it gives, fitted to judged pairs.

A logistic regression of the parts gives the shares: none is negative, fields of knowledge weigh the same however many
pairs they have, and each has an intercept of its own, so that what is learnt is the order within a field and not
which field scores high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import PARTS, Calibration, Combination, Kind
from colde_cli.evaluation.calibration_fit import fit_calibration
from colde_cli.evaluation.metrics import best_threshold
from colde_cli.similarity.scoring import Scorable, part_score

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USUAL = Combination(document=0.14, chunks=0.35, words=0.38, opening=0.13)
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
        combination: shares, for every kind of text.
        threshold: for documents of no kind that is known.
        calibration: for those.
        kinds: the fields that became kinds, in the order of `combination.kinds`.
    """

    combination: Combination
    threshold: float
    calibration: Calibration
    kinds: tuple[int, ...] = ()


def part_table(left: Sequence[Scorable], right: Sequence[Scorable], combination: Combination) -> Floats:
    """The score of every part for pairs of documents, [P, 4] in the order of `PARTS`."""
    rows = [[part_score(name, a, b, combination) for name in PARTS] for a, b in zip(left, right, strict=True)]
    return np.array(rows, np.float64).reshape(len(rows), len(PARTS))


def fit_combination(
    related: Bools, table: Floats, fields: Ints, names: Sequence[str], start: Combination = USUAL
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
    combination = _with(start, common)
    kinds = [code for code in np.unique(fields).tolist() if _enough(related[fields == code])]
    if len(kinds) < 2:
        scores = table @ _normal(common)
        return Fit(combination, best_threshold(related, scores), fit_calibration(related, scores))
    held = np.zeros(len(related))
    for code in np.unique(fields):
        own = fields == code
        held[own] = table[own] @ _normal(_coefficients(related[~own], table[~own], fields[~own], start))
    found = tuple(
        _kind(names[code], related[fields == code], table[fields == code], common) for code in kinds
    )
    return Fit(
        replace(combination, kinds=found),
        best_threshold(related, held),
        fit_calibration(related, held),
        tuple(kinds),
    )


def _kind(name: str, related: Bools, table: Floats, common: Floats) -> Kind:
    """Shares, threshold and calibration of one kind of text."""
    one_field = np.zeros(len(related), np.int64)
    weights = _logistic(related, table, one_field, common, _KIND_RIDGE)
    shares = _normal(weights if weights.sum() > 0 else common)
    scores = table @ shares
    document, chunks, words, opening = shares.tolist()
    threshold, calibration = best_threshold(related, scores), fit_calibration(related, scores)
    return Kind(name, document, chunks, words, opening, threshold, calibration)


def _coefficients(related: Bools, table: Floats, fields: Ints, start: Combination) -> Floats:
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


def _with(combination: Combination, weights: Floats) -> Combination:
    document, chunks, words, opening = _normal(weights).tolist()
    return replace(combination, document=document, chunks=chunks, words=words, opening=opening)


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
