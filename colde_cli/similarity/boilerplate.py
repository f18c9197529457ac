"""Leave the text of templates out of documents (`--ignore-like`).

A sentence is left out if a template contains it word for word, apart from typesetting, bullets and clause numbers.
A whole section is left out if none of its text is left and the template has a section of the same name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import PurePath

from colde_cli.documents.chunking import sentence_starts
from colde_cli.documents.document import Document, Ignored, Section, Span
from colde_cli.documents.passages import stripped
from colde_cli.documents.selection import remove_spans
from colde_cli.errors import NoTextError
from colde_cli.similarity.candidates import PairCandidate, WordCosines, lexical_candidates
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, Word, divided_in, squeezed, words
from colde_cli.similarity.section_changes import name

MIN_WORDS = 6
"""Minimum number of words of a sentence searched for by itself. A shorter one ("None.") may come from anywhere."""

CHANGED = 0.6
"""Minimum similarity of wording of a template sentence and its changed form; edited passages that are aligned
need as much."""

_VERSION = 2
"""Version of these rules. Cached encodings made by another version are not used."""

_TRIES = 2000
"""Maximum number of places of a template at which one sentence is searched for."""

_CLOSING = frozenset(".;,:")
_COUNTED = r"\(\s?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxlc]+)\s?\)|(?:\d+(?:\.\d+)*|[a-z]|[ivxlc]+)[.)]|\d+(?:\.\d+)+"
_LABEL = re.compile(rf"[•◦▪*–-]?\s*(?:(?:{_COUNTED})\s+)*")
"""Bullets and numbers of clauses: a template is renumbered when it is used."""


class Boilerplate:
    """The text of templates, to be left out of other documents."""

    def __init__(self, sources: Sequence[Document], ignore: IgnoreOptions = NOTHING_IGNORED) -> None:
        """Take the text of `sources`; differences that `ignore` names do not count."""
        self._ignore = ignore
        self._divided = {word for source in sources for word in divided_in(source)}
        self._templates = [_Template.of(source, ignore) for source in sources]
        headed = [section for source in sources for section in source.sections if section.heading]
        self._names = {name(section, ignore) for section in headed}
        self.sources = tuple(source.path for source in sources)

    @property
    def identity(self) -> str:
        """Hash everything that decides which text is left out of a document."""
        switches = repr(replace(self._ignore, like=()))
        runs = sorted(squeezed(template.words)[0] for template in self._templates)
        facts = (str(_VERSION), switches, *runs, *sorted(self._divided), *sorted(self._names))
        return sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()

    def without(self, document: Document) -> Document:
        """Leave the text of the templates out of a document; its report says how much that was.

        Raises:
            NoTextError: nothing is left.
        """
        return self._left(self._marked(document))

    def without_both(self, a: Document, b: Document) -> tuple[Document, Document]:
        """Leave the text of the templates out of two documents that will be compared.

        A sentence stays if the other document has a changed form of it, so that the change can be shown.

        Raises:
            NoTextError: nothing is left of one of them.
        """
        left, right = self._marked(a), self._marked(b)
        back_a, back_b = _changed(left, right), _changed(right, left)
        return self._left(left.restored(back_a)), self._left(right.restored(back_b))

    def _marked(self, document: Document) -> _MarkedDocument:
        """Mark the sentences of a document that the templates contain."""
        divided = frozenset((*self._divided, *divided_in(document)))
        found = sentences(document, replace(self._ignore, divided=divided))
        templates = [template.text(divided) for template in self._templates]
        out = [sentence.long and _stands(sentence, templates) for sentence in found]
        for step in (1, -1):  # a short sentence goes with the one before it or the one after it
            for place in range(len(found))[::step]:
                other = place - step
                if out[place] or not 0 <= other < len(found) or not out[other]:
                    continue
                first, last = found[min(place, other)], found[max(place, other)]
                out[place] = first.section == last.section and _stands(first.with_next(last), templates)
        return _MarkedDocument(document, tuple(found), tuple(out))

    def _left(self, marked: _MarkedDocument) -> Document:
        document, stretches, gone = marked.document, marked.stretches, self._gone(marked)
        if len(gone) == len(document.sections):
            shown = ", ".join(PurePath(source).name for source in self.sources)
            raise NoTextError(
                f"All text of {document.path or document.title} is also in {shown}; nothing is left to compare."
            )
        left = remove_spans(document, stretches, gone) if stretches or gone else document
        count = sum(len(document.text[stretch.start : stretch.end].split()) for stretch in stretches)
        headings = (document.sections[index].heading for index in sorted(gone))
        ignored = Ignored(len(stretches), count, tuple(heading for heading in headings if heading))
        notes = document.report.notes
        if ignored.stretches or ignored.sections:
            whole = f"; sections left out whole: {', '.join(ignored.sections)}" if ignored.sections else ""
            notes = (*notes, f"Left out as ignored: {ignored.words:,} words{whole}.")
        return replace(left, report=replace(document.report, ignored=ignored, notes=notes))

    def _gone(self, marked: _MarkedDocument) -> set[int]:
        """Sections to leave out whole: no text and no subsection is left, and a template has the heading."""
        with_text = {sentence.section for sentence, out in zip(marked.sentences, marked.out, strict=True) if not out}
        gone: set[int] = set()
        for section in reversed(marked.document.sections):
            known = not section.heading or name(section, self._ignore) in self._names
            if known and section.index not in with_text:
                under = marked.document.subsections(section)
                if all(other.index in gone for other in under):
                    gone.add(section.index)
        return gone


def _stands(sentence: ComparedSentence, templates: Sequence[TemplateText]) -> bool:
    run = sentence.run
    return any(template.holds(run) for template in templates)


@dataclass(frozen=True)
class ComparedSentence:
    """A sentence of a document's body.

    Attributes:
        divided: see `IgnoreOptions`.
    """

    section: int
    words: tuple[Word, ...]
    span: Span
    divided: frozenset[str] = frozenset()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Its words without punctuation, case ignored."""
        return tuple(word.key.casefold() for word in self.words if not word.sign)

    @property
    def long(self) -> bool:
        """Whether it is long enough to be searched for by itself."""
        return len(self.keys) >= MIN_WORDS

    @property
    def run(self) -> str:
        """Its characters without blanks and without the punctuation at its end."""
        last = len(self.words)
        while last and self.words[last - 1].key in _CLOSING:
            last -= 1
        return squeezed(self.words[:last], self.divided)[0]

    def with_next(self, other: ComparedSentence) -> ComparedSentence:
        """Join two sentences, without the label between them."""
        span = Span(self.span.start, other.span.end)
        return ComparedSentence(self.section, (*self.words, *other.words), span, self.divided)


