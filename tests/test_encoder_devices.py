"""The decision where a model runs, as a table."""

from __future__ import annotations

import pytest

from colde_cli.encoder.runtime import Cuda, decide, probe_cuda
from colde_cli.errors import ColdeError, DeviceError, ModelError, OptionError

NONE = Cuda(problem="there is no NVIDIA driver")
ONE, TWO = Cuda(devices=1), Cuda(devices=2)
SHIPPED = ("int8", "fp16")


@pytest.mark.parametrize(
    ("device", "precision", "graphs", "cuda", "expected"),
    [
        ("auto", "auto", SHIPPED, NONE, ("cpu", "int8")), ("auto", "auto", SHIPPED, ONE, ("cuda:0", "fp16")),
        ("auto", "int8", SHIPPED, ONE, ("cpu", "int8")), ("auto", "auto", ("int8",), ONE, ("cpu", "int8")),
        ("auto", "fp32", (*SHIPPED, "fp32"), ONE, ("cuda:0", "fp32")),
        ("cpu", "auto", SHIPPED, TWO, ("cpu", "int8")), ("cpu", "auto", ("fp16",), NONE, ("cpu", "fp16")),
        ("cpu", "fp16", SHIPPED, NONE, ("cpu", "fp16")), ("cuda", "auto", SHIPPED, TWO, ("cuda:0", "fp16")),
        ("cuda:1", "auto", SHIPPED, TWO, ("cuda:1", "fp16")),
    ],
)  # fmt: skip
def test_plan(device: str, precision: str, graphs: tuple[str, ...], cuda: Cuda, expected: tuple[str, str]) -> None:
    plan = decide(device, precision, graphs, cuda, "model")
    assert (plan.device, plan.precision) == expected
    assert plan.reason.endswith((".", "model"))


@pytest.mark.parametrize(
    ("device", "precision", "cuda", "error", "message"),
    [
        ("cuda", "auto", NONE, DeviceError, "no NVIDIA driver"),
        ("cuda:3", "auto", TWO, DeviceError, "cuda:1"), ("cuda", "int8", ONE, OptionError, "precision fp16"),
        ("gpu", "auto", ONE, OptionError, "auto, cpu, cuda"),
        ("cpu", "half", NONE, OptionError, "no precision"), ("cpu", "fp32", NONE, ModelError, "colde export"),
    ],
)  # fmt: skip
def test_refusals(device: str, precision: str, cuda: Cuda, error: type[ColdeError], message: str) -> None:
    with pytest.raises(error, match=message):
        decide(device, precision, SHIPPED, cuda, "model")


def test_probe_says_what_is_missing_or_nothing() -> None:
    cuda = probe_cuda()
    assert cuda.usable == (not cuda.problem)
