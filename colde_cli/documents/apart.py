"""Read a web page or a large file in a process of its own, under limits.

Small files of other kinds are read where they are: they take less time than the start of a process, and their cost
grows with their length alone. Repairing a page can take far more memory than the page.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, BinaryIO

from colde_cli import errors
from colde_cli.documents.document import Document, document_header, document_of, shown_as
from colde_cli.documents.worker import write

PAGE_ENGINE = "colde_cli.documents.html.read_html"
MEMORY = 1 << 30
"""Bytes of address space that the reader process may take, in addition to eight times the file."""
SECONDS = {"html": 20}
"""Processor time for one file, by its kind; a megabyte of HTML takes a fraction of a second."""
OTHER_SECONDS = 30
"""Processor time for other files; three megabytes of Markdown take six, nine of text two."""

_PIECE = 1 << 20  # characters of a line that the process writes: a line is in memory three times while it is read


def read_apart(kind: str, file: BinaryIO, path: str, name: str, *, rejects: bool = False) -> Document:
    """Read an open file of any kind but PDF; `path` is as the user gave it, `name` replaces a missing title.

    Raises:
        DocumentError: the reader refuses it.
        LimitError: it takes more memory or time than allowed.
    """
    from colde_cli.documents.sandbox import sandboxed

    page = kind == "html"
    request = {
        "format": kind,
        "source": path,
        "name": name,
        "rejects": rejects,
        "memory": MEMORY + 8 * file.seek(0, os.SEEK_END),
        "seconds": SECONDS.get(kind, OTHER_SECONDS),
    }
    engine = PAGE_ENGINE if page else "colde_cli.documents.large_engine"
    pieces: list[str] = []
    answer: dict[str, Any] = {"kind": "none"}
    with sandboxed(engine, file, request, 120.0 if page else 240.0) as messages:
        for message in messages:  # to its end: a reader that still has something to say is not kept
            if message["kind"] == "text":
                pieces.append(message["text"])
            else:
                answer = message
    if answer["kind"] == "document":
        return document_of(path, name, {**answer["document"], "text": "".join(pieces)})
    if answer["kind"] == "refused":
        error: type[errors.DocumentError] = getattr(errors, answer["error"])
        raise error(answer["text"])
    most = "a page may take; save it anew, or split it." if page else "a document may take; split it."
    raise errors.LimitError(f"Cannot read {shown_as(path)}: it needs more memory or time than {most}")


def answer_with(read: Callable[[], Document]) -> None:
    """In the process: write the text in pieces, then the rest of the document, or say which error refuses it."""
    try:
        document = read()
    except errors.DocumentError as error:
        write("refused", error=type(error).__name__, text=str(error))
    else:
        header = document_header(document, document.title)
        text = header.pop("text")
        for start in range(0, len(text), _PIECE):
            write("text", text=text[start : start + _PIECE])
        write("document", document=header)
