"""The first screen of the report: both documents, the verdict, how much is the same, and the lists of changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colde_cli.documents.passages import whole_pages
from colde_cli.scoring.config import PART_NAMES
from colde_cli.similarity.mentions import FlagKind
from colde_cli.similarity.pairs import Extent, PassagePair, State, extents
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.triage import weight
from colde_cli.views.escaping import short
from colde_cli.views.outside import uncompared
from colde_cli.views.redline import Piece, holds, pieces
from colde_cli.views.summary import one_text, verdict_sentence
from colde_cli.views.wording import (
    STATE_WORDS,
    apart_from,
    closer_than,
    document_facts,
    excerpt,
    flag_kinds,
    heading,
    ignored_line,
    names_apart,
    no_threshold,
    page_range,
    percent,
    plural,
    reasons,
    section_state,
    shared_words,
)

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, ReadReport
    from colde_cli.documents.passages import Passage
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.redline import Edit
    from colde_cli.similarity.section_changes import SectionChange

_TONES = {True: "yes", False: "no", None: "open"}
STATE_LETTERS = {State.SAME: "s", State.EDITED: "e", State.MOVED: "m", State.ONLY_A: "a", State.ONLY_B: "b"}
"""States in the data and the classes of the page."""
_CONTEXT = 36
"""Number of characters shown before and after an edit."""
_EXCERPT = 80
"""Maximum number of characters shown of an edit, or of a passage without a partner."""
_MAX_SECTIONS, _MAX_CHUNKS = 12, 6
"""Maximum number of closest pairs that are listed."""
_CHUNK_EXCERPT = 220
"""Maximum number of characters shown of a chunk."""


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
        parts: letter and name of a state, width and start in percent.
    """

    letter: str
    parts: Sequence[tuple[str, str, float, float]]


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A changed section: its state in words, and sections of A and of B as (index, heading)."""

    state: str
    a: Sequence[tuple[int, str]]
    b: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Near:
    """A section or chunk that is close to one of the other document.

    Attributes:
        index: of the section or chunk in its document.
        section: index of its section.
        name: the heading.
        pages: "" for a section, and without pages.
        excerpt: its first words; "" for a section.
    """

    index: int
    section: int
    name: str
    pages: str = ""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Where two different texts are closest: pairs of A and B with their score, the best first."""

    sections: Sequence[tuple[str, Near, Near]]
    chunks: Sequence[tuple[str, Near, Near]]


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
        uncompared: what the formats do not let compare, in sentences.
        apart: the same at the end of a sentence: " apart from case".
        closest: None for versions of one text, of which the changes are told.
        partners: whether any passage has a partner in the other document.
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
    uncompared: Sequence[str]
    apart: str
    closest: Nearest | None
    partners: bool


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
        verdict_sentence(comparison) if comparison.same_content else shared_words(comparison, both),
        [(STATE_LETTERS[state], STATE_WORDS[state], counts[state]) for state in State],
        _kept(comparison, changes),
        [_row(comparison, change) for change in changes if section_state(change)],
        " · ".join((model.name, model.precision, model.device)),
        ignored_line(comparison),
        uncompared(comparison.outside, comparison.a.document, comparison.b.document),
        apart_from(comparison.ignore),
        None if one_text(comparison) else _closest(comparison),
        any(pair.a and pair.b for pair in comparison.passages),
    )


def _closest(comparison: Comparison) -> Nearest:
    return Nearest(
        [
            (f"{score:.2f}", _near_section(comparison.a, i), _near_section(comparison.b, j))
            for score, i, j in comparison.closest_sections(_MAX_SECTIONS)
        ],
        [
            (f"{score:.2f}", _near_chunk(comparison.a, i), _near_chunk(comparison.b, j))
            for score, i, j in comparison.closest_chunks(_MAX_CHUNKS)
        ],
    )


def _near_section(encoding: Encoding, index: int) -> Near:
    return Near(index, index, short(heading(encoding.document.sections[index]), 70))


def _near_chunk(encoding: Encoding, index: int) -> Near:
    chunk = encoding.chunks[index]
    name = short(heading(encoding.document.sections[chunk.section]), 70)
    words = short(excerpt(encoding.document, chunk), _CHUNK_EXCERPT)
    return Near(index, chunk.section, name, page_range(chunk.pages), words)


def heads(comparison: Comparison) -> list[PageHead]:
    """The heads of both documents."""
    documents = (comparison.a.document, comparison.b.document)
    titles = [
        short(document.title, 160) or f"Document {side}"
        for side, document in zip("AB", documents, strict=True)
    ]
    files = [short(name, 160) for name in names_apart([document.path for document in documents])]
    labels = files if titles[0] == titles[1] and all(files) and files[0] != files[1] else titles
    sides = zip("AB", (comparison.a, comparison.b), titles, labels, files, strict=True)
    return [
        PageHead(
            side,
            title,
            label,
            " · ".join(document_facts(encoding, file)),
            _warnings(encoding.document.report),
        )
        for side, encoding, title, label, file in sides
    ]


