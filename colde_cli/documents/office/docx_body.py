"""Styles of a Word document: which are headings, the title, lines of a table of contents, or hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

_HEADING = re.compile(r"heading ?([1-9])")
_CONTENTS = re.compile(r"toc ?(\d|heading)|table of figures")
_OFF = ("0", "false", "off", "none")
BODY_LEVEL = 9
"""`w:outlineLvl` of text that is no heading; 0 is the outermost heading."""


def switched_on(attributes: dict[str, str]) -> bool:
    """Whether an on-off property of Word says yes, which it does by standing there."""
    return attributes.get("w:val", "true") not in _OFF


def outline_level(attributes: dict[str, str]) -> int | None:
    """Level of a heading, 1 the outermost; 0 for text that is none; None if it is not said."""
    value = attributes.get("w:val", "")
    if not value.isdecimal() or len(value) > 2:
        return None
    return int(value) + 1 if int(value) < BODY_LEVEL else 0


@dataclass(slots=True)
class Style:
    """What is known of one style."""

    name: str = ""
    based_on: str = ""
    level: int | None = None
    hidden: bool = False


@dataclass(slots=True)
class Styles:
    """The styles part, as a handler of its XML; asks by identifier."""

    _styles: dict[str, Style] = field(default_factory=dict)
    _current: Style = field(default_factory=Style)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take note of a style or of one of its properties."""
        if name == "w:style":
            self._current = Style()
            self._styles[attributes.get("w:styleId", "")] = self._current
        elif name == "w:name":
            self._current.name = attributes.get("w:val", "").lower()
        elif name == "w:basedOn":
            self._current.based_on = attributes.get("w:val", "")
        elif name == "w:outlineLvl":
            self._current.level = outline_level(attributes)
        elif name == "w:vanish":
            self._current.hidden = switched_on(attributes)

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""

    def level(self, identifier: str) -> int:
        """Level of a heading style, 0 for any other; taken over from the style that it is based on."""
        for style in self._line(identifier):
            if found := _HEADING.fullmatch(style.name):
                return int(found.group(1))
            if style.level is not None:
                return style.level
        return 0

    def is_title(self, identifier: str) -> bool:
        """Whether it is the style of the document's title."""
        return any(style.name == "title" for style in self._line(identifier))

    def is_contents(self, identifier: str) -> bool:
        """Whether it is a style of the table of contents."""
        return any(_CONTENTS.fullmatch(style.name) for style in self._line(identifier))

    def is_hidden(self, identifier: str) -> bool:
        """Whether text in this style is hidden."""
        return any(style.hidden for style in self._line(identifier))

    def _line(self, identifier: str) -> list[Style]:
        """A style and those it is based on; a file without styles goes by the identifier."""
        if identifier not in self._styles:
            return [Style(identifier.lower())] if identifier else []
        line: list[Style] = []
        while identifier in self._styles and len(line) < 12:  # based on itself, in the end
            line.append(self._styles[identifier])
            identifier = line[-1].based_on
        return line


# What stands in these is not text of the document: deleted, moved away, a second version of a drawing, code of a field.
_SKIPPED = frozenset(
    (
        *("w:del", "w:moveFrom", "w:instrText", "w:delText", "w:delInstrText", "mc:Fallback", "w:sectPr"),
        *("w:pPrChange", "w:rPrChange", "w:tblPrChange", "w:trPrChange", "w:tcPrChange", "w:sectPrChange"),
        *("w:numberingChange", "w:tblGridChange", "w:tblPrExChange", "w:cellDel", "w:binData", "w:fldData"),
    )
)
_ENDED = frozenset(("w:del", "w:moveFrom"))  # in the properties of a paragraph: its end is deleted
_TRACKED = frozenset(("w:ins", "w:del", "w:moveFrom", "w:moveTo"))
_BLANKS = {"w:tab": " ", "w:br": " ", "w:cr": " ", "w:ptab": " ", "w:noBreakHyphen": "-"}
_TEXT = frozenset(("w:t", "m:t"))


class Receiver(Protocol):
    """Takes what a part holds, in reading order."""

    def paragraph(self, text: str, style: str, level: int | None, notes: list[tuple[str, str]]) -> None:
        """A paragraph, its style, the outline level it states itself, and the notes (kind, id) it refers to."""

    def table(self, rows: list[str], notes: list[tuple[str, str]]) -> None:
        """A table, cells separated by bars."""

    def note(self, identifier: str, text: str) -> None:
        """A footnote or endnote."""


@dataclass(slots=True)
class _Paragraph:
    pieces: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    style: str = ""
    level: int | None = None
    goes_on: bool = False
    hidden: bool = False


@dataclass(slots=True)
class _Table:
    rows: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    dropped: bool = False


