"""Read pages without a readable text by OCR, where `colde[ocr]` is installed, and keep what was read.

A page of a scan becomes lines with places and sizes, as PDFium sends them, so that paragraphs, headings and running
heads are found by the same rules. Fonts are unknown: the height of a line gives its size, the thickness of its strokes
says whether it is bold. Words that the model is not sure of are marked in their lines.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO, Literal

from colde_cli import settings
from colde_cli.documents import stages
from colde_cli.documents.document import OcrReport
from colde_cli.documents.pdf.legibility import MOST_PAGES, is_garbage
from colde_cli.documents.pdf.lines import Line, PdfPage, clean
from colde_cli.documents.sandbox import each_of
from colde_cli.errors import MissingExtraError, OptionError
from colde_cli.files import atomic_file

Ocr = Literal["auto", "always", "never"]
"""Which pages to read by OCR: those without a readable text, where the extra is installed; all; none."""

ENGINE = "colde_cli.documents.pdf.ocr_engine"
MEMORY = 6 << 30
"""Bytes of address space of the reader process, in addition to twice the file; a page takes 1.2 GB of memory."""
STEP_SECONDS = 180.0
"""Processor time for a page; a page of 60 lines takes three to five."""
PAGE_SECONDS = 60
"""Processor time for each page of a document, on average."""
DOUBTFUL = 0.8
"""A word is uncertain if one of its letters has a lower confidence. See benchmarks/results/laboratory.md."""
_TEXT = 0.5
"""Minimum of the mean confidence of the words of a page that has text."""
_REVISION = "3"  # of the engine: what another one read is read again
_MOST_KEPT = 200 << 20
"""Bytes of what was read that are kept between runs; a page takes some 10 kB."""
_SIZE = 1 / 1.2  # of the type, by the height in which its line was found
_ALIKE = (0.82, 1.2)
"""Heights of lines of one size differ by no more, as shares."""
_BOLD = 1.17  # thickness of bold strokes, by that of the document's
_OVERLAP = 0.5
_PROSE = 0.55  # share of a column that a line of running text fills
_LOOSE = 4.0  # points by which a line may reach into the blank between two columns
_FEWEST = 3
"""Minimum number of lines of a column."""
_LETTERS = 14  # of a line of running text; those of a table are shorter


def available() -> bool:
    """Whether the packages of `colde[ocr]` are installed."""
    return find_spec("rapidocr") is not None


def chosen(ocr: str | None) -> Ocr:
    """The mode: what was asked for, else COLDE_OCR, else "auto".

    Raises:
        OptionError: there is no such mode.
        MissingExtraError: "always", without the extra.
    """
    mode = ocr or os.environ.get(settings.OCR) or "auto"
    if mode not in ("auto", "always", "never"):
        raise OptionError(f"There is no mode {mode!r} of OCR; choose auto, always or never.")
    if mode == "always" and not available():
        raise MissingExtraError("Reading by OCR needs more packages; install them with: pip install 'colde[ocr]'.")
    return mode  # type: ignore[return-value]


def way_of_reading(ocr: str | None) -> str:
    """What a mode makes of scans, in a word: its name and what reads; "" where none is read."""
    mode = chosen(ocr)
    return "" if mode == "never" or not available() else f"{mode} {_engine()}"


@cache
def _engine() -> str:
    from importlib.metadata import version  # takes 25 ms, and few files are scans

    return f"{_REVISION} {version('rapidocr')}"


def wanted_pages(pages: Iterable[PdfPage], mode: Ocr) -> list[int]:
    """The pages to read by OCR."""
    if mode == "never" or not available():
        return []
    seen = [page for page in pages if not (page.failed or page.blank)]
    if mode != "always":
        seen = [page for page in seen if (not page.lines and not page.plain) or page.stamped or is_garbage(page)]
    return [page.number for page in seen][:MOST_PAGES]


def with_words(
    file: BinaryIO, password: str | None, pages: Sequence[PdfPage], numbers: Collection[int]
) -> list[PdfPage]:
    """The pages of a PDF, with the words that OCR finds on some of them; a page on which it finds none stays as it is.

    Words that stand on a picture, such as a stamp, are kept, unless they make no sense. A page on which OCR takes more
    than its limits is marked, and the others are read.
    """
    if not numbers:
        return list(pages)
    found = dict(_words(file, password, sorted(numbers)))
    lost = set(numbers) - found.keys()
    pages = [replace(page, ocr_failed=True) if page.number in lost else page for page in pages]
    scans = {number: scan for number, message in found.items() if (scan := _Scan.of(message)).is_text}
    heights = [(line.height, line.letters) for scan in scans.values() for line in scan.lines]
    strokes = [line.stroke / line.height for scan in scans.values() for line in scan.lines if line.letters > _LETTERS]
    if not heights:
        return pages
    usual, stroke = _weighted_median(heights), median(strokes) if strokes else math.inf
    return [_read_page(page, scans[page.number], usual, stroke) if page.number in scans else page for page in pages]


def report_of(pages: Iterable[PdfPage], doubtful: Sequence[tuple[int, int]]) -> OcrReport | None:
    """What is to be said of the pages that were read by OCR; None if there are none."""
    read = [page for page in pages if page.confidences]
    confidences = [confidence for page in read for confidence in page.confidences]
    if not confidences:
        return None
    mean = sum(confidences) / len(confidences)
    return OcrReport(tuple(page.number for page in read), round(min(confidences), 3), round(mean, 3), tuple(doubtful))


# Lines of a page

_Word = tuple[str, float, float, float]
_Box = tuple[float, float, float, float, int]
_WIDE = str.maketrans(
    {"一": "–", "。": ".", "、": ",", **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)}}
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a line, as `ocr_engine.LineFound`; lengths are in points, from the upper left corner of the page."""

    words: tuple[_Word, ...]
    left: float
    top: float
    right: float
    foot: float
    base: float
    stroke: float
    corners: tuple[float, ...]

    @property
    def height(self) -> float:
        return max(1.0, self.foot - self.top)

    @property
    def letters(self) -> int:
        return sum(len(word[0]) for word in self.words)

    @property
    def middle(self) -> float:
        return (self.top + self.foot) / 2


