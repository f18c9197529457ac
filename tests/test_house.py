"""The rules of the house: which room may import which, and what stays unloaded."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import V1, V2, run_process

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "colde_cli"
FILES = sorted(PACKAGE.rglob("*.py"))

# What each room may import beside itself, the errors and the settings. `learning` and `systems` are for commands alone.
ALLOWED = {
    "documents": set(),
    "scoring": {"documents"},
    "encoder": {"scoring", "documents"},
    "similarity": {"encoder", "scoring", "documents"},
    "corpus": {"similarity", "encoder", "scoring", "documents"},
    "evaluation": {"similarity", "encoder", "scoring", "documents"},
    "views": {"evaluation", "corpus", "similarity", "encoder", "scoring", "documents"},
    "learning": {"evaluation", "similarity", "encoder", "scoring", "documents"},
    "systems": {"learning", "evaluation", "similarity", "encoder", "scoring", "documents"},
    "service": {"views"},
    "commands": {
        "service", "views", "evaluation", "corpus", "similarity", "encoder", "scoring", "documents", "learning",
        "systems",
    },
}  # fmt: skip
COMMON = {"", "errors", "files", "settings"}
# The Python API, which the rooms that it is made of cannot use.
ABOVE = {"commands": {"model_api", "types"}, "service": {"model_api", "types"}}
HEAVY = (
    *("onnxruntime", "torch", "transformers", "pypdf", "pypdfium2", "numpy", "tokenizers", "sqlite3"),
    *("selectolax", "jinja2", "fastapi", "starlette", "uvicorn", "mcp"),
)
# The classes behind `encoder.encoding.DocumentEncoder`: models are opened with `encoder.loading.open_encoder`.
ENCODERS = {"colde_cli.encoder.encoder", "colde_cli.encoder.system_encoder"}
TRAINING = {"torch", "transformers", "optimum", "onnx", "safetensors", "sklearn", "accelerate"}


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The imports and classes of a file, wherever in it."""
    wanted = (ast.Import, ast.ImportFrom, ast.ClassDef)
    return tuple(node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, wanted))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""


def imported_room(module: str) -> str | None:
    """The room of colde that a module lies in; None for other packages."""
    top, _, rest = module.partition(".")
    if top != "colde_cli":
        return None
    return rest.partition(".")[0]


def test_every_room_is_known() -> None:
    assert {room(path) for path in FILES} == {"", *ALLOWED}


def test_imports_run_one_way() -> None:
    wrong = {}
    for path in FILES:
        own = room(path)
        allowed = ALLOWED.get(own, set()) | {own} | COMMON | ABOVE.get(own, set())
        rooms = {found for module in imports(path) if (found := imported_room(module)) is not None}
        if own and not rooms <= allowed:
            wrong[name(path)] = sorted(rooms - allowed)
    assert wrong == {}


@cache
def used_files(path: Path) -> frozenset[Path]:
    """The files of colde that a file imports. The one that names the API imports none, but for annotations."""
    if path == PACKAGE / "__init__.py":
        return frozenset()
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and imported_room(node.module or "") is not None:
            home = ROOT.joinpath(*(node.module or "").split("."))
            beside = {home / f"{alias.name}.py" for alias in node.names}
            found |= {file for file in (*beside, home.with_suffix(".py"), home / "__init__.py") if file.is_file()}
    return frozenset(found - {path})


