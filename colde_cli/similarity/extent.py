"""How much of each document is the same, edited, moved or its own, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from colde_cli.documents.document import Span
from colde_cli.similarity.alignment import PassagePair, State


@dataclass(frozen=True, slots=True)
class Extent:
    """The words of one document by what became of them; headings are not counted.

    Attributes:
        words: of all its passages.
        kept: those that stand in the other document too, in the passage that answers theirs.
        by_state: words of the passages in each state.
    """

    words: int
    kept: int
    by_state: Mapping[State, int]

    @property
    def share_kept(self) -> float:
        """`kept` of `words`, 0 to 1; 0 for a document without words."""
        return self.kept / self.words if self.words else 0.0


def extents(pairs: Iterable[PassagePair]) -> tuple[Extent, Extent]:
    """The extents of A and of B.

    Args:
        pairs: all pairs of an alignment.
    """
    found = tuple(pairs)
    left = [(pair, pair.a_text, [edit.a for edit in pair.edits]) for pair in found]
    right = [(pair, pair.b_text, [edit.b for edit in pair.edits]) for pair in found]
    return _extent(left), _extent(right)


def _extent(side: Iterable[tuple[PassagePair, str, list[Span]]]) -> Extent:
    by_state: Counter[State] = Counter()
    kept = 0
    for pair, text, changed in side:
        words = len(text.split())
        by_state[pair.state] += words
        if pair.a and pair.b:
            kept += max(0, words - sum(len(text[span.start : span.end].split()) for span in changed))
    return Extent(sum(by_state.values()), kept, {state: by_state[state] for state in State})
