"""Score pairs of chunks by cosine and shared wording, pairs of sections by their chunks, and find the closest pairs.

A table has a cell for each pair of chunks, and two documents of 20,000 chunks have 400 million pairs: a `ScoreTable` is
made, kept and read some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.chunking import rows_of_sections
from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.encoding import Encoding
from colde_cli.scoring.config import Domain, ScoringConfig, scores_own
from colde_cli.scoring.domains import shortness
from colde_cli.scoring.score import cosines
from colde_cli.scoring.score_table import BLOCK, ScoreTable, row_blocks

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
Codes = NDArray[np.int32]
Rows = Sequence[Sequence[int]]

TELLING = 32.0
"""A shared stretch of this many tokens, some 25 words, shrinks the distance of two chunks to 1/e. Chosen among 16, 24,
32, 48 and 64 on validation documents (benchmarks/planted.py)."""

OWN_VECTORS, SHARPNESS = 0.1, 0.1
"""Share of the cosine of a model's own vectors, if it scores by them, in a section's score; and t of the soft maximum
over its chunks. On validation documents of six sets 0.05, 0.1 and 0.2 do equally well as t, and a larger share costs
more than it gains."""

_RUN = 5
_LOOKED_AT = 64
"""Cells that are looked at for each pair to find: those of a long document are too many to sort."""
_FACTOR = np.uint64(1_000_003)
_TOKENS = 1 << 31
"""Above every number of a token."""
_PAIRS, _LONG = 1 << 17, 126
"""Number of pairs of chunks that are looked at together, and the sum from which 2 more do not fit in a byte (127)."""
_NO_ITEMS = np.zeros(0, np.int64)


def tables(a: Encoding, b: Encoding, config: ScoringConfig) -> tuple[ScoreTable, ScoreTable]:
    """The scores of all pairs of sections [s_a, s_b], and of all pairs of chunks [n_a, n_b].

    Like the score of documents, that of sections is the cosine of the model's own vectors alone in a model without
    parts, and needs none of them where they have no weight.
    """
    chunks = table_of_chunks((a.centred_unit_vectors, b.centred_unit_vectors), (a.chunks, b.chunks))
    rows = rows_of_sections(a.document, a.chunks), rows_of_sections(b.document, b.chunks)
    blocks = _blocks_of_sections(a, b, rows, chunks, config)
    if config.score_weights is not None and config.score_weights.short is not None:
        blocks = with_short_sections(blocks, (a, b), rows, config.score_weights.short)
    return ScoreTable((len(rows[0]), len(rows[1])), blocks), chunks


def _blocks_of_sections(
    a: Encoding, b: Encoding, rows: tuple[Rows, Rows], chunks: ScoreTable, config: ScoringConfig
) -> Iterator[FloatArray]:
    for start, stop in row_blocks(len(rows[0]), len(rows[1])):
        own = cosines(a.section_vectors[start:stop], b.section_vectors) if scores_own(config) else None
        if own is not None and config.score_weights is None:
            yield own
            continue
        sections = table_of_sections(chunks, (a.shares, b.shares), (rows[0][start:stop], rows[1]))
        if own is not None:
            sections += np.float32(OWN_VECTORS) * (own - sections)
        yield sections


def with_short_sections(
    blocks: Iterable[FloatArray], documents: tuple[Encoding, Encoding], rows: tuple[Rows, Rows], weights: Domain
) -> Iterator[FloatArray]:
    """Score pairs of short sections as two short texts are scored, by how much they have in common: [s, t].

    That is the mean of two parts of a document's score: the cosine of their mean vectors, and the share of tokens and
    pairs of neighbouring tokens that both hold. From short to long sections it gives way to the score in the table.

    Args:
        blocks: of the rows of a table from `table_of_sections`, changed in their place.
        weights: of short texts.
    """
    items = [_items_of_sections(side.chunks, own) for side, own in zip(documents, rows, strict=True)]
    short = [shortness(np.array([len(held) for held in side], np.int64)) for side in items]
    a, b = (np.flatnonzero(values > 0) for values in short)
    if not len(a) or not len(b):
        yield from blocks
        return
    means = [
        np.stack([side.centred_unit_vectors[own[section]].sum(axis=0) for section in places.tolist()])
        for side, own, places in zip(documents, rows, (a, b), strict=True)
    ]
    alike = agreements([items[0][section] for section in a], [items[1][section] for section in b])
    start, both = 0, max(weights.mean + weights.wording, 1e-9)
    for block in blocks:
        some = slice(*np.searchsorted(a, (start, start + len(block))))
        if held := list(islice(alike, some.stop - some.start)):
            graded = (weights.mean * cosines(means[0][some], means[1]) + weights.wording * np.stack(held)) / both
            cells = np.ix_(a[some] - start, b)
            share = np.sqrt(short[0][a[some], None] * short[1][b])
            block[cells] += (share * (graded - block[cells])).astype(np.float32)
        start += len(block)
        yield block


def _items_of_sections(chunks: Sequence[Chunk], rows: Rows) -> list[IntArray]:
    """The different tokens, and pairs of neighbouring tokens, of each section; special tokens left out."""
    bodies = [np.asarray(chunk.ids[1:-1], np.int64) for chunk in chunks]
    held = [np.concatenate([ids, (ids[:-1] + 1) * _TOKENS + ids[1:]]) for ids in bodies]
    return [np.unique(np.concatenate([held[row] for row in own])) if own else _NO_ITEMS for own in rows]


def agreements(a: Sequence[IntArray], b: Sequence[IntArray]) -> Iterator[FloatArray]:
    """The share of the items of two sets that both hold, Jaccard's index, for each of s and each of t sets: s rows [t].

    Args:
        a: different items, ascending; there is at least one set.
    """
    known, pieces = _numbered([*a, *b])
    codes, lengths = np.concatenate(pieces[len(a) :]), _lengths(b)
    having = np.repeat(np.arange(len(b), dtype=np.int32), lengths)[np.argsort(codes, kind="stable")]
    sizes = lengths.astype(np.float32)
    counts = np.bincount(codes, minlength=known)
    ends = np.cumsum(counts)
    for piece in pieces[: len(a)]:
        held = counts[piece]
        places = np.repeat(ends[piece] - np.cumsum(held), held) + np.arange(held.sum())
        both = np.bincount(having[places], minlength=len(b)).astype(np.float32)
        yield both / np.maximum(np.float32(len(piece)) + sizes - both, 1)


def table_of_chunks(
    vectors: tuple[FloatArray, FloatArray], chunks: tuple[Sequence[Chunk], Sequence[Chunk]]
) -> ScoreTable:
    """Score every chunk of A with every chunk of B: [n, m], cosines raised where the chunks share wording.

    Args:
        vectors: centred chunk vectors of A, [n, H], and of B, [m, H].
    """
    shape = len(chunks[0]), len(chunks[1])
    if not all(shape):
        return ScoreTable(shape, ())
    wording = _Wording(*chunks)
    rows = (
        with_shared_wording(cosines(vectors[0][start : start + BLOCK], vectors[1]), wording.stretches(start, BLOCK))
        for start in range(0, shape[0], BLOCK)
    )
    return ScoreTable(shape, rows)


def table_of_sections(
    chunk_scores: FloatArray | ScoreTable, shares: tuple[FloatArray, FloatArray], rows: tuple[Rows, Rows]
) -> FloatArray:
    """Score every section of A with every section of B by how well their chunks find a counterpart: [s, t].

    As `counterparts` does of whole documents, this takes the soft maximum over the chunks of a section of their highest
    score in the other, and the mean of both directions. One vector of each section tells less: a passage that two
    sections share hardly moves it. A section without a chunk scores 0.

    Args:
        chunk_scores: from `table_of_chunks`, [n, m].
        shares: of each chunk in its document's tokens, [n] and [m].
    """
    found = np.zeros((len(rows[0]), len(rows[1])), np.float32)
    of_b = [section for section, places in enumerate(rows[1]) if places]
    places_b = np.array([place for section in of_b for place in rows[1][section]], np.int64)
    lengths = [len(rows[1][section]) for section in of_b]
    starts: IntArray = np.cumsum(lengths, dtype=np.int64) - np.array(lengths, np.int64)
    wide = [side.astype(np.float64) for side in shares]  # the order of a sum does not show then
    whole_b = np.add.reduceat(wide[1][places_b], starts) if of_b else wide[1]
    for section, places in enumerate(rows[0] if of_b else ()):
        if not places:
            continue
        sums, highest = np.zeros(len(of_b)), np.full(len(shares[1]), -1, np.float32)
        for first in range(0, len(places), BLOCK):
            some = np.array(places[first : first + BLOCK])
            block = chunk_scores[some.min() : some.max() + 1][some - some.min()]
            best = np.maximum.reduceat(block[:, places_b], starts, axis=1)
            sums += (_graded(best) * wide[0][some, None]).sum(0)
            np.maximum(highest, block.max(0), out=highest)
        back = np.add.reduceat((_graded(highest) * wide[1])[places_b], starts)
        there = np.log(sums / wide[0][places].sum())
        found[section, of_b] = 1 + SHARPNESS / 2 * (there + np.log(back / whole_b))
    return np.clip(found, -1.0, 1.0, out=found)


def _graded(scores: FloatArray) -> NDArray[np.float64]:
    """The summands of a soft maximum. No score exceeds 1, so that no exponential does."""
    return np.exp((scores.astype(np.float64) - 1) / SHARPNESS)


def with_shared_wording(cosines: FloatArray, stretches: FloatArray) -> FloatArray:
    """Raise cosines where chunks share a stretch of wording: 1 − (1 − cosine) · exp(−stretch / 32), in [-1, 1].

    Never below the cosine, and equal to it where no wording is shared.

    Args:
        cosines: of centred chunk vectors, [n, m].
        stretches: from `shared_stretches`, [n, m].
    """
    scores: FloatArray = 1 - (1 - cosines) * np.exp(-stretches / np.float32(TELLING))
    return scores


def closest_sections(
    a: Document, b: Document, scores: FloatArray | ScoreTable, limit: int
) -> list[tuple[float, int, int]]:
    """Find the closest of the `Document.content_sections`, each once, as (score, index in A, index in B).

    Args:
        scores: of all their sections, from `tables`, [s_a, s_b].
        limit: pairs to find; of equal ones those with the longest sections of A.
    """
    lengths = [len(section.span) for section in a.sections]
    return closest_pairs(scores, (a.content_sections(), b.content_sections()), limit, lengths)


def closest_pairs(
    scores: FloatArray | ScoreTable,
    kept: tuple[Sequence[int], Sequence[int]],
    limit: int,
    lengths: Sequence[int] = (),
) -> list[tuple[float, int, int]]:
    """Pairs of a row and a column with high scores, each as (score, row, column), the best first; each place once.

    Of pairs whose scores are the same to six digits those with the longest rows come first, then those with the first
    rows and columns.

    Args:
        scores: [n, m]; pairs of a score of 0 or less are left out.
        kept: rows and columns to look at, ascending.
        lengths: of what the rows stand for, n numbers; empty if all are the same.
    """
    rows, columns = kept
    if not rows or not columns or not limit:
        return []
    long = np.array([lengths[row] for row in rows] if lengths else [0] * len(rows), np.int64)
    orders, places, values = [_NO_ITEMS], [_NO_ITEMS], [np.zeros(0, np.float32)]
    for start in range(0, len(rows), BLOCK):
        some = np.array(rows[start : start + BLOCK])
        block = scores[some[0] : some[-1] + 1][np.ix_(some - some[0], columns)]
        order = _order(block, long, start).ravel()
        looked_at = min(order.size, _LOOKED_AT * limit)
        highest = np.argpartition(-order, looked_at - 1)[:looked_at]
        orders.append(order[highest])
        places.append(start * len(columns) + highest)
        values.append(block.ravel()[highest])
    by_place = dict(zip(np.concatenate(places).tolist(), np.concatenate(values).tolist(), strict=True))
    best = np.lexsort((np.concatenate(places), -np.concatenate(orders)))[: _LOOKED_AT * limit]
    pairs: dict[int, int] = {}
    found = []
    for place in np.concatenate(places)[best].tolist():
        row, column = divmod(place, len(columns))
        score = by_place[place]
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


def shared_stretches(a: Sequence[Chunk], b: Sequence[Chunk]) -> FloatArray:
    """Measure the longest stretch of wording that each chunk of `a` shares with each of `b`: [n, m] in tokens.

    A place in a chunk counts 1 if the other chunk has the same two neighbouring tokens anywhere, and −½ if not. The
    stretch is the run of places with the largest sum, at least 0. It is measured in both chunks and the smaller result
    counts, so that a phrase repeated in only one of them does not add up.
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)), np.float32)
    return _Wording(a, b).stretches(0, len(a))


