"""Build the text of a Word or OpenDocument file from styles, paragraphs, tables, boxes and notes.

The formats differ in their elements and in the place of their notes. `docx.py` and `odt.py` report the beginning and
end of each part to `Body`, which fills a `DocumentBuilder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.office.archive import XmlHandler

_MAX_LINEAGE = 12  # a style can be based on itself through others
_ACCEPTED = "Tracked changes were read as accepted: insertions are in the text, deletions beside it."


@dataclass(slots=True)
class TextStyle:
    """A style of paragraphs or letters.

    Attributes:
        name: as the editor shows it, in lower case.
        based_on: identifier of the style that gives the properties missing here.
        level: of a heading, 1 the outermost; 0 for text; None where the style does not state it.
        list: identifier of the list that its paragraphs are items of; "" for none.
    """

    name: str = ""
    based_on: str = ""
    level: int | None = None
    hidden: bool = False
    list: str = ""


@dataclass(slots=True)
class Styles(XmlHandler):
    """The styles of a file by family ("paragraph", "text") and identifier; each format reads them in its own way."""

    _styles: dict[tuple[str, str], TextStyle] = field(default_factory=dict)
    _current: TextStyle = field(default_factory=TextStyle)

    def level(self, identifier: str) -> int:
        """Return the level of a heading style, 0 for any other style."""
        lineage = self.lineage("paragraph", identifier)
        return next((style.level for style in lineage if style.level is not None), 0)

    def is_title(self, identifier: str) -> bool:
        """Whether it is the style of the document's title."""
        return any(style.name == "title" for style in self.lineage("paragraph", identifier))

    def is_hidden(self, family: str, identifier: str) -> bool:
        """Whether text in this style is hidden."""
        return any(style.hidden for style in self.lineage(family, identifier))

    def lineage(self, family: str, identifier: str) -> list[TextStyle]:
        """List a style and the styles it is based on, nearest first; for an undefined style see `undefined`."""
        lineage: list[TextStyle] = []
        while identifier and len(lineage) < _MAX_LINEAGE:
            lineage.append(self._styles.get((family, identifier)) or self.undefined(identifier))
            identifier = lineage[-1].based_on
        return lineage

    def undefined(self, identifier: str) -> TextStyle:
        """Make the style for an identifier without a definition."""
        return TextStyle(identifier.lower())


@dataclass(slots=True)
class Paragraph:
    """A paragraph that is being read.

    Attributes:
        level: of a heading, if the paragraph itself states it; 0 for text; None leaves it to the style.
        notes: texts of its notes.
        goes_on: its end was deleted, so that the next paragraph continues it.
    """

    style: str = ""
    level: int | None = None
    pieces: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hidden: bool = False
    goes_on: bool = False


@dataclass(slots=True)
class Table:
    """A table that is being read: finished rows, finished cells of the current row, paragraphs of the current cell."""

    rows: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Note:
    """A footnote or endnote that is being read."""

    identifier: str = ""
    texts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Body(XmlHandler):
    """Puts paragraphs, tables and notes into sections, in reading order.

    Attributes:
        title: words of the first paragraph in the style of a title.
        tracked: number of tracked changes.
        hidden: number of stretches of hidden text left out.
        contents: number of lines or tables of contents left out.
        counted_numbers: whether headings or list items are counted.
    """

    builder: DocumentBuilder
    styles: Styles
    title: str = ""
    tracked: int = 0
    hidden: int = 0
    contents: int = 0
    counted_numbers: bool = False
    _skipping: int = 0  # depth inside an element that is left out
    _paragraphs: list[Paragraph] = field(default_factory=list)
    _places: list[Table | Note | None] = field(
        default_factory=list
    )  # None: a box, with a separate flow of text

    def build(self, title: str, name: str, notes: Sequence[str]) -> Document:
        """Build the document; see `DocumentBuilder.build`."""
        if self.tracked:
            notes = (*notes, _ACCEPTED)
        document = self.builder.build(self.title or title, name, (), notes)
        return replace(document, report=replace(document.report, counted_numbers=self.counted_numbers))

    def place_paragraph(self, paragraph: Paragraph) -> None:
        """Put a finished paragraph into its table or note, else into the document."""
        text = "".join(paragraph.pieces)
        place = self._places[-1] if self._places else None
        if isinstance(place, Note):
            place.texts += [text, *paragraph.notes]
        elif isinstance(place, Table):
            place.cell.append(" ".join(text.split()))
            place.notes += paragraph.notes
        else:
            self.add_paragraph(paragraph, text)

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph to the document: its title, a heading or text."""
        level = self.styles.level(paragraph.style) if paragraph.level is None else paragraph.level
        if self.styles.is_title(paragraph.style):
            self.title = self.title or text
            self.builder.add_paragraph(text)
        elif level:
            self.builder.add_heading(text, level)
        else:
            self.builder.add_paragraph(text)
        for note in paragraph.notes:
            self.builder.add_note(note)

    def begin_box(self) -> None:
        """Begin a text box: inside a table its paragraphs are no cell text; inside a note they stay in the note."""
        self._places.append(next((place for place in self._places if isinstance(place, Note)), None))

    def end_cell(self) -> None:
        """End a cell of a table."""
        if isinstance(table := self._places[-1] if self._places else None, Table):
            table.cells.append(" ".join(filter(None, table.cell)))
            table.cell = []

    def end_row(self) -> None:
        """End a row of a table; a row without words is left out."""
        if isinstance(table := self._places[-1] if self._places else None, Table):
            if any(table.cells):
                table.rows.append(" | ".join(table.cells))
            table.cells = []

    def end_table(self) -> None:
        """End a table; a table in a cell becomes words of the cell."""
        table = self._places.pop()
        outer = self._places[-1] if self._places else None
        if not isinstance(table, Table):
            return
        if isinstance(outer, Note):
            outer.texts += [*table.rows, *table.notes]
        elif isinstance(outer, Table):
            outer.cell += table.rows
            outer.notes += table.notes
        else:  # its notes count also where it has no words
            self.builder.add_paragraph("\n".join(table.rows), lines=True)
            for note in table.notes:
                self.builder.add_note(note)
