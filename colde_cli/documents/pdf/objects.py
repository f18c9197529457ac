"""Read with pypdf what PDFium does not tell of a PDF: media, layers, scripts, associated files, fields on no page.

It runs in the process of `engine.py`, after all pages. pypdf is imported only here, as its start takes longer than most
files.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import Any

from colde_cli.documents.pdf.annotations import Text

Handle = Any  # an object of pypdf

_MEDIA = frozenset(("/Sound", "/Movie", "/Screen", "/3D", "/RichMedia"))
_ELSEWHERE = frozenset(
    ("/P", "/Parent", "/Popup", "/IRT", "/M", "/NM", "/CreationDate", "/Kids", "/StructParent")
)
"""Entries that lead out of an object, or that change each time a file is saved."""
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 50


class ObjectReader:
    """Reads the objects of a file; everything raises what pypdf raises, which is untyped."""

    def __init__(self, data: bytes, password: str | None) -> None:
        import pypdf

        self._reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if self._reader.is_encrypted:
            self._reader.decrypt(password or "")
        self._root = self._reader.root_object

    def texts(self) -> Iterator[Text]:
        """Yield the layers that are off, and the values of fields that stand on no page."""
        for name in self._layers_off():
            yield "hidden-text", name, "layer that is off"
        for name, field in self._fields(resolved(self._root.get("/AcroForm")) or {}):
            value = resolved(field.get("/V"))
            if value is not None and not isinstance(value, dict):
                yield "form-values", str(value), f"field {name} on no page"

    def parts(self) -> Iterator[Text]:
        """Yield the scripts that run when the document is opened or used, and the associated files."""
        for name in ("/OpenAction", "/AA"):
            entry = resolved(self._root.get(name))
            if isinstance(entry, dict) and "/Dest" not in entry and entry.get("/S") != "/GoTo":
                yield "scripts", digest_of(entry), f"action of the document ({name[1:]})"
        for file in resolved(self._root.get("/AF")) or ():
            held = resolved(file)
            name = str(held.get("/UF") or held.get("/F") or "")
            yield "attachments", digest_of(held.get("/EF")), f"associated file {name}".rstrip()

    def media(self, number: int) -> Iterator[Text]:
        """Yield the media on a page (1-based)."""
        for item in resolved(self._reader.pages[number - 1].get("/Annots")) or ():
            annotation = resolved(item)
            kind = str(annotation.get("/Subtype"))
            if kind in _MEDIA:
                name = str(annotation.get("/T") or annotation.get("/Contents") or "")
                yield "media", digest_of(annotation), f"{kind[1:]} {name}".rstrip()

    def _layers_off(self) -> Iterator[str]:
        properties = resolved(self._root.get("/OCProperties")) or {}
        default = resolved(properties.get("/D")) or {}
        groups = resolved(properties.get("/OCGs")) or ()
        listed = {name: _numbers(resolved(default.get(name)) or ()) for name in ("/ON", "/OFF")}
        all_off = default.get("/BaseState") == "/OFF"
        for group in groups:
            number = getattr(group, "idnum", None)
            if number in listed["/OFF"] or (all_off and number not in listed["/ON"]):
                yield str(resolved(group).get("/Name") or "without a name")

    def _fields(self, form: Handle) -> Iterator[tuple[str, Handle]]:
        """Yield names and dictionaries of fields without a widget on a page."""
        shown = {
            getattr(item, "idnum", None)
            for page in self._reader.pages
            for item in resolved(page.get("/Annots")) or ()
        }
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


def resolved(value: Handle) -> Handle:
    """The object itself, in place of a reference to it; None for the null object."""
    found = value.get_object() if hasattr(value, "get_object") else value
    return None if type(found).__name__ == "NullObject" else found


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
        found: Handle = resolved(value)
        if hasattr(found, "raw_get"):
            stream = hasattr(found, "get_data")
            for key in sorted(found):
                if key not in _ELSEWHERE and not (stream and key in ("/Filter", "/Length", "/DecodeParms")):
                    digest.update(f"{key} ".encode())
                    add(found.raw_get(key), depth + 1)
            if stream:
                digest.update(found.get_data())
        elif isinstance(found, list):
            digest.update(b"[")
            for item in found:
                add(item, depth + 1)
        else:
            digest.update(f"{found} ".encode("utf-8", "surrogatepass"))

    add(value, 0)
    return digest.hexdigest()
