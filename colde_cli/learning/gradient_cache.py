"""Chunk vectors in training: computed once, or by a BERT that is trained through the gradient cache.

The gradient cache (GradCache, Gao et al. 2021) gives the gradient of a whole batch in the memory of a few chunks. A
contrastive loss needs all documents of a batch at once, BERT only one chunk at a time. So:

1. encode all chunks in micro-batches without a graph, and note the state of the random numbers before each;
2. run head and loss over the whole batch, with the chunk vectors h as leaves, which gives dL/dh;
3. encode every micro-batch again with the same random numbers, and send its dL/dh backward.

By the chain rule this is the exact gradient of the whole batch. It costs one more forward pass, which is saved where
the whole batch fits in memory. The unit is the chunk, never the section, because sections attend to one another in
step 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import BertConfig

from colde_cli.errors import OptionError
from colde_cli.learning.augmentation import Needed
from colde_cli.learning.colde import ChunkEncoder
from colde_cli.learning.processes import ALONE, Processes, random_states, set_random_states
from colde_cli.learning.tokens import ChunkStore

# Tokens of a pass on a CPU, which gains nothing from more at once: chunks of one length then pad one another less.
_PASS = 2048


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Chunks of similar length that go through BERT together."""

    rows: Tensor  # int64 [b], the places of these chunks in the batch
    inputs: dict[str, Tensor]  # arguments of `ChunkEncoder.forward`, without a mask if nothing is padded


def cached_backward(
    encoder: ChunkEncoder,
    chunks: Sequence[NDArray[np.int32]],
    loss_of: Callable[[Tensor], Tensor],
    *,
    micro_tokens: int,
    section_ids: Tensor | None = None,
    chunk_ids: Tensor | None = None,
    processes: Processes = ALONE,
) -> Tensor:
    """Add the gradient.

    Of a batch to the encoder's weights and to those that `loss_of` uses, and return the loss, detached.

    `loss_of` maps chunk vectors [n, H] float32, in the order of `chunks`, to a scalar. `micro_tokens` tokens, padding
    included, go through BERT at once; a longer chunk goes alone. `section_ids` and `chunk_ids` [n] are for
    `chunk_position="input"`. All `processes` pass the same `chunks`, share steps 1 and 3, and have the whole gradient
    afterwards.
    """
    rows = processes.share([len(chunk) for chunk in chunks])
    batches = list(micro_batches(encoder, chunks, micro_tokens, section_ids, chunk_ids, rows))
    if len(batches) == 1 and processes.count == 1:
        if _device(encoder).type == "cpu":
            smaller = min(micro_tokens, _PASS)
            batches = list(micro_batches(encoder, chunks, smaller, section_ids, chunk_ids))
        return _at_once(encoder, batches, loss_of)
    with processes.own_numbers():
        own, states = _encode(encoder, batches, len(chunks))
    vectors = processes.total(own).requires_grad_()
    loss = loss_of(vectors)
    loss.backward()  # type: ignore[no-untyped-call]
    if vectors.grad is not None and any(weight.requires_grad for weight in encoder.parameters()):
        gradient = processes.from_main(vectors.grad)
        with processes.summed(encoder.parameters()):
            _replay(encoder, batches, states, gradient)
    return loss.detach()


def micro_batches(
    encoder: ChunkEncoder,
    chunks: Sequence[NDArray[np.int32]],
    micro_tokens: int,
    section_ids: Tensor | None = None,
    chunk_ids: Tensor | None = None,
    rows: Sequence[int] | None = None,
) -> Iterator[MicroBatch]:
    """Cut a batch, or these `rows` of it, into micro-batches.

    The longest chunks come first, so that too little memory shows at once.
    """
    numbers = range(len(chunks)) if rows is None else rows
    device = _device(encoder)
    padding = int(encoder.bert.config.pad_token_id or 0)
    for places in plan([len(chunks[row]) for row in numbers], micro_tokens):
        index = torch.tensor([numbers[place] for place in places])
        inputs = _padded([chunks[row] for row in index.tolist()], padding)
        for name, ids in (("section_ids", section_ids), ("chunk_ids", chunk_ids)):
            if ids is not None:
                inputs[name] = ids[index.to(ids.device)]
        yield MicroBatch(index.to(device), {name: tensor.to(device) for name, tensor in inputs.items()})


