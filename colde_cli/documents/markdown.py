"""Read Markdown: CommonMark with tables and footnotes, parsed by markdown-it-py.

Emphasis marks, entities and HTML tags are removed, words stay. A paragraph, a list item, a block of code and a table
are one paragraph each; code and tables keep their lines, items their mark: "-" for every bullet, "2." for the second
item, however its source numbers it. A footnote is written at the end of the section that defines it, as in Word
documents. What stands beside the text (links, pictures, front matter, what HTML hides) is accounted for by the rules of
web pages.

Only headings at the outermost level begin sections. A heading in a quotation or in a list is text: it divides the
quotation, and text after the quotation does not belong under it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from colde_cli.documents.builder import tidy, tidy_lines
from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, Sections, finished, shown_as
from colde_cli.documents.headings.titles import kind_of
from colde_cli.documents.html.elements import ElementReader, address
from colde_cli.documents.html.flow import BLOCKS, LAYOUT, MOST_ABOUT, Marks, TextFlow, account_columns, place_in_lists
from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.plain_text import decode
from colde_cli.errors import LimitError

_NAME = r"(?P<end>/?)(?P<name>[a-zA-Z][\w:-]*)"
# An attribute may hold the signs of tags. The bounds keep the time for a tag that does not end short.
_QUOTED = r"\"[^\"]{0,2000}+\"|'[^']{0,2000}+'"
_TAG = re.compile(rf"<{_NAME}(?P<marks>(?:[^<>\"']++|{_QUOTED}){{0,400}}+)>")
_PLAIN_TAG = re.compile(rf"<{_NAME}(?P<marks>[^<>]*)>")
_DECLARATION = re.compile(r"<[!?][^<>]*>")
_MARK = re.compile(r"([^\s\"'<>/=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?")
_CLOSING = re.compile(r"</([a-zA-Z][\w:-]*)")
_INNER = re.compile(r"<(?:table|h[1-6])\b", re.IGNORECASE)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_RAW = frozenset("script style textarea title iframe noembed noframes xmp".split())
_DEEPEST = 100  # tags of elements nested deeper are passed over; their text stays
_ITEMS = frozenset(("ul", "ol", "menu"))
_TABLE = frozenset(("table",))
_ROW = frozenset(("tr", "table"))
_TERMS = frozenset(("dl",))
_CHOICES = frozenset(("select", "datalist"))
_WITHIN = {
    "li": (_ITEMS, ("li",)),
    "dt": (_TERMS, ("dt", "dd")),
    "dd": (_TERMS, ("dt", "dd")),
    "tr": (_TABLE, ("tr",)),
    "td": (_ROW, ("td", "th")),
    "th": (_ROW, ("td", "th")),
    "option": (_CHOICES, ("option",)),
}
"""Elements that need no end: within which they stand, and what ends when one begins."""


def closings(source: str) -> set[str]:
    """The names of the elements that a source ends."""
    return {name.lower() for name in _CLOSING.findall(source)}


class TagReader:
    """Pairs the tags of HTML as a browser would, and reads what is between them.

    What nothing closes hides nothing: an element without its end is as if it ended at once.

    Attributes:
        reader: is told of elements and text.
    """

    def __init__(self, reader: ElementReader) -> None:
        self.reader = reader
        self._open: list[str] = []
        self._base = 0  # what was open before a line cannot end in it
        self._outer = reader.flow

    def read_block(self, source: str, later: Counter[str]) -> None:
        """Read a block; `later` counts by name the elements that end in later blocks."""
        last = {match[1].lower(): match.start() for match in _CLOSING.finditer(source)}
        place, comments = 0, source.rfind("-->")
        while (start := source.find("<", place)) >= 0:
            self._text(source[place:start])
            if source.startswith("<!--", start) and start + 4 <= comments:
                place = source.index("-->", start + 4) + 3
            elif tag := _tag_at(source, start):
                place = self._read_tag(source, tag, last, later)
            elif declared := _DECLARATION.match(source, start):
                place = declared.end()
            else:
                self._text("<")
                place = start + 1
        self._text(source[place:])
        if self._open[-1:] == ["p"]:
            self._end()
        self.reader.flush()

    def begin_line(self) -> None:
        """Begin a line: all up to `end_line` is one text, of the flow that is open."""
        self._outer, self._base = self.reader.flow, len(self._open)
        self.reader.flow = TextFlow(self._outer.kind, self._outer.about, inline=True)

    def read_tag(self, source: str, later: Counter[str]) -> None:
        """Read a tag within a line; `later` counts by name the elements that end later in it."""
        tag = _tag_at(source, 0)
        if tag is None:
            return
        name = tag["name"].lower()
        if tag["end"]:
            self.end(name)
        else:
            self.start(name, _marks(tag["marks"]), ends=later[name] > 0)

    def end_line(self) -> str:
        """End the elements of a line, and return its text."""
        while len(self._open) > self._base:
            self._end()
        line, self._base = self.reader.flow.line(), 0
        self.reader.flow = self._outer
        return line

    def close(self) -> None:
        """End all elements."""
        while self._open:
            self._end()
        self.reader.close()

    def _read_tag(self, source: str, tag: re.Match[str], last: dict[str, int], later: Counter[str]) -> int:
        """Read a tag of a block; returns where to go on."""
        name, place = tag["name"].lower(), tag.end()
        if tag["end"]:
            self.end(name)
            return place
        marks = _marks(tag["marks"])
        ends = last.get(name, -1) >= place
        if name in _RAW and ends:
            match = re.compile(rf"</{name}\b[^<>]*>?", re.IGNORECASE).search(source, place)
            if match:
                self.start(name, marks, ends=True)
                self.reader.text(source[place : match.start()])
                self.end(name)
                return match.end()
        if name == "table" and len(self._open) < _DEEPEST:
            within = source[place : source.lower().find("</table", place)] if ends else ""
            marks = {**marks, LAYOUT: ""} if not ends or _INNER.search(within) else marks
        self.start(name, marks, ends=ends or (later[name] > 0 and name not in _RAW))
        return place

    def start(self, name: str, marks: Marks, *, ends: bool = True) -> None:
        """Begin an element; one that nothing `ends` is as if it ended at once."""
        if name in BLOCKS and self._open[-1:] == ["p"] and len(self._open) > self._base:
            self._end()
        within, same = _WITHIN.get(name, (frozenset(), ()))
        at = self._innermost(within)
        if at >= 0:
            while any(one in same for one in self._open[at + 1 :]):
                self._end()
        if len(self._open) >= _DEEPEST:
            return
        self.reader.start(name, marks)
        self._open.append(name)
        if name in _VOID or not (ends or at >= 0 or name == "p"):
            self._end()

    def _innermost(self, names: Container[str]) -> int:
        """The place of the innermost open element of these names, -1 for none."""
        places = range(len(self._open) - 1, self._base - 1, -1)
        return next((place for place in places if self._open[place] in names), -1)

    def end(self, name: str) -> None:
        """End the innermost element of a name, and all within it."""
        at = self._innermost((name,))
        while at >= 0 and len(self._open) > at:
            self._end()

    def _end(self) -> None:
        self._open.pop()
        self.reader.end()

    def _text(self, text: str) -> None:
        if text:
            self.reader.text(html.unescape(text))


def _tag_at(source: str, start: int) -> re.Match[str] | None:
    return _TAG.match(source, start) or _PLAIN_TAG.match(source, start)


def _marks(source: str) -> Marks:
    """Read attributes; the first of each name counts."""
    marks: dict[str, str | None] = {}
    for name, *values in _MARK.findall(source):
        marks.setdefault(name.lower(), html.unescape("".join(values)))
    return marks


MAX_NESTING = 100
"""Maximum depth of nested quotations and lists; a list counts twice, once for itself and once for its item."""
_INLINE_NESTING = 20  # nested brackets; deeper ones are text, so that a million "[" are soon read
MAX_FRONT_MATTER = 200
"""Maximum number of lines of YAML before the text."""
_ENTRY = re.compile(r"\w[\w .-]*:(\s|$)")
_TITLE = re.compile(r"title\s*:\s*(.+)", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,80})\]:[ \t]*")
_REFERENCE = re.compile(r"\[\^([^\]\s]{1,80})\]")
_TASK = re.compile(r"\[([ xX])\] +(?=\S)")
_COMMENT_LABELS = frozenset(("//", "COMMENT", "#"))
_LISTS = frozenset(("bullet_list", "ordered_list"))


def read_markdown(data: bytes, path: str, name: str) -> Document:
    """Read Markdown; front matter stands outside the text. `name` replaces a missing title.

    Raises:
        NoTextError: it has no text.
        UnsupportedFormatError: the bytes are no text.
        LimitError: quotations and lists are nested deeper than `MAX_NESTING`.
    """
    text, warnings = decode(data, path)
    lines, matter = _split_front_matter(text.replace("\f", "\n").split("\n"))
    env: dict[str, Any] = {"footnotes": set()}
    tokens = _parser().parse("\n".join(lines), env)
    # The parser silently drops text that is nested deeper.
    if any(token.nesting == 1 and token.level >= MAX_NESTING - 1 for token in tokens):
        raise LimitError(
            f"Cannot read {shown_as(path)}: it nests lists or quotations more than {MAX_NESTING // 2} deep;"
            " use fewer levels."
        )
    reader = _TokenReader(env["footnotes"])
    parts = reader.read(tokens)
    headings = [part for part in parts if part.heading]
    if not headings:
        parts = [replace(part, kind=SectionKind.BODY) for part in parts]
    top = min((part.level for part in headings), default=0)
    first = next((part.heading for part in headings if part.level == top), "")
    stated = next((match[1].strip().strip("\"'") for line in matter if (match := _TITLE.match(line))), "")
    _account_for_matter(reader.account, matter, first)
    _account_for_definitions(reader.account, env, reader.targets)
    report = ReadReport(warnings=warnings, accounted=warnings)
    return finished(path, stated or first or name, parts, report, reader.account)


def _split_front_matter(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines after a YAML block between rows of dashes, and those of the block."""
    if lines[0].rstrip() != "---":
        return lines, []
    for end, line in enumerate(lines[1:MAX_FRONT_MATTER], start=1):
        if line.rstrip() in ("---", "..."):
            matter = lines[1:end]
            if any(map(str.strip, matter)) and not any(map(_ENTRY.match, matter)):
                return lines, []  # text between two rules
            return lines[end + 1 :], matter
    return lines, []


