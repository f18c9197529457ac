"""Read LaTeX: one pass over the source turns it into headings, paragraphs and notes.

`source.py` lists what commands mean and prepares the source; `Scanner` acts on them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.tex.source import (
    ACCENTED,
    ACCENTS,
    BLANK,
    BREAKS,
    DEFINITIONS,
    DROPPED,
    FOOTNOTES,
    LEVELS,
    LISTS,
    MATH,
    SECTION,
    TABLES,
    UNSEEN,
    WORDS,
    AuthorCommands,
    Source,
    accented,
    formula,
    match_braces,
    prepare,
    restore,
)
from colde_cli.documents.text import decode, shown_as
from colde_cli.errors import LimitError

MAX_GROUPS = 2_000_000
"""Maximum number of pairs of braces of a document."""
_MAX_DEPTH = 20
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
    "#": "",
    "\\": "",
}
_GAP = re.compile(r"(?<=\S) {1,3}([.,;:])(?=\s|$)")
_FLOATS = re.compile(
    r"(figure|table|wrapfigure|minipage|algorithm|algorithmic|subfigure|multicols|frame|tcolorbox)\*?"
)
_ENVIRONMENT_ARGUMENTS = {
    **dict.fromkeys(TABLES, 1),
    **dict.fromkeys(("tabularx", "tabular*", "tabulary", "wrapfigure", "list"), 2),
    **dict.fromkeys(("thebibliography", "minipage", "multicols", "subfigure", "adjustbox"), 1),
}
_INCLUDES = frozenset(("input", "include", "subfile", "import", "subimport"))
_TITLES = frozenset(("title", "icmltitle", "author"))
_WORDED = frozenset((*LEVELS, *FOOTNOTES, *_TITLES, "caption", "frametitle", "ensuremath"))
_ENVIRONMENTS = frozenset(("begin", "end"))
_DEFINING = frozenset((*DEFINITIONS, "def"))
_ITEMS = frozenset(("item", "bibitem"))
_ELSEWHERE = frozenset((*_INCLUDES, "bibliography", "printbibliography"))
_LET = re.compile(r"\s*+\\[A-Za-z@]++\s*+=?+\s*+(\\[A-Za-z@]+|.)")
_FILE = re.compile(r"[ \t]*([^\s{}\\]+)")
_BEGIN, _END = "\\begin{document}", "\\end{document}"


def read_tex(data: bytes, path: str, name: str) -> Document:
    r"""Read LaTeX: title, abstract, `\part` to `\subparagraph`, lists, tables, captions, footnotes, formulas.

    The source is read, not run. Commands that the author defines are expanded; others vanish and leave the words in
    their arguments. Citations and references vanish. Formulas keep the names and characters of their source. Numbers
    that LaTeX counts are not part of the text. Files that `\input` names are not read.

    Args:
        data: of the file.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        UnsupportedFormatError: the bytes are no text.
        LimitError: it has more text or braces than colde reads.
        NoTextError: it has no text.
    """
    shown = shown_as(path)
    text, warnings = decode(data, shown)
    scanner = Scanner(DocumentBuilder(shown))
    source = scanner.source(prepare(text))
    begin = source.text.find(_BEGIN)
    if begin >= 0:
        scanner.muted = True
        scanner.scan(source, 0, begin)
        scanner.muted = False
        scanner.flush()
    end = source.text.find(_END, max(0, begin))
    scanner.scan(source, begin + len(_BEGIN) if begin >= 0 else 0, end if end >= 0 else len(source.text))
    scanner.end()
    document = scanner.builder.build(scanner.title, name, (*warnings, *_warnings(scanner)), _notes(scanner))
    return replace(document, path=path)


def _warnings(scanner: Scanner) -> list[str]:
    names = list(dict.fromkeys(scanner.inputs))
    if not names:
        return []
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [
        f"Files named by \\input or \\include were not read: {listed}; join them first, e.g. with latexpand."
    ]


def _notes(scanner: Scanner) -> list[str]:
    notes = []
    if scanner.bibliography:
        notes.append("The references lie in a file of their own and were not read.")
    if scanner.drawings:
        notes.append(f"Left out {scanner.drawings} drawing{'s' if scanner.drawings > 1 else ''}.")
    return notes


@dataclass(slots=True)
class Scanner:
    """Scans a source and fills a builder.

    Attributes:
        title: of the document, once found.
        muted: only title and author are taken (in the preamble).
        inputs: names of files that the source includes; they are not read.
        bibliography: the references are in another file.
        drawings: number of environments left out.
    """

    builder: DocumentBuilder
    title: str = ""
    muted: bool = False
    inputs: list[str] = field(default_factory=list)
    bibliography: bool = False
    drawings: int = 0
    _pieces: list[str] = field(default_factory=list)
    _inline: int = 0
    _tables: int = 0
    _lists: list[int | None] = field(default_factory=list)
    _mark: str = ""
    _author_commands: AuthorCommands = field(default_factory=AuthorCommands)

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
            self._write(source.text[at : found.start()])
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
                self._write(" | " if self._tables else "&")
            elif other:
                self._write(_CHARACTERS[other])
        self._write(source.text[at:end])

    def flush(self) -> None:
        """End a paragraph; within an argument or a table, write a blank instead."""
        if self._inline or self._tables:
            self._pieces.append(" ")
            return
        text, self._pieces = _closed("".join(self._pieces)), []
        if text.strip() and not self.muted:
            self.builder.add_paragraph(self._mark + text.strip(), lines="\n" in text.strip())
            self._mark = ""

    def end(self) -> None:
        """End the source, with everything left open."""
        self._end_blocks()

    def _write(self, text: str) -> None:
        if text and not (self.muted and not self._inline):
            self._pieces.append(text.replace("\n", " "))

    def _words(self, source: Source, bounds: tuple[int, int], depth: int) -> str:
        """Read an argument as one line of text."""
        kept, self._pieces = self._pieces, []
        self._inline += 1
        if depth < _MAX_DEPTH:
            self.scan(source, *bounds, depth + 1)
        else:
            self._write(source.text[slice(*bounds)].translate(dict.fromkeys(map(ord, "{}\\"), " ")))
        self._inline -= 1
        text, self._pieces = "".join(self._pieces), kept
        return " ".join(_closed(text).split())

    def _command(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Act on a command; like all handlers, return the offset at which to continue."""
        kinds = (
            (self._author_commands.commands, self._expand),
            (_WORDED, self._worded),
            (_ENVIRONMENTS, self._environment),
            (_DEFINING, self._define),
            (_ITEMS, self._item),
            (WORDS, self._character),
            (ACCENTS, self._accent),
            (_ELSEWHERE, self._elsewhere),
        )
        act = next((handler for names, handler in kinds if name in names), self._plain)
        return act(source, name, at, end, depth)

    def _plain(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Act on any other command: it vanishes with its arguments that are no text, and may end a paragraph."""
        if name in BREAKS:
            self.flush()
        elif name == "appendix":
            self.flush()
            self.builder.appendix = True
        elif name == "let" and (found := _LET.match(source.text, at, end)):
            return found.end()
        at = self._after_options(source, at, end)
        return self._after_groups(source, DROPPED.get(name, 0), at, end)

    def _character(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Write a letter or sign; the blank after the command of a letter vanishes."""
        word = WORDS[name]
        self._write(word)
        found = BLANK.match(source.text, at, end) if len(word) == 1 and word.isalpha() else None
        return found.end() if found else at

    def _after_options(self, source: Source, at: int, end: int) -> int:
        """Skip options directly after a command: `[` after a blank may be text."""
        return source.after_option(at, end) if source.text.startswith("[", at) else at

    def _after_groups(self, source: Source, count: int, at: int, end: int) -> int:
        for _ in range(count):
            at = source.after_option(at, end)
            bounds = source.group(at, end)
            if not bounds:
                break
            at = bounds[1] + 1
        return source.after_option(at, end) if count > 1 and source.text.startswith("[", at) else at

    def _worded(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Read the words in the argument of a heading, a note, a caption or the title."""
        bounds = source.group(source.after_option(at, end), end)
        if not bounds:
            return at
        if name == "ensuremath":
            self._write(formula(source.text[slice(*bounds)]))
            return bounds[1] + 1
        text = self._words(source, bounds, depth)
        if name in FOOTNOTES:
            if not self.muted or name == "thanks":
                self.builder.add_note(text)
        elif name in _TITLES:
            self.flush()
            self.title = self.title or (text if name != "author" else "")
            self.builder.add_paragraph(text)
        elif self.muted or self._inline:
            self._write(f" {text} ")
        elif name == "caption":
            self._caption(text)
        else:
            self._end_blocks()
            self.builder.add_heading(text, LEVELS.get(name, SECTION + 1))
        return bounds[1] + 1

    def _caption(self, text: str) -> None:
        """Add a caption as a paragraph, before its table."""
        if not self._tables:
            self.flush()
        self.builder.add_paragraph(text)

    def _end_blocks(self) -> None:
        """End all tables and lists, as a heading does even if the source does not."""
        self._tables = 0
        self.flush()
        self._lists, self._mark = [], ""

    def _environment(self, source: Source, command: str, at: int, end: int, depth: int) -> int:
        bounds = source.group(at, end)
        if not bounds:
            return at
        name, at = source.text[slice(*bounds)].strip(), bounds[1] + 1
        if command == "end":
            self._end_environment(name)
            return at
        if name in MATH or name in UNSEEN:
            return self._unread(source, name, at, end)
        self.flush()
        self._begin_environment(name)
        if name in _ENVIRONMENT_ARGUMENTS or name in LISTS or _FLOATS.fullmatch(name):
            return self._after_groups(
                source, _ENVIRONMENT_ARGUMENTS.get(name, 0), source.after_option(at, end), end
            )
        after = self._after_options(source, at, end)
        if after > at:  # the name of a theorem
            self._write(f"({self._words(source, (at + 1, after - 1), depth)}) ")
        return after

    def _begin_environment(self, name: str) -> None:
        if name in TABLES:
            self._tables += 1
        elif name in LISTS:
            self._lists.append(1 if "enum" in name else None)
        elif not (self.muted or self._inline) and name in ("abstract", "thebibliography"):
            self.builder.add_heading("Abstract" if name == "abstract" else "References", SECTION)

    def _end_environment(self, name: str) -> None:
        if name in TABLES:
            self._tables = max(0, self._tables - 1)
        self.flush()
        if name in LISTS and self._lists:
            self._lists.pop()

    def _unread(self, source: Source, name: str, at: int, end: int) -> int:
        """Write a formula, or leave out a drawing, up to its end."""
        closing = f"\\end{{{name}}}"
        close = source.find(closing, at, end)
        if close < 0:
            return at
        if name in MATH:
            self._write(formula(source.text[at:close]))
        else:
            self.drawings += 1
        return close + len(closing)

    def _item(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        self.flush()
        after = source.after_option(at, end)
        if name == "bibitem":
            return self._after_groups(source, 1, after, end)
        number = self._lists[-1] if self._lists else None
        if after > at:
            self._mark = ""
            self._write(self._words(source, (source.text.index("[", at) + 1, after - 1), depth) + " ")
        elif number is None:
            self._mark = "- "
        else:
            self._mark, self._lists[-1] = f"{number}. ", number + 1
        return after

    def _symbol(self, source: Source, symbol: str, at: int, end: int) -> int:
        if symbol in "([":
            close = source.find("\\)" if symbol == "(" else "\\]", at, end)
            if close < 0:
                return at
            self._write(formula(source.text[at:close]))
            return close + 2
        if symbol in ACCENTS:
            return self._accent(source, symbol, at, end, 0)
        if symbol == "\\":
            self._pieces.append("\n" if self._tables and not (self.muted or self._inline) else " ")
            after = at + 1 if source.text.startswith("*", at) else at
            return self._after_options(source, after, end)
        self._write(" " if symbol in " ,;:\n\t" else "" if symbol in "-/!@+<>|)]" else symbol)
        return at

    def _accent(self, source: Source, accent: str, at: int, end: int, depth: int) -> int:
        found = ACCENTED.match(source.text, at, end)
        if not found:
            return at
        letter = next(filter(None, found.groups()), "")
        self._write(accented(accent, letter) if letter else "")
        return found.end()

    def _math(self, source: Source, dollar: str, at: int, end: int) -> int:
        close = source.find(dollar, at, end)
        if close < 0 or "\n\n" in source.text[at:close]:
            return at
        self._write(formula(source.text[at:close]))
        return close + len(dollar)

    def _elsewhere(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        bounds = source.group(source.after_option(at, end), end)
        if name in _INCLUDES:
            found = _FILE.match(source.text, at, end)
            file = source.text[slice(*bounds)] if bounds else found.group(1) if found else ""
            if file and not self.muted and len(self.inputs) < 1000:
                self.inputs.append(restore(file.strip()))
            return bounds[1] + 1 if bounds else found.end() if found else at
        self.bibliography = True
        return bounds[1] + 1 if bounds and name == "bibliography" else source.after_option(at, end)

    def _define(self, source: Source, command: str, at: int, end: int, depth: int) -> int:
        """Remember a command of the author."""
        return self._author_commands.define(source, command, at, end)

    def _expand(self, source: Source, name: str, at: int, end: int, depth: int) -> int:
        """Read the expansion of an author's command; a command that calls itself for ever leaves its arguments."""
        call = self._author_commands.call(source, name, at, end)
        if call.text is None or depth >= _MAX_DEPTH:
            self._write(" ".join(call.values))
        else:
            self.scan(self.source(call.text), 0, len(call.text), depth + 1)
        return call.after


def _closed(text: str) -> str:
    """Remove the blanks that vanished citations leave before a full stop."""
    return restore(_GAP.sub(r"\1", text))
