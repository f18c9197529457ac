"""`colde diff`: compare two documents, the documents of two folders, or several versions of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    DeviceOption,
    ExitZeroOption,
    GlobOption,
    IgnoreCaseOption,
    IgnoreLikeOption,
    IgnoreListMarksOption,
    IgnoreNumbersOption,
    IgnoreOption,
    IgnoreRenumberingOption,
    IgnoreWhitespaceOption,
    Level,
    LevelOption,
    ListedOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    OnlySectionsOption,
    PagerOption,
    PagesOption,
    PairReports,
    PasswordOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    ReportsOption,
    SkipSectionsOption,
    StrictOption,
    ThreadsOption,
    VerboseOption,
    check_reports,
    check_score,
    format_option,
    ignore_options,
    parse_pages,
    report_links,
    require_extra,
    warn_if_nothing_ignored,
)
from colde_cli.errors import OptionError
from colde_cli.recipes import option, option_name
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.stages import stage
from colde_cli.views.output import Format, choose_format, deliver, refuse_inputs, write_file

if TYPE_CHECKING:
    from colde_cli.corpus.folder_pairs import FileChange, FolderComparison
    from colde_cli.model_api import Model
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.history import History
    from colde_cli.similarity.redline import IgnoreOptions
    from colde_cli.views.folders import ShownPair

FORMATS = tuple(Format)
_SCORED = (Format.JSON, Format.JSONL, Format.HTML)
"""Formats that hold the scores of versions of one text, too."""
FOLDER_FORMATS = (
    *(Format.TABLE, Format.SUMMARY, Format.JSON, Format.JSONL),
    *(Format.MARKDOWN, Format.HTML, Format.CSV),
)

HISTORY_FORMATS = (Format.TABLE, Format.SUMMARY, Format.JSON, Format.MARKDOWN, Format.HTML)


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A document, - for standard input, or a folder.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The document or folder to compare it with, or -.")],
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="C", help="Later versions: what became of each section in all of them."),
    ] = None,
    password: PasswordOption = None,
    pages: PagesOption = None,
    skip_sections: SkipSectionsOption = None,
    only_sections: OnlySectionsOption = None,
    ignore: IgnoreOption = None,
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
    glob: GlobOption = None,
    level: LevelOption = Level.ALL,
    top: ListedOption = 10,
    attention: Annotated[
        bool,
        option("--attention", panel=OUTPUT, help="Add the attention of chunks to JSON and to --level chunk."),
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
            help="Version of the JSON; 1 has the attention of chunks in any case.",
        ),
    ] = 2,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=OUTPUT,
            metavar="FILE",
            help="File to write, instead of standard output. A .docx file holds tracked changes, a .pdf file two PDFs"
            " side by side, or the merged text of other documents.",
        ),
    ] = None,
    annotate: Annotated[
        Path | None,
        option(
            "--annotate",
            panel=OUTPUT,
            metavar="DIR",
            help="Folder for copies of the PDFs with the changes highlighted.",
        ),
    ] = None,
    reports: ReportsOption = None,
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
    strict: StrictOption = False,
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
    """Compare two documents, several versions of one, or the documents of two folders.

    Documents of two folders are paired by path and name, renamed ones by their
    text; -o report.html then writes one page to mail, with a table and the
    changes of each pair, and --reports a report on each pair. Exits with status
    0 if the texts are the same apart from white space and ignored differences,
    1 if they differ, 2 if something went wrong.
    """
    ignored = ignore_options(
        ignore,
        ignore_like,
        case=ignore_case,
        whitespace=ignore_whitespace,
        numbers=ignore_numbers,
        renumbering=ignore_renumbering,
        list_marks=ignore_list_marks,
    )
    reporter = Reporter(quiet, verbose)
    opened = ModelChoice(model, device, precision, threads, no_cache).open()
    compared: dict[str, Any] = {
        "password": password,
        "pages": parse_pages(pages),
        "skip_sections": skip_sections or (),
        "only_sections": only_sections or (),
        "ignore": ignored,
        "field": None if field == "none" else field,
    }
    if more or Path(a).is_dir() or Path(b).is_dir():
        _only_for_two(annotate=annotate, fail_under=fail_under)
        options = ManyOptions(opened, compared, ignored, top, format, output, reports, pager, reporter)
        if more:
            same = diff_versions((a, b, *more), options).same
        else:
            found = diff_folders(a, b, options, glob)
            if strict and found.skipped:
                raise typer.Exit(2)
            same = found.same
        raise typer.Exit(0 if same or exit_zero else 1)
    if reports is not None:
        raise OptionError("--reports is for two folders; for two documents use -o report.html.")
    chosen = choose_format(format, output, (a, b, *ignored.like), FORMATS)
    if annotate is not None or chosen is Format.PDF:
        _check_pages(a, b, chosen, annotate, ignored.like)
    from colde_cli.views.progress import progress

    if chosen is Format.TABLE:
        opened.warm = ("colde_cli.views.terminal",)
    aligned = chosen is not Format.JSON or level in (Level.PASSAGE, Level.ALL) or annotate is not None
    scored = chosen in _SCORED or level in (Level.SECTION, Level.CHUNK) or verbose or fail_under is not None
    with progress("Encoding", "chunks", show=not quiet) as advance:
        comparison = opened.compare(
            a,
            b,
            passages=aligned,
            scores=scored,
            on_read=reporter.about_document,
            progress=advance,
            **compared,
        )
    reporter.about_model(comparison.model)
    warn_if_nothing_ignored((comparison.a.document, comparison.b.document), ignore_like, reporter)
    if annotate is not None:
        _annotate(comparison, annotate, password, parse_pages(pages), reporter)
    if chosen is Format.DOCX and output is not None:
        from colde_cli.views.word.redline import comparison_docx

        redline = comparison_docx(comparison)
        for sentence in redline.warnings:
            reporter.warning(sentence)
        write_file([redline.content], output)
    elif chosen is Format.PDF and output is not None:
        _write_pdf(comparison, output, password, parse_pages(pages), reporter)
    else:
        shown = verbose or fail_under is not None  # whoever sets a limit wants to see the score
        with stage("output"):  # JSON is made while it is written
            content = _render(comparison, chosen, level, top, shown, output, schema, (attention, verbose))
            deliver(content, output, chosen, pager)
    raise typer.Exit(0 if exit_zero else _status(comparison, fail_under))


def _check_pages(a: str, b: str, chosen: Format, annotate: Path | None, like: tuple[str, ...]) -> None:
    """Find out before the work whether what was asked of the pages of PDFs can be done.

    Raises:
        MissingExtraError: the documents are not both PDF files, and the package that typesets is not installed.
        OptionError: neither is a PDF file, or an annotated file would take the place of a document.
    """
    from colde_cli.views.annotated import check_annotation, why_no_pages

    if annotate is not None:
        check_annotation(annotate, a, b, (a, b, *like))
    if chosen is Format.PDF and any(map(why_no_pages, (a, b))):
        require_extra("pdf", "A .pdf file from documents that are not both PDF files")


def _only_for_two(**options: object) -> None:
    """Refuse options that folders and histories do not have.

    Raises:
        OptionError: one of them was given.
    """
    for name, value in options.items():
        if value is not None:
            raise OptionError(f"{option_name(name)} is for two documents only; leave it out.")


def _write_pdf(
    comparison: Comparison,
    output: Path,
    password: str | None,
    pages: tuple[int, int] | None,
    reporter: Reporter,
) -> None:
    """Write the pages of two PDFs side by side; of other documents, their text as one column."""
    from colde_cli.views.annotated import why_no_pages

    if not any(why_no_pages(side.document.path) for side in (comparison.a, comparison.b)):
        from colde_cli.views.annotated import write_side_by_side

        write_side_by_side(comparison, output, password, pages)
        return
    from colde_cli.views.typeset import write_typeset
    from colde_cli.views.wording import plural

    missing = write_typeset(comparison, output)
    if missing:
        reporter.warning(
            f"{output} shows ? for {plural(missing, 'letter')}: no font of this machine has them;"
            " install the Noto fonts, or write a .docx file."
        )


def _annotate(
    comparison: Comparison,
    folder: Path,
    password: str | None,
    pages: tuple[int, int] | None,
    reporter: Reporter,
) -> None:
    """Write the annotated PDFs, and say what is missing."""
    from colde_cli.views.annotated import write_annotated

    for annotated in write_annotated(comparison, folder, password, pages):
        if annotated.remark:
            reporter.warning(f"{annotated.shown} {annotated.remark}")


def _render(
    comparison: Comparison,
    chosen: Format,
    level: Level,
    top: int,
    verbose: bool,
    output: Path | None,
    schema: int,
    attention: tuple[bool, bool],
) -> str | Iterator[str]:
    """The comparison in a format; `attention`: whether it was asked for, and whether `--verbose` was."""
    if chosen is Format.JSON:
        from colde_cli.views.json import comparison_blocks

        return comparison_blocks(comparison, schema, attention=attention[0])
    if chosen is Format.HTML:
        from colde_cli.views.report.html import comparison_html

        return comparison_html(comparison)
    if chosen is Format.MARKDOWN:
        from colde_cli.views.markdown import comparison_markdown

        return comparison_markdown(comparison, level.value, top, verbose=verbose)
    if chosen is Format.TABLE:
        from colde_cli.views.terminal import comparison_table

        return comparison_table(
            comparison,
            level.value,
            top,
            verbose=verbose,
            attention=any(attention),
            to_file=output is not None,
        )
    return _lines_or_data(comparison, chosen)


def _lines_or_data(comparison: Comparison, chosen: Format) -> str:
    """The formats without markup, for programs and e-mails."""
    from colde_cli.views import csv, github, json, summary

    if chosen is Format.GITHUB:
        from colde_cli.views.github import SourceLines

        return github.comparison_annotations(comparison, SourceLines.of(comparison.b.document))
    views = {
        Format.JSONL: json.comparison_jsonl,
        Format.CSV: csv.comparison_csv,
        Format.SUMMARY: summary.comparison_summary,
    }
    return views[chosen](comparison)


def _status(comparison: Comparison, fail_under: float | None) -> int:
    if fail_under is not None:
        return 0 if comparison.score >= fail_under else 1
    return 0 if comparison.same else 1


@dataclass(frozen=True, slots=True)
class ManyOptions:
    """The options of `colde diff` that hold for more than two documents."""

    model: Model
    compared: Mapping[str, Any]
    ignore: IgnoreOptions
    top: int
    format: Format | None
    output: Path | None
    reports: Path | None
    pager: bool | None
    reporter: Reporter


def diff_folders(a: str, b: str, options: ManyOptions, glob: str | None) -> FolderComparison:
    """Compare two folders and write what was found.

    Raises:
        OptionError: one of the two is no folder, or the output is one of their documents.
    """
    from colde_cli.corpus.finding import walk
    from colde_cli.views.progress import progress

    folders = [Path(place) for place in (a, b)]
    for place, other in (folders, folders[::-1]):
        if not place.is_dir():
            raise OptionError(f"{other} is a folder and {place} is not; name two folders or two documents.")
    chosen = choose_format(options.format, options.output, options.ignore.like, FOLDER_FORMATS)
    files = walk(folders, glob)
    if options.output is not None:
        refuse_inputs(options.output, files)
    if options.reports is not None:
        check_reports(options.reports)
    reporter = options.reporter
    view = _FolderView(chosen, options.top)
    with (
        nullcontext() if options.reports is None else PairReports.replacing(options.reports) as view.reports,
        progress("Comparing", "documents", show=not reporter.quiet) as advance,
    ):
        found = options.model.compare_folders(
            a, b, glob=glob, each=view.keep, progress=advance, **options.compared
        )
        view.write_index(found)
    reporter.about_model(found.model)
    reporter.about_skipped(found.skipped)
    for change in found.files:
        for document in (change.digest.a, change.digest.b) if change.digest else ():
            reporter.about_half_read(document.path, document.report.warnings)
    links = report_links(view.reports.names if view.reports else {}, options.reports, options.output)
    deliver(
        view.render(found, links, to_file=options.output is not None), options.output, chosen, options.pager
    )
    return found


class _FolderView:
    """Keeps what the chosen format shows of each comparison, and renders it in the end."""

    def __init__(self, chosen: Format, top: int) -> None:
        self._chosen, self._top = chosen, top
        self.reports: PairReports | None = None
        self._blocks: dict[tuple[str, str], str] = {}
        self._pairs: dict[tuple[str, str], ShownPair] = {}

    def keep(self, change: FileChange, comparison: Comparison) -> None:
        """Keep the changes of a pair of files."""
        if change.same:
            return
        if self._chosen is Format.MARKDOWN:
            from colde_cli.views.folders import markdown_block

            self._blocks[change.a, change.b] = markdown_block(comparison, self._top)
        if self._chosen is Format.HTML or self.reports is not None:
            from colde_cli.views.folders import shown_pair

            self._pairs[change.a, change.b] = shown_pair(comparison, self._top)
        if self.reports is not None:
            self.reports.write((change.a, change.b), comparison)

    def write_index(self, found: FolderComparison) -> None:
        """Write the page that leads to the reports."""
        if self.reports is not None:
            from colde_cli.views.folders import folders_html

            self.reports.write_index(folders_html(found, self._pairs, self.reports.names))

    def render(self, found: FolderComparison, links: Mapping[tuple[str, str], str], *, to_file: bool) -> str:
        """Two folders in the chosen format; `links` leads to the reports."""
        from colde_cli.views import folders

        if self._chosen is Format.HTML:
            return folders.folders_html(found, self._pairs, links)
        if self._chosen is Format.MARKDOWN:
            return folders.folders_markdown(found, self._blocks)
        if self._chosen is Format.TABLE:
            return folders.folders_table(found, to_file=to_file)
        views = {
            Format.SUMMARY: folders.folders_summary,
            Format.JSON: folders.folders_json,
            Format.JSONL: folders.folders_jsonl,
            Format.CSV: folders.folders_csv,
        }
        return views[self._chosen](found)


def diff_versions(versions: Sequence[str], options: ManyOptions) -> History:
    """Compare each of several versions with the next and write the history of their sections.

    Raises:
        OptionError: one of them is a folder, or the output.
    """
    from colde_cli.views.progress import progress

    if options.reports is not None:
        raise OptionError("--reports is for two folders; leave it out.")
    if folder := next((version for version in versions if Path(version).is_dir()), None):
        raise OptionError(f"{folder} is a folder; name two folders, or any number of documents.")
    chosen = choose_format(options.format, options.output, (*versions, *options.ignore.like), HISTORY_FORMATS)
    with progress("Comparing", "chunks", show=not options.reporter.quiet) as advance:
        found = options.model.history(versions, progress=advance, **options.compared)
    options.reporter.about_model(options.model.encoder.info)
    for document in found.versions:
        options.reporter.about_document(document)
    text = _history(found, chosen, to_file=options.output is not None)
    deliver(text, options.output, chosen, options.pager)
    return found


def _history(found: History, chosen: Format, *, to_file: bool) -> str:
    from colde_cli.views import history

    if chosen is Format.TABLE:
        return history.history_table(found, to_file=to_file)
    views = {
        Format.SUMMARY: history.history_summary,
        Format.JSON: history.history_json,
        Format.MARKDOWN: history.history_markdown,
        Format.HTML: history.history_html,
    }
    return views[chosen](found)
