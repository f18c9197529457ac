"""Where the trainer gets chunk vectors from: a table of those that stay, or BERT as it is trained.

Both answer the same two questions, so that the training loop is one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from colde_cli.errors import OptionError
from colde_cli.learning.gradient_cache import activation_bytes, cached_backward, micro_batches
from colde_cli.learning.networks.chunk_encoder import ChunkEncoder
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.tokens import ChunkStore
from colde_cli.learning.views import Needed

_CHUNK = 512


class ChunkSource(Protocol):
    """Chunk vectors for the document head."""

    positioned: bool
    """Whether a chunk's vector depends on where it stands."""

    def backward(self, needed: Needed, loss_of: Callable[[Tensor], Tensor]) -> float:
        """Add the gradient of `loss_of(vectors [n, H])`, a scalar; returns its value."""

    def vectors(self, needed: Needed) -> Tensor:
        """Vectors [n, H] float32 as in evaluation, without a graph."""


class FrozenChunks:
    """Vectors that were computed once and stay as they are."""

    positioned = False

    def __init__(self, table: NDArray[np.float32], device: torch.device) -> None:
        """Serve rows of `table` [n, H], which may lie on disk."""
        self._table = table
        self._device = device

    def backward(self, needed: Needed, loss_of: Callable[[Tensor], Tensor]) -> float:
        """See `ChunkSource`."""
        loss = loss_of(self.vectors(needed))
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    def vectors(self, needed: Needed) -> Tensor:
        """See `ChunkSource`."""
        return torch.from_numpy(self._table[needed.chunks]).to(self._device)


class TrainedChunks:
    """Vectors of a BERT that learns, through the gradient cache."""

    def __init__(
        self,
        encoder: ChunkEncoder,
        store: ChunkStore,
        micro_tokens: int,
        device: torch.device,
        precision: str,
        processes: Processes = ALONE,
    ) -> None:
        """Encode chunks of `store`, shared out among `processes`; `micro_tokens` go through BERT at once."""
        self.positioned = encoder.takes_positions
        self._encoder = encoder
        self._store = store
        self._micro_tokens = micro_tokens
        self._processes = processes
        self._device = device
        self._autocast: Callable[[], AbstractContextManager[Any]] = (
            partial(torch.autocast, device.type, torch.bfloat16) if precision == "bf16" else nullcontext
        )

    def backward(self, needed: Needed, loss_of: Callable[[Tensor], Tensor]) -> float:
        """See `ChunkSource`."""
        loss = cached_backward(
            self._encoder,
            self._tokens(needed),
            loss_of,
            micro_tokens=self._micro_tokens,
            autocast=self._autocast,
            processes=self._processes,
            **self._places(needed),
        )
        return float(loss)

    @torch.no_grad()
    def vectors(self, needed: Needed) -> Tensor:
        """See `ChunkSource`."""
        learning = self._encoder.training
        self._encoder.eval()
        tokens = self._tokens(needed)
        rows = self._processes.share([len(chunk) for chunk in tokens])
        places = self._places(needed)
        batches = micro_batches(self._encoder, tokens, self._micro_tokens, **places, rows=rows)
        hidden = int(self._encoder.bert.config.hidden_size)
        vectors = torch.zeros(len(tokens), hidden, device=self._device)
        for batch in batches:
            with self._autocast():
                vectors[batch.rows] = self._encoder(**batch.inputs)
        self._encoder.train(learning)
        return self._processes.total(vectors)

    def _tokens(self, needed: Needed) -> list[NDArray[np.int32]]:
        return [self._store.tokens(int(chunk)) for chunk in needed.chunks]

    def _places(self, needed: Needed) -> dict[str, Tensor]:
        if not self.positioned:
            return {}
        return {
            "section_ids": torch.from_numpy(needed.sections),
            "chunk_ids": torch.from_numpy(needed.positions),
        }


def micro_tokens(encoder: ChunkEncoder, memory: int) -> int:
    """Tokens that may go through BERT at once, one chunk at least.

    Raises:
        OptionError: weights, gradients and optimiser alone take more than `memory` bytes.
    """
    trained = sum(weight.numel() for weight in encoder.parameters() if weight.requires_grad)
    every = sum(weight.numel() for weight in encoder.parameters())
    config = encoder.bert.config
    layers = sum(
        any(weight.requires_grad for weight in layer.parameters()) for layer in encoder.bert.encoder.layer
    )
    # Weights, and for trained ones gradient and two moments of AdamW, four bytes each.
    fixed = 4 * every + 12 * trained
    longest = min(_CHUNK, int(config.max_position_embeddings))
    whole = layers == int(config.num_hidden_layers)
    token = activation_bytes(config, longest, None if whole else max(1, layers))
    if fixed + token * longest > memory:
        needed = (fixed + token * longest) / 1e9
        raise OptionError(
            f"This backbone needs --max-memory {needed:.1f}GB; give that, or train fewer layers."
        )
    return (memory - fixed) // token
