"""Running heads, feet and page numbers of PDFs: what behaves as such, and what is text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_pages import Printed, printed, prose

from colde_cli.documents.document import Document
from colde_cli.documents.notation import from_roman
from colde_cli.documents.pdf.body_lines import text_lines
from colde_cli.documents.pdf.lines import Line, PdfPage
from colde_cli.documents.reading import read


def made(tmp_path: Path, *edges: list[tuple[float, str]], top: float = 740.0) -> Document:
    """A document with running text, and with strings at these heights of each page."""
    pages = [
        [*prose(number, top), *(Printed(72, y, text) for y, text in strings)]
        for number, strings in enumerate(edges, 1)
    ]
    return read(printed(tmp_path / "made.pdf", *pages))


def outside(document: Document, kind: str) -> list[str]:
    return [text.text for text in document.outside if text.kind == kind]


def test_page_numbers_are_written_as_signs(tmp_path: Path) -> None:
    document = made(tmp_path, *([(30.0, f"Page {number} of 4")] for number in range(1, 5)))
    assert outside(document, "footers") == ["Page # of #"]
    assert document.outside[0].pages == (1, 4)
    assert "Page" not in document.text


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


def test_heads_of_left_and_right_pages(tmp_path: Path) -> None:
    heads = [
        f"{number} Ropes" if number % 2 == 0 else f"On the making of nets {number}" for number in range(1, 7)
    ]
    document = made(tmp_path, *([(810.0, head)] for head in heads))
    assert outside(document, "headers") == ["On the making of nets #", "# Ropes"]
    assert "Ropes" not in document.text


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


def test_one_number_that_does_not_follow_is_seen(tmp_path: Path) -> None:
    heads = [f"Statement for month {number if number != 3 else 9}" for number in range(1, 7)]
    document = made(tmp_path, *([(810.0, head)] for head in heads))
    assert outside(document, "headers") == ["Statement for month #"]
    assert "Statement for month 9" in document.text


@pytest.mark.parametrize("number", ["1500", "5"])
def test_a_lone_number_on_one_page_is_text(tmp_path: Path, number: str) -> None:
    document = made(tmp_path, [(30.0, number)])
    assert number in document.text.split()
    assert document.outside == ()


def test_the_words_of_a_head_are_compared_as_they_are(tmp_path: Path) -> None:
    document = made(tmp_path, *([(810.0, "Contract 5 - price 12.50 EUR")] for _ in range(3)))
    assert outside(document, "headers") == ["Contract 5 - price 12.50 EUR"]


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
    pages = [
        [*prose(number), Printed(300, 30, f"Page {number}")]
        if number != 3
        else [*prose(number), Printed(572, 300, "Page 3", angle=90)]
        for number in range(1, 6)
    ]
    document = read(printed(tmp_path / "turned.pdf", *pages))
    assert [(text.kind, text.text, text.pages) for text in document.outside] == [
        ("footers", "Page #", (1, 5))
    ]


def line(text: str, base: float, page: int) -> Line:
    return Line(text, page, 72.0, base, 72 + 5.0 * len(text), 10.0, "Times")


@given(st.lists(st.integers(0, 9999), min_size=1, max_size=8))
def test_every_number_that_breaks_the_series_stays(numbers: list[int]) -> None:
    """A number is in the text or outside; only one that follows its page as a neighbour's does is written `#`."""
    pages = [
        PdfPage(
            page,
            595,
            842,
            (
                *(line(f"Words {page} of {row}.", 700 - 12 * row, page) for row in range(9)),
                line(str(number), 30, page),
            ),
        )
        for page, number in enumerate(numbers, 1)
    ]
    lines, account = text_lines(pages)
    shown = [item.text for item in lines] + [text.text for text in account.texts]
    for page, number in enumerate(numbers, 1):
        near = [
            numbers[other - 1] - other for other in range(1, len(numbers) + 1) if 0 < abs(other - page) <= 2
        ]
        series = {number - page for page, number in enumerate(numbers, 1)}
        alone = number - page not in near and number not in (1, page)
        if alone and len(series) == len(numbers):
            assert str(number) in shown


@pytest.mark.parametrize(
    ("written", "value"),
    [("iv", 4), ("xix", 19), ("XL", 40), ("ccxcix", 299), ("iiii", 0), ("vx", 0), ("ic", 0)],
)
def test_roman_numbers(written: str, value: int) -> None:
    assert from_roman(written) == value
