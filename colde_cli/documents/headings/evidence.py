"""Collect evidence that a line is a heading: points for its type, its place and its wording.

`survey` measures the running text of a document (`Scene`); `candidates` gives each line points by these measures. The
weights were set by hand on annotated documents. A heading needs `find.THRESHOLD` points.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from colde_cli.documents.headings.titles import Number, in_capitals, is_known, parse_number
from colde_cli.documents.pdf.lines import Line, LineStyle

CAPTION = re.compile(
    r"^(fig(ure|\.)?|table|tab\.|algorithm|listing|eq(uation|\.)|scheme|chart|box|plate)\s*\.?\s*[\dIVXA-Z]{1,4}\b",
    re.IGNORECASE,
)
_LONGEST = 160
_HANGS = re.compile(r"\b(the|of|and|a|an|in|to|for|with|by|that|is|are|was|which|or|from|as|at|on)$")
_MATHS = re.compile(r"[=≤≥∑∫←→±×∈]|\\")
_CITES = re.compile(r"@|https?:|www\.|\b(19|20)\d\d[).,]|et al|\bpp\.|\bvol\.")
_DOTS = re.compile(r"\.{4,}|(\. ){4,}|…")
_PAGE_NUMBER = re.compile(r"\D\s\d{1,3}$")
_TITLE_CASE = re.compile(
    r"[A-Z][\w’'-]*"
    r"(?:[ /&-]+(?:[A-Z0-9][\w’'-]*|(?:an?|and|as|at|by|for|from|in|of|on|or|the|to|with)(?= )))*"
)
_SIZE_POINTS = ((1.35, 2.5), (1.12, 2.0), (1.04, 1.0), (0.97, 0.0), (0.88, -0.5))


@dataclass(slots=True)
class Scene:
    """Measures of a document's lines."""

    lines: Sequence[Line]  # text lines in content order
    body_size: float = 10.0  # of most letters
    body_font: str = ""  # of most letters of that size
    body_bold: float = 0.0  # share of bold letters among those of that size and font
    leading: float = 12.0  # usual distance of baselines
    letters: int = 1
    columns: dict[int, float] = field(default_factory=dict)  # width of a full line, by page
    styles: Counter[LineStyle] = field(default_factory=Counter)  # letters by style
    cases: Counter[tuple[LineStyle, bool]] = field(default_factory=Counter)  # letters by style and case
    rows: defaultdict[tuple[int, int], list[Line]] = field(default_factory=lambda: defaultdict(list))
    pure: set[LineStyle] = field(default_factory=set)
    """Rare styles used almost only for lines that stand alone, as headings do."""

    def neighbour(self, index: int) -> Line | None:
        """Return the line at `index`; None outside the document."""
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def is_body(self, style: LineStyle) -> bool:
        """Whether a style is that of running text."""
        return style == (self.body_size, False, self.body_font, False)

    def is_bold(self, line: Line) -> bool:
        """Whether a line is bold and the running text is not."""
        return line.bold > 0.8 and self.body_bold < 0.5

    def row_of(self, line: Line) -> list[Line]:
        """Return the other lines on the same baseline."""
        near = round(line.base / 2)
        lines = [other for step in (-1, 0, 1) for other in self.rows[line.page, near + step]]
        return [other for other in lines if other is not line and abs(other.base - line.base) < 1.5]


def survey(lines: Sequence[Line]) -> Scene:
    """Measure a document."""
    scene = Scene(lines)
    sizes: Counter[float] = Counter()
    fonts: Counter[tuple[float, str]] = Counter()
    for line in lines:
        letters, style = len(line.text), line.style
        scene.styles[style] += letters
        scene.cases[style, in_capitals(line.text)] += letters
        scene.rows[line.page, round(line.base / 2)].append(line)
    for style, letters in scene.styles.items():
        sizes[style.size] += letters
        fonts[style.size, style.font] += letters
    if not sizes:
        return scene
    scene.letters = sizes.total()
    scene.body_size = sizes.most_common(1)[0][0]
    _, scene.body_font = max((count, font) for (size, font), count in fonts.items() if size == scene.body_size)
    in_body = [line for line in lines if line.size == scene.body_size]
    scene.body_bold = sum(len(line.text) * line.bold for line in in_body) / sizes[scene.body_size]
    gaps = [a.base - b.base for a, b in pairwise(lines) if a.page == b.page]
    usual = [gap for gap in gaps if 0.8 * scene.body_size < gap < 2.2 * scene.body_size]
    scene.leading = median(usual) if usual else 1.2 * scene.body_size
    widths: defaultdict[int, list[float]] = defaultdict(list)
    for line in in_body:
        if len(line.text) > 25:
            widths[line.page].append(line.width)
    scene.columns = {page: sorted(some)[int(0.8 * len(some))] for page, some in widths.items()}
    scene.pure = _pure_styles(scene)
    return scene


