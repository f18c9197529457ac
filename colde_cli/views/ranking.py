"""A ranking for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colde_cli.views.ignored import file_names
from colde_cli.views.palette import score_style
from colde_cli.views.terminal import rendered
from colde_cli.views.wording import made_of, page_range, percent, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.corpus.result import Hit, Match, Ranking


def ranking_table(ranking: Ranking, *, to_file: bool = False) -> str:
    """A ranking as text, with colours where standard output is a terminal that wants them."""
    return rendered(Group(*_parts(ranking)), to_file=to_file)


def _parts(ranking: Ranking) -> Iterator[RenderableType]:
    yield Text(shorten(ranking.query_title, 160), style="bold")
    model = ranking.model
    facts = [f"{plural(ranking.searched, 'document')} searched", f"{ranking.encoded:,} newly encoded"]
    facts += [f"{len(ranking.skipped):,} skipped"] if ranking.skipped else []
    yield Text(" · ".join([*facts, model.name, model.precision, model.device]), style="dim")
    if ranking.like:
        yield Text(f"Ignored: text that also stands in {file_names(ranking.like)}", style="yellow")
    yield Text()
    if not ranking.results:
        yield Text("No document is that close.", style="bold yellow")
        return
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, min_width=6)
    grid.add_column(no_wrap=True, justify="right", style="dim", min_width=4)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for hit in ranking.results:
        _add(grid, hit)
    yield grid


def _add(grid: Table, hit: Hit) -> None:
    likely = "" if hit.probability is None else percent(hit.probability)
    score = Text(f" {hit.score:.2f} ", style=score_style(hit.score))
    grid.add_row(str(hit.rank), score, likely, Text(plain(hit.title), style="bold"))
    grid.add_row("", "", "", Text(plain(hit.path), style="dim"))
    if hit.matches and len(hit.parts) > 1:
        grid.add_row("", "", "", Text(made_of(hit.parts, shares=False), style="dim"))
    for match in hit.matches:
        grid.add_row("", "", f"{match.score:.2f}", _why(match))
        grid.add_row("", "", "", Text(f"  {plain(match.hit.text)}", style="dim italic"))


def _why(match: Match) -> Text:
    here, there = match.query, match.hit
    parts = [plain(here.section) or "(front matter)", page_range(here.pages)]
    other = [plain(there.section) or "(front matter)", page_range(there.pages)]
    return Text.assemble(" ".join(parts).strip(), (" ↔ ", "cyan"), " ".join(other).strip())
