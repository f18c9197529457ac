"""The blocks of which a page is made: what a result says, before a format draws it.

Texts are those of the documents: a format makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colde_cli.similarity.typesetting import TypesettingPlace
from colde_cli.views.changes import OutsideRow
from colde_cli.views.wording import percent

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Match
    from colde_cli.documents.document import Document
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.pairs import PassagePair, State

Pair = tuple[str, str]
"""The paths of two documents."""


def share_words(share: float) -> str:
    """A share in per cent; 100% only if exact."""
    return "100%" if share == 1 else percent(share)


@dataclass(frozen=True, slots=True)
class HeadingBlock:
    """The title of the blocks that follow; a quiet one stands in HTML alone, whose pages are longer."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Cells in rows, each with its look: a state, such as "added"."""

    head: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class TermsBlock:
    """Names, each with lines that say what it is; `head` names the two columns where they stand in a table."""

    head: tuple[str, str]
    rows: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """A pair of passages that differ; the same words were replaced in so many `passages`."""

    a: Document
    b: Document
    pair: PassagePair
    passages: int = 1


@dataclass(frozen=True, slots=True)
class PairOfFiles:
    """Two files: a verdict in a sentence and in several, and the weightiest changes; `more` counts the others."""

    sentence: str
    verdict: str
    facts: Sequence[str]
    changes: Sequence[ChangeBlock]
    more: str


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in a list.

    Attributes:
        rank: from 1; 0 for none.
        score: with the query, or with the first of its list.
        kind: of its state or relation, which gives it its look.
        state: what became of it, or how close it is, in words.
        relation: to the document `other`, such as "version of".
        shares: of its words there, and of the other's here; empty where all are the same.
        whole: the document that it is part of.
        facts: names and values of what its score means.
        note: on its score, for those who ask for more.
        change: its weightiest change, and the place of it.
        link: to a report on it and the other.
        command: that makes such a report.
    """

    path: str
    title: str = ""
    words: int = 0
    rank: int = 0
    score: float | None = None
    kind: str = ""
    state: str = ""
    relation: str = ""
    other: str = ""
    shares: tuple[float, ...] = ()
    whole: ListedDocument | None = None
    facts: Sequence[Pair] = ()
    closest: str = ""
    note: str = ""
    matches: Sequence[Match] = ()
    change: Pair = ("", "")
    pair: PairOfFiles | None = None
    link: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Documents in a list.

    Attributes:
        kind: "family", "parts", "cluster", "alone", "hits" or "files": how a format sets them out.
        columns: where the list is a table.
        number: of the list among others.
        tags: words that name the list.
        most: documents that the terminal shows; None for all.
    """

    kind: str
    entries: Sequence[ListedDocument]
    columns: Sequence[str]
    number: int = 0
    title: str = ""
    tags: Sequence[str] = ()
    about: str = ""
    most: int | None = None

    @property
    def by_whole(self) -> list[tuple[ListedDocument, list[ListedDocument]]]:
        """The longer documents, each with its parts."""
        parts: dict[str, list[ListedDocument]] = {}
        wholes = {entry.whole.path: entry.whole for entry in self.entries if entry.whole}
        for entry in self.entries:
            parts.setdefault(entry.other, []).append(entry)
        return [(wholes[path], entries) for path, entries in parts.items()]


@dataclass(frozen=True, slots=True)
class NoteBlock:
    """A sentence by itself; its look is a style of rich."""

    text: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class Title:
    """A title; of changes, with how many of them are shown; `counted` has Markdown say so where it shows all."""

    text: str
    shown: int = 0
    total: int = 0
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Alone:
    """Passages that only one document has: A or B."""

    letter: str
    changes: Sequence[ChangeBlock]
    total: int


@dataclass(frozen=True, slots=True)
class Counts:
    """The passages in each state, and those with a flag."""

    summary: Mapping[State, int]
    flagged: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """The scores of sections with sections; without `whole`, headings are folded where they are many."""

    comparison: Comparison
    whole: bool


@dataclass(frozen=True, slots=True)
class ChunkLine:
    """A chunk of A or of B, its place and its text; `weight` is the attention to it, where it was asked for."""

    letter: str
    pages: tuple[int, int] | None
    heading: str
    text: str
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class ChunkScores:
    """Chunks with the score of each row, which holds two that are compared, or one beside its best counterpart."""

    title: str
    aside: str
    rows: Sequence[tuple[float, Sequence[ChunkLine]]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Only:
    """A block for one format alone: "terminal" or "markdown"."""

    format: str
    block: Block


Block = (
    HeadingBlock
    | TableBlock
    | TermsBlock
    | Listing
    | NoteBlock
    | Title
    | ChangeBlock
    | Alone
    | Counts
    | Matrix
    | ChunkScores
    | OutsideRow
    | TypesettingPlace
    | Only
)


def for_format(shown: Iterable[Block], format: str) -> list[Block]:
    """The blocks that "terminal" or "markdown" draws."""
    return [
        block.block if isinstance(block, Only) else block
        for block in shown
        if not isinstance(block, Only) or block.format == format
    ]


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A document of two: its letter, title, path, name, what was left out, what could not be read, and its size."""

    letter: str
    title: str
    path: str
    file: str
    left_out: str
    warnings: Sequence[str]
    pages: int | None
    sections: int
    words: int


@dataclass(frozen=True, slots=True)
class Score:
    """The score of two documents, with what it means in words; `unknown` says why there is no threshold."""

    verdict: str
    related: bool | None
    score: float
    likely: Sequence[str]
    threshold: float | None
    unknown: str
    reasons: str
    parts: str


@dataclass(frozen=True, slots=True)
class Page:
    """A result.

    Attributes:
        title: of the HTML page.
        answer: what was found, in a sentence.
        look: of the answer.
        preface: sentences before it, with their looks.
        about: title and path of the document that it is about.
        facts: on what was compared, and how.
        sides: the two documents compared.
        cautions: what did not count, or was not compared.
        remarks: at the end.
        colophon: the last line of Markdown.
        skipped: files that cannot be read, with the reason.
        half_read: documents of which something could not be read, with sentences on what.
        same: paths of files that are only counted.
        unlisted: folders that cannot be listed, with the reason.
        ignored: the differences that do not count; "" for none.
    """

    title: str
    answer: str
    blocks: Sequence[Block]
    look: str = "bold"
    preface: Sequence[Pair] = ()
    sides: Sequence[ComparedDocument] = ()
    score: Score | None = None
    model: str = ""
    about: Pair = ("", "")
    facts: Sequence[str] = ()
    cautions: Sequence[str] = ()
    remarks: Sequence[str] = ()
    colophon: str = ""
    skipped: Sequence[Pair] = ()
    half_read: Sequence[tuple[str, Sequence[str]]] = ()
    same: Sequence[str] = ()
    unlisted: Sequence[Pair] = ()
    ignored: str = ""
