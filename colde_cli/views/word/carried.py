"""Carry content of one Word file into another: with its styles, lists, pictures, links, bookmarks and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part, XmlPart
from docx.oxml.ns import nsmap, qn
from docx.oxml.parser import parse_xml

from colde_cli.views.word.markup import Element, build
from colde_cli.views.word.stories import NOTES, OFFICE, WordPart, shown_xml

if TYPE_CHECKING:
    from docx.document import Document as WordFile

_R = f"{{{nsmap['r']}}}"
_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_STYLES = (qn("w:pStyle"), qn("w:rStyle"), qn("w:tblStyle"))
_STYLES_OF_STYLES = (qn("w:basedOn"), qn("w:link"), qn("w:next"))
_LEFT = tuple(
    qn(f"w:{name}")
    for name in "commentRangeStart commentRangeEnd commentReference annotationRef proofErr permStart permEnd "
    "lastRenderedPageBreak headerReference footerReference pPrChange rPrChange sectPrChange tblPrChange trPrChange "
    "tcPrChange".split()
)
_OWN_NUMBERS = re.compile(rf"^(?:{re.escape(_W14)}(?:paraId|textId)|\{{[^}}]+\}}rsid\w*)$")
_LONGEST_NAME = 40  # of a bookmark
_PAGES = {"footnotes": CONTENT_TYPE.WML_FOOTNOTES, "endnotes": CONTENT_TYPE.WML_ENDNOTES}
_RELATIONS = {"footnotes": RELATIONSHIP_TYPE.FOOTNOTES, "endnotes": RELATIONSHIP_TYPE.ENDNOTES}


def related(file: WordFile, kind: str) -> Part | None:
    """The part of a file with a kind of relation; None if it has none."""
    relations = (rel for rel in file.part.rels.values() if rel.reltype == kind and not rel.is_external)
    return next((rel.target_part for rel in relations), None)


@dataclass(slots=True)
class Carrier:
    """Carries copies of elements of B into A.

    Attributes:
        lost: names of bookmarks of A whose text goes away.
        new_notes: the notes that were carried and are not yet marked as inserted.
    """

    a: WordFile
    b: WordFile
    notes_of_a: dict[str, WordPart]
    notes_of_b: dict[str, WordPart]
    lost: frozenset[str] = frozenset()
    new_notes: list[Element] = field(default_factory=list)
    _styles: dict[str, str] = field(default_factory=dict)
    _lists: dict[str, str] = field(default_factory=dict)
    _parts: dict[str, Part] = field(default_factory=dict)
    _pictures: dict[str, Part] = field(default_factory=dict)
    _bookmarks: dict[str, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)
    _open: dict[str, str] = field(default_factory=dict)
    _referring: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        package = self.a.part.package
        for part in package.iter_parts():
            if part.content_type.startswith("image/"):
                self._pictures.setdefault(sha256(part.blob).hexdigest(), part)
        for part in self._text_parts(self.a, self.notes_of_a):
            for start in part.iter(qn("w:bookmarkStart")):
                self._names.add(start.get(qn("w:name"), ""))
                self._count("bookmark", start.get(qn("w:id"), "0"))
            for drawing in part.iter(qn("wp:docPr")):
                self._count("drawing", drawing.get("id", "0"))

    @staticmethod
    def _text_parts(file: WordFile, notes: dict[str, WordPart]) -> Iterator[Element]:
        yield file.element
        yield from (part.root for part in notes.values())
        for rel in file.part.rels.values():
            if rel.reltype in (RELATIONSHIP_TYPE.HEADER, RELATIONSHIP_TYPE.FOOTER) and not rel.is_external:
                yield rel.target_part.element

    def _count(self, kind: str, number: str) -> None:
        if number.lstrip("-").isdecimal():
            self._numbers[kind] = max(self._numbers.get(kind, 0), int(number))

    def _next(self, kind: str) -> str:
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return str(self._numbers[kind])

    # Copies.

    def adopt(self, copy: Element, source: WordPart, target: WordPart) -> Element:
        """Make a copy of an element of B fit for a part of A, in place.

        Notes that it refers to are carried, too, and are in `new_notes`.
        """
        for element in list(copy.iter(*_LEFT)):
            element.getparent().remove(element)
        for element in list(copy.iter()):  # some lose children
            if not isinstance(element.tag, str):
                continue
            for name, value in list(element.attrib.items()):
                if name.startswith(_R) or name == f"{OFFICE}relid":
                    element.set(name, self._relation(value, source.part, target.part))
                elif _OWN_NUMBERS.match(name):
                    del element.attrib[name]
            self._named(element, source, target)
        return copy

    def _named(self, element: Element, source: WordPart, target: WordPart) -> None:
        tag, value = element.tag, element.get(qn("w:val"), "")
        if tag in _STYLES:
            element.set(qn("w:val"), self.style(value))
        elif tag == qn("w:numId"):
            element.set(qn("w:val"), self.numbered(value))
        elif tag == qn("w:bookmarkStart"):
            self._begin_bookmark(element)
        elif tag == qn("w:bookmarkEnd"):
            number = self._open.pop(element.get(qn("w:id"), ""), "")
            element.set(qn("w:id"), number)
        elif tag == qn("wp:docPr"):
            element.set("id", self._next("drawing"))
        elif tag in NOTES:
            element.set(qn("w:id"), self._note(NOTES[tag], element.get(qn("w:id"), ""), source))
        elif tag in (qn("w:instrText"), qn("w:fldSimple"), qn("w:hyperlink")):
            self._referring.append(element)
        elif tag == qn("w:sdtPr"):
            for number in element.findall(qn("w:id")):
                element.remove(number)

    # Relations and parts.

    def _relation(self, identifier: str, source: Part, target: Part) -> str:
        found = source.rels.get(identifier)
        if found is None:
            return identifier
        if found.is_external:
            return str(target.rels.get_or_add_ext_rel(found.reltype, found.target_ref))
        return str(target.rels.get_or_add(found.reltype, self._part(found.target_part)).rId)

    def _part(self, part: Part) -> Part:
        """Copy a part with all that it refers to; a picture that A has is used again."""
        name = str(part.partname)
        if name not in self._parts:
            blob = part.blob
            if part.content_type.startswith("image/") and (known := self._pictures.get(sha256(blob).hexdigest())):
                self._parts[name] = known
                return known
            made = Part(self._free_name(part.partname), part.content_type, blob, self.a.part.package)
            self._parts[name] = made
            if made.content_type.startswith("image/"):
                self._pictures[sha256(blob).hexdigest()] = made
            for number, rel in part.rels.items():
                goal = rel.target_ref if rel.is_external else self._part(rel.target_part)
                made.load_rel(rel.reltype, goal, number, rel.is_external)
        return self._parts[name]

    def _free_name(self, wanted: PackURI) -> PackURI:
        taken = {str(part.partname).lower() for part in self.a.part.package.iter_parts()}
        taken |= {str(part.partname).lower() for part in self._parts.values()}
        if str(wanted).lower() not in taken:
            return wanted
        stem, _, ending = str(wanted).rpartition(".")
        stem = stem.rstrip("0123456789")
        number = next(number for number in range(1, len(taken) + 2) if f"{stem}{number}.{ending}".lower() not in taken)
        return PackURI(f"{stem}{number}.{ending}")

    # Styles.

    def style(self, identifier: str) -> str:
        """The identifier in A of a style of B, which is added if A has none of its name."""
        if identifier not in self._styles:
            self._styles[identifier] = self._matching_style(identifier)
        return self._styles[identifier]

    def _matching_style(self, identifier: str) -> str:
        own, other = (
            {style.get(qn("w:styleId"), ""): style for style in file.styles.element.iter(qn("w:style"))}
            for file in (self.a, self.b)
        )
        wanted = other.get(identifier)
        if wanted is None:
            return identifier
        names = {_name(style): key for key, style in own.items()}
        if (found := names.get(_name(wanted))) is not None:
            return str(found)
        copy = deepcopy(wanted)
        made = identifier
        while made in own:
            made += "_"
        self._styles[identifier] = made
        copy.set(qn("w:styleId"), made)
        if qn("w:default") in copy.attrib:
            del copy.attrib[qn("w:default")]
        self.a.styles.element.append(copy)
        for inner in copy.iter(*_STYLES_OF_STYLES):
            inner.set(qn("w:val"), self.style(inner.get(qn("w:val"), "")))
        for inner in copy.iter(qn("w:numId")):
            inner.set(qn("w:val"), self.numbered(inner.get(qn("w:val"), "")))
        return made

    # Lists.

    def learn_list(self, a: Element, b: Element) -> None:
        """Learn from the `w:pPr` of two paragraphs that are one in which list of A items of a list of B go."""
        own, other = (properties.find(f"{qn('w:numPr')}/{qn('w:numId')}") for properties in (a, b))
        if own is not None and other is not None and "0" not in (own.get(qn("w:val")), other.get(qn("w:val"))):
            self._lists.setdefault(other.get(qn("w:val"), ""), own.get(qn("w:val"), ""))

    def numbered(self, number: str) -> str:
        """The number in A of a list of B, which is added if A does not have it."""
        if number in ("", "0"):
            return number
        if number not in self._lists:
            self._lists[number] = self._carried_list(number)
        return self._lists[number]

    def _carried_list(self, number: str) -> str:
        other = related(self.b, RELATIONSHIP_TYPE.NUMBERING)
        definition = _definition(other, number)
        if other is None or definition is None:
            return number
        own = related(self.a, RELATIONSHIP_TYPE.NUMBERING)
        if own is None:
            root = parse_xml(f'<w:numbering xmlns:w="{nsmap["w"]}"/>')
            own = XmlPart(PackURI("/word/numbering.xml"), CONTENT_TYPE.WML_NUMBERING, root, self.a.part.package)
            self.a.part.relate_to(own, RELATIONSHIP_TYPE.NUMBERING)
        same = _definition(own, number)
        if same is not None and all(shown_xml(x) == shown_xml(y) for x, y in zip(same, definition, strict=True)):
            return number
        root = own.element
        lists, abstract = root.findall(qn("w:num")), root.findall(qn("w:abstractNum"))
        made = str(1 + max((int(one.get(qn("w:numId"))) for one in lists), default=0))
        levels = str(1 + max((int(one.get(qn("w:abstractNumId"))) for one in abstract), default=-1))
        num, abstract_copy = (deepcopy(element) for element in definition)
        abstract_copy.set(qn("w:abstractNumId"), levels)
        for name in ("w:nsid", "w:styleLink"):
            for inner in abstract_copy.findall(qn(name)):
                abstract_copy.remove(inner)
        for inner in abstract_copy.iter(qn("w:pStyle")):
            inner.set(qn("w:val"), self.style(inner.get(qn("w:val"), "")))
        for inner in list(abstract_copy.iter(qn("w:lvlPicBulletId"))):
            inner.getparent().remove(inner)
        num.set(qn("w:numId"), made)
        num.find(qn("w:abstractNumId")).set(qn("w:val"), levels)
        lists[0].addprevious(abstract_copy) if lists else root.append(abstract_copy)
        (lists[-1].addnext if lists else root.append)(num)
        return made

    # Bookmarks.

    def _begin_bookmark(self, element: Element) -> None:
        name = element.get(qn("w:name"), "")
        number = self._next("bookmark")
        self._open[element.get(qn("w:id"), "")] = number
        made = name
        if name in self._names:
            if name not in self.lost or name in self._bookmarks:
                self._open[element.get(qn("w:id"), "")] = ""
                element.set(qn("w:id"), "")
                return
            made = self._free_bookmark(name)
        self._bookmarks[name] = made
        self._names.add(made)
        element.set(qn("w:id"), number)
        element.set(qn("w:name"), made)

    def _free_bookmark(self, name: str) -> str:
        return next(
            made
            for number in range(2, len(self._names) + 3)
            if (made := f"{name[: _LONGEST_NAME - 5]}_{number}") not in self._names
        )

    def finish(self, partners: dict[int, Element]) -> None:
        """Complete the bookmarks: drop halves, lead references to those that have a new name, add those that stay.

        The `partners` are paragraphs of A by the `id` of the paragraph of B that they became.
        """
        wanted = dict.fromkeys(name for element in self._referring for name in _referred(element))
        starts = {start.get(qn("w:name")): start for start in self.b.element.iter(qn("w:bookmarkStart"))}
        for name in wanted:
            if name not in self._bookmarks and (name not in self._names or name in self.lost) and name in starts:
                paragraph = next(starts[name].iterancestors(qn("w:p")), None)
                partner = None if paragraph is None else partners.get(id(paragraph))
                if partner is not None:
                    self._add_bookmark(name, partner)
        for element in self._referring:
            for name, made in self._bookmarks.items():
                if name != made:
                    _rename(element, name, made)
        for root in self._text_parts(self.a, self.notes_of_a):
            begun = {start.get(qn("w:id")) for start in root.iter(qn("w:bookmarkStart"))}
            ended = {end.get(qn("w:id")) for end in root.iter(qn("w:bookmarkEnd"))}
            for mark in list(root.iter(qn("w:bookmarkStart"), qn("w:bookmarkEnd"))):
                number = mark.get(qn("w:id"))
                if not number or number not in begun & ended:
                    mark.getparent().remove(mark)

    def _add_bookmark(self, name: str, paragraph: Element) -> None:
        """Add a bookmark of B to the paragraph of A that its own one became."""
        made = self._bookmarks[name] = self._free_bookmark(name) if name in self._names else name
        self._names.add(made)
        number = self._next("bookmark")
        place = 0 if paragraph.find(qn("w:pPr")) is None else 1
        paragraph.insert(place, build("w:bookmarkStart", id=number, name=made))
        paragraph.append(build("w:bookmarkEnd", id=number))

    # Notes.

    def _note(self, kind: str, identifier: str, source: WordPart) -> str:
        other = self.notes_of_b.get(kind)
        found = (
            None if other is None else next((note for note in other.root if note.get(qn("w:id")) == identifier), None)
        )
        if other is None or found is None:
            return identifier
        own = self.notes_of_a.get(kind)
        if own is None:
            own = self._new_notes(kind, other)
        number = str(1 + max((int(note.get(qn("w:id"), "0")) for note in own.root), default=0))
        copy = deepcopy(found)
        copy.set(qn("w:id"), number)
        own.root.append(copy)
        self.adopt(copy, other, own)
        self.new_notes.append(copy)
        return number

    def _new_notes(self, kind: str, other: WordPart) -> WordPart:
        """Make the part of notes that A lacks: that of B with the lines between notes alone."""
        root = deepcopy(other.root)
        for note in list(root):
            if note.get(qn("w:type"), "normal") == "normal":
                root.remove(note)
        part = Part(PackURI(f"/word/{kind}.xml"), _PAGES[kind], b"", self.a.part.package)
        self.a.part.relate_to(part, _RELATIONS[kind])
        made = self.notes_of_a[kind] = WordPart(part, root)
        for note in root:
            self.adopt(note, other, made)
        return made


def _name(style: Element) -> str:
    name = style.find(qn("w:name"))
    return f"{style.get(qn('w:type'))} {'' if name is None else name.get(qn('w:val'), '').lower()}"


def _definition(part: Part | None, number: str) -> tuple[Element, Element] | None:
    """The `w:num` and the `w:abstractNum` of a list."""
    if not isinstance(part, XmlPart):
        return None
    root: Element = part.element
    for num in root.findall(qn("w:num")):
        levels = num.find(qn("w:abstractNumId"))
        if num.get(qn("w:numId")) == number and levels is not None:
            for abstract in root.findall(qn("w:abstractNum")):
                if abstract.get(qn("w:abstractNumId")) == levels.get(qn("w:val")):
                    return num, abstract
    return None


_REFERENCE = re.compile(r"\b(?:REF|PAGEREF|NOTEREF|STYLEREF|HYPERLINK\s+\\l)\s+\"?([^\s\"\\]+)")


def _referred(element: Element) -> list[str]:
    """The names of the bookmarks that a field or a link refers to."""
    if element.tag == qn("w:hyperlink"):
        return [element.get(qn("w:anchor"))] if element.get(qn("w:anchor")) else []
    return _REFERENCE.findall(element.text or element.get(qn("w:instr"), "") or "")


def _rename(element: Element, name: str, made: str) -> None:
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if element.tag == qn("w:hyperlink"):
        if element.get(qn("w:anchor")) == name:
            element.set(qn("w:anchor"), made)
    elif element.tag == qn("w:fldSimple"):
        element.set(qn("w:instr"), pattern.sub(made, element.get(qn("w:instr"), "")))
    elif element.text:
        element.text = pattern.sub(made, element.text)


def notes_of(file: WordFile) -> dict[str, WordPart]:
    """The parts of the footnotes and endnotes of a file."""
    found = {kind: related(file, relation) for kind, relation in _RELATIONS.items()}
    return {kind: WordPart.of(part) for kind, part in found.items() if part is not None}
