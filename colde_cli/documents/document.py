"""A `Document` and its parts: sections, and the chunks and passages cut from them.

Document › Section › Chunk (at most 512 tokens) › Passage (a paragraph or a few sentences).
All spans are character offsets into `Document.text`, so that every score can be traced to a page. A document goes to an
index, and comes back from a reader process, as plain data that JSON can hold.
"""

from __future__ import annotations

import re
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from colde_cli.documents.clause_numbers import ClauseNumber
from colde_cli.documents.outside import Account, OutsideKind, OutsideText, PartKind, UnreadPart
from colde_cli.errors import NoTextError

PLAIN_WORDS = 2000
"""Text without headings is cut into sections of about this many words, between paragraphs."""

_NAME_SHOWN = 100

BLANK_LINES = re.compile(r"\n\s*\n\s*")
"""What stands between the paragraphs of a document."""


_FRONT_WORDS = 120  # longer text before the first heading holds more than title, authors and venue, such as an abstract

_FEWEST_WORDS = 5  # shorter sections, such as "Not applicable.", tell nothing of a document's subject

_FORMAL = re.compile(
    r"[\d.\s]*(?:acknowledge?ments?|contributors?|(?:sources of )?funding(?: statement| information)?"
    r"|(?:declarations? of |statements? of )?(?:conflicts? of|competing)(?: financial)? interests?(?: statements?)?"
    r"|declaration of interests?|disclosures?|author(?:s|'s|s')? (?:contributions?|addresse?s?|details|information)"
    r"|(?:full )?copyright(?: notice| statement)?|licen[cs]es?|intellectual property(?: statement| rights)?"
    r"|requirements (?:language|notation)|conventions used in this document|status of this memo"
    r"|data (?:availability|deposition)(?: statement)?|(?:table of )?contents|keywords|index terms"
    r"|publisher's note|supplementary (?:materials?|information|data)|consent for publication|abbreviations)\W*",
    re.IGNORECASE,
)
"""Headings of the sections that documents of one kind share, whatever they are about."""


