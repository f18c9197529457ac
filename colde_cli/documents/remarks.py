"""Read a review: the comments of a Word, PDF or OpenDocument file, or the remarks that a text lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from colde_cli.documents.document import BLANK_LINES, Document, Span, shown_as
from colde_cli.documents.outside import OutsideKind, OutsideText
from colde_cli.documents.reading import read
from colde_cli.errors import NoTextError

if TYPE_CHECKING:
    from colde_cli.documents.office.docx import WordComment


@dataclass(frozen=True, slots=True)
class Reply:
    """What somebody answered to a remark, in the review itself."""

    author: str
    date: str
    text: str


@dataclass(frozen=True, slots=True)
class ReviewRemark:
    """A remark of a reviewer.

    Attributes:
        label: as the review names it, such as "Reviewer 2, 3"; "" for a comment.
        date: as the file has it; "" for none.
        on: the words that a comment is on, or that it marks; "" for none.
        words: the characters of the text of the review that it is on, empty at a point; None where it is in a list, or
            where the file does not say.
        pages: first and last page of the review that it is on; None where that says nothing.
        done: marked as resolved.
    """

    text: str
    label: str = ""
    author: str = ""
    date: str = ""
    on: str = ""
    words: Span | None = None
    pages: tuple[int, int] | None = None
    replies: tuple[Reply, ...] = ()
    done: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """The remarks of a file."""

    path: str
    document: Document  # the text of the file, into which `ReviewRemark.words` point
    comments: tuple[ReviewRemark, ...] = ()  # remarks on places of that text
    # remarks that the text itself lists, in case it is no version of what was reviewed
    listed: tuple[ReviewRemark, ...] = ()
    other: tuple[str, ...] = ()  # what stands in the text around these: salutation, introduction, closing


def read_review(path: str | Path, *, password: str | None = None, ocr: str | None = None) -> Review:
    """Read a review.

    Args:
        path: of a file of any kind that colde reads; "-" for standard input.
        password: of an encrypted PDF.
        ocr: which pages of a PDF to read by OCR, as for `read`.

    Raises:
        DocumentError: the file cannot be read; the class says why.
    """
    try:
        document = read(path, password=password, ocr=ocr)
    except NoTextError:
        raise NoTextError(f"Cannot read {shown_as(str(path))}: it has neither text nor comments on a text.") from None
    listed, other = listed_remarks(document)
    if document.format == "docx" and str(path) != "-":
        from colde_cli.documents.office.docx import read_word_comments

        with Path(path).open("rb") as file:
            text, comments = read_word_comments(file, str(path))
        return Review(str(path), replace(text, title=document.title), tuple(_threads(text, comments)), listed, other)
    noted = tuple(_noted(text) for text in document.outside if text.kind is OutsideKind.COMMENTS)
    return Review(str(path), document, noted, listed, other)


def line_words(document: Document, first: int, last: int) -> str:
    """The words of some lines (from 1) of the file of a document; "" where its lines are none that an editor counts."""
    if document.format not in _OF_LINES or document.path == "-":
        return ""
    try:
        with Path(document.path).open(encoding="utf-8", errors="replace") as file:
            return " ".join(" ".join(islice(file, max(0, first - 1), last)).split())
    except OSError:
        return ""


_OF_LINES = ("text", "markdown", "tex", "html")


def _threads(document: Document, comments: Mapping[str, WordComment]) -> Iterator[ReviewRemark]:
    """The comments of a Word file, each with its replies."""
    threads: dict[str, list[WordComment]] = {}
    for identifier, comment in comments.items():
        threads.setdefault(_first(identifier, comments), []).append(comment)
    for identifier, thread in threads.items():
        comment = comments[identifier]
        yield ReviewRemark(
            comment.text,
            author=comment.author,
            date=comment.date,
            on=_words(document, comment.words),
            words=comment.words,
            replies=tuple(Reply(one.author, one.date, one.text) for one in thread if one is not comment),
            done=comment.done,
        )


def _first(identifier: str, comments: Mapping[str, WordComment]) -> str:
    """The comment that a thread begins with."""
    seen = {identifier}
    while (above := comments[identifier].above) in comments and above not in seen:
        seen.add(above)
        identifier = above
    return identifier


def _words(document: Document, span: Span | None) -> str:
    return "" if span is None else " ".join(document.text[span.start : span.end].split())


_AUTHOR = re.compile(r"([^\W\d_][\w .,'’()&@-]{0,59}): (?=\S)")
_MARKED = re.compile(r"\s*\[(?:highlighted|underlined|struck out|to be redacted): (.+?)(?:, overwritten with: .*)?\]$")


def _noted(note: OutsideText) -> ReviewRemark:
    """A comment beside the text of a PDF or OpenDocument file, which begins with its author."""
    author = _AUTHOR.match(note.text)
    text = note.text[author.end() :] if author else note.text
    marked = _MARKED.search(text)
    said = text[: marked.start()] if marked else text
    return ReviewRemark(
        said or text, author=author[1] if author else "", on=marked[1] if marked else note.about, pages=note.pages
    )


# Remarks that a text lists

_WHO = r"(?:reviewer|referee|examiner|rapporteur|commenter|editor|associate editor|counsel|party)"
_REVIEWER = re.compile(rf"\W*((?:anonymous\s+)?{_WHO}s?\s*(?:[#№]\s*)?(?:\d+|[A-Z]\b|[IVX]+\b)?)\s*[:.\-–—]*\s*", re.I)
_MARK = re.compile(
    r"\s*(?P<label>"
    r"\(?(?:[A-Z]{1,3}\d*[.\-:])?\d{1,3}(?:\.\d{1,3})*[.):]+(?=\s)"  # 1.  2)  (3)  R1.2:  C-4)
    r"|[A-Z]{1,3}\d{1,2}[.\-]\d{1,3}[.):]*(?=\s)"  # R1.2
    r"|\(?[a-z]\)(?=\s)|\([ivx]{1,5}\)(?=\s)"  # a)  (a)  (iv)
    r"|(?:(?:major|minor|general|specific)\s+)?(?:comment|remark|point|issue|question|query|concern)s?"
    r"\s*(?:[#№]\s*)?\d+(?:\.\d+)*\s*[.):\-–—]*(?=\s)"  # Comment 3:
    r")\s*",
    re.I,
)
_BULLET = re.compile(r"\s*(?:[-*+•▪◦‣●○■□➢✓–—]|\\-|\\\*)\s+")
_ANSWER = re.compile(
    r"\s*((?:authors?['’]?\s+|our\s+)?(?:response|reply|answer|re)|authors?)\s*(?:\d+(?:\.\d+)*)?\s*:\s*", re.I
)
_CLOSING = re.compile(
    r"\W*(?:(?:kind|best|warm)?\s*regards|sincerely|yours|best wishes|many thanks|thank you|dear\b|to whom)", re.I
)
_OPENING = re.compile(r".*:\s*$", re.S)


@dataclass(slots=True)
class _ListedRemark:
    """A remark that is being read: its paragraphs, and those of the answer below it."""

    label: str
    texts: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    answered: str = ""

    def add(self, text: str, *, quotation: bool) -> None:
        """Add a paragraph."""
        answer = _ANSWER.match(text)
        if answer:
            self.answered = answer[1]
            self.answers.append(text[answer.end() :])
        elif self.answered:
            self.answers.append(text)
        else:
            self.texts.append(f"“{text}”" if quotation else text)

    def remark(self, who: str) -> ReviewRemark:
        """The finished remark, of a reviewer."""
        label = ", ".join(filter(None, (who, self.label)))
        answers = (Reply(self.answered, "", "\n".join(self.answers)),) if self.answers else ()
        return ReviewRemark("\n".join(self.texts), label=label, replies=answers)


def listed_remarks(document: Document) -> tuple[tuple[ReviewRemark, ...], tuple[str, ...]]:
    """The remarks that a text lists: numbered, with bullets, or as paragraphs; and what stands around them.

    Under a heading with a list, items are remarks, with the paragraphs that follow each; under one without, every
    paragraph is. A heading, or the beginning of a paragraph, that names a reviewer holds for what comes after it.
    """
    quoted = {
        text.about
        for text in document.outside
        if text.kind is OutsideKind.STRUCTURE and text.text.startswith("quotation")
    }
    remarks: list[ReviewRemark] = []
    other: list[str] = []
    for who, paragraphs in _groups(document):
        _read_group(paragraphs, quoted, who, remarks, other)
    return tuple(remarks), tuple(other)


def _groups(document: Document) -> Iterator[tuple[str, list[str]]]:
    """The paragraphs under each heading, or after the name of a reviewer, with who speaks there."""
    who = ""
    for section in document.sections:
        if named := _REVIEWER.match(section.heading):
            who = " ".join(named[1].split())
        group: list[str] = []
        for text in _paragraphs(document, section.body_start, section.span.end):
            named = _REVIEWER.match(text)
            if named and (named.end() == len(text) or ":" in named[0] or "\n" in named[0]):
                yield who, group
                rest = text[named.end() :].strip()
                who, group = " ".join(named[1].split()), [rest] if rest else []
            else:
                group.append(text)
        yield who, group


def _read_group(
    paragraphs: list[str], quoted: Iterable[str], who: str, remarks: list[ReviewRemark], other: list[str]
) -> None:
    """Read paragraphs that belong together: where some are items of a list, what stands before these is no remark."""
    lists = any(_MARK.match(text) or _BULLET.match(text) for text in paragraphs)
    item: _ListedRemark | None = None

    def end() -> None:
        nonlocal item
        if item is not None and (item.texts or item.answers):
            remarks.append(item.remark(who))
        item = None

    for text in paragraphs:
        quotation = any(text[:40] == about[:40] for about in quoted)
        mark, bullet = _MARK.match(text), _BULLET.match(text)
        if mark and item is not None and _is_nested(mark, item):
            item.add(text, quotation=False)
        elif mark or bullet:
            end()
            begins = mark or bullet
            assert begins is not None  # one of the two
            item = _ListedRemark(mark["label"].strip("().:–—- ") if mark else "")
            item.add(text[begins.end() :], quotation=False)
        elif _CLOSING.match(text) and len(text.split()) < 60:
            end()
            other.append(text)
        elif item is not None and (lists or quotation or _ANSWER.match(text)):
            item.add(text, quotation=quotation)
        elif lists or (_OPENING.match(text) and len(text.split()) < 40):
            other.append(text)
        else:
            end()
            item = _ListedRemark("")
            item.add(text, quotation=quotation)
    end()


def _is_nested(mark: re.Match[str], item: _ListedRemark) -> bool:
    """Whether an item such as (a) stands below one such as 3."""
    label = mark["label"].strip("().:")
    return label.isalpha() and any(map(str.isdigit, item.label))


def _paragraphs(document: Document, start: int, end: int) -> Iterator[str]:
    """Paragraphs; lines of one that each begin an item are items."""
    text = document.text
    for paragraph in BLANK_LINES.split(text[start:end]):
        lines = paragraph.split("\n")
        block: list[str] = []
        for line in lines:
            if block and (_MARK.match(line) or _BULLET.match(line)):
                yield "\n".join(block).strip()
                block = []
            block.append(line)
        if whole := "\n".join(block).strip():
            yield whole
