"""The lines of a PDF's body and those outside it: running heads, page numbers, turned and hidden text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_pages import Printed, printed, prose, words_of
from PIL import Image

from colde_cli.documents.document import Document
from colde_cli.documents.notation import from_roman
from colde_cli.documents.pdf.body_lines import text_lines
from colde_cli.documents.pdf.lines import Line, PdfPage
from colde_cli.documents.reading import read

SENTENCE = "The price is five euros."


def made(tmp_path: Path, *edges: list[tuple[float, str]], top: float = 740.0) -> Document:
    """A document with running text, and with strings at these heights of each page."""
    pages = [
        [*prose(number, top), *(Printed(72, y, text) for y, text in strings)] for number, strings in enumerate(edges, 1)
    ]
    return read(printed(tmp_path / "made.pdf", *pages))


def outside(document: Document, *kinds: str) -> list[str]:
    return [text.text for text in document.outside if not kinds or text.kind in kinds]


@pytest.mark.parametrize(
    "numbers",
    [
        ["i", "ii", "iii", "1", "2", "3"],
        ["- 970 -", "- 971 -", "- 972 -", "- 973 -"],
        ["A-1", "A-2", "A-3", "B-1", "B-2", "B-3"],
    ],
)
def test_numbering_may_begin_anew(tmp_path: Path, numbers: list[str]) -> None:
    document = made(tmp_path, *([(30.0, number)] for number in numbers))
    assert not any(number in document.text.split() for number in numbers)
    assert all("#" in text for text in outside(document, "footers"))


@pytest.mark.parametrize(
    ("texts", "wanted", "word"),
    [
        ([f"Page {number} of 4" for number in range(1, 5)], ["Page # of #"], "Page"),
        (
            [f"{n} Ropes" if n % 2 == 0 else f"On the making of nets {n}" for n in range(1, 7)],
            ["On the making of nets #", "# Ropes"],
            "Ropes",
        ),
        (["Contract 5 - price 12.50 EUR"] * 3, ["Contract 5 - price 12.50 EUR"], "EUR"),
        (
            [f"Statement for month {n if n != 3 else 9}" for n in range(1, 7)],
            ["Statement for month #", "Statement for month 9"],
            "month 1",
        ),
    ],
    ids=["counted", "left and right", "no page number", "one that does not follow"],
)
def test_running_heads(tmp_path: Path, texts: list[str], wanted: list[str], word: str) -> None:
    document = made(tmp_path, *([(810.0, text)] for text in texts))
    shown = [*outside(document, "headers"), *(text for text in wanted if text in document.text)]
    assert shown == wanted
    assert word not in document.text


@pytest.mark.parametrize(
    "amounts",
    [
        ["2000", "2010", "1995", "2500"],  # they do not follow the page
        [f"Closing balance EUR {2000 + page}" for page in range(4)],  # these do, but are amounts
        [f"Price {page}.50" for page in range(4)],
        [f"$ {page}" for page in range(1, 5)],
        [f"Total {page}" for page in range(1, 5)],
        [f"-{page}" for page in range(1, 5)],
    ],
)
def test_amounts_are_no_page_numbers(tmp_path: Path, amounts: list[str]) -> None:
    document = made(tmp_path, *([(30.0, amount)] for amount in amounts))
    everything = "\n".join([document.text, *(text.text for text in document.outside)])
    assert all(amount in everything for amount in amounts)
    assert "#" not in everything


@pytest.mark.parametrize("number", ["1500", "5"])
def test_a_lone_number_on_one_page_is_text(tmp_path: Path, number: str) -> None:
    document = made(tmp_path, [(30.0, number)])
    assert number in document.text.split()
    assert document.outside == ()


def test_all_rows_at_the_edge_belong_to_it(tmp_path: Path) -> None:
    rows = [(58.0 - 9 * row, f"Row {'abcdef'[row]} of the address") for row in range(6)]
    document = made(tmp_path, rows, rows, rows)
    assert len(outside(document, "footers")) == 6
    assert "address" not in document.text


def test_a_head_further_down_stands_apart_from_the_text(tmp_path: Path) -> None:
    apart = made(tmp_path, *([(740.0, "Rope and net")] for _ in range(4)), top=700.0)
    assert outside(apart, "headers") == ["Rope and net"]
    close = made(tmp_path, *([(740.0, "Rope and net")] for _ in range(4)), top=726.0)
    assert close.outside == ()
    assert close.text.count("Rope and net") == 4


def test_a_title_beside_a_page_number_belongs_to_the_head(tmp_path: Path) -> None:
    titles = ["Ropes", "Nets", "Corks", "Bells"]
    pages = [
        [*prose(number), Printed(500, 812, str(number)), Printed(72, 812, title)]
        for number, title in enumerate(titles, 1)
    ]
    document = read(printed(tmp_path / "beside.pdf", *pages))
    assert not any(title in document.text for title in titles)
    assert set(titles) <= set(" ".join(outside(document, "headers")).split())


def test_heads_of_turned_pages_are_those_of_the_others(tmp_path: Path) -> None:
    feet = [Printed(300, 30, f"Page {number}") for number in range(1, 6)]
    feet[2] = Printed(572, 300, "Page 3", angle=90)
    pages = [[*prose(number), foot] for number, foot in enumerate(feet, 1)]
    document = read(printed(tmp_path / "turned.pdf", *pages))
    assert [(one.kind, one.text, one.pages) for one in document.outside] == [("footers", "Page #", (1, 5))]


def table(*pages: Sequence[str], larger: str = "") -> tuple[list[str], list[str]]:
    """The lines of the body, and the heads, of pages with these lines; a word in larger type."""
    lines = [
        replace(line(text, 700.0 - 20 * place, number), size=14.0 if text == larger else 10.0)
        for number, texts in enumerate(pages, 1)
        for place, text in enumerate(texts)
    ]
    sides = [
        PdfPage(number, 600.0, 800.0, tuple(one for one in lines if one.page == number))
        for number in range(1, len(pages) + 1)
    ]
    kept, account = text_lines(sides)
    return [one.text for one in kept], [text.text for text in account.texts]


@pytest.mark.parametrize(
    ("pages", "larger", "left"),
    [
        ([["Here", "No. Level", "1 low"], ["No. Level", "2 high"]], "", ["Here", "No. Level", "1 low", "2 high"]),
        (
            [["No.", "Level", "1 low"], ["No.", "Level", "2 high"], ["No.", "Level", "3 mid"]],
            "",
            ["No.", "Level", "1 low", "2 high", "3 mid"],
        ),
        # Not where a heading stands between, not further down, not a sentence, not one word, not two pages later.
        ([["No. Level", "1 low", "Next"], ["No. Level", "2 high"]], "Next", None),
        ([["No. Level", "1 low"], ["2 high", "No. Level"]], "", None),
        ([["We pay for it.", "1 low"], ["We pay for it.", "2 high"]], "", None),
        ([["Level", "1 low"], ["Level", "2 high"]], "", None),
        ([["No. Level", "1 low"], ["2 high"], ["No. Level", "3 mid"]], "", None),
    ],
)
def test_the_heading_of_a_table_is_text_once(pages: list[list[str]], larger: str, left: list[str] | None) -> None:
    kept, heads = table(*pages, larger=larger)
    assert kept == (left or [text for page in pages for text in page])
    assert bool(heads) == bool(left)


def line(text: str, base: float, page: int) -> Line:
    return Line(text, page, 72.0, base, 72 + 5.0 * len(text), 10.0, "Times")


@pytest.mark.slow
@given(st.lists(st.integers(0, 9999), min_size=1, max_size=8))
def test_every_number_that_breaks_the_series_stays(numbers: list[int]) -> None:
    """A number is in the text or outside; only one that follows its page as a neighbour's does is written `#`."""
    pages = []
    for page, number in enumerate(numbers, 1):
        rows = [line(f"Words {page} of {row}.", 700 - 12 * row, page) for row in range(9)]
        pages.append(PdfPage(page, 595, 842, (*rows, line(str(number), 30, page))))
    lines, account = text_lines(pages)
    shown = [item.text for item in lines] + [text.text for text in account.texts]
    series = [number - page for page, number in enumerate(numbers, 1)]
    for page, number in enumerate(numbers, 1):
        near = {other for at, other in enumerate(series, 1) if 0 < abs(at - page) <= 2}
        alone = number - page not in near and number not in (1, page)
        if alone and len(set(series)) == len(numbers):
            assert str(number) in shown


