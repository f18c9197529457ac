"""Systems to measure: anything that scores pairs of documents. Models are one kind, baselines the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.encoding import DocumentEncoder, EncoderConfig, Encoding
from colde_cli.encoder.loading import learn_field, open_field
from colde_cli.errors import DataError, OptionError
from colde_cli.evaluation.data import EvaluationSet, members
from colde_cli.scoring.config import PARTS, Calibration, Scorable
from colde_cli.scoring.profile import DomainFields, Field, FieldCalibration, FieldDocument
from colde_cli.scoring.score import document_scores, score_parts, score_without, verdict

FloatArray = NDArray[np.float64]
IdPairs = Sequence[tuple[str, str]]


DOCS = "docs"
"""The name of the field that is learned from the documents encoded for an evaluation set's pairs and gallery."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredVerdicts:
    """Verdicts and probabilities by the threshold and calibration stored with a system, as its users see them."""

    called: NDArray[np.bool_]  # bool [P], the pairs that it calls related
    probabilities: FloatArray | None  # [P], that they are related; None without a stored calibration


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
        share: pairs of ids to the mean weight of the part of a score that this is; None for no part.
    """

    scores: Callable[[IdPairs], FloatArray]
    notes: tuple[str, ...] = ()
    stored: Callable[[IdPairs], StoredVerdicts] | None = None
    share: Callable[[IdPairs], float] | None = None


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
            field: score within this field: `DOCS` is that of each set's documents, another value is the name or
                folder of a profile. Threshold and calibration are then those of the profile, if it has any.

        Raises:
            ModelError: there is no such profile, it is damaged, or another model made it.
            OptionError: the model can have no profiles.
        """
        self.name = name
        self.encoder = encoder
        self._in_documents = field == DOCS
        self._field = open_field(field, encoder) if field is not None and not self._in_documents else None
        fitted: EncoderConfig | FieldCalibration | None = encoder.config
        if field is not None:
            fitted = None if self._field is None else self._field.profile.calibrated
        self.threshold = None if fitted is None else fitted.threshold
        self.calibration = None if fitted is None else fitted.calibration
        self._retrieval = retrieval
        self._progress = progress
        # By the name of the set.
        self._encodings: dict[str, dict[str, Encoding]] = {}
        self._fields: dict[str, Field] = {}
        self._adapted: dict[str, dict[str, FieldDocument]] = {}
        self._parts: dict[str, dict[tuple[str, str], FloatArray]] = {}

    def encodings(self, evaluation_set: EvaluationSet) -> dict[str, Encoding]:
        """The documents of a set by id, encoded on the first call."""
        name = evaluation_set.name
        if name not in self._encodings:
            ids = evaluation_set.used(retrieval=self._retrieval)
            encoded = self.encoder.encode_many([evaluation_set.documents[one] for one in ids], self._progress)
            self._encodings[name] = dict(zip(ids, encoded, strict=True))
        return self._encodings[name]

    def field(self, evaluation_set: EvaluationSet) -> Field | None:
        """The field in which the documents of a set are scored; None for no field."""
        name = evaluation_set.name
        if self._in_documents and name not in self._fields:
            documents = list(self.encodings(evaluation_set).values())
            self._fields[name] = learn_field(name, documents, self.encoder)
        return self._fields[name] if self._in_documents else self._field

    def documents(self, evaluation_set: EvaluationSet) -> tuple[Mapping[str, Scorable], Field | DomainFields | None]:
        """The documents of a set by id, adapted to their field if there is one, and the statistics to score with."""
        field = self.field(evaluation_set)
        if field is None:
            return self.encodings(evaluation_set), self.encoder.domain_fields
        return self.adapted(evaluation_set, field), field

    def adapted(self, evaluation_set: EvaluationSet, field: Field) -> dict[str, FieldDocument]:
        """The documents of a set by id, adapted to the field of the set on the first call."""
        name = evaluation_set.name
        if name not in self._adapted:
            encodings = self.encodings(evaluation_set)
            self._adapted[name] = {one: field.adapt(item) for one, item in encodings.items()}
        return self._adapted[name]

    def parts(self, evaluation_set: EvaluationSet, pairs: IdPairs) -> tuple[FloatArray, FloatArray]:
        """The parts of the scores of pairs and their weights, [P, 7] each, in the order of `PARTS`."""
        known = self._parts.setdefault(evaluation_set.name, {})
        if missing := [pair for pair in pairs if pair not in known]:
            documents, statistics = self.documents(evaluation_set)
            for a, b in missing:
                parts = score_parts(documents[a], documents[b], self.encoder.config, statistics, unweighted=True)
                known[a, b] = np.array([(part.score, part.weight) for part in parts])
        both = np.array([known[pair] for pair in pairs]).reshape(-1, len(PARTS), 2)
        return both[..., 0], both[..., 1]

    def open(self, evaluation_set: EvaluationSet) -> PairScorer:
        """See `ScoringSystem`."""
        documents, statistics = self.documents(evaluation_set)
        field, config = self.field(evaluation_set), self.encoder.config

        def scores(pairs: IdPairs) -> FloatArray:
            left, right = [documents[a] for a, _ in pairs], [documents[b] for _, b in pairs]
            return document_scores(left, right, config, statistics)

        def stored(pairs: IdPairs) -> StoredVerdicts:
            verdicts = [verdict(documents[a], documents[b], config, statistics) for a, b in pairs]
            called = [item.threshold is not None and item.score >= item.threshold for item in verdicts]
            known = [item.probability for item in verdicts if item.probability is not None]
            probabilities = np.array(known) if len(known) == len(verdicts) else None
            return StoredVerdicts(np.array(called, bool), probabilities)

        notes: tuple[str, ...] = ()
        if field is not None:
            labels, fitted = "No label was used.", field.profile.calibrated
            if fitted is not None:
                labels = f"Its threshold and probabilities were fitted to {fitted.pairs:,} labelled pairs."
            notes = (f"{field_note(field)} {labels}",)
        return PairScorer(scores, notes, None if self.threshold is None else stored)


