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

from colde_cli.documents.notation import in_alphabet
from colde_cli.documents.tex import commands as tex
from colde_cli.documents.tex.source import BLANK, AuthorCommands, Cursor

FORMULA_COMMANDS = tex.FRACTIONS | tex.NAMED.keys() | tex.HATS.keys() | tex.ALPHABETS.keys() | {"sqrt"}
"""Commands that are read in the same way where they stand in the running text."""
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
    r"""Reads formulas."""

    authored: AuthorCommands  # commands of the author; they are expanded
    words: Callable[[Cursor], str]  # reads the text in an argument, such as that of `\text`
    label: Callable[[str], None]  # is told the names of labels
    hidden: Callable[[str], None]  # is told the source of what takes room but is not printed

    def read(self, cursor: Cursor) -> str:
        """Write a range as a line of text; only a blank that is printed stands at an end."""
        source, at, end = cursor.source.text, cursor.at, cursor.end
        text = _SIGN_FIRST.sub(r"\1", _BAR.sub(r"\1", self._resolved(cursor)))
        before = " " if _SPACE_FIRST.match(source, at, end) else ""
        after = " " if _SPACE_LAST.search(source, max(at, end - 20), end) else ""
        return before + text + after

    def command(self, name: str, cursor: Cursor) -> str:
        """Write one command with its arguments."""
        return _resolve(self._command(name, cursor))

    def quantity(self, name: str, cursor: Cursor, words: Callable[[Cursor], str]) -> str | None:
        """Write a command of siunitx with its arguments; None if it has none."""
        start, numbers, unit = cursor.at, [], ""
        cursor.option()
        for kind in tex.QUANTITIES[name]:
            before = cursor.at
            cursor.option()
            group = cursor.group()
            if not group:
                cursor.at = before
                break
            if kind == "u":
                unit = _unit(group.raw)
            else:
                numbers.append((_angle if kind == "a" else _number)(words(group)))
        if not numbers and not unit:
            cursor.at = start
            return None
        return " ".join(filter(None, (" to ".join(numbers), unit)))

    def _resolved(self, cursor: Cursor) -> str:
        return _resolve(self._run(cursor))

    def _run(self, cursor: Cursor, *, environment: bool = False) -> str:
        r"""Read a range, or up to the `\end` of the environment; pieces keep their marks."""
        if cursor.depth > _DEEPEST:
            text, cursor.at = cursor.raw.translate(_FLAT), cursor.end
            return text
        pieces: list[str] = []
        while cursor.at < cursor.end and (match := cursor.take(_TOKEN)):
            name, symbol, script, mark, text = match.groups()
            if name == "end" and environment:
                cursor.group()
                break
            if name in tex.OVER:
                cursor.depth += 1
                below = self._run(cursor, environment=environment)
                cursor.depth -= 1
                return _over(name, _resolve("".join(pieces)), _resolve(below))
            if text:
                piece = " ".join(f"x{text}x".split())[1:-1]
            elif script:
                piece = self._scripted(script, cursor)
            elif name:
                piece = self._command(name, cursor)
            elif symbol:
                piece = _symbol(symbol, cursor)
            elif mark == "{" and cursor.source.pairs.get(match.start(), cursor.end) < cursor.end:
                piece = self._run(cursor.to(cursor.source.pairs[match.start()], 1))
            else:
                piece = {"&": _CELL, "~": " ", "#": "#"}.get(mark, "")
            pieces.append(piece)
        return "".join(pieces)

    def _operand(self, cursor: Cursor) -> str:
        """Read the argument after a command or a script: a group, a command or one character."""
        if group := cursor.group():
            return self._resolved(group).strip()
        start = cursor.at
        cursor.take(BLANK)
        match = cursor.take(_TOKEN)
        if not match or match[4] or match[1] == "end":
            cursor.at = start
            return ""
        if cursor.depth > _DEEPEST:
            cursor.at = match.start()
            return cursor.to(cursor.end).raw.translate(_FLAT)
        if match[1]:
            cursor.depth += 1
            piece = self._command(match[1], cursor)
            cursor.depth -= 1
            return _resolve(piece)
        if match[2]:
            return match[2]
        cursor.at = match.start() + 1
        return match[0][0]

    def _scripted(self, script: str, cursor: Cursor) -> str:
        text = self._operand(cursor)
        if script == "^" and text in ("∘", "°"):
            return "°"
        if script == "^" and text and not text.strip("′ "):
            return text.replace(" ", "")
        return f"{script}{_SCRIPT}{text}{_END}"

    def _command(self, name: str, cursor: Cursor) -> str:
        name = self.authored.aliases.get(name, name)
        if name in self.authored.commands:
            text, values = self.authored.call(name, cursor)
            if text is None or cursor.depth > _DEEPEST:
                return f" \\{name}({', '.join(values)}) "
            return self._run(cursor.of(text))
        if name in tex.SIGNS or name in tex.OPERATORS:
            return f" {tex.SIGNS.get(name, name)} "
        return " " if name in tex.MATH_LAYOUT else _ACTIONS.get(name, Formulas._other)(self, name, cursor)

    def _delimiter(self, _: str, cursor: Cursor) -> str:
        """Leave out the size of a delimiter, and the full stop that stands for none."""
        start = cursor.at
        cursor.take(BLANK)
        cursor.at = cursor.at + 1 if cursor.follows(".") else start
        return ""

    def _quantity(self, name: str, cursor: Cursor) -> str:
        text = self.quantity(name, cursor, self._resolved)
        return f" \\{name} " if text is None else f" {text} "

    def _text(self, name: str, cursor: Cursor) -> str:
        group = cursor.group()
        text = self.words(group) if group else ""
        return " " if not group else f" ({text}) " if name == "tag" else f" {text} "

    def _negated(self, _: str, cursor: Cursor) -> str:
        text = self._operand(cursor)
        return f" {unicodedata.normalize('NFC', text + chr(0x338)) if text else ''} "

    def _told(self, name: str, cursor: Cursor) -> str:
        group = cursor.group()
        if not group:
            return self._other(name, cursor)
        (self.label if name == "label" else self.hidden)(group.raw)
        return " "

    def _structure(self, name: str, cursor: Cursor) -> str:
        """Read a fraction, a root, an accent, letters of another alphabet, or a command with a name and arguments."""
        option = cursor.take(_OPTION) if name not in tex.HATS else None
        count = 2 if name in tex.FRACTIONS else tex.NAMED.get(name, 1)
        operands = [self._operand(cursor) for _ in range(count)]
        options = [option[1].strip()] if option else []
        if name in tex.FRACTIONS:
            return _fraction(*operands)
        if name == "sqrt":
            return f" {f'[{options[0]}]' if options else ''}√{_SCRIPT}{operands[0]}{_END}"
        if name in tex.HATS:
            letter = operands[0]
            if len(letter) == 1 and letter.isalpha() and not name.startswith("wide"):
                return f" {unicodedata.normalize('NFC', letter + tex.HATS[name])} "
        elif name in tex.ALPHABETS:
            return f" {in_alphabet(tex.ALPHABETS[name], operands[0])} "
        return f" {'binom' if name == 'dbinom' else name}({', '.join([*options, *operands])}) "

    def _environment(self, name: str, cursor: Cursor) -> str:
        """Read a matrix row by row, or lines that are aligned."""
        group = cursor.group()
        if not group or name == "end":
            return " "
        kind = group.raw.strip()
        cursor.option(close=True)
        if kind in tex.MATH_ARGUMENTS:
            cursor.group()
        cursor.depth += 1
        text = _resolve(self._run(cursor, environment=True), cells=kind in tex.MATRICES)
        cursor.depth -= 1
        opened, closed = tex.MATRICES.get(kind, ("", ""))
        return f" {opened}{text.strip().strip(';').strip()}{closed} "

    def _other(self, name: str, cursor: Cursor) -> str:
        """Read a command that is a matter of looks or of the text; an unknown one keeps its name and its braces."""
        if name in ("textcolor", "mathcolor", "hspace", "vspace", "color", "mspace") or name in tex.DROPPED:
            for _ in range(tex.DROPPED.get(name, 1)):
                cursor.group()
            return " "
        arguments = ""
        while group := cursor.group():
            arguments += f"{{{self._resolved(group).strip()}}}"
        if name in tex.UNITS and not arguments:
            return f" {tex.UNITS[name]} "
        return f" \\{name}{arguments} "


