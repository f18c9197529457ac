"""`colde text`: print the text that colde reads in a document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    OUTPUT,
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
)
from colde_cli.errors import DocumentError, OptionError
from colde_cli.recipes import option
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
        option(
            "--for-git",
            panel=OUTPUT,
            envvar=None,
            help="For git's textconv: print no warnings, and for an unreadable file print the reason and exit with"
            " status 0, because git stops at any other.",
        ),
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the text that colde reads in a document, with its headings.

    The text is Markdown with one sentence on each line, so that a line-by-line diff of two
    versions shows which sentences changed (docs/git.md). No model is loaded.
    """
    from colde_cli import api

    if for_git and format not in FORMATS:
        format = None  # COLDE_FORMAT, set for other commands, must not stop git
    chosen = _format(format, output, file)
    reporter = Reporter(quiet or for_git, verbose)
    options = api.ReadOptions(password, parse_pages(pages), skip_sections or (), only_sections or ())
    try:
        document = options.read(file)
    except (DocumentError, OptionError) as error:
        if not for_git:
            raise
        # git shows the file's name itself, and passes a temporary name that changes with every run.
        from colde_cli.views.wording import replace_file_name

        deliver(f"{replace_file_name(str(error), file, 'this file')}\n", output)
        return
    reporter.about_document(document)
    deliver(_render(document, chosen), output, chosen)


def _format(asked: Format | None, output: Path | None, file: str) -> Format:
    """The format of `--format`, else of the output file's suffix, else Markdown."""
    if asked is None and (output is None or output.suffix.lower() in ("", ".txt")):
        asked = Format.MARKDOWN
    return choose_format(asked, output, (file,), offered=FORMATS)


def _render(document: Document, chosen: Format) -> str:
    from colde_cli.views.text import document_json, document_text

    return document_json(document) if chosen is Format.JSON else document_text(document)
