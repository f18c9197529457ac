"""A comparison in the terminal, readable at 80 columns: verdict, heat map, changes of sections, and redlines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.documents.passages import whole_pages
from colde_cli.similarity.comparison import COUNTERPART
from colde_cli.similarity.outside import MOST_LISTED
from colde_cli.similarity.pairs import State, extents
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.section_changes import SectionState
from colde_cli.views.console import file_link, link_pages, rendered, titled
from colde_cli.views.heatmap import HeatMap, score_style
from colde_cli.views.outside import TITLE, not_listed, outside_rows, uncompared
from colde_cli.views.redline import TYPESETTING, marked, pieces, place_pieces
from colde_cli.views.summary import one_text, told_outside, verdict_sentence
from colde_cli.views.wording import (
    MAX_FLAGS,
    STATE_WORDS,
    VERDICTS,
    WrappedFacts,
    WrappedParagraph,
    apart_from,
    closer_than,
    document_facts,
    excerpt,
    first_of,
    flag_words,
    from_difference,
    heading,
    ignored_line,
    left_out,
    names_apart,
    no_threshold,
    page_range,
    pair_state,
    percent,
    place,
    places,
    plain,
    plural,
    reasons,
    score_parts,
    section_state,
    shared_words,
    shorten,
)

if TYPE_CHECKING:
    from colde_cli.documents.document import Chunk, Document
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import ChunkMatch, Comparison
    from colde_cli.similarity.outside import OutsideComparison
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.similarity.section_changes import SectionChange
    from colde_cli.similarity.triage import WeightedChange
    from colde_cli.similarity.typesetting import TypesettingPlace
    from colde_cli.views.redline import Piece

_GAUGE = 40
_VERDICT_STYLES = {True: "bold green", False: "bold yellow", None: "bold"}
_MAX_CLOSEST = 4
"""Maximum number of pairs of chunks that are shown before the heat map."""
_MAX_SECTIONS = 40
"""Maximum number of sections of each document in the heat map if other parts follow. Beyond it, the upper levels of
headings are shown; a heat map with more than twice as many of these is left out."""
_STYLES = {State.EDITED: "yellow", State.MOVED: "magenta", State.ONLY_A: "red", State.ONLY_B: "green"}
_LOOKS = {Operation.KEPT: "dim", Operation.DELETED: "red strike", Operation.INSERTED: "green underline"}
_FLAG = "bold red"
_HEADING = 40  # characters shown at most
_MAX_LINES = 15
"""Maximum number of lines of a redline; the other formats show all of it."""
_ONE_SIDED = {SectionState.ADDED, SectionState.DROPPED}


def comparison_table(
    comparison: Comparison,
    level: str,
    top: int,
    *,
    verbose: bool = False,
    attention: bool = False,
    to_file: bool = False,
) -> str:
    """A comparison as text, in colours if standard output is a terminal that shows them.

    Args:
        comparison: to show.
        level: "document" ends after the verdict; "section" adds the heat map, "passage" the changes; "all" is the
            changes, and the heat map of two different texts.
        top: passages or chunks of each kind to list.
        verbose: show the parts of the score in figures.
        attention: show the attention of chunks.
        to_file: the text is for a file: no colours.
    """
    return rendered(Group(*_blocks(comparison, level, top, verbose, attention)), to_file=to_file)


def _blocks(
    comparison: Comparison, level: str, top: int, verbose: bool, attention: bool
) -> Iterator[RenderableType]:
    yield _header(comparison)
    yield Text()
    yield Text(verdict_sentence(comparison), "bold")
    for sentence in uncompared(comparison.outside, comparison.a.document, comparison.b.document):
        yield Text(sentence, "yellow")
    if verbose or not one_text(comparison):
        yield _verdict(comparison, verbose)
    both = extents(comparison.passages) if comparison.alignment else None
    if both and not comparison.same_content:
        yield Text(shared_words(comparison, both))
    if level in ("passage", "all") and both and not comparison.same_content:
        whole = level == "passage" or one_text(comparison)
        if both[0].kept:
            yield counts(comparison)
        if not whole:
            yield Text("--level passage lists what is only in A and only in B.", "dim")
            yield from _closest(comparison, min(top, _MAX_CLOSEST))
        yield from passage_parts(comparison, top, titled, only=whole)
    if level in ("passage", "all"):
        if one_text(comparison):
            yield from typesetting_lines(comparison.typesetting, top, titled)
        outside = comparison.outside if level == "passage" else told_outside(comparison)
        yield from outside_lines(outside, top, titled)
    if level == "section" or (level == "all" and not one_text(comparison)):
        yield from _heat_map(comparison, _MAX_SECTIONS if level == "all" else None)
    if level == "chunk":
        yield from _matches(comparison, top, attention)
        yield from _unmatched(comparison, top)


def _header(comparison: Comparison) -> Table:
    grid = Table.grid(padding=(0, 2))  # a title may begin with "A"
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(ratio=1)
    files = names_apart([comparison.a.document.path, comparison.b.document.path])
    for name, encoding, file in zip("AB", (comparison.a, comparison.b), files, strict=True):
        grid.add_row(name, Text(shorten(encoding.document.title, 160), style="bold"))
        facts = [Text(fact, style="dim") for fact in document_facts(encoding, file)]
        if encoding.document.path:
            facts[0].stylize(file_link(encoding.document.path))
        grid.add_row("", WrappedFacts(facts))
        if missing := left_out(encoding.document):
            grid.add_row("", Text(f"Left out: {missing}", style="yellow"))
    ignored = ignored_line(comparison)
    if ignored:
        grid.add_row("", Text(f"Ignored: {ignored}", style="yellow"))
    return grid


def _verdict(comparison: Comparison, verbose: bool) -> Group:
    verdict = (VERDICTS[comparison.related], _VERDICT_STYLES[comparison.related])
    line = Text.assemble(verdict, "   score ", (f"{comparison.score:.3f}", "bold"))
    if comparison.probability is not None:
        line.append(f"   probability of a relation {percent(comparison.probability)}")
    if comparison.field is not None:
        line.append(f"   {closer_than(comparison.percentile, comparison.field)}")
    model = comparison.model
    runs = f"{model.name} · {model.precision} · {model.device}"
    rows = [line, _gauge(comparison)]
    if why := reasons(comparison):
        rows.append(Text(why))
    if verbose and len(comparison.parts) > 1:
        rows.append(Text(f"score from {score_parts(comparison.parts)}", style="dim"))
    return Group(*rows, Text(runs, style="dim"))


def _gauge(comparison: Comparison) -> Text:
    """The score as a bar from 0 to 1 with a mark at the threshold."""
    score, threshold = comparison.score, comparison.threshold
    filled = round(max(0.0, min(1.0, score)) * _GAUGE)
    bar = Text("━" * filled, style="cyan")
    bar.append("─" * (_GAUGE - filled), style="dim")
    if threshold is None:
        reason = no_threshold(comparison)
        return bar.append(f"  {reason}", style="dim")
    place = min(_GAUGE - 1, max(0, round(threshold * _GAUGE)))
    marked = bar[:place] + Text("┃", style="bold") + bar[place + 1 :]
    return marked.append(f"  threshold {threshold:.2f}", style="dim")


def _heat_map(comparison: Comparison, limit: int | None) -> Iterator[RenderableType]:
    a, b = comparison.a.document.sections, comparison.b.document.sections
    shown = comparison.outline(limit or max(len(a), len(b)))
    folds = shown.scores.size < comparison.section_scores.size
    if limit and shown.scores.size > (2 * limit) ** 2:
        yield titled("Sections", f"{len(a)} × {len(b)}")
        yield Text("There are too many sections to show here; --level section shows the heat map.", "dim")
        return
    yield titled("Sections", f"of {len(a)} × {len(b)}" if folds else "")
    rows, columns = [heading(a[index]) for index in shown.a], [heading(b[index]) for index in shown.b]
    yield HeatMap(shown.scores, rows, len(columns))
    if folds:
        yield Text("The best score below both headings; --level section shows all sections.", "dim")
    yield Text()
    yield _Key(columns)


class _Key:
    """The numbered headings of B, in as many columns as fit."""

    def __init__(self, headings: Sequence[str]) -> None:
        self._headings = headings

    def __rich_console__(self, console: Console, options: object) -> Iterator[RenderableType]:
        width = console.width
        columns = max(1, min(4, width // 28))
        rows = -(-len(self._headings) // columns)
        grid = Table.grid(padding=(0, 2), expand=True)
        for _ in range(columns):
            grid.add_column(ratio=1, no_wrap=True)
        names = [
            Text.assemble((f"{number:>3} ", "dim"), name, overflow="ellipsis", no_wrap=True)
            for number, name in enumerate(self._headings, 1)
        ]
        for row in range(rows):
            grid.add_row(*names[row::rows])
        yield Text("B", style="bold cyan")
        yield grid


def _closest(comparison: Comparison, limit: int) -> Iterator[RenderableType]:
    """The closest chunks of two different texts."""
    found = comparison.closest_chunks(limit)
    if not found:
        return
    yield titled("Closest chunks", "--level chunk shows more")
    grid = _grid()
    for score, i, j in found:
        for encoding, index, name in ((comparison.a, i, "A"), (comparison.b, j, "B")):
            chunk = encoding.chunks[index]
            words = Text(excerpt(encoding.document, chunk))
            grid.add_row(_score(score) if name == "A" else "", name, *_place(encoding, chunk), words)
    yield grid


def _matches(comparison: Comparison, top: int, attention: bool) -> Iterator[RenderableType]:
    """The number of chunks found word for word; then the best counterpart of each other chunk of A, best first."""
    matches = comparison.matches_of_a(attention=attention)
    changed = sorted((match for match in matches if not match.same), key=lambda match: -match.score)
    same = len(matches) - len(changed)
    aside = f"{min(top, len(changed))} of {len(changed)}" if changed else ""
    yield titled("Chunks of A, each with the most similar chunk of B", aside)
    if same:
        yield Text(
            f"{same} of {plural(len(matches), 'chunk')} of A {'is' if same == 1 else 'are'} also in B, word for word"
            f"{apart_from(comparison.ignore)}.",
            style="green",
        )
    if not changed:
        return
    grid = _grid()
    for match in changed[:top]:
        here, there = comparison.a.chunks[match.chunk], comparison.b.chunks[match.partner]
        words = from_difference(excerpt(comparison.a.document, here), excerpt(comparison.b.document, there))
        weight = "" if match.attention is None else f"×{match.attention:.1f} "
        grid.add_row(_score(match.score), "A", *_place(comparison.a, here), Text(words[0]))
        grid.add_row(Text(weight, style="dim"), "B", *_place(comparison.b, there), Text(words[1]))
    yield grid
    if attention:
        yield Text(
            "Upper line: the score. Lower line: A's attention to the chunk of B (×1 is uniform), not a similarity.",
            "dim",
        )


def _unmatched(comparison: Comparison, top: int) -> Iterator[RenderableType]:
    bound = f"best score below {COUNTERPART:.2f}"
    for name, encoding, matches in zip(
        "AB", (comparison.a, comparison.b), comparison.without_counterpart(), strict=True
    ):
        lowest: list[ChunkMatch] = sorted(matches, key=lambda match: match.score)[:top]
        if not matches:
            continue
        yield titled(
            f"Only in {name}: chunks without a counterpart", f"{len(lowest)} of {len(matches)}, {bound}"
        )
        grid = _grid()
        for match in lowest:
            chunk = encoding.chunks[match.chunk]
            words = Text(excerpt(encoding.document, chunk))
            grid.add_row(_score(match.score), name, *_place(encoding, chunk), words)
        yield grid


def _score(score: float) -> Text:
    return Text(f" {score:.2f} ", style=score_style(score))


def _grid() -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(justify="right", no_wrap=True, min_width=6)
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(no_wrap=True, justify="right", min_width=7)
    grid.add_column(ratio=2, no_wrap=True, overflow="ellipsis")
    grid.add_column(ratio=5, no_wrap=True, overflow="ellipsis", style="dim")
    return grid


def _place(encoding: Encoding, chunk: Chunk) -> tuple[Text, Text]:
    """Pages and heading of a chunk."""
    pages = link_pages(Text(page_range(chunk.pages)), (encoding.document.path, chunk.pages))
    return pages, Text(heading(encoding.document.sections[chunk.section]))


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
    pairs = comparison.passages
    parts: dict[str, list[WeightedChange]] = {name: [] for name in ("flagged", "others", "only_a", "only_b")}
    for change in comparison.changes:
        pair = pairs[change.pairs[0]]
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
        yield from _section_changes(comparison, title)


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
    yield Padding(Redline(pieces(pair)), (0, 0, 0, 2))


def outside_lines(outside: OutsideComparison, top: int, title: Title) -> Iterator[RenderableType]:
    """What differs outside the text: kind and place of each difference; below, its redline or its text."""
    if not outside.changes:
        return
    shown = min(top, MOST_LISTED)
    yield title(TITLE, _counts(shown, outside.changes))
    for row in outside_rows(outside, shown):
        sign = {State.ONLY_A: "- ", State.ONLY_B: "+ "}.get(row.state, "")
        remark = f"  {row.remark}" if row.remark else ""
        head = Text.assemble((f"{sign}{row.kind}", _STYLES[row.state]), remark, (f"  {row.place}", "dim"))
        yield WrappedFacts([head], indent=2)
        if row.pair is not None and not row.remark:
            text = WrappedParagraph(Text(plain(row.pair.a_text or row.pair.b_text)), limit=2)
            yield Padding(Redline(pieces(row.pair)) if row.state is State.EDITED else text, (0, 0, 0, 2))
    if rest := not_listed(outside, shown):
        yield Text(rest, "dim")


def typesetting_lines(places: Sequence[TypesettingPlace], top: int, title: Title) -> Iterator[RenderableType]:
    """The places where only blanks, hyphens, quotation marks and the like differ."""
    if places:
        yield title(TYPESETTING, _counts(top, len(places)))
    for spot in places[:top]:
        yield Padding(Redline(place_pieces(spot)), (0, 0, 0, 2))


def _section_changes(comparison: Comparison, title: Title) -> Iterator[RenderableType]:
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
    for kind, change in flag_words(pair.flags, MAX_FLAGS):
        facts.append(Text.assemble((kind, _FLAG), f" {change}"))
    where = Text(first_of(passages) + places(a, b, pair, _HEADING), style="dim")
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
    yield Padding(WrappedParagraph(Text(plain(pair.a_text or pair.b_text)), limit=2), (0, 0, 0, 2))


class Redline:
    """The edits of a pair with a few words around each; without colours as [-deleted-] and {+inserted+}."""

    def __init__(self, shown: Sequence[Piece]) -> None:
        self._pieces = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield WrappedParagraph(
            self.text(console.color_system is not None and not console.no_color), _MAX_LINES
        )

    def text(self, coloured: bool) -> Text:
        """The redline in colours, or with marks."""
        if not coloured:
            return Text(marked(self._pieces))
        line = Text()
        for piece in self._pieces:
            line.append(" " if piece.gap else "").append(piece.text, _LOOKS[piece.kind])
        return line
