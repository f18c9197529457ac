"""What can be measured: anything that scores pairs of documents. Models of colde are one kind, controls another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.protocol import DocumentEncoder, Encoding
from colde_cli.evaluation.evaluation_set import EvaluationSet
from colde_cli.scoring.calibration import Calibration
from colde_cli.scoring.score import document_scores, verdict

FloatArray = NDArray[np.float64]
IdPairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Verdicts and probabilities as they are stored with a system and shown to its users.

    Attributes:
        called: bool [P], which pairs it calls related.
        chances: [P], probabilities that they are; None where no calibration is stored.
    """

    called: NDArray[np.bool_]
    chances: FloatArray | None


def joined(parts: Sequence[Stored]) -> Stored:
    """What is said of the pairs of several fields, one after another."""
    chances = [part.chances for part in parts if part.chances is not None]
    return Stored(
        np.concatenate([part.called for part in parts]),
        np.concatenate(chances) if len(chances) == len(parts) else None,
    )


class Scorer(Protocol):
    """A system made ready for the documents of one field."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures must know, in whole sentences."""

    def scores(self, pairs: IdPairs) -> FloatArray:
        """Scores [P] of pairs of ids; higher is more alike, and (a, b) scores as (b, a)."""

    def stored(self, pairs: IdPairs) -> Stored | None:
        """What the system itself says of pairs; None where nothing is stored with it."""


class System(Protocol):
    """Something that scores pairs of documents."""

    @property
    def name(self) -> str:
        """As the tables show it, unique in a run."""

    @property
    def threshold(self) -> float | None:
        """The score, stored with it, from which a pair counts as related; None where nothing is stored."""

    @property
    def calibration(self) -> Calibration | None:
        """Score to probability, stored with it; None where nothing is stored."""

    def open(self, field: EvaluationSet) -> Scorer:
        """Make ready to score the documents of `field`; every piece of work that can be shared is done here."""


@dataclass(frozen=True, slots=True, eq=False)
class PairScorer:
    """A scorer made of a function.

    Attributes:
        of: scores [P] of pairs of ids.
        notes: see `Scorer`.
        stored_of: what the system itself says of pairs of ids; None where nothing is stored.
    """

    of: Callable[[IdPairs], FloatArray]
    notes: tuple[str, ...] = ()
    stored_of: Callable[[IdPairs], Stored] | None = None

    def scores(self, pairs: IdPairs) -> FloatArray:
        """See `Scorer`."""
        return self.of(pairs)

    def stored(self, pairs: IdPairs) -> Stored | None:
        """See `Scorer`."""
        return None if self.stored_of is None else self.stored_of(pairs)


class ModelSystem:
    """A model of any system: every document is encoded once per field, whoever asks."""

    def __init__(
        self,
        name: str,
        encoder: DocumentEncoder,
        *,
        retrieval: bool,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Measure `encoder` under this name.

        Args:
            name: see `System`.
            encoder: of the model.
            retrieval: whether the documents to search through are encoded as well.
            progress: told of every number of chunks encoded.
        """
        self.name = name
        self.encoder = encoder
        self.threshold = encoder.config.threshold
        self.calibration = encoder.config.calibration
        self._retrieval = retrieval
        self._progress = progress
        self._known: dict[str, dict[str, Encoding]] = {}

    def encodings(self, field: EvaluationSet) -> dict[str, Encoding]:
        """The documents of a field that take part, encoded when they are first asked for."""
        if field.name not in self._known:
            ids = field.used(retrieval=self._retrieval)
            found = self.encoder.encode_many([field.documents[name] for name in ids], self._progress)
            self._known[field.name] = dict(zip(ids, found, strict=True))
        return self._known[field.name]

    def open(self, field: EvaluationSet) -> PairScorer:
        """See `System`."""
        known = self.encodings(field)

        def score(pairs: IdPairs) -> FloatArray:
            return document_scores([known[a] for a, _ in pairs], [known[b] for _, b in pairs], self.encoder)

        def stored(pairs: IdPairs) -> Stored:
            said = [verdict(known[a], known[b], self.encoder) for a, b in pairs]
            called = [item.threshold is not None and item.score >= item.threshold for item in said]
            chances = [item.probability for item in said if item.probability is not None]
            return Stored(np.array(called, bool), np.array(chances) if len(chances) == len(said) else None)

        return PairScorer(score, stored_of=None if self.threshold is None else stored)
