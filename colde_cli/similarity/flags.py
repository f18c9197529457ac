"""The small edits that cost money: a number, date, amount, unit, percentage, name, modal or negation that differs.

Precision comes first. A flag stands only on a short edit, and only if what differs there differs in the passages as
wholes, so that a number which has merely changed its place raises none. Numbers of sections, tables, figures, list
items, footnotes and references raise none either: they follow from other edits; nor do numbers along the axis of a
chart, nor those that are part of a new name ("GA4").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from colde_cli.documents.document import Span
from colde_cli.similarity.numbers import (
    DATE,
    IN_WORDS,
    NUMERAL,
    SPELLED,
    axis_numbers,
    footnote_marks,
    names_something,
)
from colde_cli.similarity.redline import Edit, redline
from colde_cli.similarity.words import NOTHING_IGNORED, IgnoreOptions, normal, plain


class FlagKind(StrEnum):
    """What differs."""

    NUMBER = "number"
    DATE = "date"
    AMOUNT = "amount"
    UNIT = "unit"
    PERCENTAGE = "percentage"
    NAME = "name"
    MODAL = "modal"
    NEGATION = "negation"


@dataclass(frozen=True, slots=True)
class Flag:
    """A telling difference: `a` says the one, `b` the other; "" where it says nothing of the kind."""

    kind: FlagKind
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A number, date, modal, ... in a text: what it is of, what it says, where."""

    kind: FlagKind
    value: str
    span: Span


SHORT_EDIT = 12
"""Words that an edit may delete or insert at most to be looked at: more is a new sentence, which a reader reads."""

_FLIP = 3
"""Likewise for modals and negations."""

# "two" and "2" are the same number; what "one", "third" or "quarter" counts is less certain.
_FIGURES = {word: str(number) for number, word in enumerate(SPELLED[:19], 2)} | {
    word: str(10 * number)
    for number, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)
}
_COUNT = re.compile(rf"-?{NUMERAL}(?:thousand|million|billion|bn|[km]\b)?|^(?:{'|'.join(SPELLED)})")
_LEADING_WORDS = re.compile(r"([a-z]+)(?:[\s-]([a-z]+))?")
# A minus, no dash or hyphen: it touches the number, and nothing before it.
_MINUS = r"(?:(?<=[\s(\[=,:;])[-−](?=\d))?"
_CURRENCY = r"(?:[$€£¥₹]|\b(?:usd|eur|gbp|chf|cad|aud|jpy|dollars?|euros?|pounds?)\b)"
_SCALE = r"(?:\s*(?:thousand|million|billion|bn|k|m)\b)?"
_UNITS = (
    r"(?:[mµ]g/m[²³23]|mg/l|km/h|m/s|mph|(?:business|working|calendar) days|seconds?|secs?"
    r"|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|quarters?|years?|[mkcµun]?m|[kmµ]?g|kilometres?"
    r"|kilometers?|kilograms?|grams?|tonnes?|tons?|litres?|liters?|metres?|meters?|centimetres?|centimeters?"
    r"|millimetres?|millimeters?|miles?|feet|foot|inch(?:es)?|yards?|pounds?|ounces?|[kmgt]?bits?|[kmgt]?bytes?"
    r"|[kmgt]i?b|[kmg]?hz|[kmg]?wh?|volts?|amps?|degrees?|°\s?[cf]|[mµ]?s|[mcd]?l)"
)
_PATTERNS = (
    (FlagKind.DATE, DATE),
    (FlagKind.AMOUNT, rf"{_CURRENCY}\s*{NUMERAL}{_SCALE}|{NUMERAL}{_SCALE}\s*{_CURRENCY}"),
    (FlagKind.PERCENTAGE, rf"{_MINUS}{NUMERAL}\s*(?:%|percent\b|per\s?cent\b)"),
    (FlagKind.UNIT, rf"(?:{_MINUS}\b{NUMERAL}|\b{IN_WORDS})[\s-]*{_UNITS}(?![\w²³])"),
    (FlagKind.NUMBER, rf"(?<![\w.]){_MINUS}{NUMERAL}|\d+(?:[.,]\d+)*|\b{IN_WORDS}"),
)
_NUMERIC = re.compile("|".join(f"(?P<{kind.value}>{pattern})" for kind, pattern in _PATTERNS), re.IGNORECASE)
_SIGNPOST = re.compile(
    r"(?:\b(?:sections?|tables?|tab|figures?|figs?|appendix|appendices|chapters?|articles?|art|clauses?|paragraphs?"
    r"|equations?|eqs?|questions?|steps?|items?|parts?|pages?|pp?|no|nos|notes?|annex|schedule|exhibit|rfc|pep)"
    r"\.?\s*(?:\d[\w.]*\s*(?:,|and|or|to|[-–])\s*)*|§+\s*|\(see\s+|\[(?:\d+[,;\s-]*)*)$",
    re.IGNORECASE,
)
_NUMBERED = r"(?:[(\[]\d+(?:\.\d+)*[)\]]|\d+(?:\.\d+)*[.)]|\d+(?:\.\d+)+)\s"
# At the beginning of a text, or of a sentence within it.
_ITEM = re.compile(rf"^\s*{_NUMBERED}|(?:(?<=[.!?:;])\s+|\n\s*){_NUMBERED}(?=\W*[A-Z])")
_MODALS = re.compile(r"\b(?:shall|must|may|might|should|will|would|can|could|cannot)\b", re.IGNORECASE)
_STRONG = {"shall", "must", "may", "should"}
_NEGATIONS = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|nobody)\b|\w+n['’]t\b", re.IGNORECASE
)
_NAME = re.compile(r"\b[A-Z][^\W\d_]*[a-z][^\W\d_]*(?:[-'’ ][A-Z][^\W\d_]*[a-z][^\W\d_]*)*")
_NOT_NAMES = set(
    "a an the this that these those it he she we they i you in on at of for to by with from as if when where while "
    "and or but so yet no not all any each every some such our their its his her my your there here who what which how "
    "section table figure appendix chapter article clause part step mr mrs ms dr".split()
)


