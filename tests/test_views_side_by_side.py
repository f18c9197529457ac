"""Both PDFs on landscape sheets: the pages, their marks, turned and cropped pages, form fields, the outline."""

from __future__ import annotations

from pathlib import Path

import pypdf
import pypdfium2 as pdfium
import pytest
from command_line import OTHER, V1, V2, check_trouble, run
from hand_made import compared
from hypothesis import given
from hypothesis import strategies as st
from pdf_forms import Form
from pdf_pages import marks_of, titles, words_in

from colde_cli.documents.document import Span
from colde_cli.documents.passages import Passage
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import PassagePair, State
from colde_cli.similarity.comparison import Comparison
from colde_cli.views.side_by_side import page_pairs, write_side_by_side

Capture = pytest.CaptureFixture[str]
PAGES = st.integers(1, 8)


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory, field_study: Comparison) -> Path:
    """The two versions in examples/, side by side."""
    path = tmp_path_factory.mktemp("sheets") / "redline.pdf"
    write_side_by_side(field_study, path, None, None)
    return path


def test_sheets_are_landscape_and_show_both_pages(sheets: Path) -> None:
    document = pdfium.PdfDocument(sheets)
    assert len(document) >= 9
    page = document[2]
    assert page.get_width() > page.get_height()
    text = page.get_textpage().get_text_range()
    for shown in ("field-study-v1.pdf", "field-study-v2.pdf", "p. 3 of 9"):
        assert shown in text
    assert text.count("2.3 The volunteers") == 2
    document.close()


def test_marks_are_on_their_words_in_both_halves(sheets: Path) -> None:
    document = pdfium.PdfDocument(sheets)
    found = {}
    for number, mark in marks_of(sheets):
        if mark["/Contents"].startswith("Replaced\nA: must\nB: may"):
            points = [float(value) for value in mark["/QuadPoints"]]
            found[words_in(document[number], points)] = points[0]
    assert set(found) == {"must", "may"}
    assert found["must"] < 595 < found["may"]
    document.close()


def test_the_outline_leads_to_the_sheets(sheets: Path) -> None:
    (name, entries) = titles(sheets)
    assert name == "Changes"
    assert entries[0] == "Amount EUR 58 → EUR 63; unit 2 minutes → 2 hours"
    reader = pypdf.PdfReader(sheets)
    page = reader.get_destination_page_number(reader.outline[1][0])
    assert page is not None
    assert "The parts cost EUR" in reader.pages[page].extract_text()


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_and_cropped_pages_are_upright(tmp_path: Path, turn: int) -> None:
    paths = []
    for name in (V1, V2):
        # The text is turned back by the content, so that a reader sees it upright.
        writer = pypdf.PdfWriter()
        source = writer.add_page(pypdf.PdfReader(name).pages[2])
        source.add_transformation(pypdf.Transformation().rotate(turn).translate(*_shift(turn)))
        wide, high = (595, 842) if turn == 180 else (842, 595)
        source.mediabox = source.cropbox = pypdf.generic.RectangleObject((0, 0, wide, high))
        source.rotate(turn)
        paths.append(tmp_path / Path(name).name)
        writer.write(paths[-1])
    a, b = (read(str(path)) for path in paths)
    write_side_by_side(compared(a, b), tmp_path / "out.pdf", None, None)
    document = pdfium.PdfDocument(tmp_path / "out.pdf")
    marks = [mark for _, mark in marks_of(tmp_path / "out.pdf") if "B: may" in mark["/Contents"]]
    points = [[float(value) for value in mark["/QuadPoints"]] for mark in marks]
    assert [words_in(document[0], quad) for quad in points] == ["must", "may"]
    assert all(abs(quad[1] - quad[3]) < 0.1 for quad in points), "the words run from left to right"
    document.close()


def _shift(turn: int) -> tuple[float, float]:
    """Where a page of A4 goes after it was turned around its corner."""
    return {90: (842, 0), 180: (595, 842), 270: (0, 595)}[turn]


def test_values_of_forms_are_shown(tmp_path: Path) -> None:
    a = Form(("Amount:", "The end of the page.")).text_field("9000").write(tmp_path / "a.pdf")
    b = Form(("Amount:", "The end of the page.")).text_field("8000").write(tmp_path / "b.pdf")
    write_side_by_side(compared(read(a), read(b)), tmp_path / "out.pdf", None, None)
    document = pdfium.PdfDocument(tmp_path / "out.pdf")
    text = document[0].get_textpage().get_text_range()
    assert "9000" in text
    assert "8000" in text
    document.close()


def test_the_command_writes_it(capsys: Capture, tmp_path: Path, kept_cache: None) -> None:
    target = tmp_path / "redline.pdf"
    result = run(capsys, "diff", V1, V2, "--pages", "2-4", "-o", target)
    assert (result.status, result.out) == (1, "")
    assert len(pypdf.PdfReader(target).pages) >= 3


def test_a_missing_file_is_told(capsys: Capture, tmp_path: Path) -> None:
    result = run(capsys, "diff", "gone.pdf", OTHER, "-o", tmp_path / "x.pdf")
    check_trouble(result)
    assert "Cannot find the file" in result.err


def shared(page: int, other: int, words: int = 10) -> PassagePair:
    a, b = (Passage(0, 0, Span(0, 1), (number, number)) for number in (page, other))
    text = "word " * words
    return PassagePair(State.SAME, (a,), (b,), 1.0, (), (), text, text)


def test_equal_documents_go_page_by_page() -> None:
    pages = range(1, 5)
    assert page_pairs([shared(n, n) for n in pages], pages, pages) == ((1, 1), (2, 2), (3, 3), (4, 4))


def test_a_new_page_stands_alone() -> None:
    pairs = [shared(1, 1), shared(2, 3), shared(3, 4)]
    assert page_pairs(pairs, range(1, 4), range(1, 5)) == ((1, 1), (0, 2), (2, 3), (3, 4))


def test_a_page_that_spreads_over_two_is_shown_twice() -> None:
    pairs = [shared(1, 1), shared(1, 2), shared(2, 3), shared(2, 4)]
    assert page_pairs(pairs, (1, 2), (1, 2, 3, 4)) == ((1, 1), (1, 2), (2, 3), (2, 4))


def test_pages_that_moved_do_not_break_the_order() -> None:
    pairs = [shared(1, 3, 5), shared(2, 1, 50), shared(3, 2, 50)]
    assert page_pairs(pairs, (1, 2, 3), (1, 2, 3)) == ((1, 0), (2, 1), (3, 2), (0, 3))


def test_pages_without_common_text_are_paired_as_they_come() -> None:
    assert page_pairs([], (1, 2), (1, 2, 3)) == ((1, 1), (2, 2), (0, 3))
    assert page_pairs([], range(3, 4), range(3, 3)) == ((3, 0),)


@given(st.lists(st.tuples(PAGES, PAGES, st.integers(1, 60)), max_size=40))
def test_every_page_is_shown_and_pages_stay_in_order(links: list[tuple[int, int, int]]) -> None:
    found = page_pairs([shared(*link) for link in links], range(1, 7), range(1, 8))
    for side, count in ((0, 6), (1, 7)):
        shown = [pair[side] for pair in found if pair[side]]
        assert shown == sorted(shown)
        assert set(shown) == set(range(1, count + 1))
    assert len(set(found)) == len(found)
