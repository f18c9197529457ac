"""A new Word file with the tracked changes of merged text: headings, lists and lines in styles of Word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor

from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import Block
from colde_cli.views.word.markup import Element, Marker, child

if TYPE_CHECKING:
    from docx.document import Document

    from colde_cli.similarity.tracked_changes import TrackedText
    from colde_cli.views.word.paragraphs import TrackedParagraph

_LIST_ITEM = re.compile(r"(?:[-–*+•◦▪‣]|\(?(?:\d{1,3}|[a-z]{1,2}|[A-Z]|[ivxl]{1,5})[.)])\s+\S")
_COLUMNS = re.compile(r"\S {3,}\S")
_LINES = "Preformatted Text"
_DEEPEST = 9


def new_file(
    text: TrackedText, found: Sequence[TrackedParagraph], marker: Marker, titles: tuple[str, str]
) -> Document:
    """Make a Word file of merged text.

    Args:
        text: the merged text.
        found: its paragraphs.
        marker: makes the marks of changes.
        titles: of A and of B; a first paragraph with these words has the style of a title.
    """
    document = docx.Document()
    _prepare_styles(document)
    _remove_old_styles(document)
    body = document.element.body
    last = body.find(qn("w:sectPr"))
    for paragraph in found:
        last.addprevious(_paragraph(text, paragraph, marker, titles))
    return document


def _prepare_styles(document: Document) -> None:
    """Plain letters in black; a style for tables and drawings that consist of lines."""
    styles = document.styles
    normal = styles["Normal"]
    _set_font(normal, "Calibri", 11)
    normal.paragraph_format.space_after = Pt(6)
    _set_font(styles["Title"], "Calibri", 20)
    styles["Title"].font.color.rgb = RGBColor(0, 0, 0)
    title = styles["Title"].element.pPr
    title.remove(title.find(qn("w:pBdr")))  # a blue line
    for level in range(1, _DEEPEST + 1):
        style = styles[f"Heading {level}"]
        _set_font(style, "Calibri", max(11, 17 - 2 * level))
        style.font.color.rgb = RGBColor(0, 0, 0)
        style.font.italic = False
        style.paragraph_format.space_before = Pt(12)
        style.paragraph_format.space_after = Pt(4)
    listed = styles["List Paragraph"].paragraph_format
    listed.left_indent, listed.first_line_indent = Pt(28), Pt(-14)
    lines = styles.add_style(_LINES, WD_STYLE_TYPE.PARAGRAPH)
    lines.base_style = normal
    _set_font(lines, "Courier New", 8.5)


def _remove_old_styles(document: Document) -> None:
    """Remove the second copy of all styles that the template has for Word 2007; it would contradict the first."""
    for number, relation in list(document.part.rels.items()):
        if relation.reltype.endswith("/stylesWithEffects"):
            document.part.drop_rel(number)


def _set_font(style: Element, name: str, size: float) -> None:
    style.font.name, style.font.size = name, Pt(size)
    fonts = style.element.rPr.rFonts
    for theme in [key for key in fonts.attrib if key.endswith("Theme")]:
        del fonts.attrib[theme]
    for script in ("w:hAnsi", "w:cs", "w:eastAsia"):
        fonts.set(qn(script), name)


def _paragraph(
    text: TrackedText, paragraph: TrackedParagraph, marker: Marker, titles: tuple[str, str]
) -> Element:
    made = OxmlElement("w:p")
    old, new = (
        None if index is None else _style(flow.blocks[index], title if index == 0 else "")
        for flow, index, title in zip((text.a, text.b), (paragraph.a, paragraph.b), titles, strict=True)
    )
    _set_style(made, old if new is None else new)
    for stretch in paragraph.stretches:
        made.extend(marker.marked(stretch))
    if paragraph.end is not Operation.KEPT:
        marker.end(made, paragraph.end)
    elif old != new:
        properties = OxmlElement("w:pPr")
        _set_style_of(properties, old)
        marker.changed_style(made, properties)
    return made


def _set_style(paragraph: Element, style: str | None) -> None:
    if style:
        _set_style_of(child(paragraph, "w:pPr", first=True), style)


def _set_style_of(properties: Element, style: str | None) -> None:
    if style:
        made = OxmlElement("w:pStyle")
        made.set(qn("w:val"), style)
        properties.insert(0, made)


def _style(block: Block, title: str) -> str:
    """The identifier of a block's style; "" for running text."""
    if block.level:
        return f"Heading{min(_DEEPEST, block.level)}"
    if block.text == title:
        return "Title"
    if _COLUMNS.search(block.text) and "\n" in block.text:
        return _LINES.replace(" ", "")
    return "ListParagraph" if _LIST_ITEM.match(block.text) else ""
