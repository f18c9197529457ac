"""Cut merged text into the paragraphs of a Word file, with remarks on its changes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from colde_cli.documents.document import Span
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import Flow, Step, TrackedText
from colde_cli.views.changes import flags_of_edit
from colde_cli.views.wording import page_range, plural, section_name, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.mentions import Flag
    from colde_cli.similarity.pairs import Alignment, PassagePair

_NO_REMARKS: Mapping[int, Remark] = MappingProxyType({})
_HEADING, _FLAGGED = 80, 120  # characters shown at most


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a change.

    Attributes:
        a: the deleted characters it is about, in the flow of A; None for none.
        b: the inserted characters, in the flow of B; None for none.
    """

    text: str
    a: Span | None
    b: Span | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of one paragraph.

    Attributes:
        a: its characters in the flow of A; empty for an insertion.
        b: its characters in the flow of B; empty for a deletion.
        text: of B where the piece is kept.
        remarks: indices of the remarks about it.
    """

    operation: Operation
    a: Span
    b: Span
    text: str
    remarks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TrackedParagraph:
    """A paragraph with its changes.

    Attributes:
        end: what became of its end: deleted and inserted paragraphs lose or gain it, too.
        a: index of the block of A that ends here; None for an inserted end.
        b: index of the block of B that ends here; None for a deleted end.
    """

    stretches: tuple[Stretch, ...]
    end: Operation
    a: int | None
    b: int | None


def remarks(a: Document, b: Document, alignment: Alignment, text: TrackedText) -> tuple[Remark, ...]:
    """Write a remark on every passage that moved and on every flagged edit, in the order of A."""
    found: list[Remark] = []
    for pair in alignment.pairs:
        if pair.state is State.MOVED:
            found += _moved(a, b, text, pair)
        found += _flagged(text, pair)
    return tuple(found)


def _moved(a: Document, b: Document, text: TrackedText, pair: PassagePair) -> Iterator[Remark]:
    left, right = text.spans(pair)
    edits = f" It also has {plural(len(pair.edits), 'edit')}." if pair.edits else ""
    yield Remark(f"Moved to {_place(b, pair.b)}.{edits}", left, None)
    yield Remark(f"Moved here from {_place(a, pair.a)}.{edits}", None, right)


def _place(document: Document, passages: Sequence[Passage]) -> str:
    """`the section "3 Duties, clause 3.2", p. 4`."""
    name = section_name(document, passages, _HEADING)
    name = f"the section “{name}”" if document.sections[passages[0].section].heading else name
    return ", ".join(part for part in (name, page_range(passages[0].pages)) if part)


def _flagged(text: TrackedText, pair: PassagePair) -> Iterator[Remark]:
    """One remark for each edit with flags; of a passage that moved or that one document has, one for all."""
    if not pair.edits or pair.state is State.MOVED:
        a, b = text.spans(pair)
        groups = [(pair.flags, (None if pair.state is State.MOVED else a, b))]
    else:
        groups = [(tuple(flags_of_edit(pair, edit)), text.edit(pair, edit)) for edit in pair.edits]
    for flags, spans in groups:
        if flags:
            yield Remark(" ".join(dict.fromkeys(map(flag_sentence, flags))), *spans)


def flag_sentence(flag: Flag) -> str:
    """Write `An amount changed: “25” became “35”.` or `A date was removed: “May 3”.`."""
    kind, a, b = flag.kind.subject, shorten(flag.a, _FLAGGED), shorten(flag.b, _FLAGGED)
    if a and b:
        return f"{kind} changed: “{a}” became “{b}”."
    return f"{kind} was added: “{b}”." if b else f"{kind} was removed: “{a}”."


def paragraphs(text: TrackedText, notes: Mapping[int, Remark] = _NO_REMARKS) -> tuple[TrackedParagraph, ...]:
    """Cut merged text after every end of a paragraph, and at the ends of the text that a remark is about.

    The remarks come by their numbers.
    """
    a, b = text.a, text.b
    about_a = _RemarkIndex((number, note.a) for number, note in notes.items())
    about_b = _RemarkIndex((number, note.b) for number, note in notes.items())
    gathered: list[Stretch] = []
    cut: list[TrackedParagraph] = []
    for step in text.steps:
        for left, right, ends in _lines(a, b, step):
            if ends:
                block_a = a.block_at(left.start) if len(left) else None
                block_b = b.block_at(right.start) if len(right) else None
                cut.append(TrackedParagraph(tuple(gathered), step.operation, block_a, block_b))
                gathered = []
            elif step.operation is Operation.KEPT:
                gathered.append(Stretch(step.operation, left, right, b.text[right.start : right.end]))
            elif step.operation is Operation.DELETED:
                here = Span(right.start, right.start)
                gathered += [
                    Stretch(step.operation, piece, here, a.text[piece.start : piece.end], numbers)
                    for piece, numbers in about_a.pieces(left)
                ]
            else:
                here = Span(left.start, left.start)
                gathered += [
                    Stretch(step.operation, here, piece, b.text[piece.start : piece.end], numbers)
                    for piece, numbers in about_b.pieces(right)
                ]
    return tuple(cut)


def _lines(a: Flow, b: Flow, step: Step) -> Iterator[tuple[Span, Span, bool]]:
    """Cut a step at the ends of paragraphs; also yield whether a part is such an end."""
    flow, span = (a, step.a) if len(step.a) else (b, step.b)
    done_a, done_b = step.a.start, step.b.start
    for _ in flow.ends(span):
        end_a = next(a.ends(Span(done_a, step.a.end)), done_a)
        end_b = next(b.ends(Span(done_b, step.b.end)), done_b)
        if end_a > done_a or end_b > done_b:
            yield Span(done_a, end_a), Span(done_b, end_b), False
        done_a, done_b = end_a + (len(step.a) > 0), end_b + (len(step.b) > 0)
        yield Span(end_a, done_a), Span(end_b, done_b), True
    if done_a < step.a.end or done_b < step.b.end:
        yield Span(done_a, step.a.end), Span(done_b, step.b.end), False


class _RemarkIndex:
    """Finds the remarks about a stretch."""

    def __init__(self, spans: Iterable[tuple[int, Span | None]]) -> None:
        self._spans = sorted(
            ((number, span) for number, span in spans if span is not None and len(span)),
            key=lambda item: (item[1].start, item[0]),
        )
        self._reach = list(accumulate((span.end for _, span in self._spans), max))
        self._cuts = sorted({end for _, span in self._spans for end in (span.start, span.end)})

    def pieces(self, span: Span) -> Iterator[tuple[Span, tuple[int, ...]]]:
        """Cut a stretch where the text of a remark begins or ends, and name the remarks about each piece."""
        first, last = bisect_right(self._cuts, span.start), bisect_left(self._cuts, span.end)
        for start, end in pairwise([span.start, *self._cuts[first:last], span.end]):
            piece = Span(start, end)
            yield piece, self._about(piece)

    def _about(self, span: Span) -> tuple[int, ...]:
        first = bisect_right(self._reach, span.start)
        last = bisect_left(self._spans, span.end, key=lambda item: item[1].start)
        return tuple(number for number, other in self._spans[first:last] if other.end > span.start)
