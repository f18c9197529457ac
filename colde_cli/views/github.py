"""A comparison as annotations of GitHub Actions: a warning for each change, which GitHub shows beside the file.

The form is that of GitHub's "Workflow commands for GitHub Actions": properties and messages escape `%` and the ends of
lines, properties also `:` and `,`.

Readers drop markup and join lines, so that an offset in a document is none in its file. A run of words that is as
frequent in the document as in the file is found by counting: the third in the one is the third in the other.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from colde_cli.documents.document import Document
from colde_cli.documents.formats import FORMATS, OF_SUFFIX
from colde_cli.documents.plain_text import decode
from colde_cli.errors import DocumentError
from colde_cli.views import sentences
from colde_cli.views.changes import TITLE, TYPESETTING, marked, outside_rows, pieces, place_pieces, row_line
from colde_cli.views.wording import first_capital, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.similarity.triage import WeightedChange

MAX_WARNINGS = 10
"""Maximum number of warnings that GitHub shows of one step."""
_MAX_CLOSEST = 3
_TITLE, _MESSAGE = 120, 500
"""Maximum number of characters shown."""
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_MESSAGE = str.maketrans(_ESCAPES)
_IN_PROPERTY = str.maketrans({**_ESCAPES, ":": "%3A", ",": "%2C"})
_WORD = re.compile(r"\w+")
_RUNS = (12, 6, 3, 1)
"""Words of a run; a shorter one is tried where markup of the file divides the longer."""


def comparison_github(comparison: Comparison, **_: object) -> str:
    """A comparison as annotations of the file of B."""
    return comparison_annotations(comparison, SourceLines.of(comparison.b.document))


def comparison_annotations(
    comparison: Comparison, lines: SourceLines | None = None, file: str = "", most: int = MAX_WARNINGS
) -> str:
    """The weightiest changes as warnings at their places in B; then the verdict, with the number of other changes.

    Of two different texts nothing is worth a warning: the verdict comes with the sections that are closest.
    `lines` and `file` are those of B: None where it has no lines, "" for its path.
    """
    changes = comparison.changes if sentences.one_text(comparison) else ()
    path = file or _path(comparison.b.document.path)
    written = [_warning(comparison, change, path, lines) for change in changes[:most]]
    outside = outside_rows(sentences.told_outside(comparison), most - len(written))
    written += [annotation("warning", {"file": path, "title": TITLE}, row_line(row)) for row in outside]
    places = comparison.typesetting if sentences.one_text(comparison) else ()
    written += [
        annotation("warning", {"file": path, "title": TYPESETTING}, marked(place_pieces(place)))
        for place in places[: most - len(written)]
    ]
    told = [sentences.verdict(comparison), *sentences.reservations(comparison)]
    if not sentences.one_text(comparison) and (closest := sentences.closest_sections(comparison, _MAX_CLOSEST)):
        told.append(f"Closest sections: {'; '.join(closest)}.")
    left = len(changes) + len(outside_rows(sentences.told_outside(comparison))) + len(places) - len(written)
    if left > 0:
        told.append(f"{plural(left, 'more change')} not shown here.")
    written.append(annotation("notice", {"file": path, "title": "colde diff"}, " ".join(told)))
    return "".join(written)


def _warning(comparison: Comparison, change: WeightedChange, path: str, lines: SourceLines | None) -> str:
    pair = comparison.passages[change.pairs[0]]
    line = lines.line(_place(pair)) if lines and pair.b else None
    passages = len(change.pairs)
    throughout = f" in {passages} passages" if passages > 1 else ""
    properties = {
        "file": path,
        "line": "" if line is None else str(line),
        "title": shorten(first_capital(sentences.changed_words(pair)) + throughout, _TITLE),
    }
    text = marked(pieces(pair)) if pair.a and pair.b else plain(pair.a_text or pair.b_text)
    where = sentences.change_place(comparison.a.document, comparison.b.document, pair, passages)
    return annotation("warning", properties, f"{where}: {shorten(text, _MESSAGE)}")


def _place(pair: PassagePair) -> int:
    """The offset in B of the first edit of a passage; of several passages as one, of their beginning."""
    start = pair.b[0].span.start
    return start + pair.edits[0].b.start if pair.edits and len(pair.b) == 1 else start


def _path(path: str) -> str:
    """A path as GitHub knows it: relative to the folder of the run, where it lies in it; "" for standard input."""
    if path in ("", "-"):
        return ""
    pure, here = PurePath(path), Path.cwd()
    return (pure.relative_to(here) if pure.is_relative_to(here) else pure).as_posix()


def annotation(name: str, properties: dict[str, str], message: str) -> str:
    """A workflow command on a line of its own, whatever the texts hold.

    The name is "error", "warning" or "notice"; properties, such as "file" and "title", are left out where empty.
    """
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{name} {given}::{plain(message).translate(_IN_MESSAGE)}\n"


def _property(value: str) -> str:
    """The value of a property: only what could steer a terminal is lost, for the name of a file has to be right."""
    shown = "".join(sign if sign.isprintable() or sign in _ESCAPES else "\N{REPLACEMENT CHARACTER}" for sign in value)
    return shown.translate(_IN_PROPERTY)


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text joined by blanks, with their places there, and their offsets in the text."""

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
        named = FORMATS.get(OF_SUFFIX.get(path.suffix.lower(), ""))
        if named is None or not named.has_lines:
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
                return bisect_left(self._breaks, self._file.offsets[bisect_left(self._file.places, place)]) + 1
        return None
