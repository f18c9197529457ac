"""Read the annotations of a page of a PDF with PDFium: comments, links, and what is filled in.

What is visible of a filled-in form is body text: form fields, text boxes and stamps. PDFium reads the text of an
annotation's appearance only after the annotation is drawn into the page; this is done to a copy. A field's value (/V)
is read as well if its appearance does not show it. The rest stands beside the text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.parts import (
    MAX_ANNOTATIONS,
    PICTURELESS,
    Text,
    annotation_pictures,
    annotations_of,
    digest_of,
    filled,
    quick,
    stored_digest,
    utf16,
)
from colde_cli.documents.worker import HIDDEN, ON

Handle = Any  # a pointer of ctypes, or a function of the library
Box = tuple[float, float, float, float]
"""Left, foot, right and top, in points of the page's own coordinates."""
Entry = tuple[str, float, float, float, float]
"""Text, left end, baseline, right end and size, in points of the page's own coordinates."""

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
        *(pdfium.FPDF_ANNOT_THREED, pdfium.FPDF_ANNOT_RICHMEDIA, pdfium.FPDF_ANNOT_FILEATTACHMENT),
    )
)
_FILLED = frozenset((pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP))
"""Kinds of annotations that may be filled in."""
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
_LONG = 1 << 28  # bytes of a value; the limit on a page's characters decides whether it is too long
_SIZE = 10.0  # in points, of a value without an appearance
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"<(/p|/li|/div|br)\b[^<>]*>", re.IGNORECASE)
_HYPHEN = re.compile("[\x02\ufffe]\\s*")
_SOFT_HYPHEN = "\u00ad"
_FILL_LINE = re.compile("_{2,}|\\.{3,}")

_next_link = quick(pdfium.FPDFLink_Enumerate, ctypes.c_int)
_action_of = quick(pdfium.FPDFLink_GetAction, ctypes.c_void_p, ctypes.c_void_p)
_action_kind = quick(pdfium.FPDFAction_GetType, ctypes.c_ulong, ctypes.c_void_p)


