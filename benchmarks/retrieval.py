"""How well both stages of a ranking find related documents.

    python benchmarks/retrieval.py [--sets aan wiki ...] [--splits validation test] [--queries 300]

Takes the labelled sets of `COLDE_SHARED` (else `../shared`) as one corpus, as a user's folder would be: the documents
of the splits, encoded by the shipped model through the cache. A query is a document with a related one in the corpus.
Prints Recall@10, MRR and nDCG@10 of

    TF-IDF, BM25      the controls of `colde evaluate`
    mean              the cosine of mean chunk vectors, without a centre
    vectors, words    one measure of the first stage alone
    fused             both
    rescored M        the exact score on the M best of the fused ones; "found" is the share of the ten best of the
                      exact ranking that are among them
    exact             the exact score on all documents
    budget S          documents ordered by words alone, the exact score on the share S of the corpus's chunks that
                      comes first; statistics of those documents alone ("own") or of the model
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.first_stage import Measure, candidates, fused
from colde_cli.corpus.records import Card
from colde_cli.documents.document import Document
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.loading import learn_field, open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import EvaluationSet, read_data, read_pairs
from colde_cli.evaluation.metrics import DEPTH, ndcg
from colde_cli.evaluation.systems import PairScorer, bm25, tfidf
from colde_cli.scoring.lexicon import overlap
from colde_cli.scoring.profile import MIN_DOCUMENTS, Field
from colde_cli.scoring.score import scores_with_many
from colde_cli.scoring.whitening import unit_rows
from colde_cli.settings import DEFAULT_MODEL

Floats = NDArray[np.float64]

SETS = ("aan", "contracts", "court-cases", "patents", "pmc", "rfc", "wiki")
DEPTHS = (20, 50, 100, 200, 300, 500)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and, by row, those that belong to each query."""

    cards: list[Card]
    documents: list[Document]
    relevant: dict[int, list[int]]

    def controls(self) -> dict[str, Callable[[int], Floats]]:
        """Scores of a query with all documents, by the name of the control."""
        names = [str(row) for row in range(len(self.documents))]
        known = dict(zip(names, self.documents, strict=True))
        related = {str(row): frozenset(map(str, rows)) for row, rows in self.relevant.items()}
        whole = EvaluationSet("corpus", known, (), (), tuple(names), "all", tuple(names), related, "links", 0)
        means = unit_rows(np.stack([card.chunk_vectors.mean(0) for card in self.cards])).astype(np.float64)

        def by_words(scorer: PairScorer) -> Callable[[int], Floats]:
            return lambda query: scorer.scores([(str(query), name) for name in names])

        return {
            "TF-IDF": by_words(tfidf(whole)),
            "BM25": by_words(bm25(whole)),
            "mean": lambda query: means @ means[query],
        }


def read_corpus(folder: Path, sets: Sequence[str], splits: Sequence[str], encoder: DocumentEncoder) -> Corpus:
    """Encode the documents of the splits."""
    cards: list[Card] = []
    documents: list[Document] = []
    relevant: dict[int, list[int]] = {}
    for name in sets:
        data = read_data([folder / name / "docs.jsonl.gz"], supervised=False)
        rows: dict[str, int] = {}
        for item in data.documents:
            if item.split in splits:
                rows[item.id] = len(cards)
                cards.append(Card.of(encoder.encode(item.document)))
                documents.append(item.document)
        for pair in read_pairs(folder / name / "pairs.jsonl.gz", data.numbers()):
            if pair.related and pair.a in rows and pair.b in rows:
                relevant.setdefault(rows[pair.a], []).append(rows[pair.b])
                relevant.setdefault(rows[pair.b], []).append(rows[pair.a])
    return Corpus(cards, documents, relevant)


class Table:
    """Collects the figures of systems over queries, and prints their means."""

    def __init__(self) -> None:
        self._figures: dict[str, list[tuple[float, float, float, float]]] = {}

    def add(self, system: str, order: NDArray[np.int64], relevant: Sequence[int], best: set[int]) -> None:
        """Add a query: the documents in the order of a system, which may be few, and the ten best of the exact one."""
        hits = np.isin(order, relevant)
        whole = np.concatenate([hits, np.ones(len(relevant) - int(hits.sum()), bool)])  # for the ideal of nDCG
        gain = ndcg(np.concatenate([hits[:DEPTH], np.zeros(max(0, DEPTH - len(hits)), bool), whole[DEPTH:]]))
        found = len(best & set(order.tolist())) / max(1, len(best))
        recall = hits[:DEPTH].sum() / min(len(relevant), DEPTH)
        first = 1 / (1 + int(hits.argmax())) if hits.any() else 0.0
        self._figures.setdefault(system, []).append((float(recall), first, gain, found))

    def print(self) -> None:
        """Print a line for each system."""
        print(f"{'':16} Recall@10    MRR  nDCG@10  found")
        for system, rows in self._figures.items():
            recall, first, gain, found = np.mean(rows, axis=0)
            print(f"{system:16} {recall:9.4f} {first:6.4f} {gain:8.4f} {found:6.4f}")


