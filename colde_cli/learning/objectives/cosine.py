"""Cosines between the rows of a batch, and the loss of the −CL ablation that uses them as they are."""

from __future__ import annotations

import torch
from torch import Tensor


def cosines(left: Tensor, right: Tensor) -> Tensor:
    """Dot products of unit vectors, [R, D] and [K, D] to [R, K], at least in fp32 whatever autocast says.

    A temperature of 0.05 multiplies an error by 20: bf16's 0.004 would become 0.08 in an exponent.
    """
    with torch.autocast(left.device.type, enabled=False):
        wide = torch.promote_types(torch.promote_types(left.dtype, right.dtype), torch.float32)
        return left.to(wide) @ right.to(wide).T


def itself(rows: Tensor) -> Tensor:
    """Bool [R, R], True where a row meets itself."""
    return torch.eye(len(rows), dtype=torch.bool, device=rows.device)


def cosine_loss(vectors: Tensor, positives: Tensor) -> Tensor:
    """−CL: the mean of 1 - cos over positive pairs and of max(0, cos) over all others.

    A batch holds far more negative than positive pairs; the two means weigh the same, as they do in the
    paper's balanced sets of pairs.

    Args:
        vectors: [R, D], unit length.
        positives: bool [R, R], symmetric; the diagonal is ignored.

    Returns:
        A scalar in [0, 1.5]; a kind of pair that the batch lacks adds 0.
    """
    scores = cosines(vectors, vectors)
    attracted = positives & ~itself(vectors)
    repelled = ~positives & ~itself(vectors)
    attraction = ((1 - scores) * attracted).sum() / attracted.sum().clamp(min=1)
    repulsion = (scores.clamp(min=0) * repelled).sum() / repelled.sum().clamp(min=1)
    return (attraction + repulsion) / 2