@pytest.mark.parametrize(
    ("written", "value"),
    [("iv", 4), ("xix", 19), ("XL", 40), ("ccxcix", 299), ("iiii", 0), ("vx", 0), ("ic", 0)],
)
def test_roman_numbers(written: str, value: int) -> None:
    assert from_roman(written) == value


def test_a_watermark_of_every_page_is_one_text(tmp_path: Path) -> None:
    pages = [[*prose(number), Printed(200, 300, "DRAFT", 60, angle=45)] for number in range(1, 4)]
    document = read(printed(tmp_path / "watermark.pdf", *pages))
    assert [(text.text, text.pages) for text in document.outside] == [("DRAFT", (1, 3))]


@pytest.mark.parametrize(
    ("kind", "string"),
    [
        *(("rotated-text", Printed(300, 300, SENTENCE, angle=angle)) for angle in (5, 45, 90, 180, 270)),
        ("hidden-text", Printed(300, 300, SENTENCE, mode=3)),  # invisible
        ("hidden-text", Printed(300, 300, SENTENCE, mode=7)),  # clipping
        ("hidden-text", Printed(700, 300, SENTENCE)),  # right of the page
        ("hidden-text", Printed(300, -40, SENTENCE)),  # below the page
        ("hidden-text", Printed(300, 300, SENTENCE, 0.4)),  # tiny
    ],
)
def test_turned_text_and_text_that_nobody_sees_are_outside(tmp_path: Path, kind: str, string: Printed) -> None:
    document = read(printed(tmp_path / "outside.pdf", [*prose(1), string]))
    assert outside(document, kind) == outside(document) == [SENTENCE]
    assert "euros" not in document.text
    assert document.report.warnings == ()


