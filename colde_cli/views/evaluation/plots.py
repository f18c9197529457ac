"""Small plots as inline SVG; the page's style sheet gives the colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor

from colde_cli.evaluation.metrics import Bin, Histogram
from colde_cli.evaluation.result import Figure

Points = Sequence[tuple[float, float]]

SERIES = 8
"""Number of colours in the style sheet; further systems repeat them with dashes."""

_WIDTH, _HEIGHT = 320, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 12, 40


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a plot: the system's name, its number, and its points in the order they are drawn."""

    name: str
    number: int
    points: Points


def line_plot(
    title: str, x: str, y: str, series: Sequence[Series], *, diagonal: bool = False, dots: bool = False
) -> str:
    """Lines over the unit square.

    Args:
        title: describes the plot for screen readers.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        series: first in front.
        diagonal: draw the line of chance or of perfect calibration.
        dots: mark the points.
    """
    parts = list(_axes(x, y, (0.0, 0.5, 1.0), (0.0, 0.5, 1.0)))
    if diagonal:
        parts.append(_line((0, 0), (1, 1), "reference"))
    for item in reversed(series):
        places = [_place(*point) for point in item.points]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
        label = f"<title>{escape(item.name)}</title>"
        parts.append(f'<polyline class="line {series_class(item.number)}" points="{path}">{label}</polyline>')
        if dots:
            parts += [_dot(place, item.number) for place in places]
    return _svg(title, parts)


def reliability_points(bins: Sequence[Bin]) -> Points:
    """Mean probability and share of related pairs of every bin."""
    return [(item.probability, item.share) for item in bins]


def histogram_plot(title: str, histogram: Histogram, threshold: float | None) -> str:
    """Scores of related and unrelated pairs, each scaled to its own number of pairs, and the threshold."""
    edges = histogram.edges
    low, high = edges[0], edges[-1]
    shares = [_shares(histogram.related), _shares(histogram.unrelated)]
    top = max(max(share) for share in shares) or 1.0

    def across(score: float) -> float:
        return (score - low) / (high - low)

    marks = [(0.0, f"{low:.2f}"), (0.5, f"{(low + high) / 2:.2f}"), (1.0, f"{high:.2f}")]
    parts = list(_frame("score", "share of pairs", marks, [(0.0, "0"), (1.0, f"{top:.0%}")]))
    for share, kind in zip(reversed(shares), ("unrelated", "related"), strict=True):
        for left, right, value in zip(edges[:-1], edges[1:], share, strict=True):
            if value:
                parts.append(_bar(across(left), across(right), value / top, kind))
    if threshold is not None and low <= threshold <= high:
        parts.append(_line((across(threshold), 0), (across(threshold), 1), "threshold"))
    return _svg(title, parts)


def interval_plot(title: str, rows: Sequence[tuple[str, int, Figure]]) -> str:
    """One row per system: a dot at the value and a line over its interval."""
    values = [end for _, _, shown in rows for end in (shown.value, shown.low, shown.high) if end is not None]
    low, high = _rounded_range(min(values), max(values))
    gutter, height = 128, 22
    width, bottom = 460, 10 + height * len(rows)

    def across(value: float) -> float:
        return gutter + (value - low) / (high - low) * (width - gutter - 16)

    parts = list(_ticks(low, high, across, bottom))
    for row, (name, number, shown) in enumerate(rows):
        down = 10 + height * (row + 0.5)
        parts.append(
            f'<text class="row" x="{gutter - 10}" y="{down + 4}" text-anchor="end">{escape(_short(name))}</text>'
        )
        if shown.low is not None and shown.high is not None:
            parts.append(
                f'<line class="whisker {series_class(number)}" x1="{across(shown.low):.1f}" '
                f'x2="{across(shown.high):.1f}" y1="{down}" y2="{down}"/>'
            )
        parts.append(
            f'<circle class="dot {series_class(number)}" cx="{across(shown.value):.1f}" cy="{down}" r="5"/>'
        )
    return _svg(title, parts, width, bottom + 24)


def _ticks(low: float, high: float, across: Callable[[float], float], bottom: float) -> Iterator[str]:
    for step in range(5):
        value = low + (high - low) * step / 4
        place = f"{across(value):.1f}"
        anchor = "middle" if step < 4 else "end"
        yield f'<line class="grid" x1="{place}" x2="{place}" y1="4" y2="{bottom}"/>'
        yield f'<text class="tick" x="{place}" y="{bottom + 16}" text-anchor="{anchor}">{value:.2f}</text>'


def series_class(number: int) -> str:
    """Class of a system's colour, and of dashes once the colours repeat."""
    return f"s{number % SERIES}" + (" dashed" if number >= SERIES else "")


def _svg(title: str, parts: Sequence[str], width: int = _WIDTH, height: int = _HEIGHT) -> str:
    name = escape(title, quote=True)
    return f'<svg role="img" aria-label="{name}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'


def _place(x: float, y: float) -> tuple[float, float]:
    """A point of the unit square in the picture."""
    return _LEFT + x * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - y * (_HEIGHT - _TOP - _BOTTOM)


def _axes(x: str, y: str, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> Iterator[str]:
    yield from _frame(
        x, y, [(tick, f"{tick:g}") for tick in x_ticks], [(tick, f"{tick:g}") for tick in y_ticks]
    )


def _frame(
    x: str, y: str, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]]
) -> Iterator[str]:
    for tick, label in x_ticks:
        across, down = _place(tick, 0)
        yield _line((tick, 0), (tick, 1), "grid")
        anchor = "end" if tick == 1 else "middle"
        yield f'<text class="tick" x="{across:.1f}" y="{down + 16:.1f}" text-anchor="{anchor}">{label}</text>'
    for tick, label in y_ticks:
        across, down = _place(0, tick)
        yield _line((0, tick), (1, tick), "grid")
        yield f'<text class="tick" x="{across - 6:.1f}" y="{down + 4:.1f}" text-anchor="end">{label}</text>'
    middle, bottom = _place(0.5, 0)
    _, centre = _place(0, 0.5)
    yield f'<text class="axis" x="{middle:.1f}" y="{bottom + 33:.1f}" text-anchor="middle">{escape(x)}</text>'
    yield (
        f'<text class="axis" transform="translate(11 {centre:.1f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y)}</text>"
    )


def _line(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    (x1, y1), (x2, y2) = _place(*start), _place(*end)
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _dot(place: tuple[float, float], number: int) -> str:
    return f'<circle class="dot {series_class(number)}" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="2.6"/>'


def _bar(left: float, right: float, height: float, kind: str) -> str:
    (x1, y1), (x2, y2) = _place(left, height), _place(right, 0)
    return f'<rect class="{kind}" x="{x1:.1f}" y="{y1:.1f}" width="{x2 - x1:.1f}" height="{y2 - y1:.1f}"/>'


def _shares(counts: Sequence[int]) -> list[float]:
    total = max(1, sum(counts))
    return [count / total for count in counts]


def _rounded_range(low: float, high: float) -> tuple[float, float]:
    """The range widened so that its four steps are whole hundredths."""
    first = floor(low * 100)
    return first / 100, (first + 4 * max(1, ceil((high * 100 - first) / 4))) / 100


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"
