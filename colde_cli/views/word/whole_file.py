"""Write all changes of a comparison into the Word file of A: body, notes, text boxes, headers and footers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import docx
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import XmlPart
from docx.oxml.ns import nsmap, qn
from docx.oxml.parser import parse_xml

from colde_cli.documents.document import Span
from colde_cli.documents.outside import Tracked
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import Flow, Step, TrackedText, anchors
from colde_cli.views.word.carried import Carrier, notes_of
from colde_cli.views.word.earlier import last_number, part_numbers, release, resolve, settle
from colde_cli.views.word.kept_file import StoryWriter
from colde_cli.views.word.markup import Element, Marker, build
from colde_cli.views.word.paragraphs import Remark
from colde_cli.views.word.plain_story import Neighbours, Typeset, inner_stories, plain_stories
from colde_cli.views.word.remark_places import remark_places
from colde_cli.views.word.stories import Reader, Signs, Story, StoryTable, WordPart, boxes_of, read_story
from colde_cli.views.word.story_changes import Notes, StoryChanges, StoryComparer
from colde_cli.views.word.word_source import NotKept, block_elements, is_word_file, opened

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document
    from colde_cli.similarity.pairs import Alignment
    from colde_cli.similarity.tracked_changes import Anchor

_Range = tuple[int, int]
_Apart = tuple[frozenset[int], frozenset[int]]
_MARGINS = {
    qn("w:headerReference"): ("hdr", RELATIONSHIP_TYPE.HEADER, CONTENT_TYPE.WML_HEADER),
    qn("w:footerReference"): ("ftr", RELATIONSHIP_TYPE.FOOTER, CONTENT_TYPE.WML_FOOTER),
}


@dataclass(slots=True)
class WholeFile:
    """All text of a Word file: its body, its notes, and the headers and footers of its sections."""

    file: WordFile
    body: WordPart
    notes: dict[str, WordPart]
    elements: tuple[Element | None, ...] = ()
    """The paragraph or table of each block of its document; None for a block outside the body, such as a note."""

    @classmethod
    def of(cls, file: WordFile, settled: Callable[[Element], object] = lambda root: None) -> WholeFile:
        """Read a file, its tracked changes `settled` in each of its parts."""
        made = cls(file, WordPart(file.part, file.element), notes_of(file))
        for root in made.roots():
            settled(root)
        return made

    @classmethod
    def read(cls, document: Document, tracked: Tracked) -> WholeFile:
        """Open the file of a document; `tracked`: what becomes of its tracked changes.

        Raises:
            NotKept: the file is no longer there or no Word file.
        """
        content, file = opened(document.path)
        made = cls.of(file, partial(settle, tracked=tracked))
        made.elements = tuple(block_elements(document, content, file.element.body))
        return made

    def release(self, since: int | None) -> None:
        """Put earlier tracked changes back, and write all parts."""
        if since is not None:
            for root in self.roots():
                release(root)
            part_numbers(self.roots(), since)
        self.save()

    @classmethod
    def resolved(cls, content: bytes, *, accept: bool, since: int | None = None) -> WholeFile:
        """Read a packed file with its tracked changes accepted, or those numbered after `since` rejected."""
        return cls.of(docx.Document(BytesIO(content)), partial(resolve, accept=accept, since=since))

    def roots(self) -> Iterator[Element]:
        """Yield the root of every part with text."""
        yield self.body.root
        yield from (part.root for part in self.notes.values())
        yield from {part.partname: part.element for section in self.margins() for part in section.values()}.values()

    def save(self) -> None:
        """Write the changed notes into their parts."""
        for part in self.notes.values():
            part.save()

    def all_notes(self) -> Notes:
        """The notes by kind and identifier."""
        found = {
            (kind, note.get(qn("w:id"), "")): note
            for kind, part in self.notes.items()
            for note in part.root
            if isinstance(note.tag, str)
        }
        return Notes(self.notes, found)

    def sections(self) -> list[Element]:
        """The properties of the sections, in order."""
        return list(self.body.root.iter(qn("w:sectPr")))

    def margins(self) -> list[dict[tuple[str, str], XmlPart]]:
        """The headers and footers of each section, by the name of their reference and the kind of pages."""
        found: list[dict[tuple[str, str], XmlPart]] = []
        for section in self.sections():
            own: dict[tuple[str, str], XmlPart] = dict(found[-1]) if found else {}
            for reference in section.iterchildren(*_MARGINS):
                relation = self.file.part.rels.get(reference.get(qn("r:id"), ""))
                if relation is not None and not relation.is_external and isinstance(relation.target_part, XmlPart):
                    own[reference.tag, reference.get(qn("w:type"), "default")] = relation.target_part
            found.append(own)
        return found

    def inner_files(self, reader: Reader) -> list[str]:
        """Describe the documents inside it that are part of its text, which are not compared as stories."""
        found = self.body.root.iter(qn("w:altChunk"), qn("w:subDoc"))
        return [reader.target_key(self.body.part, element.get(qn("r:id"), "")) for element in found]

    def signature(self, reader: Reader) -> list[list[object]]:
        """Everything that is compared, as nested lists of texts: the blocks of the body, then headers and footers."""
        notes = self.all_notes()
        body = _signature(read_story(self.body.root.body, self.body, reader), reader, notes)
        if reader.plain:
            return [body]
        margins = [
            sorted(
                (tag, pages, repr(text))
                for (tag, pages), part in section.items()
                if any(text := _signature(read_story(part.element, WordPart.of(part), reader), reader, notes))
            )
            for section in self.margins()
        ]
        return [body, list(filter(None, margins))]


def _signature(story: Story, reader: Reader, notes: Notes) -> list[object]:
    found: list[object] = []
    for block in story.blocks:
        if isinstance(block, StoryTable):
            found.append([[_signature(cell, reader, notes) for cell in row] for row in block.rows])
            continue
        inner = [
            _signature(read_story(box, story.part, reader), reader, notes)
            for one in block.segments
            for box in boxes_of(one.child)
        ]
        for key in block.notes.values():
            note = notes.story(key, reader)
            inner.append([] if note is None else _signature(note, reader, notes))
        if not reader.plain:
            found.append([block.text, inner] if inner else block.text)
        elif block.text:
            found.append(block.text)
    story.drop_added()
    return found


@dataclass(frozen=True, slots=True)
class KeptFile:
    """The file of A with changes in it.

    Attributes:
        expected: what is to be read if all changes are accepted, and if they are rejected.
        since: the number of the last earlier change, which stays accepted; None where there is none.
        reader: reads both.
        beside: remarks on nothing in the body.
    """

    file: WordFile
    expected: tuple[list[list[object]], list[list[object]]]
    reader: Reader
    beside: list[str]
    since: int | None = None

    def inexact(self, content: bytes) -> tuple[frozenset[int], frozenset[int]] | None:
        """Compare what is read in the packed file with what is expected.

        Returns:
            the numbers of the paragraphs and tables of the bodies of A and of B that are not exact; None if something
            else is not.
        """
        wrong: list[frozenset[int]] = []
        for accept, wanted in zip((True, False), self.expected, strict=True):
            read = WholeFile.resolved(content, accept=accept, since=self.since).signature(self.reader)
            if read[1:] != wanted[1:] or len(read[0]) != len(wanted[0]):
                return None
            pairs = enumerate(zip(read[0], wanted[0], strict=True))
            wrong.insert(0, frozenset(number for number, (one, other) in pairs if one != other))
        return wrong[0], wrong[1]


def write_changes(
    a: Document,
    b: Document,
    alignment: Alignment,
    remarks: Sequence[Remark],
    flows: tuple[Flow, Flow],
    marker: Marker,
    apart: _Apart = (frozenset(), frozenset()),
    text: TrackedText | None = None,
) -> KeptFile:
    """Write the changes between a Word file and another document into that file.

    Args:
        remarks: about stretches of the flows of both.
        apart: numbers of paragraphs and tables of both bodies that are deleted and inserted as a whole.
        text: the changes of the flows to write into paragraphs, where B is no Word file; None finds them.

    Raises:
        NotKept: a file cannot be opened, or something changed whose place is not known.
    """
    found = anchors(a, b, alignment, flows)
    own, other = (Tracked.REJECT if one.report.rejected else Tracked.ACCEPT for one in (a, b))
    file = WholeFile.read(a, Tracked.KEEP if marker.keeps and own is Tracked.ACCEPT else own)
    marker.begin_after(last_number(file.roots()))
    if is_word_file(b):
        plan = _of_word_file(file, WholeFile.read(b, other), found, flows, apart)
    else:
        typeset = None if text else Typeset.between(a, b, flows[0], file.elements, file.file)
        plan = _of_text(file, found, flows, apart, text, typeset)
    places = remark_places(remarks, flows, plan.elements, plan.stories[0], plan.inner)
    writer = StoryWriter(marker, plan.reader, plan.carrier, file.all_notes(), places, plan.looks)
    for story in (*plan.stories, *(story for _, story in plan.inner)):
        writer.write(story)
    if plan.carrier is not None:
        plan.carrier.finish(writer.partners)
    file.release(marker.since)
    reader = replace(plan.reader, lost=frozenset())
    return KeptFile(file.file, plan.expected, reader, places.finish(marker, remarks), marker.since)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be written into a file.

    Attributes:
        stories: the changes of its body, then those of headers and footers.
        inner: those of notes and text boxes that the body does not hold, each with its reference or object there.
    """

    expected: tuple[list[list[object]], list[list[object]]]
    reader: Reader
    elements: tuple[Sequence[Element | None], Sequence[Element | None]]
    stories: Sequence[StoryChanges]
    inner: Sequence[tuple[Element, StoryChanges]] = ()
    carrier: Carrier | None = None
    looks: Neighbours | None = None


