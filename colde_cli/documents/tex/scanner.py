r"""Scan LaTeX: one pass that turns a source into headings, paragraphs, lists and tables.

What the text in reading order does not show (commands without a text, hidden text, labels, pictures and other files)
goes into an account beside it. Functions of `read_tex.py` act on the commands with a meaning of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of
from colde_cli.documents.tex import commands as tex
from colde_cli.documents.tex.formulas import Formulas
from colde_cli.documents.tex.source import (
    ACCENTED,
    ACCENTS,
    AuthorCommands,
    BareError,
    Cursor,
    Source,
    accented,
    restore,
)

MAX_DEPTH = 20
"""Maximum depth of arguments within arguments."""
_SHOWN = 60  # maximum number of characters of an argument that are shown with an unknown command: they tell uses apart
_BEGIN, _END = "\\begin{document}", "\\end{document}"
_TOKEN = re.compile(r"\\([A-Za-z@]+)\*?|\\(.)|(\n[ \t]*\n\s*)|([{}])|(\$\$?)|(~|&|---?|``|''|`|[\\^_#])", re.DOTALL)
_CHARACTERS = {"~": " ", "--": "–", "---": "—", "``": "“", "''": "”", "`": "‘", "\\": ""}
_GAP = re.compile(r"(?<=[^\s\d]) {1,3}([.,;:])(?=\s|$)")
_FLAT = dict.fromkeys(map(ord, "{}\\"), " ")
_FLOATS = re.compile(r"(figure|table|wrapfigure|minipage|algorithm|algorithmic|subfigure|subtable|multicols|frame)\*?")
_ENVIRONMENT_ARGUMENTS = {
    **dict.fromkeys((*tex.TABLES, "thebibliography", "minipage", "multicols", "subfigure", "subtable"), 1),
    **dict.fromkeys(("adjustbox", "spacing"), 1),
    **dict.fromkeys(("tabularx", "tabular*", "tabulary", "wrapfigure", "wraptable", "list"), 2),
}
_OPTIONED = frozenset("framebox makebox toprule midrule bottomrule addlinespace linebreak pagebreak".split())
"""Commands of looks whose options are looks; after others, a square bracket is text."""
_TESTED = re.compile(r"(?:\s*+(?:\\[A-Za-z@]++|\\.|[^\s\\{}])){1,2}", re.DOTALL)
_TRIMMED = re.compile(r"(?:\[[^\]]*\])?\([lr{}.\w ]*\)")
_COMMAND = re.compile(r"[ \t]*\\[A-Za-z@]+")
_NODE = re.compile(r"\bnode\b|\\(?:put|addlegendentry|legend|text)\b|\b(?:[xyz]label|title|label|legend entries)\s*=")
_NUMBERED_FROM = re.compile(r"\bstart\s*=\s*(\d{1,4})")
_UNIT = r"\s*+(?:pt|pc|in|bp|cm|mm|dd|cc|sp|ex|em|mu|true\s*+\w\w|fil+|\\[A-Za-z@]++)"
_AMOUNT = rf"[-+]?[\d.]*+(?:{_UNIT})?+"
_LENGTH = re.compile(rf"\s*+=?+\s*+{_AMOUNT}(?:\s++(?:plus|minus)\s*+{_AMOUNT})*+")
_PDF_TITLE = re.compile(r"\bpdf(?:title|subject|author|keywords)\s*=\s*(?:\{([^{}]*)\}|([^,{}]*))")


@dataclass(slots=True)
class Scanner:
    """Reads a source into a builder, and accounts for what is not text."""

    builder: DocumentBuilder
    actions: Mapping[str, Action]  # on the commands that have a function
    title: str = ""  # of the document, once found
    muted: bool = False  # only title, authors and the like are text (in the preamble)
    inline: int = 0  # number of arguments that are being read, one within another
    authored: AuthorCommands = field(default_factory=AuthorCommands)
    toggles: dict[str, bool] = field(default_factory=dict)  # conditions that the author declares -> whether they hold
    # commands that set a toggle -> its name and its value
    switches: dict[str, tuple[str, bool]] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=lambda: set(tex.HIDING))  # environments that are left out
    # that are open, with the number of the next item; None without numbers
    lists: list[int | None] = field(default_factory=list)
    mark: str = ""  # of the item that begins the next paragraph
    section: str = ""  # heading of the section that is being read
    inputs: list[str] = field(default_factory=list)  # names of the files that the text includes; they are not read
    bibliography: bool = False  # the references are in another file
    formulas: Formulas = field(init=False)
    _pieces: list[str] = field(default_factory=list)
    _tables: int = 0
    _open: list[str] = field(default_factory=list)  # environments
    _counts: Counter[str] = field(default_factory=Counter)  # of environments in the section
    _told: set[str] = field(default_factory=set)  # definitions

    def __post_init__(self) -> None:
        """Read formulas with the words, labels and commands of this source."""
        hidden = partial(self.outside, OutsideKind.HIDDEN, about="\\phantom")
        self.formulas = Formulas(self.authored, self.words, self.label, hidden)

    def read(self, source: Source) -> None:
        """Read a whole source: the preamble, the text, and what stands after its end."""
        text = source.text
        begin = text.find(_BEGIN)
        if begin >= 0:
            self.muted = True
            self.scan(Cursor(source, 0, begin))
            self.muted = False
            self.flush()
        end = text.find(_END, max(0, begin))
        start = begin + len(_BEGIN) if begin >= 0 else 0
        self.scan(Cursor(source, start, end if end >= 0 else len(text)))
        self.end_blocks()
        if end >= 0:
            self.outside(OutsideKind.HIDDEN, text[end + len(_END) :], "after the end")

    # The text in reading order.

    def scan(self, cursor: Cursor) -> None:
        """Read a range of a source."""
        text = cursor.source.text
        while match := _TOKEN.search(text, cursor.at, cursor.end):
            self.write(text[cursor.at : match.start()])
            cursor.at = match.end()
            name, symbol, blank, _, dollar, other = match.groups()
            if name:
                self._command(name, cursor)
            elif symbol:
                self._symbol(symbol, cursor)
            elif blank:
                self.flush()
            elif dollar:
                self._formula(cursor, cursor.source.dollar(dollar, cursor.at, cursor.end), dollar, dollar)
            elif other == "&":
                self.write(" | " if self._tables else "&")
            elif other:
                self.write(_CHARACTERS.get(other, other))
        self.write(cursor.raw)

    def flush(self) -> None:
        """End a paragraph; within an argument or a table, write a blank instead."""
        if self.inline or self._tables:
            self._pieces.append(" ")
            return
        text, self._pieces = _closed("".join(self._pieces)).strip(), []
        if text and not self.muted:
            self.builder.add_paragraph(self.mark + text, lines="\n" in text)
            self.mark = ""

    def flush_outside_tables(self) -> None:
        """End a paragraph, but for a caption in a table."""
        if not self._tables:
            self.flush()

    def end_blocks(self) -> None:
        """End all tables and lists, as a heading does even if the source does not."""
        self._tables = 0
        self.flush()
        self.lists, self.mark = [], ""

    def write(self, text: str) -> None:
        """Write text; in the preamble it is source that gives no text."""
        if self.muted and not self.inline:
            self.code(text)
        elif text:
            self._pieces.append(text.replace("\n", " "))

    def words(self, cursor: Cursor) -> str:
        """Read an argument as one line of text."""
        kept, self._pieces = self._pieces, []
        self.inline += 1
        if cursor.depth <= MAX_DEPTH:
            self.scan(cursor)
        else:
            self.write(cursor.raw.translate(_FLAT))
        self.inline -= 1
        text, self._pieces = "".join(self._pieces), kept
        return " ".join(_closed(text).split())

    @property
    def written(self) -> str:
        """The last characters that were written."""
        return "".join(self._pieces[-3:])

    def _formula(self, cursor: Cursor, close: int, opened: str, closing: str) -> None:
        """Write the formula up to `close`; -1 where nothing closes it."""
        if close < 0:
            self.write(opened if opened == closing else "")
            return
        text = self.formulas.read(cursor.to(close, len(closing)))
        self.write(f" {text} " if opened in ("$$", "\\[") else text)

    def _symbol(self, symbol: str, cursor: Cursor) -> None:
        if symbol in "([":
            closing = "\\)" if symbol == "(" else "\\]"
            close = cursor.source.find(closing, cursor.at, cursor.end)
            self._formula(cursor, close, f"\\{symbol}", closing)
        elif symbol in ACCENTS:
            self.accent(symbol, cursor)
        elif symbol == "\\":
            self._pieces.append("\n" if self._tables and not (self.muted or self.inline) else " ")
            cursor.at += cursor.follows("*")
            cursor.option(close=True)
        else:
            self.write(" " if symbol in " ,;:\n\t" else "" if symbol in "-/!@+<>|)]" else symbol)

    def accent(self, accent: str, cursor: Cursor) -> None:
        """Write a letter with its accent; without a letter, the accent is a character by itself."""
        if match := cursor.take(ACCENTED):
            letter = next(filter(None, match.groups()), "")
            alone = accent if accent in "~^`'\"" else ""
            self.write(accented(accent, letter) if letter else alone)

    # Commands.

    def _command(self, name: str, cursor: Cursor) -> None:
        if name in self.authored.commands:
            text, values = self.authored.call(name, cursor)
            if text is None or cursor.depth >= MAX_DEPTH:  # it calls itself for ever
                self.definition(name, self.authored.commands[name].body)
                self.write(" ".join(values))
            else:
                self.scan(cursor.of(text))
            return
        name = self.authored.aliases.get(name, name)
        if name in ("begin", "end"):
            self._environment(name, cursor)
        elif name in self.switches:
            toggle, value = self.switches[name]
            self.toggles[toggle] = value
        elif name in self.toggles or name in ("iftrue", "iffalse"):
            self._condition(name, cursor)
        elif name in self.actions:
            start = cursor.at
            try:
                self.actions[name](self, name, cursor)
            except BareError:
                cursor.at = start
                self.unknown(name, cursor)
        else:
            self._plain(name, cursor)

    def _plain(self, name: str, cursor: Cursor) -> None:
        """Act on a command without a function: one of looks vanishes with its arguments that are no text."""
        if name in tex.BREAKS:
            self.flush()
        if name in tex.LENGTHS:
            cursor.take(_LENGTH)
        elif name in tex.MEASURES:
            for _ in range(tex.MEASURES[name]):
                _ = cursor.group() or cursor.take(_COMMAND)
        elif name in tex.DROPPED:
            if name == "cmidrule":
                cursor.take(_TRIMMED)
            cursor.skip(tex.DROPPED[name])
        elif name in tex.BREAKS or name in tex.LAYOUT:
            while name in _OPTIONED and cursor.option(close=True):
                pass
        elif name in tex.SILENT or name.startswith("if") or (self.muted and not self.inline):
            self.silent(name, cursor)
        else:
            self.unknown(name, cursor)

    def silent(self, name: str, cursor: Cursor) -> None:
        """Account for a command that gives no text, with all its arguments."""
        start = cursor.at
        if name in ("if", "ifx", "ifcat", "ifdefined"):
            cursor.take(_TESTED)
        while not name.startswith("if") and (cursor.option() or cursor.group()):
            pass
        self.code(f"\\{name}{cursor.since(start)}")

    def unknown(self, name: str, cursor: Cursor) -> None:
        """Act on an unknown command: without an argument its name is seen, as it may stand for a word."""
        if name in self.authored.unread:
            self.definition(name, self.authored.unread[name])
        start = cursor.at
        while cursor.option(close=True):
            pass
        options, after = cursor.since(start), cursor.at
        group = cursor.group()
        cursor.at = after  # the argument is text
        if group and group.raw.strip():
            self.call(f"{name}{options}", group.raw)
        else:
            self.write(f"\\{name}{options}")

    def _condition(self, name: str, cursor: Cursor) -> None:
        """Read the branch that holds; the other one is hidden."""
        branches = cursor.source.branches(cursor.at, self.toggles.keys())
        if branches is None or branches[1] >= cursor.end or cursor.depth >= MAX_DEPTH:
            self.code(f"\\{name}")
            return
        other, close = branches
        first = cursor.to(other)
        cursor.at = min(close, other + len("\\else"))
        second = cursor.to(close, len("\\fi"))
        holds = self.toggles.get(name, name == "iftrue")
        shown, hidden = (first, second) if holds else (second, first)
        self.outside(OutsideKind.HIDDEN, hidden.raw, f"\\{name}")
        self.scan(shown)

    # Environments.

    def _environment(self, command: str, cursor: Cursor) -> None:
        group = cursor.group()
        if not group:
            return
        name = group.raw.strip()
        if command == "end":
            self._end_environment(name)
            return
        self._open.append(name)
        self._counts[name] += 1
        if name in tex.MATH or name in tex.DRAWN or name in tex.EMBEDDING or name in self.excluded:
            closing = f"\\end{{{name}}}"
            close = cursor.source.find(closing, cursor.at, cursor.end)
            if close >= 0:
                self._unread(name, cursor.to(close, len(closing)))
                self._close(name)
            return
        self.flush()
        if name in tex.TABLES:
            self._tables += 1
        elif name in tex.LISTS:
            self.lists.append(1 if "enum" in name else None)
        elif not (self.muted or self.inline) and name in ("abstract", "thebibliography"):
            self.builder.add_heading("Abstract" if name == "abstract" else "References", tex.SECTION)
        self._options(name, cursor)

    def _options(self, name: str, cursor: Cursor) -> None:
        """Read what stands after the beginning of an environment: looks, the mark of a list, the name of a theorem."""
        option = cursor.option(close=True)
        if name in _ENVIRONMENT_ARGUMENTS or name in tex.LISTS or _FLOATS.fullmatch(name):
            if name in tex.LISTS and option:
                match = _NUMBERED_FROM.search(option.raw)
                if match and self.lists[-1] is not None:
                    self.lists[-1] = int(match[1])
                self.code(f"\\begin{{list}}[{option.raw}]")
            if not option:
                cursor.option()
            cursor.skip(_ENVIRONMENT_ARGUMENTS.get(name, 0))
            return
        if name.rstrip("*") not in tex.LAYOUT_ENVIRONMENTS:
            self.code(f"\\begin{{{name}}}")
            if name in self.authored.unread:
                self.definition(name, self.authored.unread[name])
        if option:
            self.write(f"({self.words(option)}) ")

    def _close(self, name: str) -> None:
        """End an environment, and those that were left open in it."""
        if name in self._open:
            last = len(self._open) - 1 - self._open[::-1].index(name)
            del self._open[last:]

    def _end_environment(self, name: str) -> None:
        self._close(name)
        if name in tex.TABLES:
            self._tables = max(0, self._tables - 1)
        self.flush()
        if name in tex.LISTS and self.lists:
            self.lists.pop()

    def _unread(self, name: str, inner: Cursor) -> None:
        """Write the formula in an environment, or account for a drawing, a file or hidden text."""
        if name in tex.MATH:
            if name in tex.MATH_ARGUMENTS:
                inner.skip(1)
            self.write(f" {self.formulas.read(inner)} ")
        elif name in tex.DRAWN:
            self.drawing(name, inner)
        elif name in tex.EMBEDDING:
            file, _, content = restore(inner.raw).removeprefix("{").partition("}")
            self.file(file, content=content)
        else:
            self.outside(OutsideKind.HIDDEN, inner.raw, name)

    # What stands beside the text.

    def outside(self, kind: OutsideKind, text: str, about: str = "") -> None:
        """Add a text outside."""
        self.builder.account.add_text(kind, restore(text), restore(about))

    def code(self, text: str) -> None:
        """Add source that gives no text."""
        self.outside(OutsideKind.CODE, text, self.section)

    def call(self, command: str, argument: str) -> None:
        """Add an unknown command, the words in whose argument are body text."""
        shown = " ".join(argument.split())
        self.code(f"\\{command}{{{shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}}}")

    def definition(self, name: str, source: str) -> None:
        """Add a definition that is used but not expanded, once."""
        if name not in self._told:
            self._told.add(name)
            self.code(f"\\{name}: {source}")

    def begin_section(self, heading: str, command: str) -> None:
        """Begin a section; the level of its heading does not stand in the text."""
        self.end_blocks()
        self.builder.add_heading(heading, tex.LEVELS.get(command.rstrip("*"), tex.SECTION + 1))
        self.section = heading
        self._counts.clear()
        self.outside(OutsideKind.STRUCTURE, command, heading)

    def label(self, name: str) -> None:
        """Add a label with what it belongs to: elsewhere it would print another number."""
        place = ""
        if self._open:
            item = self.lists[-1] - 1 if self.lists and self.lists[-1] else None
            place = f" {self._open[-1]} {self._counts[self._open[-1]]}" + (f" item {item}" if item else "")
        of = f" of {self.section}" if self.section else ""
        self.code(f"\\label{{{name.strip()}}}{place}{of}")

    def file(self, name: str, options: str = "", content: str = "") -> None:
        """Add a file that is not read."""
        name = restore(" ".join(name.split()))
        if name:
            told = restore(f"{name}\0{''.join(options.split())}\0{content}")
            self.builder.account.add_part(PartKind.EMBEDDED, digest_of(told.encode()), name)

    def metadata(self, options: str) -> None:
        """Add the title and the like that a viewer of the PDF shows."""
        for match in _PDF_TITLE.finditer(options):
            self.outside(OutsideKind.METADATA, match[1] or match[2] or "")

    def drawing(self, name: str, cursor: Cursor) -> None:
        """Add a drawing by its source, and the words in it."""
        source = " ".join(restore(cursor.raw).split())
        self.builder.account.add_part(PartKind.DRAWINGS, digest_of(source.encode()), restore(name))
        text = cursor.source.text
        while match := _NODE.search(text, cursor.at, cursor.end):
            cursor.at = match.end()
            stop = text.find(";", cursor.at, min(cursor.end, cursor.at + 2000))
            brace = text.find("{", cursor.at, stop if stop >= 0 else cursor.end)
            if brace >= 0:
                before, cursor.at = cursor.at, brace
                if group := cursor.group():
                    cursor.at = group.end
                    self.outside(OutsideKind.ALTERNATIVES, self.words(group), name)
                else:
                    cursor.at = before


Action = Callable[[Scanner, str, Cursor], None]
"""Acts on a command, given its name and the place after it."""


def _closed(text: str) -> str:
    """Remove the blanks that vanished commands leave before a full stop."""
    return restore(_GAP.sub(r"\1", text))
