"""`colde rank`: find the documents of a corpus that are most similar to one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands import options
from colde_cli.commands.options import ModelChoice, Reporter, format_option, option
from colde_cli.commands.reading_options import CorpusReading
from colde_cli.documents.stages import stage
from colde_cli.errors import OptionError
from colde_cli.similarity.redline import IgnoreOptions
from colde_cli.views.output import Format, choose_format

if TYPE_CHECKING:
    from colde_cli.corpus.finding import Filter

INDEX_PAYS = 500
"""Number of files from which on an index is worth making."""

FORMATS = (Format.TABLE, Format.JSON, Format.JSONL, Format.MARKDOWN, Format.CSV, Format.HTML)


WhereOption = Annotated[
    list[str] | None,
    option(
        "--where",
        metavar="NAME=VALUE",
        help="Only files changed since a date or an age (newer=2026-01-31, newer=30d) or before (older=), of a size"
        " (min-size=10kB, max-size=), or with a section (words of its heading, or a kind); repeatable.",
    ),
]
_CONDITIONS = ("newer", "older", "min-size", "max-size", "section")


def _filter(where: Sequence[str]) -> Filter:
    """The conditions of --where as an argument of a search."""
    from colde_cli.corpus.finding import Filter

    given: dict[str, str] = {}
    for condition in where:
        name, _, value = condition.partition("=")
        if name not in _CONDITIONS or not value:
            known = ", ".join(_CONDITIONS)
            raise OptionError(f"--where {condition} is no condition; write NAME=VALUE, with a NAME of {known}.")
        given[name.replace("-", "_")] = value
    return Filter.parse(**given, called=lambda name: f"--where {name.replace('_', '-')}")


def rank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A document, or - for standard input.")],
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Folders, with everything below them, and files; or an index; or s3://BUCKET/NAME.lance.",
        ),
    ],
    *,
    top: options.TopOption = 10,
    min_score: Annotated[
        float | None,
        option("--min-score", callback=options.check_score, metavar="SCORE", help="Least score of a document to list."),
    ] = None,
    explain: Annotated[bool, option("--explain", help="Show which sections and pages match.")] = False,
    reading: CorpusReading,
    where: WhereOption = None,
    field: options.FieldOption = "corpus",
    budget: Annotated[
        float | None,
        option(
            "--budget",
            metavar="SECONDS",
            min=0,
            help="Time to encode documents that no cache has, those closest by words first.",
        ),
    ] = None,
    ignore_like: options.IgnoreLikeOption = None,
    format: Annotated[Format | None, format_option("table|json|jsonl|markdown|csv|html")] = None,
    out: options.Destination,
    ending: options.Ending,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Find the documents that are most similar to one.

    Files that cannot be read are reported and skipped. Exits with status 0 if
    a document is listed, 1 if none is, 2 if something went wrong.
    """
    ignore = IgnoreOptions(like=tuple(map(str, ignore_like or ())))
    chosen = choose_format(format, out.output, (query, *corpus, *ignore.like), FORMATS)
    from colde_cli.corpus.finding import is_index
    from colde_cli.corpus.pipeline import StageClock
    from colde_cli.views.progress import corpus_progress
    from colde_cli.views.wording import plural

    places = options.corpus_places(corpus, out.output)
    search = partial(
        model.open().rank,
        query,
        places,
        top=top,
        min_score=min_score,
        explain=explain,
        chosen=_filter(where or ()),
        ignore=ignore,
        field=None if field == "none" else field,
        budget=budget,
        on_read=reporter.about_document,
        **reading.arguments(),
    )
    index = next((place for place in places if is_index(place)), None)
    if index is not None:
        with reporter.progress("Searching", "documents") as advance:
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
        if ranking.searched + ranking.unencoded + len(ranking.skipped) + 1 >= INDEX_PAYS:
            reporter.note(
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
