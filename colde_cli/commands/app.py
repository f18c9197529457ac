"""The command `colde`, and the one place where an error becomes a line and a status.

A command is imported when it is named, so that a start costs little. The classes of commands and parameters are Typer's
but for three things: only one command is declared, plain values are made without pydantic, and the help shows values in
place of Python's types.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import threading
import traceback
import warnings
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from enum import StrEnum
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from colde_cli import errors
from colde_cli.errors import ColdeError, OptionError
from colde_cli.settings import VERSION

TROUBLE = 2
"""Exit status of every command after an error, as in POSIX diff and grep."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

COMMANDS = {
    "diff": "Compare two documents, several versions of one, or the documents of two folders.",
    "verify": "Check that only what is allowed changed between two documents.",
    "git-check": "Check the documents that a commit changes: the gate of the action and of the hook.",
    "rank": "Find the documents that are most similar to one.",
    "dupes": "Find copies, versions and parts of documents among many.",
    "clusters": "Group documents by subject.",
    "index": "Read and encode a corpus ahead of time, so that rank answers at once.",
    "serve": "Rank and compare documents over HTTP, with a page for people.",
    "mcp": "Offer compare, rank and read_passages to an agent (Model Context Protocol).",
    "adapt": "Learn what is usual in a field, from documents without labels.",
    "text": "Print the text that colde reads in a document, with its headings; or check that documents can be read.",
    "train": "Train a model on documents of your own.",
    "evaluate": "Measure models on labelled pairs, beside baselines.",
    "calibrate": "Fit the threshold and probabilities of a model or a field to your pairs.",
    "export": "Write a model's ONNX graphs from its weights.",
    "models": "List the models that --model finds by name, or describe one.",
    "doctor": "Check the installation: versions, devices, paths and a test of a model.",
    "cache": "Show or delete the cache.",
}
"""What `colde --help` says of each command, in its order: the first paragraph of the help of the command itself.

The command NAME is the function NAME of `commands/NAME.py`, or its `app` if it has commands of its own.
"""

HIDDEN = frozenset({"git-diff"})
"""Commands that are not for people: git runs it."""


class Commands(UserDict[str, Any]):
    """The commands by name; each is imported when it is first asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys((*COMMANDS, *HIDDEN)))

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Typer keeps its Click to itself
        if name in self.data and self.data[name] is None:
            self.data[name] = _imported(name)
        return self.data[name]


def _imported(name: str) -> Any:  # noqa: ANN401 - Typer keeps its Click to itself
    function = name.replace("-", "_")
    module = import_module(f"colde_cli.commands.{function}")
    alone = getattr(module, "app", None)
    if alone is None:
        alone = typer.Typer(add_completion=False)
        alone.command(name, hidden=name in HIDDEN)(getattr(module, function))
    alone.info.cls = _PlainGroup
    for declared in alone.registered_commands:
        declared.cls, declared.callback = ColdeCommand, flat(declared.callback)
    command = get_command(alone)
    command.name = name
    return command


def flat(command: Any) -> Callable[..., None]:  # noqa: ANN401 - of any options
    """Have Typer see the fields of each group of options, a dataclass, as options of the command."""
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters = []
    for name, parameter in signature(command, eval_str=True).parameters.items():
        declared, group = [parameter], parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            declared = list(signature(group, eval_str=True).parameters.values())
            groups[name] = group, [option.name for option in declared]
        parameters += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in declared]

    def call(**values: Any) -> None:  # noqa: ANN401 - of the options
        made = {
            name: group(**{option: values.pop(option) for option in options})
            for name, (group, options) in groups.items()
        }
        command(**values, **made)

    call.__doc__ = command.__doc__
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


class _Plain:
    """What the commands share: their values are made without pydantic, whose import takes longer than all the start."""

    def __init__(self, *values: Any, **named: Any) -> None:  # noqa: ANN401 - those of Typer
        super().__init__(*values, **named)
        _give_classes(self.params)  # type: ignore[attr-defined]

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - of Typer's Click
        """All parameters, those among them that Typer adds, such as --help."""
        return _give_classes(super().get_params(ctx))  # type: ignore[misc]


def _give_classes(parameters: list[Any]) -> list[Any]:
    """Make parameters those of the classes below: Typer chooses the class itself."""
    for parameter in parameters:
        parameter.__class__ = _Argument if isinstance(parameter, TyperArgument) else _Option
    return parameters


class ColdeCommand(_Plain, TyperCommand):
    """A command without commands of its own."""


class _PlainGroup(_Plain, TyperGroup):
    """A command with commands of its own."""


class ColdeGroup(_PlainGroup):
    """`colde` itself, with the commands of `COMMANDS`."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of Typer
        super().__init__(**{**settings, "commands": Commands()})

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - of Typer's Click
        """Show the help, without importing the commands."""
        self.commands = {name: ColdeCommand(name, help=sentence) for name, sentence in COMMANDS.items()}
        super().format_help(ctx=ctx, formatter=formatter)


