"""Digests of what a page holds that is not read: drawings, scripts, pictures by their bytes or their address."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from colde_cli.documents.outside import digest_of

Marks = Mapping[str, str | None]
"""The attributes of an element; None is the value of one without."""

_LONGEST_ADDRESS = 2000
_DATA = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
_REFERENCE = re.compile(r"(url\(\s*[\"']?)?#([^)\"'\s]+)")
_SOURCES = ("src", "srcset", "data-src", "data-srcset")
_SILENT = frozenset(("script", "style"))
_LINES = frozenset("text title desc p div li td th h1 h2 h3 h4 h5 h6 br foreignobject".split())
_PLACED = frozenset(("x", "y", "dx", "dy"))


def address(value: str) -> str:
    """An address as it is written; the end of a long one is replaced by its digest."""
    bare = re.sub(r"[\t\r\n]", "", value.strip())
    if len(bare) <= _LONGEST_ADDRESS:
        return bare
    return f"{bare[:200]}... {digest_of(bare.encode('utf-8', 'replace'))}"


def sources(marks: Marks) -> str:
    """All addresses that an element names for its content, "" for none."""
    return " ".join(value.strip() for name in _SOURCES if (value := marks.get(name)))


def digest_of_source(source: str) -> str:
    """The digest of the bytes within an address (`data:`), else of the address, or of any source."""
    found = _DATA.match(source)
    if found:
        data = unquote_to_bytes(source[found.end() :].strip())
        if not found[0].lower().endswith(";base64,"):
            return digest_of(data)
        try:
            return digest_of(base64.b64decode(b"".join(data.split()) + b"=="))
        except binascii.Error:
            pass  # it is no picture, but it can be told from another
    return digest_of(" ".join(source.split()).encode("utf-8", "replace"))


class Unread:
    """The digest of an element and all it holds, apart from the names of its parts and the order of attributes.

    Attributes:
        texts: what can be read of it, by paragraphs.
        title: the first of its titles.
    """

    def __init__(self, tag: str, marks: Marks) -> None:
        self.texts: list[str] = []
        self.title = ""
        self._digest = sha256()
        self._names: dict[str, int] = {}
        self._open: list[str] = []
        self._words: list[str] = []
        self._silent = 0
        self.start(tag, marks)

    @property
    def digest(self) -> str:
        """Of all so far."""
        return self._digest.hexdigest()

    def start(self, tag: str, marks: Marks) -> None:
        """Begin an element."""
        tag = tag.lower()
        self._open.append(tag)
        self._silent += tag in _SILENT
        if tag in _LINES:
            self._end_line(tag)
        elif not _PLACED.isdisjoint(marks):
            self._words.append(" ")
        written = [f"{name}={self._written(name, value or '')}" for name, value in sorted(marks.items())]
        self._update(f"<{tag} {' '.join(written)}>")

    def text(self, data: str) -> None:
        """Add text."""
        self._update(" ".join(data.split()))
        if not self._silent:
            self._words.append(data)

    def end(self) -> None:
        """End the element that began last."""
        tag = self._open.pop() if self._open else ""
        self._silent -= tag in _SILENT
        if tag in _LINES or not self._open:
            self._end_line(tag)
        self._update(">")

    def _end_line(self, tag: str) -> None:
        words, self._words = " ".join("".join(self._words).split()), []
        if words:
            self.texts.append(words)
            self.title = self.title or (words if tag == "title" else "")

    def _update(self, written: str) -> None:
        self._digest.update(written.encode("utf-8", "replace"))

    def _written(self, name: str, value: str) -> str:
        """Write a value with numbers for the names of parts: programs invent names anew whenever they save."""
        if name == "id":
            return f"#{self._names.setdefault(value, len(self._names))}"
        return _REFERENCE.sub(
            lambda match: (match[1] or "") + f"#{self._names.get(match[2], match[2])}",
            " ".join(value.split()),
        )
