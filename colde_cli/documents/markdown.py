"""Markdown to a `Document`: its own headings, code kept as it is, marks of emphasis and links taken away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, assemble
from colde_cli.documents.headings.names import kind_of
from colde_cli.documents.text import decode, parts_of, shown_as
from colde_cli.errors import NoTextError

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])([ \t]*\1){2,}[ \t]*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
_QUOTE = re.compile(r"^\s*>\s?")  # with its ^: a > inside a line is text
_TITLE = re.compile(r"title\s*:\s*(.+)", re.IGNORECASE)
_TARGET = r"\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"  # of a link, which may hold (brackets)
# Labels have an end: without one, a million "[" would be read a million times to the end.
_INLINE = (
    (re.compile(rf"!\[([^\]]{{0,1000}})\]{_TARGET}"), r"\1"),
    (re.compile(rf"\[([^\]]{{1,1000}})\](?:{_TARGET}|\[[^\]]{{0,1000}}\])"), r"\1"),
    (re.compile(r"(?<!\\)<((?:https?|mailto):[^<>\s]+)>"), r"\1"),
)
_COMMENT = re.compile(r"(?<!\\)<!--"), re.compile(r"-->")
_EMPHASIS = (
    (re.compile(r"(?<!\\)\*\*(?=\S)"), re.compile(r"(?<=\S)\*\*")),
    (re.compile(r"(?<!\\)__(?=\S)"), re.compile(r"(?<=\S)__")),
    (re.compile(r"(?<![\\\w*])\*(?=\S)"), re.compile(r"(?<=\S)\*(?!\w)")),
    (re.compile(r"(?<![\\\w])_(?=\S)"), re.compile(r"(?<=\S)_(?!\w)")),
)
_CODE = re.compile(r"(?<!\\)(?<!(?<!\\)`)`+([^`]+)(?<!\\)`+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(slots=True)
class _Reader:
    """Gathers sections line by line."""

    parts: list[Part] = field(default_factory=list)
    heading: str = ""
    level: int = 0
    kind: SectionKind = SectionKind.FRONT
    paragraphs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def end_paragraph(self) -> None:
        text = plain(" ".join(line.strip() for line in self.lines))
        if text:
            self.paragraphs.append(text)
        self.lines = []

    def begin_section(self, heading: str, level: int) -> None:
        self.end_section()
        self.heading, self.level = heading, level
        self.kind = kind_of(heading, self.kind) if heading else self.kind

    def end_section(self) -> None:
        self.end_paragraph()
        self.parts.extend(parts_of(self.heading, self.paragraphs, self.level, self.kind))
        self.paragraphs = []


def read_markdown(data: bytes, path: str, name: str) -> Document:
    """Markdown with ATX and setext headings; front matter is left out, but for its title.

    Raises:
        NoTextError: nothing but blanks.
        UnsupportedFormatError: the bytes are no text.
    """
    text, warnings = decode(data, path)
    lines, stated = _without_front_matter(text.replace("\f", "\n").split("\n"))
    reader = _Reader()
    _read_lines(reader, lines)
    headings = [part for part in reader.parts if part.heading]
    top = min((part.level for part in headings), default=0)
    opening = next((part.heading for part in headings if part.level == top), name)
    only_text = [] if headings else [Part("", part.text, 0, SectionKind.BODY) for part in reader.parts]
    document = assemble(path, stated or opening, only_text or reader.parts, ReadReport(warnings=warnings))
    if not document.sections:
        raise NoTextError(f"{shown_as(path)} holds no text.")
    return document


def _without_front_matter(lines: list[str]) -> tuple[list[str], str]:
    """Lines after a block of YAML between rows of dashes, and the title in it."""
    if not lines or lines[0].rstrip() != "---":
        return lines, ""
    for end, line in enumerate(lines[1:200], start=1):
        if line.rstrip() in ("---", "..."):
            titles = (_TITLE.match(entry) for entry in lines[1:end])
            title = next((found.group(1).strip().strip("\"'") for found in titles if found), "")
            return lines[end + 1 :], title
    return lines, ""


def _read_lines(reader: _Reader, lines: Sequence[str]) -> None:
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0])
            if closes:
                reader.paragraphs.append("\n".join(reader.lines))
                reader.lines, fence = [], ""
            else:
                reader.lines.append(line)
        elif mark:
            reader.end_paragraph()
            fence = mark.group(1)
        else:
            _read_line(reader, line)
    reader.end_section()


def _read_line(reader: _Reader, line: str) -> None:
    atx = _ATX.match(line.rstrip())
    setext = _SETEXT.match(line)
    if atx:
        reader.begin_section(plain(_without_closing(atx.group(2) or "")), len(atx.group(1)))
    elif setext and reader.lines and not _ITEM.match(reader.lines[0]):
        title = plain(" ".join(part.strip() for part in reader.lines))
        reader.lines = []
        reader.begin_section(title, 1 if setext.group(1)[0] == "=" else 2)
    elif not line.strip() or _RULE.match(line):
        reader.end_paragraph()
    elif _ITEM.match(line) or line.lstrip().startswith("|"):
        reader.end_paragraph()
        reader.lines.append(line)
    else:
        reader.lines.append(_QUOTE.sub("", line, count=1))


def _without_closing(heading: str) -> str:
    """A heading without the row of # that may close it."""
    bare = heading.rstrip("#")
    return heading if bare and not bare[-1].isspace() else bare


def plain(text: str) -> str:
    """Words without the marks of emphasis, links and images."""
    text = _unwrapped(text, *_COMMENT, keep=False)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    for opening, closing in _EMPHASIS:
        text = _unwrapped(text, opening, closing)
    return " ".join(_ESCAPED.sub(r"\1", _CODE.sub(r"\1", text)).split())


def _unwrapped(text: str, opening: re.Pattern[str], closing: re.Pattern[str], *, keep: bool = True) -> str:
    """Text without pairs of marks, and without what stands between them unless it is to be kept.

    One expression for both would look to the end of the text for every mark that nothing closes.
    """
    pieces, place = [], 0
    while (first := opening.search(text, place)) and (last := closing.search(text, first.end() + keep)):
        pieces += [text[place : first.start()], text[first.end() : last.start()] if keep else ""]
        place = last.end()
    return "".join(pieces) + text[place:]
