"""Write changes into one paragraph of a Word file: its runs are cut at the edits and keep their properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from colde_cli.similarity.redline import Operation
from colde_cli.views.word.markup import Element, Marker, drop_changes
from colde_cli.views.word.source import Letter, NotKept, letters, places, runs_of

if TYPE_CHECKING:
    from colde_cli.views.word.paragraphs import Stretch

_END = "end"
"""The name of an element that marks the end of a new paragraph, until the content before it is moved there."""
_DELETED_NAMES = {qn("w:t"): qn("w:delText"), qn("w:instrText"): qn("w:delInstrText")}
_RunSpan = tuple[Element, int, int]
_FIELD = (qn("w:fldChar"), qn("w:instrText"))


class ParagraphEdits:
    """Changes of one paragraph, from its beginning to its end.

    Args:
        paragraph: to change.
        start: offset of its text in the flow of A.
        marker: makes the marks of changes.
    """

    def __init__(self, paragraph: Element, start: int, marker: Marker) -> None:
        self.paragraph, self._start, self._marker = paragraph, start, marker
        self._letters, self._places = places(paragraph)
        self._in_fields = set(_runs_in_fields(paragraph))
        self._done = 0  # letters
        self._deleted: list[tuple[int, int, Stretch]] = []
        self._inserted: list[tuple[int, Stretch | None]] = []

    def add(self, stretch: Stretch) -> None:
        """Keep, delete or insert the next stretch."""
        if stretch.operation is Operation.INSERTED:
            self._inserted.append((self._done, stretch))
            return
        first, last = stretch.a.start - self._start, stretch.a.end - self._start
        end = self._places[last - 1] + 1
        if stretch.operation is Operation.DELETED:
            begin = self._places[first]
            if self._letters[end - 1].sign == " " and last < len(self._places):
                end = self._places[last]  # further blanks are read as one
            self._deleted.append((begin, end, stretch))
        self._done = end

    def end(self) -> None:
        """End a paragraph here: what comes before goes to a new one."""
        self._inserted.append((self._done, None))

    def write(self, *, whole: bool) -> list[Element]:
        """Write the changes; return the new paragraphs before this one.

        Args:
            whole: delete what is no text, too.

        Raises:
            NotKept: an end is inside a link or another element.
        """
        cuts = {place for begin, end, _ in self._deleted for place in (begin, end)}
        cuts |= {place for place, _ in self._inserted}
        for place in sorted(cuts, reverse=True):
            _cut(self._letters, place)
        spans = self._spans()
        self._insert(spans)
        for begin, end, stretch in self._deleted:
            self._delete(begin, end, stretch, spans, whole=whole)
        return list(self._new_paragraphs())

    def _spans(self) -> list[_RunSpan]:
        """List the runs, each with its first letter and the one after its last."""
        counts = Counter(letter.run for letter in letters(self.paragraph))
        spans, place = [], 0
        for run in runs_of(self.paragraph):
            spans.append((run, place, place + counts[run]))
            place += counts[run]
        return spans

    def _insert(self, spans: Sequence[_RunSpan]) -> None:
        last: dict[int, Element] = {}
        for place, stretch in self._inserted:
            before = next((run for run, start, end in reversed(spans) if start < end <= place), None)
            after = next((run for run, start, end in spans if end > start >= place), None)
            anchor = last.get(place)
            made = self._made(stretch, before, after)
            if anchor is not None:
                anchor.addnext(made)
            elif before is not None and not self._leaves(before, after):
                before.addnext(made)
            elif before is not None:
                self._top(before).addnext(made)
            elif after is not None:
                self._top(after).addprevious(made)
            else:
                self.paragraph.append(made)
            last[place] = made

    def _made(self, stretch: Stretch | None, before: Element | None, after: Element | None) -> Element:
        if stretch is None:
            return OxmlElement(f"w:{_END}")
        like = before if before is not None and before.getparent() is self.paragraph else after
        like = before if like is None else like
        properties = None if like is None else like.find(qn("w:rPr"))
        return self._marker.marked(stretch, properties)[0]

    def _leaves(self, before: Element, after: Element | None) -> bool:
        """Whether a link or another element ends between two runs."""
        parent = before.getparent()
        return parent is not self.paragraph and (after is None or after.getparent() is not parent)

    def _top(self, run: Element) -> Element:
        while run.getparent() is not self.paragraph:
            run = run.getparent()
        return run

    def _delete(
        self, begin: int, end: int, stretch: Stretch, spans: Sequence[_RunSpan], *, whole: bool
    ) -> None:
        inside = [
            run
            for run, i, j in spans
            if run.getparent().tag != qn("w:del")
            and (begin <= i < j <= end or (i == j and (begin < i < end or whole)))
        ]
        whole_fields = _without_open_fields(inside)
        if any(run in self._in_fields for run in inside) and not _fields_of(whole_fields):
            self._marker.in_fields += 1
        for group in _neighbours(whole_fields):
            mark = self._marker.around(stretch)
            group[0].addprevious(mark)
            mark.extend(group)
            for name, deleted in _DELETED_NAMES.items():
                for element in list(mark.iter(name)):
                    element.tag = deleted

    def _new_paragraphs(self) -> Iterator[Element]:
        for end in list(self.paragraph.iter(qn(f"w:{_END}"))):
            if end.getparent() is not self.paragraph:
                raise NotKept("a paragraph was divided inside a link or a content control")
            made = OxmlElement("w:p")
            made.extend(copied_properties(self.paragraph))
            content = list(self.paragraph)
            made.extend(child for child in content[: content.index(end)] if child.tag != qn("w:pPr"))
            self.paragraph.remove(end)
            self._marker.end(made, Operation.INSERTED)
            yield made


def copied_properties(paragraph: Element) -> list[Element]:
    """Copy the `w:pPr` of a paragraph for a new one, without section and marks."""
    properties = paragraph.find(qn("w:pPr"))
    if properties is None:
        return []
    copy = deepcopy(properties)
    for name in ("w:sectPr", "w:pPrChange", "w:framePr", "w:pageBreakBefore"):
        for child in copy.findall(qn(name)):
            copy.remove(child)
    for marks in copy.findall(qn("w:rPr")):
        drop_changes(marks)
    return [copy]


def _cut(found: Sequence[Letter], place: int) -> None:
    """Cut the run at a letter, unless a run begins there."""
    if not 0 < place < len(found) or found[place - 1].run is not found[place].run:
        return
    letter = found[place]
    run, child = letter.run, letter.child
    if letter.offset:
        rest = deepcopy(child)
        child.text, rest.text = child.text[: letter.offset], child.text[letter.offset :]
        for part in (child, rest):
            part.set(qn("xml:space"), "preserve")
        child.addnext(rest)
        child = rest
    made = OxmlElement("w:r")
    if (properties := run.find(qn("w:rPr"))) is not None:
        made.append(deepcopy(properties))
    children = list(run)
    made.extend(children[children.index(child) :])
    run.addnext(made)


def _fields_of(runs: Sequence[Element]) -> list[str]:
    """List the marks of fields in order: `begin`, `separate`, `end`."""
    return [mark.get(qn("w:fldCharType"), "") for run in runs for mark in run.iter(qn("w:fldChar"))]


def _runs_in_fields(paragraph: Element) -> Iterator[Element]:
    """Yield the runs of the results of fields, which Word calculates."""
    open_fields = 0
    for run in runs_of(paragraph):
        kinds = _fields_of([run])
        open_fields += kinds.count("begin") - kinds.count("end")
        if open_fields > 0 or next(run.iterancestors(qn("w:fldSimple")), None) is not None:
            yield run


def _without_open_fields(runs: Sequence[Element]) -> list[Element]:
    """Leave out the marks of fields if not all of a field is among the runs."""
    kinds = _fields_of(runs)
    if kinds.count("begin") == kinds.count("end") and kinds[:1] in ([], ["begin"]):
        return list(runs)
    return [run for run in runs if next(run.iter(*_FIELD), None) is None]


def _neighbours(runs: Sequence[Element]) -> Iterator[list[Element]]:
    """Group the runs that follow each other directly."""
    group: list[Element] = []
    for run in runs:
        if group and group[-1].getnext() is not run:
            yield group
            group = []
        group.append(run)
    if group:
        yield group
