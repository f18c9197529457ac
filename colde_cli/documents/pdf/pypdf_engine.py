"""Read a PDF with pypdf if PDFium refuses it or dies, as a script in a separate process.

It answers in the protocol of `engine.py`. It is slower and knows less of the geometry. But it opens damaged files and
ciphers that PDFium cannot open, and it says why a file cannot be opened.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from typing import Any

sys.path.extend(json.loads(os.environ["COLDE_READER_PATH"]))

import pypdf

from colde_cli.documents.pdf.packing import LetterStyle, LineValues, pack
from colde_cli.documents.worker import HIDDEN, ON, Request, limit_step, send, serve_pypdf

Handle = Any  # an object of pypdf
_PUSH = 1 << 16  # the flag of push buttons, which have no value
_MAX_PARENTS = 50
_UNREADABLE = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")


def bookmarks(reader: Handle) -> list[tuple[int, str, int]]:
    """List level, title and page (0 for none) of the outline's entries."""
    found: list[tuple[int, str, int]] = []

    def walk(entries: list[Any], level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                walk(entry, level + 1)
            else:
                number = reader.get_destination_page_number(entry)
                found.append((level, str(entry.title), (-1 if number is None else number) + 1))

    try:
        walk(reader.outline, 1)
    except Exception:  # an outline is a help, not a condition; pypdf raises untyped errors on damaged ones
        return []
    return found


def is_dynamic(reader: Handle) -> bool:
    """Whether the form is an XFA form; its pages do not show all values."""
    root = reader.root_object
    return bool(root.get("/NeedsRendering")) and "/XFA" in (root.get("/AcroForm") or {})


class LineGatherer:
    """Gathers the pieces of text that pypdf reports into lines, in the form that `engine.py` sends."""

    def __init__(self) -> None:
        self.lines: list[LineValues] = []
        self._text = ""
        self._start = (0.0, 0.0)
        self._runs: dict[tuple[float, str], int] = {}

    def visit(self, text: str, cm: list[float], tm: list[float], font: Handle, size: float) -> None:
        """Take one piece of text; a line feed in it ends the line."""
        scale = (abs(tm[3]) or abs(tm[1]) or 1.0) * (abs(cm[3]) or abs(cm[1]) or 1.0)
        x, y = tm[4] * cm[0] + cm[4], tm[5] * cm[3] + cm[5]
        name = str((font or {}).get("/BaseFont", "")).lstrip("/")
        for position, piece in enumerate(text.split("\n")):
            if position:
                self.flush()
            if piece.strip():
                if not self._text:
                    self._start = (x, y)
                self._text += piece
                key = (abs(size * scale), name)
                self._runs[key] = self._runs.get(key, 0) + len(piece)

    def flush(self) -> None:
        """End the line."""
        if self._text.strip():
            runs = [((size, name, 0, False, 0, False), count) for (size, name), count in self._runs.items()]
            x, y = self._start
            width = 0.5 * max(size for size, _ in self._runs) * len(self._text)
            self.lines.append((self._text, x, y, x + width, 0, 0, False, runs))
        self._text, self._runs = "", {}


class EntryReader:
    """Gathers the filled-in values of a page: form fields, text boxes and stamps.

    Attributes:
        lines: as `LineGatherer` gathers them.
        texts: comments and targets of links: kind, text, and what it belongs to.
        unread: number of annotations that could not be read.
    """

    def __init__(self, page: Handle) -> None:
        self.lines: list[LineValues] = []
        self.texts: list[tuple[str, str, str]] = []
        self.unread = 0
        self._page = page

    def read(self) -> None:
        """Read the page's annotations."""
        try:
            found = list(self._page.get("/Annots") or ())
        except Exception:  # pypdf raises untyped errors on damaged objects
            self.unread += 1
            return
        for item in found:
            try:
                self._annotation(item.get_object())
            except MemoryError:
                raise
            except Exception:
                self.unread += 1

    def _annotation(self, item: Handle) -> None:
        kind, unseen = item.get("/Subtype"), int(item.get("/F", 0)) & HIDDEN
        self._beside(item, str(kind))
        if unseen or kind not in ("/Widget", "/FreeText", "/Stamp"):
            return
        shown, value = self._shown(item), str(item.get("/Contents") or "") if kind == "/FreeText" else ""
        if kind == "/Widget":
            field_kind, flags = _inherited(item, "/FT"), int(_inherited(item, "/Ff") or 0)
            if field_kind == "/Btn":
                state = item.get("/AS") or _inherited(item, "/V")
                on = not flags & _PUSH and state not in (None, "/Off")
                shown, value = "", ON if on else ""
            else:
                value = _value(item)
                shown = "" if field_kind == "/Ch" else shown
        self._place(item, shown, value, always=kind == "/Widget")

    def _beside(self, item: Handle, kind: str) -> None:
        target = (item.get("/A") or {}).get("/URI") if kind == "/Link" else None
        if target is not None:
            self.texts.append(("links", str(target), ""))
        words, author = str(item.get("/Contents") or ""), str(item.get("/T") or "")
        if words and kind not in ("/Link", "/Popup", "/Widget", "/FreeText"):
            self.texts.append(("comments", f"{author}: {words}" if author else words, ""))

    def _shown(self, item: Handle) -> str:
        """Read the text of the appearance."""
        looks = (item.get("/AP") or {}).get("/N")
        looks = looks.get_object() if looks is not None else None
        return str(self._page.extract_xform_text(looks)) if hasattr(looks, "get_data") else ""

    def _place(self, item: Handle, shown: str, value: str, *, always: bool) -> None:
        same, wanted = "".join(shown.split()), "".join(value.split())
        if not wanted or (same and not always):
            texts = [shown]
        else:
            texts = [value] if same == wanted else [shown] if wanted in same else [shown, value]
        x0, y0, x1, y1 = (float(corner) for corner in item["/Rect"])
        size = min(10.0, max(4.0, 0.8 * abs(y1 - y0)))
        rows = [row.strip() for text in texts for row in text.splitlines() if row.strip()]
        for place, row in enumerate(rows):
            base = max(y0, y1) - size - 1.2 * size * place
            style: LetterStyle = (size, "", 0, False, 0, False)
            self.lines.append((row, min(x0, x1), base, max(x0, x1), 0, 0, False, [(style, len(row))]))


def _inherited(item: Handle, name: str) -> Handle:
    """Look up an entry in a field, else in the fields that contain it."""
    for _ in range(_MAX_PARENTS):
        if name in item:
            return item[name]
        if "/Parent" not in item:
            return None
        item = item["/Parent"]
    return None


def _value(item: Handle) -> str:
    """Read the value of a text field, or the shown name of a choice."""
    value = _inherited(item, "/V")
    options = dict(
        pair for pair in _inherited(item, "/Opt") or () if isinstance(pair, list) and len(pair) == 2
    )
    values = value if isinstance(value, list) else [] if value is None else [value]
    return "\n".join(
        str(options.get(one, one) if isinstance(one, str) else one.get_data().decode()) for one in values
    )


def read_page(page: Handle, number: int, limit: int) -> None:
    """Send one page, or that it failed or has more than `limit` characters."""
    gathered, filled_in = LineGatherer(), EntryReader(page)
    try:
        page.extract_text(visitor_text=gathered.visit)
        gathered.flush()
        filled_in.read()
        box = page.mediabox
        width, height = float(box.width), float(box.height)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception:  # pypdf raises untyped errors (and RecursionError) on damaged pages
        send("page", number=number, failed=True)
        return
    text = "".join(line[0] for line in [*gathered.lines, *filled_in.lines])
    if len(text) > limit:
        send("page", number=number, failed=True)
        return
    send(
        "page",
        number=number,
        width=width,
        height=height,
        unreadable=len(_UNREADABLE.findall(text)),
        suspect=0,
        blank=not gathered.lines and not page.get_contents(),
        lines=pack(gathered.lines),
        entries=pack(filled_in.lines),
        unread=filled_in.unread,
        outside=filled_in.texts,
        # Pictures are not looked at: what is attached neither, which is why two such files are never the same.
        parts=[],
        pictures=[],
    )


def read_document(request: Request, data: bytes) -> None:
    """Open the file and send its pages."""
    reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(request["password"] or ""):
        send("refused", reason="password")
        return
    count = len(reader.pages)
    metadata = reader.metadata
    title = str(metadata.title or "") if metadata else ""
    send("document", pages=count, title=title, outline=bookmarks(reader), dynamic=is_dynamic(reader))
    for number in range(request["first"], min(count, request["last"] or count) + 1):
        limit_step(request["step"])
        send("begin", number=number)
        read_page(reader.pages[number - 1], number, request["characters"])
    send("end")


if __name__ == "__main__":
    serve_pypdf(read_document, "step")
