"""Choose headings among the candidates by their points, their numbers, and the styles of certain headings.

Lines of one heading are joined. Levels come later (`find.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from colde_cli.documents.headings.evidence import HeadingCandidate, Scene, candidates, largest_lines
from colde_cli.documents.headings.titles import (
    KNOWN,
    Number,
    bare,
    is_claims,
    is_known,
    is_references,
    longest_chain,
    parse_number,
)
from colde_cli.documents.pdf.lines import Line, LineStyle
from colde_cli.documents.pdf.prose import SOFT_HYPHEN

THRESHOLD = 4.2
"""Minimum points of a heading."""
_SURE = 5.0
_TITLE_POINTS = 7.0  # subtracted from lines of title and authors
_NO_LINK = -1.0  # lines with fewer points join no sequence of numbers; tables of contents are numbered, too
_UNFINISHED = re.compile(r"(\b(of|and|the|for|in|with|to|a|on)|[&,/])$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, and the indices of the first and the last line it is printed on."""

    first: int
    last: int
    text: str  # as printed, numbering included
    level: int  # 1 for the outermost; 0 while it is not known
    score: float  # points of evidence
    number: Number | None = None
    run_in: int | None = None  # length of the heading in characters, if text follows on its only line


@dataclass(frozen=True, slots=True)
class _Seeds:
    """Styles of certain headings, styles of numbered lines, and indices of lines in a sequence of numbers."""

    styles: Counter[LineStyle]
    numbered: Counter[LineStyle]
    chained: Collection[int]


def headings_by_type(scene: Scene) -> list[Heading]:
    """Find headings by type, place, wording and numbers, without the outline; levels are not set."""
    possible = candidates(scene)
    start = _text_begins(possible)
    chains = _chains([candidate for candidate in possible if candidate.index >= start])
    scores = _with_numbering(possible, start, chains)
    for index in _title_lines(scene) if start else ():
        scores[index] = scores.get(index, 0.0) - _TITLE_POINTS
    sure = [
        candidate.line.style
        for candidate in possible
        if scores[candidate.index] >= _SURE and (candidate.index in chains or candidate.known)
    ]
    numbered = [candidate.line.style for candidate in possible if candidate.index in chains]
    accepted = _accept(scene, possible, scores, _Seeds(Counter(sure), Counter(numbered), chains))
    return _merge_lines(scene, accepted)


def _text_begins(possible: Sequence[HeadingCandidate]) -> int:
    """Find the index of the line after title and authors: the abstract, an introduction, a section 1."""
    for candidate in possible:
        name = re.sub(r"\W", "", bare(candidate.core))
        opens = name.startswith("abstract") or name in ("introduction", "background")
        first = candidate.number is not None and candidate.number.parts == (1,)
        if candidate.line.page <= 2 and (opens or first) and candidate.score >= 2:
            return candidate.index
    return 0


def _title_lines(scene: Scene) -> Iterator[int]:
    """Yield the indices of the lines of the title and of the authors centred under it."""
    first = [line for line in scene.lines if line.page == scene.lines[0].page]
    title = largest_lines(first, scene.body_size)
    yield from title
    middle = (min(line.x0 for line in first) + max(line.x1 for line in first)) / 2
    for index in range(title.stop, min(title.stop + 8, len(first))):
        line = first[index]
        if line.x0 < middle < line.x1 and not parse_number(line.text) and not is_known(line.text):
            yield index


def _chains(possible: Sequence[HeadingCandidate]) -> dict[int, int]:
    """Map the line of each numbered candidate to the length of its sequence of numbers."""
    lengths: dict[int, int] = {}
    for scheme in ("decimal", "roman", "letter"):
        numbered = [
            (item.index, item.number.parts, max(0.2, item.score))
            for item in possible
            if item.number and item.number.scheme == scheme and item.score > _NO_LINK
        ]
        chain = longest_chain([(parts, score) for _, parts, score in numbered])
        lengths.update((numbered[at][0], len(chain)) for at in chain)
    return lengths


def _with_numbering(possible: Sequence[HeadingCandidate], start: int, chains: Mapping[int, int]) -> dict[int, float]:
    """Score candidates by line index: add points for numbers, subtract points for title and authors."""
    total = len(set(chains))
    scores = {}
    for candidate in possible:
        score, number = candidate.score, candidate.number
        if candidate.index in chains:
            score += 2.0 if total < 5 else min(2.5 + 0.12 * (total - 5), 4.0)
        elif number and number.scheme == "decimal":
            score -= 1.5
        elif number and not number.by_word:
            score -= 0.5
        if candidate.index < start and not (candidate.known and candidate.score >= 4):
            score -= _TITLE_POINTS
        scores[candidate.index] = score
    return scores


