"""The heat map of section scores in the terminal, and its colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

# Viridis (van der Walt and Smith 2015, CC0) from end to end: even steps of lightness, safe for colour-blind eyes.
_RAMP = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725".split()
_STOPS = [ColorTriplet(*bytes.fromhex(stop)) for stop in _RAMP]
_INK, _PAPER = ColorTriplet(0, 0, 0), ColorTriplet(255, 255, 255)

FAINT = 0.2
"""Scores below this get no colour: they recede on dark and on light terminals."""


def score_style(score: float) -> Style:
    """Background for a score in [-1, 1], with the text colour of highest contrast."""
    if score < FAINT:
        return Style(dim=True)
    back = ramp((score - FAINT) / (1.0 - FAINT))
    front = max(_INK, _PAPER, key=lambda text: contrast(text, back))
    return Style(color=Color.from_triplet(front), bgcolor=Color.from_triplet(back))


def ramp(position: float) -> ColorTriplet:
    """The colour at a position in [0, 1], dark violet to yellow."""
    place = min(1.0, max(0.0, position)) * (len(_STOPS) - 1)
    low = min(int(place), len(_STOPS) - 2)
    share = place - low
    first, second = _STOPS[low], _STOPS[low + 1]
    mixed = [round(x + (y - x) * share) for x, y in zip(first, second, strict=True)]
    return ColorTriplet(*mixed)


def contrast(a: ColorTriplet, b: ColorTriplet) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: ColorTriplet) -> float:
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_LABEL = (14, 44)  # columns for the headings of A, at least and at most
_GAP, _CELL = 2, 3


class HeatMap:
    """A rich renderable: a row for each section of A, a numbered column for each section of B.

    A cell is a blank and the score in hundredths (`98` is 0.98). Columns that do not fit follow in further parts below.
    """

    def __init__(self, scores: NDArray[np.float32], rows: Sequence[str], columns: int) -> None:
        """Show `scores` [n_a, n_b] of the sections named `rows` and of `columns` numbered ones."""
        self._scores, self._rows, self._columns = scores, rows, columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _GAP
        longest = max(cell_len(name) for name in self._rows) + 4
        label = max(_LABEL[0], min(longest, _LABEL[1], room - _CELL * self._columns))
        block = max(1, (room - label) // _CELL)
        for start in range(0, self._columns, block):
            if start:
                yield Text()
            numbers = range(start, min(self._columns, start + block))
            head = "A \\ B".ljust(label + _GAP) + "".join(f"{number + 1:>{_CELL}}" for number in numbers)
            yield Text(head, "dim", no_wrap=True)
            for row, name in enumerate(self._rows):
                heading = Text(name)
                heading.truncate(label - 4, overflow="ellipsis", pad=True)
                text = Text.assemble((f"{row + 1:>3} ", "dim"), heading, " " * _GAP, no_wrap=True)
                for score in map(float, self._scores[row, start : start + block]):
                    text.append(" ").append(_digits(score), style=score_style(score))
                yield text
        yield Text("Scores in hundredths (1. is 1.00).", style="dim")


def _digits(score: float) -> str:
    hundredths = round(score * 100)
    return " ·" if hundredths < 1 else "1." if hundredths >= 100 else f"{hundredths:02}"
