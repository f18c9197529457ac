"""Makes the PDFs of this folder, all text our own: `python make_pdfs.py` (needs reportlab and pypdf)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

FOLDER = Path(__file__).parent
WIDTH, HEIGHT = A4
LEFT, LEADING = 72, 14
BELLS = (
    "Every harbour in the north keeps a bell that the water rings. The keeper writes down the hour",
    "of each stroke, and the pages of the book are older than the pier. We read nine of these books",
    "and compared the strokes with the tables of the port. The bell is late in spring and early in",
    "autumn, as the sand moves. Nobody had noticed this before, for nobody reads nine books.",
)
SAND = (
    "The sand bar in front of the harbour grows when the wind blows from the west for a week. A",
    "higher bar holds the water back and the bell waits. We measured the bar with a pole and a",
    "rope on forty mornings. The rope stretched by one part in a hundred, which we corrected.",
)
CORK = (
    "Cork floats because its cells are closed. A fisherman ties nine of them to a net and counts",
    "on seven, since two are always lost to the rocks. The price of cork has not changed in years.",
)


def canvas(name: str, **options: object) -> Canvas:
    """A new document, with the same bytes every time."""
    return Canvas(str(FOLDER / name), pagesize=A4, invariant=1, **options)


def write(page: Canvas, lines: Sequence[str], top: float, left: float = LEFT, size: float = 10) -> float:
    """Lines of running text from `top` down; returns where the next line goes."""
    page.setFont("Times-Roman", size)
    for line in lines:
        page.drawString(left, top, line)
        top -= LEADING
    return top


def heading(page: Canvas, text: str, top: float, size: float = 12, font: str = "Times-Bold") -> float:
    """A heading with space above and below; returns where the next line goes."""
    page.setFont(font, size)
    page.drawString(LEFT, top - 12, text)
    return top - 12 - 18


def outline() -> None:
    """Bookmarks, running heads, page numbers, a page without text, references and an appendix."""
    page = canvas("outline.pdf")
    page.setTitle("Bells That the Tide Rings")
    page.setFont("Times-Bold", 18)
    page.drawCentredString(WIDTH / 2, 740, "Bells That the Tide Rings")
    page.setFont("Times-Roman", 11)
    page.drawCentredString(WIDTH / 2, 715, "Ida Kerrin and Tom Vale")
    sections = (
        (("Abstract", 0, BELLS[:2]), ("1 Introduction", 0, BELLS + SAND), ("1.1 The Sand", 1, SAND)),
        (),
        (("2 Measuring", 0, SAND + CORK), ("References", 0, ("[1] I. Kerrin. Nine books. 1999.",))),
        (("A Tables of Strokes", 0, CORK),),
    )
    for number, entries in enumerate(sections, start=1):
        top = 690.0 if number == 1 else 760.0
        if number > 1:
            page.setFont("Times-Italic", 9)
            page.drawString(LEFT, 810, "Kerrin and Vale: Bells That the Tide Rings")
        page.drawCentredString(WIDTH / 2, 30, str(number))
        if not entries:
            page.rect(150, 300, 250, 250, fill=1)
        for title, level, lines in entries:
            page.bookmarkPage(title)
            page.addOutlineEntry(title, title, level)
            top = write(page, lines, heading(page, title, top))
        page.showPage()
    page.save()


def plain() -> None:
    """No bookmarks; divided words, ligatures, an interrupted paragraph, a footnote's mark, no metadata."""
    pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))
    page = canvas("plain.pdf")
    page.setFont("Times-Bold", 17)
    page.drawString(LEFT, 760, "Cork, Rope and the")
    page.drawString(LEFT, 738, "Price of Nets")
    top = write(page, BELLS, heading(page, "1. Floating", 700))
    top = write(page, ("A well-known fisherman told us about the mending of nets, and of mending in general; a",), top)
    top = write(page, ("keeper of nets is a well-",), top)
    top = write(page, ("known person there, and good mend-",), top)
    top = write(page, ("ing lasts for years in the har-",), top)
    top = write(page, ("bour. The bar is crossed by",), top)
    page.setFont("Times-Roman", 8)
    page.drawString(LEFT, top - 10, "Figure 1: A net with nine corks, of which two are lost.")
    top = write(page, ("boats of every size until the autumn.",), top - 34)
    top = heading(page, "2. Counting the Corks of Nine Harbours and of Several", top)
    page.setFont("Times-Bold", 12)
    page.drawString(LEFT, top + 4, "Islands")
    page.setFont("Times-Bold", 7)
    page.drawString(LEFT + 44, top + 9, "1")
    top = write(page, CORK, top - 16)
    page.setFont("Vera", 10)
    page.drawString(LEFT, top, "The \ufb01rst \ufb02oat is the of\ufb01ce of the eldest.")
    top = write(page, SAND, heading(page, "3. Conclusion", top - 14))
    page.save()