def _pure_styles(scene: Scene) -> set[LineStyle]:
    alone: Counter[LineStyle] = Counter()
    total: Counter[LineStyle] = Counter()
    pages: defaultdict[LineStyle, set[int]] = defaultdict(set)
    rare = {
        style
        for style, letters in scene.styles.items()
        if letters <= 0.02 * scene.letters and not scene.is_body(style) and style.size >= 0.85 * scene.body_size
    }
    for index, line in enumerate(scene.lines):
        style = line.style
        if style not in rare:
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
    letters = sum(map(str.isalpha, text))
    opens = text[:1].isupper() or text[:1].isdigit()
    shaped = opens and 4 <= len(text) <= 90 and text[-1] not in ".,;:"
    return shaped and letters > 0.6 * len(text.replace(" ", "")) and not CAPTION.match(text)


def family(font: str) -> str:
    """Strip weight and slant from the name of a font."""
    return re.split(r"[-,]", font)[0]


def largest_lines(lines: Sequence[Line], body_size: float) -> range:
    """Find the first run of lines in the largest type, if it is larger than the text: a title."""
    wordy = [line for line in lines if sum(map(str.isalpha, line.text)) >= 4]
    size = max((line.size for line in wordy), default=0.0)
    if size < 1.12 * body_size:
        return range(0)
    large = [index for index, line in enumerate(lines) if abs(line.size - size) <= 0.6]
    last = large[0]
    while last + 1 < len(lines) and abs(lines[last + 1].size - size) <= 0.6:
        last += 1
    return range(large[0], last + 1)


@dataclass(frozen=True, slots=True)
class HeadingCandidate:
    """A line that may be a heading."""

    index: int
    line: Line
    score: float  # points of evidence
    number: Number | None
    known: bool  # it has a heading's common name
    core: str  # its text without the number
    apart: bool  # see `is_apart`


def candidates(scene: Scene) -> list[HeadingCandidate]:
    """Find the lines with any evidence of being a heading, in reading order."""
    possible = (_candidate(scene, index) for index in range(len(scene.lines)))
    return [candidate for candidate in possible if candidate is not None]


def _candidate(scene: Scene, index: int) -> HeadingCandidate | None:
    line = scene.lines[index]
    text = line.title
    if len(text) > _LONGEST:
        return None
    number, known, apart = parse_number(text), is_known(text), is_apart(scene, index)
    plain = _looks_plain(scene, line)
    if (plain and not (number or known or text.isupper() or apart)) or CAPTION.match(text):
        return None
    core = (number.rest if number else text).strip()
    candidate = HeadingCandidate(index, line, 0.0, number, known, core, apart)
    if not _is_worded(scene, candidate):
        return None
    points = (*_type_points(scene, candidate), *_place_points(scene, candidate), *_wording_points(scene, candidate))
    return replace(candidate, score=sum(points))


def _is_worded(scene: Scene, candidate: HeadingCandidate) -> bool:
    """Whether a line consists of words, the first one not in lower case."""
    line, core, number = candidate.line, candidate.core, candidate.number
    letters = sum(map(str.isalpha, line.title))
    if letters < 2 or (letters / len(line.title.replace(" ", "")) < 0.55 and not number):
        return False
    if not core[:1].islower() or candidate.known:
        return True
    whole = line.bold + line.italic > 0.9 and not line.breaks
    distinct = whole or line.size >= 1.12 * scene.body_size
    return number is not None and number.scheme == "decimal" and distinct


def _looks_plain(scene: Scene, line: Line) -> bool:
    plain = line.font == scene.body_font and line.size < 1.04 * scene.body_size and not scene.is_bold(line)
    return plain and not line.ruled


def is_apart(scene: Scene, index: int) -> bool:
    """Whether a line in the type of the text stands alone above a paragraph, as headings do."""
    line, before, after = scene.lines[index], scene.neighbour(index - 1), scene.neighbour(index + 1)
    if not scene.is_body(line.style) or after is None or after.page != line.page:
        return False
    full = scene.columns.get(line.page, 400.0)
    if line.width > 0.55 * full or after.width < 0.85 * full or abs(after.x0 - line.x0) > 2:
        return False
    text = line.title
    if len(text.split()) > 8 or not _TITLE_CASE.fullmatch(text):
        return False
    if line.base - after.base < 0.8 * scene.leading or not after.text[:1].isupper():
        return False
    if before is None or before.page != line.page or before.base < line.base:
        return before is None or before.text.endswith((".", "?", "!", ":"))
    roomy = before.base - line.base > 1.15 * scene.leading
    return roomy and (before.text.endswith((".", "?", "!", "”")) or before.width < 0.6 * full)


