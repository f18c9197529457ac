"""The benchmark of SMITH's tables: its pure functions, and one tiny run of every kind."""

from __future__ import annotations

import importlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled_set import write_labelled_set
from late import needs
from tiny_backbone import write_backbone

pytestmark = needs("torch", "sklearn", "optimum")


@pytest.fixture
def script(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(repository / "benchmarks" / "papers"))
    return importlib.import_module


def differences(one: Any, other: Any) -> set[str]:
    first, second = asdict(one), asdict(other)
    first |= first.pop("start")
    second |= second.pop("start")
    return {name for name in first if first[name] != second[name]}


def test_tables_change_one_thing_at_a_time(script: Any) -> None:
    smith = script("smith_runs")
    for standard, settings, options in (
        (smith.DEEPER, smith.table_5(), {"pretrain", "std", "fitted"}),
        (smith.STANDARD, smith.table_6(), {"sentence_layers", "document_layers"}),
        (smith.STANDARD, smith.table_7(), {"combine", "dot", "fitted"}),
        (smith.STANDARD, smith.figure_4(), {"blocks"}),
    ):
        # The standard setting is trained once for all.
        assert standard in settings.values()
        assert all(differences(setting, standard) <= options for setting in settings.values())
        assert len({smith.key(setting) for setting in settings.values()}) == len(settings)
        after = {name: setting.after("wp+sp", 12) for name, setting in settings.items()}
        assert all(differences(after[name], settings[name]) <= {"pretrain", "epochs"} for name in settings)


def test_rare_words_are_one(script: Any) -> None:
    data = script("smith_runs")
    rows = np.array([[[101, 7, 7, 9, 102, 0], [101, 7, 8, 8, 102, 0]]])
    kept = data.frequent(rows, [0, 100, 101, 102, 103], 2)
    assert kept.tolist() == [0, 100, 101, 102, 103, 7, 8]
    assert data.renumbered(rows, kept).tolist() == [[[2, 5, 5, 1, 3, 0], [2, 5, 6, 6, 3, 0]]]
    assert data.renumbered(np.array([[200]]), kept).tolist() == [[1]]


def test_documents_are_cut_to_passages(script: Any) -> None:
    rows = np.zeros((2, 5, 4), np.int32)
    rows[0] = [2, 9, 3, 0]
    rows[1, 0] = [2, 8, 3, 0]
    found = script("smith_runs").passages(rows, 2)
    # The fifth block of the first document and the only one of the second stand alone.
    assert [item.ids.tolist() for item in found] == [[[2, 9, 3]] * 2] * 2


def test_the_dot_product_is_not_bounded(script: Any) -> None:
    import torch

    loss = script("smith_runs").DotLoss()
    left = torch.tensor([[3.0, 0.0]])
    assert float(loss(left, left, torch.tensor([1]))) == pytest.approx(0.0, abs=1e-6)
    assert float(loss(left, left, torch.tensor([0]))) == pytest.approx(54.0)


@pytest.mark.slow
def test_from_documents_to_tables(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_labelled_set(tmp_path / "made-up")
    smith_data, smith_runs, smith = script("smith_runs"), script("smith_runs"), script("smith")
    standard = script("smith_runs").STANDARD
    bert = str(write_backbone(tmp_path / "bert", mask=True))
    monkeypatch.setattr(smith_data, "DEFAULT_BACKBONE", bert)
    data = smith_data.load_smith_set(folder)
    assert (len(data.split.training), len(data.split.pairs), len(data.pairs)) == (24, 8, 12)
    small = replace(standard, epochs=1, blocks=4)
    tiny = replace(small, start=replace(small.start, epochs=1, hidden=8))
    settings = {
        "WP+SP": replace(tiny, start=replace(tiny.start, pretrain="wp+sp")),
        "WP": replace(tiny, start=replace(tiny.start, pretrain="wp")),
        "Attention": replace(tiny, combine="attention"),
        "Sum-Concat, dot product": replace(tiny, combine="sum-concat", dot=True),
    }
    found = smith_runs.run_all(data, settings, [0, 1])
    for name, runs in found.items():
        line = smith.row(data, name, runs)
        assert len(line) == len(smith.HEADER)
        assert [len(run.test) for run in runs] == [12, 12]
        assert len(smith.mean_curve(runs)) == 2
    # What is on disk is not trained again, and another training of it ends the same.
    assert smith_runs.run_one(data, settings["WP+SP"]) == found["WP+SP"][0]
    starts = list((tmp_path / "runs" / "papers" / "smith" / "made-up").glob("start-*"))
    assert len(starts) == 4
    again = smith_runs.train(data, settings["WP+SP"], tmp_path / "elsewhere")
    assert again.test == pytest.approx(found["WP+SP"][0].test, abs=1e-6)
