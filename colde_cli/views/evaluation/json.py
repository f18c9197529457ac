"""An evaluation as JSON of schema colde.evaluation/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from colde_cli.evaluation.result import Evaluation, FieldResult, Figure, Measured, PairedTest
from colde_cli.views.json import number, text


def evaluation_json(evaluation: Evaluation) -> str:
    """All figures, tests and curves as text."""
    return text(
        {
            "schema": "colde.evaluation/1",
            "split": evaluation.split,
            "seed": evaluation.seed,
            "bootstrap": {"draws": evaluation.draws, "level": 0.95, "unit": "document"},
            "systems": [asdict(item) for item in evaluation.systems],
            "fields": [_field(item) for item in evaluation.fields],
            "macro": None if evaluation.macro is None else _field(evaluation.macro),
        }
    )


def _field(item: FieldResult) -> dict[str, Any]:
    return {
        "name": item.name,
        "pairs": item.pairs,
        "positives": item.positives,
        "documents": item.documents,
        "relations": dict(item.relations),
        "validation_pairs": item.validation_pairs,
        "queries": item.queries,
        "relevance": item.relevance,
        "results": [_measured(found) for found in item.results],
        "tests": [_test(test) for test in item.tests],
        "notes": list(item.notes),
        "robustness": {name: _rounded(dict(found.json)) for name, found in item.robustness.items()},
    }


def _measured(found: Measured) -> dict[str, Any]:
    return {
        "system": found.system,
        "figures": {name: _figure(figure) for name, figure in found.figures.items()},
        "threshold": number(found.threshold),
        "threshold_from": found.threshold_from,
        "calibration_from": found.calibration_from,
        "curves": None if found.curves is None else _rounded(asdict(found.curves)),
        "notes": list(found.notes),
    }


def _test(test: PairedTest) -> dict[str, Any]:
    return {
        "system": test.system,
        "against": test.against,
        "figure": test.figure,
        "method": test.method,
        "difference": _figure(test.difference),
        "p": number(test.p),
        "p_holm": number(test.p_holm),
    }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": number(figure.value), "low": number(figure.low), "high": number(figure.high)}


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever a curve is made of
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
