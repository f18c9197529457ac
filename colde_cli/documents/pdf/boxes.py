"""Read the places of the letters on a page, inside the reader process of `engine.py`."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.fields import Entry

Handle = Any  # a pointer of ctypes, or a function of the library
# The letters of a line, its direction in degrees, and four numbers for each letter: begin and end along the direction,
# foot and top across it. They are points of the page's own coordinates, turned by the direction.
LineBoxes = tuple[str, float, list[float]]

_DESCENT, _ASCENT = 0.22, 0.78  # shares of the size that a letter may take below and above its baseline


class BoxReader:
    """Reads the boxes of letters; those of one line are equally high wherever the size of the type is known."""

    def __init__(self, text: Handle) -> None:
        self._text = text
        self._matrix = pdfium.FS_MATRIX()
        self._numbers = [ctypes.c_double() for _ in range(6)]

    def line(self, words: Sequence[tuple[int, int]]) -> LineBoxes:
        """Read the letters of the words of a line, given as ranges of characters."""
        places = [index for start, end in words for index in range(start, end)]
        pdfium.FPDFText_GetMatrix(self._text, places[0], self._matrix)
        angle = math.atan2(self._matrix.b, self._matrix.a)
        letters = "".join(chr(pdfium.FPDFText_GetUnicode(self._text, index) % 0x110000) for index in places)
        # A letter outside the basic plane takes two places; written as JSON, both become one letter again.
        second = {
            at + 1
            for at in range(len(letters) - 1)
            if "\ud800" <= letters[at] < "\udc00" <= letters[at + 1] < "\ue000"
        }
        boxes = [
            round(value, 2)
            for at, index in enumerate(places)
            if at not in second
            for value in self._box(index, angle)
        ]
        return letters, math.degrees(angle), boxes

    def _box(self, index: int, angle: float) -> tuple[float, float, float, float]:
        left, right, bottom, top, x, y = self._numbers
        pdfium.FPDFText_GetCharBox(self._text, index, left, right, bottom, top)
        pdfium.FPDFText_GetCharOrigin(self._text, index, x, y)
        corners = [
            _turned(u.value, v.value, angle)
            for u, v in ((left, bottom), (left, top), (right, bottom), (right, top))
        ]
        begin, end = min(u for u, _ in corners), max(u for u, _ in corners)
        foot, head = min(v for _, v in corners), max(v for _, v in corners)
        size, base = self._size(index), _turned(x.value, y.value, angle)[1]
        # The size of some fonts says nothing about their letters; then only the shape of the letter counts.
        fits = foot > base - size and head < base + 1.3 * size and head - foot > 0.02 * size
        across = (base - _DESCENT * size, base + _ASCENT * size) if fits else (foot, head)
        return begin, end, *across

    def _size(self, index: int) -> float:
        pdfium.FPDFText_GetMatrix(self._text, index, self._matrix)
        return float(pdfium.FPDFText_GetFontSize(self._text, index)) * math.hypot(
            self._matrix.c, self._matrix.d
        )


def entry_boxes(entry: Entry) -> LineBoxes:
    """Divide the line of a filled-in value evenly among its letters."""
    text, x0, base, x1, size = entry
    step = (x1 - x0) / len(text)
    shown = [(place, letter) for place, letter in enumerate(text) if not letter.isspace()]
    across = (base - _DESCENT * size, base + _ASCENT * size)
    boxes = [value for place, _ in shown for value in (x0 + step * place, x0 + step * (place + 1), *across)]
    return "".join(letter for _, letter in shown), 0.0, boxes


def _turned(x: float, y: float, angle: float) -> tuple[float, float]:
    """Turn a point so that text at `angle` runs from left to right."""
    sine, cosine = math.sin(angle), math.cos(angle)
    return x * cosine + y * sine, y * cosine - x * sine
