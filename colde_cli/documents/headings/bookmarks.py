"""The outline of a PDF, found again as lines of its text: it says what is a heading, the lines say where."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.headings.choose import Heading, is_common, squeeze
from colde_cli.documents.headings.evidence import is_apart
from colde_cli.documents.headings.numbering import parse_number
from colde_cli.documents.headings.scene import Scene
from colde_cli.documents.hyphenation import SOFT_HYPHEN
from colde_cli.documents.pdf.lines import Bookmark, Line, clean

_FEWEST = 3
_SHARE_FOUND = 0.6


def with_outline(
    scene: Scene, headings: Sequence[Heading], outline: Sequence[Bookmark]
) -> list[Heading] | None:
    """Headings by the outline, with those by type that it leaves out on good evidence.

    Returns:
        None if there is no outline, or too little of it stands in the text to trust it.
    """
    entries = [mark for mark in outline if squeeze(clean(mark.title))]
    if len(entries) < _FEWEST:
        return None
    located = _locate(scene, entries)
    if len(located) < max(_FEWEST, _SHARE_FOUND * len(entries)):
        return None
    by_line = {heading.first: heading for heading in located}
    for heading in headings:
        if _adds(scene, heading, located):
            by_line.setdefault(heading.first, heading)
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
    """Lines by page, with their letters with and without a number, to look titles up."""

    scene: Scene
    pages: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    whole: list[str] = field(default_factory=list)
    unnumbered: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for index, line in enumerate(self.scene.lines):
            self.pages[line.page].append(index)
            self.whole.append(squeeze(line.title))
            self.unnumbered.append(squeeze(_rest(line.title)))

    def find(self, title: str, page: int, reached: int) -> tuple[int, int] | None:
        """First and last line of a title: on its page, beside it, or anywhere after line `reached`."""
        for near in (page, page + 1, page - 1):
            places = [place for at in self.pages.get(near, ()) if (place := self._match(title, at))]
            after = [place for place in places if place[0] > reached]
            if after:
                return after[0]
            if places and near > 1:
                return places[0]
        for at in range(reached + 1, len(self.whole)):
            if (len(squeeze(title)) >= 8 or self._stands_out(self.scene.lines[at])) and (
                place := self._match(title, at)
            ):
                return place
        return None

    def _stands_out(self, line: Line) -> bool:
        return line.bold > 0.8 or line.size > 1.03 * self.scene.body_size or line.text.isupper()

    def _match(self, title: str, first: int) -> tuple[int, int] | None:
        """The lines from `first` on that spell `title`."""
        for wanted, start in self._spellings(title, first):
            text, last = start, first
            while len(text) < len(wanted) and last + 1 < len(self.whole):
                following = self.whole[last + 1]
                if not following or not wanted.startswith(text + following):
                    break
                text, last = text + following, last + 1
            almost = len(wanted) > 20 and len(text) > 0.8 * len(wanted)
            if text == wanted or almost:
                return first, last
        return None

    def _spellings(self, title: str, first: int) -> Iterator[tuple[str, str]]:
        """What to look for and what the line begins it with, with and without numbers on either side."""
        full, short = squeeze(title), squeeze(_rest(title))
        line, bare_line = self.whole[first], self.unnumbered[first]
        if line and full.startswith(line):
            yield full, line
        if len(line) >= 4 and short.startswith(line):
            yield short, line
        if len(bare_line) >= 4 and short.startswith(bare_line):
            yield short, bare_line


def _rest(text: str) -> str:
    number = parse_number(text)
    return number.rest if number and number.rest else text


def _adds(scene: Scene, heading: Heading, located: Sequence[Heading]) -> bool:
    """Whether a heading that the outline lacks belongs there: outlines are often shallow."""
    if any(entry.first <= heading.first <= entry.last for entry in located):
        return False
    first = min(entry.first for entry in located)
    if heading.first < first:
        return squeeze(_rest(heading.text)).startswith("abstract")
    if is_common(heading.text) or is_apart(scene, heading.first):
        return True
    style = scene.lines[heading.first].style
    styles = Counter(scene.lines[entry.first].style for entry in located)
    if heading.score >= 5 and styles[style] and not scene.is_body(style):
        return True
    if heading.score >= 7 and style in scene.pure:
        return True
    return heading.score >= 6 and _depth(heading) > max(_depth(entry) for entry in located)


def _depth(heading: Heading) -> int:
    number = heading.number
    return len(number.parts) if number and number.scheme == "decimal" else 0
