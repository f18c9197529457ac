"""Write PDFs with highlights on some of their words, and an outline that leads to them.

The files are taken apart and written by pypdf in a reader process (`marking_engine.py`), like every PDF that is read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO

from colde_cli.documents.pdf.places import Quad
from colde_cli.documents.pdf.read_pdf import SECONDS, receive_file
from colde_cli.errors import CorruptFileError

STRUCK, UNDERLINED = 0.46, 0.06
"""Share of a line's height at which the stroke of a highlight runs, so that it is seen without colours, too."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a mark; colours are red, green and blue from 0 to 255."""

    name: str
    fill: tuple[int, int, int]
    line: tuple[int, int, int]
    stroke: float | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlight on pieces of lines of one page, with the note that a reader sees who points at it."""

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
    files: Sequence[BinaryIO],
    target: BinaryIO,
    password: str | None,
    marks: Sequence[Mark],
    outline: Entry,
    trouble: str,
    sheets: Sequence[tuple[int, int]] | None = None,
    names: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a PDF with marks, or pages of two PDFs side by side.

    Pages are counted over both files: those of the first file come first. So are the pages of marks and places.
    Annotations, outline and password of a single file are kept.

    Args:
        files: one or two, open and seekable.
        target: to write to.
        password: of encrypted files.
        marks: to add.
        outline: goes before the entries of the file.
        trouble: the message of the error.
        sheets: left and right page of each sheet, 0 for an empty half, if pages are to stand side by side.
        names: two texts above each page, of all pages of both files.

    Raises:
        CorruptFileError: pypdf cannot write the file.
    """
    request = {
        "password": password,
        "step": SECONDS,
        "first": files[0].seek(0, os.SEEK_END),
        "marks": [asdict(mark) for mark in marks],
        "outline": asdict(outline),
        "sheets": sheets,
        "names": names,
    }
    with tempfile.TemporaryFile() as whole:
        for file in files:
            file.seek(0)
            shutil.copyfileobj(file, whole)
        if receive_file("colde_cli.documents.pdf.marking_engine", whole, request, target) is not None:
            raise CorruptFileError(trouble)
