"""Read Markdown: CommonMark with tables and footnotes, parsed by markdown-it-py.

Emphasis marks, links, entities and HTML tags are removed, words stay. A paragraph, a list item, a block of code and a
table are one paragraph each; code and tables keep their lines, items their mark ("-", "2."). A footnote is written at
the end of the section that defines it, as in Word documents.

Only headings at the outermost level begin sections. A heading in a quotation or in a list is text: it divides the
quotation, and text after the quotation does not belong under it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, assemble
from colde_cli.documents.headings.wording import kind_of
from colde_cli.documents.text import decode, parts_of, shown_as
from colde_cli.errors import LimitError, NoTextError

MAX_NESTING = 100
"""Maximum depth of nested quotations and lists; a list counts twice, once for itself and once for its item."""
_INLINE_NESTING = 20  # nested brackets; deeper ones are text, so that a million "[" are soon read
MAX_FRONT_MATTER = 200
"""Maximum number of lines of YAML before the text."""
_ENTRY = re.compile(r"\w[\w .-]*:(\s|$)")
_TITLE = re.compile(r"title\s*:\s*(.+)", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,80})\]:[ \t]*")
_REFERENCE = re.compile(r"\[\^([^\]\s]{1,80})\]")
# HTML: elements dropped with their text (opening, closing), tags that end a paragraph, and all other tags.
_DROPPED = (
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<script\b[^<>]*>", re.IGNORECASE), re.compile(r"</script\b[^<>]*>", re.IGNORECASE)),
    (re.compile(r"<style\b[^<>]*>", re.IGNORECASE), re.compile(r"</style\b[^<>]*>", re.IGNORECASE)),
)
_BLOCK_TAG = re.compile(
    r"</?(address|article|aside|blockquote|body|center|caption|dd|details|div|dl|dt|figcaption|figure|footer|form"
    r"|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|summary|table|tbody|tfoot|thead|title|tr|ul)\b[^<>]*>",
    re.IGNORECASE,
)
_BLANK_TAG = re.compile(r"<(br|/?td|/?th)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_HIDING_TAG = re.compile(r"<(/?)(script|style)\b", re.IGNORECASE)


def read_markdown(data: bytes, path: str, name: str) -> Document:
    """Read Markdown; front matter is left out, except its title.

    Args:
        data: of the file.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        NoTextError: it has no text.
        UnsupportedFormatError: the bytes are no text.
        LimitError: quotations and lists are nested deeper than `MAX_NESTING`.
    """
    text, warnings = decode(data, path)
    lines, stated = _split_front_matter(text.replace("\f", "\n").split("\n"))
    env: dict[str, set[str]] = {"footnotes": set()}
    tokens = _parser().parse("\n".join(lines), env)
    # The parser silently drops text that is nested deeper.
    if any(token.nesting == 1 and token.level >= MAX_NESTING - 1 for token in tokens):
        raise LimitError(
            f"Cannot read {shown_as(path)}: it nests lists or quotations more than {MAX_NESTING // 2} deep;"
            " use fewer levels."
        )
    parts = _Sections(env["footnotes"]).read(tokens)
    headings = [part for part in parts if part.heading]
    if not headings:
        parts = [Part("", part.text, 0, SectionKind.BODY) for part in parts]
    top = min((part.level for part in headings), default=0)
    title = stated or next((part.heading for part in headings if part.level == top), name)
    document = assemble(path, title, parts, ReadReport(warnings=warnings))
    if not document.sections:
        raise NoTextError(f"Cannot read {shown_as(path)}: it holds no text.")
    return document


def _split_front_matter(lines: list[str]) -> tuple[list[str], str]:
    """Return the lines after a YAML block between rows of dashes, and the title in the block."""
    if lines[0].rstrip() != "---":
        return lines, ""
    for end, line in enumerate(lines[1:MAX_FRONT_MATTER], start=1):
        if line.rstrip() in ("---", "..."):
            matter = lines[1:end]
            if any(map(str.strip, matter)) and not any(map(_ENTRY.match, matter)):
                return lines, ""  # text between two rules
            titles = (_TITLE.match(entry) for entry in matter)
            title = next((match.group(1).strip().strip("\"'") for match in titles if match), "")
            return lines[end + 1 :], title
    return lines, ""


def _parser() -> MarkdownIt:
    """Make a parser of CommonMark, tables and footnotes (`footnote_open`, `inline`, `footnote_close`)."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
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
    state.push("footnote_open", "", 1)
    inline = state.push("inline", "", 0)
    lines = state.getLines(start, state.line, state.blkIndent, False)
    inline.content, inline.children = _FOOTNOTE.sub("", lines.strip(), count=1), []
    state.push("footnote_close", "", -1)
    return True


