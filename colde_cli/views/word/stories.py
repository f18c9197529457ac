"""The stories of a Word file: its body, headers, notes, text boxes and cells as sequences of paragraphs and tables.

Each paragraph is a text in which every object (a picture, a formula, the code of a field) is one sign of its own, so
that the comparison of texts compares them, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from docx.opc.part import XmlPart
from docx.oxml.ns import nsmap, qn
from docx.oxml.parser import parse_xml
from lxml.etree import canonicalize, tostring

from colde_cli.documents.builder import tidy
from colde_cli.documents.notation import lowered, raised
from colde_cli.views.word.earlier import cut_mark
from colde_cli.views.word.markup import Element, build, drop_changes

if TYPE_CHECKING:
    from docx.opc.part import Part

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_R = f"{{{nsmap['r']}}}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
OFFICE = "{urn:schemas-microsoft-com:office:office}"
RUN, PARAGRAPH, TABLE, BOX = qn("w:r"), qn("w:p"), qn("w:tbl"), qn("w:txbxContent")
PROPERTIES = qn("w:pPr")
FORMULAS = (f"{_M}oMath", f"{_M}oMathPara")
NOTES = {qn("w:footnoteReference"): "footnotes", qn("w:endnoteReference"): "endnotes"}
_TRANSPARENT = frozenset(qn(f"w:{name}") for name in ("sdt", "sdtContent", "customXml"))
_LETTERS = {
    **{qn(f"w:{name}"): "\t" for name in ("tab", "ptab")},
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "\N{NON-BREAKING HYPHEN}",
    qn("w:softHyphen"): "\N{SOFT HYPHEN}",
}
_BLANKS = {**{qn(f"w:{name}"): " " for name in ("tab", "ptab", "cr", "br")}, qn("w:noBreakHyphen"): "-"}
# These show nothing of their own: marks of layout, of comments and of fields, and the number of a note in its text.
_WITHOUT_TEXT = frozenset(
    qn(f"w:{name}")
    for name in "rPr fldChar instrText delInstrText delText lastRenderedPageBreak footnoteRef endnoteRef annotationRef "
    "separator continuationSeparator commentReference".split()
)
_GONE = frozenset(map(qn, ("w:del", "w:moveFrom", "w:pPr", "w:sdtPr", "w:sdtEndPr")))
_SCRIPTS = {"superscript": 1, "subscript": -1}
_NOT_LOOKED_AT = re.compile(
    r"(?:^|\})(?:id|name|descr|title|anchorId|editId|paraId|textId|rsid\w*|ShapeID|ObjectID|spid)$"
)
_FIRST_SIGN = 0xF0000
"""Objects are signs of the first plane for private use."""


@dataclass(slots=True)
class Signs:
    """Gives every object a sign; objects with the same key have the same one."""

    _known: dict[str, str] = field(default_factory=dict)

    def of(self, key: str) -> str:
        """The sign of a key."""
        return self._known.setdefault(key, chr(_FIRST_SIGN + len(self._known)))


@dataclass(frozen=True, slots=True)
class RunPiece:
    """Characters [start, end) of a paragraph: those of one child of a run, or a formula."""

    start: int
    end: int
    run: Element
    child: Element


@dataclass(slots=True)
class WordPart:
    """A part of a Word file with text; `save` writes its changed elements back."""

    part: Part
    root: Element

    @classmethod
    def of(cls, part: Part) -> WordPart:
        """Parse a part."""
        return cls(part, part.element if isinstance(part, XmlPart) else parse_xml(part.blob))

    def save(self) -> None:
        """Write the elements into the part."""
        if not isinstance(self.part, XmlPart):
            from docx.opc.oxml import serialize_part_xml

            self.part._blob = serialize_part_xml(self.root)


@dataclass(frozen=True, slots=True)
class Reader:
    """How paragraphs become text.

    Attributes:
        signs: of the objects of both files.
        plain: the other document is no Word file: objects count for nothing, and blanks as for colde.
        keys: the keys of pictures by the part and the relation that they refer to.
        lost: names of bookmarks whose text goes away; a field that refers to one differs from any other.
    """

    signs: Signs
    plain: bool = False
    keys: dict[tuple[Part, str], str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()

    def paragraph(self, element: Element, part: WordPart) -> StoryParagraph:
        """Read a paragraph."""
        return _ParagraphScan(self, part).read(element)

    def object_key(self, element: Element, part: WordPart) -> str:
        """Describe an object by what it shows: the content of the parts that it refers to, or its own XML."""
        if element.tag == f"{MC}AlternateContent":
            chosen = element.find(f"{MC}Choice")
            element = element if chosen is None else chosen
        boxes = sum(1 for _ in element.iter(BOX))
        if boxes:
            return f"box {boxes}"
        referred = [
            self.target_key(part.part, value)
            for inner in element.iter()
            for name, value in inner.attrib.items()
            if name.startswith(_R) or name == f"{OFFICE}relid"
        ]
        if any(referred):
            return " ".join(("parts", *referred))
        return shown_xml(element)

    def target_key(self, part: Part, relation: str, depth: int = 0) -> str:
        """Describe the part or the address that a relation leads to."""
        known = (part, relation)
        if known not in self.keys:
            found = part.rels.get(relation)
            if found is None:
                self.keys[known] = ""
            elif found.is_external:
                self.keys[known] = found.target_ref
            else:
                inner = found.target_part
                own = inner.blob
                if inner.content_type.endswith("xml"):
                    own = shown_xml(inner.element if isinstance(inner, XmlPart) else parse_xml(own)).encode()
                below = sorted(self.target_key(inner, name, depth + 1) for name in inner.rels) if depth < 3 else []
                self.keys[known] = sha256(own + "".join(below).encode()).hexdigest()
        return self.keys[known]


def shown_xml(element: Element) -> str:
    """The XML of an object without names and numbers that show nothing."""
    copy = deepcopy(element)
    copy.tail = None
    for inner in copy.iter():
        if isinstance(inner.tag, str):
            for name in [name for name in inner.attrib if _NOT_LOOKED_AT.search(name) or name.startswith(_R)]:
                del inner.attrib[name]
    return str(canonicalize(tostring(copy, encoding="unicode"), rewrite_prefixes=True))


@dataclass(slots=True)
class StoryParagraph:
    """A paragraph and its text.

    Attributes:
        raw: every character, an object is one; `segments` are in order and cover it.
        text: what is compared: `raw`, or the text as colde reads it.
        places: of each character of `text`, the place in `raw`; None where they are the same.
        whole: stretches of `raw` that come and go as a whole: fields.
        notes: the notes it refers to, by the place of their reference: kind and identifier.
        bookmarks: stretches of `raw` by the name of the bookmark; one that ends elsewhere reaches to the end.
    """

    element: Element
    raw: str
    text: str
    segments: list[RunPiece]
    places: list[int] | None = None
    whole: list[tuple[int, int]] = field(default_factory=list)
    notes: dict[int, tuple[str, str]] = field(default_factory=dict)
    bookmarks: dict[str, tuple[int, int]] = field(default_factory=dict)

    def range(self, start: int, end: int) -> tuple[int, int]:
        """Map characters [start, end) of `text` to `raw`, the blanks that are read as one included."""
        if self.places is None:
            return start, end
        if start == end:
            place = self.places[start - 1] + 1 if start else 0
            return place, place
        last = self.places[end - 1] + 1
        if self.text[end - 1] == " " and end < len(self.places):
            last = self.places[end]
        return self.places[start], last

    def cut(self, place: int) -> None:
        """Cut the run at a place of `raw`, unless a run begins there or a formula is around it; cut from the end on."""
        if not 0 < place < len(self.raw):
            return
        index = bisect_right(self.segments, place, key=lambda one: one.start) - 1
        one = self.segments[index]
        if one.start == place and (index == 0 or self.segments[index - 1].run is not one.run):
            return
        child = one.child
        if one.run is child:  # a formula
            return
        if place > one.start:
            rest = deepcopy(child)
            child.text, rest.text = child.text[: place - one.start], child.text[place - one.start :]
            for part in (child, rest):
                part.set(qn("xml:space"), "preserve")
            child.addnext(rest)
            child = rest
        run = one.run
        made = build("w:r", *map(deepcopy, run.findall(qn("w:rPr"))))
        children = list(run)
        made.extend(children[children.index(child) :])
        cut_mark(run, made)


@dataclass(slots=True)
class StoryTable:
    """A table: its rows, each a list of stories, one a cell."""

    element: Element
    rows: list[list[Story]]
    row_elements: list[Element]
    text: str


@dataclass(slots=True)
class Story:
    """Paragraphs and tables in order.

    Attributes:
        root: the element that holds them.
        part: the part that it is in.
        name: for a remark: "a footnote"; "" for the body and what is in it.
        added: the last paragraph if the file has none.
    """

    root: Element
    part: WordPart
    blocks: list[StoryParagraph | StoryTable]
    name: str = ""
    added: Element | None = None

    @property
    def text(self) -> str:
        """The text of all blocks, one on each line."""
        return "\n".join(block.text for block in self.blocks)

    def drop_added(self) -> None:
        """Remove the added paragraph again, if nothing came into it."""
        if self.added is not None and not len(self.added) and self.added.getparent() is not None:
            self.added.getparent().remove(self.added)


def read_story(root: Element, part: WordPart, reader: Reader, name: str = "") -> Story:
    """Read a story; it ends with a paragraph, as Word demands."""
    blocks = [
        reader.paragraph(element, part) if element.tag == PARAGRAPH else read_table(element, part, reader)
        for element in block_elements(root)
    ]
    if reader.plain:
        blocks = [block for block in blocks if block.text or block is blocks[-1]]
        if len(blocks) > 1 and not blocks[-1].text and isinstance(blocks[-2], StoryParagraph):
            del blocks[-1]  # empty paragraphs are not compared
    last: Element | None = None
    if not blocks or isinstance(blocks[-1], StoryTable):
        last = build("w:p")
        section = root.find(qn("w:sectPr"))
        root.append(last) if section is None else section.addprevious(last)
        blocks.append(reader.paragraph(last, part))
    return Story(root, part, blocks, name, last)


def read_table(element: Element, part: WordPart, reader: Reader) -> StoryTable:
    """Read a table."""
    elements = list(inner_elements(element, qn("w:tr")))
    rows = [[read_story(cell, part, reader) for cell in inner_elements(row, qn("w:tc"))] for row in elements]
    text = "\n".join("\v".join(cell.text for cell in row) for row in rows)
    return StoryTable(element, rows, elements, text)


def block_elements(root: Element) -> Iterator[Element]:
    """Yield the paragraphs and tables of a story, also those in content controls."""
    for child in root:
        if child.tag in (PARAGRAPH, TABLE):
            yield child
        elif child.tag in _TRANSPARENT:
            yield from block_elements(child)


def inner_elements(parent: Element, tag: str) -> Iterator[Element]:
    """Yield the children of a name, also those in content controls."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _TRANSPARENT:
            yield from inner_elements(child, tag)


