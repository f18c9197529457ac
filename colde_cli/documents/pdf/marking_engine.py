"""Add highlights and an outline to PDFs with pypdf, in a process of its own.

request   password, marks (look, quads, note), outline (title, place, entries), and the limits; for two files side
by side also `first`, the bytes of the first file, `sheets` (pairs of pages) and `names`
answer    as that of `pypdf_engine.py`
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    IndirectObject,
    NameObject,
    NullObject,
    NumberObject,
    PdfObject,
    StreamObject,
    TextStringObject,
)

from colde_cli.documents.pdf.pypdf_engine import opened, refusing, resolved, send_file
from colde_cli.documents.worker import HIDDEN, Request

Handle = Any  # an object of pypdf
Matrix = tuple[float, float, float, float, float, float]
_PRINT = 4  # the flag of an annotation that is printed, too
_ABOVE = 60.0  # points that are shown above the place to which an entry of the outline leads
_WIDTH, _HEIGHT = 1190.55, 841.89  # A3, in points
_MARGIN, _HEAD, _GAP = 20.0, 18.0, 16.0
_HALF = (_WIDTH - 2 * _MARGIN - _GAP) / 2
_SIZE = 9.0
_MAX_LETTERS = 80  # of a name in the head
_PAGE_NAMES = 60.0  # points that "p. 123 of 456" takes


def write(request: Request, data: bytes) -> None:
    """Send the file with its marks, or both files side by side with theirs, in parts."""
    marks, outline = request["marks"], request["outline"]
    if request["sheets"] is None:
        reader = opened(data, request["password"])
        encrypted, writer = reader.is_encrypted, PdfWriter(clone_from=reader)
    else:
        files = data[: request["first"]], data[request["first"] :]
        readers = [opened(file, request["password"]) for file in files]
        encrypted = any(reader.is_encrypted for reader in readers)
        sheets = SheetWriter([page for reader in readers for page in reader.pages], request["names"])
        for left, right in request["sheets"]:
            sheets.add(left, right)
        writer, marks, outline = sheets.writer, sheets.moved_marks(marks), sheets.moved_entry(outline)
    annotator = PageAnnotator(writer)
    for number, mark in enumerate(marks):
        annotator.mark(number, mark)
    annotator.outline(outline)
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    if encrypted and request["password"]:
        writer.encrypt(request["password"], algorithm="AES-256")
    send_file(writer)


def stored(value: Any) -> Handle:  # noqa: ANN401 - any plain value
    """Make an object of pypdf of a plain value; a string is a name."""
    match value:
        case PdfObject():
            stored_value = value
        case dict():
            stored_value = DictionaryObject({NameObject(key): stored(one) for key, one in value.items()})
        case list():
            stored_value = ArrayObject(map(stored, value))
        case float():
            stored_value = FloatObject(f"{value:.3f}")
        case str() | int():
            stored_value = (NameObject if isinstance(value, str) else NumberObject)(value)
        case _:
            stored_value = NullObject()
    return stored_value


def form_of(box: list[float], content: bytes, **entries: Handle) -> Handle:
    """Make a form, a content that is drawn as a whole and cut at its box."""
    form = StreamObject()
    form.update(stored({"/Type": "/XObject", "/Subtype": "/Form", "/BBox": box}))
    form.update({NameObject(f"/{name}"): entry for name, entry in entries.items() if entry is not None})
    form.set_data(content)
    return form


def appearance(quads: list[list[float]], look: dict[str, Any]) -> str:
    """Draw pieces of lines: filled, and with a line along them at a share of their height."""
    fill, line = (" ".join(f"{value / 255:.3f}" for value in look[name]) for name in ("fill", "line"))
    drawn = ["/Multiply gs", f"{fill} rg"]
    for x1, y1, x2, y2, x3, y3, x4, y4 in quads:
        drawn.append(f"{x1:.2f} {y1:.2f} m {x2:.2f} {y2:.2f} l {x4:.2f} {y4:.2f} l {x3:.2f} {y3:.2f} l f")
    if (share := look["stroke"]) is not None:
        drawn.append(f"{line} RG")
        for x1, y1, x2, y2, x3, y3, x4, y4 in quads:
            width = max(0.4, 0.07 * math.dist((x1, y1), (x3, y3)))
            begin = f"{x3 + share * (x1 - x3):.2f} {y3 + share * (y1 - y3):.2f}"
            end = f"{x4 + share * (x2 - x4):.2f} {y4 + share * (y2 - y4):.2f}"
            drawn.append(f"{width:.2f} w {begin} m {end} l S")
    return "\n".join(drawn)


class PageAnnotator:
    """Adds annotations and outline entries to a document."""

    def __init__(self, writer: Handle) -> None:
        self._writer = writer
        self._add = writer._add_object
        self._resources = self._add(stored({"/ExtGState": {"/Multiply": {"/BM": "/Multiply"}}}))

    def mark(self, number: int, mark: dict[str, Any]) -> None:
        """Add a highlight with its note."""
        quads, look = [quad["points"] for quad in mark["quads"]], mark["look"]
        page = self._writer.pages[mark["quads"][0]["page"] - 1]
        xs, ys = [x for quad in quads for x in quad[::2]], [y for quad in quads for y in quad[1::2]]
        box = [min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1]
        form = form_of(box, appearance(quads, look).encode("ascii"), Resources=self._resources)
        annotation = {
            "/Type": "/Annot",
            "/Subtype": "/Highlight",
            "/Rect": box,
            "/QuadPoints": [value for quad in quads for value in quad],
            "/C": [value / 255 for value in look["fill"]],
            "/F": _PRINT,
            "/P": page.indirect_reference,
            "/NM": TextStringObject(f"colde-{number}"),
            "/T": TextStringObject("colde"),
            "/Subj": TextStringObject(look["name"]),
            "/Contents": TextStringObject(mark["note"]),
            "/AP": {"/N": self._add(form)},
        }
        annotations = resolved(page.get("/Annots"))
        if not isinstance(annotations, ArrayObject):
            annotations = page[NameObject("/Annots")] = ArrayObject()
        annotations.append(self._add(stored(annotation)))

    def outline(self, entry: dict[str, Any]) -> None:
        """Add an entry, and those under it, before the first entry of the document's own outline."""
        root = resolved(self._writer.root_object.get("/Outlines"))
        if not isinstance(root, DictionaryObject):
            root = stored({"/Type": "/Outlines"})
            self._writer.root_object[NameObject("/Outlines")] = self._add(root)
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
        made = stored({"/Title": TextStringObject(entry["title"])})
        self._add(made)
        made[NameObject("/Parent")] = parent.indirect_reference
        if entry["place"] is not None:
            made[NameObject("/Dest")] = self._view(entry["place"])
        inner = [self._entry(one, made) for one in entry["entries"]]
        for one, following in pairwise(inner):
            one[NameObject("/Next")] = following.indirect_reference
            following[NameObject("/Prev")] = one.indirect_reference
        if inner:
            made[NameObject("/First")] = inner[0].indirect_reference
            made[NameObject("/Last")] = inner[-1].indirect_reference
            made[NameObject("/Count")] = NumberObject(-len(inner))
        return made

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
        corner = [value if value is None else FloatObject(f"{value:.1f}") for value in (left, top)]
        return stored([page.indirect_reference, "/XYZ", *corner, None])


