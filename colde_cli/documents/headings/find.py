"""Find the headings of a PDF, with their levels, and its title.

Headings come from the outline, if the text contains its entries. Else candidates are chosen by their points
(`evidence.py`), their numbers, and the styles of certain headings, and the lines of one heading are joined. Clauses and
abstracts can also open a line of text. Levels follow the outline, the numbers, or the type.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from colde_cli.documents.headings.evidence import HeadingCandidate, Scene, candidates, is_apart, largest_lines
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
from colde_cli.documents.pdf.lines import Bookmark, Line, LineStyle, clean
from colde_cli.documents.pdf.prose import SOFT_HYPHEN

THRESHOLD = 4.2
"""Minimum points of a heading."""
_SURE = 5.0
_TITLE_POINTS = 7.0  # subtracted from lines of title and authors
_NO_LINK = -1.0  # lines with fewer points join no sequence of numbers; tables of contents are numbered, too


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
    points = -6.0 if number and number.scheme == "decimal" and seeds.styles[line.style] < 2 else 0.0
    lettered = number and number.scheme == "letter" and line.size >= 0.97 * scene.body_size and line.bold > 0.85
    large = line.size >= 1.12 * scene.body_size and seeds.styles[line.style]
    if not (candidate.known or (number and number.by_word) or lettered or large):
        points -= 3.0
    return points


def _merge_lines(scene: Scene, accepted: Sequence[tuple[HeadingCandidate, float]]) -> list[Heading]:
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
    if not 0.5 * line.size < at.base - following.base < 1.65 * line.size:
        return False
    if last + 1 in indices and parse_number(following.text):
        return False
    if scene.is_body(line.style) or (line.size < 1.04 * scene.body_size and line.bold < 0.6):
        return False
    return len(following.text.split()) <= 14 and not _is_next_heading(scene, candidate, at, following, text)


def _is_next_heading(scene: Scene, candidate: HeadingCandidate, at: Line, following: Line, text: str) -> bool:
    """Whether the line under an unnumbered heading is another heading, since the first line ends early."""
    if candidate.number or not following.text[:1].isupper() or candidate.line.size >= 1.3 * scene.body_size:
        return False
    early = at.width < 0.6 * scene.columns.get(at.page, 400.0) and abs(at.x0 - following.x0) < 2
    return early and not text.endswith(("-", ":"))


def is_common(title: str) -> bool:
    """Whether a heading has a common name; punctuation and blanks are ignored."""
    return squeeze(bare(title)) in _SQUEEZED


def squeeze(text: str) -> str:
    """Keep only letters and digits, in lower case, to compare titles."""
    return re.sub(r"[\W_]+", "", text.casefold())


_SQUEEZED = frozenset(squeeze(name) for name in KNOWN)


_LABEL = re.compile(r"(chapter|appendix|part|article|annex)\s+[\dIVXLA-Z]+[.:]?", re.IGNORECASE)
_CLAUSE = re.compile(r"^(\d{1,2})\.?\s+([A-Z][^.:]{1,79}[^.:\s][.:])(?=\s+\S|$)")
_MIN_CLAUSES = 3
_ABSTRACT = re.compile(r"^((?:Abstract|ABSTRACT|Summary|SUMMARY)\s*(?:[.:—–]|-+))\s*\S")
_LONGEST_TITLE = 300
_YEAR = re.compile(r"\b(19|20)\d\d\b")
# Lines at the top of the first page that may be a title, even if no larger than the text.
_HEAD_LINES = 12
_NO_TITLE = re.compile(
    r"untitled|^document\W*\d*$|microsoft|^\W*$|\.(docx?|tex|dvi|pdf|indd|qxd|rtf|ps)$|[\\/]", re.IGNORECASE
)
_MIN_ENTRIES = 3
_SHARE_FOUND = 0.6
_OPENING = 4  # first letters by which lines are looked up


def find_headings(scene: Scene, outline: Sequence[Bookmark]) -> list[Heading]:
    """Find headings in reading order, at most one per line."""
    by_type = headings_by_type(scene)
    by_outline = with_outline(scene, by_type, outline)
    headings = _add_run_in(scene, by_type) if by_outline is None else by_outline
    return _levels(scene, _join_labels(scene, _add_abstract(scene, headings)))


def _add_run_in(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Add clauses 1, 2, 3, ... that open a line of text, if there are many in a row."""
    printed = {
        heading.number.parts[0]: heading.first
        for heading in headings
        if heading.number and heading.number.scheme == "decimal" and len(heading.number.parts) == 1
    }
    last = min((heading.first for heading in headings if is_references(heading.text)), default=len(scene.lines))
    row: list[Heading] = []
    wanted = 1
    for index in range(last):
        match = _CLAUSE.match(scene.lines[index].text)
        if not match or len(match.group(2).split()) > 9:
            continue
        while printed.get(wanted, index) < index:  # a heading on a line of its own has this number
            wanted += 1
        if int(match.group(1)) == wanted:
            number = Number("decimal", (wanted,), match.group(2))
            ends = None if match.end() == len(match.string) else match.end()
            row.append(Heading(index, index, match.group(0), 1, 4.0, number, run_in=ends))
            wanted += 1
    unnumbered = sum(heading.number is None for heading in headings)
    if len(row) < _MIN_CLAUSES or len(row) < unnumbered:
        return list(headings)  # too few, or a list in a text that has other headings
    clauses = {heading.first: heading for heading in row}
    clauses.update((heading.first, heading) for heading in headings if heading.first not in clauses)
    return [clauses[first] for first in sorted(clauses)]


