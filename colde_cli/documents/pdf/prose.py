"""Join lines to paragraphs, and paragraphs to a text, across hyphens, interruptions and page breaks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from colde_cli.documents.pdf.lines import Line, in_row

SOFT_HYPHEN = "\u00ad"
_BULLET = re.compile(r"[•▪◦‣●○■□➢✓·∗]|[-–—*]\s(?!\s*(?:[\d$€£¥₹]|[A-Z]{3}\s?\d))|\(?[a-z0-9ivx]{1,3}[.)]\s|\[\d+\]")
_SIGNS = frozenset("•▪◦‣●○■□➢✓")
_DASH = re.compile(r"[-–—*] (?![\d$€£¥₹]|[A-Z]{3} ?\d)\S")  # before a number or a currency it is a sign
_CAPTION = re.compile(r"(fig(ure|\.)?|table|tab\.|algorithm|listing|scheme) ?[\dIVX]{1,4}\s?[.:|]", re.IGNORECASE)
_CAPTION_LETTERS = frozenset("fFtTaAlLsSſ")
_MIN_LINES = 5  # minimum number of lines of one indent that show where the column of a page ends
_INDENTS = 3  # maximum indent of a list, in steps of 40 points
_ASIDES = 8  # pieces that may interrupt a paragraph
_ENDS = re.compile(r"[.!?:;][\"'”’)\]]*$")
_UNFINISHED = re.compile(
    r" (?:an?|(?i:and|as|at|by|for|from|if|in|into|is|its|nor|of|on|or|our|than|that|the|their|this|to|upon|was|with))$"
)
"""Words in which no paragraph ends. A line that stops early after one had no room for the next word."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST_PART = re.compile(r"([^\W\d_]+)$")
_FIRST_PART = re.compile(r"([^\W\d_]+)")
_INITIAL = 1.7  # sizes of the text that begins with it
_LETTER_WORDS = frozenset("AIOÀYE")  # in the languages of Western Europe
_LONGEST_WORD = 100  # letters; of a longer word, only the end is looked at


class Geometry:
    """Finds the first and last lines of paragraphs by leading (usual distance of baselines) and column edges."""

    def __init__(self, lines: Sequence[Line], body_size: float, leading: float) -> None:
        self.body_size = body_size
        self.leading = leading
        ends: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
        for line in lines:
            ends[line.page, round(line.x0 / 40)].append(line.x1)
        usual = {place: sorted(values)[int(0.85 * (len(values) - 1))] for place, values in ends.items()}
        self._ends = dict(usual)  # right edges by page and indent
        for (page, indent), end in usual.items():
            if len(ends[page, indent]) < _MIN_LINES:  # a few indented lines end where their column does
                before = (usual.get((page, other), 0.0) for other in range(max(0, indent - _INDENTS), indent))
                self._ends[page, indent] = max(end, *before, 0.0)

    def is_short(self, line: Line) -> bool:
        """Whether the line stops well before its column's right edge."""
        return line.x1 < self._ends[line.page, round(line.x0 / 40)] - 2.5 * line.size

    def ends_early(self, before: Line, line: Line) -> bool:
        """Whether a line stops before its column's right edge although the first word of the next line would fit."""
        word = line.text.partition(" ")[0]
        width = (len(word) + 1) * line.width / max(1, len(line.text))
        fits = before.x1 + width < self._ends[before.page, round(before.x0 / 40)]
        return fits and self.is_short(before)

    def begins_paragraph(self, before: Line, line: Line, after: Line | None) -> bool:
        """Whether `line` begins a paragraph, given its neighbours in content order."""
        if abs(before.size - line.size) > 0.12 * self.body_size or _is_caption(line):
            return True
        gap = before.base - line.base
        if gap != 0 if line.text[:1] in _SIGNS else _next_item(before, line):
            return True  # an item of a list, with a bullet or the same dash as the line before
        if before.style == line.style and line.size > 1.2 * self.body_size and 0 < gap < 1.6 * line.size:
            return False  # a title of several lines
        ended = bool(_ENDS.search(before.title))
        if before.page != line.page or gap < -0.5 * self.leading:
            return ended and (self.is_short(before) or self._indented(before, line, after, moved=True))
        if gap < 0.5 * self.leading:  # the same line, in two pieces
            return False
        roomy = gap > 1.5 * max(self.leading, 1.1 * line.size)
        short = self.ends_early(before, line)
        opens = short and (
            ended or _BULLET.match(line.text) or (line.text[:1].isupper() and not _UNFINISHED.search(before.title))
        )
        listed = ended and (_BULLET.match(line.text) or self._indented(before, line, after, moved=False))
        return bool(roomy or opens or listed)

    def is_text(self, line: Line) -> bool:
        """Whether a line is set in the size of running text."""
        return abs(line.size - self.body_size) <= 0.06 * self.body_size

    def is_aside(self, lines: Sequence[Line]) -> bool:
        """Whether lines are a caption, a footnote or a table rather than running text."""
        return _is_caption(lines[0]) or not self.is_text(lines[0])

    def _indented(self, before: Line, line: Line, after: Line | None, *, moved: bool) -> bool:
        """Whether a line has a first-line indent; if the next line has it too, both are a hanging indent."""
        step = 0.7 * line.size
        if after is not None and after.page == line.page and after.base < line.base:
            back = line.x0 - after.x0
            return step < back < 6 * line.size
        return not moved and step < line.x0 - before.x0 < 6 * line.size


