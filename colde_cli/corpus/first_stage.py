"""Choose documents that may be close to a query: the first stage of a ranking in a large index.

Scoring reads every chunk vector and every word of a document. The first stage reads one vector and the heaviest words
of each, and leaves a few hundred documents to be scored exactly. Two measures find them:

    vectors   the part "mean" of the score: the subject vector of the whitened unit chunk vectors, as int8
    words     the part "words": inverted lists from a bucket to the documents that hold it, the heaviest of each only

Both hold within one field profile, which is kept beside them. It may be older than the profile that the exact scores
rest on: it chooses documents, and orders none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.records import in_int8
from colde_cli.scoring.config import PARTS, Scorable, ScoreWeights
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import Field
from colde_cli.scoring.score import kind_shares, saturated, subject_vectors
from colde_cli.scoring.whitening import unit_rows

FloatArray = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HEAVIEST = 128
"""How many of its heaviest words put a document into inverted lists: its weight lies on its rare words."""
MAX_POSTINGS = 4_000_000
"""Maximum number of postings that a query reads, those of its heaviest words first. It bounds the time of a query."""
NO_TERMS = Terms(np.zeros(0, np.int32), np.zeros(0, np.float32))
"""No weighted words: those of a document encoded by a model without a lexicon."""

_WIDENED = 2048  # vectors widened to float32 together: they stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class ShortVectors:
    """Vectors of N documents in 8 bits a number.

    Attributes:
        values: int8 [N, H].
        scales: float32 [N], by which the values of a row are multiplied.
    """

    values: NDArray[np.int8]
    scales: FloatArray

    @classmethod
    def of(cls, vectors: FloatArray) -> ShortVectors:
        """Round vectors [N, H]; the largest number of each row becomes 127 or -127."""
        return cls(*in_int8(vectors))

    def products(self, query: FloatArray) -> FloatArray:
        """The products of all rows with a vector [H]: float32 [N]."""
        products = np.empty(len(self.values), np.float32)
        for start in range(0, len(products), _WIDENED):
            block = slice(start, start + _WIDENED)
            products[block] = self.values[block].astype(np.float32) @ query
        products *= self.scales
        return products


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Inverted lists: for each bucket of `Terms` the documents that hold it, and how heavy it is in them.

    Attributes:
        buckets: int32 [U], ascending: those that stand in a document.
        starts: int64 [U + 1], where the list of each bucket begins and ends.
        documents: int32 [P], rows of documents, ascending in each list.
        weights: uint8 [P], to be multiplied by the document's scale.
        scales: float32 [N].
    """

    buckets: NDArray[np.int32]
    starts: Ints
    documents: NDArray[np.int32]
    weights: NDArray[np.uint8]
    scales: FloatArray

    @classmethod
    def of(cls, words: ShortWords) -> Postings:
        """Invert the words of N documents."""
        order = np.argsort(words.buckets, kind="stable")
        rows = np.repeat(np.arange(len(words.lengths), dtype=np.int32), words.lengths)
        buckets, counts = np.unique(words.buckets, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(buckets, starts, rows[order], words.weights[order], words.scales)

    def sums(self, query: Terms) -> Floats:
        """The sums over shared words of both weights, for every document: [N].

        Lists are read from the query's heaviest word down, as long as they have `MAX_POSTINGS` entries together.
        """
        lists, weights = self._lists(query)
        if not lists:
            return np.zeros(len(self.scales))
        documents = np.concatenate([self.documents[part] for part in lists])
        products = [self.weights[part] * weight for part, weight in zip(lists, weights, strict=True)]
        sums = np.bincount(documents, np.concatenate(products), len(self.scales))
        scaled: Floats = np.multiply(sums, self.scales, dtype=np.float64)
        return scaled

    def _lists(self, query: Terms) -> tuple[list[slice], list[np.float32]]:
        """The places of the lists to read, and the query's weight of each."""
        if not len(self.buckets):
            return [], []
        order = np.argsort(-query.weights, kind="stable")
        wanted, weights = query.buckets[order], query.weights[order]
        places = np.minimum(np.searchsorted(self.buckets, wanted), len(self.buckets) - 1)
        known = self.buckets[places] == wanted
        places, weights = places[known], weights[known]
        starts, ends = self.starts[places], self.starts[places + 1]
        read = int(np.searchsorted(np.cumsum(ends - starts), MAX_POSTINGS, "right"))
        bounds = zip(starts[:read].tolist(), ends[:read].tolist(), strict=True)
        return [slice(start, end) for start, end in bounds], list(weights[:read])


@dataclass(frozen=True, slots=True, eq=False)
class ShortWords:
    """The heaviest words of N documents, one document after the other.

    Attributes:
        lengths: int64 [N], words of each document.
        buckets: int32 [P], ascending within a document.
        weights: uint8 [P], to be multiplied by the document's scale.
        scales: float32 [N].
    """

    lengths: Ints
    buckets: NDArray[np.int32]
    weights: NDArray[np.uint8]
    scales: FloatArray

    @classmethod
    def of(cls, documents: Iterable[Terms]) -> ShortWords:
        """Keep the `HEAVIEST` words of each document, in 8 bits a weight."""
        kept = []
        for terms in documents:
            # Of equal weights those of the first buckets, in the order of their buckets.
            rows = np.sort(np.argsort(-terms.weights, kind="stable")[:HEAVIEST])
            kept.append(Terms(terms.buckets[rows], terms.weights[rows]))
        scales = np.array([terms.weights.max(initial=0.0) / 255 for terms in kept], np.float32)
        weights = [
            np.rint(terms.weights / scale if scale else terms.weights).astype(np.uint8)
            for terms, scale in zip(kept, scales, strict=True)
        ]
        return cls(
            np.array([len(terms.buckets) for terms in kept], np.int64),
            np.concatenate([terms.buckets for terms in kept] or [np.zeros(0, np.int32)]),
            np.concatenate(weights or [np.zeros(0, np.uint8)]),
            scales,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """How the first stage sees documents.

    Attributes:
        field: whose statistics it uses; None for those of the model alone.
        score_weights: of the model. One that scores no chunks is served by document vectors instead of means.
    """

    field: Field | None
    score_weights: ScoreWeights

    @property
    def _by_kind(self) -> Floats:
        return self._weights.by_kind if self.field is None else self.field.weights_by_kind(self._weights)

    @property
    def _weights(self) -> ScoreWeights:
        return self.score_weights.of_long_texts

    def vectors(self, documents: Sequence[Scorable]) -> FloatArray:
        """The subject vectors of B documents within the field, [B, H]; see the part "mean" of a score.

        There is at least one document, and none is adapted to a field.
        """
        if not self._by_kind[:, PARTS.index("mean") : PARTS.index("words")].any():
            return unit_rows(np.stack([item.document_vector for item in documents]))
        if self.field is None:
            vectors = np.concatenate([item.centred_unit_vectors for item in documents])
        else:
            chunks = np.concatenate([item.chunk_vectors for item in documents])
            vectors = unit_rows(self.field.whitening.apply(chunks))
        lengths = np.array([len(item.shares) for item in documents])
        return subject_vectors(vectors, lengths)

    def words(self, documents: Sequence[Scorable]) -> list[Terms]:
        """The words of documents, weighted within the field; no words for a model without a lexicon."""
        known = [item.terms or NO_TERMS for item in documents]
        if self.field is None:
            return known
        weighted = []
        for terms in known:
            weights = terms.weights * self.field.word_factors.take(terms.buckets)
            length = np.linalg.norm(weights)
            weighted.append(Terms(terms.buckets, (weights / (length or 1.0)).astype(np.float32)))
        return weighted

    def query(self, query: Scorable) -> FirstQuery:
        """A document that is not adapted to the field, as a query."""
        weights = kind_shares(query, query, self._weights) @ self._by_kind
        # The same as `words`, without the factors of all buckets.
        terms = query.terms if self.field is None else self.field.adapt(query).terms
        return FirstQuery(
            self.vectors([query])[0],
            terms or NO_TERMS,
            float(weights[PARTS.index("words") :].sum() / weights.sum()),
            self.score_weights.saturation,
        )

    def segment(self, ids: Sequence[int], documents: Sequence[Scorable]) -> Segment:
        """What the first stage needs of documents, at least one; `ids` ascend."""
        return Segment(
            np.asarray(ids, np.int64),
            ShortVectors.of(self.vectors(documents)),
            Postings.of(ShortWords.of(self.words(documents))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """What the first stage knows of N documents.

    Attributes:
        ids: int64 [N], of the documents in the index, ascending.
    """

    ids: Ints
    vectors: ShortVectors
    postings: Postings


@dataclass(frozen=True, slots=True, eq=False)
class FirstQuery:
    """A query as the first stage needs it.

    Attributes:
        vector: float32 [H], unit length.
        words: weighted within the field.
        word_share: weight of the words in the fused score; vectors have the rest.
        saturation: see `scoring.score.saturated`.
    """

    vector: FloatArray
    words: Terms
    word_share: float
    saturation: float


def candidates(query: FirstQuery, segments: Sequence[Segment], limit: int, allowed: Ints | None = None) -> Ints:
    """The ids of the `limit` documents that are likely to be closest, ascending.

    Each document stands in one of the segments; `allowed` are the ids that may be chosen, ascending, None allows all.
    """
    ids = np.concatenate([segment.ids for segment in segments])
    vectors = np.concatenate([segment.vectors.products(query.vector) for segment in segments])
    words = np.concatenate([segment.postings.sums(query.words) for segment in segments])
    if allowed is not None:
        rows = np.flatnonzero(np.isin(ids, allowed, assume_unique=True))
        ids, vectors, words = ids[rows], vectors[rows], words[rows]
    scores = fused(vectors, words, query)
    return np.sort(ids[best(scores, limit)])


def fused(vectors: FloatArray, words: Floats, query: FirstQuery) -> Floats:
    """One score of both measures, [N]."""
    raised = saturated(np.minimum(words, 1.0), query.saturation)
    return (1 - query.word_share) * vectors + query.word_share * raised


def best(scores: Floats, limit: int) -> Ints:
    """The places of the highest scores; of equal ones the first."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    above = np.flatnonzero(scores > least)
    level = np.flatnonzero(scores == least)[: limit - len(above)]
    return np.concatenate([above, level])
