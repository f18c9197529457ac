"""An open PDF to a `Document`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import BinaryIO

from colde_cli.documents.document import Document, ReadReport
from colde_cli.documents.headings.find import find_headings
from colde_cli.documents.headings.scene import survey
from colde_cli.documents.headings.title import find_title
from colde_cli.documents.pdf.compose import compose
from colde_cli.documents.pdf.layout import INVISIBLE, ROTATED, Layout, text_lines
from colde_cli.documents.pdf.lines import Page
from colde_cli.documents.pdf.process import MAX_CHARACTERS, Answer, run_reader
from colde_cli.errors import (
    CorruptFileError,
    DocumentError,
    LimitError,
    NoTextError,
    OptionError,
    PasswordError,
)

_PDFIUM, _PYPDF = "engine.py", "pypdf_engine.py"
_GUESSED = 0.3
_OCR = "run OCR first, for example: ocrmypdf --skip-text in.pdf out.pdf"
_FUNCTION_WORDS = re.compile(
    r"the|of|and|to|in|a|is|for|that|la|le|de|et|les|des|und|der|die|das|el|los|y|en|que|di|il|e"
)


def read_pdf(
    file: BinaryIO, path: str, name: str, password: str | None, pages: tuple[int, int] | None
) -> Document:
    """Read a PDF.

    Args:
        file: open and seekable, with a file descriptor.
        path: as the user gave it, for messages.
        name: stands in for a missing title.
        password: of an encrypted file; None and "" try the empty one.
        pages: first and last page to read, 1-based; None for all.

    Raises:
        PasswordError: encrypted, and the password is missing or wrong.
        CorruptFileError: no reader can open it.
        LimitError: its pages take more memory or time than allowed.
        NoTextError: none of the pages has text.
        OptionError: the pages are not in the document.
    """
    first, last = pages or (1, 0)
    shown = "Standard input" if path == "-" else path
    answer = _answer(file, shown, password, first, last)
    if pages and first > answer.pages:
        count = f"{answer.pages} page{'' if answer.pages == 1 else 's'}"
        raise OptionError(f"{shown} has {count}; there is no page {first}.")
    read = sorted(answer.read, key=lambda page: page.number)
    if not answer.characters:
        raise _no_text(shown, answer, pages)
    layout = text_lines(read)
    scene = survey(layout.lines)
    result = compose(scene, find_headings(scene, answer.outline), answer.pages)
    title = find_title(scene, answer.title) or name
    report = _report(answer, read, layout)
    return Document(path, title, result.text, result.sections, result.page_starts, report)


def _answer(file: BinaryIO, path: str, password: str | None, first: int, last: int) -> Answer:
    """PDFium's answer; where it refuses or dies, pypdf's, which also knows why."""
    answer = run_reader(_PDFIUM, file, password, first, last)
    if answer.too_long:
        raise LimitError(f"{path} has more than {MAX_CHARACTERS:,} characters; read a part with --pages.")
    if not answer.refused and not answer.died and any(page.lines or not page.failed for page in answer.read):
        return answer
    second = run_reader(_PYPDF, file, password, first, last)
    if answer.refused and second.refused:
        raise _refusal(path, password, {answer.refused, second.refused})
    best = max(answer, second, key=lambda one: one.characters)
    if best.characters:
        return best
    if answer.died and second.died:
        raise LimitError(f"{path} needs more memory or time than a document may take; it may be damaged.")
    if answer.refused or not answer.pages:
        raise CorruptFileError(f"{path} is damaged: it has no page that can be read.")
    return answer


def _refusal(path: str, password: str | None, reasons: set[str]) -> DocumentError:
    if "password" in reasons:
        if password:
            return PasswordError(f"The password for {path} is wrong; give the right one with --password.")
        return PasswordError(f"{path} is encrypted; give its password with --password.")
    return CorruptFileError(f"{path} is damaged and cannot be read as PDF; try to get or export it again.")


def _no_text(path: str, answer: Answer, pages: tuple[int, int] | None) -> DocumentError:
    if answer.read and all(page.failed for page in answer.read):
        return LimitError(f"{path} needs more memory or time than a document may take; it may be damaged.")
    if not answer.pages:
        return CorruptFileError(f"{path} is damaged: it has no pages.")
    pictures = [page.number for page in answer.read if not page.blank]
    if answer.read and not pictures:
        return NoTextError(f"{path} has no text: its pages are blank.")
    if pages and pictures:
        return NoTextError(
            f"{_pages(pictures)} of {path} {_have(pictures)} pictures but no text; if scanned, {_OCR}"
        )
    return NoTextError(f"{path} has no text layer; run OCR on it first, for example: ocrmypdf in.pdf out.pdf")


def _report(answer: Answer, read: Sequence[Page], layout: Layout) -> ReadReport:
    with_text = {line.page for line in layout.lines}
    empty = tuple(page.number for page in read if page.number not in with_text)
    unreadable = sum(page.unreadable for page in read)
    guessed = sum(page.suspect for page in read)
    letters = sum(len(line.text) for line in layout.lines)
    warnings = []
    if guessed > _GUESSED * letters and not _reads_like_language(layout):
        unreadable = max(unreadable, guessed)
    if unreadable > max(20, 0.01 * letters):
        warnings.append(
            f"{unreadable:,} characters have no meaning in Unicode (a font without a character map);"
            " OCR gives better text, for example: ocrmypdf --force-ocr"
        )
    failed = [page.number for page in read if page.failed]
    if failed:
        warnings.append(f"{_pages(failed)} could not be read.")
    blank = [page.number for page in read if page.blank]
    pictures = [number for number in empty if number not in failed and number not in blank]
    if pictures:
        share = f"({len(pictures)} of {len(read)}) " if len(pictures) > 1 else ""
        warnings.append(
            f"{_pages(pictures)} {share}{_have(pictures)} pictures but no text; if scanned, {_OCR}"
        )
    if layout.left_out[INVISIBLE]:
        warnings.append(_left_out(INVISIBLE, layout))
    if layout.letters_left_out > 0.05 * letters and layout.left_out[ROTATED]:
        warnings.append(_left_out(ROTATED, layout))
    notes = [_left_out(what, layout) for what, count in layout.left_out.items() if count]
    notes += [f"Blank: {_pages(blank).lower()}."] if blank else []
    return ReadReport(answer.pages, empty, unreadable, warnings=tuple(warnings), notes=tuple(notes))


def _left_out(what: str, layout: Layout) -> str:
    count = layout.left_out[what]
    return f"Left out {count} {'line' if count == 1 else 'lines'}: {what}."


def _reads_like_language(layout: Layout) -> bool:
    """Whether small common words are as common as in European languages."""
    words = [word for line in layout.lines[:2000] for word in re.findall(r"[^\W\d_]+", line.text.lower())]
    return sum(bool(_FUNCTION_WORDS.fullmatch(word)) for word in words) > 0.05 * len(words)


def _have(numbers: Sequence[int]) -> str:
    return "has" if len(numbers) == 1 else "have"


def _pages(numbers: Sequence[int]) -> str:
    """`Page 4`, `Pages 2–9, 12`: neighbours together, ten entries at most."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = ", ".join("–".join(map(str, run)) for run in runs[:10])
    more = f" and {len(runs) - 10} more runs" if len(runs) > 10 else ""
    return f"{'Page' if len(numbers) == 1 else 'Pages'} {shown}{more}"
