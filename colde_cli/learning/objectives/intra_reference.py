"""LA(SER)³ intra-reference: a sentence, repeated, and the rest of its document (Xiao et al. 2023).

Self-reference teaches that length says nothing; here the short text must also mean what the long one does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from colde_cli.learning.objectives.self_reference import Pair, Repeat, elongate

IntArray = NDArray[np.int64]


def intra_reference(
    sentence: IntArray, rest: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> Pair:
    """Anchor f(a, m) for the sentence a, positive the beginning of the rest of the document.

    Args:
        sentence: word pieces of a, at least one.
        rest: of the document without a; where nothing is left, the sentence is its own positive.
        capacity: L_max - n_special.
        rng: where m comes from.
        repeat: how m is drawn.
    """
    positive = rest if len(rest) else sentence
    return elongate(sentence, capacity, rng, repeat), positive[:capacity]
