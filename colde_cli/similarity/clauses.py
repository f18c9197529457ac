"""Sentences of a document as words, in the form in which it is asked whether they stand in another."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from colde_cli.documents.document import Document, Section, Span
from colde_cli.documents.passages import stripped
from colde_cli.documents.sentences import sentence_starts
from colde_cli.similarity.noise import Noise
from colde_cli.similarity.words import Word, squeezed, words

LEAST = 6
"""Words of a sentence that is looked for by itself; a shorter one ("None.") says little about where it is from."""

_TRIES = 200
"""Places of a text that are looked at for one sentence."""

_BEGINNING = 16
_CLOSING = frozenset(".;,:")
_COUNTED = r"\(\s?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxlc]+)\s?\)|(?:\d+(?:\.\d+)*|[a-z]|[ivxlc]+)[.)]|\d+(?:\.\d+)+"
_LABEL = re.compile(rf"[•◦▪*–-]?\s*(?:(?:{_COUNTED})\s+)*")
"""Bullets and numbers of clauses: a template is renumbered when it is used."""


@dataclass(frozen=True)
class Clause:
    """A sentence of a body.

    Attributes:
        section: index of its section.
        words: without the label before it.
        span: the characters it covers, label included.
    """

    section: int
    words: tuple[Word, ...]
    span: Span

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Its words without signs, case ignored."""
        return tuple(word.key.casefold() for word in self.words if not word.sign)

    @property
    def long(self) -> bool:
        """It is looked for by itself."""
        return len(self.keys) >= LEAST

    @property
    def run(self) -> str:
        """Its letters without blanks, and without the signs that close it."""
        last = len(self.words)
        while last and self.words[last - 1].key in _CLOSING:
            last -= 1
        return squeezed(self.words[:last])[0]

    def with_next(self, other: Clause) -> Clause:
        """The two as one, labels between them aside."""
        return Clause(self.section, (*self.words, *other.words), Span(self.span.start, other.span.end))


def clauses(document: Document, noise: Noise) -> list[Clause]:
    """The sentences of all bodies in reading order; headings are none."""
    return [clause for section in document.sections for clause in _of_section(document, section, noise)]


def _of_section(document: Document, section: Section, noise: Noise) -> Iterator[Clause]:
    body = document.text[section.body_start : section.span.end]
    found = words(body, noise)
    starts = [word.start for word in found]
    for start, end in pairwise([*sentence_starts(body), len(body)]):
        span = stripped(body, start, end)
        label = _LABEL.match(body, span.start, span.end)
        first = bisect_left(starts, label.end() if label else span.start)
        own = found[first : bisect_left(starts, span.end)]
        if own:
            place = Span(span.start + section.body_start, span.end + section.body_start)
            yield Clause(section.index, own, place)


@dataclass(frozen=True, slots=True)
class Wording:
    """A document as one run of letters.

    Attributes:
        run: its words without what stands between them.
        bounds: places at which they begin and end.
        beginnings: the first letters from each of these places on: most of what is not here is known by them.
    """

    run: str
    bounds: frozenset[int]
    beginnings: frozenset[str]

    @classmethod
    def of(cls, document: Document, noise: Noise) -> Wording:
        """The wording of all sections, headings included."""
        text = "\n\n".join(document.section_text(section) for section in document.sections)
        run, starts = squeezed(words(text, noise))
        beginnings = frozenset(run[start : start + _BEGINNING] for start in starts)
        return cls(run, frozenset((*starts, len(run))), beginnings)

    def holds(self, run: str) -> bool:
        """The run stands here, from the beginning of a word to the end of one."""
        if len(run) >= _BEGINNING and run[:_BEGINNING] not in self.beginnings:
            return False
        place = -1
        for _ in range(_TRIES):
            place = self.run.find(run, place + 1)
            if place < 0:
                return False
            if place in self.bounds and place + len(run) in self.bounds:
                return bool(run)
        return False
