"""Write the ONNX graphs of a trained CoLDE model: a chunk encoder in fp32, fp16 and int8, and a document head."""

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
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.jit._trace import TracerWarning

from colde_cli.encoder.checksums import record_checksums
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import (
    CONFIG,
    ENCODER_GRAPHS,
    HEAD_GRAPH,
    TOKENIZER,
    open_folder,
    stored_tensors,
    weight_files,
)
from colde_cli.encoder.runtime import CPU_PROVIDER, UNUSED_FUSIONS
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import OptionError
from colde_cli.files import atomic_folder
from colde_cli.learning.colde import ChunkEncoder, Colde, DocumentHead, load_colde, save_weights
from colde_cli.learning.smooth_quant import quantize

COUNT = 64
# Short chunks say little: their few tokens rarely reach the extremes.
_SHORTEST = 128


def calibration_chunks(chunks: Iterable[Sequence[int]], count: int = COUNT) -> list[list[int]]:
    """A sample of chunks that depends on nothing but the set of chunks.

    Those with the smallest hashes, in their order.

    The same documents in any order thus give the same int8 graph to the byte, and cached vectors stay valid. Chunks
    under 128 tokens are left out, unless all are.
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
    """The runtime encoder of a model as it stands, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="colde-frozen-") as scratch:
        with new_folder(Path(scratch) / "model", model.config.to_json(), tokenizer) as staged:
            save_weights(model, staged)
            export_model(staged, calibration_ids)
        yield Encoder.load(Path(scratch) / "model", device=device, cache=cache)


SHIPPED = ("int8", "fp16")


