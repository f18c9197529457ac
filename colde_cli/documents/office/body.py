"""Build the text of a Word or OpenDocument file: what both formats share, whatever their elements are called.

Each format has a table from the names of elements to generator functions: one runs to its `yield` where its element
begins, and on where it ends. They fill paragraphs, tables, boxes and notes, and these a `DocumentBuilder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from colde_cli.documents.builder import DocumentBuilder, tidy
from colde_cli.documents.clause_numbers import Counted, NumberedLine
from colde_cli.documents.document import Document
from colde_cli.documents.notation import lowered, raised
from colde_cli.documents.office.archive import Attributes, XmlHandler
from colde_cli.documents.outside import Account, OutsideKind

Element = Iterator[None] | None
"""An element that has begun; None for one whose end means nothing."""

STRUCK = OutsideKind.DELETED, "struck through"
_MOST_ABOUT = 200
_MAX_LINEAGE = 12  # a style can be based on itself through others
_READ_AS = {
    False: "Tracked changes were read as accepted: insertions are in the text, deletions beside it.",
    True: "Tracked changes were read as rejected: deletions are in the text, insertions beside it.",
}


LEVEL = 2
"""Number of digits that the level of a heading or a list has at most."""
_Default = TypeVar("_Default", int, None)


def whole(stated: str, default: _Default, digits: int = 9) -> int | _Default:
    """The number that an attribute states, or the default where it states none, or one of more digits."""
    return int(stated) if stated.isdecimal() and len(stated) <= digits else default


class Letters(NamedTuple):
    """How letters look, as far as it changes what they say."""

    hidden: bool = False
    struck: bool = False
    script: int = 0  # 1 raised, -1 lowered, 0 neither
    font: str = ""  # a font of symbols, or ""
    faint: str = ""  # why they cannot be seen, though they are not marked as hidden; "" if they can be


@dataclass(slots=True)
class TextStyle:
    """A style of paragraphs or letters, with what it states itself; what is None stands in the style it is based on."""

    name: str = ""  # as the editor shows it, in lower case
    based_on: str = ""  # identifier of another style
    level: int | None = None  # of a heading, 1 the outermost; 0 for text
    list: str | None = None  # identifier of the list that its paragraphs are items of
    list_level: str | None = None  # their level in it
    master: str | None = None  # the style of pages that a paragraph or table begins; "" for none
    # what is stated of its letters, by the names of `Letters` and others that the format knows
    letters: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Styles(XmlHandler):
    """The styles of a file by family ("paragraph", "text") and identifier; each format reads them in its own way."""

    _styles: dict[tuple[str, str], TextStyle] = field(default_factory=dict)
    _current: TextStyle = field(default_factory=TextStyle)

    def level(self, identifier: str) -> int:
        """Return the level of a heading style, 0 for any other style."""
        return self.stated("paragraph", identifier, "level") or 0

    def is_title(self, identifier: str) -> bool:
        """Whether it is the style of the document's title."""
        return any(style.name == "title" for style in self.lineage("paragraph", identifier))

    def stated(self, family: str, identifier: str, name: str) -> Any:  # noqa: ANN401 - of any attribute
        """The attribute `name` of the nearest style that states it, from this one on; None if none does."""
        values = (getattr(style, name) for style in self.lineage(family, identifier))
        return next((value for value in values if value is not None), None)

    def letters_of(self, family: str, identifier: str) -> dict[str, Any]:
        """What a style and those it is based on state of letters."""
        letters: dict[str, Any] = {}
        for style in reversed(self.lineage(family, identifier)):
            letters |= style.letters
        return letters

    def lineage(self, family: str, identifier: str) -> list[TextStyle]:
        """List a style and the styles it is based on, nearest first; an undefined one is known by its identifier."""
        lineage: list[TextStyle] = []
        while identifier and len(lineage) < _MAX_LINEAGE:
            style = self._styles.get((family, identifier))
            lineage.append(style or TextStyle(identifier.replace("_20_", " ").lower()))
            identifier = lineage[-1].based_on
        return lineage


