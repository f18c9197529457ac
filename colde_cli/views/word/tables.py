"""Changes of tables in a Word file: cells that were edited, rows and tables that came or went."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from colde_cli.documents.document import Span
from colde_cli.similarity.redline import Operation, redline
from colde_cli.similarity.tracked_changes import Anchor, Block, Flow, merge
from colde_cli.views.word.edits import ParagraphEdits
from colde_cli.views.word.markup import Element, Marker, child, drop_changes
from colde_cli.views.word.paragraphs import Stretch, paragraphs
from colde_cli.views.word.source import BlockSource, NotKept, children, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = Sequence[Sequence[str]]
_NOTHING = Span(0, 0)
_LINE = ("top", "left", "bottom", "right", "insideH", "insideV")


def new_table(rows: Rows, marker: Marker, about: Stretch) -> Element:
    """Make a table of inserted rows, with thin lines.

    Args:
        rows: texts of the cells.
        marker: makes the marks of changes.
        about: the inserted stretch that the table is.
    """
    table, columns = OxmlElement("w:tbl"), max(map(len, rows))
    properties = child(table, "w:tblPr")
    width = child(properties, "w:tblW")
    width.set(qn("w:w"), "0")
    width.set(qn("w:type"), "auto")
    borders = child(properties, "w:tblBorders")
    for side in _LINE:
        line = child(borders, f"w:{side}")
        for name, value in (("val", "single"), ("sz", "4"), ("space", "0"), ("color", "auto")):
            line.set(qn(f"w:{name}"), value)
    grid = child(table, "w:tblGrid")
    for _ in range(columns):
        grid.append(OxmlElement("w:gridCol"))
    for number, cells in enumerate(rows):
        made = OxmlElement("w:tr")
        made.extend(OxmlElement("w:tc") for _ in cells)
        for cell in made:
            cell.append(OxmlElement("w:p"))
        _fill(made, cells, marker, about.remarks if number == 0 else ())
        table.append(made)
    return table


def delete_table(table: Element, marker: Marker, about: Stretch) -> None:
    """Delete all rows of a table."""
    for number, row in enumerate(list(children(table, "w:tr"))):
        _delete_row(row, marker, about.remarks if number == 0 else ())


def replace_table(table: Element, rows: Rows, marker: Marker, stretches: Sequence[Stretch]) -> None:
    """Delete a table and insert another after it."""
    table.addnext(new_table(rows, marker, stretches[0]))
    delete_table(table, marker, stretches[-1])


def edit_table(source: BlockSource, rows: Rows, marker: Marker, stretches: Sequence[Stretch]) -> None:
    """Turn a table into one with other texts; rows of as many cells are edited cell by cell.

    Args:
        source: the table of A.
        rows: texts of the cells in B.
        marker: makes the marks of changes.
        stretches: of the text of both; their remarks go to the first row that changed.

    Raises:
        NotKept: a table in a cell changed, or a row has another number of cells than those around it.
    """
    old = list(children(source.element, "w:tr"))
    remarks = tuple(dict.fromkeys(number for stretch in stretches for number in stretch.remarks))
    matcher = SequenceMatcher(None, [*map(tuple, source.rows)], [*map(tuple, rows)], autojunk=False)
    place = old[0] if old else None
    for tag, i, j, k, n in matcher.get_opcodes():
        if tag == "equal":
            place = old[j - 1]
            continue
        both = min(j - i, n - k)
        if [len(row) for row in source.rows[i : i + both]] != [len(row) for row in rows[k : k + both]]:
            both = 0
        for row, texts, cells in zip(old[i : i + both], source.rows[i:j], rows[k:n], strict=False):
            _edit_row(row, texts, cells, marker, remarks)
            place, remarks = row, ()
        for row in old[i + both : j]:
            _delete_row(row, marker, remarks)
            place, remarks = row, ()
        for cells in rows[k + both : n]:
            made = _new_row(old, len(cells))
            _fill(made, cells, marker, remarks)
            first = place is old[0] and i == 0 and both == 0 and j == i
            if place is None:
                raise NotKept("a table without rows changed")
            place.addprevious(made) if first else place.addnext(made)
            place, remarks = made, ()


def _new_row(rows: Sequence[Element], cells: int) -> Element:
    """Copy a row with as many cells, without its text."""
    like = next((row for row in rows if len(list(children(row, "w:tc"))) == cells), None)
    if like is None:
        raise NotKept("a table has new rows with another number of cells")
    made = OxmlElement("w:tr")
    for name in ("w:tblPrEx", "w:trPr"):
        made.extend(deepcopy(item) for item in like.findall(qn(name)))
    for marks in made.findall(qn("w:trPr")):
        drop_changes(marks)
    for cell in children(like, "w:tc"):
        copy = OxmlElement("w:tc")
        copy.extend(deepcopy(item) for item in cell.findall(qn("w:tcPr")))
        first = next(cell.iter(qn("w:p")), None)
        paragraph = OxmlElement("w:p")
        if first is not None:
            paragraph.extend(deepcopy(item) for item in first.findall(qn("w:pPr")))
        copy.append(paragraph)
        made.append(copy)
    for properties in made.iter(qn("w:pPr")):
        for marks in properties.findall(qn("w:rPr")):
            properties.remove(marks)
    return made


def _fill(row: Element, cells: Sequence[str], marker: Marker, remarks: tuple[int, ...]) -> None:
    """Write inserted text into the empty cells of an inserted row."""
    _mark_row(row, marker.element("w:ins"))
    for number, (cell, text) in enumerate(zip(children(row, "w:tc"), cells, strict=True)):
        paragraph = next(cell.iter(qn("w:p")))
        marker.end(paragraph, Operation.INSERTED)
        if text:
            made = Stretch(Operation.INSERTED, _NOTHING, _NOTHING, text, remarks if number == 0 else ())
            paragraph.extend(marker.marked(made))


def _mark_row(row: Element, mark: Element) -> None:
    properties = row.find(qn("w:trPr"))
    if properties is None:
        properties = OxmlElement("w:trPr")
        before = row.find(qn("w:tblPrEx"))
        row.insert(0, properties) if before is None else before.addnext(properties)
    if not len(properties):  # the schema asks for a property beside the mark; this one is the default
        child(properties, "w:cantSplit").set(qn("w:val"), "off")
    properties.append(mark)


def _delete_row(row: Element, marker: Marker, remarks: tuple[int, ...]) -> None:
    _mark_row(row, marker.element("w:del"))
    for paragraph in row.iter(qn("w:p")):
        if text := text_of(paragraph):
            edits = ParagraphEdits(paragraph, 0, marker)
            edits.add(Stretch(Operation.DELETED, Span(0, len(text)), _NOTHING, text, remarks))
            edits.write(whole=True)
            remarks = ()
        marker.end(paragraph, Operation.DELETED)


def _edit_row(
    row: Element, texts: Sequence[str], cells: Sequence[str], marker: Marker, remarks: tuple[int, ...]
) -> None:
    for cell, old, new in zip(children(row, "w:tc"), texts, cells, strict=True):
        if old != new:
            if next(cell.iter(qn("w:tbl")), None) is not None:
                raise NotKept("a table inside a table changed")
            _edit_cell(cell, old, new, marker, remarks)
            remarks = ()


def _edit_cell(cell: Element, old: str, new: str, marker: Marker, remarks: tuple[int, ...]) -> None:
    """Edit the paragraphs of a cell, whose texts are read with a blank between them."""
    found = [(paragraph, text_of(paragraph)) for paragraph in cell.iter(qn("w:p"))]
    filled = [(paragraph, text) for paragraph, text in found if text]
    if not filled:
        inserted = Stretch(Operation.INSERTED, _NOTHING, _NOTHING, new, remarks)
        found[0][0].extend(marker.marked(inserted))
        return
    start = 0
    stretches = [replace(one, remarks=remarks) for one in _stretches(old, new)]
    for number, (paragraph, text) in enumerate(filled):
        end = start + len(text) if number + 1 < len(filled) else len(old)
        edits = ParagraphEdits(paragraph, start, marker)
        for stretch in _inside(stretches, start, end, last=number + 1 == len(filled)):
            edits.add(stretch)
        edits.write(whole=False)
        start = end + 1


def _stretches(old: str, new: str) -> list[Stretch]:
    """The stretches of a text that became another; there may be no text left."""
    a, b = (Flow.joined((Block(text, 0, Span(0, len(text))),)) for text in (old, new))
    whole = Anchor(Span(0, len(old)), Span(0, len(new)), redline(old, new))
    (paragraph,) = paragraphs(merge(a, b, [whole]))
    return list(paragraph.stretches)


def _inside(stretches: Sequence[Stretch], start: int, end: int, *, last: bool) -> Iterator[Stretch]:
    """Yield the parts of stretches in one paragraph of a cell."""
    for stretch in stretches:
        if stretch.operation is Operation.INSERTED:
            if start <= stretch.a.start < end + 1 or (last and stretch.a.start >= start):
                yield stretch
            continue
        first, final = max(start, stretch.a.start), min(end, stretch.a.end)
        if first < final:
            yield replace(stretch, a=Span(first, final), text=stretch.text)