def _type_points(scene: Scene, candidate: HeadingCandidate) -> Iterator[float]:
    line = candidate.line
    ratio = line.size / scene.body_size
    share = scene.cases[line.style, in_capitals(line.text)] / scene.letters
    bold = scene.is_bold(line)
    if bold:
        yield 2.0
    yield next((points for least, points in _SIZE_POINTS if ratio >= least), -2.0)
    if line.font != scene.body_font and not bold and share < 0.05 and (ratio >= 0.97 or line.style in scene.pure):
        yield 1.0
    if in_capitals(candidate.core):
        yield 1.5
    if line.style in scene.pure:
        yield 2.8
    yield _commonness(scene, candidate, share)


def _commonness(scene: Scene, candidate: HeadingCandidate, share: float) -> float:
    """Penalty in points for a common style; smaller if the line is as short as a heading."""
    if share <= 0.05 or candidate.line.ruled or candidate.apart:
        return 0.0
    if share <= 0.12:
        return -1.0
    line, number, words = candidate.line, candidate.number, len(candidate.line.text.split())
    after = scene.neighbour(candidate.index + 1)
    full = scene.columns.get(line.page, 400.0)
    below = after is None or after.page != line.page or after.base < line.base - 0.5 * scene.leading
    short = line.width < 0.75 * full and below
    closed = line.text.endswith((",", ";")) or (line.text.endswith(".") and words > 5)
    if number and number.scheme != "letter" and short and words <= 10 and not closed:
        return -1.0
    return -0.5 if candidate.known and short and words <= 6 else -3.0


def _place_points(scene: Scene, candidate: HeadingCandidate) -> Iterator[float]:
    if candidate.apart:
        yield 4.3
    if candidate.line.ruled:
        yield 3.5
    if candidate.line.breaks:
        yield -2.5
    line, leading = candidate.line, scene.leading
    before, after = scene.neighbour(candidate.index - 1), scene.neighbour(candidate.index + 1)
    above = before.base - line.base if before and before.page == line.page and before.base > line.base else 99.0
    below = line.base - after.base if after and after.page == line.page and after.base < line.base else 99.0
    if above > 1.35 * leading:
        yield 1.0
    elif above < 0.3 * leading:
        yield -1.5
    if below < 0.3 * leading:
        yield -1.5
    distances = [(max(other.x0 - line.x1, line.x0 - other.x1), other) for other in scene.row_of(line)]
    if any(-3 < distance < (14 if len(other.text) > 45 else 36) for distance, other in distances):
        yield -1.5  # another piece of the same row is close, as in a table
    bold = scene.is_bold(line)
    if after is None:
        return
    same = after.style == line.style
    full = scene.columns.get(line.page, 400.0)
    plain = not bold and line.size < 1.04 * scene.body_size
    if same and below < 1.6 * leading and line.width > 0.75 * full and plain:
        yield -2.0
    if line.width > 0.9 * full and not same and below < 1.25 * leading and not candidate.number:
        yield -2.0  # bold words that open a paragraph


def _wording_points(scene: Scene, candidate: HeadingCandidate) -> Iterator[float]:
    text, core, number, known = candidate.line.title, candidate.core, candidate.number, candidate.known
    words = len(text.split())
    if number:
        yield 1.5 if number.scheme == "letter" else 2.0
    if known:  # a line such as "What is claimed is" is nothing but a heading
        yield 2.5 if len(core.split()) < 3 else 5.0
    if text[-1] in ".,;" and not known and not (number and words <= 9 and text.endswith(".")):
        yield -2.0
    if text.endswith("-") or _HANGS.search(text):
        strong = scene.is_bold(candidate.line) or candidate.line.size > 1.04 * scene.body_size
        yield -0.2 if strong else -1.0
    if words > 14:
        yield -2.0
    elif words > 10:
        yield -0.7
    if sum(map(str.isdigit, core)) > 0.3 * max(1, len(core.replace(" ", ""))):
        yield -2.0
    if _MATHS.search(core):
        yield -1.5
    if _CITES.search(text):
        yield -2.0
    if (_DOTS.search(text) and not known) or (number and number.by_word and _PAGE_NUMBER.search(text)):
        yield -4.0  # an entry of a table of contents
    if text[0] in "•–-*·▪◦":
        yield -3.0
