"""Numbers that a program counts before headings, clauses and list items: how they are written, and where they stand.

A counted number is no character of the text: `7.2` before a paragraph can be looked up (`Document.number_of`), compared
and shown with a place, but two texts with other numbers are the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from colde_cli.documents.notation import in_letters, in_roman

_MOST_ROMAN = 32767  # the largest number that Word counts to
_MOST_REPEATED = 30  # a letter or sign that is repeated more often is nobody's number
_AT_END = " .:;,-–—\t\xa0"
_NEAR = 2000  # characters after a paragraph in which the next one is looked for; notes and tables may stand between
_WORD = re.compile(r"[^\W\d_]{2,}\s")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_ORDINALS["twelve"] = "twelfth"
_SIGNS = "*†‡§"


@dataclass(frozen=True, slots=True)
class ClauseNumber:
    """The number of a paragraph, or of a row of a table."""

    start: int  # offset in `Document.text` of the first character that the number stands before
    end: int  # offset of the end of its paragraph or row
    mark: str  # as it is shown before the paragraph: "(b)"
    label: str  # with the numbers above it, as a reference names it: "7.2(b)"
    in_text: bool = False  # the mark stands in the text, too


class Counted(NamedTuple):
    """A number before its paragraph has a place: its mark and its label, see `ClauseNumber`."""

    mark: str
    label: str
    in_text: bool = False


class NumberedLine(NamedTuple):
    """A number in a paragraph with several lines: the line from 0, and the words that the number stands before."""

    number: Counted
    line: int = 0
    words: str = ""


def label_below(above: str, mark: str) -> str:
    """The label of a number under another one: "7.2" and "(b)" make "7.2(b)"; "" above for the outermost."""
    own = mark.strip().rstrip(_AT_END).lstrip(" .\t\xa0")
    if not above or not own:
        return own or above
    if own[0] in "([":
        return f"{above}{own}"
    return f"{above} {own}" if own.endswith(")") or _WORD.match(own) else f"{above}.{own}"


@dataclass(slots=True)
class NumberedLevel:
    """A level of a list."""

    start: int = 1  # its first number
    form: str = "decimal"  # how its numbers are written, see `written`; "bullet" and "none" for none
    text: str = ""  # of its numbers, `Article %1.`: %1 is the number of the outermost level
    legal: bool = False  # all numbers are written as 1, 2, 3
    restart: int | None = None  # the level, from 1, whose items have it start again; 0 never, None any level above


DEEPEST = 9
"""Number of levels that are counted."""
UNCOUNTED = frozenset(("bullet", "none"))
"""Forms that are no numbers."""
_LONGEST_MARK = 100
_REFERRED = re.compile(r"%([1-9])")


@dataclass(slots=True)
class LevelCounts:
    """How far a list has counted: number and label of the last item of each level; None where it starts again."""

    _numbers: list[int | None] = field(default_factory=lambda: [None] * DEEPEST)
    _labels: list[str] = field(default_factory=lambda: [""] * DEEPEST)

    def count(self, levels: Mapping[int, NumberedLevel], at: int, stated: int | None = None) -> Counted | None:
        """Count an item; None where it shows no number.

        Args:
            levels: of the list, the outermost 0.
            at: the level of the item, one of these.
            stated: its number, if it is not the next one.
        """
        numbers, before = self._numbers, self._numbers[at]
        following = levels[at].start if before is None else before + 1
        numbers[at] = following if stated is None else stated
        for up in range(at):  # an item counts for the levels above that had none
            if numbers[up] is None and up in levels:
                numbers[up] = levels[up].start
        for deeper in range(at + 1, DEEPEST):
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or at < restart:
                numbers[deeper] = None
        return self._shown(levels, at)

    def _shown(self, levels: Mapping[int, NumberedLevel], at: int) -> Counted | None:
        own, labels = levels[at], self._labels
        mark = "" if own.form == "bullet" else _REFERRED.sub(lambda match: self._number(match, levels, at), own.text)
        mark = mark[:_LONGEST_MARK].strip()
        shown = any(map(str.isalnum, mark))
        first = min([at, *(int(number) - 1 for number in _REFERRED.findall(own.text))])
        above = next((labels[up] for up in range(first - 1, -1, -1) if labels[up]), "")
        labels[at:] = [label_below(above, mark) if shown else "", *([""] * (DEEPEST - at - 1))]
        return Counted(mark, labels[at]) if shown else None

    def _number(self, match: re.Match[str], levels: Mapping[int, NumberedLevel], at: int) -> str:
        up = int(match[1]) - 1
        if up > at or up not in levels:
            return ""
        decimal = levels[at].legal and levels[up].form not in UNCOUNTED
        return written(self._numbers[up] or 0, "decimal" if decimal else levels[up].form)


def place_numbers(
    text: str, paragraphs: Sequence[str | None], numbered: Mapping[int, Sequence[NumberedLine]]
) -> tuple[ClauseNumber, ...]:
    """Find where numbered paragraphs stand in a text.

    Args:
        text: holds the paragraphs in their order; other text may stand between them.
        paragraphs: None for those that stand elsewhere, such as notes.
        numbered: the numbers of a paragraph, by its index.
    """
    placed: list[ClauseNumber] = []
    end = 0
    last = max(numbered, default=-1)
    for index, words in enumerate(paragraphs[: last + 1]):
        if not words:
            continue
        numbers = numbered.get(index, ())
        start = text.find(words, end) if numbers else text.find(words, end, end + len(words) + _NEAR)
        if start < 0:
            continue
        end = start + len(words)
        lines = [0, *(match.end() for match in re.finditer("\n", words)), len(words) + 1]
        place = 0
        for number, line, before in numbers:
            first, behind = lines[min(line, len(lines) - 2)], lines[min(line, len(lines) - 2) + 1]
            place = max(first, words.find(before, max(place, first), behind)) if before else first
            placed.append(ClauseNumber(start + place, start + behind - 1, *number))
    return tuple(placed)


def written(number: int, form: str) -> str:
    """A number as a list writes it (ECMA-376 part 1, § 17.18.59); a form that is not known is written in digits.

    Args:
        number: at least 0.
        form: a name of `ST_NumberFormat`, "latin" for letters as OpenDocument counts them (z, aa, ab), or the first
            numbers of a form of one's own: "001, 002, ...".
    """
    if form[:1].isdigit():
        return str(number).zfill(len(form.partition(",")[0].strip()))
    return _FORMS.get(form, str)(number)


def _letters(number: int) -> str:
    """Letters as Word counts them: z, aa, bb."""
    times, letter = divmod(number - 1, 26)
    return chr(ord("a") + letter) * (times + 1) if 0 < number <= _MOST_REPEATED * 26 else str(number)


def _roman(number: int) -> str:
    return in_roman(number) if 0 < number <= _MOST_ROMAN else str(number)


def _latin(number: int) -> str:
    return in_letters(number) if number > 0 else str(number)


def _sign(number: int) -> str:
    times, sign = divmod(number - 1, len(_SIGNS))
    return _SIGNS[sign] * (times + 1) if 0 < number <= _MOST_REPEATED * len(_SIGNS) else str(number)


def _ordinal_end(number: int) -> str:
    return "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _in_words(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return _TENS[ten - 1] + (f"-{_ONES[one]}" if one else "")
    if number < 1000:
        hundred, rest = divmod(number, 100)
        return f"{_ONES[hundred]} hundred" + (f" {_in_words(rest)}" if rest else "")
    return str(number)


def _ordinal_words(number: int) -> str:
    words = _in_words(number)
    if words.isdigit():
        return f"{words}{_ordinal_end(number)}"
    head, last = words[: -len(re.split("[- ]", words)[-1])], re.split("[- ]", words)[-1]
    return head + (_ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"))


_FORMS: Final[Mapping[str, Callable[[int], str]]] = {
    "none": lambda number: "",
    "bullet": lambda number: "",
    "decimalZero": "{:02d}".format,
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "latin": _latin,
    "upperLatin": lambda number: _latin(number).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "ordinal": lambda number: f"{number}{_ordinal_end(number)}",
    "cardinalText": lambda number: _in_words(number).capitalize(),
    "ordinalText": lambda number: _ordinal_words(number).capitalize(),
    "hex": "{:X}".format,
    "chicago": _sign,
    "numberInDash": "- {} -".format,
    "decimalEnclosedParen": "({})".format,
    "decimalEnclosedFullstop": "{}.".format,
    "decimalEnclosedCircle": lambda number: chr(ord("①") + number - 1) if 0 < number <= 20 else str(number),
}
