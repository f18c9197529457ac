"""Chunk-level GradCache: its gradients are those of the whole batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.learning.augmentation import Needed
from colde_cli.learning.tokens import ChunkStore

if TYPE_CHECKING:
    import torch
    from tiny_colde import NUMBERS, SECTIONS, batch, loss_with, model, positions
    from torch import Tensor, nn
    from torch.autograd.graph import saved_tensors_hooks
    from transformers import BertConfig, BertModel

    from colde_cli.learning.colde import Colde
    from colde_cli.learning.gradient_cache import TrainedChunks, activation_bytes, cached_backward, micro_batches, plan

pytestmark = pytest.mark.usefixtures("late_imports")


def whole_batch_backward(colde: Colde, micro_tokens: int) -> Tensor:
    """The plain way: the graph of every chunk is kept until the one backward pass."""
    chunks = batch()
    vectors: list[Tensor] = [torch.empty(0)] * len(chunks)
    for micro in micro_batches(colde.encoder, chunks, micro_tokens, **positions(colde)):
        for row, vector in zip(micro.rows.tolist(), colde.encoder(**micro.inputs), strict=True):
            vectors[row] = vector
    loss = loss_with(colde)(torch.stack(vectors))
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach()


def gradients(module: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("chunk_position", ["post", "input"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("micro_tokens", [1, 18, 10_000])
def test_gradients_equal_those_of_the_whole_batch(chunk_position: str, dropout: float, micro_tokens: int) -> None:
    wanted, cached = model(dropout, chunk_position), model(dropout, chunk_position)
    torch.manual_seed(3)
    wanted_loss = whole_batch_backward(wanted, micro_tokens)
    after = torch.rand(4)
    torch.manual_seed(3)
    loss = cached_backward(cached.encoder, batch(), loss_with(cached), micro_tokens=micro_tokens, **positions(cached))
    torch.testing.assert_close(loss, wanted_loss)
    assert not loss.requires_grad
    assert torch.equal(torch.rand(4), after)  # the replay leaves the random numbers where they were
    assert gradients(cached).keys() == gradients(wanted).keys()
    for name, gradient in gradients(wanted).items():
        torch.testing.assert_close(gradients(cached)[name], gradient, rtol=1e-4, atol=1e-6, msg=name)
    assert float(gradients(cached)["encoder.bert.embeddings.word_embeddings.weight"].abs().max()) > 1e-4


def test_without_dropout_the_budget_does_not_matter() -> None:
    one, many = model(0.0), model(0.0)
    cached_backward(one.encoder, batch(), loss_with(one), micro_tokens=10_000)
    cached_backward(many.encoder, batch(), loss_with(many), micro_tokens=10)
    for name, gradient in gradients(one).items():
        torch.testing.assert_close(gradients(many)[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_gradients_accumulate() -> None:
    once, twice = model(0.0), model(0.0)
    cached_backward(once.encoder, batch(), loss_with(once), micro_tokens=20)
    for _ in range(2):
        cached_backward(twice.encoder, batch(), loss_with(twice), micro_tokens=20)
    for name, gradient in gradients(once).items():
        torch.testing.assert_close(gradients(twice)[name], 2 * gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_frozen_encoder_trains_the_head_alone() -> None:
    colde = model(0.1)
    colde.encoder.train_only(0)
    cached_backward(colde.encoder, batch(), loss_with(colde), micro_tokens=20)
    assert not gradients(colde.encoder)
    assert float(gradients(colde.head)["projection.1.weight"].abs().max()) > 0


def test_last_layers_alone() -> None:
    colde, wanted = model(0.0), model(0.0)
    for each in (colde, wanted):
        each.encoder.train_only(1)
    cached_backward(colde.encoder, batch(), loss_with(colde), micro_tokens=20)
    whole_batch_backward(wanted, 10_000)
    assert gradients(colde).keys() == gradients(wanted).keys()
    assert {name.split(".")[3] for name in gradients(colde.encoder) if ".layer." in f".{name}"} == {"1"}


def source(colde: Colde, precision: str) -> tuple[TrainedChunks, Needed]:
    """The chunks of `batch()` as one document, all of which are needed."""
    chunks = batch()
    ends = np.cumsum([0, *map(len, chunks)])
    numbers = np.arange(len(chunks))
    store = ChunkStore(np.concatenate(chunks), ends, numbers.astype(np.int32), np.array([0, len(chunks)]))
    made = TrainedChunks(colde.encoder, store, 20, torch.device("cpu"), precision)
    return made, Needed(numbers, SECTIONS.numpy(), NUMBERS.numpy(), numbers[:, None])


@pytest.mark.parametrize("chunk_position", ["post", "input"])
def test_bf16_works_on_a_copy_and_the_gradients_reach_the_weights(chunk_position: str) -> None:
    wide, narrow = model(0.0, chunk_position), model(0.0, chunk_position)
    for colde, precision in ((wide, "fp32"), (narrow, "bf16")):
        made, needed = source(colde, precision)
        made.backward(needed, loss_with(colde))
    one, other = gradients(wide), gradients(narrow)
    assert one.keys() == other.keys()
    assert {gradient.dtype for gradient in other.values()} == {torch.float32}
    flat = [torch.cat([gradient.flatten() for gradient in each.values()]) for each in (one, other)]
    assert float(torch.cosine_similarity(flat[0], flat[1], dim=0)) > 0.99
    assert not torch.equal(flat[0], flat[1])
    made.backward(needed, loss_with(narrow))
    for name, gradient in gradients(narrow).items():
        torch.testing.assert_close(gradient, 2 * other[name], rtol=1e-4, atol=1e-6, msg=name)


def test_updates_too_small_for_bf16_add_up() -> None:
    """A thousand steps of 1e-5 on a weight of 1: in bf16 each would be rounded away."""
    colde = model(0.0)
    made, needed = source(colde, "bf16")
    norm = colde.encoder.bert.encoder.layer[1].output.LayerNorm.weight
    before = made.vectors(needed)
    with torch.no_grad():
        for _ in range(1000):
            norm -= 1e-5
    torch.testing.assert_close(norm, torch.full_like(norm, 0.99), rtol=0, atol=1e-4)
    torch.testing.assert_close(made.vectors(needed), 0.99 * before, rtol=0.01, atol=0.005)
    assert not torch.equal(made.vectors(needed), before)


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(1, 200))
@settings(deadline=None)
def test_plan_keeps_to_the_budget_and_leaves_no_chunk_out(lengths: list[int], budget: int) -> None:
    batches = list(plan(lengths, budget))
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= budget


def test_micro_batches_pad_and_mask() -> None:
    chunks = batch()
    for micro in micro_batches(model(0.0).encoder, chunks, 18):
        ids = micro.inputs["input_ids"]
        mask = micro.inputs.get("attention_mask", torch.ones_like(ids))
        assert set(mask.flatten().tolist()) <= {0, 1}
        for row, line, kept in zip(micro.rows.tolist(), ids, mask, strict=True):
            assert line[kept.bool()].tolist() == chunks[row].tolist()
            assert not line[~kept.bool()].any()


def kept_bytes(config: BertConfig, chunks: int, length: int) -> int:
    """What the graph of one forward pass keeps, weights not counted."""
    bert = BertModel(config, add_pooling_layer=False).train()
    weights = {weight.untyped_storage().data_ptr() for weight in bert.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        bert(torch.ones(chunks, length, dtype=torch.int64))
    return sum(tensor.untyped_storage().nbytes() for place, tensor in kept.items() if place not in weights)


@pytest.mark.parametrize(("chunks", "length"), [(8, 32), (2, 128)])
def test_budget_covers_what_the_graph_keeps(chunks: int, length: int) -> None:
    config = BertConfig(
        vocab_size=50,
        hidden_size=96,
        num_hidden_layers=5,
        num_attention_heads=6,
        intermediate_size=384,
        max_position_embeddings=128,
    )
    kept = kept_bytes(config, chunks, length)
    bound = chunks * length * activation_bytes(config, length)
    assert kept <= bound <= 1.3 * kept
