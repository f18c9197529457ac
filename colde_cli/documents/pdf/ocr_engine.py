"""Read the words of drawn pages with RapidOCR, in a process of its own.

PDFium draws a page, one model finds lines of text, another reads them; both come with the package and run on the ONNX
Runtime. Nothing is downloaded. Only `scans.py` asks, for pages whose text cannot be read otherwise.

request   task ("digests" or "words"), password, wanted (pages, 1-based, each before null), step, and the limits
answer    JSON lines: per page `begin`, then `digest` of its pixels, or `words`: width and height as a reader holds it,
          in points, and its lines in the form of `LineFound`, from the top of the page

If the process dies, the page that it began last is to blame.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import signal
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2_raw as pdfium

from colde_cli.documents.appearance_engine import bytes_of, draw_page
from colde_cli.documents.pdf.pdfium_engine import from_head, open_document
from colde_cli.documents.worker import Request, limit_step, send

Handle = Any  # a pointer of ctypes
Array = Any  # of NumPy, which is imported late

_DOTS = 200 / 72  # pixels for a point
_LONGEST_SIDE = 2_600  # pixels of a drawn page; larger pages are drawn smaller
_SEARCHED_SIDE = 1_280  # pixels of the page in which lines are looked for
_PATIENCE = 5  # wall time of a page, by its processor time: other programs run, too
_BATCH = 6
_NARROWEST = 320 / 48  # width by height: the recogniser takes nothing narrower
_WIDEST = 70.0
_STRETCH = 1.15
"""Lines are read so much wider than they are: a column of the recogniser must not hold both of two narrow letters."""
_MOST_LINES = 1_500
_TURNED_SHARE = 0.6
"""Share of the lines of a page that must stand upright, or on their heads, before the page is turned."""
_ASKED = 8
"""Lines that are asked whether they stand on their heads."""
_SKEW = 20.0  # degrees; steeper lines are no part of a page that was put down askew
_BLANK = 0.62
"""Share of the height of a line between the middles of two letters beyond the usual distance: a blank was missed."""
_SPECK = 0.04  # share of a column of a line that may be ink and is none
_OF_BLANKS = 0.75  # width of a blank that was missed, by those of its line that were seen
_FEWEST_BLANKS = 3
"""Minimum number of blanks of a line that tell how wide one is."""
_USUAL_BLANK = 0.25  # heights of a line
_OF_LETTERS = 2  # a blank is so much wider than the paper between letters
_NEAR = 0.2  # heights from the middle of a letter, within which it may stand


LineFound = list[Any]
"""A line: its words; left, top, right and foot, in points from the upper left corner of the page as it is held; the
first and the last row of its ink, as shares of its height; the thickness of its strokes, in points; and three points in
the page's own coordinates: its upper left corner, that of one pixel further along the line, its lower left corner.

