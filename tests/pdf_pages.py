"""What is on the pages of a PDF, for tests: text in boxes, colours of rendered pages, annotations, the outline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdf
import pypdfium2 as pdfium
import pytest

Box = tuple[float, float, float, float]


def bounds(points: tuple[float, ...] | list[float]) -> Box:
    """Left, bottom, right and top of the corners of a quad."""
    return min(points[::2]), min(points[1::2]), max(points[::2]), max(points[1::2])


def words_in(page: pdfium.PdfPage, points: tuple[float, ...] | list[float]) -> str:
    """The text in a quad, as PDFium reads it."""
    text = page.get_textpage()
    try:
        return str(text.get_text_bounded(*bounds(points))).replace("\x02", "").replace("\ufffe", "").strip()
    finally:
        text.close()


def marks_of(path: Path) -> list[tuple[int, Any]]:
    """Page, from 0, and dictionary of every annotation that colde made."""
    reader = pypdf.PdfReader(path)
    return [
        (number, item.get_object())
        for number, page in enumerate(reader.pages)
        for item in page.get("/Annots") or ()
        if item.get_object().get("/T") == "colde"
    ]


def titles(path: Path) -> list[Any]:
    """Titles of the outline; those under an entry are a list after it."""

    def walk(entries: list[Any]) -> list[Any]:
        return [walk(entry) if isinstance(entry, list) else entry.title for entry in entries]

    return walk(pypdf.PdfReader(path).outline)


@dataclass(frozen=True, slots=True)
class Printed:
    """A string in Latin letters on a page of a PDF made by `printed`; lengths are in points."""

    x: float  # where it begins, from the left
    y: float  # baseline, from the foot
    text: str
    size: float = 11.0
    angle: float = 0.0  # in degrees
    mode: int = 0  # of rendering; 3 paints nothing
    then: tuple[tuple[str, float, float], ...] = ()
    """Strings that follow on the line: text, size and how far it is raised."""


def printed(path: Path, *pages: Iterable[Printed]) -> Path:
    """Write a PDF of pages of 595 by 842 points; skips the test without reportlab."""
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    sheet = canvas.Canvas(str(path), pagesize=(595, 842), invariant=1)
    for page in pages:
        for string in page:
            sheet.saveState()
            sheet.translate(string.x, string.y)
            sheet.rotate(string.angle)
            text = sheet.beginText(0, 0)
            text.setTextRenderMode(string.mode)
            for piece, size, rise in ((string.text, string.size, 0.0), *string.then):
                text.setFont("Helvetica", size)
                text.setRise(rise)
                text.textOut(piece)
            sheet.drawText(text)
            sheet.restoreState()
        sheet.showPage()
    sheet.save()
    return path


def prose(page: int, top: float = 740.0, rows: int = 20) -> list[Printed]:
    """Rows of running text that is different on every page."""
    names = ("malt", "hops", "yeast", "water", "barley", "wheat", "rye")
    return [
        Printed(
            72,
            top - 14 * row,
            f"The {names[(page * 5 + row) % 7]} of delivery {words_of(page * 100 + row)} was good.",
        )
        for row in range(rows)
    ]


def words_of(number: int) -> str:
    """A word without digits for a number, another one for each."""
    return "x" + "".join(chr(ord("a") + int(digit)) for digit in str(number))
