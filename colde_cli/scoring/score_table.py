"""A table with a cell for each pair of chunks: two documents of 20,000 chunks have 400 million pairs."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

BLOCK = 512
"""Rows of a table that are worked on at the same time."""
_IN_MEMORY = 1 << 25
"""Cells of a table that is kept in memory, 128 MB; a larger one is kept in a file."""
_CELLS = 1 << 22
"""Cells that are worked on at the same time, 16 MB, if a row has no more."""


def row_blocks(rows: int, columns: int, cells: int | None = None, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Where blocks of the rows of a table begin and end: at most so many cells and rows each, but at least one row."""
    step = max(1, min(most or rows, (cells or _CELLS) // max(1, columns)))
    return ((start, min(start + step, rows)) for start in range(0, rows, step))


class ScoreTable:
    """Numbers for all pairs, [n, m]: made once, and read as an array is, but some rows at a time: `table[start:stop]`.

    A large one lies in a file without a name, which goes when the table goes. `np.asarray` reads it whole.
    """

    def __init__(self, shape: tuple[int, int], blocks: Iterable[FloatArray]) -> None:
        """Keep the rows that `blocks` yields, in order."""
        self.shape = shape
        self._file = None if self.size <= _IN_MEMORY else tempfile.TemporaryFile(prefix="colde-", buffering=0)  # noqa: SIM115
        if self._file is not None:
            weakref.finalize(self, self._file.close)
        self._array = np.empty(shape if self._file is None else (0, shape[1]), np.float32)
        start = 0
        for block in blocks:
            if self._file is None:
                self._array[start : start + len(block)] = block
            else:
                held = memoryview(np.ascontiguousarray(block, np.float32).view(np.uint8).reshape(-1).data)
                while held:  # a write may end early
                    held = held[self._file.write(held) :]
            start += len(block)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, rows: slice) -> FloatArray:
        if self._file is None:
            return self._array[rows]
        start, stop, _ = rows.indices(len(self))
        block = np.empty((max(0, stop - start), self.shape[1]), np.float32)
        self._file.seek(start * self.shape[1] * block.itemsize)
        held = memoryview(block.view(np.uint8).reshape(-1).data)
        while held:  # a read may end early
            held = held[self._file.readinto(held) :]
        return block

    def blocks(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield the number of the first row of each block, and the block [r, m]."""
        for start in range(0, len(self), BLOCK):
            yield start, self[start : start + BLOCK]

    def __iter__(self) -> Iterator[FloatArray]:
        return (row for _, block in self.blocks() for row in block)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.array(self[:], dtype, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        return ScoreTable, (self.shape, [self[:]])

    def best(self) -> tuple[tuple[IntArray, FloatArray], tuple[IntArray, FloatArray]]:
        """The first of the best partners, and its score: of each row [n], and of each column [m]."""
        in_rows = np.zeros(len(self), np.int64), np.zeros(len(self), np.float32)
        in_columns = np.zeros(self.shape[1], np.int64), np.full(self.shape[1], -np.inf, np.float32)
        for start, block in self.blocks():
            rows = slice(start, start + len(block))
            in_rows[0][rows], in_rows[1][rows] = block.argmax(1), block.max(1)
            highest = block.max(0)
            better = highest > in_columns[1]
            in_columns[0][better] = start + block[:, better].argmax(0)
            in_columns[1][better] = highest[better]
        return in_rows, in_columns

    def at(self, columns: IntArray) -> FloatArray:
        """One number of each row, [n], in these columns."""
        found = np.empty(len(self), np.float32)
        for start, block in self.blocks():
            found[start : start + len(block)] = block[np.arange(len(block)), columns[start : start + len(block)]]
        return found
