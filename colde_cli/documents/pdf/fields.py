"""Read the filled-in values on a page of a PDF: form fields, text boxes and stamps.

They are annotations, not part of the page's content. PDFium reads the text of an annotation's appearance only after the
annotation is drawn into the page; this is done to a copy. A field's value (/V) is read as well if its appearance does
not show it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.pictures import MAX_ANNOTATIONS
from colde_cli.documents.worker import HIDDEN, ON

Handle = Any  # a pointer of ctypes, or a function of the library
# Text, left end, baseline, right end and size, in points of the page's own coordinates.
Entry = tuple[str, float, float, float, float]

FILLED = frozenset((pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP))
"""Kinds of annotations that may be filled in."""
_MAX_OPTIONS = 1_000
_SIZE = 10.0  # in points, of a value without an appearance
_FILL_LINE = re.compile("_{2,}|\\.{3,}")


def utf16(call: Handle, *arguments: object, limit: int = 1 << 20) -> str:
    """Call a PDFium function that fills a UTF-16 buffer; return its string, "" if it takes more than `limit` bytes."""
    size = call(*arguments, None, 0)
    if not 2 < size < limit:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    call(*arguments, buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace")


class _Field:
    """An annotation: its box (left, foot, right, top), its value, and the lines of its appearance."""

    def __init__(self, box: tuple[float, float, float, float], value: str, *, always: bool) -> None:
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
        if shown == value:  # shown perhaps as one box for each letter
            return self._value_lines()
        return self.lines if value in shown else self.lines + self._value_lines()

    def _value_lines(self) -> list[Entry]:
        left, foot, right, top = self.box
        size = min(_SIZE, max(4.0, 0.8 * (top - foot)))
        base = top - size
        if self.lines:
            _, _, base, _, size = self.lines[0]
        rows = [row.strip() for row in re.split(r"[\r\n]+", self.value) if row.strip()]
        return [(row, left, base - 1.2 * size * number, right, size) for number, row in enumerate(rows)]


def _long(call: Handle, *arguments: object) -> str:
    # The limit on a page's characters decides whether it is too long.
    return utf16(call, *arguments, limit=1 << 28)


def is_on(form: Handle, annotation: Handle) -> bool:
    """Whether a checkbox or a radio button is on."""
    state = utf16(pdfium.FPDFAnnot_GetStringValue, annotation, b"AS")
    return state not in ("", "Off") or bool(pdfium.FPDFAnnot_IsChecked(form, annotation))


class FormReader:
    """Reads the filled-in values on the pages of a document.

    Attributes:
        dynamic: the form is an XFA form; its pages do not show all values.
        unshown: contents of the text boxes of the last page that was read that their appearances do not show.
    """

    def __init__(self, document: Handle) -> None:
        self.unshown: list[str] = []
        self._document = document
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

    def entries(self, page: Handle, number: int) -> tuple[list[Entry], int]:
        """List the entries of page `number` (from 0), and count the annotations that could not be read.

        Annotations are drawn into the page's dictionary: read the page's own text from `page`, which was loaded before.
        """
        self.unshown = []
        count = pdfium.FPDFPage_GetAnnotCount(page)
        if count > MAX_ANNOTATIONS:
            return [], count
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
        found = [line for item in fields for line in item.entries()]
        new = [line for line in found if not _is_in_content(text, line)]
        self.unshown = [item.value for item in fields if item.unshown]
        pdfium.FPDFText_ClosePage(text)
        return new, 0

    def _fields(self, page: Handle, count: int) -> Iterator[_Field]:
        """Yield the filled-in fields; take these, and annotations of other kinds, off the page."""
        for index in reversed(range(count)):
            annotation = pdfium.FPDFPage_GetAnnot(page, index)
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            seen = not pdfium.FPDFAnnot_GetFlags(annotation) & HIDDEN
            found, draw = None, False
            if seen and kind in FILLED:
                value, draw = self._value(annotation, kind)
                box = pdfium.FS_RECTF()
                pdfium.FPDFAnnot_GetRect(annotation, box)
                sides = (box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top))
                found = _Field(sides, value, always=kind == pdfium.FPDF_ANNOT_WIDGET)
            pdfium.FPDFPage_CloseAnnot(annotation)
            if not draw:
                pdfium.FPDFPage_RemoveAnnot(page, index)
            if found is not None:
                yield found

    def _value(self, annotation: Handle, kind: int) -> tuple[str, bool]:
        """Return the value, and whether to read the appearance, too."""
        if kind != pdfium.FPDF_ANNOT_WIDGET:
            is_box = kind == pdfium.FPDF_ANNOT_FREETEXT
            return _long(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents") if is_box else "", True
        form = self.handle
        field_kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
        if field_kind == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
            return "", False
        if field_kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
            return ON if is_on(form, annotation) else "", False
        value = _long(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
        if field_kind in (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX):
            # The appearance of a list shows all of its choices.
            return "\n".join(self._chosen(annotation)) or value, False
        return value or _long(pdfium.FPDFAnnot_GetStringValue, annotation, b"V"), True

    def _chosen(self, annotation: Handle) -> Iterator[str]:
        for index in range(min(pdfium.FPDFAnnot_GetOptionCount(self.handle, annotation), _MAX_OPTIONS)):
            if pdfium.FPDFAnnot_IsOptionSelected(self.handle, annotation, index):
                yield utf16(pdfium.FPDFAnnot_GetOptionLabel, self.handle, annotation, index)


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
