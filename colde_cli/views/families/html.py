"""Copies, versions and parts of documents as one HTML page, without scripts; a link or a command opens each diff."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colde_cli.views.escaping import harmless, short
from colde_cli.views.families.formats import exact, facts, relation_words, share_words, summary
from colde_cli.views.pages import plain_page
from colde_cli.views.wording import plural

if TYPE_CHECKING:
    from colde_cli.corpus.families import Containment, Families, Member

_TEMPLATE = Path(__file__).with_name("dupes.html")
_TITLE = 200
_PATH = 400

Links = Mapping[tuple[str, str], str]
"""Addresses of the reports of pairs, by their paths in the order of `Families.pairs`."""


def families_html(found: Families, links: Links | None = None) -> str:
    """The page as text; it loads nothing, and what documents say is escaped.

    Args:
        found: to show.
        links: to reports of pairs, relative to the page; a pair without one shows the command that makes it.
    """
    reports = links or {}
    return plain_page(
        _TEMPLATE,
        summary=summary(found),
        facts=facts(found),
        groups=[
            {
                "title": short(group.members[0].title, _TITLE),
                "count": plural(len(group.members), "document"),
                "members": [_row(member, reports) for member in group.members],
            }
            for group in found.groups
        ],
        wholes=list(_wholes(found, reports)),
        skipped=[(short(item.path, _PATH), harmless(item.reason)) for item in found.skipped],
        half_read=[(short(path, _PATH), harmless(" ".join(said))) for path, said in found.half_read],
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


def _row(member: Member, links: Links) -> Row:
    close = member.closest
    words = plural(member.words, "word") if member.words else "not readable"
    if close is None:
        return Row(short(member.title, _TITLE), short(member.path, _PATH), words)
    same = exact(close.relation)
    return Row(
        short(member.title, _TITLE),
        short(member.path, _PATH),
        words,
        relation_words(close.relation),
        close.relation.value,
        short(close.path, _PATH),
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
            "title": short(whole.title, _TITLE),
            "path": short(path, _PATH),
            "words": plural(whole.words, "word"),
            "count": plural(len(items), "part"),
            "parts": [_part(item, links) for item in items],
        }


def _part(item: Containment, links: Links) -> Row:
    return Row(
        short(item.part.title, _TITLE),
        short(item.part.path, _PATH),
        plural(item.part.words, "word"),
        "part of",
        "contained",
        short(item.whole.path, _PATH),
        (_bar(item.share), _bar(item.share_back)),
        *_report(item.part.path, item.whole.path, links),
    )