def is_initial(letter: Line, line: Line) -> bool:
    """Whether a line is the first letter of the next one, set so large that it reaches above or below it."""
    large = letter.size >= _INITIAL * line.size and letter.page == line.page and line.text[:1].isalpha()
    if not (large and len(letter.text) == 1 and letter.text.isalpha() and letter.text.isupper()):
        return False
    beside = -0.5 * line.size < line.x0 - letter.x1 < letter.size / 2
    return beside and letter.base - 1 <= line.base + 0.5 * line.size < letter.base + letter.size


def _is_caption(line: Line) -> bool:
    # The first letter alone settles most lines.
    return line.text[:1] in _CAPTION_LETTERS and _CAPTION.match(line.text) is not None


def _next_item(first: Line, line: Line) -> bool:
    """Whether a line begins with the same dash as the first line of an item, at the same place."""
    if first.text[:2] != line.text[:2] or _DASH.match(line.text) is None:
        return False
    return abs(first.x0 - line.x0) < 1 and first.base != line.base


def paragraphs(geometry: Geometry, lines: Sequence[Line]) -> list[list[Line]]:
    """Join lines to paragraphs; a paragraph interrupted by a figure, table or footnote is joined and placed after it.

    Placed there, pages ascend: the interruption is on the page on which the paragraph begins.
    """
    pieces: list[list[Line]] = []
    for line, after in zip_longest(lines, lines[1:]):
        if pieces and _joins(geometry, pieces[-1], line, after):
            pieces[-1].append(line)
        else:
            pieces.append([line])
    whole: list[list[Line]] = []
    index = 0
    while index < len(pieces):
        resumed = _resumed(geometry, pieces, index)
        if resumed == index:
            whole.append(pieces[index])
            index += 1
        else:
            whole.extend(pieces[index + 1 : resumed])
            pieces[resumed] = pieces[index] + pieces[resumed]  # it may be interrupted again
            index = resumed
    return whole


def _joins(geometry: Geometry, piece: Sequence[Line], line: Line, after: Line | None) -> bool:
    """Whether a line continues a paragraph; a filled-in value does so only in the row of its last line."""
    last = piece[-1]
    if line.filled_in or (last.filled_in and in_row(last, line)):
        return in_row(last, line)
    # Only the ends are looked at: a paragraph can have tens of thousands of lines.
    first = next((one for one in piece if not one.filled_in), None)
    if first is None or _next_item(first, line):
        return False
    before = next(one for one in reversed(piece) if not one.filled_in)
    return is_initial(before, line) or not geometry.begins_paragraph(before, line, after)


def _resumed(geometry: Geometry, pieces: Sequence[Sequence[Line]], index: int) -> int:
    """Find the piece that continues an interrupted paragraph; `index` if it is not interrupted."""
    last = pieces[index][-1]
    if not geometry.is_text(last) or _ENDS.search(last.title) or geometry.is_aside(pieces[index]):
        return index
    for later in range(index + 1, min(index + _ASIDES, len(pieces))):
        first = pieces[later][0]
        ended = later == index + 1 and first.text[:1].isupper() and geometry.ends_early(last, first)
        can = not first.text[:1].isupper() or last.text.endswith(",")  # go on with the unfinished sentence
        begins = _BULLET.match(first.text) or _is_caption(first)
        if geometry.is_text(first) and can and not begins and not ended:
            return later
        if first.page > last.page + 1 or not geometry.is_aside(pieces[later]):
            break
    return index