def _of_word_file(
    own: WholeFile, other: WholeFile, found: Sequence[Anchor], flows: tuple[Flow, Flow], apart: _Apart
) -> _Plan:
    reader = Reader(Signs())
    expected = other.signature(reader), own.signature(reader)
    if own.inner_files(reader) != other.inner_files(reader):
        raise NotKept("a document inside it changed")
    compared = _compared((own, other), found, flows, reader, apart)
    if lost := frozenset(_lost_bookmarks(compared)):
        for changes in (inner for story in compared for inner in story.stories()):
            changes.a.drop_added()
        reader = replace(reader, lost=lost)
        compared = _compared((own, other), found, flows, reader, apart)
    carrier = Carrier(own.file, other.file, own.notes, other.notes, lost)
    return _Plan(expected, reader, (own.elements, other.elements), compared, carrier=carrier)


def _of_text(
    own: WholeFile,
    found: Sequence[Anchor],
    flows: tuple[Flow, Flow],
    apart: _Apart,
    text: TrackedText | None,
    typeset: Typeset | None,
) -> _Plan:
    reader, notes = Reader(Signs(), plain=True), own.all_notes()
    stories = plain_stories(flows, found, own.elements, notes, reader, typeset)
    before = read_story(own.body.root.body, own.body, reader)
    after = read_story(stories.body, own.body, reader)
    expected = [_signature(after, reader, notes)], [_signature(before, reader, notes)]
    elements = own.elements, tuple(stories.elements)
    comparer = StoryComparer(reader, (notes, notes), _elements_of((before, after), apart))
    body = comparer.compare(before, after, list(_links(found, flows, elements, (before, after))))
    body.text = (_in_stories(text, elements, body) if text else None) or body.text
    looks = Neighbours(own.file, [block.element for block in before.blocks], stories.levels)
    inner = [
        (host, comparer.compare(one, two)) for host, one, two in inner_stories(stories.inner, notes, own.body, reader)
    ]
    return _Plan(expected, reader, elements, [body], inner, looks=looks)


