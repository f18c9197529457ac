"""The words and numbers of every view: clean text, places, states, flags, scores, and how much two documents share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from colde_cli.scoring.config import PART_NAMES
from colde_cli.settings import CORPUS

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Ranking
    from colde_cli.corpus.subjects import Clusters
    from colde_cli.documents.document import Chunk, Document, Section
    from colde_cli.documents.passages import Passage
    from colde_cli.scoring.profile import FieldInfo
    from colde_cli.scoring.score import ScorePart
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.mentions import Flag
    from colde_cli.similarity.pairs import Extent, PassagePair
    from colde_cli.similarity.redline import IgnoreOptions
    from colde_cli.similarity.section_changes import SectionChange

VERDICTS = {True: "Related", False: "Not related", None: "No verdict"}
"""Names of `Comparison.related`."""
STATE_WORDS = {"same": "same", "edited": "edited", "moved": "moved", "only_a": "only in A", "only_b": "only in B"}
"""States of passages, in the order of `State`."""
_MAX_REASONS = 4
"""Maximum number of parts that are named: more do not fit on a line."""
MAX_FLAGS = 6
"""Maximum number of flags of one kind above a redline: in a table every number may differ."""
_UNNAMED = {"front": "(front matter)", "abstract": "(abstract)"}
"""Substitutes for a missing heading, by `SectionKind` value. Commands import this file before any document is read."""
_IGNORED = {
    "case": "case",
    "whitespace": "white space",
    "numbers": "numbers",
    "renumbering": "renumbering",
    "list_marks": "list marks",
}
_IGNORED_KINDS = {"outside": "texts outside the body", "parts": "parts that are not read"}
_MAX_SKIPPED = 8
"""Maximum number of skipped sections that are named."""
_LABEL = 20
"""Maximum number of characters shown of the number of a clause."""
_NAMED = re.compile(r"[^\W\d_]{3,}")
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_CONTEXT = 24
"""Number of characters shown before the first difference."""
_FLAGGED = 40
"""Maximum number of characters shown of each side of a flag."""


# Text on one line


# Persian, Hindi and emoji need joiners, Hebrew and Arabic marks of direction: both act on their neighbours alone.
_JOINERS_AND_MARKS = frozenset("\u200c\u200d\u200e\u200f\u061c")
# Soft hyphens, blanks without width, and what opens or closes a stretch of another direction, which might not end.
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202D), *range(0x2066, 0x206A)])


def plain(text: str) -> str:
    """Text on one line, without invisible characters or such as could steer a terminal.

    Documents and file names may hold anything.
    """
    line = " ".join(text.translate(_INVISIBLE).split())
    if line.isprintable():
        return line
    return "".join(
        sign if sign.isprintable() or sign in _JOINERS_AND_MARKS else "\N{REPLACEMENT CHARACTER}" for sign in line
    )


def shorten(text: str, width: int) -> str:
    """Text on one line of at most `width` characters; an ellipsis stands for the rest."""
    line = plain(text)
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def replace_file_name(sentence: str, file: str, name: str) -> str:
    """Replace the name of a file in a message, only where it is a whole word: the name may be "a"."""
    match = re.search(rf"(?<!\S){re.escape(file)}(?!\w)", sentence)
    return f"{sentence[: match.start()]}{name}{sentence[match.end() :]}" if match else sentence


def plural(count: int, noun: str) -> str:
    """`1 page`, `1,204 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_capital(words: str) -> str:
    """`only in A` as `Only in A`."""
    return words[:1].upper() + words[1:]


def listed(names: Sequence[str]) -> str:
    """`case`, `case and numbers`, `case, white space and numbers`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def closer_than(percentile: float | None, field: FieldInfo) -> str:
    """How unusual a score is within its field: `closer than 99.7% of pairs of this corpus`, rounded down."""
    if percentile is None:
        return f"{field_name(field)} has too few documents for a percentile"
    return f"closer than {share_of_pairs(percentile)} of {field_name(field)}"


def share_of_pairs(percentile: float) -> str:
    """A percentile in words: `99.7% of pairs`, rounded down."""
    return "all pairs" if percentile == 1 else f"{math.floor(percentile * 1000) / 10:.1f}% of pairs"


def field_name(field: FieldInfo) -> str:
    """`this corpus`, or the name of a profile."""
    return "this corpus" if field.name == CORPUS else f"the field {plain(field.name)}"


def no_threshold(comparison: Comparison) -> str:
    """Why there is no verdict."""
    return "this model has no threshold" if comparison.field is None else "the field is not calibrated"


def percent(probability: float) -> str:
    """A probability in per cent, never rounded to certainty."""
    if 0.005 <= probability <= 0.995:
        return f"{probability:.0%}"
    return "under 1%" if probability < 0.5 else "over 99%"


# Documents and places in them


def size_facts(name: str, pages: int | None, sections: int, words: int) -> list[str]:
    """The name of its file, pages, sections and words of a document, as far as it has them."""
    facts = [name] if name else []
    facts += [plural(pages, "page")] if pages else []
    return [*facts, plural(sections, "section"), plural(words, "word")]


def document_facts(document: Document, name: str = "") -> list[str]:
    """The facts on the size of a document."""
    return size_facts(name, document.report.pages, len(document.sections), len(document.text.split()))


def left_out(document: Document) -> str:
    """What of a document was not compared: `2 pages without text; skipped: References`; "" for nothing."""
    report = document.report
    facts = []
    if report.chosen_pages:
        facts.append(f"all pages but {page_range(report.chosen_pages)}")
    if report.pages_without_text:
        facts.append(f"{plural(len(report.pages_without_text), 'page')} without text")
    if report.skipped_sections:
        names = [shorten(name, 40) or "(no heading)" for name in report.skipped_sections[:_MAX_SKIPPED]]
        more = len(report.skipped_sections) - len(names)
        facts.append(f"skipped: {', '.join(names)}{f' and {more} more' if more else ''}")
    return "; ".join(facts)


def file_name(path: str) -> str:
    """The name of a file without its folders; `standard input` for "-"."""
    return "standard input" if path == "-" else plain(PurePath(path).name)


def names_apart(paths: Sequence[str]) -> list[str]:
    """The names of files; with the folders that tell files of the same name apart: `2023/terms.pdf`."""
    names = list(map(file_name, paths))
    alike = [{other for other in paths if file_name(other) == name} for name in names]
    return [
        name if len(others) == 1 else _name_apart(path, others - {path})
        for path, name, others in zip(paths, names, alike, strict=True)
    ]


def _name_apart(path: str, others: set[str]) -> str:
    """The end of a path that no other one has; all of the path where it is the end of another."""
    parts, tails = PurePath(path).parts, [PurePath(other).parts for other in others]
    count = next(
        (count for count in range(2, len(parts)) if all(tail[-count:] != parts[-count:] for tail in tails)), len(parts)
    )
    return plain(str(PurePath(*parts[-count:])))


def page_range(pages: tuple[int, int] | None) -> str:
    """`p. 3`, `p. 3–5`; "" if the source has no pages."""
    if pages is None:
        return ""
    first, last = pages
    return f"p. {first}" if first == last else f"p. {first}–{last}"


def heading(section: Section) -> str:
    """The heading of a section, after the number that a program counts, or a substitute in brackets."""
    name = plain(section.heading) or _UNNAMED.get(section.kind.value, "(no heading)")
    return f"{plain(section.number)} {name}" if section.number else name


def section_name(document: Document, passages: Sequence[Passage], width: int) -> str:
    """The heading over passages, of at most `width` characters, and their clauses: `7 Fees, clause 7.2(b)`."""
    section = document.sections[passages[0].section]
    numbers = [number for passage in passages for number in document.numbers_of(passage.span)]
    labels = [number.label for number in numbers if number.start != section.span.start]
    name = shorten(heading(section), width)
    return f"{name}, {_clauses(labels, section)}" if labels else name


def _clauses(labels: Sequence[str], section: Section) -> str:
    """`clause 7.2(b)`, `clauses 7.2 to 7.4`; `item 3` in a list; `Section 4.01` as it is."""
    shown = " to ".join(shorten(label, _LABEL) for label in dict.fromkeys((labels[0], labels[-1])))
    if _NAMED.match(labels[0]):
        return shown
    composed = len(_PARTS.findall(labels[0])) > 1 or section.number or not section.heading
    return f"{'clause' if composed else 'item'}{'s' if labels[0] != labels[-1] else ''} {shown}"


def excerpt(document: Document, chunk: Chunk) -> str:
    """The text of a chunk on one line, without the heading of its section."""
    section = document.sections[chunk.section]
    text = document.text[max(chunk.span.start, section.body_start) : chunk.span.end]
    return plain(text) or "(heading only)"


def place(document: Document, passages: Sequence[Passage], width: int) -> tuple[str, str]:
    """Pages, or "", and section of neighbouring passages; see `section_name`."""
    from colde_cli.documents.passages import whole_pages

    return page_range(whole_pages(passages)), section_name(document, passages, width)


def places(
    a: Document, b: Document, pair: PassagePair, width: int, between: str = " · ", escape: Callable[[str], str] = str
) -> str:
    """The places of a pair with two sides in A and in B; a common heading is written once.

    A heading has at most `width` characters, which `escape` makes safe for the format; `between` separates pages and
    heading if the headings differ.
    """
    page_a, name_a = place(a, pair.a, width)
    page_b, name_b = place(b, pair.b, width)
    if name_a == name_b:
        pages = " → ".join(f"{side} {page}" for side, page in (("A", page_a), ("B", page_b)) if page)
        return " · ".join(part for part in (pages, escape(name_a)) if part)
    sides = ((page_a, name_a), (page_b, name_b))
    left, right = (between.join(part for part in (page, escape(name)) if part) for page, name in sides)
    return f"A {left} → B {right}"


def first_of(passages: int) -> str:
    """What stands before the place of the first of several passages with the same change."""
    return "first in " if passages > 1 else ""


def file_names(paths: Sequence[str]) -> str:
    """The names of files without their folders."""
    return ", ".join(file_name(path) for path in paths)


# Changes


def same_chunks(same: int, chunks: int) -> str:
    """How many chunks of A are found in B."""
    return f"{same} of {plural(chunks, 'chunk')} of A {'is' if same == 1 else 'are'} also in B, word for word"


def section_state(change: SectionChange) -> str:
    """`renamed`, `split, moved`; "" for a section that kept its heading and place."""
    words = [] if change.state.value == "matched" else [change.state.value]
    return ", ".join([*words, "moved"] if change.moved else words)


def pair_state(pair: PassagePair) -> str:
    """`edited`; `moved, 2 edits`; `only in A`; `edited, reading uncertain`."""
    state = STATE_WORDS[pair.state]
    if state == "moved" and pair.edits:
        state = f"{state}, {plural(len(pair.edits), 'edit')}"
    return f"{state}, reading uncertain" if pair.uncertain else state


def flag_kinds(flags: Sequence[Flag]) -> tuple[str, ...]:
    """The kinds of flags, each once."""
    return tuple(dict.fromkeys(flag.kind.value for flag in flags))


def flag_words(flags: Sequence[Flag], limit: int | None = None) -> list[tuple[str, str]]:
    """Kinds of flags with their differences: `("number", "58 → 63, 2 → 3")`; a dash stands for nothing.

    At most `limit` differences of each kind are named, the others counted.
    """
    rows = []
    for kind in flag_kinds(flags):
        sides = [(flag.a, flag.b) for flag in flags if flag.kind.value == kind]
        changes = [_came_or_went(*both) if kind == "clause" else replaced(*both) for both in sides]
        if limit is not None and len(changes) > limit + 1:
            changes[limit:] = [f"and {len(changes) - limit} more"]
        rows.append((kind, ", ".join(changes)))
    return rows


def _came_or_went(a: str, b: str) -> str:
    """A clause of only one document, or in other words, with its first words."""
    if a and b:
        return replaced(a, b)
    return f"new: {shorten(b, _FLAGGED)}" if b else f"dropped: {shorten(a, _FLAGGED)}"


def replaced(a: str, b: str, width: int = _FLAGGED) -> str:
    """The words of A and of B, each of at most `width` characters: `58 → 63`; a dash stands for nothing."""
    return " → ".join(shorten(side, width) or "–" for side in (a, b))


def from_difference(a: str, b: str) -> tuple[str, str]:
    """Both texts from a few words before their first difference, unless it is near the beginning."""
    common = next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = a.rfind(" ", 0, max(0, common - _CONTEXT)) + 1
    if start < _CONTEXT or common == max(len(a), len(b)):
        return a, b
    return f"…{a[start:]}", f"…{b[start:]}"


# The score


def score_parts(parts: Sequence[ScorePart]) -> str:
    """The parts of a score in figures: `15% text 1.00 · 38% rare words 0.97`."""
    return " · ".join(f"{part.weight:.0%} {PART_NAMES[part.name]} {part.score:.2f}" for part in parts)


def reasons(comparison: Comparison) -> str:
    """Give reasons for and against a relation in one line of at most 100 characters; "" without reasons.

    The score is the weighted mean of its parts. Each part pulls the score above or below the threshold, by its weight
    times its difference to the threshold. The strongest part on the side of the verdict comes first; of many parts the
    weakest are left out.
    """
    threshold = comparison.threshold
    if threshold is None or len(comparison.parts) < 2:
        return ""
    ordered = sorted(comparison.parts, key=lambda part: -part.weight * abs(part.score - threshold))
    ordered = ordered[:_MAX_REASONS]
    alike = [_part(part) for part in ordered if part.score >= threshold]
    unlike = [_part(part) for part in ordered if part.score < threshold]
    sides = [f"{word} in {listed(names)}" for word, names in (("alike", alike), ("unlike", unlike)) if names]
    return first_capital("; ".join(sides if comparison.related else reversed(sides))) + "."


def _part(part: ScorePart) -> str:
    return f"{PART_NAMES[part.name]} ({part.score:.2f})"


def model_line(result: Clusters | Ranking | Comparison) -> str:
    """The model of a result, its precision and where it ran."""
    model = result.model
    return f"{plain(model.name)} · {model.precision} · {model.device}"


def closest_parts(parts: Sequence[ScorePart], score: float) -> str:
    """The parts that raise a hit's score, strongest first: `Closest in rare words and opening`; "" for one part."""
    above = [part for part in parts if part.score >= score]
    if len(parts) < 2 or not above:
        return ""
    above.sort(key=lambda part: -part.weight * (part.score - score))
    return f"Closest in {listed([PART_NAMES[part.name] for part in above])}"


# How much two documents share


def shared_words(comparison: Comparison, both: tuple[Extent, Extent]) -> str:
    """The share of A's words that are in B, and of B's in A, in a sentence."""
    a, b = both
    if not a.words or not b.words:
        letter, side = ("A", comparison.a) if not a.words else ("B", comparison.b)
        return f"{letter} has no text{' apart from headings' if side.document.sections else ''}."
    if not a.kept and not b.kept:
        return "No passage of A matches a passage of B."
    return f"{share(a)} of A's words are in B; {share(b)} of B's words are in A."


def share(extent: Extent) -> str:
    """A share in per cent; 0% and 100% only if exact."""
    if extent.kept in (0, extent.words):
        return f"{extent.share_kept:.0%}"
    return f"{min(0.99, max(0.01, extent.share_kept)):.0%}"


def apart_from(ignore: IgnoreOptions, others: Sequence[str] = ()) -> str:
    """The end of "the texts are the same": " apart from case and numbers"; "" if nothing is ignored."""
    names = [*_ignored(ignore), *others]
    return f" apart from {listed(names)}" if names else ""


def ignored_names(ignore: IgnoreOptions) -> list[str]:
    """The ignored differences, and the templates whose text was left out."""
    like = [f"text that also appears in {file_names(ignore.like)}"] if ignore.like else []
    return [*_ignored(ignore), *like]


def _ignored(ignore: IgnoreOptions) -> list[str]:
    """The ignored differences and kinds in words: `case`, `texts outside the body`, `link targets`."""
    kinds = (_IGNORED_KINDS.get(name) or name.replace("-", " ") for name in ignore.kinds)
    return [*(_IGNORED[name] for name in ignore.names), *kinds]


def ignored_line(comparison: Comparison) -> str:
    """List the ignored differences on one line; "" for none."""
    ignore = comparison.ignore
    facts = _ignored(ignore)
    if ignore.like:
        reports = (side.document.report.ignored for side in (comparison.a, comparison.b))
        counts = [
            f"{plural(report.words if report else 0, 'word')} of {name}"
            for name, report in zip("AB", reports, strict=True)
        ]
        facts.append(f"{' and '.join(counts)} that also appear in {file_names(ignore.like)}")
    return " · ".join(facts)
