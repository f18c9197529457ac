"""How an option of a command is declared."""

from __future__ import annotations

from typing import Any

import typer


def option_name(argument: str) -> str:
    """What the command line calls an argument: `min_size` is `--min-size`."""
    return "--" + argument.replace("_", "-")


def option(*names: str, help: str, panel: str | None = None, **settings: Any) -> Any:  # noqa: ANN401
    """Declare an option that can also be set in the environment: `--skip-sections` as COLDE_SKIP_SECTIONS.

    Args:
        names: `--name`, then short forms.
        help: one or two sentences.
        panel: group of the option in the help.
        settings: further arguments of `typer.Option`.
    """
    variable = "COLDE_" + names[0].lstrip("-").partition("/")[0].replace("-", "_").upper()
    shared = {"help": help, "rich_help_panel": panel, "envvar": variable, "show_envvar": False}
    return typer.Option(*names, **(shared | settings))
