"""LA(SER)³ self-reference: a text and its own repetition are a positive pair (Xiao et al. 2023).

Repetition changes how long a text is and not what it says, so a network that gives both one vector has unlearnt to
look at length. Repeated once it is SimCSE: the same text twice, told apart by dropout alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from colde_cli.learning.objectives.elongation import draw_times

IntArray = NDArray[np.int64]
Pair = tuple[IntArray, IntArray]
"""Word pieces of anchor and positive, without specials."""
Repeat = Literal["random", "twice"]


def elongate(
    pieces: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> IntArray:
    """f(S, m): word pieces [n], cut to the capacity, in order, m times over: [m * n].

    Args:
        pieces: at least one, without specials: those are added once, after this.
        capacity: L_max - n_special; never exceeded.
        rng: where m comes from.
        repeat: m ~ U{1..⌊capacity / n⌋}, or always 2 where that fits (the paper's weaker variant).
    """
    kept = pieces[:capacity]
    bound = capacity // len(kept)
    times = min(2, bound) if repeat == "twice" else draw_times(len(kept), capacity, rng)
    return np.tile(kept, times)


def self_reference(
    pieces: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> Pair:
    """Anchor S, positive f(S, m)."""
    return pieces[:capacity], elongate(pieces, capacity, rng, repeat)


def simcse(pieces: IntArray, capacity: int) -> Pair:
    """Anchor S, positive S, which another dropout mask makes another vector (Gao et al. 2021, §3)."""
    return pieces[:capacity], pieces[:capacity]
