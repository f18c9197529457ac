"""Read PDFs: run a reader process, find headings, and lay out text, sections and a report.

PDFium reads (`pdfium_engine.py`); a file that it refuses it reads again as pypdf writes it anew (`pypdf_engine.py`).
Lines become text in `body_lines.py` and `prose.py`, headings are found in `headings/`.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from colde_cli.documents.builder import MAX_CHARACTERS, tidy
from colde_cli.documents.document import PLAIN_WORDS, Document, Section, SectionKind, Span, pages_of, shown_as
from colde_cli.documents.headings.evidence import Scene, survey
from colde_cli.documents.headings.find import Heading, find_headings, find_title
from colde_cli.documents.headings.titles import kind_of
from colde_cli.documents.outside import Account, OutsideKind, OutsideText, PartKind, UnreadPart, digest_of
from colde_cli.documents.pdf.body_lines import text_lines
from colde_cli.documents.pdf.contents import leave_out_contents
from colde_cli.documents.pdf.legibility import RUN_OCR, only_pictures, report_on
from colde_cli.documents.pdf.lines import Bookmark, Line, PdfPage, decode_page
from colde_cli.documents.pdf.prose import Geometry, Hyphens, ProseWriter, paragraphs
from colde_cli.documents.pdf.scans import chosen, report_of, wanted_pages, with_words
from colde_cli.documents.sandbox import sandboxed
from colde_cli.errors import CorruptFileError, DocumentError, LimitError, NoTextError, OptionError, PasswordError

_PDFIUM = "colde_cli.documents.pdf.pdfium_engine"
_PYPDF = "colde_cli.documents.pdf.pypdf_engine"
MEMORY = 1 << 30
"""Maximum bytes of address space of a reader process, in addition to twice the size of the file."""
SECONDS = 120
"""Processor time for one document; 600 pages of text take four seconds."""
STEP_SECONDS = 15.0
"""Processor time for opening a document or for one page."""
PAGE_CHARACTERS = 500_000
"""Maximum number of characters of a page; a page with more is an attack."""
_RESTARTS = 3
_NO_LAYER = f"it has no text layer; {RUN_OCR}"
_COSTLY = "Cannot read {}: it needs more memory or time than a document may take; print it to a new PDF."


def read_pdf(
    file: BinaryIO,
    path: str,
    name: str,
    password: str | None,
    pages: tuple[int, int] | None,
    *,
    textless: bool = False,
    ocr: str | None = None,
) -> Document:
    """Read a PDF, or its pages from a first to a last one (1-based); `name` replaces a missing title.

    If it may be `textless`, a file of pictures is a document without sections. `ocr` is a mode of `scans.chosen`.

    Raises:
        PasswordError: encrypted, and the password is missing or wrong.
        CorruptFileError: no reader can open it.
        LimitError: its pages take more memory or time than allowed.
        NoTextError: no page has text, or none has anything on it.
        OptionError: the pages are not in the document.
    """
    first, last = pages or (1, 0)
    shown, mode = shown_as(path), chosen(ocr)
    answer = _answer(file, shown, password, first, last)
    if pages and first > answer.pages:
        count = f"{answer.pages} page{'' if answer.pages == 1 else 's'}"
        raise OptionError(f"Choose other --pages: {shown} has {count}; there is no page {first}.")
    read = sorted(answer.read, key=lambda page: page.number)
    if numbers := wanted_pages(read, mode):
        answer.read = read = with_words(file, password, read, numbers)
        answer.characters = sum(page.characters for page in read)
    # A scan with a stamp or a form field on it remains a scan.
    if not answer.characters or not any(page.lines or (page.blank and page.entries) for page in read):
        error = _no_text(shown, answer, pages, tried=bool(numbers))
        pictured = any(not (page.blank or page.failed) for page in read)
        if not (textless and pictured and isinstance(error, NoTextError)):
            raise error
    lines, account = text_lines(read)
    writer, scene, sections = _laid_out(answer, lines, account)
    title = find_title(scene, answer.title) or name
    by_ocr = report_of(read, writer.doubtful)
    report = report_on(answer.pages, read, lines, by_ocr, tried=numbers, dynamic=answer.dynamic)
    report = replace(report, divided_words=writer.divided_words)
    if pages:
        report = replace(report, chosen_pages=(first, min(last or answer.pages, answer.pages)))
    _account_beside(answer, account, file)
    return Document(
        path,
        title,
        writer.text(),
        sections,
        tuple(writer.page_starts),
        report,
        outside=account.all_texts(),
        parts=account.all_parts(),
    )


def laid_out(answer: Answer) -> ProseWriter:
    """Lay out the text of pages once more, as `read_pdf` does, for a caller who asks for the lines of paragraphs."""
    lines, account = text_lines(sorted(answer.read, key=lambda page: page.number))
    return _laid_out(answer, lines, account)[0]


def _answer(file: BinaryIO, path: str, password: str | None, first: int, last: int) -> Answer:
    """Read with PDFium; if it refuses, read what pypdf makes of the file."""
    answer = run_reader(file, password, first, last)
    if answer.too_long:
        raise LimitError(
            f"Cannot read all of {path}: it has more than {MAX_CHARACTERS:,} characters; read a part with --pages."
        )
    if answer.refused:
        with tempfile.TemporaryFile() as anew:
            refused = receive_file(_PYPDF, file, {"password": password, "step": SECONDS}, anew)
            second = Answer(refused=refused, died=not refused)
            if refused is None:
                second = run_reader(anew, None, first, last)
        if second.refused and "password" not in (answer.refused, second.refused):
            raise CorruptFileError(f"Cannot read {path}: it is damaged, or not a PDF; download or export it again.")
        if second.refused and password:
            raise PasswordError(f"Cannot read {path}: the password is wrong; give the right one with --password.")
        if second.refused:
            raise PasswordError(f"Cannot read {path}: it is encrypted; give its password with --password.")
        answer = second
        if not answer.characters and not answer.died:
            raise CorruptFileError(f"Cannot read {path}: none of its pages can be read; download or export it again.")
    if answer.died and not answer.characters:
        raise LimitError(_COSTLY.format(path))
    return answer


def textless_error(document: Document) -> NoTextError:
    """Why a document of pictures only is no text; it was read as a `textless` one."""
    reason = "it is a picture, and OCR found no words on it." if document.format == "picture" else _NO_LAYER
    return NoTextError(f"Cannot read {shown_as(document.path)}: {reason}")


def _no_text(path: str, answer: Answer, pages: tuple[int, int] | None, *, tried: bool) -> DocumentError:
    if answer.read and (all(page.failed for page in answer.read) or any(page.ocr_failed for page in answer.read)):
        return LimitError(_COSTLY.format(path))
    if not answer.pages:
        return CorruptFileError(f"Cannot read {path}: it has no pages; download or export it again.")
    pictures = [page.number for page in answer.read if not page.blank]
    if answer.read and not pictures:
        return NoTextError(f"Cannot read {path}: its pages are blank.")
    if tried:
        return NoTextError(f"Cannot read {path}: OCR found no words on its pages.")
    if pages and pictures:
        return NoTextError(f"Cannot read {path}: {only_pictures(pictures).lower()}; if scanned, {RUN_OCR}")
    return NoTextError(f"Cannot read {path}: {_NO_LAYER}")


@dataclass(slots=True)
class Answer:
    """The answer of a reader process.

    What stands beside the text of pages comes in their order, then what belongs to the document.
    """

    refused: str | None = None  # why the file could not be opened; None if it could
    pages: int = 0  # of the file, read or not
    title: str = ""  # from its metadata
    outline: list[Bookmark] = field(default_factory=list)
    read: list[PdfPage] = field(default_factory=list)
    died: bool = False  # the process ended early (a limit, or a crash)
    characters: int = 0  # on the pages read so far
    dynamic: bool = False  # the form is an XFA form; its pages do not show all values
    texts: list[OutsideText] = field(default_factory=list)
    parts: list[UnreadPart] = field(default_factory=list)
    whole: bool = False  # what is attached to the document was read, too

    @property
    def too_long(self) -> bool:
        """Whether reading stopped because there was too much text."""
        return self.characters > MAX_CHARACTERS

    def take(self, message: dict[str, Any]) -> None:
        """Take a message other than `begin`.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: the process was broken by the file.
        """
        match message["kind"]:
            case "document":
                self.pages, self.title = int(message["pages"]), str(message["title"])
                self.dynamic = bool(message["dynamic"])
                self.outline = self.outline or [Bookmark(*entry) for entry in message["outline"]]
            case "page":
                page = decode_page(message)
                self.read.append(page)
                self.characters += page.characters
                if not page.failed:
                    self._take_beside(message, page.number)
            case "attached":
                self._take_beside(message, 0)
                self.whole = True
            case _:  # "end" or "refused"
                self.died = False
                self.refused = message.get("reason")

    def _take_beside(self, message: dict[str, Any], page: int) -> None:
        for kind, text, about in message["outside"]:
            self.texts.append(OutsideText(OutsideKind(kind), tidy(str(text)), tidy(str(about)), _one(page)))
        for kind, digest, about, *number in message["parts"]:
            on = _one(int(number[0]) if number else page)
            self.parts.append(UnreadPart(PartKind(kind), str(digest), tidy(str(about)), on))
        for place, digest in enumerate(message["pictures"], 1):
            source = f"page {page} image {place}"
            self.parts.append(UnreadPart(PartKind.PICTURES, str(digest), "", _one(page), source))


def _one(page: int) -> tuple[int, int] | None:
    return (page, page) if page else None


def run_reader(file: BinaryIO, password: str | None, first: int, last: int, boxes: Collection[int] = ()) -> Answer:
    """Read pages of an open file; 0 is the last page of the file.

    The places of letters are read of the pages in `boxes`.
    """
    answer = Answer()
    for restarts in range(_RESTARTS + 1):
        request = {"password": password, "first": first, "last": last, "boxes": sorted(boxes)}
        begun = _run_once(file, request, answer)
        if not answer.died or answer.too_long or begun == 0 or restarts == _RESTARTS:
            break
        answer.read.append(PdfPage(begun, failed=True))
        first = begun + 1
        if first > (last or answer.pages):
            break
    return answer


def _run_once(file: BinaryIO, request: dict[str, Any], answer: Answer) -> int:
    """Run one process; return the page at which it died, 0 if it did not."""
    begun = 0
    answer.died = True  # until it says that it ended
    with reader_process(_PDFIUM, file, request) as messages:
        for message in messages:
            try:
                if message["kind"] == "begin":
                    begun = int(message["number"])
                    continue
                answer.take(message)
            except (LookupError, TypeError, ValueError, OverflowError):
                break  # a process that sends this was broken by the file: as bad as a crash
            if message["kind"] == "page":
                begun = 0
            if answer.too_long:
                break
    return begun


def reader_process(
    engine: str, file: BinaryIO, request: dict[str, Any]
) -> AbstractContextManager[Iterator[dict[str, Any]]]:
    """Give an engine a request for a file, with the limits of PDFs if it states none; iterate over its answer."""
    limits: dict[str, Any] = {
        "memory": MEMORY + 2 * file.seek(0, os.SEEK_END),
        "seconds": SECONDS,
        "step": STEP_SECONDS,
        "characters": PAGE_CHARACTERS,
        **request,
    }
    return sandboxed(engine, file, limits, 2 * limits["seconds"])


def receive_file(engine: str, file: BinaryIO, request: dict[str, Any], target: BinaryIO) -> str | None:
    """Write what an engine makes of a file; return None, else why it refused, or "" if it died."""
    with reader_process(engine, file, request) as messages, suppress(LookupError, TypeError, ValueError):
        for message in messages:  # nonsense comes from a process that was broken by the file
            if message["kind"] == "end":
                return None
            if message["kind"] == "refused":
                return str(message["reason"])
            target.write(base64.b64decode(message["data"]))
    return ""


def _account_beside(answer: Answer, account: Account, file: BinaryIO) -> None:
    """Account for what the file holds beside the text of its pages.

    What could not be looked at counts by the digest of the whole file: two files have it in common only if they are
    equal.
    """
    for mark in answer.outline:
        account.add_text(OutsideKind.NAVIGATION, mark.title, "bookmark", _one(mark.page))
        account.add_text(OutsideKind.LINKS, mark.target, mark.title)
    for text in answer.texts:
        account.add_text(text.kind, text.text, text.about, text.pages)
    for part in answer.parts:
        account.add_part(part.kind, part.digest, part.about, part.pages, part.source)
    unseen = [("page that cannot be read", page.number) for page in answer.read if page.failed]
    if not answer.whole:
        unseen.append(("attachments and forms that cannot be read", 0))
    if unseen:
        file.seek(0)
        digest = digest_of(iter(lambda: file.read(1 << 20), b""))
        for about, number in unseen:
            account.add_part(PartKind.OTHER, digest, about, _one(number))


def _laid_out(
    answer: Answer, lines: Sequence[Line], account: Account
) -> tuple[ProseWriter, Scene, tuple[Section, ...]]:
    """Write lines as paragraphs under their headings, up to the end of the text.

    Tables of contents are left out, and go into the account.
    """
    scene = survey(lines)
    writer = ProseWriter(answer.pages, Hyphens(line.text for line in lines))
    headings = find_headings(scene, answer.outline)
    geometry = Geometry(lines, scene.body_size, scene.leading)
    titles = {place for heading in headings for place in range(heading.first, heading.last + 1)}
    contents = leave_out_contents(lines, titles, account)
    headings = [heading for heading in headings if heading.first not in contents]

    def between(start: int, end: int) -> list[Line]:
        return [lines[index] for index in range(start, end) if index not in contents]

    starts = [*(heading.first for heading in headings), len(lines)]
    kind = SectionKind.FRONT if headings else SectionKind.BODY
    sections = list(_without_heading(writer, geometry, between(0, starts[0]), kind))
    for heading, end in zip(headings, starts[1:], strict=True):
        kind = kind_of(heading.text, kind)
        sections.append(_with_heading(writer, geometry, between(heading.first, end), heading, kind))
    writer.finish()
    pages = tuple(writer.page_starts)
    numbered = (
        replace(section, index=index, pages=pages_of(pages, section.span)) for index, section in enumerate(sections)
    )
    return writer, scene, tuple(numbered)


def _without_heading(
    writer: ProseWriter, geometry: Geometry, lines: Sequence[Line], kind: SectionKind
) -> Iterator[Section]:
    """Write lines before the first heading as sections of about `PLAIN_WORDS` words; longer ones are body."""
    if sum(line.text.count(" ") + 1 for line in lines) > PLAIN_WORDS:
        kind = SectionKind.BODY
    start, words = -1, 0
    for paragraph in paragraphs(geometry, lines):
        at = writer.paragraph(paragraph)
        start = at if start < 0 else start
        words += sum(line.text.count(" ") + 1 for line in paragraph)
        if words >= PLAIN_WORDS:
            yield Section(0, "", 0, kind, Span(start, writer.length), start)
            start, words = -1, 0
    if start >= 0:
        yield Section(0, "", 0, kind, Span(start, writer.length), start)


def _with_heading(
    writer: ProseWriter, geometry: Geometry, lines: Sequence[Line], heading: Heading, kind: SectionKind
) -> Section:
    count = heading.last - heading.first + 1
    printed, body = list(lines[:count]), list(lines[count:])
    if heading.run_in is not None:
        line = printed[0]
        printed[0] = replace(line, text=line.text[: heading.run_in])
        body.insert(0, replace(line, text=line.text[heading.run_in :].lstrip()))
    start = writer.paragraph(printed)
    starts = [writer.paragraph(paragraph) for paragraph in paragraphs(geometry, body)]
    body_start = starts[0] if starts else writer.length
    return Section(0, heading.text, heading.level, kind, Span(start, writer.length), body_start)
