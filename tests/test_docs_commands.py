"""The documentation of the commands is what the commands say (docs/generate.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TREE = {
    "colde": frozenset({"--help", "--version"}),
    "colde diff": frozenset({"--help", "--format", "-o"}),
    "colde cache": frozenset({"--help"}),
    "colde cache size": frozenset({"--help"}),
}
PAGE = """# Commands

<!-- help: colde diff -->
```text
Usage: colde diff A B
```
<!-- end help -->
"""


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    path = Path(__file__).resolve().parent.parent / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.usefixtures("same_path")
def test_every_command_is_documented_and_every_example_exists(generate: ModuleType) -> None:
    assert generate.problems() == []


@pytest.mark.usefixtures("same_path")
def test_the_tree_holds_the_three_main_commands_and_their_options(generate: ModuleType) -> None:
    tree = generate.command_tree()
    assert {"colde diff", "colde rank", "colde train"} <= set(tree)
    assert {"--format", "--model", "--fail-under"} <= tree["colde diff"]


def test_help_is_plain_text_of_at_most_100_columns(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = generate.help_texts(["colde diff"])["colde diff"]
    assert "\x1b" not in text
    assert "colde diff" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_page_that_is_up_to_date_has_no_problem(generate: ModuleType) -> None:
    assert generate.page_problems(PAGE, {"colde diff": "Usage: colde diff A B"}) == []


def test_filling_a_stale_page_makes_it_current(generate: ModuleType) -> None:
    helps = {"colde diff": "Usage: colde diff [OPTIONS] A B"}
    assert len(generate.page_problems(PAGE, helps)) == 1
    assert "stale" in generate.page_problems(PAGE, helps)[0]
    filled = generate.fill(PAGE, helps)
    assert helps["colde diff"] in filled
    assert generate.page_problems(filled, helps) == []


def test_undocumented_and_vanished_commands_are_named(generate: ModuleType) -> None:
    found = generate.page_problems(PAGE, {"colde rank": "Usage: colde rank"})
    assert [problem.split("`")[1] for problem in found] == ["colde rank", "colde diff"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("colde diff a.pdf b.pdf --format json", []),
        ("colde diff a.pdf - -o out.json && colde cache size", []),
        ("$ cat a.pdf | colde diff - b.pdf", []),
        ("colde --version", []),
        ("pip install . && colde dif a b", ["`colde dif` does not exist"]),
        ("colde diff a b --fromat=json", ["`colde diff` has no option --fromat"]),
        ("colde cache size --all | wc -l", ["`colde cache size` has no option --all"]),
        ("echo 'colde nonsense'", []),
    ],
)
def test_examples_are_held_against_the_commands(generate: ModuleType, line: str, expected: list[str]) -> None:
    assert generate.example_problems(f"Text.\n\n```bash\n{line}\n```\n", TREE) == expected


def test_blocks_that_are_not_shell_are_left_alone(generate: ModuleType) -> None:
    assert generate.example_problems("```text\ncolde nonsense\n```\n", TREE) == []
