"""What became of the remarks of a review: where each of them belongs in two versions, and what changed there.

The words that a comment is on tell its place, then the words that a remark quotes, then the sections, pages and lines
that it names, then its meaning: the vectors of the remark and of the passages, and the rare words that both have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document, Span
from colde_cli.documents.remarks import Review, ReviewRemark
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.runtime import Progress
from colde_cli.errors import OptionError
from colde_cli.similarity.alignment import align
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.outside_changes import ignored_data
from colde_cli.similarity.pairs import Alignment, PassagePair, State, extents, in_document, in_pair, versions
from colde_cli.similarity.plain_data import fields_data, model_data, source_data
from colde_cli.similarity.remark_clues import Clued, RemarkTerms, labels, lines, quotations, without_clues
from colde_cli.similarity.section_changes import SectionState
from colde_cli.similarity.triage import placed_data

FloatArray = NDArray[np.float32]


class RemarkVerdict(StrEnum):
    """What became of a remark."""

    CHANGED = "changed"
    """Words at its place were deleted or replaced."""
    ADDED = "only_added"
    """Nothing at its place was deleted, but words or passages that belong to it were inserted."""
    NOT_CHANGED = "not_changed"
    NO_PLACE = "no_place"
    """Nothing in either document answers to it."""


class Basis(StrEnum):
    """What told the place of a remark."""

    WORDS = "words"
    """The words that the comment is on."""
    QUOTATION = "quotation"
    REFERENCE = "reference"
    """A section, page, line, table or the like that it names."""
    MEANING = "meaning"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class AnsweredRemark:
    """A remark, its place in both documents, and what became of it.

    Attributes:
        pairs: indices of `Comparison.passages` at its place: one for most, all of a section for one on a section.
        added: indices of passages that only B has and that belong to it: beside its place, or with its words.
        words: the words that it is on or quotes, as offsets into the `a_text` of the first of `pairs`; None for none.
        touched: whether these words themselves changed; None without such words.
        score: how well the place fits a remark without words or quotation, 0 to 1; None for others.
    """

    remark: ReviewRemark
    verdict: RemarkVerdict
    basis: Basis
    pairs: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    words: Span | None = None
    touched: bool | None = None
    score: float | None = None


@dataclass(frozen=True, repr=False)
class Answers:
    """The remarks of a review, with what became of each from one version to the next.

    Attributes:
        path, title: of the review.
        remarks: in the order of the review.
        other: what stands in the review around the remarks.
    """

    comparison: Comparison
    path: str
    title: str
    remarks: tuple[AnsweredRemark, ...]
    other: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = ", ".join(f"{verdict.value}={count}" for verdict, count in self.summary.items())
        return f"Answers(path={self.path[-100:]!r}, {counts})"

    @property
    def same(self) -> bool:
        """Whether nothing differs between the two versions."""
        return self.comparison.same

    @property
    def summary(self) -> dict[RemarkVerdict, int]:
        """Count the remarks with each verdict."""
        counts = Counter(one.verdict for one in self.remarks)
        return {verdict: counts[verdict] for verdict in RemarkVerdict}

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.comments/1, the output of `colde diff --comments FILE --format json`."""
        a, b = self.comparison.a.document, self.comparison.b.document
        return {
            "schema": "colde.comments/1",
            "a": source_data(a),
            "b": source_data(b),
            "review": {"path": self.path, "title": self.title},
            "model": model_data(self.comparison.model),
            "same": self.same,
            "summary": {verdict.value: count for verdict, count in self.summary.items()},
            "remarks": [self._remark(number, one) for number, one in enumerate(self.remarks, 1)],
            "other": list(self.other),
            "ignored": ignored_data(a, b, self.comparison.ignore),
        }

    def _remark(self, number: int, answered: AnsweredRemark) -> dict[str, Any]:
        remark, passages = answered.remark, self.comparison.passages
        sides = (self.comparison.a.document, self.comparison.b.document)
        return {
            "number": number,
            **fields_data(remark, "label author date text on done"),
            "replies": [fields_data(one, "author date text") for one in remark.replies],
            **fields_data(answered, "verdict basis"),
            "score": None if answered.score is None else round(answered.score, 3),
            **fields_data(answered, "words"),
            "words_changed": answered.touched,
            "passages": [placed_data(passages[place], *sides) for place in answered.pairs],
            "added": [placed_data(passages[place], *sides) for place in answered.added],
        }


