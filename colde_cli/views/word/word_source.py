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
from docx.oxml.ns import qn
from lxml.etree import XMLSyntaxError, iterwalk

from colde_cli.documents.builder import DocumentBuilder, tidy, tidy_lines
from colde_cli.documents.notation import lowered, raised
from colde_cli.documents.office.archive import Package
from colde_cli.documents.office.body import Table
from colde_cli.documents.office.word_body import WordBody
from colde_cli.documents.office.word_styles import WordStyles
from colde_cli.similarity.tracked_changes import Flow
from colde_cli.views.word.markup import Element, resolve

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document

_LARGEST = 1 << 30
"""Maximum size of all parts together, unpacked, in bytes."""
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
# What python-docx raises for files that colde can read: of another namespace, without a part, half damaged.
_UNOPENED = (
    *(OSError, KeyError, ValueError, AttributeError),
    *(XMLSyntaxError, zipfile.BadZipFile, PackageNotFoundError),
)
_RUN, _PARAGRAPH, _TABLE, _BOX = qn("w:r"), qn("w:p"), qn("w:tbl"), qn("w:txbxContent")
_SCRIPTS = {"superscript": 1, "subscript": -1}
_SIGNS = {
    **{qn(f"w:{name}"): " " for name in ("tab", "br", "cr", "ptab")},
    qn("w:noBreakHyphen"): "-",
}


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

    @property
    def is_paragraph(self) -> bool:
        """Whether it is a paragraph that can be written in."""
        return self.element is not None and not self.is_table


@dataclass(frozen=True, slots=True)
class WordSource:
    """A Word file, its tracked changes accepted, and the source of each block of its document."""

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

    Raises:
        NotKept: the file is no longer there or no Word file, or its text is not that of the document.
    """
    content, file = _opened(document.path)
    body = file.element.body
    resolve(body, accept=True)
    found = _matched(Flow.of(document), _items(content, body))
    return WordSource(file, tuple(found))


def _opened(path: str) -> tuple[bytes, WordFile]:
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
    source: BlockSource
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Recorder(DocumentBuilder):
    """Records what the reader adds to the document, and the element that it has come to."""

    items: list[_Item] = field(default_factory=list)
    source: BlockSource = field(default_factory=lambda: BlockSource(None))

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
        if not text:
            return
        kept = self.source
        if kept.is_paragraph and run_text(kept.element) != text:
            kept = BlockSource(None)  # a formula, or a paragraph of which some text is hidden
        self.items.append(_Item(text, kept))


@dataclass(slots=True)
class _Reader(WordBody):
    """The reader of Word files, which also notes the texts of the cells of each table."""

    rows: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)

    def end_row(self) -> None:
        """Note the texts of a row."""
        if self._places and isinstance(table := self._places[-1], Table):
            self.rows.setdefault(id(table), []).append(tuple(map(tidy, table.cells)))
        WordBody.end_row(self)

    def table_rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows of the table that is about to end."""
        return tuple(self.rows.pop(id(self._places[-1]), ())) if self._places else ()


def _items(content: bytes, body: Element) -> list[_Item]:
    """List what the reader finds in a body, in reading order, each with its element."""
    package = Package(io.BytesIO(content), "")
    recorder, styles = _Recorder(""), WordStyles()
    package.read(package.part("styles"), styles)
    reader = _Reader(recorder, styles, package=package, part=package.main)
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
        name = package.short(element.tag)
        rows = reader.table_rows() if name == "w:tbl" else ()
        recorder.source = BlockSource(element if name in ("w:p", "w:tbl") else None, rows)
        if next(element.iterancestors(_BOX), None) is not None:
            recorder.source = BlockSource(None)
        reader.end(name)
        reader.characters(element.tail or "")
    reader.finish()
    return recorder.items


def children(parent: Element, name: str) -> Iterator[Element]:
    """Yield the children of a name, also those in content controls."""
    for child in parent:
        if child.tag == qn(name):
            yield child
        elif child.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:customXml")):
            yield from children(child, name)


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
    """Yield the characters of the runs of a paragraph, without those of text boxes.

    A script begins with a sign of its own, such as `^`, which stands at the place of its first letter.
    """
    before, script = "", 0
    for run, level in _with_scripts(paragraph):
        own = list(_letters_of(run))
        if level and level != script and own:
            text = "".join(letter.sign for letter in own)
            written = (raised if level > 0 else lowered)(before, text)
            first = own[0]
            if written == f"{written[:1]}{text}":
                yield Letter(written[0], first.run, first.child, first.offset)
        script = level if own else script
        before = own[-1].sign if own else before
        yield from own


def _with_scripts(paragraph: Element) -> Iterator[tuple[Element, int]]:
    """Yield the runs of a paragraph, each with 1 if it is raised, -1 if it is lowered."""
    for run in runs_of(paragraph):
        found = run.find(f"{qn('w:rPr')}/{qn('w:vertAlign')}")
        yield run, 0 if found is None else _SCRIPTS.get(found.get(qn("w:val")), 0)


def _letters_of(run: Element) -> Iterator[Letter]:
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


def run_text(paragraph: Element) -> str:
    """The text of the runs of a paragraph, which can be edited."""
    return tidy("".join(letter.sign for letter in letters(paragraph)))


def is_empty(paragraph: Element) -> bool:
    """Whether a paragraph has no text and no formula."""
    return not run_text(paragraph) and next(paragraph.iter(_MATH), None) is None


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
