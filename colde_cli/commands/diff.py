"""`colde diff`: compare two documents, the documents of two folders, or several versions of a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.commands import options
from colde_cli.commands.options import OUTPUT, Level, ModelChoice, Reporter, format_option, option, require_extra
from colde_cli.commands.pair_reports import PairReports, check_reports, report_links
from colde_cli.commands.reading_options import Selection
from colde_cli.documents.stages import stage
from colde_cli.errors import OptionError
from colde_cli.views.output import BINARY, Format, choose_format, refuse_inputs, show, write_file

if TYPE_CHECKING:
    from colde_cli.corpus.folder_pairs import FileChange, FolderComparison
    from colde_cli.model_api import Model
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.sources import Comparing, Reading
    from colde_cli.views.blocks import PairOfFiles
    from colde_cli.views.word.tracked_file import Authorship, WordRedline

FORMATS = tuple(Format)
_SCORED = (Format.JSON, Format.JSONL, Format.HTML)
"""Formats that hold the scores of versions of one text, too."""
FOLDER_FORMATS = (
    *(Format.TABLE, Format.SUMMARY, Format.JSON, Format.JSONL),
    *(Format.MARKDOWN, Format.HTML, Format.CSV),
)

REVIEW_FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.CSV)
MERGE_FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.HTML, Format.DOCX)
HISTORY_FORMATS = (Format.TABLE, Format.SUMMARY, Format.JSON, Format.MARKDOWN, Format.HTML)


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A document, - for standard input, or a folder.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The document or folder to compare it with, or -.")],
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="C", help="Later versions: what became of each section in all of them."),
    ] = None,
    *,
    selection: Selection,
    ignoring: options.Ignoring,
    field: options.FieldOption = "none",
    glob: options.GlobOption = None,
    level: options.LevelOption = Level.ALL,
    top: options.TopOption = 10,
    attention: Annotated[
        bool, option("--attention", panel=OUTPUT, help="Add the attention of chunks to JSON and to --level chunk.")
    ] = False,
    format: Annotated[
        Format | None, format_option("table|summary|json|jsonl|markdown|html|csv|docx|pdf|github")
    ] = None,
    schema: Annotated[
        int,
        option(
            "--schema",
            panel=OUTPUT,
            metavar="N",
            min=1,
            max=2,
            help="Version of the JSON; 1 always has the attention of chunks.",
        ),
    ] = 2,
    out: options.Destination,
    annotate: Annotated[
        Path | None,
        option("--annotate", panel=OUTPUT, metavar="DIR", help="Folder for copies of the PDFs, changes highlighted."),
    ] = None,
    comments: Annotated[
        Path | None,
        option(
            "--comments",
            panel=OUTPUT,
            metavar="FILE",
            help="Review of A (a file with comments, or a list of remarks): show what became of each remark.",
        ),
    ] = None,
    signature: options.Signature,
    merge: Annotated[
        bool,
        option("--merge", panel=OUTPUT, help="Show the edits and conflicts of reviewers, who made B, C, ... of A."),
    ] = False,
    reviewer: Annotated[
        list[str] | None,
        option("--reviewer", panel=OUTPUT, metavar="NAME", help="Name of a reviewer, for --merge; repeat it for each."),
    ] = None,
    reports: options.ReportsOption = None,
    fail_under: options.FailUnderOption = None,
    ending: options.Ending,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Compare two documents, several versions of one, or the documents of two folders.

    Documents of two folders are paired by path and name, renamed ones by their
    text; -o report.html then writes one page to mail, with a table and the
    changes of each pair, and --reports a report on each pair. Exits with status
    0 if the texts are the same apart from white space and ignored differences,
    1 if they differ, 2 if something went wrong. A .docx file of -o holds
    tracked changes, with --merge those of each reviewer, a .pdf file two PDFs
    side by side, or the merged text of other documents.
    """
    ignored, reading = ignoring.options(), selection.arguments()
    compared: Comparing = {**reading, "ignore": ignored, "field": None if field == "none" else field}
    run = _DiffRun(model.open(), compared, format, out, reporter)
    _refuse({"--reviewer": None if merge else reviewer}, "is for --merge")
    if merge:
        others = {"--annotate": annotate, "--comments": comments, "--fail-under": fail_under, "--reports": reports}
        _refuse({**others, "--field": compared["field"], "--ignore": ignored or None}, "does not go with --merge")
        written = signature.authorship(selection.tracked)
        raise ending.after(run.merge((a, b, *(more or ())), reviewer or (), reading, written), ())
    if more or Path(a).is_dir() or Path(b).is_dir():
        of_two = {"--annotate": annotate, "--comments": comments, "--fail-under": fail_under}
        _refuse(of_two, "is for two documents only")
        if more:
            _refuse({"--reports": reports}, "is for two folders")
            raise ending.after(run.versions((a, b, *more)), ())
        found = run.folders(a, b, glob, top, reports)
        raise ending.after(found.same, found.skipped)
    if reports is not None:
        raise OptionError("--reports is for two folders; for two documents use -o report.html.")
    if comments is not None:
        _refuse({"--annotate": annotate, "--fail-under": fail_under}, "does not go with --comments")
        raise ending.after(run.answers(a, b, comments), ())
    chosen = run.format(FORMATS, (a, b, *ignored.like))
    authorship = signature.authorship(selection.tracked) if chosen is Format.DOCX else None
    if annotate is not None or chosen is Format.PDF:
        _check_pages(a, b, chosen, annotate, ignored.like)
    run.model.warm = ("colde_cli.views.page", "colde_cli.views.terminal") if chosen is Format.TABLE else ()
    aligned = chosen is not Format.JSON or level in (Level.PASSAGE, Level.ALL) or annotate is not None
    scored = chosen in _SCORED or level in (Level.SECTION, Level.CHUNK) or reporter.verbose or fail_under is not None
    with reporter.progress("Encoding", "chunks") as advance:
        hears: dict[str, Any] = {"on_read": reporter.about_document, "progress": advance}
        comparison = run.model.compare(a, b, passages=aligned, scores=scored, **hears, **compared)
    reporter.about_model(comparison.model)
    ignoring.warn_if_in_vain((comparison.a.document, comparison.b.document), reporter)
    if annotate is not None:
        _annotate(comparison, annotate, reading, reporter)
    if chosen in BINARY and out.output is not None:
        _write_binary(comparison, chosen, out.output, reading, authorship, reporter)
    else:
        shown = reporter.verbose or fail_under is not None  # whoever sets a limit wants to see the score
        with stage("output"):  # JSON is made while it is written
            if chosen is Format.JSON:
                from colde_cli.views.json import comparison_blocks

                out.deliver(comparison_blocks(comparison, schema, attention=attention), chosen)
            else:
                attended = attention or reporter.verbose
                out.show(comparison, chosen, level=level.value, top=top, verbose=shown, attention=attended)
    passed = comparison.same if fail_under is None else comparison.score >= fail_under
    raise ending.after(passed, ())


