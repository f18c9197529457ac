"""The head of a served model gives what the network that is trained gives, however long a document is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_changes import linked_model

from colde_cli.corpus.records import Card, unpack, vector_record
from colde_cli.documents.document import Part, assemble
from colde_cli.encoder.document_head import Head
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import HEAD_GRAPH, ModelConfig, ModelFolder, model_tensors, weight_files
from colde_cli.encoder.runtime import head_contract, open_session
from colde_cli.errors import ModelError
from colde_cli.similarity.comparison import compare_encodings


def drawn(seed: int, *sizes: int, hidden: int = 384) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(size, hidden)).astype(np.float32) for size in sizes]


@given(st.integers(2, 90), st.integers(1, 20), st.integers(1, 400), st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_attention_in_blocks_and_centred_vectors_are_those_of_the_graph(
    encoder: Encoder, n: int, m: int, cells: int, seed: int
) -> None:
    a, b = drawn(seed, n, m)
    groups = [*sorted((a, b), key=len)]
    width = len(groups[1])
    feed = {
        "chunk_vectors": np.stack([np.pad(group, ((0, width - len(group)), (0, 0))) for group in groups]),
        "lengths": np.array([len(group) for group in groups]),
        "partners": np.array([1, 0]),
        "section_ids": np.zeros(2, np.int64),
        "chunk_ids": np.stack([np.minimum(np.arange(width), encoder.config.max_chunks - 1)] * 2),
    }
    graph = open_session(encoder.folder.file(HEAD_GRAPH), head_contract(384))
    attention, directions = graph.session.run(["attention", "directions"], feed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("colde_cli.scoring.score_table._CELLS", cells)
        found = np.concatenate(list(encoder.head.attention(*groups)))
        back = np.concatenate(list(encoder.head.attention(*groups[::-1])))
    np.testing.assert_allclose(found, attention[0][: len(groups[0])], atol=1e-6)
    np.testing.assert_allclose(back, attention[1][:, : len(groups[0])], atol=1e-6)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-4)
    np.testing.assert_allclose(encoder.centred_unit_vectors(groups[1]), directions[1], atol=1e-6)


def test_a_long_text_has_the_mean_of_its_stretches(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    (vectors,) = drawn(5, encoder.config.max_chunks + 11)
    whole = encoder.head.vector(vectors)
    assert float(np.linalg.norm(whole)) == pytest.approx(1, abs=1e-5)
    monkeypatch.setattr("colde_cli.encoder.document_head._STRETCH", 30)
    places = np.array_split(np.arange(len(vectors)), 3)
    mean = sum(encoder.head.vector(vectors[rows], rows) for rows in places)
    np.testing.assert_allclose(encoder.head.vector(vectors), mean / np.linalg.norm(mean), atol=1e-6)


def test_no_score_of_the_shipped_model_asks_for_the_head(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = linked_model(model_folder, tmp_path / "model")
    (folder / HEAD_GRAPH).unlink()
    (folder / HEAD_GRAPH).write_bytes(b"no graph")
    encoder = Encoder.load(folder, device="cpu")
    a, b = (encoder.encode(assemble("", "", [Part("1 Rent", text)])) for text in ("The rent rises.", "The rent falls."))
    monkeypatch.setattr(Head, "attention", None)
    comparison = compare_encodings(a, b, encoder)
    assert comparison.section_scores.shape == (1, 1)
    assert a.kept_own is None
    assert "document_vector" not in (unpack(vector_record(a, encoder.centre)) or ({}, {}))[1]
    assert Card.of(a).document_vector is None
    with pytest.raises(ModelError, match="document_head"):
        _ = a.document_vector


def test_a_model_that_scores_by_z_keeps_it(model_folder: Path, tmp_path: Path) -> None:
    folder = linked_model(model_folder, tmp_path / "model")
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    values["score_weights"] |= {"colde": 0.5, "chunks": values["score_weights"]["chunks"] - 0.5, "short": None}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    encoder = Encoder.load(folder, device="cpu")
    a, b = (encoder.encode(assemble("", "", [Part("1 Rent", text)])) for text in ("The rent rises.", "The rent falls."))
    kept = (unpack(vector_record(a, encoder.centre)) or ({}, {}))[1]
    assert np.array_equal(kept["document_vector"], a.document_vector)
    assert "colde" in {part.name for part in compare_encodings(a, b, encoder).parts}
    with pytest.raises(ModelError, match="encode it anew"):
        compare_encodings(replace(a, source=replace(a.vectors, own=None)), b, encoder)


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
    head = Head(ModelFolder(tmp_path, config))
    rows = np.concatenate(list(head.attention(vectors, vectors)))
    np.testing.assert_allclose(rows, expected.attention[0].detach().numpy(), atol=1e-6)


def test_weights_that_do_not_fit_are_named(model_folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(weight_files(model_folder)[0].read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
        model_tensors(tmp_path, "head.")
    entry = '{"head.center": {"dtype": "F32", "shape": [9], "data_offsets": [0, 4]}}'
    for held in ("[" * 5000, "[1]", '{"head.center": 1}', entry, entry.replace("9", "1" + 30 * "0")):
        header = held.encode()
        (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
        with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
            model_tensors(tmp_path, "head.")
    (vectors,) = drawn(1, 3, hidden=20)
    with pytest.raises(ModelError, match="do not fit"):
        list(encoder.head.attention(vectors, vectors))