def _add_abstract(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    end = min((heading.first for heading in headings), default=len(scene.lines))
    for index, line in enumerate(scene.lines[:end]):
        match = _ABSTRACT.match(line.text)
        if match and line.page <= 3:
            text = re.sub(r"\W+$", "", match.group(1))
            return [Heading(index, index, text, 1, 4.0, run_in=match.end(1)), *headings]
    return list(headings)


def _join_labels(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Join a label on a line of its own ("Chapter 3") with the title under it."""
    joined: list[Heading] = []
    for heading in headings:
        label = joined[-1] if joined else None
        if (
            label
            and heading.first - label.last <= 2
            and scene.lines[label.first].page == scene.lines[heading.first].page
            and _LABEL.fullmatch(label.text.strip())
        ):
            joined[-1] = replace(heading, first=label.first, text=f"{label.text} {heading.text}", level=1)
        else:
            joined.append(heading)
    return joined


def _levels(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Set levels: by the outline, by the depth of numbers, else by a heading of the same style."""
    roman = sum(heading.number is not None and heading.number.scheme == "roman" for heading in headings) >= 2
    known: dict[LineStyle, int] = {}
    levels = []
    for heading in headings:
        level = heading.level or _by_number(heading, roman=roman)
        levels.append(level)
        if level:
            known.setdefault(scene.lines[heading.last].style, level)
    sizes = sorted({scene.lines[heading.last].size for heading in headings}, reverse=True)
    levelled = []
    for heading, level in zip(headings, levels, strict=True):
        line = scene.lines[heading.last]
        by_style = known.get(line.style) or (1 if known else min(3, 1 + sizes.index(line.size)))
        levelled.append(replace(heading, level=level or by_style))
    return levelled


def _by_number(heading: Heading, *, roman: bool) -> int:
    """Find a level by the depth of the number (I, A, 1 if sections have Roman numerals); 0 without a number."""
    number = heading.number
    if number is None or number.scheme not in ("decimal", "letter"):
        return 0 if number is None else 1
    above = {"decimal": 2, "letter": 1}[number.scheme] if roman and len(number.parts) == 1 else 0
    return len(number.parts) + above


def find_title(scene: Scene, metadata: str) -> str:
    """Find the title: in the largest type, else from the metadata, else lines in capitals at the top, else ""."""
    first = [line for line in scene.lines if line.page == scene.lines[0].page] if scene.lines else []
    stated = clean(metadata)
    if largest := [first[index] for index in largest_lines(first, scene.body_size)]:
        return _joined_title(largest)
    return _title_in_capitals(first) if _NO_TITLE.search(stated) or len(stated) < 4 else stated


def _title_in_capitals(lines: Sequence[Line]) -> str:
    """Join the first lines in capitals near the top of the page, the title of many drafts and contracts."""
    title: list[Line] = []
    for line in lines[:_HEAD_LINES]:
        words = [word for word in line.title.split() if sum(map(str.isalpha, word)) >= 2]
        is_phrase = len(words) >= 2 and sum(map(len, words)) >= 12
        if line.title.isupper() and not _YEAR.search(line.title) and (title or is_phrase):
            title.append(line)
        elif title:
            break
    return _joined_title(title)


def _joined_title(lines: Sequence[Line]) -> str:
    text = reduce(join_heading, [line.title for line in lines]) if lines else ""
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST_TITLE]


def with_outline(scene: Scene, headings: Sequence[Heading], outline: Sequence[Bookmark]) -> list[Heading] | None:
    """Take the headings of the outline; headings found by type fill the gaps of a shallow outline.

    Returns:
        None if there is no outline, or too few of its entries are found in the text.
    """
    entries = [mark for mark in outline if squeeze(clean(mark.title))]
    if len(entries) < _MIN_ENTRIES:
        return None
    located = _locate(scene, entries)
    if len(located) < max(_MIN_ENTRIES, _SHARE_FOUND * len(entries)):
        return None
    lines = {index for heading in located for index in range(heading.first, heading.last + 1)}
    styles = {scene.lines[heading.first].style for heading in located}

    def lacks(heading: Heading) -> bool:
        """Whether the outline lacks this heading, which has good evidence; outlines are often shallow."""
        if heading.first in lines:
            return False
        if heading.first < min(lines):
            return squeeze(_rest(heading.text)).startswith("abstract")
        if is_common(heading.text) or is_apart(scene, heading.first):
            return True
        style = scene.lines[heading.first].style
        return heading.score >= 5 and style in styles and not scene.is_body(style)

    by_line = {heading.first: heading for heading in headings if lacks(heading)}
    by_line.update((heading.first, heading) for heading in located)
    return [by_line[first] for first in sorted(by_line)]


def _locate(scene: Scene, entries: Sequence[Bookmark]) -> list[Heading]:
    index = _Index(scene)
    located: list[Heading] = []
    reached = -1
    for entry in entries:
        place = index.find(clean(entry.title), entry.page, reached)
        if place:
            first, last = place
            text = " ".join(line.title for line in scene.lines[first : last + 1])
            text = text.replace(SOFT_HYPHEN + " ", "")
            plain, number = text.replace(SOFT_HYPHEN, ""), parse_number(text)
            located.append(Heading(first, last, plain, entry.level, 9.0, number))
            reached = first
    return located


class _Index:
    """Looks up titles among lines indexed by their first letters, with and without a number."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.openings: defaultdict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(scene.lines):
            for opening in {_opening(line.title), _opening(_rest(line.title))}:
                self.openings[opening].append(index)

    def find(self, title: str, page: int, reached: int) -> tuple[int, int] | None:
        """Find the lines of a title, first and last: on its page, a neighbouring page, or anywhere after `reached`."""
        openings = {_opening(title), _opening(_rest(title))}
        starts = sorted({at for opening in openings for at in self.openings.get(opening, ())})
        places = [place for at in starts if (place := self._match(title, at))]
        for near in (page, page + 1, page - 1):
            here = [place for place in places if self.scene.lines[place[0]].page == near]
            after = [place for place in here if place[0] > reached]
            if after:
                return after[0]
            if here and near > 1:
                return here[0]
        telling = len(squeeze(title)) >= 8
        return next((place for place in places if telling and place[0] > reached), None)

    def _match(self, title: str, first: int) -> tuple[int, int] | None:
        """Find the lines from `first` on that spell `title`."""
        for wanted, start in self._spellings(title, first):
            text, last = start, first
            while len(text) < len(wanted) and last + 1 < len(self.scene.lines):
                following = squeeze(self.scene.lines[last + 1].title)
                if not following or not wanted.startswith(text + following):
                    break
                text, last = text + following, last + 1
            if text == wanted:
                return first, last
        return None

    def _spellings(self, title: str, first: int) -> Iterator[tuple[str, str]]:
        """Yield pairs of the title and the beginning spelled by the line, with and without numbers."""
        full, short = squeeze(title), squeeze(_rest(title))
        printed = self.scene.lines[first].title
        line, bare_line = squeeze(printed), squeeze(_rest(printed))
        if line and full.startswith(line):
            yield full, line
        if len(bare_line) >= 4 and short.startswith(bare_line):
            yield short, bare_line


def _opening(text: str) -> str:
    opening = squeeze(text[: 4 * _OPENING])
    return (opening if len(opening) >= _OPENING else squeeze(text))[:_OPENING]


def _rest(text: str) -> str:
    number = parse_number(text)
    return number.rest if number and number.rest else text
