"""Score documents, two or one with many, for commands and measurements.

CoLDE's own score is the cosine of the document vectors, without a residual (§3.3). One vector blurs small details that
decide, so a model may add further parts (`scoring.config.PARTS`). Each part is symmetric, is 1 for a document and
itself, and does not change when a document is repeated m times; "mean" hardly does, since its opening comes once.

The same parts are computed in two faster ways, which tests hold to `document_score`: `scores_with_many`, and for the
random pairs of a field `scoring.profile_learning.pair_table`.

A search scores one document with many, many times faster than pair by pair. The documents are taken as they are, in
blocks: their chunk vectors as one matrix, their words as one long list. Centre and word weights of a field are applied
to a whole block, so that no document has to be adapted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import ModelError
from colde_cli.scoring.config import PARTS, Calibration, Scorable, ScoreWeights, ScoringConfig, probability
from colde_cli.scoring.domains import shared_domains, shortness, with_short
from colde_cli.scoring.lexicon import BUCKETS, Terms, agreement, mention, overlap
from colde_cli.scoring.profile import DomainFields, Field, FieldDocument, within
from colde_cli.scoring.score_table import row_blocks
from colde_cli.scoring.whitening import Whitening, unit_rows

FloatArray = NDArray[np.float32]
Floats = NDArray[np.float64]
Overlap = TypeVar("Overlap", float, NDArray[np.float64])
Ints = NDArray[np.int64]

ACCURACY = 1e-5
"""Bound on the difference from `document_score`, which sums in another order. The greatest difference
among 6,000 documents was 1.2e-7; the rest is caution."""

_OPENING, _OPENING_SHARE = 2.0, 0.05  # a and s of `subject_vectors`
_REPETITION = 5.0  # r
_MANY_WORDS = 1 << 31
_BLOCK = 256
"""Documents scored together: their copies stay below about 20 MB."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a document score.

    Attributes:
        score: in [-1, 1].
        weight: in the domains of the two documents, above 0.
    """

    name: str
    score: float
    weight: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model says about two documents.

    Attributes:
        score: in [-1, 1], the mean of the parts by their weights.
        threshold: score from which documents of these domains count as related; None where not fitted.
        probability: that they are related; None where the model is not calibrated.
        percentile: share of random pairs of the field with a lower score; None without a field, or in a small one.
    """

    score: float
    parts: tuple[ScorePart, ...]
    threshold: float | None
    probability: float | None
    percentile: float | None = None


COSINE_ALONE = ScoreWeights()
"""The weights of a model that states none."""


@dataclass(frozen=True, slots=True)
class _RankingConfig:
    """What a model states about its scores in rankings; a `ScoringConfig`."""

    threshold: float | None
    calibration: Calibration | None
    score_weights: ScoreWeights


def for_rankings(config: ScoringConfig) -> ScoringConfig:
    """What a model states about scores by which short and long texts are ordered; see `of_long_texts`."""
    if config.score_weights is None:
        return config
    return _RankingConfig(config.threshold, config.calibration, config.score_weights.of_long_texts)


def document_score(a: Scorable, b: Scorable, config: ScoringConfig, field: Field | DomainFields | None = None) -> float:
    """The score of two documents, in [-1, 1]: the weighted mean of its parts."""
    return _mean(score_parts(a, b, config, field))


def document_scores(
    left: Sequence[Scorable],
    right: Sequence[Scorable],
    config: ScoringConfig,
    field: Field | DomainFields | None = None,
) -> NDArray[np.float64]:
    """The scores of P pairs of documents, [P].

    Args:
        field: score them within this field; documents of many pairs are best adapted to it before. One document
            with many others is scored faster by `scores_with_many`. `DomainFields` are those of the model itself.
    """
    scores = [document_score(a, b, config, field) for a, b in zip(left, right, strict=True)]
    return np.asarray(scores, np.float64)