def field_note(field: Field) -> str:
    """A sentence that names the field."""
    info = field.profile.info
    return f"Scored within the field {info.name}, learned from {info.documents:,} documents."


class PartSystem:
    """One part of a model's score alone, or the score without it: the weights of the others are raised to sum 1."""

    threshold: float | None = None
    calibration: Calibration | None = None

    def __init__(self, model: ModelSystem, part: str, *, alone: bool) -> None:
        self.name = f"{model.name}: {f'{part} alone' if alone else f'without {part}'}"
        self._model, self._column, self._alone = model, PARTS.index(part), alone

    def open(self, evaluation_set: EvaluationSet) -> PairScorer:
        """See `ScoringSystem`."""

        def scores(pairs: IdPairs) -> FloatArray:
            values, weights = self._model.parts(evaluation_set, pairs)
            if self._alone:
                return values[:, self._column]
            return score_without(values, weights, self._column)

        def share(pairs: IdPairs) -> float:
            return float(self._model.parts(evaluation_set, pairs)[1][:, self._column].mean())

        return PairScorer(scores, share=share)


def part_systems(model: ModelSystem) -> list[ScoringSystem]:
    """Each part of a model's score alone, and the score without each that has a weight.

    Raises:
        OptionError: its score has one part only.
    """
    score_weights = model.encoder.config.score_weights
    if score_weights is None or not score_weights.reads_words:
        raise OptionError(f"The score of {model.name} has one part only; leave out --baseline parts.")
    alone: list[ScoringSystem] = [PartSystem(model, part, alone=True) for part in PARTS]
    weighted = (score_weights.by_kind.sum(0) + np.array(score_weights.in_field)) > 0
    return [*alone, *(PartSystem(model, part, alone=False) for part, has in zip(PARTS, weighted, strict=True) if has)]


BASELINES = {"tfidf": "TF-IDF", "bm25": "BM25", "mean": "mean", "centred-mean": "centred mean", "max-mean": "max-mean"}
"""Names on the command line to names in tables."""

