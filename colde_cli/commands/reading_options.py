"""The options that say which parts of documents to read, and how."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from colde_cli.commands.options import GlobOption, option
from colde_cli.documents import stages
from colde_cli.documents.outside import Tracked
from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.similarity.sources import Reading


class OcrMode(StrEnum):
    """Which pages to read by OCR."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


PasswordOption = Annotated[str | None, option("--password", metavar="TEXT", help="Password of encrypted PDFs.")]
PagesOption = Annotated[
    str | None, option("--pages", metavar="FIRST-LAST", help="Read only these pages, such as 3-17.")
]
OcrOption = Annotated[
    OcrMode | None,
    option(
        "--ocr",
        metavar="auto|always|never",
        help="Pages to read by OCR (extra ocr): those without readable text (auto), all, or none.",
    ),
]
SkipSectionsOption = Annotated[
    list[str] | None,
    option("--skip-sections", metavar="PATTERN", help="Leave out sections, such as references; repeatable."),
]


@dataclass(frozen=True, slots=True)
class CorpusReading:
    """Which files of a corpus to read, and how."""

    glob: GlobOption = None
    password: PasswordOption = None
    password_file: Annotated[
        Path | None,
        option("--password-file", metavar="FILE", help="Passwords of encrypted PDFs, one a line."),
    ] = None
    ocr: OcrOption = None

    def arguments(self) -> dict[str, Any]:
        """As arguments of what reads a corpus: all passwords, one a line.

        Raises:
            OptionError: the file of passwords cannot be read.
        """
        file = self.password_file
        try:
            lines = [] if file is None else file.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(
                f"--password-file {file} cannot be read as text; name a file with a password a line."
            ) from error
        password = "\n".join(filter(None, [self.password, *lines])) or None
        return {"glob": self.glob, "password": password, "ocr": self.ocr}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which parts of documents to read."""

    password: PasswordOption = None
    pages: PagesOption = None
    ocr: OcrOption = None
    skip_sections: SkipSectionsOption = None
    only_sections: Annotated[
        list[str] | None, option("--only-sections", metavar="PATTERN", help="Read only these sections; repeatable.")
    ] = None

    tracked: Annotated[
        Tracked,
        option(
            "--tracked",
            metavar="keep|accept|reject",
            show_choices=False,
            help="Read earlier tracked changes as accepted and keep them in a .docx of -o (keep), or accept them there"
            " too (accept), or read them as rejected (reject).",
        ),
    ] = Tracked.KEEP

    def arguments(self) -> Reading:
        """As arguments of `read` and of comparisons.

        Raises:
            OptionError: the pages are no range.
        """
        show_pages()
        return {
            "password": self.password,
            "pages": parse_pages(self.pages),
            "skip_sections": self.skip_sections or (),
            "only_sections": self.only_sections or (),
            "tracked": self.tracked,
            "ocr": self.ocr,
        }


def show_pages() -> None:
    """Show on a terminal how many pages OCR has read, as long as it reads."""

    def show(done: int, total: int) -> None:
        sys.stderr.write("\r\x1b[K" if done >= total else f"\r\x1b[KReading pages by OCR: {done} of {total}")
        sys.stderr.flush()

    stages.page_read = show if sys.stderr.isatty() else None


def parse_pages(text: str | None) -> tuple[int, int] | None:
    """Parse "3-17" or "5" into the first and the last page.

    Raises:
        OptionError: the text is neither.
    """
    if text is None:
        return None
    # Python reads no number of more than 4,300 digits.
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise OptionError(f"{text!r} is not a range of pages; write --pages FIRST-LAST, such as 3-17.")
    return first, last
