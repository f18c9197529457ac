"""Merge two documents to one text with deletions and insertions: in the order of B, with what only A has at its place.

Without the insertions the merged text is A, character by character; without the deletions it is B.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.document import BLANK_LINES, Document, Section, Span
from colde_cli.documents.passages import Passage
from colde_cli.similarity.pairs import Alignment, PassagePair, State, in_document
from colde_cli.similarity.redline import NOTHING_IGNORED, Edit, IgnoreOptions, Operation, redline
from colde_cli.similarity.section_changes import section_changes

BREAK = "\N{PARAGRAPH SEPARATOR}"
"""The end of every paragraph of a `Flow`."""
TABLE_END = "\N{LINE SEPARATOR}"
"""The end of a table, which is never joined with a paragraph."""
_END = re.compile(f"[{BREAK}{TABLE_END}]")
TOKEN = re.compile(rf"{_END.pattern}|[^\S{BREAK}{TABLE_END}]+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading or a paragraph.

    Attributes:
        level: of a heading, 1 the outermost; 0 for a paragraph.
    """

    text: str
    level: int
    span: Span


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks of a document as one text, each ended by `BREAK`.

    Attributes:
        starts: offset of each block in `text`.
        places: offsets in `Document.text`, ascending, and the offset in `text` that belongs to each.
        tables: indices of the blocks that are tables.
    """

    text: str
    blocks: tuple[Block, ...]
    starts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    tables: frozenset[int] = frozenset()

    @classmethod
    def of(cls, document: Document) -> Flow:
        """Make the flow of a document as colde reads it."""
        return cls.joined(tuple(_blocks(document)))

    @classmethod
    def joined(cls, blocks: tuple[Block, ...], tables: frozenset[int] = frozenset()) -> Flow:
        """Join blocks whose text is that of the document, character by character."""
        starts, length = [], 0
        for block in blocks:
            starts.append(length)
            length += len(block.text) + 1
        text = "".join(
            _END.sub(" ", block.text) + (TABLE_END if index in tables else BREAK) for index, block in enumerate(blocks)
        )
        places = tuple((block.span.start, start) for block, start in zip(blocks, starts, strict=True))
        return cls(text, blocks, tuple(starts), places, tables)

    def place(self, offset: int) -> int:
        """Map an offset in `Document.text` to one in `text`."""
        index = max(0, bisect_right(self.places, offset, key=lambda place: place[0]) - 1)
        start, place = self.places[index]
        end = self.places[index + 1][1] if index + 1 < len(self.places) else len(self.text)
        return min(place + max(0, offset - start), end)

    def span(self, span: Span) -> Span:
        """Map a span, its last character included."""
        return Span(self.place(span.start), self.place(span.end - 1) + 1)

    def whole(self, passages: Sequence[Passage]) -> Span:
        """The characters of neighbouring passages."""
        return Span(self.place(passages[0].span.start), self.span(passages[-1].span).end)

    def inside(self, passages: Sequence[Passage], edit: Span) -> Span:
        """Map a stretch of the joined texts of neighbouring passages."""
        if len(edit):
            return self.span(in_document(passages, edit))
        before = in_document(passages, Span(edit.start - 1, edit.start - 1)).start
        place = self.place(before) + 1 if edit.start else self.place(passages[0].span.start)
        return Span(place, place)

    def ends(self, span: Span) -> Iterator[int]:
        """Yield the offsets at which paragraphs and tables end."""
        return (match.start() for match in _END.finditer(self.text, span.start, span.end))

    def block_at(self, offset: int) -> int:
        """Find the index of the block that an offset in `text` is in."""
        return bisect_right(self.starts, offset) - 1


def _blocks(document: Document) -> Iterator[Block]:
    text = document.text
    for section in document.sections:
        if section.heading:
            yield Block(section.heading, max(1, section.level), section.span)
        start = section.body_start
        for gap in BLANK_LINES.finditer(text, start, section.span.end):
            yield from _paragraph(text, Span(start, gap.start()))
            start = gap.end()
        yield from _paragraph(text, Span(start, section.span.end))


def _paragraph(text: str, span: Span) -> Iterator[Block]:
    words = text[span.start : span.end]
    start = span.start + len(words) - len(words.lstrip())
    if stripped := words.strip():
        yield Block(stripped, 0, Span(start, start + len(stripped)))


@dataclass(frozen=True, slots=True)
class Anchor:
    """Stretches of two flows that are versions of each other.

    Attributes:
        edits: the places where they differ, as offsets into the flows; between these only typesetting differs.
    """

    a: Span
    b: Span
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of the merged text, which may hold the ends of paragraphs.

    Attributes:
        a: its characters in A; empty for an insertion.
        b: its characters in B; empty for a deletion.
    """

    operation: Operation
    a: Span
    b: Span


