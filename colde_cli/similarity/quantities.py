"""Find quantities in a text (dates, amounts, percentages, numbers with a unit), and bring each into one form."""

from __future__ import annotations

import re
from decimal import Decimal

from colde_cli.documents.document import Span
from colde_cli.similarity.durations import durations
from colde_cli.similarity.mentions import FlagKind, Mention
from colde_cli.similarity.numbers import (
    DATE,
    IN_WORDS,
    MONTHS,
    NUMERAL,
    SPELLED,
    axis_numbers,
    bibliographic,
    footnote_marks,
    formulas,
    in_figures,
    written_twice,
)
from colde_cli.similarity.redline import plain

COUNT = re.compile(rf"-?{NUMERAL}(?:thousand|million|billion|bn|[km]\b)?|^(?:{'|'.join(SPELLED)})")
"""The number within a normal form; what is left is its unit, currency or per cent sign."""
# A minus touches the number and nothing before it; a dash or hyphen does not.
_MINUS = r"(?:(?<=[\s(\[=,:;])[-−](?=\d))?"
_CURRENCY = r"(?:[$€£¥₹]|\b(?:usd|eur|gbp|chf|cad|aud|jpy|dollars?|euros?|pounds?)\b)"
_SCALE = r"(?:\s*(?:thousand|million|billion|trillion|bn|k|m)\b)?"
_UNITS = (
    r"(?:[mµ]g/m[²³23]|mg/l|km/h|m/s|mph|(?:business|working|calendar) days|seconds?|secs?"
    r"|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|quarters?|years?|l/s|[mkcµun]?m|[kmµ]?g|kilometres?"
    r"|kilometers?|kilograms?|grams?|tonnes?|tons?|litres?|liters?|metres?|meters?|centimetres?|centimeters?"
    r"|millimetres?|millimeters?|miles?|feet|foot|inch(?:es)?|yards?|pounds?|ounces?|[kmgt]?bits?|[kmgt]?bytes?"
    r"|[kmgt]i?b|[kmg]?hz|[kmg]?wh?|volts?|amps?|degrees?|°\s?[cf]|[mµ]?s|[mcd]?l)"
)
# Atomic and bounded, as in `numbers`: "thirty-five" is one word or two.
_SPELLED_NUMBER = rf"\b(?>{IN_WORDS})(?:[\s-](?:and\s)?(?>{IN_WORDS})){{0,12}}"
_TIMES = r"(?:second|minute|hour|(?:business |working |calendar )?day|week|month|quarter|year|annum)"
_OFTEN = {
    **{"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter"},
    **{"yearly": "year", "annually": "year", "annum": "year"},
}
_RATE = (
    rf"(?:(?:\s+(?:per|each|every|an?)\s+|\s*/\s*){_TIMES}\b|\s+(?:{'|'.join(_OFTEN)})\b)"
    r"(?!\s+(?:later|ago|after|before|earlier|prior)\b)"
)
"""The time for which a quantity is counted: "per year", "a month", "/day", "annually"; but not in "a month later"."""
_CLOCK = r"(?:\s*[ap]\.\s?m\b\.?|\s*pm\b|(?:(?<=:\d\d)\s*)?am\b)"
_CLOSED = r"[)\]]"
"""A bracket after a number that is written twice, "thirty (30) days", or open in a draft, "[30] days"."""
_PER_CENT = r"(?:%|percent\b|per\s?cent\b)"
_PATTERNS = {
    "date": DATE,
    "amount": rf"(?:{_CURRENCY}\s*(?:{NUMERAL}|\[{NUMERAL}\]){_SCALE}"
    rf"|(?:{NUMERAL}|{_SPELLED_NUMBER}){_SCALE}(?:{_CLOSED}(?=\s+[a-z]{{4}}))?\s*{_CURRENCY})(?:{_RATE})?",
    "percentage": rf"(?:{_MINUS}{NUMERAL}|{_SPELLED_NUMBER}){_CLOSED}?\s*{_PER_CENT}(?:{_RATE})?",
    "unit": rf"(?:{_MINUS}\b{NUMERAL}|{_SPELLED_NUMBER})(?:{_CLOSED}(?=\s*[a-z]{{3}}))?"
    rf"[\s-]*{_UNITS}(?![\w²³])(?:{_RATE})?",
    "number": rf"(?<![\w.]){_MINUS}{NUMERAL}{_CLOCK}?|\d+(?:[.,]\d+)*|{_SPELLED_NUMBER}",
}
QUANTITY = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()), re.IGNORECASE)
"""Any quantity; the name of the group is its kind."""
_SIGNPOST = re.compile(
    r"(?:\b(?:sections?|tables?|tab|figures?|figs?|appendix|appendices|chapters?|articles?|art|clauses?|paragraphs?"
    r"|equations?|eqs?|questions?|steps?|items?|parts?|pages?|pp?|no|nos|notes?|annex|schedule|exhibit|rfc|pep"
    r"|definitions?|def|theorems?|thm|lemmas?|propositions?|prop|corollary|corollaries|remarks?|examples?|algorithms?"
    r"|assumptions?|listings?|lines?|vol|volume|rules?)"
    r"\.?\s*(?:\d[\w.]*\s*(?:,|and|or|to|[-–])\s*)*|§+\s*|\(see\s+|\[(?:\d+[,;\s-]*)*)$",
    re.IGNORECASE,
)
_MEASURE = re.compile(r"[$€£¥₹A-Z]|.*(?:%|[\s)\]-](?:[a-zµ]{2,}|(?:km|m|l)/[hs]))$", re.DOTALL)
"""Words that measure: with a currency, a per cent sign, or a unit in small letters: "30 days", but not "Schedule 13G"
or "Table 3 Days to failure"."""
_DATED = re.compile(r"(?:\d.*)?[^\W\d_]{3}.*\s\d{4}$", re.DOTALL)
"""A date with month and year; the "5 may" of "Section 5 may apply" is none."""
_BEFORE = 40
"""Number of characters before a number that may hold the word that makes it a label."""