def _account_for_matter(account: Account, matter: Sequence[str], title: str) -> None:
    """Account for each entry of the front matter with its lines, but for the title that the text has, too."""
    entries: list[str] = []
    for line in matter:
        if _ENTRY.match(line) or not entries:
            entries.append(line)
        elif not line.lstrip().startswith("#"):
            entries[-1] += f" {line}"
    for entry in entries:
        match = _TITLE.match(entry)
        if not (match and match[1].strip().strip("\"'") == title) and not entry.startswith("#"):
            account.add_text(OutsideKind.METADATA, entry)


def _account_for_definitions(account: Account, env: Mapping[str, Any], used: Container[str]) -> None:
    """Account for the definitions of links that no link uses, but for those that are written as comments."""
    unused = [
        (label, value["href"])
        for label, value in env.get("references", {}).items()
        if value["href"] not in used and label not in _COMMENT_LABELS
    ]
    again = [(value["label"], value["href"]) for value in env.get("duplicate_refs", ())]
    for label, target in (*unused, *again):
        account.add_text(OutsideKind.CODE, f"[{label}]: {address(target)}")


def _parser() -> MarkdownIt:
    """Make a parser of CommonMark, tables and footnotes (`footnote_open`, `inline`, `footnote_close`)."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    parser.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.before("inline", "inline_nesting", _limit_inline_nesting)
    return parser


def _limit_inline_nesting(state: StateCore) -> None:
    state.md.options["maxNesting"] = _INLINE_NESTING


def _footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a footnote, `[^name]: text`, up to a blank line or the next footnote."""
    if state.is_code_block(start) or not (match := _match_footnote(state, start)):
        return False
    if silent:
        return True
    state.line = start + 1
    while (
        state.line < end
        and not state.isEmpty(state.line)
        and state.sCount[state.line] >= state.blkIndent
        and not _match_footnote(state, state.line)
    ):
        state.line += 1
    state.env["footnotes"].add(match.group(1))
    state.push("footnote_open", "", 1).info = match.group(1)
    inline = state.push("inline", "", 0)
    lines = state.getLines(start, state.line, state.blkIndent, False)
    inline.content, inline.children = _FOOTNOTE.sub("", lines.strip(), count=1), []
    state.push("footnote_close", "", -1)
    return True


