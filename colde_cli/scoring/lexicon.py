"""Weigh the words of a document, and its pairs of neighbouring words, by how rare they are.

Document vectors blur names, species, statutes and part numbers, which often decide whether two documents belong
together. A lexicon counts in how many training documents each word and each pair stands. It keeps hashes only, no
text. The weight of a word is its inverse document frequency (Spärck Jones 1972) times the logarithm of its count.
Counts are relative to their mean: a document repeated m times has the same terms. Words are read from token ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk
from colde_cli.errors import ModelError
from colde_cli.files import load_arrays

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

BUCKETS = 1 << 19
"""Number of hash values of words; pairs of words have as many."""

_LONGEST = 64
"""Word pieces of a word whose place counts; all further ones share the last place."""
_FREQUENCIES = 1 << 16
"""Number of possible document frequencies: they are kept in 16 bits."""
_RARE = 2
"""Document frequencies below this count as this: most such words are names or misread."""


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The weighted words and pairs of a text.

    Attributes:
        buckets: int32 [k], ascending hash values; pairs of words start at `BUCKETS`.
        weights: float32 [k], unit length.
    """

    buckets: NDArray[np.int32]
    weights: FloatArray


def continuations(pieces: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a token id continues the word before it: bool [vocabulary], given the piece of each id.

    WordPiece marks pieces that continue a word ("##ing"), byte-level BPE and SentencePiece those that begin one
    ("Ġthe", "▁the").
    """
    if any(piece.startswith("##") for piece in pieces):
        return np.array([piece.startswith("##") for piece in pieces])
    if any(piece.startswith(("Ġ", "▁")) for piece in pieces):
        return np.array([not piece.startswith(("Ġ", "▁", "<", "[")) for piece in pieces])
    return np.zeros(len(pieces), bool)


def overlap(a: Terms, b: Terms) -> float:
    """Cosine of the terms of two texts, in [0, 1]."""
    _, here, there = np.intersect1d(a.buckets, b.buckets, assume_unique=True, return_indices=True)
    return min(1.0, float(a.weights[here] @ b.weights[there]))


def mention(opening: Terms, terms: Terms) -> float:
    """The share of an opening that stands anywhere in a text, in [0, 1].

    A word counts by the square of its weight, as it does in the cosine of a text with itself.
    """
    if not len(terms.buckets):
        return 0.0
    places = np.minimum(np.searchsorted(terms.buckets, opening.buckets), len(terms.buckets) - 1)
    weights = opening.weights[terms.buckets[places] == opening.buckets]
    return min(1.0, float(weights @ weights))


def agreement(a: Terms, b: Terms) -> float:
    """The share of the words and pairs of two texts that both hold, in [0, 1]: Jaccard's index.

    Every word counts the same, so that it says how much of two texts is the same; pairs tell whether it is in order.
    """
    both = len(np.intersect1d(a.buckets, b.buckets, assume_unique=True))
    return both / max(1, len(a.buckets) + len(b.buckets) - both)


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Document frequencies of words and pairs of words.

    Attributes:
        frequencies: uint16 [2 * BUCKETS], number of training documents with a term of each bucket.
        continues: see `continuations`.
        power: exponent of the inverse document frequency; above 1 rare words count for more.
    """

    frequencies: NDArray[np.uint16]
    documents: int
    continues: NDArray[np.bool_]
    power: float

    @classmethod
    def learn(cls, documents: Iterable[Sequence[Sequence[int]]], continues: NDArray[np.bool_], power: float) -> Lexicon:
        """Count the documents of each term; `documents` are the token ids of their chunks, specials included."""
        frequencies, count = np.zeros(2 * BUCKETS, np.int64), 0
        for chunks in documents:
            buckets, _ = _counted(_words(_body(chunks), continues))
            frequencies[buckets] += 1
            count += 1
        return cls(np.minimum(frequencies, 65535).astype(np.uint16), count, continues, power)

    @classmethod
    def load(cls, path: Path, power: float) -> Lexicon:
        """Read a lexicon.

        Raises:
            ModelError: the file is damaged or of another version.
        """
        frequencies, documents, continues = load_arrays(path, "frequencies", "documents", "continues")
        shapes = (frequencies.shape, documents.shape, continues.ndim)
        kinds = {frequencies.dtype.kind, documents.dtype.kind}
        if shapes != ((2 * BUCKETS,), (), 1) or not kinds <= set("ui") or continues.dtype != bool or documents < 1:
            raise ModelError(f"{path} is not a lexicon of this version; fetch or train the model again.")
        return cls(frequencies, int(documents), continues, power)

    def save(self, path: Path) -> None:
        """Write the lexicon; the same content gives the same bytes."""
        with path.open("wb") as file:
            np.savez_compressed(
                file, frequencies=self.frequencies, documents=np.int64(self.documents), continues=self.continues
            )

    def terms(self, chunks: Sequence[Chunk], words: int | None = None) -> Terms:
        """Weigh the words of a text.

        Args:
            words: number of words to read; None reads all.
        """
        read = _words(_body([chunk.ids for chunk in chunks]), self.continues)[:words]
        buckets, counts = _counted(read)
        weights = counts * (self._log_rarity(buckets) + 1) ** self.power
        length = np.linalg.norm(weights)
        return Terms(buckets.astype(np.int32), (weights / (length if length else 1.0)).astype(np.float32))

    def in_field(self, terms: Terms, frequencies: NDArray[np.uint16], documents: int, field_share: float) -> Terms:
        """The terms weighted for a field: logarithms of inverse document frequencies are averaged.

        Of nine ways to blend the two, this did best on validation pairs. A mean of the frequencies themselves makes
        every word rare that a small field lacks.

        Args:
            frequencies: [2 * BUCKETS], documents of the field that hold a term of each bucket.
            field_share: weight of the field, in [0, 1].
        """
        factors = self.field_factors(frequencies, documents, field_share, terms.buckets.astype(np.int64))
        weights = terms.weights * factors
        length = np.linalg.norm(weights)
        return Terms(terms.buckets, (weights / (length if length else 1.0)).astype(np.float32))

    def field_factors(
        self, frequencies: NDArray[np.uint16], documents: int, field_share: float, buckets: IntArray | slice
    ) -> NDArray[np.float64]:
        """The factors by which a field changes the weights of buckets, before they get unit length; see `in_field`."""
        here, there = self._log_rarity(buckets), _log_rarity(frequencies[buckets], documents)
        blended = (1 - field_share) * here + field_share * there
        factors: NDArray[np.float64] = ((blended + 1) / (here + 1)) ** self.power
        return factors

    def _log_rarity(self, buckets: IntArray | slice) -> NDArray[np.float64]:
        return _log_rarity(self.frequencies[buckets], self.documents)


def _log_rarity(frequencies: NDArray[np.uint16], documents: int) -> NDArray[np.float64]:
    """Logarithm of the smoothed inverse document frequency."""
    if len(frequencies) > _FREQUENCIES:  # Each logarithm once.
        return _log_rarity(np.arange(_FREQUENCIES, dtype=np.uint16), documents)[frequencies]
    rarity: NDArray[np.float64] = np.log((1 + documents) / (1.0 + np.maximum(frequencies, _RARE)))
    return rarity


def _body(chunks: Sequence[Sequence[int]]) -> IntArray:
    """The token ids of all chunks, without the specials."""
    bodies = [np.asarray(ids[1:-1], np.int64) for ids in chunks]
    return np.concatenate(bodies) if bodies else np.zeros(0, np.int64)


def _words(ids: IntArray, continues: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Hash each word: a polynomial of its word pieces, mixed."""
    if not len(ids):
        return np.zeros(0, np.uint64)
    begins = ~continues[ids]
    begins[0] = True
    starts = np.flatnonzero(begins)
    places = np.arange(len(ids)) - np.repeat(starts, np.diff(np.append(starts, len(ids))))
    pieces = (ids.astype(np.uint64) + np.uint64(1)) * _FACTORS[np.minimum(places, _LONGEST - 1)]
    return _mixed(np.add.reduceat(pieces, starts))


def _counted(words: NDArray[np.uint64]) -> tuple[IntArray, NDArray[np.float64]]:
    """Buckets of words and of pairs of neighbours, ascending, and log(1 + count / mean count) of each."""
    pairs = _mixed(words[:-1] * np.uint64(31) + words[1:] * np.uint64(17))
    buckets, counts = [], []
    for hashes, first in ((words, 0), (pairs, BUCKETS)):
        distinct, times = np.unique((hashes % np.uint64(BUCKETS)).astype(np.int64), return_counts=True)
        buckets.append(distinct + first)
        counts.append(np.log1p(times / times.mean()) if len(times) else np.zeros(0))
    return np.concatenate(buckets), np.concatenate(counts)


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix with the finaliser of MurmurHash3: every input bit affects every output bit."""
    mixed = hashes ^ (hashes >> np.uint64(33))
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = mixed * np.uint64(factor)
        mixed ^= mixed >> np.uint64(33)
    return mixed


_FACTORS = np.array([pow(1_000_003, place, 1 << 64) for place in range(_LONGEST)], np.uint64)
