"""Headings and paragraphs, one after another, to a `Document`: what the readers of marked-up sources share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, assemble
from colde_cli.documents.headings.names import kind_of
from colde_cli.documents.text import parts_of, read_text
from colde_cli.errors import LimitError, NoTextError

MAX_CHARACTERS = 20_000_000
"""Text of one document; the longest books have five million characters."""
MAX_PARAGRAPHS = 500_000
"""Headings, paragraphs and notes of one document."""
_HEADING_LETTERS = 200
_HEADING_WORDS = 30
# Soft hyphens, marks of width zero and byte order marks: invisible, and noise between two versions.
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def tidy(text: str) -> str:
    """Words with single blanks between them, without invisible characters."""
    return " ".join(_CONTROL.sub(" ", text.translate(_INVISIBLE)).split())


def tidy_lines(text: str) -> str:
    """The same line by line, empty lines left out: rows of tables, code."""
    return "\n".join(line for line in map(tidy, text.split("\n")) if line)


@dataclass(slots=True)
class DocumentBuilder:
    """Gathers sections in reading order.

    Attributes:
        path: as the user gave it, for messages.
        kind: the part that the section being gathered plays.
        appendix: from now on sections are appendices, whatever they are called, but for the references.
    """

    path: str
    kind: SectionKind = SectionKind.FRONT
    appendix: bool = False
    _parts: list[Part] = field(default_factory=list)
    _heading: str = ""
    _level: int = 0
    _paragraphs: list[str] = field(default_factory=list)
    _notes: list[str] = field(default_factory=list)
    _everything: list[str] = field(default_factory=list)
    _characters: int = 0
    _pieces: int = 0

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Level and words of the headings so far."""
        current = [(self._level, self._heading)] if self._heading else []
        return [(part.level, part.heading) for part in self._parts if part.heading] + current

    def heading(self, text: str, level: int) -> None:
        """Begin a section; what is too long to be a heading (a clause in its style) is a paragraph."""
        words = tidy(text)
        if not words:
            return
        if len(words) > _HEADING_LETTERS or len(words.split()) > _HEADING_WORDS:
            self.paragraph(words)
            return
        self._count(words)
        self._end_section()
        self._heading, self._level = words, level
        kind = kind_of(words, self.kind)
        self.kind = SectionKind.APPENDIX if self.appendix and kind != SectionKind.REFERENCES else kind

    def paragraph(self, text: str, *, lines: bool = False) -> None:
        """Add a paragraph; `lines` keeps its lines (tables, code)."""
        words = tidy_lines(text) if lines else tidy(text)
        if words:
            self._count(words)
            self._paragraphs.append(words)

    def note(self, text: str) -> None:
        """Add a footnote, which stands at the end of its section."""
        words = tidy(text)
        if words:
            self._count(words)
            self._notes.append(words)

    def document(
        self, title: str, name: str, warnings: Sequence[str] = (), notes: Sequence[str] = ()
    ) -> Document:
        """Everything gathered; text without a single heading is searched for them as plain text is.

        Args:
            title: as stated in the source; "" takes the heading that stands above all others, else `name`.
            name: the file's name.
            warnings: sentences for the user.
            notes: sentences on what was left out on purpose.

        Raises:
            NoTextError: nothing was gathered.
        """
        self._end_section()
        report = ReadReport(warnings=tuple(warnings), notes=tuple(notes))
        levels = [level for level, _ in self.headings]
        if not self._pieces:
            raise NoTextError(f"{self.path} holds no text that can be read.")
        if not levels:
            plain = read_text("\n\n".join(self._everything).encode(), self.path, name)
            return replace(plain, title=tidy(title) or plain.title, report=report)
        top = min(levels)
        parts = [replace(part, level=part.level - top + 1) for part in self._parts]
        first = next(heading for level, heading in self.headings if level == top)
        stated = tidy(title) or (first if levels.count(top) == 1 else "") or name
        return assemble(self.path, stated, parts, report)

    def _count(self, words: str) -> None:
        self._everything.append(words)
        self._characters += len(words)
        self._pieces += 1
        if self._characters > MAX_CHARACTERS or self._pieces > MAX_PARAGRAPHS:
            raise LimitError(f"{self.path} has more text than colde reads of one document; split it.")

    def _end_section(self) -> None:
        texts = [*self._paragraphs, *self._notes]
        self._parts.extend(parts_of(self._heading, texts, self._level, self.kind))
        self._heading, self._level, self._paragraphs, self._notes = "", 0, [], []
