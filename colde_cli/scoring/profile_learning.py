"""Learn a field profile from documents without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from colde_cli.scoring.config import PARTS, Scorable, ScoreWeights
from colde_cli.scoring.lexicon import BUCKETS, Terms, agreement, mention
from colde_cli.scoring.profile import (
    MIN_DOCUMENTS,
    REPEATED,
    Field,
    FieldDocument,
    FieldProfile,
    ModelStatistics,
    blended_spreads,
)
from colde_cli.scoring.score import counterparts, kind_shares, own_vectors, saturated, subject_of
from colde_cli.scoring.score_table import row_blocks
from colde_cli.scoring.whitening import (
    Whitening,
    blended_covariance,
    covariance_of,
    isotropic,
    mean_of_means,
)

FloatArray = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_PAIRS = 5_000
"""Random pairs that are scored. A share of 0.3 % of all pairs is then known to 0.08 % (standard error)."""

MAX_DOCUMENTS = 2_000
"""Documents among which random pairs are drawn, which bounds memory. Centre and word counts take all documents."""

_SAMPLE, _CHUNKS = 150, 40
"""Documents, and chunks of each, spread over it, among which those are sought that the field repeats."""
_FEWEST, _OFTEN, _KINDS = 5, 0.05, 64
"""Documents, and the share of them, that hold a chunk which the field repeats; and how many kinds are kept."""
_VERSIONS = 0.7
"""Share of the chunks of each of two documents that the other holds, above which they are versions of one."""

_SEED = 0


def learn_profile(
    name: str, documents: Sequence[Scorable], statistics: ModelStatistics, score_weights: ScoreWeights
) -> FieldProfile:
    """Learn the profile of a field; the time grows linearly with the number of documents.

    Args:
        documents: of the field, at least one, encoded by the model.
    """
    count = len(documents)
    vectors = [item.chunk_vectors for item in documents]
    centre = mean_of_means(vectors)
    model = isotropic(len(centre)) if statistics.covariance is None else statistics.covariance
    covariance = blended_covariance(covariance_of(vectors, centre), count, model)
    whitening = Whitening.learn(centre, covariance)
    frequencies = np.zeros(2 * BUCKETS, np.int64)  # in how many documents a term of each bucket stands
    for item in documents:
        if item.terms is not None:
            frequencies[item.terms.buckets] += 1
    shares, nearness = np.stack([item.domains for item in documents]), np.zeros(0, np.float32)
    if statistics.domains is not None and shares.shape[1] == 1 + len(statistics.domains.prototypes):
        means = np.stack([item.chunk_vectors.mean(0, dtype=np.float64) for item in documents])
        nearness = statistics.domains.nearness(means, shares)
    unscored = FieldProfile(
        name,
        count,
        statistics.fingerprint,
        centre,
        whitening.directions,
        whitening.gains,
        np.minimum(frequencies, np.iinfo(np.uint16).max).astype(np.uint16),
        blended_spreads(np.zeros(len(PARTS)), 0),
        np.zeros(0, np.float32),
        nearness,
        np.zeros((0, len(centre)), np.float32),
    )
    generator = np.random.default_rng(_SEED)
    drawn = np.sort(generator.permutation(count)[:MAX_DOCUMENTS])
    field = Field(unscored, statistics)
    sample = [field.whitening.unit_vectors(vectors[number]) for number in drawn[:: -(-len(drawn) // _SAMPLE)]]
    unscored = replace(unscored, repeated=repeated_chunks(sample).astype(np.float16))
    field = Field(unscored, statistics)
    adapted = [field.adapt(documents[number]) for number in drawn]
    pairs = random_pairs(len(adapted), MAX_PAIRS, generator)
    if not len(pairs):
        return unscored
    score_weights = score_weights.of_long_texts
    table = pair_table(adapted, pairs, score_weights)
    profile = replace(unscored, spreads=blended_spreads(table.std(0), count))
    by_kind = Field(profile, statistics).weights_by_kind(score_weights)
    weights = [kind_shares(adapted[a], adapted[b], score_weights) @ by_kind for a, b in pairs]
    scores = np.sort(np.einsum("pk,pk->p", table, np.array(weights)))
    return replace(profile, scores=scores.astype(np.float32))


def repeated_chunks(documents: Sequence[FloatArray]) -> FloatArray:
    """Chunks that many documents hold, such as notices of copyright and forms, one of each kind: [r, H].

    Two versions of a document, which hold nearly all chunks of each other, say nothing about a third.

    Args:
        documents: the whitened unit chunk vectors [n, H] of each.
    """
    parts = [vectors[:: -(-len(vectors) // _CHUNKS)] for vectors in documents]
    vectors, lengths = np.concatenate(parts), np.array([len(part) for part in parts])
    if len(parts) < MIN_DOCUMENTS:
        return vectors[:0]
    starts, owners = np.cumsum(lengths) - lengths, np.repeat(np.arange(len(parts)), lengths)
    found = np.empty((len(vectors), len(parts)), bool)  # whether a document holds a counterpart of a chunk
    for start, stop in row_blocks(len(vectors), len(vectors)):
        found[start:stop] = np.maximum.reduceat(vectors[start:stop] @ vectors.T, starts, axis=1) > REPEATED
    held = np.add.reduceat(found, starts, axis=0, dtype=np.int64) / lengths[:, None]
    found &= (np.minimum(held, held.T) <= _VERSIONS)[owners]
    counts = found.sum(axis=1)
    rest = np.flatnonzero(counts >= max(_FEWEST, int(np.ceil(_OFTEN * len(parts)))))
    rest, kinds = rest[np.argsort(-counts[rest], kind="stable")], list[int]()
    while len(rest) and len(kinds) < _KINDS:
        kinds.append(int(rest[0]))
        rest = rest[vectors[rest] @ vectors[rest[0]] < REPEATED]
        rest = rest[rest != kinds[-1]]
    return vectors[kinds]


def random_pairs(count: int, limit: int, generator: np.random.Generator) -> Ints:
    """Different pairs (a, b), a > b, of `count` documents, ascending: all pairs, or `limit` drawn at random."""
    total = count * (count - 1) // 2
    numbers = np.arange(total)
    if total > limit:
        numbers = np.sort(generator.choice(total, limit, replace=False, shuffle=False))
    # Pair number a (a - 1) / 2 + b; the root may be off by one where it is nearly whole.
    first = ((1 + np.sqrt(1 + 8.0 * numbers)) // 2).astype(np.int64)
    first -= first * (first - 1) // 2 > numbers
    first += (first + 1) * first // 2 <= numbers
    pairs: Ints = np.stack([first, numbers - first * (first - 1) // 2], axis=1)
    return pairs


def pair_table(documents: Sequence[FieldDocument], pairs: Ints, score_weights: ScoreWeights) -> Floats:
    """The parts of the scores of pairs, [P, 7] in the order of `PARTS`.

    They are those of `scoring.score`, several times faster: what the pairs of a document share is done once.

    Args:
        pairs: int [P, 2], numbers of documents; pairs of one first document stand together.
    """
    # In float64: sums of float32 differ in the last digits with the place of an array in memory.
    own = np.zeros((len(documents), 1))
    if score_weights.reads_own:
        own = own_vectors(documents).astype(np.float64)
    subjects = np.stack([subject_of(item) for item in documents]).astype(np.float64)
    terms, openings = [item.terms for item in documents], [item.opening for item in documents]
    a, b = pairs.T
    saturation = score_weights.saturation
    mentions = np.zeros(len(pairs))  # what the documents hold of each other's opening; 0 where one has no words
    for row, (i, j) in enumerate(pairs.tolist()):
        one, other, first, second = openings[i], openings[j], terms[i], terms[j]
        if one is not None and other is not None and first is not None and second is not None:
            mentions[row] = (mention(one, second) + mention(other, first)) / 2
    both = ((terms[i], terms[j]) for i, j in pairs.tolist())
    wordings = [0.0 if first is None or second is None else agreement(first, second) for first, second in both]
    columns = {
        "colde": np.einsum("pd,pd->p", own[a], own[b]),
        "mean": np.einsum("pd,pd->p", subjects[a], subjects[b]),
        "chunks": [counterparts(documents[i], documents[j], score_weights.sharpness) for i, j in pairs],
        "words": saturated(_overlaps(terms, pairs), saturation),
        "mentions": saturated(mentions, saturation),
        "opening": saturated(_overlaps(openings, pairs), saturation),
        "wording": wordings,
    }
    return np.stack([np.asarray(columns[part], np.float64) for part in PARTS], axis=1)


def _overlaps(terms: Sequence[Terms | None], pairs: Ints) -> Floats:
    """Overlaps of the weighted words of pairs, [P]; 0 where a document has none."""
    weights = np.zeros(2 * BUCKETS, np.float32)
    overlaps, spread_out = np.zeros(len(pairs)), None
    for row, (a, b) in enumerate(pairs.tolist()):
        first, second = terms[a], terms[b]
        if first is None or second is None:
            continue
        if spread_out is not first:
            if spread_out is not None:
                weights[spread_out.buckets] = 0
            weights[first.buckets] = first.weights
            spread_out = first
        overlaps[row] = min(1.0, float(weights[second.buckets] @ second.weights))
    return overlaps
