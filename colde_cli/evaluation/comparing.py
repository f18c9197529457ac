"""Measured systems against one another: paired tests, and averages over fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from colde_cli.evaluation.bootstrap import Draws, mean_draws
from colde_cli.evaluation.measuring import Run, figure, with_intervals
from colde_cli.evaluation.result import Figure, Measured, PairedTest
from colde_cli.evaluation.significance import bootstrap_p, holm, mcnemar_p


def auc_tests(runs: Sequence[Run]) -> list[PairedTest]:
    """Whether the AUC of every other system differs from that of the first, by paired bootstrap."""
    first, *others = runs
    found = []
    for other in others:
        shown, draws = _difference(other, first, "auc")
        p = None if draws is None else bootstrap_p(draws.around(shown.value))
        found.append(PairedTest(*_names(other, first), "auc", "paired document bootstrap", shown, p, None))
    return _corrected(found)


def accuracy_tests(runs: Sequence[Run]) -> list[PairedTest]:
    """Whether every other system is right as often as the first, where both give verdicts."""
    first, *others = runs
    found = []
    for other in others:
        if first.right is not None and other.right is not None:
            shown, _ = _difference(other, first, "accuracy")
            p = mcnemar_p(other.right, first.right)
            found.append(PairedTest(*_names(other, first), "accuracy", "McNemar, exact", shown, p, None))
    return _corrected(found)


def _names(one: Run, other: Run) -> tuple[str, str]:
    return one.measured.system, other.measured.system


def _difference(one: Run, other: Run, name: str) -> tuple[Figure, Draws | None]:
    value = one.measured.figures[name].value - other.measured.figures[name].value
    draws = one.draws[name].minus(other.draws[name]) if name in one.draws else None
    return figure(value, draws), draws


def _corrected(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """Tests of one figure, their p values corrected for one another."""
    values = holm([test.p for test in tests])
    return [replace(test, p_holm=value) for test, value in zip(tests, values, strict=True)]


def average(runs: Sequence[Run]) -> Run:
    """The runs of one system on several fields as one: the mean of every figure that all of them have."""
    common = [name for name in runs[0].measured.figures if all(name in run.measured.figures for run in runs)]
    values = {name: float(np.mean([run.measured.figures[name].value for run in runs])) for name in common}
    drawn = [name for name in common if all(name in run.draws for run in runs)]
    draws = {name: mean_draws([run.draws[name] for run in runs]) for name in drawn}
    return Run(Measured(runs[0].measured.system, with_intervals(values, draws)), draws, None)
