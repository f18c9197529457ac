"""Cut sections into passages, the unit that a person reads and that an alignment pairs.

A passage is a paragraph, or a few sentences of a long one. A long paragraph is cut before the sentence with the
smallest hash, and its parts are cut again while they are long. Cuts thus depend on words, not on counts: two versions
of a paragraph are cut at the same places, except near an edit.

A Word file marks its headings, a PDF does not. A heading that only one reader found would make a passage that stands in
one document only. Such a heading becomes a passage, too, and the paragraph that opens with it is cut after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise, takewhile
from zlib import crc32

from colde_cli.documents.chunking import whole_sentence_starts
from colde_cli.documents.document import BLANK_LINES, Document, Section, Span

MAX_WORDS = 90
"""Maximum number of words of a passage, about 120 tokens; a longer paragraph is cut, if it has sentences."""

_MIN_WORDS = 25
"""Minimum number of words on either side of a cut, where another cut is possible."""

_LONG_SENTENCE = 180
"""Words after which a sentence, or a table without full stops, is cut too."""

_LINE = re.compile(r"\n\s*(?=\S)|\s+(?=[•▪◦‣●○■□➢✓]\s)")
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W_]+")
_OPENING_WORDS = 4
_NUMBER = re.compile(
    r"\W*(?:(?:section|article|chapter|appendix|annex|schedule|exhibit|part|item)\s+)?"
    r"(?:\d{1,3}[A-Za-z]?(?:\.\d{1,3})*|[IVXLC]{1,6}|[A-Za-z])[.):]*(?:\s+[-–—])?\s+(?=\S)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W_]")
_SIGNS_AT_END = re.compile(r"[\W_]*$")
_CLOSING = re.compile(r"[^\w\s(\[{“‘]*\s*")
_FOLLOWING = 16
"""Number of letters after a heading that must be the same, where the heading opens a paragraph."""
_LONGEST = 300
"""Number of characters of a paragraph that are looked at."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, or a few sentences of one, within one section.

    Attributes:
        index: position among the passages of the document.
        section: index of its section.
        span: from its first character to its last, without white space around it.
        pages: first and last page; None where the source has no pages.
    """

    index: int
    section: int
    span: Span
    pages: tuple[int, int] | None = None


def squeezed(text: str) -> str:
    """Replace every run of white space by one blank."""
    return " ".join(text.split())


@dataclass(slots=True)
class HeadingsInText:
    """The places of one document where a heading of either document is running text in the other.

    Attributes:
        sections: indices of the sections whose headings are passages.
        cuts: offsets in the text after a heading that opens a paragraph, ascending.
    """

    sections: set[int] = field(default_factory=set)
    cuts: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Seams:
    """Sentences at which to cut passages.

    Attributes:
        first: sentences that begin a passage.
        last: sentences that end a passage.
        normal: brings a sentence into the form of `first` and `last`.
        headings: the headings that are passages, and the cuts after the headings that open a paragraph.
    """

    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    normal: Callable[[str], str] = squeezed
    headings: HeadingsInText = field(default_factory=HeadingsInText)


def passages(document: Document, seams: Seams = Seams()) -> tuple[Passage, ...]:
    """Cut a document into passages, in reading order, at `seams` at any length.

    A passage lies within one section. Passages never overlap and cover every body except blanks, but no headings
    other than those of `seams`.
    """
    cut: list[Passage] = []
    for section in document.sections:
        spans = _spans(document.text, Span(section.body_start, section.span.end), seams)
        if section.index in seams.headings.sections:
            spans = chain([stripped(document.text, section.span.start, section.body_start)], spans)
        for span in spans:
            cut.append(Passage(len(cut), section.index, span, document.pages_of(span)))
    return tuple(cut)


def passages_of_both(
    a: Document, b: Document, normal: Callable[[str], str] = squeezed
) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    """Cut each of two documents where the other is cut, so that different paragraph breaks make no difference.

    A heading of one that is running text in the other is a passage of both. `normal` brings sentences that count as
    the same into one form.
    """
    sentences = [
        _sentences(document.text[passage.span.start : passage.span.end], normal)
        for document in (a, b)
        for passage in passages(document)
    ]
    first, last = (frozenset(some[end] for some in sentences) for end in (0, -1))
    of_a, of_b = headings_in_text(a, b)
    return passages(a, Seams(first, last, normal, of_a)), passages(b, Seams(first, last, normal, of_b))


def whole_pages(found: Sequence[Passage]) -> tuple[int, int] | None:
    """Find the first and last page of neighbouring passages; None where the source has no pages."""
    pages = [passage.pages for passage in found if passage.pages is not None]
    return (min(first for first, _ in pages), max(last for _, last in pages)) if pages else None


def _starts(text: str) -> list[int]:
    """Find the offsets at which sentences, items with a bullet, and lines begin; only tables and code have lines."""
    return sorted({*whole_sentence_starts(text), *(match.end() for match in _LINE.finditer(text))})


def _sentences(text: str, normal: Callable[[str], str]) -> list[str]:
    """List the normal forms of the sentences and lines of a text."""
    return [normal(text[start:end]) for start, end in pairwise([*_starts(text), len(text)])]


def _spans(text: str, body: Span, seams: Seams) -> Iterator[Span]:
    """Yield the passages of a body."""
    headings = seams.headings.cuts
    starts = [body.start, *(gap.end() for gap in BLANK_LINES.finditer(text, body.start, body.end)), body.end]
    for start, end in pairwise(starts):
        at_headings = headings[bisect_right(headings, start) : bisect_left(headings, end)]
        cuts = sorted({*at_headings, *(start + cut for cut in _cuts(text[start:end], seams))})
        for first, last in pairwise(cuts):
            span = stripped(text, first, last)
            if len(span):
                yield span


def stripped(text: str, start: int, end: int) -> Span:
    """Shrink `text[start:end]` by the white space around it."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    return Span(first, max(first, start + len(piece.rstrip())))


