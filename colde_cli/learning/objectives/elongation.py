"""LA(SER)³ at chunk level: a section and its own repetition should have one vector.

Length-agnostic self-reference (Xiao et al. 2023, "Length is a Curse and a Blessing", §4) repeats the tokens of
a text; here the chunk vectors of a section are repeated, so that it costs no BERT at all and trains the part
of CoLDE that is sensitive to length, the attention and the Bi-LSTM.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ELONGATION_TEMPERATURE = 0.05


def draw_repeats(generator: np.random.Generator, chunks: int, limit: int) -> int:
    """M ~ U{1..⌊limit / chunks⌋}: how often a section of `chunks` chunks is repeated, never beyond `limit`."""
    return int(generator.integers(1, max(1, limit // chunks) + 1))


def elongate(chunks: NDArray[np.int64], repeats: int) -> NDArray[np.int64]:
    """f(S, m): the chunks of a section, in order, m times over; copies keep their chunk numbers q."""
    return np.tile(chunks, repeats)


def elongation_loss(
    vectors: Tensor, elongated: Tensor, related: Tensor, temperature: float = ELONGATION_TEMPERATURE
) -> Tensor:
    """L_len: InfoNCE between sections and their repetitions.

    -1/R Σ_i log( exp(z_i·z̃_i/τ) / Σ_{j = i or unrelated} exp(z_i·z̃_j/τ) )

    Documents with the same label are dropped from the denominator: SupCon draws them together, and this
    loss must not push them apart.

    Args:
        vectors: z [R, D], unit length.
        elongated: z̃ [R, D], unit length, row by row of the same sections.
        related: bool [R, R], True for rows of one document or of positives.
        temperature: τ_len.
    """
    scores = (vectors @ elongated.T) / temperature
    own = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    scores = scores.masked_fill(related & ~own, torch.finfo(scores.dtype).min)
    return -scores.log_softmax(1).diagonal().mean()
