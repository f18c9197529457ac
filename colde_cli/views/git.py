"""What `git diff` shows beside the comparison itself: which file, what is wrong with it, what an added one holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.rule import Rule
from rich.text import Text

from colde_cli.views.terminal import rendered
from colde_cli.views.wording import heading as heading_of
from colde_cli.views.wording import page_range, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Document

_MOST = 30
"""Headings of an outline."""


def heading(title: str, aside: str = "") -> str:
    """The line above what is said of a file.

    Args:
        title: its path.
        aside: what else git says of it.
    """
    line = Text.assemble((plain(title), "bold"), (f"  {aside}" if aside else "", "yellow"))
    return rendered(Rule(line, align="left", style="bold"))


def sentence(words: str) -> str:
    """A warning, or why a document cannot be compared."""
    return rendered(Text(plain(words), style="yellow"))


def outline(document: Document) -> str:
    """Title, size and headings of a document that was added or deleted.

    Args:
        document: to show.
    """
    pages, sections = document.report.pages, document.sections
    facts = [plural(pages, "page")] if pages else []
    facts += [plural(len(sections), "section"), plural(len(document.text.split()), "word")]
    lines = [Text(shorten(document.title, 160), style="bold cyan"), Text(" · ".join(facts), style="dim")]
    for section in sections[:_MOST]:
        indent = "  " * max(1, section.level)
        place = page_range(section.pages)
        lines.append(Text.assemble(indent, heading_of(section), (f"  {place}" if place else "", "dim")))
    if len(sections) > _MOST:
        lines.append(Text(f"  … and {len(sections) - _MOST} more", style="dim"))
    return rendered(Group(*lines))
