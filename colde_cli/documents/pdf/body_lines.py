"""Tell the lines of a PDF's body from those that stand outside it, and give an account of those.

Outside are running heads and page numbers, rotated text, and text that nobody sees. The values of form fields are
inserted in reading order. The heading of a table that goes on is printed again on the next page: that is a head, too. A
running head is the same on several pages, at the same height. Its numbers may differ only
if they follow the page: a page number less the number of the page is the same on pages nearby, so that numbering may
begin anew. No amount is one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from colde_cli.documents.notation import from_roman
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.pdf.lines import Line, PdfPage, in_row
from colde_cli.documents.pdf.prose import SOFT_HYPHEN

_MAX_FURNITURE = 0.5
_STAMP = 0.2
_SKEW = 3
_TINY, _NARROW = 1.5, 0.75  # points: size of type, and width of a letter
_EDGE = 0.07  # share of a page's height: lines so near to its top or foot belong to its edge
_EDGE_ROWS = 3  # maximum number of rows of a head or foot that is further away from the edge
_DETACHED = 1.6  # sizes of type from a head to the text below it
_LARGER = 1.5  # a figure may begin below a head, in letters of any size
_ROW = 0.4  # share of its size by which a line of a row may be raised
_NEAR = 2  # pages: heads of left and right pages take turns
_RUN = 3  # minimum number of page numbers in a row that need no other sign of being such
_STEP = 6  # points; lines of one head differ less in height
_LONGEST = 60  # letters by which two heads are told apart
_CELLS = 25  # maximum number of words of a line of a table's heading
_SENTENCE_ENDS = re.compile(r"(?:[!?;,]|(?:\S+\s+){3}\S+\.)[\"'”’)]*$")  # "Item No." is none
_HAIR = 0.7  # points

_NUMBER = r"(?P<prefix>[A-Z]-?)?(?P<number>\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})"
_TOTAL = r"(?:[\W_]*?(?:\bof\b|/|\bvon\b|\bde\b|\bsur\b|\bdi\b|\bvan\b)\s*(?P<total>\d{1,4}))?"
_NAME = r"(?i:pages?|pg?\.?|seite|s\.|página|pagina|pág\.|sheet|folio|blatt|strona|sida|side|sivu|стр\.)"
_ALONE = re.compile(rf"[\W_]*(?:{_NAME}\s*)?{_NUMBER}{_TOTAL}[\W_]*")
_NAMED = re.compile(rf"\b{_NAME}\s*{_NUMBER}\b{_TOTAL}")
_COUNTED = re.compile(r"(?<![\w.,/])(?P<prefix>)(?P<number>\d{1,4})\s*(?:of|/)\s*(?P<total>\d{1,4})(?![\w.,/])")
_LAST = re.compile(r"(?<=\s)(?P<prefix>)(?P<number>\d{1,4}|[ivxlc]{1,7})$")
_FIRST = re.compile(r"^(?P<prefix>)(?P<number>\d{1,4}|[ivxlc]{1,7})(?=\s)")
_PATTERNS = (_NAMED, _COUNTED, _LAST, _FIRST)
_MONEY = (
    r"(?:[$€£¥₹₽%+=~<>]|(?i:EUR|USD|GBP|CHF|JPY|CNY|AUD|CAD|INR|SEK|NOK|DKK|PLN|CZK|HUF|RUB|BRL|ZAR|MXN|euros?|dollars?"
    r"|pounds?|francs?|kr|total|sum|subtotal|balance|amount|price|due|net|gross|saldo|betrag|summe|montant|importe)\b)"
)
_AMOUNT_BEFORE = re.compile(rf"{_MONEY}[\s:]*[-–−]?$|(?<!\w)[-–−]$")
_AMOUNT_AFTER = re.compile(rf"^\s?{_MONEY}")
_NUMERIC = re.compile(r"\d|(?:^|\W)(?:[ivxlc]{1,7}|[IVXLC]{1,7})(?!\w)")
_SIGNED = re.compile(r"\s*[-–−]\s*\w+\s*$")


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of a page that may be text."""

    number: int  # of the page, 1-based
    height: float  # of the page across their direction, in points
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class _Divided:
    """The lines of a page, divided by direction and by whether they are seen."""

    upright: PageLines  # those in the main direction that are seen; all of that direction if none is
    turned: tuple[PageLines, ...]  # those in other directions
    hidden: tuple[Line, ...]


