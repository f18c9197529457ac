"""Imports that wait until a test runs: torch and what needs it take seconds, which no other test should pay."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType


def import_late(module: ModuleType) -> None:
    """Import what a module of tests imports for the type checker alone, `if TYPE_CHECKING`."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), str(module.__file__), "exec"), vars(module))
