"""Text wrapped to the width of the terminal: facts that stay whole, and paragraphs of a limited height."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text


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

    def __init__(self, text: Text, most: int | None = None) -> None:
        """Show `text` in at most `most` lines; an ellipsis stands for the rest."""
        self._text, self._most = text, most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = _lines(console, self._text, options.max_width)
        if self._most is None or len(lines) <= self._most:
            yield from lines
            return
        yield from lines[: self._most - 1]
        last = lines[self._most - 1]
        last.truncate(options.max_width - 1)
        last.rstrip()
        yield last.append("…")


def _lines(console: Console, text: Text, width: int) -> list[Text]:
    lines = list(text.wrap(console, width))
    for line in lines:
        line.rstrip()
    return lines