def text_lines(pages: Sequence[PdfPage]) -> tuple[list[Line], Account]:
    """Keep the lines that are text, in content order, and account for the others."""
    divided = list(map(_divided, pages))
    every = [line for page in divided for line in page.upright.lines]
    heads = running_heads(
        [*(page.upright for page in divided), *(turned for page in divided for turned in page.turned)], len(pages)
    )
    kept = [line for line in every if id(line) not in heads]
    if _characters(kept) < (1 - _MAX_FURNITURE) * _characters(every):
        kept, heads = every, {}  # slides and forms repeat all of their text
    again = set(map(id, _table_headings_again(kept)))
    heads |= {id(line): line.text for line in kept if id(line) in again}
    kept = [line for line in kept if id(line) not in again]
    account = Account()
    _account_for(divided, heads, account)
    return _with_entries(kept, pages), account


def _divided(page: PdfPage) -> _Divided:
    main, sides = 0, {0: list(page.lines)}
    if any(line.angle for line in page.lines):
        sides = defaultdict(list)
        for line in page.lines:
            # An angle near a quarter turn is one, as in a skewed scan.
            nearest = round(line.angle / 90) * 90
            sides[nearest % 360 if abs(line.angle - nearest) <= _SKEW else line.angle].append(line)
        level = _characters(sides.get(0, ())) > 0.4 * _characters(page.lines)
        main = 0 if level else max(sides, key=lambda angle: _characters(sides[angle]))

    def extent(angle: int) -> tuple[float, float]:
        """Width and height of the page for lines at an angle."""
        return (page.width, page.height) if angle % 180 == 0 else (page.height, page.width)

    upright = sides.pop(main)
    seen = _seen(upright, *extent(main))
    shown = set(map(id, seen))
    return _Divided(
        PageLines(page.number, extent(main)[1], _without_doubles(seen)),
        tuple(PageLines(page.number, extent(angle)[1], lines) for angle, lines in sides.items()),
        tuple(line for line in upright if id(line) not in shown),
    )


def _table_headings_again(lines: Sequence[Line]) -> Iterator[Line]:
    """Find the lines of table headings that are printed again where their table goes on, at the top of a page.

    Such a line has the same words, type and ends as one on the page before, and no heading stands between the two. So
    have the further lines of a heading, in the same order.
    """
    known: dict[str, int] = {}  # places of the latest lines, by their text
    page, place = 0, 0
    while place < len(lines):
        line = lines[place]
        at = known.get(line.text) if line.page != page else None
        page = line.page
        heading = _table_heading_again(lines, at, place) if at is not None else []
        yield from heading
        for other in heading or [line]:
            known[other.text] = place
            place += 1


def _table_heading_again(lines: Sequence[Line], at: int, place: int) -> list[Line]:
    """The lines from a place on that are those of another place again, if they may be the heading of a table."""
    if not _goes_on(lines, at, place):
        return []
    again = [
        other
        for _, other in takewhile(
            lambda pair: pair[1].page == lines[place].page and _printed_alike(*pair),
            zip(lines[at:place], lines[place:], strict=False),
        )
    ]
    words = sum(len(line.text.split()) for line in again)
    return again if 1 < words <= _CELLS and not any(_SENTENCE_ENDS.search(line.text) for line in again) else []


def _goes_on(lines: Sequence[Line], at: int, place: int) -> bool:
    """Whether a table may go on from one line to another: on the next page, and without a larger line between."""
    one, other = lines[at], lines[place]
    between = lines[at + 1 : place]
    return (
        other.page - one.page == 1
        and bool(between)
        and _printed_alike(one, other)
        and all(line.size <= one.size for line in between)
    )


def _printed_alike(one: Line, other: Line) -> bool:
    same = one.text == other.text and one.style == other.style
    return same and abs(one.x0 - other.x0) < _HAIR and abs(one.x1 - other.x1) < _HAIR


def _account_for(pages: Iterable[_Divided], heads: dict[int, str], account: Account) -> None:
    """Add heads and feet, then turned and hidden texts.

    A text at the upper or lower edge is added once, with the first and the last page it stands on. So is a turned text,
    since a watermark is on every page.
    """
    edges: dict[tuple[OutsideKind, str], tuple[int, int]] = {}
    turned: dict[tuple[OutsideKind, str], tuple[int, int]] = {}
    hidden: list[tuple[str, int]] = []

    def add(places: dict[tuple[OutsideKind, str], tuple[int, int]], kind: OutsideKind, text: str) -> None:
        first, _ = places.get((kind, text), (number, number))
        places[kind, text] = first, number

    for page in pages:
        number = page.upright.number
        for side in (page.upright, *page.turned):
            for line in side.lines:
                if id(line) in heads:
                    upper = line.base > side.height / 2
                    add(edges, OutsideKind.HEADERS if upper else OutsideKind.FOOTERS, _joined([heads[id(line)]]))
        for side in page.turned:
            for text in _neighbours([line for line in side.lines if id(line) not in heads]):
                add(turned, OutsideKind.ROTATED, text)
        hidden += [(text, number) for text in _neighbours(page.hidden)]
    for (kind, text), numbers in edges.items():
        account.add_text(kind, text, pages=numbers)
    for text, number in hidden:
        account.add_text(OutsideKind.HIDDEN, text, pages=(number, number))
    for (kind, text), numbers in turned.items():
        account.add_text(kind, text, pages=numbers)


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
    seen = [
        line
        for line in on_page
        if line.hidden < 0.5 and not (line.size <= _TINY and line.width < _NARROW * len(line.text))
    ]
    # The words of a scanned page are invisible text from OCR, perhaps next to a visible stamp.
    all_seen = seen and len(seen) == len(on_page)
    return seen if all_seen or _characters(seen) > _STAMP * _characters(on_page) else on_page or lines


