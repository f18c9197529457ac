"""Run graphs with ONNX Runtime: choose a device, open sessions, encode chunks.

On the CPU several threads share one session, and each call encodes one chunk at its exact length, without a mask.
Measured on two cores this is the fastest layout. It is also the only one that gives the same bytes for the same chunk
whatever runs beside it, because dynamic int8 takes its scales from the whole batch.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import ENCODER_GRAPHS, weights_file
from colde_cli.encoder.watch import MEMORY, Watch, watched
from colde_cli.errors import DeviceError, ModelError, OptionError, called

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, RunOptions

    from colde_cli.documents.document import Chunk

FloatArray = NDArray[np.float32]
Progress = Callable[[int], None]

# Time and memory of a call grow with its tokens. A large BERT on a slow processor takes a fifth of this time.
_TOKEN_SECONDS = 0.05
_TOKEN_BYTES = 100_000
# Opening a graph casts and packs its weights, before anything is scored.
_OPENING = 256 << 20
_BYTE_SECONDS = 1e-7
_GROWTH = 5
# The first call on a graphics card loads the libraries and the kernels that it needs.
_CUDA_MEMORY = 16 << 30
_CUDA_SECONDS = 60.0
_LARGEST = 1e6
"""Larger values occur in no usable vector; the square of a much larger value overflows."""
# Tokens of a GPU batch, padding included: this fills an accelerator and takes well under a gigabyte.
_BATCH_TOKENS = 32_768


@dataclass(frozen=True, slots=True)
class Contract:
    """The inputs and outputs that `layout` promises of a graph.

    Attributes:
        inputs: names of the inputs that it may have.
        outputs: names of the outputs that it must have, with the size of the last axis; None where that varies.
    """

    inputs: frozenset[str]
    outputs: Mapping[str, int | None]

    def check(self, session: InferenceSession, graph: Path) -> None:
        """Check a graph before any document is read.

        Raises:
            ModelError: the graph has other inputs or outputs.
        """
        strange = {item.name for item in session.get_inputs()} - self.inputs
        if strange:
            raise ModelError(f"{graph} asks for {', '.join(sorted(strange))}, which colde models do not.")
        given = {item.name: item.shape[-1] if item.shape else None for item in session.get_outputs()}
        for name, size in self.outputs.items():
            if name not in given:
                raise ModelError(f"{graph} gives no {name}; it is not the graph of a colde model.")
            if size is not None and isinstance(given[name], int) and given[name] != size:
                raise ModelError(f"{graph} gives {name} of size {given[name]}, but config.json says {size}.")


def encoder_contract(hidden: int) -> Contract:
    """The contract of a chunk encoder, for H = `hidden`."""
    names = ("input_ids", "attention_mask", "section_ids", "chunk_ids")
    return Contract(frozenset(names), {"chunk_vectors": hidden})


def head_contract(hidden: int) -> Contract:
    """The contract of a document head, for H = `hidden`."""
    names = ("chunk_vectors", "lengths", "partners", "section_ids", "chunk_ids")
    return Contract(frozenset(names), {"vectors": None, "attention": None, "directions": hidden})


Shape = tuple[int | None, ...]


@dataclass(slots=True, eq=False)
class Graph:
    """A graph that was opened. It is watched while it runs, and what it gives is checked.

    Attributes:
        cuda: whether it runs on a graphics card.
        stopped: whether calls were stopped; once no others wait, the graph may be used again.
    """

    path: Path
    session: InferenceSession
    inputs: frozenset[str]
    cuda: bool
    under_way: list[RunOptions] = field(default_factory=list)
    stopped: bool = False
    _jobs: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """Stop all calls, those that wait as well: each would take as long."""
        with self._lock:
            self.stopped = self._jobs > 0
            for options in self.under_way:
                options.terminate = True

    @contextlib.contextmanager
    def job(self) -> Iterator[None]:
        """Treat the calls made inside as one job: after one was stopped, those that still wait do not begin."""
        with self._lock:
            self._jobs += 1
        try:
            yield
        finally:
            with self._lock:
                self._jobs -= 1
                self.stopped = self.stopped and self._jobs > 0

    def run(
        self, feed: Mapping[str, NDArray[np.generic]], shapes: Mapping[str, Shape], tokens: int
    ) -> list[FloatArray]:
        """Run the graph.

        Args:
            feed: inputs by name; those that the graph does not have are left out.
            shapes: the shapes of the outputs that are wanted; None where a size varies.

        Raises:
            ModelError: the graph fails on these inputs, takes too long, or gives other shapes, NaN or infinity.
            DeviceError: memory ran out.
        """
        import onnxruntime

        wanted = {name: values for name, values in feed.items() if name in self.inputs}
        seconds = tokens * _TOKEN_SECONDS + (_CUDA_SECONDS if self.cuda else 0.0)
        memory = MEMORY + tokens * _TOKEN_BYTES + (_CUDA_MEMORY if self.cuda else 0)
        with self.job(), watched(self.path, self.stop, seconds, memory) as watch:
            options = onnxruntime.RunOptions()
            with self._lock:
                if self.stopped:
                    raise ModelError(f"{self.path} was stopped.")
                self.under_way.append(options)
            try:
                found: list[FloatArray] = self.session.run(list(shapes), wanted, options)
            except Exception as error:  # ONNX Runtime raises several types of its own, none of them public
                raise self._named(error, watch) from error
            finally:
                with self._lock:
                    self.under_way.remove(options)
        for (name, shape), values in zip(shapes.items(), found, strict=True):
            given = np.shape(values)
            fits = len(given) == len(shape) and all(
                wanted in (None, size) for wanted, size in zip(shape, given, strict=True)
            )
            if not fits:
                raise ModelError(f"{self.path} gives {name} of another shape than colde models; fetch the model again.")
            check_finite([values], self.path)
        return found

    def _named(self, error: Exception, watch: Watch) -> ModelError | DeviceError:
        if self.stopped:
            reason = watch.reason or "takes too long, or too much memory,"
            return ModelError(f"{self.path} {reason} for one call; colde does not run such a model.")
        if "allocate memory" in str(error):
            where = f"the graphics card; run with {called('device')} cpu" if self.cuda else "this machine"
            return DeviceError(f"There is too little memory on {where} to run {self.path}.")
        reason = str(error).rpartition("Status Message: ")[2]
        return ModelError(f"{self.path} failed; the model's files may not fit together ({reason}).")


def check_finite(found: Sequence[FloatArray], graph: Path) -> None:
    """Check what a graph gives: a score of NaN would pass for one of 0.

    Raises:
        ModelError: it is NaN, infinite or far too large.
    """
    # By extremes: these values may be the most that is in memory. Of NaN both are NaN.
    ends = [end for values in found for end in (values.min(initial=0), values.max(initial=0))]
    if not all(-_LARGEST < end < _LARGEST for end in ends):
        raise ModelError(f"{graph} gives vectors that are not numbers; fetch the model again.")


def open_session(graph: Path, contract: Contract, cuda: int | None = None, *, keep: bool = True) -> Graph:
    """Open a graph on the CPU, or on the CUDA device with number `cuda`.

    Args:
        cuda: the device; None for the CPU.

    Raises:
        ModelError: the file is not a graph that this ONNX Runtime can run, breaks the contract, or lacks its weights.
        DeviceError: CUDA was planned but the session did not get it.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)  # the native log would bury our own errors
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = keep
    if sums_overflow(_PROCESSOR):
        # The weights are read as uint8, whose sums do not: the cosine with a vector of fp16 is .999 instead of .99.
        options.add_session_config_entry("session.x64quantprecision", "1")
    providers: list[str | tuple[str, dict[str, int]]] = [CPU_PROVIDER]
    disabled = UNUSED_FUSIONS
    if cuda is not None:
        providers, disabled = [(CUDA_PROVIDER, {"device_id": cuda}), CPU_PROVIDER], []
    size = sum(file.stat().st_size for file in (graph, weights_file(graph.parent)) if file.is_file())
    stop = partial(options.set_load_cancellation_flag, True)
    memory = _OPENING + _GROWTH * size + (_CUDA_MEMORY if cuda is not None else 0)
    seconds = size * _BYTE_SECONDS + (_CUDA_SECONDS if cuda is not None else 0.0)
    with watched(graph, stop, seconds, memory) as watch:
        try:
            session = onnxruntime.InferenceSession(
                str(graph), options, providers=providers, disabled_optimizers=disabled, **_NO_FALLBACK
            )
        except Exception as error:  # as in `Graph.run`
            raise _unopened(error, graph, watch) from error
    if cuda is not None and CUDA_PROVIDER not in session.get_providers():
        raise DeviceError(f"ONNX Runtime could not start CUDA for this model; run with {called('device')} cpu.")
    contract.check(session, graph)
    return Graph(graph, session, frozenset(item.name for item in session.get_inputs()), cuda is not None)


