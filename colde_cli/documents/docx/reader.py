"""An open Word document to a `Document`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO

from colde_cli.documents.archive import MAX_ELEMENTS, Title, editing_warnings
from colde_cli.documents.document import Document
from colde_cli.documents.docx.body import Body, numbered
from colde_cli.documents.docx.package import Package
from colde_cli.documents.docx.styles import Styles
from colde_cli.documents.gather import MAX_CHARACTERS, Gatherer
from colde_cli.errors import LimitError


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
    filler = _Filler(Gatherer(shown), styles, notes)
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

    gatherer: Gatherer
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
