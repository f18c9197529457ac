"""Write a word of several text objects: super- and subscripts by their size and baseline, and blanks between numbers.

It is imported by the reader process, so it needs nothing but the standard library and `notation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from colde_cli.documents.notation import lowered, raised

_SMALL, _SMALLEST = 0.86, 0.4  # sizes of a script, as shares of that of the word
_RAISED, _LOWERED = 0.12, -0.04  # baselines of a script, in sizes of the word
_RAISED_WHOLE, _LOWERED_WHOLE = 0.25, -0.2  # of a script in letters as large as the word's
_FARTHEST = 0.9
_LONGEST = 2
"""Maximum number of raised letters; more, after a large one, are a word that begins with an initial."""
_GAP, _OVERLAP = 0.08, -0.3  # sizes between two numbers that are not one
_OF_NUMBERS = frozenset(".,'’%‰")
_SLASHES = frozenset("/⁄∕")


@dataclass(slots=True)
class WordPiece:
    """Letters of a word that belong to one text object.

    Attributes:
        text: its letters.
        size: in points.
        base: baseline, in points above the foot of the page.
        before: distance from the letter before, in points; 0 where nobody asked.
        spacing: usual distance between letters, in points.
    """

    text: str
    size: float
    base: float
    before: float = 0.0
    spacing: float = 0.0


def touch(left: str, right: str) -> bool:
    """Whether two neighbouring letters would be one number if there is no blank between them."""
    return (left.isdigit() and (right.isdigit() or right in _OF_NUMBERS)) or (
        left in _OF_NUMBERS and right.isdigit()
    )


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


def script_level(size: float, base: float, of_size: float, of_base: float) -> int:
    """1 for letters that are smaller than others and raised, -1 for lowered ones, else 0."""
    if not of_size or not _SMALLEST <= size / of_size <= _SMALL:
        return 0
    rise = (base - of_base) / of_size
    return (_RAISED < rise < _FARTHEST) - (-_FARTHEST < rise < _LOWERED)


def _level(piece: WordPiece, largest: WordPiece) -> int:
    """1 for a superscript, -1 for a subscript, else 0."""
    level = script_level(piece.size, piece.base, largest.size, largest.base)
    if level or not largest.size or piece.size < _SMALL * largest.size or not piece.text.isdigit():
        return level
    rise = (piece.base - largest.base) / largest.size
    return (_RAISED_WHOLE < rise < _FARTHEST) - (-_FARTHEST < rise < _LOWERED_WHOLE)


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
    words = [
        f" {piece.text}" if blank else piece.text
        for piece, blank in zip(pieces, [False, *apart], strict=True)
    ]
    return "".join(words)


def _is_apart(one: WordPiece, other: WordPiece) -> bool:
    if not touch(one.text[-1], other.text[0]):
        return False
    size = max(one.size, other.size)
    gap = other.before - max(one.spacing, other.spacing, 0.0)
    return gap >= _GAP * size or other.before <= _OVERLAP * size
