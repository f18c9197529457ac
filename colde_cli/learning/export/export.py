"""Write the ONNX graphs of a trained model, and compare them with the network on real rows.

CoLDE has a chunk encoder in fp32, fp16 and int8, and a document head; a tower has one graph.
"""

from __future__ import annotations

import hashlib
import heapq
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.jit._trace import TracerWarning

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.checksums import record_checksums
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import (
    CONFIG,
    EARLIER_GRAPHS,
    ENCODER_GRAPHS,
    HEAD_GRAPH,
    TOKENIZER,
    TOWER_GRAPH,
    TowerConfig,
    TowerFolder,
    open_folder,
    open_tower_folder,
    weight_files,
    weights_file,
)
from colde_cli.encoder.runtime import CPU_PROVIDER, UNUSED_FUSIONS, Contract, open_session
from colde_cli.encoder.towers.packing import Rows
from colde_cli.encoder.towers.tower_encoder import TowerRunner
from colde_cli.errors import ModelError, OptionError
from colde_cli.files import atomic_file, atomic_folder
from colde_cli.learning.backbone import load_tensors
from colde_cli.learning.export.shared_weights import share_weights
from colde_cli.learning.export.smooth_quant import quantize
from colde_cli.learning.networks.colde import ChunkEncoder, Colde, DocumentHead, load_colde, save_weights
from colde_cli.learning.towers.registry import SYSTEMS

COUNT = 64
# Short chunks say little: their few tokens rarely reach the extremes.
_SHORTEST = 128
TOLERANCE = 1e-4
"""Maximum difference of a component between the vectors of network and graph."""

# Sizes of the rows that are traced, where the system reads as much; no two alike, for the tracer's sake.
_ROWS, _TOKENS = 5, 37


def calibration_chunks(chunks: Iterable[Sequence[int]], count: int = COUNT) -> list[list[int]]:
    """A sample of chunks that depends on nothing but the set of chunks: those with the smallest hashes.

    The same documents in any order thus give the same int8 graph to the byte, and cached vectors stay valid.

    Args:
        chunks: token ids of each chunk, specials included.
        count: size of the sample; all chunks are taken where there are not more.

    Returns:
        Token ids, ordered by hash; chunks of 128 tokens and more only, unless there are none.
    """
    listed = list(chunks)
    long = [ids for ids in listed if len(ids) >= _SHORTEST]
    return [list(ids) for ids in heapq.nsmallest(count, long or listed, key=_hash)]


def _hash(ids: Sequence[int]) -> bytes:
    return hashlib.blake2b(np.asarray(ids, np.int32).tobytes(), digest_size=16).digest()


