"""Write a comparison as a Word file whose changes can be accepted and rejected: the file of A, or a new one."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor

from colde_cli.documents.office.docx import read_docx
from colde_cli.similarity.outside_changes import NOTHING_OUTSIDE, OutsideComparison
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, Operation
from colde_cli.similarity.tracked_changes import Block, Flow, tracked_text
from colde_cli.views.changes import TITLE, outside_rows, row_line
from colde_cli.views.word.markup import AUTHOR, Element, Marker, child, set_style
from colde_cli.views.word.paragraphs import paragraphs, remarks
from colde_cli.views.word.whole_file import WholeFile, write_changes
from colde_cli.views.word.word_source import NotKept, is_word_file
from colde_cli.views.wording import file_name, plain, plural

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.pairs import Alignment
    from colde_cli.similarity.tracked_changes import TrackedText
    from colde_cli.views.word.paragraphs import Remark, TrackedParagraph

_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The date of every part of the ZIP file: the first that the format can hold."""
_LIST_ITEM = re.compile(r"(?:[-–*+•◦▪‣]|\(?(?:\d{1,3}|[a-z]{1,2}|[A-Z]|[ivxl]{1,5})[.)])\s+\S")
_COLUMNS = re.compile(r"\S {3,}\S")
_LINES = "Preformatted Text"
_DEEPEST = 9


