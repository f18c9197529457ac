"""`colde verify`: check that only what is allowed changed between two documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    DebugOption,
    IgnoreCaseOption,
    IgnoreLikeOption,
    IgnoreListMarksOption,
    IgnoreNumbersOption,
    IgnoreRenumberingOption,
    IgnoreWhitespaceOption,
    OutputOption,
    PagerOption,
    PagesOption,
    PasswordOption,
    QuietOption,
    Reporter,
    format_option,
    ignore_options,
    parse_pages,
    warn_if_nothing_ignored,
)
from colde_cli.recipes import option
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from pathlib import Path

    from colde_cli.similarity.verification import Verification

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN)


def verify(
    a: Annotated[str, typer.Argument(metavar="A", help="A document, or - for standard input.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Its copy or later version, or -.")],
    allow: Annotated[
        list[str] | None,
        option(
            "--allow",
            metavar="SECTION|PATTERN",
            help="What may change; repeatable. SECTION: sections, named as for --skip-sections of colde diff."
            " /PATTERN/: words that match. /OLD/NEW/: words that match OLD and become words that match NEW.",
        ),
    ] = None,
    password: PasswordOption = None,
    pages: PagesOption = None,
    ignore_case: IgnoreCaseOption = False,
    ignore_whitespace: IgnoreWhitespaceOption = False,
    ignore_numbers: IgnoreNumbersOption = False,
    ignore_renumbering: IgnoreRenumberingOption = False,
    ignore_list_marks: IgnoreListMarksOption = False,
    ignore_like: IgnoreLikeOption = None,
    format: Annotated[Format | None, format_option("table|json|markdown")] = None,
    output: OutputOption = None,
    pager: PagerOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,
) -> None:
    """Check that only what is allowed changed between two documents.

    Exits with status 0 if so, with 1 and a list if anything else changed, with
    2 if something went wrong or a document could not be read whole. No model is
    loaded.
    """
    from colde_cli import versions

    ignore = ignore_options(
        ignore_like,
        case=ignore_case,
        whitespace=ignore_whitespace,
        numbers=ignore_numbers,
        renumbering=ignore_renumbering,
        list_marks=ignore_list_marks,
    )
    chosen = choose_format(format, output, (a, b, *ignore.like), FORMATS)
    found = versions.verify(a, b, allow or (), ignore=ignore, pages=parse_pages(pages), password=password)
    reporter = Reporter(quiet)
    for rule in found.allowed:
        if not rule.found:
            reporter.warning(f"--allow {rule.text} names no section and no words of the two documents.")
    warn_if_nothing_ignored((found.a, found.b), ignore_like, reporter)
    deliver(_render(found, chosen, output), output, chosen, pager)
    raise typer.Exit(0 if found.verified else 1)


def _render(found: Verification, chosen: Format, output: Path | None) -> str:
    from colde_cli.views import verification

    if chosen is Format.JSON:
        return verification.verification_json(found)
    if chosen is Format.MARKDOWN:
        return verification.verification_markdown(found)
    return verification.verification_table(found, to_file=output is not None)