def merge(
    a: Flow,
    b: Flow,
    anchors: Iterable[Anchor],
    ignore: IgnoreOptions = NOTHING_IGNORED,
    whole: tuple[Sequence[Span], Sequence[Span]] = ((), ()),
) -> TrackedText:
    """Merge two flows.

    The end of the last paragraph is always kept, because no file can do without it. `whole`: stretches of `a` and of
    `b`, in order and apart, that stay, come or go as a whole, such as fields.
    """
    last = (Span(len(a.text) - 1, len(a.text)), Span(len(b.text) - 1, len(b.text)))
    kept = _Kept(a.text, b.text)
    for anchor in anchors:
        done_a, done_b = anchor.a.start, anchor.b.start
        for edit in anchor.edits:
            kept.between(Span(done_a, edit.a.start), Span(done_b, edit.b.start), ignore)
            done_a, done_b = edit.a.end, edit.b.end
        kept.between(Span(done_a, anchor.a.end), Span(done_b, anchor.b.end), ignore)
    if a.text and b.text and a.text[-1] == b.text[-1]:
        kept.add(*last)
    pairs = list(_undivided(kept.pairs, *whole)) if any(whole) else kept.pairs
    return TrackedText(a, b, tuple(_joined(_steps(a.text, b.text, pairs))))


def _undivided(
    pairs: Iterable[tuple[Span, Span]], whole_a: Sequence[Span], whole_b: Sequence[Span]
) -> Iterator[tuple[Span, Span]]:
    """Leave out of the pairs what is part of a whole that does not stay, or not as one."""
    sides = (sorted(whole_a, key=lambda span: span.start), sorted(whole_b, key=lambda span: span.start))
    for a, b in pairs:
        inside = [
            {
                (max(0, one.start - span.start), min(len(span), one.end - span.start)): span.start <= one.start
                and one.end <= span.end
                for one in _overlapping(whole, span)
            }
            for whole, span in zip(sides, (a, b), strict=True)
        ]
        # A text can become a field in a comparison with a file that has none.
        lone = (inside[0].keys() ^ inside[1].keys()) if whole_a and whole_b else frozenset()
        out = sorted({part for own in inside for part, complete in own.items() if not complete or part in lone})
        done = 0
        for start, end in [*out, (len(a), len(a))]:
            if start > done:
                yield Span(a.start + done, a.start + start), Span(b.start + done, b.start + start)
            done = max(done, end)


def _overlapping(whole: Sequence[Span], span: Span) -> Iterator[Span]:
    place = bisect_right(whole, span.start, key=lambda one: one.end)
    while place < len(whole) and whole[place].start < span.end:
        yield whole[place]
        place += 1


