"""Prepare LaTeX source for scanning: comments, verbatim text, braces, and the commands that the author defines.

`prepare` removes comments and moves verbatim text, what is left out and escaped characters into Unicode's private use
area, where nothing has a meaning for TeX; `restore` moves them back. A `Cursor` takes arguments by their braces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field

from colde_cli.documents.tex.commands import EMBEDDING, HIDING
from colde_cli.errors import LimitError

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
    r"|%[^\n]*(?:\n[ \t]*+(?!\n))?"
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
MAX_GROUPS = 2_000_000
"""Maximum number of pairs of braces of a document."""
MAX_EXPANSION = 2_000_000
"""Maximum number of characters that all calls of the author's commands expand to."""
_MAX_COMMANDS = 5000
_MAX_BODY = 5000
# Possessive repetitions: blanks between optional parts are never divided in another way.
_DEFINITION = re.compile(r"\s*+\{?+\s*+\\([A-Za-z@]++)\s*+\}?+\s*+(?:\[(\d)\])?+\s*+(\[[^\]]{0,200}\])?+\s*+(?=\{)")
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
_LONGEST_OPTION = 10_000
_PARAMETER = re.compile(r"#([1-9])")


def prepare(source: str) -> str:
    """Remove comments, and move verbatim text, what is left out and escaped characters out of the way."""
    text = source.translate(_MOVED_ON) if not source.isascii() else source
    pieces: list[str] = []
    at = 0
    while match := _INTERESTING.search(text, at):
        pieces.append(text[at : match.start()])
        at = match.end()
        environment, bar, escaped = match.groups()
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
        elif match.group() == "\\iffalse" and not _LET_BEFORE.search(text, max(0, at - 80), at - 8):
            piece, at = _left_out(text, at)
            pieces.append(piece)
        elif not match.group().startswith("%"):
            pieces.append(match.group())
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
    match = _ARGUMENTS.match(body)
    begin = match.end() if match else 0
    option = match[1].translate(_AWAY) if match and match[1] else ""
    kept = f"\\{VERBATIM_OPTION}{{{environment}\uf020{option}}}" if option else ""
    return f"\n\n{kept}{body[begin:].rstrip().translate(_AWAY)}\n\n", after


VERBATIM_OPTION = "verbatimoption"
"""The command that `prepare` writes for the options of a verbatim environment."""


def _left_out(text: str, at: int) -> tuple[str, int]:
    """Return the branch that begins before `at` and is never read, and the offset of its end."""
    depth, end = 1, len(text)
    for match in _BRANCH.finditer(text, at):
        depth += -1 if match[1] == "fi" else 1 if match[1] != "else" else 0
        if not depth or (depth == 1 and match[1] == "else"):
            end = match.start()
            break
    return f"\\iffalse{_REMARK.sub('', text[at:end]).translate(_AWAY)}", end


def restore(text: str) -> str:
    """Move back the characters that `prepare` moved away."""
    return text.translate(_BACK)