def _in_stories(
    text: TrackedText, elements: tuple[Sequence[Element | None], Sequence[Element | None]], body: StoryChanges
) -> TrackedText | None:
    """The changes of two documents as changes of their bodies; None where paragraphs hold more than their text.

    Changes inside tables, each of which is one sign, are left out.
    """
    flows = body.text.a, body.text.b
    places = [_StoryPlaces.of(*side) for side in zip((text.a, text.b), elements, flows, (body.a, body.b), strict=True)]
    steps: list[Step] = []
    done = Span(0, 0)  # characters of A and of B
    for step in text.steps:
        if step.operation is Operation.KEPT:
            continue
        side = int(step.operation is Operation.INSERTED)
        span = places[side].span(step.b if side else step.a)
        if span is None:
            return None
        gap = span.start - (done.end if side else done.start)
        start = done.shifted(gap)
        if not len(span):
            continue
        if gap < 0 or flows[0].text[done.start : start.start] != flows[1].text[done.end : start.end]:
            return None
        steps.append(Step(Operation.KEPT, Span(done.start, start.start), Span(done.end, start.end)))
        a = Span(start.start, start.start + (0 if side else len(span)))
        b = Span(start.end, start.end + (len(span) if side else 0))
        steps.append(Step(step.operation, a, b))
        done = Span(a.end, b.end)
    ends = [len(flow.text) for flow in flows]
    if flows[0].text[done.start :] != flows[1].text[done.end :]:
        return None
    steps.append(Step(Operation.KEPT, Span(done.start, ends[0]), Span(done.end, ends[1])))
    return TrackedText(*flows, tuple(step for step in steps if len(step.a) or len(step.b)))


