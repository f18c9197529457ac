"""Where a model runs and with which of its graphs: one pure decision, and what it needs to know of CUDA.

`onnxruntime.get_available_providers()` lists CUDA on machines that have neither driver nor libraries, and a
session that asked for it falls back to the CPU with a word on stderr. So the driver is asked first, then the
libraries are loaded, then a session is made and asked what it really got.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from colde_cli.encoder.layout import ENCODER_GRAPHS
from colde_cli.errors import DeviceError, ModelError, OptionError

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
class Plan:
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


def decide(device: str, precision: str, graphs: Collection[str], cuda: Cuda, model: str) -> Plan:
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
        return Plan("cpu", _pick(precision, _CPU_ORDER, graphs, model), "The CPU was asked for.")
    _check_cuda(wanted, precision, cuda)
    return Plan(f"cuda:{wanted}", _pick(precision, _CUDA_ORDER, graphs, model), "CUDA was asked for.")


def _automatic(precision: str, graphs: Collection[str], cuda: Cuda, model: str) -> Plan:
    cpu = Plan("cpu", _pick(precision, _CPU_ORDER, graphs, model), "")
    if precision == "int8":
        return Plan(
            cpu.device, cpu.precision, "The CPU, because int8 was asked for and runs on the CPU only."
        )
    if not cuda.usable:
        return Plan(cpu.device, cpu.precision, f"The CPU, because CUDA is not usable: {cuda.problem}.")
    if precision == "auto" and not set(_CUDA_ORDER) & set(graphs):
        why = "the model has no fp16 or fp32 graph, which CUDA needs"
        return Plan(
            cpu.device, cpu.precision, f"The CPU, because {why}; write one with: colde export {model}"
        )
    return Plan("cuda:0", _pick(precision, _CUDA_ORDER, graphs, model), "CUDA, because it is usable.")


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
