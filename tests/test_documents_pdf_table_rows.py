"""Tables that a PDF prints column by column are read row by row; columns of prose are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_pages import Printed, printed

from colde_cli.documents.document import Document
from colde_cli.documents.pdf.lines import Line
from colde_cli.documents.pdf.table_rows import row_by_row
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import State

ROWS = [
    ("Item", "Part", "Price"),
    ("1", "Steel pump", "EUR 410"),
    ("2", "Valve", "EUR 38"),
    ("3", "Long copper pipe", "EUR 27"),
]
BEFORE, AFTER = "The parts of the list stand below with their prices.", "All prices are net of tax and hold for a year."


def grid(columns: Sequence[Sequence[str]], step: float = 20.0) -> list[Line]:
    """Lines in the order of the columns, ten letters apart and more."""
    return [
        Line(text, 1, 72.0 + 150 * place, 700.0 - step * row, 72.0 + 150 * place + 5 * len(text), 10.0, "Times")
        for place, column in enumerate(columns)
        for row, text in enumerate(column)
    ]


def table(path: Path, *, by_columns: bool, price: str = "EUR 410") -> Document:
    cells = [(row, column) for row in range(len(ROWS)) for column in range(3)]
    cells.sort(key=lambda cell: cell[::-1] if by_columns else cell)
    strings = [
        Printed(72 + 140 * column, 600 - 20 * row, ROWS[row][column].replace("EUR 410", price)) for row, column in cells
    ]
    return read(printed(path, [Printed(72, 640, BEFORE), *strings, Printed(72, 480, AFTER)]))


def test_a_table_by_columns_is_the_table_by_rows(tmp_path: Path) -> None:
    rows, columns = table(tmp_path / "a.pdf", by_columns=False), table(tmp_path / "b.pdf", by_columns=True)
    assert columns.text == rows.text
    dearer = table(tmp_path / "c.pdf", by_columns=True, price="EUR 450")
    (pair,) = (pair for pair in align(rows, dearer, None).pairs if pair.state is not State.SAME)
    assert [pair.words_of(edit) for edit in pair.edits] == [("410", "450")]


@pytest.mark.parametrize(
    ("columns", "step"),
    [
        ([["one", "two", "three"], ["four", "five", "six"]], 20.0),  # two columns are prose as well
        ([["one", "two"], ["four", "five"], ["six", "seven"]], 20.0),
        ([["All the", "open", "shops"], ["a", "b", "c", "d", "e"], ["f", "g", "h"]], 12.0),  # cells of several lines
        ([[f"{word} and so on to the end of it" for word in "abc"]] * 3, 12.0),
    ],
)
def test_other_columns_stay_as_they_are_printed(columns: list[list[str]], step: float) -> None:
    lines = grid(columns, step)
    assert row_by_row(lines) == lines


def test_the_lines_of_a_cell_stay_together() -> None:
    first = grid([["1", "2", "3"]], 40.0)
    texts = [("a long", 0.0), ("cell", 12.0), ("short", 40.0), ("another", 80.0), ("one", 92.0)]
    second = [Line(text, 1, 200.0, 700.0 - down, 230.0, 10.0, "Times") for text, down in texts]
    third = [Line(text, 1, 300.0, 700.0 - 40 * row, 310.0, 10.0, "Times") for row, text in enumerate("xyz")]
    read_lines = [line.text for line in row_by_row([*first, *second, *third])]
    assert read_lines == ["1", "a long", "cell", "x", "2", "short", "y", "3", "another", "one", "z"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(1, 2)), max_size=30))
def test_no_line_is_lost(places: list[tuple[int, int, int]]) -> None:
    lines = [
        Line(f"{number}", page, 90.0 * x, 800.0 - 20 * y, 90.0 * x + 40, 10.0, "Times")
        for number, (x, y, page) in enumerate(places)
    ]
    assert sorted(line.text for line in row_by_row(lines)) == sorted(line.text for line in lines)
