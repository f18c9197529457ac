"""Tell how well the pages of a PDF could be read: what gave no text, and text that is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from colde_cli.documents.document import OcrReport, ReadReport
from colde_cli.documents.pdf.lines import Line, PdfPage

RUN_OCR = "read by OCR: pip install 'colde[ocr]', then --ocr auto; or ocrmypdf --skip-text in.pdf out.pdf"
MOST_PAGES = 400
"""Maximum number of pages of a document that are read by OCR: half an hour of one core."""
_GUESSED = 0.3
_LOST = 0.1  # share of letters without a meaning; too many even in a short text
_BROKEN = 0.0005  # share of words that lack letters
_ENOUGH_WORDS = 50
_BROKEN_WORD = re.compile(r"[^\W\d_]\ufffd[^\W\d_]|(?<!\w)\ufffd[a-z]{3}")
_MIXED_SCRIPTS = re.compile(r"[a-z][\u0370-\u05ff]|[\u0370-\u05ff][a-z]")
_FUNCTION_WORDS = frozenset(
    "the of and to in a is for that la le de et les des und der die das el los y en que di il e".split()
)
_FREQUENT = (" the ", " and ", " und ", " der ", " les ", " des ", " los ", " que ")


def report_on(
    pages: int,
    read: Sequence[PdfPage],
    lines: Sequence[Line],
    ocr: OcrReport | None,
    *,
    tried: Collection[int],
    dynamic: bool,
) -> ReadReport:
    """Report on the pages that were read, of all `pages` of the file, and on the lines that are text.

    Values of a `dynamic` form (XFA) are not on the pages; `ocr` says what OCR read
    of the pages on which it was `tried`.
    """
    with_text = {line.page for line in lines if not line.filled_in}
    with_text |= {page.number for page in read if page.blank and page.entries}
    empty = tuple(page.number for page in read if page.number not in with_text)
    unreadable, warnings = _unreadable(read, lines)
    if failed := [page.number for page in read if page.failed]:
        warnings.append(f"{_pages(failed)} could not be read.")
    unread = sum(page.unread for page in read) + dynamic
    if unread:
        warnings.append("Values of its form could not be read; print the form to a new PDF and compare that one.")
    blank = [page.number for page in read if page.blank and not page.entries]
    if lost := [page.number for page in read if page.ocr_failed]:
        warnings.append(f"{_pages(lost)} could not be read by OCR: more memory or time than a page may take.")
    # A page number alone, on the last page of a letter, hides nothing.
    margins = [page.number for page in read if page.plain and page.number in empty]
    accounted: list[str] = []
    if pictures := [number for number in empty if number not in (*failed, *blank, *margins, *lost)]:
        share = f" ({len(pictures)} of {len(read)})" if len(pictures) > 1 else ""
        advice = "OCR found no words." if {*pictures} <= {*tried} else f"if scanned, {RUN_OCR}"
        if len(tried) >= MOST_PAGES:
            advice = f"OCR reads {MOST_PAGES} pages at a time; choose others with --pages."
        accounted.append(f"{only_pictures(pictures, share)}; {advice}")
    stamped = [
        page.number for page in read if page.stamped and page.number not in (*empty, *lost) and not page.confidences
    ]
    if stamped:
        one = len(stamped) == 1
        accounted.append(
            f"{_pages(stamped)} {'is a picture' if one else 'are pictures'} with a few words on"
            f" {'it' if one else 'each'}; if scanned, {RUN_OCR}"
        )
    if ocr is not None:
        words = "1 word is" if len(ocr.doubtful) == 1 else f"{len(ocr.doubtful):,} words are"
        warnings.append(
            f"{_pages(ocr.pages)} {'was' if len(ocr.pages) == 1 else 'were'} read by OCR, with a mean confidence of"
            f" {100 * ocr.mean:.1f} %; {words} uncertain."
        )
    notes = [f"Blank: {_pages(blank).lower()}."] if blank else []
    notes += [f"Only a header or a page number: {_pages(margins).lower()}."] if margins else []
    return ReadReport(
        pages,
        empty,
        unreadable,
        unread,
        warnings=(*warnings, *accounted),
        accounted=tuple(accounted),
        notes=tuple(notes),
        ocr=ocr,
    )


def _unreadable(read: Iterable[PdfPage], lines: Sequence[Line]) -> tuple[int, list[str]]:
    """Count the characters without a meaning, and warn of fonts that do not say what their letters are."""
    unreadable = sum(page.unreadable for page in read)
    guessed = sum(page.suspect for page in read)
    letters = sum(len(line.text) for line in lines)
    warnings: list[str] = []
    if guessed > _GUESSED * letters:
        # Whether function words are as frequent as in European languages.
        words = [word for line in lines[:2000] for word in re.findall(r"[^\W\d_]+", line.text.lower())]
        if sum(word in _FUNCTION_WORDS for word in words) <= 0.05 * len(words):
            unreadable = max(unreadable, guessed)
    lost = sum(line.text.count("\ufffd") for line in lines)
    if unreadable > max(20, 0.01 * letters) or lost > _LOST * letters:
        unreadable = max(unreadable, lost)
        warnings.append(
            f"{unreadable:,} characters have no meaning in Unicode (a font without a character map);"
            " OCR gives better text: --ocr always, with colde[ocr], or ocrmypdf --force-ocr"
        )
    else:
        broken = sum(len(_BROKEN_WORD.findall(line.text)) for line in lines if "\ufffd" in line.text)
        if broken > _BROKEN * sum(line.text.count(" ") + 1 for line in lines):  # more than formulas explain
            some = "1 word lacks letters" if broken == 1 else f"{broken:,} words lack letters"
            warnings.append(f"{some}: the font does not say what they are (ligatures, for example).")
    scans = {page.number for page in read if page.stamped}
    if _is_garbled([line for line in lines if line.page not in scans]):
        warnings.append(
            "Its letters make no words of any language that colde knows: its fonts may name them wrongly;"
            " OCR gives better text: --ocr always, with colde[ocr], or ocrmypdf --force-ocr"
        )
    return unreadable, warnings


def _is_garbled(lines: Sequence[Line]) -> bool:
    """Whether a text in Latin letters has too few vowels and small words, or letters of several scripts in words.

    Languages in Latin letters have 33 to 55 % vowels; text from a font with a wrong character map seldom has.
    """
    text = " ".join([line.text for line in lines[:2000]])
    # A word of three letters takes four with its blank, so that this many small words always suffice.
    if sum(map(text.count, _FREQUENT)) > 0.01 * (len(text) + 1) / 4:
        return False
    words = re.findall(r"[^\W\d_]{3,}", text)
    plain = [word.lower() for word in words if word[1:].islower()]
    small = sum(word in _FUNCTION_WORDS for word in plain)
    if len(plain) < _ENOUGH_WORDS or small > 0.01 * len(plain):
        return False
    latin = "".join(word for word in plain if word.isascii())
    vowels = sum(latin.count(vowel) for vowel in "aeiou")
    mixed = sum(bool(_MIXED_SCRIPTS.search(word)) for word in plain)
    return (len(latin) > 3 * _ENOUGH_WORDS and vowels < 0.3 * len(latin)) or mixed > 0.2 * len(plain)


def is_garbage(page: PdfPage) -> bool:
    """Whether the text layer of a page is no text: too many letters without a meaning, or no words of a language."""
    letters = sum(len(line.text) for line in page.lines)
    lost = max(page.unreadable, sum(line.text.count("\ufffd") for line in page.lines))
    return lost > max(20, _LOST * letters) or _is_garbled(page.lines)


def only_pictures(numbers: Sequence[int], share: str = "") -> str:
    """Say that pages have no text: `Pages 3–4 (2 of 9) have pictures but no text`."""
    return f"{_pages(numbers)}{share} {'has' if len(numbers) == 1 else 'have'} pictures but no text"


def _pages(numbers: Sequence[int]) -> str:
    """Write page numbers: `Page 4`, `Pages 2–9, 12`; neighbours are joined, at most ten entries."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = ", ".join("–".join(map(str, run)) for run in runs[:10])
    more = f" and {len(runs) - 10} more runs" if len(runs) > 10 else ""
    return f"{'Page' if len(numbers) == 1 else 'Pages'} {shown}{more}"
