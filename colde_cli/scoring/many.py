"""Score one document with many at once: what a search needs first, many times faster than pair by pair.

The documents are taken as they are, in blocks: their chunk vectors as one matrix, their words as one sparse one. The
word weights of a field are folded into the query, so that no document has to be adapted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.scoring.config import FIELD_PARTS, PARTS, ScoreWeights
from colde_cli.scoring.lexicon import BUCKETS, Terms
from colde_cli.scoring.profile import Field
from colde_cli.scoring.score import (
    COSINE_ALONE,
    Scorable,
    ScoringConfig,
    saturated,
    unit_rows,
    weights_by_domain,
)

Floats = NDArray[np.float64]
FloatArray = NDArray[np.float32]
Ints = NDArray[np.int64]

ACCURACY = 1e-4
"""Bound on the difference from `scoring.score.document_score`, which sums in another order. Of documents with scores
between -1 and 1 it is below 1e-5; the rest is caution."""

_BLOCK = 256
"""Documents scored together: their copies stay below about 20 MB."""


def scores_with_many(
    query: Scorable, documents: Sequence[Scorable], config: ScoringConfig, field: Field | None = None
) -> Floats:
    """The scores of a document with N others, [N], equal to `document_score` but for `ACCURACY`.

    Args:
        query: not adapted to the field.
        documents: not adapted to the field.
        config: of the model that encoded them all.
        field: score them within this field.
    """
    scorer = _OneToMany(query, config.score_weights or COSINE_ALONE, field)
    blocks = [documents[start : start + _BLOCK] for start in range(0, len(documents), _BLOCK)]
    return np.concatenate([np.zeros(0), *(scorer.scores(block) for block in blocks)])


class _OneToMany:
    """A query made ready to be scored with blocks of documents."""

    def __init__(self, query: Scorable, score_weights: ScoreWeights, field: Field | None) -> None:
        self._score_weights, self._field = score_weights, field
        self._names: tuple[str, ...] = PARTS if field is None else FIELD_PARTS
        self._by_domain = (
            weights_by_domain(score_weights) if field is None else field.weights_by_domain(score_weights)
        )
        self._query = query if field is None else field.adapt(query)
        self._domains = query.domains.astype(np.float64)

    def scores(self, documents: Sequence[Scorable]) -> Floats:
        """The scores of the query with a block of documents, [B]."""
        wanted = self._by_domain.sum(axis=0) > 0
        table = np.zeros((len(documents), len(self._names)))
        chunks = self._chunk_parts(documents)
        for column, name in enumerate(self._names):
            if wanted[column]:
                table[:, column] = chunks[name] if name in chunks else self._part(name, documents)
        scores: Floats = (table * (self._domain_shares(documents) @ self._by_domain)).sum(axis=1)
        return scores

    def _part(self, name: str, documents: Sequence[Scorable]) -> Floats:
        if name == "document":
            vectors = unit_rows(np.stack([item.document_vector for item in documents]))
            cosines: Floats = np.clip(vectors @ unit_rows(self._query.document_vector[None])[0], -1.0, 1.0)
            return cosines
        if name == "words":
            factors = None if self._field is None else self._field.word_factors
            return self._overlaps(self._query.terms, [item.terms for item in documents], factors)
        return self._overlaps(self._query.opening, [item.opening for item in documents], None)

    def _domain_shares(self, documents: Sequence[Scorable]) -> Floats:
        """See `scoring.score.domain_shares`: [B, 1 + K]."""
        if not self._score_weights.domains:
            return np.ones((len(documents), 1))
        both = self._domains + np.stack([item.domains for item in documents])
        shares: Floats = both / both.sum(axis=1, keepdims=True)
        return shares

    def _chunk_parts(self, documents: Sequence[Scorable]) -> dict[str, Floats]:
        """The parts that need all chunk vectors."""
        if self._field is None:
            vectors = np.concatenate([item.centred_unit_vectors for item in documents])
        else:
            vectors = np.concatenate([item.chunk_vectors for item in documents]) - self._field.centre
        lengths = np.array([len(item.shares) for item in documents])
        starts = np.cumsum(lengths) - lengths
        cosines = vectors @ self._query.centred_unit_vectors.T
        parts: dict[str, Floats] = {}
        if self._field is not None:
            norms = np.sqrt(np.einsum("mh,mh->m", vectors, vectors))
            cosines /= np.maximum(norms, np.finfo(np.float32).tiny)[:, None]
            sums = np.add.reduceat(vectors, starts, axis=0)
            parts["mean"] = (unit_rows(sums) @ unit_rows(self._query.chunk_vectors.mean(0)[None])[0]).astype(
                np.float64
            )
        shares = np.concatenate([item.shares for item in documents])
        parts["chunks"] = self._counterparts(np.clip(cosines, -1.0, 1.0), starts, lengths, shares)
        return parts

    def _counterparts(self, cosines: FloatArray, starts: Ints, lengths: Ints, shares: FloatArray) -> Floats:
        """See `scoring.score.counterparts`: [B].

        Args:
            cosines: [M, n] of the chunks of all documents with those of the query.
            starts: [B], the row of each document's first chunk.
            lengths: [B], chunks of each document.
            shares: [M], of the chunks.
        """
        sharpness = self._score_weights.sharpness
        best = cosines.max(axis=1).astype(np.float64)
        highest = np.maximum.reduceat(best, starts)
        totals = np.add.reduceat(shares * np.exp((best - np.repeat(highest, lengths)) / sharpness), starts)
        back = np.maximum.reduceat(cosines, starts, axis=0).astype(np.float64)
        highest_back = back.max(axis=1)
        totals_back = np.exp((back - highest_back[:, None]) / sharpness) @ self._query.shares.astype(
            np.float64
        )
        both = highest + highest_back + sharpness * (np.log(totals) + np.log(totals_back))
        scores: Floats = np.clip(both / 2, -1.0, 1.0)
        return scores

    def _overlaps(
        self, query: Terms | None, documents: Sequence[Terms | None], factors: FloatArray | None
    ) -> Floats:
        """Saturated overlaps of weighed words, [B].

        Args:
            query: its words, weighed within the field.
            documents: words that the model alone has weighed.
            factors: [2 * BUCKETS], by which the field changes a weight; None where it changes none.
        """
        known = [item for item in documents if item is not None]
        if query is None or len(known) < len(documents):
            raise ValueError("an encoding has no words")
        lengths = np.array([len(item.buckets) for item in known])
        buckets = np.concatenate([item.buckets for item in known])
        weights = np.concatenate([item.weights for item in known])
        spread_out = np.zeros(2 * BUCKETS, np.float32)
        spread_out[query.buckets] = query.weights
        if factors is not None:
            weights = weights * factors.take(buckets)
        sums = _sums(spread_out.take(buckets) * weights, lengths)
        if factors is not None:
            sums /= np.maximum(np.sqrt(_sums(weights * weights, lengths)), np.finfo(np.float32).tiny)
        return saturated(np.minimum(sums, 1.0), self._score_weights.saturation)


def _sums(values: FloatArray, lengths: Ints) -> Floats:
    """Sums of stretches of these lengths, some of which may be 0."""
    sums = np.zeros(len(lengths))
    filled = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[filled]
    if len(starts):
        sums[filled] = np.add.reduceat(values, starts)
    return sums
