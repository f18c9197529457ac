"""ARC-I, convolutions over words (Hu et al. 2014); DSSM, layers over counted letter trigrams (Huang et al. 2013)."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import TowerConfig

EMBEDDING = 200
CHANNELS = (128, 256, 256)
HIDDEN = (300, 300)
"""Units of the layers below the vector (Huang et al. 2013, Fig. 1)."""


class ArcI(nn.Module):
    """Word vectors, three times (convolution over 3 words, ReLU, maximum of 2), maximum over the text, linear.

    The paper compares the two vectors with a multi-layer perceptron; here their cosine does, so that texts can be
    indexed. Like the paper's gate, a mask keeps padding out of every convolution and maximum: after ReLU
    nothing is below 0, so that a position set to 0 never wins.

    Sizes in `config.network`: `embedding`, `channels` of the convolutions, `dropout` of the word vectors.
    """

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        sizes = [config.network.get("embedding", EMBEDDING), *config.network.get("channels", CHANNELS)]
        self.embedding = nn.Embedding(config.vocab_size, sizes[0], padding_idx=0)
        self.dropout = nn.Dropout(config.network.get("dropout", 0.0))
        self.convolutions = nn.ModuleList(
            nn.Conv1d(below, above, kernel_size=3, padding=1) for below, above in pairwise(sizes)
        )
        self.output = nn.Linear(sizes[-1], config.dim)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """One vector per text.

        Args:
            rows: int64 [D, 1, L], word ids, 0 after the last.
            paragraphs: ignored.

        Returns:
            [D, dim] float32, unit length.
        """
        words = rows[:, 0]
        mask = (words != 0).unsqueeze(1).to(self.output.weight.dtype)
        values = self.dropout(self.embedding(words)).transpose(1, 2) * mask
        for convolution in self.convolutions:
            values = _halve(functional.relu(convolution(values)) * mask)
            mask = _halve(mask)
        return functional.normalize(self.output(values.amax(dim=2)), dim=-1)


def _halve(values: Tensor) -> Tensor:
    """Maximum of every two neighbours [D, C, L] -> [D, C, ⌈L / 2⌉]; a last one without neighbour stays."""
    return functional.max_pool1d(values, kernel_size=2, ceil_mode=True)


class Dssm(nn.Module):
    """Counted letter trigrams → 300 → 300 → D, tanh after each.

    A trigram that occurs tf times weighs log(1 + tf), and the weights of a text have unit length. The first
    layer is a table of one row a trigram, of which only the rows that occur are read.

    Sizes in `config.network`: `hidden`, the units of the layers below the vector.
    """

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        sizes = [*config.network.get("hidden", HIDDEN), config.dim]
        self.trigrams = nn.EmbeddingBag(config.vocab_size, sizes[0], mode="sum")
        self.bias = nn.Parameter(torch.zeros(sizes[0]))
        layers = [nn.Linear(below, above) for below, above in pairwise(sizes)]
        self.layers = nn.ModuleList(layers)
        # As in the paper. With such small weights, a bias other than 0 would outweigh the text, and all texts would
        # start alike.
        nn.init.xavier_uniform_(self.trigrams.weight)
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """One vector per text.

        Args:
            rows: int64 [D, 2, L], ids of trigrams and under each its count, 0 at padding (`pack_trigrams`).
            paragraphs: ignored.

        Returns:
            [D, dim] float32, unit length.
        """
        weights = functional.normalize(torch.log1p(rows[:, 1].to(self.bias.dtype)), dim=-1)
        values = torch.tanh(self.trigrams(rows[:, 0], per_sample_weights=weights) + self.bias)
        for layer in self.layers:
            values = torch.tanh(layer(values))
        return functional.normalize(values, dim=-1)
