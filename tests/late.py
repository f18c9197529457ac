"""Imports that wait until a test runs: torch and what needs it take seconds, which no other test should pay."""

from __future__ import annotations

import ast
import inspect
from importlib.util import find_spec
from types import ModuleType

import pytest


def import_late(module: ModuleType) -> None:
    """Import what a module of tests imports for the type checker alone, `if TYPE_CHECKING`."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), str(module.__file__), "exec"), vars(module))


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skip where a package is absent, without importing it, as `importorskip` does."""
    absent = [package for package in packages if find_spec(package) is None]
    return pytest.mark.skipif(bool(absent), reason=f"needs {', '.join(absent)}")
