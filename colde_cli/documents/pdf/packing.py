"""Pack the lines of a page for the way from a reader process to colde: each style once, numbers as bytes.

Both sides import this, so it needs nothing but the standard library.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

# size in points, font, weight (0 unknown), italic, angle in degrees, hidden
LetterStyle = tuple[float, str, int, bool, int, bool]
# text, x0, baseline, x1, angle, mark, ruled, and the number of letters of each run of words in one style
LineValues = tuple[str, float, float, float, int, int, bool, Sequence[tuple[LetterStyle, int]]]


def pack(lines: Sequence[LineValues]) -> dict[str, Any]:
    """Pack lines into what JSON can hold."""
    styles: dict[LetterStyle, int] = {}
    places, counts = array("d"), array("q")
    for _, x0, base, x1, angle, mark, ruled, runs in lines:
        places.extend((x0, base, x1))
        counts.extend((angle, mark, ruled, len(runs)))
        for style, letters in runs:
            counts.extend((styles.setdefault(style, len(styles)), letters))
    return {
        "texts": [line[0] for line in lines],
        "styles": list(styles),
        "places": b64encode(places.tobytes()).decode(),
        "counts": b64encode(counts.tobytes()).decode(),
    }


def unpack_places(packed: dict[str, Any]) -> array[float]:
    """Take the left end, baseline and right end of each line out of packed lines."""
    places = array("d")
    places.frombytes(b64decode(packed["places"]))
    return places


def unpack_counts(packed: dict[str, Any]) -> Iterator[tuple[int, int, int, list[int]]]:
    """Take angle, mark, ruled and runs of each line out of packed lines: of a run the style and the letters."""
    values = array("q")
    values.frombytes(b64decode(packed["counts"]))
    counts, at = values.tolist(), 0
    while at < len(counts):
        angle, mark, ruled, runs = counts[at : at + 4]
        end = at + 4 + 2 * runs
        yield angle, mark, ruled, counts[at + 4 : end]
        at = end
