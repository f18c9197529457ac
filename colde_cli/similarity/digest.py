"""What a list of comparisons keeps of each: counts, and the weightiest change with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from colde_cli.documents.document import Document
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.outside_changes import OutsideComparison, outside_counts
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.similarity.plain_data import rounded
from colde_cli.similarity.triage import placed_data


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonDigest:
    """A comparison without texts, vectors and tables.

    Attributes:
        a: the first document, without its text.
        same: see `Comparison`.
        same_content: see `Comparison`.
        weight: of the weightiest change; 0 without any.
        top: a passage with the weightiest change.
        throughout: passages in which the same words were replaced as in `top`.
    """

    a: Document
    b: Document
    same: bool
    same_content: bool
    outside: OutsideComparison
    score: float
    summary: Mapping[State, int]
    flagged: int
    weight: float
    top: PassagePair | None
    throughout: int

    @classmethod
    def of(cls, comparison: Comparison) -> ComparisonDigest:
        """Keep of a comparison what a list shows."""
        changes = comparison.changes
        a, b = (
            replace(side.document, text="", page_starts=(), outside=(), parts=())
            for side in (comparison.a, comparison.b)
        )
        return cls(
            a,
            b,
            comparison.same,
            comparison.same_content,
            comparison.outside,
            comparison.score,
            comparison.summary,
            flagged=sum(bool(pair.flags) for pair in comparison.passages),
            weight=changes[0].weight if changes else 0.0,
            top=comparison.passages[changes[0].pairs[0]] if changes else None,
            throughout=len(changes[0].pairs) if changes else 0,
        )

    @property
    def changes(self) -> int:
        """Passages that differ."""
        return sum(count for state, count in self.summary.items() if state is not State.SAME)

    @property
    def half_read(self) -> bool:
        """Whether a part of one of the two could not be read: what it says may differ."""
        return bool(self.a.report.warnings or self.b.report.warnings)


def digest_data(digest: ComparisonDigest | None) -> dict[str, Any]:
    """Build what schemas colde.folders/1 and colde.history/1 say of a comparison; nulls where there is none."""
    if digest is None:
        nothing = dict.fromkeys(("score", "summary", "top", "warnings"))
        return {"changes": 0, "flagged": 0, "weight": 0.0, "outside": {}, **nothing}
    return {
        "changes": digest.changes,
        "flagged": digest.flagged,
        "weight": digest.weight,
        "score": rounded(digest.score),
        "summary": {state.value: count for state, count in digest.summary.items()},
        "top": None if digest.top is None else placed_data(digest.top, digest.a, digest.b),
        "outside": outside_counts(digest.outside),
        "warnings": [list(document.report.warnings) for document in (digest.a, digest.b)],
    }
