"""Encode documents once, and score pairs of them as they are and under attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.evaluation_set import members
from colde_cli.evaluation.robustness.report import PairRow, SelfRow, pair_figures, spearman
from colde_cli.scoring.score import cosine, document_scores

Array = NDArray[np.float64]
Encoded = Callable[[str], Encoding]
"""Id of a document to its encoding, as it is or under attack."""

# Pairs scored at once. Encodings under attack may be long, so that few are kept in memory.
_BLOCK = 8


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A model with the documents and pairs that every protocol works on.

    Attributes:
        documents: the documents in pairs, by id.
        encodings: of the unchanged documents, by id.
        clean: scores of the unchanged pairs, [P].
        threshold: the score from which a pair counts as related; None without one.
        seed: of every draw.
    """

    encoder: DocumentEncoder
    documents: Mapping[str, Document]
    encodings: Mapping[str, Encoding]
    pairs: tuple[LabelledPair, ...]
    clean: Array
    threshold: float | None
    seed: int

    @property
    def by_chunks(self) -> Encoder | None:
        """The model if it has a document head that can be run again over other chunks; else None."""
        return self.encoder if isinstance(self.encoder, Encoder) else None

    def generator(self, name: str, number: int = 0) -> np.random.Generator:
        """Random numbers for one document, the same whatever else is measured."""
        return np.random.default_rng([self.seed, number, *name.encode("utf-8")])

    def pair_row(
        self, attack: str, side: str, left: Encoded, right: Encoded, *, ratios: bool = False
    ) -> PairRow:
        """Score every pair with `left` for its first document and `right` for its second."""
        scores, tokens = pair_scores(self.encoder, self.pairs, left, right)
        related = np.array([pair.related for pair in self.pairs], bool)
        figures = pair_figures(related, scores, self.clean, self.threshold)
        ratio = tokens.max(axis=1) / np.maximum(1, tokens.min(axis=1))
        return PairRow(attack, side, figures, spearman(ratio, scores) if ratios else None)

    def clean_row(self, *, ratios: bool = False) -> PairRow:
        """Score every unchanged pair."""
        return self.pair_row("clean", "none", self.clean_encoding, self.clean_encoding, ratios=ratios)

    def clean_encoding(self, name: str) -> Encoding:
        """The encoding of an unchanged document."""
        return self.encodings[name]

    def self_row(self, attack: str, attacked: Encoded, names: Sequence[str]) -> SelfRow:
        """Compare documents with themselves under attack."""
        cosines, scores = [], []
        for name in names:
            clean, changed = self.encodings[name], attacked(name)
            unchanged = cosine(clean.document_vector, clean.document_vector)
            cosines.append(unchanged - cosine(clean.document_vector, changed.document_vector))
            before, after = document_scores([clean, clean], [clean, changed], self.encoder.config)
            scores.append(float(before - after))
        return SelfRow(
            attack,
            len(names),
            float(np.mean(cosines)),
            float(np.max(cosines)),
            float(np.mean(scores)),
            float(np.max(scores)),
        )


def make_bench(
    encoder: DocumentEncoder,
    documents: Mapping[str, Document],
    pairs: Sequence[LabelledPair],
    threshold: float | None,
    seed: int,
) -> Bench:
    """Encode the documents of the pairs and score the unchanged pairs."""
    names = sorted(members(pairs))
    used = {name: documents[name] for name in names}
    encodings = dict(zip(names, encoder.encode_many(list(used.values())), strict=True))
    clean, _ = pair_scores(encoder, pairs, encodings.__getitem__, encodings.__getitem__)
    return Bench(encoder, used, encodings, tuple(pairs), clean, threshold, seed)


def pair_scores(
    encoder: DocumentEncoder, pairs: Sequence[LabelledPair], left: Encoded, right: Encoded
) -> tuple[Array, NDArray[np.int64]]:
    """Scores of the pairs, [P], and the numbers of tokens of their documents, [P, 2]; a few pairs at a time."""
    scores, tokens = [], []
    for start in range(0, len(pairs), _BLOCK):
        some = pairs[start : start + _BLOCK]
        firsts, seconds = [left(pair.a) for pair in some], [right(pair.b) for pair in some]
        scores.append(document_scores(firsts, seconds, encoder.config))
        tokens += [(a.tokens, b.tokens) for a, b in zip(firsts, seconds, strict=True)]
    return np.concatenate(scores), np.array(tokens, np.int64)
