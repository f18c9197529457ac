"""Ask PDFium for the letters of a page and for their places, inside the reader process of `pdfium_engine.py`.

A call through ctypes costs as much as ten lines of Python. So the text of a page is asked for as a whole. Type and
baseline belong to a text object, which is often a whole line: they are asked for at its ends only. The box of every
letter is asked for only where marks are to be drawn on the page. A word of several text objects is written with signs
for its super- and subscripts, found by size and baseline, and with blanks between numbers that stand apart.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import pypdfium2_raw as pdfium

from colde_cli.documents.notation import lowered, raised
from colde_cli.documents.pdf.annotations import Entry
from colde_cli.documents.pdf.parts import page_objects, pictured, quick

Handle = Any  # a pointer of ctypes, or a function of the library
LetterStyle = tuple[float, str, int, bool, int, bool]
"""Size in points, font, weight (0 unknown), italic, angle in degrees, hidden."""
LineValues = tuple[str, float, float, float, int, int, bool, Sequence[tuple[LetterStyle, int]]]
"""Text, x0, baseline, x1, angle, mark, ruled, and the number of letters of each run of words in one style."""
LineBoxes = tuple[str, float, list[float]]
"""The letters of a line, its direction in degrees, and four numbers for each letter.

They are begin and end along the direction, foot and top across it: points of the page's own coordinates, turned by the
direction.
"""
Run = tuple[int, int, LetterStyle, int, float, float]
"""Words of a line that belong to one text object and stand on one baseline; else one word.

The index of its first word among those of the line, and the index after its last; style; address of the font, 0 where
it is not known; where its first or its last word begins, whichever is further to the left; baseline.
"""

HYPHENS = ("\x02", "\ufffe")
"""Characters that PDFium puts where it joins a word over the end of a line."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ud802\ud803\ud83a\ud83b\ufb1d-\ufdff\ufe70-\ufefc]")
_INVISIBLE = frozenset((3, 7))  # text rendering modes that paint nothing (ISO 32000-1, table 106)
_FIRST = itemgetter(0)
_NOTHING: LetterStyle = (0.0, "", 0, False, 0, False)
_AROUND_WORDS = ".,;:!?()[]{}\"'“”‘’"
_SHORT = 3  # letters; in a longer word without digits a script is at the end
_DESCENT, _ASCENT = 0.22, 0.78  # shares of the size that a letter may take below and above its baseline
_SMALL, _SMALLEST = 0.86, 0.4  # sizes of a script, as shares of that of the word
_RAISED, _LOWERED = 0.12, -0.04  # baselines of a script, in sizes of the word
_RAISED_WHOLE, _LOWERED_WHOLE = 0.25, -0.2  # of a script in letters as large as the word's
_FARTHEST = 0.9
_LONGEST = 2  # maximum number of raised letters; more, after a large one, are a word that begins with an initial
_GAP, _OVERLAP = 0.08, -0.3  # sizes between two numbers that are not one
_OF_NUMBERS = frozenset(".,'’%‰")
_SLASHES = frozenset("/⁄∕")

_ADDRESS = ctypes.c_void_p
# Without types of arguments a call is quicker still; such a function takes `c_void_p`, `byref` and small integers only.
_unicode = quick(pdfium.FPDFText_GetUnicode, ctypes.c_uint)
_object = quick(pdfium.FPDFText_GetTextObject, _ADDRESS)
_origin = quick(pdfium.FPDFText_GetCharOrigin, ctypes.c_int)
_box = quick(pdfium.FPDFText_GetCharBox, ctypes.c_int)
_map_error = quick(pdfium.FPDFText_HasUnicodeMapError, ctypes.c_int)
_bounds = quick(pdfium.FPDFPageObj_GetBounds, ctypes.c_int)
_font_size = quick(pdfium.FPDFTextObj_GetFontSize, ctypes.c_int, _ADDRESS, _ADDRESS)
_matrix = quick(pdfium.FPDFPageObj_GetMatrix, ctypes.c_int, _ADDRESS, _ADDRESS)
_font_of = quick(pdfium.FPDFTextObj_GetFont, _ADDRESS, _ADDRESS)
_render_mode = quick(pdfium.FPDFTextObj_GetTextRenderMode, ctypes.c_int, _ADDRESS)


