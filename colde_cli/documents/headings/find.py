"""The headings of a document, from its outline, its type and its numbering, with their levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from colde_cli.documents.headings.bookmarks import with_outline
from colde_cli.documents.headings.choose import Heading, headings_by_type
from colde_cli.documents.headings.runin import with_abstract, with_run_in
from colde_cli.documents.headings.scene import Scene
from colde_cli.documents.pdf.lines import Bookmark, Style

_LABEL = re.compile(r"(chapter|appendix|part|article|annex)\s+[\dIVXLA-Z]+[.:]?", re.IGNORECASE)


def find_headings(scene: Scene, outline: Sequence[Bookmark]) -> list[Heading]:
    """Headings in reading order, at most one per line."""
    by_type = headings_by_type(scene)
    by_outline = with_outline(scene, by_type, outline)
    headings = with_run_in(scene, by_type) if by_outline is None else by_outline
    return _levels(scene, _join_labels(scene, with_abstract(scene, headings)))


def _join_labels(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """A label alone on its line ("Chapter 3") becomes part of the title under it."""
    joined: list[Heading] = []
    for heading in headings:
        label = joined[-1] if joined else None
        if label and _labels(scene, label, heading):
            joined[-1] = replace(heading, first=label.first, text=f"{label.text} {heading.text}", level=1)
        else:
            joined.append(heading)
    return joined


def _labels(scene: Scene, label: Heading, heading: Heading) -> bool:
    close = heading.first - label.last <= 2
    same_page = scene.lines[label.first].page == scene.lines[heading.first].page
    return close and same_page and bool(_LABEL.fullmatch(label.text.strip()))


def _levels(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Levels by the outline, by the depth of numbers, else by the style of headings of known level."""
    roman = sum(heading.number is not None and heading.number.scheme == "roman" for heading in headings) >= 2
    known: dict[Style, int] = {}
    levels = []
    for heading in headings:
        level = heading.level or _by_number(heading, roman=roman)
        levels.append(level)
        if level:
            known.setdefault(scene.lines[heading.last].style, level)
    sizes = sorted({scene.lines[heading.last].size for heading in headings}, reverse=True)
    levelled = []
    for heading, level in zip(headings, levels, strict=True):
        line = scene.lines[heading.last]
        by_style = known.get(line.style) or (1 if known else min(3, 1 + sizes.index(line.size)))
        levelled.append(replace(heading, level=level or by_style))
    return levelled


def _by_number(heading: Heading, *, roman: bool) -> int:
    """The depth of a number; in the order I, A, 1 where Roman numerals count the sections; 0 without one."""
    number = heading.number
    if number is None:
        return 0
    if number.scheme in ("decimal", "letter"):
        above = {"decimal": 2, "letter": 1}[number.scheme] if roman and len(number.parts) == 1 else 0
        return len(number.parts) + above
    return 1
