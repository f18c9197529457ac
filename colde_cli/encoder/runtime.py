"""ONNX Runtime sessions, set up as measured: one thread per operator on the CPU, many chunks side by side.

On two cores a shared session with a pool of threads, one chunk per call at its exact length and no mask, is the
fastest layout, and the only one in which the same chunk always gives the same bytes: dynamic int8 takes its
scales from whatever else is in the batch.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import ENCODER_GRAPHS, WEIGHTS
from colde_cli.errors import DeviceError, ModelError, OptionError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from colde_cli.documents.document import Chunk

FloatArray = NDArray[np.float32]
Progress = Callable[[int], None]

# Tokens of one GPU batch, padding included: fills an accelerator and stays well under a gigabyte.
_BATCH_TOKENS = 32_768


@dataclass(frozen=True, slots=True)
class Contract:
    """What `layout` promises of a graph.

    Attributes:
        inputs: all that it may ask for.
        outputs: all that it must give, with the size of their last axis (None where that varies).
    """

    inputs: frozenset[str]
    outputs: Mapping[str, int | None]

    def check(self, session: InferenceSession, graph: Path) -> None:
        """See that a graph keeps the contract, before a document is read in vain.

        Raises:
            ModelError: it asks for other inputs or gives other outputs.
        """
        strange = {item.name for item in session.get_inputs()} - self.inputs
        if strange:
            raise ModelError(f"{graph} asks for {', '.join(sorted(strange))}, which colde models do not.")
        given = {item.name: item.shape[-1] for item in session.get_outputs()}
        for name, size in self.outputs.items():
            if name not in given:
                raise ModelError(f"{graph} gives no {name}; it is not the graph of a colde model.")
            if size is not None and isinstance(given[name], int) and given[name] != size:
                raise ModelError(f"{graph} gives {name} of size {given[name]}, but config.json says {size}.")


def encoder_contract(hidden: int) -> Contract:
    """Of a chunk encoder whose vectors have `hidden` numbers."""
    names = ("input_ids", "attention_mask", "section_ids", "chunk_ids")
    return Contract(frozenset(names), {"chunk_vectors": hidden})


def head_contract(hidden: int) -> Contract:
    """Of a document head over chunk vectors of `hidden` numbers."""
    names = ("chunk_vectors", "lengths", "partners", "section_ids", "chunk_ids")
    return Contract(frozenset(names), {"vectors": None, "attention": None, "directions": hidden})


def open_session(graph: Path, contract: Contract, cuda: int | None = None) -> InferenceSession:
    """A session for one graph, on the CPU or on CUDA device number `cuda`.

    Raises:
        ModelError: the file is not a graph that this ONNX Runtime can run, breaks the contract, or lacks its weights.
        DeviceError: CUDA was planned but the session did not get it.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)  # the native log would speak over our own errors
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    providers: list[str | tuple[str, dict[str, int]]] = [CPU_PROVIDER]
    # Measured on CPUs: fusing "skip + layer norm" costs 14 %.
    disabled = ["SkipLayerNormFusion"]
    if cuda is not None:
        providers, disabled = [(CUDA_PROVIDER, {"device_id": cuda}), CPU_PROVIDER], []
    try:
        session = onnxruntime.InferenceSession(
            str(graph), options, providers=providers, disabled_optimizers=disabled
        )
    except Exception as error:  # ONNX Runtime raises several types of its own, none of them public
        if "External" in str(error):
            weights = graph.with_name(WEIGHTS)
            raise ModelError(
                f"{weights} is missing or does not fit {graph.name}; fetch or export the model again."
            ) from error
        raise ModelError(
            f"{graph} is damaged or not an ONNX graph; fetch or export the model again."
        ) from error
    if cuda is not None and CUDA_PROVIDER not in session.get_providers():
        raise DeviceError("ONNX Runtime could not start CUDA for this model; run with --device cpu.")
    contract.check(session, graph)
    return session


@dataclass(frozen=True, slots=True)
class ChunkRunner:
    """Runs the chunk encoder over chunks.

    Attributes:
        session: of the chunk encoder.
        threads: chunks encoded at the same time on the CPU.
        batched: padded batches (GPU) instead of one chunk per call (CPU).
    """

    session: InferenceSession
    threads: int
    batched: bool

    def run(self, chunks: Sequence[Chunk], progress: Progress | None = None) -> list[FloatArray]:
        """Chunk vectors [H] in the order of `chunks`.

        Args:
            chunks: of any documents.
            progress: told of every number of finished chunks, from the threads that finish them.

        Raises:
            ModelError: the graph cannot take these token ids.
            DeviceError: memory ran out.
        """
        inputs = {item.name for item in self.session.get_inputs()}
        # Longest first: the pool then ends with the short ones, and batches hold chunks of like length.
        order = sorted(range(len(chunks)), key=lambda index: -len(chunks[index].ids))
        groups = _batches(order, chunks) if self.batched else [[index] for index in order]
        vectors: list[FloatArray | None] = [None] * len(chunks)

        def encode(group: list[int]) -> None:
            feed = _feed([chunks[index] for index in group], inputs)
            for index, vector in zip(group, self._vectors(feed), strict=True):
                vectors[index] = np.asarray(vector, np.float32)
            if progress is not None:
                progress(len(group))

        with ThreadPoolExecutor(1 if self.batched else self.threads) as pool:
            for _ in pool.map(encode, groups):
                pass
        return [vector for vector in vectors if vector is not None]

    def _vectors(self, feed: Mapping[str, NDArray[np.int64]]) -> FloatArray:
        (vectors,) = run_graph(self.session, ["chunk_vectors"], feed, part="chunk encoder", cuda=self.batched)
        return vectors


