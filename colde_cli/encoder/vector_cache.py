"""Keep vectors between runs, by content: the same chunk is never encoded twice by the same model.

The cache is one SQLite file in WAL mode, so that several processes may read and write it. Everything in it can be
computed again: a damaged file is deleted with a warning, a damaged value is left out, and a run goes on without a cache
that it cannot use. A file that may not be written is read.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.files import cannot_lock, open_sqlite

_FILE = "colde-2.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS items (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS items_used ON items (used);
"""
_CHECKSUM = 8  # bytes before each value, of the key and the value
_BATCH = 500  # keys per statement, under SQLite's limit on variables
# Size to which the write-ahead log is truncated after a checkpoint.
_JOURNAL_BYTES = 8_000_000
# Share of the limit to which a cache that outgrew it shrinks, so that it does not shrink on every run.
_KEEP = 0.8


class Cache:
    """Maps keys to blobs; deletes the least recently used when the file outgrows its limit."""

    def __init__(self, folder: Path, limit: int) -> None:
        """Use (and make, when first written to) the cache in `folder`, of at most `limit` bytes."""
        self.path = folder / _FILE
        self.limit = limit
        self._connection: sqlite3.Connection | None = None
        self._read_only = False
        self._lock = threading.RLock()

    @classmethod
    def open(cls) -> Self:
        """The cache that the settings name.

        Raises:
            OptionError: COLDE_CACHE_LIMIT is not a size.
        """
        return cls(settings.cache_dir(), settings.cache_limit())

    def __reduce__(self) -> tuple[type[Self], tuple[Path, int]]:
        return type(self), (self.path.parent, self.limit)  # another process opens the file anew

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()  # from Python 3.13 on, SQLite warns of a file that its last owner left open

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of `keys`, as far as the cache holds them undamaged."""
        stored: dict[bytes, bytes] = {}
        with self._guarded() as connection:
            for start in range(0, len(keys), _BATCH):
                batch = keys[start : start + _BATCH]
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, value FROM items WHERE key IN ({marks})"
                stored.update(connection.execute(query, batch))
            if stored and not self._read_only:
                now = int(time.time())
                touched = [(now, key, now - 3600) for key in stored]
                connection.executemany("UPDATE items SET used = ? WHERE key = ? AND used < ?", touched)
        whole = {
            key: value[_CHECKSUM:]
            for key, value in stored.items()
            if value[:_CHECKSUM] == _checksum(key, value[_CHECKSUM:])
        }
        if damaged := len(stored) - len(whole):
            warnings.warn(f"The cache {self.path} holds {damaged} damaged entries, which are made again.", stacklevel=2)
        return whole

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Store values; the least recently used go if the file outgrows its limit."""
        if not items:
            return
        now = int(time.time())
        with self._guarded() as connection:
            if self._read_only:
                return
            rows = [(key, now, _checksum(key, value) + value) for key, value in items.items()]
            connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", rows)
            self._shrink(connection)

    def size(self) -> int:
        """Bytes on disk, the write-ahead log included."""
        files = (self.path, *(self.path.with_name(_FILE + suffix) for suffix in ("-wal", "-shm")))
        return sum(file.stat().st_size for file in files if file.exists())

    def count(self) -> int:
        """Number of values."""
        if not self.path.exists():
            return 0
        rows: list[tuple[int]] = []
        with self._guarded() as connection:
            rows = connection.execute("SELECT count(*) FROM items").fetchall()
        return rows[0][0] if rows else 0

    def clear(self) -> None:
        """Delete the file, and those of earlier versions."""
        self.close()
        for file in self.path.parent.glob("colde-*.sqlite*"):
            file.unlink(missing_ok=True)

    def _shrink(self, connection: sqlite3.Connection) -> None:
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        excess = (pages - free) * page_size - self.limit
        if excess <= 0:
            return
        excess += int((1 - _KEEP) * self.limit)
        gone: list[tuple[bytes]] = []
        for key, length in connection.execute("SELECT key, length(value) FROM items ORDER BY used"):
            gone.append((key,))
            excess -= length + len(key)
            if excess <= 0:
                break
        connection.executemany("DELETE FROM items WHERE key = ?", gone)
        # As a script: `execute` takes only the first step, which frees one page.
        connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE);")

    @contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction. An error of the file costs the cache, not the run."""
        with self._lock:
            yield from self._transaction()

    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._connect()
        except (sqlite3.Error, OSError) as error:
            warnings.warn(f"The cache {self.path} is not usable ({error}); going on without it.", stacklevel=6)
            connection = self._connection = _empty_connection()
        try:
            with connection:
                yield connection
        except sqlite3.OperationalError as error:  # locked, full disk, read-only
            warnings.warn(f"The cache {self.path} could not be used ({error}).", stacklevel=6)
        except sqlite3.DatabaseError:
            self._discard()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            # It holds the text of the user's documents: private.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._connection = self._fresh_connection()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self._discard()
                self._connection = self._connection or self._fresh_connection()
        return self._connection

    def _fresh_connection(self) -> sqlite3.Connection:
        there = self.path.exists()
        self._read_only = there and (cannot_lock(self.path) or not os.access(self.path, os.W_OK))
        if not self._read_only:
            self.path.touch(mode=0o600)
        connection = open_sqlite(self.path, "rw", 30)
        if self._read_only:
            return connection
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
            connection.executescript(_SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _discard(self) -> None:
        """Empty a damaged cache, or go on without it where it may not be deleted."""
        self.close()
        if not self._read_only:
            with suppress(OSError):
                self.clear()
                warnings.warn(f"The cache {self.path} was damaged and has been emptied.", stacklevel=6)
                return
        warnings.warn(f"The cache {self.path} is damaged and cannot be emptied; going on without it.", stacklevel=6)
        self._connection = _empty_connection()


def _empty_connection() -> sqlite3.Connection:
    """A cache for this run alone, in memory."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(_SCHEMA)
    return connection


def _checksum(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(value, key=key[:64], digest_size=_CHECKSUM).digest()


def digest(*parts: bytes) -> bytes:
    """Hash byte strings into a 20-byte key; the boundaries between them count."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def file_digest(path: Path) -> bytes:
    """Hash the content of a file into 20 bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).digest()


FloatArray = NDArray[np.float32]
Item = TypeVar("Item")


def remembered(
    keys: Sequence[bytes],
    items: Sequence[Item],
    cache: Cache | None,
    compute: Callable[[list[Item]], Sequence[FloatArray]],
    progress: Callable[[int], None] | None,
    block_size: int,
) -> dict[bytes, FloatArray]:
    """Vectors by key: from the cache where it holds them, else computed and stored.

    Args:
        keys: the cache key of each item; of items with the same key one is computed.
        cache: None stores nothing.
        block_size: items between two writes to the cache; an interrupted run loses no more than these.
    """
    known = cache.get(list(dict.fromkeys(keys))) if cache is not None else {}
    vectors = {key: np.frombuffer(value, np.float32) for key, value in known.items()}
    missing = {key: item for key, item in zip(keys, items, strict=True) if key not in vectors}
    if progress is not None and len(keys) > len(missing):
        progress(len(keys) - len(missing))
    waiting = list(missing.items())
    for start in range(0, len(waiting), block_size):
        block = dict(waiting[start : start + block_size])
        computed = dict(zip(block, compute(list(block.values())), strict=True))
        if cache is not None:
            cache.put({key: vector.tobytes() for key, vector in computed.items()})
        vectors.update(computed)
    return vectors
