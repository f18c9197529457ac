"""What is ordinary in a document: sizes, fonts, leading and widths against which a heading stands out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from colde_cli.documents.pdf.lines import Line, Style

CAPTION = re.compile(
    r"^(fig(ure|\.)?|table|tab\.|algorithm|listing|eq(uation|\.)|scheme|chart|box|plate)\s*\.?\s*[\dIVXA-Z]{1,4}\b",
    re.IGNORECASE,
)


def family(font: str) -> str:
    """A font's name without its weight and slant."""
    return re.split(r"[-,]", font)[0]


def in_capitals(text: str) -> bool:
    """Whether all letters (four at least) are capitals."""
    return text.isupper() and sum(letter.isalpha() for letter in text) >= 4


@dataclass(slots=True)
class Scene:
    """Measures of a document's lines.

    Attributes:
        lines: text lines in content order.
        body_size: size of most letters.
        body_font: font of most letters of that size.
        body_bold: share of bold letters among those.
        leading: usual distance of baselines.
        letters: number of letters.
        columns: width of a full line, by page.
        styles: letters per style.
        cases: letters per style and case.
        rows: lines by page and height.
        pure: rare styles whose lines always stand alone, as headings do.
    """

    lines: Sequence[Line]
    body_size: float = 10.0
    body_font: str = ""
    body_bold: float = 0.0
    leading: float = 12.0
    letters: int = 1
    columns: dict[int, float] = field(default_factory=dict)
    styles: Counter[Style] = field(default_factory=Counter)
    cases: Counter[tuple[Style, bool]] = field(default_factory=Counter)
    rows: defaultdict[tuple[int, int], list[Line]] = field(default_factory=lambda: defaultdict(list))
    pure: set[Style] = field(default_factory=set)

    def neighbour(self, index: int) -> Line | None:
        """The line at `index`; None outside the document."""
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def is_body(self, style: Style) -> bool:
        """Whether a style is that of running text."""
        return style == Style(self.body_size, False, self.body_font, False)

    def is_bold(self, line: Line) -> bool:
        """Whether a line is bold and the running text is not."""
        return line.bold > 0.8 and self.body_bold < 0.5

    def row_of(self, line: Line) -> list[Line]:
        """Other lines on the same baseline."""
        near = round(line.base / 2)
        lines = [other for step in (-1, 0, 1) for other in self.rows[line.page, near + step]]
        return [other for other in lines if other is not line and abs(other.base - line.base) < 1.5]


def survey(lines: Sequence[Line]) -> Scene:
    """Measure a document."""
    scene = Scene(lines)
    sizes: Counter[float] = Counter()
    fonts: Counter[tuple[float, str]] = Counter()
    for line in lines:
        letters = len(line.text)
        sizes[line.size] += letters
        fonts[line.size, line.font] += letters
        scene.styles[line.style] += letters
        scene.cases[line.style, in_capitals(line.text)] += letters
        scene.rows[line.page, round(line.base / 2)].append(line)
    if not sizes:
        return scene
    scene.letters = sizes.total()
    scene.body_size = sizes.most_common(1)[0][0]
    scene.body_font = max((count, font) for (size, font), count in fonts.items() if size == scene.body_size)[
        1
    ]
    in_body = [line for line in lines if line.size == scene.body_size]
    scene.body_bold = sum(len(line.text) * line.bold for line in in_body) / sizes[scene.body_size]
    scene.leading = _leading(lines, scene.body_size)
    scene.columns = _columns(in_body)
    scene.pure = _pure_styles(scene)
    return scene


def _leading(lines: Sequence[Line], size: float) -> float:
    gaps = [a.base - b.base for a, b in pairwise(lines) if a.page == b.page]
    usual = [gap for gap in gaps if 0.8 * size < gap < 2.2 * size]
    return median(usual) if usual else 1.2 * size


def _columns(lines: Sequence[Line]) -> dict[int, float]:
    widths: defaultdict[int, list[float]] = defaultdict(list)
    for line in lines:
        if len(line.text) > 25:
            widths[line.page].append(line.width)
    return {page: sorted(found)[int(0.8 * len(found))] for page, found in widths.items()}


def _pure_styles(scene: Scene) -> set[Style]:
    alone: Counter[Style] = Counter()
    total: Counter[Style] = Counter()
    pages: defaultdict[Style, set[int]] = defaultdict(set)
    for index, line in enumerate(scene.lines):
        style = line.style
        common = scene.is_body(style) or scene.styles[style] > 0.02 * scene.letters
        if common or line.size < 0.85 * scene.body_size:
            continue
        total[style] += 1
        alone[style] += _stands_alone(scene, index)
        pages[style].add(line.page)
    return {
        style
        for style, count in total.items()
        if count >= 2 and alone[style] >= 0.75 * count and (len(pages[style]) >= 2 or count >= 3)
    }


def _stands_alone(scene: Scene, index: int) -> bool:
    """Whether a line has a heading's shape, with space above and running text below."""
    line, before, after = scene.lines[index], scene.neighbour(index - 1), scene.neighbour(index + 1)
    if after is None or abs(after.size - scene.body_size) >= 0.6:
        return False
    if after.size > line.size + 0.6 and family(line.font) == family(scene.body_font):
        return False
    if before is not None:
        moved = before.page != line.page or before.base < line.base
        if before.style == line.style or not (moved or before.base - line.base > 1.1 * scene.leading):
            return False
    if after.page == line.page and line.base - after.base <= 0.5 * scene.leading:
        return False
    text = line.text
    letters = sum(letter.isalpha() for letter in text)
    opens = text[:1].isupper() or text[:1].isdigit()
    shaped = opens and 4 <= len(text) <= 90 and text[-1] not in ".,;:"
    return shaped and letters > 0.6 * len(text.replace(" ", "")) and not CAPTION.match(text)


def largest_lines(lines: Sequence[Line], body_size: float) -> range:
    """Where the first run of lines in the largest type stands, if it is larger than the text: a title."""
    wordy = [line for line in lines if sum(letter.isalpha() for letter in line.text) >= 4]
    size = max((line.size for line in wordy), default=0.0)
    if size < 1.12 * body_size:
        return range(0)
    large = [index for index, line in enumerate(lines) if abs(line.size - size) <= 0.6]
    last = large[0]
    while last + 1 < len(lines) and abs(lines[last + 1].size - size) <= 0.6:
        last += 1
    return range(large[0], last + 1)