def ordered(scores: Floats, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows by their scores, the highest first."""
    return rows[np.argsort(-scores[rows], kind="stable")]


def measure(corpus: Corpus, encoder: DocumentEncoder, queries: Sequence[int]) -> None:
    """Measure all systems and print the table."""
    cards, table = corpus.cards, Table()
    field = learn_field("corpus", cards, encoder)
    assert encoder.config.score_weights is not None
    stage = Measure(field, encoder.config.score_weights)
    segment = stage.segment(enumerate(cards))
    assert segment is not None
    chunks = np.array([len(card.shares) for card in cards])
    seconds, controls = {"exact": 0.0, "first": 0.0}, corpus.controls()
    for query in queries:
        relevant, card = corpus.relevant[query], cards[query]
        others = np.delete(np.arange(len(cards)), query)
        start = time.perf_counter()
        first = stage.query(card)
        parts = segment.products(first.vector), segment.sums(first.words)
        both = fused(*parts, first)
        seconds["first"] += time.perf_counter() - start
        start = time.perf_counter()
        exact = scores_with_many(card, cards, encoder.config, field)
        seconds["exact"] += time.perf_counter() - start
        order = ordered(exact, others)
        best = set(order[:DEPTH].tolist())

        def add(system: str, order: NDArray[np.int64]) -> None:
            table.add(system, order, relevant, best)  # noqa: B023 - called at once

        for name, scores in controls.items():
            add(name, ordered(scores(query), others))
        add("vectors", ordered(parts[0].astype(np.float64), others)[: DEPTHS[3]])
        add("words", ordered(parts[1], others)[: DEPTHS[3]])
        add("fused", ordered(both, others)[: DEPTHS[3]])
        for depth in DEPTHS:
            chosen = candidates(first, [segment], depth + 1)
            add(f"rescored {depth}", ordered(exact, chosen[chosen != query]))
        add("exact", order)
        budgets(card, cards, others, chunks, encoder, add)
    table.print()
    for stage, total in seconds.items():
        print(f"{stage}: {1000 * total / len(queries):.1f} ms a query")


def budgets(
    query: Card,
    cards: Sequence[Card],
    others: NDArray[np.int64],
    chunks: NDArray[np.int64],
    encoder: DocumentEncoder,
    add: Callable[[str, NDArray[np.int64]], None],
) -> None:
    """Rank as `--budget` does, for several shares of the corpus's chunks."""
    own = query.terms
    words = np.array([overlap(own, card.terms) if own and card.terms else 0.0 for card in cards])
    by_words = ordered(words, others)
    for share in SHARES:
        rows = by_words[: int(np.searchsorted(np.cumsum(chunks[by_words]), share * chunks.sum(), "right"))]
        encoded = [cards[row] for row in rows]
        field: Field | None = learn_field("corpus", encoded, encoder) if len(rows) >= MIN_DOCUMENTS else None
        for name, used in (("own", field), ("model", None)):
            scores = scores_with_many(query, encoded, encoder.config, used or encoder.domain_fields)
            add(f"budget {share:.0%} {name}", rows[np.argsort(-scores, kind="stable")])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--splits", nargs="+", default=["validation", "test"])
    parser.add_argument("--queries", type=int, default=300, help="drawn from all, seed 0")
    options = parser.parse_args()
    folder = Path(os.environ.get("COLDE_SHARED", "../shared")) / "data"
    encoder = open_encoder(DEFAULT_MODEL, cache=Cache.open())
    corpus = read_corpus(folder, options.sets, options.splits, encoder)
    drawn = np.random.default_rng(0).permutation(sorted(corpus.relevant))[: options.queries]
    print(f"{platform.machine()}, {os.cpu_count()} cores; {' '.join(options.sets)}; {options.splits}")
    print(f"{len(corpus.cards)} documents, {len(drawn)} of {len(corpus.relevant)} queries")
    measure(corpus, encoder, drawn.tolist())


if __name__ == "__main__":
    main()