_ACTIONS: dict[str, Callable[[Formulas, str, Cursor], str]] = {
    **dict.fromkeys(("left", "right", "middle"), Formulas._delimiter),
    **dict.fromkeys(("begin", "end"), Formulas._environment),
    **dict.fromkeys(("label", "phantom", "hphantom", "vphantom"), Formulas._told),
    **dict.fromkeys(tex.TEXTS, Formulas._text),
    **dict.fromkeys(tex.QUANTITIES, Formulas._quantity),
    **dict.fromkeys(FORMULA_COMMANDS, Formulas._structure),
    "not": Formulas._negated,
}


def _symbol(symbol: str, cursor: Cursor) -> str:
    if symbol == "\\":
        cursor.take(_ROW_OPTION)
        return _ROW
    if symbol in "!/-+<@)]([":
        return ""
    return " " if symbol in ",;:> \n\t" else "‖" if symbol == "|" else symbol


def _over(name: str, above: str, below: str) -> str:
    above, below = above.strip(), below.strip()
    return _fraction(above, below) if tex.OVER[name] == "/" else f" {tex.OVER[name]}({above}, {below}) "


def _fraction(above: str, below: str) -> str:
    """Write a fraction as all formats do, but with parentheses around parentheses, which are printed, too."""
    return f"{_PART}{_operand(above)}/{_operand(below)}{_END}"