@dataclass(frozen=True, slots=True)
class _Scan:
    """What OCR found on a page."""

    width: float
    height: float
    lines: tuple[_Piece, ...]

    @property
    def is_text(self) -> bool:
        """Whether there is text on it; in a picture without any, OCR sees a letter here and there."""
        sure = [confidence for line in self.lines for _, confidence, _, _ in line.words]
        return sum(sure) > _TEXT * len(sure)

    @classmethod
    def of(cls, message: dict[str, Any]) -> _Scan:
        pieces = []
        for words, left, top, right, foot, _, last, stroke, corners in message["lines"]:
            some = [(clean(str(word)), float(sure), float(start), float(end)) for word, sure, start, end in words]
            base = top + last * (foot - top)
            known = tuple(_without_lookalikes([word for word in some if word[0]]))
            if known and all(map(math.isfinite, (left, top, right, foot, base, stroke, *corners))):
                pieces.append(_Piece(known, left, top, right, foot, base, stroke, tuple(map(float, corners))))
        return cls(float(message["width"]), float(message["height"]), tuple(pieces))


def _without_lookalikes(words: Sequence[_Word]) -> Iterator[_Word]:
    """Write a Chinese "one" among Latin letters as the dash that it is, and wide punctuation as narrow."""
    chinese = any("\u3040" <= letter < "\ua000" and letter != "一" for word in words for letter in word[0])
    for text, sure, start, end in words:
        yield text if chinese else text.translate(_WIDE), sure, start, end


def _weighted_median(values: Sequence[tuple[float, int]]) -> float:
    half, passed = sum(weight for _, weight in values) / 2, 0
    for value, weight in sorted(values):
        passed += weight
        if passed >= half:
            return value
    return values[-1][0]


def _read_page(page: PdfPage, scan: _Scan, usual: float, stroke: float) -> PdfPage:
    """Put the lines that OCR found on a page beside, or in place of, those of its text layer."""
    kept = page.lines if page.stamped else ()
    taken = [*kept, *page.entries]
    first = len(page.lines) + len(page.entries)
    lines: list[Line] = []
    boxes: list[tuple[str, float, list[float]]] = []
    confidences: list[float] = []
    for row in reading_rows([(one.left, one.top, one.right, one.foot, one.letters) for one in scan.lines]):
        group = [scan.lines[index] for index in row]
        if any(_covers(line, group, scan.height) for line in taken):
            continue
        line = _line(group, page.number, first + len(lines), scan.height, usual, stroke)
        lines.append(line)
        boxes.append(_boxes(group))
        confidences += [sure for piece in group for _, sure, _, _ in piece.words]
    if not lines:
        return page
    known = len(page.boxes) == first
    return replace(
        page,
        width=scan.width,
        height=scan.height,
        lines=(*lines, *kept),
        unreadable=0,
        suspect=0,
        blank=False,
        boxes=(*page.boxes, *boxes) if known else (),
        confidences=tuple(confidences),
    )


