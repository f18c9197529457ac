"""Views of the documents of a batch: sections, windows, partners, positions (CoLDE's augmentation).

All random choices come from one generator that depends on seed and step, so that a run can be resumed anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colde_cli.learning.recipe import Recipe
from colde_cli.learning.tokens import ChunkStore

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The R rows that the head reads."""

    chunks: tuple[IntArray, ...]  # the chunks of each row, as numbers of the store
    positions: tuple[IntArray, ...]  # q of the chunks of each row
    sections: IntArray  # int64 [R], p
    partners: IntArray  # int64 [R], the row whose chunks are keys and values
    owners: IntArray  # int64 [R], the place in the batch of each row's document

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def lengths(self) -> IntArray:
        """int64 [R], chunks of each row."""
        return np.array([len(row) for row in self.chunks], np.int64)

    @property
    def chunk_ids(self) -> IntArray:
        """int64 [R, C], q of every chunk, zeros past a row's length."""
        return side_by_side(self.positions)

    def needed(self, positioned: bool) -> Needed:
        """Return the chunks to encode, each once; if vectors are `positioned`, once for each place."""
        lengths = self.lengths
        columns = [np.concatenate(self.chunks), np.repeat(self.sections, lengths), np.concatenate(self.positions)]
        if not positioned:
            columns[1:] = [np.zeros_like(columns[0])] * 2
        unique, places = np.unique(np.stack(columns), axis=1, return_inverse=True)
        rows = np.split(np.asarray(places, np.int64).reshape(-1), np.cumsum(lengths)[:-1])
        return Needed(unique[0], unique[1], unique[2], side_by_side(rows))


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    """The n different chunk vectors of some rows.

    Numbers of the store, p and q of each [n], and the number of the vector at each place [R, C], 0 past a row's length.
    """

    chunks: IntArray
    sections: IntArray
    positions: IntArray
    places: IntArray


def side_by_side(rows: Sequence[IntArray]) -> IntArray:
    """Pad rows of unequal length with zeros to int64 [R, C]."""
    table = np.zeros((len(rows), max(len(row) for row in rows)), np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


class _Row(NamedTuple):
    chunks: IntArray
    positions: IntArray
    section: int
    partner: int
    owner: int


def training_views(
    store: ChunkStore,
    documents: Sequence[int] | IntArray,
    recipe: Recipe,
    max_chunks: int,
    generator: np.random.Generator,
) -> Views:
    """Make the rows of a batch: each document cut into sections, a window of each, at a random offset.

    `recipe` says into how many sections and what is shown of each; `max_chunks` is Q, the rows of the chunk embedding.

    The partner of a section is the next section of its document; that of the last is the first. For half of the
    documents it is the section itself, as at inference, where a document is not cut. A document of one chunk cannot
    be cut: its second view is its own repetition.
    """
    rows: list[_Row] = []
    for owner, document in enumerate(documents):
        rows += _document_rows(store, int(document), owner, len(rows), recipe, max_chunks, generator)
    return _views(rows)


def whole_views(store: ChunkStore, documents: Sequence[int] | IntArray, limit: int = 0) -> Views:
    """Make one row for each document, with all its chunks and itself as partner, as at inference.

    Of a document with more chunks than `limit`, only that many are read, at equal distances; 0 reads all.
    """
    rows = []
    for owner, document in enumerate(documents):
        chunks = store.chunks_of(int(document))
        if 0 < limit < len(chunks):
            chunks = chunks[(2 * np.arange(limit) + 1) * len(chunks) // (2 * limit)]
        rows.append(_Row(chunks, np.arange(len(chunks)), 0, owner, owner))
    return _views(rows)


def cut_sections(sections: Sequence[int] | NDArray[np.int32], tokens: IntArray, parts: int) -> list[int]:
    """Choose where to cut a document of n chunks into at most `parts` runs of about equally many tokens.

    Each cut falls on the section boundary nearest to its equal share, or, if there are too few sections, on the
    nearest chunk boundary.

    Of the section and the tokens of each chunk, [n] both, to chunk numbers `[0, c1, ..., n]`, strictly ascending.
    """
    count = len(tokens)
    parts = min(parts, count)
    ends = np.cumsum(tokens)
    boundaries = 1 + np.flatnonzero(np.diff(np.asarray(sections)))
    allowed = boundaries if len(boundaries) >= parts - 1 else np.arange(1, count)
    cuts = [0]
    for part in range(1, parts):
        # Leave the boundaries that later cuts need.
        free = allowed[allowed > cuts[-1]]
        free = free[: len(free) - (parts - 1 - part)]
        distance = np.abs(ends[free - 1] - ends[-1] * part / parts)
        cuts.append(int(free[distance.argmin()]))
    return [*cuts, count]


def _document_rows(
    store: ChunkStore,
    document: int,
    owner: int,
    first: int,
    recipe: Recipe,
    max_chunks: int,
    generator: np.random.Generator,
) -> list[_Row]:
    chunks = store.chunks_of(document)
    if recipe.sections_used > 1 and len(chunks) < 2:
        return _repeated_rows(chunks, owner, first, max_chunks, generator)
    cuts = cut_sections(store.sections[chunks], store.lengths_of(chunks), recipe.sections_used)
    own_partner = generator.random() < 0.5
    groups = [chunks[begin:end] for begin, end in pairwise(cuts)]
    rows = []
    for place, group in enumerate(groups):
        shown = _shown(group, recipe, len(groups), generator)
        partner = place if own_partner else (place + 1) % len(groups)
        positions = _positions(len(shown), max_chunks, generator)
        rows.append(_Row(shown, positions, place, first + partner, owner))
    return rows


def _repeated_rows(
    chunks: IntArray, owner: int, first: int, max_chunks: int, generator: np.random.Generator
) -> list[_Row]:
    """Make two rows of a document that cannot be cut: itself, and itself repeated (LA(SER)³, self-reference)."""
    repeats = int(generator.integers(2, max(2, max_chunks // len(chunks)) + 1))
    positions = _positions(len(chunks), max_chunks, generator)
    return [
        _Row(np.tile(chunks, times), np.tile(positions, times), 0, first + place, owner)
        for place, times in enumerate((1, repeats))
    ]


def _shown(group: IntArray, recipe: Recipe, sections: int, generator: np.random.Generator) -> IntArray:
    """Choose the chunks that are shown of one of `sections` sections."""
    count = max(1, recipe.windows // sections) if recipe.windows else recipe.window
    if not count or len(group) <= count:
        return group
    if recipe.windows:
        # A random chunk of each of `count` equal runs, so that every part of a long document is seen in time.
        cuts = np.arange(count + 1) * len(group) // count
        return group[generator.integers(cuts[:-1], cuts[1:])]
    # A random run keeps beginnings from weighing too much.
    first = recipe.window_start == "first"
    start = 0 if first else int(generator.integers(len(group) - count + 1))
    return group[start : start + count]


def _positions(count: int, max_chunks: int, generator: np.random.Generator) -> IntArray:
    """Number chunks from a random offset, so that the high numbers of whole documents are trained, too."""
    offset = int(generator.integers(max(0, max_chunks - count) + 1))
    return np.minimum(np.arange(offset, offset + count), max_chunks - 1)


def _views(rows: Sequence[_Row]) -> Views:
    chunks, positions, *numbers = zip(*rows, strict=True)
    return Views(chunks, positions, *(np.array(column, np.int64) for column in numbers))