def run_graph(
    session: InferenceSession,
    outputs: Sequence[str],
    feed: Mapping[str, NDArray[np.int64]],
    *,
    part: str,
    cuda: bool,
) -> list[FloatArray]:
    """The outputs of a graph; `part` names it in errors.

    Raises:
        ModelError: the graph cannot take these token ids.
        DeviceError: memory ran out.
    """
    try:
        found: list[FloatArray] = session.run(list(outputs), feed)
    except Exception as error:  # as in `open_session`
        if "allocate memory" in str(error):
            where = "the graphics card; run with --device cpu" if cuda else "this machine"
            raise DeviceError(f"There is too little memory on {where}.") from error
        reason = str(error).rpartition("Status Message: ")[2]
        raise ModelError(f"The model's {part} failed; its files may not fit together ({reason}).") from error
    return found


def _batches(order: Sequence[int], chunks: Sequence[Chunk]) -> list[list[int]]:
    """Runs of `order` that hold at most `_BATCH_TOKENS` tokens once padded to their first, longest chunk."""
    groups: list[list[int]] = []
    for index in order:
        longest = len(chunks[groups[-1][0]].ids) if groups else 0
        if groups and longest * (len(groups[-1]) + 1) <= _BATCH_TOKENS:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _feed(group: Sequence[Chunk], inputs: set[str]) -> dict[str, NDArray[np.int64]]:
    """Tensors for a group of chunks, padded to the longest; only those the graph asks for.

    A graph that takes positions gets those of a document read whole: section 0, and the number of the chunk in
    its document, which the graph clamps to the rows that it has.
    """
    width = max(len(chunk.ids) for chunk in group)
    ids = np.zeros((len(group), width), np.int64)
    mask = np.zeros_like(ids)
    for row, chunk in enumerate(group):
        ids[row, : len(chunk.ids)] = chunk.ids
        mask[row, : len(chunk.ids)] = 1
    feed = {
        "input_ids": ids,
        "attention_mask": mask,
        "section_ids": np.zeros(len(group), np.int64),
        "chunk_ids": np.array([chunk.index for chunk in group], np.int64),
    }
    return {name: values for name, values in feed.items() if name in inputs}


CUDA_PROVIDER = "CUDAExecutionProvider"
CPU_PROVIDER = "CPUExecutionProvider"
PRECISIONS = ("auto", "int8", "fp16", "fp32")

# fp16 is no faster than fp32 on a CPU; int8 has no kernels worth the name on a GPU.
_CPU_ORDER = ("int8", "fp32", "fp16")
_CUDA_ORDER = ("fp16", "fp32")

# An ONNX graph y = Identity(x) over one float (IR 8, opset 17), to see which provider a session gets.
_PROBE_GRAPH = bytes.fromhex(
    "08083a3b0a100a017812017922084964656e74697479120570726f62655a0f0a0178120a0a0808011204"
    "0a020801620f0a0179120a0a08080112040a02080142040a001011"
)


@dataclass(frozen=True, slots=True)
class Cuda:
    """What is known of CUDA here.

    Attributes:
        devices: how many there are.
        problem: what is missing, as the end of a sentence; "" if CUDA is usable.
    """

    devices: int = 0
    problem: str = ""

    @property
    def usable(self) -> bool:
        """Whether a session can run on a CUDA device."""
        return self.devices > 0 and not self.problem


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """Where a chunk encoder runs.

    Attributes:
        device: "cpu" or "cuda:N".
        precision: "int8", "fp16" or "fp32".
        reason: why, in one sentence for `-v` and `colde doctor`.
    """

    device: str
    precision: str
    reason: str

    @property
    def graph(self) -> str:
        """The graph's path in the model folder."""
        return ENCODER_GRAPHS[self.precision]

    @property
    def ordinal(self) -> int | None:
        """Number of the CUDA device; None on the CPU."""
        return int(self.device.partition(":")[2]) if self.device != "cpu" else None