class AnnotationReader:
    """Reads what the annotations of one page hold beside its text."""

    def __init__(self, document: Handle, page: Handle, text: Handle, form: FormReader) -> None:
        self.texts: list[Text] = []
        self.parts: list[Text] = []  # what they hold that is no text
        self.pictures: list[str] = []  # digests of the pictures that they show
        self.filled = False  # any of them may be filled in
        self.deferred = False  # any holds a file or a medium, which is read when all pages have been
        self._document, self._page, self._text, self._form = document, page, text, form
        self._letters = (ctypes.c_ushort * _MAX_WORDS)()

    def read(self) -> None:
        """Read all of them, up to a limit."""
        count = pdfium.FPDFPage_GetAnnotCount(self._page)
        if not count or self._links() == count:
            return
        self.filled = count > MAX_ANNOTATIONS
        for annotation, kind in annotations_of(self._page):
            if kind in PICTURELESS:
                continue
            self.filled = self.filled or kind in _FILLED
            self.pictures += map(stored_digest, annotation_pictures(annotation))
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                self.texts += self._field(annotation)
            elif kind in _MEDIA:
                self.deferred = True
                self._comment(annotation, "")
            else:
                self._comment(annotation, self._mark(annotation, kind))
                if kind in _SHAPES:
                    self._drawing(annotation, _SHAPES[kind])

    def _links(self) -> int:
        """Read the links; return how many there are, those within the document included."""
        page, at, link = ctypes.cast(self._page, ctypes.c_void_p), ctypes.c_int(), ctypes.c_void_p()
        out = ctypes.byref(at), ctypes.byref(link)
        count = 0
        before: tuple[str, Box] | None = None
        while count < MAX_ANNOTATIONS and _next_link(page, *out):
            count += 1
            action = _action_of(link.value)
            if action and (name := target_of(self._document, action)):
                before = self._link(name, ctypes.cast(link, pdfium.FPDF_LINK), before)
        return count

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
        hidden = bool(pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN)
        said, state = _string(annotation, b"Contents"), _string(annotation, b"State")
        said = said if state in said else f"{said} {state}".strip()
        # A rich text is XHTML.
        rich = " ".join(unescape(_TAG.sub("", _BREAK.sub(" ", _string(annotation, b"RC")))).split())
        rich = "" if "".join(rich.split()) == "".join(said.split()) else rich
        shown = pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_FREETEXT and not hidden
        words = " ".join(filter(None, ("" if shown else said, rich, f"[{mark}]" if mark else "")))
        author = _string(annotation, b"T")
        if words:
            kind, about = ("hidden-text", "comment") if hidden else ("comments", "")
            self.texts.append((kind, f"{author}: {words}" if author else words, about))

    def _mark(self, annotation: Handle, kind: int) -> str:
        """What an annotation does to the page: the words that it marks, or what it draws."""
        if kind in _MARKS:
            points = (pdfium.FPDFAnnot_CountAttachmentPoints, pdfium.FPDFAnnot_GetAttachmentPoints)
            words = self._words(_quads(annotation, *points), _box(annotation))
            mark = f"{_MARKS[kind]}: {words}" if words else _MARKS[kind]
            over = _string(annotation, b"OverlayText")
            return f"{mark}, overwritten with: {over}" if over else mark
        if kind == pdfium.FPDF_ANNOT_STAMP and (name := _string(annotation, b"Name")):
            return f"stamp: {name}"
        return _SHAPES.get(kind, "")

    def _drawing(self, annotation: Handle, name: str) -> None:
        mode = pdfium.FPDF_ANNOT_APPEARANCEMODE_NORMAL
        drawn = utf16(pdfium.FPDFAnnot_GetAP, annotation, mode, limit=1 << 24)
        if drawn or (drawn := _points(annotation)):
            self.parts.append(("drawings", digest_of(drawn), name))

    def _words(self, boxes: list[Box], whole: Box) -> str:
        """The words in boxes, one box for each line; those of the whole if there are no boxes."""
        lines = []
        for left, foot, right, top in boxes or [whole]:
            height, along = top - foot, min(1.0, 0.1 * (right - left))
            # What only touches the box belongs to its neighbours. But full stops lie at its foot.
            area = (left + along, top - 0.3 * height, right - along, foot + 0.12 * height)
            count = pdfium.FPDFText_GetBoundedText(self._text, *area, self._letters, _MAX_WORDS)
            line = memoryview(self._letters)[: max(0, count)].tobytes().decode("utf-16-le", "replace")
            lines.append(" ".join(_HYPHEN.sub(_SOFT_HYPHEN, line.replace("\0", "")).split()))
        return _joined(lines)

    def _field(self, annotation: Handle) -> Iterator[Text]:
        """Yield what a form field holds that its place on the page does not show."""
        form = self._form.handle
        name = utf16(pdfium.FPDFAnnot_GetFormFieldName, form, annotation) or "field"
        kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
        value = utf16(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation, limit=_LONG)
        tip = utf16(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
        yield "form-values", tip, f"tooltip of {name}"
        default = _string(annotation, b"DV")
        if default != " ".join(value.split()):
            yield "form-values", default, f"default of {name}"
        if kind in _CHOICES:
            yield "form-values", "; ".join(self._form.options(annotation)), f"choices of {name}"
        if kind == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
            self._drawing(annotation, f"button {name}")
        if pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN:
            if kind in _SWITCHES:
                value = ON if self._form.is_on(annotation) else ""
            yield "form-values", value or _string(annotation, b"V"), f"hidden field {name}"
        for event in _EVENTS:
            script = utf16(pdfium.FPDFAnnot_GetFormAdditionalActionJavaScript, form, annotation, event)
            if script:
                self.parts.append(("scripts", digest_of(script), f"script of {name}"))


def target_of(document: Handle, action: Handle) -> str:
    """Where an action, or the one at an address, leads outside the document; "" if nowhere."""
    kind, target = _action_kind(action), b""
    if kind == pdfium.PDFACTION_URI:
        target = filled(pdfium.FPDFAction_GetURIPath, document, ctypes.cast(action, pdfium.FPDF_ACTION))
    elif kind in _TARGETS:
        target = filled(pdfium.FPDFAction_GetFilePath, ctypes.cast(action, pdfium.FPDF_ACTION))
    return target.partition(b"\0")[0].decode("utf-8", "replace")


def _string(annotation: Handle, key: bytes) -> str:
    return " ".join(utf16(pdfium.FPDFAnnot_GetStringValue, annotation, key).split())


def _joined(pieces: Iterable[str]) -> str:
    """Join words of several lines; a word that is divided between two of them becomes one."""
    return " ".join(filter(None, pieces)).replace(f"{_SOFT_HYPHEN} ", _SOFT_HYPHEN)


def _box(annotation: Handle) -> Box:
    rect = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, rect)
    return _sides(rect)


def _sides(rect: Handle) -> Box:
    return (
        *(min(rect.left, rect.right), min(rect.bottom, rect.top)),
        *(max(rect.left, rect.right), max(rect.bottom, rect.top)),
    )


def _points(annotation: Handle) -> str:
    """The corners of a line or a shape, which a viewer draws even if it has no appearance."""
    count = pdfium.FPDFAnnot_GetVertices(annotation, None, 0)
    points = (pdfium.FS_POINTF * max(2, count))()
    if count:
        pdfium.FPDFAnnot_GetVertices(annotation, points, count)
    elif not pdfium.FPDFAnnot_GetLine(annotation, points[0], points[1]):
        return ""
    return " ".join(f"{point.x:.0f},{point.y:.0f}" for point in points)


