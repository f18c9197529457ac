"""PDFs of our own, from bytes to sections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pdf_pages import Printed, printed, prose
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ByteStringObject, NameObject

from colde_cli.documents.document import Document, SectionKind, Span
from colde_cli.documents.pdf.body_lines import text_lines
from colde_cli.documents.pdf.lines import Line, PdfPage, clean
from colde_cli.documents.pdf.prose import Geometry, paragraphs
from colde_cli.documents.pdf.read_pdf import read_pdf
from colde_cli.documents.reading import read
from colde_cli.errors import CorruptFileError, NoTextError, OptionError, PasswordError

DATA = Path(__file__).parent / "data"
OCR = "read by OCR: pip install 'colde[ocr]', then --ocr auto; or ocrmypdf --skip-text in.pdf out.pdf"


@pytest.fixture(scope="module")
def outline() -> Document:
    return read(DATA / "outline.pdf")


@pytest.fixture(scope="module")
def plain() -> Document:
    return read(DATA / "plain.pdf")


def outside(document: Document) -> list[tuple[str, str, tuple[int, int] | None]]:
    return [(text.kind.value, text.text, text.pages) for text in document.outside]


def headings(document: Document) -> list[tuple[int, str, str]]:
    return [(section.level, section.kind.value, section.heading) for section in document.sections]


def test_sections_with_bookmarks(outline: Document) -> None:
    assert outline.title == "Bells That the Tide Rings"
    assert headings(outline) == [
        *((0, "front", ""), (1, "abstract", "Abstract"), (1, "body", "1 Introduction")),
        *((2, "body", "1.1 The Sand"), (1, "body", "2 Measuring"), (1, "references", "References")),
        (1, "appendix", "A Tables of Strokes"),
    ]
    assert [section.pages for section in outline.sections] == [(1, 1)] * 4 + [(3, 3), (3, 3), (4, 4)]


def test_sections_without_bookmarks(plain: Document) -> None:
    assert headings(plain) == [
        (0, "front", ""), (1, "body", "1. Floating"),
        (1, "body", "2. Counting the Corks of Nine Harbours and of Several Islands"), (1, "body", "3. Conclusion"),
    ]  # fmt: skip


def test_running_heads_are_texts_outside(outline: Document) -> None:
    assert "Kerrin and Vale:" not in outline.text
    bookmarks = [section.heading for section in outline.sections[1:]]
    assert [text for _, text, _ in outside(outline)[2:]] == bookmarks
    assert outside(outline)[:2] == [
        ("footers", "#", (1, 4)),
        ("headers", "Kerrin and Vale: Bells That the Tide Rings", (2, 4)),
    ]
    assert outline.report.pages_without_text == (2,)
    assert outline.report.warnings == (f"Page 2 has pictures but no text; if scanned, {OCR}",)


def test_scanned_pages_are_told_from_blank_ones(tmp_path: Path) -> None:
    writer, path = PdfWriter(), tmp_path / "mixed.pdf"
    for name in ("plain", "scan", "scan", "scan", "", "", "scan", "plain"):
        if name:
            writer.add_page(PdfReader(DATA / f"{name}.pdf").pages[0])
        else:
            writer.add_blank_page(595, 842)
    writer.write(path)
    report = read(path).report
    assert report.pages_without_text == (2, 3, 4, 5, 6, 7)
    assert report.warnings == (f"Pages 2–4, 7 (4 of 8) have pictures but no text; if scanned, {OCR}",)
    assert "Blank: pages 5–6." in report.notes
    for chosen, message in (
        ((3, 5), r"mixed.pdf: pages 3–4 have pictures .*ocrmypdf --skip-text"),
        ((2, 2), r"mixed.pdf: page 2 has pictures"),
        ((5, 7), r"mixed.pdf: page 7 has pictures"),
        ((5, 6), "its pages are blank"),
    ):
        with pytest.raises(NoTextError, match=message):
            read(path, pages=chosen)
    with pytest.raises(OptionError, match="has 8 pages; there is no page 9"):
        read(path, pages=(9, 12))


def test_a_page_with_nothing_but_its_number_is_no_scan(tmp_path: Path) -> None:
    pages = [[*prose(number), Printed(290, 40, f"Page {number}")] for number in range(1, 5)]
    report = read(printed(tmp_path / "letter.pdf", *pages, [Printed(290, 40, "Page 5")])).report
    assert report.warnings == ()
    assert report.pages_without_text == (5,)
    assert "Only a header or a page number: page 5." in report.notes


def test_a_line_that_ends_in_a_preposition_ends_no_paragraph(tmp_path: Path) -> None:
    full = "The seller keeps all records of the goods, of their makers, and of their buyers."
    rows = [
        *[full] * 3, "The seller gives a copy of them to the buyer, as agreed in",
        "ATTACHMENT B of the agreement, and keeps another in a safe place. If",
        "TRANSFERRED BOOKS are lost, the seller says so, or", "(a) the prices of the goods, or", "(b) their weights.",
        "The buyer pays for the copy.",
        "Notices are sent by registered mail, and are held to have arrived on the third day.", *[full] * 3,
    ]  # fmt: skip
    page = [Printed(72, 740 - 14 * row, text) for row, text in enumerate(rows)]
    paragraphs = read(printed(tmp_path / "terms.pdf", page)).text.split("\n\n")
    assert [paragraph.split()[0] for paragraph in paragraphs] == ["The", "(a)", "(b)", "The", "Notices"]
    assert "agreed in ATTACHMENT B" in " ".join(paragraphs[0].split())


def test_pages_begin_where_they_say(outline: Document) -> None:
    assert len(outline.page_starts) == 4
    assert list(outline.page_starts) == sorted(outline.page_starts)
    at = outline.text.index("2 Measuring")
    assert outline.page_starts[2] == at
    assert outline.pages_of(Span(at, at + 5)) == (3, 3)


def test_sections_cover_the_text(outline: Document, plain: Document) -> None:
    for document in (outline, plain):
        covered = "".join(document.section_text(section) for section in document.sections)
        assert "".join(covered.split()) == "".join(document.text.split())
        for section in document.sections:
            assert document.section_text(section).startswith(section.heading)
            assert section.span.start <= section.body_start <= section.span.end


def test_words_ligatures_titles_and_interrupted_sentences_are_joined(plain: Document) -> None:
    assert plain.title == "Cork, Rope and the Price of Nets"
    for text in (
        "is a well-known person",
        "good mending lasts for years in the harbour",
        "The first float is the office of the eldest.",
        "crossed by boats of every size",
        "\n\nFigure 1: A net with nine corks, of which two are lost.\n\n",
    ):
        assert text in plain.text


def test_columns_are_read_one_after_the_other() -> None:
    document = read(DATA / "columns.pdf")
    assert headings(document) == [(0, "front", ""), (1, "body", "1 Left"), (1, "body", "2 Right")]
    assert "grows when the wind\n\n2 Right\n\nblows from the west" in document.text
    assert document.text.count("1 Left") == 1
    assert "nobody is meant" not in document.text
    assert "stamped" not in document.text
    assert outside(document) == [
        ("hidden-text", "words that nobody is meant to see", (1, 1)),
        ("rotated-text", "stamped in the margin", (1, 1)),
    ]
    assert document.report.warnings == ()


def test_underlined_headings_and_clauses() -> None:
    contract, clauses = (read(DATA / f"{name}.pdf").sections for name in ("contract", "clauses"))
    titles = ["", "Purpose of the agreement", "Duties of the keeper", "Payment"]
    assert [section.heading for section in contract] == titles
    assert [section.heading for section in clauses] == [
        "1. Term.", "2. Bells.", "3. Sand and Rope.", "4. Law.",
    ]  # fmt: skip
    assert read(DATA / "clauses.pdf").text.startswith("1. Term.\n\nThe parties agree")


def test_page_range(outline: Document) -> None:
    part = read(DATA / "outline.pdf", pages=(3, 3))
    assert [section.heading for section in part.sections if section.heading] == ["2 Measuring", "References"]
    assert part.sections[-1].pages == (3, 3)
    assert len(part.page_starts) == part.report.pages == 4
    assert part.report.pages_without_text == ()


def test_invisible_text_is_used_where_there_is_no_other() -> None:
    assert read(DATA / "ocr.pdf").text.startswith("Every harbour")
    with pytest.raises(NoTextError, match=r"has no text layer.*ocrmypdf"):
        read(DATA / "scan.pdf")


@pytest.mark.parametrize(("name", "password"), [("encrypted.pdf", "tide"), ("encrypted_aes256.pdf", "ebb ünd flow")])
def test_passwords(name: str, password: str) -> None:
    assert read(DATA / name, password=password).text.startswith("Every harbour")
    with pytest.raises(PasswordError, match=r"is encrypted.*--password"):
        read(DATA / name)
    with pytest.raises(PasswordError, match=r"is wrong.*--password"):
        read(DATA / name, password="no")


def test_damaged_files_and_those_with_junk_before_them(tmp_path: Path, outline: Document) -> None:
    path = tmp_path / "file.pdf"
    path.write_bytes((DATA / "plain.pdf").read_bytes()[:9000])
    with pytest.raises(CorruptFileError, match="damaged"):
        read(path)
    path.write_bytes(b"x" * 5000 + (DATA / "outline.pdf").read_bytes())
    assert read(path).text == outline.text


def test_what_pdfium_refuses_is_read_as_pypdf_writes_it_anew(tmp_path: Path, outline: Document) -> None:
    path = tmp_path / "file.pdf"
    writer = PdfWriter(clone_from=DATA / "outline.pdf")
    writer.encrypt("tide", algorithm="AES-256")
    assert writer._encrypt_entry is not None
    writer._encrypt_entry[NameObject("/Perms")] = ByteStringObject(bytes(16))  # PDFium takes it for a wrong password
    writer.write(path)
    document = read(path, password="tide")
    assert (document.text, document.sections, document.report) == (outline.text, outline.sections, outline.report)
    assert (document.outside, document.parts) == (outline.outside, outline.parts)
    with pytest.raises(PasswordError, match=r"is wrong.*--password"):
        read(path, password="ebb")


def test_several_at_once_and_an_open_file_with_another_path(outline: Document) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert {document.text for document in pool.map(read, [DATA / "outline.pdf"] * 8)} == {outline.text}
    with (DATA / "contract.pdf").open("rb") as file:
        document = read_pdf(file, "given", "name", None, None)
    assert (document.path, document.title) == ("given", "name")
    assert document.sections[0].kind is SectionKind.FRONT


def line(text: str, base: float, *, page: int = 1, x0: float = 72.0) -> Line:
    return Line(text, page, x0, base, x0 + 5 * len(text), 10.0, "Times")


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (("A full line of text that fills its column", "The next one"), 1),
        (("It ends before the word that", "INDISPENSABLE"), 1),  # the word would not have fitted
        (("It ends early", "The next one"), 2),
        (("• one", "• two"), 2),
        (("- one", "- two"), 2),
    ],
)
def test_a_line_begins_a_paragraph(lines: tuple[str, str], count: int) -> None:
    wide = [line("A full line of text that fills its column", 700 - 12 * number) for number in range(8)]
    two = [line(text, 590 - 12 * number) for number, text in enumerate(lines)]
    geometry = Geometry([*wide, *two], 10.0, 12.0)
    assert len(paragraphs(geometry, two)) == count


def test_text_that_comes_again_on_every_page_stays_if_it_is_all_there_is() -> None:
    pages = [PdfPage(number, 595, 842, (line("The same slide", 400, page=number),)) for number in range(1, 9)]
    lines, account = text_lines(pages)
    assert len(lines) == 8
    assert account.texts == []


def test_lines_printed_twice_are_one_bold_line() -> None:
    page = PdfPage(1, 595, 842, (line("Twice", 700), line("Twice", 700.2, x0=72.3), line("Once", 650)))
    lines, _ = text_lines([page])
    assert [(item.text, item.bold) for item in lines] == [("Twice", 1.0), ("Once", 0.0)]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("\ufb01ve o\ufb03ces", "five offices"), ("caf´e and M¨uller", "café and Müller"), ("\uf0b7 item", "• item"),
        ("\ufffd item", "• item"), ("\U0001d400\U0001d7d9 a\u00a0b", "A1 a b"), ("plain", "plain"),
    ],
)  # fmt: skip
def test_clean(raw: str, wanted: str) -> None:
    assert clean(raw) == wanted
