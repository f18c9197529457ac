"""Score pairs of chunks by cosine and shared wording, pairs of sections by their chunks, and find the closest pairs.

All but `tables` and `closest_sections` are pure functions of arrays. A table has a cell for each pair of chunks, and
two long documents have 25 million pairs: what is made of a table is made in its place, or from some of its rows at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.chunking import rows_of_sections
from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.encoding import Encoding
from colde_cli.scoring.config import Domain, ScoringConfig
from colde_cli.scoring.domains import shortness
from colde_cli.scoring.score import cosines

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
Rows = Sequence[Sequence[int]]

TELLING = 32.0
"""A shared stretch of this many tokens, some 25 words, shrinks the distance of two chunks to 1/e. Chosen among 16, 24,
32, 48 and 64 on validation documents (benchmarks/planted.py)."""

_MISS = 0.5
"""Cost of a place in a stretch, if its two tokens are not neighbours in the other chunk."""

SECTION_VECTORS, SHARPNESS = 0.1, 0.1
"""Share of the cosine of section vectors in a section's score, and t of the soft maximum over its chunks. On validation
documents of six sets 0.05, 0.1 and 0.2 do equally well as t. A larger share costs more than it gains,
none would leave CoLDE out of its own level."""

_RUN = 5
_ROWS = 512
"""Rows of a table that are worked on at the same time."""
_LOOKED_AT = 64
"""Cells that are looked at for each pair to find: those of a long document are too many to sort."""
_FACTOR = np.uint64(1_000_003)
_TOKENS = 1 << 31
"""Above every number of a token."""
_ITEMS = 4096
"""Items that are looked for at the same time."""
_NO_ITEMS = np.zeros(0, np.int64)


def tables(a: Encoding, b: Encoding, config: ScoringConfig) -> tuple[FloatArray, FloatArray]:
    """The scores of all pairs of sections [s_a, s_b], and of all pairs of chunks [n_a, n_b].

    Like the score of documents, that of sections is the cosine of CoLDE's vectors alone in a model without parts.
    """
    chunks = table_of_chunks((a.centred_unit_vectors, b.centred_unit_vectors), (a.chunks, b.chunks))
    sections = cosines(a.section_vectors, b.section_vectors)
    if config.score_weights is not None:
        rows = rows_of_sections(a.document, a.chunks), rows_of_sections(b.document, b.chunks)
        sections = table_of_sections(sections, chunks, (a.shares, b.shares), rows)
        if config.score_weights.short is not None:
            sections = with_short_sections(sections, (a, b), rows, config.score_weights.short)
    return sections, chunks


def with_short_sections(
    table: FloatArray, documents: tuple[Encoding, Encoding], rows: tuple[Rows, Rows], weights: Domain
) -> FloatArray:
    """Score pairs of short sections as two short texts are scored, by how much they have in common: [s, t].

    That is the mean of two parts of a document's score: the cosine of their mean vectors, and the share of tokens and
    pairs of neighbouring tokens that both hold. From short to long sections it gives way to the score in the table.

    Args:
        table: from `table_of_sections`, changed in its place.
        weights: of short texts.
    """
    items = [_items_of_sections(side.chunks, own) for side, own in zip(documents, rows, strict=True)]
    short = [shortness(np.array([len(held) for held in side], np.int64)) for side in items]
    a, b = (np.flatnonzero(values > 0) for values in short)
    if not len(a) or not len(b):
        return table
    means = [
        np.stack([side.centred_unit_vectors[own[section]].sum(axis=0) for section in places.tolist()])
        for side, own, places in zip(documents, rows, (a, b), strict=True)
    ]
    alike = agreements([items[0][section] for section in a], [items[1][section] for section in b])
    graded = (weights.mean * cosines(*means) + weights.wording * alike) / max(weights.mean + weights.wording, 1e-9)
    share = np.sqrt(short[0][a][:, None] * short[1][b])
    table[np.ix_(a, b)] += (share * (graded - table[np.ix_(a, b)])).astype(np.float32)
    return table


def _items_of_sections(chunks: Sequence[Chunk], rows: Rows) -> list[IntArray]:
    """The different tokens, and pairs of neighbouring tokens, of each section; special tokens left out."""
    bodies = [np.asarray(chunk.ids[1:-1], np.int64) for chunk in chunks]
    held = [np.concatenate([ids, (ids[:-1] + 1) * _TOKENS + ids[1:]]) for ids in bodies]
    return [np.unique(np.concatenate([held[row] for row in own])) if own else _NO_ITEMS for own in rows]


def agreements(a: Sequence[IntArray], b: Sequence[IntArray]) -> FloatArray:
    """The share of the items of two sets that both hold, Jaccard's index, for each of s and each of t sets: [s, t].

    Args:
        a: different items, ascending; there is at least one set.
    """
    both = np.zeros((len(a), len(b)), np.float32)
    known = np.intersect1d(np.concatenate(a), np.concatenate(b))
    for start in range(0, len(known), _ITEMS):
        block = known[start : start + _ITEMS]
        left, right = (np.stack([np.isin(block, held) for held in side]).astype(np.float32) for side in (a, b))
        both += left @ right.T
    sizes = [np.array([len(held) for held in side], np.float32) for side in (a, b)]
    result: FloatArray = both / np.maximum(sizes[0][:, None] + sizes[1] - both, 1)
    return result


def table_of_chunks(
    vectors: tuple[FloatArray, FloatArray], chunks: tuple[Sequence[Chunk], Sequence[Chunk]]
) -> FloatArray:
    """Score every chunk of A with every chunk of B: [n, m], cosines raised where the chunks share wording.

    Args:
        vectors: centred chunk vectors of A, [n, H], and of B, [m, H].
    """
    table = shared_stretches(*chunks)
    for start in range(0, len(table), _ROWS):
        rows = slice(start, start + _ROWS)
        table[rows] = with_shared_wording(cosines(vectors[0][rows], vectors[1]), table[rows])
    return table


def table_of_sections(
    section_cosines: FloatArray,
    chunk_scores: FloatArray,
    shares: tuple[FloatArray, FloatArray],
    rows: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]],
    share: float = SECTION_VECTORS,
) -> FloatArray:
    """Score every section of A with every section of B: [s, t], the weighted mean of two scores.

    One is CoLDE's cosine of section vectors (CoLDE §3.3). The other says how well the chunks of two sections find a
    counterpart in the other section, as `counterparts` does of whole documents: the soft maximum over the chunks of a
    section of their highest score there, the mean of both directions. For a passage that two sections share hardly
    moves the vector of either. A section without a chunk scores 0.

    Args:
        section_cosines: of section vectors, [s, t].
        chunk_scores: from `table_of_chunks`, [n, m].
        shares: of each chunk in its document's tokens, [n] and [m].
    """
    (a, b), (of_a, of_b) = shares, rows
    found = _counterparts(chunk_scores, a, of_a, of_b) + _counterparts(chunk_scores.T, b, of_b, of_a).T
    table = np.float32(share) * section_cosines + np.float32((1 - share) / 2) * found
    return np.clip(table, -1.0, 1.0, out=table)


def _counterparts(
    scores: FloatArray, shares: FloatArray, own: Sequence[Sequence[int]], other: Sequence[Sequence[int]]
) -> FloatArray:
    """How well the chunks of each section find a counterpart in each section of the other document: [s, t].

    Args:
        scores: of the chunks, [n, m].
        shares: of each chunk in its document's tokens, [n].
    """
    best = np.zeros((len(scores), len(other)), np.float32)
    for section, places in enumerate(other):
        if places:
            best[:, section] = scores[:, places].max(1)
    # No score exceeds 1, so that no exponential does.
    weighted = np.exp((best - 1) / np.float32(SHARPNESS)) * shares[:, None]
    found = np.zeros((len(own), len(other)), np.float32)
    for section, places in enumerate(own):
        if places:
            found[section] = 1 + np.float32(SHARPNESS) * np.log(weighted[places].sum(0) / shares[places].sum())
    found[:, [not places for places in other]] = 0
    return found


def with_shared_wording(cosines: FloatArray, stretches: FloatArray) -> FloatArray:
    """Raise cosines where chunks share a stretch of wording: 1 − (1 − cosine) · exp(−stretch / 32), in [-1, 1].

    Never below the cosine, and equal to it where no wording is shared.

    Args:
        cosines: of centred chunk vectors, [n, m].
        stretches: from `shared_stretches`, [n, m].
    """
    scores: FloatArray = 1 - (1 - cosines) * np.exp(-stretches / np.float32(TELLING))
    return scores


def closest_sections(a: Document, b: Document, scores: FloatArray, limit: int) -> list[tuple[float, int, int]]:
    """Find the closest of the `Document.content_sections`, each once, as (score, index in A, index in B).

    Args:
        scores: of all their sections, from `tables`, [s_a, s_b].
        limit: pairs to find; of equal ones those with the longest sections of A.
    """
    lengths = [len(section.span) for section in a.sections]
    return closest_pairs(scores, (a.content_sections(), b.content_sections()), limit, lengths)


def closest_pairs(
    scores: FloatArray, kept: tuple[Sequence[int], Sequence[int]], limit: int, lengths: Sequence[int] = ()
) -> list[tuple[float, int, int]]:
    """Pairs of a row and a column with high scores, each as (score, row, column), the best first; each place once.

    Of pairs whose scores are the same to six digits those with the longest rows come first, then those with the first
    rows and columns.

    Args:
        scores: [n, m]; pairs of a score of 0 or less are left out.
        lengths: of what the rows stand for, n numbers; empty if all are the same.
    """
    rows, columns = kept
    if not rows or not columns or not limit:
        return []
    long = np.array([lengths[row] for row in rows] if lengths else [0] * len(rows), np.int64)
    blocks = [
        _highest_cells(
            _order(scores[np.ix_(rows[start : start + _ROWS], columns)], long, start),
            start * len(columns),
            _LOOKED_AT * limit,
        )
        for start in range(0, len(rows), _ROWS)
    ]
    values, places = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    pairs: dict[int, int] = {}
    found = []
    for place in places[np.lexsort((places, -values))[: _LOOKED_AT * limit]].tolist():
        row, column = divmod(place, len(columns))
        score = float(scores[rows[row], columns[column]])
        if len(pairs) < limit and score > 0 and row not in pairs and column not in pairs.values():
            pairs[row] = column
            found.append((score, rows[row], columns[column]))
    return found


def _order(block: FloatArray, lengths: IntArray, start: int) -> IntArray:
    """Numbers that order the cells of some rows, the first of them row `start`: by score, then by length; [r, m].

    Scores are rounded, or the last digits, which differ between processors, would choose among sections that are the
    same.
    """
    millionths: IntArray = np.rint(block * 1e6).astype(np.int64)
    millionths *= lengths.max() + 1
    millionths += lengths[start : start + len(block), None]
    return millionths


def _highest_cells(block: IntArray, first: int, limit: int) -> tuple[IntArray, IntArray]:
    """The highest numbers of some rows of a table, and their places in it, counted row by row; in no order.

    Args:
        block: the rows, [r, m].
    """
    flat = block.ravel()
    looked_at = min(flat.size, limit)
    highest = np.argpartition(-flat, looked_at - 1)[:looked_at]
    return flat[highest], first + highest


def shared_stretches(a: Sequence[Chunk], b: Sequence[Chunk]) -> FloatArray:
    """Measure the longest stretch of wording that each chunk of `a` shares with each of `b`: [n, m] in tokens.

    A place in a chunk counts 1 if the other chunk has the same two neighbouring tokens anywhere, and −½ if not. The
    stretch is the run of places with the largest sum, at least 0. It is measured in both chunks and the smaller result
    counts, so that a phrase repeated in only one of them does not add up.
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)), np.float32)
    left, right = _couples(a), _couples(b)
    known, codes = np.unique(np.concatenate([*left, *right]), return_inverse=True)
    pieces = np.split(codes, np.cumsum([len(piece) for piece in (*left, *right)])[:-1])
    left, right = pieces[: len(a)], pieces[len(a) :]
    table = np.empty((len(a), len(b)), np.float32)
    for column, measured in enumerate(_stretches(left, right, len(known))):
        table[:, column] = measured
    for row, measured in zip(table, _stretches(right, left, len(known)), strict=True):
        np.minimum(row, measured, out=row)
    return table