def module_name(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_no_files_import_each_other_in_a_circle() -> None:
    known: set[Path] = set()

    def visit(path: Path, above: tuple[Path, ...] = ()) -> None:
        assert path not in above, [name(other) for other in (*above, path)]
        if path not in known:
            for other in used_files(path):
                visit(other, (*above, path))
            known.add(path)

    for path in FILES:
        visit(path)


def test_rooms_lie_on_eight_layers() -> None:
    # What all rooms use is the ground they stand on; `app` and `__main__` only start the commands.
    ground = {"", "errors", "files", "settings", "app", "__main__"}
    uses: dict[str, set[str]] = {}
    for path in FILES:
        own = imported_room(module_name(path)) or ""
        uses.setdefault(own, set()).update(
            {imported_room(module_name(file)) or "" for file in used_files(path)} - ground - {own}
        )

    @cache
    def layers(place: str) -> int:
        return 1 + max(map(layers, uses[place]), default=0)

    assert max(layers(place) for place in uses if place not in ground) <= 8
    assert len(uses) <= 20


def test_only_learning_uses_the_packages_for_training() -> None:
    # Commands may ask which of these packages is installed, and two rooms fit curves with scikit-learn.
    extra = {"evaluation": {"sklearn"}, "scoring": {"sklearn"}, "commands": TRAINING}
    extra |= {"learning": TRAINING, "systems": TRAINING}
    wrong = {}
    for path in FILES:
        tops = {module.partition(".")[0] for module in imports(path)}
        if used := tops & (TRAINING - extra.get(room(path), set())):
            wrong[name(path)] = sorted(used)
    assert wrong == {}


def test_only_fit_needs_an_extra_in_scoring() -> None:
    using = {
        name(path)
        for path in FILES
        if room(path) == "scoring" and any(module.startswith(("sklearn", "scipy")) for module in imports(path))
    }
    assert using <= {"scoring/fit.py"}


@pytest.mark.slow
def test_comparing_and_showing_depend_on_no_system() -> None:
    users = [path for path in FILES if room(path) in ("similarity", "corpus", "views")]
    assert {name(path) for path in users if set(imports(path)) & ENCODERS} == set()


def test_views_run_no_model() -> None:
    # A view may name the types of the encoder for annotations; it never encodes.
    views = [path for path in FILES if room(path) == "views"]
    assert [name(path) for path in views if re.search(r"\.encode(_\w+)?\(.*document", path.read_text("utf-8"))] == []


@cache
def names_in(path: Path) -> set[str]:
    """The names that a file defines or imports at its top level, and the files beside it if it is a package."""
    found = {other.stem for other in path.parent.iterdir()} if path.name == "__init__.py" else set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.slow
def test_scripts_and_tests_import_what_there_is() -> None:
    # Benchmarks are not type-checked and take too long to run: a name that is gone would be found by nobody.
    missing = []
    scripts = [path for folder in ("benchmarks", "docs", "tests") for path in (ROOT / folder).rglob("*.py")]
    for path in scripts:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and imported_room(node.module or "") is not None:
                module = ROOT.joinpath(*(node.module or "").split("."))
                home = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
                known = names_in(home) if home.is_file() else set()
                missing += [
                    f"{path.name}: {node.module}.{alias.name}" for alias in node.names if alias.name not in known
                ]
    assert missing == []


def test_files_stay_readable() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {file: lines for file, lines in lengths.items() if lines > 600} == {}


def test_no_file_keeps_the_marks_of_a_conflict() -> None:
    pages = [path for folder in (ROOT, ROOT / "docs", ROOT / "tests") for path in folder.glob("*.md")]
    assert pages
    marked = re.compile("^(?:<{7}|>{7}) ", re.MULTILINE)
    assert not [path.name for path in pages if marked.search(path.read_text(encoding="utf-8"))]


def test_a_file_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        places.setdefault(path.name, []).append(name(path))
    assert {file: found for file, found in places.items() if len(found) > 1 and file != "__init__.py"} == {}


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name(path))
    assert {found: files for found, files in homes.items() if len(files) > 1} == {}


def loaded(*arguments: str) -> set[str]:
    """The modules that a run of the command has loaded."""
    result = run_process(*arguments, python=("-X", "importtime"))
    lines = [line for line in result.err.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}


@pytest.mark.parametrize("arguments", [("--help",), ("diff", "--help"), ("rank", "--help"), ("--version",)])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = loaded(*arguments)
    assert "colde_cli.commands.app" in modules
    tops = {module.partition(".")[0] for module in modules}
    assert not tops & set(HEAVY)


def test_diff_loads_nothing_of_training() -> None:
    modules = loaded("diff", V1, V2)
    assert "onnxruntime" in modules
    assert not {module.partition(".")[0] for module in modules} & TRAINING
    assert not any(module.startswith("colde_cli.learning") for module in modules)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, colde_cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ""},
    )
    assert not {name.partition(".")[0] for name in done.stdout.split()} & set(HEAVY)
