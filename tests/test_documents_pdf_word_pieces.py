"""Super- and subscripts of PDFs, and numbers that stand apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_pages import Printed, printed, prose

from colde_cli.documents.pdf.page_text import WordPiece, join_pieces
from colde_cli.documents.reading import read

Script = tuple[str, float, float]
UP, DOWN = 4.0, -1.5


def written(tmp_path: Path, text: str, *then: Script) -> str:
    """The last line of a document, which ends in these strings."""
    page = [*prose(1), Printed(72, 300, text, then=then)]
    return read(printed(tmp_path / "scripts.pdf", page)).text.split("\n\n")[-1]


@pytest.mark.parametrize(
    ("text", "then", "wanted"),
    [
        ("The count is 10", [("6", 7, UP)], "The count is 10^6"),
        ("The count is 10", [("6", 11, 0)], "The count is 106"),
        ("The count is 10", [("6", 11, 5)], "The count is 10^6"),
        ("Some H", [("2", 7, DOWN), ("O is left", 11, 0)], "Some H_2O is left"),
        ("Then x", [("n+1", 7, UP), (" holds", 11, 0)], "Then x^(n+1) holds"),
        ("Area of 5 m", [("2", 7, UP), (" was sold", 11, 0)], "Area of 5 m^2 was sold"),
        ("It is 2", [("3", 7, UP), ("5 in all", 11, 0)], "It is 2^(3)5 in all"),
        ("On the 1", [("st", 7, UP), (" of May", 11, 0)], "On the 1st of May"),
        ("It says so.", [("12", 7, UP)], "It says so.12"),
        ("It takes 3", [("1", 7, UP), ("/", 7, 2), ("2", 7, 0), (" cups", 11, 0)], "It takes 3 1/2 cups"),
        ("The L", [("A", 7, UP), ("TEX book", 11, 0)], "The LATEX book"),
    ],
)
def test_scripts(tmp_path: Path, text: str, then: list[Script], wanted: str) -> None:
    assert written(tmp_path, text, *then) == wanted


def test_two_scripts_of_one_letter() -> None:
    assert join_pieces([WordPiece("x", 11, 100), WordPiece("i", 7, 98), WordPiece("2", 7, 104)]) == "x_i^2"


def test_a_large_initial_is_no_base() -> None:
    assert join_pieces([WordPiece("W", 24, 100), WordPiece("hen", 11, 112)]) == "When"


@pytest.mark.parametrize(
    ("gaps", "wanted"),
    [((0.0, 0.2), "1250.00"), ((2.5, 0.2), "12 50.00"), ((1.2, 0.2), "12 50.00"), ((-8.0, 0.0), "12 50.00")],
)
def test_numbers_of_two_cells_stay_apart(gaps: tuple[float, float], wanted: str) -> None:
    pieces = [WordPiece("12", 11, 100), WordPiece("50", 11, 100, gaps[0]), WordPiece(".00", 11, 100, gaps[1])]
    assert join_pieces(pieces) == wanted


def test_spaced_digits_stay_one_number() -> None:
    assert join_pieces([WordPiece(digit, 11, 100, 1.5) for digit in "1250"]) == "1250"
    assert join_pieces([WordPiece("12", 11, 100, 0, 1.5), WordPiece("50", 11, 100, 1.5, 1.5)]) == "1250"


@given(
    st.lists(
        st.tuples(st.text("0123456789", min_size=1, max_size=4), st.floats(1.6, 60)), min_size=1, max_size=6
    )
)
def test_cells_of_a_row_are_never_run_together(cells: list[tuple[str, float]]) -> None:
    pieces = [WordPiece(text, 11, 100, gap) for text, gap in cells]
    if any(len(text) > 1 for text, _ in cells):
        assert join_pieces(pieces).split() == [text for text, _ in cells]


@given(
    st.lists(
        st.tuples(
            st.text("abxyz0123456789()+", min_size=1, max_size=4),
            st.sampled_from((5.0, 7.0, 11.0)),
            st.floats(-4, 6),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_letter_is_lost(found: list[tuple[str, float, float]]) -> None:
    joined = join_pieces([WordPiece(text, size, 100 + rise) for text, size, rise in found])
    letters = [letter for letter in joined if letter.isalnum()]
    assert letters == [letter for text, _, _ in found for letter in text if letter.isalnum()]
