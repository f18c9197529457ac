"""`colde diff --format summary|github|jsonl`, from the command line to what it prints, with the real model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import V1, V2, run, run_json, validate

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow
def test_a_summary_fits_into_an_email(capsys: Capture, tmp_path: Path) -> None:
    result = run(capsys, "diff", V1, V2, "--format", "summary")
    assert (result.status, result.err) == (1, "")
    lines = result.out.splitlines()
    assert 5 <= len(lines) <= 15
    assert max(map(len, lines)) <= 78
    assert "EUR 58 → EUR 63" in result.out
    file = tmp_path / "mail.txt"
    assert run(capsys, "diff", V1, V2, "--format", "summary", "-o", file).out == ""
    assert file.read_text("utf-8") == result.out
    left_out = run(capsys, "diff", V1, V2, "--format", "summary", "--skip-sections", "appendix").out
    assert "\nLeft out of A: skipped: Appendix A" in left_out


@pytest.mark.slow
def test_every_line_of_jsonl_is_what_its_schema_says(capsys: Capture) -> None:
    # The level leaves nothing out: the lines are the changes.
    result = run(capsys, "diff", V1, V2, "--format", "jsonl", "--level", "document")
    head, *lines = map(json.loads, result.out.splitlines())
    for line in (head, *lines):
        validate(line, "colde.diff-lines.1")
    whole = run_json(capsys, "diff", V1, V2)
    assert (head["summary"], head["document"]) == (whole["summary"], whole["document"])
    differing = [number for change in whole["changes"] for number in change["passages"]]
    assert [line.pop("passage") for line in lines] == differing
    for line, number in zip(lines, differing, strict=True):
        for side in filter(None, (line["a"], line["b"])):
            del side["heading"]
        assert line == whole["passages"][number]


def test_annotations_name_the_file_and_the_line(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# Supply\n\nThe supplier shall deliver the malt.\n\n## Price\n\nIt costs EUR 58,\npayable in 30 days.\n"
    (tmp_path / "a.md").write_text(text)
    (tmp_path / "b.md").write_text(text.replace("30", "60"))
    monkeypatch.chdir(tmp_path)
    result = run(capsys, "diff", "a.md", tmp_path / "b.md", "--format", "github")
    assert result.status == 1
    warning, notice = result.out.splitlines()
    assert warning.startswith("::warning file=b.md,line=8,title=Number 30 days → 60 days::Price: ")
    assert notice.startswith("::notice file=b.md,title=colde diff::Two versions of one ")
    same = run(capsys, "diff", "a.md", "a.md", "--format", "github")
    assert (same.status, same.out) == (0, "::notice file=a.md,title=colde diff::The texts are the same.\n")


def test_annotations_of_a_pdf_name_the_page(capsys: Capture) -> None:
    lines = run(capsys, "diff", V1, V2, "--format", "github").out.splitlines()
    assert len(lines) == 11
    assert "::A p. 3 → B p. 3 · 3.1 The sensor unit: " in lines[0]
    assert lines[-1].endswith("more changes not shown here.")