def decide(device: str, precision: str, graphs: Collection[str], cuda: Cuda, model: str) -> DevicePlan:
    """Choose device and graph. Pure: all it knows is in its arguments.

    Args:
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: "auto" or a key of `ENCODER_GRAPHS`.
        graphs: the precisions whose graphs the model has.
        cuda: what is known of CUDA.
        model: name of the model, for errors.

    Raises:
        OptionError: not a device or precision, or a pair of them that nothing runs.
        DeviceError: CUDA was asked for and is not usable, or has no such device.
        ModelError: the model has no graph of this precision.
    """
    wanted = _parse_device(device)
    if precision not in PRECISIONS:
        raise OptionError(f"There is no precision {precision!r}; choose one of: {', '.join(PRECISIONS)}.")
    if precision != "auto" and precision not in graphs:
        raise _missing_graph(model, precision)
    if wanted is None:
        return _automatic(precision, graphs, cuda, model)
    if wanted == "cpu":
        return DevicePlan("cpu", _pick(precision, _CPU_ORDER, graphs, model), "The CPU was asked for.")
    _check_cuda(wanted, precision, cuda)
    return DevicePlan(f"cuda:{wanted}", _pick(precision, _CUDA_ORDER, graphs, model), "CUDA was asked for.")


def _automatic(precision: str, graphs: Collection[str], cuda: Cuda, model: str) -> DevicePlan:
    cpu = DevicePlan("cpu", _pick(precision, _CPU_ORDER, graphs, model), "")
    if precision == "int8":
        return DevicePlan(
            cpu.device, cpu.precision, "The CPU, because int8 was asked for and runs on the CPU only."
        )
    if not cuda.usable:
        return DevicePlan(cpu.device, cpu.precision, f"The CPU, because CUDA is not usable: {cuda.problem}.")
    if precision == "auto" and not set(_CUDA_ORDER) & set(graphs):
        why = "the model has no fp16 or fp32 graph, which CUDA needs"
        return DevicePlan(
            cpu.device, cpu.precision, f"The CPU, because {why}; write one with: colde export {model}"
        )
    return DevicePlan("cuda:0", _pick(precision, _CUDA_ORDER, graphs, model), "CUDA, because it is usable.")


def _parse_device(device: str) -> str | int | None:
    """None for auto, "cpu", or the number of a CUDA device."""
    if device == "auto":
        return None
    if device == "cpu":
        return "cpu"
    match = re.fullmatch(r"cuda(?::(\d+))?", device)
    if match is None:
        raise OptionError(f"There is no device {device!r}; choose one of: auto, cpu, cuda, cuda:N.")
    return int(match.group(1) or 0)


def _check_cuda(ordinal: str | int, precision: str, cuda: Cuda) -> None:
    if precision == "int8":
        raise OptionError("int8 runs on the CPU only; with --device cuda use --precision fp16.")
    if not cuda.usable:
        raise DeviceError(f"CUDA is not usable here: {cuda.problem}; run with --device cpu.")
    if int(ordinal) >= cuda.devices:
        last = (
            f"; the last one is cuda:{cuda.devices - 1}" if cuda.devices > 1 else "; the only one is cuda:0"
        )
        raise DeviceError(f"There is no device cuda:{ordinal}{last}.")


def _pick(precision: str, order: tuple[str, ...], graphs: Collection[str], model: str) -> str:
    if precision != "auto":
        return precision
    for candidate in order:
        if candidate in graphs:
            return candidate
    raise _missing_graph(model, order[0])


def _missing_graph(model: str, precision: str) -> ModelError:
    path = ENCODER_GRAPHS[precision]
    return ModelError(
        f"The model {model} has no {precision} graph ({path}); write it with: colde export {model} "
        f"--precision {precision}"
    )


@cache
def probe_cuda() -> Cuda:
    """Find out whether ONNX Runtime can use CUDA here; the answer is kept for the life of the process.

    Costs under a millisecond on machines without a driver, where onnxruntime is not even imported.
    """
    devices, problem = _ask_driver()
    if problem:
        return Cuda(0, problem)
    import onnxruntime

    if CUDA_PROVIDER not in onnxruntime.get_available_providers():
        return Cuda(devices, "this onnxruntime was built without CUDA; install onnxruntime-gpu in its place")
    onnxruntime.set_default_logger_severity(4)
    said = _preload_libraries()
    session = onnxruntime.InferenceSession(_PROBE_GRAPH, providers=[CUDA_PROVIDER, CPU_PROVIDER])
    if CUDA_PROVIDER not in session.get_providers():
        return Cuda(devices, said or "ONNX Runtime could not start its CUDA provider")
    return Cuda(devices)


def _ask_driver() -> tuple[int, str]:
    """Number of CUDA devices according to the driver, and what is missing ("" if nothing)."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return 0, f"there is no NVIDIA driver ({library})"
    code = driver.cuInit(0)
    if code:
        return 0, f"the NVIDIA driver does not start (cuInit gave error {code})"
    count = ctypes.c_int(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    return count.value, "" if count.value else "the NVIDIA driver sees no device"


def _preload_libraries() -> str:
    """Load the CUDA and cuDNN libraries; what could not be found ("" if all were)."""
    import onnxruntime

    said = io.StringIO()
    # It prints on stdout, which belongs to the user's data.
    with contextlib.redirect_stdout(said):
        onnxruntime.preload_dlls()
    missing = re.findall(r"Failed to load ([^:\s]+)", said.getvalue())
    return f"these libraries are missing: {', '.join(missing)}" if missing else ""
