"""Write changes into the paragraphs and tables of a Word file.

The runs of a paragraph are cut at the edits and keep their properties. Cells of a table are edited as paragraphs are;
rows and tables come or go as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from difflib import SequenceMatcher

from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from colde_cli.documents.document import Span
from colde_cli.similarity.redline import Operation, redline
from colde_cli.similarity.tracked_changes import Anchor, Block, Flow, merge
from colde_cli.views.word.markup import DELETED_NAMES, Element, Marker, build, child, drop_changes
from colde_cli.views.word.paragraphs import Stretch, paragraphs
from colde_cli.views.word.word_source import (
    BlockSource,
    Letter,
    NotKept,
    children,
    letters,
    places,
    run_text,
    runs_of,
)

_END = "end"
"""The name of an element that marks the end of a new paragraph, until the content before it is moved there."""
_RunSpan = tuple[Element, int, int]
_FIELD = (qn("w:fldChar"), qn("w:instrText"))
Rows = Sequence[Sequence[str]]
_NOTHING = Span(0, 0)
_LINE = ("top", "left", "bottom", "right", "insideH", "insideV")


class ParagraphEdits:
    """Changes of one paragraph, from its beginning to its end; `start` is where its text begins in the flow of A."""

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

    def _delete(self, begin: int, end: int, stretch: Stretch, spans: Sequence[_RunSpan], *, whole: bool) -> None:
        inside = [
            run
            for run, i, j in spans
            if run.getparent().tag != qn("w:del") and (begin <= i < j <= end or (i == j and (begin < i < end or whole)))
        ]
        whole_fields = _without_open_fields(inside)
        if any(run in self._in_fields for run in inside) and not _fields_of(whole_fields):
            self._marker.in_fields += 1
        for group in _neighbours(whole_fields):
            mark = self._marker.around(stretch)
            group[0].addprevious(mark)
            mark.extend(group)
            for element in list(mark.iter(*DELETED_NAMES)):
                element.tag = DELETED_NAMES[element.tag]

    def _new_paragraphs(self) -> Iterator[Element]:
        for end in list(self.paragraph.iter(qn(f"w:{_END}"))):
            if end.getparent() is not self.paragraph:
                raise NotKept("a paragraph was divided inside a link or a content control")
            made = build("w:p", *copied_properties(self.paragraph))
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
        for inner in copy.findall(qn(name)):
            copy.remove(inner)
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
    made = build("w:r", *map(deepcopy, run.findall(qn("w:rPr"))))
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


def new_table(rows: Rows, marker: Marker, about: Stretch) -> Element:
    """Make a table of inserted rows with the texts of cells, in thin lines; `about` is the stretch that it is."""
    lines = (build(f"w:{side}", val="single", sz=4, space=0, color="auto") for side in _LINE)
    width = build("w:tblW", w=0, type="auto")
    grid = (build("w:gridCol") for _ in range(max(map(len, rows))))
    table = build("w:tbl", build("w:tblPr", width, build("w:tblBorders", *lines)), build("w:tblGrid", *grid))
    for number, cells in enumerate(rows):
        made = build("w:tr", *(build("w:tc", build("w:p")) for _ in cells))
        _fill(made, cells, marker, about.remarks if number == 0 else ())
        table.append(made)
    return table


def delete_table(table: Element, marker: Marker, about: Stretch) -> None:
    """Delete all rows of a table."""
    for number, row in enumerate(list(children(table, "w:tr"))):
        _delete_row(row, marker, about.remarks if number == 0 else ())


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
    names = ("w:tblPrEx", "w:trPr")
    made = build("w:tr", *(deepcopy(item) for name in names for item in like.findall(qn(name))))
    for marks in made.findall(qn("w:trPr")):
        drop_changes(marks)
    for cell in children(like, "w:tc"):
        first = next(cell.iter(qn("w:p")), None)
        paragraph = build("w:p", *map(deepcopy, [] if first is None else first.findall(qn("w:pPr"))))
        made.append(build("w:tc", *map(deepcopy, cell.findall(qn("w:tcPr"))), paragraph))
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
        if text := run_text(paragraph):  # a formula in it goes with the row
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
    found = [(paragraph, run_text(paragraph)) for paragraph in cell.iter(qn("w:p"))]
    filled = [(paragraph, text) for paragraph, text in found if text]
    if " ".join(text for _, text in filled) != old:
        raise NotKept("a cell with a formula or a text box changed")
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
