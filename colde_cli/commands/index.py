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
    from colde_cli.corpus.publishing import Transfer

REMOTE = "Other machines"


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
    push: Annotated[
        str | None,
        option(
            "--push",
            panel=REMOTE,
            metavar="URL",
            help="Publish the index at s3://BUCKET/NAME.colde or file:///SHARE/NAME.colde; only what is new is sent.",
        ),
    ] = None,
    pull: Annotated[
        str | None,
        option(
            "--pull",
            panel=REMOTE,
            metavar="URL",
            help="Fetch a published index into the folder of the index.",
        ),
    ] = None,
    force: Annotated[
        bool,
        option("--force", panel=REMOTE, help="Replace a version, or an index, that holds something else."),
    ] = False,
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

    With the index alone, --push publishes it as it is, for other machines:
    colde rank QUERY URL searches it there.
    """
    from colde_cli import api
    from colde_cli.views.output import progress

    if pull is not None:
        _pull(corpus, output, pull, force, quiet, push)
        return
    folder, places = _split(corpus, output)
    if push is not None and not places:
        _push(folder, push, force, quiet)
        return
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
    if push is not None:
        _push(folder, push, force, quiet)


def _push(folder: Path, url: str, force: bool, quiet: bool) -> None:
    from colde_cli.corpus.publishing import push
    from colde_cli.views.output import note, progress

    with progress("Publishing", "blocks", show=not quiet) as advance:
        done = push(folder, url, force=force, progress=advance)
    if not quiet:
        note(f"{url}: version {done.version}, {_transferred(done)} sent.")


def _pull(
    corpus: list[Path], output: Path | None, url: str, force: bool, quiet: bool, push_url: str | None
) -> None:
    from colde_cli.corpus.publishing import pull
    from colde_cli.views.output import note, progress

    if output is not None or len(corpus) != 1 or push_url is not None:
        raise OptionError(
            f"--pull takes the folder of one index alone: colde index papers.colde --pull {url}"
        )
    with progress("Fetching", "blocks", show=not quiet) as advance:
        done = pull(url, corpus[0], force=force, progress=advance)
    if not quiet:
        note(f"{done.folder}: version {done.version} of {url}, {_transferred(done)} fetched.")


def _transferred(done: Transfer) -> str:
    """How much of a version was transferred."""
    return f"{done.sent} of {done.blocks} blocks ({done.sent_bytes / 1e6:.1f} MB)"


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
