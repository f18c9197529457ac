"""Open an index to write it: one process at a time, and only what is an index or becomes one."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from colde_cli.corpus import first_stage
from colde_cli.corpus.collecting import APPLICATION, is_index
from colde_cli.corpus.index import FORMAT, SCHEMA, Index, connect, trouble
from colde_cli.errors import BadIndexError, OptionError
from colde_cli.settings import INDEX_FILE

LOCK = "writer.lock"
_CACHE_KIB = 98_304
_PATIENCE = 2.0  # seconds that a second writer waits


@contextmanager
def writing(folder: Path, *, make: bool = False) -> Iterator[Index]:
    """Open an index as its only writer.

    Args:
        folder: of the index.
        make: make a new one where there is none; if nothing comes to be written, it is removed again.

    Raises:
        BadIndexError: it is no index, damaged, of another version, cannot be written, or has a writer already.
        OptionError: the folder holds something else.
    """
    made = make and _make_folder(folder)
    if not make and not is_index(folder):
        Index.open(folder)  # raises the reason
    try:
        with _open_to_write(folder) as index:
            yield index
    except BaseException:
        if made:
            _remove_if_empty(folder)
        raise


@contextmanager
def _open_to_write(folder: Path) -> Iterator[Index]:
    with only_writer(folder), trouble(folder):
        index = Index(folder, connect(folder, "rwc"))
        try:
            # A transaction is held in memory, so that readers are kept waiting by its commit alone.
            index.connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            if not index.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                _make_tables(index.connection)
            index.check_format()
            yield index
        finally:
            index.close()


def _remove_if_empty(folder: Path) -> None:
    """Remove an index that holds nothing, unless another process has begun to write it."""
    with suppress(BadIndexError), only_writer(folder, patience=0.0):
        if _holds_nothing(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _holds_nothing(folder: Path) -> bool:
    """Whether nothing was written into an index yet."""
    with suppress(sqlite3.Error), closing(connect(folder)) as connection:
        return not connection.execute("SELECT count(*) FROM contents").fetchone()[0]
    return False


def _make_folder(folder: Path) -> bool:
    """Make the folder of an index; return whether there was none."""
    ours = {INDEX_FILE, first_stage.NAME, f"{INDEX_FILE}-journal", LOCK, f"{LOCK}-journal"}
    try:
        with suppress(FileExistsError):  # another process may make it at the same time
            folder.mkdir()
            return True
        if not folder.is_dir():
            raise OptionError(f"{folder} is a file and is not overwritten; choose another name.")
        if not is_index(folder) and {path.name for path in folder.iterdir()} - ours:
            raise OptionError(f"{folder} is no index and is not overwritten; choose another name.")
    except OSError as error:
        raise OptionError(f"{folder} cannot be made: {error.strerror or error}.") from error
    return False


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for statement in filter(str.strip, SCHEMA.split(";")):
        connection.execute(statement)
    values = [("lineage", secrets.token_hex(6)), ("generation", 0)]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", values)
    connection.execute("COMMIT")


@contextmanager
def only_writer(folder: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the lock of those who write an index; it is released with the process, however that ends.

    Raises:
        BadIndexError: another process holds it for longer than `patience` seconds, or the folder cannot be written.
    """
    try:
        lock = sqlite3.connect(folder / LOCK, timeout=patience, isolation_level=None)
    except sqlite3.Error as error:
        raise BadIndexError(f"{folder} cannot be written; ask its owner for access.") from error
    with closing(lock):
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY"):
                raise BadIndexError(
                    f"{folder} is being written by another process; try again when it has finished."
                ) from error
            raise BadIndexError(f"{folder} cannot be written ({error}).") from error
        yield
