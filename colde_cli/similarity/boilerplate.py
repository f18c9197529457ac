"""Sentences of a document as words, in the form in which it is asked whether they stand in another."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import PurePath

from colde_cli.documents.document import Document, Ignored, Section, Span
from colde_cli.documents.passages import stripped
from colde_cli.documents.selection import remove_spans
from colde_cli.documents.sentences import sentence_starts
from colde_cli.errors import NoTextError
from colde_cli.similarity.candidates import Candidate, TellingWords, lexical_candidates
from colde_cli.similarity.section_changes import name
from colde_cli.similarity.words import NOTHING_IGNORED, IgnoreOptions, Word, squeezed, words

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


def clauses(document: Document, ignore: IgnoreOptions) -> list[Clause]:
    """The sentences of all bodies in reading order; headings are none."""
    return [clause for section in document.sections for clause in _of_section(document, section, ignore)]


def _of_section(document: Document, section: Section, ignore: IgnoreOptions) -> Iterator[Clause]:
    body = document.text[section.body_start : section.span.end]
    found = words(body, ignore)
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
        beginnings: at which of these places the same first letters stand.
    """

    run: str
    bounds: frozenset[int]
    beginnings: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, document: Document, ignore: IgnoreOptions) -> Wording:
        """The wording of all sections, headings included."""
        text = "\n\n".join(document.section_text(section) for section in document.sections)
        run, starts = squeezed(words(text, ignore))
        beginnings: defaultdict[str, list[int]] = defaultdict(list)
        for start in starts:
            beginnings[run[start : start + _BEGINNING]].append(start)
        return cls(run, frozenset((*starts, len(run))), dict(beginnings))

    def holds(self, run: str) -> bool:
        """The run stands here, from the beginning of a word to the end of one."""
        places = islice(self._places(run), _TRIES)
        return any(
            place + len(run) in self.bounds and self.run.startswith(run, place) for place in places if run
        )

    def _places(self, run: str) -> Iterator[int]:
        """Where a word begins that the run could begin with."""
        if len(run) >= _BEGINNING:
            yield from self.beginnings.get(run[:_BEGINNING], ())
            return
        place = self.run.find(run)
        while place >= 0:
            if place in self.bounds:
                yield place
            place = self.run.find(run, place + 1)


CHANGED = 0.6
"""Wording from which a sentence of the other document is the one of the template, changed: what aligned passages of
edited wording need."""

_VERSION = 1
"""Of the rules here; a new one makes what a corpus remembers unknown."""


