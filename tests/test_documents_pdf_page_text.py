"""Letters of PDFs: asked for at once they are what PDFium says one by one; scripts and numbers of several objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pypdfium2_raw as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_forms import Form
from pdf_pages import Printed, printed, prose
from pypdf import PdfReader

from colde_cli.documents.pdf.lines import decode_page
from colde_cli.documents.pdf.page_text import LineValues, PageText, WordPiece, join_pieces
from colde_cli.documents.reading import read

DATA = Path(__file__).parent / "data"
FILES = sorted(path.name for path in DATA.glob("*.pdf") if not PdfReader(path).is_encrypted)
# Letters outside the basic plane, which take two units, and control codes, which PDFium leaves out of the text.
MEANING = {65: "D835DC00", 66: "0042", 67: "0003", 68: "05D0"}
Script = tuple[str, float, float]
UP, DOWN = 4.0, -1.5


@contextmanager
def opened(data: bytes) -> Iterator[list[PageText]]:
    """The texts of the pages of a PDF."""
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    handles = [pdfium.FPDF_LoadPage(document, place) for place in range(pdfium.FPDF_GetPageCount(document))]
    texts = [PageText(handle) for handle in handles if handle]
    yield texts
    for text in texts:
        pdfium.FPDFText_ClosePage(text.handle)
    for handle in handles:
        pdfium.FPDF_ClosePage(handle)
    pdfium.FPDF_CloseDocument(document)


def by_letter(text: PageText) -> str:
    """The text of a page with one call for each letter."""
    return "".join(chr(pdfium.FPDFText_GetUnicode(text.handle, index)) for index in range(text.count))


def written(tmp_path: Path, content: str) -> bytes:
    """A PDF with one page of this content; its font F1 has the map of characters above."""
    return Form(("",), MEANING).draw(content).write(tmp_path / "made.pdf").read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_text_of_a_page_is_that_of_its_letters(name: str) -> None:
    with opened((DATA / name).read_bytes()) as texts:
        for text in texts:
            assert text.read().replace("\x02", "\ufffe") == by_letter(text).replace("\x02", "\ufffe")


@pytest.mark.parametrize("letters", ["BAB", "BCB BCCB", "C", "CBC ACA", "BDB"])
def test_letters_keep_their_numbers(tmp_path: Path, letters: str) -> None:
    data = written(tmp_path, f"BT /F1 9 Tf 9 99 Td ({letters}) Tj ET")
    with opened(data) as (text,):
        assert text.read() == by_letter(text)
        assert text.count >= len(letters)


def test_runs_are_the_objects_of_the_words(tmp_path: Path) -> None:
    content = "BT /F1 9 Tf 9 99 Td (B B B) Tj /F1 12 Tf ( B) Tj /F1 9 Tf ( B B) Tj ET"
    with opened(written(tmp_path, content)) as (text,):
        letters = text.read()
        words = [place for place, letter in enumerate(letters) if letter == "B"]
        runs, _ = text.runs("B" * len(words), words, None)
        assert [(first, end, style[0]) for first, end, style, *_ in runs] == [
            (0, 3, 9), (3, 4, 12), (4, 6, 9),
        ]  # fmt: skip
        assert [(x, y) for *_, x, y in runs] == [text.origin(words[first]) for first, *_ in runs]


def test_words_that_climb_are_runs_of_their_own(tmp_path: Path) -> None:
    content = "BT /F1 9 Tf 1 .02 -.02 1 9 99 Tm (B B B) Tj ET"
    with opened(written(tmp_path, content)) as (text,):
        letters = text.read()
        words = [place for place, letter in enumerate(letters) if letter == "B"]
        runs, _ = text.runs("B" * len(words), words, None)
        assert [(x, y) for *_, x, y in runs] == list(map(text.origin, words))


def test_lines_that_were_sent_are_decoded_as_they_were() -> None:
    roman, bold, tiny = ((size, name, 0, False, 0, False) for size, name in ((9.96, "A"), (10.1, "B-Bold"), (0, "")))
    lines: list[LineValues] = [
        ("1.2 Sand\u00ad", 72.123456789, 700.1, 200.0, 0, 2, True, [(roman, 9)]),
        ("Title. and text", 1 / 3, -4.0, 9.5, 90, 0, False, [(bold, 6), (roman, 7), (tiny, 3)]),
        (" ", 0.0, 0.0, 0.0, 0, 0, False, [(roman, 1)]),
        ("last", 0.0, 1.0, 2.0, 0, 0, False, [(tiny, 4)]),
    ]
    numbers = {"number": 3, "width": 600, "height": 800, "unreadable": 0, "suspect": 0, "unread": 0}
    facts = {"blank": False, "plain": False, "boxes": [], "lines": lines[:3], "entries": lines[3:]}
    page = decode_page(json.loads(json.dumps({**numbers, **facts})))
    first, second = page.lines
    assert (first.text, first.page, first.mark, first.ruled) == ("1.2 Sand\u00ad", 3, 2, True)
    assert (first.x0, first.base, first.x1, first.size, first.bold) == (72.123456789, 700.1, 200, 10, 0)
    assert (first.font, first.title) == ("A", "1.2 San")
    assert (second.x0, second.angle, second.size, second.font, second.lead) == (1 / 3, 90, 10, "A", 6)
    assert (second.bold, second.place) == (6 / 16, 1)
    (entry,) = page.entries
    assert (entry.text, entry.place, entry.filled_in, entry.size) == ("last", 3, True, 0.5)


def last_line(tmp_path: Path, text: str, *then: Script) -> str:
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
    assert last_line(tmp_path, text, *then) == wanted


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


@given(st.lists(st.tuples(st.text("0123456789", min_size=1, max_size=4), st.floats(1.6, 60)), min_size=1, max_size=6))
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
