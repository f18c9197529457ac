"""`colde rank`: find the documents of a corpus that are most similar to one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    DebugOption,
    DeviceOption,
    ExitZeroOption,
    FieldOption,
    GlobOption,
    IgnoreLikeOption,
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
    ignore_options,
    search_end,
)
from colde_cli.recipes import option, option_name
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.stages import stage
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli import api
    from colde_cli.corpus.rank_corpus import Ranking

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
    top: Annotated[int, option("--top", "-k", metavar="N", min=1, help="Documents to list.")] = 10,
    min_score: Annotated[
        float | None,
        option(
            "--min-score", callback=check_score, metavar="SCORE", help="Leave out documents below this score."
        ),
    ] = None,
    explain: Annotated[bool, option("--explain", help="Show which sections and pages match.")] = False,
    glob: GlobOption = None,
    newer: Annotated[
        str | None,
        option(
            "--newer",
            metavar="DATE",
            help="Only files changed since a date, such as 2026-01-31, or an age, such as 30d.",
        ),
    ] = None,
    older: Annotated[
        str | None, option("--older", metavar="DATE", help="Only files last changed before a date or an age.")
    ] = None,
    min_size: Annotated[
        str | None,
        option("--min-size", metavar="SIZE", help="Only files of this size or more, such as 10kB."),
    ] = None,
    max_size: Annotated[
        str | None, option("--max-size", metavar="SIZE", help="Only files of this size or less, such as 5MB.")
    ] = None,
    section: Annotated[
        str | None,
        option(
            "--section",
            metavar="PATTERN",
            help="Only documents with a section whose heading matches, or of a kind such as abstract.",
        ),
    ] = None,
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
    strict: StrictOption = False,
    format: Annotated[Format | None, format_option("table|json|jsonl|markdown|csv|html")] = None,
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
    """Find the documents that are most similar to one.

    Files that cannot be read are reported and skipped. Exits with status 0 if
    a document is listed, 1 if none is, 2 if something went wrong.
    """
    from colde_cli import api

    ignore = ignore_options(None, ignore_like)
    chosen = choose_format(format, output, (query, *corpus, *ignore.like), FORMATS)
    from colde_cli.corpus.finding import Filter
    from colde_cli.views.progress import progress

    places = corpus_places(corpus, output, quiet=quiet)
    reporter = Reporter(quiet, verbose)
    open_model = partial(ModelChoice(model, device, precision, threads, no_cache).load, ahead=False)
    chosen_field = None if field == "none" else field
    narrowed = Filter.parse(
        newer=newer, older=older, min_size=min_size, max_size=max_size, section=section, called=option_name
    )
    with progress("Reading the query", show=not quiet):
        search = api.open_search(
            query,
            places,
            open_model,
            glob=glob,
            chosen=narrowed,
            ignore=ignore,
            field=chosen_field,
            password=password,
        )
    reporter.about_model(search.encoder)
    for folder in search.unlisted:
        reporter.warning(f"Skipped {folder.path}: {folder.reason}.")
    for document in (*search.templates, search.query.document):
        reporter.about_document(document)
    ranking = _ranking(
        partial(search.rank, top=top, min_score=min_score, explain=explain, budget=budget),
        is_index=search.index is not None,
        show=not quiet,
    )
    reporter.about_stages(ranking.times)
    _about_skipped(search, ranking, reporter)
    if ranking.unencoded:
        from colde_cli.views.wording import plural

        left = plural(ranking.unencoded, "document")
        reporter.warning(f"{left} not scored: the {budget:g} s of --budget were over. Run again to go on.")
    for read in ranking.half_read:
        if read.path != ranking.query_path:  # The query's own warnings were shown before the search.
            reporter.about_half_read(read.path, read.warnings)
    deliver(_render(ranking, chosen, verbose, output), output, chosen, pager)
    raise search_end(ranking.results, ranking.skipped, strict=strict, exit_zero=exit_zero)


def _ranking(search: Callable[..., Ranking], *, is_index: bool, show: bool) -> Ranking:
    """Search, and show how far that is: documents of an index are counted, files are read and encoded."""
    from colde_cli.corpus.pipeline import StageClock
    from colde_cli.views.progress import corpus_progress, progress

    if is_index:
        with progress("Searching", "documents", show=show) as advance:
            return search(progress=advance)
    clock = StageClock()
    with corpus_progress(clock, show=show):
        return search(clock=clock)


def _about_skipped(search: api.Search, ranking: Ranking, reporter: Reporter) -> None:
    """Warn of files that cannot be read; those of an index were named when it was made. Say when an index would pay."""
    from colde_cli.views.output import note
    from colde_cli.views.wording import plural

    if search.index is not None and ranking.skipped:
        count = plural(len(ranking.skipped), "file")
        reporter.warning(f"{count} cannot be read; list them with: colde index {search.index} --status")
    elif search.index is None:
        reporter.about_skipped(ranking.skipped)
    if len(search.files) >= INDEX_PAYS and not reporter.quiet:
        note(
            "In a corpus of this size an index is searched sooner; make one with: colde index CORPUS -o INDEX"
        )


@stage("output")
def _render(ranking: Ranking, chosen: Format, verbose: bool, output: Path | None) -> str:
    if chosen is Format.JSON:
        from colde_cli.views.json import ranking_json

        return ranking_json(ranking)
    if chosen is Format.JSONL:
        from colde_cli.views.json import ranking_jsonl

        return ranking_jsonl(ranking)
    if chosen is Format.HTML:
        from colde_cli.views.ranking import ranking_html

        return ranking_html(ranking)
    if chosen is Format.MARKDOWN:
        from colde_cli.views.markdown import ranking_markdown

        return ranking_markdown(ranking)
    if chosen is Format.CSV:
        from colde_cli.views.csv import ranking_csv

        return ranking_csv(ranking)
    from colde_cli.views.ranking import ranking_table

    return ranking_table(ranking, verbose=verbose, to_file=output is not None)
