"""Write formulas in MathML as plain text: `x^2`, `(a+1)/2`, `√(b)`, `∑_(i=1)^n`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from colde_cli.documents.notation import fraction, lowered, raised
from colde_cli.documents.office.archive import XmlHandler

_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms", "mspace", "mglyph"))
_WITHOUT_TEXT = frozenset(("annotation", "annotation-xml"))  # the source of the formula, in another language
# Signs that cannot be seen: function application, invisible times, separator and plus.
_UNSEEN = dict.fromkeys((0x2061, 0x2062, 0x2063, 0x2064))
_WORD = re.compile(r"[^\W\d_]{2}")
_WORD_END = re.compile(r"(?:[^\W\d_]|[\^_])[^\W\d_]$")
_PRIMES = frozenset("′″‴'*°")


@dataclass(slots=True)
class _Element:
    """An element that is being read, with the texts of its finished children."""

    name: str
    attributes: dict[str, str]
    texts: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Formula(XmlHandler):
    """A formula that is being read.

    Attributes:
        text: of what was read; "" while nothing is finished.
    """

    text: str = ""
    _open: list[_Element] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element, with or without a prefix."""
        self._open.append(_Element(name.rpartition(":")[2], attributes))

    def end(self, name: str) -> None:
        """End an element: its text becomes one of its parent's."""
        if not self._open:
            return
        element = self._open.pop()
        text = _written(element)
        if self._open:
            self._open[-1].texts.append(text)
        else:
            self.text = " ".join(text.split())

    def characters(self, text: str) -> None:
        """Take letters of a token."""
        if self._open:
            self._open[-1].words.append(text)


def _written(element: _Element) -> str:
    if element.name in _TOKENS:
        words = "".join(element.words).translate(_UNSEEN)
        return " ".join(words.split()) or element.attributes.get(":alt", "")
    if element.name in _WITHOUT_TEXT:
        return ""
    write = _WRITERS.get(element.name)
    return write(element.texts, element.attributes) if write else joined(element.texts)


def joined(texts: list[str]) -> str:
    """Join the parts of a row; a blank keeps two numbers, or two words, apart."""
    row = ""
    for text in texts:
        row += f" {text}" if _runs_on(row, text) else text
    return row


def _runs_on(row: str, text: str) -> bool:
    """Whether two parts would be read as one: two numbers, a word and a letter, a script and what follows it."""
    last, first = row[-1:], text[:1]
    if last.isdigit() and first.isdigit():
        return True
    return last.isalpha() and first.isalpha() and bool(_WORD_END.search(row) or _WORD.match(text))


def _child(texts: list[str], number: int) -> str:
    return " ".join(texts[number].split()) if number < len(texts) else ""


def _fraction(texts: list[str], attributes: dict[str, str]) -> str:
    above, below = _child(texts, 0), _child(texts, 1)
    line = next(
        (attributes[name] for name in (":linethickness", "math:linethickness") if name in attributes), "1"
    )
    if not line.strip("0").strip("pxemtinc%. "):
        return f" binom({above}, {below}) "
    return f" {fraction(above, below)} "


def _root(texts: list[str], attributes: dict[str, str]) -> str:
    return f"√[{_child(texts, 1)}]({_child(texts, 0)})"


def _square_root(texts: list[str], attributes: dict[str, str]) -> str:
    return f"√({' '.join(joined(texts).split())})"


def _script(base: str, text: str, sign: str) -> str:
    """A base with a script; what `notation` leaves as it is, an arrow over a letter, is marked too."""
    if not text or (sign == "^" and set(text) <= _PRIMES):
        return base + text
    written = raised("x", text) if sign == "^" else lowered("x", text)
    return base + (written if written.startswith(sign) else f"{sign}({text})")


def _base(text: str) -> str:
    """The base of a script, in brackets if the script would be read as one of its last letter alone."""
    plain = text.isalnum() or len(text) < 2 or text[-1] in ")]}" or "_" in text or "^" in text
    return text if plain else f"({text})"


def _raised(texts: list[str], attributes: dict[str, str]) -> str:
    return _script(_base(_child(texts, 0)), _child(texts, 1), "^")


def _lowered(texts: list[str], attributes: dict[str, str]) -> str:
    return _script(_base(_child(texts, 0)), _child(texts, 1), "_")


def _both(texts: list[str], attributes: dict[str, str]) -> str:
    return _script(_lowered(texts, attributes), _child(texts, 2), "^")


def _around(texts: list[str], attributes: dict[str, str]) -> str:
    """Scripts on both sides: a base, then pairs of a lower and an upper one, then those before it."""
    middle = texts.index("\0") if "\0" in texts else len(texts)
    after, before = texts[1:middle], texts[middle + 1 :]
    return _scripts("", before) + _scripts(_child(texts, 0), after)


def _scripts(base: str, texts: list[str]) -> str:
    for at in range(0, len(texts), 2):
        base = _script(_script(base, _child(texts, at), "_"), _child(texts, at + 1), "^")
    return base


def _fenced(texts: list[str], attributes: dict[str, str]) -> str:
    stated = {name.rpartition(":")[2]: value for name, value in attributes.items()}
    separators = "".join(stated.get("separators", ",").split())
    inner = ""
    for number, text in enumerate(texts):
        inner += (separators[min(number, len(separators)) - 1] if number and separators else "") + text
    return stated.get("open", "(") + inner + stated.get("close", ")")


def _table(texts: list[str], attributes: dict[str, str]) -> str:
    return "; ".join(texts)


def _row(texts: list[str], attributes: dict[str, str]) -> str:
    return ", ".join(texts)


def _enclosed(texts: list[str], attributes: dict[str, str]) -> str:
    inner = joined(texts)
    return f"cancel({inner})" if any("strike" in value for value in attributes.values()) else inner


def _phantom(texts: list[str], attributes: dict[str, str]) -> str:
    return f"phantom({joined(texts)})" if any(texts) else ""


def _semantics(texts: list[str], attributes: dict[str, str]) -> str:
    return _child(texts, 0)


def _prescripts(texts: list[str], attributes: dict[str, str]) -> str:
    return "\0"


_WRITERS: dict[str, Callable[[list[str], dict[str, str]], str]] = {
    "mfrac": _fraction,
    "msqrt": _square_root,
    "mroot": _root,
    "msup": _raised,
    "mover": _raised,
    "msub": _lowered,
    "munder": _lowered,
    "msubsup": _both,
    "munderover": _both,
    "mmultiscripts": _around,
    "mprescripts": _prescripts,
    "mfenced": _fenced,
    "mtable": _table,
    "mtr": _row,
    "mlabeledtr": _row,
    "menclose": _enclosed,
    "mphantom": _phantom,
    "semantics": _semantics,
}
