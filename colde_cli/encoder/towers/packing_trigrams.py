"""Text to counted letter trigrams, the "word hashing" of DSSM (Huang et al. 2013, §3.2).

A word stands between marks and is cut into runs of three letters: `#good#` is `#go goo ood od#`. The paper gives
each of its 30,621 trigrams a number; here a hash does, so that no vocabulary has to be kept.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BUCKETS = 2**15
"""Values of the hash; with padding (0) a network has one id more."""

_WORD = re.compile(r"[^\W_]+")


def pack_trigrams(
    text: str, row_tokens: int, buckets: int = BUCKETS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The trigrams of a text, each once, and how often each occurs.

    Args:
        text: letters and digits make words, in lower case; anything else separates them.
        row_tokens: L, different trigrams at most: those that the text shows first, counted in all of it.
        buckets: values of the hash.

    Returns:
        Rows [2, n]: the ids, 1 to `buckets`, in order of first appearance, and under each its count (both
        [[0], [0]] for a text without words); and paragraphs [2], all 0.
    """
    counts: dict[int, int] = {}
    for word, times in Counter(_WORD.findall(text.lower())).items():
        for trigram in trigram_ids(word, buckets):
            if trigram in counts or len(counts) < row_tokens:
                counts[trigram] = counts.get(trigram, 0) + times
    rows = np.array([[*counts], [*counts.values()]] if counts else [[0], [0]], np.int64)
    return rows, np.zeros(2, np.int64)


@lru_cache(maxsize=2**17)
def trigram_ids(word: str, buckets: int = BUCKETS) -> tuple[int, ...]:
    """Hashed trigrams of one word, 1 to `buckets`, in reading order and with repetition."""
    marked = f"#{word}#"
    trigrams = (marked[start : start + 3] for start in range(len(marked) - 2))
    return tuple(1 + zlib.crc32(trigram.encode()) % buckets for trigram in trigrams)
