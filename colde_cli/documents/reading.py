"""Any source to a `Document`: picks a reader by content and suffix, and says what is wrong with the rest."""

from __future__ import annotations

import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from colde_cli.documents.document import Document
from colde_cli.documents.sniffing import SNIFFED, kind_of_file
from colde_cli.errors import LimitError, MissingFileError, NoTextError, OptionError

MAX_PDF_BYTES = 512 << 20
MAX_TEXT_BYTES = 64 << 20
_MAX_BYTES = {"pdf": MAX_PDF_BYTES, "docx": 256 << 20, "odt": 256 << 20, "tex": 16 << 20}


def read(
    source: str | Path,
    *,
    password: str | None = None,
    pages: tuple[int, int] | None = None,
    stdin: BinaryIO | None = None,
) -> Document:
    """Read a PDF, Word, OpenDocument, HTML, LaTeX, Markdown or text file.

    PDFs and web pages are read in processes of their own, so that several can be read at once from threads.

    Args:
        source: path of the file; "-" reads standard input, the kind found out from the content.
        password: of an encrypted PDF.
        pages: first and last page of a PDF to read, 1-based and inclusive; None for all.
        stdin: stands in for standard input.

    Raises:
        DocumentError: the file cannot be read; its kind says why.
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
    head = file.read(SNIFFED)
    size = file.seek(0, 2)
    file.seek(0)
    if not head:
        raise NoTextError(f"{shown} is empty.")
    kind = kind_of_file(head, origin.suffix, shown)
    limit = _MAX_BYTES.get(kind, MAX_TEXT_BYTES)
    if size > limit:
        raise LimitError(f"{shown} is larger than {limit >> 20} MiB, the most that colde reads.")
    if kind == "pdf":
        from colde_cli.documents.pdf.reader import read_pdf

        return read_pdf(file, path, name, password, pages)
    if pages:
        raise OptionError(
            f"{shown} has no pages, so --pages is not for it; colde text --pages gives that part of a PDF alone."
        )
    if kind == "docx":
        from colde_cli.documents.docx.reader import read_docx

        return read_docx(file, path, name)
    if kind == "odt":
        from colde_cli.documents.odt.reader import read_odt

        return read_odt(file, path, name)
    return _reader(kind)(file.read(), path, name)


def _reader(kind: str) -> Callable[[bytes, str, str], Document]:
    """The reader of a kind of text; its imports wait until it is needed."""
    if kind == "markdown":
        from colde_cli.documents.markdown import read_markdown

        return read_markdown
    if kind == "html":
        from colde_cli.documents.html.reader import read_html

        return read_html
    if kind == "tex":
        from colde_cli.documents.tex.reader import read_tex

        return read_tex
    from colde_cli.documents.text import read_text

    return read_text
