"""Graphs against the modules they were traced from, and int8 against fp32."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
import pytest

from colde_cli import settings
from colde_cli.encoder.layout import ENCODER_GRAPHS, ModelConfig, open_folder
from colde_cli.errors import OptionError

if TYPE_CHECKING:
    import onnx
    import torch

    from colde_cli.learning.colde import Colde, load_colde, save_weights
    from colde_cli.learning.graphs import (
        STORED,
        export_model,
        fuse_nodes,
        halve,
        share_weights,
        stored_digest,
        write_chunk_encoder,
        write_head,
    )
    from colde_cli.learning.smooth_quant import activation_maxima, prepare, quantize

pytestmark = pytest.mark.usefixtures("late_imports")

TINY = {
    "vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64, "type_vocab_size": 2,
}  # fmt: skip


def tiny(**changes: object) -> Colde:
    """A small CoLDE with random weights, embeddings of position included."""
    torch.manual_seed(3)
    config = ModelConfig(backbone=TINY, backbone_name="tiny", chunk_tokens=64, lstm_hidden=16, **changes)  # type: ignore[arg-type]
    model = Colde(config, attention="eager").eval()
    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.1)
    return model


def run(path: Path, **feed: np.ndarray) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # as served, on processors without VNNI
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, feed)
    return found


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    found: np.ndarray = (left * right).sum(-1) / np.linalg.norm(left, axis=-1) / np.linalg.norm(right, axis=-1)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pool", "position"), [("mean", "post"), ("mean", "input"), ("cls", "post"), ("pooler", "input")]
)
def test_chunk_encoders_equal_pytorch(tmp_path: Path, pool: str, position: str) -> None:
    encoder = tiny(chunk_pool=pool, chunk_position=position).encoder
    write_chunk_encoder(encoder, tmp_path / "plain.onnx", masked=False)
    write_chunk_encoder(encoder, tmp_path / "masked.onnx", masked=True)
    for rows, tokens in ((1, 5), (1, 64), (4, 9)):
        ids = torch.randint(0, 300, (rows, tokens))
        where = {"section_ids": torch.arange(rows) % 2, "chunk_ids": torch.arange(rows)}
        positions = where if position == "input" else {}
        with torch.no_grad():
            expected = encoder(ids, **positions).numpy()
        feed = {"input_ids": ids.numpy()} | {name: value.numpy() for name, value in positions.items()}
        (plain,) = run(tmp_path / "plain.onnx", **feed)
        (masked,) = run(tmp_path / "masked.onnx", attention_mask=np.ones((rows, tokens), np.int64), **feed)
        np.testing.assert_allclose(plain, expected, atol=1e-4)
        np.testing.assert_allclose(masked, expected, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {}, {"chunk_position": "input"}, {"chunk_position": "none"}, {"lstm_hidden": 0}, {"attention_heads": 0},
        {"residual": "mean"},
    ],
    ids=str,
)  # fmt: skip
def test_head_equals_pytorch_for_any_shape(tmp_path: Path, changes: dict[str, object]) -> None:
    torch.manual_seed(3)
    config = ModelConfig(backbone=TINY, backbone_name="tiny", **({"lstm_hidden": 16} | changes))  # type: ignore[arg-type]
    head = Colde(config).eval().head
    write_head(head, tmp_path / "head.onnx")
    for rows, chunks in ((1, 1), (1, 90), (2, 7), (6, 3)):
        vectors = torch.randn(rows, chunks, 32)
        lengths = torch.randint(1, chunks + 1, (rows,))
        partners = torch.randperm(rows)
        sections, positions = torch.arange(rows) % 2, torch.arange(chunks).repeat(rows, 1)
        inputs = (vectors, lengths, partners, sections, positions)
        with torch.no_grad():
            expected = head(*inputs)
        names = ("chunk_vectors", "lengths", "partners", "section_ids", "chunk_ids")
        feed = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        # A part that the model does without is pruned from its graph.
        session = ort.InferenceSession(str(tmp_path / "head.onnx"), providers=["CPUExecutionProvider"])
        wanted = {item.name for item in session.get_inputs()}
        outputs = session.run(None, {name: value for name, value in feed.items() if name in wanted})
        for got, want in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(got, want.numpy(), atol=1e-4)


def outlier_encoder(tmp_path: Path) -> Path:
    """A chunk encoder with a channel far larger than the others, as MiniLM has."""
    encoder = tiny().encoder
    with torch.no_grad():
        for layer in encoder.bert.encoder.layer:
            layer.intermediate.dense.bias[5] = 40.0
            layer.attention.output.LayerNorm.weight[3] = 12.0
    write_chunk_encoder(encoder, tmp_path / "plain.onnx", masked=False)
    return tmp_path / "plain.onnx"


def samples(count: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 300, rng.integers(8, 64)).tolist() for _ in range(count)]


def test_rewrites_before_quantisation_are_exact_but_for_the_embedding(tmp_path: Path) -> None:
    path = outlier_encoder(tmp_path)
    model = onnx.load(path)
    prepared, keep_float = prepare(model, activation_maxima(model, samples(16, seed=1)))
    onnx.save(prepared, tmp_path / "prepared.onnx")
    assert len(keep_float) == 2, "each layer's large channel must take the side path"
    ids = np.asarray(samples(1, seed=2), np.int64)
    (before,), (after,) = run(path, input_ids=ids), run(tmp_path / "prepared.onnx", input_ids=ids)
    assert cosines(before, after).min() > 0.9999


def test_quantisation_is_reproducible_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = outlier_encoder(tmp_path)
    for name in ("one.onnx", "two.onnx"):
        quantize(path, tmp_path / name, samples(8, seed=1))
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["one.onnx", "plain.onnx", "two.onnx"]


def test_fp16_stays_close(tmp_path: Path) -> None:
    write_chunk_encoder(tiny().encoder, tmp_path / "masked.onnx", masked=True)
    halve(tmp_path / "masked.onnx", tmp_path / "half.onnx")
    ids = np.asarray(samples(1, seed=4), np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    (full,), (half,) = run(tmp_path / "masked.onnx", **feed), run(tmp_path / "half.onnx", **feed)
    assert half.dtype == np.float32
    assert cosines(full, half).min() > 0.9999
    domains = {item.data_type for item in onnx.load(tmp_path / "half.onnx").graph.initializer}
    assert onnx.TensorProto.FLOAT16 in domains
    assert onnx.TensorProto.FLOAT not in domains


def model_on_disk(folder: Path) -> Path:
    folder.mkdir()
    model = tiny()
    save_weights(model, folder)
    (folder / "config.json").write_text(model.config.to_json())
    return folder


@pytest.mark.slow
def test_export_writes_a_whole_model(tmp_path: Path) -> None:
    folder = model_on_disk(tmp_path / "model")
    export_model(folder, samples(8, seed=1), ("int8", "fp16", "fp32"))
    assert {item.name for item in folder.iterdir()} == {
        "config.json", "model.safetensors", "chunk_encoder.onnx", "chunk_encoder_fp16.onnx",
        "chunk_encoder_quantized.onnx", "document_head.onnx",
    }  # fmt: skip
    encoder = load_colde(open_folder(folder)).encoder
    ids = np.asarray(samples(1, seed=5), np.int64)
    with torch.no_grad():
        expected = encoder(torch.from_numpy(ids)).numpy()
    (full,) = run(folder / "chunk_encoder.onnx", input_ids=ids, attention_mask=np.ones_like(ids))
    np.testing.assert_allclose(full, expected, atol=1e-4)


@pytest.mark.slow
def test_graphs_that_share_weights_give_the_same_bytes(tmp_path: Path) -> None:
    folder = model_on_disk(tmp_path / "model")
    model = load_colde(open_folder(folder), attention="eager")
    whole = {part: tmp_path / f"{part}.onnx" for part in ("masked", "plain", "half", "int8", "head")}
    write_chunk_encoder(model.encoder, whole["masked"], masked=True)
    write_chunk_encoder(model.encoder, whole["plain"], masked=False)
    halve(whole["masked"], whole["half"])
    quantize(whole["plain"], whole["int8"], samples(8, seed=1))
    write_head(model.head, whole["head"])
    ids = np.asarray(samples(1, seed=5), np.int64)
    rng = np.random.default_rng(5)
    feed: dict[str, np.ndarray] = {
        "input_ids": ids, "attention_mask": np.ones_like(ids),
        "chunk_vectors": rng.normal(size=(2, 9, 32)).astype(np.float32), "lengths": np.array([9, 4]),
        "partners": np.array([1, 0]), "section_ids": np.zeros(2, np.int64),
        "chunk_ids": np.arange(9)[None].repeat(2, 0),
    }  # fmt: skip
    for name in ("masked", "half", "int8", "head"):
        shared = Path(shutil.copy(whole[name], folder))
        share_weights(shared, [folder / "model.safetensors"])
        names = {item.name for item in onnx.load(whole[name]).graph.input}
        wanted = {key: value for key, value in feed.items() if key in names}
        for left, right in zip(run(whole[name], **wanted), run(shared, **wanted), strict=True):
            np.testing.assert_array_equal(left, right, err_msg=name)
        stored = onnx.load(shared, load_external_data=False)
        inside = [item for item in stored.graph.initializer if item.data_location != onnx.TensorProto.EXTERNAL]
        matrices = [item.name for item in inside if item.data_type != onnx.TensorProto.INT8 and len(item.dims) > 1]
        assert all(len(item.raw_data) < 4096 for item in inside if item.name in matrices), (name, matrices)


@pytest.mark.parametrize("position", ["post", "input"])
def test_fused_nodes_give_the_same_bytes(tmp_path: Path, position: str) -> None:
    plain, fused = tmp_path / "plain.onnx", tmp_path / "fused.onnx"
    write_chunk_encoder(tiny(chunk_position=position).encoder, plain, masked=False)
    quantize(plain, plain, samples(8, seed=1))
    for _ in range(2):
        earlier = fused.read_bytes() if fused.exists() else None
        shutil.copy(plain, fused)
        fuse_nodes(fused)
        assert earlier in (None, fused.read_bytes())
    before, after = (onnx.load(path) for path in (plain, fused))
    assert len(after.graph.node) < len(before.graph.node) / 2
    assert {item.domain for item in after.opset_import} == {"", "com.microsoft"}
    assert [item.name for item in tmp_path.iterdir() if item.suffix != ".onnx"] == []
    for tokens in (3, 17, 64):
        feed = {"input_ids": np.asarray([samples(1, seed=5)[0][:tokens]], np.int64)}
        if position == "input":
            feed |= {"section_ids": np.zeros(1, np.int64), "chunk_ids": np.array([2])}
        np.testing.assert_array_equal(run(plain, **feed)[0], run(fused, **feed)[0])


def test_the_shipped_graph_is_fused() -> None:
    """ONNX Runtime finds nothing to do when it opens it, beside the widening of what is stored in fp16."""
    folder = open_folder(settings.resolve_model(settings.DEFAULT_MODEL))
    graph = onnx.load(folder.file(ENCODER_GRAPHS["int8"]), load_external_data=False).graph
    assert "DynamicQuantizeMatMul" in {node.op_type for node in graph.node}
    assert len(graph.node) < 250


TRAINED = {
    "none": [],
    "encoder": ["encoder.bert.embeddings.word_embeddings.weight"],
    "head": ["head.center", "head.projection.1.weight"],
}


@pytest.mark.slow
def test_a_chunk_encoder_stays_the_same_when_the_head_is_trained(tmp_path: Path) -> None:
    """The cache knows a chunk encoder by its graph, which is another where it refers to the same places elsewhere."""
    graphs, heads = {}, {}
    for name, trained in TRAINED.items():
        folder = model_on_disk(tmp_path / name)
        model = load_colde(open_folder(folder))
        for weights in trained:
            model.state_dict()[weights].add_(0.25)
        save_weights(model, folder)
        export_model(folder, precisions=("fp16",))
        graphs[name] = (folder / "chunk_encoder_fp16.onnx").read_bytes()
        heads[name] = (folder / "document_head.onnx").read_bytes()
    assert graphs["head"] == graphs["none"] != graphs["encoder"]
    assert len(graphs["encoder"]) == len(graphs["none"])
    assert heads["head"] != heads["none"]


def test_shipped_graphs_refer_to_the_shipped_weights(model_folder: Path) -> None:
    for path in model_folder.glob("*.onnx"):
        model = onnx.load(path, load_external_data=False)
        stated = {entry.key: entry.value for entry in model.metadata_props}[STORED]
        assert stated == stored_digest(model, model_folder)
    assert sum(path.stat().st_size for path in model_folder.iterdir()) < 65 * 2**20


def test_export_of_int8_needs_text(tmp_path: Path) -> None:
    folder = model_on_disk(tmp_path / "model")
    with pytest.raises(OptionError, match="--calibration"):
        export_model(folder)
    assert not list(folder.rglob("*.onnx"))


def chunks_of_licence(model_folder: Path) -> list[np.ndarray]:
    """Four full chunks of real text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    tokenizer.no_truncation()
    text = (model_folder.parent.parent / "LICENSE").read_text()
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    starts = range(0, len(ids) - 510, 510)
    return [np.asarray([[101, *ids[start : start + 510], 102]], np.int64) for start in starts]


@pytest.mark.slow
def test_shipped_int8_vectors_stay_with_the_trained_ones(model_folder: Path) -> None:
    """Mean cosine to fp32 at least .999."""
    encoder = load_colde(open_folder(model_folder), attention="eager").encoder
    chunks = chunks_of_licence(model_folder)
    assert len(chunks) >= 3
    losses = []
    for ids in chunks:
        with torch.no_grad():
            full = encoder(torch.from_numpy(ids)).numpy()
        (eight,) = run(model_folder / "chunk_encoder_quantized.onnx", input_ids=ids)
        losses.append(1 - cosines(full, eight)[0])
    assert np.mean(losses) <= 1e-3


def test_calibration_sample_depends_on_the_set_of_chunks_only() -> None:
    from colde_cli.learning.graphs import calibration_chunks

    rng = np.random.default_rng(0)
    chunks = [rng.integers(0, 300, length).tolist() for length in rng.integers(20, 400, 200)]
    sample = calibration_chunks(chunks, 16)
    assert sample == calibration_chunks(chunks[::-1], 16)
    assert len(sample) == 16
    assert min(map(len, sample)) >= 128
    assert calibration_chunks([[1, 2], [3]], 16), "short chunks are better than none"
