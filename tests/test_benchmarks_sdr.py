"""The SDR benchmark: its files, its figures by hand, and a miniature from files to a table."""

from __future__ import annotations

import csv
import importlib
import pickle
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from colde_cli.errors import DataError
from colde_cli.evaluation.systems import Baseline, PairScorer, make_baselines

ARTICLES = {
    "Pinot": "A red grape of Burgundy with cherry and earth.",
    "Gamay": "A red grape of Beaujolais near Burgundy with cherry and violet.",
    "Champagne & Co": "A sparkling wine with chalk and brioche.",
    "Cava": "A sparkling wine of Catalonia with lemon and brioche.",
    "Mead": "A drink of honey.",
}
GIVEN = {"Pinot": {"Gamay": 2, "Cava": 1, "Lost": 1}, "Champagne &amp; Co": {"Cava": 1}}


@pytest.fixture
def sdr(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("sdr")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with (tmp_path / "raw_data").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["title", "sections"])
        for title, text in ARTICLES.items():
            lines.writerow(
                [title.replace("&", "&amp;"), repr([("", text), ("Notes", ""), ["Taste", "Dry."]])]
            )
        lines.writerow(["Pinot", repr([("", "Another article of this title.")])])
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for query, others in GIVEN.items():
        counted[query].update(others)
    (tmp_path / "gt").write_bytes(pickle.dumps(counted))
    return tmp_path


def test_files_become_articles_and_recommendations(sdr: Any, folder: Path) -> None:
    data = sdr.load_sdr(folder)
    assert data.articles.gallery == tuple(sorted(ARTICLES))
    article = data.articles.documents["Pinot"]
    assert [section.heading for section in article.sections] == ["", "Taste"]
    assert article.text.startswith("A red grape")
    # "Lost" has no article: it cannot be ranked, but it counts as missed.
    assert data.articles.relevant == {"Pinot": {"Gamay", "Cava"}, "Champagne & Co": {"Cava"}}
    assert data.recommended["Pinot"] == {"Gamay": 2, "Cava": 1, "Lost": 1}


def test_a_pickle_that_would_run_code_is_refused(sdr: Any, tmp_path: Path) -> None:
    (tmp_path / "gt").write_bytes(pickle.dumps({"Pinot": Path("/")}))
    with pytest.raises(DataError, match="names pathlib"):
        sdr.read_recommendations(tmp_path / "gt")
    (tmp_path / "gt.json").write_text('{"Pinot": {"Cava": 2}}')
    assert sdr.read_recommendations(tmp_path / "gt.json") == {"Pinot": {"Cava": 2}}
    (tmp_path / "raw_data").write_text("title,sections\nPinot,nothing\n")
    with pytest.raises(DataError, match="record 2"):
        sdr.read_articles(tmp_path / "raw_data")


def test_figures_by_hand(sdr: Any) -> None:
    ranks = {"a": {"x": 1, "y": 11}, "b": {"z": 2}}
    recommended = {"a": {"x": 3, "y": 1, "lost": 1}, "b": {"z": 2}}
    found = sdr.figures(ranks, recommended, 20).means(np.arange(2))
    assert found["HR@10"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["HR@100"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["MRR"] == pytest.approx((1 + 1 / 2) / 2)
    # Ranks from 0, where 0 counts as 1: both queries score 1.
    assert found["MRR, SDR's code"] == 1
    # x three times at 0, y at 10/20, z twice at 1/20.
    assert found["MPR"] == pytest.approx((0.5 + 2 * 0.05) / 6)


def test_ranks_leave_the_query_out(sdr: Any, folder: Path) -> None:
    data = sdr.load_sdr(folder)
    wanted = {"Gamay": 0.9, "Mead": 0.8, "Cava": 0.1, "Champagne & Co": 0.1, "Pinot": 1.0}
    scorer = PairScorer(lambda pairs: np.array([wanted[title] for _, title in pairs]))
    assert sdr.ranks_of(scorer, data)["Pinot"] == {"Gamay": 1, "Cava": 3}


def test_a_miniature_is_ranked(sdr: Any, folder: Path) -> None:
    data = sdr.load_sdr(folder)
    systems = make_baselines(("tfidf", "bm25"), None)  # type: ignore[arg-type]
    rows = sdr.measure(
        data, [*systems, Baseline("worst", lambda _: PairScorer(lambda pairs: -np.arange(len(pairs))))]
    )
    assert [line[0] for line in rows] == ["TF-IDF", "BM25", "worst"]
    assert all(len(line) == 1 + len(sdr.FIGURES) for line in rows)
    # Both find a red grape and a sparkling wine first.
    assert [line[3].split()[0] for line in rows[:2]] == ["100.0", "100.0"]
    assert sdr.published("wines")[1:3] == ["17.0", "59.0"]
    assert sdr.published("other") is None


def test_the_model_ranks_as_both_commands_do(
    sdr: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["sdr.py", str(folder), "--only", "rank", "diff"])
    monkeypatch.setenv("COLUMNS", "200")
    sdr.main()
    shown = capsys.readouterr().out
    assert "2 queries, 5 articles." in shown
    lines = [line for line in shown.splitlines() if line.startswith("│") and "(" in line]
    assert [line.split()[1] for line in lines] == ["rank", "diff"]
    # Each query finds an article that experts recommend before any other.
    assert all("100.0 (100.0–100.0)" in line for line in lines)
