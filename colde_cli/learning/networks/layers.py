"""The parts of the document head: chunk-wise attention, Bi-LSTM, and the mean around them.

All take padded rows (one row = the chunks of one section) and give the same result whatever the padding,
and all export to ONNX with every size dynamic.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def length_mask(lengths: Tensor, width: int) -> Tensor:
    """True where a row has a chunk: lengths [S] -> bool [S, width]."""
    return torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]


def masked_mean(rows: Tensor, mask: Tensor) -> Tensor:
    """Mean over the chunks that exist: rows [S, C, H], mask bool [S, C] -> [S, H]."""
    weights = mask.unsqueeze(-1).to(rows.dtype)
    return (rows * weights).sum(1) / weights.sum(1).clamp(min=1.0)


def reverse_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Every row backwards within its own length: rows [S, C, H], lengths [S] -> [S, C, H].

    Past a length stands a copy of the row's first vector. Doing it twice gives the row back.
    """
    steps = torch.arange(rows.shape[1], device=rows.device)[None, :]
    order = (lengths[:, None] - 1 - steps).clamp(min=0)[:, :, None].expand(-1, -1, rows.shape[2])
    return rows.gather(1, order)


def uniform_attention(mask: Tensor, partners: Tensor) -> Tensor:
    """Return equal weights for every chunk of the partner, for a model without attention.

    Args:
        mask: bool [S, C], True where a row has a chunk.
        partners: int64 [S], the row whose chunks are the keys.

    Returns:
        [S, C, C] float32; rows of chunks that exist sum to 1, the others are zero.
    """
    keys = mask.index_select(0, partners).to(torch.float32)
    weights = keys / keys.sum(1, keepdim=True).clamp(min=1.0)
    return weights[:, None, :] * mask.to(torch.float32)[:, :, None]


class ChunkAttention(nn.Module):
    """Multi-headed chunk-wise attention, A_p = MHA(H_p, H_partner, H_partner) (CoLDE §3.2).

    The paper uses the BERT output "along with" the attention without saying how; here it is
    U_p = LayerNorm(H_p + Dropout(A_p)).
    """

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        if hidden % heads:
            raise ValueError(f"{hidden} hidden units cannot be shared by {heads} heads")
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, rows: Tensor, mask: Tensor, partners: Tensor) -> tuple[Tensor, Tensor]:
        """Let the chunks of every row look at the chunks of its partner.

        Args:
            rows: [S, C, H].
            mask: bool [S, C], True where a row has a chunk.
            partners: int64 [S], the row that gives keys and values.

        Returns:
            The combined chunks U [S, C, H], and the weights [S, C, C], mean over heads; rows of chunks that
            exist sum to 1, the others are zero.
        """
        others = rows.index_select(0, partners)
        query, key, value = (
            self._split(linear(source))
            for linear, source in ((self.query, rows), (self.key, others), (self.value, others))
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        keys = mask.index_select(0, partners)[:, None, None, :]
        weights = scores.masked_fill(~keys, torch.finfo(scores.dtype).min).softmax(-1)
        attended = (weights @ value).transpose(1, 2).flatten(2)
        shown = weights.mean(1) * mask.to(weights.dtype)[:, :, None]
        return self.norm(rows + self.dropout(self.output(attended))), shown

    def _split(self, rows: Tensor) -> Tensor:
        split: Tensor = rows.view(*rows.shape[:-1], self.heads, -1)
        return split.transpose(1, 2)


class BiLSTM(nn.Module):
    """A bidirectional LSTM over rows of unequal length, equal to a packed one.

    The backward half reads every row reversed within its own length (a gather), so that padding never
    enters a state; unlike packing, that exports to ONNX.
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(size, hidden, batch_first=True)
        self.backward_ = nn.LSTM(size, hidden, batch_first=True)

    def forward(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """[last forward state; last backward state]: rows [S, C, H], lengths [S] -> [S, 2 * hidden]."""
        onward, _ = self.onward(rows)
        backward, _ = self.backward_(reverse_rows(rows, lengths))
        last = lengths[:, None] - 1
        index = last[:, :, None].expand(-1, -1, onward.shape[2])
        return torch.cat([onward.gather(1, index), backward.gather(1, index)], dim=-1).squeeze(1)


class MeanResidual(nn.Module):
    """Puts a linear map of the centred mean of the chunk vectors beside z.

    cos(v_a, v_b) = (1 - g) * cos(W m_a, W m_b) + g * cos(z_a, z_b), with W the identity before training: where
    attention and Bi-LSTM have little to learn from, the mean carries the score. On frozen chunk vectors a fixed
    share g of one half trained better than a learned one, whose gradient shrinks z while it starts out small.
    """

    def __init__(self, hidden: int, share: float, dropout: float) -> None:
        super().__init__()
        self.share = share
        self.dropout = nn.Dropout(dropout)
        self.map = nn.Linear(hidden, hidden)
        nn.init.eye_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, mean: Tensor, vector: Tensor) -> Tensor:
        """Mean [S, H] and z [S, D], which has unit length -> [S, H + D] of unit length."""
        mapped = self.map(self.dropout(functional.normalize(mean, dim=-1)))
        parts = [
            functional.normalize(mapped, dim=-1) * math.sqrt(1 - self.share),
            vector * math.sqrt(self.share),
        ]
        return torch.cat(parts, dim=-1)
