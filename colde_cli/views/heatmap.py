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
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour.normalized
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_LABEL = (14, 44)  # columns for the headings of A, at least and at most
_GAP = 2


class HeatMap:
    """A rich renderable: a row for each section of A, a numbered column for each section of B.

    A cell shows its score in hundredths (`98` is 0.98) if the width allows it, else in tenths (`9`).
    Columns that do not fit follow in a further block below.
    """

    def __init__(self, scores: NDArray[np.float32], rows: Sequence[str], columns: int) -> None:
        """Show `scores` [n_a, n_b] of the sections named `rows` and of `columns` numbered ones."""
        self._scores, self._rows, self._columns = scores, rows, columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system is not None and not console.no_color
        cell = self._cell_width(options.max_width, coloured)
        label = self._label_width(options.max_width, cell)
        block = max(1, (options.max_width - label - _GAP) // cell)
        for start in range(0, self._columns, block):
            if start:
                yield Text()
            stop = min(self._columns, start + block)
            yield from self._header(label, cell, start, stop)
            for row, name in enumerate(self._rows):
                yield self._row(row, name, label, cell, start, stop)
        yield _legend(cell, coloured)

    def _cell_width(self, width: int, coloured: bool) -> int:
        # Two digits without a gap can only be told apart by their colours.
        for cell in (4, 3, 2, 1) if coloured else (4, 3, 1):
            if _LABEL[0] + _GAP + cell * self._columns + (12 if cell > 2 else 0) <= width:
                return cell
        return 1

    def _label_width(self, width: int, cell: int) -> int:
        longest = max(cell_len(name) for name in self._rows) + 4
        return max(_LABEL[0], min(longest, _LABEL[1], width - _GAP - cell * self._columns))

    def _header(self, label: int, cell: int, start: int, stop: int) -> list[Text]:
        numbers = [str(number + 1) for number in range(start, stop)]
        height = max(map(len, numbers)) if cell == 1 else 1
        lines = []
        for level in range(height):
            name = "A \\ B" if level == height - 1 else ""
            shown = [number.rjust(height)[level] if cell == 1 else number for number in numbers]
            line = Text(name.ljust(label + _GAP), style="dim", no_wrap=True)
            for place, text in enumerate(shown):
                # Numbers without a gap between them take turns.
                line.append(_placed(text, cell), style="bold" if place % 2 and cell < 3 else "")
            lines.append(line)
        return lines

    def _row(self, row: int, name: str, label: int, cell: int, start: int, stop: int) -> Text:
        text = Text(no_wrap=True)
        text.append(f"{row + 1:>3} ", style="dim")
        heading = Text(name)
        heading.truncate(label - 4, overflow="ellipsis", pad=True)
        text.append(heading).append(" " * _GAP)
        for score in self._scores[row, start:stop]:
            text.append(_digits(float(score), cell), style=score_style(float(score)))
        return text


def _legend(cell: int, coloured: bool) -> Text:
    unit = "tenths (9 is 0.9 or more)" if cell == 1 else "hundredths"
    text = Text(f"Cosines in {unit}. ", style="dim")
    if coloured:
        text.append(f"{FAINT} ")
        steps = [FAINT + (1.0 - FAINT) * step / 15 for step in range(16)]
        for step in steps:
            text.append(" ", style=score_style(step))
        text.append(" 1")
    return text


def _digits(score: float, cell: int) -> str:
    if cell == 1:
        return "·" if score < 0.1 else str(min(9, int(score * 10)))
    hundredths = round(score * 100)
    return _placed("·" if hundredths < 1 else "1." if hundredths >= 100 else f"{hundredths:02}", cell)


def _placed(text: str, cell: int) -> str:
    return text.rjust(min(cell, 3)).ljust(cell)
