"""Write a PDF with highlights on some of its words, and an outline that leads to them.

The file is taken apart and written by pypdf in a reader process (`marking_engine.py`), like every PDF that is read.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, BinaryIO

from colde_cli.documents.pdf.places import Quad
from colde_cli.documents.pdf.reader import reader_process
from colde_cli.errors import CorruptFileError

_ENGINE = "marking_engine.py"


class Stroke(StrEnum):
    """The line that goes with a highlight, so that it is seen without colours, too."""

    NONE = "none"
    STRUCK = "struck"
    UNDERLINED = "underlined"


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a mark; colours are red, green and blue from 0 to 255."""

    name: str
    fill: tuple[int, int, int]
    line: tuple[int, int, int]
    stroke: Stroke = Stroke.NONE


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlight with a note.

    Attributes:
        quads: the words, in pieces of lines; all of them on one page.
        note: shown where a reader points at the highlight.
    """

    look: Look
    quads: tuple[Quad, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the outline that leads to a place, or only groups other entries if it has none."""

    title: str
    place: Quad | None
    entries: tuple[Entry, ...] = ()


def write_marked(
    file: BinaryIO, shown: str, password: str | None, marks: Sequence[Mark], outline: Entry, target: BinaryIO
) -> None:
    """Write a PDF with marks. Its own annotations and outline are kept; a password is kept, too.

    Args:
        file: the PDF, open and seekable.
        shown: its name in messages.
        password: of an encrypted file.
        marks: to add.
        outline: goes before the entries of the file.
        target: to write to.

    Raises:
        CorruptFileError: pypdf cannot write the file.
    """
    request = {
        "password": password,
        "marks": [asdict(mark) for mark in marks],
        "outline": asdict(outline),
    }
    if not _written(file, request, target):
        raise CorruptFileError(f"Cannot add marks to {shown}: it is damaged; print it to a new PDF.")


@dataclass(frozen=True, slots=True)
class Sheets:
    """Pages of two PDFs side by side.

    Pages are counted over both files: those of the first file come first. So are the pages of marks and places.

    Attributes:
        pages: left and right page of each sheet; 0 leaves a half empty.
        names: two texts above each page, of all pages of both files.
    """

    pages: tuple[tuple[int, int], ...]
    names: tuple[tuple[str, str], ...]
    marks: tuple[Mark, ...]
    outline: Entry


def write_sheets(
    a: BinaryIO, b: BinaryIO, shown: str, password: str | None, sheets: Sheets, target: BinaryIO
) -> None:
    """Write pages of two PDFs side by side, with marks.

    Args:
        a: the first PDF, open and seekable.
        b: the second.
        shown: both names in messages.
        password: of encrypted files.
        sheets: to write.
        target: to write to.

    Raises:
        CorruptFileError: pypdf cannot write the pages.
    """
    with tempfile.TemporaryFile() as both:
        for file in (a, b):
            file.seek(0)
            shutil.copyfileobj(file, both)
        request = {
            "password": password,
            "first": a.seek(0, os.SEEK_END),
            "sheets": sheets.pages,
            "names": sheets.names,
            "marks": [asdict(mark) for mark in sheets.marks],
            "outline": asdict(sheets.outline),
        }
        if not _written(both, request, target):
            raise CorruptFileError(
                f"Cannot show {shown} side by side: one of them is damaged; print both to new PDFs."
            )


def _written(file: BinaryIO, request: dict[str, Any], target: BinaryIO) -> bool:
    """Write what the reader process answers; return whether the answer is whole."""
    with reader_process(_ENGINE, file, request) as messages:
        for message in messages:
            if message["kind"] == "part":
                target.write(base64.b64decode(message["data"]))
            if message["kind"] == "end":
                return True
    return False