def answer(
    comparison: Comparison,
    review: Review,
    encoder: DocumentEncoder,
    lines_of: Callable[[Document, int, int], str] = lambda document, first, last: "",
    progress: Progress | None = None,
) -> Answers:
    """Find the places of the remarks of a review in both documents of a comparison, and what became of each.

    Comments count where the text of the review is a version of one of the two; else the remarks that it lists, too.

    Args:
        lines_of: the words of some lines of the file of a document; "" where it has no lines.

    Raises:
        ValueError: the documents were compared without passages.
        OptionError: the review has no remarks.
    """
    bases = [
        _Base(align(review.document, side.document, None), n) for n, side in enumerate((comparison.a, comparison.b))
    ]
    bases.sort(key=lambda base: -base.share)  # stable: of equals the first version, which reviewers have
    a_version = bases[0].share >= _A_VERSION
    remarks = review.comments if review.comments and a_version else (*review.comments, *review.listed)
    if not remarks:
        raise OptionError(f"{review.path} has no comments and lists no remarks; name the review for --comments.")
    finder = _Finder(comparison, encoder, review.document, bases, lines_of)
    finder.encode(remarks, progress)
    found = tuple(finder.answered(remark) for remark in remarks)
    other = () if a_version and review.comments else review.other
    return Answers(comparison, review.path, review.document.title, found, other)


_A_VERSION = 0.5
"""Share of words from which on a review is a copy of a version, with comments, and no list of remarks."""
_NO_PLACE = 0.33
"""Remarks whose best passage fits less have no place. On tuning remarks of benchmarks/remarks.py it parts those about
something that neither document has."""
_SECTION, _PAGE, _FIGURE = 0.6, 0.6, 0.35
"""What clues add to how well a passage fits."""
_LIKELIER = 0.04
"""A passage that changed fits so much better: reviews are answered by changes."""
_BESIDE, _ELSEWHERE, _OF_BEST = 0.12, 0.4, 0.8
"""How well an added passage must fit a remark to belong to it: next to its place, and anywhere, where it must also fit
nearly as well as the best passage does."""
_SURER = 0.1
"""A passage of B is the place of a remark where it fits so much better than the best of A."""
_MOST_ADDED = 3
_MOST_WORDS = 40
"""Passages that are encoded for each remark, the best by their words."""


@dataclass(frozen=True)
class _Base:
    """The review's own text beside one of the documents: 0 for A, 1 for B."""

    alignment: Alignment
    side: int

    @cached_property
    def share(self) -> float:
        """The share of words that they have in common: of the review's, or of the document's."""
        own, other = extents(self.alignment.pairs)
        return max(own.share_kept, other.share_kept) if versions(self.alignment.pairs) else 0.0

    def carried(self, span: Span) -> Span | None:
        """The stretch of the document that became of a stretch of the review; None where it has none."""
        for pair in self.alignment.pairs:
            own = [passage for passage in pair.a if passage.span.end >= span.start and passage.span.start <= span.end]
            if own and pair.b:
                start = in_pair(pair.a, max(span.start, own[0].span.start))
                end = in_pair(pair.a, min(span.end, own[-1].span.end))
                return in_document(pair.b, _moved(pair, Span(start, max(start, end))))
        return None


def _moved(pair: PassagePair, span: Span) -> Span:
    """Where a stretch of `a_text` is in `b_text`: an edit that it cuts is taken whole."""

    def place(offset: int, *, end: bool) -> int:
        shift = 0
        for edit in pair.edits:
            if edit.a.start < offset < edit.a.end:
                return edit.b.end if end else edit.b.start
            if edit.a.end > offset or (edit.a.end == offset and not end and not len(edit.a)):
                break
            shift = edit.b.end - edit.a.end
        return min(max(0, offset + shift), len(pair.b_text))

    start = place(span.start, end=False)
    return Span(start, max(start, place(span.end, end=True)))