class WordPiece(NamedTuple):
    """Letters of a word that belong to one text object; all lengths are in points."""

    text: str
    size: float
    base: float
    before: float = 0.0  # distance from the letter before; 0 where nobody asked
    spacing: float = 0.0  # usual distance between letters


class PageText:
    """The text of a page, by PDFium's numbers of characters; surrogate pairs of Unicode count as two."""

    def __init__(self, page: Handle) -> None:
        self.handle = pdfium.FPDFText_LoadPage(page)
        self.count = max(0, pdfium.FPDFText_CountChars(self.handle))
        self._text = ctypes.cast(self.handle, ctypes.c_void_p)
        self._styles: dict[int, tuple[LetterStyle, int]] = {}
        self._known: dict[tuple[bytes, int, int], LetterStyle] = {}
        self._clear: dict[int, set[str]] = {}
        self._type = bytearray(28)  # size and matrix of a text object, as floats
        self._head = (ctypes.c_char * 20).from_buffer(self._type)  # without the place
        self._at = ctypes.addressof(self._head)
        self._name = ctypes.create_string_buffer(256)
        self._numbers = [ctypes.c_double() for _ in range(4)]
        self._out = [ctypes.byref(number) for number in self._numbers]
        self._rectangle = pdfium.FS_RECTF()
        self._ordered = True

    def read(self) -> str:
        """Read all characters, so that the place in the string is PDFium's number of the character."""
        buffer = (ctypes.c_ushort * (self.count + 1))()
        size = pdfium.FPDFText_GetText(self.handle, 0, self.count, buffer) - 1
        units = bytes(buffer)[: 2 * max(0, size)]
        text = units.decode("utf-16-le", "surrogatepass")
        if len(text) < size:  # letters of two units count as two
            text = "".join(map(chr, struct.unpack(f"<{size}H", units)))
        if len(text) < self.count:  # without the characters that PDFium leaves out of it (control codes)
            text = "".join(map(self._letter, range(self.count)))
        place = text.find(HYPHENS[1])
        while place >= 0:  # it stands for hyphens, and for characters without a meaning
            text = f"{text[:place]}{self._letter(place)}{text[place + 1 :]}"
            place = text.find(HYPHENS[1], place + 1)
        # Where writing directions mix, the letters of an object may stand apart.
        self._ordered = _RIGHT_TO_LEFT.search(text) is None
        return text

    def _letter(self, index: int) -> str:
        code = _unicode(self._text, index)
        return chr(code) if code < 0x110000 else "\ufffd"

    def runs(
        self, words: Sequence[str], begins: Sequence[int], before: LetterStyle | None
    ) -> tuple[list[Run], list[int]]:
        """Divide the words of a line into runs; also return the indices of words that end in another text object.

        `begins` are the numbers of their first characters. Characters that belong to no object have the style of the
        word before.
        """
        runs: list[Run] = []
        mixed: list[int] = []
        first = 0
        for item, end in self._objects(begins):
            last = end - 1
            if len(words[last]) > 1 and _object(self._text, begins[last] + len(words[last]) - 1) != item:
                mixed.append(last)
            style, font = self._style(item) if item else (before or _NOTHING, 0)
            before = style
            x, y = self.origin(begins[first])
            if end - first == 1:
                runs.append((first, end, style, font, x, y))
            else:
                other, level = self.origin(begins[end - 1])
                if y == level:
                    runs.append((first, end, style, font, min(x, other), y))
                else:
                    places = map(self.origin, begins[first:end])
                    runs += [(word, word + 1, style, font, *at) for word, at in enumerate(places, first)]
            first = end
        return runs, mixed

    def written(self, word: str, begin: int) -> str:
        """Write a word of several text objects: its super- and subscripts, and blanks between its numbers."""
        if self._is_plain(word, begin):
            return word
        items = [_object(self._text, begin + place) for place in range(len(word))]
        places = [place for place, item in enumerate(items) if place == 0 or (item and item != items[place - 1])]
        styles = [self._style(items[place])[0] if items[place] else _NOTHING for place in places]
        if not self._ordered or any(style[4] for style in styles):
            return word
        pieces = []
        for place, after, style in zip(places, [*places[1:], len(word)], styles, strict=True):
            asked = place and _touch(word[place - 1], word[place])
            before = self._gap(begin + place) if asked else 0.0
            spacing = self._gap(begin + place + 1) if after - place > 1 else 0.0
            base = self.origin(begin + place)[1]
            pieces.append(WordPiece(word[place:after], style[0], base, before, spacing))
        return join_pieces(pieces)

    def _is_plain(self, word: str, begin: int) -> bool:
        """Whether a word of letters ends on the baseline on which it begins; some files place every letter."""
        core = word.strip(_AROUND_WORDS)
        if len(core) <= _SHORT or not core.isalpha():
            return False
        first = begin + word.index(core)
        return self.origin(first)[1] == self.origin(first + len(core) - 1)[1]

    def _gap(self, index: int) -> float:
        """The distance from the end of the letter before to a character, without the letter's ink: by its advance."""
        if not pdfium.FPDFText_GetLooseCharBox(self.handle, index - 1, self._rectangle):
            return 0.0
        return self.origin(index)[0] - float(self._rectangle.right)

    def _objects(self, begins: Sequence[int]) -> list[tuple[int | None, int]]:
        """Find the text objects of the words of a line, each with the index after its last word."""
        text, last = self._text, len(begins) - 1
        item = _object(text, begins[0])
        if not last or (self._ordered and item == _object(text, begins[last])):
            return [(item, last + 1)]
        items = [_object(text, begin) for begin in begins]
        return [
            (item, end)
            for end, (item, after) in enumerate(zip(items, [*items[1:], -1], strict=True), 1)
            if item != after
        ]

    def origin(self, index: int) -> tuple[float, float]:
        """The place of a character: on its baseline, where it begins."""
        x, y, _, _ = self._numbers
        _origin(self._text, index, self._out[0], self._out[1])
        return x.value, y.value

    def box(self, index: int) -> tuple[float, float, float, float] | None:
        """Left, right, foot and top of a character; None if PDFium does not know it."""
        if not _box(self._text, index, *self._out):
            return None
        left, right, foot, top = self._numbers
        return left.value, right.value, foot.value, top.value

    def boxes(self, words: Sequence[tuple[int, int]]) -> LineBoxes:
        """Read the boxes of the letters of a line, given the ranges of characters of its words.

        Those of one line are equally high wherever the size of the type is known.
        """
        places = [index for start, end in words for index in range(start, end)]
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self.handle, places[0], matrix)
        angle = math.atan2(matrix.b, matrix.a)
        sine, cosine = math.sin(angle), math.cos(angle)
        letters = "".join(map(self._letter, places))
        values: list[float] = []
        for at, index in enumerate(places):
            # A letter outside the basic plane takes two places; written as JSON, both become one letter again.
            if at and "\ud800" <= letters[at - 1] < "\udc00" <= letters[at] < "\ue000":
                continue
            left, right, bottom, top = self.box(index) or (0.0, 0.0, 0.0, 0.0)
            x, y = self.origin(index)
            along = [u * cosine + v * sine for u in (left, right) for v in (bottom, top)]
            across = [v * cosine - u * sine for u in (left, right) for v in (bottom, top)]
            foot, head, base = min(across), max(across), y * cosine - x * sine
            pdfium.FPDFText_GetMatrix(self.handle, index, matrix)
            size = float(pdfium.FPDFText_GetFontSize(self.handle, index)) * math.hypot(matrix.c, matrix.d)
            # The size of some fonts says nothing about their letters; then only the shape of the letter counts.
            if foot > base - size and head < base + 1.3 * size and head - foot > 0.02 * size:
                foot, head = base - _DESCENT * size, base + _ASCENT * size
            values += (round(value, 2) for value in (min(along), max(along), foot, head))
        return letters, math.degrees(angle), values

    def guessed(self, words: Sequence[str], begins: Sequence[int], font: int) -> int:
        """Count the letters of words of which PDFium guessed the first; letters of one font are asked for once."""
        known = self._clear.get(font)
        if known is None:
            known = self._clear[font] = set()
        if known.issuperset(map(_FIRST, words)):
            return 0
        count = 0
        for word, begin in zip(words, begins, strict=True):
            if word[0] in known:
                continue
            if _map_error(self._text, begin) == 1:
                count += len(word)
            else:
                known.add(word[0])
        return count

    def style(self, index: int) -> LetterStyle | None:
        """Read size, font, weight, italic, angle and hidden from a character's text object; None if it has none."""
        item = _object(self._text, index)
        return self._style(item)[0] if item else None

    def _style(self, item: int) -> tuple[LetterStyle, int]:
        known = self._styles.get(item)
        if known is None:
            known = self._styles[item] = self._read_style(item)
        return known

    def _read_style(self, item: int) -> tuple[LetterStyle, int]:
        """Read the style and the font of an object; objects with the same numbers share a style."""
        _font_size(item, self._at)
        turned = _matrix(item, self._at + 4)
        font = _font_of(item) or 0
        key = self._head.raw if turned else b"", font, _render_mode(item)
        style = self._known.get(key)
        if style is None:
            size, *numbers = struct.unpack("7f", self._type)
            scale, angle = 1.0, 0
            if turned:
                a, b, c, d, _, _ = numbers
                scale = math.hypot(c, d) or 1.0
                angle = round(math.degrees(math.atan2(b, a))) % 360
            hidden = key[2] in _INVISIBLE
            style = self._known[key] = (abs(size * scale), *self._font(font), angle, hidden)
        return style, font

    def _font(self, address: int) -> tuple[str, int, bool]:
        if not address:
            return "", 0, False
        font = ctypes.cast(address, pdfium.FPDF_FONT)
        size = pdfium.FPDFFont_GetBaseFontName(font, self._name, 256)
        name = self._name.value.decode("utf-8", "replace") if 0 < size <= 256 else ""
        flags = pdfium.FPDFFont_GetFlags(font)
        weight = 700 if flags > 0 and flags & 1 << 18 else pdfium.FPDFFont_GetWeight(font)
        return name, weight, bool(flags > 0 and flags & 1 << 6)


