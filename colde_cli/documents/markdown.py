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
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, Sections, finished, shown_as
from colde_cli.documents.headings.titles import kind_of
from colde_cli.documents.html.elements import ElementReader, address
from colde_cli.documents.html.flow import BLOCKS, DELIMITER, LAYOUT, MOST_ABOUT, Marks, TextFlow
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


def closings(source: str) -> Counter[str]:
    """How often a source ends elements, by their names."""
    return Counter(name.lower() for name in _CLOSING.findall(source))


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

    def read_block(self, source: str, later: Counter[str]) -> None:
        """Read a block; `later` counts by name the elements that end in it or in later blocks."""
        place, comments = 0, source.rfind("-->")
        while (start := source.find("<", place)) >= 0:
            self._text(source[place:start])
            if source.startswith("<!--", start) and start + 4 <= comments:
                place = source.index("-->", start + 4) + 3
            elif tag := _tag_at(source, start):
                place = self._read_tag(source, tag, later)
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
        """Begin a line: what is open now does not end before `end_line`."""
        self._base = len(self._open)

    def read_tag(self, source: str, later: Counter[str]) -> None:
        """Read a tag within a line; `later` counts by name the elements that end later in it."""
        if tag := _tag_at(source, 0):
            self._read_tag("", tag, later)

    def end_line(self) -> None:
        """End the elements that began in a line."""
        while len(self._open) > self._base:
            self._end()
        self._base = 0

    def close(self) -> None:
        """End all elements."""
        self.end_line()
        self.reader.close()

    def _read_tag(self, source: str, tag: re.Match[str], later: Counter[str]) -> int:
        """Read a tag, of a block with its source; returns where to go on."""
        name, place = tag["name"].lower(), tag.end()
        if tag["end"]:
            later[name] -= 1
            self.end(name)
            return place
        marks = _marks(tag["marks"])
        if name in _RAW and (ending := re.compile(rf"</{name}\b[^<>]*>?", re.IGNORECASE).search(source, place)):
            self.start(name, marks)
            self.reader.text(source[place : ending.start()])
            later[name] -= 1
            self.end(name)
            return ending.end()
        if name == "table":
            within = source[place : source.lower().find("</table", place)] if later[name] > 0 else "<table"
            marks = {**marks, LAYOUT: ""} if _INNER.search(within) else marks
        self.start(name, marks, ends=later[name] > 0 and (name not in _RAW or not source))
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


