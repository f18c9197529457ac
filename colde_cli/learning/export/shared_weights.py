"""Let graphs refer to `model.safetensors`, or its shards, instead of holding the weights a second time.

An initializer that equals a stored tensor becomes ONNX external data: the file, and the offset and length of the
tensor's bytes in it. Exporters transpose matrices, order the gates of an LSTM anew and widen fp16 to fp32. Such
steps become nodes, which ONNX Runtime folds when it opens the graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

# Smaller initializers stay in the graph: to describe their place takes about as much room.
_SMALLEST = 4096
_TYPES = {"F16": np.float16, "F32": np.float32}
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
    """A tensor of a safetensors file.

    Attributes:
        offset: of its first byte in the file.
        file: name of the file.
    """

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
    """Replace what a graph holds of the weights by references to them; the graph's outputs stay the same.

    Args:
        graph: an ONNX file, rewritten in place. Its references hold once it lies in the folder of `weights`.
        weights: safetensors files of one folder.
    """
    stored = [tensor for path in weights for tensor in stored_tensors(path)]
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


def stored_tensors(path: Path) -> list[StoredTensor]:
    """The fp16 and fp32 tensors of a safetensors file, mapped into memory."""
    data = np.memmap(path, np.uint8, mode="r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    header.pop("__metadata__", None)
    tensors = []
    for entry in header.values():
        if entry["dtype"] in _TYPES:
            first, end = (start + offset for offset in entry["data_offsets"])
            values = data[first:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
            tensors.append(StoredTensor(values, first, path.name))
    return tensors


def _shared(
    initializer: TensorProto, stored: list[StoredTensor]
) -> tuple[list[TensorProto], list[NodeProto]] | None:
    """References and nodes that give an initializer's values; None where no stored tensor does."""
    wanted = numpy_helper.to_array(initializer)
    if wanted.dtype not in (np.float16, np.float32):
        return None
    for tensor in stored:
        form = _form(tensor.values, wanted)
        if form is not None:
            return _reference(initializer, tensor, form)
    return None


def _reference(
    initializer: TensorProto, tensor: StoredTensor, form: str
) -> tuple[list[TensorProto], list[NodeProto]]:
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
