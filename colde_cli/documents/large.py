"""Read large files of text, Markdown, LaTeX, Word and OpenDocument in a reader process, under limits.

Small ones are read where they are: they take less time than the start of a process, and their cost grows with their
length alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from colde_cli import errors
from colde_cli.documents.document import Document
from colde_cli.documents.plain_data import document_of
from colde_cli.documents.sandbox import sandboxed
from colde_cli.documents.text import shown_as
from colde_cli.errors import LimitError

TEXT_BYTES = 256 << 10
"""Size of a large file of text: its worst characters take three seconds."""
OFFICE_BYTES = 1 << 20
"""Size of a large Office file, which is compressed."""
MEMORY = 1 << 30
"""Bytes of address space that the reader process may take, in addition to eight times the file."""
SECONDS = 30
"""Processor time for one file; three megabytes of Markdown take six, nine of text two."""
_WALL_SECONDS = 240.0


def is_large(kind: str, size: int) -> bool:
    """Whether a file is read in a reader process."""
    return size > (OFFICE_BYTES if kind in ("docx", "odt") else TEXT_BYTES)


def read_large(kind: str, file: BinaryIO, path: str, name: str) -> Document:
    """Read a file in a reader process.

    Args:
        kind: "text", "markdown", "tex", "docx" or "odt".
        file: open and seekable.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        DocumentError: the reader refuses it.
        LimitError: it takes more memory or time than allowed.
    """
    size = file.seek(0, os.SEEK_END)
    request = {
        "format": kind,
        "source": path,
        "name": name,
        "memory": MEMORY + 8 * size,
        "seconds": SECONDS,
    }
    with sandboxed(Path(__file__).with_name("large_engine.py"), file, request, _WALL_SECONDS) as messages:
        for message in messages:
            if message["kind"] == "document":
                return document_of(path, name, message["document"])
            if message["kind"] == "refused":
                error: type[errors.DocumentError] = getattr(errors, message["error"])
                raise error(message["text"])
    raise LimitError(
        f"Cannot read {shown_as(path)}: it needs more memory or time than a document may take; split it."
    )
