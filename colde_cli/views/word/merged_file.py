"""Write a document with the edits of several reviewers as a Word file: changes by author, conflicts as comments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING

import docx
from docx.oxml.ns import qn

from colde_cli.documents.document import Span
from colde_cli.similarity.alignment import align
from colde_cli.similarity.merging import Merge, shown
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import BREAK, Flow
from colde_cli.views.changes import TITLE, outside_rows, row_line
from colde_cli.views.word.earlier import number_of
from colde_cli.views.word.markup import CHANGE, Element, Marker
from colde_cli.views.word.paragraphs import Remark
from colde_cli.views.word.tracked_file import (
    COLDE,
    Authorship,
    WordRedline,
    kept_or_why,
    new_file,
    packed,
    read_resolved,
)
from colde_cli.views.word.whole_file import WholeFile, write_changes
from colde_cli.views.word.word_source import NotKept
from colde_cli.views.wording import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SHOWN = 300
_OTHER = {qn("w:ins"): qn("w:del"), qn("w:del"): qn("w:ins")}


@dataclass(slots=True)
class _AuthorMarker(Marker):
    """Marks each change with the author of the remark about it that says nothing else.

    Attributes:
        authors: by the index of such a remark.
    """

    authors: dict[int, str] = field(default_factory=dict)

    def around(self, operation: Operation, remarks: Sequence[int] = ()) -> Element:
        """Make a `w:ins` or `w:del` of an author."""
        made = super(_AuthorMarker, self).around(operation, [one for one in remarks if one not in self.authors])
        author = next((self.authors[one] for one in remarks if one in self.authors), "")
        made.set(qn("w:author"), author)
        return made


def author_names(names: Sequence[str], reviewers: Sequence[int]) -> str:
    """The author of edits that several reviewers made: "Ann & Bob"."""
    return " & ".join(names[place] for place in reviewers)


def merge_docx(merge: Merge, authorship: Authorship = COLDE) -> WordRedline:
    """Write the edits of all reviewers into the base if that is a Word file, else into a new one.

    Each change has its reviewer as author, or several reviewers who made the same one. Of a conflict all versions are
    there, with a comment. Accepting the changes of one reviewer, also those made with others, and rejecting the rest
    gives that reviewer's document. Of `authorship` the date counts, and what becomes of earlier changes of the base.
    """
    changes = [(step, who) for step, who in zip(merge.text.steps, merge.authors, strict=True) if who]
    authored = [Remark("", step.a if len(step.a) else None, step.b if len(step.b) else None) for step, _ in changes]
    authors = {number: author_names(merge.names, who) for number, (_, who) in enumerate(changes)}
    notes = [*authored, *_conflicts(merge)]
    beside = list(_beside(merge))
    first = authorship.marker()

    def marker() -> _AuthorMarker:
        return _AuthorMarker(first.date, first.author, first.keeps, authors=authors)

    told = tuple(beside)
    written = kept_or_why(merge.base, lambda: WordRedline(_with_layout(merge, notes, marker(), beside), told))
    if isinstance(written, WordRedline):
        return written
    made = marker()
    file = new_file(merge.text, notes, made, (merge.base.title, merge.base.title))
    made.finish(file, notes, beside)
    _complete_authors(file.element.body, merge, made)
    return WordRedline(packed(file), told + written)


def _conflicts(merge: Merge) -> Iterator[Remark]:
    """A comment on each conflict."""
    for conflict in merge.conflicts:
        was = shorten(shown(merge.text.a.text[conflict.start : conflict.end]), _SHOWN)
        told = [
            f"{merge.names[who]}: {shorten(shown(text), _SHOWN) if text.strip() else '(deleted)'}"
            for who, text in conflict.wants
        ]
        said = f"Conflict. Base: {was or '(nothing)'} · {' · '.join(told)}"
        deleted = Span(conflict.start, conflict.end) if conflict.start < conflict.end else None
        yield Remark(said, deleted, conflict.merged if len(conflict.merged) else None)


def _beside(merge: Merge) -> Iterator[str]:
    """What the reviewers changed beside the text, which is not carried over."""
    for name, comparison in zip(merge.names, merge.comparisons, strict=True):
        for row in outside_rows(comparison.outside):
            yield f"{TITLE}, {name}, not merged: {row_line(row)}."


def _with_layout(merge: Merge, notes: Sequence[Remark], marker: Marker, beside: Sequence[str]) -> bytes:
    """Write the edits into the file of the base.

    Raises:
        NotKept: that cannot be done without loss.
    """
    flows = Flow.of(merge.base), Flow.of(merge.merged)
    if (flows[0].text, flows[1].text) != (merge.text.a.text, merge.text.b.text):
        raise NotKept("a paragraph is left without words")
    alignment = align(merge.base, merge.merged, None)
    text = replace(merge.text, b=flows[1])
    kept = write_changes(merge.base, merge.merged, alignment, notes, flows, marker, text=text)
    marker.finish(kept.file, notes, [*beside, *kept.beside])
    _complete_authors(kept.file.element.body, merge, marker)
    content = packed(kept.file)
    wrong = kept.inexact(content)
    if wrong is None or any(wrong):
        raise NotKept("its text would not be exact")
    for place, name in enumerate(merge.names):
        wanted = [" ".join(text.split()) for text in merge.text_of(place).split(BREAK) if text.strip()]
        if [" ".join(text.split()) for text in read_reviewer(content, merge.names, place, kept.since)] != wanted:
            raise NotKept(f"the text of {name} would not be exact")
    return content


def _complete_authors(body: Element, merge: Merge, marker: Marker) -> None:
    """Give the changes of ends of paragraphs their authors, and those of rows and properties that of words beside."""
    for name, operation in ((qn(name), operation) for operation, name in CHANGE.items()):
        ends = [
            mark
            for marks in body.iter(qn("w:rPr"))
            if marks.getparent().tag == qn("w:pPr")
            for mark in marks.findall(name)
            if marker.is_own(mark)
        ]
        a, b = merge.text.a.text, merge.text.b.text
        authors = [
            author_names(merge.names, who)
            for step, who in zip(merge.text.steps, merge.authors, strict=True)
            if step.operation is operation
            for _ in range(a.count(BREAK, step.a.start, step.a.end) + b.count(BREAK, step.b.start, step.b.end))
        ]
        if len(ends) == len(authors):
            for mark, author in zip(ends, authors, strict=True):
                mark.set(qn("w:author"), author)
    before, waiting = "", list[Element]()
    for mark in filter(marker.is_own, body.iter(*_OTHER, qn("w:pPrChange"), qn("w:rPrChange"))):
        author = mark.get(qn("w:author"))
        if author not in ("", marker.author):
            before = author
            for one in waiting:
                one.set(qn("w:author"), author)
            waiting = []
        elif before:
            mark.set(qn("w:author"), before)
        else:
            waiting.append(mark)


def read_reviewer(content: bytes, names: Sequence[str], reviewer: int, since: int | None = None) -> list[str]:
    """Read the headings and paragraphs of a merged file with the changes of one reviewer accepted, and no others.

    Earlier changes of the base, up to the number `since`, are accepted.
    """
    file = docx.Document(BytesIO(content))
    for root in WholeFile.of(file).roots():
        for mark in list(root.iter(*_OTHER)):
            who = set(mark.get(qn("w:author"), "").split(" & "))
            own = since is None or number_of(mark) > since
            if own and names[reviewer] not in who and not who.isdisjoint(names):
                mark.tag = _OTHER[mark.tag]  # to reject a change is to accept the opposite one
    return read_resolved(packed(file), accept=True)
