"""Why a document was found: its sections that are most like sections of the query."""

from __future__ import annotations

from colde_cli.corpus.result import Match, Place
from colde_cli.documents.document import Chunk, Document, Section, SectionKind
from colde_cli.encoder.encoding import Encoding
from colde_cli.similarity.scores import cosines

MATCHES = 3
"""Pairs of sections that explain a hit."""
_EXCERPT = 300


def matches(query: Encoding, other: Encoding) -> tuple[Match, ...]:
    """The best pairs of sections, each section in one pair; lists of references and bare headings explain nothing."""
    scores = cosines(query.section_vectors, other.section_vectors)
    rows, columns = _telling(query.document), _telling(other.document)
    pairs = sorted(((float(scores[i, j]), i, j) for i in rows for j in columns), reverse=True)
    chosen: list[Match] = []
    used: set[tuple[str, int]] = set()
    for score, i, j in pairs:
        if len(chosen) == MATCHES:
            break
        if {("query", i), ("hit", j)} & used:
            continue
        used |= {("query", i), ("hit", j)}
        first, second = query.document.sections[i], other.document.sections[j]
        here = Place(first.heading, first.pages)
        chosen.append(Match(score, here, Place(second.heading, second.pages, _text(query, i, other, j))))
    return tuple(chosen)


def _telling(document: Document) -> list[int]:
    return [
        section.index
        for section in document.sections
        if section.kind is not SectionKind.REFERENCES and _body(document, section)
    ]


def _body(document: Document, section: Section) -> str:
    return document.text[section.body_start : section.span.end].strip()


def _text(query: Encoding, section: int, other: Encoding, partner: int) -> str:
    """The beginning of the chunk of section `partner` that is most like a chunk of `section`."""
    rows = [chunk.index for chunk in query.chunks if chunk.section == section]
    columns: list[Chunk] = [chunk for chunk in other.chunks if chunk.section == partner]
    if not rows or not columns:
        return ""
    scores = cosines(query.directions[rows], other.directions[[chunk.index for chunk in columns]])
    best = columns[int(scores.max(axis=0).argmax())]
    start = max(best.span.start, other.document.sections[partner].body_start)
    words = " ".join(other.document.text[start : best.span.end].split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1].rstrip() + "…"