class SectionKind(StrEnum):
    """The role of a section in a document."""

    FRONT = "front"
    """Text before the first heading (title, authors, a letterhead)."""
    ABSTRACT = "abstract"
    BODY = "body"
    REFERENCES = "references"
    APPENDIX = "appendix"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters, `text[start:end]`."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def shifted(self, by: int) -> Span:
        """The same number of characters, further on."""
        return Span(self.start + by, self.end + by)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text under it, up to the next heading of any level.

    Attributes:
        index: position in `Document.sections`.
        heading: as printed, numbering included; "" where text has no heading.
        number: that the program counts before the heading, as a reference names it; it is not part of `heading`.
        level: 1 for the outermost headings; 0 for text without a heading.
        span: heading and body together.
        body_start: where the body begins; equals `span.start` where there is no heading.
        pages: first and last page (1-based, inclusive); None where the source has no pages.
    """

    index: int
    heading: str
    level: int
    kind: SectionKind
    span: Span
    body_start: int
    pages: tuple[int, int] | None = None
    number: str = ""

    @property
    def is_formal(self) -> bool:
        """Whether its heading is one that documents share whatever they are about: references, acknowledgements."""
        return self.kind is SectionKind.REFERENCES or _FORMAL.fullmatch(self.heading) is not None


@dataclass(frozen=True, slots=True)
class Chunk:
    """At most `chunk_tokens` tokens of one section: the unit that the encoder reads.

    Attributes:
        index: position among the chunks of the document.
        section: index of its section.
        position: its number within the section, q in the paper (CoLDE §3.1).
        ids: token ids, `[CLS]` first and `[SEP]` last.
        pages: first and last page; None where the source has no pages.
    """

    index: int
    section: int
    position: int
    span: Span
    ids: tuple[int, ...]
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """Text that was left out because a template named by the user contains it, too.

    Attributes:
        stretches: number of runs of sentences.
        words: number of words in them.
        sections: headings of the sections that were left out whole.
    """

    stretches: int = 0
    words: int = 0
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OcrReport:
    """What was read from pictures of pages."""

    pages: tuple[int, ...]  # 1-based numbers of the pages that were read so
    lowest: float  # confidence of the least certain word, 0 to 1
    mean: float  # of the confidences of all words
    # begin and end, in the text of the document, of the words whose reading is uncertain
    doubtful: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ReadReport:
    """The parts of a source that a reader could not use, so that nothing is dropped in silence.

    Attributes:
        pages: pages of the source; None where it has none.
        pages_without_text: 1-based numbers of pages that gave no text (scans, figures, blanks).
        unreadable_characters: number of characters without a meaning in Unicode (no character map in the PDF).
        unread_values: least number of form fields with unreadable values; with any, texts never count as the same.
        skipped_sections: headings of sections left out at the user's wish.
        warnings: sentences for the user.
        accounted: those of `warnings` that are about what stands in `Document.parts`, or about how bytes were decoded:
            equal parts and equal texts are the same all the same.
        notes: sentences on text left out on purpose (running heads, page numbers), for `--verbose`.
        ignored: text of templates that was left out; None where no template was named.
        chosen_pages: first and last page read at the user's wish; None for all.
        unmatched_patterns: patterns of sections, given by the user, that no section matches.
        counted_numbers: the word processor counts headings or list items; their numbers are not part of the text.
        tracked: number of tracked changes of a file of an editor.
        rejected: they were read as rejected; they are read as accepted otherwise.
        divided_words: words that the end of a line divided, in lower case without their hyphen: whether the hyphen
            belongs to the word is a guess.
        ocr: what OCR read; None where every page had a text of its own.
    """

    pages: int | None = None
    pages_without_text: tuple[int, ...] = ()
    unreadable_characters: int = 0
    unread_values: int = 0
    skipped_sections: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    accounted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ignored: Ignored | None = None
    chosen_pages: tuple[int, int] | None = None
    unmatched_patterns: tuple[str, ...] = ()
    counted_numbers: bool = False
    divided_words: tuple[str, ...] = ()
    tracked: int = 0
    rejected: bool = False
    ocr: OcrReport | None = None

    def tracked_data(self) -> dict[str, Any]:
        """As JSON, where there are tracked changes: how many, and as what they were read."""
        return {"tracked_changes": {"count": self.tracked, "read_as": self.tracked_as}} if self.tracked else {}

    @property
    def tracked_as(self) -> str:
        """As what tracked changes were read: "accepted" or "rejected"."""
        return "rejected" if self.rejected else "accepted"


class FileCopy:
    """A copy of a source that cannot be opened again, such as standard input; it ends with its document."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = Lock()
        # An exception can hold both in a circle. With `__del__` Python may then collect the file first, still open.
        weakref.finalize(self, file.close)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The copy, from its beginning; for one thread at a time."""
        with self._lock:
            self._file.seek(0)
            yield self._file

    def close(self) -> None:
        """Delete it."""
        self._file.close()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A document that goes to another process leaves it behind."""
        return type(None), ()


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A document as text in reading order, with its sections.

    Attributes:
        path: as the user gave it; "-" for standard input, "" for text without a file.
        title: as printed, else the file's name.
        text: the whole text, paragraphs separated by a blank line.
        sections: in reading order; they cover all of `text` except blanks between them.
        page_starts: offset in `text` at which each page begins; empty where the source has no pages.
        format: "pdf", "picture", "docx", "odt", "html", "tex", "markdown" or "text"; "" for text without a file.
        digest: SHA-256 of the bytes of the file; "" for text without a file.
        outside: texts that are not part of `text`, in the order of the file.
        parts: what the file holds that is not read, in its order.
        numbers: that a program counts before headings, paragraphs and rows of tables, in the order of `text`.
        copy: of a source that cannot be opened again, or of a picture as a PDF; None of other sources, and where nobody
            would look at it again.
    """

    path: str
    title: str
    text: str
    sections: tuple[Section, ...]
    page_starts: tuple[int, ...] = ()
    report: ReadReport = field(default_factory=ReadReport)
    format: str = ""
    digest: str = ""
    outside: tuple[OutsideText, ...] = ()
    parts: tuple[UnreadPart, ...] = ()
    numbers: tuple[ClauseNumber, ...] = ()
    copy: FileCopy | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        name = (self.path or self.title)[-_NAME_SHOWN:]
        return f"Document({name!r}, format={self.format!r}, sections={len(self.sections)}, characters={len(self.text)})"

    @property
    def beside(self) -> tuple[OutsideText | UnreadPart, ...]:
        """All that stands beside the text: texts, then parts."""
        return (*self.outside, *self.parts)

    def section_text(self, section: Section) -> str:
        """Return heading and body of a section."""
        return self.text[section.span.start : section.span.end]

    def heading_span(self, section: Section) -> Span:
        """Find the characters of a heading, without the blanks after it."""
        heading = self.text[section.span.start : section.body_start]
        return Span(section.span.start, section.span.start + len(heading.rstrip()))

    def subsections(self, section: Section) -> tuple[Section, ...]:
        """Find the sections under `section`: all deeper ones before the next section of its own level or above."""
        following = (self.sections[index] for index in range(section.index + 1, len(self.sections)))
        deeper = takewhile(lambda other: other.level > section.level, following)
        return tuple(deeper) if section.level else ()

    def content_sections(self) -> list[int]:
        """Find the sections by which two documents can be close, as indices.

        Left out are bare headings, lists of references, acknowledgements and the like, and title, authors and venue
        before the first heading: they are alike in documents that have little else in common. If nothing else is
        there, they count.
        """
        with_text = [section for section in self.sections if self._body(section).strip()]
        informal = [section for section in with_text if not section.is_formal]
        long = [section for section in informal if len(self._body(section).split()) >= _FEWEST_WORDS]
        telling = long or informal or with_text
        if len(telling) > 1 and telling[0].kind is SectionKind.FRONT:
            few = len(self.section_text(telling[0]).split()) < _FRONT_WORDS
            telling = telling[1:] if few else telling
        return [section.index for section in telling]

    def _body(self, section: Section) -> str:
        return self.text[section.body_start : section.span.end]

    def pages_of(self, span: Span) -> tuple[int, int] | None:
        """Find the first and last page (1-based) that `span` touches; None where the source has no pages."""
        return pages_of(self.page_starts, span)

    def numbers_of(self, span: Span) -> tuple[ClauseNumber, ...]:
        """Find the counted numbers of a stretch: of the paragraph or row in which it begins, and of those after it."""
        first = bisect_right(self.numbers, span.start, key=lambda number: number.start)
        last = bisect_left(self.numbers, span.end, first, key=lambda number: number.start)
        first -= bool(first and span.start < self.numbers[first - 1].end)
        return self.numbers[first:last]

    def with_numbers(self, numbers: Iterable[ClauseNumber]) -> Document:
        """The same document with counted numbers; those of headings become numbers of their sections."""
        placed = tuple(numbers)
        of_place = {number.start: number.label for number in placed}
        sections = (
            replace(section, number=of_place.get(section.span.start, "") if section.heading else "")
            for section in self.sections
        )
        return replace(self, sections=tuple(sections), numbers=placed)


def pages_of(page_starts: tuple[int, ...], span: Span) -> tuple[int, int] | None:
    """Find the first and last page (1-based) that `span` touches, given the offset at which each page begins."""
    if not page_starts:
        return None
    first = max(1, bisect_right(page_starts, span.start))
    last = max(first, bisect_right(page_starts, max(span.start, span.end - 1)))
    return first, last


@dataclass(frozen=True, slots=True)
class Part:
    """A section before it has a place in a document."""

    heading: str
    text: str
    level: int = 1
    kind: SectionKind = SectionKind.BODY


@dataclass(slots=True)
class Sections:
    """Gathers sections in reading order."""

    # of the current section, as are its heading, level, paragraphs and notes; notes follow the paragraphs
    kind: SectionKind = SectionKind.FRONT
    parts: list[Part] = field(default_factory=list)  # the sections that have ended
    heading: str = ""
    level: int = 0
    paragraphs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def begin(self, heading: str, level: int, kind: SectionKind) -> None:
        """End the current section and begin another."""
        self.end()
        self.heading, self.level, self.kind = heading, level, kind

    def end(self) -> None:
        """End the current section; without a heading, it is cut between paragraphs about every `PLAIN_WORDS` words."""
        texts = [*self.paragraphs, *self.notes]
        self.paragraphs, self.notes = [], []
        heading, level, self.heading, self.level = self.heading, self.level, "", 0
        if heading:
            self.parts.append(Part(heading, "\n\n".join(texts), level, self.kind))
            return
        lengths = [len(text.split()) for text in texts]
        kind = SectionKind.BODY if sum(lengths) > PLAIN_WORDS else self.kind
        first = words = 0
        for last, length in enumerate(lengths, start=1):
            words += length
            if words >= PLAIN_WORDS or last == len(texts):
                self.parts.append(Part("", "\n\n".join(texts[first:last]), 0, kind))
                first, words = last, 0


def document_text(document: Document) -> str:
    """The text of all sections, with a blank line between them."""
    return "\n\n".join(document.section_text(section) for section in document.sections)


def assemble(path: str, title: str, parts: Iterable[Part], report: ReadReport | None = None) -> Document:
    """Assemble a document from parts, for sources without pages; parts without text are left out."""
    pieces: list[str] = []
    sections: list[Section] = []
    length = 0
    for part in parts:
        heading, body = part.heading.strip(), part.text.strip()
        block = f"{heading}\n\n{body}" if heading and body else heading or body
        if not block:
            continue
        start = length + (2 if pieces else 0)
        body_start = start + (len(heading) + 2 if heading and body else len(heading))
        span = Span(start, start + len(block))
        level = part.level if heading else 0
        sections.append(Section(len(sections), heading, level, part.kind, span, body_start))
        pieces.append(block)
        length = span.end
    return Document(path, title, "\n\n".join(pieces), tuple(sections), (), report or ReadReport())


def finished(path: str, title: str, parts: Iterable[Part], report: ReadReport, account: Account) -> Document:
    """Assemble a document with what stands beside its text.

    Raises:
        NoTextError: it has no text.
    """
    document = assemble(path, title, parts, report)
    if not document.sections:
        raise NoTextError(f"Cannot read {shown_as(path)}: it holds no text.")
    return replace(document, outside=account.all_texts(), parts=account.all_parts())


def shown_as(path: str) -> str:
    """Name a source in messages."""
    return "standard input" if path == "-" else path


def document_header(document: Document, title: str) -> dict[str, Any]:
    """A document as JSON, but for its path; `title` is "" where it is only the name of a file."""
    return {
        "title": title,
        "text": document.text,
        "page_starts": document.page_starts,
        "sections": [asdict(section) for section in document.sections],
        "report": asdict(document.report),
        "format": document.format,
        "digest": document.digest,
        "outside": [astuple(text) for text in document.outside],
        "parts": [astuple(part) for part in document.parts],
        "numbers": [astuple(number) for number in document.numbers],
    }


def kept_title(document: Document) -> str:
    """The title to keep: "" for one that is only the file's name, as files of the same content may have others."""
    return "" if document.title == Path(document.path).name else document.title


