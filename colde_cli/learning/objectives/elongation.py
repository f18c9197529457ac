"""LA(SER)³ at chunk level: a section and its own repetition should have one vector.

Length-agnostic self-reference (Xiao et al. 2023, "Length is a Curse and a Blessing", §4) repeats the tokens of
a text; here the chunk vectors of a section are repeated, so that it costs no BERT at all and trains the part
of CoLDE that is sensitive to length, the attention and the Bi-LSTM.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from colde_cli.learning.objectives.cosine import cosines, itself

ELONGATION_TEMPERATURE = 0.05


def draw_times(chunks: int, maximum: int, rng: np.random.Generator) -> int:
    """How often a section is repeated: m ~ U{1..⌊maximum / chunks⌋}, or 1 if it is longer than that already.

    Args:
        chunks: of the section, at least 1.
        maximum: chunks that the repetition may have, K_max.
        rng: where the number comes from.
    """
    return int(rng.integers(1, max(1, maximum // chunks), endpoint=True))


def tile(rows: Tensor, times: int) -> Tensor:
    """f(S, m): rows [n, ...], in order, m times over -> [times * n, ...].

    For the chunk vectors of a section [n, H], and for their chunk numbers q [n], which copies keep.
    """
    return rows.repeat(times, *[1] * (rows.dim() - 1))


def elongation_loss(
    vectors: Tensor, tiled: Tensor, positives: Tensor, temperature: float = ELONGATION_TEMPERATURE
) -> Tensor:
    """L_len: InfoNCE between sections and their repetitions.

    -1/R Σ_i log( exp(z_i·z̃_i/τ) / Σ_{j = i or unrelated} exp(z_i·z̃_j/τ) )

    Documents with the same label are dropped from the denominator: SupCon draws them together, and this
    loss must not push them apart.

    Args:
        vectors: z [R, D], unit length.
        tiled: z̃ [R, D], unit length, row by row of the same sections.
        positives: bool [R, R], True for rows of one document or of related ones; the diagonal is ignored.
        temperature: τ_len.

    Returns:
        A scalar, at least 0.
    """
    scores = cosines(vectors, tiled) / temperature
    scores = scores.masked_fill(positives & ~itself(vectors), torch.finfo(scores.dtype).min)
    return -scores.log_softmax(1).diagonal().mean()
