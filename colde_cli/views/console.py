"""What rich lays out as text: with colours, and links to pages of files (OSC 8), where a terminal shows them."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.style import Style
from rich.text import Text

from colde_cli.views.wording import page_range

_PLAIN_WIDTH = 100
Pages = tuple[int, int] | None


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


def file_link(path: str, pages: Pages = None) -> Style:
    """The style of a text that opens a file, at a page if it has some; no link to standard input or an absent file."""
    if path in ("", "-") or not os.path.isfile(path):  # noqa: PTH113 - False for a name that no file can have
        return Style.null()
    # The address is percent-encoded, so that a name cannot end the escape sequence.
    address = Path(path).resolve().as_uri()
    return Style(link=f"{address}#page={pages[0]}" if pages else address)


def link_pages(line: Text, *places: tuple[str, Pages]) -> Text:
    """Make the page numbers in a line links; each place is a path and its pages, in the order of the line."""
    start = 0
    for path, pages in places:
        shown = page_range(pages)
        found = line.plain.find(shown, start) if shown else -1
        if found >= 0:
            start = found + len(shown)
            line.stylize(file_link(path, pages), found, start)
    return line
