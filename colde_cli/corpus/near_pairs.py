"""Find the pairs of documents that share much of their wording, among all pairs, without comparing all.

A shingle is a run of `SHINGLE` words (A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997). Of
every few shingles in a row the one with the least hash is a seed of the document (winnowing; Schleimer, Wilkerson and
Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003, section 3): two texts with a run of 12
words in common have a seed in common, also where one is an article and the other a volume. Documents that share enough
seeds are candidates, which are then compared exactly.

What grows with the text of a corpus lies in temporary files: words (4 bytes each), seeds (about 4 bytes a word) and the
pairs that share one. In memory are a few bytes a document, blocks of a fixed size, and the tables of the documents just
compared.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.sorted_entries import SortedEntries, told

Words = NDArray[np.uint32]
Shingles = NDArray[np.uint64]

SHINGLE = 5
"""Number of words of a shingle: five in a row are seldom the same by chance."""
WINDOW = 8
"""Of so many shingles in a row one is a seed, where pairs are wanted that share a fifth of their words."""

# Signs that change the meaning beside a number count as words; punctuation and bullets do not.
_WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+|[%‰$€£¥<>=≤≥≠≈±×÷]|(?<![^\s(])[-−]\d+(?:[.,:]\d+)*")

NEIGHBOURS = 32
"""Of many documents with the same seed, each is paired with so many of the next: the work does not grow with
the square of a family, which still hangs together."""
MIN_SEEDS = 0.1
"""Share of the seeds of one of the two that a candidate shares: an edited word breaks five shingles, so that this finds
pairs that share half of their words. Where a smaller share of words is wanted, a quarter of that share."""
_TABLES = 32 << 20  # bytes of tables kept


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


def window_for(share: float) -> int:
    """Of how many shingles in a row one is a seed, so that pairs that share so many of their words are found.

    A run of a tenth of a short text may be shorter than what a wide window finds; below that all shingles are seeds.
    """
    return WINDOW if share >= 0.2 else WINDOW // 2 if share >= 0.1 else 1


def seeds(values: Shingles, window: int = WINDOW) -> NDArray[np.int64]:
    """The places of the seeds among shingles: the least of each `window` in a row, a power of two."""
    window = min(window, 1 << max(0, len(values).bit_length() - 1))
    steps = [1 << step for step in range(window.bit_length() - 1)]
    least = values
    for step in steps:
        least = np.minimum(least[:-step], least[step:])
    # A shingle is a seed if it is the least of a window: the greatest such least of the windows that it lies in.
    most = np.pad(least, window - 1)
    for step in steps:
        most = np.maximum(most[:-step], most[step:])
    return np.flatnonzero(values == most)


@dataclass(frozen=True, slots=True, eq=False)
class ShingleTable:
    """The shingles of a document in ascending order, to look up those of another.

    `values` [N] ascend, `places` [N] say where each stands in the text of so many `words`.
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
    """The share of A's words that B contains, and of B's words that A contains, each in [0, 1].

    A word stands in the other document if it is part of a shingle that the other document has as well.
    """
    if len(a.values) > len(b.values):  # Each shingle of the shorter text is looked up in the longer one.
        return shared_words(b, a)[::-1]
    begins = np.searchsorted(b.values, a.values, "left")
    ends = np.searchsorted(b.values, a.values, "right")
    shared = ends > begins
    starts, first = np.unique(begins[shared], return_index=True)
    lengths = ends[shared][first] - starts
    runs = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return _covered(a.places[shared], a.words), _covered(b.places[runs], b.words)


