"""Read OpenDocument texts (.odt): the parts of the file, its headers and footers, and its properties."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document, shown_as
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Attributes, ZipFormat
from colde_cli.documents.office.body import Element
from colde_cli.documents.office.odt_body import OdtBody
from colde_cli.documents.office.odt_changes import RejectedChanges
from colde_cli.documents.office.odt_parts import OdtParts, OdtStyles
from colde_cli.documents.outside import Account, OutsideKind, PartKind

_OASIS = {"drawing": "draw", "svg-compatible": "svg"} | {
    name: name for name in "office text table style dr3d form script meta manifest".split()
}
_FORMAT = ZipFormat(
    "OpenDocument text",
    ".odt",
    {
        **{f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0": prefix for name, prefix in _OASIS.items()},
        "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
        "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0": "field",
        "http://www.w3.org/1998/Math/MathML": "math",
        "http://www.w3.org/1999/xlink": "xlink",
        "http://www.w3.org/XML/1998/namespace": "xml",
        "http://purl.org/dc/elements/1.1/": "dc",
    },
)
_PROPERTIES = {name: name.partition(":")[2] for name in ("dc:title", "dc:subject", "dc:description", "meta:keyword")}
_PAGES = {
    f"{prefix}:{margin}{pages}": (kind, about)
    for margin, kind in (("header", OutsideKind.HEADERS), ("footer", OutsideKind.FOOTERS))
    for prefix, pages, about in (
        *(("style", "", ""), ("style", "-left", "even pages")),
        *(("style", "-first", "first page"), ("loext", "-first", "first page")),
    )
}


def read_odt(file: BinaryIO, path: str, name: str, *, rejects: bool = False) -> Document:
    """Read an .odt: paragraphs, lists, tables, text boxes and notes; headings by their outline level.

    Tracked changes are read as accepted, or as rejected (`rejects`). Numbers that the editor counts itself (of
    headings, of lists) are not part of the text. What else the file holds is beside the text; see
    `colde_cli.documents.outside`.

    `name` replaces a missing title.

    Raises:
        CorruptFileError: it is damaged, or no OpenDocument text.
        PasswordError: it is encrypted.
        LimitError: it is larger than a document may be.
    """
    shown = shown_as(path)
    archive = Archive(file, shown, _FORMAT)
    parts = OdtParts(archive, _checked_types(archive))
    builder, common = DocumentBuilder(shown), OdtStyles()
    archive.read("styles.xml", common)
    properties = archive.properties("meta.xml", _PROPERTIES)
    for about, words in properties:
        builder.account.add_text(OutsideKind.METADATA, words, about)
    # Automatic styles of another part of the file may have the same identifiers.
    body = OdtBody(builder, copy.deepcopy(common), parts=parts, rejects=rejects)
    changes = RejectedChanges(body)
    archive.read("content.xml", changes if rejects else body, MAX_ELEMENTS)
    changes.finish()
    body.tracked += changes.tracked
    body.finish()
    used = body.styles.masters_in_use(body.begun, default=body.default_page is not False)
    margins = PageMargins(DocumentBuilder(shown), common, parts=parts, running=True, used=frozenset(used))
    changes = RejectedChanges(margins)
    archive.read("styles.xml", changes if rejects else margins)
    changes.finish()
    # What several styles of pages have is there once.
    beside = margins.account
    builder.account.add_all(dict.fromkeys(beside.texts), dict.fromkeys(beside.all_parts()))
    _add_backgrounds(builder.account, parts, body.styles)
    parts.add_unnamed(builder.account)
    return replace(body.build(dict(properties).get("title", ""), name), path=path)


def _checked_types(archive: Archive) -> dict[str, str]:
    """The kinds of the parts of a file that can be read.

    Raises:
        CorruptFileError: it holds no text.
        PasswordError: it is encrypted.
    """
    manifest = archive.elements("META-INF/manifest.xml")
    if any(name == "manifest:encryption-data" for name, _, _ in manifest):
        raise archive.encrypted()
    if not archive.holds("content.xml"):
        raise archive.without_text("an OpenDocument")
    return {
        attributes.get("manifest:full-path", ""): attributes.get("manifest:media-type", "")
        for name, attributes, _ in manifest
        if name == "manifest:file-entry"
    }


def _add_backgrounds(account: Account, parts: OdtParts, styles: OdtStyles) -> None:
    """Add the pictures behind texts and pages, and those that are bullets; a filling that is not used is none."""
    addresses = dict(styles.pictures)
    for identifier, address in styles.fillings.items():
        if parts.inside(address) and identifier in styles.filled:
            addresses[address] = None
    for picture in filter(None, map(parts.inside, addresses)):
        parts.add(account, PartKind.PICTURES, picture, "background")


@dataclass(slots=True)
class PageMargins(OdtBody):
    """The headers and footers in `styles.xml`, as texts beside the body."""

    used: Iterable[str] = ()  # identifiers of the page styles that occur
    _master: str = ""

    def begin_before(self, name: str, attributes: Attributes) -> Element:
        """Begin an element outside headers and footers, or one of these."""
        if name == "style:master-page":
            self._master = attributes.get("style:name", "")
        shown = self._master in self.used and attributes.get("style:display") != "false"
        return self._margin(*_PAGES[name]) if name in _PAGES and shown else None

    def _margin(self, kind: OutsideKind, about: str) -> Iterator[None]:
        self._within = True
        yield from self._aside(kind, about)
        self._within = False
