"""Two folders in the terminal, as plain text, Markdown, CSV, JSON, JSON Lines and one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.corpus.folder_pairs import FileState, file_data
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import Operation
from colde_cli.views.console import rendered
from colde_cli.views.csv import Cell, quoted_table
from colde_cli.views.escaping import harmless, markdown, short
from colde_cli.views.json import lines, text
from colde_cli.views.markdown import folded, pair_block, table
from colde_cli.views.pages import plain_page
from colde_cli.views.redline import pieces
from colde_cli.views.summary import (
    both_documents,
    bullets,
    change_place,
    reservations,
    verdict,
    verdict_sentence,
    weightiest_change,
    wrapped,
)
from colde_cli.views.wording import flag_words, ignored_names, pair_state, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.corpus.folder_pairs import FileChange, FolderComparison
    from colde_cli.documents.document import Document
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.pairs import PassagePair


FILE_COLUMNS = (
    *("state", "a", "b", "changes", "flagged", "weight", "score", *(state.value for state in State)),
    *("weightiest", "place", "reason"),
)
NAMES = {
    FileState.UNREAD: "not read",
    FileState.ONLY_A: "only in A",
    FileState.ONLY_B: "only in B",
    FileState.EDITED: "edited",
    FileState.RENAMED: "renamed",
    FileState.SAME: "same",
}
_STYLES = {
    FileState.UNREAD: "bold red",
    FileState.ONLY_A: "red",
    FileState.ONLY_B: "green",
    FileState.EDITED: "yellow",
    FileState.RENAMED: "magenta",
    FileState.SAME: "dim",
}
_LINES = 15
_NAMES, _NAME = 3, 40
"""Maximum number of files of only one folder that a summary names, and of characters of each."""
_DECIMALS = 6

Blocks = Mapping[tuple[str, str], str]
"""The changes of a pair of files as Markdown, by their paths."""
_PAGE_PATH, _PAGE_EDIT = 400, 600


def sentence(found: FolderComparison) -> str:
    """The number of files in each state: `12 documents: 8 same, 3 edited, 1 only in A`."""
    counts = [f"{count:,} {NAMES[state]}" for state, count in reversed(found.counts.items()) if count]
    return f"{plural(len(found.files), 'document')}: {', '.join(counts)}."


def state_words(change: FileChange) -> str:
    """`edited, 23 changes`; `renamed`; `same, not read whole`."""
    counted = [plural(change.changes, "change")] if change.changes else []
    part = ["not read whole"] if change.half_read else []
    return ", ".join([NAMES[change.state], *counted, *part])


def listed(found: FolderComparison) -> list[FileChange]:
    """The files that a list names: the others are the same for certain, and only counted."""
    return [change for change in found.files if change.state is not FileState.SAME or change.half_read]


def paths(change: FileChange) -> str:
    """The path of a file; both, if it was renamed."""
    return " → ".join(dict.fromkeys(plain(path) for path in (change.a, change.b) if path))


def weightiest(change: FileChange) -> tuple[str, str]:
    """The words of the weightiest change of a file, and its place; a reason or a remark where there is none."""
    return (plain(change.reason), "") if change.reason else weightiest_change(change.digest)


def folders_table(found: FolderComparison, *, to_file: bool = False) -> str:
    """Two folders as text, in colours if standard output is a terminal that shows them.

    Files that are the same are only counted.
    """
    return rendered(Group(*_rows(found)), to_file=to_file)


def facts(found: FolderComparison) -> list[str]:
    """Both folders, and what is ignored."""
    ignored = ignored_names(found.ignore)
    return [
        f"A: {plain(found.a)}",
        f"B: {plain(found.b)}",
        *([f"Ignored: {', '.join(ignored)}"] if ignored else []),
    ]


def _rows(found: FolderComparison) -> Iterator[RenderableType]:
    yield Text(sentence(found), "bold")
    for fact in facts(found):
        yield Text(fact, "dim")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for change in listed(found):
        words, where = weightiest(change)
        grid.add_row(Text(state_words(change), _STYLES[change.state]), Text(paths(change), "bold"))
        if words:
            grid.add_row("", Text(words + (f"  {where}" if where else ""), "dim"))
    yield Padding(grid, (1, 0, 0, 0))
    for item in found.unlisted:
        yield Text(f"Not listed: {plain(item.path)}: {plain(item.reason)}", "yellow")


def folders_summary(found: FolderComparison) -> str:
    """Two folders in at most 15 lines of plain text."""
    head = [line for fact in (sentence(found), *facts(found)) for line in wrapped(fact)]
    changed = listed(found)
    shown = list(bullets(_entries(changed), _LINES - len(head) - 1, len(changed), "more document"))
    return "".join(f"{line}\n" for line in (*head, *([""] if shown else []), *shown))


def _entries(changed: Sequence[FileChange]) -> Iterator[tuple[str, int]]:
    """A line for each file, with a 1; the files of only one folder share a line, with their number."""
    for state, alike in groupby(changed, key=lambda change: change.state):
        files = list(alike)
        if state not in (FileState.ONLY_A, FileState.ONLY_B):
            yield from ((_line(change), 1) for change in files)
            continue
        names = [shorten(paths(change), _NAME) for change in files[:_NAMES]]
        more = f" and {len(files) - len(names):,} more" if len(files) > len(names) else ""
        yield f"{NAMES[state]}: {', '.join(names)}{more}", len(files)


def _line(change: FileChange) -> str:
    words, where = weightiest(change)
    told = f": {words}" if words else ""
    return f"{paths(change)}: {state_words(change)}{told}{f' ({where})' if where else ''}"


def markdown_block(comparison: Comparison, top: int) -> str:
    """The verdict on a pair of files and its weightiest changes, as Markdown."""
    a, b = comparison.a.document, comparison.b.document
    changes = comparison.changes
    blocks = [
        pair_block(a, b, comparison.passages[change.pairs[0]], len(change.pairs)) for change in changes[:top]
    ]
    more = len(changes) - len(blocks)
    others = [plural(more, "more change")] if more > 0 else []
    return "\n\n".join([markdown(verdict_sentence(comparison)), *blocks, *others])


def folders_markdown(found: FolderComparison, blocks: Blocks) -> str:
    """Two folders as GitHub Flavored Markdown: a table of the files, then the changes of each, folded."""
    rows = [
        (markdown(state_words(change)), markdown(paths(change)), *map(markdown, weightiest(change)))
        for change in listed(found)
    ]
    parts = [f"**{markdown(sentence(found))}**", *map(markdown, facts(found))]
    parts += [table(("State", "File", "Weightiest change", "Place"), rows)] if rows else []
    for change in found.files:
        if block := blocks.get((change.a, change.b)):
            parts.append(folded(f"{markdown(paths(change))}: {state_words(change)}", block))
    return "\n\n".join(parts) + "\n"


def folders_csv(found: FolderComparison) -> str:
    """A row for each file, under `FILE_COLUMNS`."""
    return quoted_table(FILE_COLUMNS, map(_cells, found.files))


def _cells(change: FileChange) -> tuple[Cell, ...]:
    digest = change.digest
    words, where = weightiest_change(digest)
    first = (change.state.value, change.a, change.b, change.changes)
    if digest is None:
        return (*first, 0, 0.0, None, *(None for _ in State), words, where, change.reason)
    counts = (digest.summary[state] for state in State)
    return (*first, digest.flagged, digest.weight, round(digest.score, _DECIMALS), *counts, words, where, "")


def folders_json(found: FolderComparison) -> str:
    """Two folders as text of schema colde.folders/1."""
    return text(found.to_dict())


def folders_jsonl(found: FolderComparison) -> str:
    """Lines of schema colde.folders-lines/1: both folders, then each file, the worst first."""
    data = found.to_dict()
    del data["files"]
    return lines([{**data, "schema": "colde.folders-lines/1"}, *map(file_data, found.files)])


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change as the page shows it.

    Attributes:
        state: `edited`, `moved, 2 edits`, `only in A`.
        flags: kinds with their words of A and B.
        place: pages and headings.
        line: the redline, in pieces.
        passages: in which the same words were replaced.
    """

    state: str
    flags: list[tuple[str, str]]
    place: str
    line: list[tuple[str, str, bool]]
    passages: int


