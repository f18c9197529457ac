"""`colde index`: make an index of a corpus, bring it up to date, and look after it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands import options
from colde_cli.commands.options import ModelChoice, Reporter, format_option, option
from colde_cli.commands.reading_options import CorpusReading
from colde_cli.errors import BadIndexError, OptionError
from colde_cli.settings import DEFAULT_MODEL, known_models
from colde_cli.views.output import Format, choose_format, deliver, note

if TYPE_CHECKING:
    from colde_cli.corpus.index_update import IndexUpdate
    from colde_cli.corpus.ray_cluster import RayCluster
    from colde_cli.encoder.encoding import DocumentEncoder

REMOTE = "Other machines"


def index(
    context: typer.Context,
    corpus: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS", help="Folders, with everything below them, and files; or an index to update."),
    ],
    *,
    output: options.FolderOption = None,
    reading: CorpusReading,
    forget: Annotated[
        list[Path] | None,
        option("--forget", metavar="FOLDER|FILE", help="Stop following this folder or file; repeatable."),
    ] = None,
    drop_missing: Annotated[
        bool,
        option("--drop-missing", help="Drop missing files even if their folder lacks most or all of its files."),
    ] = False,
    reread: Annotated[
        bool,
        option("--reread", help="Read all files again, after an upgrade; encode those with another text."),
    ] = False,
    status: Annotated[
        bool, option("--status", envvar=None, help="Show what an index holds and whether its files have changed.")
    ] = False,
    verify: options.VerifyOption = False,
    compact: Annotated[bool, option("--compact", envvar=None, help="Drop what no document needs any more.")] = False,
    cluster: Annotated[
        str | None,
        option(
            "--cluster",
            panel=REMOTE,
            metavar="local|ray://HOST:PORT[?gpus=SHARE]",
            help="Work on this Ray cluster, into a shared index.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        option(
            "--to",
            panel=REMOTE,
            metavar="INDEX.lance|URL",
            help="Send what has changed to a shared index, such as s3://BUCKET/NAME.lance.",
        ),
    ] = None,
    format: Annotated[Format | None, format_option("table|json", "table")] = None,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Read and encode a corpus ahead of time, so that rank answers at once.

    Run it again with the index alone to bring it up to date: only new and
    changed files are read. Files that cannot be read are reported and tried
    again when they change. A folder that is suddenly empty, or lacks more than
    half of at least 20 files, is taken for a lost disk: nothing is dropped, and
    the status is 2. The index holds the text of the documents in the clear,
    also that of encrypted files that a password opens.

    A name that ends in .lance, or a URL such as s3://BUCKET/NAME.lance, makes a
    shared index, which many machines can read and write at the same time.
    """
    folder, places = _split(corpus, output)
    chosen = choose_format(format, None)
    if status or verify or compact:
        if places or to is not None or status + verify + compact > 1:
            raise OptionError("--status, --verify and --compact stand alone, beside the name of an index.")
        raise typer.Exit(_look_after(folder, chosen, lambda: model.load(_model_of(folder)), status, verify))
    source = context.get_parameter_source("model")
    asked = source is None or source.name != "DEFAULT"
    opened, how = model.open("" if asked else _model_of(folder)), reading.arguments()
    if how["password"] and cluster is not None:
        raise OptionError("Leave out --cluster: passwords are not sent to other machines.")
    update = partial(
        opened.index,
        folder,
        places,
        forget=forget or [],
        drop_missing=drop_missing,
        reread=reread,
        cluster=None if cluster is None else _cluster(cluster),
        **how,
    )
    if to is None or places:
        _update(folder, update, chosen, reporter)
    if to is not None:
        _send(folder, to, opened.encoder, reporter)


def _model_of(folder: str) -> str:
    """The model of an index where none was asked for: another one would encode everything again."""
    from colde_cli.corpus.finding import is_index
    from colde_cli.model_api import open_index

    if not is_index(folder):
        return DEFAULT_MODEL
    try:
        with open_index(folder) as index:
            model = index.model
    except BadIndexError:  # A killed run left it without tables, or opening it to write says what is wrong.
        return DEFAULT_MODEL
    if model is not None and model.name != DEFAULT_MODEL and model.name not in known_models():
        raise BadIndexError(f"{folder} holds vectors of the model {model.name}; name its folder with --model.")
    return DEFAULT_MODEL if model is None else model.name


