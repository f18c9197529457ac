"""Mentions of values in two texts: their normal form, and which of them the other text lacks or has elsewhere.

A value that changed its place with its words is no difference; one that took the place of another is.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from colde_cli.documents.document import Span
from colde_cli.similarity.numbers import names_something
from colde_cli.similarity.redline import Edit, plain


class FlagKind(StrEnum):
    """The kind of difference, in the order in which flags are listed: all that is said of a kind stands in its line.

    Attributes:
        weight: of a change with this flag, at least; an edit without a flag weighs less than 5.
        subject: of a remark, as in "An amount changed".
        touched: what a change with this flag touches.
    """

    weight: float
    subject: str
    touched: str

    AMOUNT = "amount", 10.0, "An amount", "amounts"
    PARTY = "party", 7.0, "A party", "parties"
    OBLIGATION = "obligation", 7.5, "A duty or permission", "duties"
    NEGATION = "negation", 9.0, "A negation", "negations"
    EXCEPTION = "exception", 8.0, "An exception", "exceptions"
    SCOPE = "scope", 7.5, "The scope", "scope"
    COMPARISON = "comparison", 8.5, "A limit", "limits"
    PERCENTAGE = "percentage", 8.0, "A percentage", "percentages"
    DATE = "date", 8.0, "A date", "dates"
    UNIT = "unit", 8.0, "A unit", "units"
    NUMBER = "number", 6.0, "A number", "numbers"
    CLAUSE = "clause", 6.5, "A clause", "clauses"
    REFERENCE = "reference", 6.0, "A reference", "references"
    TERM = "term", 6.0, "A defined term", "terms"
    NAME = "name", 6.0, "A name", "names"

    def __new__(cls, name: str, weight: float, subject: str, touched: str) -> Self:
        """Make a member whose value is its name."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.weight, kind.subject, kind.touched = weight, subject, touched
        return kind


@dataclass(frozen=True, slots=True)
class Flag:
    """A difference that matters, as the words of each text; "" where a text has no word of this kind.

    Attributes:
        gravity: what is added to the weight of its kind, 0 to 3: a waiver weighs more than another clause.
    """

    kind: FlagKind
    a: str
    b: str
    gravity: float = 0.0


@dataclass(frozen=True, slots=True)
class Mention:
    """A number, date, duty, party, ... in a text.

    Attributes:
        value: a normal form, the same for "45 days" and "forty-five days".
    """

    kind: FlagKind
    value: str
    span: Span


_BETWEEN_NEIGHBOURS = re.compile(r"(?:[\s,/]|\b(?:and|or|nor|the|an?|sections?|articles?|clauses?)\b)*", re.IGNORECASE)
_JOINS = re.compile(r"[,;.\n]|\b(?:and|or|but|while|whereas)\b", re.IGNORECASE)
_RESPECTIVELY = re.compile(r"\brespective(?:ly)?\b", re.IGNORECASE)


_Replaced = tuple[Mention, Mention]
"""A mention of the first text, and that of the second which stands in its place."""


def missing(mentions: Sequence[Mention], others: Sequence[Mention]) -> list[Mention]:
    """Select mentions with a value that occurs less often in the other text."""
    here = Counter(mention.value for mention in mentions)
    there = Counter(mention.value for mention in others)
    return [mention for mention in mentions if here[mention.value] > there[mention.value]]


def differing(
    a: str, b: str, edits: Sequence[Edit], left: Sequence[Mention], right: Sequence[Mention]
) -> tuple[list[Mention], list[Mention]]:
    """Select the mentions of each text that the other has less often, or another in their place.

    Without the second, "5 mg for children and 10 mg for adults" would be the same the other way round.
    """
    replaced = [pair for pair in _replaced(edits, left, right) if not _is_label(a, b, pair)]
    orders = set(_orders(a, b, edits, replaced))
    exchanged = [pair for pair in replaced if pair not in orders]
    gone = [*missing(left, right), *(first for first, _ in exchanged)]
    new = [*missing(right, left), *(second for _, second in exchanged)]
    return [mention for mention in left if mention in gone], [mention for mention in right if mention in new]


def _replaced(edits: Sequence[Edit], left: Sequence[Mention], right: Sequence[Mention]) -> Iterator[_Replaced]:
    """Find the edits that replace one mention by another, and nothing else."""
    for edit in edits:
        deleted = [mention for mention in left if _is_within(edit.a, mention.span)]
        inserted = [mention for mention in right if _is_within(edit.b, mention.span)]
        if len(deleted) == len(inserted) == 1:
            first, second = deleted[0], inserted[0]
            if first.kind is second.kind and first.value != second.value:
                yield first, second


def _is_within(edit: Span, mention: Span) -> bool:
    return edit.start < edit.end and mention.start <= edit.start and edit.end <= mention.end


def _is_label(a: str, b: str, pair: _Replaced) -> bool:
    """Whether two bare numbers are labels, or parts of names: "(2)" is "(3)" where an item came before it."""
    first, second = pair
    labels = names_something(a, first.span) and names_something(b, second.span)
    return first.kind is FlagKind.NUMBER and labels


def _orders(a: str, b: str, edits: Sequence[Edit], replaced: Sequence[_Replaced]) -> Iterator[_Replaced]:
    """Find the exchanges that only order a list otherwise, of "rent and tax" or of "the rent is $5, the tax is $9"."""
    for one, other in itertools.combinations(dict.fromkeys(replaced), 2):
        if (one[0].value, one[1].value) != (other[1].value, other[0].value):
            continue
        between = a[one[0].span.end : other[0].span.start]
        listed = _BETWEEN_NEIGHBOURS.fullmatch(between) and not _RESPECTIVELY.search(a)
        if listed or _changed_places(a, b, edits, one[0].span, other[0].span):
            yield from (one, other)


def _changed_places(a: str, b: str, edits: Sequence[Edit], one: Span, other: Span) -> bool:
    """Whether words beside two exchanged values were exchanged, too."""
    around = [
        edit for edit in edits if all(_words(a, b, edit)) and not (_is_within(edit.a, one) or _is_within(edit.a, other))
    ]
    for first, second in itertools.combinations(around, 2):
        between = a[max(one.end, first.a.end) : min(other.start, second.a.start)]
        if _JOINS.search(between) and _words(a, b, first) == _words(a, b, second)[::-1]:
            return True
    return False


def _words(a: str, b: str, edit: Edit) -> tuple[str, str]:
    return plain(a[edit.a.start : edit.a.end]).casefold(), plain(b[edit.b.start : edit.b.end]).casefold()


def touches(mention: Span, edit: Span, *, behind: bool = False) -> bool:
    """Whether an edit changes a mention; an empty one may: the other text may have a minus there.

    `behind`: also where an empty edit follows it; the other text may have "monthly" there.
    """
    beside = edit.start == edit.end and (0 <= mention.start - edit.end <= 1 or (behind and mention.end == edit.start))
    return beside or (mention.start < edit.end and edit.start < mention.end)
