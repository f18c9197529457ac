"""Text that also stands in other documents, a template for example, left out of a document: `--ignore-like`.

Only what stands there word for word goes, sentence by sentence: a reader can rely on it that nothing of what was left
out is new. A sentence in which a name was filled in, or "not" slipped in, is not the template's, and stays. Nearly the
same is not enough: of 793 sentences of 40 contracts of which another contract on the same template has one that shares
nine tenths of the words, 726 differ in words: "promptly" for "immediately", another state, one more cost to bear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePath

from colde_cli.documents.document import Document, Ignored, ReadReport, Section, Span
from colde_cli.documents.excision import without
from colde_cli.documents.passages import stripped
from colde_cli.documents.sentences import sentence_starts
from colde_cli.errors import NoTextError
from colde_cli.similarity.noise import NOTHING, Noise
from colde_cli.similarity.section_changes import name
from colde_cli.similarity.words import Word, words

LEAST = 6
"""Words of a sentence that goes by itself; a shorter one ("None.") goes only with its neighbour."""

_VERSION = 1
"""Of the rules here; a new one makes what a corpus remembers unknown."""

_TRIES = 200
"""Places of the other text that are looked at for one sentence."""


_CLOSING = frozenset(".;,:")
_LABEL = re.compile(
    r"[•◦▪*–-]?\s*(?:(?:\(\s?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxlc]+)\s?\)|(?:\d+(?:\.\d+)*|[a-z]|[ivxlc]+)[.)]|\d+(?:\.\d+)+)\s+)*"
)
"""What numbers a clause is no part of it: templates are renumbered when they are used."""


class Boilerplate:
    """The text of documents, to be left out of others."""

    def __init__(self, sources: Sequence[Document], noise: Noise = NOTHING) -> None:
        """Take the text of `sources`; what `noise` says is no difference here either."""
        self._noise = noise
        self._texts = [_Text.of(source, noise) for source in sources]
        self._names = {
            name(section, noise) for source in sources for section in source.sections if section.heading
        }
        self.sources = tuple(source.path for source in sources)

    @property
    def identity(self) -> str:
        """Hash of all that decides what is left out of a document."""
        texts = sorted(text.squeezed for text in self._texts)
        said = (str(_VERSION), repr(replace(self._noise, like=())), *texts, *sorted(self._names))
        return sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()

    def without(self, document: Document) -> Document:
        """The document less what stands in the sources; its report says how much that was.

        Raises:
            NoTextError: nothing is left.
        """
        found = {section.index: self._standing(document, section) for section in document.sections}
        gone = self._gone(document, found)
        if len(gone) == len(document.sections):
            shown = ", ".join(PurePath(source).name for source in self.sources)
            raise NoTextError(
                f"All text of {document.path or document.title} also stands in {shown}; nothing of it is left."
            )
        stretches = [stretch for section in document.sections for stretch in found[section.index].stretches]
        left = without(document, stretches, gone) if stretches or gone else document
        return replace(left, report=_report(document, stretches, gone))

    def _standing(self, document: Document, section: Section) -> _Found:
        """What of a section's body stands in the sources."""
        body = document.text[section.body_start : section.span.end]
        units = list(_units(body, words(body, self._noise)))
        out = [unit.long and self._stands(unit) for unit in units]
        for step in (1, -1):  # short sentences go with the one before them, or with the one after
            for place in range(len(units))[::step]:
                other = place - step
                if out[place] or not 0 <= other < len(units) or not out[other]:
                    continue
                first, last = sorted((units[place], units[other]), key=lambda unit: unit.span.start)
                out[place] = self._stands(_Unit((*first.words, *last.words), first.span, False))
        stretches: list[Span] = []
        for place, unit in enumerate(units):
            if out[place]:
                start = stretches.pop().start if place and out[place - 1] else unit.span.start
                stretches.append(Span(start, unit.span.end))
        moved = tuple(Span(one.start + section.body_start, one.end + section.body_start) for one in stretches)
        return _Found(moved, all(out))

    def _stands(self, unit: _Unit) -> bool:
        squeezed, _ = _squeezed(unit.telling)
        return bool(squeezed) and any(text.holds(squeezed) for text in self._texts)

    def _gone(self, document: Document, found: Mapping[int, _Found]) -> set[int]:
        """Sections to leave out whole: nothing of the body is left, the heading is known, nothing stands under it."""
        gone: set[int] = set()
        for section in reversed(document.sections):
            known = not section.heading or name(section, self._noise) in self._names
            if found[section.index].whole and known:
                under = document.subsections(section)
                if all(other.index in gone for other in under):
                    gone.add(section.index)
        return gone


@dataclass(frozen=True, slots=True)
class _Found:
    """What of a body stands in the sources: stretches of it, and whether that is all."""

    stretches: tuple[Span, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence of a body: its words, where it stands, and whether it goes by itself."""

    words: tuple[Word, ...]
    span: Span
    long: bool

    @property
    def telling(self) -> Sequence[Word]:
        """Its words without the signs that close it."""
        last = len(self.words)
        while last and self.words[last - 1].key in _CLOSING:
            last -= 1
        return self.words[:last]


def _units(body: str, found: Sequence[Word]) -> Iterator[_Unit]:
    """The sentences of a body, labels of list items before them aside."""
    starts = [word.start for word in found]
    for start, end in pairwise([*sentence_starts(body), len(body)]):
        span = stripped(body, start, end)
        if not len(span):
            continue
        label = _LABEL.match(body, span.start, span.end)
        first = bisect_left(starts, label.end() if label else span.start)
        own = tuple(found[first : bisect_left(starts, span.end)])
        if own:
            yield _Unit(own, span, sum(not word.sign for word in own) >= LEAST)


@dataclass(frozen=True, slots=True)
class _Text:
    """A source as one run of letters, and the places at which its words begin."""

    squeezed: str
    starts: frozenset[int]

    @classmethod
    def of(cls, document: Document, noise: Noise) -> _Text:
        text = "\n\n".join(document.section_text(section) for section in document.sections)
        squeezed, starts = _squeezed(words(text, noise))
        return cls(squeezed, frozenset((*starts, len(squeezed))))

    def holds(self, run: str) -> bool:
        """The run stands here, from the beginning of a word to the end of one."""
        place = -1
        for _ in range(_TRIES):
            place = self.squeezed.find(run, place + 1)
            if place < 0:
                return False
            if place in self.starts and place + len(run) in self.starts:
                return True
        return False


def _squeezed(found: Sequence[Word]) -> tuple[str, list[int]]:
    """Words without what stands between them, hyphens between letters included, and where each begins."""
    pieces, starts, length = [], [], 0
    for place, word in enumerate(found):
        starts.append(length)
        inside = 0 < place < len(found) - 1
        if (
            word.key == "-"
            and inside
            and found[place - 1].key[-1:].isalpha()
            and found[place + 1].key[0].isalpha()
        ):
            continue
        pieces.append(word.key)
        length += len(word.key)
    return "".join(pieces), starts


def _report(document: Document, stretches: Sequence[Span], gone: Collection[int]) -> ReadReport:
    count = sum(len(document.text[one.start : one.end].split()) for one in stretches)
    headings = tuple(document.sections[index].heading for index in sorted(gone))
    ignored = Ignored(len(stretches), count, tuple(heading for heading in headings if heading))
    note = f"Left out {count:,} words of sentences that stand in a document named to be ignored."
    notes = (*document.report.notes, note) if count else document.report.notes
    return replace(document.report, ignored=ignored, notes=notes)