@dataclass(slots=True)
class Stretches:
    """Texts of neighbouring runs that are accounted for as one: blanks between them do not end it.

    A text is either set aside, or shown; one that is shown can have marks, such as `STRUCK`, and is accounted for, too.
    `open` tells whether there is anything to end.
    """

    account: Account
    open: bool = False
    _aside: tuple[OutsideKind, str] | None = None
    _pieces: list[str] = field(default_factory=list)  # of the text that is set aside
    _marked: dict[tuple[OutsideKind, str], list[str]] = field(default_factory=dict)

    def set_aside(self, text: str, kind: OutsideKind, about: str = "") -> None:
        """Take a text that is not shown."""
        self.open = True
        if self._aside != (kind, about):
            self.end_aside()
            self._aside = kind, about
        self._pieces.append(text)

    def show(self, text: str, *marks: tuple[OutsideKind, str]) -> None:
        """Take a text that is shown."""
        if not (marks or self.open):
            return
        blank = text.isspace()
        for mark in [mark for mark in self._marked if mark not in marks]:
            if blank:
                self._marked[mark].append(text)
            else:
                self._end_mark(mark)
        for mark in marks:
            self._marked.setdefault(mark, []).append(text)
        if self._aside and blank:
            self._pieces.append(text)
        else:
            self.end_aside()
        self.open = bool(self._marked or self._aside)

    def end_aside(self) -> None:
        """Account for the text that is set aside."""
        if self._aside:
            kind, about = self._aside
            self.account.add_text(kind, "".join(self._pieces), about)
            self._aside, self._pieces = None, []

    def end_marks(self) -> None:
        """Account for the texts with marks."""
        for mark in list(self._marked):
            self._end_mark(mark)

    def _end_mark(self, mark: tuple[OutsideKind, str]) -> None:
        kind, about = mark
        self.account.add_text(kind, "".join(self._marked.pop(mark)), about)