class Boilerplate:
    """The text of documents, to be left out of others."""

    def __init__(self, sources: Sequence[Document], ignore: IgnoreOptions = NOTHING_IGNORED) -> None:
        """Take the text of `sources`; what `ignore` says is no difference here either."""
        self._noise = ignore
        self._wordings = [Wording.of(source, ignore) for source in sources]
        headed = [section for source in sources for section in source.sections if section.heading]
        self._names = {name(section, ignore) for section in headed}
        self.sources = tuple(source.path for source in sources)

    @property
    def identity(self) -> str:
        """Hash of all that decides what is left out of a document."""
        switches = repr(replace(self._noise, like=()))
        said = (str(_VERSION), switches, *sorted(found.run for found in self._wordings), *sorted(self._names))
        return sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()

    def without(self, document: Document) -> Document:
        """The document less what stands in the sources; its report says how much that was.

        Raises:
            NoTextError: nothing is left.
        """
        return self._left(self._read(document))

    def without_both(self, a: Document, b: Document) -> tuple[Document, Document]:
        """Two documents to be compared, each less what stands in the sources.

        A sentence of one stays if the other has it changed, so that the change can be shown.

        Raises:
            NoTextError: nothing is left of one of them.
        """
        left, right = self._read(a), self._read(b)
        back_a, back_b = _changed(left, right), _changed(right, left)
        return self._left(left.restored(back_a)), self._left(right.restored(back_b))

    def _read(self, document: Document) -> _Read:
        """A document's sentences, and which of them stand in the sources."""
        found = clauses(document, self._noise)
        out = [clause.long and self._stands(clause) for clause in found]
        for step in (1, -1):  # a short one goes with the one before it, or with the one after
            for place in range(len(found))[::step]:
                other = place - step
                if out[place] or not 0 <= other < len(found) or not out[other]:
                    continue
                first, last = found[min(place, other)], found[max(place, other)]
                out[place] = first.section == last.section and self._stands(first.with_next(last))
        return _Read(document, tuple(found), tuple(out))

    def _stands(self, clause: Clause) -> bool:
        run = clause.run
        return any(wording.holds(run) for wording in self._wordings)

    def _left(self, read: _Read) -> Document:
        document, stretches, gone = read.document, read.stretches, self._gone(read)
        if len(gone) == len(document.sections):
            shown = ", ".join(PurePath(source).name for source in self.sources)
            raise NoTextError(
                f"All text of {document.path or document.title} also stands in {shown}; nothing of it is left."
            )
        left = remove_spans(document, stretches, gone) if stretches or gone else document
        count = sum(len(document.text[one.start : one.end].split()) for one in stretches)
        headings = (document.sections[index].heading for index in sorted(gone))
        ignored = Ignored(len(stretches), count, tuple(heading for heading in headings if heading))
        notes = (*document.report.notes, *_notes(ignored))
        return replace(left, report=replace(document.report, ignored=ignored, notes=notes))

    def _gone(self, read: _Read) -> set[int]:
        """Sections to leave out whole: nothing of the body is left, the heading is known, nothing stands under it."""
        with_text = {clause.section for clause, out in zip(read.clauses, read.out, strict=True) if not out}
        gone: set[int] = set()
        for section in reversed(read.document.sections):
            known = not section.heading or name(section, self._noise) in self._names
            if known and section.index not in with_text:
                under = read.document.subsections(section)
                if all(other.index in gone for other in under):
                    gone.add(section.index)
        return gone


@dataclass(frozen=True, slots=True)
class _Read:
    """A document, its sentences, and for each whether it is to be left out."""

    document: Document
    clauses: tuple[Clause, ...]
    out: tuple[bool, ...]

    @property
    def keys(self) -> list[tuple[str, ...]]:
        return [clause.keys for clause in self.clauses]

    @property
    def all(self) -> list[int]:
        return list(range(len(self.clauses)))

    @property
    def kept(self) -> list[int]:
        return [place for place in self.all if not self.out[place] and self.clauses[place].long]

    @property
    def stretches(self) -> list[Span]:
        """What is to be left out; neighbours as one."""
        found: list[Span] = []
        for place, clause in enumerate(self.clauses):
            if self.out[place]:
                joined = place and self.out[place - 1] and self.clauses[place - 1].section == clause.section
                start = found.pop().start if joined else clause.span.start
                found.append(Span(start, clause.span.end))
        return found

    def restored(self, places: set[int]) -> _Read:
        """The same, but that some sentences stay."""
        return replace(self, out=tuple(out and place not in places for place, out in enumerate(self.out)))


def _notes(ignored: Ignored) -> list[str]:
    """What was left out, for the curious."""
    if not ignored.stretches and not ignored.sections:
        return []
    whole = f"; sections left out whole: {', '.join(ignored.sections)}" if ignored.sections else ""
    return [f"Left out as ignored: {ignored.words:,} words{whole}."]


def _changed(own: _Read, other: _Read) -> set[int]:
    """Sentences of `own` of which `other` keeps a changed one: those most like what it keeps."""
    if not any(own.out):  # all stay as it is
        return set()
    best: dict[int, Candidate] = {}
    shared = TellingWords.of(own.keys, other.keys, own.all, other.kept)
    for candidate in lexical_candidates(own.keys, other.keys, shared):
        known = best.get(candidate.b)
        # Of two that are equally like it, the one that stays anyway.
        worth = (candidate.score, not own.out[candidate.a])
        if candidate.score >= CHANGED and (known is None or worth > (known.score, not own.out[known.a])):
            best[candidate.b] = candidate
    return {candidate.a for candidate in best.values()}
