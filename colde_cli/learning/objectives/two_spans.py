"""Two spans of one document as a positive pair (Gao & Callan 2022, coCondenser; COCO-DR)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def two_spans(length: int, starts: IntArray, capacity: int, rng: np.random.Generator) -> tuple[slice, slice]:
    """Two runs of text that begin with two different sentences drawn at random, and do not overlap.

    Args:
        length: word pieces of the document, at least 1.
        starts: int64 [s], where its sentences begin; a document of one sentence is cut in its middle.
        capacity: L_max - n_special.
        rng: where the choice comes from.

    Returns:
        Anchor and positive, either of which may come first in the document; both are the whole of a document
        of one word piece.
    """
    if length < 2:
        return slice(0, length), slice(0, length)
    places = starts if len(starts) > 1 else np.array([0, length // 2])
    first, second = np.sort(rng.choice(places, 2, replace=False)).tolist()
    spans = slice(first, min(second, first + capacity)), slice(second, min(length, second + capacity))
    return spans if rng.random() < 0.5 else (spans[1], spans[0])
