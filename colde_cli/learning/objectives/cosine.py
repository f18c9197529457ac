"""The loss of the −CL ablation: plain cosine similarity of judged pairs instead of SupCon."""

from __future__ import annotations

import torch
from torch import Tensor


def cosine_loss(vectors: Tensor, positives: Tensor) -> Tensor:
    """Y (1 - cos) + (1 - y) max(0, cos), over all pairs of a batch.

    A batch holds far more negative than positive pairs; the two means are added with equal weight, as in
    the paper's balanced sets of pairs.

    Args:
        vectors: [R, D], unit length.
        positives: bool [R, R], symmetric; the diagonal is ignored.

    Returns:
        A scalar in [0, 1.5].
    """
    scores = vectors @ vectors.T
    own = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    attracted = positives & ~own
    repelled = ~positives & ~own
    attraction = ((1 - scores) * attracted).sum() / attracted.sum().clamp(min=1)
    repulsion = (scores.clamp(min=0) * repelled).sum() / repelled.sum().clamp(min=1)
    return (attraction + repulsion) / 2
