"""The commands as Typer runs them: the list of the help, and values made without pydantic."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from command_line import ROOT, run_process, run_python
from typer.testing import CliRunner

from colde_cli.commands.app import COMMANDS, HIDDEN, ColdeCommand, Commands


def test_the_help_says_of_each_command_what_the_command_says() -> None:
    said = {name: " ".join(command.help.partition("\n\n")[0].split()) for name, command in Commands().items()}
    assert {name: said[name] for name in COMMANDS} == COMMANDS
    assert {name for name, command in Commands().items() if command.hidden} == HIDDEN


def test_every_file_of_a_command_is_listed() -> None:
    files = {path.stem for path in (ROOT / "colde_cli" / "commands").glob("*.py")}
    known = {name.replace("-", "_") for name in Commands()}
    assert files - known == {
        "__init__",
        "app",
        "configuration",
        "options",
        "pair_reports",
        "reading_options",
        "recipe_file",
    }


def test_an_unknown_command_is_not_imported() -> None:
    with pytest.raises(KeyError):
        Commands()["typer"]
    assert "'rank'" in run_process("rnak").err


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded at its end."""
    code = "import sys; from colde_cli.commands.app import app; app(sys.argv[1:], standalone_mode=False)"
    code += "; print(*sys.modules)"
    done = run_python(code, *arguments)
    assert done.status == 0, done.err
    return set(done.out.split())


def test_help_imports_no_command_and_a_command_no_other() -> None:
    assert not {f"colde_cli.commands.{name}" for name in COMMANDS} & loaded("--help")
    modules = loaded("cache", "path")
    assert "colde_cli.commands.cache" in modules
    assert not {"colde_cli.commands.train", "pydantic"} & modules


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


seen: dict[str, Any] = {}
app = typer.Typer()


@app.command(cls=ColdeCommand)
def command(
    names: Annotated[list[str] | None, typer.Argument()] = None,
    number: Annotated[int, typer.Option("--number", min=1, max=9)] = 3,
    share: Annotated[float | None, typer.Option("--share", min=0, envvar="SHARE")] = None,
    colour: Annotated[Colour, typer.Option("--colour")] = Colour.RED,
    file: Annotated[Path | None, typer.Option("--file")] = None,
    twice: Annotated[int | None, typer.Option("--twice", parser=lambda text: 2 * int(text))] = None,
    switch: Annotated[bool, typer.Option("--switch", envvar="SWITCH")] = False,
) -> None:
    seen.update(locals())


def values(*arguments: str, env: dict[str, str] | None = None) -> dict[str, Any] | str:
    """What the command was called with, or the last line of its error."""
    seen.clear()
    done = CliRunner().invoke(app, list(arguments), env=env)
    return dict(seen) if done.exit_code == 0 else done.output


def test_values_have_the_declared_types() -> None:
    assert values() == {
        **{"names": None, "number": 3, "share": None, "colour": Colour.RED, "file": None, "twice": None},
        "switch": False,
    }
    given = values("a", "b", "--number", "9", "--colour", "blue", "--file", "x.pdf", "--twice", "4", "--switch")
    assert given == {
        **{"names": ["a", "b"], "number": 9, "share": None, "colour": Colour.BLUE, "file": Path("x.pdf")},
        **{"twice": 8, "switch": True},
    }
    assert values(env={"SHARE": "0.5", "SWITCH": "1"}) == values("--share", "0.5", "--switch")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--number", "10"), "for '--number': '10' is not less than or equal to 9."),
        (("--number", "0"), "greater than or equal to 1"),
        (("--number", "three"), "'three' is not a valid integer."),
        (("--share", "nan"), "greater than or equal to 0"),
        (("--colour", "green"), "for '--colour': 'green' is not one of 'red', 'blue'"),
    ],
)
def test_wrong_values_are_refused_in_plain_words(arguments: tuple[str, ...], complaint: str) -> None:
    shown = values(*arguments)
    assert isinstance(shown, str)
    assert complaint in " ".join(shown.replace("│", " ").split())


def test_a_wrong_value_of_the_environment_names_its_variable() -> None:
    shown = values(env={"SHARE": "much"})
    assert isinstance(shown, str)
    assert "Invalid value for SHARE: 'much' is not a valid number." in shown
