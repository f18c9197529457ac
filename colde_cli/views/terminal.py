"""A page in the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from colde_cli.similarity.pairs import State
from colde_cli.similarity.typesetting import TypesettingPlace
from colde_cli.views import blocks, wording
from colde_cli.views.changes import OutsideRow, pieces, place_pieces
from colde_cli.views.console import Redline, WrappedFacts, WrappedParagraph, rendered, titled
from colde_cli.views.heatmap import HeatMap, score_style

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import MatchedSection
    from colde_cli.views.blocks import Block, ListedDocument, Page, Score

_VERDICT_STYLES = {True: "bold green", False: "bold yellow", None: "bold"}
_MAX_SECTIONS = 40
"""Maximum number of sections of each document in the heat map if other parts follow. Beyond it, the upper levels of
headings are shown; a heat map with more than twice as many of these is left out."""
_HEADING = 40  # characters shown at most
_FLAG = "bold red"
_LOOKS = {
    "same": "dim",
    "edited": "yellow",
    "moved": "magenta",
    "only_a": "red",
    "only_b": "green",
    "renamed": "magenta",
    "unread": "bold red",
    "none": "dim",
    "added": "green",
    "dropped": "red",
    "changed": "yellow",
    "identical": "green",
    "same-text": "green",
    "near-duplicate": "cyan",
    "version": "yellow",
}
"""The styles of states of passages, files and sections, and of relations of documents."""


def page_table(page: Page, *, to_file: bool = False) -> str:
    """A page as text, in colours if standard output is a terminal that shows them, and it is not for a file."""
    return rendered(Group(*_head(page), *_blocks(page), *_foot(page)), to_file=to_file)


def _head(page: Page) -> Iterator[RenderableType]:
    answer = Text(page.answer, page.look)
    yield from (Text(wording.plain(sentence), look) for sentence, look in page.preface)
    if page.sides:
        yield _sides(page)
        yield Text()
    yield Text(wording.shorten(page.about[0], 160), "bold") if page.about[0] else answer
    yield from (Text(fact, "dim") for fact in page.facts)
    yield from (Text(caution, "yellow") for caution in page.cautions)
    if page.about[0] and page.answer:
        yield from (Text(), answer)
    if page.score:
        yield _score(page.score, page.model)


def _blocks(page: Page) -> Iterator[RenderableType]:
    shown = blocks.for_format(page.blocks, "terminal")
    for before, block in zip((None, *shown), shown, strict=False):
        match block:
            case blocks.HeadingBlock(text, quiet=False):
                yield from (Text(), Text(text, "bold"))
            case blocks.NoteBlock(text, look):
                yield Text(text, look)
            case blocks.TermsBlock():
                yield Padding(_terms(block), (1, 0, 0, 0))
            case blocks.TableBlock():
                yield Padding(_table(block), (not isinstance(before, blocks.Title), 0, 0, 0))
            case blocks.Listing():
                above = block.kind != "parts"
                yield Padding(_LISTINGS[block.kind](block), (above, 0, 0, 0))
            case blocks.Title():
                yield titled(block.text, _counted(block.shown, block.total) if block.total else "")
            case _:
                yield from _of_comparison(block)


def _foot(page: Page) -> Iterator[RenderableType]:
    # What a score means stands beside each hit.
    yield from (Text(remark, "dim") for remark in page.remarks if not page.about[0])
    for path, reason in page.unlisted:
        yield Text(f"Not listed: {wording.plain(path)}: {wording.plain(reason)}", "yellow")


def _of_comparison(block: Block) -> Iterator[RenderableType]:
    match block:
        case blocks.Counts():
            yield _counts(block)
        case blocks.ChangeBlock():
            yield from _change(block)
        case blocks.Alone(letter, changes, total):
            yield titled(f"Only in {letter}", _counted(len(changes), total))
            for change in changes:
                yield from _change(change)
        case OutsideRow():
            yield from _outside(block)
        case TypesettingPlace():
            yield Padding(Redline(place_pieces(block)), (0, 0, 0, 2))
        case blocks.Matrix():
            yield from _heat_map(block)
        case blocks.ChunkScores():
            yield from _chunks(block)


def _counted(shown: int, total: int) -> str:
    return f"{total}" if total <= shown else f"{shown} of {total}; --top {total} lists all"


def _terms(terms: blocks.TermsBlock) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for name, lines in terms.rows:
        for number, line in enumerate(lines):
            grid.add_row(Text("" if number else name, "bold cyan", no_wrap=True), line)
    return grid


def _table(table: blocks.TableBlock) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold cyan")
    for column in table.head:
        grid.add_column(column, overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell, _LOOKS.get(look, "")) for cell, look in row))
    return grid


# Documents in lists

_NUMBER: Mapping[str, Any] = {"justify": "right", "style": "dim", "no_wrap": True, "min_width": 3}
_SCORE: Mapping[str, Any] = {"no_wrap": True, "min_width": 6}
_FOLDED: Mapping[str, Any] = {"ratio": 1, "overflow": "fold"}


def _grid(*columns: Mapping[str, Any]) -> Grid:
    grid = Grid.grid(padding=(0, 1), expand=True)
    for column in columns:
        grid.add_column(**column)
    return grid


def _family(listing: blocks.Listing) -> Grid:
    grid = _grid(_NUMBER, _FOLDED)
    grid.add_row(str(listing.number), Text(listing.title, "bold"))
    for entry in listing.entries:
        grid.add_row("", Text(wording.plain(entry.path)))
        grid.add_row("", _relation(entry))
    return grid


def _relation(entry: ListedDocument) -> Text:
    if not entry.relation:
        return Text(f"  {wording.plural(entry.words, 'word')}", "dim")
    line = f"  {entry.relation} {wording.plain(PurePath(entry.other).name)}"
    if entry.shares:
        there, here = map(blocks.share_words, entry.shares)
        line += f": {there} of its words there, {here} of that one's here"
    return Text(line, _LOOKS[entry.kind])


def _parts(listing: blocks.Listing) -> Grid:
    grid = _grid(_NUMBER, _FOLDED)
    for whole, entries in listing.by_whole:
        grid.add_row("in", Text(f"{wording.plain(whole.path)} ({wording.plural(whole.words, 'word')})", "bold"))
        for entry in entries:
            stands = f"  {blocks.share_words(entry.shares[0])} of its {wording.plural(entry.words, 'word')}"
            grid.add_row("", Text.assemble(wording.plain(entry.path), (stands, "yellow")))
    return grid


def _cluster(listing: blocks.Listing) -> Grid:
    grid = _grid(_NUMBER, _SCORE, _FOLDED)
    name = Text(listing.title, "bold").append(f"  {wording.plural(len(listing.entries), 'document')}", "dim not bold")
    grid.add_row(str(listing.number), "", name)
    for entry in listing.entries[: listing.most]:
        score = Text("centre", "dim") if entry.score is None else _on_colour(entry.score)
        grid.add_row("", score, Text(wording.plain(entry.title)))
        grid.add_row("", "", Text(wording.plain(entry.path), "dim"))
    for line in _more(listing):
        grid.add_row("", "", line)
    return grid


def _alone(listing: blocks.Listing) -> Group:
    paths = (Text(f"    {wording.plain(entry.path)}") for entry in listing.entries[: listing.most])
    return Group(Text("Alone", "bold"), *paths, *(Text("    ").append_text(line) for line in _more(listing)))


def _more(listing: blocks.Listing) -> list[Text]:
    more = len(listing.entries) - (len(listing.entries) if listing.most is None else listing.most)
    return [Text(f"and {more:,} more", "dim")] if more > 0 else []


def _hits(listing: blocks.Listing) -> Grid:
    grid = _grid(
        {"justify": "right", "style": "dim", "no_wrap": True},
        _SCORE,
        {"no_wrap": True, "justify": "right", "style": "dim", "min_width": 4},
        {"ratio": 1, "no_wrap": True, "overflow": "ellipsis"},
    )
    for hit in listing.entries:
        likely = next((value for name, value in hit.facts if name == "Probability"), "")
        grid.add_row(str(hit.rank), _on_colour(hit.score or 0.0), likely, Text(wording.plain(hit.title), "bold"))
        closest = Text(hit.closest if hit.matches else "")
        lines = (Text(hit.state, "dim"), closest, Text(hit.note, "dim"))
        for line in (Text(wording.plain(hit.path), "dim"), *filter(None, lines)):
            grid.add_row("", "", "", line)
        for match in hit.matches:
            where = Text.assemble(_matched(match.query), (" ↔ ", "cyan"), _matched(match.hit))
            grid.add_row("", "", f"{match.score:.2f}", where)
            grid.add_row("", "", "", Text(f"  {wording.plain(match.hit.text)}", "dim italic"))
    return grid


def _matched(place: MatchedSection) -> str:
    return f"{wording.plain(place.section) or '(front matter)'} {wording.page_range(place.pages)}".strip()


def _files(listing: blocks.Listing) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for entry in listing.entries:
        grid.add_row(Text(entry.state, _LOOKS[entry.kind]), Text(entry.path, "bold"))
        if entry.change[0]:
            grid.add_row("", Text("  ".join(filter(None, entry.change)), "dim"))
    return grid


_LISTINGS: Mapping[str, Callable[[blocks.Listing], RenderableType]] = {
    "family": _family,
    "parts": _parts,
    "cluster": _cluster,
    "alone": _alone,
    "hits": _hits,
    "files": _files,
}


# Two documents


def _sides(page: Page) -> Grid:
    grid = Grid.grid(padding=(0, 2))  # a title may begin with "A"
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(ratio=1)
    for side in page.sides:
        grid.add_row(side.letter, Text(wording.shorten(side.title, 160), "bold"))
        size = wording.size_facts(side.file, side.pages, side.sections, side.words)
        grid.add_row("", WrappedFacts([Text(fact, "dim") for fact in size]))
        if side.left_out:
            grid.add_row("", Text(f"Left out: {side.left_out}", "yellow"))
    if page.ignored:
        grid.add_row("", Text(f"Ignored: {page.ignored}", "yellow"))
    return grid


def _score(score: Score, model: str) -> Group:
    verdict = (score.verdict, _VERDICT_STYLES[score.related])
    limit = score.unknown if score.threshold is None else f"threshold {score.threshold:.2f}"
    facts = [Text.assemble(verdict, "   score ", (f"{score.score:.3f}", "bold")), *map(Text, (limit, *score.likely))]
    rows = (Text(score.reasons), Text(score.parts, "dim"), Text(model, "dim"))
    return Group(WrappedFacts(facts, gap="   "), *(row for row in rows if row))


def _counts(counts: blocks.Counts) -> WrappedFacts:
    looks = {**_LOOKS, State.SAME: ""}
    facts = [
        Text(f"{number:,} {wording.STATE_WORDS[state]}", looks[state] if number else "dim")
        for state, number in counts.summary.items()
    ]
    return WrappedFacts([*facts, Text(f"{counts.flagged:,} flagged", _FLAG if counts.flagged else "dim")])


def _change(change: blocks.ChangeBlock) -> Iterator[RenderableType]:
    """A change: its kind, its flags and its place; below, its redline, or the text that only one document has."""
    a, b, pair = change.a, change.b, change.pair
    if not pair.a or not pair.b:
        yield from _one_sided(change)
        return
    facts = [Text(wording.pair_state(pair), _LOOKS[pair.state])]
    if change.passages > 1:
        facts.append(Text(f"in {change.passages} passages", "bold"))
    facts += [
        Text.assemble((kind, _FLAG), f" {words}") for kind, words in wording.flag_words(pair.flags, wording.MAX_FLAGS)
    ]
    facts.append(Text(wording.first_of(change.passages) + wording.places(a, b, pair, _HEADING), "dim"))
    yield WrappedFacts(facts, gap="  ", indent=2)
    yield Padding(Redline(pieces(pair)), (0, 0, 0, 2))


def _one_sided(change: blocks.ChangeBlock) -> Iterator[RenderableType]:
    pair, document = change.pair, change.a if change.pair.a else change.b
    where = " · ".join(part for part in wording.place(document, pair.a or pair.b, _HEADING) if part)
    clause = ("dropped clause  " if pair.a else "new clause  ") if pair.flags else ""
    head = Text.assemble(("- " if pair.a else "+ ", _LOOKS[pair.state]), (clause, _FLAG), (where, "dim"))
    head.no_wrap, head.overflow = True, "ellipsis"
    yield head
    yield _excerpt(pair.a_text or pair.b_text)


def _excerpt(text: str) -> Padding:
    return Padding(WrappedParagraph(Text(wording.plain(text)), limit=2), (0, 0, 0, 2))


def _outside(row: OutsideRow) -> Iterator[RenderableType]:
    """Kind and place of a difference; below, its redline or its text."""
    sign = {State.ONLY_A: "- ", State.ONLY_B: "+ "}.get(row.state, "")
    remark = f"  {row.remark}" if row.remark else ""
    head = Text.assemble((f"{sign}{row.kind}", _LOOKS[row.state]), remark, (f"  {row.place}", "dim"))
    yield WrappedFacts([head], indent=2)
    if row.pair is not None and not row.remark:
        edited = row.state is State.EDITED
        redline = Padding(Redline(pieces(row.pair)), (0, 0, 0, 2)) if edited else None
        yield redline or _excerpt(row.pair.a_text or row.pair.b_text)


def _heat_map(matrix: blocks.Matrix) -> Iterator[RenderableType]:
    comparison = matrix.comparison
    a, b = comparison.a.document.sections, comparison.b.document.sections
    shown = comparison.outline(max(len(a), len(b)) if matrix.whole else _MAX_SECTIONS)
    folds = shown.scores.size < comparison.scores.sections.size
    if not matrix.whole and shown.scores.size > (2 * _MAX_SECTIONS) ** 2:
        yield titled("Sections", f"{len(a)} × {len(b)}")
        yield Text("There are too many sections to show here; --level section shows the heat map.", "dim")
        return
    yield titled("Sections", f"of {len(a)} × {len(b)}" if folds else "")
    rows, columns = [wording.heading(a[index]) for index in shown.a], [wording.heading(b[index]) for index in shown.b]
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
        columns = max(1, min(4, console.width // 28))
        rows = -(-len(self._headings) // columns)
        grid = Grid.grid(padding=(0, 2), expand=True)
        for _ in range(columns):
            grid.add_column(ratio=1, no_wrap=True)
        names = [
            Text.assemble((f"{number:>3} ", "dim"), name, overflow="ellipsis", no_wrap=True)
            for number, name in enumerate(self._headings, 1)
        ]
        for row in range(rows):
            grid.add_row(*names[row::rows])
        yield Text("B", "bold cyan")
        yield grid


# Chunks of two documents


def _chunks(block: blocks.ChunkScores) -> Iterator[RenderableType]:
    yield titled(block.title, block.aside)
    yield from [Text(block.note, "green")] if block.note else []
    grid = _grid(
        {"justify": "right", **_SCORE},
        {"style": "bold cyan", "no_wrap": True},
        {"no_wrap": True, "justify": "right", "min_width": 7},
        {"ratio": 2, "no_wrap": True, "overflow": "ellipsis"},
        {"ratio": 5, "no_wrap": True, "overflow": "ellipsis", "style": "dim"},
    )
    for score, lines in block.rows:
        for number, line in enumerate(lines):
            weight = Text("" if line.weight is None else f"×{line.weight:.1f} ", "dim")
            cells = map(Text, (line.letter, wording.page_range(line.pages), line.heading, line.text))
            grid.add_row(weight if number else _on_colour(score), *cells)
    if block.rows:
        yield grid


def _on_colour(score: float) -> Text:
    return Text(f" {score:.2f} ", score_style(score))