def _made(parameter: Any, value: Any, ctx: Any, typers: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401
    """The value of a parameter: by its constructor where that is enough, else by Typer, whose errors become plain."""
    described: Any = getattr(parameter, "type_descriptor", None)
    kind = getattr(described, "annotation", None)
    try:
        if described.parameter_info.parser is not None:
            raise TypeError
        if value is None:
            made: Any = () if parameter.multiple or parameter.nargs == -1 else None
        elif get_origin(kind) is list:
            made = [_value(item, get_args(kind)[0], parameter) for item in value]
        else:
            made = _value(value, kind, parameter)
        if parameter.required and parameter.value_is_missing(made):
            raise TypeError
    except (AttributeError, TypeError, ValueError):
        try:
            return typers(ctx, value)
        except typer.BadParameter as error:
            error.message = _plain_reason(error.message, value)
            source = ctx.get_parameter_source(parameter.name)
            if source is not None and source.name == "ENVIRONMENT":
                error.param_hint = str(parameter.envvar)
            raise
    return made if parameter.callback is None else parameter.callback(ctx, parameter, made)


def _value(value: Any, kind: Any, parameter: Any) -> Any:  # noqa: ANN401 - of any type
    """The value as `kind`.

    Raises:
        TypeError, ValueError: Typer's rules for this kind go beyond its constructor, or the value breaks them.
    """
    if isinstance(value, kind):
        return value
    if issubclass(kind, StrEnum):
        return kind(value)
    if issubclass(kind, Path) and (os.access(value, os.R_OK) or not os.path.lexists(value)):
        return kind(value)
    if kind in (int, float):
        number = kind(value)
        if (parameter.min is None or number >= parameter.min) and (parameter.max is None or number <= parameter.max):
            return number
    raise TypeError


def _plain_reason(message: str, value: object) -> str:
    """The error of a value without the terms of Typer's library of types."""
    message = message.removeprefix("Value error, ")
    wanted = message.removeprefix("Input should be ").partition(", unable to")[0]
    return message if wanted == message else f"{value!r} is not {wanted}."


class _Option(TyperOption):
    """An option whose help shows its values, not types of Python."""

    def process_value(self, ctx: Any, value: Any) -> Any:  # noqa: ANN401 - as Typer
        return _made(self, value, ctx, super().process_value)

    def display_type_rich(self, ctx: Any) -> str | None:  # noqa: ANN401 - as Typer
        if self.is_flag:
            return None
        described = self.type_descriptor
        if self.metavar is None and described.is_choice:
            return "|".join(str(getattr(choice, "value", choice)) for choice in described.choices or ())
        return self.metavar or ("N" if described.annotation is int else "VALUE")


class _Argument(TyperArgument):
    """An argument whose help shows no type."""

    def process_value(self, ctx: Any, value: Any) -> Any:  # noqa: ANN401 - as Typer
        return _made(self, value, ctx, super().process_value)

    def display_type_rich(self, ctx: Any) -> str | None:  # noqa: ANN401 - as Typer
        return None


app = typer.Typer(
    name="colde",
    cls=ColdeGroup,
    help="Compare long documents by meaning: as a whole, section by section, chunk by chunk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Options can also be set in the environment, --skip-sections as COLDE_SKIP_SECTIONS, or in colde.toml.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colde {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Compare long documents by meaning: as a whole, section by section, chunk by chunk."""
    if not context.resilient_parsing:
        _configure(context)


def _configure(context: typer.Context) -> None:
    """Take defaults from the nearest colde.toml; `colde doctor` reports a bad one itself."""
    from colde_cli.commands import configuration

    try:
        file = configuration.find(Path.cwd())
        if file is not None:
            commands: Any = context.command
            configuration.apply(file, context, commands.commands)
    except FileNotFoundError:  # the working folder is gone
        return
    except OptionError:
        if context.invoked_subcommand != "doctor":
            raise


def _report(sentence: str, state: Mapping[str, Any]) -> NoReturn:
    """Print one red line on stderr, or with --debug the traceback, and exit with status 2."""
    if state.get("interrupted"):  # what the interrupt became in a library that was just being imported
        sys.exit(INTERRUPTED)
    if state.get("debug"):
        traceback.print_exc()
    else:
        from colde_cli.views.output import fail

        fail(sentence)
    sys.exit(TROUBLE)


def _drop_output() -> None:
    """Forget what was not written to standard output, or Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _place_of(error: OSError) -> str:
    """What an error without a file is about: a terminal or a pipe cannot be full, so that a file of ours is."""
    if error.errno == errno.ENOENT:
        return "A folder for temporary files" if "temporary" in str(error) else "The working folder"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    output = os.fstat(sys.stdout.fileno())
    takes_all = sys.stdout.isatty() or os.path.samestat(output, os.stat(os.devnull))  # noqa: PTH116 - as fstat
    if full and (takes_all or not (stat.S_ISREG(output.st_mode) or stat.S_ISCHR(output.st_mode))):
        return "The disk that is written to"
    return "Standard output"


def _open_closed_streams() -> None:
    """Open streams that the caller has closed: input is empty, output cannot be written, errors are not shown."""
    modes = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for number, (name, flags, mode) in enumerate(modes):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            os.dup2(opened, number)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - as long as the process


@contextmanager
def _noting_interrupts(state: dict[str, Any]) -> Iterator[None]:
    """Note Ctrl-C in `state`: native libraries turn a KeyboardInterrupt into errors of their own."""
    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if before is not signal.default_int_handler or not ours:  # ignored, or not ours to change
        yield
        return

    def note(*_: object) -> NoReturn:
        state["interrupted"] = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_at_once(sentence: str) -> None:
    """End while native code that cannot be stopped runs in another thread."""
    from colde_cli.views.output import fail

    fail(sentence)
    os._exit(TROUBLE)


def main() -> None:
    """Run the command line and exit with its status."""
    from colde_cli.encoder import watch

    state: dict[str, Any] = {}
    watch.end_program = _end_at_once

    def show_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Print warnings of the library, such as an unusable cache, as lines like all others."""
        if not state.get("quiet"):
            from colde_cli.views.output import warn

            warn(str(message))

    def show_failed_thread(failed: threading.ExceptHookArgs) -> None:
        """Print a line for a thread that failed; one that cannot write tells its error to the thread that waits."""
        if not isinstance(failed.exc_value, OSError):
            from colde_cli.views.output import warn

            warn(f"A thread failed ({failed.exc_type.__name__}: {failed.exc_value}).")

    warnings.showwarning = show_warning
    threading.excepthook = show_failed_thread
    _open_closed_streams()
    if os.environ.get("COLUMNS") == "0":  # of a shell that knows no width
        del os.environ["COLUMNS"]
    try:
        try:
            errors.on_command_line = True
            with _noting_interrupts(state):
                app(prog_name="colde", obj=state)
        finally:
            errors.on_command_line = False
            sys.stdout.flush()
            if state.get("verbose"):
                from colde_cli.documents.stages import summary
                from colde_cli.views.output import note

                note(summary())
    except ColdeError as error:
        _report(str(error), state)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        sys.exit(TROUBLE)
    except OSError as error:
        place = error.filename if error.filename is not None else _place_of(error)
        if error.filename is None:
            _drop_output()
        _report(f"{place} cannot be used: {error.strerror or error}.", state)
    except Exception as error:
        # A bug. Status 1 would mean that the documents differ.
        failure = f"colde failed ({type(error).__name__}: {error})"
        _report(f"{failure}; run it again with --debug and report the output.", state)
