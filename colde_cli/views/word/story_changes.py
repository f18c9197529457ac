"""Compare the stories of two Word files: their paragraphs, tables and rows are paired, then the text of each pair."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.document import Span
from colde_cli.similarity.redline import Edit, Operation, changed_blocks, redline, words
from colde_cli.similarity.tracked_changes import Anchor, Block, Flow, TrackedText, merge
from colde_cli.views.word.markup import Element
from colde_cli.views.word.stories import MC, Reader, Story, StoryParagraph, StoryTable, WordPart, boxes_of, read_story

_ALIKE = 0.4
"""Paragraphs and rows without a pair are one if they share this much of their words (Dice's coefficient)."""
_MOST_TRIED = 250_000
"""Pairs of paragraphs whose likeness is computed in one gap; in a larger one none is."""
_TABLE = "\x00"
# A letter or digit of a script that puts blanks between words.
_LETTER = r"[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\uffff\U00010000-\U0010ffff]"
_IN_WORD = re.compile(_LETTER)
_Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Notes:
    """The footnotes and endnotes of a file, by kind and identifier."""

    part: Mapping[str, WordPart]
    elements: Mapping[tuple[str, str], Element]

    def story(self, key: tuple[str, str], reader: Reader) -> Story | None:
        """Read a note; None if it is missing."""
        element = self.elements.get(key)
        return None if element is None else read_story(element, self.part[key[0]], reader, key[0][:-1])


@dataclass(slots=True)
class RowChanges:
    """What became of rows: `a` and `b` are their numbers, one is None for a row that came or went."""

    a: int | None
    b: int | None
    cells: list[StoryChanges] = field(default_factory=list)


@dataclass(slots=True)
class StoryChanges:
    """What became of a story.

    Attributes:
        text: both flows merged; a table is one sign in them.
        tables: the rows of the tables that stay, by the index of their block in A.
        inner: the stories of notes and text boxes that stay, each with its reference or object in a run of A.
    """

    a: Story
    b: Story
    text: TrackedText
    tables: dict[int, list[RowChanges]] = field(default_factory=dict)
    inner: list[tuple[Element, StoryChanges]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything of it or in it changed."""
        return (
            any(step.operation is not Operation.KEPT for step in self.text.steps)
            or any(row.a is None or row.b is None for rows in self.tables.values() for row in rows)
            or any(cell.changed for rows in self.tables.values() for row in rows for cell in row.cells)
            or any(story.changed for _, story in self.inner)
        )

    def stories(self) -> Iterator[StoryChanges]:
        """Yield this story and all in it."""
        yield self
        for rows in self.tables.values():
            for row in rows:
                for cell in row.cells:
                    yield from cell.stories()
        for _, story in self.inner:
            yield from story.stories()


@dataclass(frozen=True, slots=True)
class StoryComparer:
    """Compares stories of two files.

    Attributes:
        reader: of both files.
        notes: of A and of B.
        apart: paragraphs and tables of A and of B that are deleted and inserted as a whole.
    """

    reader: Reader
    notes: tuple[Notes, Notes]
    apart: tuple[frozenset[Element], frozenset[Element]] = (frozenset(), frozenset())

    def compare(self, a: Story, b: Story, links: Sequence[tuple[_Range, _Range]] = ()) -> StoryChanges:
        """Compare two stories; `links` are blocks of both that are versions of each other, in order."""
        groups = [pair for pair in _with_last_ones(a, b, _groups(a, b, links)) if self._stays((a, b), pair)]
        flows = _flow(a, groups, 0), _flow(b, groups, 1)
        whole = tuple([*_whole_fields(flow, story)] for flow, story in zip(flows, (a, b), strict=True))
        text = merge(*flows, _anchors(flows, groups), whole=(whole[0], whole[1]))
        made = StoryChanges(a, b, text)
        for one, other in groups:
            table, partner = a.blocks[one[0]], b.blocks[other[0]]
            if isinstance(table, StoryTable) and isinstance(partner, StoryTable):
                made.tables[one[0]] = self._rows(table, partner)
        made.inner = list(self._inner(made))
        return made

    def _stays(self, stories: tuple[Story, Story], pair: tuple[_Range, _Range]) -> bool:
        blocks = (story.blocks[first:last] for story, (first, last) in zip(stories, pair, strict=True))
        return not any(block.element in own for own, side in zip(self.apart, blocks, strict=True) for block in side)

    def _rows(self, a: StoryTable, b: StoryTable) -> list[RowChanges]:
        keys = [["\v".join(cell.text for cell in row) for row in table.rows] for table in (a, b)]
        pairs = list(_paired(keys[0], keys[1], lambda i, k: len(a.rows[i]) == len(b.rows[k]), in_order=True))
        found: list[RowChanges] = []
        done = [0, 0]
        for i, k in [*pairs, (len(a.rows), len(b.rows))]:
            found += [RowChanges(row, None) for row in range(done[0], i)]
            found += [RowChanges(None, row) for row in range(done[1], k)]
            if i < len(a.rows):
                cells = zip(a.rows[i], b.rows[k], strict=True)
                found.append(RowChanges(i, k, [self.compare(cell, other) for cell, other in cells]))
            done = [i + 1, k + 1]
        return found

    def _inner(self, changes: StoryChanges) -> Iterator[tuple[Element, StoryChanges]]:
        """Compare the notes and text boxes whose references and objects stay."""
        a, b = changes.text.a, changes.text.b
        for step in changes.text.steps:
            if step.operation is not Operation.KEPT:
                continue
            for index in range(a.block_at(step.a.start), a.block_at(max(step.a.start, step.a.end - 1)) + 1):
                block = changes.a.blocks[index]
                if not isinstance(block, StoryParagraph) or block.places is not None:
                    continue
                for one in block.segments:
                    here = a.starts[index] + one.start
                    if not step.a.start <= here < step.a.end or one.end - one.start > 1:
                        continue
                    partner, place = _at(changes.b, b, here - step.a.start + step.b.start)
                    if one.start in block.notes:
                        keys = block.notes[one.start], partner.notes.get(place, ("", ""))
                        own, other = (
                            notes.story(key, self.reader) for notes, key in zip(self.notes, keys, strict=True)
                        )
                        if own is not None and other is not None:
                            yield one.child, self.compare(own, other)
                    elif boxes_of(one.child):
                        new = next(piece.child for piece in partner.segments if piece.start == place)
                        for pair in self._boxes(changes, one.child, new):
                            yield one.child, pair

    def _boxes(self, changes: StoryChanges, own: Element, other: Element) -> Iterator[StoryChanges]:
        for root, partner in zip(_versions(own), _versions(other), strict=False):
            for box, new in zip(boxes_of(root), boxes_of(partner), strict=False):
                a = read_story(box, changes.a.part, self.reader, "text box")
                yield self.compare(a, read_story(new, changes.b.part, self.reader, "text box"))


def partner(changes: StoryChanges, index: int) -> int:
    """The index of the block of B that a table of A became."""
    text = changes.text
    place = text.a.starts[index]
    step = next(one for one in text.steps if one.a.start <= place < one.a.end)
    return text.b.block_at(place - step.a.start + step.b.start)


def _versions(element: Element) -> list[Element]:
    """The versions of a drawing, for new and for older programs."""
    found = [child for child in element if child.tag in (f"{MC}Choice", f"{MC}Fallback")]
    return found if element.tag == f"{MC}AlternateContent" else [element]


def _at(story: Story, flow: Flow, place: int) -> tuple[StoryParagraph, int]:
    index = flow.block_at(place)
    block = story.blocks[index]
    assert isinstance(block, StoryParagraph)  # an equal sign stands there
    return block, place - flow.starts[index]


def _groups(a: Story, b: Story, links: Sequence[tuple[_Range, _Range]]) -> Iterator[tuple[_Range, _Range]]:
    """Pair the blocks of two stories: those that are linked, then equal ones, then those that are alike."""
    keys = [[_TABLE * isinstance(block, StoryTable) + block.text for block in story.blocks] for story in (a, b)]
    done = 0, 0
    ends = ((len(keys[0]), len(keys[0])), (len(keys[1]), len(keys[1])))
    for one, other in [*links, ends]:
        i, k = done

        def fits(x: int, y: int, i: int = i, k: int = k) -> bool:
            return _can_become(a.blocks[i + x], b.blocks[k + y])

        pairs = _paired(keys[0][i : one[0]], keys[1][k : other[0]], fits)
        for x, y in pairs:
            yield (i + x, i + x + 1), (k + y, k + y + 1)
        if one[0] < one[1]:
            yield one, other
        done = one[1], other[1]


def _can_become(a: StoryParagraph | StoryTable, b: StoryParagraph | StoryTable) -> bool:
    """Whether one block can be turned into another: paragraphs, or tables with rows of as many cells."""
    if isinstance(a, StoryTable) and isinstance(b, StoryTable):
        return not {len(row) for row in a.rows}.isdisjoint(len(row) for row in b.rows)
    return isinstance(a, StoryParagraph) and isinstance(b, StoryParagraph)


def _with_last_ones(a: Story, b: Story, groups: Iterable[tuple[_Range, _Range]]) -> Iterator[tuple[_Range, _Range]]:
    """Also pair the last paragraphs before a table that stays: LibreOffice keeps the end of one that goes there."""
    done = 0, 0
    for one, other in groups:
        i, k = one[0], other[0]
        if isinstance(a.blocks[i], StoryTable) and i > done[0] and k > done[1]:
            lasts = a.blocks[i - 1], b.blocks[k - 1]
            if not any(isinstance(last, StoryTable) for last in lasts):
                yield (i - 1, i), (k - 1, k)
        yield one, other
        done = one[1], other[1]


def _paired(
    a: Sequence[str], b: Sequence[str], fits: Callable[[int, int], bool], *, in_order: bool = False
) -> Iterator[tuple[int, int]]:
    """Pair texts: equal ones, and between them those that are alike.

    With `in_order`, as many texts as on the other side that all fit are pairs, however different they are.
    """
    done = 0, 0
    for i, j, k, n in [*changed_blocks(a, b), (len(a), len(a), len(b), len(b))]:
        for step in range(i - done[0]):
            yield done[0] + step, done[1] + step
        gap = range(i, j), range(k, n)
        if in_order and len(gap[0]) == len(gap[1]) and all(map(fits, *gap)):
            yield from zip(*gap, strict=True)
        elif gap[0] and gap[1] and len(gap[0]) * len(gap[1]) <= _MOST_TRIED:
            yield from _alike(a, b, gap, fits)
        done = j, n


def _alike(
    a: Sequence[str], b: Sequence[str], gap: tuple[range, range], fits: Callable[[int, int], bool]
) -> Iterator[tuple[int, int]]:
    """The pairs in order with the greatest likeness together."""
    counts = [
        {index: Counter(word.key for word in words(side[index])) for index in own}
        for side, own in zip((a, b), gap, strict=True)
    ]
    rows, columns = gap
    best = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    scores: dict[tuple[int, int], float] = {}
    for x in reversed(range(len(rows))):
        for y in reversed(range(len(columns))):
            score = 0.0
            if fits(rows[x], columns[y]):
                one, other = counts[0][rows[x]], counts[1][columns[y]]
                score = 2 * (one & other).total() / max(1, one.total() + other.total())
                if a[rows[x]].startswith(_TABLE):  # tables in one place are versions, whatever they hold
                    score = max(score, _ALIKE)
            scores[x, y] = score if score >= _ALIKE else 0.0
            best[x][y] = max(best[x + 1][y], best[x][y + 1], best[x + 1][y + 1] + scores[x, y])
    x = y = 0
    while x < len(rows) and y < len(columns):
        if scores[x, y] and best[x][y] == best[x + 1][y + 1] + scores[x, y]:
            yield rows[x], columns[y]
            x, y = x + 1, y + 1
        elif best[x][y] == best[x + 1][y]:
            x += 1
        else:
            y += 1


def _flow(story: Story, groups: Sequence[tuple[_Range, _Range]], side: int) -> Flow:
    """Make the flow of a story; a pair of tables has a sign of its own, other tables one each."""
    number = {pair[side][0]: index for index, pair in enumerate(groups)}
    blocks, tables = [], set()
    for index, block in enumerate(story.blocks):
        text = block.text
        if isinstance(block, StoryTable):
            tables.add(index)
            text = chr(0x100000 + 3 * number[index]) if index in number else chr(0x100000 + 3 * index + 1 + side)
        blocks.append(Block(text, 0, Span(0, 0)))
    return Flow.joined(tuple(blocks), frozenset(tables))


def _whole_fields(flow: Flow, story: Story) -> Iterator[Span]:
    for start, block in zip(flow.starts, story.blocks, strict=True):
        if isinstance(block, StoryParagraph):
            for first, last in block.whole:
                i, j = first, last
                if block.places is not None:
                    i, j = bisect_left(block.places, first), bisect_left(block.places, last)
                if i < j:
                    yield Span(start + i, start + j)


def _anchors(flows: tuple[Flow, Flow], groups: Sequence[tuple[_Range, _Range]]) -> Iterator[Anchor]:
    for pair in groups:
        a, b = (
            Span(flow.starts[first], flow.starts[last - 1] + len(flow.blocks[last - 1].text))
            for flow, (first, last) in zip(flows, pair, strict=True)
        )
        last = [own[1] == len(flow.blocks) for flow, own in zip(flows, pair, strict=True)]
        texts = flows[0].text[a.start : a.end], flows[1].text[b.start : b.end]
        edits = () if texts[0] == texts[1] else redline(*texts)
        ends = 0 if any(last) and not all(last) else 1  # the end of the last paragraph stays the last
        yield Anchor(
            Span(a.start, a.end + ends),
            Span(b.start, b.end + ends),
            tuple(_apart(_in_words(Edit(one.a.shifted(a.start), one.b.shifted(b.start)), *flows) for one in edits)),
        )


def _in_words(edit: Edit, a: Flow, b: Flow) -> Edit:
    """Widen an edit to whole words, as a person would make it: "Annex 3" for "Annex 3a", not an "a" that came."""
    sides = ((a.text, edit.a), (b.text, edit.b))
    starts = [_letters(text, span.start) for text, span in sides]
    ends = [_letters(text, span.end) for text, span in sides]
    # Whether the end of words that went or came is within a word.
    at_start, at_end = (
        any(all(beside) and len(span) for beside, (_, span) in zip(places, sides, strict=True))
        for places in (starts, ends)
    )
    before = min(count for count, _ in starts) if at_start else 0
    after = min(count for _, count in ends) if at_end else 0
    return Edit(Span(edit.a.start - before, edit.a.end + after), Span(edit.b.start - before, edit.b.end + after))


def _letters(text: str, place: int) -> tuple[int, int]:
    """How many letters and digits stand right before a place, and from there on."""
    start = end = place
    while start and _IN_WORD.match(text, start - 1):
        start -= 1
    while _IN_WORD.match(text, end):
        end += 1
    return place - start, end - place


def _apart(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Join edits that came to overlap."""
    last: Edit | None = None
    for edit in edits:
        if last is not None and (edit.a.start < last.a.end or edit.b.start < last.b.end):
            last = Edit(Span(last.a.start, edit.a.end), Span(last.b.start, edit.b.end))
            continue
        if last is not None:
            yield last
        last = edit
    if last is not None:
        yield last
