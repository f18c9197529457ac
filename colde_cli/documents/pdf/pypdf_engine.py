"""The child process that reads a PDF with pypdf, where PDFium refuses or dies; run as a script.

Slower and poorer in geometry than `engine.py`, whose protocol it speaks, but it opens damaged files and
ciphers that PDFium does not, and it can say why a file cannot be opened.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from typing import Any

REQUEST = json.loads(os.environ["COLDE_READER_REQUEST"])
sys.path.extend(REQUEST["path"])

from colde_cli.documents.limits import limit_process, limit_step, send  # noqa: E402

Handle = Any  # an object of pypdf, which is only imported under limits


def bookmarks(reader: Handle) -> list[tuple[int, str, int]]:
    """Level, title and page (0 where there is none) of the outline's entries."""
    found: list[tuple[int, str, int]] = []

    def walk(entries: list[Any], level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                walk(entry, level + 1)
            else:
                number = reader.get_destination_page_number(entry)
                found.append((level, str(entry.title), (-1 if number is None else number) + 1))

    try:
        walk(reader.outline, 1)
    except Exception:  # an outline is a help, not a condition; pypdf raises untyped errors on damaged ones
        return []
    return found


class Lines:
    """Gathers what pypdf's visitor reports into lines in the form that `engine.py` sends."""

    def __init__(self) -> None:
        self.lines: list[list[object]] = []
        self._text = ""
        self._start = (0.0, 0.0)
        self._runs: dict[tuple[float, str], int] = {}

    def visit(self, text: str, cm: list[float], tm: list[float], font: Handle, size: float) -> None:
        """Take one piece of text; a line feed in it ends the line."""
        scale = (abs(tm[3]) or abs(tm[1]) or 1.0) * (abs(cm[3]) or abs(cm[1]) or 1.0)
        x, y = tm[4] * cm[0] + cm[4], tm[5] * cm[3] + cm[5]
        name = str((font or {}).get("/BaseFont", "")).lstrip("/")
        for position, piece in enumerate(text.split("\n")):
            if position:
                self.flush()
            if piece.strip():
                if not self._text:
                    self._start = (x, y)
                self._text += piece
                key = (abs(size * scale), name)
                self._runs[key] = self._runs.get(key, 0) + len(piece)

    def flush(self) -> None:
        """End the line."""
        if self._text.strip():
            runs = [[size, name, 0, False, 0, False, count] for (size, name), count in self._runs.items()]
            x, y = self._start
            width = 0.5 * max(size for size, _ in self._runs) * len(self._text)
            self.lines.append([self._text, x, y, x + width, 0, 0, False, runs])
        self._text, self._runs = "", {}


def read_page(page: Handle, number: int) -> None:
    """Send one page, or that it failed."""
    gathered = Lines()
    try:
        page.extract_text(visitor_text=gathered.visit)
        gathered.flush()
        box = page.mediabox
        width, height = float(box.width), float(box.height)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception:  # pypdf raises untyped errors (and RecursionError) on damaged pages
        send("page", number=number, failed=True)
        return
    if sum(len(str(line[0])) for line in gathered.lines) > REQUEST["characters"]:
        send("page", number=number, failed=True)
        return
    values = {"width": width, "height": height, "unreadable": 0, "suspect": 0, "lines": gathered.lines}
    send("page", number=number, **values)


def answer() -> None:
    """Open the file and send its pages."""
    import pypdf

    with open(0, "rb", closefd=False) as file:  # a descriptor, not a path
        file.seek(0)
        reader = pypdf.PdfReader(file, strict=False)
        if reader.is_encrypted and not reader.decrypt(REQUEST["password"] or ""):
            send("refused", reason="password")
            return
        count = len(reader.pages)
        metadata = reader.metadata
        title = str(metadata.title or "") if metadata else ""
        send("document", pages=count, title=title, outline=bookmarks(reader))
        for number in range(REQUEST["first"], min(count, REQUEST["last"] or count) + 1):
            limit_step(REQUEST["step"])
            send("begin", number=number)
            read_page(reader.pages[number - 1], number)
    send("end")


def main() -> None:
    """Answer the request; what cannot be opened is refused with the reason."""
    limit_process(REQUEST)
    limit_step(REQUEST["step"])
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    try:
        answer()
    except MemoryError:
        os._exit(1)
    except Exception as error:  # pypdf raises untyped errors on damaged files; all mean the same to the user
        send("refused", reason=f"{type(error).__name__}: {error}"[:300])


if __name__ == "__main__":
    main()
