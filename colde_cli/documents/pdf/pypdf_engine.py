"""Read a PDF with pypdf if PDFium refuses it or dies, in a process of its own.

It answers in the protocol of `pdfium_engine.py`. It is slower and knows less of the geometry. But it opens damaged
files and ciphers that PDFium cannot open, and it says why a file cannot be opened. `ObjectReader` reads for PDFium's
process what PDFium does not tell.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import pypdf
from pypdf.errors import WrongPasswordError

from colde_cli.documents.worker import HIDDEN, ON, Answer, Request, limit_step, send

Handle = Any  # an object of pypdf
_JUNK = 1 << 20  # bytes that may precede the file, such as the head of a mail
_PUSH = 1 << 16  # the flag of push buttons, which have no value
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 50
_UNREADABLE = re.compile("[\x00\x01\x03-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")
_MEDIA = frozenset(("/Sound", "/Movie", "/Screen", "/3D", "/RichMedia"))
_ELSEWHERE = frozenset(("/P", "/Parent", "/Popup", "/IRT", "/M", "/NM", "/CreationDate", "/Kids", "/StructParent"))
"""Entries that lead out of an object, or that change each time a file is saved."""


def opened(data: bytes, password: str | None) -> Handle:
    """Open a file with its password.

    Raises:
        WrongPasswordError: the password is missing or wrong.
    """
    reader = pypdf.PdfReader(io.BytesIO(data[max(0, data.find(b"%PDF-", 0, _JUNK)) :]), strict=False)
    if reader.is_encrypted and not reader.decrypt(password or ""):
        raise WrongPasswordError
    return reader


def resolved(value: Handle) -> Handle:
    """The object itself, in place of a reference to it; None for the null object."""
    found = value.get_object() if hasattr(value, "get_object") else value
    return None if type(found).__name__ == "NullObject" else found


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


class LineGatherer:
    """Gathers the pieces of text that pypdf reports into lines, in the form that `pdfium_engine.py` sends."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
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
    """Gathers the filled-in values of a page: form fields, text boxes and stamps."""

    def __init__(self, page: Handle) -> None:
        self.lines: list[Any] = []  # as `LineGatherer` gathers them
        self.texts: list[tuple[str, str, str]] = []  # comments and links: kind, text, and what it belongs to
        self.unread = 0  # number of annotations that could not be read
        self._page = page
        try:
            annotations = list(page.get("/Annots") or ())
        except Exception:  # pypdf raises untyped errors on damaged objects
            self.unread, annotations = 1, []
        for item in annotations:
            try:
                self._annotation(item.get_object())
            except MemoryError:
                raise
            except Exception:
                self.unread += 1

    def _annotation(self, item: Handle) -> None:
        kind, unseen = str(item.get("/Subtype")), int(item.get("/F", 0)) & HIDDEN
        target = (item.get("/A") or {}).get("/URI") if kind == "/Link" else None
        if target is not None:
            self.texts.append(("links", str(target), ""))
        words, author = str(item.get("/Contents") or ""), str(item.get("/T") or "")
        if words and kind not in ("/Link", "/Popup", "/Widget", "/FreeText"):
            self.texts.append(("comments", f"{author}: {words}" if author else words, ""))
        if unseen or kind not in ("/Widget", "/FreeText", "/Stamp"):
            return
        look = resolved((item.get("/AP") or {}).get("/N"))
        shown = str(self._page.extract_xform_text(look)) if hasattr(look, "get_data") else ""
        value = words if kind == "/FreeText" else ""
        field_kind = _inherited(item, "/FT") if kind == "/Widget" else None
        if field_kind == "/Btn":
            state = item.get("/AS") or _inherited(item, "/V")
            on = not int(_inherited(item, "/Ff") or 0) & _PUSH and state not in (None, "/Off")
            shown, value = "", ON if on else ""
        elif kind == "/Widget":
            value = _value(item)
            shown = "" if field_kind == "/Ch" else shown
        same, wanted = "".join(shown.split()), "".join(value.split())
        if not wanted or (same and kind != "/Widget"):
            texts = [shown]
        else:
            texts = [value] if same == wanted else [shown] if wanted in same else [shown, value]
        x0, y0, x1, y1 = (float(corner) for corner in item["/Rect"])
        size = min(10.0, max(4.0, 0.8 * abs(y1 - y0)))
        rows = [row.strip() for text in texts for row in text.splitlines() if row.strip()]
        for place, row in enumerate(rows):
            base = max(y0, y1) - size - 1.2 * size * place
            runs = [((size, "", 0, False, 0, False), len(row))]
            self.lines.append((row, min(x0, x1), base, max(x0, x1), 0, 0, False, runs))


def _inherited(item: Handle, name: str) -> Handle:
    """Look up an entry in a field, else in the fields that contain it."""
    for _ in range(_MAX_DEPTH):
        if name in item:
            return item[name]
        if "/Parent" not in item:
            return None
        item = item["/Parent"]
    return None


def _value(item: Handle) -> str:
    """Read the value of a text field, or the shown name of a choice."""
    value = _inherited(item, "/V")
    options = dict(pair for pair in _inherited(item, "/Opt") or () if isinstance(pair, list) and len(pair) == 2)
    values = value if isinstance(value, list) else [] if value is None else [value]
    return "\n".join(str(options.get(one, one) if isinstance(one, str) else one.get_data().decode()) for one in values)


def read_page(page: Handle, number: int, limit: int) -> None:
    """Send one page, or that it failed or has more than `limit` characters."""
    gathered = LineGatherer()
    try:
        page.extract_text(visitor_text=gathered.visit)
        gathered.flush()
        filled_in = EntryReader(page)
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
        plain=False,
        lines=gathered.lines,
        entries=filled_in.lines,
        unread=filled_in.unread,
        boxes=[],
        outside=filled_in.texts,
        # Pictures are not looked at: what is attached neither, which is why two such files are never the same.
        parts=[],
        pictures=[],
    )


