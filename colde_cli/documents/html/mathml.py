"""Write MathML as plain text: `x^2`, `a/b`, `√(a+b)`, `∑_(i=1)^n`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.html.flow import Marks
from colde_cli.documents.notation import fraction, lowered

_DEEPEST = 100  # elements nested deeper are as if they were not there; what they hold stays
_TOKENS = frozenset(("mi", "mn", "mo", "ms", "mtext"))
_SILENT = frozenset(("annotation", "annotation-xml", "mphantom"))
_PRESCRIPTS = "\0"
_ENDED = frozenset("^_/")
_BRACKETED = re.compile(r"\([^()]*\)")
_SIGNS = {"msub": "_", "munder": "_", "msup": "^", "mover": "^", "msubsup": "_^", "munderover": "_^"}
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))
_MARK = re.compile(r"[^\w+−(\[{∞-]+")
"""What is written over a letter or raised beside it as it is: primes, bars, arrows."""


@dataclass(slots=True)
class _Element:
    tag: str
    marks: Marks
    parts: list[str] = field(default_factory=list)


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
            self._open[-1].parts.append(data)

    def end(self, _: str = "") -> None:
        """End the element that began last."""
        if self._silent:
            self._silent -= 1
        elif self._deeper:
            self._deeper -= 1
        elif len(self._open) > 1:
            element = self._open.pop()
            self._open[-1].parts.append(_written(element))

    def written(self) -> str:
        """The whole formula."""
        while len(self._open) > 1:
            self.end()
        return " ".join(_joined(self._open[0].parts).split())


def _written(element: _Element) -> str:
    parts, tag = element.parts, element.tag
    if tag in _TOKENS:
        return _token(tag, "".join(parts))
    signs = _SIGNS.get(tag, "")
    if signs and len(parts) == len(signs) + 1:
        written = (_script(sign, part) for sign, part in zip(signs, parts[1:], strict=True))
        return _base(parts[0]) + "".join(written)
    write = _WRITERS.get(tag)
    return write(element) if write else _joined(parts)


def _token(tag: str, text: str) -> str:
    text = text.translate(_INVISIBLE)
    if tag == "mtext":
        return text.replace("\xa0", " ")
    text = text.strip()
    if tag == "ms":
        return f'"{text}"'
    return f" {text} " if tag == "mi" and len(text) > 1 and text.isalpha() else text


def _first(element: _Element) -> str:
    return element.parts[0] if element.parts else ""


def _root(element: _Element) -> str:
    """Write a root; one with an index has two parts."""
    index = f"[{element.parts.pop().strip()}]" if element.tag == "mroot" and len(element.parts) == 2 else ""
    return f"√{index}{_base(_joined(element.parts))}"


def _fraction(element: _Element) -> str:
    if len(element.parts) != 2:
        return " ".join(element.parts)
    above, below = element.parts
    bare = re.fullmatch(r"0+(?:\.0+)?[a-z%]*", (element.marks.get("linethickness") or "").strip())
    return f"({above.strip()} choose {below.strip()})" if bare else fraction(above, below)


def _fenced(element: _Element) -> str:
    opening, closing, separator = (
        value if (value := element.marks.get(name)) is not None else default
        for name, default in (("open", "("), ("close", ")"), ("separators", ","))
    )
    return opening + f"{separator.strip()[:1]} ".join(part.strip() for part in element.parts) + closing


def _with_scripts(element: _Element) -> str:
    """Write a base with pairs of sub- and superscripts; those after the mark for it stand before the base."""
    parts = element.parts
    at = parts.index(_PRESCRIPTS) if _PRESCRIPTS in parts else len(parts)
    after, before = (
        "".join(_script("_^"[place % 2], part) for place, part in enumerate(some))
        for some in (parts[1:at], parts[at + 1 :])
    )
    return before + (_base(parts[0]) if parts else "") + after


def _base(text: str) -> str:
    """Write what a sign belongs to: of two letters in a row it would be one alone."""
    text = text.strip()
    return text if len(text) < 2 or text.isdigit() or _BRACKETED.fullmatch(text) else f"({text})"


def _script(sign: str, text: str) -> str:
    text = text.strip()
    return text if not text or _MARK.fullmatch(text) else lowered("x", text).replace("_", sign, 1)


def _joined(parts: Sequence[str]) -> str:
    """Join parts; no number joins another (1 and 1/2 are not 11/2), nor a script or a fraction what is beside it."""
    pieces: list[str] = []
    last = ""
    for part in filter(None, parts):
        beside = last[-1:].isalnum() and part[0].isalnum()
        if beside and ((part[0].isdigit() and last[-1:].isdigit()) or not _ENDED.isdisjoint(last) or "/" in part):
            pieces.append(" ")
        pieces.append(part)
        last = part
    return "".join(pieces)


def _enclosed(element: _Element) -> str:
    inner = _joined(element.parts)
    return f"cancel({inner.strip()})" if "strike" in (element.marks.get("notation") or "") else inner


_WRITERS: dict[str, Callable[[_Element], str]] = {
    "mspace": lambda _: " ",
    "semantics": _first,
    "maction": _first,
    "msqrt": _root,
    "mroot": _root,
    "mfrac": _fraction,
    "mfenced": _fenced,
    "menclose": _enclosed,
    "mmultiscripts": _with_scripts,
    "mprescripts": lambda _: _PRESCRIPTS,
    "mtr": lambda row: ", ".join(part.strip() for part in row.parts),
    "mtable": lambda table: "; ".join(part.strip() for part in table.parts),
}