class _Finder:
    """Finds the place of each remark."""

    def __init__(
        self,
        comparison: Comparison,
        encoder: DocumentEncoder,
        review: Document,
        bases: Sequence[_Base],
        lines_of: Callable[[Document, int, int], str],
    ) -> None:
        self._comparison, self._encoder, self._review, self._bases = comparison, encoder, review, bases
        alignment = comparison.aligned
        self._sides = (Clued(comparison.a.document, alignment.a), Clued(comparison.b.document, alignment.b))
        self._pairs = [dict[int, int](), dict[int, int]()]  # passage -> pair, of each document
        for number, pair in enumerate(alignment.pairs):
            for side, passages in enumerate((pair.a, pair.b)):
                self._pairs[side].update((passage.index, number) for passage in passages)
        self._terms = RemarkTerms(self._sides)
        self._vectors: dict[str, FloatArray] = {}
        self._lines_of = lines_of

    def encode(self, remarks: Iterable[ReviewRemark], progress: Progress | None) -> None:
        """Encode the remarks that only their meaning can place, and the passages that may be meant."""
        texts: dict[str, None] = {}
        changed = [n for n, pair in enumerate(self._comparison.passages) if pair.state is not State.SAME]
        for remark in remarks:
            if remark.words is not None and len(remark.words):
                continue
            said = _said(remark)
            texts.update(dict.fromkeys((said, without_clues(remark.text, quotations=False))))
            of_words = self._terms.shares(said)
            texts.update((self._terms.texts[n], None) for n in np.argsort(-of_words)[:_MOST_WORDS].tolist())
            # Whatever was added may be the answer.
        if texts:
            for n in changed:
                pair = self._comparison.passages[n]
                for side, passages in enumerate((pair.a, pair.b)):
                    texts.update((self._sides[side].texts[passage.index], None) for passage in passages)
            vectors = self._encoder.encode_passages(list(texts), progress)
            self._vectors = dict(zip(texts, vectors, strict=True))

    def answered(self, remark: ReviewRemark) -> AnsweredRemark:
        """Find the place of a remark and what became of it."""
        if at_words := self._by_words(remark):
            return self._at_words(remark, *at_words, Basis.WORDS)
        of_meaning = self._meaning(_said(remark))
        if quoted := self._by_quotation(remark, of_meaning):
            return self._at_words(remark, *quoted, Basis.QUOTATION, of_meaning)
        return self._by_clues(remark, of_meaning)

    # The words of a comment

    def _by_words(self, remark: ReviewRemark) -> tuple[int, Span] | None:
        """Document and characters that a comment is on."""
        span = remark.words
        if span is None and remark.pages and remark.on:
            span = self._marked(remark)
        if span is None:
            return None
        for base in self._bases:
            if base.share and (carried := base.carried(span)) is not None:
                return base.side, carried
        return None

    def _marked(self, remark: ReviewRemark) -> Span | None:
        """The words that a comment of a PDF marks, on its page of the review."""
        starts, pages = self._review.page_starts, remark.pages
        assert pages is not None
        start = starts[pages[0] - 1] if pages[0] <= len(starts) else 0
        end = starts[pages[1]] if pages[1] < len(starts) else len(self._review.text)
        on_page = [span for span in Clued(self._review, ()).find(remark.on) if start <= span.start < end]
        return on_page[0] if on_page else None

    def _at_words(
        self,
        remark: ReviewRemark,
        side: int,
        span: Span,
        basis: Basis,
        of_meaning: tuple[FloatArray, FloatArray] | None = None,
    ) -> AnsweredRemark:
        """The answer to a remark on words of a document; on a heading it is about the section."""
        document, clued = self._sides[side].document, self._sides[side]
        heading = next((one for one in document.sections if one.span.start <= span.start < one.body_start), None)
        inside = clued.having(span)
        if heading is not None and all(clued.passages[n].span.start >= heading.body_start for n in inside):
            own = {heading.index, *(other.index for other in document.subsections(heading))}
            inside = [n for n, passage in enumerate(clued.passages) if passage.section in own]
            pairs = tuple(dict.fromkeys(self._pairs[side][n] for n in inside))
            return self._verdict(remark, pairs, basis, touched=self._renamed(side, heading.index), meaning=of_meaning)
        pairs = tuple(dict.fromkeys(self._pairs[side][n] for n in inside))
        first = self._comparison.passages[pairs[0]] if pairs else None
        if first is None:
            return AnsweredRemark(remark, RemarkVerdict.NO_PLACE, Basis.NONE)
        if side:
            return self._verdict(remark, pairs, basis, meaning=of_meaning)
        last = first.a[-1].span.end
        words = Span(in_pair(first.a, span.start), in_pair(first.a, min(span.end, last)))
        touched = self._touched(pairs, words, span.end > last)
        return self._verdict(remark, pairs, basis, words=words, touched=touched, meaning=of_meaning)

    def _touched(self, pairs: Sequence[int], words: Span, goes_on: bool) -> bool:
        """Whether words of the first of some passages changed; words that go on in the next, whether these did."""
        first = self._comparison.passages[pairs[0]]
        end = words.end + (not len(words))
        own = first.state is State.ONLY_A or any(
            (edit.a.start < end and edit.a.end > words.start) if len(edit.a) else words.start < edit.a.start < end
            for edit in first.edits
        )
        return own or (goes_on and any(self._comparison.passages[n].differs for n in pairs[1:]))

    def _renamed(self, side: int, section: int) -> bool:
        return any(
            section in (change.b if side else change.a) and change.state is not SectionState.MATCHED
            for change in self._comparison.section_changes
        )

    # Quotations and other clues

    def _by_quotation(self, remark: ReviewRemark, of_meaning: tuple[FloatArray, FloatArray]) -> tuple[int, Span] | None:
        """Document and characters that a remark quotes: of several places the one that fits its other clues best."""
        quoted = [*([remark.on] if remark.on else []), *quotations(remark.text)]
        of_lines = lines(remark.text)
        if of_lines and not quoted:
            quoted = [words for words in [self._lines_of(self._sides[0].document, *of_lines)] if words]
        for words in quoted:
            for side in (0, 1):
                places = self._sides[side].find(words)
                if not places or (len(places) > 1 and len(words.split()) < 2 and len(quoted) > 1):
                    continue
                if side and len(words.split()) < 3:
                    continue  # of the words that a remark proposes, a few may stand anywhere
                if len(places) == 1:
                    return side, places[0]
                fits = of_meaning[side] + self._clues(remark, side)
                best = max(places, key=lambda place: max(fits[n] for n in self._sides[side].having(place)))
                return side, best
        return None

    def _clues(self, remark: ReviewRemark, side: int) -> FloatArray:
        """What sections, pages and the like add to how well each passage fits."""
        clued = self._sides[side]
        added = _SECTION * clued.in_sections(remark.text) + _PAGE * clued.on_pages(remark.text)
        if not side and remark.pages and not remark.words:
            added += _PAGE * self._noted(remark.pages)
        for label in labels(remark.text):
            named = [n for place in clued.find(label) for n in clued.having(place)]
            added += clued.shares(named, _FIGURE)
        return added

    def _noted(self, pages: tuple[int, int]) -> FloatArray:
        """The passages of A that stand on a page of the review."""
        clued = self._sides[0]
        base = next((base for base in self._bases if base.side == 0 and base.share), None)
        if base is None:
            return clued.shares([n for n, passage in enumerate(clued.passages) if passage.pages == pages])
        found = [
            n
            for pair in base.alignment.pairs
            for other in pair.b
            if any(one.pages and one.pages[0] <= pages[1] and one.pages[1] >= pages[0] for one in pair.a)
            for n in clued.having(other.span)
        ]
        return clued.shares(found)

    def _by_clues(self, remark: ReviewRemark, of_meaning: tuple[FloatArray, FloatArray]) -> AnsweredRemark:
        clues = tuple(self._clues(remark, side) for side in (0, 1))
        fits = [of_meaning[side] + clues[side] + self._likelier(side) for side in (0, 1)]
        best = [int(one.argmax()) if one.size else -1 for one in fits]
        # Of A, the reviewer wrote; what B alone says can be an answer all the same.
        side = int(best[0] < 0 or (best[1] >= 0 and fits[1][best[1]] > fits[0][best[0]] + _SURER))
        at, meaning, clue = best[side], float(of_meaning[side][best[side]]), float(clues[side][best[side]])
        score = round(min(1.0, meaning), 3)
        if meaning + 0.5 * clue < _NO_PLACE and not clue:
            return AnsweredRemark(remark, RemarkVerdict.NO_PLACE, Basis.NONE, score=score)
        if clue and meaning < _NO_PLACE / 2 and not labels(remark.text):
            # It names a section or page, and none of its passages more than the others: it is about all of it.
            inside = np.flatnonzero(clues[side] >= clues[side].max() - 1e-6).tolist()
            pairs = tuple(dict.fromkeys(self._pairs[side][n] for n in inside))
            return self._verdict(remark, pairs, Basis.REFERENCE, meaning=of_meaning, score=score)
        basis = Basis.REFERENCE if clue else Basis.MEANING
        return self._verdict(remark, (self._pairs[side][at],), basis, meaning=of_meaning, score=score)

    def _likelier(self, side: int) -> FloatArray:
        changed = [n for n, pair in self._pairs[side].items() if self._comparison.passages[pair].differs]
        return self._sides[side].shares(changed, _LIKELIER)

    def _meaning(self, said: str) -> tuple[FloatArray, FloatArray]:
        """How well each passage of A and of B fits a remark by its meaning, 0 to 1."""
        fits = self._terms.shares(said)
        own = self._vectors.get(said)
        if own is not None:
            for n, text in enumerate(self._terms.texts):
                vector = self._vectors.get(text)
                if vector is not None:
                    fits[n] = combined(float(fits[n]), float(vector @ own))
        count = len(self._sides[0].texts)
        return fits[:count], fits[count:]

    # The verdict

    def _verdict(
        self,
        remark: ReviewRemark,
        pairs: tuple[int, ...],
        basis: Basis,
        *,
        words: Span | None = None,
        touched: bool | None = None,
        meaning: tuple[FloatArray, FloatArray] | None = None,
        score: float | None = None,
    ) -> AnsweredRemark:
        known = [self._comparison.passages[n] for n in pairs]
        if meaning is None or basis is Basis.QUOTATION:  # the words themselves say nothing of what to add
            meaning = self._meaning(without_clues(remark.text, quotations=False))
        added = tuple(n for n in self._added(pairs, meaning[1]) if n not in pairs)
        removed = any(
            pair.state is State.ONLY_A or any(pair.words_of(edit)[0].strip() for edit in pair.edits) for pair in known
        )
        inserted = bool(added) or any(pair.differs for pair in known)
        verdict = RemarkVerdict.CHANGED if removed or (touched and not inserted) else RemarkVerdict.NOT_CHANGED
        if inserted and not removed:
            verdict = RemarkVerdict.ADDED
        return AnsweredRemark(remark, verdict, basis, pairs, added, words, touched, score)

    def _added(self, pairs: Sequence[int], meaning: FloatArray) -> list[int]:
        """The passages that only B has and that belong to a remark on some passages."""
        passages = self._comparison.passages
        new = {n: pair for n, pair in enumerate(passages) if pair.state is State.ONLY_B}
        fits = {n: max(float(meaning[one.index]) for one in pair.b) for n, pair in new.items()}
        beside = set[int]()
        here = {one.index: one.section for n in pairs for one in passages[n].b}
        for step in (-1, 1) if here else ():
            edge = max(here) if step > 0 else min(here)
            section = here[edge]
            while (number := self._pairs[1].get(edge := edge + step)) in new:
                if self._sides[1].passages[edge].section != section:
                    break
                beside.add(number)
        anywhere = max(_ELSEWHERE, _OF_BEST * float(meaning.max(initial=0)))
        chosen = [n for n, fit in fits.items() if fit >= (_BESIDE if n in beside else anywhere)]
        return sorted(sorted(chosen, key=lambda n: -fits[n])[:_MOST_ADDED])


def combined(of_words: float, cosine: float) -> float:
    """How well a passage fits, by the share of rare words and the cosine of the vectors: either is evidence."""
    return 1 - (1 - 0.8 * of_words) * (1 - max(0.0, cosine) * 0.7)


def _said(remark: ReviewRemark) -> str:
    """What tells the meaning of a remark."""
    return without_clues(f"{remark.on} {remark.text}" if remark.on else remark.text)
