r"""Write formulas and quantities of LaTeX as lines of text, so that no two different ones read alike.

Scripts are `^` and `_`, fractions `/`, signs their characters; a command without a known meaning keeps its name with
the backslash. Blanks between letters count for nothing in a formula, nor where texts are compared: what is more than
one letter or one number stands in parentheses, so that `x_(ij)` is not `x_i j`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from colde_cli.documents.tex.commands import (
    ALPHABETS,
    DELIMITERS,
    DROPPED,
    FRACTIONS,
    HATS,
    MATH_ARGUMENTS,
    MATH_LAYOUT,
    MATH_SPACES,
    MATRICES,
    NAMED,
    OPERATORS,
    OVER,
    POWERS,
    POWERS_BEFORE,
    PREFIXES,
    QUANTITIES,
    SIGNS,
    TEXTS,
    UNITS,
)
from colde_cli.documents.tex.source import BLANK, AuthorCommands, Source

FORMULA_COMMANDS = FRACTIONS | NAMED.keys() | HATS.keys() | ALPHABETS.keys() | {"sqrt"}
"""Commands that are read in the same way where they stand in the running text."""
_ENVIRONMENT = frozenset(("begin", "end"))
_DEEPEST = 30
_FLAT = dict.fromkeys(map(ord, "{}"), " ")
_TOKEN = re.compile(r"\\([A-Za-z@]+)\*?|\\(.)|([\^_])|([{}&~$#])|([^\\{}&~$#^_]+)", re.DOTALL)
# These mark what is a piece until its neighbours are known; `prepare` lets no such character in.
_SCRIPT, _PART, _END, _CELL, _ROW = "\uf101", "\uf102", "\uf103", "\uf104", "\uf105"
_SEPARATOR = re.compile(rf"\s*(?:{_CELL}|{_ROW})[\s{_CELL}]*")
_PIECE = re.compile(rf"(\s*[\^_√])?([{_SCRIPT}{_PART}])([^{_SCRIPT}{_PART}{_END}]*){_END}")
_NUMBER = re.compile(r"[+−-]?\d+(?:[.,]\d+)*")
_BAR = re.compile(r" *([|∣]) *")
_SIGN_FIRST = re.compile(r"^([-–+*]) +")
_SPACE = r"(?:\\[,;:> ]|~|\\q?quad|\\(?:thin|med|thick|en)?space)"
_SPACE_FIRST = re.compile(rf"\s*{_SPACE}")
_SPACE_LAST = re.compile(rf"{_SPACE}\s*$")
_OPTION = re.compile(r"[ \t]*\[([^\[\]]*)\]")
_ROW_OPTION = re.compile(r"\*?(?:[ \t]*\[[^\]\n]{0,20}\])?")
_EXPONENT = re.compile(r"([+-]?[\d.,]*)\s*[eEdD]\s*([+-]?\d+)")
_UNIT_TOKEN = re.compile(r"\\([A-Za-z]+)|([.~])|([^\\.~{}\s]+)")


@dataclass(slots=True)
class Formulas:
    r"""Reads formulas.

    Attributes:
        authored: commands of the author; they are expanded.
        source: makes a source of an expansion.
        words: reads the text in an argument, such as that of `\text`.
        label: is told the names of labels.
        hidden: is told the source of what takes room but is not printed.
    """

    authored: AuthorCommands
    source: Callable[[str], Source]
    words: Callable[[Source, tuple[int, int], int], str]
    label: Callable[[str], None]
    hidden: Callable[[str], None]

    def read(self, source: Source, at: int, end: int, depth: int) -> str:
        """Write a range as a line of text; only a blank that is printed stands at an end."""
        text = self._resolved(source, at, end, depth)
        text = _SIGN_FIRST.sub(r"\1", _BAR.sub(r"\1", text))
        before = " " if _SPACE_FIRST.match(source.text, at, end) else ""
        after = " " if _SPACE_LAST.search(source.text, max(at, end - 20), end) else ""
        return before + text + after

    def command(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        """Write one command with its arguments; also return the offset after them."""
        piece, after = self._command(source, name, at, end, depth)
        return _resolve(piece), after

    def _resolved(self, source: Source, at: int, end: int, depth: int) -> str:
        return _resolve(self._run(source, at, end, depth)[0])

    def _run(
        self, source: Source, at: int, end: int, depth: int, *, environment: bool = False
    ) -> tuple[str, int]:
        r"""Read up to `end`, or to the `\end` of the environment; pieces keep their marks."""
        if depth > _DEEPEST:
            return source.text[at:end].translate(_FLAT), end
        pieces: list[str] = []
        while at < end and (found := _TOKEN.match(source.text, at, end)):
            name, symbol, script, mark, text = found.groups()
            at = found.end()
            if name == "end" and environment:
                return "".join(pieces), _after_group(source, at, end)
            if name in OVER:
                below, at = self._run(source, at, end, depth + 1, environment=environment)
                return _over(name, _resolve("".join(pieces)), _resolve(below)), at
            if text:
                piece = " ".join(f"x{text}x".split())[1:-1]
            elif script:
                piece, at = self._scripted(source, script, at, end, depth)
            elif name:
                piece, at = self._command(source, name, at, end, depth)
            elif symbol:
                piece, at = _symbol(source, symbol, at, end)
            elif mark == "{" and found.start() in source.pairs and source.pairs[found.start()] < end:
                close = source.pairs[found.start()]
                piece, at = self._run(source, at, close, depth + 1)[0], close + 1
            else:
                piece = {"&": _CELL, "~": " ", "#": "#"}.get(mark, "")
            pieces.append(piece)
        return "".join(pieces), end

    def _operand(self, source: Source, at: int, end: int, depth: int) -> tuple[str, int]:
        """Read the argument after a command or a script: a group, a command or one character."""
        blank = BLANK.match(source.text, at, end)
        start = blank.end() if blank else at
        if bounds := source.group(start, end):
            return self._resolved(source, *bounds, depth + 1).strip(), bounds[1] + 1
        found = _TOKEN.match(source.text, start, end)
        if not found or found[4] or found[1] == "end":
            return "", at
        if depth > _DEEPEST:
            return source.text[start:end].translate(_FLAT), end
        if found[1]:
            piece, after = self._command(source, found[1], found.end(), end, depth + 1)
            return _resolve(piece), after
        return (found[2], found.end()) if found[2] else (source.text[start], start + 1)

    def _scripted(self, source: Source, script: str, at: int, end: int, depth: int) -> tuple[str, int]:
        text, after = self._operand(source, at, end, depth)
        if script == "^" and text in ("∘", "°"):
            return "°", after
        if script == "^" and text and not text.strip("′ "):
            return text.replace(" ", ""), after
        return f"{script}{_SCRIPT}{text}{_END}", after

    def _command(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        name = self.authored.aliases.get(name, name)
        if name in self.authored.commands:
            return self._expanded(source, name, at, end, depth)
        if name in SIGNS or name in OPERATORS:
            return f" {SIGNS.get(name, name)} ", at
        if name in MATH_LAYOUT or name in MATH_SPACES:
            return " ", at
        kinds = (
            (DELIMITERS, self._delimiter),
            (TEXTS, self._text),
            (_ENVIRONMENT, self._environment),
            (QUANTITIES, self._quantity),
            (FORMULA_COMMANDS, self._structure),
        )
        act = next((act for names, act in kinds if name in names), self._other)
        return act(source, name, at, end, depth)

    def _delimiter(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        """Leave out the size of a delimiter, and the full stop that stands for none."""
        found = BLANK.match(source.text, at, end)
        start = found.end() if found else at
        return "", start + 1 if source.text.startswith(".", start) else at

    def _quantity(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        read = quantity(source, name, at, end, lambda bounds: self._resolved(source, *bounds, depth + 1))
        return (f" {read[0]} ", read[1]) if read else (f" \\{name} ", at)

    def _text(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        bounds = source.group(at, end)
        if not bounds:
            return " ", at
        text = self.words(source, bounds, depth + 1)
        return (f" ({text}) " if name == "tag" else f" {text} "), bounds[1] + 1

    def _structure(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        """Read a fraction, a root, an accent, letters of another alphabet, or a command with a name and arguments."""
        count = 2 if name in FRACTIONS else NAMED.get(name, 1)
        option = _OPTION.match(source.text, at, end) if name not in HATS else None
        at = option.end() if option else at
        operands = []
        for _ in range(count):
            text, at = self._operand(source, at, end, depth)
            operands.append(text)
        if name in FRACTIONS:
            return f"{_PART}{_fraction(*operands)}{_END}", at
        if name == "sqrt":
            index = f"[{option[1].strip()}]" if option else ""
            return f" {index}√{_SCRIPT}{operands[0]}{_END}", at
        if name in HATS:
            return _hatted(name, operands[0]), at
        if name in ALPHABETS:
            return f" {_in_alphabet(ALPHABETS[name], operands[0])} ", at
        shown = [*([option[1].strip()] if option else []), *operands]
        return f" {name.removeprefix('d') if name == 'dbinom' else name}({', '.join(shown)}) ", at

    def _environment(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        """Read a matrix row by row, or lines that are aligned."""
        bounds = source.group(at, end)
        if not bounds or name == "end":
            return " ", bounds[1] + 1 if bounds else at
        kind, at = source.text[slice(*bounds)].strip(), bounds[1] + 1
        at = source.after_option(at, end) if source.text.startswith("[", at) else at
        at = _after_group(source, at, end) if kind in MATH_ARGUMENTS else at
        text, at = self._run(source, at, end, depth + 1, environment=True)
        text = _resolve(text, cells=kind in MATRICES)
        opened, closed = MATRICES.get(kind, ("", ""))
        return f" {opened}{text.strip().strip(';').strip()}{closed} ", at

    def _expanded(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        call = self.authored.call(source, name, at, end)
        if call.text is None or depth > _DEEPEST:
            return f" \\{name}({', '.join(call.values)}) ", call.after
        inner = self.source(call.text)
        return self._run(inner, 0, len(call.text), depth + 1)[0], call.after

    def _other(self, source: Source, name: str, at: int, end: int, depth: int) -> tuple[str, int]:
        """Read a command that is a matter of looks or of the text; an unknown one keeps its name and its braces."""
        bounds = source.group(at, end)
        if name == "not":
            text, at = self._operand(source, at, end, depth)
            negated = unicodedata.normalize("NFC", text + "\u0338") if text else ""
            return f" {negated} ", at
        if name == "label" and bounds:
            self.label(source.text[slice(*bounds)])
        elif name in ("phantom", "hphantom", "vphantom") and bounds:
            self.hidden(source.text[slice(*bounds)])
        elif name in ("textcolor", "mathcolor", "hspace", "vspace", "color", "mspace") or name in DROPPED:
            for _ in range(DROPPED.get(name, 1)):
                at = _after_group(source, at, end)
            return " ", at
        elif name in UNITS and not bounds:
            return f" {UNITS[name]} ", at
        else:
            arguments = ""
            while bounds := source.group(at, end):
                arguments += f"{{{self._resolved(source, *bounds, depth + 1).strip()}}}"
                at = bounds[1] + 1
            return f" \\{name}{arguments} ", at
        return " ", bounds[1] + 1


def _after_group(source: Source, at: int, end: int) -> int:
    bounds = source.group(at, end)
    return bounds[1] + 1 if bounds else at


def _symbol(source: Source, symbol: str, at: int, end: int) -> tuple[str, int]:
    if symbol == "\\":
        found = _ROW_OPTION.match(source.text, at, end)
        return _ROW, found.end() if found else at
    if symbol in "!/-+<@)]([":
        return "", at
    return (" " if symbol in ",;:> \n\t" else "‖" if symbol == "|" else symbol), at


def _over(name: str, above: str, below: str) -> str:
    above, below = above.strip(), below.strip()
    if OVER[name] == "/":
        return f"{_PART}{_fraction(above, below)}{_END}"
    return f" {OVER[name]}({above}, {below}) "


def _fraction(above: str, below: str) -> str:
    """Write a fraction as all formats do, but with parentheses around parentheses, which are printed, too."""
    return f"{_operand(above)}/{_operand(below)}"


def _operand(text: str) -> str:
    """Put in parentheses what is more than one number, letter or sign."""
    text = text.strip()
    return text if len(text) <= 1 or _NUMBER.fullmatch(text) else f"({text})"


def _hatted(name: str, text: str) -> str:
    if len(text) == 1 and text.isalpha() and not name.startswith("wide"):
        return f" {unicodedata.normalize('NFC', text + HATS[name])} "
    return f" {name}({text}) "


def _in_alphabet(alphabet: str, text: str) -> str:
    """Write letters in another alphabet of Unicode, such as ℝ."""

    def letter(char: str) -> str:
        size = "CAPITAL" if char.isupper() else "SMALL"
        for name in (
            f"{alphabet} {size} {char}",
            f"{alphabet.replace('FRAKTUR', 'BLACK-LETTER')} {size} {char}",
            f"MATHEMATICAL {alphabet} {size} {char}",
        ):
            try:
                return unicodedata.lookup(name)
            except KeyError:
                continue
        return char

    return "".join(letter(char) if char.isascii() and char.isalpha() else char for char in text)


def _resolve(text: str, *, cells: bool = False) -> str:
    """Write the pieces with parentheses where their neighbours need them, and rows and cells with separators."""
    if _CELL in text or _ROW in text:
        text = _SEPARATOR.sub(lambda found: "; " if _ROW in found[0] else ", " if cells else " ", text)
    if _END in text:
        pieces, at, last = [], 0, ""
        for found in _PIECE.finditer(text):
            between = text[at : found.start()]
            last = between.rstrip()[-1:] or last
            pieces += [between, _piece(found, last, text[found.end() : found.end() + 20].lstrip()[:1])]
            at, last = found.end(), pieces[-1].rstrip()[-1:]
        text = "".join((*pieces, text[at:]))
    return " ".join(text.split())


def _piece(found: re.Match[str], before: str, after: str) -> str:
    """Write a script, a root or a fraction between two characters."""
    text = found[3].strip()
    room = " " if after.isalnum() and text[-1:].isalnum() else ""
    if found[2] == _SCRIPT:
        sign = found[1] or ""
        return (sign if sign.endswith("√") else sign.lstrip()) + _operand(text) + room
    if before in ("/", "^", "_", "√") or after in ("^", "/", "_"):
        text = f"({text})"
    return (found[1] or "") + (" " if before.isalnum() and text[:1].isalnum() else "") + text + room


def number(text: str) -> str:
    """Write a number of siunitx: `1e6` as `1 × 10^6`, lists with commas."""
    text = text.replace("+-", " ± ").replace("\\pm", " ± ").replace(";", ", ")
    return " ".join(
        _EXPONENT.sub(lambda found: f"{found[1]} × 10^{found[2]}".removeprefix(" × "), text).split()
    )


def angle(text: str) -> str:
    """Write an angle of siunitx, `1;2;3` as `1°2′3″`."""
    return "".join(
        part.strip() + sign for part, sign in zip(text.split(";"), "°′″", strict=False) if part.strip()
    )


def unit(source: str) -> str:
    r"""Write a unit of siunitx, `\kilo\metre\per\second\squared` as `km/s^2`; unknown units keep their names."""
    written, sign, power, glued = "", "", "", False
    for found in _UNIT_TOKEN.finditer(source):
        name, dot, literal = found.groups()
        if dot or name == "per":
            sign = "·" if dot else "/"
        elif name in POWERS:
            written += POWERS[name]
        elif name == "tothe":
            written += "^"
        elif name in POWERS_BEFORE:
            power = POWERS_BEFORE[name]
        else:
            text = PREFIXES.get(name) or UNITS.get(name) or f"\\{name}" if name else literal
            apart = written and not glued and written[-1] not in "^_" and text[0] not in "^_/"
            written += (sign or ("·" if apart else "")) + text
            sign, glued = "", name in PREFIXES
            if not glued:
                written, power = written + power, ""
    return written


def quantity(
    source: Source, name: str, at: int, end: int, words: Callable[[tuple[int, int]], str]
) -> tuple[str, int] | None:
    """Write a command of siunitx with its arguments, and the offset after them; None if it has none."""
    numbers: list[str] = []
    written = ""
    at = source.after_option(at, end)
    for kind in QUANTITIES[name]:
        bounds = source.group(source.after_option(at, end), end)
        if not bounds:
            break
        at = bounds[1] + 1
        if kind == "u":
            written = unit(source.text[slice(*bounds)])
        else:
            numbers.append((angle if kind == "a" else number)(words(bounds)))
    if not numbers and not written:
        return None
    return " ".join(filter(None, (" to ".join(numbers), written))), at