_NUMBERED = r"(?:[(\[]\d+(?:\.\d+)*[)\]]|\d+(?:\.\d+)*[.)]|\d+(?:\.\d+)+)\s"
# At the beginning of a text, or of a sentence within it.
_ITEM = re.compile(rf"^\s*{_NUMBERED}|^\s*\d{{1,2}}\s+(?=[A-Z][a-z])|(?:(?<=[.!?:;])\s+|\n\s*){_NUMBERED}(?=\W*[A-Z])")


def numbers(text: str) -> tuple[Mention, ...]:
    """Find all dates, amounts, percentages, numbers with a unit and bare numbers that are more than a label."""
    items = (Span(*item.span()) for item in _ITEM.finditer(text))
    if bibliographic(text):
        return ()
    labels = [*items, *axis_numbers(text), *footnote_marks(text), *formulas(text), *written_twice(text)]
    mentions = list(durations(text))
    held = [mention.span for mention in mentions]
    for match in QUANTITY.finditer(text):
        label = any(span.start <= match.start() and match.end() <= span.end for span in labels)
        in_words = any(span.start < match.end() and match.start() < span.end for span in held)
        if label or in_words or is_label(text, match):
            continue
        kind = FlagKind[(match.lastgroup or "number").upper()]
        mentions.append(Mention(kind, normal_form(match[0], kind.value), Span(*match.span())))
    return tuple(sorted(mentions, key=lambda mention: mention.span.start))


def is_label(text: str, quantity: re.Match[str]) -> bool:
    """Whether a match of `QUANTITY` is the number of a section, table, citation or the like."""
    kind, words = quantity.lastgroup, quantity[0]
    if kind != "number" and (_DATED if kind == "date" else _MEASURE).match(words):
        return False
    return _SIGNPOST.search(text[max(0, quantity.start() - _BEFORE) : quantity.start()]) is not None


