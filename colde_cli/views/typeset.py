"""Typeset the merged text of two documents as a PDF: deletions struck out in red, insertions underlined in green.

For documents that have no pages to show side by side. Letters that the standard fonts of PDF lack come from a font of
this machine; those that no font has are shown as question marks, and the caller is told their number. reportlab is an
extra, so it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colde_cli.files import atomic_file
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.tracked_changes import TrackedText, tracked_text
from colde_cli.views.output import output_trouble
from colde_cli.views.page_marks import DELETED, INSERTED
from colde_cli.views.word.paragraphs import Remark, paragraphs, remarks
from colde_cli.views.wording import names_apart, plain

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison

_STANDARD = "Helvetica"
_FONTS = (
    "DejaVuSans.ttf|NotoSans-Regular.ttf|Arial Unicode.ttf|ARIALUNI.TTF|arial.ttf|LiberationSans-Regular.ttf"
    "|FreeSans.ttf|segoeui.ttf|NotoSansCJK-Regular.ttc|wqy-zenhei.ttc|DroidSansFallbackFull.ttf|msyh.ttc|simsun.ttc|msgothic.ttc"
    "|malgun.ttf|Hiragino Sans GB.ttc"
).split("|")
"""Files of fonts with many letters, in the order in which they are tried; reportlab knows the folders of a system."""
_SMALL, _SIZE, _SIZES = 9.0, 10.0, (16.0, 13.5, 12.0, 11.0)
"""Points of notes, of running text, and of headings by level."""
_MARKS = {
    Operation.KEPT: ("", ""),
    Operation.DELETED: ('<strike><font color="#{:02x}{:02x}{:02x}">'.format(*DELETED.line), "</font></strike>"),
    Operation.INSERTED: ('<u><font color="#{:02x}{:02x}{:02x}">'.format(*INSERTED.line), "</font></u>"),
}


def write_typeset(comparison: Comparison, output: Path) -> int:
    """Write the merged text of a comparison with passages, in the order of B, as pages of one column.

    Returns:
        Number of letters that no font of this machine has.

    Raises:
        OptionError: the file cannot be written.
    """
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import SimpleDocTemplate

    a, b = comparison.a.document, comparison.b.document
    text = tracked_text(a, b, comparison.aligned, comparison.ignore)
    notes = remarks(a, b, comparison.aligned, text)
    fonts = _Fonts()
    old, new = names_apart([a.path, b.path])
    title = f"Changes from {old or a.title} to {new or b.title}"
    story = [*_title(fonts, title), *_paragraphs(fonts, text, notes), *_notes(fonts, notes)]

    def foot(canvas: Any, _: object) -> None:  # noqa: ANN401 - a canvas of reportlab
        canvas.setFont(_STANDARD, 8)
        canvas.drawRightString(A4[0] - 60, 36, f"{canvas.getPageNumber()}")

    with output_trouble(output), atomic_file(output) as staged:
        pages = SimpleDocTemplate(
            str(staged), pagesize=A4, leftMargin=60, rightMargin=60, topMargin=56, bottomMargin=56,
            title=plain(title), author="colde", invariant=1,
        )  # fmt: skip
        pages.build(story, onFirstPage=foot, onLaterPages=foot)
    return fonts.missing


class _Fonts:
    """Finds a font for each letter.

    Attributes:
        missing: number of letters so far that no font has.
    """

    def __init__(self) -> None:
        self.missing = 0
        self._font = cache(self._font_of)

    def markup(self, text: str) -> str:
        """Write a text as markup that names the font of each letter; question marks for letters without a font."""
        pieces = []
        for font, run in groupby(plain(text), key=self._font):
            letters = "".join(run)
            if font is None:
                self.missing += len(letters)
                letters = "?" * len(letters)
            shown = escape(letters, quote=False)
            pieces.append(shown if font in (None, _STANDARD) else f'<font name="{font}">{shown}</font>')
        return "".join(pieces)

    def _font_of(self, letter: str) -> str | None:
        try:
            letter.encode("cp1252")
        except UnicodeEncodeError:
            code = ord(letter)
            return next((font.fontName for font in self._on_machine if code in font.face.charToGlyph), None)
        return _STANDARD

    @cached_property
    def _on_machine(self) -> list[Any]:
        """The fonts of this machine, as far as reportlab can use them."""
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFError, TTFont

        fonts: list[Any] = []
        for name in _FONTS:
            try:
                font = TTFont(f"colde{len(fonts)}", name)
            except (TTFError, OSError):  # not on this machine, outlines of PostScript, or damaged
                continue
            pdfmetrics.registerFont(font)
            fonts.append(font)
        return fonts


def _title(fonts: _Fonts, names: str) -> Iterator[Any]:
    """The names of both files, and what the colours mean."""
    yield _paragraph(fonts.markup(names), _SIZES[0], bold=True)
    key = ((Operation.DELETED, "only in the first"), (Operation.INSERTED, "only in the second"))
    shown = " · ".join(f"{_MARKS[operation][0]}{words}{_MARKS[operation][1]}" for operation, words in key)
    yield _paragraph(shown, _SMALL)


def _paragraphs(fonts: _Fonts, text: TrackedText, notes: Sequence[Remark]) -> Iterator[Any]:
    """The merged text; the number of a note stands after the last words that it is about in their paragraph."""
    for paragraph in paragraphs(text, dict(enumerate(notes))):
        last = {number: at for at, one in enumerate(paragraph.stretches) for number in one.remarks}
        pieces = []
        for at, stretch in enumerate(paragraph.stretches):
            shown = fonts.markup(stretch.text)
            before, after = _MARKS[stretch.operation]
            # Blanks at the ends of a stretch stay, for the colours end at words.
            start = " " if stretch.text[:1].isspace() else ""
            end = " " if stretch.text[-1:].isspace() and shown else ""
            pieces.append(f"{start}{before}{shown}{after}{end}")
            pieces += [f"<super>[{number + 1}]</super>" for number in stretch.remarks if last[number] == at]
        if any(piece.strip() for piece in pieces):
            level = 0  # running text
            if paragraph.b is not None:
                level = text.b.blocks[paragraph.b].level
            elif paragraph.a is not None:
                level = text.a.blocks[paragraph.a].level
            size = _SIZES[min(level, len(_SIZES)) - 1] if level else _SIZE
            yield _paragraph("".join(pieces), size, bold=level > 0)


def _notes(fonts: _Fonts, notes: Sequence[Remark]) -> Iterator[Any]:
    """The remarks on moved passages and flags."""
    if notes:
        yield _paragraph("Notes", _SIZES[1], bold=True)
    for number, note in enumerate(notes, 1):
        yield _paragraph(f"[{number}] {fonts.markup(note.text)}", _SMALL)


def _paragraph(markup: str, size: float, *, bold: bool = False) -> Any:  # noqa: ANN401 - a paragraph of reportlab
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph

    style = ParagraphStyle(
        f"{size}{bold}",
        fontName=f"{_STANDARD}-Bold" if bold else _STANDARD,
        fontSize=size,
        leading=1.35 * size,
        spaceBefore=0.8 * size if bold else 0,
        spaceAfter=0.5 * size,
    )
    return Paragraph(markup, style)
