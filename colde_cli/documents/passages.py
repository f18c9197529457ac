"""Cut sections into passages, the unit that a person reads and that an alignment pairs.

A passage is a paragraph, or a few sentences of a long one. A long paragraph is cut before the sentence with the
smallest hash, and its parts are cut again while they are long. Cuts thus depend on words, not on counts: two versions
of a paragraph are cut at the same places, except near an edit.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from zlib import crc32

from colde_cli.documents.chunking import whole_sentence_starts
from colde_cli.documents.document import BLANK_LINES, Document, Span

MAX_WORDS = 90
"""Maximum number of words of a passage, about 120 tokens; a longer paragraph is cut, if it has sentences."""

_MIN_WORDS = 25  # minimum number of words on either side of a cut, where another cut is possible

_LONG_SENTENCE = 180  # words after which a sentence, or a table without full stops, is cut too

_LINE = re.compile(r"\n\s*(?=\S)|\s+(?=[•▪◦‣●○■□➢✓]\s)")
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W_]+")
_OPENING_WORDS = 4


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


@dataclass(frozen=True, slots=True)
class Seams:
    """Places at which another document is cut."""

    cuts: tuple[int, ...] = ()  # offsets in the text at which a passage begins, ascending
    headings: frozenset[int] = frozenset()  # indices of the sections whose headings are passages


def passages(document: Document, seams: Seams = Seams()) -> tuple[Passage, ...]:
    """Cut a document into passages, in reading order, and at `seams`.

    A passage lies within one section. Passages never overlap and cover every body except blanks, but no headings
    other than those of `seams`.
    """
    cut: list[Passage] = []
    for section in document.sections:
        spans = _spans(document.text, Span(section.body_start, section.span.end), seams.cuts)
        if section.index in seams.headings:
            spans = chain([stripped(document.text, section.span.start, section.body_start)], spans)
        for span in spans:
            cut.append(Passage(len(cut), section.index, span, document.pages_of(span)))
    return tuple(cut)


def whole_pages(neighbours: Sequence[Passage]) -> tuple[int, int] | None:
    """Find the first and last page of neighbouring passages; None where the source has no pages."""
    pages = [passage.pages for passage in neighbours if passage.pages is not None]
    return (min(first for first, _ in pages), max(last for _, last in pages)) if pages else None


def text_starts(text: str) -> list[int]:
    """Find the offsets at which sentences, items with a bullet, and lines begin; only tables and code have lines."""
    return sorted({*whole_sentence_starts(text), *(match.end() for match in _LINE.finditer(text))})


def _spans(text: str, body: Span, seams: Sequence[int]) -> Iterator[Span]:
    gaps = (gap.end() for gap in BLANK_LINES.finditer(text, body.start, body.end))
    within = seams[bisect_right(seams, body.start) : bisect_left(seams, body.end)]
    for start, end in pairwise(sorted({body.start, *gaps, *within, body.end})):
        for first, last in pairwise(_cuts(text[start:end])):
            span = stripped(text, start + first, start + last)
            if len(span):
                yield span


def stripped(text: str, start: int, end: int) -> Span:
    """Shrink `text[start:end]` by the white space around it."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    return Span(first, max(first, start + len(piece.rstrip())))


def _cuts(paragraph: str) -> list[int]:
    """Find the offsets at which passages begin, and the length of the paragraph: only a long one is cut."""
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
