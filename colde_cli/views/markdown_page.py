"""A page as GitHub Flavored Markdown, for pull requests and issues; long parts are folded, texts are escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import Operation
from colde_cli.similarity.typesetting import TypesettingPlace
from colde_cli.views import blocks, wording
from colde_cli.views.changes import OutsideRow, place_pieces, side_pieces
from colde_cli.views.escaping import markdown

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import MatchedSection
    from colde_cli.documents.document import Document
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.views.blocks import Block, ListedDocument, Page
    from colde_cli.views.changes import Piece

_MAX_SECTIONS = 50
"""Maximum number of sections of each document in the table: GitHub takes 65,536 characters in a comment."""
_TITLE, _HEADING, _EXCERPT, _EDIT = 160, 60, 300, 600  # characters shown at most
_STRONG = 90
"""Scores in hundredths are bold from here."""
# Tags work next to any character, `~~` and `**` do not.
_TAGS = {Operation.KEPT: "{}", Operation.DELETED: "<del>{}</del>", Operation.INSERTED: "<ins>{}</ins>"}


def page_markdown(page: Page) -> str:
    """A page as Markdown."""
    return "\n\n".join((*_head(page), *_blocks(page), *_foot(page))) + "\n"


def _head(page: Page) -> Iterator[str]:
    yield from (f"**{markdown(sentence)}**" for sentence, _ in page.preface)
    if page.about[0]:
        yield f"Documents most similar to **{markdown(wording.shorten(page.about[0], _TITLE))}**"
        yield from (page.answer,) if page.answer else ()
    else:
        yield f"**{markdown(page.answer)}**"
    if page.score:
        facts = [f"**{page.score.verdict}**", f"score **{page.score.score:.3f}**"]
        facts += map(markdown, page.score.likely)
        facts += [] if page.score.threshold is None else [f"threshold {page.score.threshold:.2f}"]
        yield " · ".join(facts)
        yield from (page.score.reasons,) if page.score.reasons else ()
    if page.sides:
        yield from _sides(page)
    elif not page.colophon:
        yield from map(markdown, page.facts)
    if not page.about[0]:
        yield from map(markdown, page.cautions)


def _sides(page: Page) -> Iterator[str]:
    rows = [
        (
            f"**{side.letter}**",
            markdown(wording.shorten(side.title, _TITLE)),
            markdown(side.file),
            f"{side.pages:,}" if side.pages else "",
            f"{side.sections:,}",
            f"{side.words:,}",
        )
        for side in page.sides
    ]
    yield table(("", "Title", "File", "Pages", "Sections", "Words"), rows, (3, 4, 5))
    for side in page.sides:
        yield from (f"Left out of {side.letter}: {markdown(side.left_out)}",) if side.left_out else ()
        yield from (f"{side.letter}: {markdown(sentence)}" for sentence in side.warnings)
    if page.ignored:
        yield f"Ignored: {markdown(page.ignored)}"


def _foot(page: Page) -> Iterator[str]:
    for name, title, head, files in (
        ("file", "skipped", "Reason", [(path, (reason,)) for path, reason in page.skipped]),
        ("document", "not read whole", "Warnings", page.half_read),
    ):
        if files:
            rows = [(markdown(path), "<br>".join(map(markdown, said))) for path, said in files]
            yield folded(f"{wording.plural(len(files), name)} {title}", table(("File", head), rows))
    yield from map(markdown, page.remarks)
    if page.colophon:
        yield f"<sub>colde · {markdown(page.colophon)}</sub>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table of cells; the columns numbered in `right` are aligned to the right."""
    aligned = set(right)
    rule = ["--:" if place in aligned else "---" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def folded(summary: str, *hidden: str) -> str:
    """Blocks that are hidden until the summary is clicked."""
    return "\n\n".join((f"<details>\n<summary>{summary}</summary>", *hidden, "</details>"))


def _blocks(page: Page) -> Iterator[str]:
    for block in blocks.for_format(page.blocks, "markdown"):
        match block:
            case blocks.HeadingBlock(text, quiet=False):
                yield f"### {text}"
            case blocks.NoteBlock(text):
                yield text
            case blocks.TermsBlock(head, rows):
                yield table(head, ((name, "<br>".join(map(markdown, lines))) for name, lines in rows))
            case blocks.TableBlock(head, rows):
                yield table(head, ([markdown(cell) for cell, _ in row] for row in rows))
            case blocks.Listing():
                yield from _listing(block)
            case blocks.Title(text, shown, total):
                some = f" ({shown} of {total:,})" if shown < total else ""
                yield f"### {text}{f' ({total})' if block.counted else some}"
            case _:
                yield from _of_comparison(block)


def _of_comparison(block: Block) -> Iterator[str]:
    match block:
        case blocks.Counts():
            yield _counts(block)
        case blocks.ChangeBlock():
            yield _change(block)
        case blocks.Alone(letter, changes, total):
            rows = [_one_sided(change.a if change.pair.a else change.b, change.pair) for change in changes]
            line = f"Only in {letter}: {_counted(len(rows), total, 'passage')}"
            yield folded(line, table(("Page", "Section", "Text"), rows))
        case OutsideRow():
            yield _outside(block)
        case TypesettingPlace():
            yield f"> {_tagged(place_pieces(block))}"
        case blocks.Matrix(comparison):
            yield _scores(comparison)
        case blocks.ChunkScores():
            yield from _chunks(block)


# Documents in lists

_CELLS: Mapping[str, Callable[[ListedDocument], str]] = {
    "": lambda entry: str(entry.rank),
    "Document": lambda entry: markdown(wording.shorten(entry.title, _TITLE) if entry.rank else entry.title),
    "File": lambda entry: markdown(entry.path),
    "Of": lambda entry: markdown(entry.other),
    "Place": lambda entry: markdown(entry.change[1]),
    "Relation": lambda entry: f"{' / '.join(map(blocks.share_words, entry.shares))} {entry.relation}".strip(),
    "Score": lambda entry: "centre" if entry.score is None else f"{entry.score:.2f}",
    "Share": lambda entry: blocks.share_words(entry.shares[0]),
    "Stands in": lambda entry: markdown(entry.other),
    "State": lambda entry: markdown(entry.state),
    "Weightiest change": lambda entry: markdown(entry.change[0]),
    "Words": lambda entry: f"{entry.words:,}",
}
_RIGHT = {"", "Score", "Share", "Words"}


def _listing(listing: blocks.Listing) -> Iterator[str]:
    """A table of the documents; below it what belongs to each, folded."""
    if listing.number:
        yield f"### {listing.number}. {markdown(listing.title)}"
    cells = [_CELLS.get(name, _likely) for name in listing.columns]
    rows = [[cell(entry) for cell in cells] for entry in listing.entries]
    right = [place for place, name in enumerate(listing.columns) if name in _RIGHT or name not in _CELLS]
    if listing.kind == "alone":
        yield folded(f"{wording.plural(len(rows), 'document')} alone", table(listing.columns, rows))
    elif rows:
        yield table(listing.columns, rows, right)
    for entry in listing.entries:
        yield from _below(entry)


def _likely(entry: ListedDocument) -> str:
    """What the score of a hit means: a column of any other name."""
    return ", ".join(value for _, value in entry.facts)


def _below(entry: ListedDocument) -> Iterator[str]:
    """The sections that match of a hit, and what changed in a file."""
    if entry.matches:
        rows = [
            (f"{match.score:.2f}", _matched(match.query), _matched(match.hit), markdown(match.hit.text))
            for match in entry.matches
        ]
        closest = [f"{entry.closest}."] if entry.closest else []
        yield folded(
            f"Matches of no. {entry.rank}", *closest, table(("Score", "Query", "Document", "Text"), rows, (0,))
        )
    if entry.pair:
        more = [entry.pair.more] if entry.pair.more else []
        changes = [markdown(entry.pair.sentence), *map(_change, entry.pair.changes), *more]
        yield folded(f"{markdown(entry.path)}: {entry.state}", *changes)


def _matched(place: MatchedSection) -> str:
    return f"{wording.page_range(place.pages)} {markdown(place.section) or '(front matter)'}".strip()


# Two documents


def _counts(counts: blocks.Counts) -> str:
    head = [wording.first_capital(wording.STATE_WORDS[state]) for state in State]
    cells = [f"{counts.summary[state]:,}" for state in State]
    flagged = f"**{counts.flagged:,}**" if counts.flagged else "0"
    return table((*head, "Flagged"), [(*cells, flagged)], range(len(head) + 1))


def _counted(shown: int, count: int, noun: str) -> str:
    return wording.plural(count, noun) if shown == count else f"{shown:,} of {wording.plural(count, noun)}"


def _change(change: blocks.ChangeBlock) -> str:
    """Flags, state and place of a change; below, its redline."""
    pair = change.pair
    if not pair.a or not pair.b:
        pages, name, _ = _one_sided(change.a if pair.a else change.b, pair)
        clause = "**clause**" if pair.flags else ""
        facts = [clause, wording.STATE_WORDS[pair.state], pages, name]
    else:
        facts = [f"**{kind}** {markdown(words)}" for kind, words in wording.flag_words(pair.flags, wording.MAX_FLAGS)]
        facts += [wording.pair_state(pair)]
        facts += [f"**in {change.passages} passages**"] if change.passages > 1 else []
        facts += [
            wording.first_of(change.passages) + wording.places(change.a, change.b, pair, _HEADING, ", ", markdown)
        ]
    return f"{' · '.join(filter(None, facts))}\n\n> {_redline(pair)}"


def _redline(pair: PassagePair) -> str:
    return _tagged(side_pieces(pair, _EDIT))


def _tagged(shown: Sequence[Piece]) -> str:
    return "".join(f"{' ' if piece.gap else ''}{_TAGS[piece.kind].format(markdown(piece.text))}" for piece in shown)


def _one_sided(document: Document, pair: PassagePair) -> tuple[str, str, str]:
    pages, name = wording.place(document, pair.a or pair.b, _HEADING)
    return pages, markdown(name), markdown(wording.shorten(pair.a_text or pair.b_text, _EXCERPT))


def _outside(row: OutsideRow) -> str:
    """Kind and place of a difference; below, its redline or its text."""
    state = "" if row.remark or row.state is State.EDITED else wording.STATE_WORDS[row.state]
    line = " · ".join(filter(None, (f"**{row.kind}**", state, row.remark, markdown(row.place))))
    return line if row.pair is None or row.remark else f"{line}\n\n> {_redline(row.pair)}"


def _name(document: Document, index: int) -> str:
    return markdown(wording.shorten(wording.heading(document.sections[index]), _HEADING))


def _scores(comparison: Comparison) -> str:
    a, b = comparison.a.document, comparison.b.document
    size = f"{len(a.sections)} × {len(b.sections)}"
    shown = comparison.outline(_MAX_SECTIONS)
    if shown.scores.size > _MAX_SECTIONS**2:
        return f"The table of section scores ({size}) is too large for a comment; `--format json` has it."
    head = ("A \\ B", *(str(number) for number, _ in enumerate(shown.b, 1)))
    rows = [
        (f"{number} {_name(a, index)}", *map(_hundredths, scores))
        for number, (index, scores) in enumerate(zip(shown.a, shown.scores, strict=True), 1)
    ]
    names = " · ".join(f"**{number}** {_name(b, index)}" for number, index in enumerate(shown.b, 1))
    folds = shown.scores.size < comparison.scores.sections.size
    aside = ", the best below both headings" if folds else ""
    title = f"Section scores ({size}), in hundredths{aside}"
    return folded(title, table(head, rows, range(1, len(head))), f"Sections of B: {names}")


def _hundredths(score: float) -> str:
    hundredths = max(0, round(float(score) * 100))
    return f"**{hundredths}**" if hundredths >= _STRONG else str(hundredths)


def _chunks(block: blocks.ChunkScores) -> Iterator[str]:
    """A table under its title; folded where a row is one chunk."""
    rows = [(f"{score:.2f}", *map(_chunk, lines)) for score, lines in block.rows]
    letters = [line.letter for line in block.rows[0][1]] if rows else []
    listed = [block.note] if block.note else []
    listed += [table(("Score", *letters), rows, (0,))] if rows else []
    if len(letters) == 1:
        yield folded(f"{block.title} ({block.aside})", *listed)
    else:
        yield from (f"### {block.title}", *listed)


def _chunk(line: blocks.ChunkLine) -> str:
    name, words = (markdown(wording.shorten(text, most)) for text, most in ((line.heading, _HEADING), (line.text, 150)))
    return "<br>".join(filter(None, (f"{wording.page_range(line.pages)} {name}".strip(), words)))
