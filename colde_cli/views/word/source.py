"""Find the paragraphs and tables of a Word file that the blocks of a document were read from."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from lxml.etree import XMLSyntaxError

from colde_cli.documents.builder import tidy
from colde_cli.similarity.tracked_changes import Flow
from colde_cli.views.word.markup import Element, resolve

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document

_LARGEST = 1 << 30
"""Maximum size of all parts together, unpacked, in bytes."""
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
# What python-docx raises for files that colde can read: of another namespace, without a part, half damaged.
_UNOPENED = (
    *(OSError, KeyError, ValueError, AttributeError),
    *(XMLSyntaxError, zipfile.BadZipFile, PackageNotFoundError),
)
_RUN, _PARAGRAPH, _TABLE, _BOX = qn("w:r"), qn("w:p"), qn("w:tbl"), qn("w:txbxContent")
_SIGNS = {
    qn("w:tab"): " ",
    qn("w:br"): " ",
    qn("w:cr"): " ",
    qn("w:ptab"): " ",
    qn("w:noBreakHyphen"): "-",
}
_NOTES = {qn("w:footnoteReference"): "footnote", qn("w:endnoteReference"): "endnote"}


class NotKept(Exception):  # noqa: N818 - no error of the user's
    """The layout of a Word file cannot be kept; the message says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class BlockSource:
    """What a block was read from.

    Attributes:
        element: the paragraph or the table; None for a note, a text box or a formula, where nothing is written.
        rows: the texts of the cells of a table, row by row.
    """

    element: Element | None
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return self.element is not None and self.element.tag == _TABLE


@dataclass(frozen=True, slots=True)
class WordSource:
    """A Word file, its tracked changes accepted, and the source of each block of its document.

    Attributes:
        in_word: whether the document is that of the file.
    """

    file: WordFile
    sources: tuple[BlockSource, ...]
    in_word: bool = True

    @classmethod
    def of_text(cls, document: Document, file: WordFile) -> WordSource:
        """Stand in for a document that is no Word file: nothing is known of its layout."""
        return cls(file, (BlockSource(None),) * len(Flow.of(document).blocks), in_word=False)

    @property
    def tables(self) -> frozenset[int]:
        """Indices of the blocks that are tables."""
        return frozenset(index for index, source in enumerate(self.sources) if source.is_table)


def word_source(document: Document) -> WordSource:
    """Open the Word file of a document.

    Args:
        document: as read from a file; nothing may have been left out.

    Raises:
        NotKept: the file is no longer there or no Word file, or its text is not that of the document.
    """
    file = _opened(document.path)
    body = file.element.body
    resolve(body, accept=True)
    found = _matched(Flow.of(document), list(_items(body, _note_texts(file))))
    return WordSource(file, tuple(found))


def _opened(path: str) -> WordFile:
    try:
        content = Path(path).read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
                raise NotKept("it is too large")
        return docx.Document(io.BytesIO(content))
    except _UNOPENED as error:
        raise NotKept("it is no Word file that can be changed") from error


@dataclass(frozen=True, slots=True)
class _Item:
    """A paragraph, table or note, with its text as colde reads it.

    Attributes:
        notes: texts of the notes that it refers to.
    """

    text: str
    source: BlockSource
    notes: list[str] = field(default_factory=list)


def _items(parent: Element, notes: dict[tuple[str, str], str]) -> Iterator[_Item]:
    """Yield the paragraphs and tables of a body in reading order."""
    for child in parent:
        if child.tag == _PARAGRAPH:
            yield from _boxes(child)
            locked = any(True for _ in child.iter(_MATH))
            yield _Item(text_of(child), BlockSource(None if locked else child), _referred(child, notes))
        elif child.tag == _TABLE:
            rows = tuple(_rows(child))
            lines = [" | ".join(cells) for cells in rows if any(cells)]
            text = "\n".join(line for line in map(tidy, lines) if line)
            yield _Item(text, BlockSource(child, rows), _referred(child, notes))
        elif child.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:customXml"), qn("w:smartTag")):
            yield from _items(child, notes)


