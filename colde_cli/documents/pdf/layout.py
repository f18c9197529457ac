"""Which lines of a PDF are its text, and which are furniture: running heads, page numbers, stamps."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from colde_cli.documents.pdf.lines import Line, Page

FURNITURE = "running heads and page numbers"
ROTATED = "rotated text"
INVISIBLE = "text that a reader cannot see"
_EDGE = 0.07  # the part of a page's height, above and below, where furniture stands
_EDGE_LINES = 3
_MOST_FURNITURE = 0.5
_STAMP = 0.2
_SKEW = 3
_PAGE_NUMBER = re.compile(
    r"[\W_]*(page\s*)?(\d{1,4}|[ivxl]{1,6}|[A-Z]-?\d{1,3})([\W_]*(of|/)\s*\d{1,4})?[\W_]*", re.IGNORECASE
)


@dataclass(slots=True)
class Layout:
    """The lines that are text, in content order, and what was left out.

    Attributes:
        lines: text lines of all pages.
        left_out: how many lines were left out, by reason.
        letters_left_out: letters of rotated, hidden and off-page lines.
    """

    lines: list[Line] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    letters_left_out: int = 0


def text_lines(pages: Sequence[Page]) -> Layout:
    """Lines that a reader would call text; the rest is counted."""
    layout = Layout()
    upright = [_painted(page, layout) for page in pages]
    furniture = _running(upright)
    for page, lines in zip(pages, upright, strict=True):
        furniture |= _page_numbers(page, [line for line in lines if id(line) not in furniture])
    every = [line for lines in upright for line in lines]
    kept = [line for line in every if id(line) not in furniture]
    if _letters(kept) < (1 - _MOST_FURNITURE) * _letters(every):  # slides, forms: all of it comes again
        kept = every
    layout.left_out[FURNITURE] = len(every) - len(kept)
    layout.lines = kept
    return layout


def _letters(lines: Sequence[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _painted(page: Page, layout: Layout) -> list[Line]:
    """Lines in the page's main direction that a reader can see, unless there are no others."""
    if not page.lines:
        return []
    directions: Counter[int] = Counter()
    for line in page.lines:
        directions[_quarter(line.angle)] += len(line.text)
    main = 0 if directions[0] > 0.4 * directions.total() else max(directions, key=lambda a: directions[a])
    level = [line for line in page.lines if _quarter(line.angle) == main] or list(page.lines)
    width, height = (page.width, page.height) if main % 180 == 0 else (page.height, page.width)
    on_page = [line for line in level if -2 < line.base < height + 2 and line.x0 < width and line.x1 > 0]
    seen = [line for line in on_page if line.hidden < 0.5]
    # A page that is a scan has its words as invisible text from OCR, perhaps with a visible stamp.
    kept = seen if _letters(seen) > _STAMP * _letters(on_page) else on_page or level
    layout.left_out[ROTATED] += len(page.lines) - len(level)
    layout.left_out[INVISIBLE] += len(level) - len(kept)
    layout.letters_left_out += _letters(page.lines) - _letters(kept)
    return _without_doubles(kept)


def _quarter(angle: int) -> int:
    """The angle itself; a skewed scan counts as straight."""
    nearest = round(angle / 90) * 90
    return nearest % 360 if abs(angle - nearest) <= _SKEW else angle


def _without_doubles(lines: list[Line]) -> list[Line]:
    """Bold faked by printing a line twice, a hair apart, is one line."""
    kept: list[Line] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for line in lines:
        near = 0.25 * line.size
        twins = (at for at in places[line.text] if _apart(kept[at], line) < near)
        twin = next(twins, None)
        if twin is None:
            places[line.text].append(len(kept))
            kept.append(line)
        else:
            kept[twin] = replace(kept[twin], bold=1.0)
    return kept


def _apart(line: Line, other: Line) -> float:
    return max(abs(line.x0 - other.x0), abs(line.base - other.base))


def _running(pages: list[list[Line]]) -> set[int]:
    """Identities of lines that come again at the same height of several pages, numbers apart."""
    places: defaultdict[tuple[str, int], list[Line]] = defaultdict(list)
    for lines in pages:
        for line in _edge_lines(lines):
            places[_pattern(line.text), round(line.base / 6)].append(line)
    count = len(pages)
    found: set[int] = set()
    for same in places.values():
        often = len(same) >= 3 and len(same) >= min(0.12 * count, 12)
        if often or (count >= 4 and len(same) >= max(2, 0.4 * count)):
            found.update(id(line) for line in same)
    return found


def _edge_lines(lines: list[Line]) -> list[Line]:
    by_height = sorted(lines, key=lambda line: -line.base)
    if len(by_height) <= 2 * _EDGE_LINES:
        return by_height
    return by_height[:_EDGE_LINES] + by_height[-_EDGE_LINES:]


def _pattern(text: str) -> str:
    return re.sub(r"\W+", "", re.sub(r"\d+", "0", text.lower()))[:60]


def _page_numbers(page: Page, lines: list[Line]) -> set[int]:
    if not lines:
        return set()
    top, foot = max(line.base for line in lines), min(line.base for line in lines)
    return {
        id(line)
        for line in lines
        if _PAGE_NUMBER.fullmatch(line.text)
        and (
            line.base >= top - 1
            or line.base <= foot + 1
            or not _EDGE * page.height < line.base < (1 - _EDGE) * page.height
        )
    }
