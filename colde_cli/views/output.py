"""Where data goes: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from enum import StrEnum
from pathlib import Path

from colde_cli.errors import NotAvailableError, OptionError


class Format(StrEnum):
    """Formats of the contract; this version writes the first two."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"


_SUFFIXES = {
    "": Format.TABLE,
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".csv": Format.CSV,
}


def choose_format(asked: Format | None, output: Path | None) -> Format:
    """The format asked for, else the one that the suffix of the output file means, else a table.

    Raises:
        OptionError: the suffix means nothing, or the file cannot be written where it should go.
        NotAvailableError: a format that a later version writes.
    """
    if output is not None:
        _check_place(output)
    suffix = output.suffix.lower() if output else ""
    if asked is None and suffix not in _SUFFIXES:
        raise OptionError(f"The suffix of {output} names no format; add --format table or --format json.")
    chosen = asked or _SUFFIXES[suffix]
    if chosen not in (Format.TABLE, Format.JSON):
        raise NotAvailableError(f"The format {chosen.value} is not available yet; use table or json.")
    return chosen


def _check_place(output: Path) -> None:
    """Say before the work, not after it, that its result has nowhere to go."""
    if output.is_dir():
        raise OptionError(f"{output} is a folder; name a file for --output.")
    if not output.parent.is_dir():
        raise OptionError(f"There is no folder {output.parent} for the output file; make it first.")


def deliver(text: str, output: Path | None) -> None:
    """Write text to standard output, or to a file by way of a temporary one beside it.

    Raises:
        OptionError: the file cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        _replace(output, text)
    except OSError as error:
        raise OptionError(f"{output} cannot be written: {error.strerror or error}.") from error


def _replace(output: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # mkstemp files are for their owner only; the result has the mode any new file would have.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(output.stat().st_mode if output.exists() else 0o666 & ~mask)
        Path(name).replace(output)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
