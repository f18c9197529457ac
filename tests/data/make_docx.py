"""Makes `report.docx` with python-docx 1.2, which the tests themselves do not need: python tests/data/make_docx.py."""

from __future__ import annotations

from pathlib import Path

from docx import Document
from docx.enum.text import WD_BREAK

HERE = Path(__file__).parent


def main() -> None:
    """Write the file."""
    document = Document()
    document.core_properties.title = "Untitled 3"
    document.add_heading("Bells That the Tide Rings", 0)
    document.add_paragraph("A report to the harbour board of Ayr.")
    document.add_heading("Introduction", 1)
    document.add_paragraph("Twelve bells hang from the pier.\tEach has a name.")
    document.add_paragraph("Some ring at flood,", style="List Bullet").add_run(" some at ebb.").bold = True
    document.add_paragraph("One has never rung.", style="List Number")
    document.add_heading("Method", 1)
    document.add_heading("Counting", 2)
    document.add_paragraph("We counted every stroke for a year.").add_run().add_break(WD_BREAK.PAGE)
    table = document.add_table(rows=2, cols=3)
    for row, words in zip(table.rows, (("Town", "Bells", "Strokes"), ("Ayr", "12", "90,417")), strict=True):
        for cell, word in zip(row.cells, words, strict=True):
            cell.text = word
    document.add_heading("References", 1)
    document.add_paragraph("Doe, J. (1999). Bells of the west coast.")
    document.sections[0].header.paragraphs[0].text = "Harbour board"
    document.sections[0].footer.paragraphs[0].text = "Confidential"
    document.save(HERE / "report.docx")


if __name__ == "__main__":
    main()
