"""Find the headings of a PDF, with their levels, and its title.

Headings come from the outline, if the text contains its entries, else from type and numbering (`choose.py`). Clauses
and abstracts can also open a line of text. Levels follow the outline, the numbers, or the type.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from colde_cli.documents.headings.choose import Heading, headings_by_type, is_common, join_heading, squeeze
from colde_cli.documents.headings.evidence import Scene, is_apart, largest_lines
from colde_cli.documents.headings.titles import Number, is_references, parse_number
from colde_cli.documents.pdf.lines import Bookmark, Line, LineStyle, clean
from colde_cli.documents.pdf.prose import SOFT_HYPHEN

_LABEL = re.compile(r"(chapter|appendix|part|article|annex)\s+[\dIVXLA-Z]+[.:]?", re.IGNORECASE)
_CLAUSE = re.compile(r"^(\d{1,2})\.?\s+([A-Z][^.:]{1,79}[^.:\s][.:])(?=\s+\S|$)")
_MIN_CLAUSES = 3
_CLAUSE_SHARE = 0.35
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
    if len(row) < _MIN_CLAUSES or len(row) < _CLAUSE_SHARE * (wanted - 1) or len(row) < unnumbered:
        return list(headings)  # too few, or a list in a text that has other headings
    clauses = {heading.first: heading for heading in row}
    clauses.update((heading.first, heading) for heading in headings if heading.first not in clauses)
    return [clauses[first] for first in sorted(clauses)]


def _add_abstract(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Add an abstract before the first heading that opens a line of text with its name."""
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
    """Find the title: as printed, else from the metadata, else lines in capitals at the top, else ""."""
    first = [line for line in scene.lines if line.page == scene.lines[0].page] if scene.lines else []
    stated = clean(metadata)
    if len(squeeze(stated)) >= 8:
        printed = _title_as_printed(first, squeeze(stated))
        if printed:
            return printed
    if largest := [first[index] for index in largest_lines(first, scene.body_size)]:
        return _joined_title(largest)
    return _title_in_capitals(first) if _NO_TITLE.search(stated) or len(stated) < 4 else stated


def _title_as_printed(lines: Sequence[Line], wanted: str) -> str:
    """Join the lines that spell a title known from the metadata."""
    for start, line in enumerate(lines):
        spelt, text = squeeze(line.text), line.text
        if not spelt or not wanted.startswith(spelt):
            continue
        for following in lines[start + 1 :]:
            if spelt == wanted or not wanted.startswith(spelt + squeeze(following.text)):
                break
            spelt, text = spelt + squeeze(following.text), join_heading(text, following.text)
        if spelt == wanted:
            return text.replace(SOFT_HYPHEN, "")
    return ""


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
    deepest = max(map(_depth, located))

    def lacks(heading: Heading) -> bool:
        """Whether the outline lacks this heading, which has good evidence; outlines are often shallow."""
        if heading.first in lines:
            return False
        if heading.first < min(lines):
            return squeeze(_rest(heading.text)).startswith("abstract")
        if is_common(heading.text) or is_apart(scene, heading.first):
            return True
        style = scene.lines[heading.first].style
        return (
            (heading.score >= 5 and style in styles and not scene.is_body(style))
            or (heading.score >= 7 and style in scene.pure)
            or (heading.score >= 6 and _depth(heading) > deepest)
        )

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
        for place in places:
            line = self.scene.lines[place[0]]
            stands_out = line.bold > 0.8 or line.size > 1.03 * self.scene.body_size or line.text.isupper()
            if place[0] > reached and (telling or stands_out):
                return place
        return None

    def _match(self, title: str, first: int) -> tuple[int, int] | None:
        """Find the lines from `first` on that spell `title`."""
        for wanted, start in self._spellings(title, first):
            text, last = start, first
            while len(text) < len(wanted) and last + 1 < len(self.scene.lines):
                following = squeeze(self.scene.lines[last + 1].title)
                if not following or not wanted.startswith(text + following):
                    break
                text, last = text + following, last + 1
            almost = len(wanted) > 20 and len(text) > 0.8 * len(wanted)
            if text == wanted or almost:
                return first, last
        return None

    def _spellings(self, title: str, first: int) -> Iterator[tuple[str, str]]:
        """Yield pairs of the title and the beginning spelled by the line, with and without numbers."""
        full, short = squeeze(title), squeeze(_rest(title))
        printed = self.scene.lines[first].title
        line, bare_line = squeeze(printed), squeeze(_rest(printed))
        if line and full.startswith(line):
            yield full, line
        if len(line) >= 4 and short.startswith(line):
            yield short, line
        if len(bare_line) >= 4 and short.startswith(bare_line):
            yield short, bare_line


def _opening(text: str) -> str:
    """The first letters and digits of a text."""
    opening = squeeze(text[: 4 * _OPENING])
    return (opening if len(opening) >= _OPENING else squeeze(text))[:_OPENING]


def _rest(text: str) -> str:
    number = parse_number(text)
    return number.rest if number and number.rest else text


def _depth(heading: Heading) -> int:
    number = heading.number
    return len(number.parts) if number and number.scheme == "decimal" else 0
