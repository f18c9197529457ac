"""HAN (Yang et al. 2016), and the building block that it shares with SMASH: a bidirectional GRU, then attention.

Sequences are padded at their end; the result does not depend on the padding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import TowerConfig
from colde_cli.learning.networks.colde import reverse_rows


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


class Attention(nn.Module):
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
        self.attention = Attention(2 * hidden)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """Rows [S, T, E] and mask bool [S, T], True up to the end of each -> [S, 2 * hidden]."""
        summed: Tensor = self.attention(self.gru(rows, mask.sum(1)), mask)
        return summed

    def nested(self, rows: Tensor, mask: Tensor) -> Tensor:
        """The same for sequences of sequences: [D, R, T, E] and mask [D, R, T] -> [D, R, 2 * hidden]."""
        encoded: Tensor = self(rows.flatten(0, 1), mask.flatten(0, 1))
        return encoded.reshape(*mask.shape[:2], -1)


def by_paragraph(sentences: Tensor, paragraphs: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    """Sentence vectors of each paragraph side by side.

    Args:
        sentences: [D, R, H], padding last.
        paragraphs: int64 [D, R], 0, 1, ..., never decreasing over the sentences that exist.
        exists: bool [D, R], True for a sentence, False for padding.

    Returns:
        [D, P, S, H] with P paragraphs of up to S sentences, and mask bool [D, P, S].
    """
    numbers = _count_to(paragraphs.max() + 1)
    inside = (paragraphs[:, None, :] == numbers[None, :, None]) & exists[:, None, :]
    sizes = inside.sum(dim=2)
    # Paragraphs follow one another, so that each begins where those before it end.
    starts = sizes.cumsum(dim=1) - sizes
    steps = _count_to(sizes.max().clamp(min=1))
    members = steps[None, None, :] < sizes[:, :, None]
    places = (starts[:, :, None] + steps).masked_fill(~members, 0)
    index = places.flatten(1)[:, :, None].expand(-1, -1, sentences.shape[2])
    grouped = sentences.gather(1, index).reshape(*members.shape, sentences.shape[2])
    return grouped, members


def without_gaps(words: Tensor) -> Tensor:
    """Word ids [D, N] with 0 anywhere among them -> [D, longest text], 0 only after the last word."""
    exists = words != 0
    places = (exists.long().cumsum(dim=1) - 1).masked_fill(~exists, 0)
    # Zeros are added to place 0, which changes nothing; every other place is written once.
    joined = torch.zeros_like(words).scatter_add(1, places, words)
    return joined[:, : exists.sum(dim=1).max().clamp(min=1)]


def _count_to(end: Tensor) -> Tensor:
    """0 to `end` - 1; `end` stays a tensor, since a number would be a constant of the traced graph."""
    numbers: Tensor = torch.arange(end, device=end.device)  # type: ignore[call-overload]
    return numbers


EMBEDDING = 200
HIDDEN = 50


class Han(nn.Module):
    """Word GRU and attention make sentence vectors, sentence GRU and attention the document's.

    Sizes in `config.network`: `embedding`, `hidden` units per direction, `dropout` of the word vectors.
    """

    def __init__(self, config: TowerConfig) -> None:
        """Build with random weights.

        Raises:
            ValueError: `config.dim` is not twice `hidden`.
        """
        super().__init__()
        embedding, hidden = config.network.get("embedding", EMBEDDING), config.network.get("hidden", HIDDEN)
        if config.dim != 2 * hidden:
            raise ValueError(f"HAN with {hidden} hidden units makes {2 * hidden} numbers, not {config.dim}")
        self.embedding = nn.Embedding(config.vocab_size, embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.network.get("dropout", 0.0))
        self.words = SequenceEncoder(embedding, hidden)
        self.sentences = SequenceEncoder(2 * hidden, hidden)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """One vector per text.

        Args:
            rows: int64 [D, R, L], word ids of sentences, 0 at padding (`pack_sentences`).
            paragraphs: ignored.

        Returns:
            [D, dim] float32, unit length; zeros for a text without words.
        """
        mask = rows != 0
        sentences = self.words.nested(self.dropout(self.embedding(rows)), mask)
        return functional.normalize(self.sentences(sentences, mask.any(dim=2)), dim=-1)
