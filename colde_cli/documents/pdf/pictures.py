"""Read PNG, JPEG, TIFF, WebP and BMP files as scans: their pages become those of a PDF, which OCR reads."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import BinaryIO

from colde_cli.documents.document import Document, FileCopy, shown_as
from colde_cli.documents.pdf.read_pdf import read_pdf, receive_file
from colde_cli.documents.pdf.scans import available, chosen
from colde_cli.errors import CorruptFileError, LimitError, UnsupportedFormatError

MEMORY = 3 << 30
"""Bytes of address space of the reader process, in addition to four times the file."""
SECONDS = 240
"""Processor time for a file; a page of A4 at 300 dpi takes half a second."""
STEP_SECONDS = 30.0
"""Processor time for one of its pages."""


def read_picture(
    file: BinaryIO,
    path: str,
    name: str,
    pages: tuple[int, int] | None,
    *,
    textless: bool = False,
    ocr: str | None = None,
) -> Document:
    """Read an open file of pictures; arguments and errors as of `read_pdf`. The document keeps the PDF as its copy.

    Raises:
        CorruptFileError: it is no picture, a damaged one, one with too many pixels, or an animation.
        NoTextError: OCR finds no words.
        UnsupportedFormatError: OCR is not installed, or not wanted.
    """
    shown = shown_as(path)
    if chosen(ocr) == "never":
        raise UnsupportedFormatError(f"Cannot read {shown}: it is a picture, to read by OCR; choose --ocr auto.")
    if not available():
        remedy = "install what reads it by OCR: pip install 'colde[ocr]'"
        raise UnsupportedFormatError(f"Cannot read {shown}: it is a picture; {remedy}.")
    copy = FileCopy(tempfile.TemporaryFile())  # noqa: SIM115 - the copy closes it
    with copy.opened() as made:
        _write_pdf(file, made, shown)
        document = read_pdf(made, path, name, None, pages, textless=textless, ocr=ocr)
    return replace(document, copy=copy)


def _write_pdf(file: BinaryIO, made: BinaryIO, shown: str) -> None:
    limits = {"memory": MEMORY + 4 * file.seek(0, os.SEEK_END), "seconds": SECONDS, "step": STEP_SECONDS}
    refused = receive_file("colde_cli.documents.pdf.picture_engine", file, limits, made)
    if refused:
        raise CorruptFileError(f"Cannot read {shown}: {refused}.")
    if refused is not None:
        raise LimitError(f"Cannot read {shown}: it takes more memory or time than a picture may; save it smaller.")
