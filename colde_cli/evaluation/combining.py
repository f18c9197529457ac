"""Shares of the parts of a document score, fitted to judged pairs.

A logistic regression of the parts gives the shares: none is negative, fields of knowledge weigh the same however many
pairs they have, and each has an intercept of its own, so that what is learnt is the order within a field and not
which field scores high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import PARTS, Combination
from colde_cli.similarity.scoring import Scorable, part_score

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

USUAL = Combination(document=0.14, chunks=0.35, words=0.38, opening=0.13)
"""Shares for a model with too few pairs to fit its own: about those of the shipped model."""

ENOUGH = 100
"""Related pairs, and unrelated ones, from which shares are fitted."""

_RIDGE = 1e-4


def part_table(left: Sequence[Scorable], right: Sequence[Scorable], combination: Combination) -> Floats:
    """The score of every part for pairs of documents, [P, 4] in the order of `PARTS`."""
    rows = [[part_score(name, a, b, combination) for name in PARTS] for a, b in zip(left, right, strict=True)]
    return np.array(rows, np.float64).reshape(len(rows), len(PARTS))


def fit_shares(
    related: Bools, table: Floats, fields: NDArray[np.int64], combination: Combination = USUAL
) -> Combination:
    """The shares with which the parts tell related pairs from unrelated ones best.

    Args:
        related: bool [P].
        table: [P, 4], of `part_table`.
        fields: int [P], the field of knowledge of each pair.
        combination: gives all but the shares; its own stay where there are too few pairs, or none helps.
    """
    if min(related.sum(), (~related).sum()) < ENOUGH:
        return combination
    weights = _logistic(related, table, fields)
    total = float(weights.sum())
    if not total > 0:
        return combination
    document, chunks, words, opening = (float(weight / total) for weight in weights)
    return replace(combination, document=document, chunks=chunks, words=words, opening=opening)


def _logistic(related: Bools, table: Floats, fields: NDArray[np.int64]) -> Floats:
    """Coefficients of the parts, at least 0: mean log-loss of each field, summed."""
    from scipy.optimize import minimize

    names, codes = np.unique(fields, return_inverse=True)
    parts, signs = table.shape[1], np.where(related, 1.0, -1.0)
    mass = 1.0 / np.bincount(codes)[codes]

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, intercepts = point[:parts], point[parts:]
        margins = signs * (table @ weights + intercepts[codes])
        value = float(mass @ np.logaddexp(0, -margins)) + _RIDGE * float(weights @ weights)
        slopes = -mass * signs / (1 + np.exp(np.clip(margins, -500, 500)))
        return value, np.concatenate(
            [table.T @ slopes + 2 * _RIDGE * weights, np.bincount(codes, slopes, len(names))]
        )

    start = np.concatenate([np.ones(parts), np.zeros(len(names))])
    bounds = [(0.0, None)] * parts + [(None, None)] * len(names)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    weights: Floats = found.x[:parts]
    return weights
