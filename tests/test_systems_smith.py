"""SMITH's network: independence, combinations, gradients, its graph, and that it learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest

from colde_cli.encoder.layout import SystemConfig

if TYPE_CHECKING:
    import torch
    from tiny_networks import RowsAlone
    from torch import Tensor
    from transformers import BertConfig, BertModel

    from colde_cli.learning.graphs import write_graph
    from colde_cli.systems.smith import COMBINATIONS, Combination, Smith, SmithSizes

pytestmark = pytest.mark.usefixtures("late_imports")

HIDDEN, WORDS = 16, 40
NAMES = ("normal", "sum-concat", "mean-concat", "attention")
SIZES = {
    "hidden": HIDDEN, "heads": 2, "intermediate": 32, "sentence_layers": 2, "document_layers": 2,
    "attention_hidden": 8,
}  # fmt: skip
BACKBONE = {
    "model_type": "bert", "vocab_size": WORDS, "hidden_size": HIDDEN, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 24,
}  # fmt: skip


def config_of(combine: Combination = "normal", **changes: Any) -> SystemConfig:
    network = {**SIZES, "combine": combine, **changes}
    dim = network["hidden"] * (1 if combine == "normal" else 2)
    return SystemConfig("smith", "blocks", 12, 10, dim, network, vocab_size=WORDS)


def smith_of(combine: Combination = "normal", seed: int = 2, **changes: Any) -> Smith:
    torch.manual_seed(seed)
    network = Smith(config_of(combine, **changes), attention="eager").eval()
    lively(network)
    return network


def lively(module: Any) -> Any:
    """Weights so large that different texts get clearly different vectors."""
    for weight in module.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.3)
    return module


def documents() -> list[Tensor]:
    """One document for each list of block lengths: int64 [R, L]."""
    generator = torch.Generator().manual_seed(0)
    made = []
    for lengths in ([7, 9, 4], [5], [12, 3, 8, 11, 6]):
        rows = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
        for row, length in zip(rows, lengths, strict=True):
            row[:length] = torch.randint(5, WORDS, (length,), generator=generator)
        made.append(rows)
    return made


def batch_of(rows: list[Tensor], height: int = 0, width: int = 0) -> Tensor:
    height = max(height, *(len(item) for item in rows))
    width = max(width, *(item.shape[1] for item in rows))
    table = torch.zeros(len(rows), height, width, dtype=torch.int64)
    for place, item in zip(table, rows, strict=True):
        place[: len(item), : item.shape[1]] = item
    return table


def run(network: Any, rows: Tensor) -> Tensor:
    with torch.no_grad():
        vectors: Tensor = network(rows, torch.zeros(rows.shape[:2], dtype=torch.int64))
    return vectors


def close(left: Tensor, right: Tensor) -> None:
    torch.testing.assert_close(left, right, rtol=0, atol=1e-5)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("combine", NAMES)
def test_a_vector_depends_on_its_own_document_alone(combine: Combination, compat: bool) -> None:
    network = smith_of(combine, paper_compat=compat)
    alone = torch.cat([run(network, rows[None]) for rows in documents()])
    assert float((alone[0] - alone[2]).abs().max()) > 0.01
    close(run(network, batch_of(documents())), alone)
    close(run(network, batch_of(documents(), 9, 12)), alone)
    close(run(network, batch_of([documents()[2], documents()[0]])), alone[[2, 0]])


def test_combinations_by_hand() -> None:
    assert COMBINATIONS == NAMES
    rows = documents()[0][None]
    networks = {combine: smith_of(combine) for combine in COMBINATIONS}
    state = networks["attention"].state_dict()
    for network in networks.values():
        network.load_state_dict({name: state[name] for name in network.state_dict()})
    blocks: Tensor = networks["normal"].encode_blocks(rows).vectors[0].detach()
    close(blocks.norm(dim=1), torch.ones(3))
    document = run(networks["normal"], rows)[0]

    def joined(part: Tensor) -> Tensor:
        whole = torch.cat([part, document])
        return torch.div(whole, whole.norm())

    close(run(networks["sum-concat"], rows)[0], joined(blocks.sum(0)))
    close(run(networks["mean-concat"], rows)[0], joined(blocks.mean(0)))
    weigh = networks["attention"].weigh
    assert weigh is not None
    weights = weigh(blocks).detach().softmax(0)
    close(run(networks["attention"], rows)[0], joined((weights * blocks).sum(0)))
    assert float(weights.max() - weights.min()) > 0.01


def test_paper_compat_counts_padding_and_keeps_the_length() -> None:
    rows = documents()[0][None]
    plain, compat = smith_of("sum-concat"), smith_of("sum-concat", paper_compat=True)
    mean = smith_of("mean-concat", paper_compat=True)
    blocks = plain.encode_blocks(rows).vectors[0].detach()
    empty = plain._encode_rows(torch.zeros(1, 1, dtype=torch.int64))[1][0].detach()
    document = run(smith_of(), rows)[0]
    slots = blocks.sum(0) + 7 * empty
    close(run(compat, rows)[0], torch.cat([slots, document]))
    close(run(mean, rows)[0], torch.cat([slots / 10, document]))
    assert abs(float(run(compat, rows).norm()) - 1) > 0.5
    # Alone, d is of unit length in the public code too.
    close(run(smith_of(paper_compat=True), rows)[0], document)


def test_order_of_blocks_matters_to_the_document_and_not_to_the_sum() -> None:
    network = smith_of("sum-concat", paper_compat=True)
    first, second = run(network, torch.stack([documents()[0], documents()[0].flip(0)]))
    close(first[:HIDDEN], second[:HIDDEN])
    assert float((first - second)[HIDDEN:].abs().max()) > 0.01


@pytest.mark.parametrize("combine", NAMES)
def test_gradients_reach_every_weight(combine: Combination) -> None:
    network = smith_of(combine).train()
    network(batch_of(documents())).mul(torch.arange(Smith.dim({**SIZES, "combine": combine}))).sum().backward()
    lacking = [name for name, weight in network.named_parameters() if weight.grad is None]
    assert lacking == []
    # Keys' biases cancel in a softmax, positions beyond the longest text are not used.
    gradients = {name: weight.grad for name, weight in network.named_parameters() if weight.grad is not None}
    dead = [name for name, gradient in gradients.items() if not gradient.abs().max() > 1e-9]
    assert all(name.endswith("key.bias") for name in dead)


def test_a_backbone_encodes_the_blocks() -> None:
    torch.manual_seed(0)
    weights = lively(BertModel(BertConfig(**BACKBONE))).state_dict()
    config = replace(config_of(), backbone=BACKBONE, network={"heads": 2, "document_layers": 1})
    network = Smith(config).eval()
    network.load_pretrained(weights)
    assert torch.equal(
        network.words.encoder.layer[1].output.dense.weight, weights["encoder.layer.1.output.dense.weight"]
    )
    assert run(network, batch_of(documents())).shape == (3, HIDDEN)
    without = {name: weight for name, weight in weights.items() if not name.startswith("pooler.")}
    Smith(config).load_pretrained(without)
    with pytest.raises(ValueError, match="position_embeddings"):
        Smith(config).load_pretrained({**weights, "embeddings.position_embeddings.weight": torch.zeros(3, 3)})


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="has dim 32, not 16"):
        Smith(replace(config_of("sum-concat"), dim=16))
    with pytest.raises(ValueError, match="no combination 'max'"):
        Smith(config_of("max"))  # type: ignore[arg-type]


def test_sizes_of_the_paper() -> None:
    assert SmithSizes.of({}) == SmithSizes(256, 4, 512, 6, 3)
    assert Smith.dim({}) == 256
    assert Smith.dim({"combine": "attention"}) == 512
    assert Smith.dim({"combine": "sum-concat"}, 384) == 768
    with pytest.raises(ValueError, match="no size 'window'"):
        SmithSizes.of({"window": 3})
    with pytest.raises(ValueError, match="not 'relu'"):
        SmithSizes.of({"dense": "relu"})
    with pytest.raises(ValueError, match="not negative"):
        SmithSizes.of({"deviation": -1.0})


def test_untrained_vectors_differ_more_than_with_the_deviation_of_bert() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(5, WORDS, (8, 6, 12), generator=generator)
    rows[:, :, 0] = 2  # every block begins with [CLS], which must gather what differs
    spread = {}
    for deviation in (0.02, 0.0):
        torch.manual_seed(0)
        vectors = run(Smith(config_of(hidden=64, deviation=deviation)).eval(), rows)
        spread[deviation] = float((vectors @ vectors.T)[torch.triu_indices(8, 8, 1).unbind()].std())
    assert spread[0.0] > 20 * spread[0.02]


def graph_of(network: Any, target: Path, height: int) -> Any:
    rows = torch.randint(5, WORDS, (1, height, 7))
    free = {1: "rows", 2: "tokens"}
    write_graph(RowsAlone(network), {"rows": rows}, {"rows": free}, {"vectors": {}}, target)
    return ort.InferenceSession(str(target), providers=["CPUExecutionProvider"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("combine", "compat"),
    [
        ("normal", False), ("sum-concat", True), ("mean-concat", False), ("attention", False),
        ("attention", True),
    ],
)  # fmt: skip
def test_graph_equals_the_module(combine: Combination, compat: bool, tmp_path: Path) -> None:
    network = smith_of(combine, paper_compat=compat)
    session = graph_of(network, tmp_path / "tower.onnx", 3)
    for rows in [
        *(item[None] for item in documents()),
        batch_of(documents()[:1], 10, 12),
        batch_of(documents()[1:2], 4),
    ]:
        found = session.run(None, {"rows": rows.numpy()})[0]
        np.testing.assert_allclose(found, run(network, rows).numpy(), rtol=0, atol=1e-5)