CHUNK_BASELINES = frozenset(("mean", "centred-mean", "max-mean"))
"""The baselines that need chunk vectors."""

ChunkVectors = Mapping[str, Encoding | FieldDocument]
"""Documents by id."""

_K1, _B = 1.2, 0.75
_FEW = 10
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Baseline:
    """A system without stored threshold or calibration: both come from validation pairs, or there are none."""

    name: str
    open: Callable[[EvaluationSet], PairScorer]
    threshold: float | None = None
    calibration: Calibration | None = None


def make_baselines(names: Iterable[str], model: ModelSystem) -> list[ScoringSystem]:
    """Make the baselines of these names; `model` gives the chunk vectors that some of them need.

    Raises:
        KeyError: not one of `BASELINES`.
    """
    makers: dict[str, Callable[[EvaluationSet], PairScorer]] = {
        "tfidf": tfidf,
        "bm25": bm25,
        "mean": lambda evaluation_set: mean_of_chunks(*_chunks(model, evaluation_set)),
        "centred-mean": lambda evaluation_set: centred_mean(evaluation_set, model.encodings(evaluation_set)),
        "max-mean": lambda evaluation_set: max_mean(*_chunks(model, evaluation_set)),
    }
    return [Baseline(BASELINES[name], makers[name]) for name in names]


def tfidf(evaluation_set: EvaluationSet) -> PairScorer:
    """Score by the cosine of TF-IDF vectors: 1 + log tf, no English stop words, words in two documents or more.

    Among fewer than ten documents a word of one counts, too.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    least = 2 if len(evaluation_set.background) >= _FEW else 1
    model = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=least, dtype=np.float32)
    _fit(model, evaluation_set)
    ids = list(evaluation_set.used(retrieval=True))
    vectors = model.transform([evaluation_set.documents[name].text for name in ids])
    return PairScorer(_sparse_products(vectors, vectors, ids), (_words_from(evaluation_set, "Document frequencies"),))


def bm25(evaluation_set: EvaluationSet) -> PairScorer:
    """Score by Okapi BM25 (Robertson and Zaragoza 2009, eq. 3.15; k1 = 1.2, b = 0.75), one document as the query.

    A word counts as often as it stands in the query. Each direction is divided by the query's score against itself,
    which removes the influence of its length; the two are averaged. Of the forms tried, this did best on validation
    pairs.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    least = 2 if len(evaluation_set.background) >= _FEW else 1
    model = CountVectorizer(stop_words="english", min_df=least, dtype=np.float32)
    background = _fit(model, evaluation_set)
    ids = list(evaluation_set.used(retrieval=True))
    counts = csr_matrix(model.transform([evaluation_set.documents[name].text for name in ids]))
    document_frequency = np.asarray((background > 0).sum(axis=0)).ravel()
    other_documents = background.shape[0] - document_frequency
    rarity = np.log1p((other_documents + 0.5) / (document_frequency + 0.5))
    length = np.asarray(counts.sum(axis=1)).ravel() / max(float(background.sum(axis=1).mean()), 1e-9)
    weights = counts.copy()
    penalty = np.repeat(_K1 * (1 - _B + _B * length), np.diff(counts.indptr))
    weights.data = counts.data * (_K1 + 1) / (counts.data + penalty)
    queries = counts.copy()
    queries.data = counts.data * rarity[counts.indices].astype(np.float32)
    against_itself = np.maximum(np.asarray(queries.multiply(weights).sum(axis=1)).ravel(), 1e-9)
    queries.data = queries.data / np.repeat(against_itself, np.diff(counts.indptr)).astype(np.float32)
    one_way = _sparse_products(queries, weights, ids)

    def score(pairs: IdPairs) -> FloatArray:
        return (one_way(pairs) + one_way([(b, a) for a, b in pairs])) / 2

    return PairScorer(score, (_words_from(evaluation_set, "Document frequencies and mean length"),))


