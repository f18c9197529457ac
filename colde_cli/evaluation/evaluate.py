"""One system measured on one field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.evaluation_set import EvaluationSet, LabelledPair, members
from colde_cli.evaluation.metrics import (
    average_precisions,
    brier_scores,
    error_by_chance,
    expected_calibration_error,
    make_curves,
    reliability,
    retrieval_figures,
    roc_areas,
    threshold_figures,
)
from colde_cli.evaluation.result import (
    Attacked,
    Evaluation,
    FieldResult,
    Figure,
    Measured,
    PairedTest,
    SystemFacts,
)
from colde_cli.evaluation.statistics import (
    Draws,
    PairBootstrap,
    bootstrap_p,
    holm,
    interval,
    mcnemar_p,
    mean_draws,
    query_draws,
)
from colde_cli.evaluation.systems import ModelSystem, Scorer, System
from colde_cli.scoring.calibration import Calibration, probability
from colde_cli.scoring.fit import best_threshold, fit_calibration

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


def measure(system: System, field: EvaluationSet, plan: Plan, seed: tuple[int, int]) -> Run:
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


def _verdicts(system: System, scorer: Scorer, field: EvaluationSet) -> _Verdicts:
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
    scorer: Scorer, field: EvaluationSet, scores: Floats, verdicts: _Verdicts
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
    pairs: Sequence[LabelledPair],
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


def _related(pairs: Sequence[LabelledPair]) -> Bools:
    return np.array([pair.related for pair in pairs], bool)


def _scores(scorer: Scorer, pairs: Sequence[LabelledPair]) -> Floats:
    return np.asarray(scorer.scores([(pair.a, pair.b) for pair in pairs]), np.float64)


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


MACRO = "macro average"

Attack = Callable[[ModelSystem, EvaluationSet, float | None], Attacked]
"""Changes the documents of a field and looks what becomes of a model's scores, given its threshold."""


def evaluate(
    systems: Sequence[System],
    fields: Sequence[EvaluationSet],
    plan: Plan,
    progress: Callable[[int], None] | None = None,
    attack: Attack | None = None,
) -> Evaluation:
    """Measure every system on every field.

    Args:
        systems: with names of their own; the first is what the others are tested against.
        fields: with names of their own.
        plan: how to measure.
        progress: told of every system done on a field.
        attack: what is done to every model for `FieldResult.robustness`; nothing if None.

    Raises:
        DataError, ModelError, NoTextError: as the systems do when they open a field.
    """
    runs: list[list[Run]] = []
    for number, field in enumerate(fields):
        runs.append([])
        for system in systems:
            runs[-1].append(measure(system, field, plan, (plan.seed, number)))
            if progress is not None:
                progress(1)
    results = tuple(
        replace(
            _field_result(field, found, plan.retrieval), robustness=_attacked(systems, field, found, attack)
        )
        for field, found in zip(fields, runs, strict=True)
    )
    facts = tuple(_facts(system) for system in systems)
    macro = _macro(results, runs) if len(fields) > 1 else None
    return Evaluation(plan.split, facts, results, macro, plan.draws, plan.seed)


def _attacked(
    systems: Sequence[System], field: EvaluationSet, runs: Sequence[Run], attack: Attack | None
) -> dict[str, Attacked]:
    if attack is None:
        return {}
    return {
        system.name: attack(system, field, run.measured.threshold)
        for system, run in zip(systems, runs, strict=True)
        if isinstance(system, ModelSystem)
    }


def _facts(system: System) -> SystemFacts:
    if isinstance(system, ModelSystem):
        info = system.encoder.info
        return SystemFacts(system.name, "model", info.precision, info.device)
    return SystemFacts(system.name, "control")


def _contradicted(field: EvaluationSet) -> str:
    """What judgements that contradict the labels cost: two pairs of one label cannot be told apart by it."""
    unrelated = sum(not pair.related for pair in field.pairs)
    ceiling = 1 - field.contradictions / unrelated / 2
    return (
        f"All related pairs bear one label, but so do {field.contradictions:,} of the {unrelated:,} unrelated "
        f"ones: who knew every label and nothing else would reach AUC {ceiling:.3f}."
    )


def _field_result(field: EvaluationSet, runs: Sequence[Run], retrieval: bool) -> FieldResult:
    asked = retrieval and bool(field.relevant)
    return FieldResult(
        name=field.name,
        pairs=len(field.pairs),
        positives=sum(pair.related for pair in field.pairs),
        documents=len(members(field.pairs)),
        relations=dict(Counter(pair.relation or "" for pair in field.pairs if not pair.related)),
        validation_pairs=len(field.validation),
        queries=len(field.relevant) if asked else None,
        relevance=field.relevance if asked else None,
        results=tuple(run.measured for run in runs),
        tests=(*auc_tests(runs), *accuracy_tests(runs)),
        notes=_field_notes(field, retrieval),
    )


def _field_notes(field: EvaluationSet, retrieval: bool) -> tuple[str, ...]:
    notes = []
    if not field.validation:
        notes.append(
            "There are no validation pairs: models use their stored threshold, and systems without one are "
            "measured by figures that need none."
        )
    if shared := field.shared_documents():
        notes.append(f"{shared:,} documents stand in measured and in validation pairs.")
    if field.contradictions:
        notes.append(_contradicted(field))
    if retrieval and not field.relevant:
        notes.append("No document has links or a class in common with another: nothing to retrieve.")
    return tuple(notes)


def _macro(fields: Sequence[FieldResult], runs: Sequence[Sequence[Run]]) -> FieldResult:
    """The unweighted mean over fields of every figure that all of them have."""
    averages = [average(list(of_system)) for of_system in zip(*runs, strict=True)]
    relations: Counter[str] = Counter()
    for item in fields:
        relations.update(item.relations)
    queries = [item.queries for item in fields if item.queries is not None]
    return FieldResult(
        name=MACRO,
        pairs=sum(item.pairs for item in fields),
        positives=sum(item.positives for item in fields),
        documents=sum(item.documents for item in fields),
        relations=dict(relations),
        validation_pairs=sum(item.validation_pairs for item in fields),
        queries=sum(queries) if queries else None,
        relevance=None,
        results=tuple(average.measured for average in averages),
        tests=tuple(auc_tests(averages)),
        notes=(f"The unweighted mean of {len(fields)} fields.",),
    )
