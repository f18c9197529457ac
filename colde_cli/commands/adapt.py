"""`colde adapt`: learn the profile of a field from documents without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colde_cli.commands.options import (
    OUTPUT,
    DebugOption,
    DeviceOption,
    GlobOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    PasswordOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    ThreadsOption,
)
from colde_cli.recipes import option
from colde_cli.settings import DEFAULT_MODEL


def adapt(
    documents: Annotated[
        list[Path],
        typer.Argument(metavar="DOCUMENTS", help="Folders, with everything below them, and files."),
    ],
    output: Annotated[
        str,
        option(
            "--output", "-o", panel=OUTPUT, metavar="NAME|FOLDER", help="Name of the profile, or its folder."
        ),
    ],
    glob: GlobOption = None,
    password: PasswordOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Learn what is usual in a field, from documents without labels.

    Then diff and rank take --field NAME. Files that cannot be read are
    reported and skipped.
    """
    from colde_cli.scoring.profile import MIN_DOCUMENTS
    from colde_cli.views.output import note
    from colde_cli.views.progress import progress
    from colde_cli.views.wording import plural

    reporter = Reporter(quiet)
    chosen = ModelChoice(model, device, precision, threads, no_cache).open()
    with progress("Reading", "documents", show=not quiet) as advance:
        adapted = chosen.adapt(documents, output, glob=glob, password=password, progress=advance)
    reporter.about_skipped(adapted.skipped)
    count = adapted.profile.documents
    if count < MIN_DOCUMENTS:
        reporter.warning(
            f"{plural(count, 'document')} teach little, and {MIN_DOCUMENTS} are needed for a percentile."
        )
    if not quiet:
        note(f"Learned from {plural(count, 'document')}: {adapted.folder}")