def _quads(handle: Handle, count: Handle, get: Handle) -> list[Box]:
    """The boxes of the lines that a link or a mark covers."""
    quad, boxes = pdfium.FS_QUADPOINTSF(), []
    for index in range(min(count(handle), _MAX_QUADS)):
        if get(handle, index, quad):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            boxes.append((min(xs), min(ys), max(xs), max(ys)))
    return boxes


def _goes_on(before: Box, box: Box) -> bool:
    """Whether a box goes on where the one before ends: beside it, or at the beginning of the next line."""
    height = max(before[3] - before[1], box[3] - box[1])
    level = abs(before[1] - box[1])
    if level < 0.3 * height:
        return -1 < box[0] - before[2] < 0.5 * height
    return 0.5 * height < before[1] - box[1] < 2 * height and box[0] < before[2]


class _Field:
    """A filled-in annotation: its box, its value, and the lines of its appearance."""

    def __init__(self, box: Box, value: str, *, always: bool) -> None:
        self.box, self.value = box, value
        self.always = always  # the value counts even if the appearance shows text
        self.unshown = False  # the appearance shows another text than the value, which does not count
        self.lines: list[Entry] = []

    def holds(self, x: float, y: float) -> bool:
        left, foot, right, top = self.box
        return left - 1 <= x <= right + 1 and foot - 1 <= y <= top + 1

    def entries(self) -> list[Entry]:
        """List the lines of the appearance, and those of the value if the appearance does not show it."""
        shown = "".join("".join(line[0].split()) for line in self.lines)
        value = "".join(self.value.split())
        if not value or (shown and not self.always):
            self.unshown = value not in shown
            return self.lines
        if shown != value and value in shown:
            return self.lines
        left, foot, right, top = self.box
        size = min(_SIZE, max(4.0, 0.8 * (top - foot)))
        base = top - size
        if self.lines:
            _, _, base, _, size = self.lines[0]
        rows = [row.strip() for row in re.split(r"[\r\n]+", self.value) if row.strip()]
        entries = [(row, left, base - 1.2 * size * number, right, size) for number, row in enumerate(rows)]
        return entries if shown == value else self.lines + entries  # equal: shown perhaps in a box for each letter


