"""The text of a document that is no Word file as stories, so that it can be compared with those of one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from docx.oxml.ns import qn

from colde_cli.documents.builder import tidy
from colde_cli.similarity.layout_marks import list_marks, without_bullets
from colde_cli.similarity.redline import redline
from colde_cli.similarity.typesetting import Form, forms_between
from colde_cli.views.word.markup import Element, build, child, set_style
from colde_cli.views.word.stories import (
    BOX,
    FORMULAS,
    NOTES,
    PARAGRAPH,
    Reader,
    Story,
    WordPart,
    block_elements,
    copied_properties,
    read_story,
    runs_of,
)
from colde_cli.views.word.word_source import NotKept

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document
    from colde_cli.similarity.tracked_changes import Anchor, Flow
    from colde_cli.views.word.story_changes import Notes

_MAX_LINEAGE = 12
_CELLS = " | "
"""What the readers write between the cells of a row."""
_LINE = ("top", "left", "bottom", "right", "insideH", "insideV")


@dataclass(slots=True)
class PlainStories:
    """The blocks of B as elements, in the stories of A that they belong to.

    Attributes:
        body: a body with the paragraphs and tables of B.
        elements: of each block of B; None if it is in no body.
        inner: the notes and text boxes of A with text that colde reads, each with what B has for them.
        levels: of headings, by their element; 0 for other paragraphs.
    """

    body: Element
    elements: list[Element | None]
    inner: list[tuple[Element, Element]]
    levels: dict[Element, int] = field(default_factory=dict)


class StylesById:
    """The styles of a Word file by their identifiers."""

    def __init__(self, file: WordFile) -> None:
        self.elements: dict[str, Element] = {
            style.get(qn("w:styleId"), ""): style for style in file.styles.element.iter(qn("w:style"))
        }

    def numbered(self, paragraph: Element) -> bool:
        """Whether Word numbers a paragraph, or gives it a bullet."""
        properties = paragraph.find(qn("w:pPr"))
        style = None if properties is None else properties.find(qn("w:pStyle"))
        identifier = "" if style is None else style.get(qn("w:val"), "")
        for _ in range(_MAX_LINEAGE):
            number = None if properties is None else properties.find(f"{qn('w:numPr')}/{qn('w:numId')}")
            if number is not None:
                return bool(number.get(qn("w:val")) != "0")
            found = self.elements.get(identifier)
            if found is None:
                return False
            properties, based = found.find(qn("w:pPr")), found.find(qn("w:basedOn"))
            identifier = "" if based is None else based.get(qn("w:val"), "")
        return False


@dataclass(frozen=True, slots=True)
class Typeset:
    """What is typesetting between A and B: marks of list items that Word puts there, bars and lines of tables.

    Attributes:
        forms: what differs in them is no typesetting.
        marks: what Word counts before each block of A: "(a)"; "" for nothing.
        items: the blocks of A that Word numbers or gives a bullet.
    """

    forms: tuple[Form, Form]
    marks: Sequence[str]
    items: frozenset[int]

    @classmethod
    def between(cls, a: Document, b: Document, flow: Flow, elements: Sequence[Element | None], file: WordFile) -> Self:
        """Find it, given the flow of A with its elements."""
        counted = [number for number in a.numbers if not number.in_text]
        starts, styles = [number.start for number in counted], StylesById(file)
        marks, items = [], set[int]()
        for index, (block, element) in enumerate(zip(flow.blocks, elements, strict=True)):
            alone = element is not None and element.tag == PARAGRAPH
            inside = range(bisect_left(starts, block.span.start), bisect_left(starts, block.span.end))
            marks.append(counted[inside[0]].mark.strip() if alone and inside else "")
            if element is not None and alone and styles.numbered(element):
                items.add(index)
        return cls(forms_between(a, b), marks, frozenset(items))

    def words(self, text: str, index: int) -> str:
        """The text of a block of B without the mark that Word puts before the block of A that it became."""
        mark = self.marks[index]
        if mark and text.startswith(f"{mark} "):
            return text[len(mark) :].lstrip()
        return without_bullets(text) if index in self.items else text

    def same(
        self, flows: tuple[Flow, Flow], shared: Mapping[int, Sequence[int]], placed: Container[int]
    ) -> dict[int, range]:
        """The blocks of A that blocks of B differ from in typesetting alone, as few as possible.

        Args:
            shared: of blocks of B, those of A that have something in common with them.
            placed: the blocks of A to look at.
        """
        taken, number, made = set[int](), 0, dict[int, range]()
        while number < len(flows[1].blocks):
            starts = sorted(shared.get(number, ()))
            tried = (found for start in starts if (found := self._group(flows, (start, number))) is not None)
            a, b = next(tried, (range(0), range(number, number + 1)))
            if a and taken.isdisjoint(a) and all(index in placed for index in a):
                made |= dict.fromkeys(b, a)
                taken.update(a)
            number = b.stop
        return made

    def _group(self, flows: tuple[Flow, Flow], starts: tuple[int, int]) -> tuple[range, range] | None:
        def form(side: int, index: int) -> str:
            return "".join(self.forms[side](flows[side].blocks[index].text).split())

        ends, texts = [start + 1 for start in starts], [form(side, start) for side, start in enumerate(starts)]
        while texts[0] != texts[1]:
            side = int(len(texts[0]) > len(texts[1]))
            if not texts[1 - side].startswith(texts[side]) or ends[side] == len(flows[side].blocks):
                return None
            texts[side] += form(side, ends[side])
            ends[side] += 1
        a, b = range(starts[0], ends[0]), range(starts[1], ends[1])
        typed = [
            [
                text[mark.start : mark.end]
                for index in own
                for text in [flow.blocks[index].text]
                for mark in list_marks(text)
            ]
            for flow, own in zip(flows, (a, b), strict=True)
        ]
        counted = [self.marks[index] for index in a if self.marks[index]]
        return (a, b) if typed[1] in (typed[0], counted) else None


def plain_stories(
    flows: tuple[Flow, Flow],
    found: Sequence[Anchor],
    elements: Sequence[Element | None],
    notes: Notes,
    reader: Reader,
    typeset: Typeset | None = None,
) -> PlainStories:
    """Turn the blocks of B into elements, given the stretches that are versions of each other, and what A has.

    Typesetting stays as A has it, so far as it is known.

    Raises:
        NotKept: something changed in a text of A whose place is not known.
    """
    homes = _homes(flows[0], elements, notes, reader)
    shared = _partners(flows, found)
    partners = {number: indices[0] for number, indices in shared.items()}
    paired = set(partners.values())
    made = PlainStories(build("w:body"), [], [])
    stories: dict[Element, Element] = {}
    for index, home in enumerate(homes):
        element = elements[index]
        if home is not None:
            stories.setdefault(home, build("w:body"))
        elif element is None and index not in paired:
            raise NotKept("a text changed that is in no paragraph")
    placed = frozenset(index for index, home in enumerate(homes) if home is None and elements[index] is not None)
    same = {} if typeset is None else typeset.same(flows, shared, placed)
    for number, block in enumerate(flows[1].blocks):
        if number in same:
            a = same[number]
            if same.get(number - 1) != a:
                for index in a:
                    element = _element(flows[0].blocks[index].text, elements[index], same=True)
                    made.levels[element] = flows[0].blocks[index].level
                    made.body.append(element)
            made.elements.append(made.body[-1])
            continue
        partner = partners.get(number)
        home = None if partner is None else homes[partner]
        like = None if partner is None else elements[partner]
        if partner is not None and home is None and like is None:
            if redline(flows[0].blocks[partner].text, block.text):
                raise NotKept("a text changed that is in no paragraph")
            made.elements.append(None)  # it stays where it is
            continue
        text = block.text if partner is None or typeset is None else typeset.words(block.text, partner)
        same_text = partner is not None and not redline(flows[0].blocks[partner].text, text)
        element = _element(text, like, same=same_text)
        made.levels[element] = block.level
        if home is None:
            made.body.append(element)
            made.elements.append(element)
        else:
            stories[home].append(element)
            made.elements.append(None)
    made.inner = list(stories.items())
    made.levels |= {element: block.level for element, block in zip(elements, flows[0].blocks, strict=True)}
    return made


def _homes(flow: Flow, elements: Sequence[Element | None], notes: Notes, reader: Reader) -> list[Element | None]:
    """The note or text box that each block of A is in; None for the body."""
    texts: dict[str, list[Element]] = {}
    for key, note in notes.elements.items():
        story = notes.story(key, reader)
        text = tidy(" ".join(block.text for block in story.blocks)) if story is not None else ""
        if text:
            texts.setdefault(text, []).append(note)
    homes: list[Element | None] = []
    for block, element in zip(flow.blocks, elements, strict=True):
        if element is None:
            same = texts.get(block.text)
            homes.append(same.pop(0) if same else None)
        else:
            homes.append(next(element.iterancestors(BOX), None))
    return homes


def _partners(flows: tuple[Flow, Flow], found: Sequence[Anchor]) -> dict[int, list[int]]:
    """The blocks of A that each block of B has something of, the one with most in common first."""
    shared: dict[tuple[int, int], int] = {}
    for anchor in found:
        ranges = [
            range(flow.block_at(span.start), flow.block_at(max(span.start, span.end - 1)) + 1)
            for flow, span in zip(flows, (anchor.a, anchor.b), strict=True)
        ]
        for place, number in enumerate(ranges[1]):
            index = ranges[0][min(place, len(ranges[0]) - 1)]
            shared[number, index] = shared.get((number, index), 0) + len(anchor.b)
    best: dict[int, list[int]] = {}
    for number, index in sorted(shared, key=lambda pair: -shared[pair]):
        best.setdefault(number, []).append(index)
    return best


def _element(text: str, like: Element | None, *, same: bool) -> Element:
    """Make a paragraph, or a table if the block of A is one; a copy of A's if only its signs cannot be compared."""
    if like is not None and like.tag != PARAGRAPH:
        if same:
            return deepcopy(like)
        if _CELLS.strip() in text:
            return _table(text, like)
    elif like is not None and same and next(like.iter(*FORMULAS), None) is not None:
        return deepcopy(like)
    return build("w:p", _run(text))