def flags(a: str, b: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[Flag, ...]:
    """What tells between two texts that read alike, numbers first; none where they differ in nothing of the kind.

    Args:
        a: a passage.
        b: its counterpart.
        ignore: what does not tell. Where numbers are ignored, a unit or currency that differs still does.
    """
    edits = _edits(a, b, ignore)
    if not edits:
        return ()
    # What happened to a unit is seen where the number beside it counts.
    near = _edits(a, b, replace(ignore, numbers=False)) if ignore.numbers else edits
    found = (*_values(a, b, near, ignore), *_modals(a, b, edits), *_names(a, b, edits, ignore))
    return tuple(dict.fromkeys(found))


def _edits(a: str, b: str, ignore: IgnoreOptions) -> list[Edit]:
    """The edits that are short enough to be looked at."""
    found = redline(a, b, readable=False, ignore=ignore)
    return [edit for edit in found if _short(a, edit.a) and _short(b, edit.b)]


def _short(text: str, span: Span, most: int = SHORT_EDIT) -> bool:
    return len(text[span.start : span.end].split()) <= most


def numbers(text: str) -> tuple[Mention, ...]:
    """Every date, amount, percentage, number with a unit and bare number of a text that may tell."""
    items = (Span(*item.span()) for item in _ITEM.finditer(text))
    passed_over = [*items, *axis_numbers(text), *footnote_marks(text)]
    found = []
    for match in _NUMERIC.finditer(text):
        listed = any(span.start <= match.start() and match.end() <= span.end for span in passed_over)
        if listed or _SIGNPOST.search(text[max(0, match.start() - 40) : match.start()]):
            continue
        kind = FlagKind(match.lastgroup or "number")
        value = _value(match[0])
        found.append(Mention(kind, value, Span(*match.span())))
    return tuple(found)


def _value(said: str) -> str:
    """What is said, the same for the same: "forty-five days" and "45 days"."""
    text = plain(said).casefold()
    minus = "-" if text.startswith("-") else ""
    return minus + re.sub(r"[\s-]+", "", _LEADING_WORDS.sub(_figure, text, count=1))


def _figure(words: re.Match[str]) -> str:
    """A number in words in figures, what follows it as it is; the words themselves where they are none."""
    first, second = (_FIGURES.get(word or "", "") for word in words.groups())
    if len(first) == 2 and first.endswith("0") and (len(second) == 1 or words[2] == "one"):
        return str(int(first) + int(second or 1))
    return words[0].replace(words[1], first, 1) if first else words[0]


def _values(a: str, b: str, edits: Sequence[Edit], ignore: IgnoreOptions) -> Iterator[Flag]:
    left, right = numbers(a), numbers(b)
    if ignore.numbers:
        left, right = _units_alone(left), _units_alone(right)
    gone, come = _differing(left, right), _differing(right, left)
    used: set[int] = set()
    for edit in edits:
        one = [mention for mention in gone if _touches(mention.span, edit.a)]
        two = [m for n, m in enumerate(come) if _touches(m.span, edit.b) and n not in used]
        used.update(n for n, m in enumerate(come) if m in two)
        gone = [mention for mention in gone if mention not in one]
        for first, second in zip(one, two, strict=False):
            yield Flag(_kind(first, second), _said(a, first), _said(b, second))
        if ignore.numbers:
            continue
        for alone in one[len(two) :]:
            if _tells_alone(a, alone):
                yield Flag(_alone(alone), _said(a, alone), "")
        for alone in two[len(one) :]:
            if _tells_alone(b, alone):
                yield Flag(_alone(alone), "", _said(b, alone))


def _units_alone(found: Sequence[Mention]) -> tuple[Mention, ...]:
    """Mentions whose values are but unit, currency or per cent sign."""
    return tuple(
        replace(mention, value="" if mention.kind is FlagKind.DATE else _COUNT.sub("0", mention.value))
        for mention in found
    )


def _differing(own: Sequence[Mention], other: Sequence[Mention]) -> list[Mention]:
    """The mentions whose value the other text says less often."""
    left = Counter(mention.value for mention in own)
    right = Counter(mention.value for mention in other)
    return [mention for mention in own if left[mention.value] > right[mention.value]]


def _kind(first: Mention, second: Mention) -> FlagKind:
    """A unit differs only where the number before it does not."""
    kinds = {first.kind, second.kind}
    if kinds == {FlagKind.UNIT} and _amount(first.value) == _amount(second.value):
        return FlagKind.UNIT
    for kind in (FlagKind.DATE, FlagKind.AMOUNT, FlagKind.PERCENTAGE):
        if kind in kinds:
            return kind
    return FlagKind.NUMBER


def _alone(mention: Mention) -> FlagKind:
    return FlagKind.NUMBER if mention.kind is FlagKind.UNIT else mention.kind


def _amount(value: str) -> str:
    match = re.match(f"-?{NUMERAL}", value) or re.match("|".join(SPELLED), value)
    return match[0] if match else value


def _tells_alone(text: str, mention: Mention) -> bool:
    """Whether a number tells that the other text has nothing for."""
    if mention.kind is FlagKind.NUMBER and names_something(text, mention.span):
        return False
    return any(character.isdigit() for character in mention.value)


def _modals(a: str, b: str, edits: Sequence[Edit]) -> Iterator[Flag]:
    for kind, pattern in ((FlagKind.MODAL, _MODALS), (FlagKind.NEGATION, _NEGATIONS)):
        left, right = _words(kind, pattern, a), _words(kind, pattern, b)
        if kind is FlagKind.NEGATION:
            if len(left) == len(right):
                continue
            gone, come = (left, []) if len(left) > len(right) else ([], right)
        else:
            gone, come = _differing(left, right), _differing(right, left)
        for edit in edits:
            if not (_short(a, edit.a, _FLIP) and _short(b, edit.b, _FLIP)):
                continue
            one = [mention for mention in gone if _touches(mention.span, edit.a)]
            two = [mention for mention in come if _touches(mention.span, edit.b)]
            told = kind is FlagKind.NEGATION or _binding(one, two)
            if (one or two) and told:
                yield Flag(kind, _said(a, *one[:1]), _said(b, *two[:1]))


def _words(kind: FlagKind, pattern: re.Pattern[str], text: str) -> list[Mention]:
    """Mentions of modals or negations; "May" with a capital is a month, or a question."""
    found = (match for match in pattern.finditer(text) if match[0] != "May")
    return [Mention(kind, match[0].casefold(), Span(*match.span())) for match in found]


def _binding(one: Sequence[Mention], two: Sequence[Mention]) -> bool:
    """Two modals, or one that binds or permits where there was none."""
    return bool(one and two) or any(mention.value in _STRONG for mention in (*one, *two))


def _names(a: str, b: str, edits: Sequence[Edit], ignore: IgnoreOptions) -> Iterator[Flag]:
    whole_a, whole_b = normal(a, ignore), normal(b, ignore)
    for edit in edits:
        one, two = _name(a, edit.a), _name(b, edit.b)
        if one and two and normal(one, ignore) not in whole_b and normal(two, ignore) not in whole_a:
            yield Flag(FlagKind.NAME, one, two)


def _name(text: str, span: Span) -> str:
    """The name that an edit deletes or inserts, nothing else: "" where it does more, or begins a sentence."""
    said = text[span.start : span.end]
    match = _NAME.fullmatch(said)
    if not match or {word.casefold() for word in said.split()} & _NOT_NAMES:
        return ""
    before = text[: span.start].rstrip()
    begins = not before or before[-1] in ".!?:;•-\"'“‘"
    return "" if begins and " " not in said else said


def _touches(one: Span, two: Span) -> bool:
    beside = (
        two.start == two.end and 0 <= one.start - two.end <= 1
    )  # nothing, where the other text has a minus
    return beside or (one.start < two.end and two.start < one.end)


def _said(text: str, *mentions: Mention) -> str:
    return " ".join(text[mention.span.start : mention.span.end] for mention in mentions)
