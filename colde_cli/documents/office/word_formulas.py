"""Put the formulas of Word (OMML, ECMA-376 part 1, § 22.1) into the terms of MathML, in which they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from colde_cli.documents.html.mathml import LINES, PRESCRIPTS, Row, Term, element, joined, operand, plain, scripts
from colde_cli.documents.notation import in_alphabet
from colde_cli.documents.office.archive import Attributes

_ARGUMENTS = frozenset("e num den sup sub deg lim fName".split())
_ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "fraktur": "FRAKTUR", "script": "SCRIPT"}
_SIGNS = frozenset(("chr", "begChr", "endChr", "sepChr"))  # properties that are signs; without a value they are none


@dataclass(slots=True)
class _FormulaElement:
    """An element that is being read: its terms, its properties, and its arguments by their names."""

    terms: Row = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, list[Row]] = field(default_factory=dict)

    def all(self, name: str) -> list[Row]:
        return self.arguments.get(name, [])

    def one(self, name: str) -> Row:
        return [*chain.from_iterable(self.all(name))]

    def text(self, name: str) -> str:
        return joined(self.one(name))

    def is_on(self, name: str, default: str = "0") -> bool:
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
            inner = _FormulaElement()
            self._open.append(inner)
            yield
            self._open.pop()
            if local in _ARGUMENTS:
                around.arguments.setdefault(local, []).append(inner.terms)
            elif local == "mr":
                around.arguments.setdefault(local, []).append(element("mtr", inner.all("e")))
            elif local == "phant" and not inner.is_on("show", default="1"):
                self._unseen.append(inner.text("e"))
            else:
                around.terms += _WRITERS[local](inner)

    def add(self, text: str) -> None:
        """Add the text of a run."""
        self._open[-1].terms += plain(in_alphabet(self._alphabet, text) if self._alphabet else text)

    def written(self, before: str) -> tuple[str, str]:
        """The formula as text after `before`, and what of it is not shown."""
        return joined(self._open[0].terms, before), " ".join(self._unseen)


def _shaped(tag: str, names: str) -> Callable[[_FormulaElement], Row]:
    return lambda of: element(tag, [of.one(name) for name in names.split()])


def _fraction(of: _FormulaElement) -> Row:
    marks = {"linethickness": "0"} if of.values.get("type") == "noBar" else {}
    return element("mfrac", [of.one("num"), of.one("den")], marks)


def _sum(of: _FormulaElement) -> Row:
    hidden = {"sub": of.is_on("subHide"), "sup": of.is_on("supHide")}
    limits = scripts("_^", ["" if hides else of.text(name) for name, hides in hidden.items()])
    return plain(f"{of.values.get('chr', '∫')}{limits}{' ' * bool(limits)}{operand(of.text('e'))}")


def _root(of: _FormulaElement) -> Row:
    return element("mroot", [of.one("e"), [] if of.is_on("degHide") else of.one("deg")])


def _delimited(of: _FormulaElement) -> Row:
    signs = (("open", "begChr", "("), ("close", "endChr", ")"), ("separators", "sepChr", "|"))
    return element("mfenced", of.all("e"), {name: of.values.get(sign, default) for name, sign, default in signs})


def _function(of: _FormulaElement) -> Row:
    name, argument = of.text("fName"), of.text("e")
    return [Term(f"{name} {operand(argument)}", f"{name} ({argument})")]


def _framed(of: _FormulaElement) -> Row:
    struck = any(of.is_on(name) for name in ("strikeH", "strikeV", "strikeBLTR", "strikeTLBR"))
    return element("menclose", of.all("e"), {"notation": "strike" if struck else "box"})


def _marked(of: _FormulaElement, mark: str) -> Row:
    return element("mover", [of.one("e"), plain(mark)])


_WRITERS: dict[str, Callable[[_FormulaElement], Row]] = {
    "f": _fraction,
    "sSup": _shaped("msup", "e sup"),
    "sSub": _shaped("msub", "e sub"),
    "sSubSup": _shaped("msubsup", "e sub sup"),
    "sPre": lambda of: element("mmultiscripts", [of.one("e"), plain(PRESCRIPTS), of.one("sub"), of.one("sup")]),
    "nary": _sum,
    "rad": _root,
    "d": _delimited,
    "m": lambda matrix: element("mtable", matrix.all("mr")),
    "mr": lambda row: row.one("e"),  # joined where it ends
    "eqArr": lambda lines: element("mtable", lines.all("e"), {LINES: ""}),
    "acc": lambda of: _marked(of, of.values.get("chr", "\N{COMBINING CIRCUMFLEX ACCENT}")),
    "bar": lambda of: _marked(
        of, "\N{COMBINING OVERLINE}" if of.values.get("pos") == "top" else "\N{COMBINING LOW LINE}"
    ),
    "groupChr": lambda group: plain(f"{group.values.get('chr', '⏟')}({group.text('e')})"),
    "limLow": _shaped("munder", "e lim"),
    "limUpp": _shaped("mover", "e lim"),
    "func": _function,
    "box": lambda box: box.one("e"),
    "borderBox": _framed,
    "phant": lambda shown: shown.one("e"),
}
