"""The parts of a document score and their weights, as a model states them in `config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colde_cli.scoring.calibration import Calibration, calibration_of


@dataclass(frozen=True, slots=True)
class Domain:
    """How documents of one kind of text are scored (see `encoder.domains`).

    Attributes:
        name: of the training file.
        document: share of the part, as in `ScoreWeights`; so the next three.
        chunks: see there.
        words: see there.
        opening: see there.
        threshold: document score at which the verdict flips.
        calibration: of the document score.
    """

    name: str
    document: float
    chunks: float
    words: float
    opening: float
    threshold: float
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """Of what a document score is made, in which shares; they are at least 0 and sum to 1.

    Every part is in [-1, 1] and 1 for two documents that are the same, and so is their weighted mean.

    Attributes:
        document: of the cosine of the document vectors, CoLDE's own score.
        chunks: of how well the chunks of each find a counterpart in the other.
        words: of the rare words, and pairs of words, that both hold.
        opening: of those of their first words.
        sharpness: t of the soft maximum over chunks: near 0 the best chunk decides, far above it their mean.
        saturation: overlap of words at which half of what words can say is said.
        rarity: power of the inverse document frequency.
        opening_words: words of an opening.
        domains: domains of text with shares of their own; those above are for documents of none of them.
    """

    document: float = 1.0
    chunks: float = 0.0
    words: float = 0.0
    opening: float = 0.0
    sharpness: float = 0.06
    saturation: float = 0.03
    rarity: float = 4.0
    opening_words: int = 100
    domains: tuple[Domain, ...] = ()

    @property
    def reads_words(self) -> bool:
        """Whether a lexicon is needed."""
        return self.words + self.opening > 0 or any(kind.words + kind.opening > 0 for kind in self.domains)


PARTS = ("document", "chunks", "words", "opening")
"""Of which a document score can be made."""


def score_weights_of(values: dict[str, Any]) -> ScoreWeights:
    """Score weights as `config.json` holds them."""
    domains = [
        Domain(**{**kind, "calibration": calibration_of(kind["calibration"])})
        for kind in values.get("domains") or ()
    ]
    return ScoreWeights(**{**values, "domains": tuple(domains)})