def _cuts(paragraph: str, seams: Seams) -> list[int]:
    """Find the offsets at which passages of a paragraph begin, with the length of the paragraph at the end."""
    cuts = _short_cuts(paragraph)
    if not seams.first:
        return cuts
    starts, sentences = _starts(paragraph), _sentences(paragraph, seams.normal)
    at_seams = {
        start
        for start, before, sentence in zip(starts[1:], sentences[:-1], sentences[1:], strict=True)
        if sentence in seams.first or before in seams.last
    }
    return sorted(at_seams.union(cuts))


def _short_cuts(paragraph: str) -> list[int]:
    """Find the cuts without seams: only a long paragraph is cut."""
    words = [match.start() for match in _WORD.finditer(paragraph)]
    if len(words) <= MAX_WORDS:
        return [0, len(paragraph)]
    pieces = [*_pieces(paragraph, words), len(words)]
    # Only the first words are hashed, so that an edit after them does not move the cut.
    openings = (_LETTERS.findall(paragraph[words[piece] : words[piece] + 80]) for piece in pieces[:-1])
    hashes = [crc32(" ".join(opening[:_OPENING_WORDS]).casefold().encode()) for opening in openings]
    least = _Least(hashes)
    cuts, waiting = [0, len(paragraph)], [(0, len(pieces) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first > 1 and pieces[last] - pieces[first] > MAX_WORDS:
            cut = _cut(pieces, least, first, last)
            cuts.append(words[pieces[cut]])
            waiting += [(first, cut), (cut, last)]
    return sorted(cuts)


def _cut(pieces: list[int], least: _Least, first: int, last: int) -> int:
    """Choose the piece between `first` and `last` to cut before."""
    start, end = first + 1, last
    even = (
        bisect_left(pieces, pieces[first] + _MIN_WORDS, start, end),
        bisect_right(pieces, pieces[last] - _MIN_WORDS, start, end),
    )
    return least.between(*even) if even[0] < even[1] else least.between(start, end)


class _Least:
    """Finds the least of neighbouring values, the first of equal ones, in constant time (a sparse table).

    Without it a paragraph of a thousand equal sentences would take quadratic time, since each cut takes off one.
    """

    def __init__(self, values: list[int]) -> None:
        self._values = values
        self._rows = [list(range(len(values)))]  # row k: index of the least of 2^k values from each on
        while (width := 1 << len(self._rows)) <= len(values):
            above = self._rows[-1]
            self._rows.append([self._better(*pair) for pair in zip(above, above[width // 2 :], strict=False)])

    def between(self, start: int, end: int) -> int:
        """Find the index of the least value from `start` up to, not including, `end`."""
        row = (end - start).bit_length() - 1
        return self._better(self._rows[row][start], self._rows[row][end - (1 << row)])

    def _better(self, one: int, other: int) -> int:
        return other if self._values[other] < self._values[one] else one


def _pieces(paragraph: str, words: list[int]) -> Iterator[int]:
    """Yield the index of each word that begins a sentence, or a part of a very long sentence."""
    starts = set(whole_sentence_starts(paragraph))
    since = 0
    for number, start in enumerate(words):
        if number == 0 or start in starts or number - since >= _LONG_SENTENCE:
            since = number
            yield number


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
    free = Counter(_letters(section.heading) for section in other.sections)
    missing: list[tuple[Section, str]] = []
    for section in one.sections:
        letters = _letters(section.heading)
        if free[letters]:
            free[letters] -= 1
        elif letters:
            missing.append((section, letters))
    opens = {letters[:1] for _, letters in missing}
    openings = sorted(_openings(other, opens), key=lambda opening: opening.letters)
    for section, letters in missing:
        opening = _find(one, section, letters, openings)
        if opening is None:
            continue
        own.sections.add(section.index)
        if opening.section is not None:
            others.sections.add(opening.section)
        if len(letters) < opening.letters_inside:
            others.cuts.append(_after_heading(other.text, opening.places[len(letters) - 1], section.heading))


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
        for gap in BLANK_LINES.finditer(document.text, start, section.span.end):
            yield start, gap.start(), None
            start = gap.end()
        if start < section.span.end:
            yield start, section.span.end, None


def _find(document: Document, section: Section, letters: str, openings: Sequence[_Opening]) -> _Opening | None:
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
