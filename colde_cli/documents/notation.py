"""Write super- and subscripts, fractions and ticked boxes as plain text, the same in all formats.

`10` with a raised `6` is `10^6`, never `106`: quantities must not change when a layout becomes text.
"""

from __future__ import annotations

import re

TICKED, UNTICKED = "☒", "☐"
"""A box of a form, ticked or not."""

_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|e|d|ème|eme|os?|as?|º|ª)\.?", re.IGNORECASE)
_TRADEMARK = re.compile(r"\(?(?:TM|SM|MC|R|C)\)?")
_SIMPLE = re.compile(r"[+−-]?(?:\d+(?:[.,]\d+)*|[^\W\d_]+)|[*†‡§¶]+")
_ATOM = re.compile(r"[+−-]?[\w.,^]+|\([^()]*\)")


def raised(before: str, text: str) -> str:
    """A superscript as it is written after `before`: `^6`, `^(n+1)`; marks of notes and ordinals stay as they are."""
    return _scripted(before, text, "^")


def lowered(before: str, text: str) -> str:
    """A subscript as it is written after `before`: `_2`."""
    return _scripted(before, text, "_")


def _scripted(before: str, text: str, sign: str) -> str:
    bare = text.strip()
    last = before[-1:]
    if (
        not bare[:1]
        or not (bare[0].isalnum() or bare[0] in "+−-(")
        or not (last.isalnum() or last in set(")]}"))
    ):
        return text
    if sign == "^" and ((last.isdigit() and _ORDINAL.fullmatch(bare)) or _TRADEMARK.fullmatch(bare)):
        return text
    return text.replace(bare, script(sign, bare), 1)


def script(sign: str, text: str) -> str:
    """A script with its sign: `^2`, `_max`, `^(2n)`, as `^2n` could be `^2` and then n."""
    enclosed = text.startswith("(") and text.find(")") == len(text) - 1
    return sign + (text if _SIMPLE.fullmatch(text) or enclosed else f"({text})")


def parted(written: str, after: str) -> str:
    """A script as it is written before the text `after`: `_(1)` before 2, as `x_12` would be another quantity."""
    last, first = written[-1:], after[:1]
    if not (last.isdigit() and first.isdigit()) and not (last.isalpha() and first.isalpha()):
        return written
    if written[0] in "^_":
        return f"{written[0]}({written[1:]})"
    return f"{written} " if last.isdigit() else written


def fraction(above: str, below: str) -> str:
    """A fraction: `a/b`, `(a + 1)/b`."""
    return f"{operand(above)}/{operand(below)}"


def operand(text: str) -> str:
    """What a sign belongs to: in brackets, if it is more than one number or word."""
    text = " ".join(text.split())
    return text if _ATOM.fullmatch(text) else f"({text})"