def _touch(left: str, right: str) -> bool:
    """Whether two neighbouring letters would be one number if there is no blank between them."""
    return (left.isdigit() and (right.isdigit() or right in _OF_NUMBERS)) or (left in _OF_NUMBERS and right.isdigit())


def join_pieces(pieces: Sequence[WordPiece]) -> str:
    """Join the pieces of a word."""
    largest = max(pieces, key=lambda piece: piece.size)
    levels = [_level(piece, largest) for piece in pieces]
    if not any(levels):
        return _numbers_apart(pieces)
    runs = [
        (level, "".join(piece.text for piece, _ in group))
        for level, group in groupby(zip(pieces, levels, strict=True), key=lambda pair: pair[1])
    ]
    written = ""
    for index, (level, text) in enumerate(runs):
        following = runs[index + 1 : index + 3]
        if level > 0 and _is_fraction(text, following):
            written += f" {text}" if written[-1:].isalnum() else text
        elif level and not _is_logo(level, text, following):
            script = raised(written, text) if level > 0 else lowered(written, text)
            ambiguous = script[-1:].isdigit() and script != text and bool(following) and following[0][0] == 0
            if ambiguous and following[0][1][:1].isdigit():
                script = f"{script[0]}({script[1:]})"
            written += script
        else:
            written += text
    return written


