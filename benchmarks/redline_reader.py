"""Read Word files and accept or reject their tracked changes: with lxml and zipfile, and no code of colde.

The rules are those of ECMA-376 part 1, § 17.13.5: content in `w:ins`, `w:del`, `w:moveTo` and `w:moveFrom`; marks on
ends of paragraphs, which join a paragraph with the next one; on rows and cells; records of earlier properties. Used by
word_redlines.py.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
V = "{urn:schemas-microsoft-com:vml}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_STRICT = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": W[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": R[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/officeDocument/math": M[1:-1].encode(),
    b"http://purl.oclc.org/ooxml/drawingml/main": _A[1:-1].encode(),
}
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
INSERTED = frozenset({f"{W}ins", f"{W}moveTo", f"{W}cellIns"})
DELETED = frozenset({f"{W}del", f"{W}moveFrom", f"{W}cellDel"})
MARKS = INSERTED | DELETED
_RECORDS = tuple(f"{W}{name}Change" for name in "pPr rPr tblPr trPr tcPr sectPr tblGrid tblPrEx numbering".split())
_WRAPPERS = {f"{W}sdt": f"{W}sdtContent", f"{W}customXml": None, f"{W}smartTag": None}
_DELETED_NAMES = {f"{W}delText": f"{W}t", f"{W}delInstrText": f"{W}instrText"}
_BLOCKS = (f"{W}p", f"{W}tbl")
_BLANKS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "\N{NON-BREAKING HYPHEN}", "softHyphen": "\xad"}
_BREAKS = {"page": "\f", "column": "\v"}
_OBJECTS = (f"{W}drawing", f"{W}pict", f"{W}object")
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
Element = Any
Mark = tuple[str, str]
"""Author and date of a tracked change."""


class Package:
    """The parts of a Word file, each parsed once."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            self.content = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        self._roots: dict[str, Element] = {}
        self._relations: dict[str, dict[str, tuple[str, str]]] = {}

    @cached_property
    def main(self) -> str:
        """The name of the part with the body."""
        return next(target for kind, target in self.relations("").values() if kind == "officeDocument")

    def root(self, part: str) -> Element:
        """The root of a part of XML."""
        if part not in self._roots:
            content = self.content[part]
            for strict, usual in _STRICT.items():
                content = content.replace(strict, usual)
            self._roots[part] = etree.fromstring(content, etree.XMLParser(huge_tree=True, remove_comments=True))
        return self._roots[part]

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Kind and target of each relation of a part; the target of one to the outside begins with "external "."""
        if part not in self._relations:
            folder, name = posixpath.split(part)
            listed = self.content.get(posixpath.join(folder, "_rels", f"{name}.rels"), b"<none/>")
            self._relations[part] = {
                item.get("Id"): (item.get("Type").rpartition("/")[2], _target(folder, item))
                for item in etree.parse(BytesIO(listed)).iter(_RELATIONS)
            }
        return self._relations[part]

    def of_kind(self, kind: str) -> list[str]:
        """The names of the parts of a kind that the body refers to ("footnotes")."""
        return [target for found, target in self.relations(self.main).values() if found == kind]

    def text_parts(self) -> list[str]:
        """The names of all parts whose changes are accepted and rejected."""
        kinds = ("footnotes", "endnotes", "header", "footer")
        return [self.main, *(part for kind in kinds for part in self.of_kind(kind) if part in self.content)]

    def marks(self) -> frozenset[Mark]:
        """Author and date of every tracked change."""
        roots = map(self.root, self.text_parts())
        return frozenset(mark_of(item) for root in roots for item in root.iter(*MARKS, *_RECORDS))

    def styles(self) -> dict[str, bytes]:
        """The styles, each in canonical form, by identifier."""
        styles = [style for part in self.of_kind("styles") for style in self.root(part).iter(f"{W}style")]
        return {style.get(f"{W}styleId"): canonical(style) for style in styles}


def _target(folder: str, item: Element) -> str:
    target = str(item.get("Target"))
    if item.get("TargetMode") == "External":
        return f"external {target}"
    return target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))


def canonical(element: Element) -> bytes:
    """An element as bytes that hang neither on prefixes nor on the numbers of editing sessions."""
    copied = deepcopy(element)
    for item in copied.iter(etree.Element):
        for key in [key for key in item.attrib if "rsid" in key]:
            del item.attrib[key]
    etree.cleanup_namespaces(copied)
    return bytes(etree.tostring(copied, method="c14n", exclusive=True))


def mark_of(item: Element) -> Mark:
    """Author and date of a change."""
    return item.get(f"{W}author", ""), item.get(f"{W}date", "")


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return str(etree.QName(element).localname)


# Accept and reject.


def resolved(root: Element, accepts: Callable[[Element], bool]) -> Element:
    """A copy of a part in which each change is accepted or rejected.

    Args:
        root: of the part.
        accepts: whether a change is accepted.
    """
    copied = deepcopy(root)
    flatten(copied)
    for record in list(copied.iter(*_RECORDS)):
        _restore(record, before=not accepts(record))
    lost: list[Element] = []
    rows: list[Element] = []
    for mark in [item for item in copied.iter(*MARKS) if item.getparent() is not None]:
        vanishes = accepts(mark) is (mark.tag in DELETED)
        holder = mark.getparent()
        match local(holder):
            case "trPr" | "tcPr":
                _remove(mark)
                rows += [holder.getparent()] * vanishes
            case "numPr":
                _remove(mark)
            case "rPr" if local(holder.getparent()) == "pPr":
                _remove(mark)
                lost += [holder.getparent().getparent()] * vanishes
            case "rPr" if local(holder.getparent()) == "ctrlPr":
                _remove(mark)
                rows += [holder.getparent().getparent().getparent()] * vanishes
            case _ if vanishes:
                _remove(mark)
            case _:
                _unwrap(mark)
    for element in rows:
        if element.getparent() is not None:
            _remove(element)
    _drop_empty_tables(copied)
    for paragraph in reversed(lost):
        _join_next(paragraph)
    for element in copied.iter(*_DELETED_NAMES):
        element.tag = _DELETED_NAMES[element.tag]
    return copied


def flatten(root: Element) -> None:
    """Replace content controls, custom tags and choices between drawings by their content, in place."""
    for choice in list(root.iter(f"{MC}AlternateContent")):
        versions = [*choice.findall(f"{MC}Choice"), *choice.findall(f"{MC}Fallback")]
        _replace(choice, list(versions[0]) if versions else [])
    for wrapper in list(root.iter(*_WRAPPERS)):
        content = _WRAPPERS[wrapper.tag]
        holder = wrapper if content is None else wrapper.find(content)
        _replace(wrapper, [] if holder is None else [item for item in holder if not local(item).endswith("Pr")])


def _replace(element: Element, content: list[Element]) -> None:
    parent = element.getparent()
    place = parent.index(element)
    parent.remove(element)
    parent[place:place] = content


def _unwrap(element: Element) -> None:
    _replace(element, list(element))


def _remove(element: Element) -> None:
    element.getparent().remove(element)


def _restore(record: Element, *, before: bool) -> None:
    properties = record.getparent()
    properties.remove(record)
    if not before or local(record) == "numberingChange":
        return
    stays = {"pPrChange": ("rPr", "sectPr"), "sectPrChange": ("headerReference", "footerReference")}
    kept = [item for item in properties if local(item) in stays.get(local(record), ())]
    marks = [item for item in properties if item.tag in MARKS]
    old = [item for inner in record for item in inner] if local(record) != "tblGridChange" else list(record[0])
    properties[:] = [*marks, *kept, *old] if local(record) != "pPrChange" else [*marks, *old, *kept]


def _drop_empty_tables(root: Element) -> None:
    for name, inner in (("tr", "tc"), ("tbl", "tr")):
        for element in list(root.iter(f"{W}{name}")):
            if element.find(f"{W}{inner}") is None:
                _remove(element)
    for cell in root.iter(f"{W}tc"):
        if not any(item.tag == f"{W}p" for item in cell):
            cell.append(etree.Element(f"{W}p"))


def _join_next(paragraph: Element) -> None:
    """Join a paragraph whose end vanished with the next one, whose properties stay.

    There is nothing to join with at the end of a story or before a table: an empty paragraph vanishes, another stays.
    """
    parent = paragraph.getparent()
    if parent is None:
        return
    following = paragraph.getnext()
    while following is not None and following.tag not in _BLOCKS:
        following = following.getnext()
    content = [item for item in paragraph if item.tag != f"{W}pPr"]
    if following is not None and following.tag == f"{W}p":
        place = 1 if len(following) and following[0].tag == f"{W}pPr" else 0
        following[place:place] = content
        parent.remove(paragraph)
        return
    inside = [inner for item in content for inner in item.iter(f"{W}r", f"{M}oMath")]  # a link can be empty
    if not inside and sum(item.tag in _BLOCKS for item in parent) > 1:
        parent.remove(paragraph)


# Read.


@dataclass(slots=True)
class Story:
    """A text as lines, one for each paragraph; those of tables begin with their place ("T1.R2.C1|").

    Attributes:
        lines: of the paragraphs.
        looks: style and direct formatting of each paragraph and its runs.
        codes: of the fields.
        bookmarks: names of the places that references point to.
    """

    lines: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    bookmarks: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class WordText:
    """All stories of a Word file after accepting or rejecting.

    Attributes:
        body: with notes, text boxes, formulas and digests of pictures at their places.
        margins: headers, then footers, in the order of the sections; only those that are shown.
        sections: the properties of the sections, without references to headers.
    """

    body: Story
    margins: tuple[tuple[str, ...], ...]
    sections: tuple[bytes, ...]

    def without_empty(self) -> tuple[list[str], tuple[tuple[str, ...], ...]]:
        """Body and margins without paragraphs that have no text."""
        lines = [line for line in self.body.lines if line.rpartition("|")[2].strip()]
        margins = (tuple(line for line in story if line.strip()) for story in self.margins)
        return lines, tuple(story for story in margins if story)

    def dangling(self) -> set[str]:
        """The bookmarks that references of the text name and that it does not have."""
        words = [code.split() for code in self.body.codes]
        named = {code[1] for code in words if len(code) > 1 and code[0].upper() in ("REF", "PAGEREF", "NOTEREF")}
        return named - self.body.bookmarks


class _Reader:
    def __init__(self, package: Package, accepts: Callable[[Element], bool]) -> None:
        self._package = package
        self._roots = {part: resolved(package.root(part), accepts) for part in package.text_parts()}
        self._open_fields: list[list[str] | None] = []  # the code of each open field; None after it
        self._story = Story()
        self._part = package.main

    def read(self) -> WordText:
        body = self._roots[self._package.main].find(f"{W}body")
        self._blocks(body, "")
        sections = list(body.iter(f"{W}sectPr"))
        return WordText(self._story, tuple(self._margins(sections)), tuple(map(self._section, sections)))

    def _blocks(self, holder: Element, place: str) -> None:
        tables = 0
        for block in holder:
            if block.tag == f"{W}p":
                text = "".join(self._inline(block))
                self._story.lines.append(f"{place}|{text}" if place else text)
                self._story.looks.append(_look(block))
            elif block.tag == f"{W}tbl":
                tables += 1
                for row, line in enumerate(block.findall(f"{W}tr"), 1):
                    for column, cell in enumerate(line.findall(f"{W}tc"), 1):
                        self._blocks(cell, f"{place}T{tables}.R{row}.C{column}")
            elif block.tag == f"{W}bookmarkStart":
                self._story.bookmarks.add(block.get(f"{W}name"))

    def _inside(self, holder: Element, part: str) -> str:
        """The paragraphs of a note, a text box or a header, in one line."""
        around, self._part = self._part, part
        story, self._story = self._story, Story(codes=self._story.codes, bookmarks=self._story.bookmarks)
        fields, self._open_fields = self._open_fields, []
        self._blocks(holder, "")
        lines, self._story, self._part, self._open_fields = self._story.lines, story, around, fields
        return " ¶ ".join(lines)

    def _inline(self, holder: Element) -> Iterator[str]:
        for item in holder:
            name = local(item)
            if item.tag == f"{W}fldChar":
                self._field(item.get(f"{W}fldCharType"))
            elif item.tag == f"{W}instrText":
                if self._open_fields and self._open_fields[-1] is not None:
                    self._open_fields[-1].append(item.text or "")
            elif name == "bookmarkStart":
                self._story.bookmarks.add(item.get(f"{W}name"))
            elif name == "fldSimple":
                self._story.codes.append(item.get(f"{W}instr", ""))
                yield from self._inline(item)
            elif all(code is None for code in self._open_fields):
                yield from self._shown(item, name)
            elif name in ("r", "hyperlink"):
                list(self._inline(item))

    def _shown(self, item: Element, name: str) -> Iterator[str]:
        if item.tag in (f"{M}oMath", f"{M}oMathPara"):
            yield f"⟦formula {''.join(_formula(item))}⟧"
        elif item.tag in _OBJECTS:
            yield from self._object(item)
        elif item.tag == f"{W}t":
            kept = item.get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"
            text = (item.text or "").replace("\N{NO-BREAK SPACE}", " ")  # the same to Microsoft's comparer
            yield text if kept else text.strip(" \t\r\n")
        elif name in _BLANKS:
            yield _BLANKS[name]
        elif name == "br":
            yield _BREAKS.get(item.get(f"{W}type", ""), "\n")
        elif name == "sym":
            yield f"⟦{item.get(f'{W}font')} {item.get(f'{W}char')}⟧"
        elif name in _NOTES:
            yield f"⟦{name[:-9]} {self._note(_NOTES[name], item.get(f'{W}id'))}⟧"
        elif not name.endswith("Pr") and name != "rPrChange":
            yield from self._inline(item)

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._open_fields.append([])
        elif self._open_fields:
            code = self._open_fields[-1]
            if code is not None:
                self._story.codes.append("".join(code))
                self._open_fields[-1] = None
            if kind == "end":
                self._open_fields.pop()

    def _note(self, kind: str, identifier: str) -> str:
        for part in self._package.of_kind(kind):
            for note in self._roots[part]:
                if note.get(f"{W}id") == identifier:
                    return self._inside(note, part).strip(" ")
        return "missing"

    def _object(self, drawing: Element) -> Iterator[str]:
        found = []
        for item in drawing.iter(etree.Element):
            if any(above.tag == f"{W}txbxContent" for above in item.iterancestors()):
                continue
            if item.tag == f"{W}txbxContent":
                found.append(f"⟦box {self._inside(item, self._part)}⟧")
            elif item.tag in (f"{_A}t", f"{V}textpath"):
                found.append(item.text or item.get("string", ""))
            named = [item.get(f"{R}{key}") for key in ("embed", "link", "id", "dm") if f"{R}{key}" in item.attrib]
            found += [f"⟦{self._digest(identifier)}⟧" for identifier in named]
        yield from found or ["⟦drawing⟧"]

    def _digest(self, identifier: str) -> str:
        """Kind and digest of what a drawing refers to; of diagrams and charts, their words and pictures count."""
        kind, target = self._package.relations(self._part).get(identifier, ("missing", identifier))
        if target.startswith("external ") or target not in self._package.content:
            return f"{kind} {target}"
        content = self._package.content[target]
        if kind in ("diagramData", "chart"):
            words = [item.text or "" for item in self._package.root(target).iter(etree.Element) if local(item) in "tv"]
            others = sorted(other for _, other in self._package.relations(target).values())
            pictures = [self._package.content[name] for name in others if "/media/" in name]
            content = "\0".join(words).encode() + b"".join(pictures)
        return f"{kind} {sha256(content).hexdigest()[:12]}"

    def _section(self, section: Element) -> bytes:
        copied = deepcopy(section)
        for item in list(copied):
            if local(item) in ("headerReference", "footerReference"):
                copied.remove(item)
        return canonical(copied)

    def _margins(self, sections: list[Element]) -> Iterator[tuple[str, ...]]:
        settings = [self._package.root(part) for part in self._package.of_kind("settings")]
        even = any(_is_on(root.find(f"{W}evenAndOddHeaders")) for root in settings)
        for kind in ("headerReference", "footerReference"):
            inherited: dict[str, str] = {}
            last: list[str] = []
            for section in sections:
                for item in section.findall(f"{W}{kind}"):
                    _, part = self._package.relations(self._package.main)[item.get(f"{R}id")]
                    inherited[item.get(f"{W}type", "default")] = self._inside(self._roots[part], part)
                shown = {"default": True, "even": even, "first": _is_on(section.find(f"{W}titlePg"))}
                texts = [f"{kind[:6]} {name}: {text}" for name, text in sorted(inherited.items()) if shown[name]]
                if texts != last:
                    last = texts
                    yield tuple(texts)


def _is_on(element: Element | None) -> bool:
    return element is not None and element.get(f"{W}val", "1") not in ("0", "false", "off")


def _formula(element: Element) -> Iterator[str]:
    for item in element:
        name = local(item)
        if name in ("t", "delText"):
            yield item.text or ""
        elif name.endswith("Pr"):
            yield from (f"{value} " for sign in item for value in sign.attrib.values() if local(sign).endswith("hr"))
        elif name == "r":
            yield from _formula(item)
        elif not name.startswith("bookmark"):
            yield f"{name}({''.join(_formula(item))})"


def _look(paragraph: Element) -> str:
    """Style and direct formatting of a paragraph and of its text, letter by letter."""
    stated = paragraph.find(f"{W}pPr")
    own = () if stated is None else (item for item in stated if local(item) not in ("rPr", "sectPr"))
    runs: list[tuple[bytes, int]] = []
    for run in paragraph.iter(f"{W}r"):
        letters = sum(len(item.text or "") for item in run.findall(f"{W}t"))
        properties = run.find(f"{W}rPr")
        look = b"" if properties is None else b"".join(sorted(map(canonical, properties)))
        if letters and runs and runs[-1][0] == look:
            runs[-1] = look, runs[-1][1] + letters
        elif letters:
            runs.append((look, letters))
    return f"{sorted(map(canonical, own))} {runs}"


def read_word(package: Package, accepts: Callable[[Element], bool] = lambda change: True) -> WordText:
    """Read a Word file with changes accepted or rejected.

    Args:
        package: the file.
        accepts: whether a change is accepted; all are by default.
    """
    return _Reader(package, accepts).read()