def sums_overflow(processor: Path) -> bool:
    """Whether sums of products of uint8 and int8 overflow 16 bits: without VNNI (Intel before 2019, AMD before Zen 4).

    `processor` is Linux's list of what the processor can do; without such a list the answer is yes. Do not leave the
    choice to ONNX Runtime: it treats processors with AMX (Intel since 2023) as if they lacked VNNI, at half the speed.
    """
    try:
        with processor.open(encoding="utf-8", errors="replace") as lines:
            return "vnni" not in lines.read(_FIRST_PROCESSOR)
    except OSError:
        return True


def _unopened(error: Exception, graph: Path, watch: Watch) -> ModelError | DeviceError:
    """What to say of a graph that cannot be opened."""
    if "CUDA" in str(error) or "CUDNN" in str(error):
        return DeviceError(f"CUDA fails to open {graph}: {_cuda_reason(error)}; run with {called('device')} cpu.")
    if watch.reason:
        return ModelError(f"{graph} {watch.reason} to open; colde does not run such a model.")
    if "External" in str(error):
        weights = weights_file(graph.parent)
        return ModelError(f"{weights} is missing or does not fit {graph.name}; fetch or export the model again.")
    return ModelError(f"{graph} is damaged or not an ONNX graph; fetch or export the model again.")


