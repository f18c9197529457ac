"""Write the formulas of Word (OMML, ECMA-376 part 1, § 22.1) as plain text that shows their structure.

`1/2`, `x^2`, `x_(i+1)`, `∑_(i=1)^n x`, `√(x)`, `[a & b; c & d]`: two formulas that look different read differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from colde_cli.documents.notation import fraction, in_alphabet
from colde_cli.documents.office.archive import Attributes

_ARGUMENTS = frozenset("e num den sup sub deg lim fName".split())
_SCRIPT = re.compile(r"[+−-]?[^\W_]+(?:[.,][^\W_]+)*|[^\w\s()\[\]{}/^+−-]")
_BASE = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*|\S")
_WORD = re.compile(r"[^\W\d_]{2,}")
_OPENING, _CLOSING = "([{⟨⌈⌊|‖", ")]}⟩⌉⌋|‖"
_ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "fraktur": "FRAKTUR", "script": "SCRIPT"}
_BARS = {"top": "\N{COMBINING OVERLINE}"}
_SIGNS = frozenset(("chr", "begChr", "endChr", "sepChr"))  # properties that are signs; without a value they are none


class Term(NamedTuple):
    """A piece of a formula."""

    text: str  # where nothing that could belong to it stands beside it
    closed: str  # with brackets, beside a letter or a digit
    after: bool = False  # whether it is closed after a letter or digit, too


def joined(terms: Iterable[Term], before: str = "") -> str:
    """Write terms one after the other; `before` is the text that stands in front of them."""
    pieces: list[str] = []
    row = list(terms)
    for term, following in zip_longest(row, row[1:]):
        if not term.text:
            continue
        text, last = term.text, before[-1:]
        beside = following is not None and following.text[:1].isalnum() and text[-1:].isalnum()
        if term.after and last.isdigit() and text[0].isdigit() and not beside:
            text = f" {text}"  # 3 1/2
        elif beside or (term.after and last.isalnum() and text[0].isalnum()):
            text = term.closed
        pieces.append(text)
        before = text
    return "".join(pieces)


@dataclass(slots=True)
class _FormulaElement:
    """An element that is being read: its terms, its properties, and the texts of its arguments by their names."""

    terms: list[Term] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)

    def one(self, name: str) -> str:
        """The text of an argument; "" if it has none."""
        return "".join(self.all(name))

    def all(self, name: str) -> list[str]:
        """The texts of an argument that may come several times."""
        return self.arguments.get(name, [])

    def is_on(self, name: str, default: str = "0") -> bool:
        """Whether a switch among the properties is on."""
        return self.values.get(name, default) not in ("0", "off", "false")


@dataclass(slots=True)
class WordFormula:
    """A formula that is being read, element by element."""

    _open: list[_FormulaElement] = field(default_factory=lambda: [_FormulaElement()])
    _alphabet: str = ""
    _unseen: list[str] = field(default_factory=list)

    def begin_run(self) -> None:
        """Begin a run of text."""
        self._alphabet = ""

    def element(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read an element in the namespace of formulas, up to its end."""
        local, around = name.removeprefix("m:"), self._open[-1]
        if local == "scr":
            self._alphabet = _ALPHABETS.get(attributes.get("m:val", ""), "")
        elif local not in _WRITERS and local not in _ARGUMENTS:
            around.values[local] = attributes.get("m:val", "" if local in _SIGNS else "1")
        else:
            element = _FormulaElement()
            self._open.append(element)
            yield
            self._open.pop()
            if local in _ARGUMENTS:
                around.arguments.setdefault(local, []).append(joined(element.terms))
            elif local == "mr":
                around.arguments.setdefault(local, []).append(" & ".join(element.all("e")))
            elif local == "phant" and not element.is_on("show", default="1"):
                self._unseen.append(element.one("e"))
            else:
                term = _WRITERS[local](element)
                around.terms.append(Term(term, term) if isinstance(term, str) else term)

    def add(self, text: str) -> None:
        """Add the text of a run."""
        if self._alphabet:
            text = in_alphabet(self._alphabet, text)
        self._open[-1].terms.append(Term(text, text))

    def written(self, before: str) -> tuple[str, str]:
        """The formula as text after `before`, and what of it is not shown."""
        return joined(self._open[0].terms, before), " ".join(self._unseen)


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


