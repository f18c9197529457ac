"""`colde dupes`: find the copies, versions and parts of documents in a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    ExitZeroOption,
    GlobOption,
    OutputOption,
    PagerOption,
    PasswordOption,
    QuietOption,
    Reporter,
    VerboseOption,
    check_share,
    format_option,
)
from colde_cli.recipes import option
from colde_cli.views.output import Format, choose_format, deliver, refuse_inputs

if TYPE_CHECKING:
    from colde_cli.corpus.families import Families

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.CSV)


def dupes(
    corpus: Annotated[
        list[Path], typer.Argument(metavar="CORPUS", help="Folders, with everything below them, and files.")
    ],
    min_share: Annotated[
        float,
        option(
            "--min-share",
            callback=check_share,
            metavar="SHARE",
            help="Share of the words of each that stand in the other, for two to be versions.",
        ),
    ] = 0.4,
    min_contained: Annotated[
        float,
        option(
            "--min-contained",
            callback=check_share,
            metavar="SHARE",
            help="Share of a document's words that stand in a longer one, for it to be a part.",
        ),
    ] = 0.8,
    glob: GlobOption = None,
    password: PasswordOption = None,
    strict: Annotated[
        bool, option("--strict", panel=OUTPUT, help="Exit with status 2 if a file cannot be read.")
    ] = False,
    format: Annotated[Format | None, format_option("table|json|markdown|csv")] = None,
    output: OutputOption = None,
    pager: PagerOption = None,
    exit_zero: ExitZeroOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
) -> None:
    """Find copies, versions and parts of documents among many.

    Groups are files with the same bytes or the same text, near-duplicates and
    versions of one document; a document that stands in a longer one is listed
    apart. Only texts are read, no model is needed. Files that cannot be read
    are reported and skipped. Exits with status 0 if something is found, 1 if
    nothing is, 2 if something went wrong.
    """
    from colde_cli import api
    from colde_cli.corpus.collecting import walk

    chosen = choose_format(format, output, map(str, corpus), FORMATS)
    if output is not None:
        refuse_inputs(output, walk(corpus))  # Also documents that --glob leaves out.
    reporter = Reporter(quiet, verbose)
    from colde_cli.views.output import progress

    with progress("Reading", "documents", show=not quiet) as advance:
        found = api.dupes(
            corpus,
            min_share=min_share,
            min_contained=min_contained,
            glob=glob,
            password=password,
            progress=advance,
        )
    for skipped in found.skipped:
        reporter.warning(f"Skipped {skipped.path}: {skipped.reason}")
    for path, warnings in found.half_read:
        for sentence in warnings:
            reporter.warning(f"{path}: {sentence}")
    deliver(_render(found, chosen, output), output, chosen, pager)
    if strict and found.skipped:
        raise typer.Exit(2)
    raise typer.Exit(0 if found or exit_zero else 1)


def _render(found: Families, chosen: Format, output: Path | None) -> str:
    from colde_cli.views.families import formats as views

    if chosen is Format.JSON:
        return views.families_json(found)
    if chosen is Format.MARKDOWN:
        return views.families_markdown(found)
    if chosen is Format.CSV:
        return views.families_csv(found)
    return views.families_table(found, to_file=output is not None)
