"""The options that say which part of a document is read, and the reading itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.documents.document import Document

PagesOption = Annotated[
    str | None,
    typer.Option(
        "--pages", envvar="COLDE_PAGES", metavar="FIRST-LAST", help="Read these pages only, e.g. 3-17."
    ),
]
SkipSectionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--skip-sections",
        envvar="COLDE_SKIP_SECTIONS",
        metavar="PATTERN",
        help="Leave out sections, e.g. references; repeatable.",
    ),
]
OnlySectionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only-sections",
        envvar="COLDE_ONLY_SECTIONS",
        metavar="PATTERN",
        help="Read these sections only; repeatable.",
    ),
]


def parse_pages(text: str | None) -> tuple[int, int] | None:
    """First and last page meant by "3-17" or "5".

    Raises:
        OptionError: it is neither.
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise OptionError(f"{text!r} is not a range of pages; write --pages FIRST-LAST, such as 3-17.")
    return first, last


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are read.

    Attributes:
        password: of encrypted PDFs.
        pages: first and last; None for all.
        skip: patterns of sections to leave out.
        only: patterns of the sections to read; all where there is none.
    """

    password: str | None
    pages: tuple[int, int] | None
    skip: tuple[str, ...]
    only: tuple[str, ...]

    def read(self, source: str) -> Document:
        """The document, or what is wanted of it.

        Raises:
            DocumentError: it cannot be read.
            OptionError: the pages or sections are not in it.
        """
        from colde_cli.documents.reading import read
        from colde_cli.documents.sections import select

        document = read(source, password=self.password, pages=self.pages)
        return select(document, self.skip, self.only)