def _warnings(report: ReadReport) -> list[str]:
    warnings = [short(sentence, 400) for sentence in report.warnings]
    if report.chosen_pages:
        warnings.append(f"Left out on request: all pages but {page_range(report.chosen_pages)}.")
    if report.skipped_sections:
        warnings.append(
            f"Left out on request: {', '.join(short(name, 60) for name in report.skipped_sections[:12])}."
        )
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
    return WordBar(letter, parts)


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


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A row of the list.

    Attributes:
        number: of the pair; its permalink is #pN.
        weight: of the pair.
        letter: of its state.
        kinds: of its flags.
        flags: kind, words of A, words of B.
        section: heading in A, or in B if the pair is only there.
        pages: in A and in B.
        excerpt: the edit of the first flag, else the first edit, else the beginning of the passage.
    """

    number: int
    weight: float
    letter: str
    state: str
    kinds: Sequence[str]
    flags: list[tuple[str, str, str]]
    section: str
    pages: str
    excerpt: tuple[Piece, ...]


def changes(comparison: Comparison) -> list[ListedChange]:
    """All pairs that are not the same, in their order."""
    return [
        _change(comparison, number, pair)
        for number, pair in enumerate(comparison.passages)
        if pair.state is not State.SAME
    ]


def weightiest(comparison: Comparison, listed: Sequence[ListedChange]) -> list[tuple[ListedChange, int]]:
    """The flagged changes, the weightiest first, each with the number of passages that it runs through."""
    rows = {change.number: change for change in listed}
    firsts = ((rows[change.pairs[0]], len(change.pairs)) for change in comparison.changes)
    return [(row, passages) for row, passages in firsts if row.flags]


def kind_counts(listed: Sequence[ListedChange]) -> list[tuple[str, int]]:
    """The number of changes with a flag of each kind, in the order of `FlagKind`."""
    counts = Counter(kind for change in listed for kind in change.kinds)
    return [(kind.value, counts[kind.value]) for kind in FlagKind if counts[kind.value]]


def longest(comparison: Comparison, listed: Sequence[ListedChange], limit: int = 4) -> list[ListedChange]:
    """The longest passages of only one document, in their order; none if the documents are unrelated."""
    if comparison.related is False:
        return []
    alone = [change for change in listed if change.letter in "ab"]
    pairs = comparison.passages
    alone.sort(key=lambda change: -len(pairs[change.number].a_text or pairs[change.number].b_text))
    return sorted(alone[:limit], key=lambda change: change.number)


def state_words(pair: PassagePair) -> str:
    """`edited`, `moved and edited`."""
    if pair.state is State.MOVED and pair.edits:
        return "moved and edited"
    return STATE_WORDS[pair.state]


def pages(passages: Sequence[Passage]) -> str:
    """`p. 3`; "" without pages or passages."""
    return page_range(whole_pages(passages))


def _change(comparison: Comparison, number: int, pair: PassagePair) -> ListedChange:
    a, b = comparison.a.document, comparison.b.document
    sides = [f"{side} {page}" for side, page in (("A", pages(pair.a)), ("B", pages(pair.b))) if page]
    return ListedChange(
        number,
        weight(pair),
        STATE_LETTERS[pair.state],
        state_words(pair),
        flag_kinds(pair.flags),
        [(flag.kind.value, short(flag.a, _EXCERPT), short(flag.b, _EXCERPT)) for flag in pair.flags],
        _section_name(a, pair.a) if pair.a else _section_name(b, pair.b),
        " → ".join(sides),
        change_excerpt(pair),
    )


def _section_name(document: Document, passages: Sequence[Passage]) -> str:
    return short(heading(document.sections[passages[0].section]), 60)


def change_excerpt(pair: PassagePair) -> tuple[Piece, ...]:
    """Choose a few words that identify the pair."""
    if not pair.edits:
        return (Piece(Operation.KEPT, short(pair.a_text or pair.b_text, 2 * _EXCERPT), gap=False),)
    return pieces(pair, _CONTEXT, _EXCERPT, near=_flagged_edit(pair))


def _flagged_edit(pair: PassagePair) -> Edit:
    """The edit that holds words of the first flag, else the first edit."""
    flagged = (edit for edit in pair.edits if pair.flags[:1] and holds(pair, edit, pair.flags[0]))
    return next(flagged, pair.edits[0])
