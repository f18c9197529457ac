"""Read any source: find its kind by content and suffix, and call the reader of that kind."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NoReturn

from colde_cli import errors
from colde_cli.documents.apart import PAGE_ENGINE, read_apart
from colde_cli.documents.document import Document, FileCopy, shown_as
from colde_cli.documents.formats import FORMATS, OF_SUFFIX, SEARCHED_SUFFIXES
from colde_cli.documents.outside import digest_of
from colde_cli.documents.sandbox import start_reader
from colde_cli.documents.stages import stage
from colde_cli.errors import LimitError, MissingFileError, NoTextError, OptionError, UnsupportedFormatError

_ENGINES = {"pdf": "colde_cli.documents.pdf.pdfium_engine", "html": PAGE_ENGINE}
_PAGED = frozenset(("pdf", "picture"))
LOOKED_AT = frozenset(("pdf", "docx", "odt"))
"""Formats with pictures or pages that a comparison may look at again; see `appearance.py`."""
_TRACKED = frozenset(("docx", "odt"))
"""Formats with tracked changes; their readers take `rejects`."""
SUPPORTED_SUFFIXES = frozenset(OF_SUFFIX)
"""Suffixes of the files that `read` takes, in lower case."""
SNIFFED = 4096
"""Bytes at the beginning of a file that show its kind."""
_SIGNATURES = (
    (b"GIF8", "a GIF image", "save it as PNG"),
    (b"{\\rtf", "an RTF document", "save it as .docx or .odt"),
    (b"%!PS", "a PostScript file", "convert it to PDF"),
    (b"\x1f\x8b", "a gzip archive", "unpack it"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old or an encrypted Office document", "save it as .docx without a password"),
    (b"\x7fELF", "a program", "name a document"),
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer",
        "fetch the file itself with: git lfs pull",
    ),
)
_PICTURE = re.compile(rb"\x89PNG\r\n|\xff\xd8\xff|II[*+]\0|MM\0[*+]|RIFF....WEBP", re.DOTALL)
_PDF_LINE = re.compile(rb"%PDF-\d\.\d[ \t]*[\r\n]")
_ZIP = b"PK\x03\x04"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
_WORD = (b"[Content_Types].xml", b"word/")
_WEB_PAGE = re.compile(
    rb"(<\?xml[^>]{0,200}>\s*)?(<!--.{0,2000}?-->\s*)?<(!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_HTML_ELEMENT = re.compile(rb"<(head|body|title|meta|main|article|section|div|h[1-6]|p)\b[^<>]{0,1000}>", re.IGNORECASE)
_LATEX = re.compile(
    rb"^[ \t]*\\(documentclass|documentstyle|begin\{document\}|(part|chapter|section)\*?\{)", re.MULTILINE
)
LARGE_TEXT_BYTES = 256 << 10
"""Size of a large file of text: its worst characters take three seconds."""
LARGE_OFFICE_BYTES = 1 << 20
"""Size of a large Office file, which is compressed."""


@stage("reading")
def read(
    source: str | Path,
    *,
    password: str | None = None,
    pages: tuple[int, int] | None = None,
    stdin: BinaryIO | None = None,
    stream: BinaryIO | None = None,
    textless: bool = False,
    rejects: bool = False,
    ocr: str | None = None,
) -> Document:
    """Read a PDF, picture, Word, OpenDocument, HTML, LaTeX, Markdown or text file.

    PDFs, pictures, web pages and large files are read in separate processes, so that threads can read several at once.

    Args:
        source: path of the file; "-" reads standard input and finds its kind by content.
        password: of an encrypted PDF.
        pages: first and last page of a PDF or TIFF file to read, 1-based and inclusive; None for all.
        stdin: replaces standard input.
        stream: read this in place of the file, whose name then only shows its kind and stands in messages.
        textless: take a file without text too, such as a scan; its document has no sections.
        rejects: read tracked changes as rejected, not as accepted.
        ocr: which pages to read by OCR: "auto", "always" or "never"; None for COLDE_OCR, else "auto".

    Raises:
        DocumentError: the file cannot be read; its class says why.
        OptionError: `pages` are out of order, or the source has no pages.
    """
    if pages and not 1 <= pages[0] <= pages[1]:
        raise OptionError(
            f"{errors.called('pages')} {pages[0]}-{pages[1]} is not a range; give the first and the last."
        )
    path = str(source)
    if path == "-" and stream is None:
        name, suffix, stream = "standard input", "", stdin or sys.stdin.buffer
    else:
        name, suffix = Path(source).name, Path(source).suffix.lower()

    def read_open(file: BinaryIO) -> Document:
        return _read_open(file, path, name, suffix, password, pages, textless=textless, rejects=rejects, ocr=ocr)

    try:
        if stream is not None:
            return _read_copy(stream, read_open)
        with _open(Path(source)) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return read_open(file) if regular else _read_copy(file, read_open)
    except OSError as error:  # of the disk or the network, after it was opened
        raise MissingFileError(f"Cannot read {shown_as(path)}: {error.strerror or error}.") from error


def start_readers(sources: Iterable[str | Path]) -> None:
    """Start the processes that will read these sources, as far as their suffixes say."""
    engines = Counter(_ENGINES.get(OF_SUFFIX.get(Path(source).suffix.lower(), "")) for source in sources)
    for engine, count in engines.items():
        if engine is not None:
            start_reader(engine, count)


def _open(path: Path) -> BinaryIO:
    """Open a file.

    Raises:
        MissingFileError: it does not exist, is a folder, or may not be read.
    """
    try:
        if path.is_dir():
            raise MissingFileError(f"Cannot read {path}: it is a folder; name a file in it.")
        return path.open("rb")
    except FileNotFoundError as error:
        raise MissingFileError(f"Cannot find the file {path}; check its name and folder.") from error
    except PermissionError as error:
        raise MissingFileError(f"Cannot read {path}: permission denied; ask its owner for access.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MissingFileError(f"Cannot open {path}: {reason}.") from error


def _read_copy(stream: BinaryIO, read_open: Callable[[BinaryIO], Document]) -> Document:
    """Read a stream, a pipe or a device; the document keeps the copy if its pictures and pages may be looked at."""
    copy = FileCopy(_spooled(stream))
    try:
        with copy.opened() as file:
            document = read_open(file)
    except BaseException:
        copy.close()
        raise
    return replace(document, copy=copy) if document.format in LOOKED_AT else document


def _spooled(stream: BinaryIO) -> BinaryIO:
    """Copy a stream to a seekable file, up to one byte over the limit."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    left = max(one.max_bytes for one in FORMATS.values()) + 1
    try:
        while left and (block := stream.read(min(left, 1 << 20))):
            copy.write(block)
            left -= len(block)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def _read_open(
    file: BinaryIO,
    path: str,
    name: str,
    suffix: str,
    password: str | None,
    pages: tuple[int, int] | None,
    *,
    textless: bool,
    rejects: bool,
    ocr: str | None,
) -> Document:
    shown = shown_as(path)
    head = file.read(SNIFFED)
    size = file.seek(0, 2)
    file.seek(0)
    if not head:
        raise NoTextError(f"Cannot read {shown}: it is empty.")
    kind = kind_of_file(head, suffix, shown)
    limit = FORMATS[kind].max_bytes
    if size > limit:
        raise LimitError(
            f"Cannot read {shown}: it is larger than {limit >> 20} MiB, the most that colde reads; split it."
        )
    if pages and kind not in _PAGED:
        raise OptionError(
            f"Leave out --pages: {shown} has no pages; colde text --pages writes that part of a PDF to a file."
        )
    digest = digest_of(iter(lambda: file.read(1 << 20), b""))
    file.seek(0)
    if kind == "pdf":
        from colde_cli.documents.pdf.read_pdf import read_pdf

        document = read_pdf(file, path, name, password, pages, textless=textless, ocr=ocr)
    elif kind == "picture":
        from colde_cli.documents.pdf.pictures import read_picture

        document = read_picture(file, path, name, pages, textless=textless, ocr=ocr)
    elif kind == "html" or size > (LARGE_OFFICE_BYTES if kind in ("docx", "odt") else LARGE_TEXT_BYTES):
        document = read_apart(kind, file, path, name, rejects=rejects)
    else:
        document = read_here(kind, file, path, name, rejects=rejects)
    if not document.sections and not textless:
        raise NoTextError(f"Cannot read {shown}: it holds no text.")
    return replace(document, format=kind, digest=digest)