@dataclass(frozen=True, slots=True)
class ChunkRunner:
    """Encodes chunks with one graph.

    Attributes:
        hidden: H, the size of a chunk vector.
        threads: chunks encoded at the same time on the CPU.
        batched: whether calls take padded batches (GPU) instead of one chunk (CPU).
    """

    graph: Graph
    hidden: int
    threads: int
    batched: bool

    def run(self, chunks: Sequence[Chunk], progress: Progress | None = None) -> list[FloatArray]:
        """Encode chunks of any documents: vectors [H] in the order of `chunks`.

        Raises:
            ModelError: the graph cannot take these token ids.
            DeviceError: memory ran out.
        """
        # Longest first: short chunks then even out the end, and batches hold chunks of similar length.
        order = sorted(range(len(chunks)), key=lambda index: -len(chunks[index].ids))
        groups = _batches(order, chunks) if self.batched else [[index] for index in order]
        vectors: list[FloatArray | None] = [None] * len(chunks)

        def encode(group: list[int]) -> None:
            feed = _feed([chunks[index] for index in group])
            shape = (len(group), self.hidden)
            (found,) = self.graph.run(feed, {"chunk_vectors": shape}, tokens=feed["input_ids"].size)
            for index, vector in zip(group, found, strict=True):
                vectors[index] = np.asarray(vector, np.float32)
            if progress is not None:
                progress(len(group))

        with self.graph.job(), ThreadPoolExecutor(1 if self.batched else self.threads) as pool:
            for _ in pool.map(encode, groups):
                pass
        return [vector for vector in vectors if vector is not None]


def _batches(order: Sequence[int], chunks: Sequence[Chunk]) -> list[list[int]]:
    """Split `order` into batches of at most `_BATCH_TOKENS` tokens, padded to the first chunk, which is the longest."""
    groups: list[list[int]] = []
    for index in order:
        longest = len(chunks[groups[-1][0]].ids) if groups else 0
        if groups and longest * (len(groups[-1]) + 1) <= _BATCH_TOKENS:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _feed(group: Sequence[Chunk]) -> dict[str, NDArray[np.int64]]:
    """The inputs of any chunk encoder for a group of chunks, padded to the longest.

    A graph that reads positions gets those of a document read whole: section 0 and the number of the chunk, which the
    graph clamps to its last row.
    """
    width = max(len(chunk.ids) for chunk in group)
    ids = np.zeros((len(group), width), np.int64)
    mask = np.zeros_like(ids)
    for row, chunk in enumerate(group):
        ids[row, : len(chunk.ids)] = chunk.ids
        mask[row, : len(chunk.ids)] = 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "section_ids": np.zeros(len(group), np.int64),
        "chunk_ids": np.array([chunk.index for chunk in group], np.int64),
    }


