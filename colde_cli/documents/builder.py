"""Build a `Document` from headings, paragraphs and notes: for the readers of Word, OpenDocument, HTML and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from colde_cli.documents.clause_numbers import NumberedLine, place_numbers
from colde_cli.documents.document import Document, Part, ReadReport, SectionKind, Sections, finished, shown_as
from colde_cli.documents.headings.titles import kind_of
from colde_cli.documents.outside import Account
from colde_cli.documents.plain_text import read_text
from colde_cli.errors import LimitError, NoTextError

MAX_CHARACTERS = 20_000_000
"""Maximum number of characters of a document; the longest books have five million."""
MAX_PARAGRAPHS = 500_000
"""Maximum number of headings, paragraphs and notes of a document."""
_HEADING_LETTERS = 200
_HEADING_WORDS = 30
# Soft hyphens, marks of width zero and byte order marks cannot be seen; between two versions they are noise.
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def tidy(text: str) -> str:
    """Put single blanks between words and remove invisible characters."""
    return " ".join(_CONTROL.sub(" ", text.translate(_INVISIBLE)).split())


def tidy_lines(text: str) -> str:
    """Tidy each line of a table or of code; empty lines are left out."""
    return "\n".join(line for line in map(tidy, text.split("\n")) if line)


def too_much_text(path: str) -> LimitError:
    """Make the error for a document with more text than colde reads."""
    return LimitError(f"Cannot read {shown_as(path)}: it has more text than colde reads of one document; split it.")


@dataclass(slots=True)
class DocumentBuilder:
    """Builds a document section by section, in reading order."""

    path: str  # as the user gave it
    appendix: bool = False  # whether later sections are appendices, except the references
    account: Account = field(default_factory=Account)  # of what stands beside the text
    _sections: Sections = field(default_factory=Sections)
    _everything: list[str] = field(default_factory=list)
    _numbered: dict[int, Sequence[NumberedLine]] = field(default_factory=dict)  # by place in `_everything`
    _waiting: Sequence[NumberedLine] = ()
    _notes: set[int] = field(default_factory=set)  # places of notes there
    _characters: int = 0

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Level and text of the headings so far."""
        current = self._sections
        parts = [*current.parts, Part(current.heading, "", current.level)]
        return [(part.level, part.heading) for part in parts if part.heading]

    def number_next(self, *numbers: NumberedLine) -> None:
        """Let the heading or paragraph that is added next have numbers that are counted."""
        self._waiting = numbers

    def add_heading(self, text: str, level: int) -> None:
        """Begin a section; a text too long for a heading (a clause in its style) is a paragraph."""
        words = tidy(text)
        if len(words) > _HEADING_LETTERS or len(words.split()) > _HEADING_WORDS:
            self.add_paragraph(words)
        elif words:
            self._count(words)
            kind = kind_of(words, self._sections.kind)
            kind = SectionKind.APPENDIX if self.appendix and kind != SectionKind.REFERENCES else kind
            self._sections.begin(words, level, kind)

    def add_paragraph(self, text: str, *, lines: bool = False) -> None:
        """Add a paragraph; `lines` keeps its lines (tables, code)."""
        words = tidy_lines(text) if lines else tidy(text)
        if words:
            self._count(words)
            self._sections.paragraphs.append(words)

    def add_note(self, text: str) -> None:
        """Add a footnote; it is written at the end of its section."""
        words = tidy(text)
        if words:
            self._notes.add(len(self._everything))
            self._count(words)
            self._sections.notes.append(words)

    def build(
        self, title: str, name: str, warnings: Sequence[str] = (), notes: Sequence[str] = (), *, textless: bool = False
    ) -> Document:
        """Build the document; if no heading was marked, headings are found as in plain text.

        A missing `title` is the only heading of the highest level, else `name`. Warnings and notes (on text that was
        left out on purpose) are sentences for the user. If it may be `textless`, a document without text has
        no sections.

        Raises:
            NoTextError: nothing was added.
        """
        report = ReadReport(warnings=tuple(warnings), accounted=tuple(warnings), notes=tuple(notes))
        if not self._everything:
            if not textless:
                raise NoTextError(f"Cannot read {shown_as(self.path)}: it holds no text.")
            texts, parts = self.account.all_texts(), self.account.all_parts()
            return Document(self.path, tidy(title) or name, "", (), (), report, outside=texts, parts=parts)
        self._sections.end()
        levels = [level for level, _ in self.headings]
        if not levels:
            plain = read_text("\n\n".join(self._everything).encode(), self.path, name)
            plain = replace(plain, title=tidy(title) or plain.title, report=report)
            return self._with_numbers(replace(plain, outside=self.account.all_texts(), parts=self.account.all_parts()))
        top = min(levels)
        sections = [replace(part, level=part.level - top + 1) for part in self._sections.parts]
        first = next(heading for level, heading in self.headings if level == top)
        stated = tidy(title) or (first if levels.count(top) == 1 else "") or name
        return self._with_numbers(finished(self.path, stated, sections, report, self.account))

    def _with_numbers(self, document: Document) -> Document:
        if not self._numbered:
            return document
        paragraphs = [None if place in self._notes else words for place, words in enumerate(self._everything)]
        return document.with_numbers(place_numbers(document.text, paragraphs, self._numbered))

    def _count(self, words: str) -> None:
        if self._waiting:
            self._numbered[len(self._everything)], self._waiting = self._waiting, ()
        self._everything.append(words)
        self._characters += len(words)
        if self._characters > MAX_CHARACTERS or len(self._everything) > MAX_PARAGRAPHS:
            raise too_much_text(self.path)
