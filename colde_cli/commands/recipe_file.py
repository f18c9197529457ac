"""A recipe of `colde train` as a file: what is called, stage by stage, to make a model from its data.

    data = ["pmc", "wiki"]            # what stands outside the tables holds for every stage

    [[stage]]
    name = "end-to-end"               # its folder is OUTPUT.end-to-end; that of the last stage is OUTPUT
    recipe = "shipped"                # an option of colde train, by its long name without dashes

    [[stage]]
    init = "end-to-end"               # the model of an earlier stage
    epochs = 0
    set = ["chunk_tokens=256"]

`data`, `pairs` and `validation` are paths from the folder of the data, which the command line names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from colde_cli.commands import configuration
from colde_cli.encoder.layout import CARD
from colde_cli.errors import OptionError

_PATHS = ("pairs", "validation")
_SHARE = re.compile(r"[\d.]+")


@dataclass(frozen=True, slots=True)
class Stage:
    """One call of `colde train`: the words after its name, without options of the run such as --device."""

    name: str
    folder: Path
    words: tuple[str, ...]

    def is_done(self) -> bool:
        """Whether this very call made the model in the folder, as its card says.

        Raises:
            OptionError: another call made it.
        """
        if not (self.folder / CARD).is_file():
            return False
        call = shlex.join(["colde", "train", *self.words])
        if f"```\n{call}\n```" in (self.folder / CARD).read_text(encoding="utf-8"):
            return True
        raise OptionError(f"{self.folder} was not made by this recipe; make all its stages anew with --overwrite.")


def read_stages(file: Path, data: Path, output: Path, context: typer.Context) -> list[Stage]:
    """Read the stages of a recipe, in their order.

    Raises:
        OptionError: the file is not a recipe, or an option of it is not right.
    """
    if not file.is_file():
        raise OptionError(f"There is no recipe {str(file)!r}: give --recipe default, paper, shipped or a TOML file.")
    table = configuration.load(file)
    stages = table.pop("stage", None)
    if not isinstance(stages, list) or not stages or not all(isinstance(stage, dict) for stage in stages):
        raise OptionError(f"{file} has no stages; write the options of each below a line [[stage]].")
    made: dict[str, Stage] = {}
    for number, stage in enumerate(stages, 1):
        values = {**table, **stage}
        name = values.pop("name", output.name if number == len(stages) else None)
        if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name) or name in made:
            raise OptionError(f"{file}: stage {number} needs a name of its own, of letters, digits, - and _.")
        folder = output if number == len(stages) else output.with_name(f"{output.name}.{name}")
        earlier = {one.name: str(one.folder) for one in made.values()}
        words = _words(file, data, values, earlier, context)
        made[name] = Stage(name, folder, (*words, "--output", str(folder)))
    return list(made.values())


def _words(
    file: Path, data: Path, values: dict[str, Any], earlier: Mapping[str, str], context: typer.Context
) -> Iterator[str]:
    """The words of the command line that give these values."""
    sources = values.pop("data", ["."])
    if not isinstance(sources, list) or not sources or not all(isinstance(source, str) for source in sources):
        raise OptionError(f'{file}: data must be a list of files or folders, such as ["pmc", "wiki"].')
    yield from (str(data / source) for source in sources)
    options = configuration.options_of(context.command)
    for key, value in {"recipe": "default", **values}.items():
        _, given = configuration.checked(file, context, "train", options, key, value)
        if isinstance(given, bool):
            yield from [f"--{key}"] * given
            continue
        for text in given if isinstance(given, list) else [given]:
            path = key in _PATHS and not _SHARE.fullmatch(text)
            named = earlier.get(text, text) if key in ("init", "backbone") else text
            yield from (f"--{key}", str(data / text) if path else named)
