"""How well a ranking finds related documents, beside simple controls.

    python benchmarks/retrieval.py [--sets aan wiki ...] [--splits validation] [--queries 0] [--csv FILE]

Takes the labelled sets of `COLDE_SHARED` (else `../shared`) as one corpus, as a user's folder would be: the documents
of the splits, encoded by the shipped model through the cache. A query is a document with a related one in the corpus; 0
takes all, else so many are drawn. Prints Recall@10, MRR and nDCG@10, with the gain of `rank` in MRR and nDCG@10 and the
95 % interval of each (queries resampled 2,000 times), and "found": the share of the ten best of `rank` that are among
the first hundred of

    rank                       the score of `colde rank`, on all documents
    first stage                what a large index scores all documents by: subject vector and rare words, fused
    subject vector, rare words these two alone
    TF-IDF, BM25               the controls of `colde evaluate`
    mean, centred mean         the cosine of mean chunk vectors, also about the corpus's centre
    BM25 + mean, BM25 + subject vector   reciprocal rank fusion (Cormack et al. 2009, k = 60)
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from script import arguments, machine

from colde_cli.corpus.first_stage import Measure, fused
from colde_cli.corpus.records import Card
from colde_cli.documents.document import Document
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.loading import learn_field, open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import EvaluationSet, read_data, read_pairs
from colde_cli.evaluation.metrics import DEPTH, ndcg
from colde_cli.evaluation.systems import PairScorer, bm25, tfidf
from colde_cli.scoring.score import scores_with_many
from colde_cli.scoring.whitening import unit_rows
from colde_cli.settings import DEFAULT_MODEL

Floats = NDArray[np.float64]
Scorer = Callable[[int], Floats]
"""The scores of a query, by its row, with all documents."""

SETS = ("aan", "contracts", "court-cases", "patents", "pmc", "rfc", "wiki")
FIGURES = ("Recall@10", "MRR", "nDCG@10", "found")
_FOUND = 100
_K = 60
_DRAWS = 2000


@dataclass(slots=True)
class Corpus:
    """Documents and, by row, their sets and those that belong to each query."""

    cards: list[Card] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    relevant: dict[int, list[int]] = field(default_factory=dict)


def read_corpus(folder: Path, sets: Sequence[str], splits: Sequence[str], encoder: DocumentEncoder) -> Corpus:
    """Encode the documents of the splits."""
    corpus = Corpus()
    for name in sets:
        data = read_data([folder / name / "docs.jsonl.gz"], supervised=False)
        rows: dict[str, int] = {}
        for item in data.documents:
            if item.split in splits:
                rows[item.id] = len(corpus.cards)
                corpus.cards.append(Card.of(encoder.encode(item.document)))
                corpus.documents.append(item.document)
                corpus.sets.append(name)
        for pair in read_pairs(folder / name / "pairs.jsonl.gz", data.numbers()):
            if pair.related and pair.a in rows and pair.b in rows:
                corpus.relevant.setdefault(rows[pair.a], []).append(rows[pair.b])
                corpus.relevant.setdefault(rows[pair.b], []).append(rows[pair.a])
    return corpus


def systems(corpus: Corpus, encoder: DocumentEncoder) -> dict[str, Scorer]:
    """All that is compared, `rank` first."""
    cards, names = corpus.cards, [str(row) for row in range(len(corpus.cards))]
    statistics = learn_field("corpus", cards, encoder)
    assert encoder.config.score_weights is not None, "a model with words"
    stage = Measure(statistics, encoder.config.score_weights)
    segment = stage.segment(enumerate(cards))
    assert segment is not None, "documents with words"
    known = dict(zip(names, corpus.documents, strict=True))
    related = {str(row): frozenset(map(str, rows)) for row, rows in corpus.relevant.items()}
    whole = EvaluationSet("corpus", known, (), (), tuple(names), "all", tuple(names), related, "links", 0)
    means = np.stack([card.chunk_vectors.mean(0) for card in cards]).astype(np.float64)
    plain, centred = unit_rows(means), unit_rows(means - means.mean(0))

    def by_pairs(scorer: PairScorer) -> Scorer:
        return lambda query: scorer.scores([(str(query), name) for name in names])

    def subject(query: int) -> Floats:
        return np.asarray(segment.products(stage.query(cards[query]).vector), np.float64)

    def words(query: int) -> Floats:
        return np.asarray(segment.sums(stage.query(cards[query]).words), np.float64)

    def first_stage(query: int) -> Floats:
        asked = stage.query(cards[query])
        parts = segment.products(asked.vector), segment.sums(asked.words)
        return np.asarray(fused(*parts, asked), np.float64)

    by_bm25 = lru_cache(1)(by_pairs(bm25(whole)))  # three rows have it
    return {
        "rank": lambda query: scores_with_many(cards[query], cards, encoder.config, statistics),
        "first stage": first_stage,
        "subject vector": subject,
        "rare words": words,
        "TF-IDF": by_pairs(tfidf(whole)),
        "BM25": by_bm25,
        "mean": lambda query: plain @ plain[query],
        "centred mean": lambda query: centred @ centred[query],
        "BM25 + mean": lambda query: reciprocal_ranks(by_bm25(query), plain @ plain[query], query),
        "BM25 + subject vector": lambda query: reciprocal_ranks(by_bm25(query), subject(query), query),
    }


def reciprocal_ranks(one: Floats, other: Floats, query: int) -> Floats:
    """Reciprocal rank fusion of two scores of all documents; the query itself has no rank."""
    total = np.zeros(len(one))
    for scores in (one, other):
        order = without(np.argsort(-scores, kind="stable"), query)
        total[order] += 1 / (_K + 1 + np.arange(len(order)))
    return total


def without(order: NDArray[np.int64], query: int) -> NDArray[np.int64]:
    """The rows in order, but for that of the query."""
    return order[order != query]


def figures(order: NDArray[np.int64], relevant: Sequence[int], best: NDArray[np.int64]) -> tuple[float, ...]:
    """Recall@10, MRR, nDCG@10 and "found" of one query; see the head of this file."""
    hits = np.isin(order, relevant)
    recall = hits[:DEPTH].sum() / min(len(relevant), DEPTH)
    return float(recall), 1 / (1 + int(hits.argmax())), ndcg(hits), float(np.isin(best, order[:_FOUND]).mean())


def measure(scorers: dict[str, Scorer], corpus: Corpus, queries: Sequence[int]) -> dict[str, Floats]:
    """The figures of each system and query, [Q, 4]."""
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in scorers}
    for query in queries:
        best = np.zeros(0, np.int64)
        for name, scorer in scorers.items():
            order = without(np.argsort(-scorer(query), kind="stable"), query)
            best = order[:DEPTH] if name == "rank" else best
            rows[name].append(figures(order, corpus.relevant[query], best))
    return {name: np.array(found) for name, found in rows.items()}


def gain(rank: Floats, other: Floats) -> str:
    """The mean difference of two figures of the same queries, with its 95 % interval."""
    drawn = np.random.default_rng(0).integers(len(rank), size=(_DRAWS, len(rank)))
    low, high = np.quantile((rank - other)[drawn].mean(1), [0.025, 0.975])
    return f"{(rank - other).mean():+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, sets=list(SETS), splits=["validation"], queries=0, csv=Path)
    folder = Path(os.environ.get("COLDE_SHARED", "../shared")) / "data"
    encoder = open_encoder(DEFAULT_MODEL, cache=Cache.open())
    corpus = read_corpus(folder, options.sets, options.splits, encoder)
    drawn = np.random.default_rng(0).permutation(sorted(corpus.relevant))[: options.queries or None]
    print(f"{machine()}; {' '.join(options.sets)}; {options.splits}")
    print(f"{len(corpus.cards)} documents, {len(drawn)} of {len(corpus.relevant)} queries")
    found = measure(systems(corpus, encoder), corpus, drawn.tolist())
    of_set = np.array([corpus.sets[query] for query in drawn])
    print(f"{'':22}{''.join(f'{name:>10}' for name in FIGURES)}  rank is ahead by, MRR and nDCG@10")
    for name, rows in found.items():
        ahead = "" if name == "rank" else "  ".join(gain(found["rank"][:, at], rows[:, at]) for at in (1, 2))
        print(f"{name:22}{''.join(f'{value:10.4f}' for value in rows.mean(0))}  {ahead}")
    if options.csv is not None:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["system", "set", "recall_at_10", "mrr", "ndcg_at_10", "found"])
            for name, rows in found.items():
                for one in ("all", *options.sets):
                    chosen = rows if one == "all" else rows[of_set == one]
                    writer.writerow([name, one, *(f"{value:.4f}" for value in chosen.mean(0))])


if __name__ == "__main__":
    main()