def _run(text: str) -> Element:
    letters = build("w:t")
    letters.text = tidy(text)
    letters.set(qn("xml:space"), "preserve")
    return build("w:r", letters)


def _table(text: str, like: Element) -> Element:
    """Make a table of the lines of a text; cells are divided into paragraphs as equal ones of A are."""
    cells: dict[str, Element] = {}
    for cell in like.iter(qn("w:tc")):
        cells.setdefault(tidy(" ".join("".join(one.itertext(qn("w:t"))) for one in cell.iter(PARAGRAPH))), cell)
    lines = (build(f"w:{side}", val="single", sz=4, space=0, color="auto") for side in _LINE)
    rows = [line.split(_CELLS.strip()) for line in text.split("\n")]
    width, grid = build("w:tblW", w=0, type="auto"), (build("w:gridCol") for _ in range(max(map(len, rows))))
    made = build("w:tbl", build("w:tblPr", width, build("w:tblBorders", *lines)), build("w:tblGrid", *grid))
    for texts in rows:
        row = build("w:tr")
        for words in map(tidy, texts):
            known = cells.get(words)
            content = [build("w:p", _run(words))] if known is None else map(deepcopy, block_elements(known))
            row.append(build("w:tc", *content))
        made.append(row)
    return made


class Neighbours:
    """Finds the paragraph of A whose looks a new one takes: the nearest of its level, not in a list if there is one.

    The elements are the blocks of the body of A; `levels` are those of headings in both files, by their element.
    """

    def __init__(self, file: WordFile, elements: Sequence[Element], levels: Mapping[Element, int]) -> None:
        self._file, self._elements, self.levels = file, elements, levels
        self._styles = StylesById(file)
        self._alike: dict[int, list[tuple[bool, int]]] = {}
        for place, element in enumerate(elements):
            if element.tag == PARAGRAPH and element in levels:
                self._alike.setdefault(levels[element], []).append((self._styles.numbered(element), place))

    def paragraph(self, source: Element, index: int) -> tuple[Element, Element | None]:
        """Make a new paragraph before the block at an index, without text; also give the `w:rPr` of its runs."""
        level = self.levels.get(source, 0)
        alike = self._alike.get(level)
        if not alike:
            made = build("w:p")
            set_style(child(made, "w:pPr", first=True), self.style(level))
            return made, None
        like = self._elements[min(alike, key=lambda one: (one[0], abs(one[1] - index + 0.5)))[1]]
        made = build("w:p", *copied_properties(like))
        for properties in made.findall(qn("w:pPr")):
            for numbering in properties.findall(qn("w:numPr")):
                properties.remove(numbering)
        runs = sorted(runs_of(like), key=lambda run: -len("".join(run.itertext())))
        return made, runs[0].find(qn("w:rPr")) if runs else None

    def style(self, level: int) -> str:
        """The identifier of the style that paragraphs of a level have; that of a heading is added if A lacks it."""
        for _, place in self._alike.get(level, ())[:1]:
            style = self._elements[place].find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
            return "" if style is None else str(style.get(qn("w:val"), ""))
        return self._heading(level) if level else ""

    def _heading(self, level: int) -> str:
        """Return the identifier of the heading style of a level; it is added if the file lacks it."""
        name = f"heading {min(9, level)}"
        for identifier, style in self._styles.elements.items():
            found = style.find(qn("w:name"))
            if found is not None and found.get(qn("w:val"), "").lower() == name:
                return str(identifier)
        identifier = name.title().replace(" ", "")
        properties = build("w:pPr", build("w:outlineLvl", val=min(9, level) - 1))
        content = (build("w:name", val=name), properties, build("w:rPr", build("w:b")))
        self._styles.elements[identifier] = build("w:style", *content, type="paragraph", styleId=identifier)
        self._file.styles.element.append(self._styles.elements[identifier])
        return identifier


def inner_stories(
    stories: Iterable[tuple[Element, Element]], notes: Notes, body: WordPart, reader: Reader
) -> Iterator[tuple[Element, Story, Story]]:
    """Read the notes and text boxes of A, each with what B has for it, and what refers to it in the body."""
    keys = {element: key for key, element in notes.elements.items()}
    references = {(NOTES[one.tag], one.get(qn("w:id"), "")): one for one in body.root.iter(*NOTES)}
    for own, other in stories:
        key = keys.get(own)
        part = body if key is None else notes.part[key[0]]
        host = own if key is None else references.get(key, own)
        yield host, read_story(own, part, reader), read_story(other, part, reader)
