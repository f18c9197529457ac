"""Padded sentences by paragraph, and as one run of words, in operations that export to ONNX."""

from __future__ import annotations

import torch
from torch import Tensor


def by_paragraph(sentences: Tensor, paragraphs: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    """Sentence vectors of each paragraph side by side.

    Args:
        sentences: [D, R, H], padding last.
        paragraphs: int64 [D, R], 0, 1, ..., never decreasing over the sentences that exist.
        exists: bool [D, R], True for a sentence, False for padding.

    Returns:
        [D, P, S, H] with P paragraphs of up to S sentences, and mask bool [D, P, S].
    """
    numbers = _count_to(paragraphs.max() + 1)
    inside = (paragraphs[:, None, :] == numbers[None, :, None]) & exists[:, None, :]
    sizes = inside.sum(dim=2)
    # Paragraphs follow one another, so that each begins where those before it end.
    starts = sizes.cumsum(dim=1) - sizes
    steps = _count_to(sizes.max().clamp(min=1))
    members = steps[None, None, :] < sizes[:, :, None]
    places = (starts[:, :, None] + steps).masked_fill(~members, 0)
    index = places.flatten(1)[:, :, None].expand(-1, -1, sentences.shape[2])
    grouped = sentences.gather(1, index).reshape(*members.shape, sentences.shape[2])
    return grouped, members


def without_gaps(words: Tensor) -> Tensor:
    """Word ids [D, N] with 0 anywhere among them -> [D, longest text], 0 only after the last word."""
    exists = words != 0
    places = (exists.long().cumsum(dim=1) - 1).masked_fill(~exists, 0)
    # Zeros are added to place 0, which changes nothing; every other place is written once.
    joined = torch.zeros_like(words).scatter_add(1, places, words)
    return joined[:, : exists.sum(dim=1).max().clamp(min=1)]


def _count_to(end: Tensor) -> Tensor:
    """0 to `end` - 1; `end` stays a tensor, since a number would be a constant of the traced graph."""
    numbers: Tensor = torch.arange(end, device=end.device)  # type: ignore[call-overload]
    return numbers
