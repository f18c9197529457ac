"""The folder of `--reports`: an HTML report on each pair of documents, and a page that links them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from colde_cli.errors import OptionError
from colde_cli.files import atomic_folder

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison

_REPORTS = re.compile(r"index\.html|\d{4,}\.html")
"""Files that `--reports` writes."""


def check_reports(folder: Path) -> None:
    """Refuse a folder that holds anything but earlier reports: `--reports` replaces it as a whole.

    Raises:
        OptionError: it does, cannot be listed, or the folder around it is missing.
    """
    try:
        others = [path.name for path in folder.iterdir() if not _REPORTS.fullmatch(path.name)]
    except FileNotFoundError:
        others = []
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
    if others:
        raise OptionError(f"{folder} holds {others[0]} and is not overwritten; name a new folder for --reports.")
    if not folder.absolute().parent.is_dir():
        raise OptionError(f"There is no folder {folder.parent} for the reports; make it first.")


ReportNames = dict[tuple[str, str], str]
"""The files of reports by the paths of their pairs."""


@dataclass(frozen=True, slots=True)
class PairReports:
    """HTML reports on pairs of documents, in one folder with a page that links them.

    Attributes:
        names: of the reports that are written.
    """

    folder: Path
    names: ReportNames = field(default_factory=dict)

    @classmethod
    @contextmanager
    def replacing(cls, folder: Path) -> Iterator[PairReports]:
        """Reports that take the place of `folder` in the end.

        Raises:
            OptionError: the folder cannot be written.
        """
        try:
            with atomic_folder(folder) as staged:
                yield cls(staged)
        except OSError as error:
            raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error

    def write(self, pair: tuple[str, str], comparison: Comparison) -> None:
        """Write the report on a pair."""
        from colde_cli.views.report.report_page import comparison_html

        name = f"{len(self.names) + 1:04}.html"
        self._write(name, comparison_html(comparison))
        self.names[pair] = name

    def write_index(self, page: str) -> None:
        """Write the page that links the reports."""
        self._write("index.html", page)

    def _write(self, name: str, page: str) -> None:
        (self.folder / name).write_text(page, "utf-8", errors="backslashreplace")


def report_links(names: ReportNames, folder: Path | None, output: Path | None) -> ReportNames:
    """The addresses of reports as seen from the page that is written to `output`; `folder` is that of `--reports`."""
    if folder is None:
        return {}
    place = Path() if output is None else output.parent
    to_folder = Path(os.path.relpath(folder, place)).as_posix()
    return {pair: quote(f"{to_folder}/{name}") for pair, name in names.items()}
