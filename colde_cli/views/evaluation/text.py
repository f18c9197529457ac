"""An evaluation as text: its words and numbers in every view, and its tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.evaluation.result import FIGURES, Evaluation, Figure, PairedTest, SetResult, SystemResult
from colde_cli.views.console import rendered
from colde_cli.views.wording import plain, plural

_PAIR_FIGURES = ("auc_random", "auc_hard", "average_precision", "f1", "precision", "recall", "accuracy")
_OTHER_FIGURES = ("share", "recall_at_10", "mrr", "ndcg_at_10", "ece", "ece_by_chance", "brier")
LEVEL = "95 %"


def evaluation_table(evaluation: Evaluation, *, to_file: bool = False) -> str:
    """An evaluation as text, in colours if standard output is a terminal that shows them."""
    return rendered(Group(*_parts(evaluation)), to_file=to_file)


def _parts(evaluation: Evaluation) -> Iterator[RenderableType]:
    for item in evaluation.blocks():
        yield from _data_set(item)
    if evaluation.macro is not None:
        yield Text("AUC by data set", style="bold")
        yield _overview(evaluation)
        yield Text()
    yield Text(method(evaluation), style="dim")


def _overview(evaluation: Evaluation) -> Table:
    """AUC of all systems on all data sets."""
    table = _plain_table()
    table.add_column("", overflow="fold", min_width=8)
    for item in evaluation.blocks():
        table.add_column(plain(item.name), justify="right", overflow="fold", min_width=5)
    for place, system in enumerate(evaluation.systems):
        cells = [
            _cell(item.results[place], "auc", system.name in item.best("auc")) for item in evaluation.blocks()
        ]
        table.add_row(Text(plain(system.name)), *cells)
    return table


def _data_set(item: SetResult) -> Iterator[RenderableType]:
    yield Text(plain(item.name), style="bold")
    yield Text(set_facts(item), style="dim")
    yield Padding(_figures(item, _PAIR_FIGURES, lead="auc"), (1, 0, 0, 0))
    rest = [name for name in _OTHER_FIGURES if any(name in result.figures for result in item.results)]
    thresholds = any(result.threshold is not None for result in item.results)
    if rest or thresholds:
        yield Padding(_figures(item, rest, thresholds=thresholds), (1, 0, 0, 0))
    if item.tests:
        yield Padding(_tests(item), (1, 0, 0, 0))
    for name, attacked in item.robustness.items():
        for title, header, rows in attacked.tables:
            yield Padding(Text(plain(f"{name}: {title}")), (1, 0, 0, 0))
            yield _texts(header, rows)
    for note in notes(item):
        yield Text(f"· {plain(note)}", style="dim")
    yield Text()


def _figures(
    item: SetResult, names: Sequence[str], *, lead: str | None = None, thresholds: bool = False
) -> Table:
    """Systems down, figures across; `lead` is shown with its interval."""
    table = _plain_table()
    table.add_column("", overflow="fold", min_width=8)
    shown = [*([lead] if lead else []), *names]
    for name in shown:
        table.add_column(FIGURES[name].title, justify="right", no_wrap=True)
        if name == lead:
            table.add_column(LEVEL, no_wrap=True)
    if thresholds:
        table.add_column("threshold", no_wrap=True)
    best = {name: item.best(name) for name in shown}
    for result in item.results:
        cells: list[Text] = [Text(plain(result.system))]
        for name in shown:
            cells.append(_cell(result, name, result.system in best[name]))
            if name == lead:
                cells.append(Text(ends(result.figures[name]), style="dim"))
        cells += [Text(threshold_origin(result), style="dim")] if thresholds else []
        table.add_row(*cells)
    return table


def _cell(result: SystemResult, name: str, best: bool) -> Text:
    if name not in result.figures:
        return Text("–", style="dim")
    return Text(number(result.figures[name].value), style="bold green" if best else "")


def _tests(item: SetResult) -> Table:
    table = _plain_table()
    table.add_column(f"against {plain(item.tests[0].against)}", overflow="fold", min_width=8)
    table.add_column("", no_wrap=True)
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column(LEVEL, no_wrap=True)
    table.add_column("p, Holm", justify="right", no_wrap=True)
    table.add_column("")
    for test in item.tests:
        found = verdict(test)
        table.add_row(
            Text(plain(test.system)),
            FIGURES[test.figure].title,
            signed(test.difference.value),
            Text(signed_ends(test.difference), style="dim"),
            chance(test.p_holm),
            Text(found, style={"better": "green", "worse": "red"}.get(found, "dim")),
        )
    return table


def _texts(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first column is words and whose others are numbers."""
    table = _plain_table()
    for place, title in enumerate(header):
        table.add_column(title, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table


def _plain_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)


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
