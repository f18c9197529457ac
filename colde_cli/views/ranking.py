"""A ranking in the terminal, readable at 80 columns, and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colde_cli.views.console import file_link, link_pages, rendered
from colde_cli.views.escaping import harmless, short
from colde_cli.views.heatmap import score_style
from colde_cli.views.pages import plain_page
from colde_cli.views.wording import (
    closer_than,
    closest_parts,
    field_name,
    file_names,
    nothing_found,
    page_range,
    percent,
    plain,
    plural,
    score_parts,
    share_of_pairs,
    shorten,
)

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Hit, Match, MatchedSection, Ranking

_PAGE_TITLE = 200
_PAGE_PATH = 400


def ranking_table(ranking: Ranking, *, verbose: bool = False, to_file: bool = False) -> str:
    """A ranking as text, in colours if standard output is a terminal that shows them.

    Args:
        ranking: to show.
        verbose: show the parts of the scores in figures.
        to_file: the text is for a file: no colours.
    """
    return rendered(Group(*_ranking_blocks(ranking, verbose)), to_file=to_file)


def _ranking_blocks(ranking: Ranking, verbose: bool) -> Iterator[RenderableType]:
    yield Text(shorten(ranking.query_title, 160), style="bold")
    model = ranking.model
    facts = [f"{plural(ranking.searched, 'document')} searched", f"{ranking.encoded:,} newly encoded"]
    facts += [f"{len(ranking.skipped):,} skipped"] if ranking.skipped else []
    facts += [f"{ranking.unencoded:,} not encoded"] if ranking.unencoded else []
    yield Text(" · ".join([*facts, model.name, model.precision, model.device]), style="dim")
    if ranking.like:
        yield Text(f"Ignored: text that also appears in {file_names(ranking.like)}", style="yellow")
    yield Text()
    if not ranking.results:
        yield Text(nothing_found(ranking), style="bold yellow")
        return
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, min_width=6)
    grid.add_column(no_wrap=True, justify="right", style="dim", min_width=4)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for hit in ranking.results:
        _add_hit(grid, hit, ranking, verbose)
    yield grid


def _add_hit(grid: Table, hit: Hit, ranking: Ranking, verbose: bool) -> None:
    likely = "" if hit.probability is None else percent(hit.probability)
    score = Text(f" {hit.score:.2f} ", style=score_style(hit.score))
    grid.add_row(str(hit.rank), score, likely, Text(plain(hit.title), style="bold"))
    path = Text(plain(hit.path), style="dim")
    path.stylize(file_link(hit.path))
    grid.add_row("", "", "", path)
    if ranking.field is not None:
        grid.add_row("", "", "", Text(closer_than(hit.percentile, ranking.field), style="dim"))
    if hit.matches and (closest := closest_parts(hit.parts, hit.score)):
        grid.add_row("", "", "", Text(closest))
    if verbose and len(hit.parts) > 1:
        grid.add_row("", "", "", Text(f"score from {score_parts(hit.parts)}", style="dim"))
    for match in hit.matches:
        where = _sections_of_match(match)
        link_pages(where, (ranking.query_path, match.query.pages), (hit.path, match.hit.pages))
        grid.add_row("", "", f"{match.score:.2f}", where)
        grid.add_row("", "", "", Text(f"  {plain(match.hit.text)}", style="dim italic"))


def _sections_of_match(match: Match) -> Text:
    here, there = match.query, match.hit
    parts = [plain(here.section) or "(front matter)", page_range(here.pages)]
    other = [plain(there.section) or "(front matter)", page_range(there.pages)]
    return Text.assemble(" ".join(parts).strip(), (" ↔ ", "cyan"), " ".join(other).strip())


def ranking_html(ranking: Ranking) -> str:
    """The page as text; it loads nothing, and what documents say is escaped."""
    return plain_page(
        "ranking.html",
        "ranking.css",
        title=short(ranking.query_title, _PAGE_TITLE),
        path=short(ranking.query_path, _PAGE_PATH),
        facts=list(_facts(ranking)),
        field=short(field_name(ranking.field), _PAGE_TITLE) if ranking.field is not None else "",
        hits=[_hit(hit) for hit in ranking.results],
        nothing_found=nothing_found(ranking),
        skipped=[(short(item.path, _PAGE_PATH), harmless(item.reason)) for item in ranking.skipped],
        half_read=[
            (short(item.path, _PAGE_PATH), harmless(" ".join(item.warnings))) for item in ranking.half_read
        ],
    )


def _facts(ranking: Ranking) -> Iterator[str]:
    model = ranking.model
    yield f"{plural(ranking.searched, 'document')} searched"
    if ranking.unencoded:
        yield f"{ranking.unencoded:,} not encoded"
    yield f"colde · {short(model.name, _PAGE_TITLE)} · {model.precision} · {model.device}"
    if ranking.like:
        yield f"Ignored: text that also appears in {short(file_names(ranking.like), _PAGE_PATH)}"


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "title": short(hit.title, _PAGE_TITLE),
        "path": short(hit.path, _PAGE_PATH),
        "score": f"{hit.score:.2f}",
        "width": max(0, min(100, round(100 * hit.score))),
        "probability": "" if hit.probability is None else percent(hit.probability),
        "percentile": "" if hit.percentile is None else share_of_pairs(hit.percentile),
        "parts": closest_parts(hit.parts, hit.score),
        "matches": [_match(match) for match in hit.matches],
    }


def _match(match: Match) -> dict[str, str]:
    return {
        "score": f"{match.score:.2f}",
        "query": _place(match.query),
        "hit": _place(match.hit),
        "text": harmless(match.hit.text),
    }


def _place(place: MatchedSection) -> str:
    pages, section = page_range(place.pages), short(place.section, _PAGE_TITLE) or "(front matter)"
    return f"{pages} · {section}" if pages else section