def _operand(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 1 or _NUMBER.fullmatch(text) else f"({text})"


def _resolve(text: str, *, cells: bool = False) -> str:
    """Write the pieces with parentheses where their neighbours need them, and rows and cells with separators."""
    if _CELL in text or _ROW in text:
        text = _SEPARATOR.sub(lambda match: "; " if _ROW in match[0] else ", " if cells else " ", text)
    if _END in text:
        pieces, at, last = [], 0, ""
        for match in _PIECE.finditer(text):
            between = text[at : match.start()]
            last = between.rstrip()[-1:] or last
            pieces += [between, _piece(match, last, text[match.end() : match.end() + 20].lstrip()[:1])]
            at, last = match.end(), pieces[-1].rstrip()[-1:]
        text = "".join((*pieces, text[at:]))
    return " ".join(text.split())


def _piece(match: re.Match[str], before: str, after: str) -> str:
    text = match[3].strip()
    room = " " if after.isalnum() and text[-1:].isalnum() else ""
    if match[2] == _SCRIPT:
        sign = match[1] or ""
        return (sign if sign.endswith("√") else sign.lstrip()) + _operand(text) + room
    if before in ("/", "^", "_", "√") or after in ("^", "/", "_"):
        text = f"({text})"
    return (match[1] or "") + (" " if before.isalnum() and text[:1].isalnum() else "") + text + room


def _number(text: str) -> str:
    """Write a number of siunitx: `1e6` as `1 × 10^6`, lists with commas."""
    text = text.replace("+-", " ± ").replace("\\pm", " ± ").replace(";", ", ")
    return " ".join(_EXPONENT.sub(lambda match: f"{match[1]} × 10^{match[2]}".removeprefix(" × "), text).split())


def _angle(text: str) -> str:
    """Write an angle of siunitx, `1;2;3` as `1°2′3″`."""
    return "".join(part.strip() + sign for part, sign in zip(text.split(";"), "°′″", strict=False) if part.strip())


def _unit(source: str) -> str:
    r"""Write a unit of siunitx, `\kilo\metre\per\second\squared` as `km/s^2`; unknown units keep their names."""
    written, sign, power, glued = "", "", "", False
    for match in _UNIT_TOKEN.finditer(source):
        name, dot, literal = match.groups()
        if dot or name == "per":
            sign = "·" if dot else "/"
        elif name in tex.POWERS:
            written += tex.POWERS[name]
        elif name == "tothe":
            written += "^"
        elif name in tex.POWERS_BEFORE:
            power = tex.POWERS_BEFORE[name]
        else:
            text = tex.PREFIXES.get(name) or tex.UNITS.get(name) or f"\\{name}" if name else literal
            apart = written and not glued and written[-1] not in "^_" and text[0] not in "^_/"
            written += (sign or ("·" if apart else "")) + text
            sign, glued = "", name in tex.PREFIXES
            if not glued:
                written, power = written + power, ""
    return written