def test_the_text_layer_of_a_scan_is_the_body(tmp_path: Path) -> None:
    page = [Printed(one.x, one.y, one.text, mode=3) for one in prose(1)]
    document = read(printed(tmp_path / "scan.pdf", [*page, Printed(400, 30, "Received")]))
    assert document.outside == ()
    assert all(one.text.split()[3] in document.text for one in page)


def test_a_stamp_on_a_scan_says_nothing_of_its_fonts(tmp_path: Path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    sheet, path = canvas.Canvas(str(tmp_path / "a.pdf"), pagesize=(595, 842), invariant=1), tmp_path / "a.pdf"
    for number in range(3):
        sheet.drawInlineImage(Image.new("L", (50, 70), 200), 0, 0, 595, 842)
        for row in range(3):
            sheet.drawString(60, 400 - 20 * row, f"Rcvd Clrk Dst Crt Nthrn Wshngtn Cnty Rgstr {number}{row}")
        sheet.showPage()
    sheet.save()
    assert read(path).report.warnings == (
        "Pages 1–3 are pictures with a few words on each; if scanned, read by OCR: pip install 'colde[ocr]', then"
        " --ocr auto; or ocrmypdf --skip-text in.pdf out.pdf",
    )


INITIALS = {
    "dropped": [Printed(72, 672, "T", 40), Printed(102, 700, "he net is old and"), Printed(102, 686, "long.")],
    "raised": [Printed(72, 700, "T", 30), Printed(96, 700, "he net is old and"), Printed(72, 686, "long.")],
    "a word": [Printed(72, 672, "A", 40), Printed(102, 700, "net is old and"), Printed(102, 686, "long.")],
}


@pytest.mark.parametrize("kind", INITIALS)
def test_a_large_initial_belongs_to_its_word(tmp_path: Path, kind: str) -> None:
    body = [Printed(72, 600 - 14 * row, f"Every net of the town is mended in winter {row}.") for row in range(9)]
    text = read(printed(tmp_path / "a.pdf", [*INITIALS[kind], *body])).text
    assert f"{'A' if kind == 'a word' else 'The'} net is old and long." in text


def test_a_soft_hyphen_that_is_printed_is_a_hyphen(tmp_path: Path) -> None:
    page = [*prose(1), Printed(72, 300, "The parties re\xadsign in May, on the same day as before.")]
    assert "re-sign in May" in read(printed(tmp_path / "soft.pdf", page)).text


STRINGS = st.lists(
    st.tuples(
        st.integers(0, 39),  # row
        st.sampled_from((-300.0, 40.0, 120.0, 300.0, 520.0, 650.0)),  # left end
        st.sampled_from((0.4, 7.0, 10.0, 18.0)),  # size
        st.sampled_from((0, 0, 0, 0, 5, 45, 90, 180, 270)),  # angle
        st.sampled_from((0, 0, 0, 1, 3, 7)),  # mode
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one[0],
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(STRINGS, min_size=1, max_size=4), st.booleans())
def test_every_word_is_accounted_for(pages: list[list[tuple[int, float, float, int, int]]], numbered: bool) -> None:
    """Words are different on all pages, but for a head; they are letters, so that none is a page number."""
    made, words = [], {"harbour"}
    for number, strings in enumerate(pages, 1):
        page = [*prose(number, rows=4), Printed(72, 815, "The harbour" + f" {number}" * numbered)]
        for row, x, size, angle, mode in strings:
            word = words_of(number * 100 + row)
            page.append(Printed(x, 20.0 + 16 * row, f"Some {word}q", size, angle, mode))
            words.add(f"{word}q")
        words |= {string.text.split()[3] for string in page[:4]}
        made.append(page)
    with TemporaryDirectory() as folder:
        document = read(printed(Path(folder) / "all.pdf", *made))
    everything = " ".join([document.text, *(text.text for text in document.outside)])
    assert words <= set(re.findall(r"[a-z]+", everything))
    assert document.report.warnings == ()
