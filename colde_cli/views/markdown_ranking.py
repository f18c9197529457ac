"""A ranking as GitHub Flavored Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from colde_cli.views.escaping import markdown
from colde_cli.views.markdown import folded, table
from colde_cli.views.wording import page_range, percent, plural, shorten

if TYPE_CHECKING:
    from colde_cli.corpus.result import Hit, Place, Ranking


def ranking_markdown(ranking: Ranking) -> str:
    """A ranking as Markdown; what documents and file names say is escaped."""
    return "\n\n".join(_blocks(ranking)) + "\n"


def _blocks(ranking: Ranking) -> Iterator[str]:
    yield f"Documents closest to **{markdown(shorten(ranking.query_title, 160))}**"
    if ranking.results:
        yield table(("", "Score", "Probability", "Document", "File"), map(_hit, ranking.results), (0, 1, 2))
    else:
        yield "No document is that close."
    for hit in ranking.results:
        if hit.matches:
            rows = [
                (f"{match.score:.2f}", _place(match.query), _place(match.hit), markdown(match.hit.text))
                for match in hit.matches
            ]
            matches = table(("Score", "Query", "Document", "Text"), rows, (0,))
            yield folded(f"What matches in no. {hit.rank}", matches)
    if ranking.skipped:
        files = [(markdown(skipped.path), markdown(skipped.reason)) for skipped in ranking.skipped]
        yield folded(f"{plural(len(files), 'file')} skipped", table(("File", "Reason"), files))
    model = ranking.model
    searched = f"{plural(ranking.searched, 'document')} searched"
    yield f"<sub>colde · {markdown(model.name)} · {model.precision} · {model.device} · {searched}</sub>"


def _hit(hit: Hit) -> tuple[str, ...]:
    likely = "" if hit.probability is None else percent(hit.probability)
    return str(hit.rank), f"{hit.score:.2f}", likely, markdown(shorten(hit.title, 160)), markdown(hit.path)


def _place(place: Place) -> str:
    return f"{page_range(place.pages)} {markdown(place.section) or '(front matter)'}".strip()