@dataclass(slots=True)
class Source:
    """Prepared source, or the expansion of a command of the author, with its braces matched."""

    text: str
    shown: str  # name of the file in messages
    pairs: dict[int, int] = field(default_factory=dict)  # offset of each opening brace -> offset of its closing one
    _missing: set[tuple[str, int]] = field(default_factory=set)  # so that no string is searched for twice
    _branches: dict[int, tuple[int, int]] = field(default_factory=dict)
    _toggles: int = -1

    def __post_init__(self) -> None:
        """Match the braces.

        Raises:
            LimitError: there are too many.
        """
        opened: list[int] = []
        for match in _BRACE.finditer(self.text):
            if match[0] == "{":
                opened.append(match.start())
            elif match[0] == "}" and opened:
                self.pairs[opened.pop()] = match.start()
            if len(self.pairs) + len(opened) > MAX_GROUPS:
                raise LimitError(
                    f"Cannot read {self.shown}: it has more braces than colde reads of one document; split it."
                )

    def branches(self, at: int, toggles: Collection[str]) -> tuple[int, int] | None:
        r"""Find the offsets of the `\else` and the `\fi` of the condition before `at`; without `\else`, `\fi` twice.

        `at` is the offset after the condition, and `toggles` are the names of conditions beside those of TeX.
        """
        if self._toggles != len(toggles):
            self._toggles = len(toggles)
            self._branches = {}
            opened: list[list[int]] = []
            for match in _BRANCH.finditer(self.text):
                name, start = match[1], match.start()
                if name == "else" and opened:
                    opened[-1].append(start)
                elif name == "fi" and opened:
                    begin, *others = opened.pop()
                    self._branches[begin] = (others[0] if others else start, start)
                elif (name in _CONDITIONS or name in toggles) and not _NAMED_BEFORE.search(
                    self.text, max(0, start - 80), start
                ):
                    opened.append([match.end()])
        return self._branches.get(at)

    def find(self, wanted: str, at: int, end: int) -> int:
        """Find the offset of the next `wanted` before `end`, else -1."""
        if (wanted, end) in self._missing:
            return -1
        place = self.text.find(wanted, at, end)
        if place < 0:
            self._missing.add((wanted, end))
        return place

    def dollar(self, wanted: str, at: int, end: int) -> int:
        """Find the offset of the dollars that end a formula in its paragraph, outside of braces; else -1."""
        if self.find(wanted, at, end) < 0:
            return -1
        while match := _DOLLAR.search(self.text, at, end):
            if match[0].startswith(wanted):
                return match.start()
            if match[0] != "{":
                return -1
            at = max(match.end(), self.pairs.get(match.start(), 0))
        return -1

    def bracket(self, at: int, end: int) -> int:
        """Find the offset of the bracket that closes the one at `at`; -1 if none does, or none is at `at`."""
        if at >= end or self.text[at] != "[":
            return -1
        close = self.text.find("]", at, min(end, at + 400))
        for _ in range(5):
            brace = self.text.rfind("{", at, close) if close >= 0 else -1
            if brace < 0 or self.pairs.get(brace, 0) < close:
                break
            if self.pairs[brace] - at > _LONGEST_OPTION:
                return -1
            close = self.text.find("]", self.pairs[brace], min(end, self.pairs[brace] + 400))
        return close


class BareError(Exception):
    """A command stands without the argument that it needs."""


