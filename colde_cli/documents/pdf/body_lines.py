"""Tell the lines of a PDF's body from those that stand outside it, and give an account of those.

Outside are running heads and page numbers, rotated text, and text that nobody sees. The values of form fields are
inserted in reading order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.pdf.lines import Line, PdfPage, in_row
from colde_cli.documents.pdf.prose import SOFT_HYPHEN
from colde_cli.documents.pdf.running_heads import PageLines, running_heads

_MAX_FURNITURE = 0.5
_STAMP = 0.2
_SKEW = 3
_TINY, _NARROW = 1.5, 0.75  # points: size of type, and width of a letter


@dataclass(slots=True)
class TextLayout:
    """The lines that are text, in content order, and an account of the others.

    Attributes:
        lines: text lines of all pages.
        account: of the lines outside the body.
    """

    lines: list[Line] = field(default_factory=list)
    account: Account = field(default_factory=Account)


def text_lines(pages: Sequence[PdfPage]) -> TextLayout:
    """Keep the lines that are text, and account for the others."""
    layout = TextLayout()
    divided = [_Divided.page(page) for page in pages]
    upright = [page.upright for page in divided]
    heads = running_heads([*upright, *(turned for page in divided for turned in page.turned)], len(pages))
    every = [line for page in upright for line in page.lines]
    kept = [line for line in every if id(line) not in heads]
    if _characters(kept) < (1 - _MAX_FURNITURE) * _characters(
        every
    ):  # slides and forms repeat all of their text
        kept, heads = every, {}
    _account_for_heads(divided, heads, layout.account)
    _account_for_others(divided, heads, layout.account)
    layout.lines = _with_entries(kept, pages)
    return layout


@dataclass(frozen=True, slots=True)
class _Divided:
    """The lines of a page, divided by direction and by whether they are seen.

    Attributes:
        upright: the visible lines in the main direction; all of that direction if none is visible.
        turned: lines in other directions.
        hidden: lines that are not seen.
    """

    upright: PageLines
    turned: tuple[PageLines, ...] = ()
    hidden: tuple[Line, ...] = ()

    @property
    def by_side(self) -> Iterator[tuple[PageLines, Line]]:
        """Each line that is seen, with the lines of its direction."""
        return ((lines, line) for lines in (self.upright, *self.turned) for line in lines.lines)

    @classmethod
    def page(cls, page: PdfPage) -> _Divided:
        """Divide the lines of a page."""
        main, sides = 0, {0: list(page.lines)}
        if any(line.angle for line in page.lines):
            sides = defaultdict(list)
            for line in page.lines:
                sides[_quarter(line.angle) if line.angle else 0].append(line)
            level = _characters(sides.get(0, ())) > 0.4 * _characters(page.lines)
            main = 0 if level else max(sides, key=lambda angle: _characters(sides[angle]))
        upright = sides.pop(main)
        width, height = _extent(page, main)
        kept = _seen(upright, width, height)
        shown = set(map(id, kept))
        return cls(
            PageLines(page.number, height, _without_doubles(kept)),
            tuple(PageLines(page.number, _extent(page, angle)[1], lines) for angle, lines in sides.items()),
            tuple(line for line in upright if id(line) not in shown),
        )


def _extent(page: PdfPage, angle: int) -> tuple[float, float]:
    """Width and height of a page for lines at an angle."""
    return (page.width, page.height) if angle % 180 == 0 else (page.height, page.width)


def _account_for_heads(pages: Iterable[_Divided], heads: dict[int, str], account: Account) -> None:
    """Add each distinct text at the upper and at the lower edge once, with the first and the last page it stands on."""
    found: dict[tuple[OutsideKind, str], tuple[int, int]] = {}
    for lines, line in (pair for page in pages for pair in page.by_side):
        if id(line) in heads:
            upper, text = line.base > lines.height / 2, _joined([heads[id(line)]])
            _add_place(found, OutsideKind.HEADERS if upper else OutsideKind.FOOTERS, text, line.page)
    for (kind, text), numbers in found.items():
        account.add_text(kind, text, pages=numbers)


def _account_for_others(pages: Iterable[_Divided], heads: dict[int, str], account: Account) -> None:
    """Add the turned and the hidden texts; a turned text is added once, since a watermark is on every page."""
    found: dict[tuple[OutsideKind, str], tuple[int, int]] = {}
    for page in pages:
        number = page.upright.number
        for side in page.turned:
            for text in _neighbours([line for line in side.lines if id(line) not in heads]):
                _add_place(found, OutsideKind.ROTATED, text, number)
        for text in _neighbours(page.hidden):
            account.add_text(OutsideKind.HIDDEN, text, pages=(number, number))
    for (kind, text), numbers in found.items():
        account.add_text(kind, text, pages=numbers)


def _add_place(
    found: dict[tuple[OutsideKind, str], tuple[int, int]], kind: OutsideKind, text: str, page: int
) -> None:
    first, _ = found.get((kind, text), (page, page))
    found[kind, text] = first, page


def _neighbours(lines: Iterable[Line]) -> list[str]:
    """Join lines that were written one after the other, so that words may move from line to line."""
    groups: list[list[Line]] = []
    for line in lines:
        if groups and groups[-1][-1].place == line.place - 1:
            groups[-1].append(line)
        else:
            groups.append([line])
    return [_joined([line.text for line in group]) for group in groups]


def _joined(texts: Iterable[str]) -> str:
    return " ".join(texts).replace(SOFT_HYPHEN + " ", "").replace(SOFT_HYPHEN, "")


def _characters(lines: Iterable[Line]) -> int:
    return sum(len(line.text) for line in lines)


def _seen(lines: list[Line], width: float, height: float) -> list[Line]:
    """Keep the lines that a reader sees on a page; all lines, if these are as good as none."""
    on_page = [line for line in lines if -2 < line.base < height + 2 and line.x0 < width and line.x1 > 0]
    seen = [line for line in on_page if line.hidden < 0.5 and not _is_tiny(line)]
    # The words of a scanned page are invisible text from OCR, perhaps next to a visible stamp.
    all_seen = seen and len(seen) == len(on_page)
    return seen if all_seen or _characters(seen) > _STAMP * _characters(on_page) else on_page or lines


def _is_tiny(line: Line) -> bool:
    """Whether a line is too small to be read."""
    return line.size <= _TINY and line.width < _NARROW * len(line.text)


def _quarter(angle: int) -> int:
    """Round an angle to a quarter turn if it is near one, as in a skewed scan."""
    nearest = round(angle / 90) * 90
    return nearest % 360 if abs(angle - nearest) <= _SKEW else angle


def _without_doubles(lines: list[Line]) -> list[Line]:
    """Merge two equal lines, printed a hair apart to look bold, into one bold line."""
    if len({line.text for line in lines}) == len(lines):
        return lines
    kept: list[Line] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for line in lines:
        twin = next((at for at in places[line.text] if _is_close(kept[at], line)), None)
        if twin is None:
            places[line.text].append(len(kept))
            kept.append(line)
        else:
            kept[twin] = replace(kept[twin], bold=1.0)
    return kept


def _is_close(line: Line, other: Line) -> bool:
    near = 0.25 * other.size
    return abs(line.x0 - other.x0) < near and abs(line.base - other.base) < near


def _with_entries(lines: list[Line], pages: Sequence[PdfPage]) -> list[Line]:
    """Insert the filled-in values: after the line to their left, else at the end of their page."""
    if not any(page.entries for page in pages):
        return lines
    written: dict[int, list[Line]] = {page.number: [] for page in pages}
    for line in lines:
        written[line.page].append(line)
    for page in pages:
        for entry in sorted(page.entries, key=lambda entry: (-entry.base, entry.x0)):
            _insert(written[page.number], entry)
    return [line for page in pages for line in written[page.number]]


def _insert(lines: list[Line], entry: Line) -> None:
    beside = [place for place, line in enumerate(lines) if in_row(line, entry)]
    nearest = max(beside, key=lambda place: lines[place].x0, default=len(lines) - 1)
    lines.insert(nearest + 1, entry)