def _without_doubles(lines: list[Line]) -> list[Line]:
    """Merge two equal lines, printed a hair apart to look bold, into one bold line."""
    if len({line.text for line in lines}) == len(lines):
        return lines
    kept: list[Line] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for line in lines:
        near = 0.25 * line.size
        twins = (
            at
            for at in places[line.text]
            if abs(kept[at].x0 - line.x0) < near and abs(kept[at].base - line.base) < near
        )
        if (twin := next(twins, None)) is None:
            places[line.text].append(len(kept))
            kept.append(line)
        else:
            kept[twin] = replace(kept[twin], bold=1.0)
    return kept


def _with_entries(lines: list[Line], pages: Sequence[PdfPage]) -> list[Line]:
    """Insert the filled-in values: after the line to their left, else at the end of their page."""
    if not any(page.entries for page in pages):
        return lines
    written: dict[int, list[Line]] = {page.number: [] for page in pages}
    for line in lines:
        written[line.page].append(line)
    for page in pages:
        own = written[page.number]
        for entry in sorted(page.entries, key=lambda entry: (-entry.base, entry.x0)):
            beside = (place for place, line in enumerate(own) if in_row(line, entry))
            nearest = max(beside, key=lambda place: own[place].x0, default=len(own) - 1)
            own.insert(nearest + 1, entry)
    return [line for page in pages for line in written[page.number]]


