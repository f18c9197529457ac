"""Find where the text of a document stands on the pages of its PDF, and write PDFs with highlights and an outline.

A `Document` keeps no boxes: they would take many times the memory of its text. Its pages are read once more instead,
with the places of letters, and laid out in the same way. Each paragraph then knows its lines, and each line its
letters: what was dropped between them are blanks and hyphens at the ends of lines.

Files are taken apart and written by pypdf in a reader process (`marking_engine.py`), like every PDF that is read.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO

from colde_cli.documents.document import Document, Span
from colde_cli.documents.pdf.lines import Line, PdfPage, clean
from colde_cli.documents.pdf.prose import SOFT_HYPHEN, ProseWriter
from colde_cli.documents.pdf.read_pdf import SECONDS, laid_out, receive_file, run_reader
from colde_cli.documents.pdf.scans import with_words
from colde_cli.errors import CorruptFileError

_HYPHENS = frozenset(("-", "‐", SOFT_HYPHEN))
_WIDE_GAP = 3.0  # heights of a line; wider ones separate the columns of a table
_CARET = 0.15  # width by height
_LEADING = 3.0  # heights of a line; rows further apart are not of one column
_MARGIN, _BAR = 5.0, 2.0  # points: from a bar to the text, and its width


@dataclass(frozen=True, slots=True)
class Quad:
    """A piece of a line on a page (1-based), in points of the page's own coordinates.

    They are x and y of the upper left, upper right, lower left and lower right corner, as a reader sees the words.
    """

    page: int
    points: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Box:
    """The box of a letter: see `page_text.LineBoxes`."""

    page: int
    angle: float
    begin: float
    end: float
    foot: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.foot

    def is_level(self, other: _Box) -> bool:
        if (self.page, self.angle) != (other.page, other.angle):
            return False
        common = min(self.top, other.top) - max(self.foot, other.foot)
        return common > 0.3 * min(self.height, other.height)

    def continues(self, other: _Box) -> bool:
        """Whether it stands to the right of another in the same row; the letters of a ligature share a box."""
        height = max(self.height, other.height)
        near = self.begin > other.begin - 0.5 * height and self.begin - other.end < _WIDE_GAP * height
        return near and self.is_level(other)

    def goes_on_below(self, other: _Box) -> bool:
        """Whether it is in one of the next rows of the same column."""
        same = (self.page, self.angle) == (other.page, other.angle)
        return same and -0.5 * other.height < other.foot - self.foot < _LEADING * other.height


def read_places(
    file: BinaryIO, document: Document, password: str | None, pages: tuple[int, int] | None, boxes: Collection[int]
) -> PagePlaces | None:
    """Read the pages of a PDF again, with the places of letters on some of them; None if PDFium cannot read it.

    Some text of the document may have been left out since it was read. `pages` are those that were read; None for all.
    """
    answer = run_reader(file, password, *(pages or (1, 0)), boxes)
    if (ocr := document.report.ocr) is not None:
        answer.read = with_words(file, password, answer.read, ocr.pages)
    if answer.refused or not any(page.lines or page.entries for page in answer.read):
        return None
    return PagePlaces(document.text, answer.read, laid_out(answer))


class PagePlaces:
    """Finds the places of spans of a document's text on its pages."""

    def __init__(self, text: str, pages: Sequence[PdfPage], writer: ProseWriter) -> None:
        """Take the text of the document, and its pages and paragraphs as they were read again."""
        self._text = text
        self._again = writer.text()
        self._whole = self._text == self._again
        self._pages = {page.number: page for page in pages}
        self._written = writer.written
        self._starts = [start for start, _ in writer.written]
        self._lines = {(line.page, line.place): line for page in pages for line in (*page.lines, *page.entries)}
        self._letters: dict[int, list[_Box | None]] = {}
        self._last = 0

    def quads(self, passage: Span, part: Span) -> tuple[Quad, ...]:
        """Find the pieces of lines that hold the words of `part`, a span within the passage or heading `passage`."""
        return tuple(
            _turned_back(
                row[0],
                (min(box.begin for box in row), max(box.end for box in row)),
                (min(box.foot for box in row), max(box.top for box in row)),
            )
            for row in self._rows(passage, part)
        )

    def caret(self, passage: Span, place: int) -> Quad | None:
        """Find the place between two words: a narrow piece of their line."""
        shift = self._shift(passage)
        if shift is None:
            return None
        for offset in (*range(place - 1, passage.start - 1, -1), *range(place, passage.end)):
            if (box := self._box(offset + shift)) is not None:
                middle, half = box.end if offset < place else box.begin, _CARET * box.height / 2
                return _turned_back(box, (middle - half, middle + half), (box.foot, box.top))
        return None

    def margin(self, passage: Span) -> tuple[Quad, ...]:
        """Find the places beside the lines of a passage, one for each column and page.

        A bar is left of all rows of their paragraph that are near: a passage may begin within a row.
        """
        columns: list[list[_Box]] = []
        for row in self._rows(passage, passage):
            box = _Box(row[0].page, row[0].angle, row[0].begin, row[-1].end, row[0].foot, row[0].top)
            if columns and box.goes_on_below(columns[-1][-1]):
                columns[-1].append(box)
            else:
                columns.append([box])
        shift = self._shift(passage)
        paragraph = [] if shift is None else self._paragraph(bisect_right(self._starts, passage.start + shift) - 1)
        quads = []
        for column in columns:
            foot, top = min(box.foot for box in column), max(box.top for box in column)
            reach = 2 * column[0].height
            near = [
                box
                for box in paragraph
                if box is not None
                and (box.page, box.angle) == (column[0].page, column[0].angle)
                and foot - reach < box.foot < top + reach
            ]
            left = min(box.begin for box in (*near, *column)) - _MARGIN
            quads.append(_turned_back(column[0], (left - _BAR, left), (foot, top)))
        return tuple(quads)

    def _shift(self, passage: Span) -> int | None:
        """How far a passage is from its place in the text read again, where nothing was left out."""
        if self._whole:
            return 0
        words = self._text[passage.start : passage.end]
        place = self._again.find(words, self._last)
        if place < 0:
            place = self._again.find(words)
        if place < 0:
            return None
        self._last = place
        return place - passage.start

    def _rows(self, passage: Span, part: Span) -> list[list[_Box]]:
        shift = self._shift(passage)
        rows: list[list[_Box]] = []
        for offset in range(part.start, part.end if shift is not None else part.start):
            box = self._box(offset + (shift or 0))
            if box is not None and rows and box.continues(rows[-1][-1]):
                rows[-1].append(box)
            elif box is not None:
                rows.append([box])
        return rows

    def _box(self, offset: int) -> _Box | None:
        number = bisect_right(self._starts, offset) - 1
        if number < 0:
            return None
        letters, place = self._paragraph(number), offset - self._starts[number]
        return letters[place] if place < len(letters) else None

    def _paragraph(self, number: int) -> list[_Box | None]:
        """Give each character of a paragraph its box: what its lines have besides are blanks and hyphens."""
        if number < 0:
            return []
        if number in self._letters:
            return self._letters[number]
        start, lines = self._written[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._again)
        letters = [letter for line in lines for letter in self._line(line)]
        boxes: list[_Box | None] = []
        at = 0
        for character in self._again[start:end]:
            if character.isspace():
                boxes.append(None)
                continue
            while at < len(letters) and letters[at][0] != character and letters[at][0] in _HYPHENS:
                at += 1
            here = at < len(letters) and letters[at][0] == character
            boxes.append(letters[at][1] if here else None)
            at += here
        self._letters[number] = boxes
        return boxes

    def _line(self, line: Line) -> Iterable[tuple[str, _Box | None]]:
        """List the letters of a line, or of a part of it that a heading left."""
        page, whole = self._pages[line.page], self._lines[line.page, line.place]
        letters = _solid(line.text)
        boxes: list[_Box | None] = [None] * len(letters)
        if line.place < len(page.boxes):
            of_all = _cleaned_boxes(whole.text, line.page, *page.boxes[line.place])
            boxes = of_all[: len(letters)] if whole.text.startswith(line.text) else of_all[-len(letters) :]
        return zip(letters, boxes, strict=True)


