"""Read what the annotations of a page of a PDF hold beside its text, with PDFium: comments, links, facts of fields.

What is visible of a filled-in form is body text; `fields.py` reads it.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.fields import FILLED, FormReader, is_on, utf16
from colde_cli.documents.pdf.pictures import (
    MAX_ANNOTATIONS,
    annotation_pictures,
    quick,
    shows_pictures,
    stored_digest,
)
from colde_cli.documents.worker import HIDDEN, ON

Handle = Any  # a pointer of ctypes, or a function of the library
Text = tuple[str, str, str]
"""Kind, text, and what it belongs to."""
Box = tuple[float, float, float, float]
"""Left, foot, right and top, in points of the page's own coordinates."""

_MARKS = {
    pdfium.FPDF_ANNOT_HIGHLIGHT: "highlighted",
    pdfium.FPDF_ANNOT_UNDERLINE: "underlined",
    pdfium.FPDF_ANNOT_SQUIGGLY: "underlined",
    pdfium.FPDF_ANNOT_STRIKEOUT: "struck out",
    pdfium.FPDF_ANNOT_REDACT: "to be redacted",
}
"""Annotations that mark words."""
_SHAPES = {
    pdfium.FPDF_ANNOT_LINE: "line",
    pdfium.FPDF_ANNOT_SQUARE: "box",
    pdfium.FPDF_ANNOT_CIRCLE: "circle",
    pdfium.FPDF_ANNOT_POLYGON: "shape",
    pdfium.FPDF_ANNOT_POLYLINE: "line",
    pdfium.FPDF_ANNOT_INK: "drawing",
    pdfium.FPDF_ANNOT_STAMP: "stamp",
    pdfium.FPDF_ANNOT_WATERMARK: "watermark",
    pdfium.FPDF_ANNOT_PRINTERMARK: "printer's mark",
    pdfium.FPDF_ANNOT_CARET: "insertion",
}
"""Annotations that draw something."""
_MEDIA = frozenset(
    (
        *(pdfium.FPDF_ANNOT_SOUND, pdfium.FPDF_ANNOT_MOVIE, pdfium.FPDF_ANNOT_SCREEN),
        *(pdfium.FPDF_ANNOT_THREED, pdfium.FPDF_ANNOT_RICHMEDIA),
    )
)
_TARGETS = (pdfium.PDFACTION_REMOTEGOTO, pdfium.PDFACTION_LAUNCH, pdfium.PDFACTION_EMBEDDEDGOTO)
_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_SWITCHES = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_EVENTS = (
    pdfium.FPDF_ANNOT_AACTION_KEY_STROKE,
    pdfium.FPDF_ANNOT_AACTION_FORMAT,
    pdfium.FPDF_ANNOT_AACTION_VALIDATE,
    pdfium.FPDF_ANNOT_AACTION_CALCULATE,
)
_MAX_OPTIONS = 1_000
_MAX_QUADS = 500
_MAX_WORDS = 2_000  # letters in a box
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"<(/p|/li|/div|br)\b[^<>]*>", re.IGNORECASE)
_HYPHEN = re.compile("[\x02\ufffe]\\s*")
_SOFT_HYPHEN = "\u00ad"

_next_link = quick(pdfium.FPDFLink_Enumerate, ctypes.c_int)
_action_of = quick(pdfium.FPDFLink_GetAction, ctypes.c_void_p, ctypes.c_void_p)
_action_kind = quick(pdfium.FPDFAction_GetType, ctypes.c_ulong, ctypes.c_void_p)


