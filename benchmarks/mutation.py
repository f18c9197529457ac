"""Mutation testing: change one thing in the code, and see whether a test notices; for a random sample of all changes.

    python benchmarks/mutation.py --coverage .coverage --durations junit.xml [--sample 600] [--seed 0] [--out FILE]
        [--files GLOB ...] [--without FILE ...] [--equivalent FILE]

Mutations are those of mutmut 3 (`mutmut.mutation.mutators`). mutmut's own runner is not used: it changes no code
outside of functions and none in decorated ones (patterns, tables, properties), it finds tests by function and not by
line, and it knows no samples.

Each mutant gets a process of its own, forked after the libraries are loaded, in which the changed source is imported in
place of the file. It runs the tests of the mirrored test file, those that cover the line first, and then the quickest
others that cover it, up to `--seconds` of their measured time, until one fails. Lines outside of functions are covered
by the tests of the functions that use their names. A mutant that takes ten times the processor time of its tests counts
as killed by time. Commands that tests start as processes see the unchanged code, so a mutant that only these would kill
survives. Hypothesis runs without shrinking and always tries the same examples.

Needs `mutmut` and a measurement by coverage.py with the contexts of pytest-cov; see docs/development.md. The sample is
drawn from each file in proportion to its mutants. Intervals are Wilson's, 95 %. `--without` leaves out the mutants of
earlier results, so that a second sample meets none that tests were written for; `--equivalent` names mutants that no
test can kill, one JSON object a line as in the results with a `reason`; they are counted apart.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import json
import math
import os
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import libcst as cst
import pytest
from covering_tests import Tests
from hypothesis import Phase, settings
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).resolve().parent.parent
FILES = ("colde_cli/similarity/*.py", "colde_cli/scoring/*.py", "colde_cli/documents/chunking.py")
LIBRARIES = (
    *("numpy", "onnxruntime", "tokenizers", "rapidfuzz", "rich", "typer", "pytest", "hypothesis", "jinja2"),
    *(
        "selectolax.lexbor",
        "markdown_it",
        "charset_normalizer",
        "platformdirs",
        "networkx",
        "docx",
        "lxml.etree",
    ),
    *(
        "pypdf",
        "pypdfium2",
        "sqlite3",
        "scipy.optimize",
        "scipy.stats",
        "sklearn.linear_model",
        "sklearn.isotonic",
    ),
)
OPTIONS = (
    "-q -p _hypothesis_pytestplugin -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning".split()
)
HELPERS = {path.stem for path in (ROOT / "tests").glob("*.py")}
_MEMORY = 12 << 30


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    inside: str
    """The function that is changed, or "" outside of functions."""
    before: str
    after: str
    source: str = field(repr=False)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from other mutants, also after lines moved."""
        return self.file, self.inside, self.before, self.after


# Making mutants