def _solid(text: str) -> str:
    return "".join(text.replace(SOFT_HYPHEN, "").split())


def _cleaned_boxes(text: str, page: int, printed: str, angle: float, values: Sequence[float]) -> list[_Box | None]:
    """Give each letter of a cleaned line its box, from those printed; a ligature is divided among its letters."""
    plain: list[str] = []
    boxes: list[_Box] = []
    for index, letter in enumerate(printed):
        begin, end, foot, top = values[4 * index : 4 * index + 4]
        letters = _solid(clean(letter))
        plain += letters
        width = (end - begin) / max(1, len(letters))
        starts = [begin + width * number for number in range(len(letters))]
        boxes += [_Box(page, angle, start, start + width, foot, top) for start in starts]
    wanted, given = _solid(text), "".join(plain)
    if wanted == given:
        return list(boxes)
    from rapidfuzz.distance import Levenshtein

    aligned: list[_Box | None] = [None] * len(wanted)
    for code in Levenshtein.opcodes(given, wanted):
        count = code.src_end - code.src_start
        for step, place in enumerate(range(code.dest_start, code.dest_end)):
            if count:
                aligned[place] = boxes[code.src_start + min(step, count - 1)]
    return aligned


def _turned_back(box: _Box, along: tuple[float, float], across: tuple[float, float]) -> Quad:
    """The corners of a piece of a line that has the direction of a box."""
    sine, cosine = math.sin(math.radians(box.angle)), math.cos(math.radians(box.angle))
    corners = ((u, v) for v in across[::-1] for u in along)
    points = (value for u, v in corners for value in (u * cosine - v * sine, u * sine + v * cosine))
    return Quad(box.page, tuple(round(value, 2) for value in points))


