"""fp16 for GPUs: half the size and twice the arithmetic, with inputs and outputs left as they are."""

from __future__ import annotations

import warnings
from pathlib import Path

import onnx


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