def _refuse(given: Mapping[str, object], why: str) -> None:
    """Refuse options that do not go with others; None stands for one that was not given."""
    for name, value in given.items():
        if value is not None:
            raise OptionError(f"{name} {why}; leave it out.")


def _check_pages(a: str, b: str, chosen: Format, annotate: Path | None, like: tuple[str, ...]) -> None:
    """Find out before the work whether what was asked of the pages of PDFs can be done."""
    from colde_cli.views.annotated import check_annotation, why_no_pages

    if annotate is not None:
        check_annotation(annotate, a, b, (a, b, *like))
    if chosen is Format.PDF and any(map(why_no_pages, (a, b))):
        require_extra("pdf", "A .pdf file from documents that are not both PDF files")


def _write_binary(
    comparison: Comparison,
    chosen: Format,
    output: Path,
    reading: Reading,
    authorship: Authorship | None,
    reporter: Reporter,
) -> None:
    """Write tracked changes, or the pages of two PDFs side by side; of other documents, their text as one column."""
    if authorship is not None:
        from colde_cli.views.word.tracked_file import comparison_docx

        _write_redline(comparison_docx(comparison, authorship), output, reporter)
        return
    from colde_cli.views.annotated import why_no_pages

    if not any(why_no_pages(side.document.path) for side in (comparison.a, comparison.b)):
        from colde_cli.views.annotated import write_side_by_side

        write_side_by_side(comparison, output, reading["password"], reading["pages"])
        return
    from colde_cli.views.typeset import write_typeset
    from colde_cli.views.wording import plural

    missing = write_typeset(comparison, output)
    if missing:
        reporter.warning(
            f"{output} shows ? for {plural(missing, 'letter')}: no font of this machine has them;"
            " install the Noto fonts, or write a .docx file."
        )


def _write_redline(redline: WordRedline, output: Path, reporter: Reporter) -> None:
    """Write a Word file, and say what is missing and what else is in it."""
    for sentence in redline.warnings:
        reporter.warning(sentence)
    reporter.note(*redline.notes)
    write_file([redline.content], output)


def _annotate(comparison: Comparison, folder: Path, reading: Reading, reporter: Reporter) -> None:
    """Write the annotated PDFs, and say what is missing."""
    from colde_cli.views.annotated import write_annotated

    for annotated in write_annotated(comparison, folder, reading["password"], reading["pages"]):
        if annotated.remark:
            reporter.warning(f"{annotated.shown} {annotated.remark}")


