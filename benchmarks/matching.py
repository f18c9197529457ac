"""Document matching on judged pairs: a model beside the controls that need no training.

    python benchmarks/matching.py FOLDER... [--model NAME] [--split test]

Each FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` (see docs/training-data.md; pairs carry `split`
and `relation`). Prints one row per set and system: ROC-AUC over all pairs, over random and over hard
negatives, and F1 and accuracy at the threshold that is best on the validation pairs. Chunk vectors come
from the cache where they are known.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from shipped_data import rows
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding

Vectors = NDArray[np.float32]
Score = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents and whether they are related."""

    a: str
    b: str
    label: int
    relation: str
    split: str


@dataclass(frozen=True, slots=True)
class Figures:
    """What is reported of one system on one set."""

    auc: float
    auc_random: float
    auc_hard: float
    f1: float
    accuracy: float


def load(folder: Path, splits: set[str]) -> tuple[dict[str, Document], list[str], list[Pair]]:
    """Documents of the named splits by id, the texts of the training split, and the pairs."""
    documents: dict[str, Document] = {}
    training: list[str] = []
    for row in rows(folder / "docs.jsonl.gz"):
        parts = [Part(item["heading"], item["text"]) for item in row["sections"]]
        document = assemble(str(row["id"]), str(row["title"]), parts)
        if row["split"] in splits:
            documents[str(row["id"])] = document
        if row["split"] == "train":
            training.append(document.text)
    pairs = [Pair(**row) for row in rows(folder / "pairs.jsonl.gz") if row["split"] in splits]
    return documents, training, pairs


def unit(vectors: Vectors) -> Vectors:
    """Vectors at unit length."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def cosine(vectors: Mapping[str, Vectors]) -> Score:
    """The score of a system that has one vector per document."""
    return lambda a, b: float(vectors[a] @ vectors[b])


def max_mean(directions: Mapping[str, Vectors]) -> Score:
    """Mean over chunks of the best cosine in the other document, both ways."""

    def score(a: str, b: str) -> float:
        table = directions[a] @ directions[b].T
        return float(table.max(axis=1).mean() + table.max(axis=0).mean()) / 2

    return score


def tfidf(documents: Mapping[str, Document], training: list[str]) -> Score:
    """Cosine of TF-IDF vectors whose document frequencies come from the training split."""
    model = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2, dtype=np.float32)
    model.fit(training)
    matrix = model.transform([document.text for document in documents.values()])
    place = {name: index for index, name in enumerate(documents)}
    return lambda a, b: float(matrix[place[a]].multiply(matrix[place[b]]).sum())


def systems(
    encoder: Encoder, documents: Mapping[str, Document], training: list[str]
) -> Iterator[tuple[str, Score]]:
    """Every system to compare, with its score of a pair of document ids."""
    encoded = encoder.encode_many(list(documents.values()))
    by_id: dict[str, Encoding] = dict(zip(documents, encoded, strict=True))
    yield encoder.folder.name, cosine({name: item.document_vector for name, item in by_id.items()})
    yield "TF-IDF", tfidf(documents, training)
    yield (
        "mean of chunk vectors",
        cosine({name: unit(item.chunk_vectors.mean(0)) for name, item in by_id.items()}),
    )
    centre = np.mean([item.chunk_vectors.mean(0) for item in by_id.values()], axis=0)
    centred = {name: unit(item.chunk_vectors.mean(0) - centre) for name, item in by_id.items()}
    yield "centred mean", cosine(centred)
    yield "max-mean of chunks", max_mean({name: item.directions for name, item in by_id.items()})


def measure(score: Score, pairs: list[Pair], split: str) -> Figures:
    """Figures on `split`, with the threshold taken from the validation pairs."""
    validation = [pair for pair in pairs if pair.split == "validation"]
    threshold = best_threshold(*table(score, validation))
    chosen = [pair for pair in pairs if pair.split == split]
    labels, scores = table(score, chosen)
    relations = np.array([pair.relation for pair in chosen])

    def auc(negatives: str) -> float:
        kept = (labels == 1) | (relations == negatives)
        return float(roc_auc_score(labels[kept], scores[kept]))

    verdicts = scores >= threshold
    return Figures(
        float(roc_auc_score(labels, scores)),
        auc("random"),
        auc("hard"),
        float(f1_score(labels, verdicts)),
        float(accuracy_score(labels, verdicts)),
    )


def table(score: Score, pairs: list[Pair]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels and scores of pairs."""
    return np.array([pair.label for pair in pairs]), np.array([score(pair.a, pair.b) for pair in pairs])


def best_threshold(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """The score at which F1 is highest."""
    candidates = np.unique(scores)
    return float(max(candidates, key=lambda value: f1_score(labels, scores >= value)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--model", default="colde-minilm-l6")
    parser.add_argument("--split", default="test")
    options = parser.parse_args()
    console = Console(width=120)
    with Cache.open() as cache:
        encoder = Encoder.load(options.model, cache=cache)
        console.print(f"{platform.machine()}, model {encoder.info}, {options.split} pairs")
        for folder in options.folders:
            documents, training, pairs = load(folder, {"validation", options.split})
            rendered = Table("system", "AUC", "random", "hard", "F1", "accuracy", title=folder.name)
            for name, score in systems(encoder, documents, training):
                figures = measure(score, pairs, options.split)
                values = (figures.auc, figures.auc_random, figures.auc_hard, figures.f1, figures.accuracy)
                rendered.add_row(name, *(f"{value:.3f}" for value in values))
            console.print(rendered)


if __name__ == "__main__":
    main()
