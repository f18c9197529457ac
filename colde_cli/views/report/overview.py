"""The first screen of the report: both documents, the verdict, how much is the same, and the lists of changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colde_cli.documents.passages import whole_pages
from colde_cli.scoring.config import PART_NAMES
from colde_cli.similarity.mentions import FlagKind
from colde_cli.similarity.pairs import Extent, PassagePair, State, extents
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.triage import weight
from colde_cli.views import wording
from colde_cli.views.changes import Piece, edit_of, pieces, uncompared
from colde_cli.views.escaping import short
from colde_cli.views.sentences import one_text, reference_sentences, renumbering_sentence, verdict_sentence

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import Comparison
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


def summary(comparison: Comparison) -> dict[str, Any]:
    """The first screen without the changes, all of it text but the gauge and the bars.

    `tone` is the colour of the verdict, `gauge` the score and the threshold in percent, `closest` None for versions of
    one text, `apart` the end of a sentence: " apart from case".
    """
    sections, one = comparison.section_changes, one_text(comparison)
    a, b = comparison.a.document, comparison.b.document
    both, counts = extents(comparison.passages), comparison.summary
    model, threshold = comparison.model, comparison.threshold
    return {
        "one_text": one,
        "verdict": verdict_sentence(comparison),
        "tone": "yes" if one else _TONES[comparison.related],
        "because": "" if one else f"{_because(comparison)} {wording.reasons(comparison)}".strip(),
        "score": f"{comparison.score:.3f}",
        "gauge": (_on_gauge(comparison.score), None if threshold is None else _on_gauge(threshold)),
        "parts": [(PART_NAMES[part.name], f"{part.weight:.0%}", f"{part.score:.2f}") for part in comparison.parts],
        "bars": [{"letter": letter, "parts": _bar(extent)} for letter, extent in zip("AB", both, strict=True)],
        "lead": verdict_sentence(comparison) if comparison.same_content else wording.shared_words(comparison, both),
        "renumbering": renumbering_sentence(comparison.renumbering, a, b),
        "references": reference_sentences(comparison),
        "counts": [(STATE_LETTERS[state], wording.STATE_WORDS[state], counts[state]) for state in State],
        "kept_sections": _kept(comparison, sections),
        "sections": [
            {"state": wording.section_state(change), "a": _named(a, change.a), "b": _named(b, change.b)}
            for change in sections
            if wording.section_state(change)
        ],
        "model": f"{model.name} · {model.precision} · {model.device}",
        "ignored": wording.ignored_line(comparison),
        "uncompared": uncompared(comparison.outside, a, b),
        "apart": wording.apart_from(comparison.ignore),
        "closest": None if one else _closest(comparison),
        "partners": any(pair.a and pair.b for pair in comparison.passages),
    }


def _closest(comparison: Comparison) -> dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]]:
    """Where two different texts are closest: sections and chunks of A and B with their score, the best first."""
    a, b = comparison.a, comparison.b
    sections = comparison.closest_sections(_MAX_SECTIONS)
    chunks = comparison.closest_chunks(_MAX_CHUNKS)
    return {
        "sections": [(f"{score:.2f}", _near(a, i), _near(b, j)) for score, i, j in sections],
        "chunks": [(f"{score:.2f}", _near_chunk(a, i), _near_chunk(b, j)) for score, i, j in chunks],
    }


def _near(encoding: Encoding, index: int) -> dict[str, Any]:
    name = short(wording.heading(encoding.document.sections[index]), 70)
    return {"index": index, "section": index, "name": name, "pages": "", "excerpt": ""}


def _near_chunk(encoding: Encoding, index: int) -> dict[str, Any]:
    chunk = encoding.chunks[index]
    words = short(wording.excerpt(encoding.document, chunk), _CHUNK_EXCERPT)
    pages = wording.page_range(chunk.pages)
    return {**_near(encoding, chunk.section), "index": index, "pages": pages, "excerpt": words}


def heads(comparison: Comparison) -> list[dict[str, Any]]:
    """Both documents at the top of the page; `label` is the title, or the file's name if both titles are the same."""
    encodings = (comparison.a, comparison.b)
    titles = [
        short(encoding.document.title, 160) or f"Document {side}"
        for side, encoding in zip("AB", encodings, strict=True)
    ]
    files = [short(name, 160) for name in wording.names_apart([encoding.document.path for encoding in encodings])]
    labels = files if titles[0] == titles[1] and all(files) and files[0] != files[1] else titles
    return [
        {
            "letter": letter,
            "title": title,
            "label": label,
            "facts": " · ".join(wording.document_facts(encoding.document, file)),
            "warnings": [
                *(short(sentence, 400) for sentence in encoding.document.report.warnings),
                *(f"Left out: {missing}." for missing in [wording.left_out(encoding.document)] if missing),
            ],
        }
        for letter, encoding, title, label, file in zip("AB", encodings, titles, labels, files, strict=True)
    ]


