"""Keys with values, more than memory holds, in the order of their keys.

Runs that fit in memory are sorted and written; ranges of keys are gathered from all runs. Each entry is written once
and read once, and nothing is looked up at random, so that the time grows with the number of entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import OptionError

Hashes = NDArray[np.uint64]

_ENTRIES = 1 << 19  # in a run, 8 MB; a range of keys holds about as many
_STEP = 256  # one key in so many is kept in memory, to choose ranges by


class SortedEntries:
    """Entries come in any order, and are read in that of their keys; those of one key in the order in which they came.

    The file is made when entries no longer fit in memory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held, self._waiting = [np.empty((0, 2), np.uint64)], 0
        self._sizes: list[int] = []  # of the runs in the file
        self._steps: list[Hashes] = []

    def add(self, keys: NDArray[Any], values: NDArray[Any] | int) -> None:
        """Add entries: keys of 64 bits [N], with a value of 64 bits each, or one for all.

        Raises:
            OptionError: the disk is full.
        """
        entries = np.empty((len(keys), 2), np.uint64)
        entries[:, 0], entries[:, 1] = keys, values
        self._held.append(entries)
        self._waiting += len(entries)
        if self._waiting >= _ENTRIES:
            run = _by_key(self._held)
            with told(self._path.parent), self._path.open("ab") as file:
                file.write(run.tobytes())
            self._sizes.append(len(run))
            self._steps.append(run[::_STEP, 0].copy())
            self._held, self._waiting = [run[:0].copy()], 0

    def blocks(self, together: int = 0) -> Iterator[tuple[Hashes, Hashes]]:
        """Keys in ascending order and their values, in blocks; keys that differ in the last `together` bits are in one.

        A block is larger than a run where one key has more entries than that.
        """
        last = _by_key(self._held)
        bits, apart = np.uint64(together), max(1, _ENTRIES // _STEP)
        steps = np.sort(np.concatenate([*self._steps, last[::_STEP, 0]]))
        edges = np.unique(steps[apart::apart] >> bits) << bits
        places = [[0, *np.searchsorted(run[:, 0], edges).tolist(), len(run)] for run in self._runs(last)]
        for number in range(len(edges) + 1):
            block = _by_key(
                [run[at[number] : at[number + 1]] for run, at in zip(self._runs(last), places, strict=True)]
            )
            if len(block):
                yield block[:, 0], block[:, 1]

    def _runs(self, last: Hashes) -> Iterator[Hashes]:
        """All runs; those of the file are mapped one at a time, as mapped pages count as memory of this process."""
        start = 0
        for size in self._sizes:
            yield np.memmap(self._path, np.uint64, "r", 16 * start, (size, 2))
            start += size
        yield last


def _by_key(parts: list[Hashes]) -> Hashes:
    entries = np.concatenate(parts)
    return entries[np.argsort(entries[:, 0], kind="stable")]


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Name the place of temporary files if its disk is full."""
    try:
        yield
    except OSError as error:
        raise OptionError(
            f"{folder.parent} cannot hold temporary files: {error.strerror}; name another folder in TMPDIR."
        ) from error