@contextmanager
def frozen_encoder(
    model: Colde,
    tokenizer: str,
    calibration_ids: Sequence[Sequence[int]],
    *,
    device: str = "auto",
    cache: Cache | None = None,
) -> Iterator[Encoder]:
    """The runtime encoder of an untrained model, for as long as the context lasts.

    Args:
        model: the network as it stands; its backbone will not change any more.
        tokenizer: the text of `tokenizer.json`.
        calibration_ids: see `calibration_chunks`.
        device: as for `Encoder.load`.
        cache: where vectors are kept between runs.
    """
    with tempfile.TemporaryDirectory(prefix="colde-frozen-") as scratch:
        folder = Path(scratch) / "model"
        folder.mkdir()
        (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
        (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
        save_weights(model, folder)
        export_model(folder, calibration_ids)
        yield Encoder.load(folder, device=device, cache=cache)


SHIPPED = ("int8", "fp16")


def export_model(
    folder: Path,
    calibration_ids: Sequence[Sequence[int]] = (),
    precisions: Sequence[str] = SHIPPED,
) -> None:
    """Write the document head, and the chunk encoder in every precision, all referring to `model.safetensors`.

    Each graph is written beside its place and renamed into it, so that a failed run leaves the old one.

    Args:
        folder: a model folder with `model.safetensors`.
        calibration_ids: token ids of about 64 typical chunks, specials included; int8 needs them to learn the
            range of every channel.
        precisions: of "int8" (unmasked, for CPUs), "fp16" (masked, for GPUs) and "fp32" (masked).

    Raises:
        ModelError: the folder is not a model or its weights do not fit.
        OptionError: int8 without calibration chunks.
    """
    if "int8" in precisions and not calibration_ids:
        raise OptionError("int8 needs calibration text: name documents with --calibration.")
    model = load_colde(open_folder(folder), attention="eager")
    graphs = (HEAD_GRAPH, *(ENCODER_GRAPHS[precision] for precision in precisions))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as scratch:
        staged = Path(scratch)
        write_head(model.head, staged / HEAD_GRAPH)
        for precision in precisions:
            write_encoder(model.encoder, precision, calibration_ids, staged / ENCODER_GRAPHS[precision])
        for graph in graphs:
            share_weights(staged / graph, weight_files(folder))
        for graph in graphs:
            (staged / graph).replace(folder / graph)
            (folder / EARLIER_GRAPHS / graph).unlink(missing_ok=True)


def write_encoder(
    encoder: ChunkEncoder, precision: str, calibration_ids: Sequence[Sequence[int]], target: Path
) -> None:
    """Write one chunk encoder; int8 and fp16 are derived from the fp32 graph, which is then removed."""
    if precision == "fp32":
        write_chunk_encoder(encoder, target, masked=True)
        return
    full = target.with_suffix(".full.onnx")
    write_chunk_encoder(encoder, full, masked=precision == "fp16")
    if precision == "fp16":
        halve(full, target)
    else:
        quantize(full, target, calibration_ids)
        fuse_nodes(target)
    full.unlink()


def fuse_nodes(graph: Path) -> None:
    """Let ONNX Runtime simplify a graph for CPUs now, as it otherwise would whenever it opens it.

    The vectors stay the same to the bit. A session then opens in half the processor time.

    Args:
        graph: an ONNX file with all its weights, rewritten in place.
    """
    options = onnxruntime.SessionOptions()
    # The next level would choose layouts for this processor.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    fused = graph.with_suffix(".fused.onnx")
    options.optimized_model_filepath = str(fused)
    onnxruntime.InferenceSession(
        str(graph), options, providers=[CPU_PROVIDER], disabled_optimizers=UNUSED_FUSIONS
    )
    model = onnx.load(fused)
    # ONNX Runtime names all operator sets that it knows.
    used = {node.domain for node in model.graph.node}
    kept = [item for item in model.opset_import if item.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    graph.write_bytes(model.SerializeToString(deterministic=True))
    fused.unlink()


@contextmanager
def new_folder(folder: Path, config: str, tokenizer: str) -> Iterator[Path]:
    """Fill a folder with a model, which then takes the place of `folder`; see `atomic_folder`.

    Args:
        folder: of the model.
        config: the text of `config.json`.
        tokenizer: the text of `tokenizer.json`.
    """
    with atomic_folder(folder) as staged:
        for name, text in ((CONFIG, config), (TOKENIZER, tokenizer)):
            (staged / name).write_text(text, encoding="utf-8")
        yield staged
        record_checksums(staged)


def halve(source: Path, target: Path) -> None:
    """Write a copy of the masked fp32 chunk encoder that stores and computes in fp16.

    Token ids stay int64 and chunk vectors float32. Constants beyond fp16 (the mask's large negative number)
    are clamped, which is what they are for.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one line for every constant below fp16's smallest number
        model = convert_float_to_float16(onnx.load(source), keep_io_types=True)
    onnx.save(model, target)


OPSET = 17

Axes = dict[str, dict[int, str]]


class UnmaskedChunkEncoder(nn.Module):
    """Token ids of one chunk at its exact length to its vector, without a mask: the fast graph for CPUs.

    The embeddings and the layers of BERT are called one after the other because `BertModel.forward` builds a
    mask even where none is given.
    """

    def __init__(self, encoder: ChunkEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self, input_ids: Tensor, section_ids: Tensor | None = None, chunk_ids: Tensor | None = None
    ) -> Tensor:
        """`[N, L]` token ids (and `[N]` positions) to `[N, H]`."""
        bert = self.encoder.bert
        embedded = bert.embeddings(**self.encoder.embedding_inputs(input_ids, section_ids, chunk_ids))
        return self.encoder.pooled(bert.encoder(embedded).last_hidden_state, None)


@dataclass(frozen=True, slots=True)
class _Graph:
    """What optimum's exporter asks of an `OnnxConfig`: names and axes of a graph, and an example to trace.

    Its own `OnnxConfig` classes derive these from architectures that it knows, which ours are not.
    """

    example: Mapping[str, Tensor]
    inputs: Axes
    outputs: Axes
    values_override: None = None

    def generate_dummy_inputs(self, **_: object) -> dict[str, Tensor]:
        return dict(self.example)

    def rename_ambiguous_inputs(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return inputs

    def ordered_inputs(self, _: nn.Module) -> Axes:
        return self.inputs

    def patch_model_for_export(self, _: nn.Module, **__: object) -> torch.no_grad:
        return torch.no_grad()


def write_graph(
    module: nn.Module, example: Mapping[str, Tensor], inputs: Axes, outputs: Axes, target: Path
) -> None:
    """Trace `module` on `example` and write an ONNX graph with the named inputs, outputs and free axes.

    Args:
        module: takes the example's tensors as keyword arguments, in the order of `inputs`.
        example: tensors whose free axes have distinct sizes of at least 3, which the tracer cannot mistake
            for constants.
        inputs: name to `{axis: name of the axis}`.
        outputs: the same, in the order the module returns them.
        target: the file to write.
    """
    from optimum.exporters.onnx.convert import export_pytorch

    module.config = SimpleNamespace(return_dict=True)  # type: ignore[assignment]
    target.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # The tracer warns of sizes that it takes for constants (heads, hidden units: they are) and of an LSTM
        # traced with several rows; the tests compare graph and module over many shapes.
        warnings.filterwarnings("ignore", category=TracerWarning)
        warnings.filterwarnings("ignore", message="Exporting a model to ONNX with a batch_size")
        warnings.filterwarnings("ignore", message="Constant folding")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        export_pytorch(module, _Graph(example, inputs, outputs), opset=OPSET, output=target)


def write_chunk_encoder(encoder: ChunkEncoder, target: Path, *, masked: bool) -> None:
    """Write the chunk encoder: token ids `[N, L]` (and mask, and positions) to chunk vectors `[N, H]`.

    Args:
        encoder: in evaluation mode, with eager attention.
        target: the file to write.
        masked: with an attention mask for padded batches, or without, for one chunk at its exact length.
    """
    vocabulary = encoder.bert.embeddings.word_embeddings.num_embeddings
    ids = torch.arange(3 * 7).reshape(3, 7) % vocabulary
    example, inputs = {"input_ids": ids}, {"input_ids": {0: "chunks", 1: "tokens"}}
    if masked:
        example["attention_mask"] = torch.ones_like(ids)
        inputs["attention_mask"] = inputs["input_ids"]
    if encoder.takes_positions:
        for name in ("section_ids", "chunk_ids"):
            example[name], inputs[name] = torch.zeros(3, dtype=torch.int64), {0: "chunks"}
    module = encoder if masked else UnmaskedChunkEncoder(encoder)
    write_graph(module, example, inputs, {"chunk_vectors": {0: "chunks"}}, target)


def write_head(head: DocumentHead, target: Path) -> None:
    """Write the document head; see `colde_cli.encoder.layout` for its inputs and outputs."""
    sections, chunks, hidden = 3, 5, head.center.shape[0]
    example = {
        "chunk_vectors": torch.linspace(-1, 1, sections * chunks * hidden).reshape(sections, chunks, hidden),
        "lengths": torch.tensor([5, 3, 4]),
        "partners": torch.tensor([1, 2, 0]),
        "section_ids": torch.zeros(sections, dtype=torch.int64),
        "chunk_ids": torch.arange(chunks).repeat(sections, 1),
    }
    rows, grid = {0: "sections"}, {0: "sections", 1: "chunks"}
    inputs = {
        "chunk_vectors": grid,
        "lengths": rows,
        "partners": rows,
        "section_ids": rows,
        "chunk_ids": grid,
    }
    outputs: Axes = {
        "vectors": rows,
        "attention": {0: "sections", 1: "chunks", 2: "partner_chunks"},
        "directions": grid,
    }
    write_graph(head, example, inputs, outputs, target)


def export_tower(folder: Path, samples: Sequence[Rows]) -> float:
    """Write the graph of a tower; one that fails leaves the old one.

    Args:
        folder: a tower with `model.safetensors`.
        samples: rows of texts on which graph and network must agree.

    Returns:
        The largest difference of a number of the samples' vectors.

    Raises:
        ModelError: the weights do not fit, or graph and network differ by more than `TOLERANCE`.
    """
    opened = open_tower_folder(folder)
    network = load_tower(opened, for_export=True)
    (folder / "onnx").mkdir(exist_ok=True)
    with atomic_file(folder / TOWER_GRAPH) as staged:
        write_tower_graph(network, opened.config, staged)
        gap = difference(network, opened.config, staged, samples)
        if gap > TOLERANCE:
            raise ModelError(
                f"The graph of {folder} differs from its network by {gap:.1e}; please report it."
            )
    return gap


def difference(network: nn.Module, config: TowerConfig, graph: Path, samples: Sequence[Rows]) -> float:
    """Return the largest difference of a number between the vectors of network and graph."""
    contract = Contract(frozenset(("rows", "paragraphs")), {"vectors": config.dim})
    runner = TowerRunner(open_session(graph, contract), config.dim, 1)
    gaps = [0.0]
    for rows, served in zip(samples, runner.run(samples), strict=True):
        with torch.no_grad():
            own = network(
                torch.from_numpy(rows.ids)[None].long(), torch.from_numpy(rows.paragraphs)[None].long()
            )
        gaps.append(float(np.abs(own[0].numpy() - served).max()))
    # `max` would pass over NaN.
    return float(np.max(gaps)) if np.isfinite(gaps).all() else float("inf")


def load_tower(folder: TowerFolder, *, for_export: bool = False) -> nn.Module:
    """Load the network of a tower, in evaluation mode.

    Raises:
        ModelError: a system that this version does not know, or weights that are damaged or do not fit.
    """
    system = SYSTEMS.get(folder.config.system)
    if system is None:
        raise ModelError(
            f"{folder.path} is of the system {folder.config.system!r}, which this version lacks."
        )
    try:
        network = system.build(folder.config, for_export=for_export)
        network.load_state_dict(load_tensors(folder.path))
    except (RuntimeError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"{weights_file(folder.path)} does not fit the model's config.json; train it again."
        ) from error
    return network.eval()


def write_tower_graph(network: nn.Module, config: TowerConfig, target: Path) -> None:
    """Trace a network in evaluation mode on rows of its own kind; see `encoder.layout` for the contract."""
    count, length = min(config.max_rows, _ROWS), min(config.row_tokens, _TOKENS)
    places = torch.arange(count * length)
    rows = 1 + places.reshape(1, count, length) % (config.vocab_size - 1)
    # A last row that is not full: what is traced must mask.
    rows[0, -1, length - 2 :] = 0
    example = {"rows": rows, "paragraphs": torch.arange(count)[None] // 2}
    axes = {1: "blocks", 2: "tokens"} if config.max_rows > 1 else {2: "tokens"}
    inputs = {"rows": axes, "paragraphs": {1: "blocks"} if config.max_rows > 1 else {}}
    write_graph(network, example, inputs, {"vectors": {}}, target)
