"""Add highlights and an outline to PDFs with pypdf, as a script in a separate process; colde never imports it.

request   password, marks (look, quads, note), outline (title, place, entries), and the limits; for two files side
by side also `first`, the bytes of the first file, `sheets` (pairs of pages) and `names`
answer    JSON lines: `part`s of the new file in base64, then `end`; or `refused`
"""

from __future__ import annotations

import base64
import io
import json
import math
import os
import sys
from itertools import pairwise
from typing import Any

sys.path.extend(json.loads(os.environ["COLDE_READER_PATH"]))

from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    IndirectObject,
    NameObject,
    NullObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

from colde_cli.documents.worker import HIDDEN, Request, send, serve_pypdf

Handle = Any  # an object of pypdf
Matrix = tuple[float, float, float, float, float, float]
_JUNK = 1 << 20  # bytes that may precede the file, such as the head of a mail
_PART = 3 << 18  # bytes of the file in a line of the answer, a multiple of three
_PRINT = 4  # the flag of an annotation that is printed, too
_AUTHOR = "colde"
_ABOVE = 60.0  # points that are shown above the place to which an entry of the outline leads
_STROKES = {"struck": 0.46, "underlined": 0.06}  # share of a line's height at which the stroke runs
_WIDTH, _HEIGHT = 1190.55, 841.89  # A3, in points
_MARGIN, _HEAD, _GAP = 20.0, 18.0, 16.0
_SIZE = 9.0
_MAX_LETTERS = 80  # of a name in the head
_PAGE_NAMES = 60.0  # points that "p. 123 of 456" takes


def opened(request: Request, data: bytes) -> Handle:
    """Open the file with its password."""
    data = data[max(0, data.find(b"%PDF-", 0, _JUNK)) :]
    reader = PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(request["password"] or ""):
        raise ValueError("password")
    return reader


def write(request: Request, data: bytes) -> None:
    """Send the file with its marks, or both files side by side with theirs."""
    if "sheets" in request:
        files = (data[: request["first"]], data[request["first"] :])
        readers = [opened(request, file) for file in files]
        encrypted = any(reader.is_encrypted for reader in readers)
        sheets = SheetWriter([page for reader in readers for page in reader.pages], request["names"])
        for sheet in request["sheets"]:
            sheets.add(*sheet)
        writer, marks, outline = sheets.finished(request["marks"], request["outline"])
    else:
        reader = opened(request, data)
        encrypted = reader.is_encrypted
        writer, marks, outline = PdfWriter(clone_from=reader), request["marks"], request["outline"]
    annotator = PageAnnotator(writer)
    for number, mark in enumerate(marks):
        annotator.mark(number, mark)
    annotator.outline(outline)
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    if encrypted and request["password"]:
        writer.encrypt(request["password"], algorithm="AES-256")
    send_file(writer)


def send_file(writer: Handle) -> None:
    """Send a written file in parts."""
    written = io.BytesIO()
    writer.write(written)
    content = written.getbuffer()
    for start in range(0, len(content), _PART):
        send("part", data=base64.b64encode(content[start : start + _PART]).decode())
    send("end")


def colour(values: list[int]) -> str:
    """Write a colour as the operands of `rg` and `RG`."""
    return " ".join(f"{value / 255:.3f}" for value in values)


def appearance(quads: list[list[float]], look: dict[str, Any]) -> str:
    """Draw pieces of lines: filled, and struck through or underlined."""
    drawn = ["/Multiply gs", f"{colour(look['fill'])} rg"]
    for x1, y1, x2, y2, x3, y3, x4, y4 in quads:
        drawn.append(f"{x1:.2f} {y1:.2f} m {x2:.2f} {y2:.2f} l {x4:.2f} {y4:.2f} l {x3:.2f} {y3:.2f} l f")
    if look["stroke"] in _STROKES:
        drawn.append(f"{colour(look['line'])} RG")
        drawn += [stroke(quad, _STROKES[look["stroke"]]) for quad in quads]
    return "\n".join(drawn)


