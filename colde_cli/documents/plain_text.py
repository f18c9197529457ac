"""Read plain text: its encoding, page breaks, headings and paragraphs."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, Sections, finished, shown_as
from colde_cli.documents.headings.titles import in_capitals, is_known, kind_of, longest_chain, parse_number
from colde_cli.documents.notation import from_roman
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.pdf.prose import Hyphens, JoinedLines
from colde_cli.errors import UnsupportedFormatError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_UNDERLINE = re.compile(r"\s*(={3,}|-{3,}|~{3,}|\*{3,})\s*$")
_PAGE = re.compile(r"\[Page \w+\]$")
_PAGE_FOOT = re.compile(rf"{_PAGE.pattern}|^\W*\w+\W*$")
_COUNTED = re.compile(r"\d+|(?<=\[Page )[ivxlcdm]+(?=\]$)|^[ivxlcdm]+$", re.IGNORECASE)
"""What may number a page: figures; Roman ones where nothing else stands beside them."""
_CURRENCY = (
    r"(?:[€$£¥₩₹]|\b(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|Fr|Rs|kr"
    r"|euros?|dollars?|pounds?)\b\.?)"
)
_AMOUNT_BEFORE = re.compile(rf"{_CURRENCY}\s*$|\d[.,:' -]$|[+−=<>]\s*$")
_AMOUNT_AFTER = re.compile(rf"\s*(?:%|‰|{_CURRENCY})|[.,:'-]\d")
_PAGE_WORD = re.compile(r"\b(?:pages?|pp?\.|seite|s\.|página|pagina|pág\.|стр\.)\s*$", re.IGNORECASE)
_OF_PAGES = re.compile(r"\s*(?:/|of|von|de|sur|di)\s*\d+\b", re.IGNORECASE)
_BESIDE = " -–—[]()|·•"  # what may stand beside a page number
_FARTHEST = 1000  # numbers as far from that of the page are amounts or years
_NEAR = 20  # largest distance from the number of the page for a number that nothing sets apart from other words
_CONTENTS = re.compile(r"\.{4,}|(\. ){4,}|\s\d+\s*$")
_TABLE = re.compile(r"\S {3,}\S|\||^\s*[+=-]{5,}")
_LIST_ITEM = re.compile(r"\s*([-*+•]|\(?\w{1,3}[.)])\s+\S")
_HEADING_WORDS = 12
_HEADING_LETTERS = 90


def decode(data: bytes, path: str) -> tuple[str, tuple[str, ...]]:
    r"""Decode a file by its byte order mark, else as UTF-8, else as its bytes suggest; also return warnings.

    Bytes without a meaning are written as \xNN, so that two different ones do not look alike.

    Raises:
        UnsupportedFormatError: the bytes are no text.
    """
    warnings: tuple[str, ...] = ()
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "backslashreplace")
            break
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text, warning = _guessed(data)
            warnings = (warning,)
    strange = len(_CONTROL.findall(text[:100_000]))
    if "\x00" in text[:100_000] or strange > 0.02 * len(text[:100_000]):
        raise UnsupportedFormatError(f"Cannot read {shown_as(path)}: it holds binary data, not text; name a document.")
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def _guessed(data: bytes) -> tuple[str, str]:
    """Decode text that is not UTF-8: as Windows-1252 where its letters are Latin, else by its likely encoding."""
    from charset_normalizer import from_bytes

    # Detection tries every encoding; the lines with other than ASCII characters tell, and a few of them will do.
    telling = b"\n".join(line[:2000] for line in data.split(b"\n") if not line.isascii())[:20_000]
    best = from_bytes(telling).best()
    letters = [letter for letter in str(best or "") if letter.isalpha()]
    # A single accent of a Latin text can look like a letter of any alphabet.
    if best is not None and sum(letter > "\u024f" for letter in letters) > 0.3 * len(letters):
        with contextlib.suppress(LookupError):
            name = best.encoding.upper().replace("_", "-")
            text = data.decode(best.encoding, "backslashreplace")
            return text, f"Not valid UTF-8; read as {name}, as its bytes suggest."
    warning = "Not valid UTF-8; read as Windows-1252 (Latin-1), so that accents may be wrong."
    return data.decode("cp1252", "backslashreplace"), warning


def read_text(data: bytes, path: str, name: str) -> Document:
    """Read plain text: numbered, underlined or capital lines that stand alone are headings.

    Raises:
        NoTextError: nothing but blanks.
        UnsupportedFormatError: the bytes are no text.
    """
    text, warnings = decode(data, path)
    account = Account()
    paged = _without_page_breaks(text.expandtabs(), account)
    blocks = list(_blocks(paged.split("\n")))
    hyphens = Hyphens(line for block in blocks for line in block.lines)
    marked = _mark_headings(blocks)
    title = next((block.lines[0].strip() for block in marked[:3] if _is_title(block)), name)
    parts = _parts(marked, hyphens)
    report = ReadReport(warnings=warnings, accounted=warnings, divided_words=tuple(sorted(hyphens.divided)))
    return finished(path, title, parts, report, account)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines between blank lines."""

    lines: tuple[str, ...]
    level: int = 0  # of a heading; 0 for text

    @property
    def first(self) -> str:
        return self.lines[0].strip()