def plan(lengths: Sequence[int], micro_tokens: int) -> Iterator[list[int]]:
    """Group rows by length, longest first, so that number × longest stays within the budget."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > micro_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def activation_bytes(config: BertConfig, longest: int = 512, layers: int | None = None, width: int = 4) -> int:
    """Return an upper bound of the bytes that a token keeps until its gradient is known.

    `longest` is the longest chunk in tokens, `layers` the number of trained layers (None: all, with the embeddings),
    `width` the bytes of a number.
    """
    # Counted with saved_tensors_hooks on CPU (torch 2.13, dropout 0.1, 64 to 512 tokens, MiniLM-L6 and two layers
    # of BERT-base): a layer keeps 10.0 H + 2.0 F + 3.0 A L floats per token, the embeddings 2.0 H; sdpa without
    # a fused kernel keeps as much as eager attention does. One more layer for gradients on their way.
    hidden, inner = int(config.hidden_size), int(config.intermediate_size)
    layer = 10 * hidden + 2 * inner + 3 * int(config.num_attention_heads) * longest
    kept = int(config.num_hidden_layers) if layers is None else layers
    return width * ((kept + 1) * layer + (2 * hidden if layers is None else 0))


def _padded(chunks: Sequence[NDArray[np.int32]], padding: int) -> dict[str, Tensor]:
    lengths = np.array([len(chunk) for chunk in chunks])
    ids = np.full((len(chunks), lengths.max()), padding, dtype=np.int64)
    for row, chunk in zip(ids, chunks, strict=True):
        row[: len(chunk)] = chunk
    inputs = {"input_ids": torch.from_numpy(ids)}
    if lengths.min() < lengths.max():
        mask = np.arange(lengths.max())[None, :] < lengths[:, None]
        inputs["attention_mask"] = torch.from_numpy(mask.astype(np.int64))
    return inputs


def _at_once(encoder: ChunkEncoder, batches: Sequence[MicroBatch], loss_of: Callable[[Tensor], Tensor]) -> Tensor:
    """Add the gradient of a batch whose graph fits in memory, without a second pass."""
    vectors = torch.cat([encoder(**batch.inputs) for batch in batches])
    loss = loss_of(vectors[torch.cat([batch.rows for batch in batches]).argsort()])
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach()


@torch.no_grad()
def _encode(encoder: ChunkEncoder, batches: Sequence[MicroBatch], count: int) -> tuple[Tensor, list[list[Tensor]]]:
    device = _device(encoder)
    vectors = torch.zeros(count, encoder.bert.config.hidden_size, device=device)
    states = []
    for batch in batches:
        states.append(random_states(device))
        vectors[batch.rows] = encoder(**batch.inputs)
    return vectors, states


def _replay(
    encoder: ChunkEncoder, batches: Sequence[MicroBatch], states: Sequence[list[Tensor]], gradient: Tensor
) -> None:
    device = _device(encoder)
    # A replay must not change the random numbers that follow.
    before = random_states(device)
    for batch, state in zip(batches, states, strict=True):
        set_random_states(device, state)
        again = encoder(**batch.inputs)
        again.backward(gradient[batch.rows])
    set_random_states(device, before)


def _device(encoder: ChunkEncoder) -> torch.device:
    return next(encoder.parameters()).device


_CHUNK = 512


class ChunkSource(Protocol):
    """Gives the document head its chunk vectors."""

    positioned: bool
    """Whether a chunk's vector depends on where it stands."""

    def backward(self, needed: Needed, loss_of: Callable[[Tensor], Tensor]) -> float:
        """Add the gradient of the scalar `loss_of(vectors [n, H])` to the weights, and return its value."""

    def vectors(self, needed: Needed) -> Tensor:
        """Return vectors [n, H] float32 as in evaluation, without a graph."""


