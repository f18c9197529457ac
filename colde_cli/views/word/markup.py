"""The XML of tracked changes (ECMA-376 part 1, § 17.13): write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from colde_cli.similarity.redline import Operation

if TYPE_CHECKING:
    from docx.document import Document

    from colde_cli.views.word.paragraphs import Remark, Stretch

AUTHOR = "colde"
Element = Any
"""An element of lxml."""
_APART = 5
"""Minutes between two dates; LibreOffice takes up to one for the same time."""
CHANGE = {Operation.DELETED: "w:del", Operation.INSERTED: "w:ins"}
DELETED_NAMES = {qn("w:t"): qn("w:delText"), qn("w:instrText"): qn("w:delInstrText")}
# XML 1.0 has no place for these.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_PARTS = re.compile(r"[\t\n\r]|[^\t\n\r]+")


@dataclass(slots=True)
class Marker:
    """Makes marked elements, each with a number of its own.

    Attributes:
        date: of the changes, in UTC.
        author: of the changes and of comments.
        places: the marked elements that each remark is about, by its index, in order.
        number: of the last element.
        keeps: earlier tracked changes of A stay, marked as they are.
        since: number of the last of them; None where there are none.
        formatted: changes of formatting.
    """

    date: datetime
    author: str = AUTHOR
    keeps: bool = True
    since: int | None = None
    formatted: int = 0
    places: dict[int, list[Element]] = field(default_factory=dict)
    number: int = 1000

    def begin_after(self, number: int | None) -> None:
        """Number the changes after earlier ones."""
        self.since = number
        self.number = max(self.number, number or 0)

    def is_own(self, mark: Element) -> bool:
        """Whether a mark is none of earlier changes."""
        return self.since is None or int(mark.get(qn("w:id"), "0")) > self.since

    def element(self, name: str) -> Element:
        """Make an element that carries number, author and date: `w:ins`, `w:del`, `w:pPrChange`."""
        self.number += 1
        return build(name, id=self.number, author=self.author, date=_written(self.date))

    def marked(self, stretch: Stretch, properties: Element | None = None) -> list[Element]:
        """Make the runs of a stretch with `w:rPr` properties, in `w:ins` or `w:del` if it changed."""
        made = list(runs(stretch.text, stretch.operation, properties))
        if stretch.operation is not Operation.KEPT:
            mark = self.around(stretch.operation, stretch.remarks)
            mark.extend(made)
            return [mark]
        return made

    def around(self, operation: Operation, remarks: Sequence[int] = ()) -> Element:
        """Make a `w:ins` or `w:del` that remarks are about, for runs to be moved into."""
        made = self.element(CHANGE[operation])
        for remark in remarks:
            self.places.setdefault(remark, []).append(made)
        return made

    def end(self, paragraph: Element, operation: Operation) -> None:
        """Mark the end of a paragraph as deleted or inserted."""
        properties = child(paragraph, "w:pPr", first=True)
        marks = properties.find(qn("w:rPr"))
        if marks is None:
            marks = OxmlElement("w:rPr")
            # Only these follow it.
            later = [properties.find(qn(name)) for name in ("w:sectPr", "w:pPrChange")]
            before = next((item for item in later if item is not None), None)
            properties.append(marks) if before is None else before.addprevious(marks)
        earlier = [mark for mark in marks if mark.tag == qn("w:ins")]
        marks.insert(len(earlier), self.element(CHANGE[operation]))

    def changed_style(self, paragraph: Element, old: Element) -> None:
        """Record the properties that a paragraph had in A, unless an earlier record says what it had before."""
        if paragraph.find(f"{qn('w:pPr')}/{qn('w:pPrChange')}") is not None:
            return
        self.formatted += 1
        change = self.element("w:pPrChange")
        change.append(old)
        child(paragraph, "w:pPr", first=True).append(change)

    def finish(self, document: Document, notes: Sequence[Remark], beside: Sequence[str]) -> None:
        """Add the remarks as comments, each on the elements that it is about, and part the dates of changes.

        Sentences `beside` are about no words of the body: they are comments at its first paragraph.
        """
        # The part's own way to add one searches all the others.
        part = document.part._comments_part.element
        first = max((int(comment.get(qn("w:id"), "0")) for comment in part), default=-1) + 1
        body = document.element.body
        order = {element: place for place, element in enumerate(body.iter(*map(qn, CHANGE.values()), qn("w:r")))}
        for number, (remark, marked) in enumerate(sorted(self.places.items()), first):
            elements = sorted(marked, key=order.__getitem__)
            part.append(self._comment(notes[remark].text, number))
            elements[0].addprevious(build("w:commentRangeStart", id=number))
            end = build("w:commentRangeEnd", id=number)
            elements[-1].addnext(end)
            end.addnext(self._reference(elements[-1], number))
        paragraph: Element = next(body.iter(qn("w:p")), None)
        sentences = () if paragraph is None else beside
        for number, sentence in enumerate(sentences, first + len(self.places)):
            part.append(self._comment(sentence, number))
            paragraph.append(build("w:commentRangeStart", id=number))
            paragraph.append(build("w:commentRangeEnd", id=number))
            paragraph.append(self._reference(paragraph, number))
        self.part_dates(body)

    def _comment(self, text: str, number: int) -> Element:
        paragraph = build("w:p", *runs(text, Operation.KEPT))
        date = _written(self.date)
        return build("w:comment", paragraph, id=number, author=self.author, initials=self.author[:1], date=date)

    def part_dates(self, body: Element) -> None:
        """Give the changes on either side of the end of a paragraph that stays two different dates.

        LibreOffice joins a change at the end of a paragraph with one of the same date at the beginning of the next, and
        with both it would reject the end of the paragraph between them.
        """
        dates = [_written(self.date - timedelta(minutes=minutes)) for minutes in (0, _APART)]
        for paragraph in body.iter(qn("w:p")):
            changes = [mark for mark in paragraph.iter(*map(qn, CHANGE.values())) if self.is_own(mark)]
            for change in changes:
                change.set(qn("w:date"), dates[0])
            if changes and self._end_of(paragraph) is None:
                dates.reverse()

    def _reference(self, changed: Element, number: int) -> Element:
        """Make the run that holds a comment; it comes and goes with a paragraph that comes or goes."""
        run = build("w:r", build("w:commentReference", id=number))
        paragraph = changed if changed.tag == qn("w:p") else next(changed.iterancestors(qn("w:p")))
        name = self._end_of(paragraph)
        if name is None:
            return run
        made = self.element(name)
        made.append(run)
        return made

    def _end_of(self, paragraph: Element) -> str | None:
        """Return `w:ins` or `w:del` if the end of a paragraph came or went."""
        marks = paragraph.find(f"{qn('w:pPr')}/{qn('w:rPr')}")
        own = [] if marks is None else [mark.tag for mark in marks if self.is_own(mark)]
        return next((name for name in CHANGE.values() if qn(name) in own), None)


def build(name: str, /, *content: Element, **values: object) -> Element:
    """Make an element with content and attributes: `build("w:pStyle", val="Title")`."""
    made = OxmlElement(name)
    for attribute, value in values.items():
        made.set(qn(f"w:{attribute}"), str(value))
    made.extend(content)
    return made


def child(parent: Element, name: str, *, first: bool = False) -> Element:
    """Find a child by its name, or make it."""
    found = parent.find(qn(name))
    if found is None:
        found = OxmlElement(name)
        parent.insert(0, found) if first else parent.append(found)
    return found


def set_style(properties: Element, style: str) -> None:
    """Give the `w:pPr` of a paragraph a style; "" removes it."""
    for old in properties.findall(qn("w:pStyle")):
        properties.remove(old)
    if style:
        properties.insert(0, build("w:pStyle", val=style))


def drop_changes(properties: Element) -> None:
    """Remove the marks that say that what has these properties was deleted or inserted."""
    for name in CHANGE.values():
        for mark in properties.findall(qn(name)):
            properties.remove(mark)


def runs(text: str, operation: Operation, properties: Element | None = None) -> Iterator[Element]:
    """Make the run of a text: line breaks and tabs become elements of their own."""
    if not text:
        return
    run = OxmlElement("w:r")
    if properties is not None:
        run.append(deepcopy(properties))
        for record in run[0].findall(qn("w:rPrChange")):  # of an earlier change to the run that it is like
            run[0].remove(record)
    name = "w:delText" if operation is Operation.DELETED else "w:t"
    for part in _PARTS.findall(text):
        if part.isspace() and part in "\t\n\r":
            run.append(OxmlElement("w:tab" if part == "\t" else "w:br"))
            continue
        made = OxmlElement(name)
        made.text = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", part)
        made.set(qn("xml:space"), "preserve")
        run.append(made)
    yield run


def _written(date: datetime) -> str:
    """A date as `2026-01-31T12:00:00Z`."""
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")
