"""Find the running heads, feet and page numbers of a PDF: lines at the edges of pages that behave as such.

A head is the same on several pages, at the same height. Its numbers may differ only if they follow the page: a page
number less the number of the page is the same on pages nearby, so that numbering may begin anew. No amount is one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from colde_cli.documents.pdf.lines import Line

PAGE_NUMBER = "#"
"""What is written for a page number."""

_EDGE = 0.07  # share of a page's height: lines so near to its top or foot belong to its edge
_EDGE_ROWS = 3
"""Maximum number of rows of a head or foot that is further away from the edge."""
_DETACHED = 1.6  # sizes of type from a head to the text below it
_LARGER = 1.5  # a figure may begin below a head, in letters of any size
_ROW = 0.4  # share of its size by which a line of a row may be raised
_NEAR = 2  # pages: heads of left and right pages take turns
_RUN = 3
"""Minimum number of page numbers in a row that need no other sign of being such."""
_STEP = 6  # points; lines of one head differ less in height
_LONGEST = 60  # letters by which two heads are told apart

_NUMBER = r"(?P<prefix>[A-Z]-?)?(?P<number>\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})"
_TOTAL = r"(?:[\W_]*?(?:\bof\b|/|\bvon\b|\bde\b|\bsur\b|\bdi\b|\bvan\b)\s*(?P<total>\d{1,4}))?"
_NAME = r"(?i:pages?|pg?\.?|seite|s\.|página|pagina|pág\.|sheet|folio|blatt|strona|sida|side|sivu|стр\.)"
_ALONE = re.compile(rf"[\W_]*(?:{_NAME}\s*)?{_NUMBER}{_TOTAL}[\W_]*")
_NAMED = re.compile(rf"\b{_NAME}\s*{_NUMBER}\b{_TOTAL}")
_COUNTED = re.compile(
    r"(?<![\w.,/])(?P<prefix>)(?P<number>\d{1,4})\s*(?:of|/)\s*(?P<total>\d{1,4})(?![\w.,/])"
)
_LAST = re.compile(r"(?<=\s)(?P<prefix>)(?P<number>\d{1,4}|[ivxlc]{1,7})$")
_FIRST = re.compile(r"^(?P<prefix>)(?P<number>\d{1,4}|[ivxlc]{1,7})(?=\s)")
_MONEY = (
    r"(?:[$€£¥₹₽%+=~<>]|(?i:EUR|USD|GBP|CHF|JPY|CNY|AUD|CAD|INR|SEK|NOK|DKK|PLN|CZK|HUF|RUB|BRL|ZAR|MXN|euros?|dollars?"
    r"|pounds?|francs?|kr|total|sum|subtotal|balance|amount|price|due|net|gross|saldo|betrag|summe|montant|importe)\b)"
)
_AMOUNT_BEFORE = re.compile(rf"{_MONEY}[\s:]*[-–−]?$|(?<!\w)[-–−]$")
_AMOUNT_AFTER = re.compile(rf"^\s?{_MONEY}")
_NUMERIC = re.compile(r"\d|(?:^|\W)(?:[ivxlc]{1,7}|[IVXLC]{1,7})(?!\w)")
_SIGNED = re.compile(r"\s*[-–−]\s*\w+\s*$")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_WELL_FORMED = re.compile(r"c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of a page that may be text.

    Attributes:
        number: of the page, 1-based.
        height: of the page across their direction, in points.
    """

    number: int
    height: float
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class _EdgeLine:
    """A line that may belong to a head or foot.

    Attributes:
        text: with `PAGE_NUMBER` for the numbers that are known to be page numbers.
        near: it is so near to the edge of the page that it belongs to it.
        detached: it stands apart from the text; else it is merely the first or last line of the page.
    """

    line: Line
    text: str
    near: bool
    detached: bool

    @property
    def level(self) -> int:
        """Its height in steps."""
        return round(self.line.base / _STEP)


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that may be that of a page.

    Attributes:
        edge: its line.
        key: how it is written, and the number less that of the page: the same for all numbers of one numbering.
        start: offset of the number in the line.
        end: offset after it.
        value: the number.
        total: offsets of the number of all pages, if it is named; else (0, 0).
        alone: there is nothing else in the line.
    """

    edge: _EdgeLine
    key: tuple[str, int]
    start: int
    end: int
    value: int
    total: tuple[int, int]
    alone: bool

    @property
    def page(self) -> int:
        """The page that it stands on."""
        return self.edge.line.page


def running_heads(pages: Sequence[PageLines], count: int) -> dict[int, str]:
    """Find running heads, feet and page numbers.

    Args:
        pages: the lines of pages; a page with lines in two directions is there twice.
        count: number of pages of the document.

    Returns:
        By id of the line its text, with `#` for a number that follows the page.
    """
    edges = [edge for page in pages for edge in _edge_lines(page)]
    numbered = _page_numbers(edges, count)
    texts = [numbered.get(id(edge.line), edge) for edge in edges]
    found = {id(edge.line): edge.text for edge in numbered.values()}
    found |= {id(edge.line): edge.text for edge in _repeated(texts, count)}
    return found | _beside(texts, found)


def _edge_lines(page: PageLines) -> Iterator[_EdgeLine]:
    """List the lines near the edges of a page, and the rows at its top and foot that stand apart from the text."""
    if not page.lines:
        return
    low, high = _EDGE * page.height, (1 - _EDGE) * page.height
    rows = _rows(page.lines)
    upper, lower = _outer_rows(rows), _outer_rows(rows[::-1])
    for index, row in enumerate(rows):
        detached = index < upper or len(rows) - 1 - index < lower
        outermost = index in (0, len(rows) - 1)
        for line in row:
            near = not low < line.base < high
            if near or detached or outermost:
                yield _EdgeLine(line, line.text, near, detached)


def _rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Gather lines of one height, from the top."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.base):
        if rows and rows[-1][0].base - line.base <= _ROW * rows[-1][0].size:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


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
    """Find the lines with page numbers, by id, with these replaced in their texts."""
    series: defaultdict[tuple[str, int], list[_Number]] = defaultdict(list)
    for edge in edges:
        for number in _numbers(edge):
            series[number.key].append(number)
    kept = {key: [one for one in numbers if _follows(one, numbers)] for key, numbers in series.items()}
    levels = {one.edge.level for numbers in kept.values() for one in numbers if one.edge.near}
    found: dict[int, _EdgeLine] = {}
    for key, numbers in series.items():
        known = kept[key]
        last = max((one.value for one in known), default=0)
        for one in numbers:
            if one in known or _belongs(one, known, levels):
                found.setdefault(id(one.edge.line), _marked(one, {pages, last}))
    return found


def _numbers(edge: _EdgeLine) -> Iterator[_Number]:
    """Find the numbers in a line that may be that of the page: alone, named or counted, the first and the last."""
    text = edge.line.text
    if _NUMERIC.search(text) is None:
        return
    if alone := _ALONE.fullmatch(text):
        if not (_SIGNED.fullmatch(text) or _is_amount(text, alone)):
            yield from _number(edge, alone, alone=True)
        return
    if not (edge.near or edge.detached):
        return
    seen: set[int] = set()
    for pattern in (_NAMED, _COUNTED, _LAST, _FIRST):
        for match in pattern.finditer(text):
            if match.start("number") not in seen and not _is_amount(text, match):
                seen.add(match.start("number"))
                yield from _number(edge, match, alone=False)


def _is_amount(text: str, match: re.Match[str]) -> bool:
    """Whether a sign, a currency or the like before or after a number makes it an amount."""
    before, after = text[: match.start("number")], text[match.end("number") :]
    return bool(_AMOUNT_BEFORE.search(before) and not text.endswith(("-", "–", "−"))) or bool(
        _AMOUNT_AFTER.match(after)
    )


def _number(edge: _EdgeLine, match: re.Match[str], *, alone: bool) -> Iterator[_Number]:
    written = match["number"]
    form, value = (
        ("1", int(written)) if written.isdigit() else ("i" if written.islower() else "I", roman(written))
    )
    if value or form == "1":
        total = match.span("total") if match.groupdict().get("total") else (0, 0)
        key = (match["prefix"] or "") + form, value - edge.line.page
        yield _Number(edge, key, *match.span("number"), value, total, alone)


def roman(written: str) -> int:
    """The value of a roman number up to 399; 0 for what is none."""
    if not _WELL_FORMED.fullmatch(written):
        return 0
    values = [_ROMAN[letter] for letter in written.casefold()]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _follows(one: _Number, numbers: Sequence[_Number]) -> bool:
    """Whether a number follows the page, as others of its numbering on pages nearby do at the same place."""
    if one.alone and one.edge.near and one.key == ("1", 0):
        return True
    others = {
        other.page
        for other in numbers
        if 0 < abs(other.page - one.page) <= _NEAR
        and (abs(other.edge.level - one.edge.level) <= 1 or (other.alone and one.alone))
    }
    return len(others) >= (1 if one.edge.near else _RUN - 1)


def _belongs(one: _Number, known: Sequence[_Number], levels: set[int]) -> bool:
    """Whether a number that stands alone belongs to a numbering: by its series, or as the first of a new one."""
    if not one.alone:
        return False
    return len(known) >= _RUN or (one.value == 1 and one.edge.near and one.edge.level in levels)


def _marked(number: _Number, totals: set[int]) -> _EdgeLine:
    """Write `#` for a page number, and for the number of all pages."""
    text = number.edge.line.text
    begin, end = number.total
    if end and int(text[begin:end]) in totals:
        text = text[:begin] + PAGE_NUMBER + text[end:]
    return replace(number.edge, text=text[: number.start] + PAGE_NUMBER + text[number.end :])


def _repeated(edges: Iterable[_EdgeLine], pages: int) -> Iterator[_EdgeLine]:
    """Find the lines that are the same on several pages, at the same height."""
    places: defaultdict[tuple[str, int], list[_EdgeLine]] = defaultdict(list)
    for edge in edges:
        if edge.near or edge.detached:
            places[_pattern(edge.text), edge.level].append(edge)
    for same in places.values():
        count = len({edge.line.page for edge in same})
        often = count >= 3 and count >= min(0.12 * pages, 12)
        near = count >= 2 and 2 * count >= pages and all(edge.near for edge in same)
        if often or near or (pages >= 4 and count >= max(2, 0.4 * pages)):
            yield from same


def _pattern(text: str) -> str:
    return re.sub(r"[^\w#]+", "", text.casefold())[:_LONGEST]


def _beside(edges: Sequence[_EdgeLine], found: dict[int, str]) -> dict[int, str]:
    """Find the lines near the edge that stand in one row with a head, such as the title of a section."""
    rows = Counter((edge.line.page, edge.level) for edge in edges if id(edge.line) in found and edge.near)
    return {
        id(edge.line): edge.text
        for edge in edges
        if edge.near and id(edge.line) not in found and rows[edge.line.page, edge.level]
    }
