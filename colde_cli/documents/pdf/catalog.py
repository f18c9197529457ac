"""Look up single objects of a PDF by their numbers, where PDFium does not tell what they say.

Nothing is parsed but the place of an object, in the file or in one of its compressed streams of objects. That is enough
to see what the catalog names; whoever needs more asks pypdf (`objects.py`), which takes much longer to start.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

_MAX_STREAM = 1 << 23
_MAX_OBJECT = 1 << 16
_DICTIONARY = (
    1_000  # bytes before and after the type of a stream of objects in which the rest of its dictionary stands
)
_ROOT = re.compile(rb"/Root\s*(\d+)\s+\d+\s+R")
_FIRST = re.compile(rb"/First\s+(\d+)")
_TITLE = re.compile(rb"/DisplayDocTitle\s+true\b")
_SCRIPT = re.compile(rb"/JS\b|/JavaScript\b")
_FILES = re.compile(rb"/AF\b")


class Catalog:
    """The catalog of a file, as it is stored.

    Attributes:
        known: it was found; an encrypted file may hide it.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        at = data.rfind(b"/Root")
        root = _ROOT.match(data, at) if at >= 0 else None
        self._text = self._object(int(root[1])) if root else b""
        self.known = bool(self._text)

    @property
    def shows_title(self) -> bool:
        """Whether a viewer shows the title of the document in place of the name of the file."""
        return _TITLE.search(self._entry(b"/ViewerPreferences")) is not None

    @property
    def is_simple(self) -> bool:
        """Whether it names nothing that only pypdf can read: layers, associated files, scripts."""
        scripts = self._entry(b"/OpenAction") + self._entry(b"/AA")
        return (
            self.known
            and b"/OCProperties" not in self._text
            and _FILES.search(self._text) is None
            and _SCRIPT.search(scripts) is None
        )

    def mentions(self, name: bytes) -> bool:
        """Whether a name stands anywhere in the file, outside compressed content; True if that is not known."""
        return not self.known or name in self._data or any(name in text for _, text in self._streams())

    def _entry(self, name: bytes) -> bytes:
        """What the catalog says after a name, or what that refers to."""
        at = self._text.find(name)
        if at < 0:
            return b""
        found = re.compile(rb"\s*(\d+)\s+\d+\s+R").match(self._text, at + len(name))
        return self._object(int(found[1])) if found else self._text[at : at + _DICTIONARY]

    def _object(self, number: int) -> bytes:
        """The last version of an object in the file; b"" if it is not there."""
        start = b"%d 0 obj" % number
        at = self._data.rfind(start)
        while at > 0 and self._data[at - 1 : at].isdigit():
            at = self._data.rfind(start, 0, at)
        if at >= 0:
            end = self._data.find(b"endobj", at, at + _MAX_OBJECT)
            return self._data[at : end if end >= 0 else at + _MAX_OBJECT]
        found = b""
        for first, text in self._streams():
            numbers = text[:first].split()
            for name, place in zip(numbers[::2], numbers[1::2], strict=False):
                if name == b"%d" % number and place.isdigit():
                    found = text[first + int(place) :][:_MAX_OBJECT]
        return found

    def _streams(self) -> Iterator[tuple[int, bytes]]:
        """Yield the compressed streams of objects: the place of their first object, and all of them."""
        at = self._data.find(b"/ObjStm")
        while at >= 0:
            begin = self._data.find(b"stream", at)
            first = _FIRST.search(self._data, max(0, at - _DICTIONARY), begin)
            start = begin + (8 if self._data[begin + 6 : begin + 8] == b"\r\n" else 7)
            end = self._data.find(b"endstream", start)
            if begin < 0 or end < 0:
                return
            try:
                text = zlib.decompressobj().decompress(self._data[start:end], _MAX_STREAM)
                yield int(first[1]) if first else 0, text
            except zlib.error:
                pass  # encrypted, or compressed otherwise
            at = self._data.find(b"/ObjStm", end)