def _match_footnote(state: StateBlock, line: int) -> re.Match[str] | None:
    return _FOOTNOTE.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


@dataclass(slots=True)
class _Sections:
    """Gathers sections from the tokens of the parser.

    Attributes:
        footnotes: names of the footnotes; references to them are left out of the text.
    """

    footnotes: set[str]
    parts: list[Part] = field(default_factory=list)
    heading: str = ""
    level: int = 0
    kind: SectionKind = SectionKind.FRONT
    paragraphs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    mark: str = ""  # of list items that have no words yet
    rows: list[list[str]] = field(default_factory=list)

    def read(self, tokens: Sequence[Token]) -> list[Part]:
        """Gather the sections of a whole document."""
        opening = None
        for token in tokens:
            if token.type == "inline":
                self._add_inline(token, opening)
            elif token.type == "html_block":
                for paragraph in _html_paragraphs(token.content):
                    self._add_paragraph(paragraph)
            elif token.type in ("fence", "code_block"):
                self._add_paragraph(token.content.strip("\n"))
            elif token.type == "list_item_open":
                self.mark += f"{token.info}{token.markup} "
            elif token.type == "list_item_close":
                self._add_paragraph("")
            elif token.type == "tr_open":
                self.rows.append([])
            elif token.type == "table_close":
                self._add_paragraph("\n".join(" | ".join(row) for row in self.rows if any(row)))
                self.rows = []
            opening = token
        self._end_section()
        return self.parts

    def _add_inline(self, token: Token, opening: Token | None) -> None:
        """Add words to the heading, item or paragraph opened by the token before them."""
        words = " ".join(_inline_text(token.children or (), self.footnotes).split())
        kind = opening.type if opening else ""
        if opening and kind == "heading_open" and opening.level == 0:
            self._end_section()
            self.heading, self.level = words, int(opening.tag[1])
            self.kind = kind_of(words, self.kind) if words else self.kind
        elif kind == "footnote_open":
            self.notes += [words] if words else []
        elif kind in ("th_open", "td_open"):
            self.rows[-1].append(words)
        else:
            self._add_paragraph(words)

    def _add_paragraph(self, words: str) -> None:
        if words.strip() or self.mark:
            self.paragraphs.append((self.mark + words).rstrip())
            self.mark = ""

    def _end_section(self) -> None:
        paragraphs = [*self.paragraphs, *self.notes]
        self.parts.extend(parts_of(self.heading, paragraphs, self.level, self.kind))
        self.paragraphs, self.notes = [], []


def _inline_text(tokens: Sequence[Token], footnotes: set[str]) -> str:
    """Return the words of a paragraph or a heading, with the alternative text of images."""
    pieces: list[str] = []
    for token in _without_scripts(tokens):
        if token.type == "image":
            pieces.append(_inline_text(token.children or (), footnotes))
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type == "html_inline":
            pieces.append(" " if _BLANK_TAG.match(token.content) else "")
        elif token.type == "text":
            pieces.append(
                _REFERENCE.sub(lambda match: "" if match[1] in footnotes else match[0], token.content)
            )
        else:
            pieces.append(token.content)
    return "".join(pieces)


def _without_scripts(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens outside of closed scripts and style sheets."""
    tags = {
        n: _HIDING_TAG.match(token.content) for n, token in enumerate(tokens) if token.type == "html_inline"
    }
    ends = {tag[2].lower(): n for n, tag in tags.items() if tag and tag[1]}
    within = ""
    for number, token in enumerate(tokens):
        tag = tags.get(number)
        if tag and within == tag[2].lower() and tag[1]:
            within = ""
        elif tag and not within and not tag[1] and number < ends.get(tag[2].lower(), 0):
            within = tag[2].lower()
        elif not within:
            yield token


def _html_paragraphs(source: str) -> Iterable[str]:
    """Cut a block of HTML into paragraphs."""
    for opening, closing in _DROPPED:
        source = _without_pairs(source, opening, closing)
    blocks = _BLOCK_TAG.sub("\n\n", _BLANK_TAG.sub(" ", source))
    paragraphs = (html.unescape(_TAG.sub("", block)) for block in re.split(r"\n\s*\n", blocks))
    return (" ".join(paragraph.split()) for paragraph in paragraphs)


def _without_pairs(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    """Remove pairs of marks and the text between them; an unclosed mark stays.

    A single expression for both would search to the end of the text for every unclosed mark.
    """
    pieces, place = [], 0
    while (first := opening.search(text, place)) and (last := closing.search(text, first.end())):
        pieces.append(text[place : first.start()])
        place = last.end()
    return "".join(pieces) + text[place:]
