"""Find numbers and dates in a text, and tell counts from names, labels and axes."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from colde_cli.documents.document import Span

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
NUMERAL = r"\d+(?:[.,:]\d+)*"
SPELLED = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half twice third "
    "quarter one"
).split()
_DAY, _MONTH = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
# A day and a month in either order, and one sign between all three: else it is a version, a section or a fraction.
_IN_FIGURES = (
    rf"(?:{_DAY}/{_MONTH}|{_MONTH}/{_DAY})/(?:\d{{4}}|\d\d)"
    rf"|(?:{_DAY}\.{_MONTH}|{_MONTH}\.{_DAY})\.(?:\d{{4}}|\d\d)"
)
_NO_VERSION = r"(?<![\w./])" + "".join(
    rf"(?<!(?i:\b{word})\s)" for word in ("version", "versions", "release", r"v", r"v\.")
)
DATE = (
    rf"\b\d{{1,2}}(?:st|nd|rd|th|er)?\s+(?:of\s+|de\s+)?{MONTHS}\b\.?(?:,?\s+(?:de\s+|del\s+)?\d{{4}}\b)?"
    rf"|\b\d{{1,2}}\.\s+{MONTHS}\s+\d{{4}}\b"
    rf"|\b{MONTHS}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?|\b{MONTHS},?\s+\d{{4}}\b"
    r"|(?<!\d)\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?(?!\d)"
    rf"|{_NO_VERSION}(?:{_IN_FIGURES})(?![./]?\d)"
)

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SCALE = "hundred|thousand|million|billion|trillion"
_WORD = rf"(?:(?:{_TENS})[\s-](?:one|two|three|four|five|six|seven|eight|nine)|{'|'.join(SPELLED)})\b"
IN_WORDS = _WORD
"""A number below a hundred, or a round one, in words: "forty-five", "sixty", "hundred"."""

# "two hundred and five", but two numbers in "one and three".
# Repeats are bounded and words atomic: "million" fits in two ways, and in a row of n they would fit in 2^n.
_MORE = rf"(?:[\s-](?:{_SCALE})\b(?:\s(?:and\s)?(?>{_WORD}))?){{0,6}}"
_FIGURE = rf"{NUMERAL}(?:[\u00a0\u2009\u202f]\d{{3}})*(?:(?:st|nd|rd|th)\b)?"
# "may 10" is a modal and a number.
_NO_MODAL = r"(?!(?-i:may)\b)"
NUMBER = rf"(?i:{_NO_MODAL}(?:{DATE})|(?:\b{_WORD}|{_FIGURE}){_MORE})"
"""Any number or date, as one: "3.2", "1,400", "31st", "thirty-five", "two hundred and five", "1.4 million",
"8 January 2024"."""

_NUMBERED = (
    "section article clause chapter part title volume book schedule exhibit appendix annex attachment table figure"
).split()
_CALLED = "|".join(rf"(?i:(?<=\b{word}\s))" for word in _NUMBERED)
LABEL = r"(?<![^\W\d_])\((?:\d+(?:\.\d+)*|[A-Za-z]|(?i:[ivxlc]+))\)"
"""The label of a list item or subsection: "(a)", "(iv)", "(2)", but not the argument of "f(x)"."""

NAMED_LABEL = rf"(?:{_CALLED})(?:[IVXLC]+|[A-Z])(?![\w'’])"
"""A letter or Roman number after the labelled word: "IV" in "Article IV", "B" in "Schedule B"."""

MIN_RENUMBERED = 5
"""Minimum number of labels that must shift by the same number to count as renumbered equations."""

# "thirty (30) days" is a count, written twice.
_WRITTEN_TWICE = re.compile(rf"\b(?:{'|'.join(SPELLED)})\s*$", re.IGNORECASE)
_WITHIN_A_NAME = re.compile(r"(?:[^\W\d_]|[A-Z][-–])$")
_GREEK = re.compile(r"[\u0370-\u03ff]")
_YEAR = re.compile(r"(?:18|19|20)\d\d")
_OF_AUTHORS = re.compile(r"(?:[A-Z][^\W\d_]+|\bal\.),? \(?$")
_FOOTNOTE = re.compile(
    r"(?<=[^\W\d_]{4}[.,;)])\d{1,2}(?!\S)|(?<=[^\W\d_][)\]][.,;])\d{1,2}(?!\S)"
    r"|(?<=[a-z]{4})\d{1,2}(?=\s*[.,;:)]|\s|$)|(?<!\S)\d{1,2}\s+(?=https?:)|(?<=, )\d{1,2}(?= (?:which|who|where)\b)"
)
_MAX_ITEMS = 2
"""Maximum number of digits of a list item's number; "(2019)" is a year."""


