"""Masked sentence blocks: which are hidden, and the loss of telling them apart (SMITH, Yang et al. 2020).

The vector of a hidden block is replaced by one learned vector; the document Transformer must tell from the blocks
around it which of the batch's hidden blocks it was.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

BLOCKS = 2
"""Hidden blocks of a document (the paper's m)."""


def draw_blocks(
    present: NDArray[np.bool_], rng: np.random.Generator, number: int = BLOCKS
) -> NDArray[np.bool_]:
    """Choose blocks to hide, among those that exist; at least one of a document stays visible.

    SMITH's public code draws from all slots, so that in short documents most of what it hides is padding.

    Args:
        present: bool [D, R], where a document has a block.
        rng: where the choice comes from.
        number: of hidden blocks in a document that has more.

    Returns:
        bool [D, R].
    """
    wanted = np.clip(present.sum(1) - 1, 0, number)
    order = np.where(present, rng.random(present.shape), 2.0).argsort(1).argsort(1)
    chosen: NDArray[np.bool_] = order < wanted[:, None]
    return chosen


def masked_block_loss(predictions: Tensor, blocks: Tensor) -> Tensor:
    """L_sp = -1/B Σ_i log( exp(ŝ_i·h_i) / Σ_j exp(ŝ_i·h_j) ), j over the hidden blocks of the batch.

    Args:
        predictions: Ŝ [B, H], the document Transformer's output where a block is hidden.
        blocks: h [B, H], the vectors that are hidden, in the same order.

    Returns:
        A scalar, at least 0; 0 if nothing is hidden.
    """
    with torch.autocast(predictions.device.type, enabled=False):
        logits = predictions.float() @ blocks.float().T
        if not len(logits):
            return logits.sum()
        return functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
