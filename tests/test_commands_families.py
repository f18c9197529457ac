"""`colde dupes`, from the command line to what it prints."""

from __future__ import annotations

import csv
import json
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import EXAMPLES, OTHER, V1, V2, check_trouble, run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = files("colde_cli.views").joinpath("schemas/colde.dupes.1.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def test_versions_are_found_as_the_schema_says(capsys: Capture, schema: dict[str, Any]) -> None:
    done = run(capsys, "dupes", EXAMPLES, "--glob", "*.pdf", "--format", "json")
    value = json.loads(done.out)
    jsonschema.Draft202012Validator(schema).validate(value)
    assert list(value) == list(schema["properties"])
    assert done.status == 0
    assert [[member["path"] for member in group["members"]] for group in value["groups"]] in (
        [[V1, V2]],
        [[V2, V1]],
    )
    assert value["groups"][0]["members"][1]["closest"]["relation"] in ("version", "near-duplicate")
    assert value["searched"] == 3


def test_the_status_is_that_of_grep(capsys: Capture, tmp_path: Path) -> None:
    assert run(capsys, "dupes", V1, V2).status == 0
    nothing = run(capsys, "dupes", V1, OTHER)
    assert (nothing.status, "No document" in nothing.out) == (1, True)
    assert run(capsys, "dupes", V1, OTHER, "--exit-zero").status == 0
    check_trouble(run(capsys, "dupes", tmp_path))
    check_trouble(run(capsys, "dupes", tmp_path / "missing"))
    refused = run(capsys, "dupes", V1, V2, "--min-share", "40")
    assert (refused.status, "40 is not a share" in refused.err) == (2, True)


def test_a_bad_file_is_reported(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    done = run(capsys, "dupes", V1, V2, tmp_path)
    assert done.status == 0
    assert "Skipped" in done.err
    assert "bad.pdf" in done.err
    assert run(capsys, "dupes", V1, V2, tmp_path, "--strict").status == 2


def test_other_formats_name_the_same_files(capsys: Capture, tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(300))
    (tmp_path / "=part.txt").write_text(text)
    (tmp_path / "whole.txt").write_text(f"{text} " + " ".join(f"more{number}" for number in range(3000)))
    (tmp_path / "a|b.md").write_text("The same text twice.")
    (tmp_path / "c.md").write_text("The same text twice!")
    shown = run(capsys, "dupes", tmp_path).out
    assert "same text as" in shown
    assert "100% of its 300 words" in shown
    rows = list(csv.DictReader(StringIO(run(capsys, "dupes", tmp_path, "--format", "csv").out)))
    assert [(row["group"], row["relation"]) for row in rows] == [
        ("1", ""),
        ("1", "same-text"),
        ("", "contained"),
    ]
    page = tmp_path / "found.md"
    run(capsys, "dupes", tmp_path, "-o", page)
    assert "a&#124;b.md" in page.read_text()


def test_reports_are_linked_from_their_page_and_from_the_output(capsys: Capture, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    done = run(capsys, "dupes", V1, V2, OTHER, "--reports", reports, "-o", tmp_path / "found.html")
    assert done.status == 0
    assert sorted(path.name for path in reports.iterdir()) == ["0001.html", "index.html"]
    assert 'href="0001.html"' in (reports / "index.html").read_text()
    assert 'href="reports/0001.html"' in (tmp_path / "found.html").read_text()
    assert "field-study-v1.pdf" in (reports / "0001.html").read_text()
    assert run(capsys, "dupes", V1, V2, "--reports", reports).status == 0  # its own reports are replaced
    (reports / "mine.txt").write_text("kept")
    check_trouble(run(capsys, "dupes", V1, V2, "--reports", reports))
    assert (reports / "mine.txt").read_text() == "kept"
