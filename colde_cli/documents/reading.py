"""Any source to a `Document`: picks a reader by content and suffix, and says what is wrong with the rest."""

from __future__ import annotations

import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from colde_cli.documents.document import Document
from colde_cli.errors import (
    LimitError,
    MissingFileError,
    NotAvailableError,
    NoTextError,
    OptionError,
    UnsupportedFormatError,
)

SUPPORTED_SUFFIXES = frozenset((".pdf", ".txt", ".md", ".markdown"))
"""Suffixes of the files that `read` takes, in lower case."""
MAX_PDF_BYTES = 512 << 20
MAX_TEXT_BYTES = 64 << 20
_LATER = {".html": "HTML", ".htm": "HTML", ".docx": "Word", ".tex": "LaTeX"}
_SNIFFED = 4096
_SIGNATURES = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"PK\x03\x04", "a ZIP archive or Office document"),
    (b"\x7fELF", "a program"),
)


def read(
    source: str | Path,
    *,
    password: str | None = None,
    pages: tuple[int, int] | None = None,
    stdin: BinaryIO | None = None,
) -> Document:
    """Read a PDF, text or Markdown file.

    The work is done in a process of its own for PDFs, so that several files can be read at once from threads.

    Args:
        source: path of the file; "-" reads standard input, the kind found out from the content.
        password: of an encrypted PDF.
        pages: first and last page of a PDF to read, 1-based and inclusive; None for all.
        stdin: stands in for standard input.

    Raises:
        DocumentError: the file cannot be read; its kind says why.
        NotAvailableError: a kind of file that a later version reads.
        OptionError: `pages` are out of order, or the source has no pages.
    """
    if pages and not 1 <= pages[0] <= pages[1]:
        raise OptionError(f"Pages {pages[0]}-{pages[1]} are not a range; write --pages FIRST-LAST.")
    path = str(source)
    if path == "-":
        origin = _Origin(path, "standard input", "", "Standard input")
        with _spooled(stdin or sys.stdin.buffer) as file:
            return _read_open(file, origin, password, pages)
    with _open(Path(source)) as file:
        origin = _Origin(path, Path(source).name, Path(source).suffix.lower(), path)
        return _read_open(file, origin, password, pages)


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where bytes come from: path as given, a name for want of a title, suffix, and what messages call it."""

    path: str
    name: str
    suffix: str
    shown: str


def _open(path: Path) -> BinaryIO:
    """The open file; pipes and devices are copied first.

    Raises:
        MissingFileError: it is not there, a folder, or not ours to read.
    """
    try:
        if path.is_dir():
            raise MissingFileError(f"{path} is a folder; name a file in it.")
        file = path.open("rb")
        if stat.S_ISREG(path.stat().st_mode):
            return file
    except FileNotFoundError as error:
        raise MissingFileError(f"There is no file {path}.") from error
    except PermissionError as error:
        raise MissingFileError(f"{path} may not be read: permission denied.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MissingFileError(f"{path} cannot be opened: {reason}.") from error
    with file:
        return _spooled(file)


def _spooled(stream: BinaryIO) -> BinaryIO:
    """A seekable copy of a stream, no longer than one byte over the limit."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    left = MAX_PDF_BYTES + 1
    while left and (block := stream.read(min(left, 1 << 20))):
        copy.write(block)
        left -= len(block)
    copy.seek(0)
    return copy


def _read_open(
    file: BinaryIO, origin: _Origin, password: str | None, pages: tuple[int, int] | None
) -> Document:
    path, name, shown = origin.path, origin.name, origin.shown
    head = file.read(_SNIFFED)
    size = file.seek(0, 2)
    file.seek(0)
    if not head:
        raise NoTextError(f"{shown} is empty.")
    kind = _kind(head, origin.suffix, shown)
    limit = MAX_PDF_BYTES if kind == "pdf" else MAX_TEXT_BYTES
    if size > limit:
        raise LimitError(f"{shown} is larger than {limit >> 20} MiB, the most that colde reads.")
    if kind == "pdf":
        from colde_cli.documents.pdf.reader import read_pdf

        return read_pdf(file, path, name, password, pages)
    if pages:
        raise OptionError(f"{shown} has no pages; --pages is for PDFs.")
    if kind == "markdown":
        from colde_cli.documents.markdown import read_markdown

        return read_markdown(file.read(), path, name)
    from colde_cli.documents.text import read_text

    return read_text(file.read(), path, name)


def _kind(head: bytes, suffix: str, shown: str) -> str:
    """The reader, "pdf", "markdown" or "text", by content first: names lie.

    Raises:
        NotAvailableError: a kind that a later version reads.
        UnsupportedFormatError: any other kind.
    """
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if suffix in _LATER:
        raise NotAvailableError(f"Reading {suffix} is not available yet; convert {shown} to PDF or text.")
    _refuse_other_kinds(head, suffix, shown)
    if suffix == ".pdf":
        return "pdf"
    if suffix in (".md", ".markdown"):
        return "markdown"
    if suffix == ".txt":
        return "text"
    if suffix:
        known = ", ".join(sorted(SUPPORTED_SUFFIXES))
        raise UnsupportedFormatError(
            f"{shown}: files of kind {suffix} are not supported; colde reads {known}."
        )
    return "markdown" if _looks_like_markdown(head) else "text"


def _refuse_other_kinds(head: bytes, suffix: str, shown: str) -> None:
    for signature, what in _SIGNATURES:
        if head.startswith(signature):
            raise UnsupportedFormatError(f"{shown} is {what}, not a document that colde reads.")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        if suffix == ".pdf":
            raise UnsupportedFormatError(f"{shown} is a web page, not a PDF; the download may have failed.")
        raise NotAvailableError(f"Reading HTML is not available yet; convert {shown} to PDF or text.")
    if not suffix and start.startswith((b"\\documentclass", b"\\documentstyle")):
        raise NotAvailableError(f"Reading LaTeX is not available yet; convert {shown} to PDF or text.")


def _looks_like_markdown(head: bytes) -> bool:
    lines = head.split(b"\n")
    return not head.startswith(b"#!") and any(line.startswith((b"# ", b"## ", b"```")) for line in lines)
