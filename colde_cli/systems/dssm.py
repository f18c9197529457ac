"""DSSM: letter trigrams through a feed-forward network (Huang et al. 2013)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import BUCKETS
from colde_cli.systems.base import Attention, System


class Dssm(System):
    """Counted letter trigrams → 300 → 300 → D, tanh after each (Huang et al. 2013, Fig. 1).

    A trigram that occurs tf times weighs log(1 + tf), and the weights of a text have unit length. The first
    layer is a table of one row a trigram, of which only the rows that occur are read. `hidden` are the units of the
    layers below the vector.
    """

    packing, start, row_tokens, max_rows = "trigrams", "letters", 30_000, 2
    sizes: ClassVar[Mapping[str, Any]] = {"hidden": (300, 300)}
    vocabulary = BUCKETS + 1

    @classmethod
    def dim(cls, sizes: Mapping[str, Any], backbone_hidden: int = 0) -> int:
        """See `System`."""
        return 128

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__()
        sizes = [*{**self.sizes, **config.network}["hidden"], config.dim]
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
        """Vectors [D, dim] of texts: rows int64 [D, 2, L], ids of trigrams and under each its count."""
        weights = functional.normalize(torch.log1p(rows[:, 1].to(self.bias.dtype)), dim=-1)
        values = torch.tanh(self.trigrams(rows[:, 0], per_sample_weights=weights) + self.bias)
        for layer in self.layers:
            values = torch.tanh(layer(values))
        return functional.normalize(values, dim=-1)
