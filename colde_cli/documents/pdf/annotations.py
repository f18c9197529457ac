"""Add highlights and outline entries to a document of pypdf, inside the process of `marking_engine.py`."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    IndirectObject,
    NameObject,
    NullObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

Handle = Any  # an object of pypdf
_PRINT = 4  # the flag of an annotation that is printed, too
_AUTHOR = "colde"
_ABOVE = 60.0  # points that are shown above the place to which an entry of the outline leads
_STROKES = {"struck": 0.46, "underlined": 0.06}  # share of a line's height at which the stroke runs


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