class ProseWriter:
    """Builds a document's text paragraph by paragraph."""

    def __init__(self, pages: int, hyphens: Hyphens) -> None:
        self.page_starts: list[int] = []  # offset at which each page of the source begins
        self.written: list[tuple[int, Sequence[Line]]] = []  # offset and lines of each paragraph
        self.doubtful: list[tuple[int, int]] = []  # begin and end of the words that OCR is not sure of
        self.length = 0
        self._pages = pages
        self._hyphens = hyphens
        self._pieces: list[str] = []

    def paragraph(self, lines: Sequence[Line]) -> int:
        """Write lines as one paragraph; returns the offset at which it begins."""
        if self._pieces:
            self._pieces.append("\n\n")
            self.length += 2
        start = self.length
        self.written.append((start, lines))
        joined = JoinedLines(self._hyphens)
        for before, line in zip([None, *lines], lines, strict=False):
            initial = before is not None and is_initial(before, line)
            joined.add(line.text, self._hyphens.after_initial(before.text, line.text) if before and initial else " ")
            begin = start + joined.length - len(line.text)
            self.doubtful += [(begin + first, begin + last) for first, last in line.doubts]
            missing = line.page - len(self.page_starts)
            self.page_starts += [begin] * missing
        text = joined.text().replace(SOFT_HYPHEN, "")
        self._pieces.append(text)
        self.length += len(text)
        return start

    @property
    def divided_words(self) -> tuple[str, ...]:
        """See `ReadReport.divided_words`."""
        return tuple(sorted(self._hyphens.divided))

    def finish(self) -> None:
        """End the text: pages after the last line begin at its end."""
        self.page_starts += [self.length] * (self._pages - len(self.page_starts))

    def text(self) -> str:
        """Return the whole text."""
        return "".join(self._pieces)


class JoinedLines:
    """Joins lines to one text, in time that grows with their length alone.

    Attributes:
        length: of the text so far.
    """

    def __init__(self, hyphens: Hyphens) -> None:
        self.length = 0
        self._hyphens = hyphens
        self._pieces: list[str] = []
        self._end = ""

    def add(self, line: str, blank: str = " ") -> None:
        """Add a line: after a `blank`, or as the rest of a divided word."""
        if self.length:
            between = self._hyphens.between(self._end, line)
            if between is not None:
                self._pieces[-1] = self._pieces[-1][:-1]
                self._end = self._end[:-1]
                self.length -= 1
            line = (blank if between is None else between) + line
        if line:
            self._pieces.append(line)
            self.length += len(line)
            self._end = (self._end + line[-_LONGEST_WORD:])[-_LONGEST_WORD:]

    def text(self) -> str:
        """Return the whole text."""
        return "".join(self._pieces)


class Hyphens:
    """Decides whether a hyphen at a line's end belongs to the word.

    A word is written as elsewhere in the document, joined or with its hyphen. If it occurs nowhere else, a hyphen
    between two words of the document is kept, and every other hyphen is removed.

    Attributes:
        divided: the words that were decided on so far, in lower case without their hyphen.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        # The first and last words of a line may be parts of words, so they are no evidence.
        whole = "\n".join([line.partition(" ")[2].rpartition(" ")[0] for line in lines])
        self._words = Counter(map(str.casefold, _WORD.findall(whole)))
        self.divided: set[str] = set()

    def between(self, end: str, line: str) -> str | None:
        """What to write in place of the hyphen at the end of a text, given its last letters and the next line.

        None if the text does not end with a hyphen that divides a word.
        """
        if not (end.endswith(SOFT_HYPHEN) or (end.endswith(("-", "‐")) and end[-2:-1].isalpha())):
            return None
        left, right = _LAST_PART.search(end[:-1]), _FIRST_PART.match(line)
        if left is None or right is None:
            return "-"
        self.divided.add((left.group(1) + right.group(1)).casefold())
        return "-" if self._keeps(left.group(1), right.group(1)) else ""

    def after_initial(self, letter: str, line: str) -> str:
        """What to write between a large initial and its line: a blank, if the letter is a word and not part of one."""
        match = _FIRST_PART.match(line)
        if letter not in _LETTER_WORDS or match is None:
            return ""
        rest = match.group(1).casefold()
        return " " if self._words[rest] > self._words[letter.casefold() + rest] else ""

    def _keeps(self, left: str, right: str) -> bool:
        if right[0].isupper() and not left.isupper():
            return True
        first, second = left.casefold(), right.casefold()
        joined, divided = self._words[first + second], self._words[f"{first}-{second}"]
        if joined or divided:
            return divided > joined
        return len(first) > 2 and len(second) > 2 and self._words[first] >= 2 and self._words[second] >= 2