def _covered(places: NDArray[np.uint32], words: int) -> float:
    """The share of words that shingles at these places cover."""
    if not len(places):
        return 0.0
    gaps = np.diff(np.sort(places))
    return float(np.minimum(gaps, SHINGLE).sum() + SHINGLE) / words


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two documents by number, a < b.

    Attributes:
        share_a: of A's words that stand in B, in [0, 1].
        share_b: of B's words that stand in A.
    """

    a: int
    b: int
    share_a: float
    share_b: float


class NearPairs:
    """Collects documents, then finds their pairs. A context manager: its temporary files go with it.

    Attributes:
        folder: of the temporary files.
        seeds: hashes, each with the number of its document in the upper 32 bits, its place in the lower.
        crowded: how many documents share enough with more than `NEIGHBOURS` others before or after them, of which only
            the next were compared; known when all pairs have been read.
    """

    def __init__(self, share: float = 0.4) -> None:
        """`share` is the smallest one of the words of two documents that `pairs` will be asked for."""
        self._window, self._least = window_for(share), min(MIN_SEEDS, share / 4)
        self._temporary = TemporaryDirectory(prefix="colde-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self.crowded = 0
        self._text = (self.folder / "words").open("w+b")
        self.seeds = SortedEntries(self.folder / "seeds")
        self._ends, self._counts = array("Q", [0]), array("I")
        self._tables: OrderedDict[int, ShingleTable] = OrderedDict()
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what it still holds was needed by nobody, or its loss was told
            self._text.close()
        self._temporary.cleanup()

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, words: Words) -> int:
        """Add a document; return its number, from 0.

        Raises:
            OptionError: the disk of the temporary files is full.
        """
        values, number = shingles(words), len(self)
        places = seeds(values, self._window)
        self.seeds.add(values[places], places | (number << 32))
        with told(self.folder):
            self._text.write(words.tobytes())
        self._ends.append(self._ends[-1] + len(words))
        self._counts.append(len(np.unique(values[places])))
        return number

    def pairs(self, least_both: float, least_one: float) -> Iterator[NearPair]:
        """Pairs that share at least `least_both` of the words of each, or `least_one` of those of one; in order."""
        for a, b in self.candidates():
            first, second = shared_words(self._table(a), self._table(b))
            if min(first, second) >= least_both or max(first, second) >= least_one:
                yield NearPair(a, b, first, second)

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Pairs that may share much, ascending, each once."""
        with told(self.folder):
            self._text.flush()
        sizes = np.array(self._counts, np.int64)
        beyond = np.zeros(len(self), np.int64)
        sharing = SortedEntries(self.folder / "pairs")
        for hashes, places in self.seeds.blocks():
            owned = places >> np.uint64(32)
            once = np.append(True, (hashes[1:] != hashes[:-1]) | (owned[1:] != owned[:-1]))
            keys, owners = hashes[once], owned[once]
            alike = np.arange(len(keys))
            for distance in range(1, NEIGHBOURS + 2):
                alike = alike[: np.searchsorted(alike, len(keys) - distance)]
                alike = alike[keys[alike + distance] == keys[alike]]
                if distance <= NEIGHBOURS:
                    sharing.add(owners[alike] * np.uint64(len(self)) + owners[alike + distance], 1)
            beyond += np.bincount(
                np.append(owners[alike], owners[alike + NEIGHBOURS + 1]).astype(np.int64), minlength=len(self)
            )
        self.crowded = int((beyond >= np.maximum(self._needed(sizes), 1)).sum())
        for keys, weights in sharing.blocks():
            pairs, starts = np.unique(keys, return_index=True)
            smaller = np.minimum(sizes[pairs // np.uint64(len(self))], sizes[pairs % np.uint64(len(self))])
            for pair in pairs[np.add.reduceat(weights, starts) >= self._needed(smaller)].tolist():
                yield divmod(pair, len(self))

    def _needed(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many seeds a candidate shares, if the one with fewer has so many."""
        # One alone may be chance; where all shingles are seeds, it is what they share.
        needed: NDArray[np.float64] = np.maximum(self._least * sizes, np.minimum(sizes, 2 if self._window > 1 else 1))
        return needed

    def _table(self, number: int) -> ShingleTable:
        """The table of a document; those used last are kept."""
        if number not in self._tables:
            start, end = self._ends[number : number + 2]
            # Not mapped: pages of a mapped file would count as memory of this process.
            self._text.seek(4 * start)
            table = self._tables[number] = ShingleTable.of(np.fromfile(self._text, np.uint32, end - start))
            self._held += table.nbytes
            while self._held > _TABLES and len(self._tables) > 2:
                self._held -= self._tables.popitem(last=False)[1].nbytes
        self._tables.move_to_end(number)
        return self._tables[number]