@dataclass(frozen=True, slots=True)
class WordRedline:
    """A Word file with tracked changes, and warnings for the user; `notes` say what else is in it."""

    content: bytes
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who made the changes of a redline, and when.

    Attributes:
        author: of all changes and comments.
        date: of them; None for `SOURCE_DATE_EPOCH`, else for the time of this run.
        keeps: earlier tracked changes of A stay in its file, with their authors and dates.
    """

    author: str = AUTHOR
    date: datetime | None = None
    keeps: bool = True

    def marker(self) -> Marker:
        """What makes the marks of the changes."""
        return Marker((self.date or _date()).astimezone(UTC), self.author, self.keeps)


COLDE = Authorship()


def comparison_docx(comparison: Comparison, authorship: Authorship = COLDE) -> WordRedline:
    """Write the documents of a comparison as one Word file; see `redline_docx`."""
    documents = (comparison.a.document, comparison.b.document)
    return redline_docx(*documents, comparison.aligned, comparison.ignore, comparison.outside, authorship)


def redline_docx(
    a: Document,
    b: Document,
    alignment: Alignment,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    outside: OutsideComparison = NOTHING_OUTSIDE,
    authorship: Authorship = COLDE,
) -> WordRedline:
    """Write a Word file: accepting all changes gives the text of B, rejecting all gives that of A.

    If A is a Word file, it is that file with its layout, as far as its paragraphs can be found and changed. With the
    same date the same documents give the same bytes.

    Args:
        ignore: such differences are as in B, without a mark.
        outside: differences beside the text: comments at the first paragraph.
    """
    beside = [f"{TITLE}: {row_line(row)}." for row in outside_rows(outside)]

    def into_the_file_of_a() -> WordRedline:
        if ignore.names or ignore.like:
            raise NotKept("differences are ignored")
        if any(document.report.skipped_sections for document in (a, b)):
            raise NotKept("sections were left out")
        return _with_layout(a, b, alignment, authorship, beside)

    written = kept_or_why(a, into_the_file_of_a)
    if isinstance(written, WordRedline):
        return written
    warnings = written
    if a.report.tracked and warnings:
        warnings += (f"Its earlier tracked changes are {a.report.tracked_as}.",)
    marker = authorship.marker()
    text = tracked_text(a, b, alignment, ignore)
    notes = remarks(a, b, alignment, text)
    file = new_file(text, notes, marker, (a.title, b.title))
    marker.finish(file, notes, beside)
    return WordRedline(packed(file), warnings)


def kept_or_why(document: Document, write: Callable[[], WordRedline]) -> WordRedline | tuple[str, ...]:
    """What is written into the file of a document, if that is a Word file; else the warning that its layout is lost."""
    if not is_word_file(document):
        return ()
    try:
        return write()
    except NotKept as error:
        reason = str(error)
    except Exception as error:
        # Word files hold what no one foresees; the changes must not be lost with their layout.
        reason = f"it is built in an unknown way ({type(error).__name__})"
    return (f"The layout of {file_name(document.path)} was not kept: {reason}.",)


def _with_layout(
    a: Document, b: Document, alignment: Alignment, authorship: Authorship, beside: Sequence[str]
) -> WordRedline:
    """Write the changes into the file of A, and read both versions of the result again.

    Raises:
        NotKept: that cannot be done without loss.
    """
    text = tracked_text(a, b, alignment)
    notes = remarks(a, b, alignment, text)
    apart: tuple[frozenset[int], frozenset[int]] = frozenset(), frozenset()
    for _ in range(2):
        marker = authorship.marker()
        kept = write_changes(a, b, alignment, notes, (text.a, text.b), marker, apart)
        marker.finish(kept.file, notes, [*beside, *kept.beside])
        content = packed(kept.file)
        wrong = kept.inexact(content)
        if wrong is None:
            break
        if not any(wrong):
            return WordRedline(content, (), tuple(_earlier(a, b, marker)))
        apart = wrong  # these are replaced as a whole
    raise NotKept("its text would not be exact")


def _earlier(a: Document, b: Document, marker: Marker) -> Iterator[str]:
    """What became of the tracked changes that A and B had, and how many changes of formatting are new ones."""
    if marker.formatted:
        are = "is" if marker.formatted == 1 else "are"
        yield f"{plural(marker.formatted, 'formatting change')} {are} tracked, too."
    if a.report.tracked:
        kept = "kept in it, with author and date" if marker.since is not None else a.report.tracked_as
        compared = "; the comparison is made with the accepted text" if marker.since is not None else ""
        yield f"Earlier tracked changes of A are {kept}{compared}."
    if b.report.tracked:
        yield f"Earlier tracked changes of B are {b.report.tracked_as}."


def read_resolved(content: bytes, *, accept: bool) -> list[str]:
    """Read the headings and paragraphs of a Word file, as colde does, with all changes accepted, or all rejected."""
    whole = WholeFile.resolved(content, accept=accept)
    whole.save()
    document = read_docx(BytesIO(packed(whole.file)), "redline.docx", "redline.docx")
    return [block.text for block in Flow.of(document).blocks]


def _date() -> datetime:
    """The time of `SOURCE_DATE_EPOCH` (https://reproducible-builds.org), else now."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(stated), UTC) if stated.isdecimal() else datetime.now(UTC)


def packed(file: WordFile) -> bytes:
    """The bytes of a Word file, the same for the same content."""
    saved, packed = BytesIO(), BytesIO()
    file.save(saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, _OLDEST), old.read(name), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def new_file(text: TrackedText, notes: Sequence[Remark], marker: Marker, titles: tuple[str, str]) -> WordFile:
    """Make a Word file of merged text, with the title of B; a first paragraph with words of a title looks like one."""
    document = docx.Document()
    _prepare_styles(document)
    properties = document.core_properties
    properties.title = plain(titles[1])[:255]
    properties.author = properties.last_modified_by = marker.author
    properties.comments = ""
    properties.created = properties.modified = marker.date.replace(microsecond=0, tzinfo=None)
    # The template has a second copy of all styles for Word 2007; it would contradict the first.
    for number, relation in list(document.part.rels.items()):
        if relation.reltype.endswith("/stylesWithEffects"):
            document.part.drop_rel(number)
    body = document.element.body
    last = body.find(qn("w:sectPr"))
    for paragraph in paragraphs(text, dict(enumerate(notes))):
        last.addprevious(_paragraph(text, paragraph, marker, titles))
    return document


def _prepare_styles(document: WordFile) -> None:
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


def _set_font(style: Element, name: str, size: float) -> None:
    style.font.name, style.font.size = name, Pt(size)
    fonts = style.element.rPr.rFonts
    for theme in [key for key in fonts.attrib if key.endswith("Theme")]:
        del fonts.attrib[theme]
    for script in ("w:hAnsi", "w:cs", "w:eastAsia"):
        fonts.set(qn(script), name)


def _paragraph(text: TrackedText, paragraph: TrackedParagraph, marker: Marker, titles: tuple[str, str]) -> Element:
    made = OxmlElement("w:p")
    old, new = (
        None if index is None else _style(flow.blocks[index], title if index == 0 else "")
        for flow, index, title in zip((text.a, text.b), (paragraph.a, paragraph.b), titles, strict=True)
    )
    if style := old if new is None else new:
        set_style(child(made, "w:pPr"), style)
    for stretch in paragraph.stretches:
        made.extend(marker.marked(stretch))
    if paragraph.end is not Operation.KEPT:
        marker.end(made, paragraph.end)
    elif old != new:
        properties = OxmlElement("w:pPr")
        set_style(properties, old or "")
        marker.changed_style(made, properties)
    return made


def _style(block: Block, title: str) -> str:
    """The identifier of a block's style; "" for running text."""
    if block.level:
        return f"Heading{min(_DEEPEST, block.level)}"
    if block.text == title:
        return "Title"
    if _COLUMNS.search(block.text) and "\n" in block.text:
        return _LINES.replace(" ", "")
    return "ListParagraph" if _LIST_ITEM.match(block.text) else ""
