"""Write the formulas of Word (OMML, ECMA-376 part 1, § 22.1) as plain text that shows their structure.

`1/2`, `x^2`, `x_(i+1)`, `∑_(i=1)^n x`, `√(x)`, `[a & b; c & d]`: two formulas that look different read differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import zip_longest

from colde_cli.documents.notation import fraction

FORMULA = "m:oMath"
"""The element of a formula."""

_PREFIX = "m:"
_ARGUMENTS = frozenset("m:e m:num m:den m:sup m:sub m:deg m:lim m:fName".split())
_SCRIPT = re.compile(r"[+−-]?[^\W_]+(?:[.,][^\W_]+)*|[^\w\s()\[\]{}/^+−-]")
_BASE = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*|\S")
_WORD = re.compile(r"[^\W\d_]{2,}")
_OPENING, _CLOSING = "([{⟨⌈⌊|‖", ")]}⟩⌉⌋|‖"
_ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "fraktur": "BLACK-LETTER", "script": "SCRIPT"}


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of a formula.

    Attributes:
        text: where nothing that could belong to it stands beside it.
        closed: with brackets, beside a letter or a digit.
        after: whether it is closed after a letter or digit, too.
    """

    text: str
    closed: str
    after: bool = False


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

    name: str
    terms: list[Term] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, list[str]] = field(default_factory=dict)

    def one(self, name: str) -> str:
        """The text of an argument; "" if it has none."""
        return "".join(self.arguments.get(name, ()))

    def all(self, name: str) -> list[str]:
        """The texts of an argument that may come several times."""
        return self.arguments.get(name, [])

    def is_on(self, name: str) -> bool:
        """Whether a switch among the properties is on."""
        return self.values.get(name, "0") not in ("0", "off", "false")


