"""`colde dupes`: find the copies, versions and parts of documents in a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from colde_cli.commands import options
from colde_cli.commands.options import ModelChoice, Reporter, format_option, option
from colde_cli.commands.pair_reports import PairReports, ReportNames, check_reports, report_links
from colde_cli.commands.reading_options import CorpusReading
from colde_cli.errors import DocumentError
from colde_cli.views.output import Format, choose_format, show

if TYPE_CHECKING:
    from colde_cli.corpus.duplicates import Families
    from colde_cli.model_api import Model
    from colde_cli.similarity.sources import Reading

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.CSV)


MAX_REPORTS = 50


def dupes(
    corpus: options.CorpusArgument,
    *,
    min_share: Annotated[
        float,
        option(
            "--min-share",
            callback=options.check_share,
            metavar="SHARE",
            help="Least share of the words of each that versions have in common.",
        ),
    ] = 0.4,
    min_contained: Annotated[
        float,
        option(
            "--min-contained",
            callback=options.check_share,
            metavar="SHARE",
            help="Least share of the words of a part that the longer document has.",
        ),
    ] = 0.8,
    passages: Annotated[
        bool,
        option(
            "--passages",
            help="Also list passages, such as copied clauses, that stand in documents of different groups.",
        ),
    ] = False,
    top: options.TopOption = 20,
    reading: CorpusReading,
    reports: options.ReportsOption = None,
    format: Annotated[Format | None, format_option("table|json|markdown|html|csv")] = None,
    out: options.Destination,
    ending: options.Ending,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Find copies, versions and parts of documents among many.

    Groups are files with the same bytes or the same text, near-duplicates and
    versions of one document; a document that is part of a longer one is listed
    apart. Only texts are read; --reports alone needs a model. Files that cannot
    be read are reported and skipped. Exits with status 0 if something is found, 1 if
    nothing is, 2 if something went wrong.
    """
    from colde_cli.model_api import dupes as find_dupes

    chosen = choose_format(format, out.output, corpus, FORMATS)
    how = reading.arguments()
    places = options.corpus_places(corpus, out.output)
    if reports is not None:
        check_reports(reports)
    with reporter.progress("Reading", "documents") as advance:
        found = find_dupes(
            places,
            min_share=min_share,
            min_contained=min_contained,
            passages=top if passages else 0,
            progress=advance,
            **how,
        )
    reporter.about_corpus(found)
    names: ReportNames = {}
    if reports is not None:
        of_pair: Reading = {"password": how["password"], "ocr": how["ocr"]}
        names = _write_reports(found, reports, model.open(), of_pair, reporter)
    out.show(found, chosen, links=report_links(names, reports, out.output))
    raise ending.after(found, found.skipped)


def _write_reports(found: Families, folder: Path, model: Model, reading: Reading, reporter: Reporter) -> ReportNames:
    """Write a report on each of the first pairs, and the page that links them; return the names of the reports."""
    pairs = found.pairs()
    if len(pairs) > MAX_REPORTS:
        reporter.warning(f"Reports are written on the first {MAX_REPORTS} of {len(pairs):,} pairs.")
    with PairReports.replacing(folder) as reports:
        with reporter.progress("Comparing", "pairs", min(MAX_REPORTS, len(pairs))) as advance:
            for pair in pairs[:MAX_REPORTS]:
                try:
                    reports.write(pair, model.compare(*pair, **reading))
                except DocumentError as error:  # it was readable a moment ago
                    reporter.warning(f"No report on {pair[0]} and {pair[1]}: {error}")
                advance(1)
        reports.write_index(show(found, Format.HTML, links=reports.names))
    return reports.names