class AnnotationReader:
    """Reads the annotations of one page.

    Attributes:
        texts: what they say.
        parts: kind, digest and name of what they hold that is no text.
        pictures: digests of the pictures that they show.
        filled: whether any of them may be filled in.
        deferred: whether any holds a file or a medium, which is read when all pages have been.
    """

    def __init__(self, document: Handle, page: Handle, text: Handle, form: FormReader) -> None:
        self.texts: list[Text] = []
        self.parts: list[Text] = []
        self.pictures: list[str] = []
        self.filled = self.deferred = False
        self._document, self._page, self._text, self._form = document, page, text, form
        self._letters = (ctypes.c_ushort * _MAX_WORDS)()

    def read(self) -> None:
        """Read all of them, up to a limit."""
        count = pdfium.FPDFPage_GetAnnotCount(self._page)
        if not count or self._links() == count:
            return
        self.filled = count > MAX_ANNOTATIONS
        for index in range(min(count, MAX_ANNOTATIONS)):
            annotation = pdfium.FPDFPage_GetAnnot(self._page, index)
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind not in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                self._annotation(annotation, kind)
            pdfium.FPDFPage_CloseAnnot(annotation)

    def _annotation(self, annotation: Handle, kind: int) -> None:
        self.filled = self.filled or kind in FILLED
        if shows_pictures(kind):
            self.pictures += map(stored_digest, annotation_pictures(annotation))
        if kind == pdfium.FPDF_ANNOT_WIDGET:
            self.texts += self._field(annotation)
        elif kind in _MEDIA or kind == pdfium.FPDF_ANNOT_FILEATTACHMENT:
            self.deferred = True
            self._comment(annotation, "")
        else:
            self._comment(annotation, self._mark(annotation, kind))
            if kind in _SHAPES:
                self._drawing(annotation, _SHAPES[kind])

    def _links(self) -> int:
        """Read the links; return how many there are, those within the document included."""
        page, at, link = _address(self._page), ctypes.c_int(), ctypes.c_void_p()
        out = ctypes.byref(at), ctypes.byref(link)
        count = 0
        before: tuple[str, Box] | None = None
        while count < MAX_ANNOTATIONS and _next_link(page, *out):
            count += 1
            action = _action_of(link.value)
            kind = _action_kind(action) if action else 0
            target = self._target(kind, ctypes.cast(action, pdfium.FPDF_ACTION)) if kind > 1 else ""
            if target:
                before = self._link(target, ctypes.cast(link, pdfium.FPDF_LINK), before)
        return count

    def _target(self, kind: int, action: Handle) -> str:
        if kind == pdfium.PDFACTION_URI:
            return _utf8(pdfium.FPDFAction_GetURIPath, self._document, action)
        return _utf8(pdfium.FPDFAction_GetFilePath, action) if kind in _TARGETS else ""

    def _link(self, target: str, link: Handle, before: tuple[str, Box] | None) -> tuple[str, Box]:
        """Add a link; one that only goes on from the line before is no other link."""
        rect = pdfium.FS_RECTF()
        pdfium.FPDFLink_GetAnnotRect(link, rect)
        box = _sides(rect)
        words = self._words(_quads(link, pdfium.FPDFLink_CountQuadPoints, pdfium.FPDFLink_GetQuadPoints), box)
        if before is not None and before[0] == target and _goes_on(before[1], box):
            _, _, earlier = self.texts.pop()
            words = _joined((earlier, words))
        # An address that is shown as it is says no more than the link; a break in it is none of the address.
        shown = "".join(words.split()).replace(_SOFT_HYPHEN, "")
        self.texts.append(("links", target, "" if shown and shown in target else words))
        return target, box

    def _comment(self, annotation: Handle, mark: str) -> None:
        """Add the words of a comment, after the name of its author."""
        hidden = bool(pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN)
        said = _string(annotation, b"Contents") or _string(annotation, b"State")
        rich = _plain(_string(annotation, b"RC"))
        rich = "" if "".join(rich.split()) == "".join(said.split()) else rich
        shown = pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_FREETEXT and not hidden
        words = " ".join(filter(None, ("" if shown else said, rich, f"[{mark}]" if mark else "")))
        author = _string(annotation, b"T")
        if words and hidden:
            self.texts.append(("hidden-text", f"{author}: {words}" if author else words, "comment"))
        elif words:
            self.texts.append(("comments", f"{author}: {words}" if author else words, ""))

    def _mark(self, annotation: Handle, kind: int) -> str:
        """What an annotation does to the page: the words that it marks, or what it draws."""
        if kind in _MARKS:
            rect = pdfium.FS_RECTF()
            pdfium.FPDFAnnot_GetRect(annotation, rect)
            points = (pdfium.FPDFAnnot_CountAttachmentPoints, pdfium.FPDFAnnot_GetAttachmentPoints)
            words = self._words(_quads(annotation, *points), _sides(rect))
            mark = f"{_MARKS[kind]}: {words}" if words else _MARKS[kind]
            over = _string(annotation, b"OverlayText")
            return f"{mark}, overwritten with: {over}" if over else mark
        if kind == pdfium.FPDF_ANNOT_STAMP and (name := _string(annotation, b"Name")):
            return f"stamp: {name}"
        return _SHAPES.get(kind, "")

    def _drawing(self, annotation: Handle, name: str) -> None:
        mode = pdfium.FPDF_ANNOT_APPEARANCEMODE_NORMAL
        drawn = utf16(pdfium.FPDFAnnot_GetAP, annotation, mode, limit=1 << 24)
        if drawn:
            self.parts.append(("drawings", _digest(drawn), name))

    def _words(self, boxes: list[Box], whole: Box) -> str:
        """The words in boxes, one box for each line; those of the whole if there are no boxes."""
        return _joined(map(self._words_in, boxes or [whole]))

    def _words_in(self, box: Box) -> str:
        left, foot, right, top = box
        height, along = top - foot, min(1.0, 0.1 * (right - left))
        # What only touches the box belongs to its neighbours. But full stops lie at its foot.
        area = (left + along, top - 0.3 * height, right - along, foot + 0.12 * height)
        count = pdfium.FPDFText_GetBoundedText(self._text, *area, self._letters, _MAX_WORDS)
        found = memoryview(self._letters)[: max(0, count)].tobytes().decode("utf-16-le", "replace")
        return " ".join(_HYPHEN.sub(_SOFT_HYPHEN, found.replace("\0", "")).split())

    def _field(self, annotation: Handle) -> Iterator[Text]:
        """Yield what a form field holds that its place on the page does not show."""
        form = self._form.handle
        name = utf16(pdfium.FPDFAnnot_GetFormFieldName, form, annotation) or "field"
        kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
        value = utf16(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation, limit=1 << 28)
        tip = utf16(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
        yield "form-values", tip, f"tooltip of {name}"
        default = _string(annotation, b"DV")
        if default != " ".join(value.split()):
            yield "form-values", default, f"default of {name}"
        if kind in _CHOICES:
            labels = self._options(form, annotation)
            yield "form-values", "; ".join(labels), f"choices of {name}"
        if kind == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
            self._drawing(annotation, f"button {name}")
        if pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN:
            if kind in _SWITCHES:
                value = ON if is_on(form, annotation) else ""
            yield "form-values", value or _string(annotation, b"V"), f"hidden field {name}"
        for event in _EVENTS:
            script = utf16(pdfium.FPDFAnnot_GetFormAdditionalActionJavaScript, form, annotation, event)
            if script:
                self.parts.append(("scripts", _digest(script), f"script of {name}"))

    @staticmethod
    def _options(form: Handle, annotation: Handle) -> Iterator[str]:
        for index in range(min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), _MAX_OPTIONS)):
            yield utf16(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, index)


