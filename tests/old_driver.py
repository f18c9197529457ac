"""A machine with a graphics card whose driver is too old: libraries in place of CUDA's, all of whose calls fail so."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import onnxruntime
import pytest

_DRIVER = """
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDriverGetVersion(int *version) { *version = 11040; return 0; }
const char *cudaGetErrorName(int error) { return "cudaErrorInsufficientDriver"; }
const char *cudaGetErrorString(int error) { return "CUDA driver version is insufficient for CUDA runtime version"; }
"""
_FAILS = "int {}() {{ return 35; }}\n"  # cudaErrorInsufficientDriver


def build_old_driver(folder: Path) -> str:
    """Build the libraries that ONNX Runtime's CUDA provider loads, and return the folder for LD_LIBRARY_PATH."""
    provider = Path(onnxruntime.__file__).parent / "capi" / "libonnxruntime_providers_cuda.so"
    if not provider.is_file() or not all(map(shutil.which, ("cc", "nm", "objdump"))):
        pytest.skip("needs onnxruntime-gpu for Linux, a compiler, nm and objdump")
    names = set(re.findall(r" U (_*cu\w+|nvrtc\w+)", _said("nm", "-D", "--undefined-only", provider)))
    own = set(re.findall(r"(\w+)\(", _DRIVER))
    (folder / "driver.c").write_text(_DRIVER + "".join(_FAILS.format(name) for name in sorted(names - own)))
    needed = re.findall(r"NEEDED\s+(lib(?:cu|nvrtc)\S+)", _said("objdump", "-p", provider))
    for library in {*needed, "libcuda.so.1", "libcudnn.so.9"}:
        (folder / "version").write_text(f"{library} {{ global: *; }};\n")
        # The driver's own functions are looked up without a version.
        versioned = [] if library == "libcuda.so.1" else [f"-Wl,--version-script={folder / 'version'}"]
        _said(
            "cc",
            "-w",
            "-shared",
            "-fPIC",
            f"-Wl,-soname,{library}",
            *versioned,
            "-o",
            folder / library,
            folder / "driver.c",
        )
    return str(folder)


def _said(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
