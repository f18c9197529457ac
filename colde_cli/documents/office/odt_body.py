"""Styles of an OpenDocument text: which are headings, the title, or hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class _Style:
    """What is known of one style; names of editors have their blanks as `_20_`."""

    display: str = ""
    parent: str = ""
    level: int | None = None
    hidden: bool = False


@dataclass(slots=True)
class Styles:
    """Handler of the styles in `styles.xml` and of the automatic ones in `content.xml`; asks by name.

    Styles of paragraphs and of letters have names of their own and are kept apart by their family.
    """

    _styles: dict[tuple[str, str], _Style] = field(default_factory=dict)
    _current: _Style = field(default_factory=_Style)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take note of a style or of one of its properties."""
        if name == "style:style":
            own = attributes.get("style:name", "")
            shown = attributes.get("style:display-name", own).replace("_20_", " ")
            self._current = _Style(shown.lower(), attributes.get("style:parent-style-name", ""))
            self._current.level = outline_level(attributes.get("style:default-outline-level", ""))
            self._styles[(attributes.get("style:family", ""), own)] = self._current
        elif name == "style:text-properties":
            self._current.hidden = attributes.get("text:display") == "none"

    def end(self, name: str) -> None:
        """After a style, properties are those of something else."""
        if name == "style:style":
            self._current = _Style()

    def characters(self, text: str) -> None:
        """Nothing to do."""

    def level(self, name: str) -> int:
        """Level of a heading style, 0 for any other; taken over from the style that it is based on."""
        return next((style.level for style in self._line("paragraph", name) if style.level is not None), 0)

    def is_title(self, name: str) -> bool:
        """Whether it is the style of the document's title."""
        return any(style.display == "title" for style in self._line("paragraph", name))

    def is_hidden(self, family: str, name: str) -> bool:
        """Whether text in this style is hidden."""
        return any(style.hidden for style in self._line(family, name))

    def _line(self, family: str, name: str) -> list[_Style]:
        """A style and those it is based on; one that is not defined goes by its name."""
        line: list[_Style] = []
        while name and len(line) < 12:  # based on itself, in the end
            style = self._styles.get((family, name)) or _Style(name.replace("_20_", " ").lower())
            line.append(style)
            name = style.parent
        return line


def outline_level(value: str) -> int | None:
    """Level of a heading, 1 the outermost; None if it is not said."""
    return int(value) if value.isdecimal() and 0 < len(value) <= 2 else None


# What stands in these is not text of the document: deleted text, comments, names of pictures, numbers of notes, and
# lists that the editor makes of headings. A bibliography is kept, but for the pattern of its entries.
_SKIPPED = frozenset(
    (
        *("text:tracked-changes", "office:annotation", "svg:title", "svg:desc", "text:note-citation"),
        *("text:illustration-index", "text:table-index", "text:object-index", "text:user-index"),
        *("text:alphabetical-index", "text:bibliography-source", "text:ruby-text", "text:hidden-text"),
        *("office:scripts", "office:forms", "office:binary-data", "office:settings", "text:script"),
    )
)
_CONTENTS = "text:table-of-content"
_BLANKS = frozenset(("text:s", "text:tab", "text:line-break"))
_PARAGRAPHS = frozenset(("text:p", "text:h"))
_BOX = "draw:text-box"


class Receiver(Protocol):
    """Takes what the body holds, in reading order."""

    def paragraph(self, text: str, style: str, level: int, notes: list[str]) -> None:
        """A paragraph; `level` is that of a heading, 0 for text."""

    def table(self, rows: list[str], notes: list[str]) -> None:
        """A table, cells separated by bars."""