def _without_page_breaks(text: str, account: Account) -> str:
    """Remove form feeds; running heads and feet around them (as in RFCs) become texts outside."""
    pages = [page.split("\n") for page in text.split("\f")]
    if len(pages) < 2:
        return text
    for kind, edge in ((OutsideKind.HEADERS, _first), (OutsideKind.FOOTERS, _last)):
        edges = [
            _Edge(number, at, page[at].strip())
            for number, page in enumerate(pages, start=1)
            if (at := edge(page)) is not None
        ]
        for line, written in _running(edges):
            pages[line.page - 1][line.at] = ""
            if written:
                account.add_text(kind, written)
    return _rejoin(pages)


@dataclass(frozen=True, slots=True)
class _Edge:
    """The first or the last line of a page."""

    page: int  # its number, from 1
    at: int  # index of the line in the page
    line: str


def _running(edges: Sequence[_Edge]) -> list[tuple[_Edge, str]]:
    """Find running heads or feet, in order; each with its text where a run of equal ones begins, else with ""."""
    groups: defaultdict[str, list[_Edge]] = defaultdict(list)
    for edge in edges:
        groups[_pattern(edge.line)].append(edge)
    pairs = [pair for group in groups.values() for pair in _written(group)]
    return sorted(pairs, key=lambda pair: pair[0].page)


def _written(group: Sequence[_Edge]) -> Iterator[tuple[_Edge, str]]:
    """Write the page numbers in lines of one pattern as #; lines that are no running heads are left out."""
    columns = list(zip(*(_COUNTED.finditer(edge.line) for edge in group), strict=True))
    varying = [column for column in columns if len({match[0] for match in column}) > 1]
    if not varying and _PAGE.search(group[0].line):
        varying = columns[-1:]
    follows = [_follow(group, column) for column in varying]
    if len(group) < 3 and not (varying and _PAGE_FOOT.search(group[0].line)):
        return
    step = min((b.page - a.page for a, b in pairwise(group)), default=1)
    before: _Edge | None = None
    told = ""
    for index, edge in enumerate(group):
        if not all(places[index] for places in follows):
            continue
        spans = [column[index].span() for column in varying]
        written = edge.line
        for start, end in reversed(spans):
            written = f"{written[:start]}#{written[end:]}"
        goes_on = before is not None and edge.page - before.page <= step and written == told
        yield edge, "" if goes_on else written
        before, told = edge, written


def _follow(group: Sequence[_Edge], column: Sequence[re.Match[str]]) -> list[bool]:
    """Whether each number is that of its page: number − page stays the same, on most pages, until it restarts."""
    values = [_value(match[0]) for match in column]
    offsets = [None if value is None else value - edge.page for value, edge in zip(values, group, strict=True)]
    good = [
        offset is not None
        and _may_count(edge.line, match, offset)
        and (
            offset in (offsets[index - 1 : index] + offsets[index + 1 : index + 2])
            or (offset == 0 and _PAGE.search(edge.line) is not None)
        )
        for index, (edge, match, offset) in enumerate(zip(group, column, offsets, strict=True))
    ]
    return good if sum(good) * 3 >= 2 * len(group) else [False] * len(group)


def _may_count(line: str, number: re.Match[str], offset: int) -> bool:
    """Whether a number of a running head may be that of the page: it stands apart, and is no amount."""
    before, after = line[: number.start()], line[number.end() :]
    if _AMOUNT_BEFORE.search(before) or _AMOUNT_AFTER.match(after) or before[-1:].strip(_BESIDE):
        return False
    if _PAGE_WORD.search(before) or _OF_PAGES.match(after):
        return True
    if abs(offset) >= _FARTHEST:
        return False
    alone = not before.strip(_BESIDE) and not after.strip(_BESIDE)
    apart = (not before or before.endswith("  ")) and (not after or after.startswith("  "))
    return alone or apart or (abs(offset) <= _NEAR and (not before.strip() or not after.strip(_BESIDE)))


def _value(number: str) -> int | None:
    """The value of a number in figures, or in Roman ones; None if it is none."""
    if number.isdecimal():
        return int(number) if len(number) <= 4 else None
    return from_roman(number) or None


