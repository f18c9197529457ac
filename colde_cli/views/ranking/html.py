"""A ranking as one HTML page, without scripts: hits with their scores, and the sections that match."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colde_cli.views.escaping import harmless, short
from colde_cli.views.pages import plain_page
from colde_cli.views.wording import (
    closest_parts,
    field_name,
    file_names,
    page_range,
    percent,
    plural,
    share_of_pairs,
)

if TYPE_CHECKING:
    from colde_cli.corpus.ranking import Hit, Match, MatchedSection, Ranking

_TEMPLATE = Path(__file__).with_name("page.html")
_TITLE = 200
_PATH = 400


def ranking_html(ranking: Ranking) -> str:
    """The page as text; it loads nothing, and what documents say is escaped."""
    return plain_page(
        _TEMPLATE,
        title=short(ranking.query_title, _TITLE),
        path=short(ranking.query_path, _PATH),
        facts=list(_facts(ranking)),
        field=short(field_name(ranking.field), _TITLE) if ranking.field is not None else "",
        hits=[_hit(hit) for hit in ranking.results],
        skipped=[(short(item.path, _PATH), harmless(item.reason)) for item in ranking.skipped],
        half_read=[
            (short(item.path, _PATH), harmless(" ".join(item.warnings))) for item in ranking.half_read
        ],
    )


def _facts(ranking: Ranking) -> Iterator[str]:
    model = ranking.model
    yield f"{plural(ranking.searched, 'document')} searched"
    if ranking.unencoded:
        yield f"{ranking.unencoded:,} not encoded"
    yield f"colde · {short(model.name, _TITLE)} · {model.precision} · {model.device}"
    if ranking.like:
        yield f"Ignored: text that also appears in {short(file_names(ranking.like), _PATH)}"


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "title": short(hit.title, _TITLE),
        "path": short(hit.path, _PATH),
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
    pages, section = page_range(place.pages), short(place.section, _TITLE) or "(front matter)"
    return f"{pages} · {section}" if pages else section
