"""Measure systems on evaluation sets: metrics, confidence intervals, and tests against the first system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.data import EvaluationSet, LabelledPair, members
from colde_cli.evaluation.metrics import (
    Draws,
    PairBootstrap,
    bootstrap_p,
    chance_calibration_error,
    expected_calibration_error,
    holm,
    interval,
    make_curves,
    mcnemar_p,
    mean_draws,
    query_draws,
    reliability,
    retrieval_figures,
    weighted_auc,
    weighted_average_precision,
    weighted_brier,
    weighted_verdict_metrics,
)
from colde_cli.evaluation.result import (
    Evaluation,
    Figure,
    PairedTest,
    RobustnessResult,
    SetResult,
    SystemFacts,
    SystemResult,
)
from colde_cli.evaluation.systems import ModelSystem, PairScorer, PartSystem, ScoringSystem
from colde_cli.scoring.config import Calibration, probability
from colde_cli.scoring.fit import best_threshold, fit_calibration

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MACRO = "macro average"

Attack = Callable[[ModelSystem, EvaluationSet, float | None], RobustnessResult]
"""Scores a model on changed documents of an evaluation set, given its threshold."""


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """How to measure."""

    split: str = "test"  # the split that was asked for, for the record
    retrieval: bool = False  # search the partners of every document
    draws: int = 2000  # number of draws of the bootstrap; 0 for no intervals and no tests of AUC
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SystemRun:
    """A measured system with what tests and averages need."""

    measured: SystemResult
    draws: Mapping[str, Draws]
    right: Bools | None  # bool [P], where its verdict is right; None without verdicts


@dataclass(frozen=True, slots=True, eq=False)
class _Decision:
    """The threshold and the calibration to use, and whether they come from "model" or "validation"."""

    threshold: float | None
    threshold_from: str | None
    calibration: Calibration | None
    calibration_from: str | None


def evaluate(
    systems: Sequence[ScoringSystem],
    sets: Sequence[EvaluationSet],
    plan: MeasurementPlan,
    progress: Callable[[int], None] | None = None,
    attack: Attack | None = None,
) -> Evaluation:
    """Measure every system on every evaluation set.

    Args:
        systems: with distinct names; the others are tested against the first.
        attack: measures the robustness of every model; None for no such measurement.

    Raises:
        DataError, ModelError, NoTextError: as the systems do when they open a set.
    """
    runs: list[list[SystemRun]] = []
    for number, evaluation_set in enumerate(sets):
        runs.append([])
        for system in systems:
            runs[-1].append(measure(system, evaluation_set, plan, (plan.seed, number)))
            if progress is not None:
                progress(1)
    results = tuple(
        replace(
            _set_result(evaluation_set, of_set, plan.retrieval),
            robustness={
                system.name: attack(system, evaluation_set, run.measured.threshold)
                for system, run in zip(systems, of_set, strict=True)
                if attack is not None and isinstance(system, ModelSystem)
            },
        )
        for evaluation_set, of_set in zip(sets, runs, strict=True)
    )
    facts = []
    for system in systems:
        if isinstance(system, ModelSystem):
            info = system.encoder.info
            facts.append(SystemFacts(system.name, "model", info.precision, info.device))
        else:
            facts.append(SystemFacts(system.name, "part" if isinstance(system, PartSystem) else "control"))
    macro = _macro(results, runs) if len(sets) > 1 else None
    return Evaluation(plan.split, tuple(facts), results, macro, plan.draws, plan.seed)


def measure(
    system: ScoringSystem, evaluation_set: EvaluationSet, plan: MeasurementPlan, seed: tuple[int, int]
) -> SystemRun:
    """Measure one system on one evaluation set.

    Args:
        seed: of the bootstrap; the same for all systems, so that their draws are paired.

    Raises:
        DataError, ModelError, NoTextError: as the system does when it opens the set.
    """
    scorer = system.open(evaluation_set)
    pairs, related = evaluation_set.pairs, _labels(evaluation_set.pairs)
    scores = _scores(scorer, pairs)
    decision = _decision(system, scorer, evaluation_set)
    called, probabilities = _verdicts(scorer, pairs, scores, decision)
    bins = () if probabilities is None else reliability(related, probabilities)
    bootstrap = PairBootstrap(pairs, plan.draws, seed)

    def metrics(weights: Floats) -> dict[str, Floats]:
        return _pair_metrics(pairs, related, scores, probabilities, called, weights)

    draws = _draws(metrics, bootstrap)
    values = {name: float(value[0]) for name, value in metrics(np.ones((1, len(related)))).items()}
    if probabilities is not None:
        # No interval: resampling adds noise within bins, which can only raise a calibration error.
        values["ece"] = expected_calibration_error(bins)
        values["ece_by_chance"] = chance_calibration_error(probabilities, plan.seed)
    if scorer.share is not None:
        values["share"] = scorer.share([(pair.a, pair.b) for pair in pairs])
    if plan.retrieval and evaluation_set.relevant:
        by_metric = retrieval_figures(scorer, evaluation_set.gallery, evaluation_set.relevant)
        for name, queries in by_metric.items():
            values[name] = float(queries.mean())
            if plan.draws:
                draws[name] = query_draws(queries, plan.draws, seed)
    measured = SystemResult(
        system=system.name,
        figures=with_intervals(values, draws),
        threshold=decision.threshold,
        threshold_from=decision.threshold_from,
        calibration_from=decision.calibration_from,
        curves=make_curves(related, scores, bins),
        notes=scorer.notes,
    )
    return SystemRun(measured, draws, None if called is None else called == related)


def _decision(system: ScoringSystem, scorer: PairScorer, evaluation_set: EvaluationSet) -> _Decision:
    """Choose: a threshold from validation pairs before the stored one, but a stored calibration before a fitted one."""
    threshold, calibration = system.threshold, system.calibration
    threshold_from = None if threshold is None else "model"
    calibration_from = None if calibration is None else "model"
    if evaluation_set.validation:
        related, scores = _labels(evaluation_set.validation), _scores(scorer, evaluation_set.validation)
        threshold, threshold_from = best_threshold(related, scores), "validation"
        if calibration is None:
            calibration, calibration_from = fit_calibration(related, scores), "validation"
    return _Decision(threshold, threshold_from, calibration, calibration_from)


def _verdicts(
    scorer: PairScorer, pairs: Sequence[LabelledPair], scores: Floats, decision: _Decision
) -> tuple[Bools | None, Floats | None]:
    """The pairs called related, and the probabilities that they are.

    A stored threshold or calibration is applied by the model itself: its threshold may depend on the documents.
    """
    called = None if decision.threshold is None else scores >= decision.threshold
    probabilities = None if decision.calibration is None else probability(scores, decision.calibration)
    if scorer.stored is not None and "model" in (decision.threshold_from, decision.calibration_from):
        stored = scorer.stored([(pair.a, pair.b) for pair in pairs])
        called = stored.called if decision.threshold_from == "model" else called
        probabilities = stored.probabilities if decision.calibration_from == "model" else probabilities
    return called, probabilities


def _pair_metrics(
    pairs: Sequence[LabelledPair],
    related: Bools,
    scores: Floats,
    probabilities: Floats | None,
    called: Bools | None,
    weights: Floats,
) -> dict[str, Floats]:
    """All metrics of pairs under the weightings [B, P]; [B] each."""
    metrics = {"auc": weighted_auc(related, scores, weights)}
    relations = np.array([pair.relation or "" for pair in pairs])
    for relation in ("random", "hard"):
        chosen = related | (relations == relation)
        if not related[chosen].all():
            metrics[f"auc_{relation}"] = weighted_auc(related[chosen], scores[chosen], weights[:, chosen])
    metrics["average_precision"] = weighted_average_precision(related, scores, weights)
    if called is not None:
        metrics |= weighted_verdict_metrics(related, called, weights)
    if probabilities is not None:
        metrics["brier"] = weighted_brier(related, probabilities, weights)
    return metrics


def _draws(metrics: Callable[[Floats], dict[str, Floats]], bootstrap: PairBootstrap) -> dict[str, Draws]:
    """Every metric under all weightings of the bootstrap."""
    by_documents = [metrics(weights) for weights in bootstrap.by_documents()]
    by_pairs = [metrics(weights) for weights in bootstrap.by_pairs()]
    names = by_documents[0] if by_documents else ()
    return {
        name: Draws(
            np.concatenate([block[name] for block in by_documents]), np.concatenate([block[name] for block in by_pairs])
        )
        for name in names
    }


def with_intervals(values: Mapping[str, float], draws: Mapping[str, Draws]) -> dict[str, Figure]:
    """Add to every value the interval of its draws, if it has any."""
    return {name: figure(value, draws.get(name)) for name, value in values.items()}


def figure(value: float, draws: Draws | None) -> Figure:
    """A value with the interval of its draws; without draws, none."""
    ends = None if draws is None else interval(draws.around(value))
    return Figure(value, *(ends or (None, None)))


def _labels(pairs: Sequence[LabelledPair]) -> Bools:
    return np.array([pair.related for pair in pairs], bool)


def _scores(scorer: PairScorer, pairs: Sequence[LabelledPair]) -> Floats:
    return np.asarray(scorer.scores([(pair.a, pair.b) for pair in pairs]), np.float64)


def paired_tests(runs: Sequence[SystemRun], name: str) -> list[PairedTest]:
    """Test whether the AUC or the accuracy of each further system differs from that of the first.

    AUC is tested by paired bootstrap; accuracy only where both give verdicts. The p values are corrected for the number
    of tests.
    """
    first, *others = runs
    tests = []
    for other in others:
        rights = [run.right for run in (other, first) if run.right is not None]
        if name == "accuracy" and len(rights) < 2:
            continue
        value = other.measured.figures[name].value - first.measured.figures[name].value
        draws = other.draws[name].minus(first.draws[name]) if name in other.draws else None
        if name == "auc":
            method, p = "paired document bootstrap", None if draws is None else bootstrap_p(draws.around(value))
        else:
            method, p = "McNemar, exact", mcnemar_p(*rights)
        names = other.measured.system, first.measured.system
        tests.append(PairedTest(*names, name, method, figure(value, draws), p, None))
    values = holm([test.p for test in tests])
    return [replace(test, p_holm=value) for test, value in zip(tests, values, strict=True)]


def average(runs: Sequence[SystemRun]) -> SystemRun:
    """Average one system over several sets: the mean of every metric that all of them have."""
    common = [name for name in runs[0].measured.figures if all(name in run.measured.figures for run in runs)]
    values = {name: float(np.mean([run.measured.figures[name].value for run in runs])) for name in common}
    drawn = [name for name in common if all(name in run.draws for run in runs)]
    draws = {name: mean_draws([run.draws[name] for run in runs]) for name in drawn}
    return SystemRun(SystemResult(runs[0].measured.system, with_intervals(values, draws)), draws, None)


def _set_result(evaluation_set: EvaluationSet, runs: Sequence[SystemRun], retrieval: bool) -> SetResult:
    searched = retrieval and bool(evaluation_set.relevant)
    return SetResult(
        name=evaluation_set.name,
        pairs=len(evaluation_set.pairs),
        positives=sum(pair.related for pair in evaluation_set.pairs),
        documents=len(members(evaluation_set.pairs)),
        relations=dict(Counter(pair.relation or "" for pair in evaluation_set.pairs if not pair.related)),
        validation_pairs=len(evaluation_set.validation),
        queries=len(evaluation_set.relevant) if searched else None,
        relevance=evaluation_set.relevance if searched else None,
        results=tuple(run.measured for run in runs),
        tests=(*paired_tests(runs, "auc"), *paired_tests(runs, "accuracy")),
        notes=_set_notes(evaluation_set, retrieval),
        split=evaluation_set.split,
    )


def _set_notes(evaluation_set: EvaluationSet, retrieval: bool) -> tuple[str, ...]:
    notes = []
    if not evaluation_set.validation:
        notes.append(
            "There are no validation pairs: models use their stored threshold, and systems without one are "
            "measured by figures that need none."
        )
    if shared := evaluation_set.shared_documents():
        notes.append(f"{shared:,} documents stand in measured and in validation pairs.")
    if evaluation_set.contradictions:
        # The AUC that knowledge of the document labels alone could reach.
        unrelated = sum(not pair.related for pair in evaluation_set.pairs)
        ceiling = 1 - evaluation_set.contradictions / unrelated / 2
        notes.append(
            f"All related pairs bear one label, but so do {evaluation_set.contradictions:,} of the {unrelated:,} "
            f"unrelated ones: who knew every label and nothing else would reach AUC {ceiling:.3f}."
        )
    if retrieval and not evaluation_set.relevant:
        notes.append("No document has links or a class in common with another: nothing to retrieve.")
    return tuple(notes)


def _macro(sets: Sequence[SetResult], runs: Sequence[Sequence[SystemRun]]) -> SetResult:
    """The unweighted mean over sets of every metric that all of them have."""
    averages = [average(list(of_system)) for of_system in zip(*runs, strict=True)]
    relations: Counter[str] = Counter()
    for item in sets:
        relations.update(item.relations)
    queries = [item.queries for item in sets if item.queries is not None]
    return SetResult(
        name=MACRO,
        pairs=sum(item.pairs for item in sets),
        positives=sum(item.positives for item in sets),
        documents=sum(item.documents for item in sets),
        relations=dict(relations),
        validation_pairs=sum(item.validation_pairs for item in sets),
        queries=sum(queries) if queries else None,
        relevance=None,
        results=tuple(average.measured for average in averages),
        tests=tuple(paired_tests(averages, "auc")),
        notes=(f"The unweighted mean of {len(sets)} fields.",),
    )
