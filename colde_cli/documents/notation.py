"""Write super- and subscripts, fractions and ticked boxes as plain text, the same in all formats.

`10` with a raised `6` is `10^6`, never `106`: quantities must not change when a layout becomes text.
"""

from __future__ import annotations

import re

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
    if (
        not script[:1]
        or not (script[0].isalnum() or script[0] in "+−-(")
        or not (last.isalnum() or last in set(")]}"))
    ):
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
