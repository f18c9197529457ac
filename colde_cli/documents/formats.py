"""The formats of files that are read, and all that is said of one; a new one is a line here and a file to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from colde_cli.documents.outside import Kind, OutsideKind, PartKind, kinds_of

_PAGED: Final = frozenset[Kind]((OutsideKind.HEADERS, OutsideKind.FOOTERS))
_ALL: Final = frozenset[Kind]((*OutsideKind, *PartKind))
_OFFICE: Final = _ALL - {PartKind.FORMS, PartKind.APPEARANCE}
_WEB: Final = _OFFICE - {OutsideKind.NOTES}
_SOURCE: Final = kinds_of(
    "comments deleted-text alternative-texts hidden-text links metadata code structure notes pictures drawings"
    " embedded-files formulas media".split()
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files."""

    noun: str  # what a file of it is called
    suffixes: tuple[str, ...]  # of its files, in lower case
    held: frozenset[Kind]  # the kinds of texts outside and of parts that it can hold
    reader: str  # module and function that read it in this process; the function takes the bytes, path and name
    takes_file: bool = False  # the reader takes the open file, not its bytes
    max_bytes: int = 64 << 20  # the largest file that is read
    has_lines: bool = True  # a person can open a file of it at the number of a line


_ROOM = "colde_cli.documents"
FORMATS: Mapping[str, FileFormat] = {
    "pdf": FileFormat(
        noun="a PDF",
        suffixes=(".pdf",),
        held=_ALL - {OutsideKind.STRUCTURE, OutsideKind.CODE, OutsideKind.NOTES, OutsideKind.DELETED},
        reader=f"{_ROOM}.pdf.read_pdf:read_pdf",
        takes_file=True,
        max_bytes=512 << 20,
        has_lines=False,
    ),
    "picture": FileFormat(
        noun="a picture",
        suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"),
        held=_PAGED | kinds_of(("rotated-text", "contents", "pictures", "appearance")),
        reader=f"{_ROOM}.pdf.pictures:read_picture",
        takes_file=True,
        max_bytes=256 << 20,
        has_lines=False,
    ),
    "text": FileFormat("a text file", (".txt",), _PAGED | {OutsideKind.CONTENTS}, f"{_ROOM}.plain_text:read_text"),
    # Markdown can hold HTML.
    "markdown": FileFormat("a Markdown file", (".md", ".markdown"), _OFFICE, f"{_ROOM}.markdown:read_markdown"),
    "docx": FileFormat("a Word file", (".docx",), _OFFICE, f"{_ROOM}.office.docx:read_docx", True, 256 << 20, False),
    "odt": FileFormat(
        "an OpenDocument text", (".odt",), _OFFICE, f"{_ROOM}.office.odt:read_odt", True, 256 << 20, False
    ),
    "html": FileFormat("a web page", (".html", ".htm"), _WEB, f"{_ROOM}.html.read_html:read_html"),
    "tex": FileFormat(
        "a LaTeX file", (".tex",), _SOURCE | _PAGED, f"{_ROOM}.tex.read_tex:read_tex", max_bytes=16 << 20
    ),
}
"""The formats by the name that a `Document` has."""
OF_SUFFIX: Mapping[str, str] = {end: name for name, one in FORMATS.items() for end in one.suffixes}
"""The format of a suffix."""
SEARCHED_SUFFIXES = frozenset(end for end, name in OF_SUFFIX.items() if name != "picture")
"""Suffixes of the files that are documents wherever they lie; a picture in a folder may be anything."""
