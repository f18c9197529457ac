"""The parts of an OpenDocument file beside its text: pictures, objects with content of their own, media, scripts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from colde_cli.documents.html.formulas import Formula
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, XmlHandler
from colde_cli.documents.outside import Account, PartKind, digest_of
from colde_cli.errors import DocumentError

if TYPE_CHECKING:
    from hashlib import _Hash

_PACKAGE = "vnd.sun.star.Package:"
# The parts that hold the text, and those that make no difference: previews, settings, fonts, lists of parts.
_KNOWN = frozenset(
    (
        *("mimetype", "content.xml", "styles.xml", "meta.xml", "settings.xml", "manifest.rdf"),
        *("layout-cache", "versionlist.xml"),
    )
)
_UNCOUNTED = ("meta-inf/", "thumbnails/", "configurations2/", "objectreplacements/", "fonts/", "versions/")
_SIGNATURES = "signatures.xml"
_SCRIPTS = ("basic/", "scripts/", "dialogs/")
_LISTS_OF_SCRIPTS = ("-lc.xml", "-lb.xml")
# Attributes that are no content: of places, sizes and styles, and names that editors give.
_LOOKS = frozenset(("svg", "style", "fo", "loext"))
_NAMES = frozenset(
    (
        *("id", "style-name", "text-style-name", "layer", "z-index", "transform", "anchor-type"),
        *("anchor-page-number", "glue-points", "text-areas"),
    )
)
_UNSAID = frozenset(("draw:name", "draw:enhanced-path"))
_DRAWN = {"draw:path": "svg:d", "draw:contour-path": "svg:d"}  # drawn by hand: the form is the content
_UNNAMED = "non-primitive"  # the type of a shape that is none of those with a name


@dataclass(slots=True)
class MathText(XmlHandler):
    """A formula in MathML that is being read."""

    _formula: Formula = field(default_factory=Formula)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element, with or without a prefix."""
        self._formula.start(
            name.rpartition(":")[2], {name.rpartition(":")[2]: value for name, value in attributes.items()}
        )

    def end(self, name: str) -> None:
        """End an element."""
        self._formula.end()

    def characters(self, text: str) -> None:
        """Take letters."""
        self._formula.text(text)

    def written(self) -> str:
        """The whole formula."""
        return self._formula.written()


class EmbeddedObject(NamedTuple):
    """An object with content of its own.

    Attributes:
        kind: chart, formula or another.
        digest: of its content, without styles.
        text: of a formula.
    """

    kind: PartKind
    digest: str
    text: str = ""


