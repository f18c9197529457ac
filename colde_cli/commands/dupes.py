"""`colde dupes`: find the copies, versions and parts of documents in a corpus."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    DeviceOption,
    ExitZeroOption,
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
    check_share,
    corpus_places,
    format_option,
    search_end,
)
from colde_cli.errors import DocumentError, OptionError
from colde_cli.files import atomic_folder
from colde_cli.recipes import option
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.corpus.families import Families
    from colde_cli.encoder.encoding import DocumentEncoder

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.CSV)
_OWN = re.compile(r"index\.html|\d{4,}\.html")
"""Files that `--reports` writes."""


def dupes(
    corpus: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS", help="Folders, with everything below them, and files; or an index."),
    ],
    min_share: Annotated[
        float,
        option(
            "--min-share",
            callback=check_share,
            metavar="SHARE",
            help="Share of the words of each that also occur in the other, for two to be versions.",
        ),
    ] = 0.4,
    min_contained: Annotated[
        float,
        option(
            "--min-contained",
            callback=check_share,
            metavar="SHARE",
            help="Share of a document's words that also occur in a longer one, for it to be a part.",
        ),
    ] = 0.8,
    glob: GlobOption = None,
    password: PasswordOption = None,
    reports: Annotated[
        Path | None,
        option(
            "--reports",
            panel=OUTPUT,
            metavar="FOLDER",
            help="Also write a page of what is found and an HTML report on each pair.",
        ),
    ] = None,
    max_reports: Annotated[
        int, option("--max-reports", panel=OUTPUT, min=1, metavar="N", help="Pairs to write reports on.")
    ] = 50,
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
    """Find copies, versions and parts of documents among many.

    Groups are files with the same bytes or the same text, near-duplicates and
    versions of one document; a document that is part of a longer one is listed
    apart. Only texts are read; --reports alone needs a model. Files that cannot
    be read are reported and skipped. Exits with status 0 if something is found, 1 if
    nothing is, 2 if something went wrong.
    """
    from colde_cli import grouping

    chosen = choose_format(format, output, corpus, FORMATS)
    from colde_cli.views.output import progress

    places = corpus_places(corpus, output, quiet=quiet)
    if reports is not None:
        _check_folder(reports)
    reporter = Reporter(quiet, verbose)
    with progress("Reading", "documents", show=not quiet) as advance:
        found = grouping.dupes(
            places,
            min_share=min_share,
            min_contained=min_contained,
            glob=glob,
            password=password,
            progress=advance,
        )
    reporter.about_skipped(found.skipped)
    for path, sentences in found.half_read:
        reporter.about_half_read(path, sentences)
    links: dict[tuple[str, str], str] = {}
    if reports is not None:
        choice = ModelChoice(model, device, precision, threads, no_cache)
        links = _write_reports(found, reports, max_reports, choice, password, reporter)
    deliver(_render(found, chosen, output, reports, links), output, chosen, pager)
    raise search_end(found, found.skipped, strict=strict, exit_zero=exit_zero)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything but earlier reports: it is replaced as a whole."""
    try:
        others = [path.name for path in folder.iterdir() if not _OWN.fullmatch(path.name)]
    except FileNotFoundError:
        others = []
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
    if others:
        raise OptionError(
            f"{folder} holds {others[0]} and is not overwritten; name a new folder for --reports."
        )
    if not folder.absolute().parent.is_dir():
        raise OptionError(f"There is no folder {folder.parent} for the reports; make it first.")


def _write_reports(
    found: Families,
    folder: Path,
    most: int,
    choice: ModelChoice,
    password: str | None,
    reporter: Reporter,
) -> dict[tuple[str, str], str]:
    """Write a report on each of the first pairs, and the page that links them; return the names of the reports."""
    from colde_cli.views.families.html import families_html
    from colde_cli.views.output import progress

    pairs, links = found.pairs(), {}
    encoder = choice.load() if pairs else None
    if len(pairs) > most:
        reporter.warning(f"Reports are written on {most} of {len(pairs):,} pairs; see --max-reports.")
    try:
        with atomic_folder(folder) as staged:
            with progress("Comparing", "pairs", min(most, len(pairs)), show=not reporter.quiet) as advance:
                for number, pair in enumerate(pairs[:most], 1):
                    name = f"{number:04}.html"
                    if _write_report(pair, staged / name, encoder, password, reporter):
                        links[pair] = name
                    advance(1)
            (staged / "index.html").write_text(
                families_html(found, links), "utf-8", errors="backslashreplace"
            )
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return links


def _write_report(
    pair: tuple[str, str],
    file: Path,
    encoder: DocumentEncoder | None,
    password: str | None,
    reporter: Reporter,
) -> bool:
    """Write the report on a pair; False, with a warning, where one of the two can no longer be read."""
    from colde_cli import api
    from colde_cli.views.report.html import comparison_html

    try:
        comparison = api.compare(*pair, encoder=encoder, password=password)
    except DocumentError as error:
        reporter.warning(f"No report on {pair[0]} and {pair[1]}: {error}")
        return False
    file.write_text(comparison_html(comparison), "utf-8", errors="backslashreplace")
    return True


def _render(
    found: Families,
    chosen: Format,
    output: Path | None,
    reports: Path | None,
    links: dict[tuple[str, str], str],
) -> str:
    from colde_cli.views.families import formats as views

    if chosen is Format.JSON:
        return views.families_json(found)
    if chosen is Format.MARKDOWN:
        return views.families_markdown(found)
    if chosen is Format.HTML:
        from colde_cli.views.families.html import families_html

        return families_html(found, _links_from(output, reports, links))
    if chosen is Format.CSV:
        return views.families_csv(found)
    return views.families_table(found, to_file=output is not None)


def _links_from(
    output: Path | None, reports: Path | None, links: dict[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    """The links to reports as seen from the page."""
    if reports is None:
        return {}
    place = Path() if output is None else output.parent
    to_folder = Path(os.path.relpath(reports, place)).as_posix()
    return {pair: quote(f"{to_folder}/{name}") for pair, name in links.items()}
