"""A comparison in the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from colde_cli.similarity.alignment import extents
from colde_cli.similarity.comparison import COUNTERPART
from colde_cli.views.console import file_link, link_pages, rendered, titled
from colde_cli.views.heatmap import HeatMap, score_style
from colde_cli.views.passages import counts, passage_parts
from colde_cli.views.summary import one_text, verdict_sentence
from colde_cli.views.wording import (
    VERDICTS,
    WrappedFacts,
    apart_from,
    closer_than,
    document_facts,
    excerpt,
    from_difference,
    heading,
    ignored_line,
    left_out,
    no_threshold,
    page_range,
    percent,
    plural,
    reasons,
    score_parts,
    shared_words,
    shorten,
)

if TYPE_CHECKING:
    from colde_cli.documents.document import Chunk
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import ChunkMatch, Comparison


_GAUGE = 40
_VERDICT_STYLES = {True: "bold green", False: "bold yellow", None: "bold"}
_MOST_SECTIONS = 40
"""Sections of each document in the heat map if other parts follow. Of more, headings of the upper levels are shown; a
heat map with more than twice as many of these is left out."""


def comparison_table(
    comparison: Comparison, level: str, top: int, *, verbose: bool = False, to_file: bool = False
) -> str:
    """A comparison as text, in colours if standard output is a terminal that shows them.

    Args:
        comparison: to show.
        level: "document" ends after the verdict; "section" adds the heat map, "passage" the changes; "all" is the
            changes, and the heat map of two different texts.
        top: passages or chunks of each kind to list.
        verbose: show the parts of the score in figures.
        to_file: the text is for a file: no colours.
    """
    return rendered(Group(*_blocks(comparison, level, top, verbose)), to_file=to_file)


def _blocks(comparison: Comparison, level: str, top: int, verbose: bool) -> Iterator[RenderableType]:
    yield _header(comparison)
    yield Text()
    yield Text(verdict_sentence(comparison), "bold")
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
        yield from passage_parts(comparison, top, titled, only=whole)
    if level == "section" or (level == "all" and not one_text(comparison)):
        yield from _sections(comparison, _MOST_SECTIONS if level == "all" else None)
    if level == "chunk":
        yield from _matches(comparison, top)
        yield from _unmatched(comparison, top)


def _header(comparison: Comparison) -> Table:
    grid = Table.grid(padding=(0, 2))  # a title may begin with "A"
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(ratio=1)
    for name, encoding in (("A", comparison.a), ("B", comparison.b)):
        grid.add_row(name, Text(shorten(encoding.document.title, 160), style="bold"))
        facts = [Text(fact, style="dim") for fact in document_facts(encoding)]
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


def _sections(comparison: Comparison, most: int | None) -> Iterator[RenderableType]:
    a, b = comparison.a.document.sections, comparison.b.document.sections
    shown = comparison.outline(most or max(len(a), len(b)))
    folds = shown.scores.size < comparison.section_scores.size
    if most and shown.scores.size > (2 * most) ** 2:
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


def _matches(comparison: Comparison, top: int) -> Iterator[RenderableType]:
    """The number of chunks found word for word; then the best counterpart of each other chunk of A, best first."""
    matches = comparison.matches_of_a()
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
        attention = Text(f"×{match.attention:.1f} ", style="dim")
        grid.add_row(_score(match.score), "A", *_place(comparison.a, here), Text(words[0]))
        grid.add_row(attention, "B", *_place(comparison.b, there), Text(words[1]))
    yield grid
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
