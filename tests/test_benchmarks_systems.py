"""The comparison of all systems: the sample of the data that trains, and the tables."""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def sampled_data(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("sampled_data")


@pytest.fixture
def systems(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("systems")


def rows() -> list[dict[str, Any]]:
    """Twenty documents linked in twos, ten in two classes, one alone, one to validate on."""
    made = [
        {"id": f"f/{number}", "split": "train", "label": None, "related": [f"f/{number ^ 1}"]}
        for number in range(20)
    ]
    made += [
        {"id": f"f/c{number}", "split": "train", "label": f"f/{number % 2}", "related": []}
        for number in range(10)
    ]
    made.append({"id": "f/alone", "split": "train", "label": None, "related": []})
    return [*made, {"id": "f/held", "split": "validation", "label": None, "related": []}]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "f.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows())
    return path


def test_every_document_of_a_sample_keeps_a_partner(
    sampled_data: ModuleType, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "part.jsonl.gz"
    sampled_data.sample(source, target, 12)
    with gzip.open(target, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    training = {row["id"] for row in found if row["split"] == "train"}
    assert len(training) in (12, 13)
    assert "f/held" in {row["id"] for row in found}
    assert set(sampled_data.partners(found)) == training
    for row in found:
        assert set(row["related"]) <= training
    sampled_data.sample(source, tmp_path / "again.jsonl.gz", 12)
    again = gzip.decompress((tmp_path / "again.jsonl.gz").read_bytes())
    assert again == gzip.decompress(target.read_bytes())


def test_pairs_are_taken_by_field_with_all_of_a_document(sampled_data: ModuleType, tmp_path: Path) -> None:
    pairs = [
        {"a": f"{field}/{one}", "b": f"{field}/x{other}", "label": int(other == 0)}
        for field in ("f", "g")
        for one in range(8)
        for other in range(3)
    ]
    source, target = tmp_path / "all.jsonl", tmp_path / "some.jsonl"
    source.write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    sampled_data.sample_pairs(source, target, 7)
    found = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    for field in ("f", "g"):
        assert sum(pair["a"].startswith(field) for pair in found) == 9


def report(figure_names: list[str], model: str, value: float, *controls: str) -> str:
    systems = [{"name": model, "kind": "model"}, *({"name": name, "kind": "control"} for name in controls)]
    figures = {name: {"value": value} for name in figure_names}
    results = [{"system": item["name"], "figures": figures} for item in systems]
    return json.dumps({"systems": systems, "fields": [{"name": name, "results": results} for name in "pq"]})


def test_tables_have_a_row_a_system_and_a_column_a_set(systems: ModuleType, tmp_path: Path) -> None:
    names = list(systems.FIGURES)
    (tmp_path / "han.json").write_text(report(names, "han", 0.75))
    (tmp_path / "han-seed1.json").write_text(report(names, "han-seed1", 0.85))
    (tmp_path / "colde-x.json").write_text(report(names, "colde-x", 0.9, "BM25"))
    (tmp_path / "han.train.txt").write_text(
        json.dumps({"seconds": 5, "options": "--epochs 2", "documents": 9})
    )
    (tmp_path / "han.measure.txt").write_text(json.dumps({"seconds": 4}))
    journal = tmp_path / "models" / "han.training" / "metrics.jsonl"
    journal.parent.mkdir(parents=True)
    events = [("validation", 0, 0.5), ("step", 1, 0.0), ("validation", 7, 0.75), ("validation", 14, 0.7)]
    lines = [json.dumps({"event": kind, "step": step, "field_auc": auc}) + "\n" for kind, step, auc in events]
    journal.write_text("".join(lines))
    target = tmp_path / "data"
    systems.write_tables(
        tmp_path, ["colde-x", "han", "han-seed1", "gone"], ["p", "q"], {"both": ["p", "q"]}, target
    )
    assert (target / "systems-auc.csv").read_text(encoding="utf-8").splitlines() == [
        "system,p,q,both",
        "BM25,.900,.900,.900",
        "colde-x (shipped),.900,.900,.900",
        "han,.800 ± .071,.800 ± .071,.800 ± .071",
    ]
    assert (target / "systems-auc-hard.csv").is_file()
    header, row = (target / "systems-training.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("system,documents,options")
    assert row == "han,9,--epochs 2,0.500,0.750,7,5,4"