@dataclass(slots=True)
class WordFormula:
    """A formula that is being read, element by element."""

    _frames: list[_FormulaElement] = field(default_factory=lambda: [_FormulaElement(FORMULA)])
    _alphabet: str = ""
    _unseen: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element in the namespace of formulas."""
        local = name.removeprefix(_PREFIX)
        if local in _WRITERS or name in _ARGUMENTS:
            self._frames.append(_FormulaElement(local))
        elif name == "m:r":
            self._alphabet = ""
        elif name == "m:scr":
            self._alphabet = _ALPHABETS.get(attributes.get("m:val", ""), "")
        else:
            self._frames[-1].values[local] = attributes.get("m:val", "" if local in _SIGNS else "1")

    def end(self, name: str) -> None:
        """End an element in the namespace of formulas."""
        local = name.removeprefix(_PREFIX)
        frame = self._frames[-1]
        if frame.name != local or len(self._frames) == 1:
            return
        self._frames.pop()
        if name in _ARGUMENTS:
            self._frames[-1].arguments.setdefault(local, []).append(joined(frame.terms))
        elif local == "mr":
            self._frames[-1].arguments.setdefault(local, []).append(" & ".join(frame.all("e")))
        elif local == "phant" and frame.values.get("show", "1") in ("0", "off", "false"):
            self._unseen.append(frame.one("e"))
        else:
            self._frames[-1].terms.append(_WRITERS[local](frame))

    def add(self, text: str) -> None:
        """Add the text of a run."""
        if self._alphabet:
            text = "".join(_lettered(sign, self._alphabet) for sign in text)
        self._frames[-1].terms.append(Term(text, text))

    def written(self, before: str) -> tuple[str, str]:
        """The formula as text after `before`, and what of it is not shown."""
        return joined(self._frames[0].terms, before), " ".join(self._unseen)


def _lettered(sign: str, alphabet: str) -> str:
    """A letter in the alphabet of double strokes, of Fraktur or of script, as far as Unicode has it."""
    if not (sign.isascii() and sign.isalpha()):
        return sign
    kind = "SMALL" if sign.islower() else "CAPITAL"
    for name in (f"{alphabet} {kind} {sign.upper()}", f"MATHEMATICAL {alphabet} {kind} {sign.upper()}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    fraktur = f"MATHEMATICAL FRAKTUR {kind} {sign.upper()}"
    return unicodedata.lookup(fraktur) if alphabet == "BLACK-LETTER" else sign


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


def _scripts(frame: _FormulaElement, *, closed: bool = False) -> str:
    """The scripts of an element, `_i^n`; `closed` puts the last one in brackets."""
    low = frame.one("sub") if not frame.is_on("subHide") else ""
    high = frame.one("sup") if not frame.is_on("supHide") else ""
    marks = [(sign, text) for sign, text in (("_", low), ("^", high)) if text]
    return "".join(
        sign + (f"({text})" if closed and number == len(marks) else _script(text))
        for number, (sign, text) in enumerate(marks, 1)
    )


def _scripted(frame: _FormulaElement) -> Term:
    base = _operand(frame.one("e"))
    return Term(base + _scripts(frame), base + _scripts(frame, closed=True))


def _scripted_before(frame: _FormulaElement) -> Term:
    text = f"{_scripts(frame)} {_operand(frame.one('e'))}"
    return Term(text, f"({text})")


def _fraction(frame: _FormulaElement) -> Term:
    above, below = frame.one("num"), frame.one("den")
    if frame.values.get("type") == "noBar":
        return _plain(f"({above} ¦ {below})")
    text = fraction(above, below)
    return Term(text, f"({text})", after=True)


def _sum(frame: _FormulaElement) -> Term:
    sign, scripts = frame.values.get("chr", "∫"), _scripts(frame)
    return _plain(f"{sign}{scripts}{' ' * bool(scripts)}{_operand(frame.one('e'))}")


def _root(frame: _FormulaElement) -> Term:
    degree = "" if frame.is_on("degHide") else frame.one("deg")
    return _plain(f"√{f'[{degree}]' if degree else ''}({frame.one('e')})")


def _delimited(frame: _FormulaElement) -> Term:
    signs = frame.values
    inner = signs.get("sepChr", "|").join(frame.all("e"))
    if " ¦ " in inner and _is_enclosed(inner):
        return _plain(inner)  # n over k has its brackets
    return _plain(f"{signs.get('begChr', '(')}{inner}{signs.get('endChr', ')')}")


def _matrix(frame: _FormulaElement) -> Term:
    return _plain(f"[{'; '.join(frame.all('mr'))}]")


def _lines(frame: _FormulaElement) -> Term:
    return _plain(f"{{{'; '.join(frame.all('e'))}}}")


def _accent(frame: _FormulaElement) -> Term:
    return _marked(frame, frame.values.get("chr", "\N{COMBINING CIRCUMFLEX ACCENT}"))


def _bar(frame: _FormulaElement) -> Term:
    over = frame.values.get("pos") == "top"
    return _marked(frame, "\N{COMBINING OVERLINE}" if over else "\N{COMBINING LOW LINE}")


def _marked(frame: _FormulaElement, mark: str) -> Term:
    inner = frame.one("e")
    return _plain((inner if len(_bare(inner)) == 1 else f"({inner})") + mark)


def _grouped(frame: _FormulaElement) -> Term:
    return _plain(f"{frame.values.get('chr', '⏟')}({frame.one('e')})")


def _limit(sign: str) -> Callable[[_FormulaElement], Term]:
    """A limit over or under a base: `lim_(x→0)`; `┬` and `┴` where it would read as a script."""

    def write(frame: _FormulaElement) -> Term:
        base, limit = frame.one("e"), frame.one("lim")
        mark = "_" if sign == "┬" and _WORD.fullmatch(base) else sign
        return Term(f"{_operand(base)}{mark}{_script(limit)}", f"{_operand(base)}{mark}({limit})")

    return write


def _function(frame: _FormulaElement) -> Term:
    name, of = frame.one("fName"), frame.one("e")
    return Term(f"{name} {_operand(of)}", f"{name} ({of})")


def _framed(frame: _FormulaElement) -> Term:
    struck = any(frame.is_on(name) for name in ("strikeH", "strikeV", "strikeBLTR", "strikeTLBR"))
    return _plain(f"{'cancel' if struck else '▭'}({frame.one('e')})")


def _content(frame: _FormulaElement) -> Term:
    return _plain(frame.one("e"))


def _plain(text: str) -> Term:
    return Term(text, text)


_SIGNS = frozenset(("chr", "begChr", "endChr", "sepChr"))
"""Properties that are signs; without a value they are none."""
_WRITERS: dict[str, Callable[[_FormulaElement], Term]] = {
    "f": _fraction,
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), _scripted),
    "sPre": _scripted_before,
    "nary": _sum,
    "rad": _root,
    "d": _delimited,
    "m": _matrix,
    "mr": _matrix,  # a row of one; its cells are joined where it ends
    "eqArr": _lines,
    "acc": _accent,
    "bar": _bar,
    "groupChr": _grouped,
    "limLow": _limit("┬"),
    "limUpp": _limit("┴"),
    "func": _function,
    "box": _content,
    "borderBox": _framed,
    "phant": _content,
}
