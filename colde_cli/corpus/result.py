"""What a search of a corpus found: a `Ranking`."""

from __future__ import annotations

from dataclasses import dataclass

from colde_cli.encoder.protocol import RuntimeInfo
from colde_cli.similarity.scoring import ScorePart


@dataclass(frozen=True, slots=True)
class Place:
    """A section of a document.

    Attributes:
        section: its heading.
        pages: first and last; None where the source has no pages.
        text: the beginning of its chunk that matches best; "" for the query.
    """

    section: str
    pages: tuple[int, int] | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A section of the query and the section of a hit that it is like; `score` is their cosine."""

    score: float
    query: Place
    hit: Place


@dataclass(frozen=True, slots=True)
class Hit:
    """A document of the corpus.

    Attributes:
        rank: from 1.
        path: as found.
        title: as printed, else the file's name.
        score: of the two documents.
        probability: the score calibrated; None where the model is not.
        matches: why, best first; empty unless asked for.
        parts: of what the score is made.
    """

    rank: int
    path: str
    title: str
    score: float
    probability: float | None
    matches: tuple[Match, ...] = ()
    parts: tuple[ScorePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be read, and why, in a sentence."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents closest to a query.

    Attributes:
        query_path: as given.
        query_title: as printed, else the file's name.
        model: what encoded, in which precision, where.
        results: best first.
        searched: documents that got a score, whether listed or not; the query's own file is not among them.
        encoded: how many of them were encoded now and not remembered.
        skipped: files that could not be read.
        like: documents whose text was left out of all.
    """

    query_path: str
    query_title: str
    model: RuntimeInfo
    results: tuple[Hit, ...]
    searched: int
    encoded: int
    skipped: tuple[Skipped, ...] = ()
    like: tuple[str, ...] = ()