def _address(handle: Handle) -> Handle:
    return ctypes.cast(handle, ctypes.c_void_p)


def _string(annotation: Handle, key: bytes) -> str:
    return " ".join(utf16(pdfium.FPDFAnnot_GetStringValue, annotation, key).split())


def _joined(pieces: Iterable[str]) -> str:
    """Join words of several lines; a word that is divided between two of them becomes one."""
    return " ".join(filter(None, pieces)).replace(f"{_SOFT_HYPHEN} ", _SOFT_HYPHEN)


def _plain(rich: str) -> str:
    """The words of a rich text, which is XHTML."""
    return " ".join(unescape(_TAG.sub("", _BREAK.sub(" ", rich))).split())


def _utf8(call: Handle, *arguments: object) -> str:
    size = call(*arguments, None, 0)
    if not 1 < size < 1 << 20:
        return ""
    buffer = ctypes.create_string_buffer(size)
    call(*arguments, buffer, size)
    return buffer.value.decode("utf-8", "replace")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sides(rect: Handle) -> Box:
    return (
        *(min(rect.left, rect.right), min(rect.bottom, rect.top)),
        *(max(rect.left, rect.right), max(rect.bottom, rect.top)),
    )


def _quads(handle: Handle, count: Handle, get: Handle) -> list[Box]:
    """The boxes of the lines that a link or a mark covers."""
    quad, found = pdfium.FS_QUADPOINTSF(), []
    for index in range(min(max(0, count(handle)), _MAX_QUADS)):
        if get(handle, index, quad):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            found.append((min(xs), min(ys), max(xs), max(ys)))
    return found


def _goes_on(before: Box, box: Box) -> bool:
    """Whether a box goes on where the one before ends: beside it, or at the beginning of the next line."""
    height = max(before[3] - before[1], box[3] - box[1])
    level = abs(before[1] - box[1])
    if level < 0.3 * height:
        return -1 < box[0] - before[2] < 0.5 * height
    return 0.5 * height < before[1] - box[1] < 2 * height and box[0] < before[2]
