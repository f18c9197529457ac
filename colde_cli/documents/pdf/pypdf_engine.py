"""What only pypdf can do with a PDF, in a process of its own: open what PDFium refuses, and read what it does not tell.

pypdf opens damaged files and ciphers that PDFium cannot open, and says why a file cannot be opened. It writes such a
file anew, for PDFium to read. `ObjectReader` reads objects for PDFium's process.

request   password, and the limits
answer    JSON lines: `part`s of the new file in base64, then `end`; or `refused`
"""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import os
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from pypdf import PdfReader, PdfWriter
from pypdf.errors import WrongPasswordError

from colde_cli.documents.worker import Answer, Request, limit_step, send

Handle = Any  # an object of pypdf
_JUNK = 1 << 20  # bytes that may precede the file, such as the head of a mail
_PART = 3 << 18  # bytes of a file in a line of the answer, a multiple of three
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 50
_MEDIA = frozenset(("/Sound", "/Movie", "/Screen", "/3D", "/RichMedia"))
_READ_BY_PDFIUM = frozenset(("/URI", "/GoTo", "/GoToR", "/GoToE"))
"""Actions that lead somewhere and do nothing else."""
_FIELD_EVENTS = frozenset(("/K", "/F", "/V", "/C"))
"""Events of a form field whose scripts PDFium reads."""
_ELSEWHERE = frozenset(("/P", "/Parent", "/Popup", "/IRT", "/M", "/NM", "/CreationDate", "/Kids", "/StructParent"))
"""Entries that lead out of an object, or that change each time a file is saved."""


def opened(data: bytes, password: str | None) -> Handle:
    """Open a file with its password, which is one of the lines of `password`.

    Raises:
        WrongPasswordError: the password is missing or wrong.
    """
    reader = PdfReader(io.BytesIO(data[max(0, data.find(b"%PDF-", 0, _JUNK)) :]), strict=False)
    if reader.is_encrypted and not any(map(reader.decrypt, (password or "").splitlines() or [""])):
        raise WrongPasswordError
    return reader


def resolved(value: Handle) -> Handle:
    """The object itself, in place of a reference to it; None for the null object."""
    held = value.get_object() if hasattr(value, "get_object") else value
    return None if type(held).__name__ == "NullObject" else held


def send_file(writer: PdfWriter) -> None:
    """Send a file as `receive_file` takes it, in parts."""
    written = io.BytesIO()
    writer.write(written)
    content = written.getbuffer()
    for start in range(0, len(content), _PART):
        send("part", data=base64.b64encode(content[start : start + _PART]).decode())
    send("end")


def write_anew(request: Request, data: bytes) -> None:
    """Send the file as pypdf understands it, without its password."""
    send_file(PdfWriter(clone_from=opened(data, request["password"])))


class ObjectReader:
    """Reads media, layers, scripts, associated files, and fields on no page; all raise what pypdf raises (untyped)."""

    def __init__(self, data: bytes, password: str | None) -> None:
        self._reader = opened(data, password)
        self._root = self._reader.root_object

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Yield the layers that are off, or other ones in print, and the values of fields that stand on no page."""
        properties = resolved(self._root.get("/OCProperties")) or {}
        default = resolved(properties.get("/D")) or {}
        on, off = (_numbers(resolved(default.get(name)) or ()) for name in ("/ON", "/OFF"))
        all_off = default.get("/BaseState") == "/OFF"
        for group in resolved(properties.get("/OCGs")) or ():
            number, layer = getattr(group, "idnum", None), resolved(group)
            name = str(layer.get("/Name") or "without a name")
            hidden = number in off or (all_off and number not in on)
            if hidden:
                yield "hidden-text", name, "layer that is off"
            usage = resolved(layer.get("/Usage")) or {}
            state = (resolved(usage.get("/Print")) or {}).get("/PrintState")
            if state == ("/ON" if hidden else "/OFF"):
                yield "hidden-text", f"{name}: {'printed' if hidden else 'not printed'}", "layer that prints otherwise"
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
        held_by = (self._root, *self._reader.pages)
        for file in (file for holder in held_by for file in resolved(holder.get("/AF")) or ()):
            held = resolved(file)
            name = str(held.get("/UF") or held.get("/F") or "")
            yield "attachments", digest_of(held.get("/EF")), f"associated file {name}".rstrip()

    def actions(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield what pages, links and buttons do, other than to lead somewhere, before the number of the page."""
        for number, page in enumerate(self._reader.pages, 1):
            for holder in (page, *filter(None, map(resolved, resolved(page.get("/Annots")) or ()))):
                read = _FIELD_EVENTS if holder.get("/Subtype") == "/Widget" else frozenset()
                events = resolved(holder.get("/AA")) or {}
                for event in ("/A", *sorted(set(events) - read)):
                    action = resolved((holder if event == "/A" else events).get(event)) or {}
                    name = str(holder.get("/T") or str(holder.get("/Subtype") or "/page")[1:].lower())
                    if action and (action.get("/S") not in _READ_BY_PDFIUM or "/Next" in action):
                        yield "scripts", digest_of(action), f"action of {name}", number

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


answer = refusing(write_anew)
