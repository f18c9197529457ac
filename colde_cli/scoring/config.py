"""What `config.json` states of a score: its parts with their weights, and the curve that makes it a probability.

Calibration follows Platt (1999) and, for isotonic regression, Zadrozny & Elkan (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted map from score to probability.

    Attributes:
        kind: "platt" is sigmoid(slope · score + intercept); "isotonic" is linear between knots.
        scores: knots of the isotonic map, ascending.
        probabilities: the value at each knot.
    """

    kind: Literal["platt", "isotonic"] = "platt"
    slope: float = 1.0
    intercept: float = 0.0
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()


def probability(scores: ArrayLike, calibration: Calibration) -> NDArray[np.float64]:
    """Probability that two documents are related, for scores of any shape; beyond the outer knots it is constant."""
    values = np.asarray(scores, dtype=np.float64)
    if calibration.kind == "isotonic":
        return np.asarray(np.interp(values, calibration.scores, calibration.probabilities))
    logits = calibration.slope * values + calibration.intercept
    # The sigmoid as a tanh: the same function, and no overflow on either side.
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))


def calibration_of(values: dict[str, Any]) -> Calibration:
    """Read a calibration from the values of `config.json`."""
    read: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Calibration(**read)


PARTS = ("document", "chunks", "words", "opening")
"""The parts of a document score, each in [-1, 1] and 1 for a document and itself:

- "document": the cosine of the document vectors: CoLDE's own score (§3.3) if the model has no residual;
- "chunks": how well the chunks of each document find a counterpart in the other;
- "words": the rare words, and pairs of neighbouring words, that both documents hold;
- "opening": the same for the first words of each.
"""

FIELD_PARTS = (*PARTS, "mean")
"""The parts of a document score within a field; "mean" is the cosine of the mean chunk vectors."""


@dataclass(frozen=True, slots=True)
class Domain:
    """How documents of one domain, such as patents or contracts, are scored.

    Attributes:
        name: the training file of the domain, without suffix.
        document: weight of this part, as in `ScoreWeights`; likewise the next three.
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
    """The weights of the parts, and the constants that the parts need. A document score is the weighted mean.

    Attributes:
        document: weight of this part (see `PARTS`), at least 0; the four weights sum to 1. Likewise the next three.
        sharpness: t of the soft maximum over chunks: near 0 the best chunk decides, far above it the mean of all.
        saturation: overlap of words that is scored as one half.
        rarity: power of the inverse document frequency.
        opening_words: number of words that the opening of a document has.
        domains: domains with weights of their own; the four weights above are for documents of no known domain.
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
        """Whether the score needs a lexicon."""
        in_domains = any(domain.words + domain.opening > 0 for domain in self.domains)
        return self.words + self.opening > 0 or in_domains


def score_weights_of(values: dict[str, Any]) -> ScoreWeights:
    """Read score weights from the values of `config.json`."""
    domains = [
        Domain(**{**domain, "calibration": calibration_of(domain["calibration"])})
        for domain in values.get("domains") or ()
    ]
    return ScoreWeights(**{**values, "domains": tuple(domains)})