def score_parts(
    a: Scorable,
    b: Scorable,
    config: ScoringConfig,
    field: Field | DomainFields | None = None,
    *,
    unweighted: bool = False,
) -> tuple[ScorePart, ...]:
    """The parts of a document score that have a weight, in the order of `PARTS`; `unweighted`: the others, too."""
    score_weights = config.score_weights or COSINE_ALONE
    if isinstance(field, Field):
        score_weights = score_weights.of_long_texts
    by_kind = score_weights.by_kind if field is None else field.weights_by_kind(score_weights)
    long, short = _by_length(kind_shares(a, b, score_weights)[None], by_kind, score_weights)
    adapted = plain = (a, b) if field is None else field.adapt_pair(a, b)
    if isinstance(field, DomainFields):
        plain = a, b  # A short text tells too little of its domain for the domain's centre to be subtracted.
    parts = []
    for name, of_long, of_short in zip(PARTS, long[0].tolist(), short[0].tolist(), strict=True):
        weight, score = of_long + of_short, 0.0
        if of_long > 0 or (unweighted and weight == 0):
            score = part_score(name, *adapted, score_weights)
        if of_short > 0:
            score = (of_long * score + of_short * part_score(name, *plain, score_weights)) / weight
        if weight > 0 or unweighted:
            parts.append(ScorePart(name, score, weight))
    return tuple(parts)


def _by_length(shares: Floats, by_kind: Floats, score_weights: ScoreWeights) -> tuple[Floats, Floats]:
    """The weights that the parts of B pairs have as those of long texts and as those of short ones, [B, 7] each."""
    if score_weights.short is None:
        return shares @ by_kind, np.zeros((len(shares), len(PARTS)))
    return shares[:, :-1] @ by_kind[:-1], shares[:, -1:] * by_kind[-1:]


def score_without(values: Floats, weights: Floats, part: int) -> Floats:
    """The scores of P pairs without one part, [P]: the weights of the others are raised to sum 1.

    Args:
        values: [P, 7], the parts.
        weights: [P, 7], of the parts.
    """
    others = np.delete(weights, part, axis=1)
    scores: Floats = (np.delete(values, part, axis=1) * others).sum(1) / np.maximum(others.sum(1), 1e-9)
    return scores


def verdict(a: Scorable, b: Scorable, config: ScoringConfig, field: Field | DomainFields | None = None) -> Verdict:
    """Score, threshold and probability of two documents, and the percentile within a field.

    Weights, threshold and probability are averaged over the domains and short texts, by the shares of these in both
    documents.
    Within a field, threshold and probability are those that `colde calibrate` fitted to pairs of the field: those of
    the model hold for scores without a field.
    """
    parts = score_parts(a, b, config, field)
    score = _mean(parts)
    if isinstance(field, Field):
        known, percentile = field.profile.calibrated, field.profile.percentile(score)
        if known is None:
            return Verdict(score, parts, None, None, percentile)
        likely = float(probability(score, known.calibration))
        return Verdict(score, parts, known.threshold, likely, percentile)
    if config.threshold is None or config.calibration is None:
        return Verdict(score, parts, config.threshold, None)
    score_weights = config.score_weights or COSINE_ALONE
    shares = kind_shares(a, b, score_weights)
    thresholds = np.array([config.threshold, *(kind.threshold for kind in score_weights.kinds)])
    calibrations = [config.calibration, *(kind.calibration for kind in score_weights.kinds)]
    probabilities = np.array([float(probability(score, calibration)) for calibration in calibrations])
    return Verdict(score, parts, float(shares @ thresholds), float(shares @ probabilities))


def _mean(parts: Sequence[ScorePart]) -> float:
    return sum(part.weight * part.score for part in parts)


