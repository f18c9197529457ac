"""Put pages of two PDFs side by side on landscape sheets with pypdf, inside the process of `marking_engine.py`."""

from __future__ import annotations

from typing import Any

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject, StreamObject

from colde_cli.documents.pdf.annotations import numbers
from colde_cli.documents.worker import HIDDEN

Handle = Any  # an object of pypdf
Matrix = tuple[float, float, float, float, float, float]
_WIDTH, _HEIGHT = 1190.55, 841.89  # A3, in points
_MARGIN, _HEAD, _GAP = 20.0, 18.0, 16.0
_SIZE = 9.0
_MOST_LETTERS = 80  # of a name in the head
_PAGE_NAMES = 60.0  # points that "p. 123 of 456" takes


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
        most = min(_MOST_LETTERS, int((width - _PAGE_NAMES) / (0.55 * _SIZE)))
        shown = name if len(name) <= most else f"{name[: most - 1]}…"
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
