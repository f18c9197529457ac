"""Open the Word file of a document, and find the paragraphs and tables that its blocks were read from."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn
from lxml.etree import XMLSyntaxError, iterwalk

from colde_cli.documents.builder import DocumentBuilder, tidy, tidy_lines
from colde_cli.documents.office.archive import Package
from colde_cli.documents.office.word_body import WordBody
from colde_cli.documents.office.word_styles import WordStyles
from colde_cli.similarity.tracked_changes import Flow
from colde_cli.views.word.markup import Element

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document

_LARGEST = 1 << 30
"""Maximum size of all parts together, unpacked, in bytes."""
# What python-docx raises for files that colde can read: of another namespace, without a part, half damaged.
_UNOPENED = (
    *(OSError, KeyError, ValueError, AttributeError),
    *(XMLSyntaxError, zipfile.BadZipFile, PackageNotFoundError),
)
_READ = (qn("w:p"), qn("w:tbl"))


class NotKept(Exception):  # noqa: N818 - no error of the user's
    """The layout of a Word file cannot be kept; the message says why, as the end of a sentence."""


def is_word_file(document: Document) -> bool:
    """Whether a document comes from a Word file, which can be written into."""
    return document.path.lower().endswith(".docx")


def opened(path: str) -> tuple[bytes, WordFile]:
    """Open a Word file.

    Raises:
        NotKept: it is no longer there, too large, or no Word file.
    """
    try:
        content = Path(path).read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
                raise NotKept("it is too large")
        return content, docx.Document(io.BytesIO(content))
    except _UNOPENED as error:
        raise NotKept("it is no Word file that can be changed") from error


@dataclass(frozen=True, slots=True)
class _Item:
    """A paragraph, table or note, with its text as colde reads it."""

    text: str
    element: Element | None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Recorder(DocumentBuilder):
    """Records what the reader adds to the document, and the element that it has come to."""

    items: list[_Item] = field(default_factory=list)
    element: Element | None = None

    def add_heading(self, text: str, level: int) -> None:
        """Record a heading."""
        self._add(tidy(text))

    def add_paragraph(self, text: str, *, lines: bool = False) -> None:
        """Record a paragraph or a table."""
        self._add(tidy_lines(text) if lines else tidy(text))

    def add_note(self, text: str) -> None:
        """Record a note; it stands at the end of its section."""
        if self.items and (words := tidy(text)):
            self.items[-1].notes.append(words)

    def _add(self, text: str) -> None:
        if text:
            self.items.append(_Item(text, self.element))


def _items(content: bytes, body: Element) -> list[_Item]:
    """List what the reader finds in a body, in reading order, each with its element."""
    package = Package(io.BytesIO(content), "")
    recorder, styles = _Recorder(""), WordStyles()
    package.read(package.part("styles"), styles)
    reader = WordBody(recorder, styles, package=package, part=package.main)
    for kind in ("footnotes", "endnotes"):
        reader.side_part(package.part(kind))
    for event, element in iterwalk(body, events=("start", "end")):
        if not isinstance(element.tag, str):
            reader.characters(element.tail or "" if event == "end" else "")
            continue
        if event == "start":
            attributes = {package.short(name): value for name, value in element.attrib.items()}
            reader.start(package.short(element.tag), attributes)
            reader.characters(element.text or "")
            continue
        recorder.element = element if element.tag in _READ else None
        reader.end(package.short(element.tag))
        reader.characters(element.tail or "")
    reader.finish()
    return recorder.items


def block_elements(document: Document, content: bytes, body: Element) -> Iterator[Element | None]:
    """Yield the paragraph or table of a body, its tracked changes settled, that each block of a document was read from.

    It is None for a block without an element there, such as a note. What the reader left out is passed over.
    """
    flow, items = Flow.of(document), _items(content, body)
    wanted = [block.text for block in flow.blocks]
    place, waiting = 0, list[str]()
    for item in items:
        if not item.text:
            continue
        while waiting and place < len(wanted) and wanted[place] != item.text and wanted[place] == waiting[0]:
            yield None
            del waiting[0]
            place += 1
        if place < len(wanted) and wanted[place] == item.text:
            yield item.element
            place += 1
        waiting += item.notes
    yield from [None] * (len(wanted) - place)
