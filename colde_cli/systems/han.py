"""HAN (Yang et al. 2016), and the building block that it shares with SMASH: a bidirectional GRU, then attention.

Sequences are padded at their end; the result does not depend on the padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import SystemConfig
from colde_cli.learning.colde import reverse_rows
from colde_cli.systems.base import Attention, System


class BiGru(nn.Module):
    """A bidirectional GRU over rows of unequal length, equal to a packed one at every step that exists."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.GRU(size, hidden, batch_first=True)
        self.backward_ = nn.GRU(size, hidden, batch_first=True)

    def forward(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """The states of both directions: rows [S, T, E], lengths [S] -> [S, T, 2 * hidden].

        What stands past a length means nothing.
        """
        onward, _ = self.onward(rows)
        backward, _ = self.backward_(reverse_rows(rows, lengths))
        return torch.cat([onward, reverse_rows(backward, lengths)], dim=-1)


class StepAttention(nn.Module):
    """Σ softmax(u · u_w) h with u = tanh(W h + b), over the steps that exist (HAN, Yang et al. 2016)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, size)
        self.context = nn.Linear(size, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """States [S, T, C] and mask bool [S, T] -> [S, C]; zeros where a sequence has no step."""
        return (self.weights(states, mask).unsqueeze(-1) * states).sum(1)

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the weight of each step, [S, T]: 0 at padding; those of a sequence sum to 1."""
        scores = self.context(torch.tanh(self.hidden(states))).squeeze(-1)
        lowest = torch.finfo(scores.dtype).min
        return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask


class SequenceEncoder(nn.Module):
    """A sequence of vectors to one vector: a bidirectional GRU, then attention."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.gru = BiGru(size, hidden)
        self.attention = StepAttention(2 * hidden)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """Rows [S, T, E] and mask bool [S, T], True up to the end of each -> [S, 2 * hidden]."""
        summed: Tensor = self.attention(self.gru(rows, mask.sum(1)), mask)
        return summed

    def nested(self, rows: Tensor, mask: Tensor) -> Tensor:
        """The same for sequences of sequences: [D, R, T, E] and mask [D, R, T] -> [D, R, 2 * hidden]."""
        encoded: Tensor = self(rows.flatten(0, 1), mask.flatten(0, 1))
        return encoded.reshape(*mask.shape[:2], -1)


class GruSystem(System):
    """Sentences of word vectors, read by GRUs: `hidden` are units per direction, `dropout` that of the word vectors."""

    packing, start, row_tokens, max_rows = "sentences", "words", 50, 100
    sizes: ClassVar[Mapping[str, Any]] = {"embedding": 200, "hidden": 50, "dropout": 0.0}
    depths: ClassVar[int]
    """How many vectors of both directions stand side by side in that of a document."""

    @classmethod
    def dim(cls, sizes: Mapping[str, Any], backbone_hidden: int = 0) -> int:
        """See `System`."""
        return 2 * cls.depths * int(sizes["hidden"])

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__()
        sizes = {**self.sizes, **config.network}
        if config.dim != (dim := self.dim(sizes)):
            raise ValueError(f"{sizes['hidden']} hidden units make {dim} numbers, not {config.dim}")
        self.words_size, self.hidden = int(sizes["embedding"]), int(sizes["hidden"])
        self.embedding = nn.Embedding(config.vocab_size, self.words_size, padding_idx=0)
        self.dropout = nn.Dropout(sizes["dropout"])

    def embed(self, words: Tensor) -> Tensor:
        """The vectors of word ids."""
        embedded: Tensor = self.dropout(self.embedding(words))
        return embedded


class Han(GruSystem):
    """Word GRU and attention make sentence vectors, sentence GRU and attention the document's."""

    depths = 1

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__(config)
        self.words = SequenceEncoder(self.words_size, self.hidden)
        self.sentences = SequenceEncoder(2 * self.hidden, self.hidden)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors [D, dim] of texts, zeros without words: rows int64 [D, R, L], word ids of sentences."""
        mask = rows != 0
        sentences = self.words.nested(self.embed(rows), mask)
        return functional.normalize(self.sentences(sentences, mask.any(dim=2)), dim=-1)
