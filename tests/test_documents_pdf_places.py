"""Places of words: on upright, turned, cropped and two-column pages, over hyphens, in form fields."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pypdf
import pypdfium2 as pdfium
import pytest
from command_line import EXAMPLES, V1
from pdf_forms import LETTERS, Form
from pdf_pages import words_in

from colde_cli.documents.document import Document, Span
from colde_cli.documents.pdf.places import PagePlaces, Quad, read_places
from colde_cli.documents.pdf.read_pdf import read_pdf
from colde_cli.documents.selection import remove_spans

DATA = Path(__file__).parent / "data"
PDFS = [
    *EXAMPLES.glob("*.pdf"),
    *(DATA / name for name in ("columns.pdf", "clauses.pdf", "contract.pdf", "plain.pdf")),
]


def opened(data: bytes) -> tuple[Document, PagePlaces]:
    document = read_pdf(io.BytesIO(data), "a.pdf", "a", None, None)
    places = read_places(io.BytesIO(data), document, None, None, range(1, 100))
    assert places is not None
    return document, places


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def read_back(pages: pdfium.PdfDocument, quads: tuple[Quad, ...]) -> str:
    return letters("".join(words_in(pages[quad.page - 1], quad.points) for quad in quads))


def check_words(data: bytes, step: int = 13) -> int:
    """Compare every so manieth word of a document with what is printed at its place; returns how many."""
    document, places = opened(data)
    pages = pdfium.PdfDocument(data)
    count = 0
    for section in document.sections:
        for found in list(re.finditer(r"[^\W\d_]{4,}", document.section_text(section)))[::step]:
            word = Span(section.span.start + found.start(), section.span.start + found.end())
            quads = places.quads(section.span, word)
            assert read_back(pages, quads) == found[0], (found[0], quads)
            count += 1
    pages.close()
    return count


@pytest.mark.parametrize("path", PDFS, ids=lambda path: path.name)
def test_a_word_is_where_its_quads_are(path: Path) -> None:
    assert check_words(path.read_bytes()) >= 4


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_pages_that_are_turned_and_cropped_or_set_upwards(turn: int) -> None:
    writer = pypdf.PdfWriter(clone_from=V1)
    for page in writer.pages:
        if turn:
            page.rotate(turn)
            page.cropbox = pypdf.generic.RectangleObject((30, 40, 560, 790))
        else:
            page.add_transformation(pypdf.Transformation().rotate(90).translate(842, 0))
            page.mediabox = page.cropbox = pypdf.generic.RectangleObject((0, 0, 842, 595))
    made = io.BytesIO()
    writer.write(made)
    assert check_words(made.getvalue(), 40) > 50


@pytest.fixture(scope="module")
def study() -> tuple[Document, PagePlaces]:
    return opened(Path(V1).read_bytes())


def span_of(document: Document, text: str) -> Span:
    start = document.text.index(text)
    return Span(start, start + len(text))


def test_a_divided_word_has_two_places(study: tuple[Document, PagePlaces]) -> None:
    document, places = study
    span = Span(start := document.text.index("questionnaire at the start"), start + len("questionnaire"))
    pages = pdfium.PdfDocument(V1)
    words = [words_in(pages[quad.page - 1], quad.points) for quad in places.quads(span, span)]
    assert words == ["question", "naire"]
    pages.close()


def test_values_of_form_fields_have_places(tmp_path: Path) -> None:
    path = Form(("Amount:", "The end of the page.")).text_field("9000").write(tmp_path / "form.pdf")
    document, places = opened(path.read_bytes())
    span = span_of(document, "9000")
    (quad,) = places.quads(span, span)
    assert 140 < quad.points[0] < quad.points[2] < 360
    assert 680 < quad.points[5] < quad.points[1] < 725


def test_letters_of_formulas_outside_the_basic_plane_count_once(tmp_path: Path) -> None:
    quads = []
    for meaning in (LETTERS, LETTERS | {ord("v"): "D835DC63"}):
        form = Form(("vvv amber kettle", "The end."), meaning)
        document, places = opened(form.write(tmp_path / "a.pdf").read_bytes())
        quads.append(places.quads(*[span_of(document, "kettle")] * 2))
    assert document.text.startswith("vvv amber")
    assert quads[0] == quads[1] != ()


def test_words_are_found_where_other_text_was_left_out(study: tuple[Document, PagePlaces]) -> None:
    first = study[0].sections[1]
    left = remove_spans(study[0], [Span(first.body_start, first.span.end)])
    with Path(V1).open("rb") as file:
        places = read_places(file, left, None, None, range(1, 10))
    assert places is not None
    pages, span = pdfium.PdfDocument(V1), span_of(left, "They received no payment.")
    assert read_back(pages, places.quads(span, span)) == "Theyreceivednopayment"
    pages.close()


def test_margins_are_left_of_whole_rows(study: tuple[Document, PagePlaces]) -> None:
    document, places = study
    span, below = span_of(document, "At the present rate"), span_of(document, "would reach the old stoves")
    (bar,) = places.margin(Span(span.start, span.start + 200))
    (row,), (lower,) = (places.quads(one, Span(one.start, one.start + 5)) for one in (span, below))
    assert bar.points[2] < lower.points[0] < row.points[0]
    assert bar.points[1] >= row.points[1] - 0.01


def test_a_caret_is_after_its_word(study: tuple[Document, PagePlaces]) -> None:
    document, places = study
    span = span_of(document, "They received no payment.")
    caret = places.caret(span, span.start + len("They"))
    (word,) = places.quads(span, Span(span.start, span.start + 4))
    assert caret is not None
    assert abs(caret.points[0] - word.points[2]) < 2
    assert caret.points[2] - caret.points[0] < 3


def test_a_file_that_pdfium_cannot_read_has_no_places() -> None:
    document = Document("a.pdf", "a", "text", ())
    assert read_places(io.BytesIO(b"%PDF-1.4\nnothing"), document, None, None, {1}) is None
