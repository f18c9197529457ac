"""What a tower reads of a text: rows of token ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A text as rows of token ids (R rows, L tokens; both at least 1).

    Attributes:
        ids: int64 [R, L]; 0 is padding.
        paragraphs: int64 [R], number of the paragraph that each row belongs to, from 0.
    """

    ids: NDArray[np.integer]
    paragraphs: NDArray[np.integer]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], paragraphs: Sequence[int] | None = None) -> Rows:
        """Pad rows to the longest; without any there is one of padding. All lie in paragraph 0 if not said."""
        listed = list(rows) or [[]]
        ids = np.zeros((len(listed), max(1, *(len(row) for row in listed))), np.int64)
        for place, row in zip(ids, listed, strict=True):
            place[: len(row)] = row
        numbers = [0] * len(listed) if not paragraphs else list(paragraphs)
        return cls(ids, np.asarray(numbers, np.int64))

    def small(self) -> Rows:
        """The same in half of the memory, for collections; `stack` makes int64 of it again."""
        return Rows(self.ids.astype(np.int32), self.paragraphs.astype(np.int32))

    @property
    def empty(self) -> bool:
        """Whether there is nothing but padding."""
        return not self.ids.any()

    def to_bytes(self) -> bytes:
        """All that a tower sees, for digests."""
        shape = np.asarray(self.ids.shape, np.int32)
        return b"".join(part.astype(np.int32).tobytes() for part in (shape, self.ids, self.paragraphs))


def stack(rows: Sequence[Rows]) -> Rows:
    """Several texts as one batch: ids [D, R, L] and paragraphs [D, R], padded to the largest."""
    height = max(item.ids.shape[0] for item in rows)
    width = max(item.ids.shape[1] for item in rows)
    ids = np.zeros((len(rows), height, width), np.int64)
    paragraphs = np.zeros((len(rows), height), np.int64)
    for place, item in enumerate(rows):
        count, length = item.ids.shape
        ids[place, :count, :length] = item.ids
        paragraphs[place, :count] = item.paragraphs
    return Rows(ids, paragraphs)
