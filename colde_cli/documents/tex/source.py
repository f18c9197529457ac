"""Prepare LaTeX source for scanning: comments, verbatim text, braces, and the commands that the author defines.

`prepare` removes comments and moves verbatim text, what is left out and escaped characters into Unicode's private use
area, where nothing has a meaning for TeX; `restore` moves them back. A `Source` finds arguments by its matched braces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field

from colde_cli.documents.tex.commands import EMBEDDING, HIDING

_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a", "b": "\u0331",
    "d": "\u0323",
}  # fmt: skip
ACCENTS = frozenset(_ACCENTS)
ACCENTED = re.compile(
    r"[ \t]*+(?:\{[ \t]*+(?:\\([ij])(?![A-Za-z])|([^\W\d_]))?+[ \t]*+\}|\\([ij])(?![A-Za-z])|([^\W\d_]))"
)
"""The letter under an accent, in braces or not."""


def accented(accent: str, letter: str) -> str:
    """Put an accent on a letter, as one character if Unicode has it."""
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])


_SHIFT = 0xF000
_SPECIAL = "\\{}%$&#_^~`'-\n\t []\""
_AWAY = {ord(char): chr(_SHIFT + ord(char)) for char in _SPECIAL}
_TAKEN = range(0xF000, 0xF200)
"""The characters that have a meaning here; those of a source are moved on, so that different ones stay different."""
_MOVED_ON = {code: code + 0xE1000 for code in _TAKEN}
_BACK = {_SHIFT + ord(char): char for char in _SPECIAL} | {code + 0xE1000: chr(code) for code in _TAKEN}
_VERBATIM = r"verbatim\*?|Verbatim\*?|lstlisting|minted|alltt|BVerbatim|comment|filecontents\*?"
_INTERESTING = re.compile(
    rf"\\begin[ \t]*\{{({_VERBATIM})\}}"
    r"|\\(?:verb|lstinline)\*?([^A-Za-z0-9\s*\[{])"
    r"|\\iffalse(?![A-Za-z@])"
    r"|\\([%$&#_{}])"
    r"|\\(?:[A-Za-z@]+|.|\n)"
    r"|%[^\n]*(?:\n[ \t]*+(?!\n))?",
)
_ARGUMENTS = re.compile(r"(?:[ \t]*\[([^\]\n]*)\])?(?:\{[a-z+]+\}(?=[ \t]*\n))?[ \t]*\n?")
_BRANCH = re.compile(r"\\(if[A-Za-z@]*|else|fi)(?![A-Za-z@])")
_CONDITIONS = frozenset(
    (
        "if ifx ifcat ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifeof iftrue iffalse "
        "ifcase ifdefined ifcsname iffontchar ifpdf ifxetex ifluatex ifpdftex ifvtex"
    ).split()
)
"""Conditions of TeX itself that end with `\\fi`."""
_LET_BEFORE = re.compile(r"\\let\s*\\[A-Za-z@]+\s*=?\s*$")
_NAMED_BEFORE = re.compile(rf"\\(?:newif|let)\s*$|{_LET_BEFORE.pattern}")
_REMARK = re.compile(r"(?<!\\)%[^\n]*")
BLANK = re.compile(r"[ \t]*\n?[ \t]*")
"""Blanks allowed between a command and its argument."""
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
MAX_EXPANSION = 2_000_000
"""Maximum number of characters that all calls of the author's commands expand to."""
_MAX_COMMANDS = 5000
_MAX_BODY = 5000
# Possessive repetitions: blanks between optional parts are never divided in another way.
_DEFINITION = re.compile(
    r"\s*+\{?+\s*+\\([A-Za-z@]++)\s*+\}?+\s*+(?:\[(\d)\])?+\s*+(\[[^\]]{0,200}\])?+\s*+(?=\{)"
)
_DEF = re.compile(r"\s*+\\([A-Za-z@]++)[ \t]*+((?:#\d)*+)[ \t]*+(?=\{)")
_ANY_DEFINITION = re.compile(r"\s*+\{?+\s*+\\?([A-Za-z@*]++)\s*+\}?+[^{}\n]{0,100}+(?=\{)")
PRIMITIVE = frozenset(("def", "gdef", "edef", "xdef"))
DEFINING = PRIMITIVE | frozenset(
    "newcommand renewcommand providecommand DeclareRobustCommand DeclareMathOperator".split()
)
UNUSUAL = frozenset(
    (
        "NewDocumentCommand RenewDocumentCommand DeclareDocumentCommand ProvideDocumentCommand newcommandx"
        " newenvironment renewenvironment NewDocumentEnvironment newtheorem newtcolorbox newmdtheoremenv"
        " DeclareNewFootnote spnewtheorem DeclarePairedDelimiter"
    ).split()
)
"""Definitions that are not expanded."""
_DOLLAR = re.compile(r"\$\$?|\{|\n[ \t]*\n")
_COMMAND = re.compile(r"[ \t]*\\[A-Za-z@]+")
_LONGEST_OPTION = 10_000
_PARAMETER = re.compile(r"#([1-9])")


