"""What kind of file it is, by its content first: names lie."""

from __future__ import annotations

import re

from colde_cli.errors import UnsupportedFormatError

_KINDS = {
    ".pdf": "pdf",
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".docx": "docx",
    ".odt": "odt",
    ".html": "html",
    ".htm": "html",
    ".tex": "tex",
}
SUPPORTED_SUFFIXES = frozenset(_KINDS)
"""Suffixes of the files that `read` takes, in lower case."""
SNIFFED = 4096
"""Bytes from the beginning of a file by which its kind is found out."""
_SIGNATURES = (
    (b"\x89PNG\r\n", "a PNG image", ""),
    (b"\xff\xd8\xff", "a JPEG image", ""),
    (b"GIF8", "a GIF image", ""),
    (b"II*\x00", "a TIFF image", ""),
    (b"MM\x00*", "a TIFF image", ""),
    (b"{\\rtf", "an RTF document", "save it as .docx or .odt"),
    (b"%!PS", "a PostScript file", "convert it to PDF"),
    (b"\x1f\x8b", "a gzip archive", "unpack it"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old or an encrypted Office document", "save it as .docx without a password"),
    (b"\x7fELF", "a program", ""),
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer",
        "fetch the file itself with: git lfs pull",
    ),
)
_ZIP = b"PK\x03\x04"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
_WORD = (b"[Content_Types].xml", b"word/")
_PAGE = re.compile(
    rb"(<\?xml[^>]{0,200}>\s*)?(<!--.{0,2000}?-->\s*)?<(!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_PIECE_OF_PAGE = re.compile(
    rb"<(head|body|title|meta|main|article|section|div|h[1-6]|p)\b[^<>]{0,1000}>", re.IGNORECASE
)
_LATEX = re.compile(
    rb"^[ \t]*\\(documentclass|documentstyle|begin\{document\}|(part|chapter|section)\*?\{)", re.MULTILINE
)


def kind_of_file(head: bytes, suffix: str, shown: str) -> str:
    """The reader that takes a file: "pdf", "docx", "odt", "html", "tex", "markdown" or "text".

    Args:
        head: its first `SNIFFED` bytes.
        suffix: of its name, in lower case; "" where it has none (standard input).
        shown: what messages call it.

    Raises:
        UnsupportedFormatError: no reader takes it.
    """
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"%PDF-") or (b"%PDF-" in head[:1024] and suffix not in (".tex", ".html", ".htm")):
        return "pdf"
    if head.startswith(_ZIP):
        return _kind_of_archive(head, suffix, shown)
    for signature, what, remedy in _SIGNATURES:
        if head.startswith(signature):
            _refuse(shown, what, remedy)
    if _PAGE.match(start):
        if suffix == ".pdf":
            raise UnsupportedFormatError(f"{shown} is a web page, not a PDF; the download may have failed.")
        return "html"
    if suffix in _KINDS:
        return _KINDS[suffix]
    if suffix:
        known = ", ".join(sorted(SUPPORTED_SUFFIXES))
        raise UnsupportedFormatError(
            f"{shown}: files of kind {suffix} are not supported; colde reads {known}."
        )
    return _kind_of_text(start)


def _kind_of_archive(head: bytes, suffix: str, shown: str) -> str:
    if _OPEN_DOCUMENT in head[:200]:
        if _OPEN_DOCUMENT + b".text" in head[:200]:
            return "odt"
        _refuse(shown, "an OpenDocument file without running text", "export it as PDF")
    if all(name in head for name in _WORD):
        return "docx"
    if suffix in ("", ".docx", ".odt"):
        return "odt" if suffix == ".odt" else "docx"
    return _refuse(shown, "a ZIP archive or Office document", "")


def _refuse(shown: str, what: str, remedy: str) -> str:
    tail = f"; {remedy}." if remedy else "."
    raise UnsupportedFormatError(f"{shown} is {what}, not a document that colde reads{tail}")


def _kind_of_text(start: bytes) -> str:
    """For want of a name: web pages, LaTeX and Markdown by their marks."""
    if _PIECE_OF_PAGE.match(start):
        return "html"
    if _LATEX.search(start):
        return "tex"
    lines = start.split(b"\n")
    marked = not start.startswith(b"#!") and any(line.startswith((b"# ", b"## ", b"```")) for line in lines)
    return "markdown" if marked else "text"