def runs_of(parent: Element) -> Iterator[Element]:
    """Yield the runs and formulas of a paragraph, also those of links and content controls."""
    for child in parent:
        if child.tag == RUN or child.tag in FORMULAS:
            yield child
        elif child.tag not in _GONE and isinstance(child.tag, str):
            yield from runs_of(child)


def boxes_of(element: Element) -> list[Element]:
    """The contents of the text boxes of an object; boxes in boxes belong to the outer one."""
    return [box for box in element.iter(BOX) if next(box.iterancestors(BOX), None) is None or box is element]


@dataclass(slots=True)
class _ParagraphScan:
    reader: Reader
    part: WordPart
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    segments: list[RunPiece] = field(default_factory=list)
    fields: list[tuple[int, list[str]]] = field(default_factory=list)
    whole: list[tuple[int, int]] = field(default_factory=list)
    notes: dict[int, tuple[str, str]] = field(default_factory=dict)
    bookmarks: dict[str, list[int]] = field(default_factory=dict)  # by number: start, end
    names: dict[str, str] = field(default_factory=dict)

    def read(self, paragraph: Element) -> StoryParagraph:
        self._walk(paragraph)
        raw = "".join(self.pieces)
        made = StoryParagraph(paragraph, raw, raw, self.segments, None, self.whole, self.notes)
        made.bookmarks = {
            self.names[number]: (place[0], place[-1] if len(place) > 1 else len(raw))
            for number, place in self.bookmarks.items()
        }
        if self.reader.plain:
            made.text, made.places = _tidied(made)
        return made

    def _walk(self, parent: Element) -> None:
        for child in parent:
            tag = child.tag
            if tag == RUN:
                self._run(child)
            elif tag in FORMULAS:
                if self.reader.plain:
                    self._add("".join(text.text or "" for text in child.iter(f"{_M}t")), child, child, whole=True)
                else:
                    self._add(self.reader.signs.of(_formula(child)), child, child)
            elif tag == qn("w:fldSimple"):
                start = self.length
                self._walk(child)
                self._end_field(start, child.get(qn("w:instr"), ""), None)
            elif tag == qn("w:bookmarkStart"):
                self.names[child.get(qn("w:id"), "")] = child.get(qn("w:name"), "")
                self.bookmarks[child.get(qn("w:id"), "")] = [self.length]
            elif tag == qn("w:bookmarkEnd"):
                self.bookmarks.get(child.get(qn("w:id"), ""), []).append(self.length)
            elif tag not in _GONE and isinstance(tag, str):
                self._walk(child)

    def _add(self, text: str, run: Element, child: Element, *, whole: bool = False) -> None:
        if text:
            self.segments.append(RunPiece(self.length, self.length + len(text), run, child))
            if whole and len(text) > 1:
                self.whole.append((self.length, self.length + len(text)))
            self.pieces.append(text)
            self.length += len(text)

    def _run(self, run: Element) -> None:
        for child in run:
            tag = child.tag
            if tag == qn("w:t"):
                self._add(child.text or "", run, child)
            elif tag == qn("w:fldChar"):
                self._field(child, run)
            elif tag == qn("w:instrText"):
                if self.fields:
                    self.fields[-1][1].append(child.text or "")
            elif tag in _WITHOUT_TEXT or not isinstance(tag, str):
                continue
            elif self.reader.plain:
                self._add(_BLANKS.get(tag, ""), run, child)
            else:
                self._add(self._sign(child, tag), run, child)

    def _sign(self, child: Element, tag: str) -> str:
        if tag in _LETTERS:
            return _LETTERS[tag]
        if tag == qn("w:br"):
            kind = child.get(qn("w:type"), "textWrapping")
            return "\n" if kind == "textWrapping" else self.reader.signs.of(f"break {kind}")
        if tag == qn("w:sym"):
            return self.reader.signs.of(f"symbol {child.get(qn('w:font'))} {child.get(qn('w:char'))}")
        if tag in NOTES:
            self.notes[self.length] = (NOTES[tag], child.get(qn("w:id"), ""))
            return self.reader.signs.of(NOTES[tag])
        return self.reader.signs.of(self.reader.object_key(child, self.part))

    def _field(self, mark: Element, run: Element) -> None:
        kind = mark.get(qn("w:fldCharType"))
        if kind == "begin":
            self.fields.append((self.length, []))
        elif kind == "end" and self.fields:
            start, code = self.fields.pop()
            if not self.fields:
                self._end_field(start, "".join(code), run)

    def _end_field(self, start: int, code: str, run: Element | None) -> None:
        words = code.split()
        target = words[1] if len(words) > 1 else ""
        if self.reader.plain:
            self.whole.append((start, self.length))
            return
        if run is not None and (start == self.length or target.strip('"') in self.reader.lost):
            # A field without a result, such as the entry of an index, or one whose target goes: a sign of its own.
            mark = f" of {id(run)}" if target.strip('"') in self.reader.lost else ""
            self._add(self.reader.signs.of(f"field {' '.join(words)}{mark}"), run, run.find(qn("w:fldChar")))
        self.whole.append((start, self.length))


