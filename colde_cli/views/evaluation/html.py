"""An evaluation as one HTML page: tables of all figures, and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from colde_cli.evaluation.result import FIGURES, Evaluation, Figure, PairedTest, SetResult, SystemResult
from colde_cli.views.evaluation import wording
from colde_cli.views.evaluation.plots import (
    Series,
    histogram_plot,
    interval_plot,
    line_plot,
    reliability_points,
    series_class,
)
from colde_cli.views.pages import base_style

_OVERVIEW = ("auc", "f1")
_GROUPS = {
    "pairs": "Telling related pairs from unrelated ones",
    "verdict": "Verdicts at the threshold",
    "retrieval": "Finding a document's partners",
    "calibration": "Calibration",
}


def evaluation_html(evaluation: Evaluation) -> str:
    """The page as text."""
    # Most readers come for the average.
    blocks = [*([evaluation.macro] if evaluation.macro else []), *evaluation.sets]
    style = base_style() + Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    names = ", ".join(item.name for item in evaluation.systems)
    body = [
        "<header><h1>Evaluation</h1>",
        f'<p class="facts">{escape(names)}</p><p>{escape(wording.method(evaluation))}</p></header>',
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
    yield f'<p class="facts">{escape(wording.set_facts(item))}</p>'
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
    if notes := wording.notes(item):
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
        cells += [f"<td>{wording.threshold_origin(result)}</td>"] if verdicts else []
        cells += [f"<td>{result.calibration_from or 'none'}</td>"] if calibrated else []
        rows.append(f'<tr><th scope="row">{escape(result.system)}</th>{"".join(cells)}</tr>')
    return _table(title, heads, rows, item.name)


def _cell(figure: Figure | None, best: bool) -> str:
    if figure is None:
        return '<td><span aria-label="not measured">–</span></td>'
    ends = wording.ends(figure)
    inner = wording.number(figure.value) + (f"<small>{ends}</small>" if ends else "")
    if best:
        return f'<td class="best">{inner}<span class="unseen"> best</span></td>'
    return f"<td>{inner}</td>"


def _tests(item: SetResult) -> str:
    titles = ("Figure", "Difference", wording.LEVEL, "p", "p, Holm")
    heads = [
        *(f'<th scope="col">{title}</th>' for title in titles),
        '<th scope="col" class="text">Verdict</th>',
    ]
    rows = [_test(test) for test in item.tests]
    return _table(f"Against {item.tests[0].against}", heads, rows, item.name)


def _test(test: PairedTest) -> str:
    verdict = wording.verdict(test)
    kind = f' class="{verdict}"' if verdict in ("better", "worse") else ""
    cells = (
        FIGURES[test.figure].title,
        wording.signed(test.difference.value),
        wording.signed_ends(test.difference),
        escape(wording.chance(test.p)),
        escape(wording.chance(test.p_holm)),
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
