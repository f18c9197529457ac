"""`colde adapt`: learn the profile of a field from documents without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colde_cli.commands.options import FolderOption, ModelChoice, Reporter
from colde_cli.commands.reading_options import CorpusReading
from colde_cli.errors import OptionError


def adapt(
    documents: Annotated[
        list[Path], typer.Argument(metavar="DOCUMENTS", help="Folders, with everything below them, and files.")
    ],
    *,
    output: FolderOption = None,
    reading: CorpusReading,
    reporter: Reporter,
    model: ModelChoice,
) -> None:
    """Learn what is usual in a field, from documents without labels.

    Then diff and rank take --field NAME. Files that cannot be read are
    reported and skipped.
    """
    if output is None:
        raise OptionError("Name the profile to make with --output, such as: -o invoices")
    from colde_cli.scoring.profile import MIN_DOCUMENTS
    from colde_cli.views.wording import plural

    with reporter.progress("Reading", "documents") as advance:
        adapted = model.open().adapt(documents, output, progress=advance, **reading.arguments())
    reporter.about_skipped(adapted.skipped)
    count = adapted.profile.documents
    if count < MIN_DOCUMENTS:
        reporter.warning(f"{plural(count, 'document')} teach little, and {MIN_DOCUMENTS} are needed for a percentile.")
    reporter.note(f"Learned from {plural(count, 'document')}: {adapted.folder}")