def _first(page: Sequence[str]) -> int | None:
    return next((index for index, line in enumerate(page) if line.strip()), None)


def _last(page: Sequence[str]) -> int | None:
    return next((index for index in range(len(page) - 1, -1, -1) if page[index].strip()), None)


def _pattern(line: str) -> str:
    return _COUNTED.sub("0", " ".join(line.split()))


def _rejoin(pages: Sequence[list[str]]) -> str:
    """Join pages to one text; a paragraph across a page break stays one paragraph."""
    lines: list[str] = []
    for page in pages:
        first = _first(page)
        body = page[first:] if first is not None else []
        while lines and not lines[-1].strip():
            lines.pop()
        goes_on = bool(lines and body and body[0].strip()[:1].islower() and lines[-1].rstrip()[-1] not in ".:;!?")
        lines += body if goes_on or not lines else ["", *body]
    return "\n".join(lines)


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    """Cut lines into paragraphs and underlined lines; an underlined line is a heading."""
    block: list[str] = []
    for line in [*lines, ""]:
        if block and _UNDERLINE.match(line) and _underlines(line, block[-1]):
            if block[:-1]:
                yield _Block(tuple(block[:-1]))
            yield _Block((block[-1],), 1 if line.strip()[0] in "=*" else 2)
            block = []
        elif line.strip():
            block.append(line.rstrip())
        elif block:
            yield _Block(tuple(block))
            block = []


def _underlines(line: str, above: str) -> bool:
    title = above.strip()
    return abs(len(line.strip()) - len(title)) <= 3 and len(title.split()) <= _HEADING_WORDS


def _mark_headings(blocks: Sequence[_Block]) -> list[_Block]:
    """Give levels to headings: numbers in sequence, known names, capitals; underlined lines already have levels."""
    alone = [index for index, block in enumerate(blocks) if len(block.lines) == 1 and _heading_shaped(block.first)]
    numbers = {index: number for index in alone if (number := parse_number(blocks[index].first))}
    decimal = [index for index, number in numbers.items() if number.scheme == "decimal"]
    entries = [(numbers[index].parts, 1.0) for index in decimal]
    chained = {decimal[at] for at in longest_chain(entries)}
    capitals = {index for index in alone if in_capitals(blocks[index].first)}
    shouting = len(capitals) > 0.3 * len(blocks)
    marked = list(blocks)
    for index in alone:
        number = numbers.get(index)
        text = blocks[index].first
        if blocks[index].level:
            continue
        if index in chained and number:
            level = len(number.parts)
        elif (number and number.by_word) or is_known(text) or (index in capitals and not shouting):
            level = 1
        else:
            continue
        if number is None or index in chained or number.by_word or index in capitals:
            marked[index] = replace(blocks[index], level=level)
    return marked


def _heading_shaped(text: str) -> bool:
    letters = sum(letter.isalpha() for letter in text)
    words = len(text.split())
    ends = text.endswith((",", ";")) or (text.endswith(".") and words > 5)
    shaped = letters >= 3 and len(text) <= _HEADING_LETTERS and words <= _HEADING_WORDS and not ends
    return shaped and letters >= 0.5 * len(text.replace(" ", "")) and not _CONTENTS.search(text)


def _is_title(block: _Block) -> bool:
    shaped = len(block.lines) == 1 and 3 <= len(block.first) <= 120 and not block.first.endswith((".", ",", ";"))
    return shaped and parse_number(block.first) is None and not is_known(block.first)


def _parts(blocks: Sequence[_Block], hyphens: Hyphens) -> list[Part]:
    """Cut blocks into sections at their headings."""
    sections = Sections(SectionKind.FRONT if any(block.level for block in blocks) else SectionKind.BODY)
    for block in blocks:
        if block.level:
            heading = " ".join(block.first.split())
            sections.begin(heading, block.level, kind_of(heading, sections.kind))
        else:
            sections.paragraphs.extend(_paragraphs(block, hyphens))
    sections.end()
    return sections.parts


def _paragraphs(block: _Block, hyphens: Hyphens) -> Iterator[str]:
    """Join lines to paragraphs; tables and drawings keep their lines, a list item is a paragraph."""
    drawn = sum(bool(_TABLE.search(line.strip())) for line in block.lines)
    if drawn > 0.4 * len(block.lines) and len(block.lines) > 1:
        yield "\n".join(block.lines)
        return
    listed = bool(_LIST_ITEM.match(block.lines[0]))
    joined = JoinedLines(hyphens)
    for line in block.lines:
        if listed and joined.length and _LIST_ITEM.match(line):
            yield joined.text()
            joined = JoinedLines(hyphens)
        joined.add(" ".join(line.split()))
    yield joined.text()