@dataclass(frozen=True, slots=True)
class _EdgeLine:
    """A line that may belong to a head or foot."""

    line: Line
    text: str  # with `#` for the numbers that are known to be page numbers
    near: bool  # it is so near to the edge of the page that it belongs to it
    detached: bool  # it stands apart from the text; else it is merely the first or last line of the page

    @property
    def level(self) -> int:
        return round(self.line.base / _STEP)


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that may be that of a page."""

    edge: _EdgeLine
    key: tuple[str, int]  # how it is written, and its value less that of the page: the same in one numbering
    span: tuple[int, int]  # its offsets in the line
    value: int
    total: tuple[int, int]  # offsets of the number of all pages, if it is named; else (0, 0)
    alone: bool  # there is nothing else in the line


def running_heads(pages: Iterable[PageLines], count: int) -> dict[int, str]:
    """Find running heads, feet and page numbers.

    Args:
        pages: the lines of pages; a page with lines in two directions is there twice.
        count: number of pages of the document.

    Returns:
        By id of the line its text, with `#` for a number that follows the page.
    """
    edges = [edge for page in pages for edge in _edge_lines(page)]
    numbered = _page_numbers(edges, count)
    edges = [numbered.get(id(edge.line), edge) for edge in edges]
    heads = {id(edge.line): edge.text for edge in (*numbered.values(), *_repeated(edges, count))}
    # What stands in one row with a head near the edge belongs to it, such as the title of a section.
    rows = {(edge.line.page, edge.level) for edge in edges if id(edge.line) in heads and edge.near}
    beside = {
        id(edge.line): edge.text
        for edge in edges
        if edge.near and id(edge.line) not in heads and (edge.line.page, edge.level) in rows
    }
    return heads | beside


def _edge_lines(page: PageLines) -> Iterator[_EdgeLine]:
    """List the lines near the edges of a page, and the rows at its top and foot that stand apart from the text."""
    low, high = _EDGE * page.height, (1 - _EDGE) * page.height
    rows: list[list[Line]] = []  # from the top
    for line in sorted(page.lines, key=lambda line: -line.base):
        if rows and rows[-1][0].base - line.base <= _ROW * rows[-1][0].size:
            rows[-1].append(line)
        else:
            rows.append([line])
    upper, lower = _outer_rows(rows), _outer_rows(rows[::-1])
    for index, row in enumerate(rows):
        detached = index < upper or len(rows) - 1 - index < lower
        outermost = index in (0, len(rows) - 1)
        for line in row:
            near = not low < line.base < high
            if near or detached or outermost:
                yield _EdgeLine(line, line.text, near, detached)


def _outer_rows(rows: Sequence[Sequence[Line]]) -> int:
    """Count the first rows, at most `_EDGE_ROWS`, after which there is a gap."""
    for count in range(min(_EDGE_ROWS, len(rows)), 0, -1):
        if count == len(rows):
            return count
        gap = abs(rows[count - 1][0].base - rows[count][0].base)
        outer, inner = rows[count - 1][0].size, rows[count][0].size
        if gap >= _DETACHED * max(outer, min(inner, _LARGER * outer)):
            return count
    return 0


def _page_numbers(edges: Iterable[_EdgeLine], pages: int) -> dict[int, _EdgeLine]:
    """Find the lines with page numbers, by id, with `#` in their place, and in that of the number of all pages."""
    series: defaultdict[tuple[str, int], list[_Number]] = defaultdict(list)
    for edge in edges:
        for number in _numbers(edge):
            series[number.key].append(number)
    kept = {key: [one for one in numbers if _follows(one, numbers)] for key, numbers in series.items()}
    levels = {one.edge.level for numbers in kept.values() for one in numbers if one.edge.near}
    numbered: dict[int, _EdgeLine] = {}
    for key, numbers in series.items():
        known = kept[key]
        totals = {pages, max((one.value for one in known), default=0)}
        for one in numbers:
            first = one.value == 1 and one.edge.near and one.edge.level in levels  # of a new numbering
            if id(one.edge.line) in numbered or not (one in known or (one.alone and (len(known) >= _RUN or first))):
                continue
            text = one.edge.line.text
            (start, end), (begin, after) = one.span, one.total
            if after and int(text[begin:after]) in totals:
                text = f"{text[:begin]}#{text[after:]}"
            numbered[id(one.edge.line)] = replace(one.edge, text=f"{text[:start]}#{text[end:]}")
    return numbered


def _numbers(edge: _EdgeLine) -> Iterator[_Number]:
    """Find the numbers in a line that may be that of the page: alone, named or counted, the first and the last."""
    text = edge.line.text
    if _NUMERIC.search(text) is None:
        return
    if alone := _ALONE.fullmatch(text):
        matches = [] if _SIGNED.fullmatch(text) else [alone]
    elif edge.near or edge.detached:
        matches = [match for pattern in _PATTERNS for match in pattern.finditer(text)]
    else:
        matches = []
    seen: set[int] = set()
    for match in matches:
        start, end = match.span("number")
        if start in seen or _is_amount(text[:start], text[end:]):
            continue
        seen.add(start)
        written = match["number"]
        if written.isdigit():
            form, value = "1", int(written)
        else:
            form, value = "i" if written.islower() else "I", from_roman(written)
        if value or form == "1":
            total = match.span("total") if match.groupdict().get("total") else (0, 0)
            key = (match["prefix"] or "") + form, value - edge.line.page
            yield _Number(edge, key, (start, end), value, total, alone is not None)


def _is_amount(before: str, after: str) -> bool:
    """Whether a sign, a currency or the like before or after a number makes it an amount."""
    signed = _AMOUNT_BEFORE.search(before) and not after.endswith(("-", "–", "−"))
    return bool(signed or _AMOUNT_AFTER.match(after))


def _follows(one: _Number, numbers: Sequence[_Number]) -> bool:
    """Whether a number follows the page, as others of its numbering on pages nearby do at the same place."""
    if one.alone and one.edge.near and one.key == ("1", 0):
        return True
    others = {
        other.edge.line.page
        for other in numbers
        if 0 < abs(other.edge.line.page - one.edge.line.page) <= _NEAR
        and (abs(other.edge.level - one.edge.level) <= 1 or (other.alone and one.alone))
    }
    return len(others) >= (1 if one.edge.near else _RUN - 1)


def _repeated(edges: Iterable[_EdgeLine], pages: int) -> Iterator[_EdgeLine]:
    """Find the lines that are the same on several pages, at the same height."""
    places: defaultdict[tuple[str, int], list[_EdgeLine]] = defaultdict(list)
    for edge in edges:
        if edge.near or edge.detached:
            pattern = re.sub(r"[^\w#]+", "", edge.text.casefold())[:_LONGEST]
            places[pattern, edge.level].append(edge)
    for same in places.values():
        count = len({edge.line.page for edge in same})
        often = count >= 3 and count >= min(0.12 * pages, 12)
        near = count >= 2 and 2 * count >= pages and all(edge.near for edge in same)
        if often or near or (pages >= 4 and count >= max(2, 0.4 * pages)):
            yield from same
