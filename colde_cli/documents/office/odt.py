"""An open OpenDocument text to a `Document`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Format, Title, editing_warnings
from colde_cli.documents.office.odt_body import Body, Styles
from colde_cli.errors import CorruptFileError

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_PREFIXES = {
    f"{_OASIS}office:1.0": "office",
    f"{_OASIS}text:1.0": "text",
    f"{_OASIS}table:1.0": "table",
    f"{_OASIS}style:1.0": "style",
    f"{_OASIS}drawing:1.0": "draw",
    f"{_OASIS}svg-compatible:1.0": "svg",
    f"{_OASIS}manifest:1.0": "manifest",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_TEXT = Format("OpenDocument text", ".odt", _PREFIXES)


def read_odt(file: BinaryIO, path: str, name: str) -> Document:
    """Read an .odt: paragraphs, lists, tables, text boxes and notes; headings by their outline level.

    Tracked changes are read as accepted. Headers, footers, comments, hidden text, formulas and the table of contents
    are left out. Numbers that the editor counts itself (of headings, of lists) are not part of the text.

    Args:
        file: open and seekable.
        path: as the user gave it, for messages.
        name: stands in for a missing title.

    Raises:
        CorruptFileError: it is damaged, or no OpenDocument text.
        PasswordError: it is encrypted.
        LimitError: it is larger than a document may be.
        NoTextError: it has no text.
    """
    shown = "Standard input" if path == "-" else path
    archive = Archive(file, shown, _TEXT)
    _check_readable(archive)
    styles, meta = Styles(), Title()
    archive.read("styles.xml", styles)
    archive.read("meta.xml", meta)
    filler = _Filler(DocumentBuilder(shown), styles)
    body = Body(filler, styles)
    archive.read("content.xml", body, MAX_ELEMENTS)
    warnings = editing_warnings(body.tracked, body.hidden)
    notes = ["Left out the table of contents."] if body.contents else []
    document = filler.gatherer.document(filler.title or meta.title, name, warnings, notes)
    return replace(document, path=path)


def _check_readable(archive: Archive) -> None:
    manifest = _Manifest()
    archive.read("META-INF/manifest.xml", manifest)
    if manifest.encrypted:
        raise archive.encrypted()
    if not archive.holds("content.xml"):
        raise CorruptFileError(
            f"{archive.shown} is a ZIP archive without the text of an OpenDocument; save it again as .odt."
        )


@dataclass(slots=True)
class _Filler:
    """Puts what the body holds into sections."""

    gatherer: DocumentBuilder
    styles: Styles
    title: str = ""

    def paragraph(self, text: str, style: str, level: int, notes: list[str]) -> None:
        """A paragraph of the body."""
        if self.styles.is_title(style):
            self.title = self.title or text
            self.gatherer.paragraph(text)
        elif level:
            self.gatherer.heading(text, level)
        else:
            self.gatherer.paragraph(text)
        self._add(notes)

    def table(self, rows: list[str], notes: list[str]) -> None:
        """A table of the body."""
        self.gatherer.paragraph("\n".join(rows), lines=True)
        self._add(notes)

    def _add(self, notes: list[str]) -> None:
        for text in notes:
            self.gatherer.note(text)


@dataclass(slots=True)
class _Manifest:
    """Handler of the list of parts: whether one is encrypted."""

    encrypted: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.encrypted |= name == "manifest:encryption-data"

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""