@dataclass(slots=True)
class OdtParts:
    """The parts of a file, by the addresses that its text has for them.

    Attributes:
        archive: the file.
        types: kind of each part in the list of parts, by its name.
    """

    archive: Archive
    types: dict[str, str]
    _named: set[str] = field(default_factory=set)
    _objects: dict[str, EmbeddedObject] = field(default_factory=dict)
    _pictures: dict[str, list[str]] = field(default_factory=dict)
    _elements: int = MAX_ELEMENTS  # that all objects together may still have

    def inside(self, address: str) -> str:
        """The name of the part, or of the folder of an object, that an address means; "" if it leads elsewhere."""
        name = address.removeprefix(_PACKAGE).removeprefix("./").rstrip("/")
        for known in (name, unquote(name)):
            if known and (self.archive.holds(known) or self.archive.holds(f"{known}/content.xml")):
                self._named.add(known.lower())
                return known
        return ""

    def add(self, account: Account, kind: PartKind, name: str, about: str = "") -> None:
        """Account for a part by its bytes; a picture can be decoded later."""
        source = name if kind is PartKind.PICTURES else ""
        account.add_part(kind, self.archive.digest(name), about, source=source)

    def embedded(self, name: str) -> EmbeddedObject:
        """Look into an object: a formula has a text, others a digest."""
        if name not in self._objects:
            self._objects[name] = self._embedded(name)
        return self._objects[name]

    def add_unnamed(self, account: Account) -> None:
        """Account for scripts and signatures, and for the parts that nothing in the text refers to."""
        for name in self.archive.names():
            low = name.lower()
            if low.endswith("/") or not self._named.isdisjoint(accumulate(low.split("/"), "{}/{}".format)):
                continue
            if low.startswith("meta-inf/") and low.endswith(_SIGNATURES):
                self.add(account, PartKind.OTHER, name, "digital signature")
            elif low.startswith(_SCRIPTS):
                if not low.endswith(_LISTS_OF_SCRIPTS):
                    self.add(account, PartKind.SCRIPTS, name, name)
            elif low not in _KNOWN and not low.startswith(_UNCOUNTED):
                self.add(account, PartKind.OTHER, name, name)

    def _embedded(self, name: str) -> EmbeddedObject:
        if not self.archive.holds(f"{name}/content.xml"):  # a file of another program
            return EmbeddedObject(PartKind.EMBEDDED, self.archive.digest(name))
        content = _Content()
        try:
            self.archive.read(f"{name}/content.xml", content, self._elements)
        except DocumentError:  # the text can be read without it
            kind = _kind(self.types.get(f"{name}/", ""))
            return EmbeddedObject(kind, self.archive.digest(f"{name}/content.xml"))
        self._elements = max(0, self._elements - content.elements)
        kind = content.kind or _kind(self.types.get(f"{name}/", ""))
        digests = [content.digest(), *map(self.archive.digest, self._pictures_of(name))]
        digest = digests[0] if len(digests) == 1 else digest_of("".join(digests).encode())
        return EmbeddedObject(kind, digest, content.formula.written())

    def _pictures_of(self, name: str) -> list[str]:
        if not self._pictures:
            for part in self.archive.names():
                folder, found, _ = part.lower().partition("/pictures/")
                if found:
                    self._pictures.setdefault(folder, []).append(part)
        return self._pictures.get(name.lower(), [])


def _kind(media_type: str) -> PartKind:
    """The kind of an object by its type in the list of parts."""
    if media_type.endswith(".chart"):
        return PartKind.CHARTS
    return PartKind.FORMULAS if media_type.endswith(".formula") else PartKind.EMBEDDED


def content_of(name: str, attributes: dict[str, str]) -> str:
    """Write an element and its attributes down, without places, sizes, styles and identifiers.

    A shape with a name has the path that belongs to it, which editors write in ways of their own.
    """
    kind = attributes.get("draw:type", _UNNAMED)
    kept = sorted(
        (attribute, value)
        for attribute, value in attributes.items()
        if (attribute == "draw:enhanced-path" and _UNNAMED in kind)
        or attribute == _DRAWN.get(name)
        or _is_content(attribute)
    )
    return f"<{name} {kept}>"


def _is_content(attribute: str) -> bool:
    prefix, _, local = attribute.partition(":")
    return prefix not in _LOOKS and local not in _NAMES and attribute not in _UNSAID


@dataclass(slots=True)
class _Content(XmlHandler):
    """The content of an object: that of its body alone, if it has one."""

    kind: PartKind | None = None
    elements: int = 0
    formula: MathText = field(default_factory=MathText)
    _all: _Hash = field(default_factory=hashlib.sha256)
    _body: _Hash | None = None
    _within: bool = False
    _in_formula: int = 0

    def digest(self) -> str:
        """The digest of what was read."""
        return (self._body or self._all).hexdigest()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self.elements += 1
        if name == "office:chart":
            self.kind = PartKind.CHARTS
        elif name == "math:math" or self._in_formula:
            self.kind = PartKind.FORMULAS
            self._in_formula += 1
            self.formula.start(name, attributes)
        if name == "office:body":
            self._body, self._within = hashlib.sha256(), True
        self._take((content_of(name, attributes),))

    def end(self, name: str) -> None:
        """End an element."""
        if self._in_formula:
            self._in_formula -= 1
            self.formula.end(name)
        self._take(("</>",))
        if name == "office:body":
            self._within = False

    def characters(self, text: str) -> None:
        """Take words; blanks between elements are none."""
        if self._in_formula:
            self.formula.characters(text)
        self._take(text.split())

    def _take(self, words: Iterable[str]) -> None:
        data = "\n".join(words).encode()
        self._all.update(data)
        if self._within and self._body is not None:
            self._body.update(data)
