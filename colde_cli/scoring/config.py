"""What a score needs of a document and of a model.

`config.json` of a model states the parts of a score with their weights, and the curve that makes it a probability.

Calibration follows Platt (1999) and, for isotonic regression, Zadrozny & Elkan (2002).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.scoring.lexicon import Terms

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted map from score to probability.

    Attributes:
        kind: "platt" is ceiling · sigmoid(slope · score + intercept); "isotonic" is linear between knots.
        scores: knots of the isotonic map, ascending.
        ceiling: the probability of pairs that are as alike as can be. It is below 1 where a relation is more than
            likeness: not every two contracts of one type are related.
    """

    kind: Literal["platt", "isotonic"] = "platt"
    slope: float = 1.0
    intercept: float = 0.0
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()
    # Not shown: the fingerprint in saved profiles is made of what is shown, and must stay.
    ceiling: float = field(default=1.0, repr=False)


def probability(scores: ArrayLike, calibration: Calibration) -> NDArray[np.float64]:
    """Probability that two documents are related, for scores of any shape; beyond the outer knots it is constant."""
    values = np.asarray(scores, dtype=np.float64)
    if calibration.kind == "isotonic":
        return np.asarray(np.interp(values, calibration.scores, calibration.probabilities))
    logits = calibration.slope * values + calibration.intercept
    # The sigmoid as a tanh: the same function, and no overflow on either side.
    return np.asarray(calibration.ceiling * (0.5 * (1.0 + np.tanh(0.5 * logits))))


def calibration_of(values: dict[str, Any]) -> Calibration:
    """Read a calibration from the values of `config.json`."""
    read: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Calibration(**read)


def is_sound(calibration: Calibration) -> bool:
    """Whether a calibration gives a probability for every score, and no lower one for a higher score.

    Raises:
        TypeError, ValueError: a value is no number.
    """
    knots = [np.asarray(values, np.float64) for values in (calibration.scores, calibration.probabilities)]
    numbers = (calibration.slope, calibration.intercept, calibration.ceiling)
    finite = np.isfinite(np.concatenate([np.asarray(numbers, np.float64), *knots])).all()
    if calibration.kind != "isotonic":
        return bool(finite and calibration.kind == "platt" and 0 <= calibration.ceiling <= 1)
    scores, values = knots
    rises = len(scores) == len(values) > 0 and (np.diff(scores) >= 0).all() and (np.diff(values) >= 0).all()
    return bool(finite and rises and values[0] >= 0 and values[-1] <= 1)


PARTS = ("colde", "mean", "chunks", "words", "mentions", "opening", "wording")
"""The parts of a document score, each in [-1, 1] and 1 for a document and itself:

- "colde": the cosine of the document vectors: CoLDE's own score (§3.3) if the model has no residual;
- "mean": the cosine of the subject vectors: weighted means of the centred unit chunk vectors;
- "chunks": how well the chunks of each document find a counterpart in the other;
- "words": the rare words, and pairs of neighbouring words, that both documents hold;
- "mentions": the words of each document's opening that stand anywhere in the other;
- "opening": the words that both openings hold;
- "wording": the share of all words, and pairs of neighbouring words, that both documents hold: how much is the same.
"""
PART_NAMES = {
    "colde": "meaning",
    "mean": "subject",
    "chunks": "closest chunks",
    "words": "rare words",
    "mentions": "topic words",
    "opening": "opening",
    "wording": "same wording",
}
"""What the parts are called for people: in every view, and in JSON beside their names."""


IN_FIELD = (0.0, 0.25, 0.25, 0.25, 0.25, 0.0, 0.0)
"""Equal shares of mean, chunks, words and mentions. Chosen on the validation pairs of seven fields, each as if it were
unknown. Mean ROC-AUC of six (without contracts, where related means of one type): these 0.930, with the opening 0.928,
without the mentions 0.928, words and chunks 0.927, chunks alone 0.922, shares fitted to the other fields
0.929 (of five parts) and 0.930 (of these four)."""


