"""An evaluation: its words and numbers, the tables that every view shows, and the values of its HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.evaluation.result import FIGURES, Evaluation, Figure, PairedTest, SetResult, SystemResult
from colde_cli.views.console import rendered
from colde_cli.views.html_page import base_style, templates
from colde_cli.views.wording import plain, plural

LEVEL = "95 %"
_OVERVIEW = ("auc", "f1")
_LOOKS = {"best": "bold green", "none": "dim", "better": "green", "worse": "red", "no clear difference": "dim"}
_GROUPS = {
    "pairs": "Telling related pairs from unrelated ones",
    "verdict": "Verdicts at the threshold",
    "retrieval": "Finding a document's partners",
    "calibration": "Calibration",
}
SERIES = 8
"""Number of colours in the style sheet; further systems repeat them with dashes."""
Cell = tuple[str, str, str]
"""A cell of a table: its text, the interval, and its look: "best", "none" for a dash, or of a verdict."""


def evaluation_table(evaluation: Evaluation, *, to_file: bool = False) -> str:
    """An evaluation as text, in colours if standard output is a terminal that shows them."""
    return rendered(Group(*_parts(evaluation)), to_file=to_file)


def _parts(evaluation: Evaluation) -> Iterator[RenderableType]:
    for item in evaluation.blocks():
        yield Text(plain(item.name), style="bold")
        yield Text(set_facts(item), style="dim")
        for table in (*_tables(item), *_robustness(item)):
            yield Padding(Text(plain(table["title"])), (1, 0, 0, 0))
            yield _grid(table)
        for note in notes(item):
            yield Text(f"· {plain(note)}", style="dim")
        yield Text()
    for table in _overviews(evaluation):
        yield Text(table["title"], style="bold")
        yield _grid(table)
        yield Text()
    yield Text(method(evaluation), style="dim")


def _grid(table: dict[str, Any]) -> Table:
    """A table in the terminal; only the first of its figures is shown with its interval."""
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    grid.add_column("" if table["first"] == "System" else table["first"], overflow="fold", min_width=8)
    for head, meaning in table["heads"]:
        grid.add_column(head, justify="left" if meaning == "text" else "right", overflow="fold", min_width=5)
    for name, cells in table["rows"]:
        shown = [Text(plain(text) or "–", _LOOKS.get(look, "")) for text, _, look in cells]
        if cells and cells[0][1]:
            shown[0].append(f" {cells[0][1]}", "not bold dim default")
        grid.add_row(Text(plain(name)), *shown)
    return grid


def number(value: float) -> str:
    """Three decimals: `0.873`."""
    return f"{value:.3f}"


def signed(value: float) -> str:
    """Three decimals with a minus sign, not a hyphen: `−0.012`."""
    return f"{value:+.3f}".replace("-", "−")


def ends(figure: Figure) -> str:
    """The interval: `0.84–0.90`; "" without one."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:.2f}–{figure.high:.2f}"