def _match_footnote(state: StateBlock, line: int) -> re.Match[str] | None:
    return _FOOTNOTE.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


@dataclass(slots=True)
class _TokenReader:
    """Gathers sections from the tokens of the parser."""

    footnotes: set[str]  # names of the footnotes that are defined; references to them are left out of the text
    targets: set[str] = field(default_factory=set)  # of all links and pictures
    account: Account = field(default_factory=Account)
    sections: Sections = field(default_factory=Sections)
    mark: str = ""  # of list items that have no words yet
    rows: list[list[str]] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)  # that are open: the number of the next item of each
    quotes: int = 0
    note: str = ""  # the name of the footnote that is open
    noted: list[tuple[str, str]] = field(default_factory=list)  # footnotes by name
    referred: dict[str, str] = field(default_factory=dict)  # footnotes, and the words before their references
    reader: ElementReader = field(init=False)
    tags: TagReader = field(init=False)

    def __post_init__(self) -> None:
        """Read HTML by the rules of web pages."""
        self.reader = ElementReader(self.account, self._add_written)
        self.tags = TagReader(self.reader)

    def read(self, tokens: Sequence[Token]) -> list[Part]:
        """Gather the sections of a whole document."""
        self.referred = {
            name: ""
            for token in tokens
            if token.type == "inline"
            for name in _REFERENCE.findall(token.content)
            if name in self.footnotes
        }
        later = Counter(name for token in tokens if token.type == "html_block" for name in closings(token.content))
        opening = None
        for token in tokens:
            if token.type == "inline":
                self._add_inline(token, opening)
            elif token.type == "html_block":
                later.subtract(closings(token.content))
                self.tags.read_block(token.content, later)
            else:
                self._add_block(token)
            opening = token
        self.tags.close()
        self.sections.end()
        for name, words in self.noted:
            self._structure(f"after{self.referred[name]}", words)
        return self.sections.parts

    def _add_block(self, token: Token) -> None:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if token.nesting == 1 and name in _LISTS:
            self.lists.append(int(token.attrs.get("start", 1)))
        elif name in _LISTS:
            self.lists.pop()
        elif name == "blockquote":
            self.quotes += token.nesting
        elif name in ("fence", "code_block"):
            self._add_code(token)
        elif token.type == "list_item_open":
            # Neither the sign that makes a bullet nor the numbers after the first one are what the page shows.
            self.mark += f"{self.lists[-1]}{token.markup} " if token.info else "- "
            if token.info and token.info != str(self.lists[-1]):  # a reader of the source sees this number
                self.account.add_text(OutsideKind.STRUCTURE, f"{token.info}{token.markup}", f"item {self.lists[-1]}")
            self.lists[-1] += 1
        elif token.type == "list_item_close":
            self._add_paragraph("")
        elif token.type == "footnote_open":
            self.note = token.info
        elif token.type == "tr_open":
            self.rows.append([])
        elif token.type == "table_close":
            self._add_table()

    def _add_code(self, token: Token) -> None:
        code = token.content.strip("\n")
        self._add_paragraph(code)
        first, _, _ = code.partition("\n")
        self._structure(token.info, first)

    def _add_table(self) -> None:
        rows, self.rows = [row for row in self.rows if any(row)], []
        written = [" | ".join(row) for row in rows]
        self._add_paragraph("\n".join(written))
        for row, line in zip(rows, written, strict=True):
            columns = [str(number) for number, cell in enumerate(row, start=1) if cell]
            account_columns(self.account, columns, len(row), line)

    def _add_inline(self, token: Token, opening: Token | None) -> None:
        """Add words to the heading, item or paragraph opened by the token before them."""
        words = self._words(token.children or ())
        kind = opening.type if opening else ""
        if opening and kind == "heading_open":
            self._structure(f"level {opening.tag[1]}", words)
        if opening and kind == "heading_open" and opening.level == 0:
            before = self.sections.kind
            self.sections.begin(words, int(opening.tag[1]), kind_of(words, before) if words else before)
        elif kind == "footnote_open" and self.note in self.referred:
            self.sections.notes += [words] if words else []
            self.noted.append((self.note, words))
        elif kind == "footnote_open":  # nothing refers to it
            self.account.add_text(OutsideKind.NOTES, words)
        elif kind in ("th_open", "td_open"):
            self.rows[-1].append(words)
        else:
            task = _TASK.match(words) if self.mark else None
            box = f"{UNTICKED if task[1] == ' ' else TICKED} " if task else ""
            self._add_paragraph(box + words[task.end() :] if task else words)

    def _add_written(self, text: str, lines: bool) -> None:
        self._add_paragraph(tidy_lines(text) if lines else tidy(text))

    def _add_paragraph(self, words: str) -> None:
        if not (words.strip() or self.mark):
            return
        text, self.mark = (self.mark + words).rstrip(), ""
        flow = self.reader.flow
        if flow.kind is not None:  # HTML around it hides it
            self.account.add_text(flow.kind, text, flow.about)
            return
        self.sections.paragraphs.append(text)
        self._structure(place_in_lists(len(self.lists), self.quotes), text.partition("\n")[0])

    def _structure(self, text: str, about: str) -> None:
        self.account.add_text(OutsideKind.STRUCTURE, text, about[:MOST_ABOUT])

    def _words(self, tokens: Sequence[Token]) -> str:
        """Return the words of a paragraph or a heading, with the alternative texts of pictures."""
        ends = Counter(name for token in tokens if token.type == "html_inline" for name in closings(token.content))
        self.tags.begin_line()
        for token in tokens:
            if token.type == "html_inline":
                ends.subtract(closings(token.content))
                self.tags.read_tag(token.content, ends)
            else:
                self._add_words(token)
        return self.tags.end_line()

    def _add_words(self, token: Token) -> None:
        if token.type == "image":
            source, alternative = str(token.attrs.get("src") or ""), _alternative(token.children or ())
            self.targets.add(source)
            self.reader.picture({"src": source}, alternative)
            self.reader.text(alternative)
        elif token.type == "link_open":
            target = str(token.attrs.get("href") or "")
            self.targets.add(target)
            self.tags.start("a", {"href": target})
        elif token.type == "s_open":
            self.tags.start("s", {})
        elif token.type in ("link_close", "s_close"):
            self.tags.end("a" if token.type == "link_close" else "s")
        elif token.type in ("softbreak", "hardbreak"):
            self.reader.text(" ")
        elif token.type == "text":
            self._add_text(token.content)
        else:
            self.reader.text(token.content)

    def _add_text(self, text: str) -> None:
        """Add text without its references to footnotes."""
        place = 0
        for match in _REFERENCE.finditer(text):
            if match[1] in self.footnotes:
                self.reader.text(text[place : match.start()])
                before = "".join(self.reader.flow.pieces[-2:]).split()
                self.referred[match[1]] += f" {before[-1]}" if before else " nothing"
                place = match.end()
        self.reader.text(text[place:])


def _alternative(tokens: Sequence[Token]) -> str:
    """Return the words that stand for a picture."""
    pieces = (
        _alternative(token.children or ())
        if token.type == "image"
        else " "
        if token.type in ("softbreak", "hardbreak")
        else token.content
        for token in tokens
        if token.type != "html_inline"
    )
    return "".join(pieces)
