"""Read web pages: HTML in any encoding, parsed in a separate process (`engine.py`)."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import replace

from colde_cli.documents.builder import DocumentBuilder, tidy
from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind, PartKind
from colde_cli.documents.sandbox import sandboxed
from colde_cli.documents.text import decode, shown_as
from colde_cli.errors import LimitError

MEMORY = 1 << 30
"""Bytes of address space that the reader process may take, in addition to eight times the page."""
SECONDS = 20
"""Processor time for one page; a megabyte takes a fraction of a second."""
_WALL_SECONDS = 120.0
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
# The old encodings of the web. Python knows others, such as `idna`, but a page could use them to attack the decoder.
_ENCODINGS = re.compile(
    r"iso-?8859-\d+|windows-\d+|cp\d+|koi8-[ru]|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb(k|2312|18030)|big5|macintosh"
)


def read_html(data: bytes, path: str, name: str) -> Document:
    """Read HTML: headings h1 to h6, paragraphs, lists, tables.

    If one `main` or `article` has more than half of the page's text, that is the body. Navigation, heads and feet of
    the page, values of forms, deleted and hidden text stand outside it; style sheets are not applied.

    Args:
        data: of the file.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        UnsupportedFormatError: the bytes are no text.
        LimitError: it takes more memory or time than allowed.
        NoTextError: it has no text.
    """
    shown = shown_as(path)
    text, warnings = _decode(data, shown)
    builder, title = _build(text, shown)
    return replace(builder.build(title, name, warnings), path=path)


def _build(text: str, shown: str) -> tuple[DocumentBuilder, str]:
    """Return headings, paragraphs and what stands beside them, and the title."""
    builder, title, finished = DocumentBuilder(shown), "", False
    data = text.encode("utf-8", "replace")
    request = {"memory": MEMORY + 8 * len(data), "seconds": SECONDS}
    with sandboxed("colde_cli.documents.html.engine", io.BytesIO(data), request, _WALL_SECONDS) as messages:
        for message in messages:
            kind = message["kind"]
            if kind == "heading":
                builder.add_heading(message["text"], message["level"])
            elif kind == "paragraph":
                builder.add_paragraph(message["text"], lines=message["lines"])
            elif kind == "outside":
                of = OutsideKind(message["of"])
                builder.account.add_text(of, tidy(message["text"]), tidy(message["about"]))
            elif kind == "part":
                builder.account.add_part(PartKind(message["of"]), message["digest"], tidy(message["about"]))
            elif kind == "title":
                title = message["text"]
            elif kind == "end":
                finished = True
    if not finished:
        raise LimitError(
            f"Cannot read {shown}: it needs more memory or time than a page may take; save it anew, or split it."
        )
    return builder, title


def _decode(data: bytes, shown: str) -> tuple[str, tuple[str, ...]]:
    """Decode a page by its byte order mark, else its stated encoding, else as text."""
    stated = _CHARSET.search(data[:4096])
    if stated and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = stated.group(1).decode("ascii", "replace").lower()
        # Browsers read Latin-1 as Windows-1252. If the statement can be read as ASCII, the page is not UTF-16.
        name = "cp1252" if name in ("iso-8859-1", "latin1", "ascii", "us-ascii") else name
        if _ENCODINGS.fullmatch(name):
            try:
                return data.decode(name, "replace").replace("\x00", ""), ()
            except LookupError:
                pass  # a number that no encoding has
    return decode(data, shown)
