"""Read a PDF with PDFium, in a process of its own.

PDFium has no memory limit, can loop for ever and can abort its process, so the process sets limits on itself. From
colde it imports only files that need nothing but PDFium and the standard library, since a start costs some 30 ms.

    request   password, first, last (1-based pages), step, characters, and the limits; perhaps `boxes`, the pages of
              which to send the places of letters, too
    answer    JSON lines: one `document` or `refused`, then one `page` per page, then `end`, and `attached`: what the
              document holds beside its pages

If the process dies, the page that it began and did not finish is to blame; after `end`, it is what is attached.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
from collections.abc import Iterator
from itertools import accumulate
from operator import itemgetter
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.annotations import AnnotationReader, Entry, FormReader, target_of
from colde_cli.documents.pdf.page_text import (
    HYPHENS,
    LetterStyle,
    LineBoxes,
    LineValues,
    PageText,
    Run,
    entry_boxes,
    survey_objects,
)
from colde_cli.documents.pdf.parts import (
    alternatives,
    attached,
    pictured_area,
    pictures_among,
    stored_digest,
    stored_names,
    utf16,
)
from colde_cli.documents.symbol_fonts import is_printed_sign, printed_signs
from colde_cli.documents.worker import Request, limit_step, send, write

_MAX_BOOKMARKS = 10_000
_JUNK = 1 << 20  # bytes that may precede the file, such as the head of a mail
_LINE = re.compile("[^\r\n]+")
_WORD = re.compile("[^ \t\xa0\r\n\x02\ufffe]+")
_SPECIAL = re.compile("[\t\xa0\xad\x02\ufffe]")
_NO_CHARACTER = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd]")
_UNREADABLE = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")

_TURN = 3  # degrees; the letters of a skewed scan differ less
_INITIAL = 1.7  # sizes of the text after it
SOFT_HYPHEN = "\u00ad"
Handle = Any  # a pointer of ctypes, or a function of the library

pdfium.FPDF_InitLibrary()  # once for all children of the worker


def bookmarks(document: Handle) -> list[tuple[int, str, int, str]]:
    """List level, title, page (0 for none) and target of the outline's entries; loops are cut."""
    entries: list[tuple[int, str, int, str]] = []
    seen: set[int] = set()
    stack = [(1, pdfium.FPDFBookmark_GetFirstChild(document, None))]
    while stack and len(entries) < _MAX_BOOKMARKS:
        level, mark = stack.pop()
        if not mark or ctypes.addressof(mark.contents) in seen:
            continue
        seen.add(ctypes.addressof(mark.contents))
        target, outside = pdfium.FPDFBookmark_GetDest(document, mark), ""
        if not target and (action := pdfium.FPDFBookmark_GetAction(mark)):
            target, outside = pdfium.FPDFAction_GetDest(document, action), target_of(document, action)
        page = pdfium.FPDFDest_GetDestPageIndex(document, target) + 1 if target and not outside else 0
        entries.append((level, utf16(pdfium.FPDFBookmark_GetTitle, mark), page, outside))
        stack.append((level, pdfium.FPDFBookmark_GetNextSibling(document, mark)))
        if level < 32:
            stack.append((level + 1, pdfium.FPDFBookmark_GetFirstChild(document, mark)))
    return entries


def _turns(one: Run, other: Run) -> bool:
    """Whether two runs are written in different directions."""
    return _TURN < (other[2][4] - one[2][4]) % 360 < 360 - _TURN


def _begins_large(words: list[str], runs: list[Run]) -> bool:
    """Whether a line opens with one capital letter in a much larger type: an initial, which `prose` joins."""
    large = runs[0][1] == 1 and runs[0][2][0] >= _INITIAL * runs[1][2][0]
    return large and len(words[0]) == 1 and words[0].isupper() and words[1][0].isalpha()