def _formula(element: Element) -> str:
    """The formula as text if its text is all there is to it, else as XML: what differs in looks alone is the same."""
    copy = deepcopy(element)
    for name in ("rPr", "ctrlPr"):
        for tag in (f"{_M}{name}", qn(f"w:{name}")):
            for inner in list(copy.iter(tag)):
                inner.getparent().remove(inner)
    for inner in list(copy.iter(qn("w:proofErr"), qn("w:bookmarkStart"), qn("w:bookmarkEnd"))):
        inner.getparent().remove(inner)
    for run in list(copy.iter(f"{_M}r")):  # where a run is cut shows nothing
        before = run.getprevious()
        if before is not None and before.tag == run.tag and len(run) == 1 and len(before) == 1:
            before[0].text = (before[0].text or "") + (run[0].text or "")
            run.getparent().remove(run)
    return shown_xml(copy)


def _tidied(paragraph: StoryParagraph) -> tuple[str, list[int]]:
    """The text of a paragraph as colde reads it, and the place of each of its characters in `raw`.

    A script begins with a sign of its own, such as `^`, which stands at the place of its first letter.
    """
    signs: list[str] = []
    places: list[int] = []
    blank: int | None = None
    for place, sign in _with_scripts(paragraph):
        kept = _tidy_sign(sign)
        if kept == " ":
            blank = place if blank is None else blank
        elif kept:
            if blank is not None and signs:
                signs.append(" ")
                places.append(blank)
            blank = None
            signs.append(sign)
            places.append(place)
    return "".join(signs), places