def _chunks(model: ModelSystem, evaluation_set: EvaluationSet) -> tuple[ChunkVectors, tuple[str, ...]]:
    """The documents of a set, with the centre of the field if there is one, and what a reader must know of it."""
    field = model.field(evaluation_set)
    if field is None:
        return model.encodings(evaluation_set), ()
    return model.adapted(evaluation_set, field), (f"Whitened. {field_note(field)}",)


def mean_of_chunks(documents: ChunkVectors, notes: tuple[str, ...] = ()) -> PairScorer:
    """Score by the cosine of the mean chunk vectors."""
    return PairScorer(_cosines(_means(documents)), notes)


def centred_mean(evaluation_set: EvaluationSet, encodings: dict[str, Encoding]) -> PairScorer:
    """Score by the cosine of the mean chunk vectors, minus the mean of the validation documents.

    The mean of the measured documents would leak the test into the baseline. With fewer than ten validation documents
    nothing is subtracted.
    """
    means = _means(encodings)
    others = sorted(members(evaluation_set.validation) - members(evaluation_set.pairs))
    if len(others) < _FEW:
        note = f"Not centred: there are only {len(others)} validation documents that are not measured."
        return PairScorer(_cosines(means), (note,))
    centre = np.mean([means[name] for name in others], axis=0)
    note = f"The centre is the mean of {len(others):,} validation documents."
    return PairScorer(_cosines({name: vector - centre for name, vector in means.items()}), (note,))


def max_mean(documents: ChunkVectors, notes: tuple[str, ...] = ()) -> PairScorer:
    """Score by the mean over chunks of the best chunk score in the other document, averaged over both directions."""

    def one(a: Encoding | FieldDocument, b: Encoding | FieldDocument) -> float:
        table = a.centred_unit_vectors @ b.centred_unit_vectors.T
        return float(table.max(axis=1).mean() + table.max(axis=0).mean()) / 2

    def score(pairs: IdPairs) -> FloatArray:
        return np.array([one(documents[a], documents[b]) for a, b in pairs], np.float64)

    return PairScorer(score, notes)


def _means(encodings: ChunkVectors) -> dict[str, NDArray[np.float64]]:
    return {name: item.chunk_vectors.mean(axis=0, dtype=np.float64) for name, item in encodings.items()}


def _cosines(vectors: dict[str, NDArray[np.float64]]) -> Callable[[IdPairs], FloatArray]:
    place = {name: row for row, name in enumerate(vectors)}
    table = np.stack(list(vectors.values()))
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)

    def score(pairs: IdPairs) -> FloatArray:
        left, right = table[[place[a] for a, _ in pairs]], table[[place[b] for _, b in pairs]]
        return np.asarray(np.einsum("pd,pd->p", left, right))

    return score


def _sparse_products(left: Any, right: Any, ids: list[str]) -> Callable[[IdPairs], FloatArray]:  # noqa: ANN401
    """Score (a, b) by the dot product of row a of `left` and row b of `right`, in blocks of pairs."""
    place = {name: row for row, name in enumerate(ids)}

    def score(pairs: IdPairs) -> FloatArray:
        scores = np.zeros(len(pairs))
        for start in range(0, len(pairs), _BLOCK):
            block = pairs[start : start + _BLOCK]
            products = left[[place[a] for a, _ in block]].multiply(right[[place[b] for _, b in block]])
            scores[start : start + len(block)] = np.asarray(products.sum(axis=1)).ravel()
        return scores

    return score


def _fit(model: Any, evaluation_set: EvaluationSet) -> Any:  # noqa: ANN401 - a vectoriser of scikit-learn and its matrix
    try:
        return model.fit_transform([evaluation_set.documents[name].text for name in evaluation_set.background])
    except ValueError as error:
        raise DataError(f"The documents of {evaluation_set.name} have no words to compare ({error}).") from error


def _words_from(evaluation_set: EvaluationSet, statistics: str) -> str:
    documents = "training" if evaluation_set.background_split == "training" else "all"
    return f"{statistics} are those of {documents} documents ({len(evaluation_set.background):,})."