@dataclass(frozen=True, slots=True)
class ShownPair:
    """What the page shows of a pair of files.

    Attributes:
        verdict: in sentences.
        documents: title, file and size of both.
        reservations: what was left out, ignored or not read well.
        more: how many changes are not shown, in words.
    """

    verdict: str
    documents: list[str]
    reservations: list[str]
    changes: list[ShownChange]
    more: str


def shown_pair(comparison: Comparison, top: int) -> ShownPair:
    """The verdict on a pair of files and its weightiest changes."""
    a, b = comparison.a.document, comparison.b.document
    changes = comparison.changes
    more = len(changes) - top
    return ShownPair(
        harmless(verdict(comparison)),
        list(map(harmless, both_documents(comparison))),
        list(map(harmless, reservations(comparison))),
        [_change(a, b, comparison.passages[item.pairs[0]], len(item.pairs)) for item in changes[:top]],
        plural(more, "more change") if more > 0 else "",
    )


def _change(a: Document, b: Document, pair: PassagePair, passages: int) -> ShownChange:
    flags = [(kind, harmless(words)) for kind, words in flag_words(pair.flags)] if pair.a and pair.b else []
    where = change_place(a, b, pair, passages)
    return ShownChange(pair_state(pair), flags, harmless(where), _line_pieces(pair), passages)


def _line_pieces(pair: PassagePair) -> list[tuple[str, str, bool]]:
    if pair.a and pair.b:
        return [
            (piece.kind.value, harmless(piece.text), piece.gap) for piece in pieces(pair, longest=_PAGE_EDIT)
        ]
    kind = Operation.DELETED if pair.a else Operation.INSERTED
    return [(kind.value, short(pair.a_text or pair.b_text, _PAGE_EDIT), False)]


def folders_html(
    found: FolderComparison,
    shown: Mapping[tuple[str, str], ShownPair],
    links: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """The page as text; what documents say is escaped.

    Args:
        found: to show.
        shown: the changes of pairs, by the paths of their files.
        links: addresses of reports on pairs, relative to the page.
    """
    files = [
        {
            "state": state_words(change),
            "kind": change.state.value.replace("_", "-"),
            "path": short(paths(change), _PAGE_PATH),
            "words": [harmless(words) for words in weightiest(change) if words],
            "pair": shown.get((change.a, change.b)),
            "report": (links or {}).get((change.a, change.b)),
        }
        for change in listed(found)
    ]
    unchanged = (change for change in found.files if change.state is FileState.SAME and not change.half_read)
    return plain_page(
        "folders.html",
        "folders.css",
        summary=sentence(found),
        facts=[short(fact, _PAGE_PATH) for fact in facts(found)],
        files=files,
        same=[short(change.a, _PAGE_PATH) for change in unchanged],
        unlisted=[(short(item.path, _PAGE_PATH), harmless(item.reason)) for item in found.unlisted],
    )
