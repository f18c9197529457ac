"""An evaluation as tidy CSV: one row per field, system and figure."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from colde_cli.evaluation.result import Evaluation

COLUMNS = ("field", "system", "figure", "value", "low", "high", "p", "p_holm")


def evaluation_csv(evaluation: Evaluation) -> str:
    """All figures; a difference to the first system is a figure named `auc_difference` with its p values."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(evaluation))
    return text.getvalue()


def _rows(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for item in evaluation.blocks():
        for found in item.results:
            for name, figure in found.figures.items():
                yield item.name, found.system, name, figure.value, figure.low, figure.high, None, None
            if found.threshold is not None:
                yield item.name, found.system, "threshold", found.threshold, None, None, None, None
        for test in item.tests:
            shown = test.difference
            name = f"{test.figure}_difference"
            yield item.name, test.system, name, shown.value, shown.low, shown.high, test.p, test.p_holm
