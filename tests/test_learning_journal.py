"""The log of a run survives being taken up, and says everything once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from colde_cli.learning.journal import Journal


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_run_taken_up_writes_on(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.started(6, 0)
        journal.validated({"epoch": 0, "auc": 0.5})
        for step in (1, 2, 3):
            journal.stepped({"step": step, "epoch": 0, "loss": 1 / step})
        journal.validated({"epoch": 1, "auc": 0.6})
        journal.stepped({"step": 4, "epoch": 1, "loss": 0.2})
    with (tmp_path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"event": "step", "step"')  # killed while it wrote
    with Journal(tmp_path) as journal:
        journal.started(6, 3)
        journal.stepped({"step": 4, "epoch": 1, "loss": 0.3})
    events = [(line["event"], line["step"]) for line in lines(tmp_path)]
    assert events == [
        ("validation", 0),
        ("step", 1),
        ("step", 2),
        ("step", 3),
        ("validation", 3),
        ("step", 4),
    ]
    assert lines(tmp_path)[-1]["loss"] == 0.3


def test_a_new_run_begins_a_new_log(tmp_path: Path) -> None:
    for _ in range(2):
        with Journal(tmp_path) as journal:
            journal.started(1, 0)
            journal.stepped({"step": 1, "epoch": 0, "loss": 1.0})
    assert len(lines(tmp_path)) == 1
