"""Put the cells of tables that a PDF prints column by column in the order in which they are read, row by row.

Two columns of prose look alike, so that a table has to show itself: its columns stand side by side, their lines on the
same baselines, they are ragged, and they have few words. Where rows cannot be told, the lines stay as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from math import inf

from colde_cli.documents.pdf.lines import Line

_LEVEL = 2.0
"""Points by which the baselines of a row may differ."""
_FEWEST_ROWS, _FEWEST_COLUMNS = 3, 3
_FILLED = 0.8
"""Share of the rows in which each column has a cell, at least."""
_MOST_WORDS = 5.0
"""Mean number of words of a line of the cells, at most."""
_RAGGED, _FULL = 0.3, 0.85
"""Share of the lines of a column that are shorter than this share of its longest, at least; but columns of numbers."""
_APART = 1.4
"""Distances of the nearest lines that the rows of a table are apart, at least, if cells have several lines."""


def row_by_row(lines: Sequence[Line]) -> list[Line]:
    """Order the lines of a document so that tables are read row by row; all other lines keep their place."""
    ordered: list[Line] = []
    left = _falling(lines)[::-1]
    while left:
        first = left.pop()
        columns, after = _columns(first, left)
        rows = _rows(columns) if _is_table(columns) else None
        if rows is None:
            ordered += first
            continue
        del left[len(left) - len(columns) + 1 :]
        ordered += [*first[: len(first) - len(columns[0])], *rows]
        if after:
            left.append(after)
    return ordered


def _falling(lines: Sequence[Line]) -> list[list[Line]]:
    """Cut the lines where one does not stand below the one before it, on the same page."""
    stretches: list[list[Line]] = []
    for line in lines:
        if stretches and (before := stretches[-1][-1]).page == line.page and before.base - line.base > _LEVEL:
            stretches[-1].append(line)
        else:
            stretches.append([line])
    return stretches


def _columns(first: Sequence[Line], left: Sequence[Sequence[Line]]) -> tuple[list[list[Line]], list[Line]]:
    """The columns that begin beside one another, each to the right of the one before it, and what follows the last.

    Args:
        first: the lines of which the last ones may be the first column.
        left: the stretches after them, the next one last.
    """
    if not left or left[-1][0].page != first[0].page:
        return [], []
    top = left[-1][0].base
    columns, after = [[line for line in first if line.base < top + _LEVEL]], list[Line]()
    for stretch in reversed(left):
        right = max((line.x1 for line in columns[-1]), default=inf)
        if after or stretch[0].page != first[0].page or abs(stretch[0].base - top) > _LEVEL:
            break
        column = [*takewhile(lambda line, right=right: line.x0 > right and not line.angle, stretch)]  # type: ignore[misc]
        if not column:
            break
        columns.append(column)
        after = list(stretch[len(column) :])
    return columns, after


def _rows(columns: Sequence[Sequence[Line]]) -> list[Line] | None:
    """The lines of a table by rows; None where the cells of its first column have several lines."""
    if min(_gaps(columns[0])) < _APART * min(_gaps(line for column in columns for line in column)) and any(
        len(column) > len(columns[0]) for column in columns
    ):
        return None
    starts = [-line.base - _LEVEL for line in columns[0]]
    placed = [
        (bisect_left(starts, -line.base), number, -line.base, line)
        for number, column in enumerate(columns)
        for line in column
    ]
    return [line for *_, line in sorted(placed, key=lambda item: item[:3])]


def _gaps(lines: Iterable[Line]) -> list[float]:
    """The distances between the baselines of some lines."""
    levels = sorted(line.base for line in lines)
    return [gap for gap in (other - one for one, other in pairwise(levels)) if gap > _LEVEL]


def _is_table(columns: Sequence[Sequence[Line]]) -> bool:
    """Whether columns that stand side by side are those of a table, not of prose."""
    lines = [line for column in columns for line in column]
    if (
        len(columns) < _FEWEST_COLUMNS
        or len(columns[0]) < _FEWEST_ROWS
        or sum(len(line.text.split()) for line in lines) > _MOST_WORDS * len(lines)
    ):
        return False
    return all(_is_of_table(column, columns[0]) for column in columns)


def _is_of_table(column: Sequence[Line], first: Sequence[Line]) -> bool:
    """Whether a column has cells on the rows that the first one begins, and these are ragged or of few words."""
    levels = [-line.base for line in column]
    filled = sum(bisect_left(levels, -line.base - _LEVEL) < bisect_left(levels, -line.base + _LEVEL) for line in first)
    longest = max(line.width for line in column)
    short = sum(line.width < _FULL * longest for line in column)
    few = all(len(line.text.split()) < _FEWEST_ROWS for line in column)
    return filled >= _FILLED * len(first) and (few or short >= _RAGGED * len(column))