def _covers(line: Line, group: Sequence[_Piece], height: float) -> bool:
    """Whether a line of the text layer stands where OCR found one."""
    middle = height - sum(piece.middle for piece in group) / len(group)
    left, right = group[0].left, group[-1].right
    common = min(line.x1, right) - max(line.x0, left)
    return line.base - 0.3 * line.size < middle < line.base + line.size and common > _OVERLAP * (right - left)


def _line(group: Sequence[_Piece], page: int, place: int, height: float, usual: float, stroke: float) -> Line:
    words = [word for piece in group for word in piece.words]
    tall = _weighted_median([(piece.height, piece.letters) for piece in group])
    thick = max(piece.stroke for piece in group)
    share = tall / usual
    # Others are of the steps in which titles and notes are set.
    share = 1.0 if _ALIKE[0] < share < _ALIKE[1] else 1.2 ** round(math.log(share) / math.log(1.2))
    doubts: list[tuple[int, int]] = []
    text = ""
    for word, sure, _, _ in words:
        start = len(text) + bool(text)
        text = f"{text} {word}" if text else word
        if sure < DOUBTFUL:
            doubts.append((start, start + len(word)))
    return Line(
        text,
        page,
        group[0].left,
        height - sum(piece.base for piece in group) / len(group),
        group[-1].right,
        max(0.5, round(2 * usual * share * _SIZE) / 2),
        "",
        bold=float(thick > _BOLD * stroke * usual * share),
        place=place,
        doubts=tuple(doubts),
    )


def _boxes(group: Sequence[_Piece]) -> tuple[str, float, list[float]]:
    """The boxes of the letters of a line: see `page_text.LineBoxes`; the letters of a word share its width."""
    x, y, x_on, y_on, _, _ = max(group, key=lambda piece: piece.letters).corners  # a number alone hardly shows a slope
    angle = math.atan2(y_on - y, x_on - x)
    sine, cosine = math.sin(angle), math.cos(angle)
    letters, values = "", []
    for piece in group:
        x, y, x_on, y_on, x_foot, y_foot = piece.corners
        pixel = math.hypot(x_on - x, y_on - y)
        begin, top, foot = x * cosine + y * sine, y * cosine - x * sine, y_foot * cosine - x_foot * sine
        for word, _, start, end in piece.words:
            width = (end - start) * pixel / len(word)
            for number in range(len(word)):
                left = begin + start * pixel + number * width
                values += [round(value, 2) for value in (left, left + width, foot, top)]
            letters += word
    return letters, math.degrees(angle), values


def reading_rows(boxes: Sequence[_Box], some: Collection[int] | None = None) -> list[list[int]]:
    """Order lines as they are read: columns one after the other, what spans them between.

    Args:
        boxes: left, top, right and foot, from the upper left corner, and the number of letters.
        some: indices of the lines to order; None for all.

    Returns:
        Each index once, in rows: a number and its clause, the cells of a table. PDFium joins them, too.
    """
    some = range(len(boxes)) if some is None else some
    gutter = _gutter([boxes[index] for index in some])
    if gutter is None:
        return _by_rows(boxes, some)
    rows: list[list[int]] = []
    band: list[int] = []

    def close() -> None:
        for side in (False, True):
            column = [index for index in band if (boxes[index][0] + boxes[index][2] >= 2 * gutter) is side]
            rows.extend(reading_rows(boxes, column) if len(column) < len(some) else _by_rows(boxes, column))
        band.clear()

    for index in sorted(some, key=lambda index: boxes[index][1]):
        left, _, right, _, _ = boxes[index]
        if left < gutter - _LOOSE and right > gutter + _LOOSE:
            close()
            rows.append([index])
        else:
            band.append(index)
    close()
    return rows


def _gutter(boxes: Sequence[_Box]) -> float | None:
    """The place of the blank between two columns of running text; None if there is none."""
    if len(boxes) < 2 * _FEWEST:
        return None
    begin, end = min(box[0] for box in boxes), max(box[2] for box in boxes)
    best: tuple[int, float] | None = None
    for candidate in sorted({box[0] for box in boxes}):
        place = candidate - _LOOSE
        if not begin + 0.2 * (end - begin) < place < end - 0.2 * (end - begin):
            continue
        left = [box for box in boxes if box[2] <= place + _LOOSE]
        right = [box for box in boxes if box[0] >= place - _LOOSE]
        across = len(boxes) - len(left) - len(right)
        if across > 0.35 * len(boxes) or not (_is_column(left, begin, place) and _is_column(right, place, end)):
            continue
        if best is None or across < best[0]:
            best = across, place
    return best[1] if best else None