class SheetWriter:
    """Writes sheets with a page on the left and one on the right.

    Pages, marks and places of the outline count the pages of both files, those of the first file first, from 1.
    """

    def __init__(self, pages: list[Handle], names: list[list[str]]) -> None:
        """Take all pages, and for each the two texts above it: on the left and on the right."""
        self.writer = PdfWriter()
        self._pages, self._names = pages, names
        font = {
            "/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding",
        }  # fmt: skip
        self._font = self.writer._add_object(stored(font))
        self._places: dict[int, list[tuple[int, Matrix]]] = {}
        self._forms: dict[int, Handle] = {}
        self._count = 0

    def add(self, left: int, right: int) -> None:
        """Add a sheet with two pages; 0 leaves a half empty."""
        sheet = self.writer.add_blank_page(_WIDTH, _HEIGHT)
        self._count += 1
        forms, drawn = DictionaryObject(), []
        for number, x in ((left, _MARGIN), (right, _MARGIN + _HALF + _GAP)):
            if number:
                drawn.append(self._page(number, x, forms))
        sheet[NameObject("/Resources")] = stored({"/Font": {"/F": self._font}, "/XObject": forms})
        content = DecodedStreamObject()
        content.set_data(b"\n".join(drawn))
        sheet[NameObject("/Contents")] = self.writer._add_object(content.flate_encode())

    def moved_marks(self, marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Move marks from their pages to the sheets; a page may stand on several."""
        return [
            {**mark, "quads": [_moved(quad, place) for quad in mark["quads"]]}
            for mark in marks
            for place in self._places[mark["quads"][0]["page"]]
        ]

    def moved_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Let an entry of the outline, and those under it, lead to the sheets."""
        place = entry["place"]
        if place is not None:
            place = _moved(place, self._places[place["page"]][0])
        return {**entry, "place": place, "entries": [self.moved_entry(one) for one in entry["entries"]]}

    def _page(self, number: int, x: float, forms: Handle) -> bytes:
        page = self._pages[number - 1]
        box = _shown_box(page)
        turn = page.rotation % 360 // 90 * 90
        wide, high = box[2] - box[0], box[3] - box[1]
        if turn in (90, 270):
            wide, high = high, wide
        scale = min(_HALF / wide, (_HEIGHT - 2 * _MARGIN - _HEAD) / high)
        left = x + (_HALF - scale * wide) / 2
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
            forms[NameObject(inner)] = form.clone(self.writer).indirect_reference
            drawn.append(f"q {_operands(matrix)} cm {_operands(at)} cm {inner} Do Q".encode())
        frame = f"q 0.7 G 0.5 w {left:.2f} {foot:.2f} {scale * wide:.2f} {scale * high:.2f} re S Q"
        return b"\n".join([*drawn, frame.encode(), *self._head(number, left, scale * wide)])

    def _form(self, page: Handle, box: list[float]) -> Handle:
        resources = page.get("/Resources")
        resources = None if resources is None else resources.get_object().clone(self.writer)
        group = page["/Group"].get_object().clone(self.writer) if "/Group" in page else None
        content = page.get_contents()
        data = b"" if content is None else content.get_data()
        return self.writer._add_object(form_of(box, data, Resources=resources, Group=group).flate_encode())

    def _head(self, number: int, left: float, width: float) -> Iterator[bytes]:
        name, pages = self._names[number - 1]
        limit = min(_MAX_LETTERS, int((width - _PAGE_NAMES) / (0.55 * _SIZE)))
        name = name if len(name) <= limit else f"{name[: limit - 1]}…"
        for text, x in ((name, left), (pages, left + width - 0.48 * _SIZE * len(pages))):
            shown = text.encode("cp1252", "replace")
            for special in (b"\\", b"(", b")"):
                shown = shown.replace(special, b"\\" + special)
            at = b"BT 0.25 g /F %.1f Tf %.2f %.2f Td (" % (_SIZE, x, _HEIGHT - _MARGIN - _HEAD + 6)
            yield at + shown + b") Tj ET"


def _moved(quad: dict[str, Any], place: tuple[int, Matrix]) -> dict[str, Any]:
    sheet, (a, b, c, d, e, f) = place
    pairs = zip(quad["points"][::2], quad["points"][1::2], strict=True)
    return {"page": sheet, "points": [value for x, y in pairs for value in (a * x + c * y + e, b * x + d * y + f)]}


def _shown_box(page: Handle) -> list[float]:
    """The part of a page that is shown: left, foot, right, top."""
    crop, media = _sides(page.cropbox), _sides(page.mediabox)
    shown = [max(crop[0], media[0]), max(crop[1], media[1]), min(crop[2], media[2]), min(crop[3], media[3])]
    return shown if shown[0] < shown[2] and shown[1] < shown[3] else media


def _sides(box: Handle) -> list[float]:
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


def _appearances(page: Handle) -> Iterator[tuple[Handle, Matrix]]:
    """Find the looks of a page's own annotations, each with the matrix of its place (ISO 32000-1, 12.5.5)."""
    for item in page.get("/Annots") or ():
        annotation = item.get_object()
        if not isinstance(annotation, DictionaryObject) or int(annotation.get("/F", 0)) & HIDDEN:
            continue
        look = resolved((annotation.get("/AP") or {}).get("/N"))
        if isinstance(look, DictionaryObject) and not isinstance(look, StreamObject):
            look = resolved(look.get(annotation.get("/AS", "/Off")))
        if annotation.get("/Subtype") != "/Popup" and isinstance(look, StreamObject):
            matrix = _fitted(look, _sides(annotation["/Rect"]))
            if matrix is not None:
                yield look, matrix


def _fitted(look: Handle, rectangle: list[float]) -> Matrix | None:
    """The matrix that fits the box of a form, turned by its own matrix, into a rectangle."""
    a, b, c, d, e, f = (float(value) for value in look.get("/Matrix", (1, 0, 0, 1, 0, 0)))
    left, foot, right, top = _sides(look["/BBox"])
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in (left, right) for y in (foot, top)]
    xs, ys = sorted(x for x, _ in corners), sorted(y for _, y in corners)
    if xs[0] == xs[-1] or ys[0] == ys[-1]:
        return None
    wide = (rectangle[2] - rectangle[0]) / (xs[-1] - xs[0])
    high = (rectangle[3] - rectangle[1]) / (ys[-1] - ys[0])
    return (wide, 0.0, 0.0, high, rectangle[0] - wide * xs[0], rectangle[1] - high * ys[0])


answer = refusing(write)
