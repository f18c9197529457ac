"""Write merged text into the Word file of A: its styles, numbering, tables, headers and pictures stay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

from docx.oxml.ns import qn

from colde_cli.similarity.redline import Operation
from colde_cli.views.word.edits import (
    ParagraphEdits,
    copied_properties,
    delete_table,
    edit_table,
    new_table,
)
from colde_cli.views.word.markup import Element, Marker, build, child, set_style
from colde_cli.views.word.word_source import BlockSource, NotKept, WordSource, is_empty, runs_of

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.similarity.tracked_changes import TrackedText
    from colde_cli.views.word.paragraphs import TrackedParagraph


_MAX_LINEAGE = 12
_BETWEEN = (qn("w:bookmarkStart"), qn("w:bookmarkEnd"), qn("w:proofErr"), qn("w:permStart"), qn("w:permEnd"))
_NOT_RECORDED = (qn("w:rPr"), qn("w:sectPr"), qn("w:pPrChange"))


class WordFileStyles:
    """Looks up styles of A, and whether a paragraph of either file is in a numbered list."""

    def __init__(self, a: WordFile, b: WordFile) -> None:
        self._file = a
        self._styles = [
            {style.get(qn("w:styleId")): style for style in file.styles.element.iter(qn("w:style"))} for file in (a, b)
        ]

    def heading(self, level: int) -> str:
        """Return the identifier of the heading style of a level; it is added if the file lacks it."""
        name = f"heading {min(9, level)}"
        for identifier, style in self._styles[0].items():
            found = style.find(qn("w:name"))
            if found is not None and found.get(qn("w:val"), "").lower() == name:
                return str(identifier)
        identifier = name.title().replace(" ", "")
        properties = build("w:pPr", build("w:outlineLvl", val=min(9, level) - 1))
        content = (build("w:name", val=name), properties, build("w:rPr", build("w:b")))
        made = build("w:style", *content, type="paragraph", styleId=identifier)
        self._file.styles.element.append(made)
        self._styles[0][identifier] = made
        return identifier

    def is_numbered(self, paragraph: Element | None, *, other: bool = False) -> bool:
        """Whether Word numbers a paragraph, or gives it a bullet."""
        if paragraph is None:
            return False
        properties = paragraph.find(qn("w:pPr"))
        styles, identifier = self._styles[other], _style_of(paragraph)
        for _ in range(_MAX_LINEAGE):
            numbering = None if properties is None else properties.find(qn("w:numPr"))
            if numbering is not None:
                number = numbering.find(qn("w:numId"))
                return number is None or number.get(qn("w:val")) != "0"
            style = styles.get(identifier)
            if style is None:
                return False
            properties, based = style.find(qn("w:pPr")), style.find(qn("w:basedOn"))
            identifier = "" if based is None else based.get(qn("w:val"), "")
        return False


def write_changes(
    text: TrackedText,
    found: Sequence[TrackedParagraph],
    sources: tuple[WordSource, WordSource],
    marker: Marker,
) -> None:
    """Write the changes of merged text into the file of A.

    Raises:
        NotKept: a change is at a place where it cannot be written.
    """
    keeper = _Keeper(text, sources, marker)
    waiting: list[TrackedParagraph] = []
    for paragraph in found:
        waiting.append(paragraph)
        if paragraph.a is not None:
            keeper.write(waiting)
            waiting = []
    keeper.append(waiting)


class _Keeper:
    def __init__(self, text: TrackedText, sources: tuple[WordSource, WordSource], marker: Marker) -> None:
        self._text, self._marker = text, marker
        self._a, self._b = sources[0].sources, sources[1].sources
        self._in_word = sources[1].in_word
        self._styles = WordFileStyles(sources[0].file, sources[1].file)
        self._last: Element | None = None  # the last element that was passed
        # By level, and whether they are in a list: the paragraphs whose style a new one can take.
        self._usable: dict[tuple[int, bool], list[int]] = {}
        for index, (one, of) in enumerate(zip(text.a.blocks, self._a, strict=True)):
            if of.is_paragraph:
                key = (one.level, self._styles.is_numbered(of.element))
                self._usable.setdefault(key, []).append(index)

    def write(self, group: Sequence[TrackedParagraph]) -> None:
        """Write the paragraphs up to the end of one block of A."""
        *before, own = group
        block = own.a or 0
        source = self._a[block]
        divided = [paragraph for paragraph in before if _has_text_of_a(paragraph)]
        if source.is_paragraph:
            made = self._paragraph(divided, own, source.element)
        elif divided:
            raise NotKept("a table, a note, a text box or a formula was divided")
        else:
            made = []
            if source.is_table:
                self._table(own, source)
            elif _changed(own):
                raise NotKept("a note, a text box or a formula changed")
        parts = iter(made)
        for paragraph in before:
            new = next(parts) if _has_text_of_a(paragraph) else self._new(paragraph, block)
            self._place(new, source)
        self._last = source.element if source.element is not None else self._last

    def append(self, group: Sequence[TrackedParagraph]) -> None:
        """Write the paragraphs and tables that B has after the last block of A."""
        for paragraph in group:
            if _has_text_of_a(paragraph):
                raise NotKept("text of a table, a note, a text box or a formula was divided")
            self._place(self._new(paragraph, len(self._a) - 1), BlockSource(None))

    def _place(self, made: Element, source: BlockSource) -> None:
        if source.element is not None:
            source.element.addprevious(made)
        elif self._last is not None:
            self._last.addnext(made)
            self._last = made
        else:
            raise NotKept("text was inserted before a note, a text box or a formula")

    def _new(self, paragraph: TrackedParagraph, block: int) -> Element:
        """Make a paragraph or a table that only B has, in the style of a neighbour."""
        source = self._b[paragraph.b or 0]
        if source.is_table:
            return new_table(source.rows, self._marker, paragraph.stretches[0])
        like = self._like(paragraph, block)
        made = build("w:p", *(() if like is None else copied_properties(like)))
        if not self._styles.is_numbered(source.element, other=True):
            for properties in made.findall(qn("w:pPr")):
                for numbering in properties.findall(qn("w:numPr")):
                    properties.remove(numbering)
        level = self._text.b.blocks[paragraph.b or 0].level
        if level and like is None:
            set_style(child(made, "w:pPr", first=True), self._styles.heading(level))
        properties = None if like is None else _usual_properties(like)
        for stretch in paragraph.stretches:
            made.extend(self._marker.marked(stretch, properties))
        self._marker.end(made, Operation.INSERTED)
        return made

    def _like(self, paragraph: TrackedParagraph, block: int) -> Element | None:
        """Find the nearest paragraph of A of the same level, in or out of a list as that of B."""
        number = paragraph.b or 0
        level = self._text.b.blocks[number].level
        numbered = self._styles.is_numbered(self._b[number].element, other=True)
        usable = self._usable.get((level, numbered)) or self._usable.get((level, not numbered), [])
        place = bisect_left(usable, block)
        around = usable[max(0, place - 1) : place + 1]
        best = min(around, key=lambda index: abs(index - block + 0.5), default=None)
        return None if best is None else self._a[best].element

    def _paragraph(self, divided: Sequence[TrackedParagraph], own: TrackedParagraph, element: Element) -> list[Element]:
        """Write the changes of a paragraph; return the new paragraphs that it was divided into, but the last."""
        block = own.a or 0
        if not divided and not _changed(own):
            return []
        edits = ParagraphEdits(element, self._text.a.starts[block], self._marker)
        for paragraph in divided:
            for stretch in paragraph.stretches:
                edits.add(stretch)
            edits.end()
        for stretch in own.stretches:
            edits.add(stretch)
        gone = not divided and all(stretch.operation is Operation.DELETED for stretch in own.stretches)
        made = edits.write(whole=gone and own.end is Operation.DELETED)
        if own.end is Operation.DELETED:
            self._delete_end(element, block, gone=gone)
        elif own.b is not None:
            self._change_level(element, block, own.b)
        return made

    def _delete_end(self, element: Element, block: int, *, gone: bool) -> None:
        if element.find(f"{qn('w:pPr')}/{qn('w:sectPr')}") is not None:
            if gone:
                return  # the section of the layout stays, with an empty paragraph
            raise NotKept("two paragraphs were joined across the end of a section")
        self._marker.end(element, Operation.DELETED)
        if gone:
            return
        if block + 1 == len(self._a):
            raise NotKept("the end of the last paragraph went")
        target = self._a[block + 1].element
        following = element.getnext()
        while following is not None and following is not target:
            empty = following.tag == qn("w:p") and is_empty(following)
            if not empty and following.tag not in _BETWEEN:
                raise NotKept("two paragraphs were joined across a table or a text box")
            if empty:
                self._marker.end(following, Operation.DELETED)
            following = following.getnext()
        if following is None or self._a[block + 1].is_table:
            raise NotKept("two paragraphs were joined across a table or a text box")

    def _change_level(self, element: Element, a: int, b: int) -> None:
        """Change the style of a paragraph that became a heading, or the reverse."""
        new = self._text.b.blocks[b].level
        if self._text.a.blocks[a].level == new:
            return
        blocks = zip(self._text.a.blocks, self._a, strict=True)
        alike = (source for block, source in blocks if block.level == new and source.is_paragraph)
        like = next(alike, None)
        properties = child(element, "w:pPr", first=True)
        old = build("w:pPr", *(deepcopy(item) for item in properties if item.tag not in _NOT_RECORDED))
        for item in properties.findall(qn("w:outlineLvl")):
            properties.remove(item)
        style = self._styles.heading(new) if new else ""
        set_style(properties, style if like is None else _style_of(like.element))
        self._marker.changed_style(element, old)

    def _table(self, own: TrackedParagraph, source: BlockSource) -> None:
        table = source.element
        if table is None or not _changed(own):
            return
        operations = {stretch.operation for stretch in own.stretches}
        if not self._in_word:
            raise NotKept("the other document has no tables to compare with")
        if own.end is Operation.DELETED and operations == {Operation.DELETED}:
            delete_table(table, self._marker, own.stretches[0])
        elif own.end is Operation.KEPT and own.b is not None and self._b[own.b].is_table:
            rows = self._b[own.b].rows
            if {len(cells) for cells in rows} <= {len(cells) for cells in source.rows}:
                edit_table(source, rows, self._marker, own.stretches)
            else:
                table.addnext(new_table(rows, self._marker, own.stretches[0]))
                delete_table(table, self._marker, own.stretches[-1])
        else:
            raise NotKept("a table became text, or text a table")


def _has_text_of_a(paragraph: TrackedParagraph) -> bool:
    return any(stretch.operation is not Operation.INSERTED for stretch in paragraph.stretches)


def _changed(paragraph: TrackedParagraph) -> bool:
    kept = all(stretch.operation is Operation.KEPT for stretch in paragraph.stretches)
    return not kept or paragraph.end is not Operation.KEPT


def _style_of(paragraph: Element) -> str:
    """The identifier of a paragraph's style; "" for the default."""
    style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
    return "" if style is None else style.get(qn("w:val"), "")


def _usual_properties(paragraph: Element) -> Element | None:
    """The `w:rPr` of the longest run."""
    runs = sorted(runs_of(paragraph), key=lambda run: -len("".join(run.itertext())))
    return runs[0].find(qn("w:rPr")) if runs else None