def shared_runs(a: Sequence[Chunk], b: Sequence[Chunk]) -> float:
    """The share of the runs of five tokens in one document, the one with fewer, that the other has too: 0 to 1.

    A run counts once. The share is 1 where a document has no run.
    """
    left, right = _runs(a), _runs(b)
    fewer = min(len(left), len(right))
    return len(np.intersect1d(left, right, assume_unique=True)) / fewer if fewer else 1.0


def _runs(chunks: Sequence[Chunk]) -> NDArray[np.uint64]:
    """Hash every run of `_RUN` neighbouring tokens, special tokens left out; each hash once."""
    ids = np.array([token for chunk in chunks for token in chunk.ids[1:-1]], np.uint64)
    hashes = np.zeros(max(0, len(ids) - _RUN + 1), np.uint64)
    for place in range(_RUN):
        hashes = hashes * _FACTOR + ids[place : place + len(hashes)]
    return np.unique(hashes)


def _couples(chunks: Sequence[Chunk]) -> list[IntArray]:
    """Number every two neighbouring tokens of each chunk, special tokens left out."""
    couples = []
    for chunk in chunks:
        ids = np.asarray(chunk.ids[1:-1], np.int64)
        couples.append((ids[:-1] << 32) + ids[1:])
    return couples


def _stretches(measured: Sequence[IntArray], other: Sequence[IntArray], kinds: int) -> Iterator[FloatArray]:
    """Find the run of places with the largest sum in each measured chunk: [n] for each other chunk."""
    codes = np.concatenate(measured)
    rows = np.repeat(np.arange(len(measured)), [len(piece) for piece in measured])
    # All chunks are on one line, so far apart that a run across two of them never pays off.
    apart = 4 * max(len(piece) for piece in measured)
    places = np.arange(len(codes)) + rows * apart
    present = np.zeros(kinds, bool)
    for piece in other:
        result = np.zeros(len(measured), np.float32)
        present[piece] = True
        hits = np.flatnonzero(present[codes])
        present[piece] = False
        if len(hits):
            # A run from hit i to hit j sums to heights[j] - heights[i] + 1: all places between are misses.
            heights = (1 + _MISS) * np.arange(len(hits)) - _MISS * places[hits]
            sums = heights - np.minimum.accumulate(heights) + 1
            np.maximum.at(result, rows[hits], sums.astype(np.float32))
        yield result
