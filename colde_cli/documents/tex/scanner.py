"""One pass over a source of LaTeX: headings, paragraphs, notes, and what stands beside them go to a builder.

The handlers of `handlers.py` act on commands with a meaning of their own; here stand the ranges, words, lists, tables
and environments that they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.outside import OutsideKind
from colde_cli.documents.tex.beside import SourceAccount
from colde_cli.documents.tex.commands import (
    BREAKS,
    DRAWN,
    DROPPED,
    EMBEDDING,
    HIDING,
    LAYOUT,
    LAYOUT_ENVIRONMENTS,
    LENGTHS,
    LISTS,
    MATH,
    MATH_ARGUMENTS,
    MEASURES,
    SECTION,
    SILENT,
    TABLES,
)
from colde_cli.documents.tex.formulas import Formulas
from colde_cli.documents.tex.source import (
    ACCENTED,
    ACCENTS,
    AuthorCommands,
    Source,
    accented,
    match_braces,
    restore,
)
from colde_cli.errors import LimitError

MAX_GROUPS = 2_000_000
"""Maximum number of pairs of braces of a document."""
MAX_DEPTH = 20
"""Maximum depth of arguments within arguments."""
_TOKEN = re.compile(
    r"\\([A-Za-z@]+)\*?|\\(.)|(\n[ \t]*\n\s*)|([{}])|(\$\$?)|(~|&|---?|``|''|`|[\\^_#])", re.DOTALL
)
_CHARACTERS = {
    "~": " ",
    "--": "–",
    "---": "—",
    "``": "“",
    "''": "”",
    "`": "‘",
    "^": "^",
    "_": "_",
    "#": "#",
    "\\": "",
}
_GAP = re.compile(r"(?<=[^\s\d]) {1,3}([.,;:])(?=\s|$)")
_FLOATS = re.compile(
    r"(figure|table|wrapfigure|minipage|algorithm|algorithmic|subfigure|subtable|multicols|frame)\*?"
)
_ENVIRONMENT_ARGUMENTS = {
    **dict.fromkeys(TABLES, 1),
    **dict.fromkeys(("tabularx", "tabular*", "tabulary", "wrapfigure", "wraptable", "list"), 2),
    **dict.fromkeys(("thebibliography", "minipage", "multicols", "subfigure", "subtable", "adjustbox"), 1),
    "spacing": 1,
}
_OPTIONED = frozenset("framebox makebox toprule midrule bottomrule addlinespace linebreak pagebreak".split())
"""Commands of looks whose options are looks; after others, a square bracket is text."""
_TESTED = re.compile(r"(?:\s*+(?:\\[A-Za-z@]++|\\.|[^\s\\{}])){1,2}", re.DOTALL)
_TESTING = frozenset(("if", "ifx", "ifcat", "ifdefined"))
_TRIMMED = re.compile(r"(?:\[[^\]]*\])?\([lr{}.\w ]*\)")
_NODE = re.compile(
    r"\bnode\b|\\(?:put|addlegendentry|legend|text)\b|\b(?:[xyz]label|title|label|legend entries)\s*="
)
_NUMBERED_FROM = re.compile(r"\bstart\s*=\s*(\d{1,4})")
_UNIT = r"\s*+(?:pt|pc|in|bp|cm|mm|dd|cc|sp|ex|em|mu|true\s*+\w\w|fil+|\\[A-Za-z@]++)"
_AMOUNT = rf"[-+]?[\d.]*+(?:{_UNIT})?+"
_LENGTH = re.compile(rf"\s*+=?+\s*+{_AMOUNT}(?:\s++(?:plus|minus)\s*+{_AMOUNT})*+")


@dataclass(slots=True)
class Scanner:
    """Scans a source and fills a builder.

    Attributes:
        handlers: act on commands, by name.
        beside: what is not text.
        title: of the document, once found.
        muted: only title, authors and the like are text (in the preamble).
        authored: commands of the author.
        toggles: conditions that the author declares -> whether they hold.
        switches: commands that set a toggle -> its name and its value.
        excluded: environments that are left out.
    """

    builder: DocumentBuilder
    handlers: Mapping[str, Handler]
    beside: SourceAccount
    title: str = ""
    muted: bool = False
    authored: AuthorCommands = field(default_factory=AuthorCommands)
    toggles: dict[str, bool] = field(default_factory=dict)
    switches: dict[str, tuple[str, bool]] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=lambda: set(HIDING))
    lists: list[int | None] = field(default_factory=list)
    mark: str = ""
    _pieces: list[str] = field(default_factory=list)
    _inline: int = 0
    _tables: int = 0

    @property
    def inline(self) -> bool:
        """Whether an argument is being read."""
        return self._inline > 0

    @property
    def formulas(self) -> Formulas:
        """The reader of formulas."""
        return Formulas(self.authored, self.source, self.words, self.labelled, self._unprinted)

    def source(self, text: str) -> Source:
        """Match the braces of a prepared text.

        Raises:
            LimitError: it has too many braces.
        """
        pairs = match_braces(text, MAX_GROUPS)
        if pairs is None:
            raise LimitError(
                f"Cannot read {self.builder.path}: it has more braces than colde reads of one document; split it."
            )
        return Source(text, pairs)

    def scan(self, source: Source, at: int, end: int, depth: int = 0) -> None:
        """Read a range of a source."""
        while found := _TOKEN.search(source.text, at, end):
            self.write(source.text[at : found.start()])
            at = found.end()
            name, symbol, blank, _, dollar, other = found.groups()
            if name:
                at = self._command(source, name, at, end, depth)
            elif symbol:
                at = self._symbol(source, symbol, at, end)
            elif blank:
                self.flush()
            elif dollar:
                at = self._math(source, dollar, at, end)
            elif other == "&":
                self.write(" | " if self._tables else "&")
            elif other:
                self.write(_CHARACTERS[other])
        self.write(source.text[at:end])

    def flush(self) -> None:
        """End a paragraph; within an argument or a table, write a blank instead."""
        if self._inline or self._tables:
            self._pieces.append(" ")
            return
        text, self._pieces = _closed("".join(self._pieces)), []
        if text.strip() and not self.muted:
            self.builder.add_paragraph(self.mark + text.strip(), lines="\n" in text.strip())
            self.mark = ""

    def end_blocks(self) -> None:
        """End all tables and lists, as a heading does even if the source does not."""
        self._tables = 0
        self.flush()
        self.lists, self.mark = [], ""

    def write(self, text: str) -> None:
        """Write text; in the preamble it is source that gives no text."""
        if self.muted and not self._inline:
            self.beside.code(text)
        elif text:
            self._pieces.append(text.replace("\n", " "))

    def written(self) -> str:
        """The last characters that were written."""
        return "".join(self._pieces[-3:])

    def words(self, source: Source, bounds: tuple[int, int], depth: int) -> str:
        """Read an argument as one line of text."""
        kept, self._pieces = self._pieces, []
        self._inline += 1
        if depth < MAX_DEPTH:
            self.scan(source, *bounds, depth + 1)
        else:
            self.write(source.text[slice(*bounds)].translate(dict.fromkeys(map(ord, "{}\\"), " ")))
        self._inline -= 1
        text, self._pieces = "".join(self._pieces), kept
        return " ".join(_closed(text).split())

    def caption(self, text: str) -> None:
        """Add a caption as a paragraph, before its table."""
        if not self._tables:
            self.flush()
        self.builder.add_paragraph(text)

    def _command(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Act on a command; like all handlers, return the offset at which to continue."""
        if name in self.authored.commands:
            return self._expand(source, name, at, end, depth)
        name = self.authored.aliases.get(name, name)
        if name in ("begin", "end"):
            return self._environment(source, name, at, end, depth)
        if name in self.switches:
            toggle, value = self.switches[name]
            self.toggles[toggle] = value
            return at
        if name in self.toggles or name in ("iftrue", "iffalse"):
            return self._condition(source, name, at, end, depth)
        handler = self.handlers.get(name)
        return handler(self, source, name, at, end, depth) if handler else self.plain(source, name, at, end)

    def plain(self, source: Source, name: str, at: int, end: int) -> int:
        """Act on a command without a handler: one of looks vanishes with its arguments that are no text."""
        if name in BREAKS:
            self.flush()
        if name in LENGTHS:
            found = _LENGTH.match(source.text, at, end)
            return found.end() if found else at
        if name in MEASURES:
            for _ in range(MEASURES[name]):
                at = source.after_argument(at, end)
            return at
        if name in DROPPED:
            found = _TRIMMED.match(source.text, at, end) if name == "cmidrule" else None
            at = found.end() if found else at
            return self.after_groups(source, DROPPED[name], at, end)
        if name in BREAKS or name in LAYOUT:
            while name in _OPTIONED and (after := self.after_options(source, at, end)) > at:
                at = after
            return at
        if name in SILENT or name.startswith("if") or (self.muted and not self._inline):
            return self.silent(source, name, at, end)
        return self.unknown(source, name, at, end)

    def silent(self, source: Source, name: str, at: int, end: int) -> int:
        """Account for a command that gives no text, with all its arguments."""
        after = at
        if name in _TESTING and (found := _TESTED.match(source.text, at, end)):
            after = found.end()
        while name[:2] != "if" and (further := source.group_end(after, end)) > after:
            after = further
        self.beside.code(f"\\{name}{source.text[at:after]}")
        return after

    def unknown(self, source: Source, name: str, at: int, end: int) -> int:
        """Act on an unknown command: without an argument its name is seen, as it may stand for a word."""
        if name in self.authored.unread:
            self.beside.definition(name, self.authored.unread[name])
        after = at
        while (
            source.text.startswith("[", after, end) and (further := source.after_option(after, end)) > after
        ):
            after = further
        options, bounds = source.text[at:after], source.group(after, end)
        argument = source.text[slice(*bounds)] if bounds else ""
        if argument.strip():
            self.beside.call(name, options, argument)
        else:
            self.write(f"\\{name}{options}")
        return after

    def after_options(self, source: Source, at: int, end: int) -> int:
        """Skip options directly after a command: `[` after a blank may be text."""
        return source.after_option(at, end) if source.text.startswith("[", at) else at

    def after_groups(self, source: Source, count: int, at: int, end: int) -> int:
        """Skip arguments in braces, with the options before them."""
        for _ in range(count):
            at = source.after_option(at, end)
            bounds = source.group(at, end)
            if not bounds:
                break
            at = bounds[1] + 1
        return source.after_option(at, end) if count > 1 and source.text.startswith("[", at) else at

    def _condition(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Read the branch that holds; the other one is hidden."""
        branches = source.branches(at, self.toggles.keys())
        if branches is None or branches[1] >= end or depth >= MAX_DEPTH:
            self.beside.code(f"\\{name}")
            return at
        other, close = branches
        after_other = min(close, other + len("\\else"))
        holds = self.toggles.get(name, name == "iftrue")
        shown, left = ((at, other), (after_other, close)) if holds else ((after_other, close), (at, other))
        self.beside.text(OutsideKind.HIDDEN, source.text[slice(*left)], f"\\{name}")
        self.scan(source, *shown, depth + 1)
        return close + len("\\fi")

    def _expand(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Read the expansion of an author's command; a command that calls itself for ever leaves its arguments."""
        call = self.authored.call(source, name, at, end)
        if call.text is None or depth >= MAX_DEPTH:
            self.beside.definition(name, self.authored.commands[name].body)
            self.write(" ".join(call.values))
        else:
            self.scan(self.source(call.text), 0, len(call.text), depth + 1)
        return call.after

    def _environment(self, source: Source, command: str, at: int, end: int, depth: int) -> int:
        bounds = source.group(at, end)
        if not bounds:
            return at
        name, at = source.text[slice(*bounds)].strip(), bounds[1] + 1
        if command == "end":
            self._end_environment(name)
            return at
        self.beside.begin(name)
        if name in MATH or name in DRAWN or name in EMBEDDING or name in self.excluded:
            return self._unread(source, name, at, end, depth)
        self.flush()
        self._begin_environment(name)
        return self._options(source, name, at, end, depth)

    def _options(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Read what stands after the beginning of an environment: looks, the mark of a list, the name of a theorem."""
        after = self.after_options(source, at, end)
        options = source.text[at:after]
        if name in _ENVIRONMENT_ARGUMENTS or name in LISTS or _FLOATS.fullmatch(name):
            if name in LISTS and options:
                self._start_list(options)
            start = after if after > at else source.after_option(at, end)
            return self.after_groups(source, _ENVIRONMENT_ARGUMENTS.get(name, 0), start, end)
        if name.rstrip("*") not in LAYOUT_ENVIRONMENTS:
            self.beside.code(f"\\begin{{{name}}}")
            if name in self.authored.unread:
                self.beside.definition(name, self.authored.unread[name])
        if after > at:  # the name of a theorem
            self.write(f"({self.words(source, (at + 1, after - 1), depth)}) ")
        return after

    def _start_list(self, options: str) -> None:
        found = _NUMBERED_FROM.search(options)
        if found and self.lists[-1] is not None:
            self.lists[-1] = int(found[1])
        self.beside.code(f"\\begin{{list}}{options}")

    def _begin_environment(self, name: str) -> None:
        if name in TABLES:
            self._tables += 1
        elif name in LISTS:
            self.lists.append(1 if "enum" in name else None)
        elif not (self.muted or self._inline) and name in ("abstract", "thebibliography"):
            self.builder.add_heading("Abstract" if name == "abstract" else "References", SECTION)

    def _end_environment(self, name: str) -> None:
        self.beside.end(name)
        if name in TABLES:
            self._tables = max(0, self._tables - 1)
        self.flush()
        if name in LISTS and self.lists:
            self.lists.pop()

    def _unread(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Write a formula, or account for a drawing, a file or hidden text, up to the end of the environment."""
        closing = f"\\end{{{name}}}"
        close = source.find(closing, at, end)
        if close < 0:
            return at
        text = source.text[at:close]
        if name in MATH:
            start = self.after_groups(source, 1, at, close) if name in MATH_ARGUMENTS else at
            self.formula(source, start, close, depth, displayed=True)
        elif name in DRAWN:
            self.drawing(source, name, (at, close), depth)
        elif name in EMBEDDING:
            file, _, content = restore(text).removeprefix("{").partition("}")
            self.beside.file(file, content=content)
        else:
            self.beside.text(OutsideKind.HIDDEN, text, name)
        self.beside.end(name)
        return close + len(closing)

    def formula(self, source: Source, at: int, end: int, depth: int, *, displayed: bool = False) -> None:
        """Write a formula in the line, or displayed between blanks."""
        text = self.formulas.read(source, at, end, depth)
        self.write(f" {text} " if displayed else text)

    def drawing(self, source: Source, name: str, bounds: tuple[int, int], depth: int) -> None:
        """Account for a drawing by its source, and for the words in it."""
        self.beside.drawing(name, source.text[slice(*bounds)])
        at, end = bounds
        while found := _NODE.search(source.text, at, end):
            stop = source.text.find(";", found.end(), min(end, found.end() + 2000))
            brace = source.text.find("{", found.end(), stop if stop >= 0 else end)
            group = source.group(brace, end) if brace >= 0 else None
            if group:
                self.beside.text(OutsideKind.ALTERNATIVES, self.words(source, group, depth), name)
            at = group[1] if group else found.end()

    def labelled(self, name: str) -> None:
        """Account for a label."""
        self.beside.label(name, self.lists[-1] - 1 if self.lists and self.lists[-1] else None)

    def _unprinted(self, text: str) -> None:
        self.beside.text(OutsideKind.HIDDEN, text, "\\phantom")

    def _symbol(self, source: Source, symbol: str, at: int, end: int) -> int:
        if symbol in "([":
            close = source.find("\\)" if symbol == "(" else "\\]", at, end)
            if close < 0:
                return at
            self.formula(source, at, close, 0, displayed=symbol == "[")
            return close + 2
        if symbol in ACCENTS:
            return self.accent(source, symbol, at, end)
        if symbol == "\\":
            self._pieces.append("\n" if self._tables and not (self.muted or self._inline) else " ")
            after = at + 1 if source.text.startswith("*", at) else at
            return self.after_options(source, after, end)
        self.write(" " if symbol in " ,;:\n\t" else "" if symbol in "-/!@+<>|)]" else symbol)
        return at

    def accent(self, source: Source, accent: str, at: int, end: int) -> int:
        """Write a letter with its accent; without a letter, the accent is a character by itself."""
        found = ACCENTED.match(source.text, at, end)
        if not found:
            return at
        letter = next(filter(None, found.groups()), "")
        alone = accent if accent in "~^`'\"" else ""
        self.write(accented(accent, letter) if letter else alone)
        return found.end()

    def _math(self, source: Source, dollar: str, at: int, end: int) -> int:
        close = source.dollar(dollar, at, end)
        if close < 0:
            self.write(dollar)
            return at
        self.formula(source, at, close, 0, displayed=dollar == "$$")
        return close + len(dollar)


Handler = Callable[[Scanner, Source, str, int, int, int], int]
"""Acts on a command: source, name, offset after it, end of the range, depth -> the offset at which to continue."""


def _closed(text: str) -> str:
    """Remove the blanks that vanished commands leave before a full stop."""
    return restore(_GAP.sub(r"\1", text))
