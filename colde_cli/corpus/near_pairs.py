"""Find the pairs of documents that share much of their wording, among all pairs, without comparing all.

Two kinds of candidates: documents with an equal band of their MinHash, and documents that share sampled shingles. Each
candidate is then compared exactly. What grows with the text of a corpus lies in temporary files: words (4 bytes each)
and sampled shingles (about 1 byte a word). In memory are a few bytes a document, blocks of a fixed size, and the tables
of the documents just compared.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.sketches import BANDS, SCALE, ShingleTable, Words, shared_words, shingles, sketch

Ints = NDArray[np.int64]

NEIGHBOURS = 32
"""Of many documents with the same shingle, each is paired with so many of the next: the work does not grow with the
square of a family, which still hangs together."""
LEAST_SAMPLED = 0.1
"""Share of the sampled shingles of one of the two that a candidate shares: an edited word breaks five shingles, so that
this finds pairs that share half of their words."""

_ENTRIES = 1 << 20  # sampled shingles sorted, or looked up, at a time
_LOOKED_UP = 1 << 16
_TABLES = 64 << 20  # bytes of tables kept


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

    def __init__(self) -> None:
        self._temporary = TemporaryDirectory(prefix="colde-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        names = ("words", "bands", "hashes")
        self._files = {name: (self.folder / name).open("wb") for name in names}
        self._words, self._sampled = [0], [0]
        self._tables: OrderedDict[int, ShingleTable] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        self._temporary.cleanup()

    def __len__(self) -> int:
        return len(self._words) - 1

    def add(self, words: Words) -> int:
        """Add a document; return its number, from 0."""
        made = sketch(shingles(words))
        self._files["words"].write(words.tobytes())
        # A text without shingles must be in no band with another.
        bands = made.bands if len(words) else np.full(BANDS, len(self), np.uint64)
        self._files["bands"].write(bands.tobytes())
        self._files["hashes"].write(made.sample.tobytes())
        self._words.append(self._words[-1] + len(words))
        self._sampled.append(self._sampled[-1] + len(made.sample))
        return len(self) - 1

    def pairs(self, least_both: float, least_one: float) -> Iterator[NearPair]:
        """Pairs that share at least `least_both` of the words of each, or `least_one` of those of one; in order.

        Args:
            least_both: share of the words of each document, in (0, 1].
            least_one: share of the words of either document, in (0, 1].
        """
        for a, b in self.candidates():
            first, second = shared_words(self._table(a), self._table(b))
            if min(first, second) >= least_both or max(first, second) >= least_one:
                yield NearPair(a, b, first, second)

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Pairs that may share much, ascending, each once."""
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
        found: Ints = np.empty(0, np.int64)
        for band in range(BANDS):
            values = np.array(keys[:, band])
            order = np.argsort(values, kind="stable")
            pairs = [_equal_neighbours(values[order], order, distance) for distance in range(1, NEIGHBOURS)]
            found = np.union1d(found, np.concatenate([a * count + b for a, b in pairs]))
        return found

    def _sharing_samples(self) -> Iterator[tuple[int, Ints]]:
        """For blocks of documents in turn: where the block ends, and keys of pairs that share enough of a sample."""
        hashes, owners, positions = self._postings()
        sizes: Ints = np.diff(np.array(self._sampled)).astype(np.int64)
        start = 0
        while start < len(self):
            end = max(
                start + 1, int(np.searchsorted(self._sampled, self._sampled[start] + _LOOKED_UP, "right")) - 1
            )
            own = np.array(positions[self._sampled[start] : self._sampled[end]])
            yield end, self._often(_partners(hashes, owners, own), sizes)
            start = end

    def _often(self, pairs: tuple[Ints, Ints], sizes: Ints) -> Ints:
        """Keys of the pairs that occur often enough for the smaller of their samples."""
        first, second = pairs
        keys, counts = np.unique(first * len(self) + second, return_counts=True)
        smaller = np.minimum(sizes[keys // len(self)], sizes[keys % len(self)])
        kept: Ints = keys[counts >= np.maximum(LEAST_SAMPLED * smaller, np.minimum(smaller, 2))]
        return kept

    def _postings(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64]]:
        """Sampled shingles in ascending order, their documents, and where each entry came to stand; all in files."""
        hashes = self._mapped("hashes", np.uint64)
        total = len(hashes)
        ordered = self._made("ordered", np.uint64, total)
        owners = self._made("owners", np.uint32, total)
        positions = self._made("positions", np.int64, total)
        ranges = max(1, -(-total // _ENTRIES))
        # Samples are spread evenly below their bound: ranges of equal width hold about as many each.
        edges = np.linspace(0, float(2**64 // SCALE), ranges + 1)
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
    found = []
    for start in range(0, len(hashes), _ENTRIES):
        block = hashes[start : start + _ENTRIES].astype(np.float64)
        found.append(np.flatnonzero((block >= low) & (block < high)) + start)
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _equal_neighbours(values: NDArray[np.uint64], order: Ints, distance: int) -> tuple[Ints, Ints]:
    """Pairs of documents at a distance in the order of their values whose values are equal."""
    same = np.flatnonzero(values[distance:] == values[:-distance])
    return order[same], order[same + distance]


def _partners(
    hashes: NDArray[np.uint64], owners: NDArray[np.uint32], own: NDArray[np.int64]
) -> tuple[Ints, Ints]:
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
