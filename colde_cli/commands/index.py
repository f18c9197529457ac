"""`colde index`: make an index of a corpus, bring it up to date, and look after it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    DeviceOption,
    GlobOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    ThreadsOption,
    VerboseOption,
)
from colde_cli.errors import OptionError
from colde_cli.recipes import option
from colde_cli.settings import DEFAULT_MODEL

if TYPE_CHECKING:
    from colde_cli.corpus.indexing import IndexUpdate


def index(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            metavar="CORPUS", help="Folders, with everything below them, and files; or an index to update."
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "--output", "-o", panel=OUTPUT, metavar="INDEX", help="Folder of the index, such as papers.colde."
        ),
    ] = None,
    glob: GlobOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Read and encode a corpus once, so that rank finds its documents at once.

    Run it again with the index alone to bring it up to date: only new and
    changed files are read. Files that cannot be read are reported and tried
    again when they change. The index holds the text of the documents in the
    clear; encrypted files are left out.
    """
    from colde_cli import api
    from colde_cli.views.output import progress

    folder, places = _split(corpus, output)
    reporter = Reporter(quiet, verbose)
    open_model = ModelChoice(model, device, precision, threads, no_cache).load
    with progress("Indexing", "documents", show=not quiet) as advance:
        update = api.index(folder, places, glob=glob, encoder=open_model, progress=advance)
    for item in update.unlisted:
        reporter.warning(f"Skipped {item.path}: {item.reason}.")
    for item in update.failed:
        reporter.warning(f"Skipped {item.path}: {item.reason}")
    if not quiet:
        _report(update, verbose)


def _split(corpus: list[Path], output: Path | None) -> tuple[Path, list[Path]]:
    """The folder of the index, and the places to add to it."""
    from colde_cli.corpus.collecting import is_index

    if output is not None:
        return output, corpus
    if len(corpus) == 1 and is_index(corpus[0]):
        return corpus[0], []
    raise OptionError(f"Name the index to make with --output, such as: -o {corpus[0].name or 'corpus'}.colde")


def _report(update: IndexUpdate, verbose: bool) -> None:
    from colde_cli.views.output import note
    from colde_cli.views.wording import plural

    done = ("added", "changed", "renamed", "removed")
    counts = [f"{getattr(update, name)} {name}" for name in done if getattr(update, name)]
    note(
        f"{update.folder}: {plural(update.documents, 'document')}, {', '.join(counts) or 'nothing changed'}."
    )
    if verbose:
        spent = [f"{stage} {seconds:.1f} s" for stage, seconds in update.seconds.items()]
        note(f"Time: {', '.join(spent)}.")