@dataclass(slots=True)
class _Kept:
    """Collects the stretches that stay, in order."""

    a: str
    b: str
    pairs: list[tuple[Span, Span]] = field(default_factory=list)

    def add(self, a: Span, b: Span) -> None:
        """Add a pair, unless the one before reaches into it."""
        before = self.pairs[-1] if self.pairs else (Span(0, 0), Span(0, 0))
        if before[0].end <= a.start and before[1].end <= b.start and len(a):
            self.pairs.append((a, b))

    def between(self, a: Span, b: Span, ignore: IgnoreOptions) -> None:
        """Add what two stretches without an edit have in common."""
        one, two = self.a[a.start : a.end], self.b[b.start : b.end]
        if one == two:
            self.add(a, b)
            return
        if ignore.names and one.count(BREAK) == two.count(BREAK):
            # Only what is ignored differs: paragraph by paragraph.
            for own, other in zip(_cut(self.a, a), _cut(self.b, b), strict=True):
                if len(own) and len(other):
                    self.add(own, other)
            return
        from rapidfuzz.distance import LCSseq

        left, right = ([match.span() for match in TOKEN.finditer(text)] for text in (one, two))
        keys = [[text[i:j] for i, j in found] for text, found in ((one, left), (two, right))]
        for code in LCSseq.opcodes(keys[0], keys[1]):
            if code.tag == "equal":
                places = (left[code.src_start][0], left[code.src_end - 1][1])
                others = (right[code.dest_start][0], right[code.dest_end - 1][1])
                self.add(Span(a.start + places[0], a.start + places[1]), Span(b.start + others[0], b.start + others[1]))


def _cut(text: str, span: Span) -> list[Span]:
    """Cut a stretch before and after every end of a paragraph; pieces may be empty."""
    ends = [match.start() for match in _END.finditer(text, span.start, span.end)]
    bounds = [span.start, *(bound for end in ends for bound in (end, end + 1)), span.end]
    return [Span(bounds[n], bounds[n + 1]) for n in range(len(bounds) - 1)]


def _steps(a: str, b: str, kept: Sequence[tuple[Span, Span]]) -> Iterator[Step]:
    done_a, done_b = 0, 0
    ends = (Span(len(a), len(a)), Span(len(b), len(b)))
    for one, two in [*kept, ends]:
        begins = done_a == 0 or _END.match(a, done_a - 1) is not None
        yield from _gap(a, b, Span(done_a, one.start), Span(done_b, two.start), begins)
        yield Step(Operation.KEPT, one, two)
        done_a, done_b = one.end, two.end


def _gap(a: str, b: str, left: Span, right: Span, begins: bool) -> Iterator[Step]:
    """Delete and insert what is between two stretches that stay; `begins`: a paragraph begins here.

    Paragraphs that came or went have an end of their own, which comes or goes with them.
    """
    first = _first_end(a, left), _first_end(b, right)
    if not begins and min(first) >= 0 and a[first[0]] == b[first[1]]:  # the paragraph before ends in both
        yield from _replaced(a, b, Span(left.start, first[0]), Span(right.start, first[1]))
        yield Step(Operation.KEPT, Span(first[0], first[0] + 1), Span(first[1], first[1] + 1))
        left, right, begins = Span(first[0] + 1, left.end), Span(first[1] + 1, right.end), True
    if begins:
        cut = _after_last_end(a, left), _after_last_end(b, right)
        yield from _exchange(Span(left.start, cut[0]), Span(right.start, cut[1]))
        left, right = Span(cut[0], left.end), Span(cut[1], right.end)
    yield from _replaced(a, b, left, right)


def _first_end(text: str, span: Span) -> int:
    found = _END.search(text, span.start, span.end)
    return found.start() if found else -1


def _after_last_end(text: str, span: Span) -> int:
    last = max(text.rfind(end, span.start, span.end) for end in (BREAK, TABLE_END))
    return max(span.start, last + 1)


def _replaced(a: str, b: str, left: Span, right: Span) -> Iterator[Step]:
    """Replace a stretch; blanks at its ends stay where both have them."""
    one, two = a[left.start : left.end], b[right.start : right.end]
    head = _common(one, two)
    tail = _common(one[head:][::-1], two[head:][::-1])
    yield Step(Operation.KEPT, Span(left.start, left.start + head), Span(right.start, right.start + head))
    yield from _exchange(Span(left.start + head, left.end - tail), Span(right.start + head, right.end - tail))
    yield Step(Operation.KEPT, Span(left.end - tail, left.end), Span(right.end - tail, right.end))


def _common(one: str, two: str) -> int:
    """Count the blanks that both begin with."""
    count = 0
    for x, y in zip(one, two, strict=False):
        if x != y or not x.isspace() or _END.match(x):
            break
        count += 1
    return count