def _is_column(boxes: Sequence[_Box], begin: float, end: float) -> bool:
    """Whether most letters stand in lines of running text that fill a column; those of a table are in its cells."""
    filling = [letters for left, _, right, _, letters in boxes if right - left > _PROSE * (end - begin)]
    text = [letters for letters in filling if letters >= _LETTERS]
    return len(text) >= _FEWEST and 2 * sum(text) > sum(box[4] for box in boxes)


def _by_rows(boxes: Sequence[_Box], some: Iterable[int]) -> list[list[int]]:
    """Order lines from the top, those of one row from the left; lines that overlap are rows of their own."""
    levels: list[list[int]] = []
    for index in sorted(some, key=lambda index: boxes[index][1] + boxes[index][3]):
        _, top, _, foot, _ = boxes[index]
        before = boxes[levels[-1][-1]] if levels else None
        if before and abs((before[1] + before[3]) - (top + foot)) < min(before[3] - before[1], foot - top):
            levels[-1].append(index)
        else:
            levels.append([index])
    rows: list[list[int]] = []
    for level in levels:
        for place, index in enumerate(sorted(level, key=lambda index: boxes[index][0])):
            _, top, right, foot, _ = boxes[rows[-1][-1]] if rows else (0, 0, 0, 0, 0)
            if place and boxes[index][0] >= right - (foot - top):
                rows[-1].append(index)
            else:
                rows.append([index])
    return rows


# The reader process, and what is kept


def _words(file: BinaryIO, password: str | None, numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield pages and what OCR found on them, from the store where the same page was read before."""
    store = _Store()
    digests = {message["number"]: str(message["digest"]) for message in _asked(file, "digests", password, numbers)}
    missing: dict[str, list[int]] = {}  # pages that look the same are read once
    done = 0
    for number in numbers:
        digest = digests.get(number, "")
        if (known := store.get(digest)) is not None:
            done += 1
            yield number, known
        elif digest:
            missing.setdefault(digest, []).append(number)
    for message in _asked(file, "words", password, [same[0] for same in missing.values()]):
        same = missing.get(digests.get(int(message["number"]), ""), [])
        done += len(same)
        if stages.page_read is not None:
            stages.page_read(done, len(numbers))
        if same:
            store.put(digests[same[0]], message)
        for number in same:
            yield number, message


def _asked(file: BinaryIO, task: str, password: str | None, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    seconds = STEP_SECONDS + PAGE_SECONDS * len(numbers)
    request = {
        "task": task,
        "password": password,
        "memory": MEMORY + 2 * file.seek(0, os.SEEK_END),
        "seconds": seconds,
        "step": STEP_SECONDS,
        "threads": min(4, settings.default_threads()),
    }
    return each_of(ENGINE, file, request, dict.fromkeys(numbers), 2 * seconds)


class _Store:
    """What OCR found on pages, by the digests of their pixels, in files of the cache folder."""

    def __init__(self) -> None:
        self._folder = settings.cache_dir() / "ocr"

    def _file(self, page: str) -> Path:
        return self._folder / f"{sha256(f'{_engine()} {page}'.encode()).hexdigest()[:40]}.json"

    def get(self, page: str) -> dict[str, Any] | None:
        """What was found on a page before; None for nothing, or where it is damaged."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            file = self._file(page)
            found = json.loads(file.read_text("utf-8"))
            os.utime(file)
            if page and isinstance(found, dict) and {"lines", "width", "height"} <= found.keys():
                return found
        return None

    def put(self, page: str, found: dict[str, Any]) -> None:
        """Keep it, if the folder can be written to; the pages that were read longest ago go."""
        if not page:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_file(self._file(page)) as file:
                file.write_text(json.dumps(found), "utf-8")
            kept = sorted(self._folder.glob("*.json"), key=lambda one: one.stat().st_mtime)
            excess = sum(one.stat().st_size for one in kept) - _MOST_KEPT
            for one in kept if excess > 0 else ():
                excess -= one.stat().st_size
                one.unlink(missing_ok=True)
                if excess <= 0:
                    break


def kept_pages() -> tuple[int, int]:
    """Number and bytes of the pages that are kept."""
    sizes = [file.stat().st_size for file in (settings.cache_dir() / "ocr").glob("*.json")]
    return len(sizes), sum(sizes)


def forget_pages() -> None:
    """Delete the pages that are kept."""
    for file in (settings.cache_dir() / "ocr").glob("*.json"):
        file.unlink(missing_ok=True)
