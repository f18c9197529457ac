"""What PDFium is asked for at once is what it says letter by letter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pypdfium2_raw as pdfium
import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from colde_cli.documents.pdf.lines import decode_page
from colde_cli.documents.pdf.page_text import LineValues, PageText

DATA = Path(__file__).parent / "data"
FILES = sorted(path.name for path in DATA.glob("*.pdf") if not PdfReader(path).is_encrypted)
# Letters outside the basic plane, which take two units, and control codes, which PDFium leaves out of the text.
MAP = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00> <ff> endcodespacerange
4 beginbfchar <41> <D835DC00> <42> <0042> <43> <0003> <44> <05D0> endbfchar
endcmap end end"""


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


def written(tmp_path: Path, content: bytes) -> bytes:
    """A PDF with one page of this content; its font F has the map of characters above."""
    writer = PdfWriter()
    page = writer.add_blank_page(200, 200)
    letters = DecodedStreamObject()
    letters.set_data(MAP)
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
    font[NameObject("/ToUnicode")] = writer._add_object(letters)
    fonts = DictionaryObject({NameObject("/F"): font})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(content)
    page[NameObject("/Contents")] = writer._add_object(stream)
    target = tmp_path / "made.pdf"
    writer.write(target)
    return target.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_text_of_a_page_is_that_of_its_letters(name: str) -> None:
    with opened((DATA / name).read_bytes()) as texts:
        for text in texts:
            assert text.read().replace("\x02", "\ufffe") == by_letter(text).replace("\x02", "\ufffe")


@pytest.mark.parametrize("letters", [b"BAB", b"BCB BCCB", b"C", b"CBC ACA", b"BDB"])
def test_letters_keep_their_numbers(tmp_path: Path, letters: bytes) -> None:
    data = written(tmp_path, b"BT /F 9 Tf 9 99 Td (" + letters + b") Tj ET")
    with opened(data) as (text,):
        assert text.read() == by_letter(text)
        assert text.count >= len(letters)


def test_runs_are_the_objects_of_the_words(tmp_path: Path) -> None:
    content = b"BT /F 9 Tf 9 99 Td (B B B) Tj /F 12 Tf ( B) Tj /F 9 Tf ( B B) Tj ET"
    with opened(written(tmp_path, content)) as (text,):
        letters = text.read()
        words = [place for place, letter in enumerate(letters) if letter == "B"]
        runs, _ = text.runs("B" * len(words), words, None)
        assert [(first, end, style[0]) for first, end, style, *_ in runs] == [
            (0, 3, 9),
            (3, 4, 12),
            (4, 6, 9),
        ]
        assert [(x, y) for *_, x, y in runs] == [text.origin(words[first]) for first, *_ in runs]


def test_words_that_climb_are_runs_of_their_own(tmp_path: Path) -> None:
    content = b"BT /F 9 Tf 1 .02 -.02 1 9 99 Tm (B B B) Tj ET"
    with opened(written(tmp_path, content)) as (text,):
        letters = text.read()
        words = [place for place, letter in enumerate(letters) if letter == "B"]
        runs, _ = text.runs("B" * len(words), words, None)
        assert [(x, y) for *_, x, y in runs] == list(map(text.origin, words))


def test_lines_that_were_sent_are_decoded_as_they_were() -> None:
    roman, bold, tiny = (
        (size, name, 0, False, 0, False) for size, name in ((9.96, "A"), (10.1, "B-Bold"), (0, ""))
    )
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
