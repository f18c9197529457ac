"""The passages of two documents in pairs: what became of each, and how much of a document the other one has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from colde_cli.documents.document import Span
from colde_cli.documents.passages import Passage
from colde_cli.similarity.mentions import Flag
from colde_cli.similarity.redline import Edit
from colde_cli.similarity.word_flow import UNSPACED

VERSIONS = 0.5
"""Two documents are versions of one text if one of them has this share of the other's words."""
_FEW_WORDS = 6
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]*[^\W_{UNSPACED}][^\s{UNSPACED}]*")


class State(StrEnum):
    """What became of a passage."""

    SAME = "same"
    EDITED = "edited"
    MOVED = "moved"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@dataclass(frozen=True, slots=True)
class PassagePair:
    """Passages of A and their partners in B.

    Attributes:
        a: neighbouring passages of A, usually one; empty for `State.ONLY_B`.
        b: neighbouring passages of B, usually one; empty for `State.ONLY_A`.
        score: their similarity, 0 to 1; None where one side is empty.
        edits: the places where they differ, as offsets into `a_text` and `b_text`; empty where a side is empty.
        flags: the edits that matter most: numbers, dates, names, modals, ...
        a_text: the texts of `a`, joined by blank lines, as `b_text` is of `b`; see `in_document`.
        formal: a line of the cover, such as the title, a version or a date, or a page number: it has no flags.
        uncertain: all edits may be a matter of how OCR read; see `readings`.
    """

    state: State
    a: tuple[Passage, ...]
    b: tuple[Passage, ...]
    score: float | None
    edits: tuple[Edit, ...]
    flags: tuple[Flag, ...]
    a_text: str
    b_text: str
    formal: bool = False
    uncertain: bool = False

    @property
    def differs(self) -> bool:
        """Whether a word came or went; a passage that only moved does not differ."""
        return not self.a or not self.b or bool(self.edits)

    @property
    def by_chance(self) -> bool:
        """Whether two different texts would have this pair by chance: few words, or no letters, that are alike."""
        if not self.a or not self.b or self.state is State.SAME:
            return False
        few = min(len(self.a_text.split()), len(self.b_text.split())) < _FEW_WORDS
        return few or not any(map(str.isalpha, self.a_text + self.b_text))

    def words_of(self, edit: Edit) -> tuple[str, str]:
        """The deleted and the inserted words of one of the edits."""
        return self.a_text[edit.a.start : edit.a.end], self.b_text[edit.b.start : edit.b.end]


def in_document(passages: Sequence[Passage], span: Span) -> Span:
    """Map a stretch of the joined texts of neighbouring passages to the text of their document."""
    return Span(_in_document(passages, span.start), _in_document(passages, span.end))


def _in_document(passages: Sequence[Passage], offset: int) -> int:
    for passage in passages:
        if offset <= len(passage.span):
            return passage.span.start + max(0, offset)
        offset -= len(passage.span) + 2
    return passages[-1].span.end


def in_pair(passages: Sequence[Passage], offset: int) -> int:
    """Map an offset in a document to one in the joined texts of neighbouring passages."""
    before = 0
    for passage in passages:
        if offset <= passage.span.end:
            return before + max(0, offset - passage.span.start)
        before += len(passage.span) + 2
    return max(0, before - 2)


@dataclass(frozen=True, slots=True, repr=False)
class Alignment:
    """The passages of two documents, paired.

    Attributes:
        pairs: in the order of A; a passage found only in B follows the pair of the passage before it in B.
    """

    pairs: tuple[PassagePair, ...]
    a: tuple[Passage, ...]
    b: tuple[Passage, ...]

    def __repr__(self) -> str:
        return f"Alignment({', '.join(f'{state.value}={count}' for state, count in self.summary.items())})"

    @property
    def summary(self) -> dict[State, int]:
        """Count the pairs in each state."""
        counts = Counter(pair.state for pair in self.pairs)
        return {state: counts[state] for state in State}


@dataclass(frozen=True, slots=True)
class Extent:
    """How many words of one document the other one contains; headings are not counted.

    Attributes:
        kept: words that the partners of their passages contain, too.
        by_state: words of the passages in each state.
    """

    words: int
    kept: int
    by_state: Mapping[State, int]

    @property
    def share_kept(self) -> float:
        """`kept` / `words`, 0 to 1; 0 for a document without words."""
        return self.kept / self.words if self.words else 0.0


def extents(pairs: Iterable[PassagePair]) -> tuple[Extent, Extent]:
    """Compute the extents of A and of B from all pairs of an alignment."""
    known = tuple(pairs)
    left = [(pair, pair.a_text, [edit.a for edit in pair.edits]) for pair in known]
    right = [(pair, pair.b_text, [edit.b for edit in pair.edits]) for pair in known]
    return _extent(left), _extent(right)


def _extent(side: Iterable[tuple[PassagePair, str, list[Span]]]) -> Extent:
    by_state: Counter[State] = Counter()
    kept = 0
    for pair, text, changed in side:
        count = _count(text)
        by_state[pair.state] += count
        if pair.a and pair.b:
            kept += max(0, count - sum(_count(text[span.start : span.end]) for span in changed))
    return Extent(sum(by_state.values()), kept, {state: by_state[state] for state in State})


def _count(text: str) -> int:
    """The number of words with a letter or a digit; where words have no blanks between them, of characters."""
    return len(_WORD.findall(text))


def versions(pairs: Iterable[PassagePair]) -> bool:
    """Whether two documents are versions of one text: one of them has most of the other's words."""
    return max(extent.share_kept for extent in extents(pairs)) >= VERSIONS
