"""`colde text`: print the text that colde reads in a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import OUTPUT, OutputOption, Reporter, format_option, from_the_command_line, option
from colde_cli.commands.reading_options import Selection
from colde_cli.documents.outside import PartKind
from colde_cli.errors import DocumentError, OptionError
from colde_cli.views.output import Format, check_output, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.documents.document import Document

FORMATS = (Format.MARKDOWN, Format.JSON)


def text(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="A document, or - for standard input; several with --check.")
    ],
    *,
    selection: Selection,
    format: Annotated[Format | None, format_option("markdown|json", "by the suffix of -o, else markdown")] = None,
    output: OutputOption = None,
    for_git: Annotated[
        bool,
        option(
            "--for-git",
            hidden=True,  # git runs it
            panel=OUTPUT,
            envvar=None,
            help="For git's textconv: print no warnings, and for an unreadable file print the reason and exit with"
            " status 0, because git stops at any other.",
        ),
    ] = False,
    check: Annotated[
        bool,
        option(
            "--check",
            panel=OUTPUT,
            help="Print only what cannot be read: scans, missing passwords, damage, characters without a meaning. Exit"
            " with status 1 if there is any.",
        ),
    ] = False,
    reporter: Reporter,
) -> None:
    """Print the text that colde reads in a document, with its headings; or check that documents can be read.

    The text is Markdown with one sentence on each line, so that a line-by-line diff of two
    versions shows which sentences changed (docs/git.md). No model is loaded.
    """
    from colde_cli import read as read_document

    read = partial(read_document, **selection.arguments())
    if check:
        from_the_command_line(context, ("pages", "skip_sections", "only_sections", "check"))
        check_output(output, files)
        found = [sentence for file in files for sentence in _unread(file, read)]
        deliver("".join(f"{sentence}\n" for sentence in found), output)
        raise typer.Exit(1 if found else 0)
    if len(files) > 1:
        raise OptionError("colde text prints one document; name one file, or check several with --check.")
    (file,) = files
    if for_git and format not in FORMATS:
        format = None  # COLDE_FORMAT, set for other commands, must not stop git
    chosen = _format(format, output, file)
    reporter = replace(reporter, quiet=reporter.quiet or for_git)
    try:
        document = read(file)
    except (DocumentError, OptionError) as error:
        if not for_git:
            raise
        # git shows the file's name itself, and passes a temporary name that changes with every run.
        from colde_cli.views.wording import replace_file_name

        deliver(f"{replace_file_name(str(error), file, 'this file')}\n", output)
        return
    from colde_cli.views.document_text import document_json, document_markdown

    reporter.about_document(document)
    deliver((document_json if chosen is Format.JSON else document_markdown)(document), output, chosen)


def _unread(file: str, read: Callable[[str], Document]) -> list[str]:
    """Why a file cannot be read, or which parts of it cannot."""
    from colde_cli.views.wording import plain

    try:
        document = read(file)
    except DocumentError as error:
        return [plain(str(error))]
    return [plain(f"{file}: {sentence}") for sentence in _lost(document)]


def _lost(document: Document) -> list[str]:
    """What of the text of a document was not read; a page without text counts unless it is blank."""
    from colde_cli.views.wording import plural

    report, lost = document.report, [*document.report.warnings]
    if report.unread_values and not lost:
        lost.append("Values of its form could not be read.")
    if report.unreadable_characters:
        lost.append(f"{plural(report.unreadable_characters, 'character')} could not be read.")
    shown = [part.pages for part in document.parts if part.pages and part.kind is not PartKind.APPEARANCE]
    pages = [page for page in report.pages_without_text if any(first <= page <= last for first, last in shown)]
    if pages and not report.warnings:
        lost.append(f"{plural(len(pages), 'page')} with pictures or drawings gave no text.")
    return lost


def _format(asked: Format | None, output: Path | None, file: str) -> Format:
    """The format of `--format`, else of the output file's suffix, else Markdown."""
    if asked is None and (output is None or output.suffix.lower() in ("", ".txt")):
        asked = Format.MARKDOWN
    return choose_format(asked, output, (file,), offered=FORMATS)
