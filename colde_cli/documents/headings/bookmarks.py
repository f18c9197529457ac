"""Use the outline of a PDF: find its entries among the lines of the text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.headings.choose import Heading, is_common, squeeze
from colde_cli.documents.headings.evidence import Scene, is_apart
from colde_cli.documents.headings.numbering import parse_number
from colde_cli.documents.pdf.lines import Bookmark, LineStyle, clean
from colde_cli.documents.pdf.prose import SOFT_HYPHEN

_FEWEST = 3
_SHARE_FOUND = 0.6
_OPENING = 4  # first letters by which lines are looked up


def with_outline(
    scene: Scene, headings: Sequence[Heading], outline: Sequence[Bookmark]
) -> list[Heading] | None:
    """Take the headings of the outline; headings found by type fill the gaps of a shallow outline.

    Returns:
        None if there is no outline, or too few of its entries are found in the text.
    """
    entries = [mark for mark in outline if squeeze(clean(mark.title))]
    if len(entries) < _FEWEST:
        return None
    located = _locate(scene, entries)
    if len(located) < max(_FEWEST, _SHARE_FOUND * len(entries)):
        return None
    outlined = _Located(
        scene,
        {index for heading in located for index in range(heading.first, heading.last + 1)},
        {scene.lines[heading.first].style for heading in located},
        max(_depth(heading) for heading in located),
    )
    by_line = {heading.first: heading for heading in headings if outlined.lacks(heading)}
    by_line.update((heading.first, heading) for heading in located)
    return [by_line[first] for first in sorted(by_line)]


def _locate(scene: Scene, entries: Sequence[Bookmark]) -> list[Heading]:
    index = _Index(scene)
    found: list[Heading] = []
    reached = -1
    for entry in entries:
        place = index.find(clean(entry.title), entry.page, reached)
        if place:
            first, last = place
            text = " ".join(line.title for line in scene.lines[first : last + 1]).replace(
                SOFT_HYPHEN + " ", ""
            )
            number = parse_number(text)
            found.append(Heading(first, last, text.replace(SOFT_HYPHEN, ""), entry.level, 9.0, number))
            reached = first
    return found


@dataclass(slots=True)
class _Index:
    """Looks up titles among lines indexed by their first letters, with and without a number."""

    scene: Scene
    openings: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for index, line in enumerate(self.scene.lines):
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
        later = (place for place in places if place[0] > reached)
        return next((place for place in later if telling or self._stands_out(place[0])), None)

    def _stands_out(self, index: int) -> bool:
        line = self.scene.lines[index]
        return line.bold > 0.8 or line.size > 1.03 * self.scene.body_size or line.text.isupper()

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


@dataclass(slots=True)
class _Located:
    """Headings found by the outline: their lines, styles and deepest number."""

    scene: Scene
    lines: set[int]
    styles: set[LineStyle]
    depth: int

    def lacks(self, heading: Heading) -> bool:
        """Whether the outline lacks this heading, which has good evidence; outlines are often shallow."""
        if heading.first in self.lines:
            return False
        if heading.first < min(self.lines):
            return squeeze(_rest(heading.text)).startswith("abstract")
        if is_common(heading.text) or is_apart(self.scene, heading.first):
            return True
        style = self.scene.lines[heading.first].style
        if heading.score >= 5 and style in self.styles and not self.scene.is_body(style):
            return True
        if heading.score >= 7 and style in self.scene.pure:
            return True
        return heading.score >= 6 and _depth(heading) > self.depth


def _depth(heading: Heading) -> int:
    number = heading.number
    return len(number.parts) if number and number.scheme == "decimal" else 0