class FormReader:
    """Reads the filled-in values on the pages of a document."""

    def __init__(self, document: Handle) -> None:
        self.unshown: list[str] = []  # contents of text boxes of the last page that their appearances do not show
        self.altered = False  # annotations, and fields with them, have been taken out of the open document
        self._document = document
        # Whether it is an XFA form, whose pages do not show all values.
        self.dynamic = pdfium.FPDF_GetFormType(document) == pdfium.FORMTYPE_XFA_FULL
        self._info = pdfium.FPDF_FORMFILLINFO(version=2)
        self._form: Handle = None

    @property
    def handle(self) -> Handle:
        """PDFium's handle of the form, opened when it is first needed."""
        self._form = self._form or pdfium.FPDFDOC_InitFormFillEnvironment(self._document, self._info)
        return self._form

    def close(self) -> None:
        """Free what was opened; the document must still be open."""
        if self._form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(self._form)
            self._form = None

    def is_on(self, annotation: Handle) -> bool:
        """Whether a checkbox or a radio button is on."""
        state = utf16(pdfium.FPDFAnnot_GetStringValue, annotation, b"AS")
        return state not in ("", "Off") or bool(pdfium.FPDFAnnot_IsChecked(self.handle, annotation))

    def options(self, annotation: Handle, *, chosen: bool = False) -> Iterator[str]:
        """Yield the labels of all choices, or of those that were chosen."""
        for index in range(min(pdfium.FPDFAnnot_GetOptionCount(self.handle, annotation), _MAX_OPTIONS)):
            if not chosen or pdfium.FPDFAnnot_IsOptionSelected(self.handle, annotation, index):
                yield utf16(pdfium.FPDFAnnot_GetOptionLabel, self.handle, annotation, index)

    def entries(self, page: Handle, number: int) -> tuple[list[Entry], int]:
        """List the entries of page `number` (from 0), and count the annotations that could not be read.

        Annotations are drawn into the page's dictionary: read the page's own text from `page`, which was loaded before.
        """
        self.unshown = []
        count = pdfium.FPDFPage_GetAnnotCount(page)
        if count > MAX_ANNOTATIONS:
            return [], count
        self.altered = True
        text = pdfium.FPDFText_LoadPage(page)
        own = pdfium.FPDFPage_CountObjects(page)
        fields = list(self._fields(page, count))
        if pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS:
            drawn = pdfium.FPDF_LoadPage(self._document, number)
            for _ in range(own):  # only the annotations are left
                item = pdfium.FPDFPage_GetObject(drawn, 0)
                if pdfium.FPDFPage_RemoveObject(drawn, item):
                    pdfium.FPDFPageObj_Destroy(item)
            _share_out(drawn, fields)
            pdfium.FPDF_ClosePage(drawn)
        lines = [line for item in fields for line in item.entries()]
        new = [line for line in lines if not _is_in_content(text, line)]
        self.unshown = [item.value for item in fields if item.unshown]
        pdfium.FPDFText_ClosePage(text)
        return new, 0

    def _fields(self, page: Handle, count: int) -> Iterator[_Field]:
        """Yield the filled-in fields; take these, and annotations of other kinds, off the page."""
        for index in reversed(range(count)):
            annotation = pdfium.FPDFPage_GetAnnot(page, index)
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            field, draw = None, False
            if kind in _FILLED and not pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN:
                value, draw = self._value(annotation, kind)
                field = _Field(_box(annotation), value, always=kind == pdfium.FPDF_ANNOT_WIDGET)
            pdfium.FPDFPage_CloseAnnot(annotation)
            if not draw:
                pdfium.FPDFPage_RemoveAnnot(page, index)
            if field is not None:
                yield field

    def _value(self, annotation: Handle, kind: int) -> tuple[str, bool]:
        """Return the value, and whether to read the appearance, too."""
        get = pdfium.FPDFAnnot_GetStringValue
        if kind == pdfium.FPDF_ANNOT_STAMP:
            return "", True
        if kind == pdfium.FPDF_ANNOT_FREETEXT:
            return utf16(get, annotation, b"Contents", limit=_LONG), True
        field_kind = pdfium.FPDFAnnot_GetFormFieldType(self.handle, annotation)
        if field_kind == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
            return "", False
        if field_kind in _SWITCHES:
            return ON if self.is_on(annotation) else "", False
        value = utf16(pdfium.FPDFAnnot_GetFormFieldValue, self.handle, annotation, limit=_LONG)
        if field_kind in _CHOICES:
            # The appearance of a list shows all of its choices.
            return "\n".join(self.options(annotation, chosen=True)) or value, False
        return value or utf16(get, annotation, b"V", limit=_LONG), True


def _share_out(page: Handle, fields: list[_Field]) -> None:
    """Give each line of a page that shows only annotations to the field with the box around it."""
    text = pdfium.FPDFText_LoadPage(page)
    x, y = ctypes.c_double(), ctypes.c_double()
    letters: list[tuple[str, float, float]] = []
    owner: _Field | None = None
    for index in range(max(0, pdfium.FPDFText_CountChars(text))):
        letter = chr(min(pdfium.FPDFText_GetUnicode(text, index), 0x10FFFF))
        pdfium.FPDFText_GetCharOrigin(text, index, x, y)
        place = (x.value, y.value)
        if letter in "\r\n" or (not letter.isspace() and owner and not owner.holds(*place)):
            _end_line(owner, letters, pdfium.FPDFText_GetFontSize(text, max(0, index - 1)))
            letters, owner = [], None
        if not letter.isspace():
            owner = owner or next((item for item in fields if item.holds(*place)), None)
        letters.append((letter, *place))
    _end_line(owner, letters, pdfium.FPDFText_GetFontSize(text, 0))
    pdfium.FPDFText_ClosePage(text)


def _end_line(owner: _Field | None, letters: list[tuple[str, float, float]], size: float) -> None:
    text = "".join(letter for letter, _, _ in letters).strip()
    if owner is None or not text:
        return
    shown = [place for place in letters if not place[0].isspace()]
    size = size if 1 < size < 200 else _SIZE
    _, x0, base = shown[0]
    owner.lines.append((text, x0, base, max(x0, shown[-1][1] + 0.5 * size), size))


def _is_in_content(text: Handle, line: Entry) -> bool:
    """Whether the page's own text is the same in the same place, as in a form printed with its values."""
    words, x0, base, x1, size = line
    box = (x0 - 2, base + size, x1 + 2, base - 0.3 * size)
    count = pdfium.FPDFText_GetBoundedText(text, *box, None, 0)
    if count <= 0:
        return False
    buffer = (ctypes.c_ushort * (count + 1))()
    pdfium.FPDFText_GetBoundedText(text, *box, buffer, count)
    there = bytes(buffer).decode("utf-16-le", "replace").replace("\0", "")
    said = " ".join(_FILL_LINE.sub(" ", there).split())
    return f" {' '.join(words.split())} " in f" {said} "
