"""What a reader asks first: are they related, how much is the same, what that matters changed, what of sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from colde_cli.similarity.alignment import Extent, State, extents
from colde_cli.views.escaping import short
from colde_cli.views.report import names
from colde_cli.views.wording import (
    VERDICTS,
    became,
    document_facts,
    heading,
    how_much,
    ignored_line,
    noise_aside,
    percent,
    plural,
    share,
)

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, ReadReport
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.section_changes import SectionChange


_TONES = {True: "yes", False: "no", None: "open"}


@dataclass(frozen=True, slots=True)
class Facts:
    """A document in the head of the page.

    Attributes:
        letter: A or B.
        title: of the document.
        label: what tells it from the other: the title, or of two versions of one title the name of the file.
        facts: path, pages, sections, tokens, as text.
        warnings: what could not be read.
    """

    letter: str
    title: str
    label: str
    facts: str
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class ScoreBar:
    """How the words of a document divide.

    Attributes:
        letter: A or B.
        words: of the document, as text.
        kept: share that stands in the other, as text.
        parts: letter and name of a state, percent of the words, where the part begins in percent.
    """

    letter: str
    words: str
    kept: str
    parts: Sequence[tuple[str, str, float, float]]


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A section that was not simply kept: state in words, sections of A and of B as (index, heading)."""

    state: str
    a: Sequence[tuple[int, str]]
    b: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Summary:
    """The first screen.

    Attributes:
        verdict: "Related", "Not related" or "No verdict".
        tone: "yes", "no" or "open".
        because: the verdict in a sentence.
        score: as text.
        gauge: score and threshold, 0 to 100; the threshold may be None.
        parts: name, share and score of each part of the score, as text.
        bars: of A and of B.
        lead: how much is the same, in a sentence.
        counts: letter, name and count of pairs for each state.
        kept_sections: sections kept, in a sentence.
        sections: the others.
        model: what ran.
        ignored: what was left out of account, in words; "" for nothing.
        aside: the same as the end of a sentence, ", case aside".
    """

    verdict: str
    tone: str
    because: str
    score: str
    gauge: tuple[float, float | None]
    parts: Sequence[tuple[str, str, str]]
    bars: Sequence[ScoreBar]
    lead: str
    counts: Sequence[tuple[str, str, int]]
    kept_sections: str
    sections: Sequence[SectionRow]
    model: str
    ignored: str
    aside: str


def summary(comparison: Comparison) -> Summary:
    """All that the first screen shows but the flagged changes."""
    changes = comparison.section_changes
    both, counts, model = extents(comparison.passages), comparison.summary, comparison.model
    return Summary(
        VERDICTS[comparison.related],
        _TONES[comparison.related],
        _because(comparison),
        f"{comparison.score:.3f}",
        (
            _on_gauge(comparison.score),
            None if comparison.threshold is None else _on_gauge(comparison.threshold),
        ),
        [(names.PARTS[part.name], f"{part.weight:.0%}", f"{part.score:.2f}") for part in comparison.parts],
        [_bar("A", both[0]), _bar("B", both[1])],
        how_much(comparison, both),
        [(names.LETTERS[state], names.STATES[state], counts[state]) for state in State],
        _kept(comparison, changes),
        [_row(comparison, change) for change in changes if became(change)],
        " · ".join((model.name, model.precision, model.device)),
        ignored_line(comparison),
        noise_aside(comparison.ignore),
    )


def heads(comparison: Comparison) -> list[Facts]:
    """The heads of both documents."""
    documents = (comparison.a.document, comparison.b.document)
    titles = [
        short(found.title, 160) or f"Document {side}" for side, found in zip("AB", documents, strict=True)
    ]
    files = [short(PurePath(found.path).name, 160) for found in documents]
    labels = files if titles[0] == titles[1] and all(files) and files[0] != files[1] else titles
    sides = zip("AB", (comparison.a, comparison.b), titles, labels, strict=True)
    return [
        Facts(side, title, label, " · ".join(document_facts(encoding)), _warnings(encoding.document.report))
        for side, encoding, title, label in sides
    ]


def _warnings(report: ReadReport) -> list[str]:
    found = [short(sentence, 400) for sentence in report.warnings]
    if report.skipped_sections:
        found.append(
            f"Left out as asked: {', '.join(short(name, 60) for name in report.skipped_sections[:12])}."
        )
    if report.truncated_tokens:
        found.append(f"{plural(report.truncated_tokens, 'token')} left out because of a limit.")
    return found


def _on_gauge(score: float) -> float:
    return round(100 * max(0.0, min(1.0, score)), 1)


def _because(comparison: Comparison) -> str:
    if comparison.threshold is None:
        return f"Score {comparison.score:.2f}; no threshold is fitted to this model."
    side = "at or above" if comparison.related else "below"
    words = f"Score {comparison.score:.2f}, {side} the threshold of {comparison.threshold:.2f}"
    if comparison.probability is None:
        return f"{words}."
    return f"{words}; probability {percent(comparison.probability)}."


def _bar(letter: str, extent: Extent) -> ScoreBar:
    parts, start = [], 0.0
    for state in State:
        width = 100 * extent.by_state[state] / max(1, extent.words)
        if width:
            parts.append((names.LETTERS[state], names.STATES[state], round(width, 2), round(start, 2)))
        start += width
    return ScoreBar(letter, plural(extent.words, "word"), share(extent) if extent.words else "–", parts)


def _kept(comparison: Comparison, changes: Sequence[SectionChange]) -> str:
    kept = [change for change in changes if not became(change)]
    same, aside = sum(change.same for change in kept), noise_aside(comparison.ignore)
    if not kept:
        return "No section kept its name and place."
    what = "its name and place" if len(kept) == 1 else "their names and places"
    words = f"{plural(len(kept), 'section')} kept {what}"
    if same == len(kept):
        return f"{words}, word for word{aside}."
    return f"{words}, {same or 'none'} of them word for word{aside}."


def _row(comparison: Comparison, change: SectionChange) -> SectionRow:
    a, b = comparison.a.document, comparison.b.document
    return SectionRow(became(change), _named(a, change.a), _named(b, change.b))


def _named(document: Document, indices: Sequence[int]) -> list[tuple[int, str]]:
    return [(index, short(heading(document.sections[index]), 70)) for index in indices]
