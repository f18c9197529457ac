"""Systems × fields → `Evaluation`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from colde_cli.evaluation.comparing import accuracy_tests, auc_tests, average
from colde_cli.evaluation.field import Field, members
from colde_cli.evaluation.measuring import Plan, Run, measure
from colde_cli.evaluation.result import Attacked, Evaluation, FieldResult, SystemFacts
from colde_cli.evaluation.systems import ModelSystem, System

MACRO = "macro average"

Attack = Callable[[ModelSystem, Field, float | None], Attacked]
"""Changes the documents of a field and looks what becomes of a model's scores, given its threshold."""


def evaluate(
    systems: Sequence[System],
    fields: Sequence[Field],
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
    systems: Sequence[System], field: Field, runs: Sequence[Run], attack: Attack | None
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


def _contradicted(field: Field) -> str:
    """What judgements that contradict the labels cost: two pairs of one label cannot be told apart by it."""
    unrelated = sum(not pair.related for pair in field.pairs)
    ceiling = 1 - field.contradictions / unrelated / 2
    return (
        f"All related pairs bear one label, but so do {field.contradictions:,} of the {unrelated:,} unrelated "
        f"ones: who knew every label and nothing else would reach AUC {ceiling:.3f}."
    )


def _field_result(field: Field, runs: Sequence[Run], retrieval: bool) -> FieldResult:
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


def _field_notes(field: Field, retrieval: bool) -> tuple[str, ...]:
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
