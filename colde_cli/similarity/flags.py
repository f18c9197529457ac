"""Flag the small edits that cost money: a changed number, date, amount, unit, percentage, name, modal or negation.

Precision comes first. Only a short edit is flagged, and only if the whole passages differ in it: a number that only
changed its place is no difference. Numbers of sections, tables, figures, list items, footnotes and references are
not flagged, because they follow from other edits. Nor are numbers along the axis of a chart and numbers that are part
of a new name ("GA4").
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
from colde_cli.similarity.redline import NOTHING_IGNORED, Edit, IgnoreOptions, normal, plain, redline


class FlagKind(StrEnum):
    """The kind of word that differs."""

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
    """A difference that matters, as the words of each text; "" where a text has no word of this kind."""

    kind: FlagKind
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A number, date, modal, ... in a text.

    Attributes:
        value: a normal form, the same for "45 days" and "forty-five days".
    """

    kind: FlagKind
    value: str
    span: Span


SHORT_EDIT = 12
"""Most words that a short edit deletes or inserts. A longer edit is a new sentence, which people read anyway."""

_FLIP = 3
"""Most words of a short edit in which a modal or negation is flagged."""

# "two" and "2" are the same number; "one", "third" and "quarter" may mean something else.
_FIGURES = {word: str(number) for number, word in enumerate(SPELLED[:19], 2)} | {
    word: str(10 * number)
    for number, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)
}
_COUNT = re.compile(rf"-?{NUMERAL}(?:thousand|million|billion|bn|[km]\b)?|^(?:{'|'.join(SPELLED)})")
_LEADING_WORDS = re.compile(r"([a-z]+)(?:[\s-]([a-z]+))?")
# A minus touches the number and nothing before it; a dash or hyphen does not.
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
    """Find the differences that matter between two similar texts, numbers first.

    Args:
        a: a passage.
        b: its partner.
        ignore: the differences to ignore. With numbers ignored, a changed unit or currency is still flagged.
    """
    edits = _edits(a, b, ignore)
    if not edits:
        return ()
    # A unit and the number next to it are one edit only where numbers count.
    near = _edits(a, b, replace(ignore, numbers=False)) if ignore.numbers else edits
    found = (*_values(a, b, near, ignore), *_modals(a, b, edits), *_names(a, b, edits, ignore))
    return tuple(dict.fromkeys(found))


def _edits(a: str, b: str, ignore: IgnoreOptions) -> list[Edit]:
    """Find the short edits."""
    edits = redline(a, b, readable=False, ignore=ignore)
    return [edit for edit in edits if _short(a, edit.a) and _short(b, edit.b)]


def _short(text: str, span: Span, most: int = SHORT_EDIT) -> bool:
    return len(text[span.start : span.end].split()) <= most


def numbers(text: str) -> tuple[Mention, ...]:
    """Find all dates, amounts, percentages, numbers with a unit and bare numbers that are more than a label."""
    items = (Span(*item.span()) for item in _ITEM.finditer(text))
    labels = [*items, *axis_numbers(text), *footnote_marks(text)]
    mentions = []
    for match in _NUMERIC.finditer(text):
        label = any(span.start <= match.start() and match.end() <= span.end for span in labels)
        if label or _SIGNPOST.search(text[max(0, match.start() - 40) : match.start()]):
            continue
        kind = FlagKind(match.lastgroup or "number")
        mentions.append(Mention(kind, _value(match[0]), Span(*match.span())))
    return tuple(mentions)


def _value(words: str) -> str:
    """Bring words into the form of `Mention.value`."""
    text = plain(words).casefold()
    minus = "-" if text.startswith("-") else ""
    return minus + re.sub(r"[\s-]+", "", _LEADING_WORDS.sub(_figure, text, count=1))


def _figure(words: re.Match[str]) -> str:
    """Write a spelled number in figures; leave other words."""
    first, second = (_FIGURES.get(word or "", "") for word in words.groups())
    if len(first) == 2 and first.endswith("0") and (len(second) == 1 or words[2] == "one"):
        return str(int(first) + int(second or 1))
    return words[0].replace(words[1], first, 1) if first else words[0]


def _values(a: str, b: str, edits: Sequence[Edit], ignore: IgnoreOptions) -> Iterator[Flag]:
    left, right = numbers(a), numbers(b)
    if ignore.numbers:
        left, right = _units_alone(left), _units_alone(right)
    gone, new = _missing(left, right), _missing(right, left)
    for edit in edits:
        deleted = [mention for mention in gone if _touches(mention.span, edit.a)]
        inserted = [mention for mention in new if _touches(mention.span, edit.b)]
        gone = [mention for mention in gone if mention not in deleted]
        new = [mention for mention in new if mention not in inserted]
        for first, second in zip(deleted, inserted, strict=False):
            yield Flag(_kind(first, second), _words_of(a, first), _words_of(b, second))
        if ignore.numbers:
            continue
        for alone in deleted[len(inserted) :]:
            if _counts_alone(a, alone):
                yield Flag(_kind_alone(alone), _words_of(a, alone), "")
        for alone in inserted[len(deleted) :]:
            if _counts_alone(b, alone):
                yield Flag(_kind_alone(alone), "", _words_of(b, alone))


