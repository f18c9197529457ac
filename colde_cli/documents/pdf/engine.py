"""Read a PDF with PDFium, as a script in a separate process; colde never imports it.

PDFium has no memory limit, can loop for ever and can abort its process, so the process sets limits on itself. From
colde it imports only `worker`, `limits` and `fields`, since a start costs some 30 ms.

    request   password, first, last (1-based pages), step, characters, and the limits
    answer    JSON lines: one `document` or `refused`, then one `page` per page, then `end`

If the process dies, the page that it began and did not finish is to blame.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

sys.path.extend(json.loads(os.environ["COLDE_READER_PATH"]))

import pypdfium2_raw as pdfium

from colde_cli.documents.limits import limit_step, send
from colde_cli.documents.pdf.fields import Entry, FormReader, is_filled, utf16
from colde_cli.documents.worker import Request, serve

_MAX_BOOKMARKS = 10_000
_JUNK = 1 << 20  # bytes that may precede the file, such as the head of a mail
_MAX_OBJECTS = 20_000
_HYPHENS = ("\x02", "\ufffe")  # PDFium puts them where it joins a word over the end of a line
_WORD_OR_BREAK = re.compile("[^ \t\xa0\r\n\x02\ufffe]+|[\r\n]+")
_NO_CHARACTER = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd]")
_UNREADABLE = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")
_INVISIBLE = frozenset((3, 7))  # text rendering modes that paint nothing (ISO 32000-1, table 106)

SOFT_HYPHEN = "\u00ad"
Handle = Any  # a pointer of ctypes, or a function of the library
# size in points, font, weight (0 unknown), italic, angle in degrees, hidden
LetterStyle = tuple[float, str, int, bool, int, bool]


def bookmarks(document: Handle) -> list[tuple[int, str, int]]:
    """List level, title and page (0 for none) of the outline's entries; loops are cut."""
    found: list[tuple[int, str, int]] = []
    seen: set[int] = set()
    stack = [(1, pdfium.FPDFBookmark_GetFirstChild(document, None))]
    while stack and len(found) < _MAX_BOOKMARKS:
        level, mark = stack.pop()
        if not mark or ctypes.addressof(mark.contents) in seen:
            continue
        seen.add(ctypes.addressof(mark.contents))
        found.append((level, utf16(pdfium.FPDFBookmark_GetTitle, mark), target_page(document, mark)))
        stack.append((level, pdfium.FPDFBookmark_GetNextSibling(document, mark)))
        if level < 32:
            stack.append((level + 1, pdfium.FPDFBookmark_GetFirstChild(document, mark)))
    return found


def target_page(document: Handle, mark: Handle) -> int:
    """Find the 1-based page that a bookmark leads to; 0 if it leads nowhere."""
    target = pdfium.FPDFBookmark_GetDest(document, mark)
    if not target:
        action = pdfium.FPDFBookmark_GetAction(mark)
        target = pdfium.FPDFAction_GetDest(document, action) if action else None
    return pdfium.FPDFDest_GetDestPageIndex(document, target) + 1 if target else 0


