"""SMASH RNN: a document read at three depths at once (Jiang et al. 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import SystemConfig
from colde_cli.systems.base import Attention
from colde_cli.systems.han import GruSystem, SequenceEncoder


class Smash(GruSystem):
    """Word → sentence → paragraph → document, word → sentence → document and word → document, side by side.

    Every arrow is a bidirectional GRU with attention. The two deeper readings share their sentence vectors; the
    text of the paper was not at hand to confirm its sizes and what it shares.
    """

    depths = 3

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__(config)
        words, hidden = self.words_size, self.hidden
        self.sentence = SequenceEncoder(words, hidden)
        self.paragraph = SequenceEncoder(2 * hidden, hidden)
        self.document_of_paragraphs = SequenceEncoder(2 * hidden, hidden)
        self.document_of_sentences = SequenceEncoder(2 * hidden, hidden)
        self.document_of_words = SequenceEncoder(words, hidden)
        self.pair = PairHead(config.dim)

    def forward(self, rows: Tensor, paragraphs: Tensor) -> Tensor:
        """Vectors [D, dim] of texts, zeros without words.

        Args:
            rows: int64 [D, R, L], word ids of sentences.
            paragraphs: int64 [D, R], the paragraph of each sentence; it never decreases.
        """
        mask = rows != 0
        exists = mask.any(dim=2)
        sentences = self.sentence.nested(self.embed(rows), mask)
        grouped, members = by_paragraph(sentences, paragraphs, exists)
        in_paragraphs = self.paragraph.nested(grouped, members)
        words = without_gaps(rows.flatten(1))
        depths = [
            self.document_of_paragraphs(in_paragraphs, members.any(dim=2)),
            self.document_of_sentences(sentences, exists),
            self.document_of_words(self.embed(words), words != 0),
        ]
        return functional.normalize(torch.cat(depths, dim=-1), dim=-1)

    def pair_logits(self, left: Tensor, right: Tensor) -> Tensor:
        """What the paper scores pairs with: vectors [N, dim] twice -> [N]; a sigmoid makes probabilities.

        It needs both texts at once and cannot be indexed; trained beside the cosine, it shapes the vectors.
        """
        logits: Tensor = self.pair(left, right)
        return logits


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