def _units_alone(mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Reduce the value of each mention to its unit, currency or per cent sign."""
    return tuple(
        replace(mention, value="" if mention.kind is FlagKind.DATE else _COUNT.sub("0", mention.value))
        for mention in mentions
    )


def _missing(mentions: Sequence[Mention], others: Sequence[Mention]) -> list[Mention]:
    """Select mentions with a value that occurs less often in the other text."""
    here = Counter(mention.value for mention in mentions)
    there = Counter(mention.value for mention in others)
    return [mention for mention in mentions if here[mention.value] > there[mention.value]]


def _kind(first: Mention, second: Mention) -> FlagKind:
    """Find the kind of two differing mentions; it is the unit only if the number is the same."""
    kinds = {first.kind, second.kind}
    if kinds == {FlagKind.UNIT} and _amount(first.value) == _amount(second.value):
        return FlagKind.UNIT
    for kind in (FlagKind.DATE, FlagKind.AMOUNT, FlagKind.PERCENTAGE):
        if kind in kinds:
            return kind
    return FlagKind.NUMBER


def _kind_alone(mention: Mention) -> FlagKind:
    return FlagKind.NUMBER if mention.kind is FlagKind.UNIT else mention.kind


def _amount(value: str) -> str:
    match = re.match(f"-?{NUMERAL}", value) or re.match("|".join(SPELLED), value)
    return match[0] if match else value


def _counts_alone(text: str, mention: Mention) -> bool:
    """Whether a number without a counterpart in the other text matters."""
    if mention.kind is FlagKind.NUMBER and names_something(text, mention.span):
        return False
    return any(character.isdigit() for character in mention.value)


def _modals(a: str, b: str, edits: Sequence[Edit]) -> Iterator[Flag]:
    for kind, pattern in ((FlagKind.MODAL, _MODALS), (FlagKind.NEGATION, _NEGATIONS)):
        left, right = _mentions(kind, pattern, a), _mentions(kind, pattern, b)
        if kind is FlagKind.NEGATION:
            if len(left) == len(right):
                continue
            gone, new = (left, []) if len(left) > len(right) else ([], right)
        else:
            gone, new = _missing(left, right), _missing(right, left)
        for edit in edits:
            if not (_short(a, edit.a, _FLIP) and _short(b, edit.b, _FLIP)):
                continue
            deleted = [mention for mention in gone if _touches(mention.span, edit.a)]
            inserted = [mention for mention in new if _touches(mention.span, edit.b)]
            matters = kind is FlagKind.NEGATION or _binding(deleted, inserted)
            if (deleted or inserted) and matters:
                yield Flag(kind, _words_of(a, *deleted[:1]), _words_of(b, *inserted[:1]))


def _mentions(kind: FlagKind, pattern: re.Pattern[str], text: str) -> list[Mention]:
    """Find modals or negations; a capitalised "May" is a month, or begins a question."""
    matches = (match for match in pattern.finditer(text) if match[0] != "May")
    return [Mention(kind, match[0].casefold(), Span(*match.span())) for match in matches]


def _binding(deleted: Sequence[Mention], inserted: Sequence[Mention]) -> bool:
    """Whether one modal replaced another, or a binding or permitting modal was added or deleted."""
    return bool(deleted and inserted) or any(mention.value in _STRONG for mention in (*deleted, *inserted))


def _names(a: str, b: str, edits: Sequence[Edit], ignore: IgnoreOptions) -> Iterator[Flag]:
    whole_a, whole_b = normal(a, ignore), normal(b, ignore)
    for edit in edits:
        old, new = _name(a, edit.a), _name(b, edit.b)
        if old and new and normal(old, ignore) not in whole_b and normal(new, ignore) not in whole_a:
            yield Flag(FlagKind.NAME, old, new)


def _name(text: str, span: Span) -> str:
    """Return the words of an edit if they are a name, else "".

    A single word at the beginning of a sentence is no name: it has a capital anyway.
    """
    words = text[span.start : span.end]
    match = _NAME.fullmatch(words)
    if not match or {word.casefold() for word in words.split()} & _NOT_NAMES:
        return ""
    before = text[: span.start].rstrip()
    begins = not before or before[-1] in ".!?:;•-\"'“‘"
    return "" if begins and " " not in words else words


def _touches(mention: Span, edit: Span) -> bool:
    # An empty edit touches the number after it: the other text may have a minus there.
    beside = edit.start == edit.end and 0 <= mention.start - edit.end <= 1
    return beside or (mention.start < edit.end and edit.start < mention.end)


def _words_of(text: str, *mentions: Mention) -> str:
    return " ".join(text[mention.span.start : mention.span.end] for mention in mentions)
