"""Find durations in words: "drei Monate", "within a year", "sous trente (30) jours", "dos años".

In German, French and Spanish also those in figures; English ones are quantities like any other (`quantities`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from colde_cli.documents.document import Span
from colde_cli.similarity.mentions import FlagKind, Mention

_UNITS = {
    "second": r"sekunden?|secondes?|segundos?",
    "minute": r"minuten?|minutos?",
    "hour": r"stunden?|heures?|horas?",
    "day": r"tag(?:e[ns]?)?|jours?(?! (?:ouvr|calend|francs))|d[ií]as?(?! (?:hábil|natural|labor))",
    "business day": r"(?:werk|arbeits|bank|geschäfts)tag(?:e[ns]?|s)?|jours? ouvr(?:able|é)s?"
    r"|d[ií]as? (?:hábil|laborabl)es",
    "calendar day": r"kalendertag(?:e[ns]?|s)?|jours? (?:calendaires?|francs?)|d[ií]as? naturales",
    "week": r"wochen?|semaines?|semanas?",
    "month": r"monat(?:e[ns]?|s)?|mois|mes(?:es)?",
    "quarter": r"quartal(?:e[ns]?|s)?|trimest(?:er[ns]?|res?)",
    "half-year": r"halbjahr(?:e[ns]?|es)?|semest(?:er[ns]?|res?)",
    "year": r"jahr(?:e[ns]?|es)?|(?<=\bun )an|ans|années?|años?",
}
_UNIT = re.compile("|".join(rf"(?P<u{n}>\b(?:{words})\b)" for n, words in enumerate(_UNITS.values())), re.IGNORECASE)
_OF_SO_MANY = re.compile(
    r"\b(?P<number>\d+|[a-zäöüß]+?)-?(?P<unit>tägig|wöchig|monatig|jährig)(?:e[mnrs]?)?\b", re.IGNORECASE
)
_SO_MANY = {"tägig": "day", "wöchig": "week", "monatig": "month", "jährig": "year"}
_A_UNIT = re.compile(
    r"\b(?P<number>one|(?<=\bwithin )an?|(?<=\bexceeding )an?|(?<=\bperiod of )an?|(?<=\bterm of )an?|(?<=\bleast )an?"
    r"|(?<=\bthan )an?)\s+(?P<unit>second|minute|hour|(?:business |calendar |working )?day|week|month|quarter|year)\b",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?:second|minute|hour|day|week|month|quarter|year|annum|fortnight)s?\b", re.IGNORECASE)
# The words before a unit: a number of up to five words, then the same in figures.
_BEFORE = re.compile(r"(?P<words>(?:[^\W\d_]+[\s-]+){1,5})?(?P<twice>\(\s*\d+\s*\)\s*|\d+(?:[.,]\d+)?\s*)?$")
_WINDOW = 60


def durations(text: str) -> Iterator[Mention]:
    """Find the durations of a text; their values are the same in words, in figures, and in all languages."""
    for match in _UNIT.finditer(text):
        unit = next(name for n, name in enumerate(_UNITS) if match[f"u{n}"])
        start = max(0, match.start() - _WINDOW)
        before = _BEFORE.search(text[start : match.start()])
        found = before and _number(before)
        if found:
            offset, value = found
            yield Mention(FlagKind.UNIT, f"{value}{unit}", Span(start + offset, match.end()))
    for match in _OF_SO_MANY.finditer(text):
        spelled = match["number"].lower()  # `casefold` would make "ss" of "ß"
        count = spelled if spelled.isdigit() else _values().get(spelled)
        if count:
            yield Mention(FlagKind.UNIT, f"{count}{_SO_MANY[match['unit'].casefold()]}", Span(*match.span()))
    for match in _A_UNIT.finditer(text):
        yield Mention(FlagKind.UNIT, f"1{match['unit'].casefold()}", Span(*match.span()))


def is_duration(words: str) -> bool:
    """Whether words of a quantity name a time: "45 days", "drei Monate"."""
    return bool(_TIME.search(words) or _UNIT.search(words) or _OF_SO_MANY.search(words))


def _number(before: re.Match[str]) -> tuple[int, str] | None:
    """Where the number right before a unit begins, and its value; in words, in figures, or in both."""
    figures = re.sub(r"[()\s]", "", before["twice"] or "")
    tokens = list(re.finditer(r"[^\W\d_]+", before["words"] or ""))
    for first in range(len(tokens)):
        spelled = " ".join(token[0].lower() for token in tokens[first:])
        if value := _values().get(spelled):
            start = before.start("words") + tokens[first].start()
            return start, str(value) if figures in ("", str(value)) else f"{value}({figures})"
    return (before.start("twice"), figures.replace(",", ".")) if figures else None


@cache
def _values() -> dict[str, int]:
    """The numbers from 1 to 199 in German, French and Spanish words, without hyphens."""
    words: dict[str, int] = {}
    for below in (_german(), _french(), _spanish()):
        for word, value in below.items():
            words[word.replace("-", " ")] = value
    return words


def _german() -> dict[str, int]:
    units = (
        "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
        " achtzehn neunzehn"
    ).split()
    tens = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
    words = {word: value for value, word in enumerate(units, 1)} | {ten: 10 * n for n, ten in enumerate(tens, 2)}
    words |= {
        f"{unit}und{ten}": 10 * n + value for n, ten in enumerate(tens, 2) for value, unit in enumerate(units[:9], 1)
    }
    words |= {f"{one}hundert{word}": 100 + value for one in ("", "ein") for word, value in [("", 0), *words.items()]}
    return words | {f"ein{ending}": 1 for ending in ("e", "en", "em", "er", "es")}


def _french() -> dict[str, int]:
    units = "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize".split()
    words = {word: value for value, word in enumerate(units, 1)}
    words |= {f"dix {word}": 10 + value for value, word in enumerate(units, 1) if 7 <= value <= 9}
    below = dict(words)
    for ten, tens in (
        (20, "vingt"),
        (30, "trente"),
        (40, "quarante"),
        (50, "cinquante"),
        (60, "soixante"),
        (80, "quatre vingt"),
    ):
        most = 20 if ten in (60, 80) else 10
        words |= {tens: ten, f"{tens}s": ten}
        words |= {f"{tens}{joint}{word}": ten + n for word, n in below.items() if n < most for joint in (" ", " et ")}
    return words | {"cent": 100, "une": 1} | {f"cent {word}": 100 + value for word, value in words.items()}


def _spanish() -> dict[str, int]:
    units = (
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete"
        " dieciocho diecinueve veinte"
    ).split()
    words = {word: value for value, word in enumerate(units, 1)}
    twenties = "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
    words |= {word: value for value, word in enumerate(twenties.split(), 21)}
    for n, tens in enumerate("treinta cuarenta cincuenta sesenta setenta ochenta noventa".split(), 3):
        words |= {tens: 10 * n} | {
            f"{tens} y {word}": 10 * n + value for value, word in enumerate(("un", *units[1:9]), 1)
        }
    words |= {"un": 1, "una": 1, "veintiún": 21, "cien": 100}
    return words | {f"ciento {word}": 100 + value for word, value in words.items()}
