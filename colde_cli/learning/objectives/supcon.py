"""Supervised contrastive loss (Khosla et al. 2020, eq. 2; CoLDE §3.3), with a positive mask for labels.

A mask says more than labels can: "related" on a citation graph is symmetric but not transitive.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from colde_cli.learning.objectives.cosine import cosines, itself

Variant = Literal["supcon", "sincere"]


def supcon(vectors: Tensor, positives: Tensor, temperature: float, variant: Variant = "supcon") -> Tensor:
    """Mean of `supcon_per_anchor` over the anchors that have a positive; 0 if none has.

    The paper prints the sum. The mean has the same minimum and a learning rate that does not depend on the
    size of the batch.
    """
    losses, valid = supcon_per_anchor(vectors, positives, temperature, variant)
    return losses.sum() / valid.sum().clamp(min=1)


def supcon_per_anchor(
    vectors: Tensor, positives: Tensor, temperature: float, variant: Variant = "supcon"
) -> tuple[Tensor, Tensor]:
    """The loss of every anchor that has a positive.

    L_i = -1/|P(i)| Σ_{j in P(i)} log( exp(z_i·z_j/τ) / Σ_{k != i} exp(z_i·z_k/τ) )

    CoLDE's text says that the denominator sums negatives; its equation sums all k != i, which is followed here.
    "sincere" (Feeney & Hughes 2023, eq. 6) keeps only j itself and the negatives in it, so that positives do not
    push one another away. Neither is scaled by a base temperature.

    Args:
        vectors: [R, D], unit length.
        positives: bool [R, R], symmetric; the diagonal is ignored.
        temperature: τ; 0.5 in the paper.
        variant: which denominator.

    Returns:
        Losses [R] (0 where an anchor has no positive) and the mask bool [R] of anchors that have one.
    """
    own = itself(vectors)
    positives = positives & ~own
    scores = cosines(vectors, vectors) / temperature
    lowest = torch.finfo(scores.dtype).min
    if variant == "sincere":
        negatives = scores.masked_fill(positives | own, lowest).logsumexp(1, keepdim=True)
        normaliser = torch.logaddexp(scores, negatives)
    else:
        normaliser = scores.masked_fill(own, lowest).logsumexp(1, keepdim=True)
    counts = positives.sum(1)
    losses = (normaliser - scores).masked_fill(~positives, 0.0).sum(1) / counts.clamp(min=1)
    return losses, counts > 0