def prepare(source: str) -> str:
    """Remove comments, and move verbatim text, what is left out and escaped characters out of the way."""
    text = source.translate(_MOVED_ON) if not source.isascii() else source
    pieces: list[str] = []
    at = 0
    while found := _INTERESTING.search(text, at):
        pieces.append(text[at : found.start()])
        at = found.end()
        environment, bar, escaped = found.groups()
        if environment:
            piece, at = _verbatim(text, at, environment)
            pieces.append(piece)
        elif bar:
            end = text.find(bar, at, at + 1000)
            end = end if end >= 0 else at
            pieces.append(text[at:end].translate(_AWAY))
            at = end + 1 if end > at else at
        elif escaped:
            pieces.append(escaped.translate(_AWAY))
        elif found.group() == "\\iffalse" and not _LET_BEFORE.search(text, max(0, at - 80), at - 8):
            piece, at = _left_out(text, at)
            pieces.append(piece)
        elif not found.group().startswith("%"):
            pieces.append(found.group())
    pieces.append(text[at:])
    return "".join(pieces)


def _verbatim(text: str, at: int, environment: str) -> tuple[str, int]:
    """Return the paragraph of the verbatim environment that begins before `at`, and the offset of its end."""
    closing = f"\\end{{{environment}}}"
    end = text.find(closing, at)
    end = len(text) if end < 0 else end
    body = text[at:end]
    after = min(len(text), end + len(closing))
    if environment in HIDING or environment in EMBEDDING:
        return f"\\begin{{{environment}}}{body.translate(_AWAY)}{closing}", after
    found = _ARGUMENTS.match(body)
    begin = found.end() if found else 0
    option = found[1].translate(_AWAY) if found and found[1] else ""
    kept = f"\\{VERBATIM_OPTION}{{{environment}\uf020{option}}}" if option else ""
    return f"\n\n{kept}{body[begin:].rstrip().translate(_AWAY)}\n\n", after


VERBATIM_OPTION = "verbatimoption"
"""The command that `prepare` writes for the options of a verbatim environment."""


def _left_out(text: str, at: int) -> tuple[str, int]:
    """Return the branch that begins before `at` and is never read, and the offset of its end."""
    depth, end = 1, len(text)
    for found in _BRANCH.finditer(text, at):
        depth += -1 if found[1] == "fi" else 1 if found[1] != "else" else 0
        if not depth or (depth == 1 and found[1] == "else"):
            end = found.start()
            break
    return f"\\iffalse{_REMARK.sub('', text[at:end]).translate(_AWAY)}", end


def restore(text: str) -> str:
    """Move back the characters that `prepare` moved away."""
    return text.translate(_BACK)


