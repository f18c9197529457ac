"""Find the lines of a text file at which the words of its document stand.

Readers drop markup and join lines, so that an offset in a document is none in its file. A run of words that is as
frequent in the document as in the file is found by counting: the third in the one is the third in the other.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from colde_cli.documents.document import Document
from colde_cli.documents.text import decode
from colde_cli.errors import DocumentError

SUFFIXES = (".html", ".htm", ".markdown", ".md", ".tex", ".txt")
"""Files whose lines a person can open at a number."""
_WORD = re.compile(r"\w+")
_RUNS = (12, 6, 3, 1)
"""Words of a run; a shorter one is tried where markup of the file divides the longer."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text, joined by blanks.

    Attributes:
        joined: all words, with a blank on either side of each.
        places: of each word in `joined`.
        offsets: of each word in the text.
    """

    joined: str
    places: tuple[int, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Words:
        found = [(match.start(), match[0].casefold()) for match in _WORD.finditer(text)]
        places = accumulate((len(word) + 1 for _, word in found), initial=0)
        joined = f" {' '.join(word for _, word in found)} "
        return cls(joined, tuple(places), tuple(offset for offset, _ in found))

    def occurrences(self, run: str) -> list[int]:
        """The places of a run of words."""
        return [match.start() for match in re.finditer(f"(?={re.escape(run)})", self.joined)]


@dataclass(frozen=True, slots=True)
class SourceLines:
    """A text file beside its document."""

    _document: _Words
    _file: _Words
    _breaks: tuple[int, ...]

    @classmethod
    def of(cls, document: Document) -> SourceLines | None:
        """Open the file of a document again; None if it has no lines, or is gone."""
        path = Path(document.path)
        if path.suffix.lower() not in SUFFIXES:
            return None
        try:
            text, _ = decode(path.read_bytes(), document.path)
        except (OSError, DocumentError):
            return None
        breaks = tuple(match.start() for match in re.finditer("\n", text))
        return cls(_Words.of(document.text), _Words.of(text), breaks)

    def line(self, offset: int) -> int | None:
        """Find the line of the file, from 1, that holds the word at or after an offset; None if it is uncertain."""
        own = self._document
        word = bisect_left(own.offsets, offset)
        for length in _RUNS:
            end = own.places[min(len(own.offsets), word + length)]
            start = own.places[min(word, len(own.offsets))]
            run = own.joined[start : end + 1]
            here, there = own.occurrences(run), self._file.occurrences(run)
            if run.strip() and len(here) == len(there):
                place = there[here.index(start)]
                return (
                    bisect_left(self._breaks, self._file.offsets[bisect_left(self._file.places, place)]) + 1
                )
        return None
