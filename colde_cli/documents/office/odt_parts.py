"""What stands in an OpenDocument file beside its text: styles, pictures, objects, media, scripts, formulas, forms."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from colde_cli.documents.clause_numbers import DEEPEST, UNCOUNTED, NumberedLevel
from colde_cli.documents.html.mathml import Formula
from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.office.archive import MAX_ELEMENTS, Archive, Attributes, XmlHandler
from colde_cli.documents.office.body import LEVEL, Letters, Styles, TextStyle, whole
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
_GROUPS = frozenset(("form:form", "form:properties", "form:property", "form:list-property", "form:list-value"))
_UNSHOWN = frozenset(("form:hidden", "form:password"))


class MathText(Formula, XmlHandler):
    """A formula in the XML of an OpenDocument text."""

    def start(self, name: str, attributes: Mapping[str, str | None]) -> None:
        """Begin an element, with or without a prefix."""
        marks = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        Formula.start(self, name.rpartition(":")[2], marks)

    def characters(self, text: str) -> None:
        """Take letters."""
        self.text(text)


class EmbeddedObject(NamedTuple):
    """An object with content of its own."""

    kind: PartKind  # chart, formula or another
    digest: str  # of its content, without styles
    text: str = ""  # of a formula


@dataclass(slots=True)
class OdtParts:
    """The parts of a file, by the addresses that its text has for them."""

    archive: Archive  # the file
    types: dict[str, str]  # kind of each part in the list of parts, by its name
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
        digests = [content.digest.hexdigest(), *map(self.archive.digest, self._pictures_of(name))]
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
    digest: _Hash = field(default_factory=hashlib.sha256)
    _ended: bool = False  # its body has ended
    _in_formula: int = 0

    def start(self, name: str, attributes: Attributes) -> None:
        self.elements += 1
        if name == "office:chart":
            self.kind = PartKind.CHARTS
        elif name == "math:math" or self._in_formula:
            self.kind = PartKind.FORMULAS
            self._in_formula += 1
            self.formula.start(name, attributes)
        if name == "office:body":
            self.digest, self._ended = hashlib.sha256(), False
        self._take(content_of(name, attributes))

    def end(self, name: str) -> None:
        if self._in_formula:
            self._in_formula -= 1
            self.formula.end(name)
        self._take("</>")
        self._ended |= name == "office:body"

    def characters(self, text: str) -> None:
        if self._in_formula:
            self.formula.characters(text)
        self._take("\n".join(text.split()))  # blanks between elements are none

    def _take(self, written: str) -> None:
        if not self._ended:
            self.digest.update(written.encode())


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
    """The controls in `office:forms`; the text refers to them by their identifiers."""

    account: Account  # receives choices, tooltips and hidden values
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


OUTLINE = "\0outline"
"""The list that numbers the headings; no name in a file can be this."""
_LISTS = frozenset(("text:list-style", "text:outline-style"))
_STYLES = frozenset(("style:style", "style:default-style"))
_PICTURES = frozenset(("style:background-image", "text:list-level-style-image"))
_LEVELS = {
    "text:list-level-style-number": "",
    "text:outline-level-style": "",
    "text:list-level-style-bullet": "•",
    "text:list-level-style-image": "a picture",
}
_CROSSED = ("style:text-line-through-style", "style:text-line-through-type", "style:text-crossing-out")
_FORMS = {
    **{"1": "decimal", "a": "latin", "A": "upperLatin", "i": "lowerRoman", "I": "upperRoman"},
    **{"1st": "ordinal", "One": "cardinalText", "First": "ordinalText", "①, ②, ③, ...": "decimalEnclosedCircle"},
}
_FORMS_OF_LETTERS = {**_FORMS, "a": "lowerLetter", "A": "upperLetter"}


@dataclass(slots=True)
class OdtListLevel(NumberedLevel):
    """How the items of one level of a list are marked: `text` is a bullet, or that of a number."""

    prefix: str = ""  # before the number
    suffix: str = ""  # after it
    shown: int = 1  # how many numbers are shown, those of outer levels first


@dataclass(slots=True)
class OdtStyles(Styles):
    """The styles in `styles.xml`, and the automatic ones in `content.xml`.

    Identifiers are the names of editors with their blanks as `_20_`.

    Attributes:
        lists: the levels of each list style by its identifier and the level, 1 the outermost.
        masters: identifiers of the page styles in order, and of the one that follows each ("" for itself).
        pictures: addresses of the pictures of backgrounds and bullets, in order.
        fillings: addresses of the pictures that an area can be filled with, by their identifiers.
        filled: identifiers of those that a style uses.
    """

    lists: dict[tuple[str, int], OdtListLevel] = field(default_factory=dict)
    masters: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, None] = field(default_factory=dict)
    fillings: dict[str, str] = field(default_factory=dict)
    filled: set[str] = field(default_factory=set)
    _levels: dict[str, Mapping[int, OdtListLevel]] = field(default_factory=dict)
    _list: str = ""
    _looks: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def start(self, name: str, attributes: Attributes) -> None:
        """Record a style or one of its properties."""
        if "draw:fill-image-name" in attributes:
            self.filled.add(attributes["draw:fill-image-name"])
        if name == "draw:fill-image" and "xlink:href" in attributes:
            self.fillings[attributes.get("draw:name", "")] = attributes["xlink:href"]
        elif name in _PICTURES and "xlink:href" in attributes:
            self.pictures[attributes["xlink:href"]] = None
        if name in _STYLES:
            self._begin_style(attributes)
        elif name == "style:text-properties":
            self._current.letters |= _letters(attributes)
        elif name in _LISTS:
            self._list = attributes.get("style:name", "") if name == "text:list-style" else OUTLINE
        elif name in _LEVELS and self._list:
            self._begin_level(_LEVELS[name], attributes)
        elif name == "style:master-page":
            self.masters[attributes.get("style:name", "")] = attributes.get("style:next-style-name", "")

    def end(self, name: str) -> None:
        """Forget the current style: properties after it belong to something else."""
        if name in _STYLES:
            self._current = TextStyle()
        elif name in _LISTS:
            self._list = ""

    def look(self, family: str, identifier: str, around: Letters) -> Letters:
        """How letters in this style look within letters that look like `around`."""
        key = family, identifier
        if key not in self._looks:
            default = self._styles.get((family, ""), TextStyle())
            self._looks[key] = default.letters | self.letters_of(family, identifier)
        stated = self._looks[key]
        return around._replace(**stated) if stated else around

    def masters_in_use(self, begun: Iterable[str], *, default: bool) -> list[str]:
        """List the page styles that occur, in the order of the file.

        Args:
            begun: identifiers of those that paragraphs and tables begin.
            default: the document begins with the page style that needs no mention.
        """
        used = set(begun)
        if default or not used & set(self.masters):
            used.add("Standard" if "Standard" in self.masters else next(iter(self.masters), ""))
        waiting = list(used)
        while waiting:
            following = self.masters.get(waiting.pop(), "")
            if following and following not in used:
                used.add(following)
                waiting.append(following)
        return [master for master in self.masters if master in used]

    def levels(self, identifier: str) -> Mapping[int, OdtListLevel]:
        """The levels of a list style, the outermost 0."""
        if identifier not in self._levels:
            levels = {level - 1: one for (style, level), one in self.lists.items() if style == identifier}
            self._levels[identifier] = {at: _with_text(levels, at) for at in levels if at < DEEPEST}
        return self._levels[identifier]

    def _begin_style(self, attributes: Attributes) -> None:
        identifier = attributes.get("style:name", "")
        self._current = TextStyle(
            attributes.get("style:display-name", identifier).replace("_20_", " ").lower(),
            attributes.get("style:parent-style-name", ""),
            whole(attributes.get("style:default-outline-level", ""), None, LEVEL),
            list=attributes.get("style:list-style-name") or None,
            master=attributes.get("style:master-page-name"),
        )
        self._styles[attributes.get("style:family", ""), identifier] = self._current

    def _begin_level(self, mark: str, attributes: Attributes) -> None:
        level = whole(attributes.get("text:level", ""), None, LEVEL)
        start = whole(attributes.get("text:start-value", ""), 1)
        if level is not None:
            form = attributes.get("style:num-format", "")
            letters = attributes.get("style:num-letter-sync") == "true"
            self.lists[self._list, level] = OdtListLevel(
                start,
                "bullet"
                if mark
                else _FORMS_OF_LETTERS.get(form, form)
                if letters
                else _FORMS.get(form, form) or "none",
                attributes.get("text:bullet-char", mark) if mark else _list_format(attributes),
                prefix=attributes.get("style:num-prefix", ""),
                suffix=attributes.get("style:num-suffix", ""),
                shown=whole(attributes.get("text:display-levels", ""), 0, LEVEL) or 1,
            )


def _list_format(attributes: Attributes) -> str:
    """The text of a number as newer editors state it, `%1%.%2%)`, in the form of `NumberedLevel.text`."""
    return re.sub(r"%(\d)%", r"%\1", attributes.get("loext:num-list-format", ""))


def _with_text(levels: Mapping[int, OdtListLevel], at: int) -> OdtListLevel:
    """A level with the text of its numbers: if it is not stated, the numbers of some levels between dots."""
    level = levels[at]
    if level.text or level.form == "none":
        return level
    above = range(max(0, at - level.shown + 1), at)
    numbers = [f"%{up + 1}" for up in above if up in levels and levels[up].form not in UNCOUNTED]
    return replace(level, text=f"{level.prefix}{'.'.join([*numbers, f'%{at + 1}'])}{level.suffix}")


def _letters(attributes: Attributes) -> dict[str, Any]:
    """What properties of text state, by the names of `Letters`."""
    letters: dict[str, Any] = {}
    if "text:display" in attributes:
        letters["hidden"] = attributes["text:display"] == "none"
    line = next((attributes[name] for name in _CROSSED if name in attributes), None)
    if line is not None:
        letters["struck"] = line != "none"
    if position := attributes.get("style:text-position", "").split()[:1]:  # "super", "-33%", "0%"
        lowered = position[0] == "sub" or position[0].startswith("-")
        letters["script"] = 0 if not position[0].strip("0%.-+") else -1 if lowered else 1
    return letters
