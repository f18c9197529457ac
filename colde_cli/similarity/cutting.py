"""Cut two documents into passages with the same boundaries, wherever their words say where these are.

Each document is cut where its own paragraphs, rows of tables and long paragraphs end. Where the words beside such a
boundary stand in the other document too, that one is cut there as well: a paragraph may be two, and a row of a table
the end of one paragraph of a PDF and the beginning of the next.

A Word file marks its headings, a PDF does not. A heading that is running text in the other document is a passage, too.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from colde_cli.documents.document import Document
from colde_cli.documents.passages import Passage, Seams, passages, text_starts
from colde_cli.similarity.layout_marks import is_list_mark, rows
from colde_cli.similarity.word_flow import FlowSide, WordFlow

_RUN = 3
"""Words in a row that must be the same beside a boundary that is no beginning of a sentence."""
_INSERTED = 6
"""Minimum number of words between two boundaries that make a passage of their own."""
_CLOSING = re.compile(r"[^\w\s(\[{“‘]*\s*")
_BLANKS = re.compile(r"\s*")


def passages_of_both(a: Document, b: Document, flow: WordFlow) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    """Cut each of two documents also where the other one is cut.

    Args:
        flow: their words, aligned.
    """
    left, right = _Side(a, flow.a), _Side(b, flow.b)
    while left.add_headings(right) | right.add_headings(left):
        pass
    of_a, of_b = left.own(), right.own()
    known_a, there_b = left.mapped(of_a, right, of_b)
    known_b, there_a = right.mapped(of_b, left, of_a)
    return left.cut(known_a, there_a), right.cut(known_b, there_b)


class _Side:
    """One of the documents, with its words.

    Attributes:
        headings: indices of the sections whose headings are passages.
    """

    def __init__(self, document: Document, words: FlowSide) -> None:
        self.document, self.words = document, words
        self.headings: set[int] = set()
        text, count = document.text, len(words.keys)
        self._starts = text_starts(text)
        self._rows = rows(text)
        self._heading_of = np.full(count, -1, np.int64)
        self._heading_words: list[tuple[int, int, int]] = []
        for section in document.sections:
            start, end = words.before(section.span.start), words.before(section.body_start)
            self._heading_of[start:end] = section.index
            if start < end:
                self._heading_words.append((section.index, start, end))
        places, known = np.arange(count), words.first >= 0
        self._known_before = np.maximum.accumulate(np.where(known, places, -1)) if count else places
        after = np.where(known, places, count)
        self._known_from = np.minimum.accumulate(after[::-1])[::-1] if count else places
        # Words that follow the word before them in both documents.
        follows = np.zeros(count, bool)
        follows[1:] = known[1:] & known[:-1] & (words.first[1:] == words.last[:-1] + 1)
        self._run_start = np.maximum.accumulate(np.where(follows, -1, places)) if count else places
        ends = np.where(np.append(follows[1:], False), count, places)
        self._run_end = np.minimum.accumulate(ends[::-1])[::-1] if count else places

    def add_headings(self, other: _Side) -> bool:
        """Find headings that are running text in the other document; return whether there are new ones."""
        found = {
            section
            for section, start, end in self._heading_words
            if section not in self.headings and self._in_text(start, end, other)
        }
        self.headings |= found
        return bool(found)

    def _in_text(self, start: int, end: int, other: _Side) -> bool:
        """Whether the words of a heading are, in a row, text of the other document: a paragraph or its beginning."""
        while start < end and self.words.first[start] < 0 and not self.words.keys[start].isalpha():
            start += 1  # the number
        if start == end or self.words.first[start] < 0 or self._run_end[start] < end - 1:
            return False
        first, last = int(self.words.first[start]), int(self.words.last[end - 1])
        targets = other._heading_of[first : last + 1].tolist()
        if not any(section < 0 or section in other.headings for section in targets):
            return False
        closed = self._run_end[start] >= end or other.begins(last + 1)
        return closed and (other.begins(first) or end - start >= _RUN)

    def begins(self, word: int) -> bool:
        """Whether a sentence or a line begins with a word; the end of the text counts."""
        start, end = self._gap(word)
        place = bisect_left(self._starts, start)
        return word in (0, len(self.words.keys)) or (place < len(self._starts) and self._starts[place] <= end)

    def fits(self, word: int, *, run: bool) -> bool:
        """Whether a passage may begin with a word: with a sentence, or with a run that has no small letter."""
        return self.begins(word) or (run and not self.document.text[self.words.starts[word]].islower())

    def is_mark(self, first: int, after: int) -> bool:
        """Whether some words are the mark of a list item."""
        return is_list_mark(self.document.text[self.words.starts[first] : self._gap(after)[1]])

    def _gap(self, word: int) -> tuple[int, int]:
        """The characters between a word and the one before it."""
        ends, starts = self.words.ends, self.words.starts
        return int(ends[word - 1]) if word else 0, int(starts[word]) if word < len(starts) else len(self.document.text)

    def own(self) -> list[tuple[int, int]]:
        """The boundaries of this document: the number of words before each, ascending, and its place in the text."""
        places: dict[int, int] = {}
        for one in passages(self.document, self._seams()):
            for offset in (one.span.start, one.span.end):
                # Of two places between the same words that of the passage after them counts.
                places[self.words.before(offset)] = offset
        return sorted(places.items())

    def mapped(
        self, own: Sequence[tuple[int, int]], other: _Side, others: Sequence[tuple[int, int]]
    ) -> tuple[list[int], list[int]]:
        """Find the places at which the other document is cut, as this one is.

        Args:
            own: the boundaries of this document.
            others: those of the other one; between two words it is cut once.

        Returns:
            The places in this text that the other one has, too, and those in the text of the other one that are new.
        """
        known, found = [], []
        taken = {word for word, _ in others}
        edges = [0, *(word for word, _ in own), len(self.words.keys)]
        for (word, offset), before, after in zip(own, edges, edges[2:], strict=False):
            signs = self.document.text[self._gap(word)[0] : offset]
            there = list(self._cuts(word, (word - before, after - word), other))
            known += [offset] * bool(there)
            found += [other.offset(place, signs) for place in there if place not in taken]
        return known, found

    def _cuts(self, word: int, lengths: tuple[int, int], other: _Side) -> Iterator[int]:
        """Yield the words of the other document before which the boundary before a word of this one lies.

        Args:
            lengths: numbers of words of the passages before and after the boundary.
        """
        count, words = len(self.words.keys), self.words
        one = int(self._known_before[word - 1]) if word else -1
        two = int(self._known_from[word]) if word < count else count
        # The beginnings of both documents answer each other, and so do their ends.
        first = int(words.last[one]) + 1 if one >= 0 else 0
        second = int(words.first[two]) if two < count else len(other.words.keys)
        ends, begins = self._holds(one, -1, lengths[0]), self._holds(two, 1, lengths[1])
        beside = one == word - 1, two == word
        if first == second:
            if (
                other.begins(first)
                or (any(beside) and other.fits(first, run=ends or begins))
                or (all(beside) and (ends or begins))
            ):
                yield first
            return
        # A passage that stands whole beside other words is cut out there, wherever it begins.
        answers = other.answered_before(second) == one, other.answered_from(first) == (two if two < count else None)
        moved = [
            not answer and length >= _INSERTED and self._holds(place, step, length, length)
            for answer, place, step, length in zip(answers[::-1], (one, two), (-1, 1), lengths, strict=True)
        ]
        at_end = first if beside[0] and (moved[0] or other.fits(first, run=ends)) else None
        at_begin = second if beside[1] and (moved[1] or other.fits(second, run=begins)) else None
        if at_end is not None and at_begin is not None and 0 < at_begin - at_end < _INSERTED:
            # A few words were put in: they belong to the passage that has the better boundary.
            first_fits = other.begins(at_end) and not other.begins(at_begin)
            yield at_end if first_fits or other.is_mark(at_end, at_begin) else at_begin
        else:
            yield from (place for place in (at_end, at_begin) if place is not None)

    def _holds(self, word: int, step: int, length: int, least: int = _RUN) -> bool:
        """Whether at least so many words from one on, forwards or backwards, or all, are the same in a row."""
        if not 0 <= word < len(self.words.keys):
            return False
        run = self._run_end[word] - word if step > 0 else word - self._run_start[word]
        return bool(run + 1 >= min(least, length))

    def answered_before(self, word: int) -> int:
        """The word of the other document that the last known word before one is, -1 for none."""
        place = int(self._known_before[word - 1]) if word else -1
        return int(self.words.last[place]) if place >= 0 else -1

    def answered_from(self, word: int) -> int | None:
        """The word of the other document that the first known word from one on is, None for none."""
        place = int(self._known_from[word]) if word < len(self.words.keys) else len(self.words.keys)
        return int(self.words.first[place]) if place < len(self.words.keys) else None

    def cut(self, own: Iterable[int], offsets: Iterable[int]) -> tuple[Passage, ...]:
        """Cut the document at places of its own and at others; none of the others is within a row of a table."""
        rows, places = [row.start for row in self._rows], set(own)
        for offset in offsets:
            row = bisect_right(rows, offset) - 1
            if row < 0 or not self._rows[row].start < offset < self._rows[row].end:
                places.add(offset)
        return passages(self.document, self._seams(places))

    def _seams(self, places: Iterable[int] = ()) -> Seams:
        return Seams(tuple(sorted({*places, *(row.start for row in self._rows)})), frozenset(self.headings))

    def offset(self, word: int, signs: str) -> int:
        """The place before a word at which to cut: after the signs that stand there in the other document, too.

        Else signs that close stay with the word before them.
        """
        start, end = self._gap(word)
        text = self.document.text
        place = start
        for sign in "".join(signs.split()).replace("|", ""):
            following = text.find(sign, place, end)
            if following < 0 or text[place:following].strip(" \t"):
                break
            place = following + 1
        closing = (_BLANKS if place > start else _CLOSING).match(text, place, end)
        return closing.end() if closing else start