def _exchange(left: Span, right: Span) -> Iterator[Step]:
    yield Step(Operation.DELETED, left, Span(right.start, right.start))
    yield Step(Operation.INSERTED, Span(left.end, left.end), right)


def _joined(steps: Iterable[Step]) -> Iterator[Step]:
    """Join neighbouring steps of one kind, and drop empty ones."""
    last: Step | None = None
    for step in steps:
        if not len(step.a) and not len(step.b):
            continue
        if last is not None and last.operation is step.operation:
            last = Step(step.operation, Span(last.a.start, step.a.end), Span(last.b.start, step.b.end))
            continue
        if last is not None:
            yield last
        last = step
    if last is not None:
        yield last


@dataclass(frozen=True, slots=True)
class TrackedText:
    """Two documents merged to one text.

    Attributes:
        steps: hold every character of both, in order.
    """

    a: Flow
    b: Flow
    steps: tuple[Step, ...]

    def spans(self, pair: PassagePair) -> tuple[Span | None, Span | None]:
        """Find the characters of a pair in each flow; None for a side without passages."""
        return self.a.whole(pair.a) if pair.a else None, self.b.whole(pair.b) if pair.b else None

    def edit(self, pair: PassagePair, edit: Edit) -> tuple[Span, Span]:
        """Find the characters of an edit in each flow."""
        return self.a.inside(pair.a, edit.a), self.b.inside(pair.b, edit.b)


def tracked_text(
    a: Document, b: Document, alignment: Alignment, ignore: IgnoreOptions = NOTHING_IGNORED
) -> TrackedText:
    """Merge two documents by their passages."""
    flows = (Flow.of(a), Flow.of(b))
    return merge(*flows, anchors(a, b, alignment, flows, ignore), ignore)


def anchors(
    a: Document, b: Document, alignment: Alignment, flows: tuple[Flow, Flow], ignore: IgnoreOptions = NOTHING_IGNORED
) -> list[Anchor]:
    """Find the stretches of two documents that stay in place: passages that did not move, and their headings."""
    kept = (pair for pair in alignment.pairs if pair.state in (State.SAME, State.EDITED))
    ordered: list[Anchor] = []
    for anchor in sorted((_of_pair(pair, flows) for pair in kept), key=lambda anchor: anchor.a.start):
        if _fits(ordered[-1:], anchor, []):
            ordered.append(anchor)
    for change in section_changes(alignment, a, b, ignore):
        if not change.a or not change.b:
            continue
        sections = (a.sections[change.a[0]], b.sections[change.b[0]])
        if all(section.heading for section in sections):
            anchor = _of_headings(sections, flows, ignore)
            index = bisect_right(ordered, anchor.a.start, key=lambda other: other.a.start)
            if _fits(ordered[max(0, index - 1) : index], anchor, ordered[index : index + 1]):
                ordered.insert(index, anchor)
    return ordered


def _fits(before: Sequence[Anchor], anchor: Anchor, after: Sequence[Anchor]) -> bool:
    neighbours = [*((other, anchor) for other in before), *((anchor, other) for other in after)]
    return all(one.a.end <= two.a.start and one.b.end <= two.b.start for one, two in neighbours)


def _of_pair(pair: PassagePair, flows: tuple[Flow, Flow]) -> Anchor:
    a, b = flows
    edits = (Edit(a.inside(pair.a, edit.a), b.inside(pair.b, edit.b)) for edit in pair.edits)
    return Anchor(a.whole(pair.a), b.whole(pair.b), tuple(edits))


def _of_headings(sections: Sequence[Section], flows: tuple[Flow, Flow], ignore: IgnoreOptions) -> Anchor:
    starts = [flow.place(section.span.start) for flow, section in zip(flows, sections, strict=True)]
    a, b = (
        Span(start, _first_end(flow.text, Span(start, len(flow.text))))
        for flow, start in zip(flows, starts, strict=True)
    )
    edits = redline(flows[0].text[a.start : a.end], flows[1].text[b.start : b.end], ignore=ignore)
    return Anchor(a, b, tuple(Edit(edit.a.shifted(a.start), edit.b.shifted(b.start)) for edit in edits))
