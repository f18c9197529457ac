"""Read Word documents (.docx): the parts of the file, its styles, its notes, and its body."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from colde_cli.documents.builder import MAX_CHARACTERS, DocumentBuilder, too_much_text
from colde_cli.documents.document import Document
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Properties, XmlHandler, ZipFormat
from colde_cli.documents.office.body import Body, Note, Paragraph, Styles, Table, TextStyle
from colde_cli.documents.text import shown_as
from colde_cli.errors import CorruptFileError

_FORMAT = ZipFormat(
    "Word document",
    ".docx",
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
        "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
        "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
        "http://purl.oclc.org/ooxml/officeDocument/math": "m",
        "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
        "http://purl.org/dc/elements/1.1/": "dc",
    },
)
_MAIN = ".document.main+xml", "template.main+xml", "template.macroEnabledTemplate.main+xml"
_RELATED = frozenset(("styles", "numbering", "footnotes", "endnotes", "core-properties"))
_HEADING = re.compile(r"heading ?([1-9])")
_CONTENTS = re.compile(r"toc ?(\d|heading)|table of figures")
# The content of these is no text of the document: deleted, moved away, a second version of a drawing, field code.
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
_NOTES = frozenset(("w:footnote", "w:endnote"))
_REFERENCES = {"w:footnoteReference": "w:footnote", "w:endnoteReference": "w:endnote"}
_UNCOUNTED = frozenset(("bullet", "none"))  # marks of lists that are no numbers
_BODY_LEVEL = 9  # `w:outlineLvl` of text that is no heading; 0 is the outermost heading


def read_docx(file: BinaryIO, path: str, name: str) -> Document:
    """Read a .docx: paragraphs, tables and notes; headings by their style or outline level.

    Tracked changes are read as accepted. Headers, footers, comments, hidden text and the table of contents are left
    out. Numbers that Word counts itself (of headings, of lists) are not part of the text.

    Args:
        file: open and seekable.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        CorruptFileError: it is damaged, or no Word document.
        PasswordError: it is encrypted.
        LimitError: it is larger than a document may be.
        NoTextError: it has no text.
    """
    shown = shown_as(path)
    package = Package(file, shown)
    styles, properties = WordStyles(), Properties()
    package.read(package.part("styles"), styles)
    package.read(package.part("core-properties"), properties)
    numbering = _Numbering()
    package.read(package.part("numbering"), numbering)
    styles.counted = frozenset(numbering.counted)
    body = WordBody(DocumentBuilder(shown), styles)
    for kind in ("footnotes", "endnotes"):
        _read_notes(package, kind, body)
    package.read(package.main, body, MAX_ELEMENTS)
    body.finish()
    notes = [f"Left out {body.contents} lines: table of contents."] if body.contents else []
    return replace(body.build(properties.title, name, notes), path=path)


def _read_notes(package: Package, kind: str, body: WordBody) -> None:
    """Give the body the notes of one kind; text outside of notes is dropped."""
    part = WordBody(DocumentBuilder(package.shown), body.styles)
    package.read(package.part(kind), part, MAX_ELEMENTS)
    body.notes |= part.notes
    body.tracked += part.tracked
    body.hidden += part.hidden


class Package(Archive):
    """An open Word file that knows its main part and the names of the other parts.

    Args:
        file: seekable.
        shown: its name in messages.

    Raises:
        CorruptFileError: it is no whole ZIP file, or has no Word text in it.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        super().__init__(file, shown, _FORMAT)
        self.main = self._find_main()
        folder, base = posixpath.split(self.main)
        self._parts = self._related(f"{folder}/_rels/{base}.rels", folder) | self._related("_rels/.rels", "")

    def part(self, kind: str) -> str:
        """Look up the name of a part by its kind ("styles", "footnotes", "core-properties"); "" if there is none."""
        return self._parts.get(kind, "")

    def _find_main(self) -> str:
        types = _Types()
        self.read("[Content_Types].xml", types)
        for name in (*types.main, "word/document.xml"):
            if self.holds(name):
                return name.lstrip("/")
        raise CorruptFileError(
            f"Cannot read {self.shown}: it is a ZIP archive without the text of a Word document; save it again as"
            " .docx."
        )

    def _related(self, name: str, folder: str) -> dict[str, str]:
        relations = _Relations(folder)
        self.read(name, relations)
        return relations.targets


