"""Which chunks show the quantiser the range of every channel."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Sequence

import numpy as np

COUNT = 64
# Short chunks say little: their few tokens rarely reach the extremes.
_SHORTEST = 128


def calibration_chunks(chunks: Iterable[Sequence[int]], count: int = COUNT) -> list[list[int]]:
    """A sample of chunks that depends on nothing but the set of chunks: those with the smallest hashes.

    The same documents in any order thus give the same int8 graph to the byte, and cached vectors stay valid.

    Args:
        chunks: token ids of each chunk, specials included.
        count: size of the sample; all chunks are taken where there are not more.

    Returns:
        Token ids, ordered by hash; chunks of 128 tokens and more only, unless there are none.
    """
    listed = list(chunks)
    long = [ids for ids in listed if len(ids) >= _SHORTEST]
    return [list(ids) for ids in heapq.nsmallest(count, long or listed, key=_hash)]


def _hash(ids: Sequence[int]) -> bytes:
    return hashlib.blake2b(np.asarray(ids, np.int32).tobytes(), digest_size=16).digest()