def kind_shares(a: Scorable, b: Scorable, score_weights: ScoreWeights) -> NDArray[np.float64]:
    """The shares of "other", of each domain, and of short texts if they have weights, in two documents; sum 1."""
    shares = shared_domains(a.domains, b.domains) if score_weights.domains else np.ones(1)
    if score_weights.short is None:
        return shares
    return with_short(shares, shortness(_size(a)), shortness(_size(b)))


def _size(document: Scorable) -> int:
    """How many different words and pairs of words a document has; see `shortness`."""
    return _MANY_WORDS if document.terms is None else len(document.terms.buckets)


def part_score(name: str, a: Scorable, b: Scorable, score_weights: ScoreWeights) -> float:
    """One part of a document score, in [-1, 1].

    Raises:
        ValueError: there is no such part, or an encoding lacks the words that it needs.
    """
    if name == "colde":
        return cosine(*own_vectors([a, b]))
    if name == "mean":
        return cosine(subject_of(a), subject_of(b))
    if name == "chunks":
        return counterparts(a, b, score_weights.sharpness)
    if name not in PARTS:
        raise ValueError(f"there is no part {name}")
    if a.terms is None or b.terms is None or a.opening is None or b.opening is None:
        raise ValueError(f"an encoding has no {name}")
    if name == "mentions":  # the mean of what each document holds of the other's opening
        shared = (mention(a.opening, b.terms) + mention(b.opening, a.terms)) / 2
    elif name == "wording":
        return agreement(a.terms, b.terms)
    else:
        shared = overlap(a.terms, b.terms) if name == "words" else overlap(a.opening, b.opening)
    return saturated(shared, score_weights.saturation)


def own_vectors(documents: Sequence[Scorable]) -> FloatArray:
    """The model's own vectors of B documents, B at least 1, at unit length: [B, D].

    Raises:
        ModelError: one has none, as in an index that was made when they had no weight.
    """
    known = [vector for item in documents if (vector := item.document_vector) is not None]
    if len(known) < len(documents):
        raise ModelError("An index lacks vectors that the model has come to score by since; make the index anew.")
    return unit_rows(np.stack(known))


def cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cosine of every row of `a` [n, D] with every row of `b` [m, D]: [n, m] in [-1, 1].

    Of section vectors it is CoLDE's ŷ_p[i, j] = cos(z_{s,i}, z_{t,j}) (§3.3). `similarity.chunk_scores` makes
    the scores of sections and chunks of it. A row of zeros has cosine 0 with everything.
    """
    scores: FloatArray = unit_rows(a) @ unit_rows(b).T
    return np.clip(scores, -1.0, 1.0, out=scores)


def cosine(a: FloatArray, b: FloatArray) -> float:
    """Cosine of two vectors [D]: the document score ŷ_d = cos(z(s), z(t)) (CoLDE §3.3)."""
    return float(cosines(a[None, :], b[None, :])[0, 0])


def subject_vectors(vectors: FloatArray, lengths: Ints, chunk_weights: FloatArray | None = None) -> FloatArray:
    """What each of B documents is about: the weighted mean of its centred unit chunk vectors, at unit length, [B, H].

    A plain mean counts what a text repeats as often as it is said, and its opening no more than any other chunk. Here
    repeated matter counts less and the opening more. Chunk i has the weight
    (1 + a exp(-p_i / s)) / (1 + r max(0, c_i)):
    p_i is its place from 0 (first) to 1 (last), c_i its product with the plain mean. Both are relative to the text, so
    that one of which every chunk is repeated hardly changes. What the weights are worth, and how the constants were
    chosen: `benchmarks/results/laboratory.md`.

    Args:
        vectors: [M, H], those of all documents, one document after the other.
        lengths: [B], chunks of each document, at least 1.
        chunk_weights: [M], how much each chunk counts in its field besides; None where all count the same.
    """
    starts = np.cumsum(lengths) - lengths
    if chunk_weights is None:
        means = np.add.reduceat(vectors, starts, axis=0) / lengths[:, None].astype(np.float32)
    else:
        sums = np.add.reduceat(vectors * chunk_weights[:, None], starts, axis=0)
        means = sums / np.add.reduceat(chunk_weights, starts)[:, None]
    rows = np.repeat(np.arange(len(lengths)), lengths)
    central = np.maximum(np.einsum("mh,mh->m", vectors, means[rows]), 0.0)
    places = (np.arange(len(vectors)) - starts[rows] + 0.5) / lengths[rows]
    weights = (1 + _OPENING * np.exp(-places / _OPENING_SHARE)) / (1 + _REPETITION * central)
    if chunk_weights is not None:
        weights *= chunk_weights
    return unit_rows(np.add.reduceat(vectors * weights[:, None].astype(np.float32), starts, axis=0))


def subject_of(document: Scorable) -> FloatArray:
    """What one document is about, [H]; see `subject_vectors`."""
    vectors = document.centred_unit_vectors
    weights = document.chunk_weights if isinstance(document, FieldDocument) else None
    subject: FloatArray = subject_vectors(vectors, np.array([len(vectors)]), weights)[0]
    return subject


def counterparts(a: Scorable, b: Scorable, sharpness: float) -> float:
    """How well the chunks of two documents find a counterpart in the other, in [-1, 1].

    Chunk i has m_i, the cosine with its best match, and s_i, its share of the tokens. The score of a document is the
    soft maximum t · log Σ_i s_i · exp(m_i / t); the mean of both documents is returned. A few chunks that match count
    more than many that nearly do, however long the document is.
    """
    own, other = a.centred_unit_vectors, b.centred_unit_vectors
    of_a, of_b = np.empty(len(own), np.float32), np.full(len(other), -1.0, np.float32)
    for start, stop in row_blocks(len(own), len(other)):
        table = own[start:stop] @ other.T
        table.max(axis=1, out=of_a[start:stop])
        np.maximum(of_b, table.max(axis=0), out=of_b)
    both = 0.0
    for found, side in ((of_a, a), (of_b, b)):
        best = np.clip(found, -1.0, 1.0).astype(np.float64)
        highest = float(best.max())
        total = float(side.shares.astype(np.float64) @ np.exp((best - highest) / sharpness))
        both += highest + sharpness * float(np.log(total))
    return max(-1.0, min(1.0, both / 2))


def saturated(value: Overlap, half: float) -> Overlap:
    """Raise a small overlap: x (1 + k) / (x + k), from [0, 1] to [0, 1].

    Two documents of one domain share few rare words, two versions of a document nearly all: the first few say most.
    """
    return value * (1 + half) / (value + half)


def scores_with_many(
    query: Scorable, documents: Sequence[Scorable], config: ScoringConfig, field: Field | DomainFields | None = None
) -> Floats:
    """The scores of a document with N others, [N], equal to `document_score` but for `ACCURACY`."""
    score_weights = config.score_weights or COSINE_ALONE
    rows = np.zeros(len(documents), np.int64)
    if isinstance(field, DomainFields):
        rows = field.rows(query, documents)
    scores = np.zeros(len(documents))
    for row in np.unique(rows).tolist():
        scorer = _OneToMany(query, score_weights, field, row)
        numbers = np.flatnonzero(rows == row)
        for start in range(0, len(numbers), _BLOCK):
            block = numbers[start : start + _BLOCK]
            scores[block] = scorer.scores([documents[number] for number in block])
    return scores


class _OneToMany:
    """A query made ready to be scored with blocks of documents.

    Attributes:
        row: the domain in which the query and the documents are scored, if `field` is `DomainFields`.
    """

    def __init__(
        self, query: Scorable, score_weights: ScoreWeights, field: Field | DomainFields | None, row: int
    ) -> None:
        if isinstance(field, Field):
            score_weights = score_weights.of_long_texts
        self._score_weights = score_weights
        self._by_kind = score_weights.by_kind if field is None else field.weights_by_kind(score_weights)
        self._field: Field | None = None
        self._whitening: Whitening | None = None
        self._query = self._unadapted = query
        if isinstance(field, Field):
            self._field, self._whitening, self._query = field, field.whitening, field.adapt(query)
        elif field is not None and row:
            self._whitening = field.whitenings[row - 1]
            self._query = within(query, self._whitening, query.terms)

    def scores(self, documents: Sequence[Scorable]) -> Floats:
        """The scores of the query with a block of documents, [B]."""
        shares = np.ones((len(documents), 1))
        if self._score_weights.domains:
            shares = shared_domains(self._query.domains, np.stack([item.domains for item in documents]))
        if self._score_weights.short is not None:
            sizes = np.array([_size(item) for item in documents])
            shares = with_short(shares, shortness(_size(self._query)), shortness(sizes))
        long, short = _by_length(shares, self._by_kind, self._score_weights)
        table = np.zeros((len(documents), len(PARTS)))
        chunks = self._chunk_parts(documents, self._query, self._whitening)
        for column in np.flatnonzero((long + short).sum(axis=0) > 0).tolist():
            name = PARTS[column]
            table[:, column] = chunks[name] if name in chunks else self._part(name, documents)
        scores: Floats = (table * (long + short)).sum(axis=1)
        in_domain = self._field is None and self._whitening is not None
        rows: list[int] = np.flatnonzero(short.any(axis=1)).tolist() if in_domain else []
        if rows:  # see `score_parts`
            plain = self._chunk_parts([documents[row] for row in rows], self._unadapted, None)
            for name, values in plain.items():
                column = PARTS.index(name)
                scores[rows] += short[rows, column] * (values - table[rows, column])
        return scores

    def _part(self, name: str, documents: Sequence[Scorable]) -> Floats:
        if name == "colde":
            cosines: Floats = np.clip(own_vectors(documents) @ own_vectors([self._query])[0], -1.0, 1.0)
            return cosines
        if name == "words":
            factors = None if self._field is None else self._field.word_factors
            return self._overlaps(self._query.terms, [item.terms for item in documents], factors)
        if name == "mentions":
            return self._mentions(documents)
        if name == "wording":
            return self._agreements(documents)
        return self._overlaps(self._query.opening, [item.opening for item in documents], None)

    def _chunk_parts(
        self, documents: Sequence[Scorable], adapted: Scorable, whitening: Whitening | None
    ) -> dict[str, Floats]:
        """The parts that need all chunk vectors, given the query, `adapted` as the documents will be by `whitening`."""
        if whitening is None:
            vectors = np.concatenate([item.centred_unit_vectors for item in documents])
        else:
            vectors = whitening.unit_vectors(np.concatenate([item.chunk_vectors for item in documents]))
        lengths = np.array([len(item.shares) for item in documents])
        starts = np.cumsum(lengths) - lengths
        weights = None if self._field is None else self._field.chunk_weights(vectors)
        subjects = subject_vectors(vectors, lengths, weights) @ subject_of(adapted)
        parts: dict[str, Floats] = {"mean": np.clip(subjects, -1.0, 1.0).astype(np.float64)}
        shares = np.concatenate([item.shares for item in documents])
        if weights is not None:
            shares = shares * weights
            shares /= np.repeat(np.add.reduceat(shares, starts), lengths)
        parts["chunks"] = self._counterparts((vectors, adapted.centred_unit_vectors), starts, lengths, shares)
        return parts

    def _counterparts(
        self, vectors: tuple[FloatArray, FloatArray], starts: Ints, lengths: Ints, shares: FloatArray
    ) -> Floats:
        """See `counterparts`: [B].

        Args:
            vectors: of the chunks of all documents [M, H], and of those of the query [n, H].
            starts: [B], the row of each document's first chunk.
            lengths: [B], chunks of each document.
            shares: [M], of the chunks.
        """
        sharpness = self._score_weights.sharpness
        documents, query = vectors
        numbers = np.repeat(np.arange(len(lengths)), lengths)
        found = np.empty(len(documents), np.float32)
        found_back = np.full((len(lengths), len(query)), -1.0, np.float32)
        for start, stop in row_blocks(len(documents), len(query)):
            cosines = np.clip(documents[start:stop] @ query.T, -1.0, 1.0)
            cosines.max(axis=1, out=found[start:stop])
            within_block, first = np.unique(numbers[start:stop], return_index=True)
            part = np.maximum.reduceat(cosines, first, axis=0)
            found_back[within_block] = np.maximum(found_back[within_block], part)
        best = found.astype(np.float64)
        highest = np.maximum.reduceat(best, starts)
        totals = np.add.reduceat(shares * np.exp((best - np.repeat(highest, lengths)) / sharpness), starts)
        back = found_back.astype(np.float64)
        highest_back = back.max(axis=1)
        weights = np.exp((back - highest_back[:, None]) / sharpness)
        totals_back = weights @ self._query.shares.astype(np.float64)
        both = highest + highest_back + sharpness * (np.log(totals) + np.log(totals_back))
        scores: Floats = np.clip(both / 2, -1.0, 1.0)
        return scores

    def _mentions(self, documents: Sequence[Scorable]) -> Floats:
        """Saturated mentions of the openings of either side in the other, [B]."""
        own, opening = self._query.terms, self._query.opening
        terms = _known([item.terms for item in documents])
        openings = _known([item.opening for item in documents])
        if own is None or opening is None:
            raise ValueError("an encoding has no words")
        there, here = np.zeros(2 * BUCKETS, np.float32), np.zeros(2 * BUCKETS, np.float32)
        there[opening.buckets] = opening.weights**2
        here[own.buckets] = 1
        of_query = _sums(there.take(np.concatenate([item.buckets for item in terms])), _lengths(terms))
        weights = np.concatenate([item.weights for item in openings])
        found = here.take(np.concatenate([item.buckets for item in openings])) * weights**2
        both = np.minimum(of_query, 1.0) + np.minimum(_sums(found, _lengths(openings)), 1.0)
        return saturated(both / 2, self._score_weights.saturation)

    def _agreements(self, documents: Sequence[Scorable]) -> Floats:
        """See `agreement`: [B]."""
        own, known = self._query.terms, _known([item.terms for item in documents])
        if own is None:
            raise ValueError("an encoding has no words")
        here = np.zeros(2 * BUCKETS, bool)
        here[own.buckets] = True
        lengths = _lengths(known)
        both = _sums(here.take(np.concatenate([item.buckets for item in known])).astype(np.int64), lengths)
        found: Floats = both / np.maximum(lengths + len(own.buckets) - both, 1)
        return found

    def _overlaps(self, query: Terms | None, documents: Sequence[Terms | None], factors: FloatArray | None) -> Floats:
        """Saturated overlaps of weighted words, [B].

        Args:
            factors: [2 * BUCKETS], by which the field changes a weight; None where it changes none.
        """
        known = _known(documents)
        if query is None:
            raise ValueError("an encoding has no words")
        lengths = _lengths(known)
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


def _known(documents: Sequence[Terms | None]) -> list[Terms]:
    known = [item for item in documents if item is not None]
    if len(known) < len(documents):
        raise ValueError("an encoding has no words")
    return known


def _lengths(documents: Sequence[Terms]) -> Ints:
    return np.array([len(item.buckets) for item in documents], np.int64)


def _sums(values: FloatArray, lengths: Ints) -> Floats:
    """Sums of stretches of these lengths, some of which may be 0."""
    sums = np.zeros(len(lengths))
    filled = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[filled]
    if len(starts):
        sums[filled] = np.add.reduceat(values, starts)
    return sums