def _accept(
    scene: Scene, possible: Sequence[HeadingCandidate], scores: dict[int, float], seeds: _Seeds
) -> list[tuple[HeadingCandidate, float]]:
    accepted = []
    after_references = in_claims = False
    for candidate in possible:
        score = scores[candidate.index] + _style_points(scene, candidate, seeds)
        if after_references:
            score += _after_references(scene, candidate, seeds)
        if in_claims and candidate.number:
            score -= 6.0  # the claims of a patent are numbered sentences
        if score >= THRESHOLD:
            accepted.append((candidate, score))
            # The next chapter continues the sequence of numbers.
            chained = candidate.number is not None and candidate.index in seeds.chained
            resumed = chained and not scene.is_body(candidate.line.style)
            after_references = is_references(candidate.line.title) or (after_references and not resumed)
            in_claims = is_claims(candidate.line.title)
    return accepted


def _style_points(scene: Scene, candidate: HeadingCandidate, seeds: _Seeds) -> float:
    style = candidate.line.style
    if seeds.numbered[style] >= 4 and not (candidate.number or candidate.known or scene.is_body(style)):
        return -2.5
    if seeds.styles[style] >= 2 and not scene.is_body(style):
        return 2.3 if scene.styles[style] < 0.03 * scene.letters else 1.5
    lonely = seeds.styles.total() >= 3 and seeds.styles[style] == 0 and style not in scene.pure
    return -1.0 if lonely and not candidate.known and candidate.index not in seeds.chained else 0.0


def _after_references(scene: Scene, candidate: HeadingCandidate, seeds: _Seeds) -> float:
    """Penalty in points after the references: numbers count references there, and only appendices follow."""
    line, number = candidate.line, candidate.number
    if number and len(number.parts) > 1 and candidate.index in seeds.chained:
        return 0.0  # every chapter has its own references
    points = 0.0
    if number and number.scheme == "decimal":
        plain = line.size == scene.body_size and line.bold <= 0.6 and line.font == scene.body_font
        points -= 6.0 if seeds.styles[line.style] < 2 or plain else 0.0
    lettered = number and number.scheme == "letter" and line.size >= 0.97 * scene.body_size and line.bold > 0.85
    large = line.size >= 1.12 * scene.body_size and seeds.styles[line.style]
    if not (candidate.known or (number and number.by_word) or lettered or large):
        points -= 3.0
    return points


def _merge_lines(scene: Scene, accepted: Sequence[tuple[HeadingCandidate, float]]) -> list[Heading]:
    """Join the lines of each heading."""
    indices = {candidate.index for candidate, _ in accepted}
    headings: list[Heading] = []
    for candidate, score in accepted:
        if headings and candidate.index <= headings[-1].last:
            continue
        index, number = candidate.index, candidate.number
        if candidate.line.breaks:  # it continues with text in another type
            end = candidate.line.lead_end
            text = candidate.line.text[:end].strip()
            headings.append(Heading(index, index, text, 0, score, number, run_in=end))
            continue
        text, last = candidate.line.title, index
        while (following := scene.neighbour(last + 1)) and _continues(scene, candidate, last, text, indices):
            text, last = join_heading(text, following.title), last + 1
        headings.append(Heading(index, last, text.replace(SOFT_HYPHEN, ""), 0, score, number))
    return headings


def join_heading(text: str, following: str) -> str:
    """Join two lines of a heading."""
    if text.endswith(SOFT_HYPHEN) or (text.endswith("-") and following[:1].islower()):
        return text[:-1] + following
    return f"{text} {following}"


def _continues(scene: Scene, candidate: HeadingCandidate, last: int, text: str, indices: set[int]) -> bool:
    """Whether the line after `last` continues a heading that reads `text` so far."""
    line, at, following = candidate.line, scene.lines[last], scene.lines[last + 1]
    alike = following.style == line.style or (
        following.size == line.size and scene.is_bold(following) and scene.is_bold(line)
    )
    if following.page != line.page or not alike or following.breaks or len(text) >= 220:
        return False
    spaced = 1.1 * scene.leading * line.size / scene.body_size if line.size > 1.2 * scene.body_size else 0.0
    if not 0.5 * line.size < at.base - following.base < max(1.65 * line.size, spaced):
        return False
    if last + 1 in indices and parse_number(following.text):
        return False
    if candidate.known and len(candidate.core.split()) <= 3:
        return False
    if scene.is_body(line.style) or (line.size < 1.04 * scene.body_size and line.bold < 0.6):
        return False
    return len(following.text.split()) <= 14 and not _is_next_heading(scene, candidate, at, following, text)


def _is_next_heading(scene: Scene, candidate: HeadingCandidate, at: Line, following: Line, text: str) -> bool:
    """Whether the line under an unnumbered heading is another heading, since the first line ends early."""
    if candidate.number or not following.text[:1].isupper() or candidate.line.size >= 1.3 * scene.body_size:
        return False
    early = at.width < 0.6 * scene.columns.get(at.page, 400.0) and abs(at.x0 - following.x0) < 2
    return early and not text.endswith(("-", ":")) and not _UNFINISHED.search(text)


def is_common(title: str) -> bool:
    """Whether a heading has a common name; punctuation and blanks are ignored."""
    return squeeze(bare(title)) in _SQUEEZED


def squeeze(text: str) -> str:
    """Keep only letters and digits, in lower case, to compare titles."""
    return re.sub(r"[\W_]+", "", text.casefold())


_SQUEEZED = frozenset(squeeze(name) for name in KNOWN)