def read_document(request: Request, data: bytes) -> None:
    """Open the file and send its pages."""
    reader = opened(data, request["password"])
    count = len(reader.pages)
    title = str(reader.metadata.title or "") if reader.metadata else ""
    root = reader.root_object
    dynamic = bool(root.get("/NeedsRendering")) and "/XFA" in (root.get("/AcroForm") or {})
    send("document", pages=count, title=title, outline=bookmarks(reader), dynamic=dynamic)
    for number in range(request["first"], min(count, request["last"] or count) + 1):
        limit_step(request["step"])
        send("begin", number=number)
        read_page(reader.pages[number - 1], number, request["characters"])
    send("end")


class ObjectReader:
    """Reads media, layers, scripts, associated files, and fields on no page; all raise what pypdf raises (untyped)."""

    def __init__(self, data: bytes, password: str | None) -> None:
        self._reader = opened(data, password)
        self._root = self._reader.root_object

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Yield the layers that are off, and the values of fields that stand on no page."""
        properties = resolved(self._root.get("/OCProperties")) or {}
        default = resolved(properties.get("/D")) or {}
        on, off = (_numbers(resolved(default.get(name)) or ()) for name in ("/ON", "/OFF"))
        all_off = default.get("/BaseState") == "/OFF"
        for group in resolved(properties.get("/OCGs")) or ():
            number = getattr(group, "idnum", None)
            if number in off or (all_off and number not in on):
                name = str(resolved(group).get("/Name") or "without a name")
                yield "hidden-text", name, "layer that is off"
        for name, field in self._fields(resolved(self._root.get("/AcroForm")) or {}):
            value = resolved(field.get("/V"))
            if value is not None and not isinstance(value, dict):
                yield "form-values", str(value), f"field {name} on no page"

    def parts(self) -> Iterator[tuple[str, str, str]]:
        """Yield the scripts that run when the document is opened or used, and the associated files."""
        for name in ("/OpenAction", "/AA"):
            entry = resolved(self._root.get(name))
            if isinstance(entry, dict) and "/Dest" not in entry and entry.get("/S") != "/GoTo":
                yield "scripts", digest_of(entry), f"action of the document ({name[1:]})"
        for file in resolved(self._root.get("/AF")) or ():
            held = resolved(file)
            name = str(held.get("/UF") or held.get("/F") or "")
            yield "attachments", digest_of(held.get("/EF")), f"associated file {name}".rstrip()

    def media(self, number: int) -> Iterator[tuple[str, str, str]]:
        """Yield the media on a page (1-based)."""
        for item in resolved(self._reader.pages[number - 1].get("/Annots")) or ():
            annotation = resolved(item)
            kind = str(annotation.get("/Subtype"))
            if kind in _MEDIA:
                name = str(annotation.get("/T") or annotation.get("/Contents") or "")
                yield "media", digest_of(annotation), f"{kind[1:]} {name}".rstrip()

    def _fields(self, form: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield names and dictionaries of fields without a widget on a page."""
        shown: set[int | None] = set()
        for page in self._reader.pages:
            shown |= _numbers(resolved(page.get("/Annots")) or ())
        stack = [("", item, 0) for item in reversed(resolved(form.get("/Fields")) or ())]
        seen = 0
        while stack and seen < _MAX_OBJECTS:
            above, item, depth = stack.pop()
            seen += 1
            field = resolved(item)
            name = ".".join(filter(None, (above, str(field.get("/T") or ""))))
            kids = resolved(field.get("/Kids")) or ()
            if kids and depth < _MAX_DEPTH:
                stack += [(name, kid, depth + 1) for kid in reversed(kids)]
            elif getattr(item, "idnum", None) not in shown:
                yield name, field


def _numbers(references: Iterable[Handle]) -> set[int | None]:
    return {getattr(reference, "idnum", None) for reference in references}


def digest_of(value: Handle) -> str:
    """The digest of an object and of all that it refers to, whatever their numbers are and how they are compressed."""
    digest = hashlib.sha256()
    seen: set[int] = set()

    def add(value: Handle, depth: int) -> None:
        number = getattr(value, "idnum", None)
        if number in seen or depth > _MAX_DEPTH or len(seen) > _MAX_OBJECTS:
            digest.update(b"...")
            return
        if number is not None:
            seen.add(number)
        held: Handle = resolved(value)
        if hasattr(held, "raw_get"):
            stream = hasattr(held, "get_data")
            for key in sorted(held):
                if key not in _ELSEWHERE and not (stream and key in ("/Filter", "/Length", "/DecodeParms")):
                    digest.update(f"{key} ".encode())
                    add(held.raw_get(key), depth + 1)
            if stream:
                digest.update(held.get_data())
        elif isinstance(held, list):
            digest.update(b"[")
            for item in held:
                add(item, depth + 1)
        else:
            digest.update(f"{held} ".encode("utf-8", "surrogatepass"))

    add(value, 0)
    return digest.hexdigest()


def refusing(work: Answer) -> Answer:
    """Answer requests with pypdf, without its log: where it fails the file is refused."""

    def answer(request: Request, data: bytes) -> None:
        logging.disable(logging.CRITICAL)
        warnings.simplefilter("ignore")
        limit_step(request["step"])
        try:
            work(request, data)
        except MemoryError:
            os._exit(1)
        except WrongPasswordError:
            send("refused", reason="password")
        except Exception as error:  # pypdf raises untyped errors on damaged files; all mean the same to the user
            send("refused", reason=f"{type(error).__name__}: {error}"[:300])

    return answer


answer = refusing(read_document)
