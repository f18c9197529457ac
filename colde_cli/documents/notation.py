"""Write super- and subscripts, fractions and ticked boxes as plain text, the same in all formats.

`10` with a raised `6` is `10^6`, never `106`: quantities must not change when a layout becomes text.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress

TICKED, UNTICKED = "☒", "☐"
"""A box of a form, ticked or not."""

_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|e|d|ème|eme|os?|as?|º|ª)\.?", re.IGNORECASE)
_TRADEMARK = re.compile(r"\(?(?:TM|SM|MC|R|C)\)?")
# One number, or letters alone: "^2n" would be read as a raised 2 before an n.
_SIMPLE = re.compile(r"[+−-]?(?:\d+(?:[.,]\d+)*|[^\W\d_]+)|[*†‡§¶]+|\([^()]*\)")
# What follows a script without brackets must not be read as more of it: the last letters of both are of one class.
_RUN_ON = re.compile(r"\d[.,]?\d|[^\W\d_]{2}")
_ATOM = re.compile(r"[+−-]?[\w.,^]+|\([^()]*\)")


def raised(before: str, text: str, after: str = "") -> str:
    """A superscript as it is written between `before` and `after`: `^6`, `^(n+1)`; ordinals stay as they are."""
    return _scripted(before, text, after, "^")


def lowered(before: str, text: str, after: str = "") -> str:
    """A subscript as it is written between `before` and `after`: `_2`."""
    return _scripted(before, text, after, "_")


def _scripted(before: str, text: str, after: str, sign: str) -> str:
    script = text.strip()
    last = before[-1:]
    if not script[:1] or not (script[0].isalnum() or script[0] in "+−-(") or not (last.isalnum() or last in set(")]}")):
        return text
    if sign == "^" and ((last.isdigit() and _ORDINAL.fullmatch(script)) or _TRADEMARK.fullmatch(script)):
        return text
    runs_on = text.endswith(script) and _RUN_ON.match(script[-1] + after[:2])
    inner = script if _SIMPLE.fullmatch(script) and not runs_on else f"({script})"
    return text.replace(script, sign + inner, 1)


def fraction(above: str, below: str) -> str:
    """A fraction: `a/b`, `(a + 1)/b`."""
    return f"{operand(above)}/{operand(below)}"


def operand(text: str) -> str:
    """What a sign belongs to: in brackets, if it is more than one number or word."""
    text = " ".join(text.split())
    return text if _ATOM.fullmatch(text) else f"({text})"


RAISED = (
    "²³¹\u02b0-\u02b8\u02e0-\u02e4\u1d2c-\u1d2e\u1d30-\u1d3a\u1d3c-\u1d4d\u1d4f-\u1d61\u1d78\u1d9b-\u1dbf⁰ⁱ⁴-ⁿ\u2c7d"
)
"""Characters of Unicode that are superscripts, for a class of `re`; º and ª belong to ordinals."""
LOWERED = "\u1d62-\u1d6a₀-₎ₐ-ₜ\u2c7c"
"""Subscripts, for a class of `re`."""
FRACTIONS = "¼-¾⅐-⅟↉"
"""Fractions, for a class of `re`."""
IN_UNICODE = re.compile(f"(?P<raised>[{RAISED}]+)|(?P<lowered>[{LOWERED}]+)|(?P<fraction>[{FRACTIONS}])")
"""Super- and subscripts and fractions that are characters of their own."""


def _powers() -> dict[int, str]:
    """Units of one character, such as ㎡, with a character for their power: m²."""
    units = {}
    for place in range(0x3371, 0x33E0):
        pieces = unicodedata.decomposition(chr(place)).split()[1:]
        if {"00B2", "00B3"} & set(pieces):
            units[place] = "".join(chr(int(piece, 16)) for piece in pieces)
    return units


_IN_PARTS = {**_powers(), ord("⁄"): "/", ord("∕"): "/"}


def in_line(text: str, before: str = "") -> str:
    """Write the super- and subscripts and fractions of Unicode as the readers write raised, lowered and divided text.

    `10²` becomes `10^2`, `1½` becomes `1 1/2`: no digit joins another one.

    Args:
        text: to be written.
        before: what stands before it.
    """
    if text.isascii():
        return text
    text = text.translate(_IN_PARTS)
    return IN_UNICODE.sub(lambda match: _in_line(match, before), text)


def _in_line(match: re.Match[str], before: str) -> str:
    start = match.start()
    last = match.string[start - 1] if start else before[-1:]
    following = match.string[match.end() : match.end() + 1]
    text = unicodedata.normalize("NFKC", match[0]).replace("⁄", "/")
    if match.lastgroup == "fraction":
        text = f" {text}" if last.isnumeric() else text
    elif match.lastgroup == "raised":
        text = raised(last if last.isdigit() else "x", text)
    else:
        text = lowered("x", text)
    return f"{text} " if following.isdecimal() and text[-1:] != "/" else text


def in_alphabet(alphabet: str, text: str) -> str:
    """Write letters in DOUBLE-STRUCK, FRAKTUR or SCRIPT, as far as Unicode has them: ℝ."""

    def letter(char: str) -> str:
        size = "CAPITAL" if char.isupper() else "SMALL"
        for name in (alphabet, alphabet.replace("FRAKTUR", "BLACK-LETTER"), f"MATHEMATICAL {alphabet}"):
            with suppress(KeyError):
                return unicodedata.lookup(f"{name} {size} {char}")
        return char

    return "".join(letter(char) if char.isascii() and char.isalpha() else char for char in text)


_ROMAN = tuple(
    zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "m cm d cd c xc l xl x ix v iv i".split(), strict=True)
)


def in_letters(number: int) -> str:
    """A positive number as lists write it in letters: a, b ... z, aa."""
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def in_roman(number: int) -> str:
    """A positive number in small Roman numerals."""
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def from_roman(written: str) -> int:
    """The value of a Roman numeral in small or large letters; 0 for what is none."""
    values = {letters: value for value, letters in _ROMAN}
    numbers = [values.get(letter, 0) for letter in written.lower()]
    value = sum(-one if one < after else one for one, after in zip(numbers, [*numbers[1:], 0], strict=True))
    return value if in_roman(value) == written.lower() else 0
