"""Masked words: which are hidden, and the loss of guessing them (Devlin et al. 2019, §3.1; SMITH, Yang et al. 2020).

Hidden words are chosen block by block, and the loss is the mean over blocks of the mean over a block's hidden words.
SMITH's public code sums the blocks, which lets words outweigh sentence blocks by the number of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

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