def match_braces(text: str, limit: int) -> dict[int, int] | None:
    """Map the offset of each opening brace to that of its closing brace; None if there are more than `limit`."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for found in _BRACE.finditer(text):
        if found.group() == "{":
            opened.append(found.start())
        elif found.group() == "}" and opened:
            pairs[opened.pop()] = found.start()
        if len(pairs) + len(opened) > limit:
            return None
    return pairs


def _matched(text: str, toggles: Collection[str]) -> dict[int, tuple[int, int]]:
    """Match conditions: offset after each -> the offsets of its `else` and its `fi`."""
    matched: dict[int, tuple[int, int]] = {}
    opened: list[list[int]] = []
    for found in _BRANCH.finditer(text):
        name = found[1]
        if name == "else" and opened:
            opened[-1].append(found.start())
        elif name == "fi" and opened:
            start, *others = opened.pop()
            matched[start] = (others[0] if others else found.start(), found.start())
        elif (name in _CONDITIONS or name in toggles) and not _NAMED_BEFORE.search(
            text, max(0, found.start() - 80), found.start()
        ):
            opened.append([found.end()])
    return matched


@dataclass(slots=True)
class Source:
    """Prepared source with its braces matched.

    Attributes:
        text: prepared, or the expansion of a command of the author.
        pairs: offset of each opening brace -> offset of its closing one.
        missing: strings that do not occur before an offset, so that no string is searched for twice.
    """

    text: str
    pairs: dict[int, int]
    missing: set[tuple[str, int]] = field(default_factory=set)
    _branches: dict[int, tuple[int, int]] = field(default_factory=dict)
    _toggles: int = -1

    def branches(self, at: int, toggles: Collection[str]) -> tuple[int, int] | None:
        r"""Find the offsets of the `\else` and the `\fi` of the condition before `at`; without `\else`, `\fi` twice.

        Args:
            at: offset after the condition.
            toggles: names of conditions beside those of TeX.
        """
        if self._toggles != len(toggles):
            self._toggles = len(toggles)
            self._branches = _matched(self.text, toggles)
        return self._branches.get(at)

    def find(self, wanted: str, at: int, end: int) -> int:
        """Find the offset of the next `wanted` before `end`, else -1."""
        if (wanted, end) in self.missing:
            return -1
        found = self.text.find(wanted, at, end)
        if found < 0:
            self.missing.add((wanted, end))
        return found

    def dollar(self, wanted: str, at: int, end: int) -> int:
        """Find the offset of the dollars that end a formula in its paragraph, outside of braces; else -1."""
        if self.find(wanted, at, end) < 0:
            return -1
        while found := _DOLLAR.search(self.text, at, end):
            if found[0].startswith(wanted):
                return found.start()
            if found[0] != "{":
                return -1
            at = max(found.end(), self.pairs.get(found.start(), 0))
        return -1

    def group(self, at: int, end: int) -> tuple[int, int] | None:
        """Find the bounds of the text within the next braces; None if something else comes next."""
        found = BLANK.match(self.text, at, end)
        start = found.end() if found else at
        close = self.pairs.get(start, end) if start < end else end
        return (start + 1, close) if close < end else None

    def after_argument(self, at: int, end: int) -> int:
        """Find the offset after the next argument, in braces or a single command; `at` if there is none."""
        bounds = self.group(at, end)
        found = _COMMAND.match(self.text, at, end) if not bounds else None
        return bounds[1] + 1 if bounds else found.end() if found else at

    def group_end(self, at: int, end: int) -> int:
        """Find the offset after the next argument in square brackets or braces; `at` if there is none."""
        after = self.after_option(at, end)
        bounds = self.group(at, end) if after == at else None
        return bounds[1] + 1 if bounds else after

    def after_option(self, at: int, end: int) -> int:
        """Find the offset after an argument in square brackets; `at` if there is none."""
        found = BLANK.match(self.text, at, end)
        start = found.end() if found else at
        if not self.text.startswith("[", start) or start >= end:
            return at
        close = self.text.find("]", start, min(end, start + 400))
        for _ in range(5):
            brace = self.text.rfind("{", start, close) if close >= 0 else -1
            if brace < 0 or self.pairs.get(brace, 0) < close:
                break
            if self.pairs[brace] - start > _LONGEST_OPTION:
                return at
            close = self.text.find("]", self.pairs[brace], min(end, self.pairs[brace] + 400))
        return close + 1 if close >= 0 else at


@dataclass(frozen=True, slots=True)
class _Command:
    """A command that the author defines.

    Attributes:
        count: number of its arguments.
        default: of the first argument, if that is optional.
        body: its definition.
    """

    count: int
    default: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a command of the author.

    Attributes:
        text: its expansion; None if that would be too long.
        values: its arguments.
        after: offset after the arguments.
    """

    text: str | None
    values: tuple[str, ...]
    after: int


