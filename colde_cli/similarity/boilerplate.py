"""Text that also stands in other documents, a template for example, left out of a document: `--ignore-like`.

Only what stands there word for word goes, sentence by sentence: a reader can rely on it that nothing of what was left
out is new. A sentence in which a name was filled in, or "not" slipped in, is not the template's, and stays. Nearly the
same is not enough: of 956 sentences that share nine tenths of their words with one of another contract on the same
template, 868 differ in words (`benchmarks/boilerplate.py`): "promptly" for "immediately", another state, one more cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import PurePath

from colde_cli.documents.document import Document, Ignored, Span
from colde_cli.documents.excision import without
from colde_cli.errors import NoTextError
from colde_cli.similarity.candidates import Candidate, TellingWords, lexical_candidates
from colde_cli.similarity.clauses import Clause, Wording, clauses
from colde_cli.similarity.noise import NOTHING, Noise
from colde_cli.similarity.section_changes import name

CHANGED = 0.6
"""Wording from which a sentence of the other document is the one of the template, changed: what aligned passages of
edited wording need."""

_VERSION = 1
"""Of the rules here; a new one makes what a corpus remembers unknown."""


class Boilerplate:
    """The text of documents, to be left out of others."""

    def __init__(self, sources: Sequence[Document], noise: Noise = NOTHING) -> None:
        """Take the text of `sources`; what `noise` says is no difference here either."""
        self._noise = noise
        self._wordings = [Wording.of(source, noise) for source in sources]
        headed = [section for source in sources for section in source.sections if section.heading]
        self._names = {name(section, noise) for section in headed}
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
        left = without(document, stretches, gone) if stretches or gone else document
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
