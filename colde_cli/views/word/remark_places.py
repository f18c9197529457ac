"""Find where the comment of a remark goes: in the body, a cell, or at the object or reference that the body has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.document import Span
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import Flow
from colde_cli.views.word.markup import Element, Marker
from colde_cli.views.word.paragraphs import Remark
from colde_cli.views.word.stories import PARAGRAPH, RUN, Story, StoryParagraph, StoryTable, runs_of
from colde_cli.views.word.story_changes import RowChanges, StoryChanges, partner

_OBJECTS = 0xF0000
_Elements = Sequence[Element | None]


@dataclass(slots=True)
class RemarkPlaces:
    """The places of remarks, by their numbers.

    Attributes:
        in_stories: remarks about characters of a story, by the `id` of its changes.
        rows: remarks about a row that came or went, by the `id` of its changes.
        hosts: what to comment on where a remark is on no change: an element in a run, or a paragraph.
    """

    in_stories: dict[int, dict[int, Remark]] = field(default_factory=dict)
    rows: dict[int, list[int]] = field(default_factory=dict)
    hosts: dict[int, Element] = field(default_factory=dict)

    def of(self, changes: StoryChanges) -> dict[int, Remark]:
        """The remarks about characters of a story."""
        return self.in_stories.get(id(changes), {})

    def finish(self, marker: Marker, remarks: Sequence[Remark]) -> list[str]:
        """Comment on the hosts of remarks that are on no change; return the sentences that have none."""
        lost: list[str] = []
        for number, remark in enumerate(remarks):
            if number in marker.places or not remark.text:
                continue
            host = self.hosts.get(number)
            run = None
            if host is not None:
                run = next(runs_of(host) if host.tag == PARAGRAPH else host.iterancestors(RUN), None)
            if run is None:
                lost.append(remark.text)
            else:
                marker.places[number] = [run]
        return lost


def remark_places(
    remarks: Sequence[Remark],
    flows: tuple[Flow, Flow],
    elements: tuple[_Elements, _Elements],
    body: StoryChanges,
    inner: Iterable[tuple[Element, StoryChanges]] = (),
) -> RemarkPlaces:
    """Find the places of remarks about characters of the flows of two documents, whose blocks have these elements.

    The notes and text boxes `inner` are those that the changes of the `body` do not know, each with its reference or
    object there.
    """
    made = RemarkPlaces()
    numbers = [{block.element: index for index, block in enumerate(story.blocks)} for story in (body.a, body.b)]
    hosted = [*_hosted(body), *inner]
    tables = {partner(body, index): index for index in body.tables}
    for number, remark in enumerate(remarks):
        sides = (remark.a, remark.b), flows, elements, numbers, (body.text.a, body.text.b), (body.a, body.b)
        a, b = (None if side[0] is None else _moved(*side) for side in zip(*sides, strict=True))
        words = _words(remark.a, flows[0]), _words(remark.b, flows[1])
        index = None if a is None else body.text.a.block_at(a.start)
        table = index if index in body.tables else None
        if table is None and b is not None:
            table = tables.get(body.text.b.block_at(b.start))
        if index is not None:
            made.hosts[number] = body.a.blocks[index].element
        if table is not None:
            _place_in_rows(made, number, words, body, table)
        elif a is not None or b is not None:
            made.in_stories.setdefault(id(body), {})[number] = Remark(remark.text, a, b)
        else:
            found = (host for host, story in hosted if _located(story, words) is not None)
            if (host := next(found, None)) is not None:
                made.hosts[number] = host
    return made


def _place_in_rows(made: RemarkPlaces, number: int, words: tuple[str, str], body: StoryChanges, index: int) -> None:
    tables = body.a.blocks[index], body.b.blocks[partner(body, index)]
    for row in body.tables[index]:
        if row.a is None or row.b is None:
            if _row_holds(row, words, tables):
                made.rows.setdefault(id(row), []).append(number)
                return
            continue
        for cell in row.cells:
            if (located := _located(cell, words)) is not None:
                made.in_stories.setdefault(id(cell), {})[number] = located
                return


def _row_holds(row: RowChanges, words: tuple[str, str], tables: Sequence[StoryParagraph | StoryTable]) -> bool:
    for place, text, table in zip((row.a, row.b), words, tables, strict=True):
        if place is not None and text and isinstance(table, StoryTable):
            return any(text in cell.text for cell in table.rows[place])
    return False


def _hosted(changes: StoryChanges) -> Iterator[tuple[Element, StoryChanges]]:
    """Yield the notes and text boxes in a story and its tables, each with its reference or object."""
    for host, story in changes.inner:
        for one in story.stories():
            yield host, one
    for rows in changes.tables.values():
        for row in rows:
            for cell in row.cells:
                yield from _hosted(cell)


def _located(changes: StoryChanges, words: tuple[str, str]) -> Remark | None:
    """Find words of A that went and words of B that came in a story."""
    spans: list[Span | None] = []
    for text, flow, side, operation in (
        (words[0], changes.text.a, 0, Operation.DELETED),
        (words[1], changes.text.b, 1, Operation.INSERTED),
    ):
        if not text:
            spans.append(None)
            continue
        changed = [(step.a, step.b)[side] for step in changes.text.steps if step.operation is operation]
        place = flow.text.find(text)
        while place >= 0 and not any(one.start < place + len(text) and place < one.end for one in changed):
            place = flow.text.find(text, place + 1)
        if place < 0:
            return None
        spans.append(Span(place, place + len(text)))
    return None if spans == [None, None] else Remark("", spans[0], spans[1])


def _words(span: Span | None, flow: Flow) -> str:
    return "" if span is None else flow.text[span.start : span.end].strip()


def _moved(
    span: Span, flow: Flow, elements: _Elements, numbers: dict[Element, int], text: Flow, story: Story
) -> Span | None:
    """Find characters of a document, as colde reads it, in the flow of a body."""
    places = []
    for offset in (span.start, max(span.start, span.end - 1)):
        index = flow.block_at(offset)
        number = numbers.get(elements[index])
        if number is None:
            return None
        block = story.blocks[number]
        inside = 0
        if isinstance(block, StoryParagraph):
            inside = _place(block.text, flow.blocks[index].text, offset - flow.starts[index])
        places.append(text.starts[number] + inside)
    return Span(places[0], places[1] + (span.end > span.start))


def _place(text: str, read: str, offset: int) -> int:
    """The place in the text of a paragraph of an offset in the text as colde reads it."""
    letters = sum(not sign.isspace() for sign in read[:offset])
    if letters and read[offset : offset + 1].isspace():  # after the letter before it, and the blanks between
        before = len(read[:offset].rstrip())
        return _place(text, read, before - 1) + 1 + offset - before
    for place, sign in enumerate(text):
        if not sign.isspace() and ord(sign) < _OBJECTS:
            if not letters:
                return place
            letters -= 1
    return max(0, len(text) - 1)
