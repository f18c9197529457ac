"""Which tests cover a line, by a measurement of coverage.py with the contexts of pytest-cov; for `mutation.py`."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from mutation import Mutant

ROOT = Path(__file__).resolve().parent.parent


class Tests:
    """Which tests cover a line, and how long each takes."""

    def __init__(self, coverage_files: Sequence[Path], reports: Sequence[Path]) -> None:
        from coverage import CoverageData

        found = dict(pair for report in reports for pair in _durations(report))
        # A file may have been renamed since it was measured.
        self.seconds = {
            test: time for test, time in found.items() if (ROOT / test.partition("::")[0]).is_file()
        }
        self.covering: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path in coverage_files:
            data = CoverageData(str(path))
            data.read()
            for measured in data.measured_files():
                _, package, rest = measured.rpartition("colde_cli/")
                for line, contexts in data.contexts_by_lineno(measured).items():
                    tests = {context.partition("|")[0] for context in contexts} & self.seconds.keys()
                    self.covering[package + rest][line] |= tests

    def choose(self, mutant: Mutant, seconds: float) -> tuple[list[str], list[str]]:
        """The tests of the mirrored file and others for a mutant, in the order to run; `FILE::` is all of a file."""
        covering = self._of_lines(mutant)
        stem = mutant.file.removeprefix("colde_cli/").removesuffix(".py").replace("/", "_")
        files = [f"tests/{path.name}::" for path in sorted((ROOT / "tests").glob(f"test_{stem}*.py"))]
        mirrored = {test for test in covering if test.startswith(tuple(files))}
        others: list[str] = []
        budget = seconds
        for test in sorted(covering - mirrored, key=lambda test: (self.time(test), test)):
            if (budget := budget - self.time(test)) < 0:
                break
            others.append(test)
        return [*sorted(mirrored, key=self.time), *files], others

    def time(self, test: str) -> float:
        """Seconds that a test took, or all of a file, or some for a test that is newer than the measurement."""
        if test.endswith("::"):
            return 5 + sum(time for name, time in self.seconds.items() if name.startswith(test))
        return self.seconds.get(test, 5.0)

    def _of_lines(self, mutant: Mutant) -> set[str]:
        if not mutant.inside:
            return self._of_names(mutant.file, _names_at(mutant.file, mutant.line))
        lines = _statement_at(mutant.file, mutant.line)
        return set().union(*(self.covering[mutant.file].get(line, ()) for line in lines))

    def _of_names(self, file: str, names: set[str]) -> set[str]:
        """Tests of the functions, in any file, that use these names, or others that are made of them."""
        found: set[str] = set()
        for _ in range(3):
            further = set()
            for other in _users(file):
                for number, text in enumerate(_lines(other), 1):
                    if any(re.search(rf"\b{re.escape(name)}\b", text) for name in names):
                        found |= self.covering[other].get(number, set())
                        further |= _names_at(other, number) if other == file else set()
            if further <= names:
                break
            names = names | further
        return found


def _durations(report: Path) -> Iterator[tuple[str, float]]:
    """The tests of a report that passed, with their seconds."""
    for case in ET.parse(report).iter("testcase"):
        if not list(case):
            path = case.attrib["classname"].replace(".", "/")
            yield f"{path}.py::{case.attrib['name']}", float(case.attrib["time"])


@cache
def _lines(file: str) -> list[str]:
    return (ROOT / file).read_text(encoding="utf-8").splitlines()


@cache
def _users(file: str) -> list[str]:
    """The file, and those that import it."""
    module = file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    imported = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import .*\b{stem}\b")
    paths = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "colde_cli").rglob("*.py"))]
    return [file, *(path for path in paths if path != file and imported.search("\n".join(_lines(path))))]


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse("\n".join(_lines(file)))


def _statement_at(file: str, line: int) -> range:
    """The lines of the smallest statement around a line; of one with a body, those of its head.

    The head of a function is run at import: its tests are those of the body.
    """
    best = range(line, line + 1)
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            if isinstance(node, ast.FunctionDef) and line < node.body[0].lineno:
                best = range(node.body[0].lineno, (node.end_lineno or line) + 1)
            elif body is None:
                best = range(node.lineno, (node.end_lineno or line) + 1)
            elif line < body[0].lineno:
                best = range(node.lineno, body[0].lineno)
    return best


def _names_at(file: str, line: int) -> set[str]:
    """The names that the statement of the module at a line defines; none if it is a function."""
    for node in _tree(file).body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            if isinstance(node, ast.ClassDef):
                return {node.name}
            if isinstance(node, ast.FunctionDef):
                return set()
            return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & {
                part.id
                for part in ast.walk(node)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }
    return set()