def sentences(document: Document, ignore: IgnoreOptions) -> list[ComparedSentence]:
    """Cut all bodies into sentences, in reading order, without headings."""
    return [sentence for section in document.sections for sentence in _of_section(document, section, ignore)]


def _of_section(document: Document, section: Section, ignore: IgnoreOptions) -> Iterator[ComparedSentence]:
    body = document.text[section.body_start : section.span.end]
    all_words = words(body, ignore)
    starts = [word.start for word in all_words]
    for start, end in pairwise([*sentence_starts(body), len(body)]):
        span = stripped(body, start, end)
        label = _LABEL.match(body, span.start, span.end)
        first = bisect_left(starts, label.end() if label else span.start)
        inside = all_words[first : bisect_left(starts, span.end)]
        if inside:
            place = span.shifted(section.body_start)
            yield ComparedSentence(section.index, inside, place, ignore.divided)


@dataclass(slots=True)
class _Template:
    """The words of a template.

    Attributes:
        hyphenated: its words with a hyphen, in lower case without it.
    """

    words: tuple[Word, ...]
    hyphenated: frozenset[str]
    _texts: dict[frozenset[str], TemplateText] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Document, ignore: IgnoreOptions) -> _Template:
        """Take the text of all sections, headings included."""
        found = words("\n\n".join(document.section_text(section) for section in document.sections), ignore)
        beside = zip(found, found[1:], found[2:], strict=False)
        return cls(found, frozenset((a.key + b.key).casefold() for a, sign, b in beside if sign.key == "-"))

    def text(self, divided: frozenset[str]) -> TemplateText:
        """Its text where these words are the same with a hyphen and without; the last one is kept."""
        some = divided & self.hyphenated
        if some not in self._texts:
            self._texts = {some: TemplateText.of(self.words, some)}
        return self._texts[some]


@dataclass(frozen=True, slots=True)
class TemplateText:
    """A template as one run of characters, searched for sentences.

    Attributes:
        run: its words with nothing between them.
        bounds: the offsets at which words begin and end; a blank parts two numbers.
    """

    run: str
    bounds: frozenset[int]

    @classmethod
    def of(cls, found: Sequence[Word], divided: frozenset[str]) -> TemplateText:
        """Run words together; `divided`: see `IgnoreOptions`."""
        run, starts = squeezed(found, divided)
        ends = (start - 1 for start in starts if run[start - 1 : start] == " ")
        return cls(run, frozenset((*starts, *ends, len(run))))

    def holds(self, run: str) -> bool:
        """Whether the template contains these characters, from the beginning of a word to the end of one."""
        place = -1
        for _ in range(_TRIES if run else 0):
            place = self.run.find(run, place + 1)
            if place < 0 or {place, place + len(run)} <= self.bounds:
                return place >= 0
        return False


@dataclass(frozen=True, slots=True)
class _MarkedDocument:
    """A document and its sentences, each marked as left out or kept."""

    document: Document
    sentences: tuple[ComparedSentence, ...]
    out: tuple[bool, ...]

    @property
    def keys(self) -> list[tuple[str, ...]]:
        return [sentence.keys for sentence in self.sentences]

    @property
    def all(self) -> list[int]:
        return list(range(len(self.sentences)))

    @property
    def kept(self) -> list[int]:
        """Indices of the long sentences that are kept."""
        return [place for place in self.all if not self.out[place] and self.sentences[place].long]

    @property
    def stretches(self) -> list[Span]:
        """The spans to leave out; neighbouring ones are joined."""
        spans: list[Span] = []
        for place, sentence in enumerate(self.sentences):
            if self.out[place]:
                before = self.sentences[place - 1]
                joined = place and self.out[place - 1] and before.section == sentence.section
                start = spans.pop().start if joined else sentence.span.start
                spans.append(Span(start, sentence.span.end))
        return spans

    def restored(self, places: set[int]) -> _MarkedDocument:
        """Mark these sentences as kept."""
        return replace(self, out=tuple(out and place not in places for place, out in enumerate(self.out)))


def _changed(marked: _MarkedDocument, other: _MarkedDocument) -> set[int]:
    """Find the sentences that the other document changed: for each sentence it keeps, the most similar one here."""
    if not any(marked.out):  # all are kept anyway
        return set()
    best: dict[int, PairCandidate] = {}
    alike = WordCosines.of(marked.keys, other.keys, marked.all, other.kept)
    for candidate in lexical_candidates(marked.keys, other.keys, alike):
        known = best.get(candidate.b)
        # Of two equally similar sentences, take the one that is kept anyway.
        worth = (candidate.score, not marked.out[candidate.a])
        if candidate.score >= CHANGED and (known is None or worth > (known.score, not marked.out[known.a])):
            best[candidate.b] = candidate
    return {candidate.a for candidate in best.values()}