@dataclass(slots=True)
class Body:
    """Handler of the main part, and of footnotes and endnotes.

    Attributes:
        receiver: takes the paragraphs.
        styles: of the document.
        tracked: insertions, deletions and moves found.
        hidden: runs of hidden text left out.
    """

    receiver: Receiver
    styles: Styles
    tracked: int = 0
    hidden: int = 0
    _skipping: int = 0
    _paragraphs: list[_Paragraph] = field(default_factory=list)
    _tables: list[_Table | str] = field(default_factory=list)
    _joined: _Paragraph | None = None
    _note: str | None = None
    _note_text: list[str] = field(default_factory=list)
    _in_text: bool = False
    _in_run: int = 0
    _in_mark: bool = False
    _vanished: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if name in _TRACKED:
            self.tracked += 1
        if self._skipping or (name in _SKIPPED and not (self._in_mark and name in _ENDED)):
            self._skipping += 1
        elif name in _TEXT:
            self._in_text = True
        elif name == "w:p":
            self._start_paragraph()
        elif name == "w:r":
            self._in_run += 1
            self._vanished = False
        elif name in _BLANKS:
            self._write(_BLANKS[name] if self._in_run else "")
        elif name in ("w:footnote", "w:endnote"):
            apart = attributes.get("w:type", "normal") != "normal"
            self._note, self._note_text = "" if apart else attributes.get("w:id", ""), []
        elif name in ("w:footnoteReference", "w:endnoteReference"):
            if self._paragraphs and not self._vanished:
                self._paragraphs[-1].notes.append((name[2:-9], attributes.get("w:id", "")))
        elif name.startswith("w:t"):
            self._start_table(name)
        else:
            self._property(name, attributes)

    def end(self, name: str) -> None:
        """An element ends."""
        if self._skipping:
            self._skipping -= 1
        elif name in _TEXT:
            self._in_text = False
        elif name == "w:r":
            self._in_run -= 1
            self._vanished = False
        elif name == "w:pPr":
            self._in_mark = False
        elif name == "w:p":
            self._end_paragraph()
        elif name in ("w:footnote", "w:endnote"):
            if self._note:
                self.receiver.note(self._note, " ".join(self._note_text))
            self._note = None
        elif name.startswith("w:t"):
            self._end_table(name)

    def characters(self, text: str) -> None:
        """Text, if it stands where text stands."""
        if self._in_text and not self._skipping:
            self._write(text)

    def finish(self) -> None:
        """The part is over; a last paragraph whose end was deleted is given out."""
        if self._joined:
            self._paragraphs.append(self._joined)
            self._joined.goes_on, self._joined = False, None
            self._end_paragraph()

    def _write(self, text: str) -> None:
        if not self._paragraphs or not text:
            return
        if self._vanished or self._paragraphs[-1].hidden:
            self.hidden += bool(text.strip())
        else:
            self._paragraphs[-1].pieces.append(text)

    def _property(self, name: str, attributes: dict[str, str]) -> None:
        """Of a run or a paragraph."""
        if not self._paragraphs:
            return
        paragraph = self._paragraphs[-1]
        if name == "w:pPr":
            self._in_mark = True
        elif name == "w:pStyle":
            paragraph.style = attributes.get("w:val", "")
            paragraph.hidden = self.styles.is_hidden(paragraph.style)
        elif name == "w:outlineLvl" and self._in_mark:
            paragraph.level = outline_level(attributes)
        elif name in _ENDED and self._in_mark:  # the next paragraph goes on in it, and gives the style
            paragraph.goes_on = True
        elif name == "w:vanish" and self._in_run and not self._in_mark:
            self._vanished = switched_on(attributes)
        elif name == "w:rStyle" and self._in_run and not self._in_mark:
            self._vanished = self.styles.is_hidden(attributes.get("w:val", ""))

    def _start_paragraph(self) -> None:
        begun = self._joined
        self._joined, self._vanished = None, False
        paragraph = _Paragraph(begun.pieces, begun.notes) if begun else _Paragraph()
        self._paragraphs.append(paragraph)

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop() if self._paragraphs else _Paragraph()
        if paragraph.goes_on:
            paragraph.goes_on = False
            self._joined = paragraph
            return
        text = "".join(paragraph.pieces)
        table = self._tables[-1] if self._tables else None
        if self._note is not None:
            self._note_text.append(text)
        elif isinstance(table, _Table):
            table.cell.append(" ".join(text.split()))
            table.notes += paragraph.notes
        else:
            self.receiver.paragraph(text, paragraph.style, paragraph.level, paragraph.notes)

    def _start_table(self, name: str) -> None:
        if name == "w:tbl":
            self._tables.append(_Table())
        elif name == "w:txbxContent":  # a box with paragraphs of its own, whatever table it is anchored in
            self._tables.append(name)

    def _end_table(self, name: str) -> None:
        table = self._tables[-1] if self._tables else None
        if name == "w:txbxContent" and table == name:
            self._tables.pop()
        if not isinstance(table, _Table):
            return
        if name == "w:tc":
            table.cells.append(" ".join(filter(None, table.cell)))
            table.cell = []
        elif name == "w:tr":
            if any(table.cells):
                table.rows.append(" | ".join(table.cells))
            table.cells = []
        elif name == "w:tbl":
            self._tables.pop()
            self._place(table)

    def _place(self, table: _Table) -> None:
        """A table in a cell becomes words of the cell."""
        outer = self._tables[-1] if self._tables else None
        if self._note is not None:
            self._note_text += table.rows
        elif isinstance(outer, _Table):
            outer.cell += table.rows
            outer.notes += table.notes
        elif table.rows:
            self.receiver.table(table.rows, table.notes)


def numbered(notes: list[tuple[str, str]], texts: dict[tuple[str, str], str]) -> Iterator[str]:
    """The texts of the notes that are referred to, each once."""
    for key in notes:
        if text := texts.pop(key, ""):
            yield text