@dataclass(frozen=True, slots=True)
class _DiffRun:
    """What is the same in every kind of comparison that the command makes, and the kinds beside two documents."""

    model: Model
    compared: Comparing
    asked: Format | None
    out: options.Destination
    reporter: Reporter

    def format(self, offered: Collection[Format], inputs: Iterable[str]) -> Format:
        """The format to write, of those that a result has."""
        return choose_format(self.asked, self.out.output, inputs, offered)

    def folders(self, a: str, b: str, glob: str | None, top: int, reports: Path | None) -> FolderComparison:
        """Compare two folders and write what was found.

        Raises:
            OptionError: one of the two is no folder, or the output is one of their documents.
        """
        from colde_cli.corpus.finding import walk

        folders, output = [Path(place) for place in (a, b)], self.out.output
        for place, other in (folders, folders[::-1]):
            if not place.is_dir():
                raise OptionError(f"{other} is a folder and {place} is not; name two folders or two documents.")
        chosen = self.format(FOLDER_FORMATS, self.compared["ignore"].like)
        if output is not None:
            refuse_inputs(output, walk(folders, glob))
        if reports is not None:
            check_reports(reports)
        view = _FolderView(chosen, top)
        with (
            nullcontext() if reports is None else PairReports.replacing(reports) as view.reports,
            self.reporter.progress("Comparing", "documents") as advance,
        ):
            found = self.model.compare_folders(a, b, glob=glob, each=view.keep, progress=advance, **self.compared)
            if view.reports is not None:
                view.reports.write_index(show(found, Format.HTML, pairs=view.pairs, links=view.reports.names))
        self.reporter.about_model(found.model)
        self.reporter.about_skipped(found.skipped)
        for change in found.files:
            for document in (change.digest.a, change.digest.b) if change.digest else ():
                self.reporter.about_half_read(document.path, document.report.warnings)
        links = report_links(view.reports.names if view.reports else {}, reports, output)
        text = show(found, chosen, pairs=view.pairs, links=links, to_file=output is not None)
        self.out.deliver(text, chosen)
        return found

    def answers(self, a: str, b: str, review: Path) -> bool:
        """Find what became of the remarks of a review and write it; whether the two versions are the same."""
        chosen = self.format(REVIEW_FORMATS, (a, b, str(review), *self.compared["ignore"].like))
        with self.reporter.progress("Comparing", "chunks") as advance:
            on_read = self.reporter.about_document
            found = self.model.comments(a, b, review, on_read=on_read, progress=advance, **self.compared)
        self.reporter.about_model(found.comparison.model)
        self.out.show(found, chosen)
        return found.same

    def merge(self, documents: Sequence[str], names: Sequence[str], reading: Reading, authorship: Authorship) -> bool:
        """Merge what reviewers made of the first document and write it; whether nobody changed anything."""
        chosen = self.format(MERGE_FORMATS, documents)
        with self.reporter.progress("Comparing", "chunks") as advance:
            base, *reviewers = documents
            hears: dict[str, Any] = {"on_read": self.reporter.about_document, "progress": advance}
            found = self.model.merge(base, reviewers, names=names, **hears, **reading)
        self.reporter.about_model(found.comparisons[0].model)
        if chosen is Format.DOCX and self.out.output is not None:
            from colde_cli.views.word.merged_file import merge_docx

            _write_redline(merge_docx(found, authorship), self.out.output, self.reporter)
        else:
            self.out.show(found, chosen)
        return found.same

    def versions(self, versions: Sequence[str]) -> bool:
        """Compare each of several versions with the next and write what became of their sections; whether all are same.

        Raises:
            OptionError: one of them is a folder, or the output.
        """
        if folder := next((version for version in versions if Path(version).is_dir()), None):
            raise OptionError(f"{folder} is a folder; name two folders, or any number of documents.")
        chosen = self.format(HISTORY_FORMATS, (*versions, *self.compared["ignore"].like))
        with self.reporter.progress("Comparing", "chunks") as advance:
            found = self.model.history(versions, progress=advance, **self.compared)
        self.reporter.about_model(found.model)
        for document in found.versions:
            self.reporter.about_document(document)
        self.out.show(found, chosen)
        return found.same


class _FolderView:
    """Keeps what the chosen format shows of each comparison."""

    def __init__(self, chosen: Format, top: int) -> None:
        self._chosen, self._top = chosen, top
        self.reports: PairReports | None = None
        self.pairs: dict[tuple[str, str], PairOfFiles] = {}

    def keep(self, change: FileChange, comparison: Comparison) -> None:
        """Keep the changes of a pair of files."""
        if change.same:
            return
        if self._chosen in (Format.MARKDOWN, Format.HTML) or self.reports is not None:
            from colde_cli.views.page import pair_of_files

            self.pairs[change.a, change.b] = pair_of_files(comparison, change.digest, self._top)
        if self.reports is not None:
            self.reports.write((change.a, change.b), comparison)
