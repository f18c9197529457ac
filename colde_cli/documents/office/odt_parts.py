"""What stands in an OpenDocument file beside its text: pictures, objects, media, scripts, formulas, forms."""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from colde_cli.documents.html.formulas import Formula
from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Attributes, XmlHandler
from colde_cli.documents.outside import Account, OutsideKind, PartKind, digest_of
from colde_cli.errors import DocumentError

if TYPE_CHECKING:
    from hashlib import _Hash

_PACKAGE = "vnd.sun.star.Package:"
# The parts that hold the text, and those that make no difference: previews, settings, fonts, lists of parts.
_KNOWN = frozenset(
    "mimetype content.xml styles.xml meta.xml settings.xml manifest.rdf layout-cache versionlist.xml".split()
)
_UNCOUNTED = ("meta-inf/", "thumbnails/", "configurations2/", "objectreplacements/", "fonts/", "versions/")
_SIGNATURES = "signatures.xml"
_SCRIPTS = ("basic/", "scripts/", "dialogs/")
_LISTS_OF_SCRIPTS = ("-lc.xml", "-lb.xml")
# Attributes that are no content: of places, sizes and styles, and names that editors give.
_LOOKS = frozenset(("svg", "style", "fo", "loext"))
_NAMES = frozenset(
    "id style-name text-style-name layer z-index transform anchor-type anchor-page-number glue-points"
    " text-areas".split()
)
_UNSAID = frozenset(("draw:name", "draw:enhanced-path"))
_DRAWN = {"draw:path": "svg:d", "draw:contour-path": "svg:d"}  # drawn by hand: the form is the content
_UNNAMED = "non-primitive"  # the type of a shape that is none of those with a name

_ENTRIES = frozenset(("form:option", "form:item"))
_BOXES = frozenset(("form:checkbox", "form:radio"))
_TICKS = ("form:current-state", "form:state", "form:current-selected", "form:selected")
_SHOWN = ("form:current-value", "form:value")
_GROUPS = frozenset(
    ("form:form", "form:properties", "form:property", "form:list-property", "form:list-value")
)
_UNSHOWN = frozenset(("form:hidden", "form:password"))


