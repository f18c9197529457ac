"""`colde diff` of two folders, from the command line to what it prints, with the real model."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from command_line import OTHER, ROOT, V1, V2, check_trouble, run, run_json, validate

Capture = pytest.CaptureFixture[str]
DATA = ROOT / "tests" / "data"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with a file of every state."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        (folder / "sub").mkdir(parents=True)
        shutil.copy(DATA / "report.docx", folder)
    shutil.copy(V1, old / "study.pdf")
    shutil.copy(V2, new / "study.pdf")
    shutil.copy(OTHER, old / "agreement.pdf")
    shutil.copy(OTHER, new / "sub" / "supply.pdf")
    shutil.copy(DATA / "scan.pdf", old)
    shutil.copy(DATA / "plain.pdf", new / "scan.pdf")
    (old / "gone.md").write_text("# Gone <b>\n\nNobody | needs this note any more.\n")
    (new / "sub" / "new.md").write_text("# New\n\nThis one is new.\n")
    return old, new


STATES = {
    "scan.pdf": "unread", "gone.md": "only_a", "sub/new.md": "only_b", "study.pdf": "edited",
    "agreement.pdf": "renamed", "report.docx": "same",
}  # fmt: skip


def test_every_file_has_its_state_the_worst_first(capsys: Capture, folders: tuple[Path, Path]) -> None:
    result = run(capsys, "diff", *folders, "--format", "json")
    assert result.status == 1
    assert "Skipped scan.pdf: Cannot read" in result.err
    value = json.loads(result.out)
    validate(value, "colde.folders.1")
    assert {file["a"] or file["b"]: file["state"] for file in value["files"]} == STATES
    assert [file["a"] or file["b"] for file in value["files"]] == list(STATES)
    study = value["files"][3]
    assert study["top"]["flagged"][0] == {"kind": "amount", "a": "EUR 58", "b": "EUR 63"}
    assert study["changes"] == sum(count for state, count in study["summary"].items() if state != "same") == 34


@pytest.mark.slow
def test_lines_hold_the_same_objects(capsys: Capture, folders: tuple[Path, Path]) -> None:
    whole = run_json(capsys, "diff", *folders)
    lines = [json.loads(line) for line in run(capsys, "diff", *folders, "--format", "jsonl").out.splitlines()]
    for line in lines:
        validate(line, "colde.folders-lines.1")
    assert lines[0]["summary"] == whole["summary"]
    assert lines[1:] == whole["files"]


@pytest.mark.slow
def test_status_is_that_of_diff(capsys: Capture, folders: tuple[Path, Path]) -> None:
    old, new = folders
    assert run(capsys, "diff", *folders, "--exit-zero").status == 0
    assert run(capsys, "diff", *folders, "--strict").status == 2
    assert run(capsys, "diff", old, old).status == 0
    assert run(capsys, "diff", *folders, "--glob", "*.docx").status == 0
    (new / "agreement.pdf").write_bytes((old / "agreement.pdf").read_bytes())
    (new / "sub" / "supply.pdf").unlink()
    assert run(capsys, "diff", *folders, "--glob", "agreement*").status == 0


@pytest.mark.slow
def test_the_table_and_the_summary_name_the_weightiest_change(
    capsys: Capture, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders[0].parent)  # names of a length of their own: a summary has few lines
    table = run(capsys, "diff", "old", "new", "-q").out
    assert table.startswith("6 documents: 1 same, 1 renamed, 1 edited, 1 only in B, 1 only in A, 1 not read.\n")
    assert "agreement.pdf → sub/supply.pdf" in table
    assert "Amount EUR 58 → EUR 63" in table
    lines = run(capsys, "diff", "old", "new", "-q", "--format", "summary").out.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 78
    assert any(line.startswith("- study.pdf: edited, 34 changes: Amount EUR 58") for line in lines)


def test_csv_has_a_row_for_each_file(capsys: Capture, folders: tuple[Path, Path]) -> None:
    rows = list(csv.DictReader(StringIO(run(capsys, "diff", *folders, "-q", "--format", "csv").out)))
    assert {row["a"] or row["b"]: row["state"] for row in rows} == STATES


def test_markdown_is_escaped_and_folds_the_changes(capsys: Capture, folders: tuple[Path, Path]) -> None:
    (folders[1] / "gone.md").write_text("# Gone <b>\n\nNobody | needs that note any more.\n")
    said = run(capsys, "diff", *folders, "-q", "--format", "markdown").out
    assert "<summary>study.pdf: edited, 34 changes</summary>" in said
    assert "Nobody &#124; needs <del>this</del> <ins>that</ins> note" in said


def test_one_page_holds_all_and_loads_nothing(capsys: Capture, folders: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    (folders[1] / "gone.md").write_text("# Gone <b>\n\nNobody | needs that <i>note</i> any more.\n")
    assert run(capsys, "diff", *folders, "-q", "-o", page).status == 1
    found = page.read_text("utf-8")
    links, anchors = parsed(found)
    assert links
    assert set(links) <= {f"#{anchor}" for anchor in anchors}
    assert "<del>58</del>" in found
    assert "<script" not in found
    assert "http://" not in found.replace("http-equiv", "")


def test_a_report_on_each_pair_is_written_and_linked(
    capsys: Capture, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    reports, page = tmp_path / "the reports", tmp_path / "changes.html"
    assert run(capsys, "diff", *folders, "-q", "--reports", reports, "-o", page).status == 1
    assert sorted(path.name for path in reports.iterdir()) == ["0001.html", "index.html"]
    assert 'id="pane-b"' in (reports / "0001.html").read_text("utf-8")
    assert "0001.html" in parsed((reports / "index.html").read_text("utf-8"))[0]
    assert "the%20reports/0001.html" in parsed(page.read_text("utf-8"))[0]
    (reports / "notes.txt").write_text("mine")
    check_trouble(run(capsys, "diff", *folders, "-q", "--reports", reports))
    assert (reports / "0001.html").exists()


def parsed(page: str) -> tuple[list[str], list[str]]:
    """The links of a page, and the names that links can have."""
    links: list[str] = []
    anchors: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            links.extend(value or "" for name, value in attrs if name == "href")
            anchors.extend(value or "" for name, value in attrs if name == "id")

    Reader().feed(page)
    return links, anchors


def test_a_document_that_was_not_read_whole_is_listed_even_if_the_same(
    capsys: Capture, folders: tuple[Path, Path]
) -> None:
    for folder in folders:
        shutil.copy(DATA / "outline.pdf", folder)
    with (folders[1] / "outline.pdf").open("ab") as file:
        file.write(b"\n")
    result = run(capsys, "diff", *folders, "--glob", "outline.pdf")
    assert result.status == 0
    assert "same, not read whole  outline.pdf" in result.out
    assert "Page 2 has pictures but no text" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        lambda old, new: (old, V1), lambda old, new: (V1, new), lambda old, new: (old, new / "none"),
        lambda old, new: (old, new, "--format", "github"), lambda old, new: (old, new, "--fail-under", "0.5"),
        lambda old, new: (old, new, "--glob", "*.tex"),
        lambda old, new: (old, new, "-o", new / "study.pdf", "--format", "json"),
        lambda old, new: (old, new, "--skip-sections", "["),
        lambda old, new: (old / "study.pdf", new / "study.pdf", "--reports", old / "reports"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_trouble(
    capsys: Capture, folders: tuple[Path, Path], arguments: Callable[[Path, Path], tuple[str | Path, ...]]
) -> None:
    check_trouble(run(capsys, "diff", *arguments(*folders)))


def test_a_document_that_cannot_be_encoded_ends_no_comparison(capsys: Capture, tmp_path: Path) -> None:
    for folder, first in (("old", "\ufffd \ufffd\n"), ("new", "The tenant pays rent each month.\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.txt").write_text(first, encoding="utf-8")
        (tmp_path / folder / "two.txt").write_text(f"The landlord repairs the {folder} roof.\n")
    result = run(capsys, "diff", tmp_path / "old", tmp_path / "new", "--format", "json")
    files = {file["a"]: file for file in json.loads(result.out)["files"]}
    assert {name: file["state"] for name, file in files.items()} == {"one.txt": "unread", "two.txt": "edited"}
    assert "one.txt" in files["one.txt"]["reason"]
