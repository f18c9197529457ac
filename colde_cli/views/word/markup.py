"""The XML of tracked changes (ECMA-376 part 1, § 17.13): runs, ends of paragraphs, comments."""

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
# XML 1.0 has no place for these.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_PARTS = re.compile(r"[\t\n\r]|[^\t\n\r]+")


@dataclass(slots=True)
class Marker:
    """Makes marked elements, each with a number of its own.

    Attributes:
        date: of the changes, in UTC.
        places: the marked elements that each remark is about, by its index, in order.
        in_fields: changes inside a field that stays, such as a page number or a reference.
        number: of the last element.
    """

    date: datetime
    places: dict[int, list[Element]] = field(default_factory=dict)
    in_fields: int = 0
    number: int = 1000

    def element(self, name: str) -> Element:
        """Make an element that carries number, author and date: `w:ins`, `w:del`, `w:pPrChange`."""
        made = OxmlElement(name)
        self.number += 1
        date = _written(self.date)
        for attribute, value in (("w:id", str(self.number)), ("w:author", AUTHOR), ("w:date", date)):
            made.set(qn(attribute), value)
        return made

    def marked(self, stretch: Stretch, properties: Element | None = None) -> list[Element]:
        """Make the runs of a stretch, in `w:ins` or `w:del` if it changed.

        Args:
            stretch: of a paragraph.
            properties: a `w:rPr` for the runs.
        """
        made = list(runs(stretch.text, stretch.operation, properties))
        return made if stretch.operation is Operation.KEPT else [self.around(stretch, *made)]

    def around(self, stretch: Stretch, *children: Element) -> Element:
        """Wrap the runs of a stretch into `w:ins` or `w:del`."""
        made = self.element(CHANGE[stretch.operation])
        made.extend(children)
        for remark in stretch.remarks:
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
        marks.insert(0, self.element(CHANGE[operation]))

    def changed_style(self, paragraph: Element, old: Element) -> None:
        """Record the properties that a paragraph had in A."""
        change = self.element("w:pPrChange")
        change.append(old)
        child(paragraph, "w:pPr", first=True).append(change)

    def comments(self, document: Document, notes: Sequence[Remark]) -> None:
        """Add the remarks as comments, each on the elements that it is about."""
        # The part's own way to add one searches all the others.
        part = document.part._comments_part.element
        last = max((int(comment.get(qn("w:id"), "0")) for comment in part), default=-1)
        for number, (remark, elements) in enumerate(sorted(self.places.items()), last + 1):
            part.append(self._comment(notes[remark].text, number))
            elements[0].addprevious(_comment_mark("w:commentRangeStart", number))
            end = _comment_mark("w:commentRangeEnd", number)
            elements[-1].addnext(end)
            end.addnext(self._reference(elements[-1], number))

    def _comment(self, text: str, number: int) -> Element:
        comment, paragraph = OxmlElement("w:comment"), OxmlElement("w:p")
        values = {"id": str(number), "author": AUTHOR, "initials": "c", "date": _written(self.date)}
        for name, value in values.items():
            comment.set(qn(f"w:{name}"), value)
        paragraph.extend(runs(text, Operation.KEPT))
        comment.append(paragraph)
        return comment

    def part_dates(self, body: Element) -> None:
        """Give the changes on either side of the end of a paragraph that stays two different dates.

        LibreOffice joins a change at the end of a paragraph with one of the same date at the beginning of the next, and
        with both it would reject the end of the paragraph between them.
        """
        dates = [_written(self.date - timedelta(minutes=minutes)) for minutes in (0, _APART)]
        for paragraph in body.iter(qn("w:p")):
            changes = list(paragraph.iter(*map(qn, CHANGE.values())))
            for change in changes:
                change.set(qn("w:date"), dates[0])
            if changes and self._end_of(paragraph) is None:
                dates.reverse()

    def _reference(self, changed: Element, number: int) -> Element:
        """Make the run that holds a comment; it comes and goes with a paragraph that comes or goes."""
        run = OxmlElement("w:r")
        run.append(_comment_mark("w:commentReference", number))
        name = self._end_of(next(changed.iterancestors(qn("w:p"))))
        if name is None:
            return run
        made = self.element(name)
        made.append(run)
        return made

    def _end_of(self, paragraph: Element) -> str | None:
        """Return `w:ins` or `w:del` if the end of a paragraph came or went."""
        marks = paragraph.find(f"{qn('w:pPr')}/{qn('w:rPr')}")
        found = (name for name in CHANGE.values() if marks is not None and marks.find(qn(name)) is not None)
        return next(found, None)


def child(parent: Element, name: str, *, first: bool = False) -> Element:
    """Find a child by its name, or make it."""
    found = parent.find(qn(name))
    if found is None:
        found = OxmlElement(name)
        parent.insert(0, found) if first else parent.append(found)
    return found


def drop_changes(properties: Element) -> None:
    """Remove the marks that say that what has these properties was deleted or inserted."""
    for name in CHANGE.values():
        for mark in properties.findall(qn(name)):
            properties.remove(mark)


def runs(text: str, operation: Operation, properties: Element | None = None) -> Iterator[Element]:
    """Make the run of a text: line breaks and tabs become elements of their own.

    Args:
        text: of one paragraph.
        operation: a deletion keeps its text in `w:delText`.
        properties: a `w:rPr` to copy.
    """
    if not text:
        return
    run = OxmlElement("w:r")
    if properties is not None:
        run.append(deepcopy(properties))
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


def _comment_mark(name: str, number: int) -> Element:
    made = OxmlElement(name)
    made.set(qn("w:id"), str(number))
    return made
