"""Read plain text: its encoding, page breaks, headings and paragraphs."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, Sections, finished, shown_as
from colde_cli.documents.headings.titles import in_capitals, is_known, kind_of, longest_chain, parse_number
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.pdf.body_lines import PageLines, running_heads
from colde_cli.documents.pdf.lines import Line
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
    """Remove form feeds; running heads and feet around them (as in RFCs) become texts outside, as in a PDF."""
    pages = [page.split("\n") for page in text.split("\f")]
    if len(pages) < 2:
        return text
    edges = [{at: None for at in (_first(page), _last(page)) if at is not None} for page in pages]
    lines = [
        [
            Line(" ".join(page[at].split()), number, 0, base, 1, 1, "")
            for at, base in zip(places, (100.0, 0.0), strict=False)
        ]
        for number, (page, places) in enumerate(zip(pages, edges, strict=True), 1)
    ]
    heads = running_heads((PageLines(number, 100.0, some) for number, some in enumerate(lines, 1)), len(pages))
    before = {OutsideKind.HEADERS: "", OutsideKind.FOOTERS: ""}
    for page, places, some in zip(pages, edges, lines, strict=True):
        told = {OutsideKind.HEADERS: "", OutsideKind.FOOTERS: ""}
        for at, line in zip(places, some, strict=True):
            if written := heads.get(id(line)):
                page[at] = ""
                told[OutsideKind.HEADERS if line.base else OutsideKind.FOOTERS] = written
        for kind, written in told.items():
            account.add_text(kind, written if written != before[kind] else "")
        before = told
    return _rejoin(pages)


def _first(page: Sequence[str]) -> int | None:
    return next((index for index, line in enumerate(page) if line.strip()), None)


def _last(page: Sequence[str]) -> int | None:
    return next((index for index in range(len(page) - 1, -1, -1) if page[index].strip()), None)


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
