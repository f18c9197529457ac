"""The text of a document as colde reads it: Markdown with one sentence on each line, or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from colde_cli.documents.chunking import whole_sentence_starts
from colde_cli.documents.document import BLANK_LINES
from colde_cli.documents.outside import OutsideText, UnreadPart, digest_of
from colde_cli.similarity.outside_changes import MOST_LISTED, item_data
from colde_cli.similarity.plain_data import fields_data, ocr_data, source_data
from colde_cli.views.changes import TITLE, counted
from colde_cli.views.wording import page_range, plain

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, Section

_DIGEST = 16
"""Characters shown of a digest."""
# Only what Markdown would take for a mark: text full of backslashes is hard to read.
_MARKS = re.compile(
    r"""\\(?=[!-/:-@\[-`{-~]|$)  # a backslash that would escape something, or break a line
    | ` | \*(?=\S) | (?<=\S)\* | (?<!\w)_(?=\S) | (?<=\S)_(?!\w)
    | <(?=[a-zA-Z/!?])  # a tag, a comment
    | (?<=\])[\[(:]  # a link, an image, a definition
    | &(?=\#?\w+;)""",
    re.VERBOSE,
)
# At the beginning of a line, and of an item of a list.
_BLOCK = re.compile(
    r"""((?:(?:[-*+]|\d{1,9}[.)])\s+)*)
    (?=\#{1,6}(?:\s|$) | > | ~{3} | =+\s*$ | [-:|][-:|\s]*$ | [*+]\s*$ | ([-*_])(?:\s*\2){2,}\s*$)""",
    re.VERBOSE,
)

_NUMBER = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


def document_markdown(document: Document) -> str:
    """Headings marked by level, and paragraphs between blank lines with one sentence on each line.

    A changed sentence is a changed line. What stands outside the text comes last, as a comment with a line for each.
    Reading the Markdown again gives the same text apart from white space.
    """
    blocks = [block for section in document.sections for block in _blocks(document, section)]
    beside = list(_beside(document))
    blocks += ["\n".join((f"<!-- {TITLE}", *beside, "-->"))] if beside else []
    return "\n\n".join(blocks) + "\n"


def _beside(document: Document) -> Iterator[str]:
    """A line for each text outside and each part not read, up to `MOST_LISTED`; the others are counted and digested."""
    for item in document.beside[:MOST_LISTED]:
        shown = item.text if isinstance(item, OutsideText) else item.digest[:_DIGEST]
        places = " · ".join(place for place in (page_range(item.pages), item.about) if place)
        line = f"{counted(item.kind, 1)}{f' ({places})' if places else ''}: {shown}"
        yield plain(line).replace("--", "- -")
    if rest := document.beside[MOST_LISTED:]:
        digest = digest_of("\n".join(map(repr, rest)).encode("utf-8", "surrogatepass"))
        yield f"{len(rest):,} more: {digest[:_DIGEST]}"


def _blocks(document: Document, section: Section) -> Iterator[str]:
    if section.heading:
        words = re.sub(r"#$", r"\\#", _escaped(section.heading))
        yield f"{'#' * min(6, max(1, section.level))} {words}"
    following = ("", "")  # the number, with its sign, that Markdown would give to the next item of a list
    for paragraph in BLANK_LINES.split(document.text[section.body_start : section.span.end]):
        lines: list[str] = []
        for line in filter(None, map(_line, _lines(paragraph))):
            shown, following = _numbered(line, following if lines or _NUMBER.match(line) else ("", ""))
            lines.append(shown)
        if lines:
            yield "\n".join(lines)


def _lines(paragraph: str) -> list[str]:
    """The sentences of a paragraph; rows of a table and lines of code stay lines."""
    if "\n" in paragraph.strip():
        return paragraph.split("\n")
    return [paragraph[start:end] for start, end in pairwise([*whole_sentence_starts(paragraph), len(paragraph)])]


def _numbered(line: str, following: tuple[str, str]) -> tuple[str, tuple[str, str]]:
    """Escape the number of a line that Markdown would count otherwise; also give the number that follows."""
    number = _NUMBER.match(line)
    if number is None:
        return line, following
    digits, sign = number.groups()
    if digits != str(int(digits)) or (sign == following[1] and digits != following[0]):
        return f"{digits}\\{line[len(digits) :]}", following
    return line, (str(int(digits) + 1), sign)


def _line(text: str) -> str:
    line = _escaped(text)
    mark = _BLOCK.match(line)
    return f"{mark[1]}\\{line[mark.end() :]}" if mark else line


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", plain(text))


def document_json(document: Document) -> str:
    """The document as text of schema colde.text/1, with the whole text of each section."""
    from colde_cli.views.json import text

    report = document.report
    value = {
        "schema": "colde.text/1",
        **source_data(document),
        "sections": [_section(document, section) for section in document.sections],
        "read": {
            **fields_data(report, "pages_without_text unreadable_characters skipped_sections"),
            **report.tracked_data(),
            **ocr_data(report.ocr),
        },
        "warnings": list(report.warnings),
        "outside": [_item(item) for item in document.outside],
        "parts": [_item(item) for item in document.parts],
    }
    return text(value)


def _item(item: OutsideText | UnreadPart) -> dict[str, Any]:
    return {"kind": item.kind.value, **item_data(item)}


def _section(document: Document, section: Section) -> dict[str, Any]:
    text = document.text[section.body_start : section.span.end].strip()
    return {**fields_data(section, "index heading level kind pages"), "text": text}
