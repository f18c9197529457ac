"""A comparison as annotations of GitHub Actions: a warning for each change, which GitHub shows beside the file.

The form is that of GitHub's "Workflow commands for GitHub Actions": properties and messages escape `%` and the ends of
lines, properties also `:` and `,`.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from colde_cli.views.redline import marked, pieces
from colde_cli.views.summary import change_place, changed_words, reservations, verdict
from colde_cli.views.wording import first_capital, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.documents.source_lines import SourceLines
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.triage import WeightedChange

MOST_WARNINGS = 10
"""Warnings of one step that GitHub shows."""
_TITLE, _MESSAGE = 120, 500
"""Characters shown at most."""
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_MESSAGE = str.maketrans(_ESCAPES)
_IN_PROPERTY = str.maketrans({**_ESCAPES, ":": "%3A", ",": "%2C"})


def comparison_annotations(comparison: Comparison, lines: SourceLines | None = None) -> str:
    """The weightiest changes as warnings at their places in B; then the verdict, with the number of other changes.

    Args:
        comparison: to show.
        lines: of the file of B; None where it has no lines.
    """
    changes = comparison.changes
    path = _path(comparison.b.document.path)
    written = [_warning(comparison, change, path, lines) for change in changes[:MOST_WARNINGS]]
    sentences = [verdict(comparison), *reservations(comparison)]
    if len(changes) > MOST_WARNINGS:
        sentences.append(f"{plural(len(changes) - MOST_WARNINGS, 'more change')} not shown here.")
    written.append(_command("notice", {"file": path, "title": "colde diff"}, " ".join(sentences)))
    return "".join(f"{line}\n" for line in written)


def _warning(comparison: Comparison, change: WeightedChange, path: str, lines: SourceLines | None) -> str:
    pair = comparison.passages[change.pairs[0]]
    line = lines.line(_place(pair)) if lines and pair.b else None
    throughout = f" in {len(change.pairs)} passages" if len(change.pairs) > 1 else ""
    properties = {
        "file": path,
        "line": "" if line is None else str(line),
        "title": shorten(first_capital(changed_words(pair)) + throughout, _TITLE),
    }
    text = marked(pieces(pair)) if pair.a and pair.b else plain(pair.a_text or pair.b_text)
    return _command(
        "warning",
        properties,
        f"{change_place(comparison.a.document, comparison.b.document, pair)}: {shorten(text, _MESSAGE)}",
    )


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


def _command(name: str, properties: dict[str, str], message: str) -> str:
    given = ",".join(f"{key}={value.translate(_IN_PROPERTY)}" for key, value in properties.items() if value)
    return f"::{name} {given}::{plain(message).translate(_IN_MESSAGE)}"