class FrozenChunks:
    """Serves vectors that were computed once: BERT is not trained."""

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
    """Encodes with a BERT that is trained, through the gradient cache.

    With bf16 a copy of BERT in bf16 does the work. The weights to be trained stay in fp32: an update is often too
    small for the eight bits of a bf16 weight (Micikevicius et al. 2018, master copies). bf16 weights are faster than
    autocast, which converts them at every use.
    """

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
        self._working = _narrow_copy(encoder, device) if precision == "bf16" else encoder
        self._store = store
        self._micro_tokens = micro_tokens
        self._processes = processes
        self._device = device

    def backward(self, needed: Needed, loss_of: Callable[[Tensor], Tensor]) -> float:
        """See `ChunkSource`."""
        self._take_weights()
        loss = cached_backward(
            self._working,
            self._tokens(needed),
            loss_of,
            micro_tokens=self._micro_tokens,
            processes=self._processes,
            **self._places(needed),
        )
        self._give_gradients()
        return float(loss)

    @torch.no_grad()
    def vectors(self, needed: Needed) -> Tensor:
        """See `ChunkSource`."""
        self._take_weights()
        learning = self._encoder.training
        self._working.eval()
        tokens = self._tokens(needed)
        rows = self._processes.share([len(chunk) for chunk in tokens])
        places = self._places(needed)
        batches = micro_batches(self._working, tokens, self._micro_tokens, **places, rows=rows)
        hidden = int(self._encoder.bert.config.hidden_size)
        vectors = torch.zeros(len(tokens), hidden, device=self._device)
        for batch in batches:
            vectors[batch.rows] = self._working(**batch.inputs)
        self._working.train(learning)
        return self._processes.total(vectors)

    @torch.no_grad()
    def _take_weights(self) -> None:
        """Round the trained weights into the copy that does the work."""
        if self._working is self._encoder:
            return
        for narrow, wide in zip(self._working.parameters(), self._encoder.parameters(), strict=True):
            narrow.copy_(wide)
        self._working.train(self._encoder.training)

    def _give_gradients(self) -> None:
        """Add the gradients of the copy to the trained weights."""
        if self._working is self._encoder:
            return
        for narrow, wide in zip(self._working.parameters(), self._encoder.parameters(), strict=True):
            if narrow.grad is not None:
                wide.grad = narrow.grad.float() if wide.grad is None else wide.grad + narrow.grad
                narrow.grad = None

    def _tokens(self, needed: Needed) -> list[NDArray[np.int32]]:
        return [self._store.tokens(int(chunk)) for chunk in needed.chunks]

    def _places(self, needed: Needed) -> dict[str, Tensor]:
        if not self.positioned:
            return {}
        return {"section_ids": torch.from_numpy(needed.sections), "chunk_ids": torch.from_numpy(needed.positions)}


def _narrow_copy(encoder: ChunkEncoder, device: torch.device) -> ChunkEncoder:
    """Copy a BERT in bf16. On a CPU plain attention is faster than the fused kernel, at 128 tokens by a quarter."""
    return encoder.twin("eager" if device.type == "cpu" else "sdpa").to(device, torch.bfloat16)


def micro_tokens(encoder: ChunkEncoder, memory: int, chunk_tokens: int = _CHUNK, precision: str = "fp32") -> int:
    """Return how many tokens may go through BERT at once within `memory` bytes, one chunk at least.

    Raises:
        OptionError: weights, gradients and optimiser alone take more than `memory` bytes.
    """
    trained = sum(weight.numel() for weight in encoder.parameters() if weight.requires_grad)
    every = sum(weight.numel() for weight in encoder.parameters())
    config = encoder.bert.config
    layers = sum(any(weight.requires_grad for weight in layer.parameters()) for layer in encoder.bert.encoder.layer)
    narrow = precision == "bf16"
    # Weights, and for trained ones gradient and two moments of AdamW, four bytes each; two for those of a bf16 copy.
    fixed = 4 * every + 12 * trained + (2 * every + 2 * trained if narrow else 0)
    longest = min(chunk_tokens, int(config.max_position_embeddings))
    whole = layers == int(config.num_hidden_layers)
    token = activation_bytes(config, longest, None if whole else max(1, layers), 2 if narrow else 4)
    if fixed + token * longest > memory:
        needed = (fixed + token * longest) / 1e9
        raise OptionError(f"This backbone needs --set max_memory={needed:.1f}GB; give that, or train fewer layers.")
    return (memory - fixed) // token
