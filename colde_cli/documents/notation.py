"""Write super- and subscripts, fractions and ticked boxes as plain text, the same in all formats.

`10` with a raised `6` is `10^6`, never `106`: quantities must not change when a layout becomes text.
"""

from __future__ import annotations

import re

TICKED, UNTICKED = "☒", "☐"
"""A box of a form, ticked or not."""

_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|e|d|ème|eme|os?|as?|º|ª)\.?", re.IGNORECASE)
_TRADEMARK = re.compile(r"\(?(?:TM|SM|MC|R|C)\)?")
_SIMPLE = re.compile(r"[+−-]?\w+(?:[.,]\w+)*|[*†‡§¶]+")
_ATOM = re.compile(r"[+−-]?[\w.,^]+|\([^()]*\)")


def raised(before: str, text: str) -> str:
    """A superscript as it is written after `before`: `^6`, `^(n+1)`; marks of notes and ordinals stay as they are."""
    return _scripted(before, text, "^")


def lowered(before: str, text: str) -> str:
    """A subscript as it is written after `before`: `_2`."""
    return _scripted(before, text, "_")


def _scripted(before: str, text: str, sign: str) -> str:
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
    inner = script if _SIMPLE.fullmatch(script) or script.startswith("(") else f"({script})"
    return text.replace(script, sign + inner, 1)


def fraction(above: str, below: str) -> str:
    """A fraction: `a/b`, `(a + 1)/b`."""
    return f"{_operand(above)}/{_operand(below)}"


def _operand(text: str) -> str:
    text = " ".join(text.split())
    return text if _ATOM.fullmatch(text) else f"({text})"
