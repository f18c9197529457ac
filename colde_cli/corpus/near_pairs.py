"""Find the pairs of documents that share much of their wording, among all pairs, without comparing all.

Two kinds of candidates: documents with an equal band of their MinHash, and documents that share sampled shingles. Each
candidate is then compared exactly. What grows with the text of a corpus lies in temporary files: words (4 bytes each)
and sampled shingles (about 1 byte a word). In memory are a few bytes a document, blocks of a fixed size, and the tables
of the documents just compared.

A shingle is a run of `SHINGLE` words (A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997).
The sketch of a document holds two things:

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
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import OptionError

Words = NDArray[np.uint32]
Shingles = NDArray[np.uint64]

SHINGLE = 5
"""Number of words of a shingle: five in a row are seldom the same by chance."""
BANDS, ROWS = 32, 3
"""Of the MinHash: two documents that share 40% of their shingles have an equal band with a probability of 88%, those
that share 5% with one of 0.4%."""
SCALE = 16
"""One shingle in this many is sampled, where pairs are wanted that share a fifth of their words; see `scale_for`."""

_BLOCK = 256  # shingles hashed at a time: more would not stay in a core's own cache

# Signs that change the meaning beside a number count as words; punctuation and bullets do not.
_WORD = re.compile(r"\d+(?:[.,:]\d+)+|[^\W_]+|[%‰$€£¥<>=≤≥≠≈±×÷]|(?<![^\s(])[-−]\d+(?:[.,:]\d+)*")

# datasketch would do for the MinHash. Its import takes 0.4 s, for SciPy, and it has no sample for containment; with a
# fixed set of hash functions in NumPy both are a few lines, and sketches are the same on every machine.
_FUNCTIONS = np.random.Generator(np.random.PCG64(0)).integers(0, 2**64, (2, BANDS * ROWS), np.uint64, endpoint=False)
_FACTORS, _SHIFTS = _FUNCTIONS[0] | np.uint64(1), _FUNCTIONS[1]
Ints = NDArray[np.int64]
NEIGHBOURS = 32
"""Of many documents with the same band or shingle, each is paired with so many of the next: the work does not grow with
the square of a family, which still hangs together."""
MIN_SAMPLED = 0.1
"""Share of the sampled shingles of one of the two that a candidate shares: an edited word breaks five shingles, so that
this finds pairs that share half of their words. Where a smaller share of words is wanted, a quarter of that share."""
_ENTRIES = 1 << 20  # sampled shingles sorted, or looked up, at a time
_LOOKED_UP = 1 << 16
_TABLES = 64 << 20  # bytes of tables kept


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


def scale_for(share: float) -> int:
    """How many shingles one sampled one stands for, so that pairs that share so many of their words are found.

    A pair that shares a fifth of 500 words has six sampled shingles in common on average: it has none with a
    probability of 0.2 %. A smaller share takes a denser sample; below a tenth all shingles are sampled.
    """
    return next(scale for scale in (SCALE, SCALE // 2, 1) if share * 80 >= scale or scale == 1)


def sketch(values: Shingles, scale: int = SCALE) -> Sketch:
    """The sketch of a document's shingles, of which one in `scale` is sampled."""
    minima = np.full(BANDS * ROWS, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        np.minimum(minima, (block * _FACTORS[:, None] + _SHIFTS[:, None]).min(axis=1), out=minima)
    return Sketch(minima, np.unique(values[values <= np.uint64((2**64 - 1) // scale)]))


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
    """

    def __init__(self, share: float = 0.4) -> None:
        """`share` is the smallest one of the words of two documents that `pairs` will be asked for."""
        self._scale, self._least = scale_for(share), min(MIN_SAMPLED, share / 4)
        self._temporary = TemporaryDirectory(prefix="colde-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        names = ("words", "bands", "hashes")
        self._files = {name: (self.folder / name).open("wb") for name in names}
        self._words, self._sampled = [0], [0]
        self._tables: OrderedDict[int, ShingleTable] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            with suppress(OSError):  # what it still holds was needed by nobody, or its loss was told
                file.close()
        self._temporary.cleanup()

    def __len__(self) -> int:
        return len(self._words) - 1

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Name the folder of temporary files if its disk is full."""
        try:
            yield
        except OSError as error:
            raise OptionError(
                f"{self.folder.parent} cannot hold temporary files: {error.strerror}; name another folder in TMPDIR."
            ) from error

    def add(self, words: Words) -> int:
        """Add a document; return its number, from 0.

        Raises:
            OptionError: the disk of the temporary files is full.
        """
        made = sketch(shingles(words), self._scale)
        # A text without shingles must be in no band with another.
        bands = made.bands if len(words) else np.full(BANDS, len(self), np.uint64)
        with self._told():
            self._files["words"].write(words.tobytes())
            self._files["bands"].write(bands.tobytes())
            self._files["hashes"].write(made.sample.tobytes())
        self._words.append(self._words[-1] + len(words))
        self._sampled.append(self._sampled[-1] + len(made.sample))
        return len(self) - 1

    def pairs(self, least_both: float, least_one: float) -> Iterator[NearPair]:
        """Pairs that share at least `least_both` of the words of each, or `least_one` of those of one; in order."""
        for a, b in self.candidates():
            first, second = shared_words(self._table(a), self._table(b))
            if min(first, second) >= least_both or max(first, second) >= least_one:
                yield NearPair(a, b, first, second)

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Pairs that may share much, ascending, each once."""
        with self._told():
            for file in self._files.values():
                file.flush()
        banded = self._banded()
        place = 0
        for end, sampled in self._sharing_samples():
            stop = int(np.searchsorted(banded, end * len(self), "left"))
            for key in np.union1d(sampled, banded[place:stop]).tolist():
                yield divmod(key, len(self))
            place = stop

    def _banded(self) -> Ints:
        """Keys, a * documents + b, of the pairs with an equal band: neighbours among the documents of each."""
        count = len(self)
        keys = self._mapped("bands", np.uint64).reshape(count, BANDS)
        neighbours: Ints = np.empty(0, np.int64)
        for band in range(BANDS):
            values = np.array(keys[:, band])
            order = np.argsort(values, kind="stable")
            values, pairs = values[order], [neighbours]
            for distance in range(1, NEIGHBOURS + 1):
                same = np.flatnonzero(values[distance:] == values[:-distance])
                pairs.append(order[same] * count + order[same + distance])
            neighbours = np.unique(np.concatenate(pairs))
        return neighbours

    def _sharing_samples(self) -> Iterator[tuple[int, Ints]]:
        """For blocks of documents in turn: where the block ends, and keys of pairs that share enough of a sample."""
        hashes, owners, positions = self._postings()
        sizes: Ints = np.diff(np.array(self._sampled)).astype(np.int64)
        start = 0
        while start < len(self):
            end = max(start + 1, int(np.searchsorted(self._sampled, self._sampled[start] + _LOOKED_UP, "right")) - 1)
            own = np.array(positions[self._sampled[start] : self._sampled[end]])
            first, second = _partners(hashes, owners, own)
            keys, counts = np.unique(first * len(self) + second, return_counts=True)
            # Often enough for the smaller of their samples.
            smaller = np.minimum(sizes[keys // len(self)], sizes[keys % len(self)])
            # One alone may be chance in a sample; where all shingles are looked at, it is what they share.
            fewest = np.minimum(smaller, 2 if self._scale > 1 else 1)
            yield end, keys[counts >= np.maximum(self._least * smaller, fewest)]
            start = end

    def _postings(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
        """Sampled shingles in ascending order, their documents, and where each entry came to stand; all in files."""
        hashes = self._mapped("hashes", np.uint64)
        total = len(hashes)
        ordered = self._made("ordered", np.uint64, total)
        owners = self._made("owners", np.uint32, total)
        positions = self._made("positions", np.int64, total)
        ranges = max(1, -(-total // _ENTRIES))
        # Samples are spread evenly below their bound: ranges of equal width hold about as many each.
        edges = np.linspace(0, float(2**64 // self._scale), ranges + 1)
        edges[-1] = float(2**64)
        done = 0
        for low, high in pairwise(edges.tolist()):
            entries = _between(hashes, low, high)
            values = hashes[entries]
            order = np.argsort(values, kind="stable")
            entries, span = entries[order], slice(done, done + len(entries))
            ordered[span] = values[order]
            owners[span] = np.searchsorted(self._sampled, entries, "right") - 1
            positions[entries] = np.arange(done, done + len(entries))
            done += len(entries)
        return ordered, owners, positions

    def _mapped(self, name: str, kind: Any) -> NDArray[Any]:  # noqa: ANN401 - a scalar type of NumPy
        path = self.folder / name
        return np.memmap(path, kind, "r") if path.stat().st_size else np.empty(0, kind)

    def _made(self, name: str, kind: Any, count: int) -> NDArray[Any]:  # noqa: ANN401 - a scalar type of NumPy
        path = self.folder / name
        return np.memmap(path, kind, "w+", shape=(count,)) if count else np.empty(0, kind)

    def _table(self, number: int) -> ShingleTable:
        """The table of a document; those used last are kept."""
        if number not in self._tables:
            start, end = self._words[number : number + 2]
            # Not mapped: pages of a mapped file would count as memory of this process.
            words = np.fromfile(self.folder / "words", np.uint32, end - start, offset=4 * start)
            self._tables[number] = ShingleTable.of(words)
            held = sum(table.nbytes for table in self._tables.values())
            while held > _TABLES and len(self._tables) > 2:
                held -= self._tables.popitem(last=False)[1].nbytes
        self._tables.move_to_end(number)
        return self._tables[number]


def _between(hashes: NDArray[np.uint64], low: float, high: float) -> Ints:
    """The places of the hashes in a range; the file is read in blocks."""
    places = [np.empty(0, np.int64)]
    for start in range(0, len(hashes), _ENTRIES):
        block = hashes[start : start + _ENTRIES].astype(np.float64)
        places.append(np.flatnonzero((block >= low) & (block < high)) + start)
    return np.concatenate(places)


def _partners(hashes: NDArray[np.uint64], owners: NDArray[np.uint32], own: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Pairs of documents that share a shingle, once for each shingle: each with the next in its list."""
    firsts: list[Ints] = []
    seconds: list[Ints] = []
    mine = hashes[own]
    for distance in range(1, NEIGHBOURS + 1):
        inside = own + distance < len(hashes)
        own, mine = own[inside], mine[inside]
        same = hashes[own + distance] == mine
        own, mine = own[same], mine[same]
        if not len(own):
            break
        firsts.append(owners[own].astype(np.int64))
        seconds.append(owners[own + distance].astype(np.int64))
    empty: Sequence[Ints] = [np.empty(0, np.int64)]
    return np.concatenate([*empty, *firsts]), np.concatenate([*empty, *seconds])
