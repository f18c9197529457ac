"""Documents of random vectors and words, and a model for them: for tests of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from colde_cli.encoder.layout import ModelConfig
from colde_cli.scoring.config import Calibration, Domain, ScoreWeights
from colde_cli.scoring.lexicon import BUCKETS, Lexicon, Terms
from colde_cli.scoring.profile import DomainFields, FieldProfile, ModelStatistics
from colde_cli.scoring.profile_learning import learn_profile

SIZE = 6
LAWS = Domain("laws", 0.6, Calibration(), colde=0.3, mean=0.1, chunks=0.2, words=0.1, mentions=0.1, opening=0.2)
WEIGHTS = ScoreWeights(0.1, 0.1, 0.2, 0.3, 0.2, 0.1, domains=(LAWS,))
CONFIG = ModelConfig({}, "", score_weights=WEIGHTS, threshold=0.4, calibration=Calibration())
CENTRE = np.linspace(-1, 1, SIZE, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class MadeUp:
    """A document of random vectors and words."""

    document_vector: np.ndarray
    chunk_vectors: np.ndarray
    centred_unit_vectors: np.ndarray
    shares: np.ndarray
    domains: np.ndarray
    terms: Terms | None
    opening: Terms | None


def unit(vectors: np.ndarray) -> np.ndarray:
    found: np.ndarray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return found.astype(np.float32)


def terms(generator: np.random.Generator) -> Terms:
    buckets = np.flatnonzero(generator.random(30) < 0.4).astype(np.int32)
    weights = generator.random(len(buckets)) + 0.1
    return Terms(buckets, (weights / (np.linalg.norm(weights) or 1)).astype(np.float32))


def opening_of(words: Terms) -> Terms:
    """A text's first words, which stand in the text: every other one of them."""
    weights = words.weights[::2]
    return Terms(words.buckets[::2], weights / np.float32(np.linalg.norm(weights) or 1))


def made(seed: int, law: float = 0.0) -> MadeUp:
    generator = np.random.default_rng(seed)
    words = terms(generator)
    vectors = (generator.normal(size=(1 + seed % 4, SIZE)) + 3).astype(np.float32)
    shares = generator.random(len(vectors)) + 0.1
    return MadeUp(
        unit(generator.normal(size=SIZE)),
        vectors,
        unit(vectors - CENTRE),
        (shares / shares.sum()).astype(np.float32),
        np.array([1 - law, law], np.float32),
        words,
        opening_of(words),
    )


def lexicon() -> Lexicon:
    frequencies = np.zeros(2 * BUCKETS, np.uint16)
    frequencies[:30] = np.arange(30)
    return Lexicon(frequencies, 100, np.zeros(8, bool), 4.0)


def statistics(fingerprint: str = "model") -> ModelStatistics:
    return ModelStatistics(CENTRE, lexicon(), fingerprint)


def domain_fields() -> DomainFields:
    return DomainFields.learn([[made(seed).chunk_vectors for seed in range(30)]])


def learned(documents: int = 20) -> FieldProfile:
    return learn_profile("field", [made(seed) for seed in range(documents)], statistics(), WEIGHTS)
