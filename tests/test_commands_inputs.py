"""`colde diff` and `colde rank` on Word, OpenDocument, HTML and LaTeX files, alone and mixed, with the real model."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import docx
import odt_files
import pytest
from command_line import Run, check_trouble, run
from PIL import Image
from pypdf import PdfReader, PdfWriter
from word_files import p, write_word

from colde_cli.views.word.tracked_file import read_resolved

Capture = pytest.CaptureFixture[str]
DATA = Path(__file__).parent / "data"
SECTIONS = {
    "Introduction": "Twelve bells hang from the pier, and each of them has a name that the town has given it.",
    "Method": "We counted every stroke of every bell for a year, by ear and with a recorder under the pier.",
    "Results": "The bells rang ninety thousand times, most often at the turn of the tide and in northern wind.",
}


def word(folder: Path, name: str = "report.docx", changed: str = "") -> Path:
    body = "".join(p(head, "berschrift1") + p(text) for head, text in SECTIONS.items())
    return write_word(folder / name, body + (p(changed) if changed else ""))


def page(folder: Path) -> Path:
    path = folder / "report.html"
    body = "".join(f"<h2>{head}</h2><p>{text}</p>" for head, text in SECTIONS.items())
    path.write_text(f"<!doctype html><title>Report</title><nav>Home</nav>{body}")
    return path


def latex(folder: Path) -> Path:
    path = folder / "report.tex"
    body = "\n".join(f"\\section{{{head}}}\n{text}" for head, text in SECTIONS.items())
    path.write_text(f"\\documentclass{{article}}\\begin{{document}}\n{body}\n\\end{{document}}\n")
    return path


def odt(folder: Path) -> Path:
    body = "".join(odt_files.h(head) + odt_files.p(text) for head, text in SECTIONS.items())
    return odt_files.write_odt(folder / "report.odt", body)


def plain(folder: Path) -> Path:
    path = folder / "report.md"
    path.write_text("\n\n".join(f"# {head}\n\n{text}" for head, text in SECTIONS.items()))
    return path


def value(result: Run) -> dict[str, Any]:
    assert result.status in (0, 1), result.err
    loaded: dict[str, Any] = json.loads(result.out)
    return loaded


@pytest.mark.parametrize("make", [page, latex, plain, odt])
def test_the_same_words_in_another_kind_of_file(tmp_path: Path, capsys: Capture, make: Any) -> None:
    found = value(run(capsys, "diff", word(tmp_path), make(tmp_path), "--format", "json", "--no-cache"))
    assert [section["heading"] for section in found["b"]["sections"]] == list(SECTIONS)
    assert found["document"]["score"] == pytest.approx(1.0, abs=0.01)


def test_a_pdf_beside_a_word_file(tmp_path: Path, capsys: Capture) -> None:
    found = value(run(capsys, "diff", DATA / "outline.pdf", DATA / "report.docx", "--format", "json", "--no-cache"))
    assert found["a"]["pages"] == 4
    assert found["b"]["title"] == "Bells That the Tide Rings"
    assert found["b"]["sections"][0]["pages"] is None


def test_a_folder_is_ranked_whatever_its_files_are(tmp_path: Path, capsys: Capture) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    paths = {str(make(corpus)) for make in (word, page, latex, plain)}
    (corpus / "broken.docx").write_bytes(b"PK\x03\x04")
    found = value(run(capsys, "rank", page(tmp_path), corpus, "--format", "json", "--no-cache"))
    assert {result["path"] for result in found["results"]} == paths
    assert [Path(skipped["path"]).name for skipped in found["skipped"]] == ["broken.docx"]


@pytest.mark.slow
def test_files_of_pictures_only_are_compared_by_their_pictures(tmp_path: Path, capsys: Capture) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    paths = {}
    for name, pages, extra in (("a", 2, -1), ("longer", 3, -1), ("other", 2, 1)):
        sheet = canvas.Canvas(str(tmp_path / f"{name}.pdf"), pagesize=(595, 842))
        for page in range(pages):  # drawings: no picture has a digest, so that the pages must be drawn
            sheet.rect(100, 100 + 50 * page, 200, 100, fill=1)
            sheet.rect(300, 600, 50, 50, fill=int(page == extra))
            sheet.showPage()
        sheet.save()
        paths[name] = tmp_path / f"{name}.pdf"
    paths["again"] = tmp_path / "again.pdf"
    paths["again"].write_bytes(paths["a"].read_bytes() + b"\n")
    said = {name: run(capsys, "diff", paths["a"], path) for name, path in paths.items()}
    assert {name: result.status for name, result in said.items()} == {"a": 0, "longer": 1, "other": 1, "again": 0}
    assert "Neither has a text to read; their pages look the same." in said["again"].out
    assert "A p. 2 → B p. 2" in said["other"].out
    assert "B p. 3" in said["longer"].out
    assert value(run(capsys, "diff", paths["a"], paths["other"], "--format", "json"))["document"]["same"] is False
    check_trouble(run(capsys, "diff", paths["a"], DATA / "plain.pdf"))


@pytest.mark.slow
def test_a_word_file_without_text_is_compared(tmp_path: Path, capsys: Capture) -> None:
    empty, pier, red, blue = (tmp_path / f"{name}.docx" for name in ("empty", "pier", "red", "blue"))
    docx.Document().save(str(empty))
    (file := docx.Document()).add_paragraph("The pier is 40 m long.")
    file.save(str(pier))
    for path in (red, blue):
        Image.new("RGB", (2, 2), path.stem).save(picture := io.BytesIO(), "PNG")
        (file := docx.Document()).add_picture(picture)
        file.save(str(path))
    assert run(capsys, "diff", red, red).status == run(capsys, "verify", empty, empty).status == 0
    pictures = run(capsys, "diff", red, blue)
    assert pictures.status == run(capsys, "verify", red, blue).status == 1
    assert "Neither has a text to read; a picture differs." in pictures.out
    for a, b, letter, found in ((empty, pier, "A", "1 passage added"), (pier, empty, "B", "1 passage dropped")):
        said = run(capsys, "diff", a, b)
        assert (said.status, run(capsys, "verify", a, b).status) == (1, 1)
        assert f"Two versions of one text: {found}." in said.out
        assert f"{letter} has no text." in said.out
        for level in ("section", "chunk"):
            assert run(capsys, "diff", a, b, "--level", level).status == 1
        redline = tmp_path / "redline.docx"
        assert run(capsys, "diff", a, b, "-o", redline).status == 1
        assert [read_resolved(redline.read_bytes(), accept=accept) for accept in (False, True)] == [
            [] if path == empty else ["The pier is 40 m long."] for path in (a, b)
        ]


def test_scanned_pages_are_no_difference_but_are_told_of(tmp_path: Path, capsys: Capture) -> None:
    writer, path = PdfWriter(), tmp_path / "partly.pdf"
    for name in ("plain.pdf", "scan.pdf", "scan.pdf"):
        writer.add_page(PdfReader(DATA / name).pages[0])
    writer.write(path)
    result = run(capsys, "diff", DATA / "plain.pdf", path, "--level", "document", "--no-cache")
    assert result.status == 0
    assert "3 pages" in result.out
    assert "Left out: 2 pages without text" in result.out
    assert "The texts are the same apart from pages without text." in result.out
    assert "Pages 2–3 (2 of 3) have pictures but no text" in result.err
    found = value(run(capsys, "diff", DATA / "plain.pdf", path, "--format", "json", "--no-cache"))
    assert found["b"]["read"]["pages_without_text"] == [2, 3]
