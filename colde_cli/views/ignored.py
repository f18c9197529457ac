"""What was ignored, in words: nothing is left out in silence."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from colde_cli.views.wording import plain, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.noise import Noise

_WORDS = {"case": "case", "whitespace": "white space", "numbers": "numbers"}


def noise_aside(noise: Noise) -> str:
    """What follows "the texts are the same": ", case and numbers aside"; nothing where nothing is ignored."""
    names = [_WORDS[name] for name in noise.names]
    listed = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    return f", {listed} aside" if listed else ""


def same_texts(comparison: Comparison) -> str:
    """That the texts are the same, and what is not known by it: what is ignored, pages that gave no text."""
    reports = (comparison.a.document.report, comparison.b.document.report)
    unread = any(report.pages_without_text for report in reports)
    aside = ", pages without text aside" if unread else ""
    return f"the texts are the same{noise_aside(comparison.noise)}{aside}"


def ignored_line(comparison: Comparison) -> str:
    """All that is ignored, on one line; "" for nothing."""
    noise = comparison.noise
    facts = [_WORDS[name] for name in noise.names]
    if noise.like:
        counts = [
            f"{plural(report.words if report else 0, 'word')} of {name}"
            for name, report in (
                ("A", comparison.a.document.report.ignored),
                ("B", comparison.b.document.report.ignored),
            )
        ]
        facts.append(f"{' and '.join(counts)} that also stand in {file_names(noise.like)}")
    return " · ".join(facts)


def file_names(paths: Sequence[str]) -> str:
    """The names of files without their folders."""
    return ", ".join(plain(PurePath(path).name) for path in paths)
