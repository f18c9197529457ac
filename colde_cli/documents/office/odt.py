"""Read OpenDocument texts (.odt): the parts of the file, its headers and footers, and its properties."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, XmlHandler, ZipFormat
from colde_cli.documents.office.odt_body import OdtBody
from colde_cli.documents.office.odt_parts import OdtParts
from colde_cli.documents.office.odt_styles import OdtStyles
from colde_cli.documents.office.odt_text import Attributes, Closer
from colde_cli.documents.outside import Account, OutsideKind, PartKind
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
        f"{_OASIS}dr3d:1.0": "dr3d",
        f"{_OASIS}svg-compatible:1.0": "svg",
        f"{_OASIS}form:1.0": "form",
        f"{_OASIS}script:1.0": "script",
        f"{_OASIS}meta:1.0": "meta",
        f"{_OASIS}manifest:1.0": "manifest",
        "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
        "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0": "field",
        "http://www.w3.org/1998/Math/MathML": "math",
        "http://www.w3.org/1999/xlink": "xlink",
        "http://www.w3.org/XML/1998/namespace": "xml",
        "http://purl.org/dc/elements/1.1/": "dc",
    },
)
_PROPERTIES = {
    "dc:title": "title",
    "dc:subject": "subject",
    "dc:description": "description",
    "meta:keyword": "keyword",
}
_HEADERS, _FOOTERS = OutsideKind.HEADERS, OutsideKind.FOOTERS
_PAGES = {
    "style:header": (_HEADERS, ""),
    "style:header-left": (_HEADERS, "even pages"),
    "style:header-first": (_HEADERS, "first page"),
    "loext:header-first": (_HEADERS, "first page"),
    "style:footer": (_FOOTERS, ""),
    "style:footer-left": (_FOOTERS, "even pages"),
    "style:footer-first": (_FOOTERS, "first page"),
    "loext:footer-first": (_FOOTERS, "first page"),
}


def read_odt(file: BinaryIO, path: str, name: str) -> Document:
    """Read an .odt: paragraphs, lists, tables, text boxes and notes; headings by their outline level.

    Tracked changes are read as accepted. Numbers that the editor counts itself (of headings, of lists) are not part of
    the text. What else the file holds is beside the text; see `colde_cli.documents.outside`.

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
    parts = OdtParts(archive, _checked_types(archive))
    builder = DocumentBuilder(shown)
    common, properties = OdtStyles(), _Properties(builder.account)
    archive.read("styles.xml", common)
    archive.read("meta.xml", properties)
    body = OdtBody(builder, common.copy(), parts=parts)
    archive.read("content.xml", body, MAX_ELEMENTS)
    body.finish()
    used = body.styles.masters_in_use(body.begun, default=body.default_page is not False)
    margins = PageMargins(DocumentBuilder(shown), common, parts=parts, running=True, used=frozenset(used))
    archive.read("styles.xml", margins)
    _add_new(builder.account, margins.account)
    _add_backgrounds(builder.account, parts, body.styles)
    parts.add_unnamed(builder.account)
    return replace(body.build(properties.title, name, ()), path=path)


def _checked_types(archive: Archive) -> dict[str, str]:
    """The kinds of the parts of a file that can be read.

    Raises:
        CorruptFileError: it holds no text.
        PasswordError: it is encrypted.
    """
    manifest = _Manifest()
    archive.read("META-INF/manifest.xml", manifest)
    if manifest.encrypted:
        raise archive.encrypted()
    if not archive.holds("content.xml"):
        raise CorruptFileError(
            f"Cannot read {archive.shown}: it is a ZIP archive without the text of an OpenDocument; save it again as"
            " .odt."
        )
    return manifest.types


def _add_new(account: Account, margins: Account) -> None:
    """Add what stands in the margins of the pages; what several styles of pages have is there once."""
    for text in dict.fromkeys(margins.all_texts()):
        account.add_text(text.kind, text.text, text.about)
    for part in dict.fromkeys(margins.all_parts()):
        account.add_part(part.kind, part.digest, part.about, source=part.source)


def _add_backgrounds(account: Account, parts: OdtParts, styles: OdtStyles) -> None:
    """Add the pictures behind texts and pages, and those that are bullets; a filling that is not used is none."""
    addresses = dict(styles.pictures)
    for identifier, address in styles.fillings.items():
        if parts.inside(address) and identifier in styles.filled:
            addresses[address] = None
    for picture in filter(None, map(parts.inside, addresses)):
        parts.add(account, PartKind.PICTURES, picture, "background")


@dataclass(slots=True)
class _Manifest(XmlHandler):
    """The list of parts: what they are, and whether one is encrypted."""

    encrypted: bool = False
    types: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.encrypted |= name == "manifest:encryption-data"
        if name == "manifest:file-entry":
            self.types[attributes.get("manifest:full-path", "")] = attributes.get("manifest:media-type", "")


@dataclass(slots=True)
class _Properties(XmlHandler):
    """The properties of the document that a reader sees; dates, authors and counts are none."""

    account: Account
    title: str = ""
    _name: str = ""
    _words: str = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._name, self._words = _PROPERTIES.get(name, ""), ""

    def end(self, name: str) -> None:
        self.account.add_text(OutsideKind.METADATA, self._words, self._name)
        if self._name == "title":
            self.title = self._words
        self._name, self._words = "", ""

    def characters(self, text: str) -> None:
        if self._name:
            self._words += text


@dataclass(slots=True)
class PageMargins(OdtBody):
    """The headers and footers in `styles.xml`, as texts beside the body.

    Attributes:
        used: identifiers of the page styles that occur.
    """

    used: Iterable[str] = ()
    _master: str = ""

    def begin_before(self, name: str, attributes: Attributes) -> Closer:
        """Begin an element outside headers and footers, or one of these."""
        if name == "style:master-page":
            self._master = attributes.get("style:name", "")
        shown = self._master in self.used and attributes.get("style:display") != "false"
        if name not in _PAGES or not shown:
            return None
        self._within = True
        self._begin_aside(*_PAGES[name])
        return self._end_margin

    def _end_margin(self) -> None:
        self._end_aside()
        self._within = False