def _boxes(paragraph: Element) -> Iterator[_Item]:
    for box in paragraph.iter(_BOX):
        if next(box.iterancestors(_FALLBACK), None) is None:
            for inner in box.iter(_PARAGRAPH):
                yield _Item(text_of(inner), BlockSource(None))


def _rows(table: Element) -> Iterator[tuple[str, ...]]:
    for row in children(table, "w:tr"):
        yield tuple(
            " ".join(filter(None, map(text_of, cell.iter(_PARAGRAPH)))) for cell in children(row, "w:tc")
        )


def children(parent: Element, name: str) -> Iterator[Element]:
    """Yield the children of a name, also those in content controls."""
    for child in parent:
        if child.tag == qn(name):
            yield child
        elif child.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:customXml")):
            yield from children(child, name)


def _referred(element: Element, notes: dict[tuple[str, str], str]) -> list[str]:
    keys = ((_NOTES[mark.tag], mark.get(qn("w:id"), "")) for mark in element.iter(*_NOTES))
    return [notes[key] for key in keys if notes.get(key)]


def _note_texts(file: WordFile) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    for part in file.part.package.iter_parts():
        kind = part.partname.rpartition("/")[2].removesuffix("s.xml")
        if kind in _NOTES.values():
            root = parse_xml(part.blob)
            resolve(root, accept=True)
            for note in root:
                words = " ".join(text_of(paragraph) for paragraph in note.iter(_PARAGRAPH))
                texts[kind, note.get(qn("w:id"), "")] = tidy(words)
    return texts


def _matched(flow: Flow, items: list[_Item]) -> Iterator[BlockSource]:
    """Yield the source of each block; items that the reader left out are passed over."""
    wanted = [block.text for block in flow.blocks]
    place, waiting = 0, list[str]()
    for item in items:
        if not item.text:
            continue
        while waiting and place < len(wanted) and wanted[place] != item.text and wanted[place] == waiting[0]:
            yield BlockSource(None)
            del waiting[0]
            place += 1
        if place < len(wanted) and wanted[place] == item.text:
            yield item.source
            place += 1
        waiting += item.notes
    for note in waiting:
        if place < len(wanted) and wanted[place] == note:
            yield BlockSource(None)
            place += 1
    if place < len(wanted):
        raise NotKept("its text is not laid out as it was read")


@dataclass(frozen=True, slots=True)
class Letter:
    """A character of a paragraph, and where it stands: in a child of a run, at an offset."""

    sign: str
    run: Element
    child: Element
    offset: int


def letters(paragraph: Element) -> Iterator[Letter]:
    """Yield the characters of the runs of a paragraph, without those of text boxes."""
    for run in runs_of(paragraph):
        for child in run:
            if child.tag == qn("w:t"):
                for offset, sign in enumerate(child.text or ""):
                    yield Letter(sign, run, child, offset)
            elif child.tag in _SIGNS:
                yield Letter(_SIGNS[child.tag], run, child, 0)


def runs_of(parent: Element) -> Iterator[Element]:
    """Yield the runs of a paragraph, also those of links and content controls."""
    for child in parent:
        if child.tag == _RUN:
            yield child
        elif child.tag != qn("w:pPr"):
            yield from runs_of(child)


def text_of(paragraph: Element) -> str:
    """The text of a paragraph as colde reads it."""
    if any(True for _ in paragraph.iter(_MATH)):
        return tidy("".join(_with_formulas(paragraph)))
    return tidy("".join(letter.sign for letter in letters(paragraph)))


def _with_formulas(parent: Element) -> Iterator[str]:
    for child in parent:
        if child.tag in (qn("w:t"), _MATH):
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag not in (_BOX, qn("w:pPr")):
            yield from _with_formulas(child)


def places(paragraph: Element) -> tuple[list[Letter], list[int]]:
    """List the characters of a paragraph, and of each character of its text the place in that list."""
    found = list(letters(paragraph))
    kept: list[int] = []
    blank = None
    for place, letter in enumerate(found):
        sign = tidy(f"x{letter.sign}x")[1:-1]  # a blank, nothing, or the sign itself
        if sign == " ":
            blank = place if blank is None else blank
        elif sign:
            if blank is not None and kept:
                kept.append(blank)
            blank = None
            kept.append(place)
    return found, kept