class _Wording:
    """The neighbouring tokens of the chunks of two documents, for `shared_stretches` of some chunks of A."""

    def __init__(self, a: Sequence[Chunk], b: Sequence[Chunk]) -> None:
        self._known, pieces = _numbered([*_couples(a), *_couples(b)])
        self._a, self._b = pieces[: len(a)], pieces[len(a) :]

    def stretches(self, start: int, count: int) -> FloatArray:
        """Those of chunks of A from `start` on with all of B: [count or fewer, m]."""
        some = self._a[start : start + count]
        held, couples = np.unique(np.concatenate(some), return_inverse=True)
        numbers = np.full(self._known, len(held), np.int32)
        numbers[held] = np.arange(len(held))
        found = np.empty((len(some), len(self._b)), np.float32)
        for first in range(0, len(self._b), BLOCK):
            others = self._b[first : first + BLOCK]
            answers = numbers[np.concatenate(others)]
            in_both = np.zeros(len(held) + 1, bool)
            in_both[answers] = True
            in_both[-1] = False
            codes = np.where(in_both, np.cumsum(in_both), 0)
            sides = (codes[couples], _lengths(some)), (codes[answers], _lengths(others))
            found[:, first : first + BLOCK] = np.minimum(_longest_runs(*sides), _longest_runs(*sides[::-1]).T)
        return np.divide(found, 2, out=found)


