"""Numbers that name and do not count: marks of footnotes, "(3)" before a list item, the 4 of "GA4", equations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from colde_cli.documents.document import Span
from colde_cli.similarity.numerals import SPELLED

ENOUGH = 5
"""Labels of equations that went up or down by the same number, from which all that did are renumbered."""

# "thirty (30) days" is a count, said twice.
_SAID_TWICE = re.compile(rf"\b(?:{'|'.join(SPELLED)})\s*$", re.IGNORECASE)
_WITHIN_A_NAME = re.compile(r"(?:[^\W\d_]|[A-Z][-–])$")
_GREEK = re.compile(r"[\u0370-\u03ff]")
_YEAR = re.compile(r"(?:18|19|20)\d\d")
_OF_AUTHORS = re.compile(r"(?:[A-Z][^\W\d_]+|\bal\.),? \(?$")
_FOOTNOTE = re.compile(r"(?<=[a-z]{4}[.,;)])\d{1,2}(?!\S)|^\s*\d{1,2}\s+(?=https?:)")
_MOST_ITEMS = 2
"""Digits that the number of a list item has at most; "(2019)" is a year."""


def footnote_marks(text: str) -> tuple[Span, ...]:
    """Numbers close behind the end of a clause, and one in front of an address."""
    return tuple(Span(*mark.span()) for mark in _FOOTNOTE.finditer(text))


def names_something(text: str, span: Span) -> bool:
    """Whether a number is part of a name, or stands in parentheses like a list item's.

    Names are "GA4", "COVID-19", "Palmer 2009", "3σ".

    For numbers that one text has more than the other: of two that differ at one place, that they differ tells.
    """
    before, after = text[: span.start], text[span.end :]
    number = text[span.start : span.end]
    if _WITHIN_A_NAME.search(before[-2:]) or _GREEK.match(after):
        return True
    if _YEAR.fullmatch(number) and (_OF_AUTHORS.search(before[-40:]) or after[:1].isalpha()):
        return True
    bare = before.endswith("(") and after.startswith(")") and number.isdecimal()
    return bare and len(number) <= _MOST_ITEMS and not _SAID_TWICE.search(before[-20:-1])


def renumbered(found: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Of numbers in parentheses, before and after: those that all went up or down by as much as many others did.

    Equations count through a document, so that a new one moves the labels of all that follow. A single passage does
    not show it.
    """
    shifts: Mapping[int, set[tuple[str, str]]] = defaultdict(set)
    for before, after in found:
        if before.isdecimal() and after.isdecimal():
            shifts[int(after) - int(before)].add((before, after))
    return frozenset(pair for pairs in shifts.values() if len(pairs) >= ENOUGH for pair in pairs)