def _level(piece: WordPiece, largest: WordPiece) -> int:
    """1 for a superscript, -1 for a subscript, else 0."""
    if not largest.size:
        return 0
    share, rise = piece.size / largest.size, (piece.base - largest.base) / largest.size
    level = 0
    if _SMALLEST <= share <= _SMALL:
        level = (_RAISED < rise < _FARTHEST) - (-_FARTHEST < rise < _LOWERED)
    if not level and piece.size >= _SMALL * largest.size and piece.text.isdigit():
        level = (_RAISED_WHOLE < rise < _FARTHEST) - (-_FARTHEST < rise < _LOWERED_WHOLE)
    return level


def _is_logo(level: int, text: str, following: Sequence[tuple[int, str]]) -> bool:
    """Whether raised letters are part of a word: in LaTeX's logo, or after a large initial."""
    if level < 0 or not text.isalpha():
        return False
    return len(text) > _LONGEST or bool(following and not following[0][0] and following[0][1][:1].isalpha())


def _is_fraction(text: str, following: Sequence[tuple[int, str]]) -> bool:
    """Whether raised digits are the upper part of a fraction that goes on with a slash and lower digits."""
    if not text.rstrip("/⁄∕").isdigit() or not following:
        return False
    slash = text[-1] in _SLASHES or following[0][1][0] in _SLASHES
    return slash and following[-1][1][-1:].isdigit()


