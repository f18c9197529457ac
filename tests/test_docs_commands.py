"""The documentation of the commands is what the commands say (docs/generate.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TREE = {
    "colde": frozenset({"--help", "--version"}), "colde diff": frozenset({"--help", "--format", "-o"}),
    "colde cache": frozenset({"--help"}), "colde cache size": frozenset({"--help"}),
}  # fmt: skip


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
def test_the_page_has_a_line_for_each_option_and_meaning(generate: ModuleType) -> None:
    page = generate.options_page(generate.commands())
    assert "\n- `--fail-under SCORE` (diff, git-check): " in page
    assert "\x1b" not in page
    assert len({line for line in page.splitlines() if line.startswith("- `")}) > 60


@pytest.mark.usefixtures("same_path")
def test_a_stale_page_and_a_missing_section_are_named(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(generate, "PAGE", tmp_path / "options.md")
    monkeypatch.setattr(generate, "COMMANDS", tmp_path / "commands.md")
    (tmp_path / "options.md").write_text("old", encoding="utf-8")
    (tmp_path / "commands.md").write_text("## colde diff\n\n## colde gone\n", encoding="utf-8")
    said = "\n".join(generate.problems())
    assert "options.md is stale" in said
    assert "`colde rank` has no section" in said
    assert "`colde gone` does not exist" in said


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
