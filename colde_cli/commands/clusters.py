"""`colde clusters`: group the documents of a corpus by subject."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    DeviceOption,
    ExitZeroOption,
    FieldOption,
    GlobOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    OutputOption,
    PagerOption,
    PasswordOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    StrictOption,
    ThreadsOption,
    VerboseOption,
    check_score,
    corpus_places,
    format_option,
    search_end,
)
from colde_cli.recipes import option
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.corpus.subjects import Clusters

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.CSV)


def clusters(
    corpus: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS", help="Folders, with everything below them, and files; or an index."),
    ],
    top: Annotated[
        int,
        option(
            "--top", "-n", panel=OUTPUT, metavar="N", min=1, help="Documents of a cluster to list in a table."
        ),
    ] = 5,
    min_score: Annotated[
        float | None,
        option(
            "--min-score",
            callback=check_score,
            metavar="SCORE",
            help="Score from which two documents are neighbours. Default: that of the closest tenth of all pairs.",
        ),
    ] = None,
    resolution: Annotated[
        float,
        option("--resolution", min=0.01, metavar="NUMBER", help="Above 1 makes more and smaller clusters."),
    ] = 1.0,
    glob: GlobOption = None,
    field: FieldOption = "corpus",
    password: PasswordOption = None,
    strict: StrictOption = False,
    format: Annotated[Format | None, format_option("table|json|markdown|html|csv")] = None,
    output: OutputOption = None,
    pager: PagerOption = None,
    exit_zero: ExitZeroOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Group documents by subject.

    Each cluster has the words that tell it from the others, and its most
    central document. Files that cannot be read are reported and skipped.
    Exits with status 0 if there is a cluster, 1 if there is none, 2 if
    something went wrong.
    """
    chosen = choose_format(format, output, corpus, FORMATS)
    from colde_cli.views.progress import progress

    places = corpus_places(corpus, output, quiet=quiet)
    reporter = Reporter(quiet, verbose)
    opened = ModelChoice(model, device, precision, threads, no_cache).open()
    with progress("Reading", "documents", show=not quiet) as advance:
        found = opened.clusters(
            places,
            min_score=min_score,
            resolution=resolution,
            glob=glob,
            field=None if field == "none" else field,
            password=password,
            progress=advance,
        )
    reporter.about_model(found.model)
    reporter.about_encoded(found.encoded)
    reporter.about_skipped(found.skipped)
    for path, sentences in found.half_read:
        reporter.about_half_read(path, sentences)
    deliver(_render(found, chosen, top, output), output, chosen, pager)
    raise search_end(found, found.skipped, strict=strict, exit_zero=exit_zero)


def _render(found: Clusters, chosen: Format, top: int, output: Path | None) -> str:
    from colde_cli.views import clusters as views

    if chosen is Format.JSON:
        return views.clusters_json(found)
    if chosen is Format.MARKDOWN:
        return views.clusters_markdown(found)
    if chosen is Format.HTML:
        return views.clusters_html(found)
    if chosen is Format.CSV:
        return views.clusters_csv(found)
    return views.clusters_table(found, top, to_file=output is not None)