class MathText(XmlHandler):
    """A formula in MathML that is being read."""

    def __init__(self) -> None:
        self._formula = Formula()

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element, with or without a prefix."""
        marks = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        self._formula.start(name.rpartition(":")[2], marks)

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
        return self.archive.once(("object", name), lambda: self._embedded(name))

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
        part, media_type = f"{name}/content.xml", self.types.get(f"{name}/", "")
        if not self.archive.holds(part):  # a file of another program
            return EmbeddedObject(PartKind.EMBEDDED, self.archive.digest(name))
        kind = PartKind.FORMULAS if media_type.endswith(".formula") else PartKind.EMBEDDED
        kind = PartKind.CHARTS if media_type.endswith(".chart") else kind
        content = _Content()
        try:
            self.archive.read(part, content, self._elements)
        except DocumentError:  # the text can be read without it
            return EmbeddedObject(kind, self.archive.digest(part))
        self._elements = max(0, self._elements - content.elements)
        digests = [content.digest(), *map(self.archive.digest, self._pictures_of(name))]
        digest = digests[0] if len(digests) == 1 else digest_of("".join(digests).encode())
        return EmbeddedObject(content.kind or kind, digest, content.formula.written())

    def _pictures_of(self, name: str) -> list[str]:
        if not self._pictures:
            for part in self.archive.names():
                folder, within, _ = part.lower().partition("/pictures/")
                if within:
                    self._pictures.setdefault(folder, []).append(part)
        return self._pictures.get(name.lower(), [])


def content_of(name: str, attributes: Attributes) -> str:
    """Write an element and its attributes down, without places, sizes, styles and identifiers.

    A shape with a name has the path that belongs to it, which editors write in ways of their own.
    """
    unnamed = _UNNAMED in attributes.get("draw:type", _UNNAMED)

    def counts(attribute: str) -> bool:
        prefix, _, local = attribute.partition(":")
        said = prefix not in _LOOKS and local not in _NAMES and attribute not in _UNSAID
        return said or attribute == _DRAWN.get(name) or (unnamed and attribute == "draw:enhanced-path")

    return f"<{name} {sorted(item for item in attributes.items() if counts(item[0]))}>"


class Collected(XmlHandler):
    """Content that is no text: of scripts, and of pictures inside the XML."""

    def __init__(self, *content: str) -> None:
        self.content = [*content]

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        self.content.append(content_of(name, attributes))

    def characters(self, text: str) -> None:
        """Take words."""
        self.content += text.split()

    def digest(self) -> str:
        """The digest of what was read, decoded if it is a file."""
        data = "".join(self.content).encode()
        try:
            return digest_of(binascii.a2b_base64(data, strict_mode=True))
        except ValueError:
            return digest_of(data)


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

    def start(self, name: str, attributes: Attributes) -> None:
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


@dataclass(slots=True)
class _Control:
    """A control that is being read: its choices, those that are chosen, and the words of a text of several lines."""

    name: str
    attributes: Attributes
    choices: list[str] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self._first("form:name", "form:label")

    def shown(self) -> str:
        """What the page shows: a box and its label, the chosen entries, or the value."""
        label = self.attributes.get("form:label", "")
        if self.name in _BOXES:
            state = next((self.attributes[name] for name in _TICKS if name in self.attributes), "")
            return f"{TICKED if state in ('checked', 'true') else UNTICKED} {label}"
        if self.chosen:
            return ", ".join(self.chosen)
        return self._first(*_SHOWN) or " ".join("".join(self.words).split()) or label

    def _first(self, *names: str) -> str:
        return next((self.attributes[name] for name in names if self.attributes.get(name)), "")


@dataclass(slots=True)
class FormControls(XmlHandler):
    """The controls in `office:forms`; the text refers to them by their identifiers.

    Attributes:
        account: receives choices, tooltips and hidden values.
    """

    account: Account
    _open: list[_Control | None] = field(default_factory=list)
    _shown: dict[str, tuple[str, str]] = field(default_factory=dict)
    _placed: set[str] = field(default_factory=set)

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        control = self._current()
        if (href := attributes.get("xlink:href", "")).strip(" ./") and not href.startswith("#"):
            self.account.add_text(OutsideKind.LINKS, href, control.label if control else "form")
        if name in _ENTRIES and control:
            entry = attributes.get("form:label", "")
            control.choices.append(entry)
            if attributes.get("form:current-selected", attributes.get("form:selected", "")) == "true":
                control.chosen.append(entry)
        begins = name.startswith("form:") and name not in _ENTRIES | _GROUPS
        self._open.append(_Control(name, attributes) if begins else None)

    def end(self, name: str) -> None:
        """End an element."""
        if not (control := self._open.pop() if self._open else None):
            return
        attributes, label, shown = control.attributes, control.label, control.shown()
        self.account.add_text(OutsideKind.FORM_VALUES, " | ".join(control.choices), label)
        self.account.add_text(OutsideKind.FORM_VALUES, attributes.get("form:title", ""), label)
        if control.name in _UNSHOWN:
            self.account.add_text(OutsideKind.FORM_VALUES, shown, label)
        else:
            identifier = attributes.get("form:id") or attributes.get("xml:id") or f"\0{len(self._shown)}"
            self._shown[identifier] = shown, label

    def characters(self, text: str) -> None:
        """Take words of a text with several lines."""
        if control := self._current():
            control.words.append(text)

    def place(self, identifier: str) -> str:
        """What the control of this identifier shows, at its place in the text; "" if it comes later or nowhere."""
        if identifier not in self._shown:
            return ""
        self._placed.add(identifier)
        return self._shown[identifier][0]

    def add_unplaced(self) -> None:
        """Account for the controls that have no place in the text."""
        for identifier, (shown, label) in self._shown.items():
            if identifier not in self._placed:
                self.account.add_text(OutsideKind.FORM_VALUES, shown, label)

    def _current(self) -> _Control | None:
        return next((control for control in reversed(self._open) if control), None)