def export_model(
    folder: Path, calibration_ids: Sequence[Sequence[int]] = (), precisions: Sequence[str] = SHIPPED
) -> None:
    """Write the document head, and the chunk encoder in every precision, all referring to `model.safetensors`.

    Each graph is written beside its place and renamed into it, so that a failed run leaves the old one. int8 (unmasked,
    for CPUs) learns the range of every channel from the token ids of about 64 typical chunks; fp16 is for GPUs.

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
    """Let ONNX Runtime simplify a graph for CPUs now, in place, as it otherwise would whenever it opens it.

    The vectors stay the same to the bit. A session then opens in half the processor time.
    """
    options = onnxruntime.SessionOptions()
    # The next level would choose layouts for this processor.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    fused = graph.with_suffix(".fused.onnx")
    options.optimized_model_filepath = str(fused)
    onnxruntime.InferenceSession(str(graph), options, providers=[CPU_PROVIDER], disabled_optimizers=UNUSED_FUSIONS)
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
    """Fill a folder with a model, whose `config.json` and `tokenizer.json` have these texts; see `atomic_folder`."""
    with atomic_folder(folder) as staged:
        for name, text in ((CONFIG, config), (TOKENIZER, tokenizer)):
            (staged / name).write_text(text, encoding="utf-8")
        yield staged
        record_checksums(staged)


def halve(source: Path, target: Path) -> None:
    """Write a copy of the masked fp32 chunk encoder that stores and computes in fp16.

    Ids and chunk vectors stay wide.

    Constants beyond fp16 (the mask's large negative number) are clamped, which is what they are for.
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

    def forward(self, input_ids: Tensor, section_ids: Tensor | None = None, chunk_ids: Tensor | None = None) -> Tensor:
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


def write_graph(module: nn.Module, example: Mapping[str, Tensor], inputs: Axes, outputs: Axes, target: Path) -> None:
    """Trace `module` on `example`, named tensors in the order of `inputs`, and write an ONNX graph.

    The free axes of inputs and outputs are given as `{axis: name}`; those of the example have distinct sizes of at
    least 3, which the tracer cannot mistake for constants.
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
    """Write the chunk encoder.

    Token ids `[N, L]` (and positions) to chunk vectors `[N, H]`, with an attention mask for padded batches, or without,
    for one chunk at its exact length. The encoder has eager attention.
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
    inputs = {"chunk_vectors": grid, "lengths": rows, "partners": rows, "section_ids": rows, "chunk_ids": grid}
    outputs: Axes = {
        "vectors": rows,
        "attention": {0: "sections", 1: "chunks", 2: "partner_chunks"},
        "directions": grid,
    }
    write_graph(head, example, inputs, outputs, target)


# Graphs refer to `model.safetensors`, or its shards, instead of holding the weights a second time. An initializer that
# equals a stored tensor becomes ONNX external data: the file, and the offset and length of the tensor's bytes in it.
# Exporters transpose matrices, order the gates of an LSTM anew and widen fp16 to fp32. Such steps become nodes, which
# ONNX Runtime folds when it opens the graph.

# Smaller initializers stay in the graph: to describe their place takes about as much room.
_SMALLEST = 4096
# PyTorch stacks the gates of an LSTM as input, forget, cell, output; ONNX as input, output, forget, cell.
_GATES = (0, 3, 1, 2)
# The operators that turn what is stored into an initializer.
_FORMS: dict[str, tuple[tuple[str, dict[str, object]], ...]] = {
    "same": (),
    "transposed": (("Transpose", {"perm": [1, 0]}),),
    "gates": (("Concat", {"axis": 1}),),
}

Floats = NDArray[np.float16] | NDArray[np.float32]


STORED = "stored_weights"
"""Key of a graph's metadata: SHA-256 of all bytes that the graph refers to, in the order of its initializers. Graphs of
other weights then differ, and a chunk encoder stays the same when only the head is trained anew. (The checksum of ONNX
would be that of the whole file.)"""


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """A tensor of a safetensors file: its values, the offset of its first byte, and the name of the file."""

    values: Floats
    offset: int
    file: str

    def part(self, name: str, values: Floats, offset: int) -> TensorProto:
        """An initializer with the values that the file holds at `offset`."""
        tensor = numpy_helper.from_array(np.empty(0, values.dtype), name)
        tensor.ClearField("raw_data")
        tensor.dims[:] = values.shape
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": self.file, "offset": offset, "length": values.nbytes}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        return tensor


def share_weights(graph: Path, weights: Sequence[Path]) -> None:
    """Replace what a graph file holds of the weights by references to them, in place; its outputs stay the same.

    The references hold once it lies in the folder of `weights`, safetensors files.
    """
    stored = [StoredTensor(values, first, path.name) for path in weights for _, values, first in stored_tensors(path)]
    model = onnx.load(graph)
    kept, nodes = [], []
    for initializer in model.graph.initializer:
        shared = _shared(initializer, stored) if len(initializer.raw_data) >= _SMALLEST else None
        kept.extend(shared[0] if shared else [initializer])
        nodes.extend(shared[1] if shared else [])
    nodes.extend(model.graph.node)
    for field, values in ((model.graph.initializer, kept), (model.graph.node, nodes)):
        del field[:]
        field.extend(values)
    model.metadata_props.add(key=STORED, value=stored_digest(model, weights[0].parent))
    graph.write_bytes(model.SerializeToString())


def stored_digest(model: onnx.ModelProto, folder: Path) -> str:
    """SHA-256 of all bytes that a graph refers to in files of a folder."""
    state = hashlib.sha256()
    for initializer in model.graph.initializer:
        if initializer.data_location == TensorProto.EXTERNAL:
            place = {entry.key: entry.value for entry in initializer.external_data}
            stored = np.memmap(folder / place["location"], np.uint8, mode="r")
            first = int(place["offset"])
            state.update(stored[first : first + int(place["length"])].tobytes())
    return state.hexdigest()


def _shared(initializer: TensorProto, stored: list[StoredTensor]) -> tuple[list[TensorProto], list[NodeProto]] | None:
    """References and nodes that give an initializer's values; None where no stored tensor does."""
    wanted = numpy_helper.to_array(initializer)
    if wanted.dtype not in (np.float16, np.float32):
        return None
    for tensor in stored:
        form = _form(tensor.values, wanted)
        if form is not None:
            return _reference(initializer, tensor, form)
    return None


def _reference(initializer: TensorProto, tensor: StoredTensor, form: str) -> tuple[list[TensorProto], list[NodeProto]]:
    name, number = initializer.name, initializer.data_type
    steps: list[tuple[str, dict[str, object]]] = list(_FORMS[form])
    if helper.np_dtype_to_tensor_dtype(tensor.values.dtype) != number:
        steps.append(("Cast", {"to": number}))
    pieces = [tensor.part(*piece) for piece in _pieces(tensor, form, f"{name}/stored" if steps else name)]
    inputs, nodes = [piece.name for piece in pieces], []
    for place, (operator, attributes) in enumerate(steps, start=1):
        output = name if place == len(steps) else f"{name}/formed"
        nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        inputs = [output]
    return pieces, nodes


def _form(stored: Floats, wanted: Floats) -> str | None:
    """How an initializer comes from a stored tensor: "same", "transposed" or "gates"; None if it does not."""
    if stored.size != wanted.size:
        return None
    forms = {"same": stored}
    if stored.ndim == 2:
        forms["transposed"] = stored.T
        if stored.shape[0] % 4 == 0:
            forms["gates"] = stored.reshape(4, -1, stored.shape[1])[list(_GATES)].reshape(1, *stored.shape)
    for name, values in forms.items():
        if values.shape == wanted.shape and np.array_equal(values.astype(wanted.dtype), wanted):
            return name
    return None


def _pieces(tensor: StoredTensor, form: str, name: str) -> Iterator[tuple[str, Floats, int]]:
    """Names, values and offsets of the parts of a stored tensor that are referred to."""
    if form != "gates":
        yield name, tensor.values, tensor.offset
        return
    gates = tensor.values.reshape(4, 1, -1, tensor.values.shape[1])
    for gate in _GATES:
        yield f"{name}_{gate}", gates[gate], tensor.offset + gate * gates[gate].nbytes
