"""Copies, versions and parts of documents in the terminal, as Markdown, CSV, JSON and one HTML page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from colde_cli.corpus.duplicates import Relation
from colde_cli.views.console import rendered
from colde_cli.views.csv import Cell, quoted_table
from colde_cli.views.escaping import harmless, markdown, short
from colde_cli.views.json import text as json_text
from colde_cli.views.markdown import folded, table
from colde_cli.views.pages import plain_page
from colde_cli.views.wording import percent, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.corpus.duplicates import Closest, Containment, Families, Family, Member


COLUMNS = (
    *("group", "path", "title", "words", "size", "relation", "other", "share", "share_back"),
    "other_words",
)
_RELATIONS = {
    Relation.IDENTICAL: "identical to",
    Relation.SAME_TEXT: "same text as",
    Relation.NEAR_DUPLICATE: "near-duplicate of",
    Relation.VERSION: "version of",
}
_STYLES = {
    Relation.IDENTICAL: "green",
    Relation.SAME_TEXT: "green",
    Relation.NEAR_DUPLICATE: "cyan",
    Relation.VERSION: "yellow",
}
_TITLE = 90
_PAGE_TITLE = 200
_PAGE_PATH = 400
Links = Mapping[tuple[str, str], str]
"""Addresses of the reports of pairs, by their paths in the order of `Families.pairs`."""


def summary(found: Families) -> str:
    """What was found, in a sentence."""
    members = sum(len(group.members) for group in found.groups)
    parts = len({item.part.path for item in found.contained})
    if not found:
        return "No document is a copy, a version or a part of another."
    groups = f"{plural(len(found.groups), 'group')} of copies and versions, of {plural(members, 'document')}"
    contained = f"{plural(parts, 'document')} {'stands' if parts == 1 else 'stand'} in a longer one"
    return f"{' · '.join([groups] * bool(found.groups) + [contained] * bool(parts))}."


def facts(found: Families) -> str:
    """How many documents were compared and skipped, and the thresholds."""
    skipped = f", {len(found.skipped):,} skipped" if found.skipped else ""
    return (
        f"{plural(found.searched, 'document')} compared{skipped} · versions share at least {found.min_share:.0%} "
        f"of the words of each, a part has at least {found.min_contained:.0%} of its words in the whole"
    )


def relation_words(relation: Relation) -> str:
    """`version of`."""
    return _RELATIONS[relation]


def share_words(share: float) -> str:
    """A share in per cent; 100% only if exact."""
    return "100%" if share == 1 else percent(share)


def shares(share: float, back: float) -> str:
    """`94% of its words there, 88% of that one's here`."""
    return f"{share_words(share)} of its words there, {share_words(back)} of that one's here"


def exact(relation: Relation) -> bool:
    """Whether the two have all words in common, so that shares say nothing."""
    return relation in (Relation.IDENTICAL, Relation.SAME_TEXT)


def families_json(found: Families) -> str:
    """Families as text of schema colde.dupes/1."""
    return json_text(found.to_dict())


def families_table(found: Families, *, to_file: bool = False) -> str:
    """Families as text, in colours if standard output is a terminal that shows them."""
    return rendered(Group(*_blocks(found)), to_file=to_file)


def _blocks(found: Families) -> Iterator[RenderableType]:
    yield Text(summary(found), style="bold" if found else "bold yellow")
    yield Text(facts(found), style="dim")
    for number, group in enumerate(found.groups, 1):
        yield Text()
        yield _group(number, group)
    if found.contained:
        yield Text()
        yield Text("Documents that are part of longer ones", style="bold")
        yield _contained(found)


def _grid() -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(justify="right", style="dim", no_wrap=True, min_width=3)
    grid.add_column(ratio=1, overflow="fold")
    return grid


def _group(number: int, group: Family) -> Table:
    grid = _grid()
    first = group.members[0]
    grid.add_row(str(number), Text(shorten(first.title, _TITLE), style="bold"))
    for member in group.members:
        grid.add_row("", Text(plain(member.path)))
        close = member.closest
        if close is not None:
            grid.add_row("", Text(f"  {_close(close)}", style=_STYLES[close.relation]))
        else:
            grid.add_row("", Text(f"  {plural(member.words, 'word')}", style="dim"))
    return grid


def _close(close: Closest) -> str:
    name = plain(PurePath(close.path).name)
    line = f"{relation_words(close.relation)} {name}"
    return line if exact(close.relation) else f"{line}: {shares(close.share, close.share_back)}"


def _contained(found: Families) -> Table:
    grid = _grid()
    whole = ""
    for item in found.contained:
        if item.whole.path != whole:
            whole = item.whole.path
            grid.add_row("in", Text(f"{plain(whole)} ({plural(item.whole.words, 'word')})", style="bold"))
        stands = f"  {share_words(item.share)} of its {plural(item.part.words, 'word')}"
        grid.add_row("", Text.assemble(plain(item.part.path), (stands, "yellow")))
    return grid


def families_markdown(found: Families) -> str:
    """Families as Markdown; titles and file names are escaped."""
    return "\n\n".join(_markdown_blocks(found)) + "\n"


def _markdown_blocks(found: Families) -> Iterator[str]:
    yield f"**{summary(found)}**"
    for number, group in enumerate(found.groups, 1):
        yield f"### {number}. {markdown(shorten(group.members[0].title, _TITLE))}"
        yield table(("File", "Words", "Relation", "Of"), map(_row, group.members), (1,))
    if found.contained:
        yield "### Documents that are part of longer ones"
        rows = [
            (
                markdown(item.part.path),
                f"{item.part.words:,}",
                share_words(item.share),
                markdown(item.whole.path),
            )
            for item in found.contained
        ]
        yield table(("File", "Words", "Share", "Stands in"), rows, (1, 2))
    if found.skipped:
        files = [(markdown(skipped.path), markdown(skipped.reason)) for skipped in found.skipped]
        yield folded(f"{plural(len(files), 'file')} skipped", table(("File", "Reason"), files))
    if found.half_read:
        read = [(markdown(path), "<br>".join(map(markdown, said))) for path, said in found.half_read]
        yield folded(f"{plural(len(read), 'document')} not read whole", table(("File", "Warnings"), read))
    yield f"<sub>colde · {facts(found)}</sub>"


def _row(member: Member) -> tuple[str, ...]:
    close = member.closest
    if close is None:
        return markdown(member.path), f"{member.words:,}", "", ""
    words = relation_words(close.relation)
    if not exact(close.relation):
        words = f"{share_words(close.share)} / {share_words(close.share_back)} {words}"
    return markdown(member.path), f"{member.words:,}", words, markdown(close.path)


def families_csv(found: Families) -> str:
    """A row for each member of a group, then one for each part in a whole, under `COLUMNS`."""
    rows = [
        (*_cells(number, member), *_other(member.closest), None)
        for number, group in enumerate(found.groups, 1)
        for member in group.members
    ]
    return quoted_table(COLUMNS, [*rows, *map(_part, found.contained)])


def _cells(number: int | None, member: Member) -> tuple[Cell, ...]:
    return (number, member.path, member.title, member.words, member.size)


def _other(close: Closest | None) -> tuple[Cell, ...]:
    if close is None:
        return ("", "", None, None)
    return (close.relation.value, close.path, round(close.share, 6), round(close.share_back, 6))


def _part(item: Containment) -> tuple[Cell, ...]:
    shared = (round(item.share, 6), round(item.share_back, 6))
    return (*_cells(None, item.part), "contained", item.whole.path, *shared, item.whole.words)


def families_html(found: Families, links: Links | None = None) -> str:
    """The page as text; it loads nothing, and what documents say is escaped.

    Args:
        found: to show.
        links: to reports of pairs, relative to the page; a pair without one shows the command that makes it.
    """
    reports = links or {}
    return plain_page(
        "families.html",
        "groups.css",
        summary=summary(found),
        facts=facts(found),
        groups=[
            {
                "title": short(group.members[0].title, _PAGE_TITLE),
                "count": plural(len(group.members), "document"),
                "members": [_member_row(member, reports) for member in group.members],
            }
            for group in found.groups
        ],
        wholes=list(_wholes(found, reports)),
        skipped=[(short(item.path, _PAGE_PATH), harmless(item.reason)) for item in found.skipped],
        half_read=[(short(path, _PAGE_PATH), harmless(" ".join(said))) for path, said in found.half_read],
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A document and how it is related to another.

    Attributes:
        words: how many, in words.
        relation: "version of"; "" for the first of a group.
        kind: class of the relation.
        other: path of the other document.
        shares: in per cent and in words, of its words there and of the other's here; empty where all are the same.
        link: to the report on both, or "".
        command: that makes the report, or "".
    """

    title: str
    path: str
    words: str
    relation: str = ""
    kind: str = ""
    other: str = ""
    shares: tuple[tuple[int, str], ...] = ()
    link: str = ""
    command: str = ""


