"""Write formulas as plain text that shows their structure, from MathML and from what is put into its terms.

`1/2`, `x^2`, `x_(i+1)`, `∑_(i=1)^n`, `√(x)`, `[a & b; c & d]`: two formulas that look different read differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import NamedTuple

from colde_cli.documents.html.flow import Attributes, Marks
from colde_cli.documents.notation import fraction

_DEEPEST = 100  # elements nested deeper are as if they were not there; what they hold stays
_TOKENS = frozenset(("mi", "mn", "mo", "ms", "mtext"))
_SILENT = frozenset(("annotation", "annotation-xml", "mphantom"))
_SIGNS = {"msub": "_", "msup": "^", "msubsup": "_^", "munder": "_", "mover": "^", "munderover": "_^"}
_BESIDE = {"munder": "┬", "mover": "┴"}  # a limit of what is neither a word nor a sum reads as no script
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))
_MARK = re.compile("[\u0300-\u036f\u20d0-\u20ff\u203e-\u203f\u2190-\u21ff\u23dc-\u23e1′-‷'`´¨¯ˉ˙˘ˇˆ˜^~*†‡°]+")
"""What stands over a letter or raised beside it as it is: accents, bars, arrows, primes."""
_SCRIPT = re.compile(r"[+−-]?[^\W_]+(?:[.,][^\W_]+)*|[^\w\s()\[\]{}/^+−-]")
_BASE = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*|\S")
_LIMITED = re.compile(r"\s*(?:[^\W\d_]{2,}|[∑∏∐∫∬∭∮⋂⋃⋁⋀⨁⨂])\s*")
_OPENING, _CLOSING = "([{⟨⌈⌊|‖", ")]}⟩⌉⌋|‖"
_CHOOSE = " choose "
LINES = "-lines"
"""An attribute of a table of lines, which are no rows of cells."""


class Term(NamedTuple):
    """A piece of a formula."""

    text: str  # where nothing that could belong to it stands beside it
    closed: str  # with brackets, beside a letter or a digit
    after: bool = False  # whether it is closed after a letter or digit, too; a number stays apart from another one


Row = list[Term]


def plain(text: str) -> Row:
    """A text that reads the same beside anything."""
    return [Term(text, text)]


def joined(terms: Iterable[Term], before: str = "") -> str:
    """Write terms one after the other; `before` is the text that stands in front of them."""
    pieces: list[str] = []
    row = [term for term in terms if term.text]
    for term, following in zip_longest(row, row[1:]):
        text, last = term.text, before[-1:]
        beside = following is not None and following.text[:1].isalnum() and text[-1:].isalnum()
        if term.after and last.isdigit() and text[0].isdigit() and (not beside or term.closed == text):
            text = f" {text}"  # 3 1/2
        elif beside or (term.after and last.isalnum() and text[0].isalnum()):
            text = term.closed
        pieces.append(text)
        before = text
    return "".join(pieces)


def _bare(text: str) -> str:
    """A text without the accents over its letters."""
    return "".join(sign for sign in text if not unicodedata.combining(sign))


def _is_enclosed(text: str) -> bool:
    """Whether one pair of brackets holds the whole text."""
    if len(text) < 2 or text[0] not in _OPENING or _CLOSING[_OPENING.index(text[0])] != text[-1]:
        return False
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == text[0]) - (sign == text[-1]) if text[0] != text[-1] else 0
        if depth == 0 and 0 < place < len(text) - 1:
            return text[0] == text[-1] and text.count(text[0]) == 2
    return True


def operand(text: str) -> str:
    """What an operation applies to, in brackets unless it is one number, word or sign."""
    text = text.strip()
    return text if _BASE.fullmatch(_bare(text)) or _is_enclosed(text) or not text else f"({text})"


def scripts(signs: str, texts: Sequence[str], *, closed: bool = False) -> str:
    """Scripts with their signs, `_i^n`, without the empty ones; `closed` puts the last one in brackets."""
    marks = [(sign, text.strip()) for sign, text in zip(signs, texts, strict=False) if text.strip()]
    return "".join(
        sign + (text if _SCRIPT.fullmatch(_bare(text)) and not (closed and number == len(marks)) else f"({text})")
        for number, (sign, text) in enumerate(marks, 1)
    )


def element(tag: str, parts: Sequence[Row], marks: Mapping[str, str] = Attributes()) -> Row:
    """Write an element of MathML by its name, its parts and its attributes; an unknown one is a row of its parts."""
    if tag in _SIGNS and len(parts) == len(_SIGNS[tag]) + 1:
        return [_scripted(tag, [joined(part) for part in parts])]
    write = _WRITERS.get(tag)
    return write([joined(part) for part in parts], Attributes(marks)) if write else [*chain.from_iterable(parts)]


def _scripted(tag: str, texts: Sequence[str]) -> Term:
    base, signs = texts[0].strip(), _SIGNS[tag]
    if len(signs) == 1 and texts[1].strip() and _MARK.fullmatch(texts[1].strip()):
        text = (base if len(_bare(base)) == 1 else f"({base})") + texts[1].strip()
        return Term(text, text)
    if tag in _BESIDE and not _LIMITED.fullmatch(base):
        signs = _BESIDE[tag]
    start = operand(base)
    return Term(start + scripts(signs, texts[1:]), start + scripts(signs, texts[1:], closed=True))


def _fraction(parts: Sequence[str], marks: Attributes) -> Row:
    if len(parts) != 2:
        return plain(" ".join(parts))
    above, below = map(str.strip, parts)
    if re.fullmatch(r"0+(?:\.0+)?[a-z%]*", marks["linethickness"].strip()):
        return plain(f"({above}{_CHOOSE}{below})")
    text = fraction(above, below)
    return [Term(text, f"({text})", after=True)]


def _root(parts: Sequence[str], index: str = "") -> Row:
    return plain(f"√{f'[{index.strip()}]' if index.strip() else ''}({''.join(parts).strip()})")


def _fenced(parts: Sequence[str], marks: Attributes) -> Row:
    opening, closing, separator = (
        marks.get(name, default).strip() for name, default in (("open", "("), ("close", ")"), ("separators", ","))
    )
    inner = (", " if separator[:1] == "," else separator[:1]).join(map(str.strip, parts))
    return plain(inner if _CHOOSE in inner and _is_enclosed(inner) else f"{opening}{inner}{closing}")


def _with_scripts(parts: Sequence[str], _: Attributes) -> Row:
    """Write a base with pairs of sub- and superscripts; those after the mark for it stand before the base."""
    at = parts.index(PRESCRIPTS) if PRESCRIPTS in parts else len(parts)
    signs = "_^" * len(parts)
    base, before = operand("".join(parts[:1])), scripts(signs, parts[at + 1 :])
    text, closed = base + scripts(signs, parts[1:at]), base + scripts(signs, parts[1:at], closed=True)
    return [Term(f"{before} {text}", f"({before} {text})") if before else Term(text, closed)]


PRESCRIPTS = "\0"
"""What stands between the scripts after a base and those before it."""


def _enclosed(parts: Sequence[str], marks: Attributes) -> Row:
    inner = "".join(parts).strip()
    sign = "cancel" if "strike" in marks["notation"] else "▭" if "box" in marks["notation"] else ""
    return plain(f"{sign}({inner})" if sign else inner)


def _table(rows: Sequence[str], marks: Attributes) -> Row:
    inner = "; ".join(map(str.strip, rows))
    return plain(f"{{{inner}}}" if LINES in marks else f"[{inner}]")


_WRITERS: dict[str, Callable[[Sequence[str], Attributes], Row]] = {
    "mspace": lambda *_: plain(" "),
    "semantics": lambda parts, _: plain("".join(parts[:1])),
    "maction": lambda parts, _: plain("".join(parts[:1])),
    "msqrt": lambda parts, _: _root(parts),
    "mroot": lambda parts, _: _root(parts[:1], "".join(parts[1:])),
    "mfrac": _fraction,
    "mfenced": _fenced,
    "menclose": _enclosed,
    "mmultiscripts": _with_scripts,
    "mprescripts": lambda *_: plain(PRESCRIPTS),
    "mtr": lambda cells, _: plain(" & ".join(map(str.strip, cells))),
    "mtable": _table,
}


def _token(tag: str, text: str) -> Row:
    text = text.translate(_INVISIBLE)
    if tag == "mtext":
        return plain(text.replace("\xa0", " "))
    text = text.strip()
    if tag == "mn":
        return [Term(text, text, after=True)]
    return plain(
        f'"{text}"' if tag == "ms" else f" {text} " if tag == "mi" and len(text) > 1 and text.isalpha() else text
    )


@dataclass(slots=True)
class _Element:
    tag: str
    marks: Marks
    parts: list[Row] = field(default_factory=list)


class Formula:
    """Gathers the text of one formula from the starts and ends of its elements."""

    def __init__(self) -> None:
        self._open = [_Element("math", {})]
        self._deeper = 0
        self._silent = 0  # depth within what is not shown

    def start(self, tag: str, marks: Marks) -> None:
        """Begin an element."""
        if self._silent or tag in _SILENT:
            self._silent += 1
        elif len(self._open) > _DEEPEST:
            self._deeper += 1
        else:
            self._open.append(_Element(tag, marks))

    def text(self, data: str) -> None:
        """Add text; only elements for text have some."""
        if not self._silent and (self._open[-1].tag in _TOKENS or data.strip()):
            self._open[-1].parts.append(plain(data))

    def end(self, _: str = "") -> None:
        """End the element that began last."""
        if self._silent:
            self._silent -= 1
        elif self._deeper:
            self._deeper -= 1
        elif len(self._open) > 1:
            ended = self._open.pop()
            if ended.tag in _TOKENS:
                row = _token(ended.tag, "".join(term.text for part in ended.parts for term in part))
            else:
                row = element(ended.tag, ended.parts, {name: value or "" for name, value in ended.marks.items()})
            self._open[-1].parts.append(row)

    def written(self) -> str:
        """The whole formula."""
        while len(self._open) > 1:
            self.end()
        return " ".join(joined(chain.from_iterable(self._open[0].parts)).split())
