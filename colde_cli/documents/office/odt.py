"""Read OpenDocument texts (.odt): the parts of the file, its headers and footers, its properties, and its changes.

Tracked changes are rejected while the text is read (OpenDocument 1.3 part 3, § 5.5). What was deleted stands in front
of the text, by the identifier of the change, and comes back where `text:change` marks its place. What was inserted
stands in the text between two marks, and is read as a deletion beside it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document, shown_as
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Attributes, XmlHandler, ZipFormat
from colde_cli.documents.office.body import Element
from colde_cli.documents.office.odt_body import OdtBody
from colde_cli.documents.office.odt_parts import OdtParts, OdtStyles
from colde_cli.documents.outside import Account, OutsideKind, PartKind

_PARAGRAPHS = ("text:p", "text:h")
_MARKS = ("text:change", "text:change-start", "text:change-end")


class _Event(NamedTuple):
    """The begin of an element, its end (`attributes` is None), or text (`name` is "")."""

    name: str
    attributes: Attributes | None = None
    text: str = ""


@dataclass(slots=True)
class RejectedChanges(XmlHandler):
    """Passes the elements of a text on, as they were before its changes."""

    target: XmlHandler  # what reads them
    tracked: int = 0  # number of changes
    _deleted: dict[str, list[_Event]] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)  # elements that the target has begun
    _region: str = ""  # the change that is described
    _within: int = 0  # depth inside a description
    _record: list[_Event] | None = None  # what is deleted, or inserted
    _inserted: set[str] = field(default_factory=set)  # insertions that have begun

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        if name == "text:tracked-changes" or self._within:
            self._within += 1
            self._describe(name, attributes)
        elif name in _MARKS:
            self._mark(name, attributes.get("text:change-id", ""))
        elif self._record is not None:
            self._record.append(_Event(name, attributes))
        else:
            self._pass(_Event(name, attributes))

    def end(self, name: str) -> None:
        """End an element."""
        if self._within:
            self._within -= 1
            if name == "text:deletion" and self._record is not None:
                self._deleted[self._region], self._record = list(_without_remarks(self._record)), None
            elif self._record is not None:
                self._record.append(_Event(name))
        elif name in _MARKS:
            return
        elif self._record is not None:
            self._record.append(_Event(name))
        else:
            self._pass(_Event(name))

    def characters(self, text: str) -> None:
        """Take text."""
        if self._record is not None:
            self._record.append(_Event("", None, text))
        elif not self._within:
            self.target.characters(text)

    def finish(self) -> None:
        """Pass on what an insertion without an end held back: nothing of it is lost."""
        for event in self._record or ():
            self._pass(event)
        self._record = None

    def _describe(self, name: str, attributes: Attributes) -> None:
        if self._record is not None:
            self._record.append(_Event(name, attributes))
        elif name == "text:changed-region":
            self.tracked += 1
            self._region = attributes.get("text:id") or attributes.get("xml:id", "")
        elif name == "text:deletion":
            self._record = []
        elif name == "text:insertion":
            self._inserted.add(self._region)

    def _mark(self, name: str, change: str) -> None:
        if name == "text:change":
            self._restore(self._deleted.pop(change, []))
        elif change in self._inserted and name == "text:change-start" and self._record is None:
            self._record, self._region = [], change
        elif name == "text:change-end" and self._record is not None and change == self._region:
            inserted, self._record = self._record, None
            self._set_aside(inserted)

    def _restore(self, events: list[_Event]) -> None:
        """Put deleted content back: its first paragraph goes on in the one around it, and its last is gone on with."""
        if self._record is not None:  # of an insertion
            self._record += events
            return
        within = self._open[-1:] and self._open[-1] in _PARAGRAPHS
        if not within and any(name in _PARAGRAPHS for name in self._open):  # inside a span: its words alone
            events = [event for event in events if not event.name]
        elif within and events and events[0].name in _PARAGRAPHS and events[-1].name in _PARAGRAPHS:
            events = events[1:-1]
        for event in events:
            self._pass(event)

    def _set_aside(self, events: list[_Event]) -> None:
        """Pass inserted content on as a deletion; a paragraph that it divides is whole again."""
        ends, starts = _unmatched(events)
        whole = [
            *(_Event(name, {}) for name in reversed(ends)),
            *events,
            *(_Event(one.name) for one in reversed(starts)),
        ]
        for event in (_Event("text:deletion", {}), *whole, _Event("text:deletion")):
            self._pass(event)
        if ends != [one.name for one in reversed(starts)]:
            for event in (*map(_Event, ends), *starts):
                self._pass(event)

    def _pass(self, event: _Event) -> None:
        if not event.name:
            self.target.characters(event.text)
        elif event.attributes is None:
            if self._open:
                self._open.pop()
            self.target.end(event.name)
        else:
            self._open.append(event.name)
            self.target.start(event.name, event.attributes)


def _without_remarks(events: list[_Event]) -> Iterator[_Event]:
    """The content of a deletion without author, date and comment of it, and without blanks between its paragraphs."""
    depth = remarks = 0
    for event in events:
        remark = event.name == "office:change-info"
        remarks += remark and event.attributes is not None
        if not remarks and (event.name or depth):
            yield event
        remarks -= remark and event.attributes is None
        depth += 0 if not event.name else 1 if event.attributes is not None else -1


def _unmatched(events: list[_Event]) -> tuple[list[str], list[_Event]]:
    """The names of the elements that end in a piece of XML without a begin, and those that begin without an end."""
    ends: list[str] = []
    starts: list[_Event] = []
    for event in events:
        if event.attributes is not None:
            starts.append(event)
        elif event.name and starts:
            starts.pop()
        elif event.name:
            ends.append(event.name)
    return ends, starts


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
    archive = Archive(file, shown_as(path), _FORMAT)
    parts = OdtParts(archive, _checked_types(archive))
    builder, common = DocumentBuilder(path), OdtStyles()
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
    margins = PageMargins(DocumentBuilder(path), common, parts=parts, running=True, used=frozenset(used))
    changes = RejectedChanges(margins)
    archive.read("styles.xml", changes if rejects else margins)
    changes.finish()
    # What several styles of pages have is there once.
    beside = margins.account
    builder.account.add_all(dict.fromkeys(beside.texts), dict.fromkeys(beside.all_parts()))
    _add_backgrounds(builder.account, parts, body.styles)
    parts.add_unnamed(builder.account)
    return body.build(dict(properties).get("title", ""), name)


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