A word is its letters, the confidence of the least certain one, and where it begins and ends along the line, in pixels.
"""


class Picture(NamedTuple):
    """A drawn page: its pixels [height, width, 3], and where a pixel is on the page."""

    pixels: Array
    scale: float  # pixels for a point
    origin: tuple[float, float]  # of the upper left corner, in the page's own coordinates
    right: tuple[float, float]  # one pixel to the right
    down: tuple[float, float]


def answer(request: Request, data: bytes) -> None:
    """Answer a request for a file."""
    limit_step(request["step"])
    data = from_head(data)
    document = open_document(data, request["password"])
    if document:
        reader: WordReader | None = None
        form = pdfium.FPDFDOC_InitFormFillEnvironment(document, info := pdfium.FPDF_FORMFILLINFO(version=2))
        pdfium.FPDF_SetFormFieldHighlightAlpha(form, 0)
        for number, _ in request["wanted"]:
            limit_step(request["step"])
            if hasattr(signal, "setitimer"):
                # A page that waits for something takes no processor time.
                signal.setitimer(signal.ITIMER_REAL, _PATIENCE * request["step"])
            send("begin", of=number)
            picture = draw(document, form, number)
            if picture is None:
                continue
            if request["task"] == "digests":
                digest = hashlib.sha256(repr((picture.pixels.shape, *picture[1:])).encode())
                digest.update(picture.pixels)
                send("digest", number=number, digest=digest.hexdigest())
                continue
            reader = reader or WordReader(request["threads"])
            lines, width, height = lines_of(picture, reader)
            send("words", number=number, width=width, height=height, lines=lines)
        if request["kept"]:
            pdfium.FPDFDOC_ExitFormFillEnvironment(form)
            pdfium.FPDF_CloseDocument(document)
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
        del info
    send("end")


def warm_up() -> None:
    """Import what every child would import anew."""
    import cv2  # noqa: F401
    import rapidocr.main  # noqa: F401


def draw(document: Handle, form: Handle, number: int) -> Picture | None:
    """Draw a page; None if PDFium cannot."""
    import numpy as np

    made = draw_page(document, form, number, _DOTS, _LONGEST_SIDE)
    if made is None:
        return None
    page, bitmap, size = made
    width, height = pdfium.FPDFBitmap_GetWidth(bitmap), pdfium.FPDFBitmap_GetHeight(bitmap)
    rows = np.frombuffer(bytes_of(bitmap), np.uint8).reshape(height, -1, 4)
    pixels = np.ascontiguousarray(rows[:, :width, :3])
    corners = []
    for x, y in ((0, 0), (width, 0), (0, height)):
        at = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDF_DeviceToPage(page, 0, 0, width, height, 0, x, y, *at)
        corners.append([value.value for value in at])
    (left, top), right, down = corners
    pdfium.FPDFBitmap_Destroy(bitmap)
    pdfium.FPDF_ClosePage(page)
    return Picture(
        pixels,
        min(_DOTS, _LONGEST_SIDE / max(*size, 1)),
        (left, top),
        ((right[0] - left) / width, (right[1] - top) / width),
        ((down[0] - left) / height, (down[1] - top) / height),
    )


class WordReader:
    """The two models, and what turns a picture into lines."""

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR
        from rapidocr.ch_ppocr_cls import TextClassifier
        from rapidocr.ch_ppocr_det import TextDetector
        from rapidocr.ch_ppocr_rec import TextRecognizer

        settings = RapidOCR(
            params={"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": threads}
        ).cfg
        for part in (settings.Det, settings.Rec, settings.Cls):
            part.engine_cfg, part.model_root_dir = settings.EngineConfig.onnxruntime, settings.Global.model_root_dir
        settings.Rec.font_path = None
        # A narrow page would be drawn larger, up to 736 pixels across, and take minutes.
        settings.Det.limit_type, settings.Det.limit_side_len = "max", _SEARCHED_SIDE
        self.detector, self.recogniser = TextDetector(settings.Det), TextRecognizer(settings.Rec)
        self.classifier = TextClassifier(settings.Cls)

    def quads(self, pixels: Array) -> Array:
        """Find the lines of a picture: corners [n, 4, 2] from the upper left one, clockwise as the words run."""
        import cv2
        import numpy as np

        height, width = pixels.shape[:2]
        share = min(1.0, _SEARCHED_SIDE / max(height, width))
        small = cv2.resize(
            pixels, [max(32, round(side * share / 32) * 32) for side in (width, height)], interpolation=cv2.INTER_AREA
        )
        found = self.detector(small).boxes
        if found is None:
            return np.zeros((0, 4, 2), np.float32)
        scales = (width / small.shape[1], height / small.shape[0])
        return (np.asarray(found, np.float32) * np.array(scales, np.float32))[:_MOST_LINES]

    def upright(self, pixels: Array) -> tuple[Array, Array, int]:
        """Turn a page as a reader holds it: its pixels, its lines, and by how many quarters it was turned."""
        import numpy as np

        turns, quads = 0, self.quads(pixels)
        sides = _sides(quads)
        if len(quads) and np.mean(sides[:, 1] > 1.5 * sides[:, 0]) > _TURNED_SHARE:
            turns, pixels = 1, np.ascontiguousarray(np.rot90(pixels))
            quads = self.quads(pixels)
            sides = _sides(quads)
        longest: Array = np.argsort(-sides[:, 0])[:_ASKED]
        crops = [_cut_out(pixels, quads[index]) for index in longest]
        if crops:
            answers = self.classifier(crops).cls_res or ()
            if np.mean([label == "180" and score > 0.8 for label, score in answers]) > _TURNED_SHARE:
                turns, pixels = turns + 2, np.ascontiguousarray(np.rot90(pixels, 2))
                quads = self.quads(pixels)
        return pixels, quads, turns

    def texts(self, crops: Sequence[Array]) -> list[tuple[str, list[float], list[float]]]:
        """Read lines: letters, how sure each is, and where its middle is, in heights of the line from its left end."""
        import cv2
        import numpy as np

        crops = [cv2.resize(crop, None, fx=_STRETCH, fy=1, interpolation=cv2.INTER_CUBIC) for crop in crops]
        shapes = [crop.shape[1] / max(1, crop.shape[0]) for crop in crops]
        read: list[tuple[str, list[float], list[float]]] = [("", [], [])] * len(crops)
        order = sorted(range(len(crops)), key=shapes.__getitem__)
        letters = self.recogniser.postprocess_op.character
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            widest = min(_WIDEST, max(_NARROWEST, *(shapes[index] for index in batch)))
            inputs = np.stack([self.recogniser.resize_norm_img(crops[index], widest) for index in batch])
            likely = self.recogniser.session(inputs.astype(np.float32))
            best, sure = likely.argmax(axis=2), likely.max(axis=2)
            step = inputs.shape[3] / likely.shape[1] / inputs.shape[2] / _STRETCH  # heights for a column
            for row, index in enumerate(batch):
                # A letter is where the class changes; class 0 stands between letters (CTC).
                kept = best[row] != 0
                kept[1:] &= best[row, 1:] != best[row, :-1]
                columns = np.flatnonzero(kept)
                read[index] = (
                    "".join(letters[best[row, column]] for column in columns),
                    [float(sure[row, column]) for column in columns],
                    [float(column + 0.5) * step for column in columns],
                )
        return read


def _sides(quads: Array) -> Array:
    """Width and height [n, 2] of corners [n, 4, 2]."""
    import numpy as np

    if not len(quads):
        return np.zeros((0, 2), np.float32)
    return np.stack(
        [np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1), np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)], axis=1
    )


def _cut_out(pixels: Array, quad: Array) -> Array:
    import cv2
    import numpy as np

    (width, height) = (max(4, math.ceil(side)) for side in _sides(quad[None])[0])
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), corners)
    return cv2.warpPerspective(pixels, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)


def _ink(crop: Array) -> Array:
    import cv2

    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    _, ink = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    return 255 - ink if ink.mean() > 127 else ink


def _stroke(ink: Array) -> tuple[float, float, float]:
    """Rows of the ink of a line, its first and its last, and the thickness of its strokes, in heights of the line."""
    import cv2
    import numpy as np

    rows = (ink > 0).sum(axis=1)
    filled = np.flatnonzero(rows > 0.15 * rows.max()) if rows.any() else np.array([0, ink.shape[0] - 1])
    outlines, _ = cv2.findContours(ink, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    around = sum(len(outline) for outline in outlines) or 1
    height = ink.shape[0]
    return filled[0] / height, (filled[-1] + 1) / height, 2 * int((ink > 0).sum()) / around / height


def _gaps(ink: Array) -> list[tuple[float, float]]:
    """Where a line has no ink: begin and end of each such stretch, in heights of the line."""
    import numpy as np

    height = ink.shape[0]
    empty = (ink > 0).sum(axis=0) <= _SPECK * height
    ends = np.flatnonzero(np.diff(empty.astype(np.int8)) != 0) / height
    inner = ends[int(empty[0]) :].tolist()  # before and after the line is the margin
    return list(zip(inner[::2], inner[1::2], strict=False))


def lines_of(picture: Picture, reader: WordReader) -> tuple[list[LineFound], float, float]:
    """Read a picture: its lines in the form of `LineFound`, and its width and height, in points."""
    import numpy as np

    pixels, quads, turns = reader.upright(picture.pixels)
    height, width = pixels.shape[:2]
    crops = [_cut_out(pixels, quad) for quad in quads]
    read = reader.texts(crops)
    slopes = [math.degrees(math.atan2(*(quad[1] - quad[0])[::-1])) for quad in quads]
    level = [slope for slope, crop in zip(slopes, crops, strict=True) if crop.shape[1] > 5 * crop.shape[0]]
    skew = float(np.median(level)) if level else 0.0
    skew = skew if abs(skew) < _SKEW else 0.0
    sine, cosine = math.sin(math.radians(-skew)), math.cos(math.radians(-skew))
    lines: list[LineFound] = []
    for quad, crop, (letters, sure, middles) in zip(quads, crops, read, strict=True):
        ink = _ink(crop)
        words = list(_words(letters, sure, middles, _gaps(ink)))
        if not words:
            continue
        first, last, stroke = _stroke(ink)
        size = float(crop.shape[0])
        # Where the page lies askew, its lines are made level around its middle.
        turned = [
            (
                (x - width / 2) * cosine - (y - height / 2) * sine + width / 2,
                (x - width / 2) * sine + (y - height / 2) * cosine + height / 2,
            )
            for x, y in quad.tolist()
        ]
        left, right = turned[0][0], turned[1][0]
        top, foot = (turned[0][1] + turned[1][1]) / 2, (turned[3][1] + turned[2][1]) / 2
        along = (quad[1] - quad[0]) / max(1.0, float(np.linalg.norm(quad[1] - quad[0])))
        corners = [_on_page(picture, turns, pixels.shape, point) for point in (quad[0], quad[0] + along, quad[3])]
        lines.append(
            [
                [
                    [word, round(min(some), 3), round(start * size, 1), round(end * size, 1)]
                    for word, some, start, end in words
                ],
                *(round(value / picture.scale, 2) for value in (left, top, right, foot)),
                round(first, 3),
                round(last, 3),
                round(stroke * size / picture.scale, 3),
                [round(value, 3) for corner in corners for value in corner],
            ]
        )
    return lines, width / picture.scale, height / picture.scale


def _words(
    letters: str, sure: Sequence[float], middles: Sequence[float], gaps: Sequence[tuple[float, float]]
) -> Iterator[tuple[str, list[float], float, float]]:
    """Divide the letters of a line into words: letters, how sure each is, and where they begin and end, in heights."""
    solid = [index for index, letter in enumerate(letters) if not letter.isspace()]
    steps = sorted(middles[two] - middles[one] for one, two in pairwise(solid) if two == one + 1)
    usual = steps[len(steps) // 2] if steps else 0.5
    missed = _missed_blanks(letters, solid, middles, gaps, usual)
    word: list[int] = []
    for index in solid:
        if word:
            distance = middles[index] - middles[word[-1]]
            narrow = letters[index].isascii() and letters[word[-1]].isascii()
            if index > word[-1] + 1 or index in missed or (narrow and distance > usual + _BLANK):
                yield _word(word, letters, sure, middles, usual)
                word = []
        word.append(index)
    if word:
        yield _word(word, letters, sure, middles, usual)


def _missed_blanks(
    letters: str,
    solid: Sequence[int],
    middles: Sequence[float],
    gaps: Sequence[tuple[float, float]],
    usual: float,
) -> set[int]:
    """Find the letters before which the paper is as wide as at the blanks that the recogniser saw in this line.

    Each blank that it saw claims the widest gap there: places of letters are known to a fifth of the height only.
    """
    claimed: dict[int, float] = {}
    pairs = list(pairwise(solid))
    for one, two in pairs:
        if two > one + 1 and (near := _between(gaps, middles[one] - _NEAR, middles[two] + _NEAR, claimed)):
            claimed[near[1]] = near[0]
    blank = sorted(claimed.values())[len(claimed) // 2] if len(claimed) >= _FEWEST_BLANKS else _USUAL_BLANK
    close = sorted((_between(gaps, middles[one], middles[two], claimed) or (0.0,))[0] for one, two in pairs)
    least = max(_OF_BLANKS * blank, _OF_LETTERS * close[len(close) // 2] if close else 0.0)
    missed = set()
    for one, two in pairs:
        apart = middles[two] - middles[one]
        if two > one + 1 or apart <= usual or not _may_be_parted(letters[one], letters[two]):
            continue
        free = _between(gaps, middles[one] + apart / 4, middles[two] - apart / 4, claimed)
        if free is not None and free[0] > least:
            missed.add(two)
    return missed


def _may_be_parted(one: str, two: str) -> bool:
    """Whether a blank may stand between two letters: there is none before a sign or within a number."""
    in_number = two.isdigit() and (one.isdigit() or one in ".,:/-")
    return one.isascii() and two.isascii() and two.isalnum() and not in_number


def _between(
    gaps: Sequence[tuple[float, float]], begin: float, end: float, claimed: Collection[int]
) -> tuple[float, int] | None:
    """The widest gap around a place between two others that nothing claimed yet: its width and number."""
    first = bisect_left(gaps, (begin - 1, 0.0))
    last = bisect_left(gaps, (end, 0.0))
    return max(
        (
            (gaps[number][1] - gaps[number][0], number)
            for number in range(first, last)
            if number not in claimed and begin < sum(gaps[number]) / 2 < end
        ),
        default=None,
    )


def _word(
    places: Sequence[int], letters: str, sure: Sequence[float], middles: Sequence[float], usual: float
) -> tuple[str, list[float], float, float]:
    return (
        "".join(letters[place] for place in places),
        [sure[place] for place in places],
        max(0.0, middles[places[0]] - usual / 2),
        middles[places[-1]] + usual / 2,
    )


def _on_page(picture: Picture, turns: int, shape: tuple[int, ...], point: Array) -> tuple[float, float]:
    """Where a pixel of a page that was turned by quarters is, in the page's own coordinates."""
    x, y = float(point[0]), float(point[1])
    height, width = shape[:2]
    for _ in range(turns % 4):  # `rot90` turned to the left
        x, y, height, width = height - y, x, width, height
    return (
        picture.origin[0] + x * picture.right[0] + y * picture.down[0],
        picture.origin[1] + x * picture.right[1] + y * picture.down[1],
    )
