"""Supervised contrastive loss (Khosla et al. 2020, eq. 2; CoLDE §3.3), with a positive mask for labels.

A mask says more than labels can: "related" on a citation graph is symmetric but not transitive.
"""

from __future__ import annotations

import torch
from torch import Tensor


def contrastive_per_anchor(
    vectors: Tensor, positives: Tensor, temperature: float, *, sincere: bool = False
) -> tuple[Tensor, Tensor]:
    """The loss of every anchor that has a positive.

    L_i = -1/|P(i)| Σ_{j in P(i)} log( exp(z_i·z_j/τ) / Σ_{k != i} exp(z_i·z_k/τ) )

    CoLDE's text says that the denominator sums negatives; its equation sums all k != i, which is followed here.
    SINCERE (Feeney & Hughes 2023, eq. 6) keeps only j itself and the negatives in it. Neither is scaled by a
    base temperature.

    Args:
        vectors: [R, D], unit length.
        positives: bool [R, R], symmetric; the diagonal is ignored.
        temperature: τ; 0.5 in the paper.
        sincere: leave the other positives out of the denominator.

    Returns:
        Losses [R] (0 where an anchor has no positive) and the mask bool [R] of anchors that have one.
    """
    own = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    positives = positives & ~own
    scores = (vectors @ vectors.T) / temperature
    lowest = torch.finfo(scores.dtype).min
    if sincere:
        negatives = scores.masked_fill(positives | own, lowest).logsumexp(1, keepdim=True)
        normaliser = torch.logaddexp(scores, negatives)
    else:
        normaliser = scores.masked_fill(own, lowest).logsumexp(1, keepdim=True)
    counts = positives.sum(1)
    losses = -((scores - normaliser) * positives).sum(1) / counts.clamp(min=1)
    return losses, counts > 0


def contrastive_loss(
    vectors: Tensor, positives: Tensor, temperature: float, *, sincere: bool = False
) -> Tensor:
    """Mean over the anchors that have a positive (0 if none has); see `contrastive_per_anchor`."""
    losses, valid = contrastive_per_anchor(vectors, positives, temperature, sincere=sincere)
    return losses.sum() / valid.sum().clamp(min=1)
