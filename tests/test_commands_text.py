"""`colde text`: what colde reads of a document, for eyes, scripts and git."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import ROOT, V1, check_trouble, run, run_here, run_process, validate
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, ReadReport, assemble
from colde_cli.documents.markdown import read_markdown
from colde_cli.documents.outside import PartKind, UnreadPart
from colde_cli.documents.reading import read
from colde_cli.views.document_text import document_markdown

DATA = ROOT / "tests" / "data"


def words_and_headings(document: Document) -> tuple[list[str], list[tuple[int, str]]]:
    return document.text.split(), [(section.level, section.heading) for section in document.sections]


@pytest.mark.parametrize("name", ["examples/field-study-v1.pdf", "README.md", "tests/data/report.docx"])
def test_the_text_read_again_is_the_same(name: str, tmp_path: Path) -> None:
    document, again = read(ROOT / name), tmp_path / "again.md"
    again.write_text(document_markdown(document), encoding="utf-8")
    assert words_and_headings(read(again)) == words_and_headings(document)


LINES = st.text("ab1.# >-=_*~`\\[](<!&;x|é", min_size=1, max_size=40)


@given(heading=LINES.filter(str.strip), paragraphs=st.lists(LINES, min_size=1, max_size=4))
def test_no_text_is_taken_for_markdown(heading: str, paragraphs: list[str]) -> None:
    part = Part(" ".join(heading.split()), "\n\n".join(" ".join(text.split()) for text in paragraphs))
    document = assemble("x", "x", [Part("Start", "So."), part])
    again = read_markdown(document_markdown(document).encode(), "x", "x")
    assert again.text.split() == document.text.split()
    assert [section.heading for section in again.sections] == [section.heading for section in document.sections]


def test_sentences_are_lines_and_headings_have_their_level(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "text", V1, "--only-sections", "calibration", "--only-sections", "instruments")
    assert result.status == 0
    lines = result.out.splitlines()
    assert lines[0] == "# 3 Instruments"
    assert "## 3.3 Calibration" in lines
    assert all(not line or line == line.strip() for line in lines)
    assert sum(line.endswith(".") for line in lines) > 5


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "text", V1, "--pages", "2-3", "--format", "json", "--skip-sections", "volunteers")
    value = json.loads(result.out)
    validate(value, "colde.text.1")
    assert (value["path"], value["pages"]) == (V1, 9)
    assert value["read"]["skipped_sections"] == ["2.3 The volunteers"]
    assert all(2 <= page <= 3 for section in value["sections"] for page in section["pages"])


def test_suffixes_of_the_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, start in (("a.md", "# One"), ("a.txt", "# One"), ("a.json", "{"), ("a", "# One")):
        (tmp_path / "in.md").write_text("# One\n\nWords.\n")
        assert run(capsys, "text", tmp_path / "in.md", "-o", tmp_path / name).status == 0
        assert (tmp_path / name).read_text().startswith(start)
    check_trouble(run(capsys, "text", V1, "-o", tmp_path / "a.html"))


def test_standard_input_and_no_model(tmp_path: Path) -> None:
    watch = "import sys, atexit; atexit.register(lambda: print('onnxruntime' in sys.modules, file=sys.stderr))"
    (tmp_path / "sitecustomize.py").write_text(watch)
    path = f"{tmp_path}:{ROOT}"
    result = run_process("text", "-", stdin=b"\x1b[31mRed. Words follow.\n", env={"PYTHONPATH": path})
    assert result.status == 0
    assert "\x1b" not in result.out
    assert result.out.endswith("\nWords follow.\n")
    assert result.err == "False\n"


def test_what_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    for name, words in (
        ("encrypted.pdf", "is encrypted"),
        ("scan.pdf", "by OCR"),
        ("none.pdf", "Cannot find the file"),
    ):
        result = run(capsys, "text", DATA / name)
        check_trouble(result)
        assert words in result.err
        lenient = run(capsys, "text", "--for-git", DATA / name)
        assert (lenient.status, lenient.err) == (0, "")
        assert words in lenient.out
    lenient = run(capsys, "text", "--for-git", DATA / "plain.pdf", "--only-sections", "nowhere")
    assert (lenient.status, lenient.out) == (
        0,
        "Change the section patterns: they leave no section of this file.\n",
    )


def test_what_fits_one_of_two_documents_is_done_beforehand() -> None:
    """As docs/commands.md says of --password and --pages."""
    text = run_here("text", DATA / "encrypted.pdf", "--password", "tide").out
    result = run_here("diff", "-", DATA / "encrypted.pdf", "--password", "tide", stdin=text.encode())
    assert result.status == 0, result.err


def test_the_format_meant_for_other_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDE_FORMAT", "html")
    refused = run(capsys, "text", DATA / "report.docx")
    check_trouble(refused)
    assert "does not write html; use markdown or json." in refused.err
    for_git = run(capsys, "text", "--for-git", DATA / "report.docx")
    assert for_git.status == 0
    assert "\n# Introduction\n" in for_git.out


def test_a_check_says_what_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(capsys, "text", "--check", V1, DATA / "report.docx")
    assert (whole.status, whole.out) == (0, "")
    found = run(capsys, "text", "--check", V1, DATA / "scan.pdf", DATA / "encrypted.pdf", "nowhere.pdf")
    assert (found.status, found.err) == (1, "")
    assert [name in line for name, line in zip(("scan", "encrypted", "nowhere"), found.out.splitlines(), strict=True)]
    check_trouble(run(capsys, "text", V1, V1))


PICTURE = UnreadPart(PartKind.PICTURES, "1", pages=(2, 3))
LOOK = UnreadPart(PartKind.APPEARANCE, "2", pages=(2, 2))


@pytest.mark.parametrize(
    ("report", "parts", "said"),
    [
        (ReadReport(), (PICTURE,), None),
        (ReadReport(pages_without_text=(2,)), (LOOK,), None),
        (
            ReadReport(pages_without_text=(1, 2, 3)), (PICTURE,), "2 pages with pictures or drawings gave no text",
        ),
        (ReadReport(unreadable_characters=1), (), "1 character could not be read"),
        (ReadReport(unread_values=2), (), "Values of its form could not be read"),
        (
            ReadReport(warnings=("Page 2 has a picture.",), pages_without_text=(2,)),
            (PICTURE,),
            "Page 2 has a picture",
        ),
    ],
)  # fmt: skip
def test_a_check_fails_where_text_was_lost(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    report: ReadReport,
    parts: tuple[UnreadPart, ...],
    said: str | None,
) -> None:
    document = replace(assemble("a.pdf", "a", [Part("", "The tenant pays.")], report), parts=parts)
    monkeypatch.setattr("colde_cli.similarity.sources.read_file", lambda *_, **__: document)
    result = run(capsys, "text", "--check", "a.pdf")
    assert (result.status, result.out) == ((0, "") if said is None else (1, f"a.pdf: {said}.\n"))


def test_a_check_overwrites_no_document(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    for file in (first, second):
        file.write_text("The tenant pays the rent each month.\n")
    refused = run(capsys, "text", "--check", first, second, "-o", second)
    check_trouble(refused)
    assert "one of the documents to read" in refused.err
    assert second.read_text() == first.read_text()