_VALUES = {word: number for number, word in enumerate(SPELLED[:19], 2)} | {
    word: 10 * number for number, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_UNITS_VALUE = {**_VALUES, "one": 1}
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPELLED_OUT = re.compile(
    rf"(?:{'|'.join([*_UNITS_VALUE, *_SCALES])})(?:(?:[\s-]+(?:and\s+)?)(?:{'|'.join([*_UNITS_VALUE, *_SCALES])})\b)*\b"
)


def in_figures(text: str) -> str:
    """Write the first number of a text in figures, without commas: "thirty-five days" as "35 days".

    "one", "third" and "quarter" by themselves stay: they may mean something else.
    """
    match = _SPELLED_OUT.match(text)
    if match is None:
        return _THOUSANDS.sub("", text)
    value = _spelled(re.findall(r"[a-z]+", match[0]))
    return text if value is None else f"{value}{text[match.end() :]}"


def _spelled(words: Sequence[str]) -> int | None:
    """The value of a number in words; None of "one" alone, and of several numbers, as in "two and three"."""
    whole, part, scale = 0, 0, 10**15
    numbers = [word for word in words if word != "and"]
    if numbers == ["one"]:
        return None
    for word in numbers:
        if word == "hundred":
            if not 0 < part < 100:
                return None
            part *= 100
        elif word in _SCALES:
            if not part > 0 or _SCALES[word] >= scale:
                return None
            scale = _SCALES[word]
            whole, part = whole + part * scale, 0
        else:
            value = _UNITS_VALUE[word]
            if part % (10 if value < 10 else 100) or (value < 10 and part % 100 == 10):
                return None
            part += value
    return whole + part


def written_twice(text: str) -> tuple[Span, ...]:
    """Find the spelled half of numbers written twice with one value: "thirty" in "thirty (30) days"."""
    pairs = _TWICE.finditer(text)
    return tuple(
        Span(*pair.span("words"))
        for pair in pairs
        if in_figures(pair["words"].casefold()) == in_figures(pair["figure"])
    )


_TWICE = re.compile(
    rf"\b(?P<words>(?>{_WORD})(?:[\s-]+(?:and\s+)?(?>{_WORD}|(?:{_SCALE})\b)){{0,12}})"
    r"\s*\(\s*(?P<figure>\d[\d,]*)(?=\s*%?\s*\))",
    re.IGNORECASE,
)

_TOKEN = re.compile(r"\S+")
_WORDY = re.compile(r"[a-z]{3}", re.IGNORECASE)
_FUNCTIONS = re.compile(r"\W*(?:sin|cos|tan|log|exp|max|min|arg|argmax|argmin|lim|sup|inf|det|Pr|softmax)\W*")
_MATHS = re.compile(
    r"[=+×·∑∏∫√≤≥≠∈∉⊂⊆∪∩∀∃→←↦⇒^_{}|<>∥‖∼≈≡∞∂∇⊤⊥∗†\u0370-\u03ff\U0001d400-\U0001d7ff]|^\W*[b-zB-HJ-Z]\W*$|^\W*[a-z]\d\W*$"
)
_NEAR = 4
"""Tokens on either side of a number that tell whether it is in a formula."""


def formulas(text: str) -> tuple[Span, ...]:
    """Find the numbers of formulas: around them stand more signs, Greek letters and variables than words."""
    tokens = list(_TOKEN.finditer(text))
    wordy = [bool(_WORDY.search(token[0])) and not _FUNCTIONS.fullmatch(token[0]) for token in tokens]
    # A bar by itself stands between the cells of a table.
    maths = [
        not word and token[0] != "|" and bool(_MATHS.search(token[0]))
        for word, token in zip(wordy, tokens, strict=True)
    ]
    if sum(maths) < 2 and any(wordy):
        return ()
    if sum(maths) > sum(wordy):
        return (Span(0, len(text)),)
    found = []
    for n, token in enumerate(tokens):
        near = slice(max(0, n - _NEAR), n + _NEAR + 1)
        if not wordy[n] and sum(maths[near]) >= 2 and sum(maths[near]) > sum(wordy[near]):
            found.append(Span(*token.span()))
    return tuple(found)


_AUTHOR = re.compile(r"[A-Z][^\W\d_]+, (?:[A-Z]\. ?-?)+")
_ISSUE = re.compile(r"\b(?:19|20)\d\d[a-z]?, [A-Z]|arXiv:|e-prints\b")


def bibliographic(text: str) -> bool:
    """Whether a text is an entry of a list of references: authors with initials, a year, a journal."""
    return bool(_ISSUE.search(text)) and (bool(_AUTHOR.search(text)) or len(text.split()) < 20)


def mostly_numbers(text: str) -> bool:
    """Whether a text is a row of a table, or the ticks and labels of a chart: more numbers than words."""
    tokens = text.split()
    figures = sum(token[-1].isdigit() or token.strip("-–—−()%*.,") == "" for token in tokens)
    return 2 * figures > len(tokens)


_BAR = " | "
_RENAMED = 60
"""Similarity in per cent from which on a cell has another form of the same name: "rental" for "rent"."""


def other_row(before: str, after: str) -> bool:
    """Whether two rows of a table, with bars between the cells, are of different things.

    They are if the names in the first cells differ, and most of the other cells, two at least, differ too. Then no row
    changed: another took its place.
    """
    from rapidfuzz.fuzz import ratio

    left, right = (row.casefold().strip("| ").split(_BAR) for row in (before, after))
    if len(left) < 3 or len(right) < 3 or set(left[0].split()) & set(right[0].split()):
        return False
    if ratio(left[0], right[0]) >= _RENAMED:
        return False
    same = sum(one.strip() == other.strip() for one, other in zip(left[1:], right[1:], strict=False))
    return 2 * same < max(len(left), len(right)) - 1


_NUMBER = r"[-−–]?\d+(?:\.\d+)?"
_ROW = re.compile(rf"(?<!\S){_NUMBER}(?:\s+{_NUMBER}){{3,}}(?!\S)")
_AXIS = 4
"""Minimum number of neighbouring numbers at equal distances that make an axis."""
_YEARS = (1800, 2100)
"""Whole numbers between these, one apart, are years in the head of a table, not an axis."""


def footnote_marks(text: str) -> tuple[Span, ...]:
    """Find footnote marks: numbers right after the end of a clause or a word, and before a web address."""
    return tuple(Span(*mark.span()) for mark in _FOOTNOTE.finditer(text))


def names_something(text: str, span: Span) -> bool:
    """Whether a number is part of a name ("GA4", "COVID-19", "Palmer 2009", "3σ") or stands alone in parentheses.

    Ask this only of a number found in one of two texts. Two different numbers at the same place always matter.
    """
    before, after = text[: span.start], text[span.end :]
    number = text[span.start : span.end]
    if _WITHIN_A_NAME.search(before[-2:]) or _GREEK.match(after):
        return True
    if _YEAR.fullmatch(number) and (_OF_AUTHORS.search(before[-40:]) or after[:1].isalpha()):
        return True
    bare = before.endswith("(") and after.startswith(")") and number.isdecimal()
    return bare and len(number) <= _MAX_ITEMS and not _WRITTEN_TWICE.search(before[-20:-1])


def renumbered(labels: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Select the pairs of labels, before and after, that at least `MIN_RENUMBERED` pairs shifted by the same number.

    Equations are numbered through a document, so that a new one shifts the labels of all that follow. A single passage
    does not show that.
    """
    shifts: Mapping[int, set[tuple[str, str]]] = defaultdict(set)
    for before, after in labels:
        if before.isdecimal() and after.isdecimal():
            shifts[int(after) - int(before)].add((before, after))
    return frozenset(pair for pairs in shifts.values() if len(pairs) >= MIN_RENUMBERED for pair in pairs)


def axis_numbers(text: str) -> tuple[Span, ...]:
    """Find rows of numbers along the axes of charts: `_AXIS` neighbours at equal distances, years excepted."""
    return tuple(Span(*row.span()) for row in _ROW.finditer(text) if _has_axis(row[0]))


def _has_axis(row: str) -> bool:
    values = [float(re.sub("[−–]", "-", number)) for number in row.split()]
    windows = (values[start : start + _AXIS] for start in range(len(values) - _AXIS + 1))
    return any(_is_axis(window) for window in windows)


def _is_axis(values: Sequence[float]) -> bool:
    steps = [after - before for before, after in itertools.pairwise(values)]
    even = steps[0] != 0 and all(abs(step - steps[0]) < 1e-6 * max(1.0, abs(steps[0])) for step in steps)
    years = abs(steps[0]) == 1 and _YEARS[0] <= min(values) and max(values) <= _YEARS[1]
    return even and not years
