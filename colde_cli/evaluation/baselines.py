"""Systems without training that every model has to beat: TF-IDF, BM25, and plain uses of the chunk vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.protocol import Encoding
from colde_cli.errors import DataError
from colde_cli.evaluation.evaluation_set import EvaluationSet, members
from colde_cli.evaluation.systems import FloatArray, IdPairs, ModelSystem, PairScorer, System
from colde_cli.scoring.calibration import Calibration

CONTROLS = {
    "tfidf": "TF-IDF",
    "bm25": "BM25",
    "mean": "mean",
    "centred-mean": "centred mean",
    "max-mean": "max-mean",
}
"""Names of the command line to names in tables."""
CHUNK_CONTROLS = frozenset(("mean", "centred-mean", "max-mean"))
"""Those that need chunk vectors."""

_K1, _B = 1.2, 0.75
_FEW = 10
_BLOCK = 4096


class Baseline:
    """A control: nothing is stored with it, so threshold and calibration come from validation pairs or not at all."""

    threshold: float | None = None
    calibration: Calibration | None = None

    def __init__(self, name: str, opening: Callable[[EvaluationSet], PairScorer]) -> None:
        self.name = name
        self._opening = opening

    def open(self, field: EvaluationSet) -> PairScorer:
        """See `System`."""
        return self._opening(field)


def make_baselines(names: Iterable[str], model: ModelSystem) -> list[System]:
    """The controls of these names; those that need chunk vectors take them from `model`.

    Raises:
        KeyError: not one of `CONTROLS`.
    """
    openings: dict[str, Callable[[EvaluationSet], PairScorer]] = {
        "tfidf": tfidf,
        "bm25": bm25,
        "mean": lambda field: mean_of_chunks(field, model.encodings(field)),
        "centred-mean": lambda field: centred_mean(field, model.encodings(field)),
        "max-mean": lambda field: max_mean(model.encodings(field)),
    }
    return [Baseline(CONTROLS[name], openings[name]) for name in names]


def tfidf(field: EvaluationSet) -> PairScorer:
    """Cosine of TF-IDF vectors: 1 + log tf, English stop words left out, words in two documents at least."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    model = TfidfVectorizer(
        sublinear_tf=True, stop_words="english", min_df=_least_documents(field), dtype=np.float32
    )
    _fit(model, field)
    ids = _in_pairs_or_gallery(field)
    vectors = model.transform([field.documents[name].text for name in ids])
    return PairScorer(_sparse_products(vectors, vectors, ids), (_words_from(field, "Document frequencies"),))


def bm25(field: EvaluationSet) -> PairScorer:
    """Okapi BM25 (Robertson and Zaragoza 2009, eq. 3.15; k1 = 1.2, b = 0.75) with one document as the query.

    A word counts as often as it stands in the query. Both directions are divided by what the query scores against
    itself, which takes its length out, and averaged: of the forms tried, this did best on validation pairs.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    model = CountVectorizer(stop_words="english", min_df=_least_documents(field), dtype=np.float32)
    background = _fit(model, field)
    ids = _in_pairs_or_gallery(field)
    counts = csr_matrix(model.transform([field.documents[name].text for name in ids]))
    found_in = np.asarray((background > 0).sum(axis=0)).ravel()
    rarity = np.log1p((background.shape[0] - found_in + 0.5) / (found_in + 0.5))
    length = np.asarray(counts.sum(axis=1)).ravel() / max(float(background.sum(axis=1).mean()), 1e-9)
    weights = counts.copy()
    penalty = np.repeat(_K1 * (1 - _B + _B * length), np.diff(counts.indptr))
    weights.data = counts.data * (_K1 + 1) / (counts.data + penalty)
    queries = counts.copy()
    queries.data = counts.data * rarity[counts.indices].astype(np.float32)
    own = np.maximum(np.asarray(queries.multiply(weights).sum(axis=1)).ravel(), 1e-9)
    queries.data = queries.data / np.repeat(own, np.diff(counts.indptr)).astype(np.float32)
    one_way = _sparse_products(queries, weights, ids)

    def score(pairs: IdPairs) -> FloatArray:
        return (one_way(pairs) + one_way([(b, a) for a, b in pairs])) / 2

    return PairScorer(score, (_words_from(field, "Document frequencies and mean length"),))


def mean_of_chunks(field: EvaluationSet, encodings: dict[str, Encoding]) -> PairScorer:
    """Cosine of the mean chunk vectors."""
    return PairScorer(_cosines(_means(encodings)))


def centred_mean(field: EvaluationSet, encodings: dict[str, Encoding]) -> PairScorer:
    """Cosine of the mean chunk vectors, the mean of the validation documents taken off.

    Never that of the measured documents, which would tell the control about the test; with fewer than ten
    validation documents nothing is taken off.
    """
    means = _means(encodings)
    known = sorted(members(field.validation) - members(field.pairs))
    if len(known) < _FEW:
        note = f"Not centred: there are only {len(known)} validation documents that are not measured."
        return PairScorer(_cosines(means), (note,))
    centre = np.mean([means[name] for name in known], axis=0)
    note = f"The centre is the mean of {len(known):,} validation documents."
    return PairScorer(_cosines({name: vector - centre for name, vector in means.items()}), (note,))


def max_mean(encodings: dict[str, Encoding]) -> PairScorer:
    """Mean over chunks of the highest chunk score in the other document, both ways averaged."""

    def one(a: Encoding, b: Encoding) -> float:
        table = a.centred_unit_vectors @ b.centred_unit_vectors.T
        return float(table.max(axis=1).mean() + table.max(axis=0).mean()) / 2

    def score(pairs: IdPairs) -> FloatArray:
        return np.array([one(encodings[a], encodings[b]) for a, b in pairs], np.float64)

    return PairScorer(score)


def _means(encodings: dict[str, Encoding]) -> dict[str, NDArray[np.float64]]:
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
    """Dot product of row a of one sparse matrix with row b of another, in blocks."""
    place = {name: row for row, name in enumerate(ids)}

    def score(pairs: IdPairs) -> FloatArray:
        scores = np.zeros(len(pairs))
        for start in range(0, len(pairs), _BLOCK):
            block = pairs[start : start + _BLOCK]
            products = left[[place[a] for a, _ in block]].multiply(right[[place[b] for _, b in block]])
            scores[start : start + len(block)] = np.asarray(products.sum(axis=1)).ravel()
        return scores

    return score


def _fit(model: Any, field: EvaluationSet) -> Any:  # noqa: ANN401 - a vectoriser of scikit-learn and its matrix
    try:
        return model.fit_transform([field.documents[name].text for name in field.background])
    except ValueError as error:
        raise DataError(f"The documents of {field.name} have no words to compare ({error}).") from error


def _least_documents(field: EvaluationSet) -> int:
    """In how many documents a word must occur; among a handful of documents every word counts."""
    return 2 if len(field.background) >= _FEW else 1


def _in_pairs_or_gallery(field: EvaluationSet) -> list[str]:
    return list(field.used(retrieval=True))


def _words_from(field: EvaluationSet, what: str) -> str:
    which = "training" if field.background_split == "training" else "all"
    return f"{what} are those of {which} documents ({len(field.background):,})."
