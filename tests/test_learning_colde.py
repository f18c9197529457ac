"""CoLDE's networks against what the paper and the layout promise of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.encoder.layout import WEIGHTS, ModelConfig, ModelFolder
from colde_cli.errors import ModelError

if TYPE_CHECKING:
    import torch
    from safetensors.torch import load_file
    from torch import Tensor, nn
    from torch.nn.utils.rnn import pack_padded_sequence
    from transformers import BertConfig, BertModel

    from colde_cli.learning.colde import (
        BiLSTM,
        ChunkEncoder,
        Colde,
        DocumentHead,
        HeadTensors,
        load_colde,
        save_weights,
    )
    from colde_cli.learning.losses import cosine_loss, supcon

pytestmark = pytest.mark.usefixtures("late_imports")

HIDDEN = 24
BACKBONE = {
    "model_type": "bert", "vocab_size": 50, "hidden_size": HIDDEN, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 48, "max_position_embeddings": 32, "type_vocab_size": 2,
    "pad_token_id": 0,
}  # fmt: skip
CONFIG = ModelConfig(backbone=BACKBONE, backbone_name="test", lstm_hidden=8, projection=12, max_chunks=16)
SEGMENTS = "embeddings.token_type_embeddings.weight"
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def awake(module: nn.Module) -> nn.Module:
    """Tables that start at zero get values, so that position matters."""
    for parameter in module.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.5)
    return module


def head_of(**changes: Any) -> DocumentHead:
    torch.manual_seed(4)
    head = DocumentHead(replace(CONFIG, **changes))
    return head.eval()


def groups_of(lengths: Sequence[int], seed: int = 5) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(length, HIDDEN, generator=generator) for length in lengths]


def run(
    head: DocumentHead,
    groups: Sequence[Tensor],
    partners: Sequence[int] | None = None,
    padding: int = 0,
    numbers: Sequence[Tensor] | None = None,
) -> HeadTensors:
    """Pad groups with rubbish, which must not matter; every section is number 0, chunks count from 0."""
    lengths = torch.tensor([len(group) for group in groups])
    width = int(lengths.max()) + padding
    rows = torch.full((len(groups), width, HIDDEN), 1000.0)
    chunk_ids = torch.full((len(groups), width), 9)
    for index, group in enumerate(groups):
        rows[index, : len(group)] = group
        chunk_ids[index, : len(group)] = torch.arange(len(group)) if numbers is None else numbers[index]
    chosen = torch.tensor(list(range(len(groups))) if partners is None else list(partners))
    output: HeadTensors = head(rows, lengths, chosen, torch.zeros_like(chosen), chunk_ids)
    return output


def differs(left: Tensor, right: Tensor) -> bool:
    return float((left - right).detach().abs().max()) > 1e-4


def close(left: Tensor, right: Tensor) -> None:
    torch.testing.assert_close(left, right, rtol=0, atol=1e-5)


# Chunks and embeddings


def test_input_position_adds_c_to_the_words_and_p_as_segment() -> None:
    torch.manual_seed(0)
    encoder = ChunkEncoder(replace(CONFIG, chunk_position="input", sections=3)).eval()
    awake(encoder)
    ids = torch.randint(1, 50, (3, 7))
    kept = ids.clone()
    inputs = encoder.embedding_inputs(ids, torch.tensor([0, 2, 9]), torch.tensor([0, 5, 99]))
    assert torch.equal(ids, kept)
    assert encoder.chunk_embedding is not None
    words = encoder.bert.embeddings.word_embeddings(ids)
    added = encoder.chunk_embedding.weight[[0, 5, 15]]
    close(inputs["inputs_embeds"] - words, added[:, None, :].expand(3, 7, HIDDEN))
    assert inputs["token_type_ids"].tolist() == [[0] * 7, [2] * 7, [2] * 7]


def test_untrained_input_position_zero_is_plain_bert() -> None:
    torch.manual_seed(0)
    placed = ChunkEncoder(replace(CONFIG, chunk_position="input")).eval()
    plain = ChunkEncoder(CONFIG).eval()
    plain.load_bert(placed.bert.state_dict())
    ids = torch.randint(1, 50, (2, 7))
    first = torch.zeros(2, dtype=torch.int64)
    close(placed(ids, section_ids=first, chunk_ids=torch.tensor([0, 3])), plain(ids))


def test_input_position_is_required_and_post_position_ignores_it() -> None:
    ids = torch.tensor([[2, 4, 3]])
    with pytest.raises(ValueError, match="section_ids"):
        ChunkEncoder(replace(CONFIG, chunk_position="input"))(ids)
    assert ChunkEncoder(CONFIG).embedding_inputs(ids, None, None)["input_ids"] is ids


@pytest.mark.parametrize("sections", [2, 4])
def test_new_segment_rows_copy_the_last_pretrained_one(sections: int) -> None:
    torch.manual_seed(0)
    weights = BertModel(BertConfig(**BACKBONE)).state_dict()
    encoder = ChunkEncoder(replace(CONFIG, chunk_position="input", sections=sections))
    encoder.load_bert(weights)
    table = encoder.bert.embeddings.token_type_embeddings.weight.detach()
    assert table.shape == (sections, HIDDEN)
    assert torch.equal(table[:2], weights[SEGMENTS])
    assert all(torch.equal(row, weights[SEGMENTS][1]) for row in table[2:])
    assert weights[SEGMENTS].shape == (2, HIDDEN)  # the caller's weights are left alone


def test_pretrained_weights_that_do_not_fit() -> None:
    weights = BertModel(BertConfig(**BACKBONE)).state_dict()
    del weights["encoder.layer.1.output.dense.bias"]
    with pytest.raises(ValueError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        ChunkEncoder(CONFIG).load_bert(weights)


@pytest.mark.parametrize("pool", ["mean", "cls", "pooler"])
@pytest.mark.parametrize("position", ["post", "input"])
def test_chunk_vector_ignores_padding_mates_and_order(pool: str, position: str) -> None:
    torch.manual_seed(0)
    encoder = ChunkEncoder(replace(CONFIG, chunk_pool=pool, chunk_position=position)).eval()  # type: ignore[arg-type]
    awake(encoder)
    ids = torch.randint(1, 50, (3, 9))
    lengths = torch.tensor([9, 4, 6])
    mask = (torch.arange(9)[None, :] < lengths[:, None]).long()
    sections, numbers = torch.tensor([0, 1, 1]), torch.tensor([0, 1, 2])
    together = encoder(ids, mask, sections, numbers)
    order = [2, 0, 1]
    close(encoder(ids[order], mask[order], sections[order], numbers[order]), together[order])
    for row, length in enumerate(lengths.tolist()):
        one = slice(row, row + 1)
        close(encoder(ids[one, :length], None, sections[one], numbers[one]), together[one])


def test_train_only_the_last_layers() -> None:
    encoder = ChunkEncoder(CONFIG)
    encoder.train_only(1)
    trained = {name.split(".")[3] for name, weight in encoder.named_parameters() if weight.requires_grad}
    assert trained == {"1"}
    encoder.train_only(0)
    assert not any(weight.requires_grad for weight in encoder.bert.parameters())


# The document head


@given(LENGTHS, st.integers(0, 5), st.randoms(use_true_random=False), st.sampled_from([0, 8]))
@settings(deadline=None, max_examples=40)
def test_vector_ignores_padding_mates_and_order(
    lengths: list[int], padding: int, random: Random, lstm_hidden: int
) -> None:
    head = head_of(lstm_hidden=lstm_hidden, residual="mean")
    awake(head)
    groups = groups_of(lengths)
    together = run(head, groups, padding=padding)
    order = list(range(len(groups)))
    random.shuffle(order)
    close(run(head, [groups[index] for index in order]).vectors, together.vectors[order])
    for index, group in enumerate(groups):
        alone = run(head, [group])
        size = len(group)
        close(alone.vectors[0], together.vectors[index])
        close(alone.attention[0], together.attention[index, :size, :size])
        close(alone.centred_unit_vectors[0], together.centred_unit_vectors[index, :size])
        assert not together.attention[index, size:].any()
        assert not together.attention[index, :, size:].any()
        assert not together.centred_unit_vectors[index, size:].any()


@given(LENGTHS, st.integers(0, 2**31), st.sampled_from(["none", "mean"]))
@settings(deadline=None, max_examples=25)
def test_vectors_have_unit_length_and_attention_sums_to_one(lengths: list[int], seed: int, residual: str) -> None:
    partners = [(index + 1) % len(lengths) for index in range(len(lengths))]
    output = run(head_of(residual=residual), groups_of(lengths, seed), partners)
    close(output.vectors.norm(dim=1), torch.ones(len(lengths)))
    for index, size in enumerate(lengths):
        close(output.attention[index, :size].sum(1), torch.ones(size))


def test_partner_changes_a_section_only_through_attention() -> None:
    groups, others = groups_of([3, 4, 2]), groups_of([3, 4, 2], seed=6)
    changed = [groups[0], others[1], groups[2]]
    head = head_of()
    before, after = run(head, groups, [1, 2, 0]).vectors, run(head, changed, [1, 2, 0]).vectors
    assert differs(before[0], after[0])  # its partner is section 1
    close(before[2], after[2])  # its partner is section 0
    before, after = run(head, groups).vectors, run(head, changed).vectors
    close(before[[0, 2]], after[[0, 2]])
    for off in (head_of(attention_heads=0), head_of(lstm_hidden=0)):
        before, after = run(off, groups, [1, 2, 0]).vectors, run(off, changed, [1, 2, 0]).vectors
        close(before[[0, 2]], after[[0, 2]])
        assert differs(before[1], after[1])


@pytest.mark.parametrize("loss", ["supcon", "cosine"])
def test_gradients_reach_every_weight(loss: str) -> None:
    head = head_of(residual="mean").train()
    vectors = run(head, groups_of([3, 2, 4, 3]), [1, 0, 3, 2]).vectors
    document = torch.tensor([0, 0, 1, 1])
    positives = document[:, None] == document[None, :]
    total = supcon(vectors, positives, 0.5) if loss == "supcon" else cosine_loss(vectors, positives)
    total.backward()  # type: ignore[no-untyped-call]
    assert head.attention is not None
    for linear in (head.attention.query, head.attention.key, head.attention.value, head.attention.output):
        assert linear.weight.grad is not None
        assert float(linear.weight.grad.abs().max()) > 1e-7
    assert all(weight.grad is not None for weight in head.parameters())


def test_order_of_chunks_matters_to_the_lstm_alone() -> None:
    groups = groups_of([5])
    backwards = [groups[0].flip(0)]
    assert differs(run(head_of(), groups).vectors, run(head_of(), backwards).vectors)
    plain = head_of(lstm_hidden=0)
    close(run(plain, groups).vectors, run(plain, backwards).vectors)


@given(LENGTHS)
@settings(deadline=None, max_examples=25)
def test_bilstm_equals_the_packed_one(lengths: list[int]) -> None:
    torch.manual_seed(0)
    ours, packed = BiLSTM(HIDDEN, 8), nn.LSTM(HIDDEN, 8, batch_first=True, bidirectional=True)
    state = {**ours.onward.state_dict()}
    state |= {f"{name}_reverse": weight for name, weight in ours.backward_.state_dict().items()}
    packed.load_state_dict(state)
    rows = nn.utils.rnn.pad_sequence(groups_of(lengths), batch_first=True, padding_value=7.0)
    sizes = torch.tensor(lengths)
    _, (last, _) = packed(pack_padded_sequence(rows, sizes, batch_first=True, enforce_sorted=False))
    close(ours(rows, sizes), torch.cat([last[0], last[1]], dim=1))


# Ablations and variants are configuration


def test_without_lstm_is_the_projected_mean() -> None:
    head = head_of(lstm_hidden=0)
    assert head.attention is None
    assert head.lstm is None
    groups = groups_of([3, 5])
    means = torch.stack([group.mean(0) for group in groups])
    close(run(head, groups).vectors, nn.functional.normalize(head.projection(means), dim=1))
    attention = run(head, groups).attention
    close(attention[0, :3, :3], torch.full((3, 3), 1 / 3))


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_untrained_residual_adds_the_cosine_of_centred_means(share: float) -> None:
    """With a share of 0 for z, documents are ordered as that control orders them."""
    head, plain = head_of(residual="mean", residual_share=share), head_of()
    generator = torch.Generator().manual_seed(8)
    head.center.copy_(torch.randn(HIDDEN, generator=generator))
    plain.load_state_dict({name: head.state_dict()[name] for name in plain.state_dict()})
    groups = groups_of([3, 1, 4, 2, 5, 3, 2, 6])
    means = nn.functional.normalize(torch.stack([group.mean(0) for group in groups]) - head.center, dim=1)
    scores, inner = run(head, groups).vectors, run(plain, groups).vectors
    close(scores @ scores.T, (1 - share) * means @ means.T + share * inner @ inner.T)


# Elongation


# On disk


def test_roundtrip_keeps_the_head_and_halves_the_backbone(tmp_path: Path) -> None:
    torch.manual_seed(0)
    colde = Colde(replace(CONFIG, residual="mean", chunk_position="input"))
    awake(colde)
    save_weights(colde, tmp_path)
    stored = load_file(tmp_path / WEIGHTS)
    assert stored.keys() == colde.state_dict().keys()
    again = load_colde(ModelFolder(tmp_path, colde.config))
    assert not again.training
    for name, weight in colde.state_dict().items():
        backbone = name.startswith("encoder.bert.")
        assert stored[name].dtype == (torch.float16 if backbone else torch.float32)
        expected = weight.half().float() if backbone else weight
        assert torch.equal(again.state_dict()[name], expected), name
        assert again.state_dict()[name].dtype == torch.float32


def test_weights_that_do_not_fit_name_the_file(tmp_path: Path) -> None:
    save_weights(Colde(CONFIG), tmp_path)
    with pytest.raises(ModelError, match=WEIGHTS):
        load_colde(ModelFolder(tmp_path, replace(CONFIG, projection=13)))
    with pytest.raises(ModelError, match=WEIGHTS):
        load_colde(ModelFolder(tmp_path, replace(CONFIG, attention_heads=5)))
    (tmp_path / WEIGHTS).write_bytes(b"not a safetensors file")
    with pytest.raises(ModelError, match=WEIGHTS):
        load_colde(ModelFolder(tmp_path, CONFIG))
