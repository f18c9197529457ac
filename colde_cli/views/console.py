"""What rich lays out as text: paragraphs and redlines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from colde_cli.similarity.redline import Operation
from colde_cli.views.changes import marked

if TYPE_CHECKING:
    from colde_cli.views.changes import Piece

_PLAIN_WIDTH = 100
_LOOKS = {Operation.KEPT: "dim", Operation.DELETED: "red strike", Operation.INSERTED: "green underline"}
_MAX_LINES = 15
"""Maximum number of lines of a redline; the other formats show all of it."""


def rendered(content: RenderableType, *, to_file: bool = False) -> str:
    """Text of `content` for standard output, or for a file."""
    console = _console(to_file)
    with console.capture() as captured:
        console.print(content)
    # Only colours need padding to the full width.
    return "".join(f"{line.rstrip(' ')}\n" for line in captured.get().splitlines())


def _console(to_file: bool) -> Console:
    if to_file:
        return Console(file=StringIO(), width=_PLAIN_WIDTH, color_system=None, highlight=False)
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PLAIN_WIDTH
    return console


def titled(text: str, aside: str = "") -> Padding:
    """The line above a part: its name and a remark."""
    line = Text.assemble((text, "bold"), (f"  {aside}" if aside else "", "dim"))
    return Padding(Rule(line, align="left", style="dim"), (1, 0, 0, 0))


class WrappedFacts:
    """A rich renderable: short texts side by side; a text that fits on a line is never broken."""

    def __init__(self, facts: Sequence[Text], gap: str = " · ", indent: int = 0) -> None:
        """Show `facts` with `gap` between them; lines after the first begin `indent` columns in."""
        self._facts, self._gap, self._indent = facts, gap, indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, line = options.max_width, Text()
        for number, fact in enumerate(self._facts):
            gap = self._gap if number else ""
            if line.cell_len + len(gap) + fact.cell_len <= width:
                line.append(gap, "dim").append_text(fact)
                continue
            if line.plain.strip():
                yield from self._folded(console, line, width)
            line = Text(" " * self._indent if number else "").append_text(fact)
        yield from self._folded(console, line, width)

    def _folded(self, console: Console, line: Text, width: int) -> list[Text]:
        """One line, or several if it is too long; those after the first are indented twice."""
        if line.cell_len <= width or not self._indent:
            return _lines(console, line, width)
        first, *others = _lines(console, line, max(1, width - 2 * self._indent))
        return [first, *(Text(" " * 2 * self._indent).append_text(other) for other in others)]


class WrappedParagraph:
    """A rich renderable: a paragraph without blanks at the ends of lines, where they would be underlined."""

    def __init__(self, text: Text, limit: int | None = None) -> None:
        """Show `text` in at most `limit` lines; an ellipsis stands for the rest."""
        self._text, self._limit = text, limit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = _lines(console, self._text, options.max_width)
        if self._limit is None or len(lines) <= self._limit:
            yield from lines
            return
        yield from lines[: self._limit - 1]
        last = lines[self._limit - 1]
        last.truncate(options.max_width - 1)
        last.rstrip()
        yield last.append("…")


def _lines(console: Console, text: Text, width: int) -> list[Text]:
    lines = list(text.wrap(console, width))
    for line in lines:
        line.rstrip()
    return lines


class Redline:
    """The edits of a pair with a few words around each; without colours as [-deleted-] and {+inserted+}."""

    def __init__(self, shown: Sequence[Piece]) -> None:
        self._pieces = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield WrappedParagraph(self.text(console.color_system is not None and not console.no_color), _MAX_LINES)

    def text(self, coloured: bool) -> Text:
        """The redline in colours, or with marks."""
        if not coloured:
            return Text(marked(self._pieces))
        line = Text()
        for piece in self._pieces:
            line.append(" " if piece.gap else "").append(piece.text, _LOOKS[piece.kind])
        return line