@dataclass(slots=True)
class _Paragraph:
    style: str
    level: int
    pieces: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    rows: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    cell: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Note:
    texts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Body:
    """Handler of `content.xml`, which begins with styles of its own.

    Attributes:
        receiver: takes the paragraphs.
        styles: of the document; those of the text itself are added.
        tracked: changes found.
        hidden: stretches of hidden text left out.
        contents: tables of contents left out.
    """

    receiver: Receiver
    styles: Styles
    tracked: int = 0
    hidden: int = 0
    contents: int = 0
    _within: bool = False
    _skipping: int = 0
    _titles: int = 0
    _paragraphs: list[_Paragraph] = field(default_factory=list)
    _places: list[_Table | _Note | None] = field(default_factory=list)  # None: a box, with a flow of its own

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self.tracked += name == "text:changed-region"
        if self._skipping:
            self._skipping += 1
        elif not self._within:
            self._within = name == "office:text"
            self.styles.start(name, attributes)
        elif self._is_left_out(name, attributes):
            self._skipping = 1
        elif name in _PARAGRAPHS:
            self._paragraphs.append(self._begun(name, attributes))
        elif name in _BLANKS:
            self.characters(" ")
        elif name == "text:index-title":
            self._titles += 1
        elif name == "text:note":
            self._places.append(_Note())
        elif name == "table:table":
            self._places.append(_Table())
        elif name == _BOX:
            self._places.append(None)

    def end(self, name: str) -> None:
        """An element ends."""
        if self._skipping:
            self._skipping -= 1
        elif not self._within:
            self.styles.end(name)
        elif name in _PARAGRAPHS:
            self._end_paragraph(self._paragraphs.pop())
        elif name == "text:index-title":
            self._titles -= 1
        elif name == "text:note":
            self._end_note()
        elif name == _BOX:
            self._places.pop()
        elif name.startswith("table:"):
            self._end_table(name)
        elif name == "office:text":
            self._within = False

    def characters(self, text: str) -> None:
        """Text, if it stands in a paragraph."""
        if self._paragraphs and not self._skipping:
            self._paragraphs[-1].pieces.append(text)

    def _is_left_out(self, name: str, attributes: dict[str, str]) -> bool:
        if name == _CONTENTS:
            self.contents += 1
        family = "text" if name == "text:span" else "paragraph" if name in _PARAGRAPHS else ""
        style = attributes.get("text:style-name", "")
        hidden = bool(family) and self.styles.is_hidden(family, style)
        hidden |= name == "text:section" and attributes.get("text:display") == "none"
        self.hidden += hidden
        return hidden or name == _CONTENTS or name in _SKIPPED

    def _begun(self, name: str, attributes: dict[str, str]) -> _Paragraph:
        style = attributes.get("text:style-name", "")
        level = self.styles.level(style)
        if name == "text:h":
            level = outline_level(attributes.get("text:outline-level", "")) or level or 1
        elif self._titles:  # of a bibliography, the one index that is kept
            level = 1
        return _Paragraph(style, level)

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.pieces)
        place = self._places[-1] if self._places else None
        if isinstance(place, _Note):
            place.texts.append(text)
        elif isinstance(place, _Table):
            place.cell.append(" ".join(text.split()))
            place.notes += paragraph.notes
        else:
            self.receiver.paragraph(text, paragraph.style, paragraph.level, paragraph.notes)

    def _end_note(self) -> None:
        note = self._places.pop()
        if isinstance(note, _Note) and self._paragraphs:
            self._paragraphs[-1].notes.append(" ".join(note.texts))

    def _end_table(self, name: str) -> None:
        table = self._places[-1] if self._places else None
        if not isinstance(table, _Table):
            return
        if name == "table:table-cell":
            table.cells.append(" ".join(filter(None, table.cell)))
            table.cell = []
        elif name == "table:table-row":
            if any(table.cells):
                table.rows.append(" | ".join(table.cells))
            table.cells = []
        elif name == "table:table":
            self._places.pop()
            self._place(table)

    def _place(self, table: _Table) -> None:
        """A table in a cell becomes words of the cell."""
        outer = self._places[-1] if self._places else None
        if isinstance(outer, _Note):
            outer.texts += table.rows
        elif isinstance(outer, _Table):
            outer.cell += table.rows
            outer.notes += table.notes
        elif table.rows:
            self.receiver.table(table.rows, table.notes)
