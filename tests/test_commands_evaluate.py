"""`colde evaluate`, from the command line to what it prints, with the real model."""

from __future__ import annotations

import csv
import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from command_line import check_trouble, run, run_json, validate
from judged_data import write_judged
from late import needs
from typer.testing import CliRunner

from colde_cli.commands.app import app
from colde_cli.scoring.config import PARTS

pytestmark = needs("scipy")

Capture = pytest.CaptureFixture[str]
MODEL = "colde-minilm-l6"
QUICK = ["--bootstrap", "40", "--device", "cpu"]
BASELINES = ["TF-IDF", "BM25", "mean", "centred mean", "max-mean"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    docs, pairs = write_judged(tmp_path_factory.mktemp("data") / "gardens")
    return ["--docs", str(docs), "--pairs", str(pairs)]


@pytest.fixture(scope="module")
def report(data: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything measured once, as JSON."""
    result = CliRunner().invoke(
        app, ["evaluate", MODEL, *data, *QUICK, "--baseline", "all", "--retrieval", "--format", "json"]
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_json_is_what_the_schema_says(report: dict[str, Any]) -> None:
    validate(report, "colde.evaluation.1")
    assert report["macro"] is None


def test_what_is_measured_is_said(report: dict[str, Any]) -> None:
    assert [item["name"] for item in report["systems"]] == [MODEL, *BASELINES]
    assert report["systems"][0]["device"] == "cpu"
    (field,) = report["fields"]
    # 12 documents of the test split: 66 pairs, three of each of four subjects related.
    assert field["split"] == "test"
    assert (field["name"], field["pairs"], field["positives"], field["documents"]) == ("gardens", 66, 12, 12)
    assert (field["validation_pairs"], field["queries"], field["relevance"]) == (66, 12, "links")
    assert sum(field["relations"].values()) == 54
    model, *controls = field["results"]
    assert (model["threshold_from"], model["calibration_from"]) == ("validation", "model")
    assert {item["calibration_from"] for item in controls} == {"validation"}
    assert [item["system"] for item in field["tests"]] == BASELINES * 2
    assert all(item["figures"]["auc"]["value"] > 0.8 for item in field["results"])
    assert "training documents (12)" in controls[0]["notes"][0]


def test_csv_has_a_row_for_every_figure(capsys: Capture, data: list[str], tmp_path: Path) -> None:
    target = tmp_path / "report.csv"
    result = run(capsys, "evaluate", MODEL, *data, *QUICK, "--baseline", "tfidf", "-o", target)
    assert (result.status, result.out, result.err) == (0, "", "")
    rows = list(csv.DictReader(target.read_text(encoding="utf-8-sig").splitlines()))
    assert {row["system"] for row in rows} == {MODEL, "TF-IDF"}
    names = ["auc", "auc_random", "auc_hard", "average_precision", "precision", "recall", "f1", "accuracy"]
    of_model = {row["figure"]: row for row in rows if row["system"] == MODEL}
    assert set(of_model) == {*names, "brier", "ece", "ece_by_chance", "threshold"}
    for name in names:
        row = of_model[name]
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    difference = next(row for row in rows if row["figure"] == "auc_difference")
    assert float(difference["p"]) <= 1


class Page(HTMLParser):
    """Tags that were opened and not closed, and every table's number of columns per row."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[int] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_html_stands_alone(capsys: Capture, data: list[str], tmp_path: Path) -> None:
    second = write_judged(tmp_path / "a<b>", seed=1)
    more = ["--docs", str(second[0]), "--pairs", str(second[1])]
    target = tmp_path / "report.html"
    result = run(capsys, "evaluate", MODEL, *data, *more, *QUICK, "--baseline", "bm25", "--retrieval", "-o", target)
    assert (result.status, result.err) == (0, "")
    text = target.read_text(encoding="utf-8")
    assert "http" not in text
    assert "<script" not in text
    page = Page()
    page.feed(text)
    assert page.open == []
    assert set(page.addresses) == {"#f0", "#f1", "#f2"}
    assert text.index(">macro average<") < text.index(">gardens<") < text.index(">a&lt;b&gt;<")
    assert "a<b>" not in text
    assert text.count("<table>") == text.count("<caption") == 17
    assert {"ROC", "Precision and recall", "Reliability"} <= set(text.replace("<", ">").split(">"))
    assert "color-scheme: light dark" in text


@pytest.mark.slow
def test_table_fits_80_columns(
    capsys: Capture, data: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    validation = tmp_path / "validation.jsonl"
    lines = Path(data[3]).read_text(encoding="utf-8").splitlines()
    validation.write_text("\n".join(line for line in lines if '"split": "train"' in line), encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "80")
    result = run(capsys, "evaluate", MODEL, *data, *QUICK, "--baseline", "mean", "--validation", validation)
    assert result.status == 0
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "gardens"
    assert any(line.split()[:2] == ["AUC", "random"] for line in lines)
    assert f"against {MODEL}" in " ".join(result.out.split())
    assert "Split: test. Intervals" in " ".join(result.out.split())


@pytest.mark.slow
def test_of_data_without_splits_all_pairs_are_measured_and_it_is_said(
    capsys: Capture, data: list[str], tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    lines = map(json.loads, Path(data[3]).read_text(encoding="utf-8").splitlines())
    pairs.write_text("".join(json.dumps({key: line[key] for key in ("a", "b", "label")}) + "\n" for line in lines))
    arguments: list[str | Path] = ["evaluate", MODEL, *data[:3], pairs, *QUICK]
    said = " ".join(run(capsys, *arguments).out.split())
    assert "All pairs were measured; none names a split." in said
    assert "Split:" not in said
    found = run_json(capsys, *arguments)
    assert [(field["split"], field["pairs"]) for field in found["fields"]] == [(None, 198)]
    refused = run(capsys, *arguments, "--split", "validation")
    check_trouble(refused)
    assert "No pair names a split" in refused.err


@pytest.mark.slow
def test_parts_are_measured_alone_and_left_out(capsys: Capture, data: list[str]) -> None:
    for options in ((), ("--field", "docs")):
        shown = run(capsys, "evaluate", MODEL, *data, *QUICK, "--baseline", "parts", "--format", "json", *options)
        (field,) = json.loads(shown.out)["fields"]
        found = {item["system"]: item["figures"] for item in field["results"]}
        alone = [name for name in found if name.endswith(" alone")]
        without = [name for name in found if ": without " in name]
        assert [name.split()[1] for name in alone] == list(PARTS)
        assert sum(found[name]["share"]["value"] for name in alone) == pytest.approx(1, abs=1e-5)
        # The shipped score leaves CoLDE's cosine out: without it nothing changes.
        weighted = {name.split()[-1] for name in without}
        assert weighted == {name.split()[1] for name in alone} - {"colde"}
        assert found[f"{MODEL}: colde alone"]["share"]["value"] == 0
        assert all(0.5 < found[name]["auc"]["value"] <= 1 for name in (*alone, *without))


@pytest.mark.slow
def test_models_of_other_systems_are_measured_and_calibrated(capsys: Capture, data: list[str], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tiny_system import tiny_backbone, write_system

    tower = write_system(tmp_path / "tower", tiny_backbone(tmp_path / "backbone"))
    arguments = ["--baseline", "max-mean", "--robustness", "shuffle", "--format", "json"]
    result = run(capsys, "evaluate", tower, MODEL, *data, *QUICK, *arguments)
    assert (result.status, result.err) == (0, "")
    found = json.loads(result.out)
    assert [item["kind"] for item in found["systems"]] == ["model", "model", "control"]
    assert found["systems"][0]["precision"] == "fp32"
    (field,) = found["fields"]
    assert set(field["robustness"]) == {"tower", MODEL}
    # Nothing is stored with it.
    assert field["results"][0]["calibration_from"] == "validation"
    assert run(capsys, "calibrate", tower, *data).status == 0
    result = run(capsys, "evaluate", tower, *data, *QUICK, "--format", "json")
    (again,) = json.loads(result.out)["fields"]
    assert again["results"][0]["calibration_from"] == "model"
    # Now without chunks, of which its score is not made.
    assert again["results"][0]["figures"]["auc"] == field["results"][0]["figures"]["auc"]


def test_mistakes_are_status_2(capsys: Capture, data: list[str], tmp_path: Path) -> None:
    docs, pairs = data[1], data[3]
    mistakes: list[tuple[list[str | Path], str]] = [
        ([MODEL, "--docs", docs, "--docs", docs, "--pairs", pairs], "2 --docs and 1 --pairs"),
        ([MODEL, *data, "--validation", pairs, "--validation", pairs], "2 --validation"),
        ([MODEL, *data, "--split", "validation", "--validation", pairs], "validation pairs too"),
        ([MODEL, *data, "--format", "markdown"], "does not write markdown; use table, json, csv or html"),
        ([MODEL, *data, "--robustness", "rain"], "no robustness protocol 'rain'"),
        (["no-such-model", *data], "There is no model"),
        ([MODEL, "--docs", docs, "--pairs", tmp_path / "none.jsonl"], "There is no file"),
        ([MODEL, *data, "-o", docs], "one of the documents to read"),
    ]
    for arguments, part in mistakes:
        result = run(capsys, "evaluate", *arguments)
        check_trouble(result)
        assert part in result.err


def test_a_document_that_a_line_names_by_path_is_not_overwritten(capsys: Capture, tmp_path: Path) -> None:
    docs, pairs = write_judged(tmp_path)
    first, *others = docs.read_text(encoding="utf-8").splitlines()
    document = json.loads(first)
    page = tmp_path / "page.html"
    page.write_text(document.pop("text"), encoding="utf-8")
    lines = [json.dumps({**document, "path": "page.html"}), *others]
    docs.write_text("\n".join(lines), encoding="utf-8")
    before = page.read_bytes()
    result = run(capsys, "evaluate", MODEL, "--docs", docs, "--pairs", pairs, "-o", page)
    check_trouble(result)
    assert "one of the documents to read" in result.err
    assert page.read_bytes() == before


def test_the_name_of_a_set_is_no_formula(capsys: Capture, data: list[str], tmp_path: Path) -> None:
    copied = shutil.copytree(Path(data[1]).parent, tmp_path / "=1+1")
    named = ("--docs", copied / "docs.jsonl", "--pairs", copied / "pairs.jsonl")
    result = run(capsys, "evaluate", MODEL, *named, *QUICK, "--baseline", "tfidf", "--format", "csv")
    rows = list(csv.DictReader(result.out.splitlines()))
    assert {row["field"] for row in rows} == {"'=1+1"}
