"""The command `colde`, and the one place where an error becomes a line and a status."""

from __future__ import annotations

import errno
import os
import stat
import sys
import traceback
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer

from colde_cli import __version__
from colde_cli.commands.group import ColdeGroup
from colde_cli.errors import ColdeError, OptionError

TROUBLE = 2
"""Exit status of every command after an error, as in POSIX diff and grep."""

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
        typer.echo(f"colde {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Compare long documents by meaning: as a whole, section by section, chunk by chunk."""
    if not context.resilient_parsing:
        _configure(context)


def _configure(context: typer.Context) -> None:
    """Take defaults from the nearest colde.toml; `colde doctor` reports a bad one itself.

    Raises:
        OptionError: the file is not valid.
    """
    from colde_cli import configuration

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


def _report(sentence: str, *, debug: bool) -> NoReturn:
    """Print one red line on stderr, or with --debug the traceback, and exit with status 2."""
    if debug:
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
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    kind = os.fstat(sys.stdout.fileno()).st_mode
    if full and (sys.stdout.isatty() or not (stat.S_ISREG(kind) or stat.S_ISCHR(kind))):
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

    warnings.showwarning = show_warning
    _open_closed_streams()
    if os.environ.get("COLUMNS") == "0":  # of a shell that knows no width
        del os.environ["COLUMNS"]
    try:
        try:
            app(prog_name="colde", obj=state)
        finally:
            sys.stdout.flush()
            if state.get("verbose"):
                from colde_cli.stages import summary
                from colde_cli.views.output import note

                note(summary())
    except ColdeError as error:
        _report(str(error), debug=state.get("debug", False))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _drop_output()
        sys.exit(TROUBLE)
    except OSError as error:
        if error.filename is None:
            _drop_output()
        place = error.filename if error.filename is not None else _place_of(error)
        _report(f"{place} cannot be used: {error.strerror or error}.", debug=state.get("debug", False))
    except Exception as error:
        # A bug. Status 1 would mean that the documents differ.
        failure = f"colde failed ({type(error).__name__}: {error})"
        _report(
            f"{failure}; run it again with --debug and report the output.", debug=state.get("debug", False)
        )
