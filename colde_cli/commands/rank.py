"""`colde rank`: find the documents of a corpus that are most similar to one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    Destination,
    Ending,
    FieldOption,
    Filters,
    GlobOption,
    IgnoreLikeOption,
    ModelOption,
    PasswordOption,
    Reporter,
    Runtime,
    TopOption,
    check_score,
    corpus_places,
    format_option,
    option,
)
from colde_cli.documents.stages import stage
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.redline import IgnoreOptions
from colde_cli.views.output import Format, choose_format

if TYPE_CHECKING:
    pass

INDEX_PAYS = 500
"""Number of files from which on an index is worth making."""

FORMATS = (Format.TABLE, Format.JSON, Format.JSONL, Format.MARKDOWN, Format.CSV, Format.HTML)


def rank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A document, or - for standard input.")],
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Folders, with everything below them, and files; or an index; or s3://BUCKET/NAME.colde.",
        ),
    ],
    *,
    top: TopOption = 10,
    min_score: Annotated[
        float | None,
        option(
            "--min-score", callback=check_score, metavar="SCORE", help="Leave out documents below this score."
        ),
    ] = None,
    explain: Annotated[bool, option("--explain", help="Show which sections and pages match.")] = False,
    glob: GlobOption = None,
    filters: Filters,
    field: FieldOption = "corpus",
    budget: Annotated[
        float | None,
        option(
            "--budget",
            metavar="SECONDS",
            min=0,
            help="Time to encode documents that are not in the cache; those closest to the query by words come first.",
        ),
    ] = None,
    password: PasswordOption = None,
    ignore_like: IgnoreLikeOption = None,
    format: Annotated[Format | None, format_option("table|json|jsonl|markdown|csv|html")] = None,
    out: Destination,
    ending: Ending,
    reporter: Reporter,
    model: ModelOption = DEFAULT_MODEL,
    runtime: Runtime,
) -> None:
    """Find the documents that are most similar to one.

    Files that cannot be read are reported and skipped. Exits with status 0 if
    a document is listed, 1 if none is, 2 if something went wrong.
    """
    ignore = IgnoreOptions(like=tuple(map(str, ignore_like or ())))
    chosen = choose_format(format, out.output, (query, *corpus, *ignore.like), FORMATS)
    from colde_cli.corpus.finding import is_index
    from colde_cli.corpus.pipeline import StageClock
    from colde_cli.views.output import note
    from colde_cli.views.progress import corpus_progress, progress
    from colde_cli.views.wording import plural

    places = corpus_places(corpus, out.output, quiet=reporter.quiet)
    search = partial(
        runtime.open(model).rank,
        query,
        places,
        top=top,
        min_score=min_score,
        explain=explain,
        glob=glob,
        chosen=filters.chosen(),
        ignore=ignore,
        field=None if field == "none" else field,
        budget=budget,
        password=password,
        on_read=reporter.about_document,
    )
    index = next((place for place in places if is_index(Path(place))), None)
    if index is not None:
        with progress("Searching", "documents", show=not reporter.quiet) as advance:
            ranking = search(progress=advance)
    else:
        clock = StageClock()
        with corpus_progress(clock, show=not reporter.quiet):
            ranking = search(clock=clock)
    reporter.about_model(ranking.model)
    reporter.about_stages(ranking.times)
    if index is not None and ranking.skipped:
        count = plural(len(ranking.skipped), "file")
        reporter.warning(f"{count} cannot be read; list them with: colde index {index} --status")
    elif index is None:
        reporter.about_skipped(ranking.skipped)
        if (
            ranking.searched + ranking.unencoded + len(ranking.skipped) + 1 >= INDEX_PAYS
            and not reporter.quiet
        ):
            note(
                "In a corpus of this size an index is searched sooner; make one with: colde index CORPUS -o INDEX"
            )
    if ranking.unencoded:
        left = plural(ranking.unencoded, "document")
        reporter.warning(f"{left} not scored: the {budget:g} s of --budget were over. Run again to go on.")
    for read in ranking.half_read:
        if read.path != ranking.query_path:  # The query's own warnings were shown before the search.
            reporter.about_half_read(read.path, read.warnings)
    with stage("output"):
        out.show(ranking, chosen, verbose=reporter.verbose)
    raise ending.after(ranking.results, ranking.skipped)
