"""Find the marks of a layout: bullets, marks of list items, numbers of clauses, and references to these."""

from __future__ import annotations

import re
from collections.abc import Iterator

from colde_cli.documents.document import Span

_DOTS = r"[ \t]*(?:[-–—•▪‣◦*·○●■□➢✓\uf0b7][ \t]+)"
_BULLET = re.compile(rf"^{_DOTS}+(?=\S)", re.MULTILINE)
_ITEM = r"\((?:\d{1,3}|[A-Za-z]|(?i:[ivxlc]+))\)|(?:\d{1,3}|[A-Za-z]|(?i:[ivxlc]+))[.)]"
_LIST_MARK = re.compile(rf"^(?:{_DOTS})?[ \t]*(?P<mark>{_ITEM})(?=[ \t]+\S)", re.MULTILINE)
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


def bullets(text: str) -> Iterator[Span]:
    """Find the bullets and dashes at the beginning of lines: these are typesetting."""
    return (Span(*match.span()) for match in _BULLET.finditer(text))


def list_marks(text: str) -> Iterator[Span]:
    """Find the marks of list items at the beginning of lines: "(a)", "iv)", "2."."""
    return (Span(*match.span("mark")) for match in _LIST_MARK.finditer(text))


def clause_numbers(text: str) -> Iterator[Span]:
    """Find the numbers of clauses and list items, and those of references: "4.2" in "Section 4.2"."""
    for match in _NUMBER_OF_CLAUSE.finditer(text):
        yield Span(*match.span(match.lastgroup or 0))
