"""Binary cross-entropy of scaled cosines: the loss of the towers (SMITH's public code, with its constants learnt)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

ALPHA = 6.0
"""Scale of the cosine at the start: SMITH's constant."""


class PairLoss(nn.Module):
    """L = BCE(sigmoid(α cos(s, t) + β), y), mean over pairs; α = 6 and β = 0 at the start."""

    def __init__(self, learnt: bool = True) -> None:
        """With α and β learnt, or kept as SMITH and MatchBERT keep them."""
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(ALPHA), requires_grad=learnt)
        self.beta = nn.Parameter(torch.tensor(0.0), requires_grad=learnt)

    def forward(self, left: Tensor, right: Tensor, related: Tensor) -> Tensor:
        """The loss of B pairs.

        Args:
            left: [B, D], vectors of the first documents.
            right: [B, D], of the second.
            related: [B], 1 for pairs that belong together and 0 for others.

        Returns:
            A scalar.
        """
        cosines = functional.cosine_similarity(left.float(), right.float(), dim=-1)
        return functional.binary_cross_entropy_with_logits(self.alpha * cosines + self.beta, related.float())
