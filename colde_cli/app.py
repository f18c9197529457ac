"""The command `colde`: its list of commands, and the one place where an error becomes a line and a status."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperArgument, TyperOption

from colde_cli import __version__
from colde_cli.commands import (
    adapt,
    cache,
    calibrate,
    clusters,
    diff,
    doctor,
    dupes,
    evaluate,
    export,
    git_diff,
    index,
    mcp,
    models,
    rank,
    serve,
    text,
    train,
)
from colde_cli.errors import ColdeError

TROUBLE = 2
"""Exit status of every command after an error, as in POSIX diff and grep."""

app = typer.Typer(
    name="colde",
    help="Compare long documents by meaning: as a whole, section by section, chunk by chunk.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Options can also be set in the environment: --skip-sections as COLDE_SKIP_SECTIONS.",
)

# Every command, in the order in which `colde --help` lists them.
app.command("diff")(diff.diff)
app.command("rank")(rank.rank)
app.command("dupes")(dupes.dupes)
app.command("clusters")(clusters.clusters)
app.command("index")(index.index)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("adapt")(adapt.adapt)
app.command("text")(text.text)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("calibrate")(calibrate.calibrate)
app.command("export")(export.export)
app.command("models")(models.models)
app.add_typer(cache.app, name="cache")
app.command("doctor")(doctor.doctor)

# Not for people: git runs it.
app.command("git-diff", hidden=True)(git_diff.git_diff)


def _value_in_help(parameter: Any, ctx: object) -> str | None:  # noqa: ANN401 - of two classes of Typer
    """What `--help` shows for the value of an option; nothing for arguments and switches."""
    if isinstance(parameter, TyperArgument) or parameter.is_flag:
        return None
    described = parameter.type_descriptor
    if parameter.metavar is None and described.is_choice:
        return "|".join(str(getattr(choice, "value", choice)) for choice in described.choices)
    return parameter.metavar or ("N" if described.annotation is int else "VALUE")


# Typer shows Python's types here, `<bool>` and `<list[str]>`, and has no setting to leave them out.
for _kind in (TyperArgument, TyperOption):
    setattr(_kind, "display_type_rich", _value_in_help)  # noqa: B010 - mypy takes methods for constants


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colde {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Compare long documents by meaning: as a whole, section by section, chunk by chunk."""


def _report(sentence: str, *, debug: bool) -> NoReturn:
    """Print one red line on stderr, or with --debug the traceback, and exit with status 2."""
    if debug:
        traceback.print_exc()
    else:
        from colde_cli.views.output import fail

        fail(sentence)
    sys.exit(TROUBLE)


def _leave_quietly() -> NoReturn:
    """Exit after the reader of our output has gone, without an error when Python flushes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(TROUBLE)


def main() -> None:
    """Run the command line and exit with its status."""
    state: dict[str, Any] = {}

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
    try:
        try:
            app(prog_name="colde", obj=state)
        finally:
            sys.stdout.flush()
    except ColdeError as error:
        _report(str(error), debug=state.get("debug", False))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _leave_quietly()
    except Exception as error:
        # A bug. Status 1 would mean that the documents differ.
        failure = f"colde failed ({type(error).__name__}: {error})"
        _report(
            f"{failure}; run it again with --debug and report the output.", debug=state.get("debug", False)
        )
