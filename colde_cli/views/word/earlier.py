"""Tracked changes that a Word file has (ECMA-376 part 1, § 17.13): accept or reject them, or keep them out of the way.

To keep them, `hold` leaves what a reader of the accepted text reads. What is deleted becomes an element without content
that holds it as text; insertions stay marked, a run in each mark, so that runs can be cut and moved. `release` puts all
back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy

from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from lxml.etree import tostring

from colde_cli.documents.outside import Tracked
from colde_cli.views.word.markup import DELETED_NAMES, Element, build

INSERTED = frozenset(map(qn, ("w:ins", "w:moveTo")))
_DELETED = frozenset(map(qn, ("w:del", "w:moveFrom")))
_MARKS = INSERTED | _DELETED
_RECORDS = tuple(qn(f"w:{name}Change") for name in "pPr rPr tblPr trPr tcPr sectPr tblGrid tblPrEx numbering".split())
_BEFORE = (qn("w:pPrChange"), qn("w:rPrChange"))
"""Records of changed properties whose earlier values are restored."""
_RANGES = tuple(qn(f"w:{name}Range{end}") for name in ("moveFrom", "moveTo") for end in ("Start", "End"))
_PROPERTIES = frozenset(map(qn, ("w:rPr", "w:trPr", "w:numPr")))
_HOLDER = qn("w:held")
_NUMBER = re.compile(r'\bw:id="(\d{1,9})"')
_BETWEEN = 100_000
"""Numbers left free for the pieces of earlier changes, before those of the new ones."""
_Accepts = Callable[[Element], bool]


def settle(root: Element, tracked: Tracked) -> None:
    """Accept all changes under an element, reject them, or hold them, in place."""
    if tracked is Tracked.KEEP:
        hold(root)
    else:
        resolve(root, accept=tracked is Tracked.ACCEPT)


def resolve(root: Element, *, accept: bool, since: int | None = None) -> None:
    """Accept all changes under an element, or reject them, in place; those numbered up to `since` are accepted."""

    def accepts(mark: Element) -> bool:
        return accept or (since is not None and number_of(mark) <= since)

    _resolve_rows(root, accepts)
    lost = _lost_ends(root, accepts)
    for mark in list(root.iter(*_MARKS)):
        if _vanishes(mark, accepts):
            _remove(mark)
        else:
            _replace(mark, list(mark))
    _resolve_properties(root, accepts)
    kept_names = {deleted: kept for kept, deleted in DELETED_NAMES.items()}
    for element in list(root.iter(*kept_names)):
        element.tag = kept_names[element.tag]
    for element in list(root.iter(*_RANGES)):
        _remove(element)
    for paragraph in lost:
        _join_next(paragraph)


def number_of(mark: Element) -> int:
    """The number of a change; 0 for one without."""
    number = mark.get(qn("w:id"), "")
    return int(number) if number.lstrip("-").isdecimal() else 0


def _vanishes(mark: Element, accepts: _Accepts) -> bool:
    return accepts(mark) == (mark.tag in _DELETED)


def _marks_in(properties: Element) -> list[Element]:
    return [mark for mark in properties if mark.tag in _MARKS]


def _resolve_rows(root: Element, accepts: _Accepts) -> None:
    for properties in list(root.iter(qn("w:trPr"))):
        marks = _marks_in(properties)
        if any(_vanishes(mark, accepts) for mark in marks):
            _remove(properties.getparent())
        for mark in marks:
            _remove(mark)
    for table in list(root.iter(qn("w:tbl"))):
        if next(table.iter(qn("w:tr")), None) is None:
            _remove(table)


def _lost_ends(root: Element, accepts: _Accepts) -> list[Element]:
    """List the paragraphs whose end goes, and remove the marks on all ends."""
    lost = []
    for properties in root.iterfind(f".//{qn('w:pPr')}/{qn('w:rPr')}"):
        marks = _marks_in(properties)
        if any(_vanishes(mark, accepts) for mark in marks):
            lost.append(properties.getparent().getparent())
        for mark in marks:
            _remove(mark)
    return lost


def _resolve_properties(root: Element, accepts: _Accepts) -> None:
    for record in list(root.iter(*_RECORDS)):
        properties = record.getparent()
        if not accepts(record) and record.tag in _BEFORE:
            kept = [inner for name in ("w:rPr", "w:sectPr") for inner in properties.findall(qn(name))]
            kept = kept if record.tag == qn("w:pPrChange") else []
            before = list(record[0]) if len(record) else []
            for inner in list(properties):
                properties.remove(inner)
            properties.extend([*before, *kept])
            continue
        properties.remove(record)


def _join_next(paragraph: Element, *after: Element) -> None:
    """Put the content of a paragraph without an end, and what comes after it, at the beginning of the next one."""
    content = [inner for inner in paragraph if inner.tag != qn("w:pPr")]
    following = paragraph.getnext()
    while following is not None and following.tag not in (qn("w:p"), qn("w:tbl")):
        following = following.getnext()
    if following is not None and following.tag == qn("w:p"):
        place = 0 if following.find(qn("w:pPr")) is None else 1
        following[place:place] = [*content, *after]
        paragraph.getparent().remove(paragraph)
    elif not any(inner.tag == qn("w:r") for inner in content):
        _replace(paragraph, [_holder(paragraph)] if after else [])


def _remove(element: Element) -> None:
    element.getparent().remove(element)


def _replace(element: Element, content: list[Element]) -> None:
    parent = element.getparent()
    place = parent.index(element)
    parent.remove(element)
    parent[place:place] = content


# Hold, and put back.


def hold(root: Element) -> None:
    """Take the changes under an element out of the way, in place; see the head of this file."""
    for properties in list(root.iter(qn("w:trPr"))):
        if any(mark.tag in _DELETED for mark in _marks_in(properties)):
            row = properties.getparent()
            _replace(row, [_holder(row)])
    for table in list(root.iter(qn("w:tbl"))):
        if next(table.iter(qn("w:tr")), None) is None and next(table.iter(_HOLDER), None) is not None:
            _replace(table, [_holder(table)])
    ends = [
        marks.getparent().getparent()
        for marks in root.iterfind(f".//{qn('w:pPr')}/{qn('w:rPr')}")
        if any(mark.tag in _DELETED for mark in _marks_in(marks))
    ]
    for mark in list(root.iter(*_MARKS)):
        if mark.getparent() is None or mark.getparent().tag in _PROPERTIES:
            continue
        if mark.tag in _DELETED:
            _replace(mark, [_holder(mark)])
        else:
            _replace(mark, [_like(mark, inner) for inner in mark])
    for paragraph in ends:
        _join_next(paragraph, _holder(paragraph.find(qn("w:pPr"))))


def _holder(element: Element) -> Element:
    made = OxmlElement("w:held")
    made.set("xml", tostring(element, encoding="unicode", with_tail=False))
    return made


def _like(mark: Element, *content: Element) -> Element:
    made = build(f"w:{mark.tag.rpartition('}')[2]}")
    made.attrib.update(mark.attrib)
    made.extend(content)
    return made


def cut_mark(run: Element, rest: Element) -> None:
    """Put the second half of a run that is inserted by an earlier change into a mark of its own."""
    mark = run.getparent()
    if mark is not None and mark.tag in INSERTED:
        mark.addnext(_like(mark, rest))
    else:
        run.addnext(rest)


def release(root: Element) -> None:
    """Put the changes back that `hold` took out of the way."""
    while holders := list(root.iter(_HOLDER)):
        for holder in holders:
            element = parse_xml(holder.get("xml"))
            if element.tag == qn("w:pPr"):
                _divide(holder, element)
            else:
                _replace(holder, [element])
    for mark in list(root.iter(*INSERTED)):
        before = mark.getprevious()
        if before is not None and before.tag == mark.tag and before.attrib == mark.attrib and len(mark):
            mark[0:0] = list(before)
            _remove(before)


def _divide(holder: Element, properties: Element) -> None:
    """Divide a paragraph again where the end of an earlier one was deleted."""
    paragraph = next(holder.iterancestors(qn("w:p")))
    raise_to(holder, paragraph)
    content = list(paragraph)
    before = [inner for inner in content[: content.index(holder)] if inner.tag != qn("w:pPr")]
    paragraph.remove(holder)
    paragraph.addprevious(build("w:p", properties, *before))


def raise_to(element: Element, above: Element) -> None:
    """Divide the elements around an element until it is a child of one above."""
    while (parent := element.getparent()) is not above:
        rest = deepcopy(parent)
        for inner in list(rest):
            rest.remove(inner)
        rest.extend(list(parent)[parent.index(element) + 1 :])
        parent.addnext(element)
        if len(rest):
            element.addnext(rest)


def last_number(roots: Iterable[Element]) -> int | None:
    """The number after which new changes begin, beside those that are held; None where there are none."""
    numbers: list[int] = []
    for root in roots:
        numbers += map(number_of, root.iter(*_MARKS, *_RECORDS))
        numbers += (int(number) for one in root.iter(_HOLDER) for number in _NUMBER.findall(one.get("xml")))
    return max(0, *numbers) + _BETWEEN if numbers else None


def part_numbers(roots: Iterable[Element], since: int) -> None:
    """Give pieces of one earlier change, which have the same number, numbers of their own up to `since`."""
    seen: set[int] = set()
    free = since - _BETWEEN
    for mark in (mark for root in roots for mark in root.iter(*_MARKS, *_RECORDS)):
        number = number_of(mark)
        if number in seen and free < since:
            mark.set(qn("w:id"), str(free := free + 1))
        seen |= {number} if number <= since else set()