def _numbers_apart(pieces: Sequence[WordPiece]) -> str:
    """Put a blank where two numbers meet that stand apart, as those of two cells do."""
    apart = [_is_apart(one, other) for one, other in pairwise(pieces)]
    if all(apart) and all(len(piece.text) == 1 for piece in pieces):  # spaced letters
        apart = [False] * len(apart)
    words = [f" {piece.text}" if blank else piece.text for piece, blank in zip(pieces, [False, *apart], strict=True)]
    return "".join(words)


def _is_apart(one: WordPiece, other: WordPiece) -> bool:
    if not _touch(one.text[-1], other.text[0]):
        return False
    size = max(one.size, other.size)
    gap = other.before - max(one.spacing, other.spacing, 0.0)
    return gap >= _GAP * size or other.before <= _OVERLAP * size


def survey_objects(page: Handle) -> tuple[set[int], list[tuple[float, float, float]], list[int]]:
    """Find the kinds of the objects of a page, strokes, and the addresses of what is or may hold a picture.

    Strokes are thin and horizontal, and may underline a heading: left end, right end and height.
    """
    strokes = []
    numbers = [ctypes.c_float() for _ in range(4)]
    left, foot, right, top = numbers
    out = [ctypes.byref(number) for number in numbers]
    items, kinds = page_objects(page)
    for item, kind in zip(items, kinds, strict=True):
        if kind != pdfium.FPDF_PAGEOBJ_PATH or not _bounds(_ADDRESS(item), *out):
            continue
        if top.value - foot.value < 3 and right.value - left.value > 10:
            strokes.append((left.value, right.value, foot.value))
    return set(kinds), strokes, pictured(items, kinds)


def entry_boxes(entry: Entry) -> LineBoxes:
    """Divide the line of a filled-in value evenly among its letters."""
    text, x0, base, x1, size = entry
    step = (x1 - x0) / len(text)
    shown = [(place, letter) for place, letter in enumerate(text) if not letter.isspace()]
    across = (base - _DESCENT * size, base + _ASCENT * size)
    boxes = [value for place, _ in shown for value in (x0 + step * place, x0 + step * (place + 1), *across)]
    return "".join(letter for _, letter in shown), 0.0, boxes