STRUCK, UNDERLINED = 0.46, 0.06
"""Share of a line's height at which the stroke of a highlight runs, so that it is seen without colours, too."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a mark; colours are red, green and blue from 0 to 255."""

    name: str
    fill: tuple[int, int, int]
    line: tuple[int, int, int]
    stroke: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlight on pieces of lines of one page, with the note that a reader sees who points at it."""

    look: Look
    quads: tuple[Quad, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the outline that leads to a place, or only groups other entries if it has none."""

    title: str
    place: Quad | None
    entries: tuple[Entry, ...] = ()


def write_marked(
    files: Sequence[BinaryIO],
    target: BinaryIO,
    password: str | None,
    marks: Sequence[Mark],
    outline: Entry,
    trouble: str,
    sheets: Sequence[tuple[int, int]] | None = None,
    names: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a PDF with marks, or pages of two PDFs side by side.

    Pages are counted over both files: those of the first file come first. So are the pages of marks and places.
    Annotations, outline and password of a single file are kept.

    Args:
        files: one or two, open and seekable.
        target: to write to.
        password: of encrypted files.
        marks: to add.
        outline: goes before the entries of the file.
        trouble: the message of the error.
        sheets: left and right page of each sheet, 0 for an empty half, if pages are to stand side by side.
        names: two texts above each page, of all pages of both files.

    Raises:
        CorruptFileError: pypdf cannot write the file.
    """
    request = {
        "password": password,
        "step": SECONDS,
        "first": files[0].seek(0, os.SEEK_END),
        "marks": [asdict(mark) for mark in marks],
        "outline": asdict(outline),
        "sheets": sheets,
        "names": names,
    }
    with tempfile.TemporaryFile() as whole:
        for file in files:
            file.seek(0)
            shutil.copyfileobj(file, whole)
        if receive_file("colde_cli.documents.pdf.marking_engine", whole, request, target) is not None:
            raise CorruptFileError(trouble)
