"""The numbers along the axes of charts, which a PDF gives as text: "0 500 1000 1500 2000"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from colde_cli.documents.document import Span

_NUMBER = r"[-−–]?\d+(?:\.\d+)?"
_ROW = re.compile(rf"(?<!\S){_NUMBER}(?:\s+{_NUMBER}){{3,}}(?!\S)")
_ENOUGH = 4
"""Numbers at equal distances, one after another, that make an axis."""
_YEARS = (1800, 2100)
"""Whole numbers between these, one apart, are the head of a table, not an axis."""


def tick_rows(text: str) -> tuple[Span, ...]:
    """Rows of bare numbers in which `_ENOUGH` neighbours stand at equal distances, other than years."""
    return tuple(Span(*row.span()) for row in _ROW.finditer(text) if _has_axis(row[0]))


def _has_axis(row: str) -> bool:
    values = [float(re.sub("[−–]", "-", number)) for number in row.split()]
    windows = (values[start : start + _ENOUGH] for start in range(len(values) - _ENOUGH + 1))
    return any(_is_axis(window) for window in windows)


def _is_axis(values: Sequence[float]) -> bool:
    steps = [after - before for before, after in itertools.pairwise(values)]
    even = steps[0] != 0 and all(abs(step - steps[0]) < 1e-6 * max(1.0, abs(steps[0])) for step in steps)
    years = abs(steps[0]) == 1 and _YEARS[0] <= min(values) and max(values) <= _YEARS[1]
    return even and not years