@dataclass(slots=True)
class Cursor:
    """A place in a range of a source; what takes something moves it on, and leaves it where there is none."""

    source: Source
    at: int
    end: int
    depth: int = 0  # of arguments within arguments

    @property
    def raw(self) -> str:
        """What is left of the range."""
        return self.source.text[self.at : self.end]

    def since(self, start: int) -> str:
        """What was taken since an offset."""
        return self.source.text[start : self.at]

    def follows(self, text: str) -> bool:
        """Whether a text comes next."""
        return self.source.text.startswith(text, self.at, self.end)

    def to(self, end: int, after: int = 0) -> Cursor:
        """Take what is up to an offset, and the characters `after` it."""
        inner = Cursor(self.source, self.at, end, self.depth + 1)
        self.at = end + after
        return inner

    def of(self, text: str) -> Cursor:
        """The whole of another text, such as the expansion of a command."""
        return Cursor(Source(text, self.source.shown), 0, len(text), self.depth + 1)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what a pattern matches."""
        match = pattern.match(self.source.text, self.at, self.end)
        if match:
            self.at = match.end()
        return match

    def group(self) -> Cursor | None:
        """Take the next argument, in braces."""
        start = self._after_blanks()
        close = self.source.pairs.get(start, self.end) if start < self.end else self.end
        if close >= self.end:
            return None
        self.at = start + 1
        return self.to(close, 1)

    def needed(self) -> Cursor:
        """Take the next argument, in braces.

        Raises:
            BareError: there is none.
        """
        group = self.group()
        if group is None:
            raise BareError
        return group

    def option(self, *, close: bool = False) -> Cursor | None:
        """Take an option, in square brackets; `close` takes none after a blank, where `[` may be text."""
        start = self.at if close else self._after_blanks()
        end = self.source.bracket(start, self.end)
        if end < 0:
            return None
        self.at = start + 1
        return self.to(end, 1)

    def arguments(self, count: int = 1) -> tuple[list[str], list[str]]:
        """Take up to `count` arguments; return their source, and that of the options before them."""
        values: list[str] = []
        options: list[str] = []
        while len(values) < count:
            if option := self.option():
                options.append(option.raw)
            elif group := self.group():
                values.append(group.raw)
            else:
                break
        return values, options

    def skip(self, count: int) -> None:
        """Skip arguments, each with an option before it."""
        for _ in range(count):
            self.option()
            if not self.group():
                return
        if count > 1:
            self.option(close=True)

    def _after_blanks(self) -> int:
        match = BLANK.match(self.source.text, self.at, self.end)
        return match.end() if match else self.at


@dataclass(frozen=True, slots=True)
class _Command:
    """A command that the author defines."""

    count: int  # number of its arguments
    default: str | None  # of the first argument, if that is optional
    body: str  # its definition


@dataclass(slots=True)
class AuthorCommands:
    """The commands that an author defines in a file, and their expansion."""

    commands: dict[str, _Command] = field(default_factory=dict)  # by name
    # source of the definitions that are not expanded, by name: of environments, of unusual commands
    unread: dict[str, str] = field(default_factory=dict)
    # names of commands that have a meaning of their own -> that command
    aliases: dict[str, str] = field(default_factory=dict)
    grown: int = 0  # number of characters of all expansions so far, plus a charge for every call

    def define(self, command: str, cursor: Cursor) -> str:
        r"""Remember the definition after `\newcommand`, `\def` and the like; return the name that it defines."""
        start, primitive = cursor.at, command in PRIMITIVE
        match = None if command in UNUSUAL else cursor.take(_DEF if primitive else _DEFINITION)
        group = cursor.group() if match else None
        if not match or not group or group.end - group.at > _MAX_BODY or len(self.commands) >= _MAX_COMMANDS:
            cursor.at = start
            return self._leave(cursor)
        count = len(match[2]) // 2 if primitive else int(match[2] or 0)
        default = match[3][1:-1] if not primitive and match[3] else None
        body = f"\\operatorname{{{group.raw}}}" if command == "DeclareMathOperator" else group.raw
        if command != "providecommand" or match[1] not in self.commands:
            self.commands[match[1]] = _Command(count, default, body)
        self.aliases.pop(match[1], None)
        return match[1]

    def _leave(self, cursor: Cursor) -> str:
        """Remember the source of a definition with arguments in an unusual form."""
        start = cursor.at
        match = cursor.take(_ANY_DEFINITION)
        if not match:
            return ""
        while cursor.option() or cursor.group():
            pass
        self.commands.pop(match[1], None)
        if len(self.unread) < _MAX_COMMANDS:
            self.unread[match[1]] = " ".join(cursor.since(start).split())
        return match[1]

    def alias(self, name: str, target: str) -> None:
        r"""Give a command another name, as `\let` does."""
        if target in self.commands:
            self.commands[name] = self.commands[target]
        elif name != target:
            self.commands.pop(name, None)
            self.aliases[name] = self.aliases.get(target, target)

    def call(self, name: str, cursor: Cursor) -> tuple[str | None, list[str]]:
        """Expand a command with the arguments after it; None if that would be too long. Also return the arguments."""
        command = self.commands[name]
        values: list[str] = []
        if command.default is not None:
            option = cursor.option()
            values.append(option.raw if option else command.default)
        while len(values) < command.count and (group := cursor.group()):
            values.append(group.raw)
        # Counted before the expansion: a short command can repeat a long argument a thousand times.
        self.grown += 100 + len(command.body) + command.body.count("#") * max(map(len, values), default=0)
        if self.grown > MAX_EXPANSION:
            self.unread.setdefault(name, command.body)
            return None, values
        filled = [*values, *[""] * 9]
        return _PARAMETER.sub(lambda match: filled[int(match[1]) - 1], command.body), values
