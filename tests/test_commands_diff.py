"""`colde diff`, from the command line to what it prints, with the real model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import (
    OTHER,
    ROOT,
    V1,
    V2,
    Run,
    check_trouble,
    run,
    run_here,
    run_json,
    run_process,
    schema_of,
    validate,
)
from word_files import write_word

from colde_cli.commands.reading_options import parse_pages
from colde_cli.documents.reading import read
from colde_cli.errors import OptionError

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def a_b(tmp_path: Path) -> tuple[Path, Path]:
    """Two files of a sentence each."""
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("One sentence about rivers.")
    b.write_text("Another one about leases.")
    return a, b


def test_json_is_what_its_schema_says(capsys: Capture) -> None:
    result = run(capsys, "diff", V1, V2, "--format", "json")
    assert (result.status, result.err) == (1, "")
    value = json.loads(result.out)
    validate(value, "colde.diff.2")
    assert list(value) == list(schema_of("colde.diff.2")["properties"])
    assert (value["a"]["path"], value["a"]["pages"]) == (V1, 9)
    assert (
        len(value["passages"])
        == sum(value["summary"][state] for state in ("same", "edited", "moved", "only_a", "only_b"))
        > 60
    )
    short = run_json(capsys, "diff", V1, V2, "--level", "section")
    validate(short, "colde.diff.2")
    assert short["passages"] is short["summary"] is None


def test_matrices_have_the_sizes_of_sections_and_chunks(capsys: Capture) -> None:
    value = run_json(capsys, "diff", V1, OTHER)
    a, b = value["a"], value["b"]
    assert np.shape(value["sections"]["scores"]) == (len(a["sections"]), len(b["sections"]))
    assert np.shape(value["chunks"]["scores"]) == (len(a["chunks"]), len(b["chunks"]))
    assert set(value["chunks"]) == {"scores"}
    assert a["words"] == len(read(V1).text.split())
    assert [part["label"] for part in value["document"]["parts"]][:2] == ["subject", "closest chunks"]
    assert not value["document"]["same_content"]
    assert a["tokens"] == sum(chunk["tokens"] for chunk in a["chunks"])
    assert [chunk["section"] for chunk in a["chunks"]] == [
        section["index"] for section in a["sections"] for _ in section["chunks"]
    ]


@pytest.mark.slow
def test_attention_is_there_where_it_is_asked_for(capsys: Capture) -> None:
    plain, asked, first = (
        run_json(capsys, "diff", V1, OTHER, *more) for more in ((), ("--attention",), ("--schema", "1"))
    )
    validate(asked, "colde.diff.2")
    validate(first, "colde.diff.1")
    chunks = len(plain["a"]["chunks"]), len(plain["b"]["chunks"])
    assert np.sum(asked["chunks"]["attention_a_to_b"], axis=1) == pytest.approx(1.0, abs=1e-4)
    assert np.shape(asked["chunks"]["attention_b_to_a"]) == chunks[::-1]
    assert asked == {**first, "schema": "colde.diff/2"}
    assert {**asked, "chunks": {"scores": plain["chunks"]["scores"]}} == plain


@pytest.mark.parametrize("asked", [("--attention",), ("--schema", "1")])
def test_a_document_without_text_has_no_attention(capsys: Capture, tmp_path: Path, asked: tuple[str, ...]) -> None:
    write_word(tmp_path / "empty.docx", "")
    result = run(capsys, "diff", tmp_path / "empty.docx", OTHER, "--format", "json", *asked)
    assert result.status == 1
    assert json.loads(result.out)["chunks"]["attention_a_to_b"] == []


def test_schema_1_is_schema_2_with_the_attention() -> None:
    second = json.dumps(schema_of("colde.diff.2")).replace("colde.diff/2", "colde.diff/1")
    wanted = json.loads(second.replace("version 2", "version 1"))
    wanted["properties"]["chunks"]["required"] += ["attention_a_to_b", "attention_b_to_a"]
    assert schema_of("colde.diff.1") == wanted


def test_equal_texts_are_status_0_white_space_aside(capsys: Capture, tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("The pump runs at night.\n\nIt is quiet.\n")
    two.write_text("The pump runs\nat night.\n\n\n\nIt is   quiet.")
    assert run(capsys, "diff", one, two).status == 0
    two.write_text("The pump runs at night.\n\nIt is loud.\n")
    assert run(capsys, "diff", one, two).status == 1
    assert run(capsys, "diff", one, two, "--exit-zero").status == 0


def test_only_the_selected_sections_count(capsys: Capture, tmp_path: Path) -> None:
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    one.write_text("# Pumps\n\nThey run at night.\n\n# References\n\nA. Author. 2020.\n")
    two.write_text("# Pumps\n\nThey run at night.\n\n# References\n\nB. Other. 2021.\n")
    assert run(capsys, "diff", one, two).status == 1
    result = run(capsys, "diff", one, two, "--skip-sections", "references", "--format", "json")
    assert result.status == 0
    assert json.loads(result.out)["a"]["read"]["skipped_sections"] == ["References"]
    assert run(capsys, "diff", one, two, "--only-sections", "pump").status == 0


@pytest.mark.slow
def test_fail_under_turns_the_score_into_the_status(capsys: Capture) -> None:
    passed = run(capsys, "diff", V1, V2, "--level", "document", "--fail-under", "0.5")
    assert passed.status == 0
    assert "Related   score 0.9" in passed.out
    assert run(capsys, "diff", V1, OTHER, "--fail-under", "0.9").status == 1
    assert run(capsys, "diff", V1, OTHER, "--fail-under", "0.9", "--exit-zero").status == 0


@pytest.mark.slow
def test_the_suffix_of_the_output_file_picks_the_format(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    result = run(capsys, "diff", V1, V2, "-o", target)
    assert (result.status, result.out) == (1, "")
    assert json.loads(target.read_text(encoding="utf-8"))["schema"] == "colde.diff/2"
    plain = tmp_path / "out.txt"
    run(capsys, "diff", V1, V2, "-o", plain)
    assert "\x1b" not in plain.read_text(encoding="utf-8")


def test_one_document_may_come_from_standard_input() -> None:
    result = run_here("diff", V1, "-", "--format", "json", stdin=Path(V1).read_bytes())
    assert (result.status, result.err) == (0, "")
    value = json.loads(result.out)
    assert value["b"]["path"] == "-"
    assert value["document"]["score"] == pytest.approx(1.0, abs=1e-5)


def test_pages_limit_what_is_read(capsys: Capture) -> None:
    value = run_json(capsys, "diff", V1, V2, "--pages", "2-3")
    pages = [page for chunk in value["a"]["chunks"] for page in chunk["pages"]]
    assert set(pages) == {2, 3}
    assert value["b"]["read"]["pages"] == [2, 3]
    assert "Left out: all pages but p. 2–3" in run(capsys, "diff", V1, V2, "--pages", "2-3").out


@pytest.mark.slow
@pytest.mark.parametrize("format", ["table", "markdown", "summary", "html", "json"])
def test_a_pattern_that_matches_nothing_is_said(capsys: Capture, format: str) -> None:
    result = run(capsys, "diff", V1, V2, "--skip-sections", "apendix", "--format", format)
    assert "No section matches" in (result.err if format == "table" else result.out)


def test_options_come_from_the_environment_too(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDE_FORMAT", "json")
    monkeypatch.setenv("COLDE_SKIP_SECTIONS", "references appendix")
    value = json.loads(run(capsys, "diff", V1, V2).out)
    assert len(value["a"]["read"]["skipped_sections"]) == 3


@pytest.mark.slow
def test_verbose_says_what_runs_where_and_quiet_silences_warnings(capsys: Capture, tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Die Müller gehört zu Köln.".encode("cp1252"))
    result = run(capsys, "diff", latin, V1)
    assert result.err.startswith(f"Warning: {latin}: Not valid UTF-8")
    assert len(result.err.splitlines()) == 1
    assert run(capsys, "diff", latin, V1, "-q").err == ""
    assert "on cpu" in run(capsys, "diff", V1, V2, "-v", "--device", "cpu").err


@pytest.mark.parametrize(("text", "expected"), [("3-17", (3, 17)), ("5", (5, 5)), (" 2 – 4 ", (2, 4)), (None, None)])
def test_pages_are_parsed(text: str | None, expected: tuple[int, int] | None) -> None:
    assert parse_pages(text) == expected


@pytest.mark.parametrize("text", ["", "0-3", "7-3", "a-b", "3-", "1,2", "-4", "9" * 5000])
def test_what_is_no_range_of_pages_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="FIRST-LAST"):
        parse_pages(text)


def test_options_that_make_no_sense_are_trouble(capsys: Capture, tmp_path: Path) -> None:
    for arguments in (
        ("-", "-"),
        (V1, V2, "-o", tmp_path / "missing" / "out.json"),
        (V1, V2, "--only-sections", "no such heading"),
        (V1, V2, "--skip-sections", "("),
    ):
        check_trouble(run(capsys, "diff", *arguments))


def test_output_may_be_a_device_a_pipe_or_a_link(a_b: tuple[Path, Path], tmp_path: Path, capsys: Capture) -> None:
    """And the thing itself stays what it was."""
    target = tmp_path / "target.json"
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    assert run(capsys, "diff", *a_b, "-o", link).status == 1
    assert link.is_symlink()
    assert json.loads(target.read_text())["schema"] == "colde.diff/2"
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    assert run(capsys, "diff", *a_b, "-o", pipe).status == 1
    assert json.loads(reader.communicate(timeout=120)[0])["schema"] == "colde.diff/2"
    assert pipe.is_fifo()


def test_output_is_never_one_of_the_inputs(a_b: tuple[Path, Path], capsys: Capture) -> None:
    done = run(capsys, "diff", *a_b, "-o", a_b[1])
    assert done.status == 2
    assert "name another file" in done.err
    assert a_b[1].read_text() == "Another one about leases."


@pytest.mark.parametrize("command", ["diff", "text"])
def test_output_is_never_what_standard_input_comes_from(a_b: tuple[Path, Path], command: str) -> None:
    a, b = a_b
    inputs = ("-", str(b)) if command == "diff" else ("-",)
    with a.open() as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "colde_cli", command, *inputs, "-o", str(a)],
            stdin=stdin,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    check_trouble(Run(done.returncode, done.stdout, done.stderr))
    assert a.read_text() == "One sentence about rivers."


@pytest.mark.parametrize("score", ["nan", "90", "-1.5"])
def test_what_is_no_score_is_refused(a_b: tuple[Path, Path], capsys: Capture, score: str) -> None:
    done = run(capsys, "diff", *a_b, "--fail-under", score)
    assert done.status == 2
    assert "--fail-under" in done.err


@pytest.mark.slow
def test_a_narrow_encoding_escapes_what_it_cannot_express(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ωmega and a “quotation” about rivers.", encoding="utf-8")
    (tmp_path / "b.txt").write_text("Another one about leases.", encoding="utf-8")
    done = run_process(
        "diff", tmp_path / "a.txt", tmp_path / "b.txt", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    )
    assert done.status == 1
    assert done.err == ""


@pytest.mark.slow
def test_the_output_is_that_of_the_documents_not_of_the_process(tmp_path: Path) -> None:
    """Kinds of flags that are equally frequent came in the order of a set, which each process chooses anew."""
    a, b = tmp_path / "a.md", tmp_path / "b.md"
    a.write_text("# Payment\n\nThe council shall not pay 58 dollars to anybody within the year.\n\nNo more is due.\n")
    b.write_text(
        "# Payment\n\nThe council shall pay 63 dollars to anybody within the year.\n\n# Notice\n\nBy letter.\n"
    )
    shown = {
        run_process(
            *("diff", a, b, "--format", "json", *options),
            env={"PYTHONHASHSEED": seed, "COLDE_THREADS": threads},
        ).out
        for seed, threads, options in (("1", "1", ()), ("2", "2", ("--no-cache",)))
    }
    assert len(shown) == 1
    assert "amount" in shown.pop()
