"""Decode the lines that a PDF reader process sends: text, place and style. `body_lines` says which of them are text."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

_BOLD = re.compile(
    r"bold|black|heavy|demi|poster|[-,]b$|medi$|-bd|\bbd\b|cmbx|cmssbx|cmb1|sfbx|ptmb|ptb|utmb|phvb|tib|lmb|MB\d"
    r"|TZ$|TB$|SFRB|timesb|\.B$",
    re.IGNORECASE,
)
_ITALIC = re.compile(r"ital|obli|cmti|cmsl|slant|ptmri|-it\b|timesi|\.I$", re.IGNORECASE)
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0xFB00, 0xFB07), 0x132, 0x133)}
_BULLETS = dict.fromkeys((0xF0B7, 0xF0A7, 0xF076, 0xF0D8, 0xF0A8), "•")
_LETTERS = str.maketrans({**_LIGATURES, **_BULLETS, 0xA0: " ", 0x200B: "", 0xFEFF: ""})
_LEFT_OVER = re.compile("[\ud800-\udfff\ue000-\uf8ff]")
_UNKNOWN_BULLET = re.compile(r"^\ufffd(?= [^\W\d])")  # before a number it may have been a minus
_MATHS = re.compile("[\U0001d400-\U0001d7ff]+")
# Old TeX sets an accent as a separate letter, before or after its base letter.
_LOOSE_ACCENT = re.compile(r"(?<=[^\W\d_]) ?([´`¨ˆ˜]) ?([aeiouyncszAEIOUYNCSZı])|(?<!\w)([´`¨ˆ˜])([AEIOUaeiouÖÜ])")
_ODD = re.compile("[\U0001d400-\U0001d7ff\ud800-\udfff\ue000-\uf8ff\ufffd´`¨ˆ˜]")
"""The signs that the expressions above look for."""
_COMBINING = {"´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303"}
_MOST_OF_PAGE = 0.6
_STAMP = 250  # characters
_FARTHEST = 1e6  # points; the largest page has 14,400 (ISO 32000-1, annex C)


class LineStyle(NamedTuple):
    """Size, weight, font and slant of a line."""

    size: float
    bold: bool
    font: str
    italic: bool


_style_of = lru_cache(maxsize=1024)(LineStyle)


@dataclass(slots=True)  # not frozen: there are tens of thousands, and a frozen one takes twice as long
class Line:
    """One line of text, which nobody changes; lengths are in points."""

    text: str  # clean; a word divided at the line's end keeps its soft hyphen or "-"
    page: int  # 1-based
    x0: float  # left end, along the direction of the text
    base: float  # baseline above the page's foot
    x1: float  # right end
    size: float  # of most of its letters, rounded to half points
    font: str  # of most of its letters
    bold: float = 0.0  # share of letters in a bold font
    italic: float = 0.0  # share of letters in an italic font
    angle: int = 0  # direction of the text in degrees; 0 is upright
    hidden: float = 0.0  # share of letters that are not painted
    mark: int = 0  # number of letters in the footnote mark at its end
    ruled: bool = False  # the line is underlined, from end to end
    lead: int = 0  # number of letters in bold or italic at its beginning, if it ends in neither; else 0
    filled_in: bool = False  # it is the value of a form field, or the text of a text box or stamp
    doubts: tuple[tuple[int, int], ...] = ()  # offsets in `text` of the words that OCR is not sure of
    place: int = 0  # among the lines of its page, and the filled-in values after them, as the reader sent them
    style: LineStyle = field(init=False, compare=False)  # headings of one level share it
    title: str = field(init=False, compare=False)  # the text without the mark of a footnote

    def __post_init__(self) -> None:
        # Both are asked for many times while headings are found.
        self.style = _style_of(self.size, self.bold > 0.6, self.font, self.italic > 0.6)
        title = self.text[: len(self.text) - self.mark].rstrip() if self.mark else self.text.rstrip()
        self.title = title or self.text

    @property
    def breaks(self) -> bool:
        """Whether it opens with a title in another type and continues as text."""
        return self.lead > 0

    @property
    def lead_end(self) -> int:
        """Offset in `text` after the opening in another type."""
        letters = 0
        for offset, letter in enumerate(self.text):
            if letters >= self.lead:
                return offset
            letters += not letter.isspace()
        return len(self.text)

    @property
    def width(self) -> float:
        """Length in points."""
        return self.x1 - self.x0


@dataclass(frozen=True, slots=True)
class PdfPage:
    """One page: its lines, its filled-in values, and how much could not be read."""

    number: int  # 1-based
    width: float = 0.0  # in points
    height: float = 0.0
    lines: tuple[Line, ...] = ()  # in the order of the content stream
    unreadable: int = 0  # number of characters without a meaning in Unicode
    suspect: int = 0  # number of characters with a meaning that the reader guessed
    failed: bool = False  # the page could not be read at all
    blank: bool = False  # nothing is on it, neither text nor pictures
    plain: bool = False  # text is on it and nothing else
    entries: tuple[Line, ...] = ()  # values of form fields, and the text of text boxes and stamps
    unread: int = 0  # number of form fields and text boxes that could not be read
    covered: float = 0.0  # share of the page under pictures
    confidences: tuple[float, ...] = ()  # of the words that OCR read on it
    ocr_failed: bool = False  # OCR took more than its limits on it
    boxes: Sequence[tuple[str, float, Sequence[float]]] = ()  # `page_text.LineBoxes`, if they were asked for

    @property
    def stamped(self) -> bool:
        """Whether it is a picture with a few words on it, as a scan that was stamped or numbered."""
        words = [line for line in self.lines if not line.hidden]
        return self.covered > _MOST_OF_PAGE and len(words) == len(self.lines) and self.characters <= _STAMP

    @property
    def characters(self) -> int:
        """Count the characters on the page."""
        return sum(len(line.text) for line in (*self.lines, *self.entries))


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline; page 0 where it leads nowhere in the document."""

    level: int
    title: str
    page: int
    target: str = ""  # outside the document


