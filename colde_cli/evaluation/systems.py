"""Systems to measure: anything that scores pairs of documents. Models are one kind, baselines the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.fields import learn_field, open_field
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.evaluation.evaluation_set import EvaluationSet
from colde_cli.scoring.calibration import Calibration
from colde_cli.scoring.profile import Field
from colde_cli.scoring.score import document_scores, verdict

FloatArray = NDArray[np.float64]
IdPairs = Sequence[tuple[str, str]]


DOCS = "docs"
"""The field that the documents of an evaluation set are: those that are encoded for its pairs and its gallery."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredVerdicts:
    """Verdicts and probabilities by the threshold and calibration stored with a system, as its users see them.

    Attributes:
        called: bool [P], the pairs that it calls related.
        probabilities: [P], that they are related; None without a stored calibration.
    """

    called: NDArray[np.bool_]
    probabilities: FloatArray | None


def joined_verdicts(parts: Sequence[StoredVerdicts]) -> StoredVerdicts:
    """Concatenate the verdicts of several evaluation sets."""
    probabilities = [part.probabilities for part in parts if part.probabilities is not None]
    return StoredVerdicts(
        np.concatenate([part.called for part in parts]),
        np.concatenate(probabilities) if len(probabilities) == len(parts) else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PairScorer:
    """A system made ready for the documents of one evaluation set.

    Attributes:
        scores: pairs of ids to scores [P]; higher is more alike, and (a, b) scores as (b, a).
        notes: whole sentences that a reader of the figures must know.
        stored: pairs of ids to the system's own verdicts; None if no threshold is stored with it.
    """

    scores: Callable[[IdPairs], FloatArray]
    notes: tuple[str, ...] = ()
    stored: Callable[[IdPairs], StoredVerdicts] | None = None


class ScoringSystem(Protocol):
    """A system that scores pairs of documents."""

    @property
    def name(self) -> str:
        """Name in the tables, unique in a run."""

    @property
    def threshold(self) -> float | None:
        """The stored score from which a pair counts as related; None without one."""

    @property
    def calibration(self) -> Calibration | None:
        """The stored map from score to probability; None without one."""

    def open(self, evaluation_set: EvaluationSet) -> PairScorer:
        """Make ready to score the documents of a set; all work that its pairs share is done here."""


class ModelSystem:
    """A model: it encodes every document of an evaluation set once."""

    def __init__(
        self,
        name: str,
        encoder: DocumentEncoder,
        *,
        retrieval: bool,
        field: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Measure `encoder` under this name.

        Args:
            name: see `ScoringSystem`.
            encoder: of the model.
            retrieval: encode the documents of the gallery, too.
            field: score within this field: `DOCS` is that of each set's documents, another value is the name or
                folder of a profile. The threshold and calibration of the model then do not apply.
            progress: called with every number of chunks encoded.
        """
        self.name = name
        self.encoder = encoder
        self.threshold = encoder.config.threshold if field is None else None
        self.calibration = encoder.config.calibration if field is None else None
        self._field = field
        self._fields: dict[str, Field] = {}
        self._retrieval = retrieval
        self._progress = progress
        self._encodings: dict[str, dict[str, Encoding]] = {}

    def encodings(self, evaluation_set: EvaluationSet) -> dict[str, Encoding]:
        """The documents of a set by id, encoded on the first call."""
        if evaluation_set.name not in self._encodings:
            ids = evaluation_set.used(retrieval=self._retrieval)
            documents = [evaluation_set.documents[name] for name in ids]
            encoded = self.encoder.encode_many(documents, self._progress)
            self._encodings[evaluation_set.name] = dict(zip(ids, encoded, strict=True))
        return self._encodings[evaluation_set.name]

    def field(self, evaluation_set: EvaluationSet) -> Field | None:
        """The field in which the documents of a set are scored; None for no field."""
        if self._field is None:
            return None
        if evaluation_set.name not in self._fields:
            if self._field == DOCS:
                documents = list(self.encodings(evaluation_set).values())
                opened = learn_field(evaluation_set.name, documents, self.encoder)
            else:
                opened = open_field(self._field, self.encoder)
            self._fields[evaluation_set.name] = opened
        return self._fields[evaluation_set.name]

    def open(self, evaluation_set: EvaluationSet) -> PairScorer:
        """See `ScoringSystem`."""
        encodings, field = self.encodings(evaluation_set), self.field(evaluation_set)
        if field is not None:
            return _within(field, encodings, self.encoder)

        def scores(pairs: IdPairs) -> FloatArray:
            left, right = [encodings[a] for a, _ in pairs], [encodings[b] for _, b in pairs]
            return document_scores(left, right, self.encoder.config)

        def stored(pairs: IdPairs) -> StoredVerdicts:
            verdicts = [verdict(encodings[a], encodings[b], self.encoder.config) for a, b in pairs]
            called = [item.threshold is not None and item.score >= item.threshold for item in verdicts]
            known = [item.probability for item in verdicts if item.probability is not None]
            probabilities = np.array(known) if len(known) == len(verdicts) else None
            return StoredVerdicts(np.array(called, bool), probabilities)

        return PairScorer(scores, stored=None if self.threshold is None else stored)


def _within(field: Field, encodings: dict[str, Encoding], encoder: DocumentEncoder) -> PairScorer:
    """Score documents within a field."""
    adapted = {name: field.adapt(encoding) for name, encoding in encodings.items()}

    def scores(pairs: IdPairs) -> FloatArray:
        left, right = [adapted[a] for a, _ in pairs], [adapted[b] for _, b in pairs]
        return document_scores(left, right, encoder.config, field)

    return PairScorer(scores, (f"{field_note(field)} No label was used.",))


def field_note(field: Field) -> str:
    """A sentence that names the field."""
    info = field.profile.info
    return f"Scored within the field {info.name}, learned from {info.documents:,} documents."
