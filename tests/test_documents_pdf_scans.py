"""Scans: pages read by OCR, the order of their lines, and what is said of uncertain readings."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from command_line import check_trouble, run
from hypothesis import given
from hypothesis import strategies as st
from pdf_pages import Printed, printed

from colde_cli.documents.document import document_header, document_of
from colde_cli.documents.pdf import scans
from colde_cli.documents.pdf.scans import reading_order
from colde_cli.documents.reading import read
from colde_cli.errors import NoTextError, OptionError

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


def scan(path: Path, source: Path, dots: int = 150, *, quarters: int = 0) -> Path:
    """Draw the pages of a PDF as pictures, turned by so many quarters."""
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    pdf, sheet = pdfium.PdfDocument(source), canvas.Canvas(str(path), invariant=1)
    for page in pdf:
        image = page.render(scale=dots / 72).to_pil().convert("L").rotate(90 * quarters, expand=True)
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
    document, wanted = read(scan(tmp_path / "scan.pdf", lease, quarters=quarters), ocr="auto"), read(lease)
    assert document.text == wanted.text
    assert [section.heading for section in document.sections] == [section.heading for section in wanted.sections]
    assert document.report.ocr is not None
    assert document.report.ocr.pages == (1,)
    assert 0.5 < document.report.ocr.lowest <= document.report.ocr.mean <= 1
    assert "read by OCR" in document.report.warnings[0]
    again = document_of(document.path, "", json.loads(json.dumps(document_header(document, document.title))))
    assert again.report == document.report


@needs_ocr
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
    assert [boxes[index] for index in reading_order(boxes)] == wanted


def test_the_rows_of_a_table_stay_together() -> None:
    boxes = [*lines(50, 60, range(0, 200, 20), 8), *lines(310, 40, range(0, 200, 20), 5)]
    order = [boxes[index] for index in reading_order(boxes)]
    assert all(one[1] == other[1] for one, other in [*pairwise(order)][::2])


sides = st.floats(0, 600, allow_nan=False)


@given(st.lists(st.tuples(sides, sides, sides, sides, st.integers(0, 90)), max_size=60))
def test_every_line_has_one_place_in_the_order(boxes: list[tuple[float, float, float, float, int]]) -> None:
    level = [(min(a, c), min(b, d), max(a, c), max(b, d), letters) for a, b, c, d, letters in boxes]
    assert sorted(reading_order(level)) == list(range(len(level)))