def stroke(quad: list[float], share: float) -> str:
    """Draw a line along a piece of a line, at a share of its height."""
    x1, y1, x2, y2, x3, y3, x4, y4 = quad
    width = max(0.4, 0.07 * math.dist((x1, y1), (x3, y3)))
    begin = f"{x3 + share * (x1 - x3):.2f} {y3 + share * (y1 - y3):.2f}"
    end = f"{x4 + share * (x2 - x4):.2f} {y4 + share * (y2 - y4):.2f}"
    return f"{width:.2f} w {begin} m {end} l S"


class PageAnnotator:
    """Adds annotations and outline entries to a document."""

    def __init__(self, writer: Handle) -> None:
        self._writer = writer
        multiply = DictionaryObject({NameObject("/BM"): NameObject("/Multiply")})
        states = DictionaryObject({NameObject("/Multiply"): multiply})
        self._resources = writer._add_object(DictionaryObject({NameObject("/ExtGState"): states}))

    def mark(self, number: int, mark: dict[str, Any]) -> None:
        """Add a highlight with its note."""
        quads = [quad["points"] for quad in mark["quads"]]
        page = self._writer.pages[mark["quads"][0]["page"] - 1]
        xs, ys = [x for quad in quads for x in quad[::2]], [y for quad in quads for y in quad[1::2]]
        box = numbers([min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1])
        fill = numbers([value / 255 for value in mark["look"]["fill"]])
        annotation = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Annot"),
                NameObject("/Subtype"): NameObject("/Highlight"),
                NameObject("/Rect"): box,
                NameObject("/QuadPoints"): numbers([value for quad in quads for value in quad]),
                NameObject("/C"): fill,
                NameObject("/F"): NumberObject(_PRINT),
                NameObject("/P"): page.indirect_reference,
                NameObject("/NM"): TextStringObject(f"colde-{number}"),
                NameObject("/T"): TextStringObject(_AUTHOR),
                NameObject("/Subj"): TextStringObject(mark["look"]["name"]),
                NameObject("/Contents"): TextStringObject(mark["note"]),
                NameObject("/AP"): DictionaryObject({NameObject("/N"): self._form(box, quads, mark["look"])}),
            }
        )
        _annotations(page).append(self._writer._add_object(annotation))

    def outline(self, entry: dict[str, Any]) -> None:
        """Add an entry, and those under it, before the first entry of the document's own outline."""
        root = self._writer.root_object.get("/Outlines")
        root = None if root is None else root.get_object()
        if not isinstance(root, DictionaryObject):
            root = DictionaryObject({NameObject("/Type"): NameObject("/Outlines")})
            self._writer.root_object[NameObject("/Outlines")] = self._writer._add_object(root)
        made = self._entry(entry, root)
        if isinstance(root.get("/First"), IndirectObject):
            made[NameObject("/Next")] = root.raw_get("/First")
            root.raw_get("/First").get_object()[NameObject("/Prev")] = made.indirect_reference
        else:
            root[NameObject("/Last")] = made.indirect_reference
        root[NameObject("/First")] = made.indirect_reference
        count = abs(int(root.get("/Count", 0))) + 1 + len(entry["entries"])
        root[NameObject("/Count")] = NumberObject(count)
        if entry["entries"]:
            made[NameObject("/Count")] = NumberObject(len(entry["entries"]))  # it is shown open

    def _entry(self, entry: dict[str, Any], parent: Handle) -> Handle:
        """Make an entry with those under it; they are shown closed."""
        made = DictionaryObject({NameObject("/Title"): TextStringObject(entry["title"])})
        self._writer._add_object(made)
        made[NameObject("/Parent")] = parent.indirect_reference
        if entry["place"] is not None:
            made[NameObject("/Dest")] = self._view(entry["place"])
        inner = [self._entry(one, made) for one in entry["entries"]]
        for one, following in pairwise(inner):
            one[NameObject("/Next")], following[NameObject("/Prev")] = (
                following.indirect_reference,
                one.indirect_reference,
            )
        if inner:
            made[NameObject("/First")], made[NameObject("/Last")] = (
                inner[0].indirect_reference,
                inner[-1].indirect_reference,
            )
            made[NameObject("/Count")] = NumberObject(-len(inner))
        return made

    def _form(self, box: Handle, quads: list[list[float]], look: dict[str, Any]) -> Handle:
        form = StreamObject()
        form[NameObject("/Type")] = NameObject("/XObject")
        form[NameObject("/Subtype")] = NameObject("/Form")
        form[NameObject("/BBox")] = box
        form[NameObject("/Resources")] = self._resources
        form.set_data(appearance(quads, look).encode("ascii"))
        return self._writer._add_object(form)

    def _view(self, place: dict[str, Any]) -> Handle:
        """Show a place a little below the upper edge of the window, whichever way its page is turned."""
        page = self._writer.pages[place["page"] - 1]
        xs, ys = place["points"][::2], place["points"][1::2]
        left, top = {
            0: (None, max(ys) + _ABOVE),
            90: (min(xs) - _ABOVE, None),
            180: (None, min(ys) - _ABOVE),
            270: (max(xs) + _ABOVE, None),
        }[page.rotation % 360 // 90 * 90]
        values = [
            NullObject() if value is None else FloatObject(f"{value:.1f}") for value in (left, top, None)
        ]
        return ArrayObject([page.indirect_reference, NameObject("/XYZ"), *values])


def numbers(values: list[float]) -> Handle:
    """Make an array of numbers."""
    return ArrayObject(FloatObject(f"{value:.3f}") for value in values)


def _annotations(page: Handle) -> Handle:
    """The list of a page's annotations; a new one if it has none."""
    found = page.get("/Annots")
    found = None if found is None else found.get_object()
    if not isinstance(found, ArrayObject):
        found = page[NameObject("/Annots")] = ArrayObject()
    return found


class SheetWriter:
    """Writes sheets with a page on the left and one on the right.

    Pages, marks and places of the outline count the pages of both files, those of the first file first, from 1.
    """

    def __init__(self, pages: list[Handle], names: list[list[str]]) -> None:
        """Take all pages, and for each the two texts above it: on the left and on the right."""
        self._pages = pages
        self._names = names
        self._writer = PdfWriter()
        font = {
            "/Type": "/Font",
            "/Subtype": "/Type1",
            "/BaseFont": "/Helvetica",
            "/Encoding": "/WinAnsiEncoding",
        }
        names_of = {NameObject(key): NameObject(value) for key, value in font.items()}
        self._font = self._writer._add_object(DictionaryObject(names_of))
        self._places: dict[int, list[tuple[int, Matrix]]] = {}
        self._forms: dict[int, Handle] = {}
        self._count = 0

    def add(self, left: int, right: int) -> None:
        """Add a sheet with two pages; 0 leaves a half empty."""
        sheet = self._writer.add_blank_page(_WIDTH, _HEIGHT)
        self._count += 1
        forms, drawn = DictionaryObject(), []
        half = (_WIDTH - 2 * _MARGIN - _GAP) / 2
        for number, x in ((left, _MARGIN), (right, _MARGIN + half + _GAP)):
            if number:
                drawn.append(self._page(number, x, half, forms))
        fonts = DictionaryObject({NameObject("/F"): self._font})
        resources = {NameObject("/Font"): fonts, NameObject("/XObject"): forms}
        sheet[NameObject("/Resources")] = DictionaryObject(resources)
        content = DecodedStreamObject()
        content.set_data(b"\n".join(drawn))
        sheet[NameObject("/Contents")] = self._writer._add_object(content.flate_encode())

    def finished(
        self, marks: list[dict[str, Any]], outline: dict[str, Any]
    ) -> tuple[Handle, list[dict[str, Any]], dict[str, Any]]:
        """Return the document, and the marks and the outline with their places on its sheets."""
        moved = [
            {**mark, "quads": [_moved(quad, place) for quad in mark["quads"]]}
            for mark in marks
            for place in self._places[mark["quads"][0]["page"]]
        ]
        return self._writer, moved, self._moved_entry(outline)

    def _moved_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        place = entry["place"]
        if place is not None:
            place = _moved(place, self._places[place["page"]][0])
        return {**entry, "place": place, "entries": [self._moved_entry(one) for one in entry["entries"]]}

    def _page(self, number: int, x: float, width: float, forms: Handle) -> bytes:
        """Draw a page into a half of the sheet, with its frame and the texts above it."""
        page = self._pages[number - 1]
        box = _box(page)
        turn = page.rotation % 360 // 90 * 90
        wide, high = box[2] - box[0], box[3] - box[1]
        if turn in (90, 270):
            wide, high = high, wide
        scale = min(width / wide, (_HEIGHT - 2 * _MARGIN - _HEAD) / high)
        left = x + (width - scale * wide) / 2
        foot = _HEIGHT - _MARGIN - _HEAD - scale * high
        matrix = _placed(box, turn, scale, (left, foot))
        self._places.setdefault(number, []).append((self._count, matrix))
        if number not in self._forms:
            self._forms[number] = self._form(page, box)
        name = f"/P{number}"
        forms[NameObject(name)] = self._forms[number]
        drawn = [f"q {_operands(matrix)} cm {name} Do Q".encode()]
        for index, (form, at) in enumerate(_appearances(page)):
            inner = f"{name}A{index}"
            forms[NameObject(inner)] = form.clone(self._writer).indirect_reference
            drawn.append(f"q {_operands(matrix)} cm {_operands(at)} cm {inner} Do Q".encode())
        frame = f"q 0.7 G 0.5 w {left:.2f} {foot:.2f} {scale * wide:.2f} {scale * high:.2f} re S Q"
        return b"\n".join([*drawn, frame.encode(), *self._head(number, left, scale * wide)])

    def _form(self, page: Handle, box: list[float]) -> Handle:
        """Make the content of a page a form, which is drawn as a whole and cut at its box."""
        form = StreamObject()
        form[NameObject("/Type")] = NameObject("/XObject")
        form[NameObject("/Subtype")] = NameObject("/Form")
        form[NameObject("/BBox")] = numbers(box)
        resources = page.get("/Resources")
        if resources is not None:
            form[NameObject("/Resources")] = resources.get_object().clone(self._writer)
        if "/Group" in page:
            form[NameObject("/Group")] = page["/Group"].get_object().clone(self._writer)
        content = page.get_contents()
        form.set_data(b"" if content is None else content.get_data())
        return self._writer._add_object(form.flate_encode())

    def _head(self, number: int, left: float, width: float) -> list[bytes]:
        name, pages = self._names[number - 1]
        base = _HEIGHT - _MARGIN - _HEAD + 6
        ends = left + width - 0.48 * _SIZE * len(pages)
        limit = min(_MAX_LETTERS, int((width - _PAGE_NAMES) / (0.55 * _SIZE)))
        shown = name if len(name) <= limit else f"{name[: limit - 1]}…"
        return [_text(shown, left, base), _text(pages, ends, base)]


def _moved(quad: dict[str, Any], place: tuple[int, Matrix]) -> dict[str, Any]:
    """Move a piece of a line from its page to a sheet."""
    sheet, (a, b, c, d, e, f) = place
    pairs = zip(quad["points"][::2], quad["points"][1::2], strict=True)
    points = [value for x, y in pairs for value in (a * x + c * y + e, b * x + d * y + f)]
    return {"page": sheet, "points": points}


def _box(page: Handle) -> list[float]:
    """The part of a page that is shown: left, foot, right, top."""
    crop, media = (sorted_box(page.cropbox), sorted_box(page.mediabox))
    shown = [max(crop[0], media[0]), max(crop[1], media[1]), min(crop[2], media[2]), min(crop[3], media[3])]
    return shown if shown[0] < shown[2] and shown[1] < shown[3] else media


def sorted_box(box: Handle) -> list[float]:
    """Left, foot, right and top of a rectangle, whose corners may be any two."""
    x, y = sorted((float(box[0]), float(box[2]))), sorted((float(box[1]), float(box[3])))
    return [x[0], y[0], x[1], y[1]]


def _placed(box: list[float], turn: int, scale: float, at: tuple[float, float]) -> Matrix:
    """Turn a page clockwise as its reader sees it, and put its lower left corner at a point."""
    wide, high = box[2] - box[0], box[3] - box[1]
    a, b, c, d, e, f = {
        0: (1, 0, 0, 1, 0.0, 0.0),
        90: (0, -1, 1, 0, 0.0, wide),
        180: (-1, 0, 0, -1, wide, high),
        270: (0, 1, -1, 0, high, 0.0),
    }[turn]
    e, f = e - a * box[0] - c * box[1], f - b * box[0] - d * box[1]
    return (scale * a, scale * b, scale * c, scale * d, scale * e + at[0], scale * f + at[1])


def _operands(matrix: Matrix) -> str:
    return " ".join(f"{value:.5f}" for value in matrix)


def _text(text: str, x: float, y: float) -> bytes:
    shown = (
        text.encode("cp1252", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    )
    return b"BT 0.25 g /F %.1f Tf %.2f %.2f Td (" % (_SIZE, x, y) + shown + b") Tj ET"


def _appearances(page: Handle) -> list[tuple[Handle, Matrix]]:
    """Find the looks of a page's own annotations, each with the matrix of its place (ISO 32000-1, 12.5.5)."""
    found = []
    for item in page.get("/Annots") or ():
        annotation = item.get_object()
        unseen = not isinstance(annotation, DictionaryObject) or int(annotation.get("/F", 0)) & HIDDEN
        look = None if unseen or annotation.get("/Subtype") == "/Popup" else _look(annotation)
        if look is not None and (matrix := _fitted(look, sorted_box(annotation["/Rect"]))) is not None:
            found.append((look, matrix))
    return found


def _look(annotation: Handle) -> Handle:
    normal = (annotation.get("/AP") or DictionaryObject()).get("/N")
    normal = None if normal is None else normal.get_object()
    if isinstance(normal, DictionaryObject) and not isinstance(normal, StreamObject):
        normal = normal.get(annotation.get("/AS", "/Off"))
        normal = None if normal is None else normal.get_object()
    return normal if isinstance(normal, StreamObject) else None


def _fitted(look: Handle, rectangle: list[float]) -> Matrix | None:
    """The matrix that fits the box of a form, turned by its own matrix, into a rectangle."""
    a, b, c, d, e, f = (float(value) for value in look.get("/Matrix", (1, 0, 0, 1, 0, 0)))
    left, foot, right, top = sorted_box(look["/BBox"])
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in (left, right) for y in (foot, top)]
    xs, ys = sorted(x for x, _ in corners), sorted(y for _, y in corners)
    if xs[0] == xs[-1] or ys[0] == ys[-1]:
        return None
    wide, high = (
        (rectangle[2] - rectangle[0]) / (xs[-1] - xs[0]),
        (rectangle[3] - rectangle[1]) / (ys[-1] - ys[0]),
    )
    return (wide, 0.0, 0.0, high, rectangle[0] - wide * xs[0], rectangle[1] - high * ys[0])


if __name__ == "__main__":
    serve_pypdf(write, "seconds")