class _Gatherer(cst.CSTVisitor):
    """Collects the nodes that may be changed, with their changes; leaves out what is no behaviour."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        self.found: list[tuple[cst.CSTNode, cst.CSTNode, int, str]] = []
        self._inside: list[str] = []
        self._functions = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_left_out(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._inside.append(node.name.value)
            self._functions += isinstance(node, cst.FunctionDef)
        line = self.get_metadata(PositionProvider, node).start.line
        inside = ".".join(self._inside) if self._functions else ""
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                self.found.extend((node, changed, line, inside) for changed in operator(node))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._inside.pop()
            self._functions -= isinstance(original_node, cst.FunctionDef)


def _is_left_out(node: cst.CSTNode) -> bool:
    """Annotations, decorators, docstrings and type aliases; `len` and `isinstance`, as mutmut does."""
    if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom):
        return True
    if isinstance(node, cst.Expr):
        return isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)
    if isinstance(node, cst.If):
        return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Name) and node.value.value == "Literal"
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Name) and node.func.value in ("len", "isinstance", "TypeVar", "cast")
    return False


class Source:
    """A file, and its mutants, which are made when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.name = path.relative_to(ROOT).as_posix()
        wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
        gatherer = _Gatherer()
        wrapper.visit(gatherer)
        self._module = wrapper.module
        self._found = gatherer.found
        self._holders = {
            id(node): number for number, top in enumerate(self._module.body) for node in _nodes(top)
        }
        self._parts = [self._module.code_for_node(top) for top in self._module.body]
        self._header = "".join(self._module.code_for_node(line) for line in self._module.header)

    def __len__(self) -> int:
        return len(self._found)

    def mutant(self, number: int) -> Mutant | None:
        """One mutant; None if it does not compile, or to the same as the file."""
        node, changed, line, inside = self._found[number]
        at = self._holders[id(node)]
        top = self._module.body[at].deep_replace(node, changed)  # type: ignore[arg-type]
        part = self._module.code_for_node(top)  # type: ignore[arg-type]
        if (compiled := _compiled(part)) is None or compiled == _compiled(self._parts[at]):
            return None
        before, after = _changed_lines(self._parts[at], part)
        source = self._header + "".join([*self._parts[:at], part, *self._parts[at + 1 :]])
        return Mutant(self.name, line, inside, before, after, source)

    def draw(self, count: int, generator: random.Random, without: set[tuple[str, ...]]) -> list[Mutant]:
        """Draw this many mutants at random, of those that are not left out."""
        chosen: list[Mutant] = []
        for number in generator.sample(range(len(self)), len(self)):
            if len(chosen) == count:
                break
            mutant = self.mutant(number)
            if mutant is not None and mutant.key not in without:
                chosen.append(mutant)
        return chosen


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _compiled(code: str) -> str | None:
    """What the code means; without the `strict` of `zip`, which checks what the code itself assumes."""
    try:
        return re.sub(
            r"(, )?keyword\(arg='strict', value=Constant\(value=\w+\)\)", "", ast.dump(ast.parse(code))
        )
    except SyntaxError:
        return None


def _changed_lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ."""
    old, new = before.splitlines(), after.splitlines()
    first = next((i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    last = next(
        (i for i, pair in enumerate(zip(old[::-1], new[::-1], strict=False)) if pair[0] != pair[1]),
        0,
    )
    last = min(last, len(old) - first - 1, len(new) - first - 1)
    return tuple(  # type: ignore[return-value]
        " ".join(" ".join(lines[first : len(lines) - last]).split()) for lines in (old, new)
    )


def draw(sources: Sequence[Source], size: int, seed: int, without: set[tuple[str, ...]]) -> list[Mutant]:
    """Draw a sample, from each file in proportion to its mutants, by the largest remainder."""
    generator = random.Random(seed)
    total = sum(map(len, sources))
    shares = {source.name: size * len(source) / total for source in sources}
    counts = {name: math.floor(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: (counts[name] - shares[name], name))
    for name in by_remainder[: max(0, size - sum(counts.values()))]:
        counts[name] += 1
    chosen = [m for source in sources for m in source.draw(counts[source.name], generator, without)]
    generator.shuffle(chosen)  # an interrupted run is a sample too
    return chosen


# Running


class _Replace:
    """An importer that gives one module another source."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._module = mutant.file.removesuffix(".py").replace("/", ".")

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Answer for the changed module alone."""
        return (
            spec_from_loader(name, self, origin=str(ROOT / self._mutant.file))
            if name == self._module
            else None
        )

    def create_module(self, _spec: ModuleSpec) -> None:
        """Python makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        path = str(ROOT / self._mutant.file)
        module.__file__ = path
        exec(compile(self._mutant.source, path, "exec"), module.__dict__)


def _swap(mutant: Mutant) -> bool:
    """Give the changed function its new code in place; False where that is not all that changes."""
    if not mutant.inside:
        return False
    path = str(ROOT / mutant.file)
    old: Any = sys.modules.get(mutant.file.removesuffix(".py").replace("/", "."))
    new = compile(mutant.source, path, "exec", dont_inherit=True)
    for name in mutant.inside.split("."):
        if old is None:
            return False
        old = _unwrapped(vars(old).get(name))
        new = next((c for c in new.co_consts if isinstance(c, CodeType) and c.co_name == name), None)  # type: ignore[assignment]
        if new is None:
            return False
        if isinstance(old, FunctionType):
            same = old.__code__ == new or old.__code__.co_freevars != new.co_freevars
            if not same:
                old.__code__ = new
            return not same
    return False


