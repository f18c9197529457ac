"""The parts of a Word file: which is the main one, and where it says that the others are."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from colde_cli.documents.builder import MAX_CHARACTERS, DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Format, Title, editing_warnings
from colde_cli.documents.office.docx_body import Body, Styles, numbered
from colde_cli.errors import CorruptFileError, LimitError

_MAIN = ".document.main+xml", "template.main+xml", "template.macroEnabledTemplate.main+xml"
_KINDS = frozenset(("styles", "footnotes", "endnotes", "core-properties"))
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_WORD = Format("Word document", ".docx", _PREFIXES)


class Package(Archive):
    """An open Word file.

    Args:
        file: seekable.
        shown: what messages call it.

    Raises:
        CorruptFileError: it is no whole ZIP file, or holds no text of a Word document.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        super().__init__(file, shown, _WORD)
        self.main = self._find_main()
        folder, base = posixpath.split(self.main)
        self._parts = self._related(f"{folder}/_rels/{base}.rels", folder) | self._related("_rels/.rels", "")

    def part(self, kind: str) -> str:
        """Name of a part by its kind ("styles", "footnotes", "core-properties"); "" if there is none."""
        return self._parts.get(kind, "")

    def _find_main(self) -> str:
        types = _Types()
        self.read("[Content_Types].xml", types)
        for name in (*types.main, "word/document.xml"):
            if self.holds(name):
                return name.lstrip("/")
        raise CorruptFileError(
            f"{self.shown} is a ZIP archive without the text of a Word document; save it again as .docx."
        )

    def _related(self, name: str, folder: str) -> dict[str, str]:
        relations = _Relations(folder)
        self.read(name, relations)
        return relations.targets


@dataclass(slots=True)
class _Types:
    """Names of the parts that say they are the main one."""

    main: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.main) < 8 and name == ":Override" and attributes.get(":ContentType", "").endswith(_MAIN):
            self.main.append(attributes.get(":PartName", ""))

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""


@dataclass(slots=True)
class _Relations:
    """Kind of relation -> name of the part; what lies outside the file is passed over."""

    folder: str
    targets: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        target = attributes.get(":Target", "")
        if name == ":Relationship" and target and attributes.get(":TargetMode") != "External":
            kind = attributes.get(":Type", "").rpartition("/")[2]
            place = target if target.startswith("/") else posixpath.join(self.folder, target)
            if kind in _KINDS:
                self.targets.setdefault(kind, posixpath.normpath(place).lstrip("/"))

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""


def read_docx(file: BinaryIO, path: str, name: str) -> Document:
    """Read a .docx: paragraphs, tables and notes; headings by their style or outline level.

    Tracked changes are read as accepted. Headers, footers, comments, hidden text and the table of contents are left
    out. Numbers that Word counts itself (of headings, of lists) are not part of the text.

    Args:
        file: open and seekable.
        path: as the user gave it, for messages.
        name: stands in for a missing title.

    Raises:
        CorruptFileError: it is damaged, or no Word document.
        PasswordError: it is encrypted.
        LimitError: it is larger than a document may be.
        NoTextError: it has no text.
    """
    shown = "Standard input" if path == "-" else path
    package = Package(file, shown)
    styles, core = Styles(), Title()
    package.read(package.part("styles"), styles)
    package.read(package.part("core-properties"), core)
    notes, tracked, hidden = _read_notes(package, styles)
    filler = _Filler(DocumentBuilder(shown), styles, notes)
    body = Body(filler, styles)
    package.read(package.main, body, MAX_ELEMENTS)
    body.finish()
    warnings, left_out = _words(body.tracked + tracked, body.hidden + hidden, filler.contents)
    document = filler.gatherer.document(filler.title or core.title, name, warnings, left_out)
    return replace(document, path=path)


def _read_notes(package: Package, styles: Styles) -> tuple[dict[tuple[str, str], str], int, int]:
    """Texts of footnotes and endnotes by kind and identifier; tracked changes and hidden runs in them."""
    texts: dict[tuple[str, str], str] = {}
    tracked = hidden = 0
    for kind in ("footnote", "endnote"):
        body = Body(_Notes(package.shown, kind, texts), styles)
        package.read(package.part(f"{kind}s"), body, MAX_ELEMENTS)
        tracked, hidden = tracked + body.tracked, hidden + body.hidden
    return texts, tracked, hidden


def _words(tracked: int, hidden: int, contents: int) -> tuple[list[str], list[str]]:
    """Warnings and notes."""
    return editing_warnings(tracked, hidden), [
        f"Left out {contents} lines: table of contents."
    ] if contents else []


@dataclass(slots=True)
class _Filler:
    """Puts what the body holds into sections."""

    gatherer: DocumentBuilder
    styles: Styles
    notes: dict[tuple[str, str], str]
    title: str = ""
    contents: int = 0

    def paragraph(self, text: str, style: str, level: int | None, notes: list[tuple[str, str]]) -> None:
        """A paragraph of the body."""
        if self.styles.is_contents(style):
            self.contents += bool(text.strip())
            return
        depth = self.styles.level(style) if level is None else level
        if self.styles.is_title(style):
            self.title = self.title or text
            self.gatherer.paragraph(text)
        elif depth:
            self.gatherer.heading(text, depth)
        else:
            self.gatherer.paragraph(text)
        self._add(notes)

    def table(self, rows: list[str], notes: list[tuple[str, str]]) -> None:
        """A table of the body."""
        self.gatherer.paragraph("\n".join(rows), lines=True)
        self._add(notes)

    def note(self, identifier: str, text: str) -> None:
        """The body has none of its own."""

    def _add(self, notes: list[tuple[str, str]]) -> None:
        for text in numbered(notes, self.notes):
            self.gatherer.note(text)


@dataclass(slots=True)
class _Notes:
    """Keeps the notes of one kind."""

    shown: str
    kind: str
    texts: dict[tuple[str, str], str]
    characters: int = 0

    def paragraph(self, text: str, style: str, level: int | None, notes: list[tuple[str, str]]) -> None:
        """What stands outside a note is nothing."""

    def table(self, rows: list[str], notes: list[tuple[str, str]]) -> None:
        """What stands outside a note is nothing."""

    def note(self, identifier: str, text: str) -> None:
        """A note with its identifier."""
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise LimitError(f"{self.shown} has more text than colde reads of one document; split it.")
        self.texts[(self.kind, identifier)] = text