@dataclass(frozen=True, slots=True)
class _StoryPlaces:
    """Where the text of a document stands in the flow of its body; `numbers` are the blocks of that, None for none."""

    flow: Flow
    numbers: Sequence[int | None]
    other: Flow
    story: Story

    @classmethod
    def of(cls, flow: Flow, elements: Sequence[Element | None], other: Flow, story: Story) -> _StoryPlaces:
        known = {block.element: index for index, block in enumerate(story.blocks)}
        return cls(flow, [None if one is None else known.get(one) for one in elements], other, story)

    def span(self, span: Span) -> Span | None:
        """A stretch there, empty if it is inside a table; None where its paragraphs have other texts there."""
        first, last = (self._at(offset) for offset in (span.start, span.end - 1))
        if first is None or last is None:
            return None
        return Span(first, max(first, last + 1)) if last >= 0 and first >= 0 else Span(0, 0)

    def _at(self, offset: int) -> int | None:
        """The place of a character; -1 inside a table."""
        index = self.flow.block_at(offset)
        number = self.numbers[index]
        if number is None:
            return None
        block, inside = self.story.blocks[number], offset - self.flow.starts[index]
        end = len(self.flow.blocks[index].text)
        if inside >= end:
            following = self.other.starts[number + 1] if number + 1 < len(self.other.starts) else len(self.other.text)
            return following - 1
        if isinstance(block, StoryTable):
            return self.other.starts[number] if not inside else -1
        return self.other.starts[number] + inside if block.text == self.flow.blocks[index].text else None


def _compared(
    files: tuple[WholeFile, WholeFile], found: Sequence[Anchor], flows: tuple[Flow, Flow], reader: Reader, apart: _Apart
) -> list[StoryChanges]:
    """Compare the bodies of two files, then their headers and footers."""
    a, b = (read_story(file.body.root.body, file.body, reader) for file in files)
    notes = files[0].all_notes(), files[1].all_notes()
    comparer = StoryComparer(reader, notes, _elements_of((a, b), apart))
    linked = list(_links(found, flows, (files[0].elements, files[1].elements), (a, b)))
    return [comparer.compare(a, b, linked), *_margins(files, comparer)]


def _elements_of(stories: tuple[Story, Story], apart: _Apart) -> tuple[frozenset[Element], frozenset[Element]]:
    a, b = (
        frozenset(story.blocks[number].element for number in own) for story, own in zip(stories, apart, strict=True)
    )
    return a, b


