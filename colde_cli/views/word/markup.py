"""The XML of tracked changes (ECMA-376 part 1, § 17.13): write them, and accept or reject them as Word does."""

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
_GONE = {True: ("w:del", "w:moveFrom"), False: ("w:ins", "w:moveTo")}
_STAYS = {True: ("w:ins", "w:moveTo"), False: ("w:del", "w:moveFrom")}
_RECORDS = tuple(qn(f"w:{name}Change") for name in "pPr rPr tblPr trPr tcPr sectPr tblGrid tblPrEx numbering".split())
_BEFORE = (qn("w:pPrChange"), qn("w:rPrChange"))
"""Records of changed properties whose earlier values are restored."""
_RANGES = tuple(qn(f"w:{name}Range{end}") for name in ("moveFrom", "moveTo") for end in ("Start", "End"))


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
        self.number += 1
        return build(name, id=self.number, author=AUTHOR, date=_written(self.date))

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
        marks.insert(0, self.element(CHANGE[operation]))

    def changed_style(self, paragraph: Element, old: Element) -> None:
        """Record the properties that a paragraph had in A."""
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
        return build("w:comment", paragraph, id=number, author=AUTHOR, initials="c", date=date)

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
        found = (name for name in CHANGE.values() if marks is not None and marks.find(qn(name)) is not None)
        return next(found, None)


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


def resolve(root: Element, *, accept: bool) -> None:
    """Accept all changes under an element, or reject them, in place."""
    gone, stays = ([qn(name) for name in names[accept]] for names in (_GONE, _STAYS))
    _resolve_rows(root, gone, stays)
    lost = _lost_ends(root, gone, stays)
    for element in list(root.iter(*gone)):
        _remove(element)
    for element in list(root.iter(*stays)):
        parent, place = element.getparent(), element.getparent().index(element)
        content = list(element)
        parent.remove(element)
        parent[place:place] = content
    _resolve_properties(root, accept=accept)
    kept_names = {deleted: kept for kept, deleted in DELETED_NAMES.items()}
    for element in list(root.iter(*kept_names)):
        element.tag = kept_names[element.tag]
    for element in list(root.iter(*_RANGES)):
        _remove(element)
    for paragraph in lost:
        _join_next(paragraph)


def _resolve_rows(root: Element, gone: list[str], stays: list[str]) -> None:
    for properties in list(root.iter(qn("w:trPr"))):
        if any(properties.find(name) is not None for name in gone):
            _remove(properties.getparent())
        for name in stays:
            for mark in properties.findall(name):
                _remove(mark)
    for table in list(root.iter(qn("w:tbl"))):
        if next(table.iter(qn("w:tr")), None) is None:
            _remove(table)


def _lost_ends(root: Element, gone: list[str], stays: list[str]) -> list[Element]:
    """List the paragraphs whose end goes, and remove the marks on all ends."""
    lost = []
    for marks in root.iterfind(f".//{qn('w:pPr')}/{qn('w:rPr')}"):
        found = [mark for name in gone for mark in marks.findall(name)]
        if found:
            lost.append(marks.getparent().getparent())
        for mark in [*found, *(mark for name in stays for mark in marks.findall(name))]:
            _remove(mark)
    return lost


def _resolve_properties(root: Element, *, accept: bool) -> None:
    for record in list(root.iter(*_RECORDS)):
        properties = record.getparent()
        if not accept and record.tag in _BEFORE:
            kept = [inner for name in ("w:rPr", "w:sectPr") for inner in properties.findall(qn(name))]
            kept = kept if record.tag == qn("w:pPrChange") else []
            before = list(record[0]) if len(record) else []
            for inner in list(properties):
                properties.remove(inner)
            properties.extend([*before, *kept])
            continue
        properties.remove(record)


def _join_next(paragraph: Element) -> None:
    """Put the content of a paragraph without an end at the beginning of the next one."""
    content = [inner for inner in paragraph if inner.tag != qn("w:pPr")]
    following = paragraph.getnext()
    while following is not None and following.tag not in (qn("w:p"), qn("w:tbl")):
        following = following.getnext()
    if following is not None and following.tag == qn("w:p"):
        place = 0 if following.find(qn("w:pPr")) is None else 1
        following[place:place] = content
        paragraph.getparent().remove(paragraph)
    elif not any(inner.tag == qn("w:r") for inner in content):
        paragraph.getparent().remove(paragraph)


def _remove(element: Element) -> None:
    element.getparent().remove(element)