class PageReader:
    """Reads the words of one page with their fonts, and gathers them into lines."""

    def __init__(self, page: Handle, *, boxes: bool = False) -> None:
        box = pdfium.FS_RECTF()
        pdfium.FPDF_GetPageBoundingBox(page, box)  # as text is: without regard to /Rotate
        self.left, self.foot = float(box.left), float(box.bottom)
        self.width, self.height = box.right - box.left, box.top - box.bottom
        self.text = PageText(page)
        self.unreadable = 0
        self.suspect = 0
        self.lines: list[LineValues] = []
        self.boxes: list[LineBoxes] = []
        self.kinds, strokes, pictured = survey_objects(page)
        self.pictures = [*map(stored_digest, pictures_among(pictured))] if pictured else []
        self.covered = min(1.0, pictured_area(pictured) / (self.width * self.height or 1.0)) if pictured else 0.0
        self._rules = [(left - self.left, right - self.left, foot - self.foot) for left, right, foot in strokes]
        self._letters = ""
        self._words: list[str] = []
        self._texts: list[str] = []  # the words as they are written, with signs for super- and subscripts
        self._begins: list[int] = []  # numbers of their first characters
        self._last = 0
        self._runs: list[Run] = []
        self._styles: list[tuple[LetterStyle, int]] = []
        self._with_boxes = boxes

    def read(self) -> None:
        """Fill `lines`."""
        self._letters = self.text.read()
        self.unreadable = len(_UNREADABLE.findall(self._letters))
        for line in _LINE.finditer(self._letters):
            for words, begins in self._words_of(line.group(), line.start()):
                self._take(words, begins)
            self._flush()
        pdfium.FPDFText_ClosePage(self.text.handle)

    def _words_of(self, line: str, begin: int) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the words of a line and the numbers of their first characters, cut after a divided word."""
        if _SPECIAL.search(line) is None and "  " not in line:
            words = line.strip(" ").split(" ")
            begin += len(line) - len(line.lstrip(" "))
            begins = [*accumulate([len(word) + 1 for word in words], initial=begin)]
            if words[0]:
                yield words, begins[:-1]
            return
        words, begins = [], []
        for match in _WORD.finditer(self._letters, begin, begin + len(line)):
            word, end = match.group(), match.end()
            words.append(self._with_hyphens(word, match.start()) if SOFT_HYPHEN in word[:-1] else word)
            begins.append(match.start())
            if word[-1] == SOFT_HYPHEN or self._letters[end : end + 1] in HYPHENS:
                yield words, begins
                words, begins = [], []
        if words:
            yield words, begins

    def _with_hyphens(self, word: str, begin: int) -> str:
        """Write a soft hyphen within a word as a hyphen where it is printed: some fonts call their hyphen so."""
        letters = list(word)
        for place, letter in enumerate(word[:-1]):
            box = self.text.box(begin + place) if letter == SOFT_HYPHEN else None
            if box is not None and box[1] > box[0]:
                letters[place] = "-"
        return "".join(letters)

    def placed(self, entry: Entry) -> LineValues:
        """Put a filled-in value into the form of a line."""
        text, x0, base, x1, size = entry
        style: LetterStyle = (size, "", 0, False, 0, False)
        text = _NO_CHARACTER.sub("\ufffd", text)
        return text, x0 - self.left, base - self.foot, x1 - self.left, 0, 0, False, [(style, len(text))]

    def _take(self, words: list[str], begins: list[int]) -> None:
        """Add words to the line; PDFium may have joined a word over the line's end: then begin another."""
        before = self._runs[-1] if self._runs else None
        runs, mixed = self.text.runs(words, begins, before[2] if before else None)
        if before and (abs(runs[0][5] - before[5]) > runs[0][2][0] / 2 or _turns(before, runs[0])):
            self._flush()
        elif len(runs) > 1 and _begins_large(words, runs):
            self._take(words[:1], begins[:1])
            self._flush()
            words, begins = words[1:], begins[1:]
            runs, mixed = self.text.runs(words, begins, runs[0][2])
        if len(runs) > 1 and any(map(_turns, runs, runs[1:])):
            for run in runs:
                self._take(words[run[0] : run[1]], begins[run[0] : run[1]])
            return
        styles, texts = self._styles, words[:]
        for index in mixed:
            texts[index] = self.text.written(words[index], begins[index])
        for first, end, style, font, _, _ in runs:
            if is_printed_sign(style[1]):
                for word in range(first, end):
                    texts[word] = printed_signs(style[1], texts[word]) if word not in mixed else texts[word]
            self.suspect += self.text.guessed(words[first:end], begins[first:end], font)
            count = sum(map(len, texts[first:end]))
            if styles and styles[-1][0] == style:
                count += styles.pop()[1]
            styles.append((style, count))
        self._last = begins[-1] + len(words[-1]) - 1
        if self._letters[self._last + 1 : self._last + 2] in HYPHENS:
            words[-1] += SOFT_HYPHEN
            texts[-1] += SOFT_HYPHEN
            styles.append((style, styles.pop()[1] + 1))
        self._words += words
        self._texts += texts
        self._begins += begins
        self._runs += runs

    def _flush(self) -> None:
        """End the line: gather its words, and its place along its own direction."""
        styles = self._styles
        if not self._words:
            return
        angle = styles[0][0][4] if len(styles) == 1 else max(styles, key=itemgetter(1))[0][4]
        base, x0 = self._place(angle)
        text = " ".join(self._texts)
        if SOFT_HYPHEN in text:
            text = text.replace(SOFT_HYPHEN + " ", SOFT_HYPHEN)
        if self.unreadable:
            text = _NO_CHARACTER.sub("\ufffd", text)
        x1 = max(self._right_end(self._last, angle), x0)
        mark = self._mark(self._last, base) if angle == 0 else 0
        if mark and text[-mark - 1 : -mark] == "^":
            mark += 1
        ruled = angle == 0 and any(
            base - 4.5 < height < base + 0.5 and abs(left - x0) < 3 and abs(right - x1) < 3
            for left, right, height in self._rules
        )
        self.lines.append((text, x0, base, x1, angle, mark, ruled, styles))
        if self._with_boxes:
            spans = []
            for begin, word in zip(self._begins, self._words, strict=True):
                end = begin + len(word)
                # The word may have been given a soft hyphen that is not on the page.
                spans.append((begin, end - (self._letters[end - 1] != word[-1])))
            self.boxes.append(self.text.boxes(spans))
        self._words, self._texts, self._begins, self._runs, self._styles = [], [], [], [], []

    def _place(self, angle: int) -> tuple[float, float]:
        """The middle one of the heights of the words across the line's direction, and its left end along it."""
        runs = self._runs
        if angle == 0:
            if len(runs) == 1:
                return runs[0][5] - self.foot, runs[0][4] - self.left
            across = [run[5] for run in runs for _ in range(run[0], run[1])]
            across.sort()
            return across[(len(across) - 1) // 2] - self.foot, min(run[4] for run in runs) - self.left
        turned = [self._turn(*self.text.origin(begin), angle) for begin in self._begins]
        across = sorted(v for _, v in turned)
        return across[(len(across) - 1) // 2], min(u for u, _ in turned)

    def _mark(self, last: int, base: float) -> int:
        """Count the small raised letters at the line's end: the mark of a footnote."""
        size = max(style[0] for style, _ in self._styles)
        count = 0
        while count < 3 and last - count > 0:
            style = self.text.style(last - count) or self._runs[-1][2]
            if style[0] > 0.8 * size:
                break
            if self.text.origin(last - count)[1] - self.foot < base + 0.15 * size:
                break
            count += 1
        return count

    def _turn(self, x: float, y: float, angle: int) -> tuple[float, float]:
        """Turn a point as the page must turn for text at `angle` to run from left to right."""
        x, y = x - self.left, y - self.foot
        if angle == 0:
            return x, y
        sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        left = min(0.0, self.width * cosine, self.height * sine)
        foot = min(0.0, -self.width * sine, self.height * cosine)
        return x * cosine + y * sine - left, y * cosine - x * sine - foot

    def _right_end(self, index: int, angle: int) -> float:
        box = self.text.box(index)
        if box is None:
            return 0.0
        left, right, foot, top = box
        if angle == 0:
            return max(left, right) - self.left
        return max(self._turn(x, y, angle)[0] for x in (left, right) for y in (foot, top))


def from_head(data: bytes) -> bytes:
    """The file without what precedes it."""
    return data[max(0, data.find(b"%PDF-", 0, _JUNK)) :]


_CODES = ("latin-1", "utf-8")


def open_document(data: bytes, password: str | None) -> Handle:
    """Open the file: PDFium's handle or a null pointer. Tries each line in UTF-8 (AES-256) and Latin-1 (older).

    The bytes must live as long as the handle.
    """
    lines = [] if password is None else password.splitlines() or [""]
    attempts: list[bytes | None] = [line.encode(code, "replace") for line in lines for code in _CODES]
    for attempt in dict.fromkeys(attempts or [None]):
        document = pdfium.FPDF_LoadMemDocument64(data, len(data), attempt)
        if document:
            break
    return document


def answer(request: Request, data: bytes) -> None:
    """Answer a request for a file."""
    limit_step(request["step"])
    data = from_head(data)
    document = open_document(data, request["password"])
    if not document:
        send("refused", reason="password" if pdfium.FPDF_GetLastError() == 4 else "damaged")
        return
    count = pdfium.FPDF_GetPageCount(document)
    title = utf16(pdfium.FPDF_GetMetaText, document, b"Title")
    form = FormReader(document)
    outline = bookmarks(document) if request["first"] <= 1 else []
    send("document", pages=count, title=title, outline=outline, dynamic=form.dynamic)
    deferred: list[int] = []
    tagged = bool(pdfium.FPDFCatalog_IsTagged(document)) and stored_names(data) & {b"Alt", b"Catalog"} != {b"Catalog"}
    for number in range(request["first"], min(count, request["last"] or count) + 1):
        limit_step(request["step"])
        send("begin", number=number)
        boxes = number in request["boxes"]
        if read_page(document, number, form, request["characters"], boxes=boxes, tagged=tagged):
            deferred.append(number)
    send("end")
    limit_step(request["step"])
    if form.altered:  # signatures and attached files are gone with the annotations that showed them
        form.close()
        pdfium.FPDF_CloseDocument(document)
        document = open_document(data, request["password"])
    texts, parts = attached(document, data, request["password"], deferred)
    send("attached", outside=texts, parts=parts, pictures=[])
    if request["kept"]:
        form.close()
        pdfium.FPDF_CloseDocument(document)


def read_page(document: Handle, number: int, form: FormReader, limit: int, *, boxes: bool, tagged: bool) -> bool:
    """Send one page; one that PDFium cannot load, or of more than `limit` characters, is sent as unreadable.

    If the document is `tagged`, pictures may have texts that stand for them. With `boxes`, the places of letters are
    sent, too. Returns whether files or media are attached to the page.
    """
    page = pdfium.FPDF_LoadPage(document, number - 1)
    reader = PageReader(page, boxes=boxes) if page else None
    if reader is None or reader.text.count > limit:
        send("page", number=number, failed=True)
        return False
    notes = AnnotationReader(document, page, reader.text.handle, form)
    notes.read()
    if tagged:
        notes.texts += [("alternative-texts", text, "") for text in alternatives(page)]
    reader.read()
    entries: list[Entry] = []
    unread = 0
    if notes.filled:
        entries, unread = form.entries(page, number - 1)
        notes.texts += [("comments", text, "text box") for text in form.unshown]
    if sum(len(entry[0]) for entry in entries) > limit:
        entries, unread = [], len(entries)
    kinds = reader.kinds
    # It is sent with the beginning of the next page, or the end.
    write(
        "page",
        number=number,
        width=reader.width,
        height=reader.height,
        unreadable=reader.unreadable + sum(len(_UNREADABLE.findall(entry[0])) for entry in entries),
        suspect=reader.suspect,
        # The frames of a filled-in form do not count.
        blank=not kinds or (bool(entries) and kinds == {pdfium.FPDF_PAGEOBJ_PATH}),
        plain=kinds == {pdfium.FPDF_PAGEOBJ_TEXT},
        lines=reader.lines,
        entries=[reader.placed(entry) for entry in entries],
        unread=unread,
        boxes=[*reader.boxes, *map(entry_boxes, entries)] if boxes else [],
        outside=notes.texts,
        parts=notes.parts,
        pictures=reader.pictures + notes.pictures,
        covered=reader.covered,
    )
    pdfium.FPDF_ClosePage(page)
    return notes.deferred


_SAMPLE = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 62>>stream
BT /F 9 Tf 9 9 Td (A word or two.) Tj ET 9 8 60 .5 re f
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
"""


def warm_up() -> None:
    """Read a page of our own: PDFium looks through the fonts of the system only once, and Python through its caches."""
    document = open_document(_SAMPLE, None)
    page = pdfium.FPDF_LoadPage(document, 0)
    reader = PageReader(page)
    reader.read()
    json.dumps(reader.lines)
    pdfium.FPDF_ClosePage(page)
    pdfium.FPDF_CloseDocument(document)
