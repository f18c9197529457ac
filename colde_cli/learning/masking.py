"""Masked words and masked sentence blocks: what is hidden, and the losses of guessing it (SMITH)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

IntArray = NDArray[np.int64]

SHARE = 0.15
"""Of a block's word pieces, how many are hidden."""
_MASKED, _RANDOM = 0.8, 0.1


@dataclass(frozen=True, slots=True)
class MaskingVocabulary:
    """What masking must know of a tokenizer.

    Attributes:
        size: number of token ids.
        mask: id of [MASK].
        specials: ids that are never hidden and never drawn, padding (0) and [MASK] among them.
    """

    size: int
    mask: int
    specials: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MaskedRows:
    """Blocks with some words hidden.

    Attributes:
        rows: int64 [B, L], what the network reads.
        chosen: bool [B, L], the positions to guess; a tenth of them still show their word.
    """

    rows: IntArray
    chosen: NDArray[np.bool_]


def mask_words(
    rows: IntArray, vocabulary: MaskingVocabulary, rng: np.random.Generator, share: float = SHARE
) -> MaskedRows:
    """Choose 15 % of each block's words, at least one; of these 80 % become [MASK], 10 % another word, 10 % stay.

    Args:
        rows: int64 [B, L], 0 is padding.
        vocabulary: of the tokenizer that made them.
        rng: where the choice comes from.
        share: of the words of a block; their number is rounded to the nearest.
    """
    ordinary = ~np.isin(rows, vocabulary.specials)
    counts = ordinary.sum(1)
    wanted = np.where(counts > 0, np.maximum(1, np.rint(share * counts)), 0)
    # A random order of each block's words, everything else behind them: the first so many are chosen.
    order = np.where(ordinary, rng.random(rows.shape), 2.0).argsort(1).argsort(1)
    chosen = order < wanted[:, None]
    fate = rng.random(rows.shape)
    words = np.setdiff1d(np.arange(vocabulary.size), vocabulary.specials)
    shown = np.where(chosen & (fate < _MASKED), vocabulary.mask, rows)
    swapped = chosen & (fate >= _MASKED) & (fate < _MASKED + _RANDOM)
    shown = np.where(swapped, rng.choice(words, rows.shape), shown)
    return MaskedRows(shown.astype(np.int64), chosen)


def block_means(losses: Tensor, blocks: Tensor) -> Tensor:
    """L_wp: the mean over blocks of the mean over each block's hidden words.

    Args:
        losses: [N], cross-entropy of every hidden word.
        blocks: int64 [N], the block each lies in; blocks without a hidden word do not count.

    Returns:
        A scalar, 0 if there is no word.
    """
    counts = blocks.bincount()
    return (losses / counts[blocks]).sum() / (counts > 0).sum().clamp(min=1)


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
