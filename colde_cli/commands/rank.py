"""`colde rank`: find the documents of a corpus that are most similar to one."""

from __future__ import annotations

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
    search_end,
)
from colde_cli.recipes import option
from colde_cli.settings import DEFAULT_MODEL, parse_moment, parse_size
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli import api
    from colde_cli.corpus.filters import Filter
    from colde_cli.corpus.ranking import Ranking

INDEX_PAYS = 500
"""Files from which on searching an index is worth making one."""

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
        option("--newer", metavar="DATE", help="Only files changed since, such as 2026-01-31, or 30d ago."),
    ] = None,
    older: Annotated[
        str | None, option("--older", metavar="DATE", help="Only files not changed since then.")
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
            help="Only documents with such a section: a pattern of its heading, or a kind such as abstract.",
        ),
    ] = None,
    field: FieldOption = "corpus",
    budget: Annotated[
        float | None,
        option(
            "--budget",
            metavar="SECONDS",
            min=0,
            help="Time to encode documents that the cache does not know, the most promising by their words first.",
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
    from colde_cli.similarity.redline import IgnoreOptions

    ignore = IgnoreOptions(like=tuple(map(str, ignore_like or ())))
    chosen = choose_format(format, output, (query, *corpus, *ignore.like), FORMATS)
    from colde_cli.views.output import progress

    places = corpus_places(corpus, output, quiet=quiet)
    reporter = Reporter(quiet, verbose)
    open_model = ModelChoice(model, device, precision, threads, no_cache).load
    chosen_field = None if field == "none" else field
    search = api.open_search(
        query,
        places,
        open_model,
        glob=glob,
        chosen=_filter(newer, older, min_size, max_size, section),
        ignore=ignore,
        field=chosen_field,
        password=password,
    )
    reporter.about_model(search.encoder)
    for folder in search.unlisted:
        reporter.warning(f"Skipped {folder.path}: {folder.reason}.")
    for document in (*search.templates, search.query.document):
        reporter.about_document(document)
    with progress("Searching", "documents", len(search.files), show=not quiet) as advance:
        ranking = search.rank(top=top, min_score=min_score, explain=explain, budget=budget, progress=advance)
    reporter.about_stages(ranking.times)
    _about_skipped(search, ranking, reporter)
    if ranking.unencoded:
        from colde_cli.views.wording import plural

        left = plural(ranking.unencoded, "document")
        reporter.warning(f"Left out {left}: the time of --budget {budget:g} was over; the next run goes on.")
    for read in ranking.half_read:
        if read.path != ranking.query_path:  # The query's own warnings were shown before the search.
            reporter.about_half_read(read.path, read.warnings)
    deliver(_render(ranking, chosen, verbose, output), output, chosen, pager)
    raise search_end(ranking.results, ranking.skipped, strict=strict, exit_zero=exit_zero)


def _filter(
    newer: str | None, older: str | None, min_size: str | None, max_size: str | None, section: str | None
) -> Filter:
    from colde_cli.corpus.filters import Filter

    def moment(text: str | None, name: str) -> int | None:
        return None if text is None else int(parse_moment(text, name) * 1e9)

    def size(text: str | None, name: str) -> int | None:
        return None if text is None else parse_size(text, name)

    return Filter(
        changed_after=moment(newer, "--newer"),
        changed_before=moment(older, "--older"),
        least_size=size(min_size, "--min-size"),
        most_size=size(max_size, "--max-size"),
        section=section,
    )


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


def _render(ranking: Ranking, chosen: Format, verbose: bool, output: Path | None) -> str:
    if chosen is Format.JSON:
        from colde_cli.views.json import ranking_json

        return ranking_json(ranking)
    if chosen is Format.JSONL:
        from colde_cli.views.json import ranking_jsonl

        return ranking_jsonl(ranking)
    if chosen is Format.HTML:
        from colde_cli.views.ranking.html import ranking_html

        return ranking_html(ranking)
    if chosen is Format.MARKDOWN:
        from colde_cli.views.markdown import ranking_markdown

        return ranking_markdown(ranking)
    if chosen is Format.CSV:
        from colde_cli.views.csv import ranking_csv

        return ranking_csv(ranking)
    from colde_cli.views.terminal import ranking_table

    return ranking_table(ranking, verbose=verbose, to_file=output is not None)