@dataclass(slots=True)
class Paragraph:
    """A paragraph that is being read."""

    style: str = ""
    level: int | None = None  # of a heading, if the paragraph itself states it; 0 for text; None leaves it to the style
    pieces: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # texts of its notes
    number: Counted | None = None  # that is counted before it
    cut: bool = False  # something else stands between its last letters and the next ones
    _script: int = 0
    _scripted: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text so far."""
        return "".join(self.pieces)

    @property
    def before(self) -> str:
        """The last letter so far."""
        return next((piece[-1:] for piece in reversed(self.pieces) if piece), "")

    def put(self, text: str, script: int = 0) -> None:
        """Add text of a run; raised (1) or lowered (-1) text of several runs is one script."""
        if self._script and script != self._script:
            self._end_script(text, script)
        self._script = script
        if script:
            self._scripted.append(text)
            return
        if self.cut and self.runs_on(self.before, text[:1]):
            self.pieces.append(" ")
        self.cut = False
        self.pieces.append(text)

    def finish(self) -> None:
        """End the script at its end."""
        if self._script:
            self._end_script("", 0)
            self._script = 0

    def words_since(self, start: int) -> str:
        """What was written since there were so many pieces."""
        return "".join((*self.pieces[start:], *self._scripted))

    def runs_on(self, before: str, after: str) -> bool:
        """Whether a letter would be read as one with another that something stands between."""
        return before.isdigit() and after.isdigit()

    def scripted(self, text: str, after: str, script: int) -> str:
        """Write raised or lowered text (`script`) as it is followed by other text, of another script or none."""
        return (raised if self._script > 0 else lowered)(self.before, text, "" if script else after)

    def _end_script(self, after: str, script: int) -> None:
        text = "".join(self._scripted)
        self._scripted.clear()
        self.pieces.append(self.scripted(text, after, script))


@dataclass(slots=True)
class Table:
    """A table that is being read: finished rows, finished cells of the current row, paragraphs of the current cell.

    Attributes:
        numbers: that are counted in its finished rows; those of the current row are `waiting`.
    """

    rows: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    numbers: list[NumberedLine] = field(default_factory=list)
    waiting: list[NumberedLine] = field(default_factory=list)


@dataclass(slots=True)
class Note:
    """A footnote, an endnote or another text beside the body that is being read."""

    texts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Body(XmlHandler):
    """Puts paragraphs, tables and notes into sections, in reading order."""

    builder: DocumentBuilder
    styles: Styles
    title: str = ""  # words of the first paragraph in the style of a title
    tracked: int = 0  # number of tracked changes
    rejects: bool = field(default=False, kw_only=True)  # they are read as rejected
    counted_numbers: bool = False  # whether headings or list items are counted
    _skipping: int = 0  # depth inside an element that is left out
    _elements: list[Element] = field(default_factory=list)
    _receiver: XmlHandler | None = None
    _depth: int = 0  # of elements that the receiver has begun
    _paragraphs: list[Any] = field(default_factory=list)  # of the kind of paragraph that the format has
    # None: a box, with a separate flow of text
    _places: list[Table | Note | None] = field(default_factory=list)

    @property
    def account(self) -> Account:
        """What stands beside the text."""
        return self.builder.account

    def begin(self, name: str, attributes: Attributes) -> Element:
        """Begin an element by its name."""
        raise NotImplementedError

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element, unless it is left out or another handler takes it."""
        if self._skipping:
            self._skipping += 1
        elif self._receiver is not None:
            self._depth += 1
            self._receiver.start(name, attributes)
        else:
            element = self.begin(name, attributes)
            if element is not None:
                next(element, None)
            self._elements.append(element)

    def end(self, name: str) -> None:
        """End an element."""
        if self._skipping > 1:
            self._skipping -= 1
        elif self._receiver is not None and self._depth:
            self._depth -= 1
            self._receiver.end(name)
        else:
            self._skipping = 0
            element = self._elements.pop() if self._elements else None
            if element is not None:
                next(element, None)

    def _received_by(self, receiver: XmlHandler) -> Iterator[None]:
        """Let another handler take what is inside an element."""
        self._receiver = receiver
        yield
        self._receiver = None

    def skip(self, *_: object) -> None:
        """Leave out what is within an element."""
        self._skipping = 1

    def build(self, title: str, name: str) -> Document:
        """Build the document, which may have no text; see `DocumentBuilder.build`."""
        notes = (_READ_AS[self.rejects],) if self.tracked else ()
        document = self.builder.build(self.title or title, name, notes=notes, textless=True)
        report = replace(document.report, counted_numbers=self.counted_numbers)
        return replace(document, report=replace(report, tracked=self.tracked, rejected=self.rejects))

    def place_paragraph(self, paragraph: Paragraph) -> None:
        """Put a finished paragraph into its table or note, else into the document."""
        text = paragraph.text
        place = self._places[-1] if self._places else None
        if isinstance(place, Note):
            place.texts += [text, *paragraph.notes]
            if paragraph.number:
                self.account.add_text(OutsideKind.STRUCTURE, paragraph.number.mark, text[:_MOST_ABOUT])
        elif isinstance(place, Table):
            if paragraph.number:
                place.waiting.append(NumberedLine(paragraph.number, len(place.rows), tidy(text)))
            place.cell.append(" ".join(text.split()))
            place.notes += paragraph.notes
        else:
            self.add_paragraph(paragraph, text)

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph to the document: its title, a heading or text."""
        level = self.level_of(paragraph)
        self.builder.number_next(*([NumberedLine(paragraph.number)] if paragraph.number else []))
        if self.styles.is_title(paragraph.style):
            self.title = self.title or text
            self.builder.add_paragraph(text)
        elif level:
            self.builder.add_heading(text, level)
        else:
            self.builder.add_paragraph(text)
        for note in paragraph.notes:
            self.builder.add_note(note)

    def level_of(self, paragraph: Paragraph) -> int:
        """The level of a heading; 0 for any other paragraph."""
        return self.styles.level(paragraph.style) if paragraph.level is None else paragraph.level

    def begin_box(self) -> None:
        """Begin a text box: inside a table its paragraphs are no cell text; inside a note they stay in the note."""
        self._places.append(next((place for place in self._places if isinstance(place, Note)), None))

    def box(self, *_: object) -> Iterator[None]:
        """Read a text box; see `begin_box`."""
        self.begin_box()
        yield
        self._places.pop()

    def table(self, *_: object) -> Iterator[None]:
        """Read a table; one in a cell becomes words of the cell."""
        table = Table()
        self._places.append(table)
        yield
        self._places.pop()
        outer = self._places[-1] if self._places else None
        if isinstance(outer, Note):
            outer.texts += [*table.rows, *table.notes]
            for numbered in table.numbers:
                self.account.add_text(OutsideKind.STRUCTURE, numbered.number.mark, numbered.words[:_MOST_ABOUT])
        elif isinstance(outer, Table):
            outer.cell += table.rows
            outer.notes += table.notes
            outer.waiting += [number._replace(line=len(outer.rows)) for number in table.numbers]
        else:  # its notes count also where it has no words
            self.builder.number_next(*table.numbers)
            self.builder.add_paragraph("\n".join(table.rows), lines=True)
            for note in table.notes:
                self.builder.add_note(note)

    def row(self, *_: object) -> Iterator[None]:
        """Read a row of a table."""
        yield
        self.end_row()

    def end_row(self) -> None:
        """End a row of a table; a row without words is left out."""
        if isinstance(table := self._places[-1] if self._places else None, Table):
            if any(table.cells):
                table.rows.append(" | ".join(table.cells))
                table.numbers += table.waiting
            table.cells, table.waiting = [], []

    def cell(self, *_: object) -> Iterator[None]:
        """Read a cell of a table."""
        yield
        self.end_cell()

    def end_cell(self) -> str:
        """End a cell of a table; return its words."""
        if not isinstance(table := self._places[-1] if self._places else None, Table):
            return ""
        table.cells.append(" ".join(filter(None, table.cell)))
        table.cell = []
        return table.cells[-1]
