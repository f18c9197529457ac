"""The first screen of the report: both documents, the verdict, how much is the same, and section changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from colde_cli.scoring.config import PART_NAMES
from colde_cli.similarity.alignment import Extent, State, extents
from colde_cli.views.escaping import short
from colde_cli.views.report.changes import STATE_LETTERS
from colde_cli.views.summary import one_text, verdict_sentence
from colde_cli.views.wording import (
    STATE_WORDS,
    apart_from,
    closer_than,
    document_facts,
    heading,
    ignored_line,
    no_threshold,
    page_range,
    percent,
    plural,
    reasons,
    section_state,
    share,
    shared_words,
)

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, ReadReport
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.section_changes import SectionChange


_TONES = {True: "yes", False: "no", None: "open"}


@dataclass(frozen=True, slots=True)
class PageHead:
    """A document at the top of the page.

    Attributes:
        letter: A or B.
        label: the title; the file's name if both titles are the same.
        facts: file name, pages, sections, words.
        warnings: what could not be read.
    """

    letter: str
    title: str
    label: str
    facts: str
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class WordBar:
    """The words of a document by state.

    Attributes:
        letter: A or B.
        words: their number, as text.
        kept: the share that is also in the other document, as text.
        parts: letter and name of a state, width and start in percent.
    """

    letter: str
    words: str
    kept: str
    parts: Sequence[tuple[str, str, float, float]]


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A changed section: its state in words, and sections of A and of B as (index, heading)."""

    state: str
    a: Sequence[tuple[int, str]]
    b: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Summary:
    """The first screen, all of it text but the gauge.

    Attributes:
        one_text: both are versions of one text, so that their relation is no question.
        verdict: in a sentence.
        tone: "yes", "no" or "open": the colour of the verdict.
        because: sentences that give reasons for the verdict.
        gauge: score and threshold in percent; the threshold may be None.
        parts: name, share and score of each part of the score.
        bars: of A and of B.
        lead: how much is the same, in a sentence.
        counts: letter, name and number of pairs of each state.
        kept_sections: unchanged sections, in a sentence.
        sections: changed sections.
        ignored: what was ignored; "" for nothing.
        apart: the same at the end of a sentence: " apart from case".
    """

    one_text: bool
    verdict: str
    tone: str
    because: str
    score: str
    gauge: tuple[float, float | None]
    parts: Sequence[tuple[str, str, str]]
    bars: Sequence[WordBar]
    lead: str
    counts: Sequence[tuple[str, str, int]]
    kept_sections: str
    sections: Sequence[SectionRow]
    model: str
    ignored: str
    apart: str


def summary(comparison: Comparison) -> Summary:
    """Summarise the comparison for the first screen, without the flagged changes."""
    changes = comparison.section_changes
    both, counts, model = extents(comparison.passages), comparison.summary, comparison.model
    return Summary(
        one_text(comparison),
        verdict_sentence(comparison),
        "yes" if one_text(comparison) else _TONES[comparison.related],
        "" if one_text(comparison) else f"{_because(comparison)} {reasons(comparison)}".strip(),
        f"{comparison.score:.3f}",
        (
            _on_gauge(comparison.score),
            None if comparison.threshold is None else _on_gauge(comparison.threshold),
        ),
        [(PART_NAMES[part.name], f"{part.weight:.0%}", f"{part.score:.2f}") for part in comparison.parts],
        [_bar("A", both[0]), _bar("B", both[1])],
        shared_words(comparison, both),
        [(STATE_LETTERS[state], STATE_WORDS[state], counts[state]) for state in State],
        _kept(comparison, changes),
        [_row(comparison, change) for change in changes if section_state(change)],
        " · ".join((model.name, model.precision, model.device)),
        ignored_line(comparison),
        apart_from(comparison.ignore),
    )


def heads(comparison: Comparison) -> list[PageHead]:
    """The heads of both documents."""
    documents = (comparison.a.document, comparison.b.document)
    titles = [
        short(document.title, 160) or f"Document {side}"
        for side, document in zip("AB", documents, strict=True)
    ]
    files = [short(PurePath(document.path).name, 160) for document in documents]
    labels = files if titles[0] == titles[1] and all(files) and files[0] != files[1] else titles
    sides = zip("AB", (comparison.a, comparison.b), titles, labels, strict=True)
    return [
        PageHead(
            side, title, label, " · ".join(document_facts(encoding)), _warnings(encoding.document.report)
        )
        for side, encoding, title, label in sides
    ]


def _warnings(report: ReadReport) -> list[str]:
    warnings = [short(sentence, 400) for sentence in report.warnings]
    if report.chosen_pages:
        warnings.append(f"Left out on request: all pages but {page_range(report.chosen_pages)}.")
    if report.skipped_sections:
        warnings.append(
            f"Left out on request: {', '.join(short(name, 60) for name in report.skipped_sections[:12])}."
        )
    if report.truncated_tokens:
        warnings.append("The end is left out because of a limit.")
    return warnings


def _on_gauge(score: float) -> float:
    return round(100 * max(0.0, min(1.0, score)), 1)


def _because(comparison: Comparison) -> str:
    facts = [f"Score {comparison.score:.2f}; {no_threshold(comparison)}"]
    if comparison.threshold is not None:
        side = "at or above" if comparison.related else "below"
        facts = [f"Score {comparison.score:.2f}, {side} the threshold of {comparison.threshold:.2f}"]
    if comparison.probability is not None and comparison.threshold is not None:
        facts.append(f"probability {percent(comparison.probability)}")
    if comparison.field is not None:
        facts.append(closer_than(comparison.percentile, comparison.field))
    return f"{'; '.join(facts)}."


def _bar(letter: str, extent: Extent) -> WordBar:
    parts, start = [], 0.0
    for state in State:
        width = 100 * extent.by_state[state] / max(1, extent.words)
        if width:
            parts.append((STATE_LETTERS[state], STATE_WORDS[state], round(width, 2), round(start, 2)))
        start += width
    return WordBar(letter, plural(extent.words, "word"), share(extent) if extent.words else "–", parts)


def _kept(comparison: Comparison, changes: Sequence[SectionChange]) -> str:
    kept = [change for change in changes if not section_state(change)]
    same, apart = sum(change.same for change in kept), apart_from(comparison.ignore)
    if not kept:
        return "No section kept its name and place."
    unchanged = "its name and place" if len(kept) == 1 else "their names and places"
    words = f"{plural(len(kept), 'section')} kept {unchanged}"
    if same == len(kept):
        return f"{words}, word for word{apart}."
    return f"{words}, {same or 'none'} of them word for word{apart}."


def _row(comparison: Comparison, change: SectionChange) -> SectionRow:
    a, b = comparison.a.document, comparison.b.document
    return SectionRow(section_state(change), _named(a, change.a), _named(b, change.b))


def _named(document: Document, indices: Sequence[int]) -> list[tuple[int, str]]:
    return [(index, short(heading(document.sections[index]), 70)) for index in indices]