def document_of(path: str, name: str, header: dict[str, Any]) -> Document:
    """The document of a header; `name` is the title of one without."""
    return Document(
        path,
        header["title"] or name,
        header["text"],
        tuple(_section(values) for values in header["sections"]),
        tuple(header["page_starts"]),
        _report(header["report"]),
        # Indexes of earlier versions do not hold these.
        header.get("format", ""),
        header.get("digest", ""),
        tuple(OutsideText(OutsideKind(kind), *map(_frozen, rest)) for kind, *rest in header.get("outside", ())),
        tuple(UnreadPart(PartKind(kind), *map(_frozen, rest)) for kind, *rest in header.get("parts", ())),
        tuple(ClauseNumber(*values) for values in header.get("numbers", ())),
    )


def _report(values: dict[str, Any]) -> ReadReport:
    # Indexes of earlier versions name it; it was 0 of every document.
    frozen = {name: _frozen(value) for name, value in values.items() if name != "truncated_tokens"}
    ignored = frozen["ignored"]
    if ignored is not None:
        ignored = Ignored(**{name: _frozen(value) for name, value in ignored.items()})
    if (ocr := frozen.get("ocr")) is not None:
        read = {name: _frozen(value) for name, value in ocr.items()}
        ocr = OcrReport(**{**read, "doubtful": tuple(map(tuple, read["doubtful"]))})
    return ReadReport(**{**frozen, "ignored": ignored, "ocr": ocr})


def _section(values: dict[str, Any]) -> Section:
    frozen = {name: _frozen(value) for name, value in values.items()}
    return replace(Section(**frozen), kind=SectionKind(values["kind"]), span=Span(**values["span"]))


def _frozen(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    return tuple(value) if isinstance(value, list) else value
