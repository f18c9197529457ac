"""Documents of many sections as their chapters: a table of scores that a person can take in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Section

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Sections of A against sections of B, some standing for those under them.

    Attributes:
        a: indices of the sections of A that are shown, in order.
        b: those of B.
        scores: [len(a), len(b)], the best score of a section of the one group with one of the other.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    scores: FloatArray


def outline(scores: FloatArray, a: Sequence[Section], b: Sequence[Section], most: int) -> Outline:
    """Fold the sections of both documents, deepest levels first, until no more than `most` are left of each.

    A section that is folded belongs to the last one before it that is not. Those of the top level are never folded, so
    that of a flat document more may be left.

    Args:
        scores: [len(a), len(b)], of sections.
        a: the sections of A.
        b: those of B.
        most: how many shall be left of each, at least 1.
    """
    of_a, of_b = _heads(a, most), _heads(b, most)
    best = np.maximum.reduceat(np.maximum.reduceat(scores, of_a, axis=0), of_b, axis=1)
    return Outline(tuple(of_a), tuple(of_b), best)


def _heads(sections: Sequence[Section], most: int) -> list[int]:
    heads = [section.index for section in sections]
    # What has no heading has no level (0); the first always stands for itself, for there is nothing before it.
    for level in sorted({section.level for section in sections if section.level}, reverse=True):
        if len(heads) <= most:
            break
        heads = [section.index for section in sections if section.level <= level or not section.index]
    return heads
