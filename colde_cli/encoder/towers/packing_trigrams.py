"""Text to counted letter trigrams, the "word hashing" of DSSM (Huang et al. 2013, §3.2).

A word stands between marks and is cut into runs of three letters: `#good#` is `#go goo ood od#`. The paper gives
each of its 30,621 trigrams a number; here a hash does, so that no vocabulary has to be kept.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.rows import Rows

BUCKETS = 2**15
"""Values of the hash; `TowerConfig.vocab_size` is one more, for padding."""

_WORD = re.compile(r"[^\W_]+")


def pack_trigrams(text: str, tokenizer: TextTokenizer | None, config: TowerConfig) -> Rows:
    """The trigrams of a text, each once, and how often each occurs.

    Args:
        text: letters and digits make words, in lower case; anything else separates them.
        tokenizer: not used; every packing is given one.
        config: `row_tokens`, different trigrams at most: those that the text shows first, counted in all of it;
            and `vocab_size`, one more than the hash has values.

    Returns:
        Two rows: the ids, from 1, in order of first appearance, and under each its count.
    """
    counts: dict[int, int] = {}
    for word, times in Counter(_WORD.findall(_plain(text))).items():
        for trigram in trigram_ids(word, config.vocab_size - 1):
            if trigram in counts or len(counts) < config.row_tokens:
                counts[trigram] = counts.get(trigram, 0) + times
    return Rows.of([[*counts], [*counts.values()]])


def _plain(text: str) -> str:
    """Lower case, an accented letter one character: as word vocabularies have it too."""
    return unicodedata.normalize("NFKC", text).lower()


@lru_cache(maxsize=2**16)
def trigram_ids(word: str, buckets: int = BUCKETS) -> tuple[int, ...]:
    """Hashed trigrams of one word, 1 to `buckets`, in reading order and with repetition."""
    marked = f"#{word}#"
    trigrams = (marked[start : start + 3] for start in range(len(marked) - 2))
    return tuple(1 + zlib.crc32(trigram.encode()) % buckets for trigram in trigrams)
