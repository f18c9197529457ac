"""An evaluation for the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.evaluation.result import FIGURES, Evaluation, SetResult, SystemResult
from colde_cli.views.console import rendered
from colde_cli.views.evaluation import wording
from colde_cli.views.wording import plain

_PAIR_FIGURES = ("auc_random", "auc_hard", "average_precision", "f1", "precision", "recall", "accuracy")
_OTHER_FIGURES = ("share", "recall_at_10", "mrr", "ndcg_at_10", "ece", "ece_by_chance", "brier")


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
    yield Text(wording.method(evaluation), style="dim")


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
    yield Text(wording.set_facts(item), style="dim")
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
    for note in wording.notes(item):
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
            table.add_column(wording.LEVEL, no_wrap=True)
    if thresholds:
        table.add_column("threshold", no_wrap=True)
    best = {name: item.best(name) for name in shown}
    for result in item.results:
        cells: list[Text] = [Text(plain(result.system))]
        for name in shown:
            cells.append(_cell(result, name, result.system in best[name]))
            if name == lead:
                cells.append(Text(wording.ends(result.figures[name]), style="dim"))
        cells += [Text(wording.threshold_origin(result), style="dim")] if thresholds else []
        table.add_row(*cells)
    return table


def _cell(result: SystemResult, name: str, best: bool) -> Text:
    if name not in result.figures:
        return Text("–", style="dim")
    return Text(wording.number(result.figures[name].value), style="bold green" if best else "")


def _tests(item: SetResult) -> Table:
    table = _plain_table()
    table.add_column(f"against {plain(item.tests[0].against)}", overflow="fold", min_width=8)
    table.add_column("", no_wrap=True)
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column(wording.LEVEL, no_wrap=True)
    table.add_column("p, Holm", justify="right", no_wrap=True)
    table.add_column("")
    for test in item.tests:
        verdict = wording.verdict(test)
        table.add_row(
            Text(plain(test.system)),
            FIGURES[test.figure].title,
            wording.signed(test.difference.value),
            Text(wording.signed_ends(test.difference), style="dim"),
            wording.chance(test.p_holm),
            Text(verdict, style={"better": "green", "worse": "red"}.get(verdict, "dim")),
        )
    return table


def _texts(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first column is words and whose others are numbers."""
    table = _plain_table()
    for number, title in enumerate(header):
        table.add_column(title, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table


def _plain_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