_NO_BRACKETS = str.maketrans("", "", "()[]")
_AT_A_RATE = re.compile(rf"{_RATE}$")
_PER = re.compile(r"^\s*(?:/|(?:per|each|every|an?)\s)")
_OF_CLOCK = re.compile(r"(?::00)?([ap])\.?m\.?$")
_EXACT = re.compile(r"\d+(?:\.\d+)?")
_AMBIGUOUS = re.compile(r"\d{1,3}\.\d{3}")
"""A thousand in one country and one in another: "1.000"."""
_MILLIONS = {"thousand": 3, "k": 3, "million": 6, "m": 6, "billion": 9, "bn": 9, "trillion": 12}
_SIGNS = {"dollar": "$", "dollars": "$", "euro": "€", "euros": "€", "eur": "€", "gbp": "£"}
_AMOUNT = re.compile(
    rf"(?P<before>{_CURRENCY})?\s*(?P<number>{NUMERAL})\s*(?P<scale>{'|'.join(_MILLIONS)})?\s*(?P<after>{_CURRENCY})?"
)
_MONTHS = "jan ene|feb fév|mar mär|apr avr abr|may mai|jun juin|jul juil|aug aoû ago|sep|oct okt|nov|dec dez déc dic"
"""How the names of each month begin. "Juin" and "juillet" differ in the fourth letter only."""
_MONTH_NUMBERS = {month: number for number, months in enumerate(_MONTHS.split("|"), 1) for month in months.split()}
_DATES = [
    re.compile(pattern)
    for pattern in (
        rf"(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er)?\s+(?:of\s+|de\s+)?(?P<month>{MONTHS})\.?"
        r"(?:,?\s+(?:del?\s+)?(?P<year>\d{4}))?",
        rf"(?P<month>{MONTHS})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?",
        rf"(?P<month>{MONTHS})(?P<day>),?\s+(?P<year>\d{{4}})",
    )
]


def normal_form(words: str, kind: str = "number") -> str:
    """Bring a quantity into one form: the same for "45 days" and "forty-five days", "$1,000" and "1,000.00 dollars".

    What may be read in two ways stays as it is written, so that two values never have one form: "1.000", "3/4/2021".
    """
    text = plain(words).casefold().translate(_NO_BRACKETS)
    if kind == "date":
        return _date(text)
    if kind != "number" and (rate := _AT_A_RATE.search(text)):
        times = " ".join(_PER.sub("", rate[0]).split())
        return f"{normal_form(text[: rate.start()], kind)}/{_OFTEN.get(times, times)}"
    minus = "-" if text.startswith("-") else ""
    text = "50%" if text == "half" else text
    text = re.sub(r"\bper\s?cent\b|\bpercent\b", "%", in_figures(text.removeprefix("-")))
    if kind == "amount":
        text = _amount(text)
    elif kind == "percentage":
        number = text.removesuffix("%").strip()
        text = f"{_decimal(number) or number}%"
    return minus + _OF_CLOCK.sub(r"\1m", re.sub(r"[\s-]+", "", text))


def _date(text: str) -> str:
    """The date as in ISO 8601, "--05-03" without a year and "2021-05" without a day; or else as it is written."""
    for match in filter(None, (pattern.fullmatch(text) for pattern in _DATES)):
        month = _MONTH_NUMBERS.get(match["month"][:4]) or _MONTH_NUMBERS[match["month"][:3]]
        day = f"-{int(match['day']):02}" if match["day"] else ""
        return f"{match['year'] or '-'}-{month:02}{day}"
    return re.sub(r"\s+", "", text)


def _amount(text: str) -> str:
    """The sign of the currency and the number in full; as it is written where the number has two readings."""
    match = _AMOUNT.fullmatch(text)
    number = match and _decimal(match["number"], _MILLIONS.get(match["scale"], 0))
    if match is None or number is None:
        return text
    currency = match["before"] or match["after"]
    return f"{_SIGNS.get(currency, currency)}{number}"


def _decimal(number: str, zeros: int = 0) -> str | None:
    """A number without decimal places that are zero, times a power of ten; None of one with two readings."""
    if not _EXACT.fullmatch(number) or _AMBIGUOUS.fullmatch(number):
        return None
    return f"{(Decimal(number) * 10**zeros).normalize():f}"
