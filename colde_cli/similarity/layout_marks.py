"""Find the marks that a layout gives to text: bullets, bars of tables, marks of list items, numbers of clauses."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from colde_cli.documents.document import Span

_CURRENCY = (
    r"(?:[A-Z]{0,3}[$£¤¥֏؋৳฿៛₠-⃀￠￡￥€]|(?:EUR|USD|GBP|CHF|CAD|AUD|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|INR|BRL|Euros?|euros?"
    r"|[Kk]r|Fr|Rs|Mio)\b\.?)"
)
_IS_SIGN = rf"[ \t]*(?:[-–—−][ \t]*){{0,3}}\(?(?:{_CURRENCY}|(?!\d{{1,3}}[.)][ \t])[.,]?\d)"
"""What stands after a dash that is a sign: an amount or another number, but no number of a list item."""
_DOTS = rf"[ \t]*(?:(?:[-–—](?!{_IS_SIGN})|[•▪‣◦*·○●■□➢✓\uf0b7])[ \t]+)"
_AT_LINE_START = rf"^{_DOTS}+(?=\S)"
_LINE_BULLET = re.compile(_AT_LINE_START, re.MULTILINE)
_BULLET = re.compile(rf"{_AT_LINE_START}|(?<!\S)[•▪‣◦●○■□➢✓](?=\s+\S)", re.MULTILINE)
_DASH = re.compile(rf"^[ \t]*[-–—][ \t]+(?={_IS_SIGN})", re.MULTILINE)
_HEAD = 24
"""Number of characters by which a list item is known again."""
_LINE = re.compile(r"^.+$", re.MULTILINE)
_FORMULA = re.compile(r"[=∈∑<>]")
_SURE_BARS = 3
"""A line with a formula is a row of a table if it has as many bars: "y = P(a | b)" has fewer."""
BOXES = "○●□■✓"
"""Bullets that may also be boxes to tick."""
_BOX = re.compile(f"[{BOXES}]")
_BAR = re.compile(r"(?:(?<= )|^)\|(?= |$)", re.MULTILINE)
_BEFORE = 200
"""Number of characters before a bar that are searched for an open bracket."""
_ITEM = r"\((?:\d{1,3}|[A-Za-z]|(?i:[ivxlc]+))\)|(?:\d{1,3}|[A-Za-z]|(?i:[ivxlc]+))[.)]"
_DECIMAL = r"\d{1,3}(?:\.\d{1,3})+\.?(?=[ \t]+[\"“(]?[A-Z])"
_MARK = re.compile(rf"\W*(?:{_ITEM})\W*")
_LIST_MARK = re.compile(rf"^(?:{_DOTS})?[ \t]*(?P<mark>{_DECIMAL}|{_ITEM})(?=[ \t]+\S)", re.MULTILINE)
_NAMED = (
    r"(?i:sections?|articles?|clauses?|paragraphs?|subsections?|schedules?|exhibits?|annex|appendix|chapters?|parts?|rules?"
    r"|tables?|figures?|fig\.|equations?|eq\.)"
)
_CLAUSE = r"\d+(?:\.\d+)+\.?|\d{1,3}[.)]|\d{1,3}(?=[ \t]+[A-Z])"
_NUMBER_OF_CLAUSE = re.compile(
    rf"^[ \t]*(?:{_CLAUSE}|{_ITEM})(?=[ \t]+\S|$)|(?<=[.;:])[ \t]+(?:\d+(?:\.\d+)+\.?|{_ITEM})(?=[ \t]+\W*[A-Z])"
    rf"|(?<=\b)(?:{_NAMED})\s+(?P<reference>\d+(?:\.\d+)*[A-Za-z]?(?:\([a-z0-9]+\))*|[IVX]+\b|[A-Z]\b)|§+\s*(?P<sign>\d+[\d.]*)",
    re.MULTILINE,
)


def typesetting(text: str, content: Container[str] = ()) -> Iterator[Span]:
    """Find the bullets, the dashes at the beginning of lines, and the bars between the cells of a table.

    Args:
        content: signs that are none: see `content_marks`.
    """
    yield from bullets(text, content)
    if "|" not in content:
        yield from bars(text)


def bullets(text: str, content: Container[str] = ()) -> Iterator[Span]:
    """Find the bullets, and the dashes at the beginning of lines; see `typesetting`."""
    for match in _BULLET.finditer(text):
        if match[0].strip()[:1] not in content:
            yield Span(*match.span())


def bars(text: str) -> Iterator[Span]:
    """Find the bars between the cells of a table."""
    return (bar for _, cells in _bars_of_rows(text) for bar in cells)


def rows(text: str) -> list[Span]:
    """Find the rows of tables, which have bars between their cells: each is a line."""
    return [row for row, _ in _bars_of_rows(text)]


def _bars_of_rows(text: str) -> Iterator[tuple[Span, list[Span]]]:
    if "|" not in text:
        return
    for row in _LINE.finditer(text):
        cells = [
            Span(*bar.span())
            for bar in _BAR.finditer(text, *row.span())
            if not _in_brackets(text[max(row.start(), bar.start() - _BEFORE) : bar.start()])
        ]
        if cells and (len(cells) >= _SURE_BARS or not _FORMULA.search(row[0])):
            yield Span(*row.span()), cells


def content_marks(a: str, b: str) -> frozenset[str]:
    """The signs of a layout that are content, as both texts have them: bars of tables, and boxes to tick.

    One text without any was laid out in another way. Two with bars are tables, where each amount has a column.
    """
    found: set[str] = {"|"} if "|" in a and "|" in b else set()
    if not (a.isascii() or b.isascii()) and _BOX.search(a) and _BOX.search(b):
        found.update(BOXES)
    return frozenset(found)


def dashes_at_items(text: str) -> Iterator[int]:
    """Find the dashes at the beginning of lines before a number: they are signs, unless in the place of a bullet."""
    return (match.end() - len(match[0].lstrip()) for match in _DASH.finditer(text))


def without_bullets(text: str) -> str:
    """Remove the bullets at the beginnings of lines."""
    return _LINE_BULLET.sub("", text)


def without_dashes(text: str, other: str) -> str:
    """Remove the dashes before numbers of those lines that begin with a bullet in another text."""
    if not _DASH.search(text):
        return text
    heads = {_head(other, match.end()) for match in _BULLET.finditer(other)}
    return _DASH.sub(lambda match: "" if _head(text, match.end()) in heads else match[0], text)


def _head(text: str, start: int) -> str:
    return "".join(text[start : start + 2 * _HEAD].split())[:_HEAD]


def without_typesetting(text: str, content: Container[str] = ()) -> str:
    """Remove bullets and the bars of tables, but none that is `content`."""
    pieces, end = [], 0
    for span in sorted(typesetting(text, content), key=lambda span: span.start):
        pieces.append(text[end : span.start])
        end = max(end, span.end)
    return "".join((*pieces, text[end:])) if pieces else text


def _in_brackets(before: str) -> bool:
    """Whether a bracket is open: "P(A | B)"."""
    return any(before.count(opening) > before.count(closing) for opening, closing in ("()", "[]", "{}"))


def is_list_mark(text: str) -> bool:
    """Whether a text is the mark of a list item and nothing else."""
    return _MARK.fullmatch(text) is not None


def list_marks(text: str) -> Iterator[Span]:
    """Find the marks of list items at the beginning of lines: "(a)", "iv)", "2.", "4.2"."""
    return (Span(*match.span("mark")) for match in _LIST_MARK.finditer(text))


def clause_numbers(text: str) -> Iterator[Span]:
    """Find the numbers of clauses and list items, and those of references: "4.2" in "Section 4.2"."""
    for match in _NUMBER_OF_CLAUSE.finditer(text):
        yield Span(*match.span(match.lastgroup or 0))