def read_here(kind: str, file: BinaryIO, path: str, name: str, *, rejects: bool = False) -> Document:
    """Read an open file of any kind but PDF, pictures and HTML in this process, and import no other reader."""
    module, _, function = FORMATS[kind].reader.partition(":")
    read_kind: Callable[..., Document] = getattr(import_module(module), function)
    options = {"rejects": rejects} if kind in _TRACKED else {}
    return read_kind(file if FORMATS[kind].takes_file else file.read(), path, name, **options)


def kind_of_file(head: bytes, suffix: str, shown: str) -> str:
    """Find the kind of a file: "pdf", "picture", "docx", "odt", "html", "tex", "markdown" or "text".

    Args:
        head: its first `SNIFFED` bytes.
        suffix: of its name, in lower case; "" for none (standard input).
        shown: its name in messages.

    Raises:
        UnsupportedFormatError: no reader takes it.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"%PDF-") or _is_pdf_after_junk(head[:1024], suffix):
        return "pdf"
    if head.startswith(_ZIP):
        return _kind_of_archive(head, suffix, shown)
    if _PICTURE.match(head):
        return "picture"
    for signature, kind, remedy in _SIGNATURES:
        if head.startswith(signature):
            _refuse(shown, kind, remedy)
    if _WEB_PAGE.match(start):
        if suffix == ".pdf":
            _refuse(shown, "a web page, not a PDF", "download the PDF again")
        return "html"
    if suffix in OF_SUFFIX:
        return OF_SUFFIX[suffix]
    if suffix:
        known = ", ".join(sorted(SEARCHED_SUFFIXES))
        reads = f"colde reads {known} and, by OCR, pictures"
        raise UnsupportedFormatError(f"Cannot read {shown}: {suffix} files are not supported; {reads}.")
    return _kind_of_text(start)


def _is_pdf_after_junk(head: bytes, suffix: str) -> bool:
    """Whether a PDF begins in here, as far as the name allows: a text may mention how one begins."""
    if not suffix:
        return _PDF_LINE.search(head) is not None
    kind = OF_SUFFIX.get(suffix, "pdf")
    if kind == "pdf":
        return b"%PDF-" in head
    return kind not in ("tex", "html") and any(map(_PDF_LINE.match, head.splitlines(keepends=True)))


def _kind_of_archive(head: bytes, suffix: str, shown: str) -> str:
    if _OPEN_DOCUMENT in head[:200]:
        if _OPEN_DOCUMENT + b".text" in head[:200]:
            return "odt"
        _refuse(shown, "an OpenDocument file without running text", "export it as PDF")
    if all(name in head for name in _WORD):
        return "docx"
    if suffix not in ("", ".docx", ".odt"):
        _refuse(shown, "a ZIP archive or an Office document without running text", "unpack or export it")
    return "odt" if suffix == ".odt" else "docx"


def _refuse(shown: str, kind: str, remedy: str) -> NoReturn:
    raise UnsupportedFormatError(f"Cannot read {shown}: it is {kind}; {remedy}.")


def _kind_of_text(start: bytes) -> str:
    """Find the kind of a text without a suffix by the marks of web pages, LaTeX and Markdown."""
    if _HTML_ELEMENT.match(start):
        return "html"
    if _LATEX.search(start):
        return "tex"
    lines = start.split(b"\n")
    marked = not start.startswith(b"#!") and any(line.startswith((b"# ", b"## ", b"```")) for line in lines)
    return "markdown" if marked else "text"