def _on_gauge(score: float) -> float:
    return round(100 * max(0.0, min(1.0, score)), 1)


def _because(comparison: Comparison) -> str:
    facts = [f"Score {comparison.score:.2f}; {wording.no_threshold(comparison)}"]
    if comparison.threshold is not None:
        side = "at or above" if comparison.related else "below"
        facts = [f"Score {comparison.score:.2f}, {side} the threshold of {comparison.threshold:.2f}"]
    if comparison.probability is not None and comparison.threshold is not None:
        facts.append(f"probability {wording.percent(comparison.probability)}")
    if comparison.field is not None:
        facts.append(wording.closer_than(comparison.percentile, comparison.field))
    return f"{'; '.join(facts)}."


def _bar(extent: Extent) -> list[tuple[str, str, float, float]]:
    """The words of a document by state: letter and name of each, width and start in percent."""
    parts, start = [], 0.0
    for state in State:
        width = 100 * extent.by_state[state] / max(1, extent.words)
        if width:
            parts.append((STATE_LETTERS[state], wording.STATE_WORDS[state], round(width, 2), round(start, 2)))
        start += width
    return parts


def _kept(comparison: Comparison, changes: Sequence[SectionChange]) -> str:
    kept = [change for change in changes if not wording.section_state(change)]
    same, apart = sum(change.same for change in kept), wording.apart_from(comparison.ignore)
    if not kept:
        return "No section kept its name and place."
    unchanged = "its name and place" if len(kept) == 1 else "their names and places"
    words = f"{wording.plural(len(kept), 'section')} kept {unchanged}"
    if same == len(kept):
        return f"{words}, word for word{apart}."
    return f"{words}, {same or 'none'} of them word for word{apart}."


def _named(document: Document, indices: Sequence[int]) -> list[tuple[int, str]]:
    return [(index, short(wording.heading(document.sections[index]), 70)) for index in indices]


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A row of the list: `number` is that of the pair, `letter` that of its state; flags have words of A and B."""

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
    return wording.STATE_WORDS[pair.state]


def pages(passages: Sequence[Passage]) -> str:
    """`p. 3`; "" without pages or passages."""
    return wording.page_range(whole_pages(passages))


def _change(comparison: Comparison, number: int, pair: PassagePair) -> ListedChange:
    a, b = comparison.a.document, comparison.b.document
    sides = [f"{side} {page}" for side, page in (("A", pages(pair.a)), ("B", pages(pair.b))) if page]
    return ListedChange(
        number,
        weight(pair),
        STATE_LETTERS[pair.state],
        state_words(pair),
        wording.flag_kinds(pair.flags),
        [(flag.kind.value, short(flag.a, _EXCERPT), short(flag.b, _EXCERPT)) for flag in pair.flags],
        _section_name(a, pair.a) if pair.a else _section_name(b, pair.b),
        " → ".join(sides),
        change_excerpt(pair),
    )


def _section_name(document: Document, passages: Sequence[Passage]) -> str:
    return short(wording.section_name(document, passages, 60), 90)


def change_excerpt(pair: PassagePair) -> tuple[Piece, ...]:
    """Choose a few words that identify the pair."""
    if not pair.edits:
        return (Piece(Operation.KEPT, short(pair.a_text or pair.b_text, 2 * _EXCERPT), gap=False),)
    near = edit_of(pair, pair.flags[0]) if pair.flags else pair.edits[0]
    return pieces(pair, _CONTEXT, _EXCERPT, near=near)
