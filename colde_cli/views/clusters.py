"""Subjects of a corpus in the terminal, as Markdown, CSV, JSON and as an HTML page without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colde_cli.views.console import rendered
from colde_cli.views.csv import quoted_table
from colde_cli.views.escaping import harmless, markdown, short
from colde_cli.views.heatmap import score_style
from colde_cli.views.json import text as json_text
from colde_cli.views.markdown import folded, table
from colde_cli.views.pages import plain_page
from colde_cli.views.wording import field_name, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.corpus.subjects import Cluster, ClusterMember, Clusters

COLUMNS = ("cluster", "words", "cohesion", "path", "title", "score")
_TITLE = 200
_PATH = 400


def summary(found: Clusters) -> str:
    """What was found, in a sentence."""
    if not found:
        return "No two documents are close enough to make a cluster."
    members = sum(len(cluster.members) for cluster in found.clusters)
    alone = f" · {plural(len(found.alone), 'document')} alone" if found.alone else ""
    return f"{plural(len(found.clusters), 'cluster')} of {plural(members, 'document')}{alone}."


def facts(found: Clusters) -> str:
    """How many documents were compared, how, and by which model."""
    skipped = f", {len(found.skipped):,} skipped" if found.skipped else ""
    within = "" if found.field is None else f" within {field_name(found.field)}"
    model = found.model
    return (
        f"{plural(found.searched, 'document')} compared{skipped} · neighbours score at least "
        f"{found.min_score:.2f}{within} · {plain(model.name)} · {model.precision} · {model.device}"
    )


def clusters_json(found: Clusters) -> str:
    """Clusters as text of schema colde.clusters/1."""
    return json_text(found.to_dict())


def clusters_table(found: Clusters, top: int, *, to_file: bool = False) -> str:
    """Clusters as text, in colours if standard output is a terminal that shows them.

    Args:
        found: to show.
        top: documents of each cluster to list.
        to_file: the text is for a file: no colours.
    """
    return rendered(Group(*_blocks(found, top)), to_file=to_file)


def _blocks(found: Clusters, top: int) -> Iterator[RenderableType]:
    yield Text(summary(found), style="bold" if found else "bold yellow")
    yield Text(facts(found), style="dim")
    for number, cluster in enumerate(found.clusters, 1):
        yield Text()
        yield _cluster(number, cluster, top)
    if found.alone:
        yield Text()
        yield Text("Alone", style="bold")
        yield from (Text(f"    {plain(member.path)}") for member in found.alone[:top])
        if len(found.alone) > top:
            yield Text(f"    and {len(found.alone) - top:,} more", style="dim")


def _cluster(number: int, cluster: Cluster, top: int) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(justify="right", style="dim", no_wrap=True, min_width=3)
    grid.add_column(no_wrap=True, min_width=6)
    grid.add_column(ratio=1, overflow="fold")
    name = Text(", ".join(map(plain, cluster.words)) or shorten(cluster.members[0].title, 60), style="bold")
    name.append(f"  {plural(len(cluster.members), 'document')}", style="dim not bold")
    grid.add_row(str(number), "", name)
    for member in cluster.members[:top]:
        grid.add_row("", _score(member), Text(plain(member.title)))
        grid.add_row("", "", Text(plain(member.path), style="dim"))
    if len(cluster.members) > top:
        grid.add_row("", "", Text(f"and {len(cluster.members) - top:,} more", style="dim"))
    return grid


def _score(member: ClusterMember) -> Text:
    if member.score is None:
        return Text("centre", style="dim")
    return Text(f" {member.score:.2f} ", style=score_style(member.score))


def clusters_markdown(found: Clusters) -> str:
    """Clusters as Markdown; titles and file names are escaped."""
    return "\n\n".join(_markdown_blocks(found)) + "\n"


def _markdown_blocks(found: Clusters) -> Iterator[str]:
    yield f"**{summary(found)}**"
    for number, cluster in enumerate(found.clusters, 1):
        name = markdown(", ".join(cluster.words) or shorten(cluster.members[0].title, 60))
        yield f"### {number}. {name}"
        rows = [
            (
                "centre" if member.score is None else f"{member.score:.2f}",
                markdown(member.title),
                markdown(member.path),
            )
            for member in cluster.members
        ]
        yield table(("Score", "Document", "File"), rows, (0,))
    if found.alone:
        alone = [(markdown(member.title), markdown(member.path)) for member in found.alone]
        yield folded(f"{plural(len(alone), 'document')} alone", table(("Document", "File"), alone))
    if found.skipped:
        files = [(markdown(skipped.path), markdown(skipped.reason)) for skipped in found.skipped]
        yield folded(f"{plural(len(files), 'file')} skipped", table(("File", "Reason"), files))
    if found.half_read:
        read = [(markdown(path), "<br>".join(map(markdown, said))) for path, said in found.half_read]
        yield folded(f"{plural(len(read), 'document')} not read whole", table(("File", "Warnings"), read))
    yield f"<sub>colde · {markdown(facts(found))}</sub>"


def clusters_csv(found: Clusters) -> str:
    """A row for each document under `COLUMNS`; one that is alone has no cluster."""
    rows = [
        (
            number,
            ", ".join(cluster.words),
            round(cluster.cohesion, 6),
            member.path,
            member.title,
            _rounded(member),
        )
        for number, cluster in enumerate(found.clusters, 1)
        for member in cluster.members
    ]
    alone = [(None, "", None, member.path, member.title, None) for member in found.alone]
    return quoted_table(COLUMNS, [*rows, *alone])


def _rounded(member: ClusterMember) -> float | None:
    return None if member.score is None else round(member.score, 6)


def clusters_html(found: Clusters) -> str:
    """Clusters as one HTML page; it loads nothing, and what documents say is escaped."""
    return plain_page(
        "clusters.html",
        "groups.css",
        summary=summary(found),
        facts=harmless(facts(found)),
        clusters=[
            {
                "title": short(cluster.members[0].title, _TITLE),
                "words": [short(word, _TITLE) for word in cluster.words],
                "count": plural(len(cluster.members), "document"),
                "cohesion": f"{cluster.cohesion:.2f}",
                "members": [_row(member) for member in cluster.members],
            }
            for cluster in found.clusters
        ],
        alone=[_row(member) for member in found.alone],
        skipped=[(short(item.path, _PATH), harmless(item.reason)) for item in found.skipped],
        half_read=[(short(path, _PATH), harmless(" ".join(said))) for path, said in found.half_read],
    )


def _row(member: ClusterMember) -> dict[str, str | int]:
    score = member.score
    return {
        "title": short(member.title, _TITLE),
        "path": short(member.path, _PATH),
        "score": "" if score is None else f"{score:.2f}",
        "width": 0 if score is None else max(0, min(100, round(100 * score))),
    }