def _operand(text: str) -> str:
    """What an operation applies to, in brackets unless it is one number, word or sign."""
    return text if _BASE.fullmatch(_bare(text)) or _is_enclosed(text) or not text else f"({text})"


def _script(text: str) -> str:
    return text if _SCRIPT.fullmatch(_bare(text)) else f"({text})"


def _scripts(element: _FormulaElement, *, closed: bool = False) -> str:
    """The scripts of an element, `_i^n`; `closed` puts the last one in brackets."""
    low = element.one("sub") if not element.is_on("subHide") else ""
    high = element.one("sup") if not element.is_on("supHide") else ""
    marks = [(sign, text) for sign, text in (("_", low), ("^", high)) if text]
    return "".join(
        sign + (f"({text})" if closed and number == len(marks) else _script(text))
        for number, (sign, text) in enumerate(marks, 1)
    )


def _scripted(element: _FormulaElement) -> Term:
    base = _operand(element.one("e"))
    return Term(base + _scripts(element), base + _scripts(element, closed=True))


def _scripted_before(element: _FormulaElement) -> Term:
    text = f"{_scripts(element)} {_operand(element.one('e'))}"
    return Term(text, f"({text})")


def _fraction(element: _FormulaElement) -> Term | str:
    above, below = element.one("num"), element.one("den")
    if element.values.get("type") == "noBar":
        return f"({above} ¦ {below})"
    text = fraction(above, below)
    return Term(text, f"({text})", after=True)


def _sum(element: _FormulaElement) -> str:
    sign, scripts = element.values.get("chr", "∫"), _scripts(element)
    return f"{sign}{scripts}{' ' * bool(scripts)}{_operand(element.one('e'))}"


def _root(element: _FormulaElement) -> str:
    degree = "" if element.is_on("degHide") else element.one("deg")
    return f"√{f'[{degree}]' if degree else ''}({element.one('e')})"


def _delimited(element: _FormulaElement) -> str:
    signs = element.values
    inner = signs.get("sepChr", "|").join(element.all("e"))
    if " ¦ " in inner and _is_enclosed(inner):
        return inner  # n over k has its brackets
    return f"{signs.get('begChr', '(')}{inner}{signs.get('endChr', ')')}"


def _marked(element: _FormulaElement, mark: str) -> str:
    inner = element.one("e")
    return (inner if len(_bare(inner)) == 1 else f"({inner})") + mark


def _limit(element: _FormulaElement, sign: str) -> Term:
    """A limit over or under a base: `lim_(x→0)`; `┬` and `┴` where it would read as a script."""
    base, limit = element.one("e"), element.one("lim")
    start = _operand(base) + ("_" if sign == "┬" and _WORD.fullmatch(base) else sign)
    return Term(start + _script(limit), f"{start}({limit})")


def _framed(element: _FormulaElement) -> str:
    struck = any(element.is_on(name) for name in ("strikeH", "strikeV", "strikeBLTR", "strikeTLBR"))
    return f"{'cancel' if struck else '▭'}({element.one('e')})"


_WRITERS: dict[str, Callable[[_FormulaElement], Term | str]] = {
    "f": _fraction,
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), _scripted),
    "sPre": _scripted_before,
    "nary": _sum,
    "rad": _root,
    "d": _delimited,
    "m": lambda matrix: f"[{'; '.join(matrix.all('mr'))}]",
    "mr": lambda row: row.one("e"),  # joined where it ends
    "eqArr": lambda lines: f"{{{'; '.join(lines.all('e'))}}}",
    "acc": lambda of: _marked(of, of.values.get("chr", "\N{COMBINING CIRCUMFLEX ACCENT}")),
    "bar": lambda of: _marked(of, _BARS.get(of.values.get("pos", ""), "\N{COMBINING LOW LINE}")),
    "groupChr": lambda group: f"{group.values.get('chr', '⏟')}({group.one('e')})",
    "limLow": lambda limit: _limit(limit, "┬"),
    "limUpp": lambda limit: _limit(limit, "┴"),
    "func": lambda of: Term(f"{of.one('fName')} {_operand(of.one('e'))}", f"{of.one('fName')} ({of.one('e')})"),
    "box": lambda box: box.one("e"),
    "borderBox": _framed,
    "phant": lambda shown: shown.one("e"),
}
