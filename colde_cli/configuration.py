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
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import typer

from colde_cli import settings
from colde_cli.errors import OptionError

NAME: Final = "colde.toml"

_SHARED: Final = frozenset(["device", "model", "pager", "precision", "quiet", "verbose"])
"""Options of more than one command that may stand outside a table."""

_SETTINGS: Final = {
    "cache-dir": settings.CACHE_DIR,
    "cache-limit": settings.CACHE_LIMIT,
    "models": settings.MODELS,
    "profiles": settings.PROFILES,
    "threads": settings.THREADS,
}
_WRITES: Final = "it would write or delete without being asked"
_OPENS: Final = "it would send documents away, or let others read them, without being asked"
_SECRET: Final = "a secret does not belong in a file that others read"
_ONE_RUN: Final = "it is for one run"
_WEAKENS: Final = "a check that came with the documents it checks would be none"

_REFUSED: Final = {
    **dict.fromkeys(("annotate", "output", "prepare", "receipt", "reports"), _WRITES),
    **dict.fromkeys(("compact", "drop-missing", "force", "forget", "overwrite"), _WRITES),
    **dict.fromkeys(("allow-host", "cluster", "host", "pull", "push", "root"), _OPENS),
    **dict.fromkeys(("password", "token"), _SECRET),
    **dict.fromkeys(("check", "debug", "for-git", "resume", "status", "verify"), _ONE_RUN),
}
"""Options with effects beyond what a command prints. The file may be a stranger's: it came with the folder.

Every other option may stand in the file; a test lists them, so that a new one is put on one side or the other.
"""

_CHECKS: Final = frozenset(["git-check", "git-diff", "verify"])
"""Commands whose file must not decide what counts as a difference: it lies in the repository that they look at."""
_DECIDE: Final = frozenset(
    (
        *(
            "allow",
            "allow-added",
            "allow-deleted",
            "base",
            "exit-zero",
            "fail-under",
            "hook",
            "strict",
            "summary",
        ),
        *("only-sections", "pages", "skip-sections"),
    )
)


def refusal(command: str, key: str) -> str:
    """Why an option of a command cannot be set in the file; "" if it can."""
    if command in _CHECKS and (key in _DECIDE or key.partition("-")[0] == "ignore"):
        return _WEAKENS
    return _REFUSED.get(key, "")


def find(folder: Path) -> Path | None:
    """The file that holds for a folder, or None.

    Raises:
        OptionError: COLDE_CONFIG names a file that is not there.
    """
    chosen = os.environ.get(settings.CONFIG)
    if chosen is not None:
        file = Path(chosen).expanduser()
        if chosen and not file.is_file():
            raise OptionError(f"{settings.CONFIG} is {chosen!r}, and there is no such file.")
        return file if chosen else None
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
    """Give the command about to run its defaults, and this process its settings.

    Args:
        file: as found by `find`.
        context: of the root, with the name of the command that was asked for.
        commands: every command by name.

    Raises:
        OptionError: a name that is no option, or a value that the option does not take.
    """
    name = context.invoked_subcommand or ""
    table = load(file)
    own = table.get(name, {})
    for key, value in table.items():
        _check_place(file, key, value, commands)
    for key, variable in _SETTINGS.items():
        if key in table and not os.environ.get(variable):
            os.environ[variable] = _setting(file, table[key])
    options = _options(commands[name])
    shared = {key: value for key, value in table.items() if key in _SHARED and key in options}
    values = {**shared, **own}
    context.default_map = {name: dict(_default(file, context, options, *item) for item in values.items())}


def _check_place(file: Path, key: str, value: Any, commands: Mapping[str, Any]) -> None:  # noqa: ANN401
    """Refuse a table that no command has, and a value outside all tables that only one command would take."""
    if isinstance(value, dict):
        if key not in commands:
            raise OptionError(f"{file} has a table [{key}], which is no command; {_known(commands)}.")
    elif key in commands:
        raise OptionError(f"{file} gives {key} a value; write a table [{key}] with its options.")
    elif key not in _SHARED | _SETTINGS.keys():
        raise OptionError(
            f"{file} has {key!r} outside a table; {_known(_SHARED | _SETTINGS.keys())}. "
            "Write options of one command under its name, such as [diff]."
        )


def _options(command: Any) -> dict[str, Any]:  # noqa: ANN401 - Typer keeps its Click to itself
    """Every option of a command by its long name, without dashes."""
    return {
        name.removeprefix("--"): parameter
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--") and name not in ("--help", "--version")
    }


def _default(
    file: Path, context: typer.Context, options: Mapping[str, Any], key: str, value: object
) -> tuple[str, object]:
    """The parameter of an option, and its value, checked."""
    command = context.invoked_subcommand or ""
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
    words = [_text(file, part) for part in (value if isinstance(value, list) else [value])]
    if isinstance(value, list) and not option.multiple:
        raise OptionError(f"{where} as a list; it takes one value.")
    given = words if option.multiple else words[0]
    try:
        option.get_runtime_param().coerce(given, param=option, ctx=context)
    except typer.BadParameter as error:
        raise OptionError(f"{where}: {error.message}") from error
    return option.name, given


def _text(file: Path, value: object) -> str:
    """A value as it would stand on the command line; paths are those of the file's folder."""
    text = str(value)
    return str(file.parent / text) if text.startswith(("./", "../")) else text


def _setting(file: Path, value: object) -> str:
    """A value as it would stand in the environment."""
    return os.pathsep.join(_text(file, part) for part in (value if isinstance(value, list) else [value]))


def _known(names: Any) -> str:  # noqa: ANN401 - of any collection
    return f"known are: {', '.join(sorted(names))}"