def decode_page(message: dict[str, Any]) -> PdfPage:
    """Decode a page that a reader process sent."""
    number = int(message["number"])
    if message.get("failed"):
        return PdfPage(number, failed=True)
    entries = _decode_lines(number, message["entries"], len(message["lines"]))
    return PdfPage(
        number,
        _measure(message["width"]),
        _measure(message["height"]),
        tuple(line for line in _decode_lines(number, message["lines"]) if line.text),
        int(message["unreadable"]),
        int(message["suspect"]),
        blank=bool(message["blank"]),
        plain=bool(message["plain"]),
        entries=tuple(replace(line, filled_in=True) for line in entries if line.text),
        unread=int(message["unread"]),
        covered=float(message.get("covered", 0.0)),
        boxes=[(str(letters), float(angle), [*map(float, box)]) for letters, angle, box in message["boxes"]],
    )


def _measure(value: float) -> float:
    """A length or a place in points. A number of hundreds of digits in a PDF is read as infinite: 0 stands for it."""
    return float(value) if abs(value) < _FARTHEST else 0.0


def _decode_lines(page: int, sent: Iterable[Sequence[Any]], first: int = 0) -> Iterator[Line]:
    """Decode the lines of a page, in the form of `page_text.LineValues`; the place of the first one is `first`."""
    for place, (text, x0, base, x1, angle, mark, ruled, runs) in enumerate(sent, first):
        if not abs(x0) + abs(base) + abs(x1) < _FARTHEST:
            x0, base, x1 = map(_measure, (x0, base, x1))  # noqa: PLW2901 - the same places, as far as they are sound
        if len(runs) == 1:
            size, font, bold, italic, hidden, lead = *_type_of(*runs[0][0]), 0
        else:
            size, font, bold, italic, hidden, lead = _mixed(runs, mark)
        yield Line(
            clean(text), page, x0, base, x1, size, font, float(bold), float(italic), angle, float(hidden),
            mark, bool(ruled), lead, place=place,
        )  # fmt: skip


def _mixed(runs: Sequence[Any], mark: int) -> tuple[float, str, float, float, float, int]:
    """Size and font of most letters of a line, its shares of bold, italic and hidden ones, and its lead."""
    sizes: defaultdict[float, int] = defaultdict(int)
    fonts: defaultdict[str, int] = defaultdict(int)
    bold = italic = hidden = 0
    types, counts = [_type_of(*style) for style, _ in runs], [count for _, count in runs]
    for (size, font, is_bold, is_italic, is_hidden), count in zip(types, counts, strict=True):
        sizes[size] += count
        fonts[font] += count
        bold += count * is_bold
        italic += count * is_italic
        hidden += count * is_hidden
    total = max(1, sum(counts))
    most = max(sizes, key=lambda size: (sizes[size], size))
    lead = 0
    set_off = [kind[2] or kind[3] for kind in types]  # in bold or italic
    if set_off[0] and not set_off[-1] and counts[-1] > max(1, mark):
        lead = sum(counts[: set_off.index(False)])
    return most, max(fonts, key=fonts.__getitem__), bold / total, italic / total, hidden / total, lead


@lru_cache(maxsize=1024)
def _type_of(
    size: float, font: str, weight: int, italic: bool, _: int, hidden: bool
) -> tuple[float, str, float, float, float]:
    """Type of letters: size rounded to half points, font without the mark of a subset, bold, italic, hidden."""
    name = _SUBSET.sub("", font)
    size = max(0.5, round(_measure(size) * 2) / 2)  # fonts of no size exist
    bold = _BOLD.search(name) is not None or (weight >= 600 and "regu" not in name.lower())
    return size, name, bold, bool(italic) or _ITALIC.search(name) is not None, bool(hidden)


def clean(text: str) -> str:
    """Replace ligatures, styled letters, loose accents and runs of blanks by plain text."""
    text = text.replace("\0", "")
    if not text.isascii():
        text = text.translate(_LETTERS)
        if _ODD.search(text) is None:
            text = unicodedata.normalize("NFC", text)
        else:
            text = _MATHS.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)
            text = _LOOSE_ACCENT.sub(_compose, text)
            text = _LEFT_OVER.sub("\ufffd", unicodedata.normalize("NFC", text))
            text = _UNKNOWN_BULLET.sub("•", text)
    return " ".join(text.split())


def _compose(match: re.Match[str]) -> str:
    accent, letter = match.group(1) or match.group(3), match.group(2) or match.group(4)
    return unicodedata.normalize("NFC", ("i" if letter == "ı" else letter) + _COMBINING[accent])


def in_row(line: Line, entry: Line) -> bool:
    """Whether `entry` is to the right of a line, as a value is to the right of its label."""
    near = 0.6 * max(line.size, entry.size)
    return line.page == entry.page and abs(line.base - entry.base) < near and line.x0 <= entry.x0