class _TokenReader:
    """Reads the tokens of the parser as the elements of the page that they make."""

    def __init__(self, footnotes: set[str]) -> None:
        self.footnotes = footnotes  # names of those that are defined; references to them are left out of the text
        self.targets: set[str] = set()  # of all links and pictures
        self.account, self.sections = Account(), Sections()
        self._referred: dict[str, str] = {}  # footnotes, and the words before their references
        self._reader = ElementReader(self.account, self._add_paragraph)
        self._tags = TagReader(self._reader)
        self._in_code = False

    def read(self, tokens: Sequence[Token]) -> list[Part]:
        """Gather the sections of a whole document."""
        names = (name for one in tokens if one.type == "inline" for name in _REFERENCE.findall(one.content))
        self._referred = dict.fromkeys(filter(self.footnotes.__contains__, names), "")
        later = closings("\n".join(token.content for token in tokens if token.type == "html_block"))
        noted: list[tuple[str, str]] = []
        for token, following in zip_longest(tokens, tokens[1:], fillvalue=Token("", "", 0)):
            if token.type == "html_block":
                self._tags.read_block(token.content, later)
            elif token.type == "footnote_open":
                noted += self._add_note(token.info, following)
                following.children = []
            else:
                self._read(token, following)
        self._tags.close()
        self.sections.end()
        for name, words in noted:
            self._structure(f"after{self._referred[name]}", words)
        return self.sections.parts

    def _read(self, token: Token, following: Token) -> None:
        if token.type == "inline":
            self._add_line(token.children or ())
        elif token.type in ("fence", "code_block"):
            self._add_code(token)
        elif token.hidden:  # a paragraph of a list without blank lines
            pass
        elif token.type == "list_item_open":
            self._begin_item(token)
        elif token.nesting < 0:
            self._tags.end(token.tag)
            self._reader.heading = None
        elif token.tag:
            if token.type == "heading_open" and token.level == 0:
                self._reader.heading = self._begin_section
            elif token.type == "heading_open":
                self._structure(f"level {token.tag[1]}", _alternative(following.children or ()))
            self._tags.start(token.tag, _attributes(token))

    def _begin_section(self, words: str, level: int) -> None:
        self.sections.begin(words, level, kind_of(words, self.sections.kind))

    def _begin_item(self, token: Token) -> None:
        lists = self._reader.flow.lists
        if token.info and lists and token.info != str(lists[-1].number):  # a reader of the source sees this number
            self.account.add_text(OutsideKind.STRUCTURE, f"{token.info}{token.markup}", f"item {lists[-1].number}")
        self._tags.start("li", {})

    def _add_note(self, name: str, inline: Token) -> list[tuple[str, str]]:
        outer = self._reader.flow
        self._reader.flow = TextFlow(outer.kind, outer.about, inline=True)
        self._add_line(inline.children or ())
        words, self._reader.flow = self._reader.flow.line(), outer
        if name not in self._referred:
            self.account.add_text(OutsideKind.NOTES, words)
            return []
        self.sections.notes += [words] if words else []
        return [(name, words)]

    def _add_code(self, token: Token) -> None:
        self._reader.flush()
        flow, code, self._in_code = self._reader.flow, token.content.strip("\n"), True
        if code.strip():
            self._reader.emit(flow.mark + code, lines=True, code=True)
            flow.mark = ""
        self._in_code = False
        self._structure(token.info, code.partition("\n")[0])

    def _add_paragraph(self, text: str, lines: bool) -> None:
        # Signs that cannot be seen stay: in a source they are typed, and a comparison must tell of them.
        rows = [" ".join(row.split()) for row in (text.split("\n") if lines else [text])]
        words = text.rstrip() if self._in_code else "\n".join(filter(None, rows))
        self.sections.paragraphs += [words] if words else []

    def _structure(self, text: str, about: str) -> None:
        self.account.add_text(OutsideKind.STRUCTURE, text, about[:MOST_ABOUT])

    def _add_line(self, tokens: Sequence[Token]) -> None:
        later = closings("".join(token.content for token in tokens if token.type == "html_inline"))
        flow = self._reader.flow
        if tokens and flow.mark and (task := _TASK.match(tokens[0].content)) and not "".join(flow.pieces).strip():
            self._reader.text(f"{UNTICKED if task[1] == ' ' else TICKED} ")
            tokens[0].content = tokens[0].content[task.end() :]
        self._tags.begin_line()
        for token in tokens:
            if token.type == "html_inline":
                self._tags.read_tag(token.content, later)
            elif token.nesting < 0:
                self._tags.end(token.tag)
            elif token.nesting or token.type == "image":
                marks = _attributes(token)
                self.targets.update(marks[name] for name in ("href", "src") if name in marks)
                self._tags.start(token.tag, marks)
            elif token.type == "text":
                self._add_text(token.content)
            else:
                self._reader.text(token.content or " ")  # code, or a break
        self._tags.end_line()

    def _add_text(self, text: str) -> None:
        """Add text without its references to footnotes."""
        place = 0
        for match in _REFERENCE.finditer(text):
            if match[1] in self.footnotes:
                self._reader.text(text[place : match.start()])
                before = "".join(self._reader.flow.pieces[-2:]).split()
                self._referred[match[1]] += f" {before[-1]}" if before else " nothing"
                place = match.end()
        self._reader.text(text[place:])


def _attributes(token: Token) -> dict[str, str]:
    """The attributes of an element; a picture has its words as a text, and a list what stands after its numbers."""
    marks = {name: str(value) for name, value in token.attrs.items()}
    if token.type == "image":
        marks["alt"] = _alternative(token.children or ())
    return marks | ({DELIMITER: token.markup} if token.type == "ordered_list_open" else {})


def _alternative(tokens: Sequence[Token]) -> str:
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