CUDA_PROVIDER = "CUDAExecutionProvider"
CPU_PROVIDER = "CPUExecutionProvider"
UNUSED_FUSIONS = ["SkipLayerNormFusion"]
"""Measured on CPUs: fusing "skip + layer norm" costs 14 %."""
PRECISIONS = ("auto", "int8", "fp16", "fp32")

# fp16 is no faster than fp32 on a CPU; ONNX Runtime has no useful int8 kernels for a GPU.
_CPU_ORDER = ("int8", "fp32", "fp16")
_CUDA_ORDER = ("fp16", "fp32")

_PROCESSOR = Path("/proc/cpuinfo")
_FIRST_PROCESSOR = 1 << 13
"""Characters that hold what is said of the first one; the others are alike, and there may be hundreds."""
_NO_FALLBACK = {"enable_fallback": 0}
"""Else ONNX Runtime runs on the CPU where CUDA fails, and says so on standard output, where the user's data goes."""
# The ONNX graph y = LSTM(x) over one float (IR 8, opset 17), an operator of cuDNN that document heads have too.
_PROBE_GRAPH = bytes.fromhex(
    "08083a80010a260a01780a01770a017712017922044c53544d2a120a0b68696464656e5f73697a651801a001021201702a1d080108040801"
    "10014201774a10000000000000000000000000000000005a170a017812120a100801120c0a0208010a0208010a020801621b0a017912160a"
    "14080112100a0208010a0208010a0208010a02080142040a001011"
)