@dataclass(slots=True)
class AuthorCommands:
    """The commands that an author defines in a file, and their expansion.

    Attributes:
        commands: by name.
        unread: source of the definitions that are not expanded, by name: of environments, of unusual commands.
        aliases: names of commands that have a meaning of their own -> that command.
        grown: number of characters of all expansions so far, plus a charge for every call.
    """

    commands: dict[str, _Command] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    grown: int = 0

    def define(self, source: Source, command: str, at: int, end: int) -> tuple[int, str]:
        r"""Remember the definition after `\newcommand`, `\def` and the like; return where it ends and its name."""
        primitive = command in PRIMITIVE
        found = (_DEF if primitive else _DEFINITION).match(source.text, at, end)
        bounds = source.group(found.end(), end) if found and command not in UNUSUAL else None
        if (
            not found
            or not bounds
            or bounds[1] - bounds[0] > _MAX_BODY
            or len(self.commands) >= _MAX_COMMANDS
        ):
            return self._left(source, at, end)
        count = len(found[2]) // 2 if primitive else int(found[2] or 0)
        default = found[3][1:-1] if not primitive and found[3] else None
        body = source.text[slice(*bounds)]
        body = f"\\operatorname{{{body}}}" if command == "DeclareMathOperator" else body
        if command != "providecommand" or found[1] not in self.commands:
            self.commands[found[1]] = _Command(count, default, body)
        self.aliases.pop(found[1], None)
        return bounds[1] + 1, found[1]

    def _left(self, source: Source, at: int, end: int) -> tuple[int, str]:
        """Remember the source of a definition with arguments in an unusual form."""
        found = _ANY_DEFINITION.match(source.text, at, end)
        if not found:
            return at, ""
        last = at
        after = source.group_end(found.end(), end)
        while after > last and last < end:
            last, after = after, source.group_end(after, end)
        self.commands.pop(found[1], None)
        if len(self.unread) < _MAX_COMMANDS:
            self.unread[found[1]] = " ".join(source.text[at:last].split())
        return last, found[1]

    def alias(self, name: str, target: str) -> None:
        r"""Give a command another name, as `\let` does."""
        if target in self.commands:
            self.commands[name] = self.commands[target]
        elif name != target:
            self.commands.pop(name, None)
            self.aliases[name] = self.aliases.get(target, target)

    def call(self, source: Source, name: str, at: int, end: int) -> Call:
        """Expand a command with the arguments after it."""
        command = self.commands[name]
        values: list[str] = []
        if command.default is not None:
            after = source.after_option(at, end)
            given = source.text[source.text.index("[", at) + 1 : after - 1] if after > at else command.default
            values.append(given)
            at = after
        while len(values) < command.count and (bounds := source.group(at, end)):
            values.append(source.text[slice(*bounds)])
            at = bounds[1] + 1
        # Counted before the expansion: a short command can repeat a long argument a thousand times.
        self.grown += 100 + len(command.body) + command.body.count("#") * max(map(len, values), default=0)
        if self.grown > MAX_EXPANSION:
            self.unread.setdefault(name, command.body)
            return Call(None, tuple(values), at)
        filled = [*values, *[""] * 9]
        return Call(_PARAMETER.sub(lambda found: filled[int(found[1]) - 1], command.body), tuple(values), at)