class PageReader:
    """Reads the words of one page with their fonts, and gathers them into lines."""

    def __init__(self, page: Handle, number: int) -> None:
        self.number = number
        box = pdfium.FS_RECTF()
        pdfium.FPDF_GetPageBoundingBox(page, box)  # as text is: without regard to /Rotate
        self.left, self.foot = box.left, box.bottom
        self.width, self.height = box.right - box.left, box.top - box.bottom
        self.text = pdfium.FPDFText_LoadPage(page)
        self.count = max(0, pdfium.FPDFText_CountChars(self.text))
        self.unreadable = 0
        self.suspect = 0
        self.lines: list[list[object]] = []
        self.words: list[tuple[str, float, float, LetterStyle]] = []
        self.last = 0
        self.rules = list(self._read_rules(page))
        self._styles: dict[int, LetterStyle] = {}
        self._fonts: dict[int, tuple[str, int, bool]] = {}
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._box = [ctypes.c_double() for _ in range(4)]
        self._size = ctypes.c_float()
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(256)
        self._nothing: LetterStyle = (0.0, "", 0, False, 0, False)

    def read(self) -> None:
        """Fill `lines`: text, x0, baseline, x1 (along its direction), angle, mark, ruled, runs of styles."""
        get, handle = pdfium.FPDFText_GetUnicode, self.text
        codes = (get(handle, index) for index in range(self.count))
        text = "".join([chr(code) if code < 0x110000 else "\ufffd" for code in codes])
        self.unreadable = len(_UNREADABLE.findall(text))
        for found in _WORD_OR_BREAK.finditer(text):
            word = found.group()
            if word[0] in "\r\n":
                self._flush()
            else:
                hyphen = text[found.end() : found.end() + 1] in _HYPHENS
                self._word(word, found.start(), found.end(), hyphen=hyphen)
        self._flush()
        pdfium.FPDFText_ClosePage(handle)

    def placed(self, entry: Entry) -> list[object]:
        """Put a filled-in value into the form of a line."""
        text, x0, base, x1, size = entry
        styles = [[size, "", 0, False, 0, False, len(text)]]
        text = _NO_CHARACTER.sub("\ufffd", text)
        return [text, x0 - self.left, base - self.foot, x1 - self.left, 0, 0, False, styles]

    def _read_rules(self, page: Handle) -> Iterator[tuple[float, float, float]]:
        """Yield left end, right end and height of thin horizontal strokes; they may underline a heading."""
        left, foot, right, top = (ctypes.c_float() for _ in range(4))
        for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
            item = pdfium.FPDFPage_GetObject(page, index)
            if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_PATH:
                continue
            if not pdfium.FPDFPageObj_GetBounds(item, left, foot, right, top):
                continue
            if top.value - foot.value < 3 and right.value - left.value > 10:
                yield left.value - self.left, right.value - self.left, foot.value - self.foot

    def _word(self, word: str, start: int, end: int, *, hyphen: bool) -> None:
        if self.unreadable:
            word = _NO_CHARACTER.sub("\ufffd", word)
        if pdfium.FPDFText_HasUnicodeMapError(self.text, start) == 1:
            self.suspect += end - start
        pdfium.FPDFText_GetCharOrigin(self.text, start, self._x, self._y)
        style = self._style(start)
        x, y = self._x.value, self._y.value
        if (
            self.words
            and self.words[-1][0].endswith(SOFT_HYPHEN)
            and abs(y - self.words[-1][2]) > style[0] / 2
        ):
            self._flush()  # PDFium joined a word over the line's end; keep two lines
        self.words.append((word + SOFT_HYPHEN if hyphen else word, x, y, style))
        self.last = end - 1

    def _style(self, index: int) -> LetterStyle:
        """Read size, font, weight, italic, angle and hidden from a character's text object."""
        item = pdfium.FPDFText_GetTextObject(self.text, index)
        if not item:
            return self.words[-1][3] if self.words else self._nothing
        key = ctypes.addressof(item.contents)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._read_style(item)
        return style

    def _read_style(self, item: Handle) -> LetterStyle:
        pdfium.FPDFTextObj_GetFontSize(item, self._size)
        scale, angle = 1.0, 0
        if pdfium.FPDFPageObj_GetMatrix(item, self._matrix):
            matrix = self._matrix
            scale = math.hypot(matrix.c, matrix.d) or 1.0
            angle = round(math.degrees(math.atan2(matrix.b, matrix.a))) % 360
        name, weight, italic = self._font(pdfium.FPDFTextObj_GetFont(item))
        hidden = pdfium.FPDFTextObj_GetTextRenderMode(item) in _INVISIBLE
        return abs(self._size.value * scale), name, weight, italic, angle, hidden

    def _font(self, font: Handle) -> tuple[str, int, bool]:
        if not font:
            return "", 0, False
        key = ctypes.addressof(font.contents)
        known = self._fonts.get(key)
        if known is None:
            size = pdfium.FPDFFont_GetBaseFontName(font, self._name, 256)
            name = self._name.value.decode("utf-8", "replace") if 0 < size <= 256 else ""
            flags = pdfium.FPDFFont_GetFlags(font)
            weight = 700 if flags > 0 and flags & 1 << 18 else pdfium.FPDFFont_GetWeight(font)
            known = self._fonts[key] = (name, weight, bool(flags > 0 and flags & 1 << 6))
        return known

    def _flush(self) -> None:
        """End the line: gather the styles of its words, and its place along its own direction."""
        if not self.words:
            return
        runs: list[list[Any]] = []
        for word, _, _, style in self.words:
            if runs and runs[-1][0] == style:
                runs[-1][1] += len(word)
            else:
                runs.append([style, len(word)])
        angle = max(runs, key=lambda run: run[1])[0][4]
        placed = [self._turn(x, y, angle) for _, x, y, _ in self.words]
        across = sorted(v for _, v in placed)
        base, x0 = across[(len(across) - 1) // 2], min(u for u, _ in placed)
        text = " ".join(word[0] for word in self.words).replace(SOFT_HYPHEN + " ", SOFT_HYPHEN)
        x1 = max(self._right_end(angle), x0)
        mark = self._mark(base, runs) if angle == 0 else 0
        ruled = angle == 0 and any(self._is_under(rule, x0, x1, base) for rule in self.rules)
        styles = [[*style, count] for style, count in runs]
        self.lines.append([text, x0, base, x1, angle, mark, ruled, styles])
        self.words = []

    def _mark(self, base: float, runs: list[list[Any]]) -> int:
        """Count the small raised letters at the line's end: the mark of a footnote."""
        size = max(style[0] for style, _ in runs)
        count = 0
        while count < 3 and self.last - count > 0:
            style = self._style(self.last - count)
            pdfium.FPDFText_GetCharOrigin(self.text, self.last - count, self._x, self._y)
            if style[0] > 0.8 * size or self._y.value - self.foot < base + 0.15 * size:
                break
            count += 1
        return count

    @staticmethod
    def _is_under(rule: tuple[float, float, float], x0: float, x1: float, base: float) -> bool:
        """Whether a rule begins and ends with the line, just below its baseline."""
        left, right, height = rule
        return abs(left - x0) < 3 and abs(right - x1) < 3 and base - 4.5 < height < base + 0.5

    def _turn(self, x: float, y: float, angle: int) -> tuple[float, float]:
        """Turn a point as the page must turn for text at `angle` to run from left to right."""
        x, y = x - self.left, y - self.foot
        if angle == 0:
            return x, y
        sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        left = min(0.0, self.width * cosine, self.height * sine)
        foot = min(0.0, -self.width * sine, self.height * cosine)
        return x * cosine + y * sine - left, y * cosine - x * sine - foot

    def _right_end(self, angle: int) -> float:
        left, right, bottom, top = self._box
        if not pdfium.FPDFText_GetCharBox(self.text, self.last, left, right, bottom, top):
            return 0.0
        corners = ((left, bottom), (left, top), (right, bottom), (right, top))
        return max(self._turn(x.value, y.value, angle)[0] for x, y in corners)


def open_document(data: bytes, password: str | None) -> Handle:
    """Open the file: PDFium's handle or a null pointer. Tries the password in UTF-8 (AES-256) and Latin-1 (older)."""
    wanted = {None} if password is None else {password.encode(), password.encode("latin-1", "replace")}
    for attempt in sorted(wanted, key=lambda item: item is not None and not item.isascii()):
        document = pdfium.FPDF_LoadMemDocument64(data, len(data), attempt)
        if document:
            break
    return document


def answer(request: Request, data: bytes) -> None:
    """Answer a request for a file."""
    limit_step(request["step"])
    data = data[max(0, data.find(b"%PDF-", 0, _JUNK)) :]
    document = open_document(data, request["password"])
    if not document:
        send("refused", reason="password" if pdfium.FPDF_GetLastError() == 4 else "damaged")
        return
    count = pdfium.FPDF_GetPageCount(document)
    title = utf16(pdfium.FPDF_GetMetaText, document, b"Title")
    form = FormReader(document)
    outline = bookmarks(document) if request["first"] <= 1 else []
    send("document", pages=count, title=title, outline=outline, dynamic=form.dynamic)
    for number in range(request["first"], min(count, request["last"] or count) + 1):
        limit_step(request["step"])
        send("begin", number=number)
        read_page(document, number, form, request["characters"])
    send("end")
    if request["kept"]:
        form.close()
        pdfium.FPDF_CloseDocument(document)


def is_blank(page: Handle, *, filled: bool) -> bool:
    """Whether nothing is on the page; the frames of a filled-in form do not count."""
    items = range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS))
    if not filled:
        return not items
    kinds = {pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, index)) for index in items}
    return kinds <= {pdfium.FPDF_PAGEOBJ_PATH}


def read_page(document: Handle, number: int, form: FormReader, most: int) -> None:
    """Send one page; one that PDFium cannot load, or of more than `most` characters, is sent as unreadable."""
    page = pdfium.FPDF_LoadPage(document, number - 1)
    if not page:
        send("page", number=number, failed=True)
        return
    reader = PageReader(page, number)
    if reader.count > most:
        send("page", number=number, failed=True)
        return
    reader.read()
    entries: list[Entry] = []
    unread = 0
    if is_filled(page):
        entries, unread = form.entries(page, number - 1)
    if sum(len(entry[0]) for entry in entries) > most:
        entries, unread = [], len(entries)
    send(
        "page",
        number=number,
        width=reader.width,
        height=reader.height,
        unreadable=reader.unreadable + sum(len(_UNREADABLE.findall(entry[0])) for entry in entries),
        suspect=reader.suspect,
        blank=is_blank(page, filled=bool(entries)),
        lines=reader.lines,
        entries=[reader.placed(entry) for entry in entries],
        unread=unread,
    )
    pdfium.FPDF_ClosePage(page)


if __name__ == "__main__":
    pdfium.FPDF_InitLibrary()
    serve(answer)
