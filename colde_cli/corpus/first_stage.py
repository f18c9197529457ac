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
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.records import in_int8
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.scoring.config import PARTS, Scorable, ScoreWeights
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import Field
from colde_cli.scoring.score import COSINE_ALONE, kind_shares, own_vectors, saturated, subject_vectors

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
_BLOCK = 256  # documents in memory together


def heaviest(terms: Terms, most: int = HEAVIEST) -> Terms:
    """The heaviest words, in the order of their buckets; of equal weights those of the first buckets."""
    rows = np.sort(np.argsort(-terms.weights, kind="stable")[:most])
    return Terms(terms.buckets[rows], terms.weights[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """What the first stage knows of N documents, up to 65,536: vectors, and inverted lists of their words.

    Attributes:
        ids: int64 [N], of the documents in the index, ascending.
        values: int8 [N, H], their vectors; a row is to be multiplied by its `vector_scales`, float32 [N].
        buckets: int32 [U], ascending: those of `Terms` that stand in a document.
        starts: int32 [U + 1], where the list of each bucket begins and ends.
        documents: uint16 [P], rows of documents, ascending in each list.
        weights: uint8 [P], how heavy the bucket is there; to be multiplied by the document's `word_scales`, f32 [N].
    """

    ids: Ints
    values: NDArray[np.int8]
    vector_scales: FloatArray
    buckets: NDArray[np.int32]
    starts: NDArray[np.int32]
    documents: NDArray[np.uint16]
    weights: NDArray[np.uint8]
    word_scales: FloatArray

    @classmethod
    def of(cls, ids: Sequence[int], vectors: Sequence[FloatArray], words: Sequence[Terms]) -> Segment:
        """Round vectors, blocks of [B, H], and the weights of the `heaviest` words of each document, to 8 bits."""
        rounded = [in_int8(block) for block in vectors]
        scales = np.array([terms.weights.max(initial=0.0) / 255 for terms in words], np.float32)
        buckets = np.concatenate([terms.buckets for terms in words])
        rows = np.repeat(np.arange(len(words)), [len(terms.buckets) for terms in words])
        order = np.argsort(buckets, kind="stable")
        different, counts = np.unique(buckets, return_counts=True)
        weights = np.concatenate([terms.weights for terms in words]) / np.where(scales > 0, scales, 1)[rows]
        return cls(
            np.array(ids, np.int64),
            np.concatenate([values for values, _ in rounded]),
            np.concatenate([scale for _, scale in rounded]),
            different,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            rows[order].astype(np.uint16),
            np.rint(weights).astype(np.uint8)[order],
            scales,
        )

    def products(self, query: FloatArray) -> FloatArray:
        """The products of all vectors with one, [H]: float32 [N]."""
        products = np.empty(len(self.values), np.float32)
        for start in range(0, len(products), _WIDENED):
            block = slice(start, start + _WIDENED)
            # Not `@`: OpenBLAS shares so little among threads that wait for each other, which took 50 times as long.
            products[block] = np.vecdot(self.values[block].astype(np.float32), query)
        products *= self.vector_scales
        return products

    def lists(self, buckets: NDArray[np.int32]) -> tuple[Ints, Ints]:
        """Where the lists of buckets begin, and how long they are; 0 of those that no document holds.

        Raises:
            ValueError: they lie outside: the file that holds them is damaged.
        """
        if not len(self.buckets):
            return np.zeros(len(buckets), np.int64), np.zeros(len(buckets), np.int64)
        places = np.minimum(np.searchsorted(self.buckets, buckets), len(self.buckets) - 1)
        starts, ends = self.starts[places].astype(np.int64), self.starts[places + 1].astype(np.int64)
        if (starts < 0).any() or (ends > len(self.documents)).any():
            raise ValueError("a list of postings lies outside")
        return starts, np.where(self.buckets[places] == buckets, ends - starts, 0)

    def sums(self, words: Terms) -> Floats:
        """The sums over shared words of both weights, for every document: [N]."""
        starts, lengths = self.lists(words.buckets)
        rows = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        products = self.weights[rows] * np.repeat(words.weights, lengths)
        sums = np.bincount(self.documents[rows], products, len(self.ids))
        return np.multiply(sums, self.word_scales, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """How the first stage sees documents.

    Attributes:
        field: whose statistics it uses; None for those of the model alone.
        score_weights: of the model. One that scores no chunks is served by document vectors instead of means.
    """

    field: Field | None
    score_weights: ScoreWeights

    @classmethod
    def of(cls, encoder: DocumentEncoder, field: Field | None = None) -> Measure:
        """How it sees those of a model."""
        return cls(field, encoder.config.score_weights or COSINE_ALONE)

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
            return own_vectors(documents)
        weights = None
        if self.field is None:
            vectors = np.concatenate([item.centred_unit_vectors for item in documents])
        else:
            chunks = np.concatenate([item.chunk_vectors for item in documents])
            vectors = self.field.whitening.unit_vectors(chunks)
            weights = self.field.chunk_weights(vectors)
        lengths = np.array([len(item.shares) for item in documents])
        return subject_vectors(vectors, lengths, weights)

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

    def segment(self, documents: Iterable[tuple[int, Scorable]]) -> Segment | None:
        """What the first stage needs of documents, with their ids, which ascend; None of no document."""
        rest, ids = iter(documents), list[int]()
        vectors: list[FloatArray] = []
        words: list[Terms] = []
        while block := list(islice(rest, _BLOCK)):
            cards = [card for _, card in block]
            ids += [number for number, _ in block]
            vectors.append(self.vectors(cards))
            words += [heaviest(terms) for terms in self.words(cards)]
        return Segment.of(ids, vectors, words) if ids else None


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
    terms = words_read(query.words, segments)
    ids = np.concatenate([segment.ids for segment in segments])
    vectors = np.concatenate([segment.products(query.vector) for segment in segments])
    words = np.concatenate([segment.sums(terms) for segment in segments])
    if allowed is not None:
        rows = np.flatnonzero(np.isin(ids, allowed, assume_unique=True))
        ids, vectors, words = ids[rows], vectors[rows], words[rows]
    scores = fused(vectors, words, query)
    return np.sort(ids[best(scores, limit)])


def words_read(words: Terms, segments: Sequence[Segment]) -> Terms:
    """The heaviest words of a query whose lists have `MAX_POSTINGS` entries together at most."""
    order = np.argsort(-words.weights, kind="stable")
    entries = np.sum([segment.lists(words.buckets[order])[1] for segment in segments], axis=0)
    order = order[: int(np.searchsorted(np.cumsum(entries), MAX_POSTINGS, "right"))]
    return Terms(words.buckets[order], words.weights[order])


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
