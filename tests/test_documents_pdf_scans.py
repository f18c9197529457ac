"""Scans: pages read by OCR, the order of their lines, and what is said of uncertain readings."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from command_line import check_trouble, run
from hypothesis import given
from hypothesis import strategies as st
from pdf_pages import Printed, printed
from pypdf import PdfReader

from colde_cli.documents.document import document_header, document_of
from colde_cli.documents.pdf import scans
from colde_cli.documents.pdf.scans import reading_rows
from colde_cli.documents.reading import read
from colde_cli.errors import LimitError, NoTextError, OptionError

Capture = pytest.CaptureFixture[str]
needs_ocr = pytest.mark.skipif(not scans.available(), reason="colde[ocr] is not installed")
RENT = [
    Printed(72, 760, "Lease of the Old Pier", 18),
    Printed(72, 700, "1. RENT", 13),
    Printed(72, 676, "The tenant pays a rent of EUR 5,860 on the first day of every month, in advance and"),
    Printed(72, 661, "without any deduction. A rent that is late bears interest at 4 % a year from that day."),
    Printed(72, 630, "2. REPAIRS", 13),
    Printed(72, 606, "The landlord keeps the roof, the walls and the piles of the pier in good repair. The"),
    Printed(72, 591, "tenant shall tell the landlord of any damage within 14 days of the day it was seen."),
]


def scan(path: Path, source: Path, dots: int = 150, *, turned: float = 0) -> Path:
    """Draw the pages of a PDF as pictures, turned to the left by so many degrees."""
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    pdf, sheet = pdfium.PdfDocument(source), canvas.Canvas(str(path), invariant=1)
    for page in pdf:
        image = (
            page.render(scale=dots / 72).to_pil().convert("L").rotate(turned, 2, expand=turned % 90 == 0, fillcolor=255)
        )
        size = (image.width * 72 / dots, image.height * 72 / dots)
        sheet.setPageSize(size)
        sheet.drawInlineImage(image, 0, 0, *size)
        sheet.showPage()
    pdf.close()
    sheet.save()
    return path


@pytest.fixture(scope="module")
def lease(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return printed(tmp_path_factory.mktemp("lease") / "lease.pdf", RENT)


def changed(folder: Path, old: str, new: str) -> Path:
    lines = [Printed(line.x, line.y, line.text.replace(old, new), line.size) for line in RENT]
    assert lines != RENT
    return scan(folder / "changed.pdf", printed(folder / "printed.pdf", lines))


@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize("quarters", [0, 1, 2])
def test_a_scan_reads_as_the_page_it_was_made_of(tmp_path: Path, lease: Path, quarters: int) -> None:
    document, wanted = read(scan(tmp_path / "scan.pdf", lease, turned=90 * quarters), ocr="auto"), read(lease)
    assert document.text == wanted.text
    assert [section.heading for section in document.sections] == [section.heading for section in wanted.sections]
    assert document.report.ocr is not None
    assert document.report.ocr.pages == (1,)
    assert 0.5 < document.report.ocr.lowest <= document.report.ocr.mean <= 1
    assert "read by OCR" in document.report.warnings[0]
    again = document_of(document.path, "", json.loads(json.dumps(document_header(document, document.title))))
    assert again.report == document.report


@needs_ocr
@pytest.mark.usefixtures("own_cache")
@pytest.mark.slow
def test_a_digit_that_differs_is_a_change_and_verify_asks_for_leave(
    tmp_path: Path, lease: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDE_OCR", "auto")
    one, other = scan(tmp_path / "scan.pdf", lease), changed(tmp_path, "5,860", "8,860")
    said = run(capsys, "diff", one, other)
    assert said.status == 1
    assert "EUR [-5,860-] {+8,860+}" in said.out
    assert scans.kept_pages()[0] == 2
    found = json.loads(run(capsys, "diff", one, other, "--format", "json").out)
    assert found["a"]["read"]["ocr_pages"] == [1]
    assert 0 < found["b"]["read"]["ocr_confidence"]["mean"] <= 1
    refused = run(capsys, "verify", one, lease)
    check_trouble(refused)
    assert "read by OCR" in refused.err
    assert run(capsys, "verify", one, other, "--allow", "ocr", "--allow", "pictures").status == 1
    assert run(capsys, "verify", one, lease, "--allow", "ocr", "--allow", "pictures").status == 0
    marked = tmp_path / "marked"
    assert run(capsys, "diff", one, other, "--annotate", marked).status == 1
    assert len(list(marked.glob("*.pdf"))) == 2
    assert "Freed" in run(capsys, "cache", "clear").out
    assert scans.kept_pages() == (0, 0)


@needs_ocr
@pytest.mark.slow
def test_a_change_that_reading_may_explain_comes_last_and_is_shown(
    tmp_path: Path, lease: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDE_OCR", "auto")
    both = changed(tmp_path, "14 days", "I4 days")
    said = run(capsys, "diff", lease, both)
    assert said.status == 1
    assert "reading uncertain" in said.out


@needs_ocr
@pytest.mark.slow
def test_a_picture_without_words_has_none() -> None:
    with pytest.raises(NoTextError, match="OCR found no words"):
        read(Path(__file__).parent / "data" / "scan.pdf", ocr="auto")


def test_modes_of_ocr(tmp_path: Path) -> None:
    blank = printed(tmp_path / "blank.pdf", [])
    with pytest.raises(OptionError, match="auto, always or never"):
        read(blank, ocr="perhaps")
    with pytest.raises(NoTextError):
        read(blank, ocr="never")


def lines(left: float, width: float, tops: range, letters: int = 40) -> list[tuple[float, float, float, float, int]]:
    return [(left, float(top), left + width, top + 10.0, letters) for top in tops]


def test_columns_are_read_one_after_the_other() -> None:
    title, foot = (50.0, 10.0, 550.0, 30.0, 40), (50.0, 500.0, 550.0, 510.0, 60)
    left, right = lines(50, 240, range(60, 460, 14)), lines(310, 240, range(65, 460, 14))
    mixed = [box for pair in zip(left, right, strict=False) for box in pair]
    boxes = [foot, *mixed, title]
    wanted = [title, *left[: len(right)], *right, foot]
    assert [boxes[index] for row in reading_rows(boxes) for index in row] == wanted


def test_the_rows_of_a_table_stay_together() -> None:
    boxes = [*lines(50, 60, range(0, 200, 20), 8), *lines(310, 40, range(0, 200, 20), 5)]
    rows = reading_rows(boxes)
    assert len(rows) == 10
    assert all(len(row) == 2 and boxes[row[0]][1] == boxes[row[1]][1] for row in rows)


sides = st.floats(0, 600, allow_nan=False)


@given(st.lists(st.tuples(sides, sides, sides, sides, st.integers(0, 90)), max_size=60))
def test_every_line_has_one_place_in_the_order(boxes: list[tuple[float, float, float, float, int]]) -> None:
    level = [(min(a, c), min(b, d), max(a, c), max(b, d), letters) for a, b, c, d, letters in boxes]
    assert sorted(index for row in reading_rows(level) for index in row) == list(range(len(level)))


@needs_ocr
@pytest.mark.slow
def test_what_was_read_in_one_mode_is_never_taken_for_another(
    tmp_path: Path, lease: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, own_cache: None
) -> None:
    monkeypatch.delenv("COLDE_OCR")  # which the tests set
    corpus, index = tmp_path / "corpus", tmp_path / "corpus.colde"
    corpus.mkdir()
    scan(corpus / "scan.pdf", lease)
    (corpus / "boats.md").write_text("# Boats\n\nNine boats lie at the new pier.\n", "utf-8")
    for mode, searched in (("never", 1), ("auto", 2), ("never", 1), ("always", 2)):
        found = json.loads(run(capsys, "rank", lease, corpus, "--ocr", mode, "--format", "json").out)
        assert (found["searched"], len(found["skipped"])) == (searched, 2 - searched), mode
    run(capsys, "index", corpus, "-o", index, "--ocr", "never")

    def status() -> tuple[str, int, int]:
        said = json.loads(run(capsys, "index", index, "--status", "--format", "json").out)["status"]
        return said["ocr"], said["documents"], said["earlier_readers"]

    assert status() == ("never", 1, 0)
    run(capsys, "index", index)  # as it was made, although OCR is installed
    assert status() == ("never", 1, 0)
    run(capsys, "index", index, "--ocr", "auto")
    assert status() == ("auto", 2, 0)
    assert "read by OCR (auto)" in run(capsys, "index", index, "--status").out
    run(capsys, "index", index)
    assert status() == ("auto", 2, 0)
    monkeypatch.setattr("colde_cli.corpus.index_update.available", lambda: False)
    refused = run(capsys, "index", index)
    check_trouble(refused)
    assert "colde[ocr]" in refused.err
    run(capsys, "index", index, "--ocr", "never")
    assert status() == ("never", 1, 0)


@needs_ocr
@pytest.mark.slow
def test_a_page_that_ends_the_engine_costs_that_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: None
) -> None:
    monkeypatch.setattr(scans, "ENGINE", "failing_ocr_engine")
    pages = printed(tmp_path / "four.pdf", *([Printed(72, 700, f"Page {name} of the lease")] for name in "ABCD"))
    document = read(scan(tmp_path / "scan.pdf", pages), ocr="auto")
    assert [name for name in "ABCD" if f"Page {name} of the lease" in document.text] == ["A", "D"]
    assert document.report.pages_without_text == (2, 3)
    assert "Pages 2–3 could not be read by OCR" in " ".join(document.report.warnings)
    with pytest.raises(LimitError):
        read(tmp_path / "scan.pdf", ocr="auto", pages=(2, 3))


@needs_ocr
@pytest.mark.slow
@pytest.mark.parametrize("turned", [0, 90, 1.2])
def test_marks_stand_on_the_words_of_the_picture(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, turned: float
) -> None:
    monkeypatch.setenv("COLDE_OCR", "auto")

    def pages(days: str) -> list[Printed]:
        clause = f"The tenant shall tell the landlord of any damage within {days} of the day it was seen."
        return [*RENT[:4], Printed(72, 591, "2.1"), Printed(110, 591, clause)]

    new = printed(tmp_path / "printed.pdf", pages("41 days"))
    seen = scan(tmp_path / "new.pdf", new, turned=turned)
    printed(tmp_path / "old.pdf", pages("14 days"))
    assert run(capsys, "diff", tmp_path / "old.pdf", seen, "--annotate", tmp_path / "marked").status == 1
    text = pdfium.PdfDocument(new)[0].get_textpage()
    place = text.get_text_range().index("41 days")
    (left, foot, _, _), (_, _, right, top) = (text.get_charbox(index) for index in (place, place + 1))
    # From the middle of the page as it was, to that of the page as it is.
    x, y = (left + right) / 2 - 297.5, (foot + top) / 2 - 421
    sine, cosine = math.sin(math.radians(turned)), math.cos(math.radians(turned))
    middle = (421, 297.5) if turned == 90 else (297.5, 421)
    wanted = (
        middle[0] + x * cosine - y * sine,
        middle[1] + x * sine + y * cosine,
    )
    annotations = [one.get_object() for one in PdfReader(tmp_path / "marked" / "new-annotated.pdf").pages[0]["/Annots"]]  # type: ignore[attr-defined]
    quads = [[float(value) for value in one["/QuadPoints"]] for one in annotations if one["/Subtype"] == "/Highlight"]
    found = [(sum(quad[::2]) / 4, sum(quad[1::2]) / 4) for quad in quads]
    assert min(math.dist(one, wanted) for one in found) < 4, (found, wanted)
