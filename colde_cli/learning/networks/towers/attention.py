"""The building block of HAN and SMASH: a bidirectional GRU over a sequence, and attention that sums it up.

Sequences are padded at their end, and what is returned does not depend on how far.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from colde_cli.learning.networks.layers import reverse_rows


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
    """Σ softmax(u · u_w) h with u = tanh(W h + b), over the steps that exist (HAN, §2.2, eq. 5 to 7)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, size)
        self.context = nn.Linear(size, 1, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """States [S, T, C] and mask bool [S, T] -> [S, C]; zeros where a sequence has no step."""
        return (self.weights(states, mask).unsqueeze(-1) * states).sum(1)

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """How much each step counts, [S, T]: 0 at padding, 1 in sum over a sequence that has a step."""
        scores = self.context(torch.tanh(self.hidden(states))).squeeze(-1)
        lowest = torch.finfo(scores.dtype).min
        return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask


class SequenceEncoder(nn.Module):
    """A sequence of vectors to one vector: a bidirectional GRU, then attention (HAN, Fig. 2)."""

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