def _update(folder: str, bring_up_to_date: Callable[..., IndexUpdate], chosen: Format, reporter: Reporter) -> None:
    from colde_cli.corpus.pipeline import StageClock
    from colde_cli.views.index_lines import seconds_text, update_text
    from colde_cli.views.json import index_json
    from colde_cli.views.progress import corpus_progress

    clock = StageClock()
    with corpus_progress(clock, show=not reporter.quiet):
        update = bring_up_to_date(clock=clock)
    for item in update.unlisted:
        reporter.warning(f"Skipped {item.path}: {item.reason}.")
    reporter.about_skipped(update.failed)
    if chosen is Format.JSON:
        deliver(index_json(folder, update=update), None, chosen)
    else:
        reporter.note(update_text(update))
    if reporter.verbose:
        note(seconds_text(update))
        reporter.about_stages(update.times)


def _cluster(address: str) -> RayCluster:
    """The cluster at an address, which may end in the share of a GPU that each encoder takes: `?gpus=0.5`."""
    from colde_cli.corpus.ray_cluster import RayCluster

    place, question, share = address.partition("?")
    match = re.fullmatch(r"gpus=(\d{1,3}(?:\.\d{1,9})?)", share)
    if question and match is None:
        raise OptionError(f"--cluster {address} does not end in a share of GPUs such as ?gpus=0.5.")
    return RayCluster(place, float(match[1]) if match else 0)


def _look_after(folder: str, chosen: Format, encoder: Callable[[], DocumentEncoder], status: bool, verify: bool) -> int:
    """Show the status of an index, check it, or compact it; return the exit status."""
    from colde_cli.corpus.finding import is_lance
    from colde_cli.corpus.index_writer import compact_index, index_status, verify_index
    from colde_cli.corpus.lance_upkeep import compact_lance, lance_status, verify_lance
    from colde_cli.views.index_lines import check_text, status_text
    from colde_cli.views.json import index_json

    as_json, shared = chosen is Format.JSON, is_lance(folder)
    if status:
        found = lance_status(folder, encoder()) if shared else index_status(Path(folder))
        deliver(index_json(folder, status=found) if as_json else status_text(found), None, chosen, False)
    elif verify:
        check = verify_lance(folder) if shared else verify_index(Path(folder))
        deliver(index_json(folder, check=check) if as_json else check_text(check), None, chosen, False)
        return 2 if check.problems else 0
    else:
        freed = compact_lance(folder) if shared else compact_index(Path(folder))
        line = f"{folder}: freed {freed / 1e6:.1f} MB.\n"
        deliver(index_json(folder, freed=freed) if as_json else line, None, chosen, False)
    return 0


def _send(folder: str, place: str, encoder: DocumentEncoder, reporter: Reporter) -> None:
    from colde_cli.corpus.lance_writer import send_index
    from colde_cli.views.wording import plural

    with reporter.progress("Sending", "documents") as advance:
        changes, documents = send_index(Path(folder), place, encoder, advance)
    reporter.note(f"{place}: {plural(changes, 'change')} sent, {plural(documents, 'document')}.")


def _split(corpus: list[str], output: str | None) -> tuple[str, list[Path]]:
    """The place of the index, and the places to add to it."""
    from colde_cli.corpus.finding import is_index, is_url

    if output is not None:
        return output, [Path(place) for place in corpus]
    if len(corpus) == 1 and (is_index(corpus[0]) or not Path(corpus[0]).exists()):
        return corpus[0], []
    wrong = next((place for place in corpus if is_url(place)), None)
    if wrong is not None:
        raise OptionError(f"{wrong} is an index; name it with --output, or alone to bring it up to date.")
    name = Path(corpus[0]).name or "corpus"
    raise OptionError(f"Name the index to make with --output, such as: -o {name}.colde")
