"""Read OpenDocument texts (.odt): the parts of the file, its styles, and its body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Properties, XmlHandler, ZipFormat
from colde_cli.documents.office.body import Body, Note, Paragraph, Styles, Table, TextStyle
from colde_cli.documents.text import shown_as
from colde_cli.errors import CorruptFileError

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_FORMAT = ZipFormat(
    "OpenDocument text",
    ".odt",
    {
        f"{_OASIS}office:1.0": "office",
        f"{_OASIS}text:1.0": "text",
        f"{_OASIS}table:1.0": "table",
        f"{_OASIS}style:1.0": "style",
        f"{_OASIS}drawing:1.0": "draw",
        f"{_OASIS}svg-compatible:1.0": "svg",
        f"{_OASIS}manifest:1.0": "manifest",
        "http://purl.org/dc/elements/1.1/": "dc",
    },
)
# The content of these is no text of the document: deleted text, comments, names of pictures, numbers of notes, and
# the editor's own lists of headings. A bibliography is kept, except for the pattern of its entries.
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


def read_odt(file: BinaryIO, path: str, name: str) -> Document:
    """Read an .odt: paragraphs, lists, tables, text boxes and notes; headings by their outline level.

    Tracked changes are read as accepted. Headers, footers, comments, hidden text, formulas and the table of contents
    are left out. Numbers that the editor counts itself (of headings, of lists) are not part of the text.

    Args:
        file: open and seekable.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        CorruptFileError: it is damaged, or no OpenDocument text.
        PasswordError: it is encrypted.
        LimitError: it is larger than a document may be.
        NoTextError: it has no text.
    """
    shown = shown_as(path)
    archive = Archive(file, shown, _FORMAT)
    _check_readable(archive)
    styles, properties = OdtStyles(), Properties()
    archive.read("styles.xml", styles)
    archive.read("meta.xml", properties)
    body = OdtBody(DocumentBuilder(shown), styles)
    archive.read("content.xml", body, MAX_ELEMENTS)
    notes = ["Left out the table of contents."] if body.contents else []
    return replace(body.build(properties.title, name, notes), path=path)


def _check_readable(archive: Archive) -> None:
    manifest = _Manifest()
    archive.read("META-INF/manifest.xml", manifest)
    if manifest.encrypted:
        raise archive.encrypted()
    if not archive.holds("content.xml"):
        raise CorruptFileError(
            f"Cannot read {archive.shown}: it is a ZIP archive without the text of an OpenDocument; save it again as"
            " .odt."
        )


@dataclass(slots=True)
class _Manifest(XmlHandler):
    """The list of parts: whether one is encrypted."""

    encrypted: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.encrypted |= name == "manifest:encryption-data"


@dataclass(slots=True)
class OdtStyles(Styles):
    """The styles in `styles.xml`, and the automatic ones in `content.xml`.

    Identifiers are the names of editors with their blanks as `_20_`.
    """

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Record a style or one of its properties."""
        if name == "style:style":
            identifier = attributes.get("style:name", "")
            shown = attributes.get("style:display-name", identifier).replace("_20_", " ")
            level = outline_level(attributes.get("style:default-outline-level", ""))
            self._current = TextStyle(shown.lower(), attributes.get("style:parent-style-name", ""), level)
            self._styles[attributes.get("style:family", ""), identifier] = self._current
        elif name == "style:text-properties":
            self._current.hidden = attributes.get("text:display") == "none"

    def end(self, name: str) -> None:
        """Forget the current style: properties after it belong to something else."""
        if name == "style:style":
            self._current = TextStyle()

    def undefined(self, identifier: str) -> TextStyle:
        """Make the style by the name behind its identifier."""
        return TextStyle(identifier.replace("_20_", " ").lower())


def outline_level(value: str) -> int | None:
    """Parse the level of a heading, 1 the outermost; None if it is not stated."""
    return int(value) if value.isdecimal() and 0 < len(value) <= 2 else None


@dataclass(slots=True)
class OdtBody(Body):
    """The body in `content.xml`; automatic styles come first, and a note is inside the paragraph that refers to it."""

    _within: bool = False
    _index_titles: int = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self.tracked += name == "text:changed-region"
        if self._skipping:
            self._skipping += 1
        elif not self._within:
            self._within = name == "office:text"
            self.styles.start(name, attributes)
        elif self._is_left_out(name, attributes):
            self._skipping = 1
        elif name in _PARAGRAPHS:
            self._paragraphs.append(self._paragraph(name, attributes))
        elif name in _BLANKS:
            self.characters(" ")
        elif name == "text:index-title":
            self._index_titles += 1
        elif name == "text:note":
            self._places.append(Note())
        elif name == "table:table":
            self._places.append(Table())
        elif name == _BOX:
            self.begin_box()

    def end(self, name: str) -> None:
        """End an element."""
        if self._skipping:
            self._skipping -= 1
        elif not self._within:
            self.styles.end(name)
        elif name in _PARAGRAPHS:
            self.place_paragraph(self._paragraphs.pop())
        elif name == "text:index-title":
            self._index_titles -= 1
        elif name == "text:note":
            self._end_note()
        elif name == _BOX:
            self._places.pop()
        elif name == "table:table-cell":
            self.end_cell()
        elif name == "table:table-row":
            self.end_row()
        elif name == "table:table":
            self.end_table()
        elif name == "office:text":
            self._within = False

    def characters(self, text: str) -> None:
        """Take text of a paragraph."""
        if self._paragraphs and not self._skipping:
            self._paragraphs[-1].pieces.append(text)

    def _is_left_out(self, name: str, attributes: dict[str, str]) -> bool:
        self.contents += name == _CONTENTS
        family = "text" if name == "text:span" else "paragraph" if name in _PARAGRAPHS else ""
        hidden = bool(family) and self.styles.is_hidden(family, attributes.get("text:style-name", ""))
        hidden |= name == "text:section" and attributes.get("text:display") == "none"
        self.hidden += hidden
        return hidden or name == _CONTENTS or name in _SKIPPED

    def _paragraph(self, name: str, attributes: dict[str, str]) -> Paragraph:
        style = attributes.get("text:style-name", "")
        level = None
        if name == "text:h":
            stated = outline_level(attributes.get("text:outline-level", ""))
            level = stated or self.styles.level(style) or 1
        elif self._index_titles:  # of a bibliography, the one index that is kept
            level = 1
        return Paragraph(style, level)

    def _end_note(self) -> None:
        note = self._places.pop()
        if isinstance(note, Note) and self._paragraphs:
            self._paragraphs[-1].notes.append(" ".join(note.texts))
