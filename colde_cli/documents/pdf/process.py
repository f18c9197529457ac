"""Run a reader process under limits, and gather what it sends.

A page at which the process dies is given up, the rest is read by a fresh process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from colde_cli.documents.confined import confined
from colde_cli.documents.pdf.lines import Bookmark, Page, decode_page

MEMORY = 1 << 30
"""Bytes of address space a reader process may take, the file itself not counted."""
SECONDS = 120
"""Processor time for one document; 600 pages of text take four seconds."""
STEP_SECONDS = 15.0
"""Wall time for opening a document or for one page."""
PAGE_CHARACTERS = 500_000
"""A page with more text than this is no page but an attack."""
MAX_CHARACTERS = 20_000_000
"""Text of one document; the longest books have five million characters."""
_RESTARTS = 3


@dataclass(slots=True)
class Answer:
    """What a reader process made of a file.

    Attributes:
        refused: why the file was not opened; None if it was.
        pages: pages of the file, read or not.
        title: from its metadata.
        outline: its bookmarks.
        read: the pages that were asked for.
        died: the process ended before its time (a limit, or a crash).
        characters: of the pages that were read.
    """

    refused: str | None = None
    pages: int = 0
    title: str = ""
    outline: list[Bookmark] = field(default_factory=list)
    read: list[Page] = field(default_factory=list)
    died: bool = False
    characters: int = 0

    @property
    def too_long(self) -> bool:
        """Whether reading stopped because there was too much text."""
        return self.characters > MAX_CHARACTERS


def run_reader(script: str, file: BinaryIO, password: str | None, first: int, last: int) -> Answer:
    """Read pages `first` to `last` (0: the last there is) of an open file with one of the reader scripts."""
    answer = Answer()
    given_up = 0
    while True:
        begun = _run_once(script, file, password, (first, last), answer)
        if not answer.died or answer.too_long or begun == 0 or given_up >= _RESTARTS:
            return answer
        answer.read.append(Page(begun, failed=True))
        given_up += 1
        first = begun + 1
        if first > (last or answer.pages):
            return answer
        answer.died = False


def _run_once(
    script: str, file: BinaryIO, password: str | None, span: tuple[int, int], answer: Answer
) -> int:
    """One process; returns the page it was at when it ended, 0 if it was at none."""
    begun, finished = 0, False
    with _process(script, file, password, span) as messages:
        for message in messages:
            kind = message["kind"]
            if kind == "begin":
                begun = int(message["number"])
            elif kind == "page":
                page = decode_page(message)
                answer.read.append(page)
                answer.characters += sum(len(line.text) for line in page.lines)
                begun = 0
                if answer.too_long:
                    break
            elif kind == "document":
                _take_head(answer, message)
            else:
                finished = True
                answer.refused = message.get("reason")
    answer.died = not finished
    return begun


def _take_head(answer: Answer, message: dict[str, Any]) -> None:
    answer.pages, answer.title = int(message["pages"]), str(message["title"])
    answer.outline = answer.outline or [Bookmark(*entry) for entry in message["outline"]]


def _process(
    script: str, file: BinaryIO, password: str | None, span: tuple[int, int]
) -> AbstractContextManager[Iterator[dict[str, Any]]]:
    size = os.fstat(file.fileno()).st_size
    request = {
        "password": password,
        "first": span[0],
        "last": span[1],
        "memory": MEMORY + 2 * size,
        "seconds": SECONDS,
        "core": 0,
        "step": STEP_SECONDS,
        "characters": PAGE_CHARACTERS,
    }
    return confined(Path(__file__).with_name(script), file, request, 2 * SECONDS)
