"""Networks small enough to train in a test, and what their tests compute with. Needs torch: import it late."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

CPU = torch.device("cpu")


def on_circle(*degrees: float) -> Tensor:
    """Unit vectors at these angles."""
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


class Bag(nn.Module):
    """The simplest system: the mean of word vectors, at unit length; it notes what it is shown."""

    def __init__(self, words: int, size: int = 8, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(words, size, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.seen: list[Tensor] = []

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        self.seen.append(rows)
        return functional.normalize(self.dropout(self.words(rows)).sum((1, 2)), dim=-1)


class RowsAlone(nn.Module):
    """A network that is asked without paragraphs."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, rows: Tensor) -> Tensor:
        vectors: Tensor = self.network(rows)
        return vectors