def _unwrapped(found: object) -> object:
    """The function in a property, a class method or a cache."""
    for name in ("fget", "func", "__func__", "__wrapped__"):
        while (inner := getattr(found, name, None)) is not None and not isinstance(found, FunctionType):
            found = inner
    return found


def _be_child(mutant: Mutant | None, tests: list[str], seconds: float, to: int) -> None:
    """Run tests on a mutant and write the first that fails."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silent = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(silent, number)
    if mutant and not _swap(mutant):
        for name in [
            name for name in sys.modules if name.startswith(("colde_cli", "test_")) or name in HELPERS
        ]:
            del sys.modules[name]
        sys.meta_path.insert(0, _Replace(mutant))

    order = {test: place for place, test in enumerate(tests)}

    class Plugin:
        """Runs these tests in this order, and writes which fail."""

        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            def place(item: pytest.Item) -> int | None:
                return order.get(item.nodeid, order.get(f"{item.nodeid.partition('::')[0]}::"))

            items[:] = sorted((item for item in items if place(item) is not None), key=place)  # type: ignore[arg-type]

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                os.write(to, report.nodeid.encode() + b"\n")

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                os.write(to, b"import\n")

    stop = ["-x"] if mutant else []
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    status = pytest.main([*OPTIONS, *stop, *files], plugins=[Plugin()])
    os._exit(int(status))


def run(mutant: Mutant | None, tests: list[str], seconds: float) -> tuple[str, str, float]:
    """Run tests on a mutant in a process of its own: killed, survived or timeout; the test; processor seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            _be_child(mutant, tests, 20 + 10 * seconds, writing)
        except BaseException:
            os.write(writing, b"BROKEN " + traceback.format_exc().encode())
        finally:
            os._exit(70)
    os.close(writing)
    ended = _wait(child, time.monotonic() + 600 + 20 * seconds)
    # What a test left behind must not go on beside the next mutant.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as stream:
        os.set_blocking(stream.fileno(), False)
        failed = (stream.read() or b"").decode().splitlines()
    if ended is None:
        return "timeout", "", 0.0
    status, usage = ended
    spent = usage.ru_utime + usage.ru_stime
    if failed and failed[0].startswith("BROKEN"):
        raise RuntimeError("\n".join(failed))
    first = failed[0] if mutant and failed else "\n".join(failed)
    if failed:
        return "killed", first, spent
    if os.WIFSIGNALED(status):
        return (
            ("timeout" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "killed"),
            "signal",
            spent,
        )
    if (code := os.WEXITSTATUS(status)) not in (0, 5):
        raise RuntimeError(f"pytest ended with status {code} and no failure: {mutant} {tests}")
    return ("survived" if code == 0 else "untested"), "", spent


def _wait(child: int, until: float) -> tuple[int, Any] | None:
    """Wait for a child; None if it had to be killed."""
    while time.monotonic() < until:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return status, usage
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def wilson(good: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    z, p = 1.959964, good / count
    middle, half = p + z * z / (2 * count), z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)


def table(results: Sequence[dict[str, Any]], population: dict[str, int]) -> str:
    """Results by file, in Markdown."""
    lines = [
        "| File | Mutants | Drawn | Killed | Timeout | Survived | Equivalent | No test | Score | 95 % |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    groups: list[tuple[str, list[dict[str, Any]], int]] = [
        (name, [r for r in results if r["file"] == name], count) for name, count in sorted(population.items())
    ]
    groups += [
        ("in functions", [r for r in results if r["inside"]], 0),
        ("outside of functions", [r for r in results if not r["inside"]], 0),
        ("**all**", list(results), sum(population.values())),
    ]
    for name, rows, count in groups:
        got = Counter(row["result"] for row in rows)
        good = got["killed"] + got["timeout"]
        valid = len(rows) - got["equivalent"]
        low, high = wilson(good, valid)
        lines.append(
            f"| {name.removeprefix('colde_cli/')} | {count or ''} | {len(rows)} | {got['killed']} | {got['timeout']} "
            f"| {got['survived']} | {got['equivalent']} | {got['untested']} "
            f"| {good / valid if valid else 0:.1%} | {low:.1%} to {high:.1%} |"
        )
    return "\n".join(lines)


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["file"], row["inside"], row["before"], row["after"]