@dataclass(frozen=True, slots=True)
class Domain:
    """How documents of one domain, such as patents or contracts, are scored; or short texts.

    Attributes:
        name: the training file of the domain, without suffix.
        threshold: document score at which the verdict flips.
        colde: weight of this part, as in `ScoreWeights`; likewise the next six.
    """

    name: str
    threshold: float
    calibration: Calibration
    colde: float = 0.0
    mean: float = 0.0
    chunks: float = 0.0
    words: float = 0.0
    mentions: float = 0.0
    opening: float = 0.0
    wording: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """The weights of the parts, and the constants that the parts need. A document score is the weighted mean.

    Attributes:
        colde: weight of this part (see `PARTS`), at least 0; the seven weights sum to 1. Likewise the next six.
        sharpness: t of the soft maximum over chunks: near 0 the best chunk decides, far above it the mean of all.
        saturation: overlap of words that is scored as one half.
        rarity: power of the inverse document frequency.
        opening_words: number of words that the opening of a document has.
        domains: domains with weights of their own; the seven weights above are for documents of no known domain.
        short: how two short texts are scored, of whatever domain; None for as long ones. See `domains.shortness`.
        in_field: weights of the parts, in the order of `PARTS`, for documents of no known domain within a field; there
            each part is first divided by its spread over random pairs of the field. See `IN_FIELD`.
    """

    colde: float = 1.0
    mean: float = 0.0
    chunks: float = 0.0
    words: float = 0.0
    mentions: float = 0.0
    opening: float = 0.0
    wording: float = 0.0
    sharpness: float = 0.06
    saturation: float = 0.03
    rarity: float = 4.0
    opening_words: int = 100
    domains: tuple[Domain, ...] = ()
    short: Domain | None = None
    in_field: tuple[float, ...] = IN_FIELD

    @property
    def of_long_texts(self) -> ScoreWeights:
        """The weights without those of short texts, for rankings in which short and long texts stand together.

        The weights of short texts give lower scores to pairs that are equally close: long texts would come first.
        """
        return replace(self, short=None)

    @property
    def kinds(self) -> tuple[Domain, ...]:
        """The K domains, and short texts after them if they have weights of their own."""
        return self.domains if self.short is None else (*self.domains, self.short)

    @property
    def by_kind(self) -> NDArray[np.float64]:
        """The weights of the parts for "other" and for each of `kinds`, [1 + K, 7], or [2 + K, 7] with short texts."""
        rows = [[getattr(row, name) for name in PARTS] for row in (self, *self.kinds)]
        return np.array(rows, np.float64)

    def with_verdict(self, threshold: float, calibration: Calibration) -> ScoreWeights:
        """The same weights, with this threshold and calibration for every kind of text."""
        domains = [replace(domain, threshold=threshold, calibration=calibration) for domain in self.domains]
        short = self.short and replace(self.short, threshold=threshold, calibration=calibration)
        return replace(self, domains=tuple(domains), short=short)

    @property
    def reads_words(self) -> bool:
        """Whether the score needs a lexicon."""
        first = PARTS.index("words")
        return bool((self.by_kind[:, first:] > 0).any())

    @property
    def reads_own(self) -> bool:
        """Whether the score needs the model's own vectors."""
        own = PARTS.index("colde")
        return bool((self.by_kind[:, own] > 0).any() or self.in_field[own] > 0)


def score_weights_of(values: dict[str, Any]) -> ScoreWeights:
    """Read score weights from the values of `config.json`."""
    short, in_field = values.get("short"), tuple(values.get("in_field") or IN_FIELD)
    read = {"domains": tuple(map(_domain_of, values.get("domains") or ())), "in_field": in_field}
    return ScoreWeights(**{**values, **read, "short": None if short is None else _domain_of(short)})


def _domain_of(values: dict[str, Any]) -> Domain:
    return Domain(**{**values, "calibration": calibration_of(values["calibration"])})


def scores_own(config: ScoringConfig) -> bool:
    """Whether a model's own vectors have a weight in its scores; only then are they made and kept with a document."""
    return config.score_weights is None or config.score_weights.reads_own


class Scorable(Protocol):
    """What a score needs of a document: an `Encoding`, or the shorter `Card` that a corpus keeps."""

    @property
    def document_vector(self) -> FloatArray | None:
        """[D], unit length; None where a cache or an index keeps none."""

    @property
    def chunk_vectors(self) -> FloatArray:
        """[n, H], as the chunk encoder gives them."""

    @property
    def centred_unit_vectors(self) -> FloatArray:
        """[n, H], centred chunk vectors of unit length."""

    @property
    def shares(self) -> FloatArray:
        """[n], the share of each chunk in the document's tokens."""

    @property
    def terms(self) -> Terms | None:
        """The weighted words; None for a model without a lexicon."""

    @property
    def opening(self) -> Terms | None:
        """The weighted words of the opening; None for a model without a lexicon."""

    @property
    def domains(self) -> FloatArray:
        """[1 + K], the shares of "other" and of each domain."""


class ScoringConfig(Protocol):
    """What a model states about its scores: `ModelConfig` or `SystemConfig`."""

    @property
    def threshold(self) -> float | None:
        """Document score at which the verdict flips."""

    @property
    def calibration(self) -> Calibration | None:
        """Of the document score."""

    @property
    def score_weights(self) -> ScoreWeights | None:
        """Weights of the parts; None for the cosine of the document vectors alone."""
