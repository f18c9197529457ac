"""The head for long documents gives what the graph, and the network that is trained, give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import ModelConfig, weight_files
from colde_cli.encoder.long_head import LongHead
from colde_cli.errors import ModelError


def drawn(seed: int, *sizes: int, hidden: int = 384) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(size, hidden)).astype(np.float32) for size in sizes]


@given(st.integers(2, 90), st.integers(1, 20), st.integers(1, 400), st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_a_document_read_in_blocks_has_the_vector_and_the_attention_of_the_graph(
    encoder: Encoder, n: int, m: int, cells: int, seed: int
) -> None:
    a, b = drawn(seed, n, m)
    graph = encoder.head.run([a, b], [1, 0]).attention
    whole = encoder.head.run([a])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("colde_cli.encoder.encoder._LONG", 1)
        patch.setattr("colde_cli.encoder.long_head._CELLS", cells)
        found = encoder.head.run([a])
        attention = [np.concatenate(list(rows)) for rows in encoder.head.attention(a, b)]
    np.testing.assert_allclose(found.vectors, whole.vectors, atol=1e-6)
    np.testing.assert_allclose(found.centred_unit_vectors[0], whole.centred_unit_vectors[0], atol=1e-6)
    for rows, expected in zip(attention, graph, strict=True):
        np.testing.assert_allclose(rows, expected, atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lstm_hidden": 0},
        {"attention_heads": 0},
        {"residual": "mean", "residual_share": 0.3},
        {"chunk_position": "none"},
    ],
)
@pytest.mark.usefixtures("late_imports")
def test_every_kind_of_head_is_that_of_the_network(settings: dict[str, object], tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from colde_cli.learning.colde import DocumentHead

    config = ModelConfig({"hidden_size": 24}, "", **{"lstm_hidden": 6, "projection": 8, "max_chunks": 5, **settings})  # type: ignore[arg-type]
    torch.manual_seed(1)
    network = DocumentHead(config).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    network.center.normal_()
    save_file({f"head.{name}": tensor for name, tensor in network.state_dict().items()}, tmp_path / "model.safetensors")
    (vectors,) = drawn(3, 9, hidden=24)
    one = torch.zeros(1, dtype=torch.int64)
    expected = network(torch.tensor(vectors)[None], one + 9, one, one, torch.arange(9)[None])
    long = LongHead(config, [tmp_path / "model.safetensors"])
    np.testing.assert_allclose(long.vector(vectors, np.arange(9)), expected.vectors[0].detach().numpy(), atol=1e-6)
    rows = np.concatenate(list(long.attention(vectors, vectors)))
    np.testing.assert_allclose(rows, expected.attention[0].detach().numpy(), atol=1e-6)


def test_weights_that_do_not_fit_are_named(model_folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(weight_files(model_folder)[0].read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
        LongHead(encoder.config, [tmp_path / "model.safetensors"])
    with pytest.raises(ModelError, match="do not fit"):
        LongHead(encoder.config, []).vector(drawn(1, 3)[0], np.arange(3))
