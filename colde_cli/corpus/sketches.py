"""Words and shingles of documents as numbers, and the small sketches by which similar texts are found.

A shingle is a run of `SHINGLE` words (A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997).
A sketch holds two things:

    minima   MinHash over all shingles: equal places tell the share of shingles that two documents have in common
             (Jaccard). Cut into bands, documents with an equal band are candidates (locality-sensitive hashing;
             Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4).
    sample   the shingles whose hash lies below a bound (FracMinHash; Irber et al., "Lightweight compositional analysis
             of metagenomes with FracMinHash", bioRxiv 2022): the same shingle is sampled in every document, so that a
             short document is found in a long one, where Jaccard is small whatever they share.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Shingles = NDArray[np.uint64]

SHINGLE = 5
"""Words of a shingle: five in a row are seldom the same by chance."""
BANDS, ROWS = 32, 3
"""Of the MinHash: two documents that share 40% of their shingles have an equal band with a probability of 88%, those
that share 5% with one of 0.4%."""
SCALE = 16
"""One shingle of so many is sampled."""

_BOUND = np.uint64(2**64 // SCALE)
_BLOCK = 256  # shingles hashed at a time: more would not stay in a core's own cache

# Signs that change the meaning beside a number count as words; punctuation and bullets do not.
_WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+|[%‰$€£¥<>=≤≥≠≈±×÷]|(?<![^\s(])[-−]\d+(?:[.,:]\d+)*")

# datasketch would do for the MinHash. Its import takes 0.4 s, for SciPy, and it has no sample for containment; with a
# fixed set of hash functions in NumPy both are a few lines, and sketches are the same on every machine.
_FUNCTIONS = np.random.Generator(np.random.PCG64(0)).integers(
    0, 2**64, (2, BANDS * ROWS), np.uint64, endpoint=False
)
_FACTORS, _SHIFTS = _FUNCTIONS[0] | np.uint64(1), _FUNCTIONS[1]


def text_words(text: str) -> list[str]:
    """The words, numbers and signs of a text, without case, in order; punctuation is left out."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def text_digest(words: list[str]) -> bytes:
    """A hash that is the same for the same words and numbers, however lines and words are divided."""
    # A word divided at the end of a line is joined by some readers and not by others; numbers must stay apart.
    joined = "".join(word if word.isalpha() else f" {word} " for word in words)
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def word_numbers(words: list[str]) -> Words:
    """A 32-bit hash of each word, [N]."""
    return np.fromiter(map(_word_number, words), np.uint32, len(words))


@lru_cache(1 << 16)
def _word_number(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def shingles(words: Words) -> Shingles:
    """A 64-bit hash of each run of `SHINGLE` words, [N - SHINGLE + 1]; empty for a shorter text."""
    count = max(0, len(words) - SHINGLE + 1)
    mixed = np.zeros(count, np.uint64)
    for place in range(SHINGLE):
        mixed = _mixed(mixed + words[place : place + count])
    return mixed


def _mixed(values: Shingles) -> Shingles:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit depends on every other."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """What finds the partners of a document.

    Attributes:
        minima: [BANDS * ROWS], the least value of each hash function over the shingles.
        sample: [n], sampled shingles, ascending, each once.
    """

    minima: Shingles
    sample: Shingles

    @property
    def bands(self) -> Shingles:
        """A hash of each band of minima, [BANDS].

        Two documents of Jaccard index J have an equal one with probability 1 - (1 - J^ROWS)^BANDS.
        """
        rows = self.minima.reshape(BANDS, ROWS)
        mixed = np.zeros(BANDS, np.uint64)
        for place in range(ROWS):
            mixed = _mixed(mixed + rows[:, place])
        return mixed


def sketch(values: Shingles) -> Sketch:
    """The sketch of a document's shingles."""
    minima = np.full(BANDS * ROWS, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        np.minimum(minima, (block * _FACTORS[:, None] + _SHIFTS[:, None]).min(axis=1), out=minima)
    return Sketch(minima, np.unique(values[values < _BOUND]))


@dataclass(frozen=True, slots=True, eq=False)
class ShingleTable:
    """The shingles of a document in ascending order, to look up those of another.

    Attributes:
        values: [N], ascending.
        places: [N], where each stands in the text.
        words: of the text.
    """

    values: Shingles
    places: NDArray[np.uint32]
    words: int

    @classmethod
    def of(cls, words: Words) -> ShingleTable:
        """The table of a text."""
        values = shingles(words)
        order = np.argsort(values, kind="stable")
        return cls(values[order], order.astype(np.uint32), len(words))

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self.values.nbytes + self.places.nbytes


def shared_words(a: ShingleTable, b: ShingleTable) -> tuple[float, float]:
    """The share of A's words that stand in B, and of B's in A, each in [0, 1].

    A word stands in the other document if it is part of a shingle that the other document has as well.
    """
    if len(a.values) > len(b.values):  # Each shingle of the shorter text is looked up in the longer one.
        return shared_words(b, a)[::-1]
    left = np.searchsorted(b.values, a.values, "left")
    right = np.searchsorted(b.values, a.values, "right")
    found = right > left
    starts, first = np.unique(left[found], return_index=True)
    lengths = right[found][first] - starts
    runs = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return _covered(a.places[found], a.words), _covered(b.places[runs], b.words)


def _covered(places: NDArray[np.uint32], words: int) -> float:
    """The share of words that shingles at these places cover."""
    if not len(places):
        return 0.0
    gaps = np.diff(np.sort(places))
    return float(np.minimum(gaps, SHINGLE).sum() + SHINGLE) / words
