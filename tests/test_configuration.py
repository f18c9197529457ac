"""`colde.toml`: where it is found, what wins over it, and what it must not say."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
import typer
from command_line import Run, run
from permissions import POSIX, permissions_count

from colde_cli.commands import configuration
from colde_cli.commands.app import app
from colde_cli.errors import OptionError

Colde = Callable[..., Run]


@pytest.fixture
def colde(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Colde:
    """Runs `colde` in a folder, with variables."""

    def call(folder: Path, *arguments: str | Path, **env: str) -> Run:
        # What a file sets is a variable of the process, and is taken back too.
        with monkeypatch.context() as there, patch.dict(os.environ, env):
            there.chdir(folder)
            return run(capsys, *arguments)

    return call


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with two texts that differ in case alone, and a folder in it."""
    (tmp_path / "a.txt").write_text("The Supplier delivers the goods within ten days of the order.\n")
    (tmp_path / "b.txt").write_text("The supplier delivers the goods within ten days of the order.\n")
    (tmp_path / "inner").mkdir()
    return tmp_path


def test_the_nearest_file_counts(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLDE_CONFIG", raising=False)
    (two / "colde.toml").write_text("")
    assert configuration.find(two / "inner") == two / "colde.toml"
    (two / "inner" / "colde.toml").write_text("")
    assert configuration.find(two / "inner") == two / "inner" / "colde.toml"
    monkeypatch.setenv("COLDE_CONFIG", str(two / "colde.toml"))
    assert configuration.find(two / "inner") == two / "colde.toml"
    monkeypatch.setenv("COLDE_CONFIG", "")
    assert configuration.find(two / "inner") is None
    monkeypatch.setenv("COLDE_CONFIG", "nowhere.toml")
    with pytest.raises(OptionError, match=r"nowhere\.toml"):
        configuration.find(two)


@POSIX
def test_a_closed_folder_above_holds_no_file(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLDE_CONFIG", raising=False)
    (two / "inner" / "colde.toml").write_text("")
    (two / "inner").chmod(0)
    try:
        with permissions_count():
            assert configuration.find(two / "inner" / "below") is None
    finally:
        (two / "inner").chmod(0o700)


def test_options_of_a_command_are_its_defaults(colde: Colde, two: Path) -> None:
    plain = colde(two / "inner", "diff", "../a.txt", "../b.txt")
    (two / "colde.toml").write_text('device = "cpu"\n[diff]\nignore-case = true\nformat = "json"\n')
    ours = colde(two / "inner", "diff", "../a.txt", "../b.txt")
    assert (plain.status, ours.status) == (1, 0)
    assert json.loads(ours.out)["schema"] == "colde.diff/2"


def test_a_variable_wins_over_the_file_and_an_option_over_both(colde: Colde, two: Path) -> None:
    (two / "colde.toml").write_text('[diff]\nformat = "json"\n')
    named = colde(two, "diff", "a.txt", "b.txt", COLDE_FORMAT="csv")
    both = colde(two, "diff", "a.txt", "b.txt", "--format", "markdown", COLDE_FORMAT="csv")
    assert named.out.startswith('"state",')
    assert both.out.startswith("**")


def test_paths_are_those_of_the_files_folder(colde: Colde, two: Path) -> None:
    (two / "colde.toml").write_text('cache-dir = "./kept"\n[diff]\nignore-like = ["./a.txt"]\n')
    result = colde(two / "inner", "cache", "path", COLDE_CACHE_DIR="")
    assert Path(result.out.strip()).parent == two / "kept"
    assert colde(two / "inner", "diff", "../a.txt", "../b.txt").status in (0, 1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("device", "not valid TOML"), ('fromat = "json"', "'fromat' outside a table"), ("[dif]\ntop = 3", r"\[dif\]"),
        ("diff = 3", r"\[diff\]"), ('[diff]\nfromat = "json"', "'fromat', which it does not have"),
        ('[diff]\nformat = "jsno"', "'jsno' is not one of"), ('[diff]\ntop = "many"', "'top'"),
        ("[diff]\ntop = [1, 2]", "takes one value"), ('[diff]\nignore-case = "yes"', "takes true or false"),
        ("[diff]\ntop = true", "takes a value"), ('[diff]\noutput = "a.txt"', "cannot be set there"),
        ('[diff]\npassword = "x"', "a secret"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_one_sentence(colde: Colde, two: Path, text: str, named: str) -> None:
    (two / "colde.toml").write_text(text)
    result = colde(two, "diff", "a.txt", "b.txt")
    assert (result.status, result.out) == (2, "")
    assert str(two / "colde.toml") in result.err
    assert re.search(named, result.err)
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "option", "why"),
    [
        (("index", ".", "-o", "kept.colde"), 'to = "./elsewhere.lance"', "send documents away"),
        (("index", ".", "-o", "kept.colde"), "drop-missing = true", "write or delete"),
        (("diff", "inner", "inner"), 'reports = "written"', "write or delete"),
        (("serve", "."), 'host = "0.0.0.0"', "let others read them"),
        (("mcp",), 'root = ["/"]', "let others read them"),
    ],
)
def test_a_strangers_file_writes_nothing_and_sends_nothing(
    colde: Colde, two: Path, command: tuple[str, ...], option: str, why: str
) -> None:
    (two / "colde.toml").write_text(f"[{command[0]}]\n{option}\n")
    before = sorted(two.rglob("*"))
    result = colde(two, *command)
    assert (result.status, result.out) == (2, "")
    assert "cannot be set there" in result.err
    assert why in result.err
    assert sorted(two.rglob("*")) == before


# What changes no more than what a command reads, computes and prints.
HARMLESS = """
    author baseline bootstrap budget calibration comments date device docs exit-zero explain fail-under field format
    glob ignore ignore-case ignore-like ignore-list-marks ignore-numbers ignore-renumbering ignore-whitespace jobs level
    attention max-upload merge min-contained min-score min-share model no-cache
    ocr only-sections pager pages pairs passages port precision quiet reread resolution retrieval robustness schema seed
    reviewer skip-sections split strict threads timeout top tracked validation verbose where
"""


def test_every_option_was_thought_about() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    of_commands = {name: configuration.options_of(command).keys() for name, command in commands.items()}
    # What `train` writes is its model alone, which -o names on the command line.
    training = of_commands.pop("train") - configuration._REFUSED.keys()
    assert training >= {"epochs", "lr", "system"}
    found = {
        option
        for command, options in of_commands.items()
        for option in options
        if not configuration.refusal(command, option)
    }
    assert found == set(HARMLESS.split())


# What a check takes from the file of the repository that it checks: nothing that decides what passes.
OF_CHECKS = {
    "verify": "format pager quiet verbose",
    "git-check": "device format level model no-cache precision threads top",
    "git-diff": "device level model no-cache precision threads top",
}


@pytest.mark.parametrize("command", OF_CHECKS)
def test_a_check_takes_from_the_file_only_how_it_runs_and_looks(command: str) -> None:
    options = configuration.options_of(typer.main.get_command(app).commands[command])  # type: ignore[attr-defined]
    harmless = {option for option in options if not configuration.refusal(command, option)}
    assert harmless == set(OF_CHECKS[command].split())


@pytest.mark.parametrize(
    "weakening",
    [
        *('allow = [".*"]', "ignore-case = true", 'ignore = ["outside"]', 'ignore-like = ["./b.txt"]'),
        *('pages = "1"', 'skip-sections = ["."]', 'only-sections = ["x"]', "exit-zero = true"),
        "fail-under = 0.1",
    ],
)
def test_a_file_cannot_make_a_check_pass(colde: Colde, two: Path, weakening: str) -> None:
    arguments = {
        "verify": ("a.txt", "b.txt"),
        "git-diff": ("a.txt", "a.txt", "1" * 40, "100644", "b.txt", "2" * 40, "100644"),
        "git-check": ("--hook",),
    }
    for command, given in arguments.items():
        (two / "colde.toml").write_text(f"[{command}]\n{weakening}\n")
        result = colde(two, command, *given)
        assert (result.status, result.out) == (2, "")
        assert "a check that came with the documents it checks would be none" in result.err


@pytest.mark.slow
def test_what_a_check_of_the_text_reads_comes_from_the_command_line(colde: Colde, two: Path) -> None:
    lost = two / "scan.pdf"
    lost.write_bytes((Path(__file__).parent / "data" / "outline.pdf").read_bytes())
    (two / "colde.toml").write_text('[text]\npages = "1"\n')
    assert colde(two, "text", lost).status == 0
    for env in ({}, {"COLDE_PAGES": "1"}):
        result = colde(two, "text", "--check", lost, **env)
        assert result.status == 2
        assert "--pages comes from" in result.err
    assert colde(two, "text", "--check", "--pages", "1", lost, COLDE_CONFIG="").status in (0, 1)


def test_doctor_shows_the_file_even_if_it_is_wrong(colde: Colde, two: Path) -> None:
    (two / "colde.toml").write_text('[doctor]\nmodel = "colde-minilm-l6"\n')
    right = json.loads(colde(two, "doctor", "--format", "json").out)["findings"]
    assert any(found["topic"] == "configuration" and found["fine"] for found in right)
    (two / "colde.toml").write_text("device")
    wrong = colde(two, "doctor", "--format", "json")
    assert wrong.status == 1
    assert any(not found["fine"] and "TOML" in found["result"] for found in json.loads(wrong.out)["findings"])