def _longest_runs(own: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]) -> NDArray[np.int16]:
    """Twice the largest sum of a run of places in each of n chunks, by the couples of each of m others: [n, m].

    All others are looked at together, one place after the other. The sum of the run that ends at a place grows by 2 if
    the other chunk has its couple, else it falls by 1. Sums are kept in bytes, which is fast; pairs of chunks whose sum
    may not fit in a byte are summed a second time, in 16 bits.

    Args:
        own: the couples of one chunk after the other, 0 for one that the other side lacks, and how many each has, [n].
        other: those of the other side.
    """
    codes, lengths = own
    table = np.full((int(other[0].max(initial=0)) + 1, len(other[1])), -1, np.int8)
    table[other[0], np.repeat(np.arange(len(other[1])), other[1])] = 2
    table[0] = -1
    starts, order = np.cumsum(lengths) - lengths, np.argsort(-lengths, kind="stable")
    found = np.empty((len(lengths), len(other[1])), np.int16)
    for first, last in row_blocks(len(order), len(other[1]), _PAIRS):
        rows = order[first:last]
        steps = np.arange(lengths[rows[0]])[:, None]
        inside = steps < lengths[rows]
        couples = np.where(inside, codes.take(starts[rows] + steps, mode="clip"), 0)
        sums, best, gains, nothing = np.zeros((4, len(rows), len(other[1])), np.int8)
        for step, count in enumerate(inside.sum(1).tolist()):
            some = slice(0, count)
            table.take(couples[step, some], axis=0, out=gains[some], mode="clip")
            np.add(sums[some], gains[some], out=sums[some])
            np.maximum(sums[some], nothing[some], out=sums[some])  # an array: NumPy is slow with a lone number
            np.maximum(best[some], sums[some], out=best[some])
        found[rows] = best
        long = np.argwhere(best >= _LONG)
        for one, two in row_blocks(len(long), len(steps), _PAIRS):
            row, column = long[one:two].T
            heights = np.cumsum(table[couples[:, row], column], axis=0, dtype=np.int16)
            heights -= np.minimum(np.minimum.accumulate(heights, axis=0), 0)
            found[rows[row], column] = heights.max(0)
    return found


def _lengths(pieces: Sequence[Codes] | Sequence[IntArray]) -> IntArray:
    return np.array([len(piece) for piece in pieces], np.int64)


def _numbered(pieces: Sequence[IntArray]) -> tuple[int, list[Codes]]:
    """Number what stands in pieces: how many different things there are, and the pieces as codes below that."""
    known, codes = np.unique(np.concatenate(pieces), return_inverse=True)
    return len(known), np.split(codes.astype(np.int32), np.cumsum(_lengths(pieces))[:-1])


def shared_runs(a: Sequence[Chunk], b: Sequence[Chunk]) -> float:
    """The share of the runs of five tokens in one document, the one with fewer, that the other has too: 0 to 1.

    A run counts once. The share is 1 where a document has no run.
    """
    left, right = _runs(a), _runs(b)
    fewer = min(len(left), len(right))
    return len(np.intersect1d(left, right, assume_unique=True)) / fewer if fewer else 1.0


def _runs(chunks: Sequence[Chunk]) -> NDArray[np.uint64]:
    """Hash every run of `_RUN` neighbouring tokens, special tokens left out; each hash once."""
    ids = np.fromiter((token for chunk in chunks for token in chunk.ids[1:-1]), np.uint64)
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