@dataclass(frozen=True, slots=True)
class Cuda:
    """The state of CUDA on this machine.

    Attributes:
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
    """The device and the graph for a chunk encoder.

    Attributes:
        device: "cpu" or "cuda:N".
        precision: "int8", "fp16" or "fp32".
        reason: why, in one sentence for `-v` and `colde doctor`.
        warning: that a graphics card stands idle, and why, as a sentence; "" if none does.
    """

    device: str
    precision: str
    reason: str
    warning: str = ""

    @property
    def graph(self) -> str:
        """The path of the graph inside the model folder."""
        return ENCODER_GRAPHS[self.precision]

    @property
    def ordinal(self) -> int | None:
        """Number of the CUDA device; None on the CPU."""
        return int(self.device.partition(":")[2]) if self.device != "cpu" else None


def plan_for(device: str, precision: str, graphs: Collection[str], model: str) -> DevicePlan:
    """`decide` on this machine, which is asked only where a graphics card may be used."""
    cuda = Cuda(problem="it was not asked for") if device == "cpu" else probe_cuda()
    return decide(device, precision, graphs, cuda, model)


def decide(device: str, precision: str, graphs: Collection[str], cuda: Cuda, model: str) -> DevicePlan:
    """Choose device and graph, from the arguments alone.

    Args:
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: "auto" or a key of `ENCODER_GRAPHS`.

    Raises:
        OptionError: no such device or precision, or int8 on CUDA.
        DeviceError: CUDA is requested but not usable, or has no such device.
        ModelError: the model has no graph of this precision.
    """
    match = re.fullmatch(r"auto|cpu|cuda(?::(?P<ordinal>\d+))?", device)
    if match is None:
        raise OptionError(f"There is no device {device!r}; choose one of: auto, cpu, cuda, cuda:N.")
    if precision not in PRECISIONS:
        raise OptionError(f"There is no precision {precision!r}; choose one of: {', '.join(PRECISIONS)}.")

    def best_of(order: Sequence[str]) -> str:
        wanted = order if precision == "auto" else (precision,)
        for candidate in wanted:
            if candidate in graphs:
                return candidate
        raise ModelError(
            f"The model {model} has no {wanted[0]} graph ({ENCODER_GRAPHS[wanted[0]]}); write it with: "
            f"colde export {model} --precision {wanted[0]}"
        )

    on_cpu = best_of(_CPU_ORDER)
    if device == "cpu":
        return DevicePlan("cpu", on_cpu, "The CPU was asked for.")
    if device != "auto":
        ordinal = int(match["ordinal"] or 0)
        _check_cuda(ordinal, precision, cuda)
        return DevicePlan(f"cuda:{ordinal}", best_of(_CUDA_ORDER), "CUDA was asked for.")
    if precision == "int8":
        why = "int8 was asked for and runs on the CPU only."
    elif not cuda.usable:
        why = f"CUDA is not usable: {cuda.problem}."
    elif precision == "auto" and not set(_CUDA_ORDER) & set(graphs):
        why = f"the model has no fp16 or fp32 graph, which CUDA needs; write one with: colde export {model}"
    else:
        return DevicePlan("cuda:0", best_of(_CUDA_ORDER), "CUDA, because it is usable.")
    idle = f"A graphics card is there but not used: {cuda.problem}." if cuda.devices and cuda.problem else ""
    return DevicePlan("cpu", on_cpu, f"The CPU, because {why}", "" if precision == "int8" else idle)


def _check_cuda(ordinal: int, precision: str, cuda: Cuda) -> None:
    if precision == "int8":
        raise OptionError(f"int8 runs on the CPU only; with {called('device')} cuda use {called('precision')} fp16.")
    if not cuda.usable:
        raise DeviceError(f"CUDA is not usable here: {cuda.problem}; run with {called('device')} cpu.")
    if ordinal >= cuda.devices:
        last = f"the last one is cuda:{cuda.devices - 1}" if cuda.devices > 1 else "the only one is cuda:0"
        raise DeviceError(f"There is no device cuda:{ordinal}; {last}.")


@cache
def probe_cuda() -> Cuda:
    """Check whether ONNX Runtime can use CUDA; the answer is kept for the life of the process.

    Takes under a millisecond on a machine without a driver, where onnxruntime is not imported.
    """
    devices, problem = _ask_driver()
    if problem:
        return Cuda(0, problem)
    import onnxruntime

    if CUDA_PROVIDER not in onnxruntime.get_available_providers():
        return Cuda(devices, "this onnxruntime was built without CUDA; install onnxruntime-gpu in its place")
    onnxruntime.set_default_logger_severity(4)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):  # it prints to stdout, where the user's data goes
        onnxruntime.preload_dlls()
    missing = ", ".join(re.findall(r"Failed to load ([^:\s]+)", printed.getvalue()))
    if missing:
        return Cuda(devices, f"these libraries are missing: {missing}; pip install 'colde[cuda]' brings them")
    try:
        session = onnxruntime.InferenceSession(_PROBE_GRAPH, providers=[CUDA_PROVIDER, CPU_PROVIDER], **_NO_FALLBACK)
        if CUDA_PROVIDER not in session.get_providers():
            return Cuda(devices, "ONNX Runtime could not start its CUDA provider")
        session.run(None, {"x": np.zeros((1, 1, 1), np.float32)})
    except Exception as error:  # as in `Graph.run`
        return Cuda(devices, _cuda_reason(error))
    return Cuda(devices)


def _cuda_reason(error: Exception) -> str:
    """Why CUDA failed, as the end of a sentence; the text of ONNX Runtime is a page long."""
    import onnxruntime

    if "driver version is insufficient" in str(error):
        number = ctypes.c_int(0)
        _driver().cuDriverGetVersion(ctypes.byref(number))
        serves = f"{number.value // 1000}.{number.value % 1000 // 10}"
        return (
            f"the NVIDIA driver is too old: it serves CUDA {serves}, and ONNX Runtime needs {onnxruntime.cuda_version}"
        )
    found = re.search(r"(?:CUDA|CUDNN) (?:error|failure|failed)[^;\n]*", str(error), re.IGNORECASE)
    return found[0][:200] if found else "ONNX Runtime could not start its CUDA provider"


_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(_DRIVER)


def _ask_driver() -> tuple[int, str]:
    """Ask the driver for the number of CUDA devices; the second value says what is missing, "" if nothing."""
    try:
        driver = _driver()
    except OSError:
        return 0, f"there is no NVIDIA driver ({_DRIVER})"
    code = driver.cuInit(0)
    if code:
        return 0, f"the NVIDIA driver does not start (cuInit gave error {code})"
    count = ctypes.c_int(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    return count.value, "" if count.value else "the NVIDIA driver sees no device"
