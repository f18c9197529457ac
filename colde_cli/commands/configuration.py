"""The file `colde.toml`: options that a folder and all below it want otherwise than usual.

    device = "cpu"                        # for every command that has the option
    cache-dir = "./.colde-cache"          # a setting of `settings.py`

    [diff]                                # for one command
    skip-sections = ["references", "appendix"]

An option of the command line wins over a COLDE_* variable, which wins over this file. The nearest file counts, from
the working folder upwards. COLDE_CONFIG names another file; if it is empty, none is read. A text that begins with ./
or ../ is a path from the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import typer

from colde_cli import settings
from colde_cli.errors import OptionError

NAME: Final = "colde.toml"

_SHARED: Final = frozenset("device model pager precision quiet verbose".split())
"""Options of more than one command that may stand outside a table."""

_SETTINGS: Final = {
    "cache-dir": settings.CACHE_DIR,
    "cache-limit": settings.CACHE_LIMIT,
    "models": settings.MODELS,
    "profiles": settings.PROFILES,
    "threads": settings.THREADS,
}
_REFUSED: Final = {
    name: reason
    for names, reason in (
        (
            "annotate output receipt reports compact drop-missing force forget overwrite",
            "it would write or delete without being asked",
        ),
        (
            "allow-host cluster host root to",
            "it would send documents away, or let others read them, without being asked",
        ),
        ("password password-file token", "a secret does not belong in a file that others read"),
        ("check debug for-git resume status verify", "it is for one run"),
    )
    for name in names.split()
}
"""Options with effects beyond what a command prints. The file may be a stranger's: it came with the folder.

Every other option may stand in the file; a test lists them, so that a new one is put on one side or the other.
"""
_CHECKS: Final = frozenset(["git-check", "git-diff", "verify"])
"""Commands whose file must not decide what counts as a difference: it lies in the repository that they look at."""
_DECIDE: Final = frozenset(
    "allow allow-added allow-deleted base exit-zero fail-under hook strict summary ocr only-sections pages"
    " skip-sections".split()
)


def refusal(command: str, key: str) -> str:
    """Why an option of a command cannot be set in the file; "" if it can."""
    if command in _CHECKS and (key in _DECIDE or key.partition("-")[0] == "ignore"):
        return "a check that came with the documents it checks would be none"
    return _REFUSED.get(key, "")


def find(folder: Path) -> Path | None:
    """The file that holds for a folder, or None.

    Raises:
        OptionError: COLDE_CONFIG names a file that is not there.
    """
    named = os.environ.get(settings.CONFIG)
    if named is not None:
        file = Path(named).expanduser()
        if named and not file.is_file():
            raise OptionError(f"{settings.CONFIG} is {named!r}, and there is no such file.")
        return file if named else None
    candidates = (parent / NAME for parent in (folder, *folder.parents))
    # A folder above may be closed to this user: then no file of it holds for anything.
    return next((file for file in candidates if os.path.isfile(file)), None)  # noqa: PTH113


def load(file: Path) -> dict[str, Any]:
    """The tables and values of a file.

    Raises:
        OptionError: the file cannot be read, or is not TOML.
    """
    import tomllib  # only where there is a file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of a number of thousands of digits
        raise OptionError(f"{file} is not valid TOML: {error}.") from error


def apply(file: Path, context: typer.Context, commands: Mapping[str, Any]) -> None:
    """Give the command about to run (`context` is that of the root) its defaults, and this process its settings.

    Raises:
        OptionError: a name that is no option, or a value that the option does not take.
    """
    name, table = context.invoked_subcommand or "", load(file)
    outside = _SHARED | _SETTINGS.keys()
    for key, value in table.items():
        if isinstance(value, dict):
            if key not in commands:
                raise OptionError(f"{file} has a table [{key}], which is no command; {_known(commands)}.")
        elif key in commands:
            raise OptionError(f"{file} gives {key} a value; write a table [{key}] with its options.")
        elif key not in outside:
            raise OptionError(
                f"{file} has {key!r} outside a table; {_known(outside)}. "
                "Write options of one command under its name, such as [diff]."
            )
    for key, variable in _SETTINGS.items():
        if key in table and not os.environ.get(variable):
            parts = table[key] if isinstance(table[key], list) else [table[key]]
            os.environ[variable] = os.pathsep.join(_text(file, part) for part in parts)
    options = options_of(commands[name])
    shared = {key: value for key, value in table.items() if key in _SHARED and key in options}
    values = {**shared, **table.get(name, {})}
    context.default_map = {name: dict(checked(file, context, name, options, *item) for item in values.items())}


def options_of(command: Any) -> dict[str, Any]:  # noqa: ANN401 - Typer keeps its Click to itself
    """Every option of a command by its long name, without dashes."""
    return {
        name.removeprefix("--"): parameter
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--") and name not in ("--help", "--version")
    }


def checked(
    file: Path, context: typer.Context, command: str, options: Mapping[str, Any], key: str, value: object
) -> tuple[str, Any]:
    """The parameter of an option of a command that a file gives a value, and the value: True, False, text or texts.

    Raises:
        OptionError: there is no such option, it cannot stand in a file, or it does not take the value.
    """
    where = f"{file} gives {command} the option {key!r}"
    if why := refusal(command, key):
        raise OptionError(f"{where}, which cannot be set there: {why}.")
    if key not in options:
        known = [name for name in options if not refusal(command, name)]
        raise OptionError(f"{where}, which it does not have; {_known(known)}.")
    option = options[key]
    if isinstance(value, bool) != bool(option.is_flag):
        wanted = "true or false" if option.is_flag else "a value"
        raise OptionError(f"{where} as {value!r}; it takes {wanted}.")
    if option.is_flag:
        return option.name, value
    if isinstance(value, list) and not option.multiple:
        raise OptionError(f"{where} as a list; it takes one value.")
    words = [_text(file, part) for part in (value if isinstance(value, list) else [value])]
    given = words if option.multiple else words[0]
    try:
        option.process_value(context, given)
    except typer.BadParameter as error:
        raise OptionError(f"{where}: {error.message}") from error
    return option.name, given


def _text(file: Path, value: object) -> str:
    """A value as it would stand on the command line; paths are those of the file's folder."""
    text = str(value)
    return str(file.parent / text) if text.startswith(("./", "../")) else text


def _known(names: Iterable[str]) -> str:
    return f"known are: {', '.join(sorted(names))}"
