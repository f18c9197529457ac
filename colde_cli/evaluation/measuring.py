"""One system measured on one field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import Calibration
from colde_cli.evaluation.areas import average_precisions, brier_scores, roc_areas, threshold_figures
from colde_cli.evaluation.bootstrap import Draws, PairBootstrap, interval, query_draws
from colde_cli.evaluation.calibration_fit import fit_calibration
from colde_cli.evaluation.curves import make_curves
from colde_cli.evaluation.field import Field, Judgement
from colde_cli.evaluation.metrics import best_threshold
from colde_cli.evaluation.reliability import error_by_chance, expected_calibration_error, reliability
from colde_cli.evaluation.result import Figure, Measured
from colde_cli.evaluation.retrieval import retrieval_figures
from colde_cli.evaluation.systems import Scorer, System
from colde_cli.similarity.calibration import probability

Bools = NDArray[np.bool_]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to measure.

    Attributes:
        split: which side is measured, for the record.
        retrieval: whether every document is searched for its partners.
        draws: of the bootstrap; 0 for no intervals and no tests of AUC.
        seed: of the bootstrap.
    """

    split: str = "test"
    retrieval: bool = False
    draws: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A measured system with what tests and averages need: draws of its figures, and which verdicts were right."""

    measured: Measured
    draws: Mapping[str, Draws]
    right: Bools | None


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts:
    """What turns scores into verdicts and probabilities, and where each came from."""

    threshold: float | None
    threshold_from: str | None
    calibration: Calibration | None
    calibration_from: str | None


def measure(system: System, field: Field, plan: Plan, seed: tuple[int, int]) -> Run:
    """Measure one system on one field.

    Args:
        system: to measure.
        field: with its judged pairs.
        plan: how to measure.
        seed: of the bootstrap, the same for all systems, so that their draws are paired.

    Raises:
        DataError, ModelError, NoTextError: as the system does when it opens the field.
    """
    scorer = system.open(field)
    related = _related(field.pairs)
    scores = _scores(scorer, field.pairs)
    verdicts = _verdicts(system, scorer, field)
    called, chances = _said(scorer, field, scores, verdicts)
    bins = () if chances is None else reliability(related, chances)
    bootstrap = PairBootstrap(field.pairs, plan.draws, seed)

    def figures(weights: Floats) -> dict[str, Floats]:
        return _pair_figures(field.pairs, related, scores, chances, called, weights)

    draws = _draws(figures, bootstrap)
    values = {name: float(value[0]) for name, value in figures(np.ones((1, len(related)))).items()}
    if chances is not None:
        # No interval: resampling adds noise within bins, which can only raise an ECE.
        values["ece"] = expected_calibration_error(bins)
        values["ece_by_chance"] = error_by_chance(chances, plan.seed)
    if plan.retrieval and field.relevant:
        for name, queries in retrieval_figures(scorer, field.gallery, field.relevant).items():
            values[name] = float(queries.mean())
            if plan.draws:
                draws[name] = query_draws(queries, plan.draws, seed)
    measured = Measured(
        system=system.name,
        figures=with_intervals(values, draws),
        threshold=verdicts.threshold,
        threshold_from=verdicts.threshold_from,
        calibration_from=verdicts.calibration_from,
        curves=make_curves(related, scores, bins),
        notes=scorer.notes,
    )
    return Run(measured, draws, None if called is None else called == related)


def _verdicts(system: System, scorer: Scorer, field: Field) -> _Verdicts:
    """Threshold of the validation pairs before a stored one; stored calibration before one of the validation pairs."""
    threshold, calibration = system.threshold, system.calibration
    threshold_from = None if threshold is None else "model"
    calibration_from = None if calibration is None else "model"
    if field.validation:
        related, scores = _related(field.validation), _scores(scorer, field.validation)
        threshold, threshold_from = best_threshold(related, scores), "validation"
        if calibration is None:
            calibration, calibration_from = fit_calibration(related, scores), "validation"
    return _Verdicts(threshold, threshold_from, calibration, calibration_from)


def _said(
    scorer: Scorer, field: Field, scores: Floats, verdicts: _Verdicts
) -> tuple[Bools | None, Floats | None]:
    """Which of the measured pairs are called related, and the probabilities that they are.

    What is stored with a model is taken from the model, whose threshold may depend on what the documents are.
    """
    stored = None
    if "model" in (verdicts.threshold_from, verdicts.calibration_from):
        stored = scorer.stored([(pair.a, pair.b) for pair in field.pairs])
    called = None if verdicts.threshold is None else scores >= verdicts.threshold
    chances = None if verdicts.calibration is None else probability(scores, verdicts.calibration)
    if stored is not None and verdicts.threshold_from == "model":
        called = stored.called
    if stored is not None and verdicts.calibration_from == "model":
        chances = stored.chances
    return called, chances


def _pair_figures(
    pairs: Sequence[Judgement],
    related: Bools,
    scores: Floats,
    chances: Floats | None,
    called: Bools | None,
    weights: Floats,
) -> dict[str, Floats]:
    """Figures of the pairs under every weighting [B, P]; [B] each."""
    figures = {"auc": roc_areas(related, scores, weights)}
    relations = np.array([pair.relation or "" for pair in pairs])
    for relation in ("random", "hard"):
        chosen = related | (relations == relation)
        if not related[chosen].all():
            figures[f"auc_{relation}"] = roc_areas(related[chosen], scores[chosen], weights[:, chosen])
    figures["average_precision"] = average_precisions(related, scores, weights)
    if called is not None:
        figures |= threshold_figures(related, called, weights)
    if chances is not None:
        figures["brier"] = brier_scores(related, chances, weights)
    return figures


def _draws(figures: Callable[[Floats], dict[str, Floats]], bootstrap: PairBootstrap) -> dict[str, Draws]:
    """Every figure under all weightings."""
    wide = [figures(weights) for weights in bootstrap.by_documents()]
    narrow = [figures(weights) for weights in bootstrap.by_pairs()]
    names = wide[0] if wide else ()
    return {
        name: Draws(
            np.concatenate([block[name] for block in wide]), np.concatenate([block[name] for block in narrow])
        )
        for name in names
    }


def with_intervals(values: Mapping[str, float], draws: Mapping[str, Draws]) -> dict[str, Figure]:
    """Values by name as figures, each with the interval of its draws if there are any."""
    return {name: figure(value, draws.get(name)) for name, value in values.items()}


def figure(value: float, draws: Draws | None) -> Figure:
    """A value with the interval of its draws; without draws there is none."""
    ends = None if draws is None else interval(draws.around(value))
    return Figure(value, *(ends or (None, None)))


def _related(pairs: Sequence[Judgement]) -> Bools:
    return np.array([pair.related for pair in pairs], bool)


def _scores(scorer: Scorer, pairs: Sequence[Judgement]) -> Floats:
    return np.asarray(scorer.scores([(pair.a, pair.b) for pair in pairs]), np.float64)
