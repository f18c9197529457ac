"""The dependencies as `pyproject.toml` states them, for each platform that people install on."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

PLATFORMS = [
    ("linux", "x86_64", "onnxruntime-gpu"), ("win32", "AMD64", "onnxruntime-gpu"), ("linux", "aarch64", "onnxruntime"),
    ("win32", "ARM64", "onnxruntime"), ("darwin", "arm64", "onnxruntime"), ("darwin", "x86_64", "onnxruntime"),
]  # fmt: skip


@pytest.mark.parametrize("python", ["3.11", "3.14"])
@pytest.mark.parametrize(("system", "machine", "runtime"), PLATFORMS)
def test_each_platform_gets_the_one_runtime_that_has_wheels_for_it(
    system: str, machine: str, runtime: str, python: str
) -> None:
    environment = {
        **{key: str(value) for key, value in default_environment().items()},
        "sys_platform": system,
        "platform_machine": machine,
        "python_version": python,
    }
    requirements = [Requirement(line) for line in PROJECT["dependencies"]]
    wanted = [one.name for one in requirements if one.marker is None or one.marker.evaluate(environment)]
    assert [name for name in wanted if name.startswith("onnxruntime")] == [runtime]


def test_every_dependency_has_a_lower_bound() -> None:
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for name in extras for line in extras[name])]
    unbounded = [
        line
        for line in lines
        if not line.startswith("colde[") and not any(part.operator == ">=" for part in Requirement(line).specifier)
    ]
    assert unbounded == []


def test_the_classifiers_name_the_versions_of_python_that_are_allowed() -> None:
    allowed = Requirement(f"python{PROJECT['requires-python']}").specifier
    named = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line}
    assert named == {f"3.{minor}" for minor in range(8, 20) if allowed.contains(f"3.{minor}.1")}
