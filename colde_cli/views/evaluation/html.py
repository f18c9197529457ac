"""An evaluation as one HTML page: tables of all figures, and small plots as inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor
from pathlib import Path

from colde_cli.evaluation.metrics import Bin, Histogram
from colde_cli.evaluation.result import FIGURES, Evaluation, Figure, PairedTest, SetResult, SystemResult
from colde_cli.views.evaluation import text
from colde_cli.views.pages import base_style

_OVERVIEW = ("auc", "f1")
_GROUPS = {
    "pairs": "Telling related pairs from unrelated ones",
    "verdict": "Verdicts at the threshold",
    "retrieval": "Finding a document's partners",
    "calibration": "Calibration",
}
Points = Sequence[tuple[float, float]]

SERIES = 8
"""Number of colours in the style sheet; further systems repeat them with dashes."""

_WIDTH, _HEIGHT = 320, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 12, 40


def evaluation_html(evaluation: Evaluation) -> str:
    """The page as text."""
    # Most readers come for the average.
    blocks = [*([evaluation.macro] if evaluation.macro else []), *evaluation.sets]
    style = base_style() + Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    names = ", ".join(item.name for item in evaluation.systems)
    body = [
        "<header><h1>Evaluation</h1>",
        f'<p class="facts">{escape(names)}</p><p>{escape(text.method(evaluation))}</p></header>',
        _contents(blocks) if len(blocks) > 1 else "",
        "<main>",
        *(_overview(evaluation, name) for name in _OVERVIEW if evaluation.macro),
        *(part for number, item in enumerate(blocks) for part in _block(item, number)),
        _meanings(blocks),
        "</main>",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evaluation of {escape(names)}</title><style>\n{style}</style>"
    )
    content = "\n".join(part for part in body if part)
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{content}\n</body>\n</html>\n'


def _overview(evaluation: Evaluation, name: str) -> str:
    """One figure of all systems on all data sets; "" if a set lacks it."""
    blocks = evaluation.blocks()
    if any(name not in result.figures for item in blocks for result in item.results):
        return ""
    heads = [f'<th scope="col">{escape(item.name)}</th>' for item in blocks]
    best = [item.best(name) for item in blocks]
    rows = []
    for place, system in enumerate(evaluation.systems):
        figures = [item.results[place].figures[name] for item in blocks]
        cells = "".join(_cell(figure, system.name in top) for figure, top in zip(figures, best, strict=True))
        rows.append(f'<tr><th scope="row">{escape(system.name)}</th>{cells}</tr>')
    return _table(f"{FIGURES[name].title} by data set", heads, rows, "all data sets")


def _contents(blocks: Sequence[SetResult]) -> str:
    items = (f'<li><a href="#f{number}">{escape(item.name)}</a></li>' for number, item in enumerate(blocks))
    return f'<nav aria-label="Data sets"><ul>{"".join(items)}</ul></nav>'


def _block(item: SetResult, number: int) -> Iterator[str]:
    yield f'<section aria-labelledby="f{number}"><h2 id="f{number}">{escape(item.name)}</h2>'
    yield f'<p class="facts">{escape(text.set_facts(item))}</p>'
    areas = [(result.system, place, result.figures["auc"]) for place, result in enumerate(item.results)]
    yield _figure("AUC and its interval", interval_plot(f"AUC of every system on {item.name}", areas), "wide")
    for group, title in _GROUPS.items():
        yield _figures(item, group, title)
    if item.tests:
        yield _tests(item)
    if any(result.curves for result in item.results):
        yield from _plots(item)
    for name, attacked in item.robustness.items():
        for title, header, rows in attacked.tables:
            yield _text_table(f"{name}: {title}", header, rows, item.name)
    if notes := text.notes(item):
        yield f'<ul class="notes">{"".join(f"<li>{escape(note)}</li>" for note in notes)}</ul>'
    yield "</section>"


def _figures(item: SetResult, group: str, title: str) -> str:
    """A table of a group of figures; "" if none of them was measured."""
    kinds = {name: kind for name, kind in FIGURES.items() if kind.group == group}
    names = [name for name in kinds if any(name in result.figures for result in item.results)]
    if not names:
        return ""
    best = {name: item.best(name) for name in names}
    verdicts = group == "verdict" and any(result.threshold is not None for result in item.results)
    calibrated = group == "calibration" and any(result.calibration_from for result in item.results)
    heads = [
        f'<th scope="col" title="{escape(kinds[name].meaning, quote=True)}">{kinds[name].title}</th>'
        for name in names
    ]
    heads += ['<th scope="col">Threshold</th>'] if verdicts else []
    heads += ['<th scope="col">Calibrated by</th>'] if calibrated else []
    rows = []
    for result in item.results:
        cells = [_cell(result.figures.get(name), result.system in best[name]) for name in names]
        cells += [f"<td>{text.threshold_origin(result)}</td>"] if verdicts else []
        cells += [f"<td>{result.calibration_from or 'none'}</td>"] if calibrated else []
        rows.append(f'<tr><th scope="row">{escape(result.system)}</th>{"".join(cells)}</tr>')
    return _table(title, heads, rows, item.name)


def _cell(figure: Figure | None, best: bool) -> str:
    if figure is None:
        return '<td><span aria-label="not measured">–</span></td>'
    ends = text.ends(figure)
    inner = text.number(figure.value) + (f"<small>{ends}</small>" if ends else "")
    if best:
        return f'<td class="best">{inner}<span class="unseen"> best</span></td>'
    return f"<td>{inner}</td>"


def _tests(item: SetResult) -> str:
    titles = ("Figure", "Difference", text.LEVEL, "p", "p, Holm")
    heads = [
        *(f'<th scope="col">{title}</th>' for title in titles),
        '<th scope="col" class="text">Verdict</th>',
    ]
    rows = [_test(test) for test in item.tests]
    return _table(f"Against {item.tests[0].against}", heads, rows, item.name)


def _test(test: PairedTest) -> str:
    verdict = text.verdict(test)
    kind = f' class="{verdict}"' if verdict in ("better", "worse") else ""
    cells = (
        FIGURES[test.figure].title,
        text.signed(test.difference.value),
        text.signed_ends(test.difference),
        escape(text.chance(test.p)),
        escape(text.chance(test.p_holm)),
    )
    inner = "".join(f"<td>{cell}</td>" for cell in cells)
    last = f'<td class="text"><span{kind}>{verdict}</span></td>'
    return f'<tr><th scope="row">{escape(test.system)}</th>{inner}{last}</tr>'


def _text_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], field: str) -> str:
    first, *others = (escape(name) for name in header)
    heads = [f'<th scope="col">{name}</th>' for name in others]
    lines = []
    for row in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        lines.append(f'<tr><th scope="row">{escape(row[0])}</th>{cells}</tr>')
    return _table(title, heads, lines, field, first)


def _table(title: str, heads: Sequence[str], rows: Sequence[str], field: str, first: str = "System") -> str:
    label = escape(f"{title}, {field}", quote=True)
    return (
        f'<h3>{escape(title)}</h3><div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>'
        f'<caption class="unseen">{label}</caption><thead><tr><th scope="col">{first}</th>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _plots(item: SetResult) -> Iterator[str]:
    drawn = [(place, result) for place, result in enumerate(item.results) if result.curves is not None]
    yield f'<h3>Curves</h3>{_key(drawn)}<div class="plots">'
    roc = [Series(result.system, place, result.curves.roc) for place, result in drawn if result.curves]
    yield _figure("ROC", line_plot(f"ROC curves on {item.name}", "false alarms", "hits", roc, diagonal=True))
    curve = [
        Series(result.system, place, result.curves.precision_recall)
        for place, result in drawn
        if result.curves
    ]
    yield _figure(
        "Precision and recall", line_plot(f"Precision by recall on {item.name}", "recall", "precision", curve)
    )
    bins = [
        Series(result.system, place, reliability_points(result.curves.reliability))
        for place, result in drawn
        if result.curves and result.curves.reliability
    ]
    if bins:
        name = f"Reliability on {item.name}: share of related pairs by predicted probability"
        plot = line_plot(name, "probability", "share related", bins, diagonal=True, dots=True)
        yield _figure("Reliability", plot)
    yield "</div>"
    yield from _histograms(drawn, item.name)


def _histograms(drawn: Sequence[tuple[int, SystemResult]], field: str) -> Iterator[str]:
    yield (
        '<h3>Scores</h3><ul class="key">'
        + _key_bar("related", "related pairs")
        + _key_bar("unrelated", "unrelated pairs")
        + '<li><svg aria-hidden="true" viewBox="0 0 26 10"><line class="threshold" x1="0" x2="26" y1="5" y2="5"/></svg>'
        'threshold</li></ul><div class="plots small">'
    )
    for _, result in drawn:
        if result.curves is not None:
            title = f"Scores of {result.system} on {field}, related and unrelated pairs"
            yield _figure(result.system, histogram_plot(title, result.curves.histogram, result.threshold))
    yield "</div>"


def _key(drawn: Sequence[tuple[int, SystemResult]]) -> str:
    items = (
        f'<li><svg aria-hidden="true" viewBox="0 0 26 10"><line class="line {series_class(place)}" x1="0" x2="26" '
        f'y1="5" y2="5"/></svg>{escape(result.system)}</li>'
        for place, result in drawn
    )
    return f'<ul class="key">{"".join(items)}</ul>'


def _key_bar(kind: str, label: str) -> str:
    swatch = (
        f'<svg aria-hidden="true" viewBox="0 0 26 10"><rect class="{kind}" width="26" height="10"/></svg>'
    )
    return f"<li>{swatch}{label}</li>"


def _figure(caption: str, plot: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<figure{attribute}><figcaption>{escape(caption)}</figcaption>{plot}</figure>"


def _meanings(blocks: Sequence[SetResult]) -> str:
    measured = {name for item in blocks for result in item.results for name in result.figures}
    items = (
        f"<dt>{kind.title}</dt><dd>{escape(kind.meaning)}{'' if kind.higher_is_better else ' Lower is better.'}</dd>"
        for name, kind in FIGURES.items()
        if name in measured
    )
    return f"<section><h2>What the figures mean</h2><dl>{''.join(items)}</dl></section>"


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