def signed_ends(figure: Figure) -> str:
    """The interval of a difference: `−0.02 to +0.01`; "" without one."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:+.3f} to {figure.high:+.3f}".replace("-", "−")


def chance(p: float | None) -> str:
    """A p value: `0.031`, `<0.001`; `n/a` without one."""
    if p is None:
        return "n/a"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def set_facts(item: SetResult) -> str:
    """The numbers of pairs, documents and queries, on one line."""
    facts = [f"{plural(item.pairs, 'pair')}, {item.positives:,} related", plural(item.documents, "document")]
    facts += [f"{count:,} {relation} negatives" for relation, count in item.relations.items() if relation]
    facts.append(f"{plural(item.validation_pairs, 'validation pair')}")
    if item.queries is not None:
        partners = {"links": "link", "labels": "class"}.get(item.relevance or "", "link")
        facts.append(f"{plural(item.queries, 'document')} with partners by {partners}")
    return " · ".join(facts)


def threshold_origin(item: SystemResult) -> str:
    """The threshold and its source: `0.533 (validation)`; `none`."""
    if item.threshold is None:
        return "none"
    return f"{item.threshold:.3f} ({item.threshold_from})".replace("-", "−")


def notes(item: SetResult) -> list[str]:
    """All notes on a data set; those on a system begin with its name."""
    of_systems = [(result.system, note) for result in item.results for note in result.notes]
    of_systems += [(name, note) for name, result in item.robustness.items() for note in result.notes]
    return [*item.notes, *(f"{name}: {note}" for name, note in of_systems)]


def verdict(test: PairedTest) -> str:
    """The result of a test at the 5 % level, after correction."""
    if test.p_holm is None:
        return "not tested"
    if test.p_holm >= 0.05:
        return "no clear difference"
    return "better" if test.difference.value > 0 else "worse"


def _measured_pairs(evaluation: Evaluation) -> str:
    """Which pairs were measured, in a sentence."""
    splits = {item.split for item in evaluation.sets}
    if splits == {None}:
        return "All pairs were measured; none names a split."
    others = "; where no pair names a split, all pairs" if None in splits else ""
    return f"Split: {evaluation.split}{others}."


def method(evaluation: Evaluation) -> str:
    """A paragraph on how intervals and tests were computed."""
    first = evaluation.systems[0].name
    intervals = (
        f"Intervals are {LEVEL}, from {evaluation.draws:,} draws of a bootstrap that reweights documents, because "
        "a document occurs in many pairs."
        if evaluation.draws
        else "No intervals were computed."
    )
    return (
        f"{_measured_pairs(evaluation)} {intervals} Every system is tested against {first}: AUC with paired draws, "
        "accuracy with McNemar's exact test; p values are corrected for the number of systems (Holm). ECE uses up to "
        f"15 bins of equal mass. Seed {evaluation.seed}."
    )


# Tables, and the HTML page


def evaluation_html(evaluation: Evaluation, **_: object) -> str:
    """An evaluation as one HTML page."""
    # Most readers come for the average.
    blocks = [*([evaluation.macro] if evaluation.macro else []), *evaluation.sets]
    measured = {name for item in blocks for result in item.results for name in result.figures}
    return (
        templates()
        .get_template("evaluation.html")
        .render(
            style=base_style("evaluation.css"),
            names=", ".join(item.name for item in evaluation.systems),
            method=method(evaluation),
            overviews=_overviews(evaluation),
            blocks=list(map(_block, blocks)),
            meanings=[kind for name, kind in FIGURES.items() if name in measured],
        )
    )


def _overviews(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The figures that most readers come for, of several data sets."""
    found = (_of_all_sets(evaluation, name) for name in _OVERVIEW if evaluation.macro)
    return [table for table in found if table]


def _of_all_sets(evaluation: Evaluation, name: str) -> dict[str, Any] | None:
    """One figure of all systems on all data sets; None if a set lacks it."""
    blocks = evaluation.blocks()
    if any(name not in result.figures for item in blocks for result in item.results):
        return None
    rows = [
        (system.name, [_cell(item.results[place], name, item) for item in blocks])
        for place, system in enumerate(evaluation.systems)
    ]
    return _table(f"{FIGURES[name].title} by data set", [(item.name, "") for item in blocks], rows)


def _table(
    title: str, heads: Sequence[tuple[str, str]], rows: Sequence[tuple[str, Sequence[Cell]]], first: str = "System"
) -> dict[str, Any]:
    """A table of the terminal and of the HTML page; a head has its meaning, or "text" for a column of words."""
    return {"title": title, "first": first, "heads": heads, "rows": rows}


def _cell(result: SystemResult, name: str, item: SetResult) -> Cell:
    figure = result.figures.get(name)
    if figure is None:
        return "", "", "none"
    return number(figure.value), ends(figure), "best" if result.system in item.best(name) else ""


def _block(item: SetResult) -> dict[str, Any]:
    drawn = [(series_class(place), result) for place, result in enumerate(item.results) if result.curves]
    return {
        "name": item.name,
        "facts": set_facts(item),
        "tables": _tables(item),
        "drawn": [(result.system, series) for series, result in drawn],
        "plots": list(_plots(item.name, drawn)),
        "histograms": [(result.system, _histogram(result, item.name)) for _, result in drawn],
        "robustness": _robustness(item),
        "notes": notes(item),
    }


def _tables(item: SetResult) -> list[dict[str, Any]]:
    """The figures of a data set by group, and the tests."""
    tables = [_group_table(item, group, title) for group, title in _GROUPS.items()]
    return [table for table in (*tables, _tests_table(item)) if table]


def _robustness(item: SetResult) -> list[dict[str, Any]]:
    return [
        _table(
            f"{name}: {title}",
            [(column, "") for column in header[1:]],
            [(row[0], [(cell, "", "") for cell in row[1:]]) for row in rows],
            header[0],
        )
        for name, attacked in item.robustness.items()
        for title, header, rows in attacked.tables
    ]