def _links(
    found: Sequence[Anchor],
    flows: tuple[Flow, Flow],
    elements: tuple[Sequence[Element | None], Sequence[Element | None]],
    stories: Sequence[Story],
) -> Iterator[tuple[_Range, _Range]]:
    """Turn stretches of text that are versions of each other into blocks of the stories."""
    numbers = [{block.element: index for index, block in enumerate(story.blocks)} for story in stories]
    groups: list[tuple[_Range, _Range]] = []
    for anchor in found:
        ranges: list[_Range] = []
        for flow, of_blocks, own, span in zip(flows, elements, numbers, (anchor.a, anchor.b), strict=True):
            blocks = range(flow.block_at(span.start), flow.block_at(max(span.start, span.end - 1)) + 1)
            places = [own.get(of_blocks[block], -1) for block in blocks]
            if -1 in places or places != sorted(places):
                break
            ranges.append((places[0], places[-1] + 1))
        if len(ranges) < 2:
            continue
        one, other = ranges
        if groups and (one[0] < groups[-1][0][1] or other[0] < groups[-1][1][1]):
            before = groups.pop()
            if one[0] < before[0][0] or other[0] < before[1][0]:
                groups.append(before)
                continue
            one = before[0][0], max(before[0][1], one[1])
            other = before[1][0], max(before[1][1], other[1])
        groups.append((one, other))
    for one, other in groups:
        sides = [story.blocks[first:last] for story, (first, last) in zip(stories, (one, other), strict=True)]
        kinds = {isinstance(block, StoryTable) for side in sides for block in side}
        if kinds == {False} or (kinds == {True} and len(sides[0]) == len(sides[1]) == 1):
            yield one, other


def _lost_bookmarks(found: Sequence[StoryChanges]) -> Iterator[str]:
    """Yield the names of the bookmarks of A whose text goes away."""
    for changes in (story for one in found for story in one.stories()):
        gone = [step.a for step in changes.text.steps if step.operation is Operation.DELETED]
        flow = changes.text.a
        for span in gone:
            for index in range(flow.block_at(span.start), flow.block_at(span.end - 1) + 1):
                block, start = changes.a.blocks[index], flow.starts[index]
                if isinstance(block, StoryTable):
                    yield from _bookmarks([block.element])
                    continue
                for name, (first, last) in block.bookmarks.items():
                    if span.start <= start + first and start + last <= span.end and first < span.end - start:
                        yield name
        for index, rows in changes.tables.items():
            table = changes.a.blocks[index]
            assert isinstance(table, StoryTable)
            yield from _bookmarks(table.row_elements[row.a] for row in rows if row.a is not None and row.b is None)


def _bookmarks(elements: Iterable[Element]) -> Iterator[str]:
    for element in elements:
        yield from (str(start.get(qn("w:name"))) for start in element.iter(qn("w:bookmarkStart")))


def _margins(files: Sequence[WholeFile], comparer: StoryComparer) -> Iterator[StoryChanges]:
    """Compare headers and footers, section by section; those that A lacks are added, empty."""
    own, other = (file.margins() for file in files)
    known: set[tuple[str, str]] = set()
    for number, (left, right) in enumerate(zip(own, other, strict=False)):
        for key in sorted(left.keys() | right.keys()):
            a, b = left.get(key), right.get(key)
            pair = (str(a and a.partname), str(b and b.partname))
            if a is not None and pair in known:
                continue
            known.add(pair)
            tag = _MARGINS[key[0]][0]
            empty = parse_xml(f'<w:{tag} xmlns:w="{nsmap["w"]}"><w:p/></w:{tag}>')
            part = WordPart(files[0].body.part, empty) if b is None else WordPart.of(b)
            two = read_story(part.root, part, comparer.reader)
            if a is None:
                if not two.text.strip():
                    continue
                a = _new_margin(files[0], number, key, deepcopy(empty))
            one = read_story(a.element, WordPart.of(a), comparer.reader, "header")
            changes = comparer.compare(one, two)
            if changes.changed:
                yield changes


def _new_margin(file: WholeFile, section: int, key: tuple[str, str], root: Element) -> XmlPart:
    _, relation, content = _MARGINS[key[0]]
    package = file.file.part.package
    name = package.next_partname(f"/word/{'header' if 'header' in key[0] else 'footer'}%d.xml")
    part = XmlPart(PackURI(str(name)), content, root, package)
    reference = build(f"w:{key[0].rpartition('}')[2]}", type=key[1])
    reference.set(qn("r:id"), file.file.part.relate_to(part, relation))
    file.sections()[section].insert(0, reference)
    return part
