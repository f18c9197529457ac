"""`colde diff`: compare two documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    DeviceOption,
    ExitZeroOption,
    IgnoreCaseOption,
    IgnoreLikeOption,
    IgnoreListMarksOption,
    IgnoreNumbersOption,
    IgnoreRenumberingOption,
    IgnoreWhitespaceOption,
    Level,
    LevelOption,
    ListedOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    OnlySectionsOption,
    OutputOption,
    PagerOption,
    PagesOption,
    PasswordOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    SkipSectionsOption,
    ThreadsOption,
    VerboseOption,
    check_score,
    format_option,
    parse_pages,
    warn_if_nothing_ignored,
)
from colde_cli.recipes import option
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.CSV)


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A document, or - for standard input.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The document to compare it with, or -.")],
    password: PasswordOption = None,
    pages: PagesOption = None,
    skip_sections: SkipSectionsOption = None,
    only_sections: OnlySectionsOption = None,
    ignore_case: IgnoreCaseOption = False,
    ignore_whitespace: IgnoreWhitespaceOption = False,
    ignore_numbers: IgnoreNumbersOption = False,
    ignore_renumbering: IgnoreRenumberingOption = False,
    ignore_list_marks: IgnoreListMarksOption = False,
    ignore_like: IgnoreLikeOption = None,
    field: Annotated[
        str | None,
        option(
            "--field",
            metavar="NAME|FOLDER",
            help="Score with the statistics of a field, learned with colde adapt.",
        ),
    ] = None,
    level: LevelOption = Level.ALL,
    top: ListedOption = 10,
    format: Annotated[Format | None, format_option("table|json|markdown|html|csv")] = None,
    output: OutputOption = None,
    pager: PagerOption = None,
    fail_under: Annotated[
        float | None,
        option(
            "--fail-under",
            panel=OUTPUT,
            callback=check_score,
            metavar="SCORE",
            help="Exit with status 0 if the document score is at least this, else with 1.",
        ),
    ] = None,
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
    """Compare two documents.

    Exits with status 0 if their texts are the same apart from white space and
    ignored differences, 1 if they differ, 2 if something went wrong.
    """
    from colde_cli import api
    from colde_cli.similarity.redline import IgnoreOptions

    like = ignore_like or []
    ignore = IgnoreOptions(
        ignore_case,
        ignore_whitespace,
        ignore_numbers,
        tuple(map(str, like)),
        ignore_renumbering,
        ignore_list_marks,
    )
    chosen = choose_format(format, output, (a, b, *ignore.like), FORMATS)
    reporter = Reporter(quiet, verbose)
    read = api.ReadOptions(password, parse_pages(pages), skip_sections or (), only_sections or ())
    open_model = ModelChoice(model, device, precision, threads, no_cache).load
    pair = api.open_pair(a, b, open_model, read, ignore, None if field == "none" else field)
    reporter.about_model(pair.encoder)
    for document in (*pair.templates, pair.a, pair.b):
        reporter.about_document(document)
    warn_if_nothing_ignored((pair.a, pair.b), like, reporter)
    from colde_cli.views.output import progress

    aligned = chosen in (Format.HTML, Format.CSV) or level in (Level.PASSAGE, Level.ALL)
    with progress("Encoding", "chunks", show=not quiet) as advance:
        comparison = pair.compare(passages=aligned, progress=advance)
    deliver(_render(comparison, chosen, level, top, verbose, output), output, chosen, pager)
    raise typer.Exit(0 if exit_zero else _status(comparison, fail_under))


def _render(
    comparison: Comparison, chosen: Format, level: Level, top: int, verbose: bool, output: Path | None
) -> str:
    if chosen is Format.HTML:
        from colde_cli.views.report.html import comparison_html

        return comparison_html(comparison)
    if chosen is Format.JSON:
        from colde_cli.views.json import comparison_json

        return comparison_json(comparison)
    if chosen is Format.MARKDOWN:
        from colde_cli.views.markdown import comparison_markdown

        return comparison_markdown(comparison, level.value, top, verbose=verbose)
    if chosen is Format.CSV:
        from colde_cli.views.csv import comparison_csv

        return comparison_csv(comparison)
    from colde_cli.views.terminal import comparison_table

    return comparison_table(comparison, level.value, top, verbose=verbose, to_file=output is not None)


def _status(comparison: Comparison, fail_under: float | None) -> int:
    if fail_under is not None:
        return 0 if comparison.score >= fail_under else 1
    return 0 if comparison.same_content else 1