def _rows(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def main() -> None:
    """Draw, run, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--coverage", type=Path, nargs="+", required=True, help="Data of coverage.py.")
    parser.add_argument(
        "--durations", type=Path, nargs="+", required=True, help="JUnit reports of the same runs."
    )
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="Time for tests of other files.")
    parser.add_argument("--files", nargs="+", default=FILES)
    parser.add_argument("--without", type=Path, nargs="*", default=[])
    parser.add_argument("--again", type=Path, help="Run the survivors of these results instead of a sample.")
    parser.add_argument("--equivalent", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path("mutation.jsonl"))
    arguments = parser.parse_args()

    paths = sorted({path for pattern in arguments.files for path in ROOT.glob(pattern)})
    tests = Tests(arguments.coverage, arguments.durations)
    sources = [source for source in map(Source, paths) if len(source)]
    equivalent = {_key(row) for row in _rows(arguments.equivalent)}
    if arguments.again:
        survived = {
            _key(row) for row in _rows([arguments.again]) if row["result"] in ("survived", "untested")
        }
        sources = [source for source in sources if any(key[0] == source.name for key in survived)]
        every = [source.mutant(number) for source in sources for number in range(len(source))]
        chosen = [mutant for mutant in every if mutant and mutant.key in survived]
    else:
        chosen = draw(
            sources, arguments.sample, arguments.seed, {_key(row) for row in _rows(arguments.without)}
        )
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for library in LIBRARIES:
        __import__(library)
    wanted = {test for mutant in chosen for part in tests.choose(mutant, arguments.seconds) for test in part}
    _import_tests(sorted({test.partition("::")[0] for test in wanted}))
    judge = _Judge(tests, arguments.seconds)
    results = []
    with arguments.out.open("w", encoding="utf-8") as out:
        for number, mutant in enumerate(chosen, 1):
            result, by, seconds = "equivalent", "", 0.0
            if mutant.key not in equivalent:
                result, by, seconds = judge.decide(mutant)
            row = {
                **{"file": mutant.file, "line": mutant.line, "inside": mutant.inside, "result": result},
                **{"before": mutant.before, "after": mutant.after, "by": by, "cpu": round(seconds, 1)},
            }
            results.append(row)
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            print(f"{number}/{len(chosen)} {result} {mutant.file}:{mutant.line} {by}", file=sys.stderr)
    print(
        f"seed {arguments.seed}, {len(chosen)} mutants, {sum(r['cpu'] for r in results):.0f} s of processor time\n"
    )
    print(table(results, {source.name: len(source) for source in sources}))


def _import_tests(files: list[str]) -> None:
    """Import test files, and with them the package, once for all mutants."""
    settings.register_profile(
        "mutation", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
    )
    settings.load_profile("mutation")
    type.__setattr__(settings, "load_profile", lambda _name: None)  # conftest.py loads its own
    with Path(os.devnull).open("w") as silent, contextlib.redirect_stdout(silent):
        pytest.main([*OPTIONS, "--collect-only", *files])
    gc.collect()
    gc.freeze()


class _Judge:
    """Decides about mutants; a test counts only if it passes without a mutation, which is tried when it fails."""

    def __init__(self, tests: Tests, seconds: float) -> None:
        self._tests = tests
        self._seconds = seconds
        self._sound: dict[str, bool] = {"import": True}

    def decide(self, mutant: Mutant) -> tuple[str, str, float]:
        """The result of `run` with the tests for a mutant."""
        spent, result, by = 0.0, "untested", ""
        # The mirrored test file by itself first: it is quickest, and kills most.
        for tests in self._tests.choose(mutant, self._seconds):
            while tests := [test for test in tests if self._sound.get(test, True)]:
                result, by, seconds = run(mutant, tests, sum(map(self._tests.time, tests)))
                spent += seconds
                if result != "killed" or not by or self._is_sound(by):
                    break
            if result in ("killed", "timeout"):
                break
        return result, by, spent

    def _is_sound(self, test: str) -> bool:
        if test not in self._sound:
            self._sound[test] = run(None, [test], self._tests.time(test))[0] == "survived"
            if not self._sound[test]:
                print(f"left out, as it fails without a mutation: {test}", file=sys.stderr)
        return self._sound[test]


if __name__ == "__main__":
    main()