def columns() -> None:
    """Two columns, a rotated stamp, invisible text and text printed twice."""
    page = canvas("columns.pdf")
    page.setFont("Times-Bold", 16)
    page.drawCentredString(WIDTH / 2, 770, "Two Columns of Sand")
    page.saveState()
    page.translate(30, 300)
    page.rotate(90)
    page.setFont("Times-Roman", 14)
    page.drawString(0, 0, "stamped in the margin")
    page.restoreState()
    words = " ".join(BELLS + SAND + CORK).split()
    narrow = [" ".join(words[index : index + 7]) for index in range(0, len(words), 7)]
    for left, title, lines in ((60, "1 Left", narrow[:12]), (310, "2 Right", narrow[12:])):
        page.setFont("Times-Bold", 12)
        for offset in (0, 0.3):
            page.drawString(left + offset, 730, title)
        write(page, lines, 710, left=left)
    hidden = page.beginText(60, 60)
    hidden.setFont("Times-Roman", 10)
    hidden.setTextRenderMode(3)
    hidden.textLine("words that nobody is meant to see")
    page.drawText(hidden)
    page.save()


def contract() -> None:
    """Underlined headings in the type of the text, and clauses that open with their title."""
    page = canvas("contract.pdf")
    page.setFont("Times-Roman", 10)
    top = write(page, BELLS, 780)
    for title, lines in (
        ("Purpose of the agreement", SAND),
        ("Duties of the keeper", CORK),
        ("Payment", BELLS),
    ):
        top -= 10
        page.setFont("Times-Roman", 10)
        page.drawString(LEFT, top, title)
        page.line(LEFT, top - 2, LEFT + page.stringWidth(title, "Times-Roman", 10), top - 2)
        top = write(page, lines, top - 20)
    page.save()
    page = canvas("clauses.pdf")
    top = 780.0
    for number, title in enumerate(("Term", "Bells", "Sand and Rope", "Law"), start=1):
        first = f"{number}. {title}. The parties agree on this clause, which they have read, and on all that"
        top = write(page, (first, *SAND), top) - 10
    page.save()


def unreadable() -> None:
    """A scan, encrypted files, and an invisible text layer under a picture."""
    page = canvas("scan.pdf")
    page.rect(100, 100, 300, 500, fill=1)
    page.save()
    page = canvas("ocr.pdf")
    page.rect(100, 100, 300, 500, fill=1)
    layer = page.beginText(LEFT, 700)
    layer.setFont("Times-Roman", 10)
    layer.setTextRenderMode(3)
    layer.textLines(BELLS)
    page.drawText(layer)
    page.save()
    locked = StandardEncryption("tide", ownerPassword="owner", strength=128)
    page = canvas("encrypted.pdf", encrypt=locked)
    write(page, BELLS, 780)
    page.save()
    open_to_all = io.BytesIO()
    page = Canvas(open_to_all, pagesize=A4, invariant=1)
    write(page, BELLS, 780)
    page.save()
    writer = PdfWriter(PdfReader(open_to_all))
    writer.encrypt(user_password="ebb ünd flow", owner_password="owner", algorithm="AES-256")
    writer.write(FOLDER / "encrypted_aes256.pdf")


if __name__ == "__main__":
    for make in (outline, plain, columns, contract, unreadable):
        make()
