"""InfoNCE with the other positives of the batch as negatives (LA(SER)³; SimCSE, Gao et al. 2021, eq. 1)."""

from __future__ import annotations

from torch import Tensor

from colde_cli.learning.objectives.cosine import cosines

TEMPERATURE = 0.05


def info_nce(anchors: Tensor, positives: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """-1/N Σ_i log( exp(a_i·p_i/τ) / Σ_j exp(a_i·p_j/τ) ).

    Args:
        anchors: a [N, D], unit length.
        positives: p [N, D], unit length, row by row of the same documents.
        temperature: τ.

    Returns:
        A scalar, at least 0.
    """
    scores = cosines(anchors, positives) / temperature
    return -scores.log_softmax(1).diagonal().mean()
