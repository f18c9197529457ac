"""Tables of contents of PDFs: found by the headings that recur on their pages, and nothing else taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pdf_pages import Printed, printed, prose

from colde_cli.documents.document import Document
from colde_cli.documents.outside import Account
from colde_cli.documents.pdf.contents import leave_out_contents
from colde_cli.documents.pdf.lines import Line
from colde_cli.documents.reading import read

TITLES = ["1 Ropes and Nets", "1.1 Corks", "2 Bells of the Harbour", "3 The Price of Tar"]


def book(tmp_path: Path, rows: list[str], titles: list[str] = TITLES, first: int = 2) -> Document:
    """A document with rows on its first page, and a titled chapter on each of the next ones."""
    contents = [
        Printed(72, 760, "Contents", 16),
        *(Printed(72, 720 - 18 * n, row) for n, row in enumerate(rows)),
    ]
    chapters = [[Printed(72, 770, title, 15), *prose(number)] for number, title in enumerate(titles, first)]
    return read(printed(tmp_path / "book.pdf", contents, *chapters))


def entries(document: Document) -> list[str]:
    return [text.text for text in document.outside if text.kind == "contents"]


@pytest.mark.parametrize("leader", [" ", " . . . . . . . ", "............", " ..... ", " … … … "])
def test_entries_are_texts_outside(tmp_path: Path, leader: str) -> None:
    document = book(tmp_path, [f"{title}{leader}{page}" for page, title in enumerate(TITLES, 2)])
    assert entries(document) == TITLES
    assert {text.pages for text in document.outside if text.kind == "contents"} == {(1, 1)}
    assert all(document.text.count(title) == 1 for title in TITLES)
    assert [section.heading for section in document.sections if section.heading][-4:] == TITLES


def test_printed_numbers_may_be_others_than_those_of_the_file(tmp_path: Path) -> None:
    document = book(tmp_path, [f"{title} {page}" for page, title in enumerate(TITLES, 117)])
    assert entries(document) == TITLES


def test_an_entry_of_two_lines_is_one_text(tmp_path: Path) -> None:
    titles = ["Ropes and Nets", "Corks", "Bells of the Harbour and of the Islands", "The Price of Tar"]
    rows = [
        *("Ropes and Nets 2", "Corks 3", "Bells of the Harbour", "and of the Islands 4"),
        "The Price of Tar 5",
    ]
    assert entries(book(tmp_path, rows, titles)) == titles


def test_a_number_that_leads_to_no_heading_is_kept(tmp_path: Path) -> None:
    rows = [*(f"{title} {page}" for page, title in enumerate(TITLES, 2)), "4 What is gone ..... 90"]
    assert entries(book(tmp_path, rows)) == [*TITLES, "4 What is gone 90"]


def test_a_price_list_is_text(tmp_path: Path) -> None:
    rows = ["1 Ropes and Nets 250", "1.1 Corks 340", "2 Bells of the Harbour 400", "3 The Price of Tar 780"]
    document = book(tmp_path, rows)
    assert entries(document) == []
    assert all(price in document.text for price in ("250", "340", "400", "780"))


def test_two_entries_are_no_contents(tmp_path: Path) -> None:
    document = book(tmp_path, [f"{title} {page}" for page, title in enumerate(TITLES[:2], 2)], TITLES[:2])
    assert entries(document) == []


def line(text: str, page: int, base: float) -> Line:
    return Line(text, page, 72.0, base, 300.0, 10.0, "Times")


def test_figures_with_labels_that_come_again_are_text() -> None:
    lines = [line(f"H = {number}", 1, 700 - 12 * number) for number in range(1, 6)]
    lines += [line(f"H = {number} holds.", number, 500) for number in range(1, 6)]
    account = Account()
    assert leave_out_contents(lines, (), account) == set()
    assert account.texts == []
