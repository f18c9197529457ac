"""`colde text`: what colde reads of a document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.common import (
    DebugOption,
    OutputOption,
    PasswordOption,
    QuietOption,
    Talk,
    VerboseOption,
    renamed,
)
from colde_cli.commands.diff import parse_pages
from colde_cli.errors import DocumentError, OptionError
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.documents.document import Document


def text(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A document, or - for standard input.")],
    password: PasswordOption = None,
    pages: Annotated[
        str | None,
        typer.Option(envvar="COLDE_PAGES", metavar="FIRST-LAST", help="Read these pages only, e.g. 3-17."),
    ] = None,
    skip_sections: Annotated[
        list[str] | None,
        typer.Option(
            envvar="COLDE_SKIP_SECTIONS",
            metavar="PATTERN",
            help="Leave out sections, e.g. references; repeatable.",
        ),
    ] = None,
    only_sections: Annotated[
        list[str] | None,
        typer.Option(
            envvar="COLDE_ONLY_SECTIONS", metavar="PATTERN", help="Read these sections only; repeatable."
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            envvar="COLDE_FORMAT",
            help="Format of the output; if not given, what the suffix of the output file says, else Markdown.",
            rich_help_panel="Output",
            show_choices=False,
            metavar="markdown|json",
        ),
    ] = None,
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
    chosen = _format(format, output, file)
    talk = Talk(quiet or for_git, verbose)
    wanted = parse_pages(pages)
    try:
        document = _read(file, password, wanted, skip_sections or [], only_sections or [])
    except (DocumentError, OptionError) as error:
        if not for_git:
            raise
        # git names the file itself, and calls it here by a name that changes with every run.
        deliver(f"{_without_name(str(error), file)}\n", output)
        return
    talk.about_document(document)
    deliver(_shown(document, chosen), output, chosen)


def _format(asked: Format | None, output: Path | None, file: str) -> Format:
    """Markdown unless something else is asked for, or meant by the suffix of the output."""
    if asked is None and (output is None or output.suffix.lower() in ("", ".txt")):
        asked = Format.MARKDOWN
    return choose_format(asked, output, (file,), offered=(Format.MARKDOWN, Format.JSON))


def _read(
    file: str, password: str | None, pages: tuple[int, int] | None, skip: list[str], only: list[str]
) -> Document:
    from colde_cli.documents.reading import read
    from colde_cli.documents.sections import select

    return select(read(file, password=password, pages=pages), skip, only)


def _shown(document: Document, chosen: Format) -> str:
    from colde_cli.views.text import document_json, document_text

    return document_json(document) if chosen is Format.JSON else document_text(document)


def _without_name(sentence: str, file: str) -> str:
    return renamed(sentence, file, "This file" if sentence.startswith(file) else "this file")
