"""Find the headings of one document that are running text in another version of it.

A Word file marks its headings, a PDF does not. A heading that only one reader found would make a passage that stands in
one document only. Such a heading becomes a passage, too, and the paragraph that opens with it is cut after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from colde_cli.documents.document import Document, Section

_NUMBER = re.compile(
    r"\W*(?:(?:section|article|chapter|appendix|annex|schedule|exhibit|part|item)\s+)?"
    r"(?:\d{1,3}[A-Za-z]?(?:\.\d{1,3})*|[IVXLC]{1,6}|[A-Za-z])[.):]*(?:\s+[-–—])?\s+(?=\S)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W_]")
_SIGNS_AT_END = re.compile(r"[\W_]*$")
_CLOSING = re.compile(r"[^\w\s(\[{“‘]*\s*")
_PARAGRAPH = re.compile(r"\n\s*\n\s*")
_FOLLOWING = 16
"""Letters after a heading that must be the same, where the heading opens a paragraph."""
_LONGEST = 300
"""Characters of a paragraph that are looked at."""


@dataclass(slots=True)
class HeadingsInText:
    """The places of one document where a heading of either document is running text in the other.

    Attributes:
        sections: indices of the sections whose headings are passages.
        cuts: offsets in the text after a heading that opens a paragraph, ascending.
    """

    sections: set[int] = field(default_factory=set)
    cuts: list[int] = field(default_factory=list)


def headings_in_text(a: Document, b: Document) -> tuple[HeadingsInText, HeadingsInText]:
    """Find the headings of each of two documents that are running text in the other."""
    of_a, of_b = HeadingsInText(), HeadingsInText()
    _search(a, b, of_a, of_b)
    _search(b, a, of_b, of_a)
    of_a.cuts.sort()
    of_b.cuts.sort()
    return of_a, of_b


def _search(one: Document, other: Document, own: HeadingsInText, others: HeadingsInText) -> None:
    """Search the text of the other document for the headings that it does not have as headings."""
    missing = list(_missing(one, other))
    opens = {letters[:1] for _, letters in missing}
    openings = sorted(_openings(other, opens), key=lambda opening: opening.letters)
    for section, letters in missing:
        found = _find(one, section, letters, openings)
        if found is None:
            continue
        own.sections.add(section.index)
        if found.section is not None:
            others.sections.add(found.section)
        if len(letters) < found.letters_inside:
            others.cuts.append(_after_heading(other.text, found.places[len(letters) - 1], section.heading))


def _missing(one: Document, other: Document) -> Iterator[tuple[Section, str]]:
    """Yield the sections whose headings are no headings of the other document, and the letters of these."""
    free = Counter(_letters(section.heading) for section in other.sections)
    for section in one.sections:
        letters = _letters(section.heading)
        if free[letters]:
            free[letters] -= 1
        elif letters:
            yield section, letters


def _letters(heading: str) -> str:
    """The letters and digits of a heading without its number, in lower case."""
    number = _NUMBER.match(heading)
    return "".join(_LETTER.findall(heading[number.end() if number else 0 :])).lower()


@dataclass(frozen=True, slots=True)
class _Opening:
    """The beginning of a paragraph or of a heading, without its number.

    Attributes:
        letters: its letters and digits in lower case, and those of the text after it.
        places: offset in the text after each of them.
        end: offset of the end of the paragraph.
        section: whose heading it is; None for a paragraph.
    """

    letters: str
    places: tuple[int, ...]
    end: int
    section: int | None

    @property
    def letters_inside(self) -> int:
        """Number of letters up to the end of the paragraph."""
        return bisect_left(self.places, self.end + 1)


def _openings(document: Document, opens: set[str]) -> Iterator[_Opening]:
    """Yield the openings of headings and paragraphs whose first letter is one of `opens`."""
    text = document.text
    for start, end, section in _units(document) if opens else ():
        number = _NUMBER.match(text, start, end)
        begin = _LETTER.search(text, number.end() if number else start, end)
        if begin is None or begin[0].lower()[:1] not in opens:
            continue
        found = list(_LETTER.finditer(text, begin.start(), begin.start() + _LONGEST))
        letters = "".join(match[0].lower()[:1] for match in found)
        yield _Opening(letters, tuple(match.end() for match in found), end, section)


def _units(document: Document) -> Iterator[tuple[int, int, int | None]]:
    """Yield the start and end of every heading and paragraph, and the section of a heading."""
    for section in document.sections:
        start = section.body_start
        if start > section.span.start:
            yield section.span.start, start, section.index
        for gap in _PARAGRAPH.finditer(document.text, start, section.span.end):
            yield start, gap.start(), None
            start = gap.end()
        if start < section.span.end:
            yield start, section.span.end, None


def _find(
    document: Document, section: Section, letters: str, openings: Sequence[_Opening]
) -> _Opening | None:
    """Find the text that reads as a heading does: with the same words after it, else a paragraph of its own."""
    following = document.text[section.body_start : section.body_start + 8 * _FOLLOWING]
    after = "".join(_LETTER.findall(following)).lower()[:_FOLLOWING]
    first = bisect_left(openings, letters, key=lambda opening: opening.letters)
    alone: _Opening | None = None
    for opening in takewhile(lambda one: one.letters.startswith(letters), islice(openings, first, None)):
        if opening.letters.startswith(after, len(letters)):
            return opening
        if alone is None and opening.letters_inside == len(letters):
            alone = opening
    return alone


def _after_heading(text: str, place: int, heading: str) -> int:
    """Find the place after a heading and its signs in running text, given the place after its last letter."""
    for sign in _SIGNS_AT_END.findall(heading)[0].replace(" ", ""):
        following = text.find(sign, place)
        if following >= 0 and not text[place:following].strip():
            place = following + 1
    closing = _CLOSING.match(text, place)
    return closing.end() if closing else place
