"""Write the changes of stories into the Word file of A: its styles, numbering, tables, headers and pictures stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from colde_cli.similarity.redline import Operation
from colde_cli.views.word.earlier import INSERTED, raise_to
from colde_cli.views.word.looks import COMPARED, ChangedLook, change_look, changed_looks, insert_property, values
from colde_cli.views.word.markup import DELETED_NAMES, Element, Marker, build, child, drop_changes, set_style
from colde_cli.views.word.paragraphs import Stretch, TrackedParagraph, paragraphs
from colde_cli.views.word.stories import (
    BOX,
    NOTES,
    PARAGRAPH,
    PROPERTIES,
    Reader,
    StoryParagraph,
    StoryTable,
    copied_properties,
    inner_elements,
    runs_of,
)
from colde_cli.views.word.story_changes import Notes, StoryChanges, partner

if TYPE_CHECKING:
    from colde_cli.views.word.carried import Carrier
    from colde_cli.views.word.plain_story import Neighbours
    from colde_cli.views.word.remark_places import RemarkPlaces

_Item = TypeVar("_Item")
_END = "end"
"""The name of an element that marks the end of a new paragraph, until the content before it is moved there."""
_FIELD = (qn("w:fldChar"), qn("w:instrText"))
_CONTAINERS = tuple(qn(f"w:{name}") for name in "hyperlink fldSimple sdt smartTag ins".split())
_NOT_RECORDED = (qn("w:rPr"), qn("w:sectPr"), qn("w:pPrChange"))


@dataclass(frozen=True, slots=True)
class RunSpan:
    """A run or a formula and its characters; `whole`: those of the field that it belongs to."""

    run: Element
    start: int
    end: int
    whole: tuple[int, int] | None

    def inside(self, start: int, end: int) -> bool:
        """Whether it comes or goes with characters [start, end)."""
        if self.start < self.end:
            return start <= self.start and self.end <= end
        if self.whole is not None and self.whole[0] < self.whole[1]:
            return start <= self.whole[0] and self.whole[1] <= end
        return start < self.start < end


def run_spans(paragraph: StoryParagraph) -> list[RunSpan]:
    """List the runs of a paragraph in order."""
    counts: Counter[Element] = Counter()
    for one in paragraph.segments:
        counts[one.run] += one.end - one.start
    found: list[RunSpan] = []
    begun: list[int] = []
    place = 0
    for run in runs_of(paragraph.element):
        found.append(RunSpan(run, place, place + counts[run], None))
        place += counts[run]
        for mark in run.iterchildren(qn("w:fldChar")):
            if mark.get(qn("w:fldCharType")) == "begin":
                begun.append(len(found) - 1)
            elif mark.get(qn("w:fldCharType")) == "end" and begun:
                first = begun.pop()
                if not begun:
                    whole = (found[first].start, place)
                    found[first:] = [RunSpan(one.run, one.start, one.end, whole) for one in found[first:]]
    return found


@dataclass(slots=True)
class StoryWriter:
    """Writes the changes of stories into A.

    Attributes:
        marker: makes the marks of changes.
        reader: of the stories.
        carrier: brings the content of B; None if B is no Word file.
        notes: of A.
        places: of remarks.
        neighbours: give paragraphs their looks if B is no Word file.
        partners: paragraphs of A by the `id` of the paragraph of B that they became.
    """

    marker: Marker
    reader: Reader
    carrier: Carrier | None
    notes: Notes
    places: RemarkPlaces
    neighbours: Neighbours | None = None
    partners: dict[int, Element] = field(default_factory=dict)

    def write(self, changes: StoryChanges) -> None:
        """Write the changes of a story and of all in it."""
        found = paragraphs(changes.text, self.places.of(changes))
        for one in found:
            if one.a is not None and one.b is not None:
                self._learn(changes.a.blocks[one.a], changes.b.blocks[one.b])
        waiting: list[TrackedParagraph] = []
        for one in found:
            waiting.append(one)
            if one.a is not None:
                self._block(changes, waiting)
                waiting = []
        assert not waiting  # the last end is always kept
        for _, story in changes.inner:
            self.write(story)
        changes.a.drop_added()

    def _learn(self, a: StoryParagraph | StoryTable, b: StoryParagraph | StoryTable) -> None:
        self.partners[id(b.element)] = a.element
        properties = [block.element.find(PROPERTIES) for block in (a, b)]
        if self.carrier is not None and properties[0] is not None and properties[1] is not None:
            self.carrier.learn_list(properties[0], properties[1])

    def _block(self, changes: StoryChanges, group: Sequence[TrackedParagraph]) -> None:
        """Write the paragraphs up to the end of one block of A."""
        *before, own = group
        index = own.a or 0
        block = changes.a.blocks[index]
        divided = [one for one in before if any(part.operation is not Operation.INSERTED for part in one.stretches)]
        made: Iterator[Element] = iter(())
        if isinstance(block, StoryTable):
            assert not divided  # a table is one sign
            self._table(changes, own, block, index)
        else:
            made = iter(self._paragraph(changes, divided, own, block))
        for one in before:
            new = next(made) if one in divided else self._new_block(changes, one, index)
            block.element.addprevious(new)

    # Paragraphs.

    def _paragraph(
        self, changes: StoryChanges, divided: Sequence[TrackedParagraph], own: TrackedParagraph, block: StoryParagraph
    ) -> list[Element]:
        """Write the changes of a paragraph; return the new paragraphs that it was divided into, but the last."""
        edits = ParagraphEdits(self, changes, block, changes.text.a.starts[own.a or 0])
        for paragraph in divided:
            for stretch in paragraph.stretches:
                edits.add(stretch)
            edits.end(paragraph)
        for stretch in own.stretches:
            edits.add(stretch)
        if not divided and own.end is Operation.KEPT and not edits.changed:
            self._properties(changes, own, block)
            return []
        gone = not divided and all(stretch.operation is Operation.DELETED for stretch in own.stretches)
        made = edits.write(everything=gone and own.end is Operation.DELETED)
        if own.end is Operation.DELETED:
            self.marker.end(block.element, Operation.DELETED)
            if not gone:
                self._join(changes, own, block)
        else:
            self._properties(changes, own, block)
        return made

    def _join(self, changes: StoryChanges, own: TrackedParagraph, block: StoryParagraph) -> None:
        """Delete the ends of the empty paragraphs between two that are joined, which are not compared."""
        following = changes.a.blocks[(own.a or 0) + 1].element
        between = block.element.getnext()
        while between is not None and between is not following:
            if between.tag == PARAGRAPH:
                self.marker.end(between, Operation.DELETED)
            between = between.getnext()

    def _properties(self, changes: StoryChanges, own: TrackedParagraph, block: StoryParagraph) -> None:
        """Record the style, the list and the layout that a paragraph came to have."""
        if own.b is None:
            return
        other = changes.b.blocks[own.b].element
        if self.neighbours is not None:
            new = self._with_level(block.element, other)
        else:
            new = self._properties_of(other, changes)
        old = block.element.find(PROPERTIES)
        if all(values(old, name) == values(new, name) for name in COMPARED):
            return
        properties = child(block.element, "w:pPr", first=True)
        record = build("w:pPr", *(deepcopy(item) for item in properties if item.tag not in _NOT_RECORDED))
        for name in COMPARED:
            for item in properties.findall(name):
                properties.remove(item)
            found = None if new is None else new.find(name)
            if found is not None:
                insert_property(properties, deepcopy(found))
        self.marker.changed_style(block.element, record)

    def _with_level(self, element: Element, partner: Element) -> Element | None:
        """The `w:pPr` of a paragraph of A that has another level in B."""
        assert self.neighbours is not None
        old, level = self.neighbours.levels.get(element), self.neighbours.levels.get(partner)
        properties = element.find(PROPERTIES)
        if old is None or level is None or old == level:
            return properties
        made = build("w:pPr") if properties is None else deepcopy(properties)
        set_style(made, self.neighbours.style(level))
        return made

    def _properties_of(self, element: Element, changes: StoryChanges) -> Element | None:
        """The `w:pPr` of a paragraph of B, as it is in A."""
        properties = element.find(PROPERTIES)
        if properties is None or self.carrier is None:
            return None
        copy = deepcopy(properties)
        for marks in copy.findall(qn("w:rPr")):
            drop_changes(marks)
        return self.carrier.adopt(copy, changes.b.part, changes.a.part)

    def _new_block(self, changes: StoryChanges, one: TrackedParagraph, index: int) -> Element:
        """Make a paragraph or a table that only B has."""
        source = changes.b.blocks[one.b or 0]
        remarks = tuple(dict.fromkeys(number for part in one.stretches for number in part.remarks))
        if isinstance(source, StoryTable):
            return self._new_table(changes, source, remarks)
        if self.neighbours is not None:
            made, looks = self.neighbours.paragraph(source.element, index)
            for part in one.stretches:
                made.extend(self.marker.marked(part, looks))
        else:
            properties = self._properties_of(source.element, changes)
            made = build("w:p", *([] if properties is None else [properties]))
            for part in one.stretches:
                made.extend(self.inserted(changes, part))
        self.marker.end(made, Operation.INSERTED)
        return made

    def inserted(self, changes: StoryChanges, part: Stretch) -> list[Element]:
        """Make the content of an inserted stretch: a copy of what B has, in `w:ins`."""
        flow = changes.text.b
        index = flow.block_at(part.b.start)
        source = changes.b.blocks[index]
        assert isinstance(source, StoryParagraph)
        start, end = part.b.start - flow.starts[index], part.b.end - flow.starts[index]
        copy = self.reader.paragraph(deepcopy(source.element), changes.b.part)
        whole = (start, end) == (0, len(copy.raw))
        for place in (end, start):
            copy.cut(place)
        copy = self.reader.paragraph(copy.element, changes.b.part)
        _keep_only(copy, start, end, whole=whole)
        assert self.carrier is not None
        self.carrier.adopt(copy.element, changes.b.part, changes.a.part)
        self._mark_new_notes()
        for group in neighbours(list(runs_of(copy.element))):
            self.around(group, Operation.INSERTED, part.remarks)
        return [inner for inner in copy.element if inner.tag != PROPERTIES]

    def looks(self, changes: StoryChanges, block: StoryParagraph, start: int, part: Stretch) -> list[ChangedLook]:
        """The letters of a kept stretch, from `start` in its paragraph of A, that look different in B."""
        flow, length = changes.text.b, part.a.end - part.a.start
        if self.carrier is None or part.b.end - part.b.start != length:
            return []
        index = flow.block_at(part.b.start)
        other, carrier = changes.b.blocks[index], self.carrier
        if not isinstance(other, StoryParagraph):
            return []

        def adopted(properties: Element) -> Element:
            return carrier.adopt(properties, changes.b.part, changes.a.part)

        return list(changed_looks(block, other, (start, part.b.start - flow.starts[index]), length, adopted))

    def _mark_new_notes(self) -> None:
        assert self.carrier is not None
        while self.carrier.new_notes:
            self.mark_all(self.carrier.new_notes.pop(), Operation.INSERTED)

    def around(self, group: Sequence[Element], operation: Operation, remarks: tuple[int, ...]) -> Element:
        """Mark neighbouring runs as inserted or deleted."""
        mark = self.marker.around(operation, remarks)
        group[0].addprevious(mark)
        mark.extend(group)
        if operation is Operation.DELETED:
            for run in group:
                for element in list(run.iter(*DELETED_NAMES)):
                    if next(element.iterancestors(BOX), None) is None or next(run.iterancestors(BOX), None) is not None:
                        element.tag = DELETED_NAMES[element.tag]
            for element in (inner for run in group for inner in run.iter(*NOTES)):
                self.delete_note((NOTES[element.tag], element.get(qn("w:id"), "")))
        return mark

    def delete_note(self, key: tuple[str, str]) -> None:
        """Mark the text of a note as deleted; the note itself stays."""
        if (note := self.notes.elements.get(key)) is not None:
            self.mark_all(note, Operation.DELETED)

    def mark_all(
        self, root: Element, operation: Operation, remarks: tuple[int, ...] = (), *, ends: bool = False
    ) -> None:
        """Mark the content of all paragraphs under an element, and all ends; the last one only if `ends`."""
        found = [one for one in root.iter(PARAGRAPH) if not _in_box(one, root)]
        for number, paragraph in enumerate(found):
            runs = list(runs_of(paragraph))
            for group in neighbours(runs):
                self.around(group, operation, remarks)
                remarks = ()
            if ends or number + 1 < len(found):
                self.marker.end(paragraph, operation)

    # Tables.

    def _table(self, changes: StoryChanges, own: TrackedParagraph, table: StoryTable, index: int) -> None:
        if own.end is not Operation.DELETED:
            self._rows(changes, table, index)
            return
        remarks = tuple(dict.fromkeys(number for part in own.stretches for number in part.remarks))
        for number, row in enumerate(table.row_elements):
            self._row(row, Operation.DELETED, remarks if number == 0 else ())

    def _rows(self, changes: StoryChanges, table: StoryTable, index: int) -> None:
        other = changes.b.blocks[partner(changes, index)]
        assert isinstance(other, StoryTable)
        last: Element | None = None
        for row in changes.tables[index]:
            remarks = tuple(self.places.rows.get(id(row), ()))
            if row.a is not None and row.b is not None:
                for cell in row.cells:
                    self.write(cell)
                last = table.row_elements[row.a]
            elif row.a is not None:
                self._row(table.row_elements[row.a], Operation.DELETED, remarks)
                last = table.row_elements[row.a]
            elif row.b is not None:
                made = self._copied(other.row_elements[row.b], changes)
                self._row(made, Operation.INSERTED, remarks)
                if last is None:
                    table.row_elements[0].addprevious(made)
                else:
                    last.addnext(made)
                last = made

    def _copied(self, element: Element, changes: StoryChanges) -> Element:
        if self.carrier is None:
            return deepcopy(element)
        made = self.carrier.adopt(deepcopy(element), changes.b.part, changes.a.part)
        self._mark_new_notes()
        return made

    def _new_table(self, changes: StoryChanges, source: StoryTable, remarks: tuple[int, ...]) -> Element:
        made = self._copied(source.element, changes)
        for number, row in enumerate(inner_elements(made, qn("w:tr"))):
            self._row(row, Operation.INSERTED, remarks if number == 0 else ())
        return made

    def _row(self, row: Element, operation: Operation, remarks: tuple[int, ...]) -> None:
        """Mark a row as inserted or deleted, with all in it."""
        properties = row.find(qn("w:trPr"))
        if properties is None:
            properties = OxmlElement("w:trPr")
            before = row.find(qn("w:tblPrEx"))
            row.insert(0, properties) if before is None else before.addnext(properties)
        if not len(properties):  # the schema asks for a property beside the mark; this one is the default
            child(properties, "w:cantSplit").set(qn("w:val"), "off")
        record = properties.find(qn("w:trPrChange"))
        mark = self.marker.element("w:ins" if operation is Operation.INSERTED else "w:del")
        properties.append(mark) if record is None else record.addprevious(mark)
        self.mark_all(row, operation, remarks, ends=True)


def _in_box(element: Element, root: Element) -> bool:
    """Whether an element is in a text box under a root."""
    for above in element.iterancestors():
        if above is root:
            return False
        if above.tag == BOX:
            return True
    return False


def neighbours(runs: Iterable[Element]) -> Iterator[list[Element]]:
    """Group the runs that follow each other directly."""
    return _grouped(runs, lambda one, other: one.getnext() is other)


def _grouped(items: Iterable[_Item], follows: Callable[[_Item, _Item], bool]) -> Iterator[list[_Item]]:
    """Group items, each of which follows the one before it."""
    group: list[_Item] = []
    for item in items:
        if group and not follows(group[-1], item):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _keep_only(paragraph: StoryParagraph, start: int, end: int, *, whole: bool) -> None:
    """Remove from a copied paragraph what is outside of characters [start, end)."""
    spans = run_spans(paragraph)
    kept = {one.run for one in spans if whole or one.inside(start, end)}
    place = {one.run: one.start for one in spans}
    here = 0
    for element in list(paragraph.element.iter()):
        if element in place:
            here = place[element]
        elif element.tag in (qn("w:bookmarkStart"), qn("w:bookmarkEnd")) and not whole and not start <= here <= end:
            element.getparent().remove(element)
    balanced = {one.run for one in spans if one.whole is not None}
    for one in spans:
        open_mark = one.run not in balanced and next(one.run.iter(*_FIELD), None) is not None
        if one.run not in kept or open_mark:
            one.run.getparent().remove(one.run)
    for element in list(paragraph.element):
        if element.tag in _CONTAINERS and next(runs_of(element), None) is None:
            paragraph.element.remove(element)


class ParagraphEdits:
    """Changes of one paragraph, from its beginning to its end; `start` is where its text begins in the flow of A."""

    def __init__(self, writer: StoryWriter, changes: StoryChanges, block: StoryParagraph, start: int) -> None:
        self._writer, self._changes, self._block, self._start = writer, changes, block, start
        self.paragraph = block.element
        self._done = 0  # characters of `raw`
        self._deleted: list[tuple[int, int, Stretch]] = []
        self._inserted: list[tuple[int, Stretch | TrackedParagraph]] = []
        self._looks: list[ChangedLook] = []

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._deleted or self._inserted or self._looks)

    def add(self, stretch: Stretch) -> None:
        """Keep, delete or insert the next stretch."""
        if stretch.operation is Operation.INSERTED:
            self._inserted.append((self._done, stretch))
            return
        first, last = self._block.range(stretch.a.start - self._start, stretch.a.end - self._start)
        if stretch.operation is Operation.DELETED:
            self._deleted.append((first, last, stretch))
        else:
            self._looks += self._writer.looks(self._changes, self._block, first, stretch)
        self._done = last

    def end(self, paragraph: TrackedParagraph) -> None:
        """End a paragraph here: what comes before goes to a new one."""
        self._inserted.append((self._done, paragraph))

    def write(self, *, everything: bool) -> list[Element]:
        """Write the changes, of `everything` what is no text, too; return the new paragraphs before this one."""
        cuts = {place for begin, end, _ in self._deleted for place in (begin, end)}
        cuts |= {place for place, _ in self._inserted}
        cuts |= {place for look in self._looks for place in (look.start, look.end)}
        for place in sorted(cuts, reverse=True):
            self._block.cut(place)
        spans = run_spans(self._writer.reader.paragraph(self.paragraph, self._changes.a.part))
        self._insert(spans)
        for look in self._looks:
            for one in spans:
                if one.start < one.end and one.inside(look.start, look.end):
                    change_look(one.run, look, self._writer.marker)
        if everything:
            remarks = tuple(dict.fromkeys(number for _, _, stretch in self._deleted for number in stretch.remarks))
            self._delete(_without_open_fields([one.run for one in spans]), remarks)
        else:
            # Deleted stretches that follow each other directly: remarks cut them, not what is deleted.
            for pieces in _grouped(self._deleted, lambda one, other: one[1] == other[0]):
                inside = [one for one in spans if one.inside(pieces[0][0], pieces[-1][1])]
                marked = set(_without_open_fields([one.run for one in inside]))
                for _, end, stretch in pieces:
                    own = [one.run for one in inside if one.run in marked and one.end <= end]
                    marked -= set(own)  # what has no characters goes with the first, a formula with the last one in it
                    self._delete(own, stretch.remarks)
        return list(self._new_paragraphs())

    def _insert(self, spans: Sequence[RunSpan]) -> None:
        last: dict[int, Element] = {}
        for place, stretch in self._inserted:
            before, after = _around(spans, place)
            anchor = last.get(place)
            before, after = _in_mark(before), _in_mark(after)
            inside = (
                anchor is None
                and before is not None
                and before.getparent() is not self.paragraph
                and after is not None
                and after.getparent() is before.getparent()
            )
            made = self._made(stretch, before, after, bare=inside)
            for element in made:
                if anchor is not None:
                    anchor.addnext(element)
                elif before is not None:
                    (before if inside else self._top(before)).addnext(element)
                elif after is not None:
                    self._top(after).addprevious(element)
                else:
                    self.paragraph.append(element)
                anchor = last[place] = element

    def _made(
        self, stretch: Stretch | TrackedParagraph, before: Element | None, after: Element | None, *, bare: bool
    ) -> list[Element]:
        if isinstance(stretch, TrackedParagraph):
            mark = OxmlElement(f"w:{_END}")
            mark.set("block", str(stretch.b))
            return [mark]
        if self._writer.carrier is None:
            like = before if before is not None and before.getparent() is self.paragraph else after
            like = before if like is None else like
            properties = None if like is None else like.find(qn("w:rPr"))
            return self._writer.marker.marked(stretch, properties)
        made = self._writer.inserted(self._changes, stretch)
        if not bare:
            return made
        return [mark for element in made for mark in element.iter(qn("w:ins"))]

    def _top(self, run: Element) -> Element:
        while run.getparent() is not self.paragraph:
            run = run.getparent()
        return run

    def _delete(self, runs: Sequence[Element], remarks: tuple[int, ...]) -> None:
        for group in neighbours(runs):
            self._writer.around(group, Operation.DELETED, remarks)

    def _new_paragraphs(self) -> Iterator[Element]:
        for end in list(self.paragraph.iter(qn(f"w:{_END}"))):
            raise_to(end, self.paragraph)
            block = self._changes.b.blocks[int(end.get("block"))]
            properties = self._writer._properties_of(block.element, self._changes)
            own = copied_properties(self.paragraph) if self._writer.carrier is None else []
            made = build("w:p", *own, *([] if properties is None else [properties]))
            content = list(self.paragraph)
            made.extend(inner for inner in content[: content.index(end)] if inner.tag != PROPERTIES)
            self.paragraph.remove(end)
            self._writer.marker.end(made, Operation.INSERTED)
            yield made


def _around(spans: Sequence[RunSpan], place: int) -> tuple[Element | None, Element | None]:
    """The runs before and after a place, those that end a field or begin one included."""

    def reach(one: RunSpan) -> tuple[int, int]:
        return one.whole if one.whole is not None and one.start == one.end else (one.start, one.end)

    before = next((one.run for one in reversed(spans) if reach(one)[0] < reach(one)[1] <= place), None)
    after = next((one.run for one in spans if reach(one)[1] > reach(one)[0] >= place), None)
    return before, after


def _in_mark(run: Element | None) -> Element | None:
    """A run with the mark of the earlier change that inserted it."""
    return run.getparent() if run is not None and run.getparent().tag in INSERTED else run


def _without_open_fields(runs: Sequence[Element]) -> list[Element]:
    """Leave out the marks of fields if not all of a field is among the runs."""
    kinds = [mark.get(qn("w:fldCharType"), "") for run in runs for mark in run.iter(qn("w:fldChar"))]
    if kinds.count("begin") == kinds.count("end") and kinds[:1] in ([], ["begin"]):
        return list(runs)
    return [run for run in runs if next(run.iter(*_FIELD), None) is None]
