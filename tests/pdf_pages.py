"""What is on the pages of a PDF, for tests: text in boxes, colours of rendered pages, annotations, the outline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pypdf
import pypdfium2 as pdfium

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
