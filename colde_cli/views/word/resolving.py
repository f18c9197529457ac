"""Accept or reject all tracked changes of a part of a Word file, as Word does (ECMA-376 part 1, § 17.13.5)."""

from __future__ import annotations

from docx.oxml.ns import qn

from colde_cli.views.word.markup import Element

_GONE = {True: ("w:del", "w:moveFrom"), False: ("w:ins", "w:moveTo")}
_STAYS = {True: ("w:ins", "w:moveTo"), False: ("w:del", "w:moveFrom")}
_RECORDS = tuple(
    qn(f"w:{name}Change") for name in "pPr rPr tblPr trPr tcPr sectPr tblGrid tblPrEx numbering".split()
)
_BEFORE = (qn("w:pPrChange"), qn("w:rPrChange"))
"""Of these the properties before the change are restored."""
_RANGES = tuple(qn(f"w:{name}Range{end}") for name in ("moveFrom", "moveTo") for end in ("Start", "End"))


def resolve(root: Element, *, accept: bool) -> None:
    """Accept all changes under an element, or reject them, in place."""
    gone, stays = ([qn(name) for name in names[accept]] for names in (_GONE, _STAYS))
    _resolve_rows(root, gone, stays)
    lost = _lost_ends(root, gone, stays)
    for element in list(root.iter(*gone)):
        _remove(element)
    for element in list(root.iter(*stays)):
        _unwrap(element)
    _resolve_properties(root, accept=accept)
    for element in list(root.iter(qn("w:delText"), qn("w:delInstrText"))):
        element.tag = qn("w:t") if element.tag == qn("w:delText") else qn("w:instrText")
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
            kept = [child for name in ("w:rPr", "w:sectPr") for child in properties.findall(qn(name))]
            kept = kept if record.tag == qn("w:pPrChange") else []
            before = list(record[0]) if len(record) else []
            for child in list(properties):
                properties.remove(child)
            properties.extend([*before, *kept])
            continue
        properties.remove(record)


def _join_next(paragraph: Element) -> None:
    """Put the content of a paragraph without an end at the beginning of the next one."""
    content = [child for child in paragraph if child.tag != qn("w:pPr")]
    following = paragraph.getnext()
    while following is not None and following.tag not in (qn("w:p"), qn("w:tbl")):
        following = following.getnext()
    if following is not None and following.tag == qn("w:p"):
        place = 0 if following.find(qn("w:pPr")) is None else 1
        following[place:place] = content
        paragraph.getparent().remove(paragraph)
    elif not any(child.tag == qn("w:r") for child in content):
        paragraph.getparent().remove(paragraph)


def _remove(element: Element) -> None:
    element.getparent().remove(element)


def _unwrap(element: Element) -> None:
    parent, place = element.getparent(), element.getparent().index(element)
    children = list(element)
    parent.remove(element)
    parent[place:place] = children
