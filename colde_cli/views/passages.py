"""Passages in the terminal: changes of sections, changes with their redlines, passages of only one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.documents.passages import whole_pages
from colde_cli.similarity.alignment import State
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.section_changes import SectionState
from colde_cli.views.console import link_pages
from colde_cli.views.redline import marked, pieces
from colde_cli.views.summary import one_text
from colde_cli.views.wording import (
    MOST_FLAGS,
    STATE_WORDS,
    WrappedFacts,
    WrappedParagraph,
    flag_words,
    heading,
    pair_state,
    place,
    places,
    plain,
    section_state,
    shorten,
)

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.section_changes import SectionChange
    from colde_cli.similarity.triage import WeightedChange

_STYLES = {State.EDITED: "yellow", State.MOVED: "magenta", State.ONLY_A: "red", State.ONLY_B: "green"}
_LOOKS = {Operation.KEPT: "dim", Operation.DELETED: "red strike", Operation.INSERTED: "green underline"}
_FLAG = "bold red"
_HEADING = 40  # characters shown at most
_MOST_LINES = 15
"""Of a redline; the other formats show all of it."""
_ONE_SIDED = {SectionState.ADDED, SectionState.DROPPED}


@dataclass(frozen=True, slots=True)
class ListedChanges:
    """The changes by the part of a view that lists them, the weightiest first.

    Attributes:
        flagged: all with a flag; a clause of only one document is among them.
        others: edited or moved without a flag.
        only_a: passages of A alone, without a flag.
        only_b: passages of B alone, without a flag.
    """

    flagged: Sequence[WeightedChange]
    others: Sequence[WeightedChange]
    only_a: Sequence[WeightedChange]
    only_b: Sequence[WeightedChange]


def by_part(comparison: Comparison) -> ListedChanges:
    """Divide the changes among the parts of a view."""
    pairs, different = comparison.passages, not one_text(comparison)
    parts: dict[str, list[WeightedChange]] = {name: [] for name in ("flagged", "others", "only_a", "only_b")}
    for change in comparison.changes:
        pair = pairs[change.pairs[0]]
        if different and not any(map(str.isalpha, pair.a_text + pair.b_text)):
            continue  # two texts that are no versions of each other have some number in common
        both = "others" if pair.a and pair.b else pair.state.value
        parts["flagged" if pair.flags else both].append(change)
    return ListedChanges(**parts)


def change_titles(comparison: Comparison) -> tuple[str, str]:
    """The titles of changes with a flag and without; two different texts have no changes, only similar passages."""
    if one_text(comparison):
        return "Flagged changes", "Other changes"
    return "Similar passages with flagged differences", "Similar passages"


Title = Callable[[str, str], RenderableType]


def counts(comparison: Comparison) -> WrappedFacts:
    """The numbers of passages in each state, and of flagged changes."""
    facts = [
        Text(f"{number:,} {STATE_WORDS[state]}", style=_STYLES.get(state, "") if number else "dim")
        for state, number in comparison.summary.items()
    ]
    flagged = sum(bool(pair.flags) for pair in comparison.passages)
    return WrappedFacts([*facts, Text(f"{flagged:,} flagged", style=_FLAG if flagged else "dim")])


def passage_parts(
    comparison: Comparison, top: int, title: Title, *, only: bool = True
) -> Iterator[RenderableType]:
    """Flagged changes, the others, passages of only one document, and changes of sections; the weightiest first.

    Args:
        comparison: to show.
        top: passages of each kind to list.
        title: draws the line above a part from its name and a remark.
        only: also list what only one document has; of two different texts that is nearly all.
    """
    listed = by_part(comparison)
    names = change_titles(comparison)
    yield from _listed(comparison, names[0], listed.flagged, top, title)
    yield from _listed(comparison, names[1], listed.others, top, title)
    if only:
        yield from _listed(comparison, "Only in A", listed.only_a, top, title)
        yield from _listed(comparison, "Only in B", listed.only_b, top, title)
        yield from _sections(comparison, title)


def _counts(top: int, count: int) -> str:
    return f"{count}" if count <= top else f"{top} of {count}; --top {count} lists all"


def _listed(
    comparison: Comparison, name: str, changes: Sequence[WeightedChange], top: int, title: Title
) -> Iterator[RenderableType]:
    if changes:
        yield title(name, _counts(top, len(changes)))
    for change in changes[:top]:
        a, b = comparison.a.document, comparison.b.document
        yield from pair_lines(a, b, comparison.passages[change.pairs[0]], len(change.pairs))


def pair_lines(a: Document, b: Document, pair: PassagePair, passages: int = 1) -> Iterator[RenderableType]:
    """A change: its kind, its flags and its place; below, its redline, or the text that only one document has.

    Args:
        a: the first document.
        b: the second.
        pair: of passages that differ.
        passages: in which the same words were replaced.
    """
    if not pair.a or not pair.b:
        yield from _alone(a if pair.a else b, pair)
        return
    yield _head(a, b, pair, passages)
    yield Padding(Redline(pair), (0, 0, 0, 2))


def _sections(comparison: Comparison, title: Title) -> Iterator[RenderableType]:
    changes = comparison.section_changes
    both = [change for change in changes if change.state not in _ONE_SIDED | {SectionState.MATCHED}]
    both += [change for change in changes if change.state is SectionState.MATCHED and change.moved]
    alone = [change for change in changes if change.state in _ONE_SIDED]
    if not both and not alone:
        return
    yield title("Section changes", "")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for change in sorted(both, key=lambda change: change.a):
        grid.add_row(*_section(comparison, change))
    for state, style in ((SectionState.DROPPED, "red"), (SectionState.ADDED, "green")):
        names = [name for change in alone if change.state is state for name in _headings(comparison, change)]
        if names:
            grid.add_row(Text(state.value, style=style), WrappedFacts([Text(name) for name in names]))
    yield grid


def _section(comparison: Comparison, change: SectionChange) -> tuple[Text, Text]:
    style = _STYLES[State.MOVED if change.moved else State.EDITED]
    a, b = (_names(side.document, of) for side, of in ((comparison.a, change.a), (comparison.b, change.b)))
    return Text(section_state(change), style=style), Text(f"{' + '.join(a)} → {' + '.join(b)}")


def _headings(comparison: Comparison, change: SectionChange) -> list[str]:
    return _names(comparison.a.document, change.a) + _names(comparison.b.document, change.b)


def _names(document: Document, indices: Sequence[int]) -> list[str]:
    return [shorten(heading(document.sections[index]), 60) for index in indices]


def _head(a: Document, b: Document, pair: PassagePair, passages: int) -> WrappedFacts:
    facts = [Text(pair_state(pair), style=_STYLES[pair.state])]
    if passages > 1:
        facts.append(Text(f"in {passages} passages", style="bold"))
    for kind, change in flag_words(pair.flags, MOST_FLAGS):
        facts.append(Text.assemble((kind, _FLAG), f" {change}"))
    where = Text(places(a, b, pair, _HEADING), style="dim")
    facts.append(link_pages(where, (a.path, whole_pages(pair.a)), (b.path, whole_pages(pair.b))))
    return WrappedFacts(facts, gap="  ", indent=2)


def _alone(document: Document, pair: PassagePair) -> Iterator[RenderableType]:
    where = " · ".join(part for part in place(document, pair.a or pair.b, _HEADING) if part)
    sign = "-" if pair.a else "+"
    clause = ("dropped clause  " if pair.a else "new clause  ") if pair.flags else ""
    linked = link_pages(Text(where, "dim"), (document.path, whole_pages(pair.a or pair.b)))
    head = Text.assemble((f"{sign} ", _STYLES[pair.state]), (clause, _FLAG), linked)
    head.no_wrap, head.overflow = True, "ellipsis"
    yield head
    yield Padding(WrappedParagraph(Text(plain(pair.a_text or pair.b_text)), most=2), (0, 0, 0, 2))


class Redline:
    """The edits of a pair with a few words around each; without colours as [-deleted-] and {+inserted+}."""

    def __init__(self, pair: PassagePair) -> None:
        self._pair = pair

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield WrappedParagraph(
            self.text(console.color_system is not None and not console.no_color), _MOST_LINES
        )

    def text(self, coloured: bool) -> Text:
        """The redline in colours, or with marks."""
        shown = pieces(self._pair)
        if not coloured:
            return Text(marked(shown))
        line = Text()
        for piece in shown:
            line.append(" " if piece.gap else "").append(piece.text, _LOOKS[piece.kind])
        return line