def _member_row(member: Member, links: Links) -> Row:
    close = member.closest
    words = plural(member.words, "word") if member.words else "not readable"
    if close is None:
        return Row(short(member.title, _PAGE_TITLE), short(member.path, _PAGE_PATH), words)
    same = exact(close.relation)
    return Row(
        short(member.title, _PAGE_TITLE),
        short(member.path, _PAGE_PATH),
        words,
        relation_words(close.relation),
        close.relation.value,
        short(close.path, _PAGE_PATH),
        () if same else (_bar(close.share), _bar(close.share_back)),
        *(("", "") if same else _report(close.path, member.path, links)),
    )


def _bar(share: float) -> tuple[int, str]:
    return round(100 * share), share_words(share)


def _report(a: str, b: str, links: Links) -> tuple[str, str]:
    """The address of the report on a pair, or the command that makes it."""
    if (a, b) in links:
        return links[a, b], ""
    # A name that begins with a hyphen is no option after two of them.
    return "", harmless(shlex.join(["colde", "diff", "-o", "diff.html", "--", a, b]))


def _wholes(found: Families, links: Links) -> Iterator[dict[str, Any]]:
    """The longer documents, each with its parts."""
    parts: dict[str, list[Containment]] = {}
    for item in found.contained:
        parts.setdefault(item.whole.path, []).append(item)
    for path, items in parts.items():
        whole = items[0].whole
        yield {
            "title": short(whole.title, _PAGE_TITLE),
            "path": short(path, _PAGE_PATH),
            "words": plural(whole.words, "word"),
            "count": plural(len(items), "part"),
            "parts": [_part_row(item, links) for item in items],
        }


def _part_row(item: Containment, links: Links) -> Row:
    return Row(
        short(item.part.title, _PAGE_TITLE),
        short(item.part.path, _PAGE_PATH),
        plural(item.part.words, "word"),
        "part of",
        "contained",
        short(item.whole.path, _PAGE_PATH),
        (_bar(item.share), _bar(item.share_back)),
        *_report(item.part.path, item.whole.path, links),
    )
