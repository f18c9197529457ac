"""Can a document find its partners among all others? Recall@10, MRR and nDCG@10 of every document with links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.systems import Scorer

Floats = NDArray[np.float64]

DEPTH = 10
_BLOCK = 20_000


def retrieval_figures(
    scorer: Scorer, gallery: Sequence[str], relevant: Mapping[str, frozenset[str]]
) -> dict[str, Floats]:
    """Figures of every query, [Q] each, in the order of `relevant`.

    Args:
        scorer: of the system.
        gallery: all documents; a query is not searched for itself.
        relevant: for every query the documents of the gallery that it should find.
    """
    table = _score_table(scorer, gallery)
    place = {name: row for row, name in enumerate(gallery)}
    found = [
        _hits(table[place[query]], place[query], [place[name] for name in names])
        for query, names in relevant.items()
    ]
    return {
        "recall_at_10": np.array([hits[:DEPTH].sum() / hits.sum() for hits in found]),
        "mrr": np.array([1 / (1 + int(hits.argmax())) for hits in found]),
        "ndcg_at_10": np.array([ndcg(hits) for hits in found]),
    }


def ndcg(hits: NDArray[np.bool_], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen 2002).

    Args:
        hits: [n], whether the document at each rank is relevant; at least one is.
        depth: ranks that count.
    """
    discounts = 1 / np.log2(np.arange(2, min(depth, len(hits)) + 2))
    ideal = discounts[: int(hits.sum())].sum()
    return float((hits[:depth] * discounts).sum() / ideal)


def _hits(scores: Floats, query: int, relevant: Sequence[int]) -> NDArray[np.bool_]:
    """Whether the document at each rank is relevant; of equal scores the one with the smaller id goes first."""
    order = np.argsort(-scores, kind="stable")
    order = order[order != query]
    return np.isin(order, relevant)


def _score_table(scorer: Scorer, gallery: Sequence[str]) -> Floats:
    """Scores of all documents with one another [n, n], each pair scored once."""
    size = len(gallery)
    table = np.zeros((size, size))
    rows, columns = np.triu_indices(size, 1)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs = [
            (gallery[row], gallery[column]) for row, column in zip(rows[block], columns[block], strict=True)
        ]
        table[rows[block], columns[block]] = scorer.scores(pairs)
    return table + table.T
