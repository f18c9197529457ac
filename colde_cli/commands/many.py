"""`colde diff` of two folders, and of more than two versions of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colde_cli.commands.options import ModelChoice, PairReports, Reporter, check_reports, report_links
from colde_cli.errors import OptionError
from colde_cli.views.output import Format, choose_format, deliver, refuse_inputs

if TYPE_CHECKING:
    from colde_cli import api
    from colde_cli.corpus.folders import FileChange, FolderComparison
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.history import History
    from colde_cli.similarity.redline import IgnoreOptions
    from colde_cli.views.folders.formats import ShownPair

FOLDER_FORMATS = (
    *(Format.TABLE, Format.SUMMARY, Format.JSON, Format.JSONL),
    *(Format.MARKDOWN, Format.HTML, Format.CSV),
)

HISTORY_FORMATS = (Format.TABLE, Format.SUMMARY, Format.JSON, Format.MARKDOWN, Format.HTML)


@dataclass(frozen=True, slots=True)
class ManyOptions:
    """The options of `colde diff` that hold for more than two documents."""

    read: api.ReadOptions
    ignore: IgnoreOptions
    field: str | None
    choice: ModelChoice
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
    from colde_cli import versions
    from colde_cli.corpus.collecting import walk
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
    encoder = options.choice.load()
    reporter.about_model(encoder)
    with (
        nullcontext() if options.reports is None else PairReports.replacing(options.reports) as view.reports,
        progress("Comparing", "documents", show=not reporter.quiet) as advance,
    ):
        found = versions.compare_folders(
            a,
            b,
            glob=glob,
            ignore=options.ignore,
            field=options.field,
            read=options.read,
            encoder=encoder,
            each=view.keep,
            progress=advance,
        )
        view.write_index(found)
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
    """Keeps of each comparison what the chosen format shows, and renders all of it in the end."""

    def __init__(self, chosen: Format, top: int) -> None:
        self._chosen, self._top = chosen, top
        self.reports: PairReports | None = None
        self._blocks: dict[tuple[str, str], str] = {}
        self._pairs: dict[tuple[str, str], ShownPair] = {}

    def keep(self, change: FileChange, comparison: Comparison) -> None:
        """Keep the changes of a pair of files."""
        if change.same_content:
            return
        if self._chosen is Format.MARKDOWN:
            from colde_cli.views.folders.formats import markdown_block

            self._blocks[change.a, change.b] = markdown_block(comparison, self._top)
        if self._chosen is Format.HTML or self.reports is not None:
            from colde_cli.views.folders.formats import shown_pair

            self._pairs[change.a, change.b] = shown_pair(comparison, self._top)
        if self.reports is not None:
            self.reports.write((change.a, change.b), comparison)

    def write_index(self, found: FolderComparison) -> None:
        """Write the page that leads to the reports."""
        if self.reports is not None:
            from colde_cli.views.folders.formats import folders_html

            self.reports.write_index(folders_html(found, self._pairs, self.reports.names))

    def render(self, found: FolderComparison, links: Mapping[tuple[str, str], str], *, to_file: bool) -> str:
        """Two folders in the chosen format; `links` leads to the reports."""
        from colde_cli.views.folders import formats

        if self._chosen is Format.HTML:
            return formats.folders_html(found, self._pairs, links)
        if self._chosen is Format.MARKDOWN:
            return formats.folders_markdown(found, self._blocks)
        if self._chosen is Format.TABLE:
            return formats.folders_table(found, to_file=to_file)
        views = {
            Format.SUMMARY: formats.folders_summary,
            Format.JSON: formats.folders_json,
            Format.JSONL: formats.folders_jsonl,
            Format.CSV: formats.folders_csv,
        }
        return views[self._chosen](found)


def diff_versions(versions: Sequence[str], options: ManyOptions) -> History:
    """Compare each of several versions with the next and write the history of their sections.

    Raises:
        OptionError: one of them is a folder, or the output.
    """
    from colde_cli import versions as front
    from colde_cli.views.progress import progress

    if options.reports is not None:
        raise OptionError("--reports is for two folders; leave it out.")
    if folder := next((version for version in versions if Path(version).is_dir()), None):
        raise OptionError(f"{folder} is a folder; name two folders, or any number of documents.")
    chosen = choose_format(options.format, options.output, (*versions, *options.ignore.like), HISTORY_FORMATS)
    encoder = options.choice.load()
    options.reporter.about_model(encoder)
    with progress("Comparing", "chunks", show=not options.reporter.quiet) as advance:
        found = front.history(
            versions,
            ignore=options.ignore,
            field=options.field,
            read=options.read,
            encoder=encoder,
            progress=advance,
        )
    for document in found.versions:
        options.reporter.about_document(document)
    text = _history(found, chosen, to_file=options.output is not None)
    deliver(text, options.output, chosen, options.pager)
    return found


def _history(found: History, chosen: Format, *, to_file: bool) -> str:
    from colde_cli.views.history import formats

    if chosen is Format.TABLE:
        return formats.history_table(found, to_file=to_file)
    views = {
        Format.SUMMARY: formats.history_summary,
        Format.JSON: formats.history_json,
        Format.MARKDOWN: formats.history_markdown,
        Format.HTML: formats.history_html,
    }
    return views[chosen](found)
