"""Measurements of many systems to Markdown: every figure of every system on every field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

FIGURES = {
    "auc": "AUC",
    "auc_random": "AUC random",
    "auc_hard": "AUC hard",
    "f1": "F1",
    "accuracy": "accuracy",
}
HEADING = "## Tables"
_SEED = "-seed"

Values = dict[str, dict[str, list[float]]]
"""Of one system: by column and figure the value of every seed."""


def write_tables(
    folder: Path,
    names: Sequence[str],
    fields: Sequence[str],
    averages: Mapping[str, Sequence[str]],
    target: Path,
) -> None:
    """Write one table for each figure, then what the training took, in place of all that follows `HEADING`.

    Args:
        folder: of NAME.json (`colde evaluate`), NAME.train.txt and NAME.measure.txt.
        names: of the measured models; those without a measurement are left out.
        fields: in the order of the columns.
        averages: further columns, the fields of which each is the plain mean.
        target: Markdown file; it has `HEADING`, or it is made.
    """
    values = dict(_rows(folder, names, fields, averages))
    columns = [*fields, *averages]
    parts = [f"### {title}\n\n{_table(values, columns, name)}" for name, title in FIGURES.items()]
    parts.append(f"### Training\n\n{_training(folder, names)}")
    before = target.read_text(encoding="utf-8").partition(HEADING)[0] if target.is_file() else ""
    target.write_text(f"{before}{HEADING}\n\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


def _rows(
    folder: Path, names: Sequence[str], fields: Sequence[str], averages: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Values]]:
    """Name and values of every measured system, controls first, then in the order of `names`."""
    found: dict[str, Values] = {}
    controls: dict[str, Values] = {}
    for name in names:
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        report = json.loads(path.read_text(encoding="utf-8"))
        kinds = {item["name"]: item["kind"] for item in report["systems"]}
        measured = _measured(report)
        for system, kind in kinds.items():
            values = {field: measured[system, field] for field in fields}
            for column, some in averages.items():
                values[column] = {
                    figure: fmean(values[field][figure] for field in some) for figure in FIGURES
                }
            row = system if kind == "control" else _title(name)
            _add((controls if kind == "control" else found).setdefault(row, {}), values)
    yield from controls.items()
    yield from found.items()


def _title(name: str) -> str:
    """The row of a measured model: what is not trained here is what is shipped."""
    return f"{name} (shipped)" if name.startswith("colde-") else name.partition(_SEED)[0]


def _measured(report: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """Figures by system and field."""
    return {
        (result["system"], field["name"]): {name: result["figures"][name]["value"] for name in FIGURES}
        for field in report["fields"]
        for result in field["results"]
    }


def _add(row: Values, values: Mapping[str, Mapping[str, float]]) -> None:
    """Note the values of one more seed."""
    for field, figures in values.items():
        for name, value in figures.items():
            row.setdefault(field, {}).setdefault(name, []).append(value)


def _table(values: Mapping[str, Values], columns: Sequence[str], figure: str) -> str:
    best = {
        column: max(round(fmean(row[column][figure]), 3) for row in values.values()) for column in columns
    }
    lines = [f"| System | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name, row in values.items():
        cells = [_cell(row[column][figure], best[column]) for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(seeds: Sequence[float], best: float) -> str:
    """Mean (and standard deviation over seeds, where there are several), the best one in bold."""
    value = round(fmean(seeds), 3)
    shown = f"{value:.3f}".removeprefix("0")
    shown = f"**{shown}**" if value == best else shown
    return f"{shown} ± {stdev(seeds):.3f}".replace("± 0.", "± .") if len(seeds) > 1 else shown


def _training(folder: Path, names: Sequence[str]) -> str:
    figures = ("validation AUC before", "kept", "epoch kept", "training, s", "measuring, s")
    head = ("System", "documents", "options", *figures)
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        train, measure = (_facts(folder / f"{name}.{kind}.txt") for kind in ("train", "measure"))
        if train and measure:
            before, kept, epoch = _validation(folder / "models" / f"{name}.training" / "metrics.jsonl")
            cells = [train["documents"], f"`{train['options']}`", before, kept, epoch]
            lines.append(f"| {' | '.join(map(str, [name, *cells, train['seconds'], measure['seconds']]))} |")
    return "\n".join(lines)


def _validation(journal: Path) -> tuple[str, str, int]:
    """Validation AUC, mean of the fields, before training and of the weights kept, and the epoch these are of."""
    events = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    values = [event["field_auc"] for event in events if event["event"] == "validation"]
    epoch = max(range(len(values)), key=values.__getitem__)
    return f"{values[0]:.3f}", f"{values[epoch]:.3f}", epoch


def _facts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found