@dataclass(slots=True)
class _Types(XmlHandler):
    """Names of the parts that call themselves the main part."""

    main: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.main) < 8 and name == ":Override" and attributes.get(":ContentType", "").endswith(_MAIN):
            self.main.append(attributes.get(":PartName", ""))


@dataclass(slots=True)
class _Relations(XmlHandler):
    """Map each kind of relation to the name of its part; parts outside the file are skipped."""

    folder: str
    targets: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        target = attributes.get(":Target", "")
        if name == ":Relationship" and target and attributes.get(":TargetMode") != "External":
            kind = attributes.get(":Type", "").rpartition("/")[2]
            place = target if target.startswith("/") else posixpath.join(self.folder, target)
            if kind in _RELATED:
                self.targets.setdefault(kind, posixpath.normpath(place).lstrip("/"))


@dataclass(slots=True)
class WordStyles(Styles):
    """The styles part. Identifiers are unique among all families in Word; all are kept as paragraph styles.

    Attributes:
        counted: identifiers of the lists with numbers or letters; Word counts their items.
    """

    counted: frozenset[str] = frozenset()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Record a style or one of its properties."""
        style, value = self._current, attributes.get("w:val", "")
        if name == "w:style":
            self._current = TextStyle()
            self._styles["paragraph", attributes.get("w:styleId", "")] = self._current
        elif name == "w:name":
            style.name = value.lower()
        elif name == "w:basedOn":
            style.based_on = value
        elif name == "w:outlineLvl":
            style.level = outline_level(value)
        elif name == "w:numId":
            style.list = value
        elif name == "w:vanish":
            style.hidden = switched_on(attributes)

    def level(self, identifier: str) -> int:
        """Find the level of a heading style by its name ("heading 2") or outline level; 0 for any other style."""
        for style in self.lineage("paragraph", identifier):
            if match := _HEADING.fullmatch(style.name):
                return int(match.group(1))
            if style.level is not None:
                return style.level
        return 0

    def is_contents(self, identifier: str) -> bool:
        """Whether it is a style of the table of contents."""
        return any(_CONTENTS.fullmatch(style.name) for style in self.lineage("paragraph", identifier))


@dataclass(slots=True)
class _Numbering(XmlHandler):
    """The part with the lists: finds those with a level that is counted."""

    counted: set[str] = field(default_factory=set)
    _abstract: str = ""
    _list: str = ""
    _patterns: set[str] = field(default_factory=set)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "w:abstractNum":
            self._abstract = attributes.get("w:abstractNumId", "")
        elif name == "w:numFmt" and attributes.get("w:val", "") not in _UNCOUNTED:
            self._patterns.add(self._abstract)
        elif name == "w:num":
            self._list = attributes.get("w:numId", "")
        elif name == "w:abstractNumId" and attributes.get("w:val", "") in self._patterns:
            self.counted.add(self._list)


def switched_on(attributes: dict[str, str]) -> bool:
    """Whether an on-off property of Word is on; without a value it is."""
    return attributes.get("w:val", "true") not in ("0", "false", "off", "none")


def outline_level(value: str) -> int | None:
    """Parse the level of a heading, 1 the outermost; 0 for text; None if it is not stated."""
    if not value.isdecimal() or len(value) > 2:
        return None
    return int(value) + 1 if int(value) < _BODY_LEVEL else 0


@dataclass(slots=True)
class WordBody(Body):
    """The body in the main part, or the part with footnotes or endnotes.

    Attributes:
        notes: text of each note by kind ("w:footnote") and identifier; removed once it is referred to.
    """

    styles: WordStyles
    notes: dict[tuple[str, str], str] = field(default_factory=dict)
    _joined: Paragraph | None = None
    _note_characters: int = 0
    _in_text: bool = False
    _in_run: int = 0
    _in_properties: bool = False
    _vanished: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self.tracked += name in _TRACKED
        if self._skipping or (name in _SKIPPED and not (self._in_properties and name in _ENDED)):
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
        elif name in _NOTES:
            self._start_note(attributes)
        elif name in _REFERENCES:
            if self._paragraphs and not self._vanished:
                note = self.notes.pop((_REFERENCES[name], attributes.get("w:id", "")), "")
                self._paragraphs[-1].notes += [note] if note else []
        elif name == "w:tbl":
            self._places.append(Table())
        elif name == "w:txbxContent":
            self.begin_box()
        elif self._paragraphs:
            self._property(self._paragraphs[-1], name, attributes)

    def end(self, name: str) -> None:
        """End an element."""
        if self._skipping:
            self._skipping -= 1
        elif name in _TEXT:
            self._in_text = False
        elif name == "w:r":
            self._in_run -= 1
            self._vanished = False
        elif name == "w:pPr":
            self._in_properties = False
        elif name == "w:p":
            self._end_paragraph()
        elif name in _NOTES:
            self._end_note(name)
        elif name == "w:tc":
            self.end_cell()
        elif name == "w:tr":
            self.end_row()
        elif name == "w:tbl":
            self.end_table()
        elif name == "w:txbxContent":
            self._places.pop()

    def characters(self, text: str) -> None:
        """Take text of a run."""
        if self._in_text and not self._skipping:
            self._write(text)

    def finish(self) -> None:
        """End the part: place the last paragraph, if its end was deleted."""
        if self._joined:
            self.place_paragraph(self._joined)
            self._joined = None

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph, unless it is a line of the table of contents."""
        if self.styles.is_contents(paragraph.style):
            self.contents += bool(text.strip())
        else:
            Body.add_paragraph(self, paragraph, text)

    def _write(self, text: str) -> None:
        if not self._paragraphs or not text:
            return
        if self._vanished or self._paragraphs[-1].hidden:
            self.hidden += bool(text.strip())
        else:
            self._paragraphs[-1].pieces.append(text)

    def _property(self, paragraph: Paragraph, name: str, attributes: dict[str, str]) -> None:
        """Take a property of a paragraph or a run."""
        value = attributes.get("w:val", "")
        if name == "w:pPr":
            self._in_properties = True
        elif name == "w:pStyle":
            paragraph.style = value
            lists = (style.list for style in self.styles.lineage("paragraph", value))
            self.counted_numbers |= any(one in self.styles.counted for one in lists)
            paragraph.hidden = self.styles.is_hidden("paragraph", value)
        elif name == "w:numId" and self._in_properties:
            self.counted_numbers |= value in self.styles.counted
        elif name == "w:outlineLvl" and self._in_properties:
            paragraph.level = outline_level(value)
        elif name in _ENDED and self._in_properties:  # the next paragraph continues it, and gives the style
            paragraph.goes_on = True
        elif name == "w:vanish" and self._in_run and not self._in_properties:
            self._vanished = switched_on(attributes)
        elif name == "w:rStyle" and self._in_run and not self._in_properties:
            self._vanished = self.styles.is_hidden("paragraph", value)

    def _start_paragraph(self) -> None:
        before, self._joined, self._vanished = self._joined, None, False
        paragraph = Paragraph(pieces=before.pieces, notes=before.notes) if before else Paragraph()
        self._paragraphs.append(paragraph)

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        if paragraph.goes_on:
            self._joined = paragraph
        else:
            self.place_paragraph(paragraph)

    def _start_note(self, attributes: dict[str, str]) -> None:
        separator = attributes.get("w:type", "normal") != "normal"  # a line drawn above the notes
        self._places.append(Note("" if separator else attributes.get("w:id", "")))

    def _end_note(self, name: str) -> None:
        note = self._places.pop()
        if not isinstance(note, Note) or not note.identifier:
            return
        text = " ".join(note.texts)
        self._note_characters += len(text)
        if self._note_characters > MAX_CHARACTERS:
            raise too_much_text(self.builder.path)
        self.notes[name, note.identifier] = text
