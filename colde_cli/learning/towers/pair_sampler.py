"""Balanced pairs of documents: as many that belong together as not, drawn anew in every epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import DataError
from colde_cli.learning.positives import Positives

# How often a pair that somebody judged unrelated is taken as the negative of a document that has one.
_JUDGED = 0.5
# Draws from the field before all its unrelated documents are listed.
_DRAWS = 16


class PairSampler:
    """Gives the batches of every epoch, which depend on nothing but its seed and the epoch's number.

    Every document that belongs with another is paired once in an epoch with a random one of those, and once with
    one that it does not belong with: judged unrelated in half of the draws where there is such a one, else random
    within its field, where negatives are harder.
    """

    def __init__(
        self,
        positives: Positives,
        documents: Sequence[int] | NDArray[np.int64],
        fields: NDArray[np.int64],
        size: int,
        seed: int,
    ) -> None:
        """Sample from `documents`, whose fields are `fields[document]`, `size` pairs to a batch.

        Raises:
            DataError: no two documents belong together, or no two do not.
        """
        self.documents = np.asarray(documents, np.int64)
        self.size, self.seed = size, seed
        chosen = set(self.documents.tolist())
        self.partners = {
            number: [other for other in positives.partners(number).tolist() if other in chosen]
            for number in sorted(chosen)
        }
        self.together = {number: set(found) for number, found in self.partners.items()}
        self.judged = {number: sorted(positives.excluded[number] & chosen) for number in sorted(chosen)}
        self.fields = {
            int(field): self.documents[fields[self.documents] == field]
            for field in np.unique(fields[self.documents])
        }
        self.field_of = {number: int(fields[number]) for number in sorted(chosen)}
        paired = [number for number, found in self.partners.items() if found]
        if not paired:
            raise DataError("No two training documents belong together; give them labels, links or pairs.")
        everyone = self.documents.tolist()
        anchors = [number for number in paired if any(self._apart(number, other) for other in everyone)]
        if not anchors:
            raise DataError("All training documents belong together; add some that do not.")
        self.anchors = np.array(anchors, np.int64)

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch, int64 [B, 3]: two documents, and 1 if they belong together, else 0."""
        generator = np.random.default_rng([self.seed, 1, number])
        order = generator.permutation(self.anchors)
        half = max(1, self.size // 2)
        return [self._batch(order[start : start + half], generator) for start in range(0, len(order), half)]

    def _batch(self, anchors: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        rows = []
        for anchor in anchors.tolist():
            partners = self.partners[anchor]
            rows.append((anchor, partners[generator.integers(len(partners))], 1))
            rows.append((anchor, self._negative(anchor, generator), 0))
        return np.array(rows, np.int64)

    def _negative(self, anchor: int, generator: np.random.Generator) -> int:
        judged = self.judged[anchor]
        if judged and generator.random() < _JUDGED:
            return int(judged[generator.integers(len(judged))])
        field = self.fields[self.field_of[anchor]]
        for other in field[generator.integers(len(field), size=_DRAWS)].tolist():
            if self._apart(anchor, other):
                return int(other)
        found = self._unrelated(anchor)
        return found[generator.integers(len(found))]

    def _unrelated(self, anchor: int) -> list[int]:
        """Documents that do not belong with `anchor`: those of its field, else of all."""
        for candidates in (self.fields[self.field_of[anchor]], self.documents):
            found = [int(other) for other in candidates.tolist() if self._apart(anchor, other)]
            if found:
                break
        return found

    def _apart(self, anchor: int, other: int) -> bool:
        return other != anchor and other not in self.together[anchor]