@cache
def _tidy_sign(sign: str) -> str:
    """A blank, nothing, or the sign itself."""
    return tidy(f"x{sign}x")[1:-1]


def _with_scripts(paragraph: StoryParagraph) -> Iterator[tuple[int, str]]:
    script, before = 0, ""
    runs: list[tuple[Element, int, int]] = []
    for one in paragraph.segments:
        if runs and runs[-1][0] is one.run:
            runs[-1] = (one.run, runs[-1][1], one.end)
        else:
            runs.append((one.run, one.start, one.end))
    for run, start, end in runs:
        found = run.find(f"{qn('w:rPr')}/{qn('w:vertAlign')}")
        level = 0 if found is None else _SCRIPTS.get(found.get(qn("w:val")), 0)
        text = paragraph.raw[start:end]
        if level and level != script:
            written = (raised if level > 0 else lowered)(before, text)
            if written == f"{written[:1]}{text}":
                yield start, written[0]
        script, before = level, text[-1:]
        yield from enumerate(text, start)


def copied_properties(paragraph: Element) -> list[Element]:
    """Copy the `w:pPr` of a paragraph for a new one, without section and marks."""
    properties = paragraph.find(PROPERTIES)
    if properties is None:
        return []
    copy = deepcopy(properties)
    for name in ("w:sectPr", "w:pPrChange", "w:framePr", "w:pageBreakBefore"):
        for inner in copy.findall(qn(name)):
            copy.remove(inner)
    for marks in copy.findall(qn("w:rPr")):
        drop_changes(marks)
    return [copy]