def _group_table(item: SetResult, group: str, title: str) -> dict[str, Any] | None:
    """A table of a group of figures; None if none of them was measured."""
    kinds = {name: kind for name, kind in FIGURES.items() if kind.group == group}
    names = [name for name in kinds if any(name in result.figures for result in item.results)]
    if not names:
        return None
    further: list[tuple[str, Sequence[str]]] = []
    if group == "verdict" and any(result.threshold is not None for result in item.results):
        further.append(("Threshold", list(map(threshold_origin, item.results))))
    if group == "calibration" and any(result.calibration_from for result in item.results):
        further.append(("Calibrated by", [result.calibration_from or "none" for result in item.results]))
    rows = []
    for place, result in enumerate(item.results):
        cells = [_cell(result, name, item) for name in names]
        rows.append((result.system, [*cells, *((column[place], "", "") for _, column in further)]))
    heads = [(kinds[name].title, kinds[name].meaning) for name in names] + [(head, "") for head, _ in further]
    return _table(title, heads, rows)


def _tests_table(item: SetResult) -> dict[str, Any] | None:
    if not item.tests:
        return None
    rows: list[tuple[str, Sequence[Cell]]] = []
    for test in item.tests:
        figure, shown = FIGURES[test.figure].title, test.difference
        texts = (figure, signed(shown.value), signed_ends(shown), chance(test.p), chance(test.p_holm))
        rows.append((test.system, [*((text, "", "") for text in texts), (verdict(test), "", verdict(test))]))
    heads = [(title, "") for title in ("Figure", "Difference", LEVEL, "p", "p, Holm")]
    return _table(f"Against {item.tests[0].against}", [*heads, ("Verdict", "text")], rows)


def _plots(field: str, drawn: Sequence[tuple[str, SystemResult]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The curves of all systems, the first in front, over the unit square."""
    curves = [(result.system, series, result.curves) for series, result in drawn if result.curves]
    if not curves:
        return
    points = [(name, series, found.roc) for name, series, found in curves]
    axes = {"x": "false alarms", "y": "hits", "diagonal": True, "dots": False}
    yield "ROC", {"title": f"ROC curves on {field}", **axes, "series": points}
    points = [(name, series, found.precision_recall) for name, series, found in curves]
    axes = {"x": "recall", "y": "precision", "diagonal": False, "dots": False}
    yield "Precision and recall", {"title": f"Precision by recall on {field}", **axes, "series": points}
    bins = [
        (name, series, [(item.probability, item.share) for item in found.reliability])
        for name, series, found in curves
        if found.reliability
    ]
    if bins:
        title = f"Reliability on {field}: share of related pairs by predicted probability"
        axes = {"x": "probability", "y": "share related", "diagonal": True, "dots": True}
        yield "Reliability", {"title": title, **axes, "series": bins}


def _histogram(result: SystemResult, field: str) -> dict[str, Any]:
    """Scores of related and unrelated pairs, each scaled to its own number of pairs, and the threshold."""
    assert result.curves is not None  # others are not drawn
    histogram = result.curves.histogram
    low, high = histogram.edges[0], histogram.edges[-1]
    across = [(edge - low) / (high - low) for edge in histogram.edges]
    counts = {"unrelated": histogram.unrelated, "related": histogram.related}
    shares = {kind: [count / max(1, sum(found)) for count in found] for kind, found in counts.items()}
    top = max(map(max, shares.values())) or 1.0
    threshold = result.threshold
    if threshold is not None and not low <= threshold <= high:
        threshold = None
    return {
        "title": f"Scores of {result.system} on {field}, related and unrelated pairs",
        "columns": [(0, f"{low:.2f}"), (0.5, f"{(low + high) / 2:.2f}"), (1, f"{high:.2f}")],
        "rows": [(0, "0"), (1, f"{top:.0%}")],
        "bars": [
            (kind, left, right, share / top)
            for kind, found in shares.items()
            for left, right, share in zip(across[:-1], across[1:], found, strict=True)
            if share
        ],
        "threshold": None if threshold is None else (threshold - low) / (high - low),
    }


def series_class(number: int) -> str:
    """Class of a system's colour, and of dashes once the colours repeat."""
    return f"s{number % SERIES}" + (" dashed" if number >= SERIES else "")
