"""SMASH RNN: a document read at three depths at once (Jiang et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import TowerConfig
from colde_cli.learning.networks.han import SequenceEncoder, by_paragraph, without_gaps

EMBEDDING = 200
HIDDEN = 50


class Smash(nn.Module):
    """Word → sentence → paragraph → document, word → sentence → document and word → document, side by side.

    Every arrow is a bidirectional GRU with attention. The two deeper readings share their sentence vectors; the
    text of the paper was not at hand to confirm its sizes and what it shares.

    Sizes in `config.network`: `embedding`, `hidden` units per direction, `dropout` of the word vectors.
    """

    def __init__(self, config: TowerConfig) -> None:
        """Build with random weights.

        Raises:
            ValueError: `config.dim` is not six times `hidden`: three depths of two directions.
        """
        super().__init__()
        embedding, hidden = config.network.get("embedding", EMBEDDING), config.network.get("hidden", HIDDEN)
        if config.dim != 6 * hidden:
            raise ValueError(f"SMASH with {hidden} hidden units makes {6 * hidden} numbers, not {config.dim}")
        self.embedding = nn.Embedding(config.vocab_size, embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.network.get("dropout", 0.0))
        self.sentence = SequenceEncoder(embedding, hidden)
        self.paragraph = SequenceEncoder(2 * hidden, hidden)
        self.document_of_paragraphs = SequenceEncoder(2 * hidden, hidden)
        self.document_of_sentences = SequenceEncoder(2 * hidden, hidden)
        self.document_of_words = SequenceEncoder(embedding, hidden)
        self.pair = PairHead(config.dim)

    def forward(self, rows: Tensor, paragraphs: Tensor) -> Tensor:
        """One vector per text.

        Args:
            rows: int64 [D, R, L], word ids of sentences, 0 at padding (`pack_sentences`).
            paragraphs: int64 [D, R], the paragraph of each sentence; it never decreases.

        Returns:
            [D, dim] float32, unit length; zeros for a text without words.
        """
        mask = rows != 0
        exists = mask.any(dim=2)
        sentences = self.sentence.nested(self._embed(rows), mask)
        grouped, members = by_paragraph(sentences, paragraphs, exists)
        in_paragraphs = self.paragraph.nested(grouped, members)
        words = without_gaps(rows.flatten(1))
        depths = [
            self.document_of_paragraphs(in_paragraphs, members.any(dim=2)),
            self.document_of_sentences(sentences, exists),
            self.document_of_words(self._embed(words), words != 0),
        ]
        return functional.normalize(torch.cat(depths, dim=-1), dim=-1)

    def pair_logits(self, left: Tensor, right: Tensor) -> Tensor:
        """What the paper scores pairs with: vectors [N, dim] twice -> [N]; a sigmoid makes probabilities.

        It needs both texts at once and cannot be indexed; trained beside the cosine, it shapes the vectors.
        """
        logits: Tensor = self.pair(left, right)
        return logits

    def _embed(self, words: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.embedding(words))
        return embedded


class PairHead(nn.Module):
    """[s; t; |s − t|; s ⊙ t] → linear → ReLU → 1."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(4 * dim, dim)
        self.output = nn.Linear(dim, 1)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Vectors [N, dim] twice -> [N] logits."""
        features = torch.cat([left, right, (left - right).abs(), left * right], dim=-1)
        logits: Tensor = self.output(functional.relu(self.hidden(features))).squeeze(-1)
        return logits
