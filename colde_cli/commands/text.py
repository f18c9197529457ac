"""`colde text`: what colde reads of a document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    DebugOption,
    OnlySectionsOption,
    OutputOption,
    PagesOption,
    PasswordOption,
    QuietOption,
    Reporter,
    SkipSectionsOption,
    VerboseOption,
    format_option,
    parse_pages,
    renamed,
)
from colde_cli.errors import DocumentError, OptionError
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.documents.document import Document

FORMATS = (Format.MARKDOWN, Format.JSON)


def text(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A document, or - for standard input.")],
    password: PasswordOption = None,
    pages: PagesOption = None,
    skip_sections: SkipSectionsOption = None,
    only_sections: OnlySectionsOption = None,
    format: Annotated[Format | None, format_option("markdown|json", "Markdown")] = None,
    output: OutputOption = None,
    for_git: Annotated[
        bool,
        typer.Option(
            "--for-git",
            metavar="",
            help="For git's textconv: no warnings, and for a file that cannot be read the sentence that says why,"
            " with status 0; git would stop at any other.",
            rich_help_panel="Output",
        ),
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
) -> None:
    """Print what colde reads of a document: its text, with headings.

    As Markdown with one sentence to a line, so that a line-by-line diff of two versions shows
    which sentences changed (docs/git.md). No model is loaded.
    """
    from colde_cli import api

    if for_git and format not in FORMATS:
        format = None  # what COLDE_FORMAT says to other commands must not end git
    chosen = _format(format, output, file)
    reporter = Reporter(quiet or for_git, verbose)
    options = api.ReadOptions(password, parse_pages(pages), skip_sections or (), only_sections or ())
    try:
        document = options.read(file)
    except (DocumentError, OptionError) as error:
        if not for_git:
            raise
        # git names the file itself, and calls it here by a name that changes with every run.
        deliver(f"{_without_name(str(error), file)}\n", output)
        return
    reporter.about_document(document)
    deliver(_shown(document, chosen), output, chosen)


def _format(asked: Format | None, output: Path | None, file: str) -> Format:
    """Markdown unless something else is asked for, or meant by the suffix of the output."""
    if asked is None and (output is None or output.suffix.lower() in ("", ".txt")):
        asked = Format.MARKDOWN
    return choose_format(asked, output, (file,), offered=FORMATS)


def _shown(document: Document, chosen: Format) -> str:
    from colde_cli.views.text import document_json, document_text

    return document_json(document) if chosen is Format.JSON else document_text(document)


def _without_name(sentence: str, file: str) -> str:
    return renamed(sentence, file, "This file" if sentence.startswith(file) else "this file")
