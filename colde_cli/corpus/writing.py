"""Begin a change of an index: open it as its only writer, and list the files that it follows.

Only what is an index, or becomes one, is opened. A lost disk is not taken for a deleted corpus: a share that is not
mounted is an empty folder. So a folder that held files and holds none now, or less than half of them, is an error,
unless the user says that the files are gone on purpose.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from colde_cli.corpus import first_stage
from colde_cli.corpus.collecting import APPLICATION, Skipped, is_index, walk
from colde_cli.corpus.index import FORMAT, SCHEMA, Index, connect, shown_path, trouble
from colde_cli.errors import BadIndexError, OptionError
from colde_cli.settings import INDEX_FILE

LOCK = "writer.lock"
_CACHE_KIB = 98_304
_PATIENCE = 2.0  # seconds that a second writer waits
_RACY_NS = 2_000_000_000  # FAT keeps times to two seconds, other file systems more exactly
_MANY = 20  # a folder of fewer files may lose most of them

_TABLES = """
CREATE TEMP TABLE found (
    path BLOB PRIMARY KEY, root INTEGER, size INTEGER, mtime_ns INTEGER, listed INTEGER
) WITHOUT ROWID;
CREATE TEMP TABLE waiting (place INTEGER PRIMARY KEY, path BLOB, root INTEGER, known INTEGER);
CREATE TEMP TABLE outdated (key BLOB PRIMARY KEY) WITHOUT ROWID;
"""

_FILL_WAITING = f"""
INSERT INTO waiting (path, root, known)
SELECT f.path, f.root, d.number IS NOT NULL AND d.key IS NOT NULL
    AND d.size = f.size AND d.mtime_ns = f.mtime_ns FROM found f LEFT JOIN documents d ON d.path = f.path
WHERE f.listed AND (d.number IS NULL OR d.key IS NULL OR d.size <> f.size OR d.mtime_ns <> f.mtime_ns
    OR d.mtime_ns + {_RACY_NS} >= d.checked_ns)
ORDER BY f.path
"""

# A range, for which SQLite uses its order by path.
_BELOW = "path >= ?1 AND path < ?2"


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


def list_files(index: Index) -> tuple[Skipped, ...]:
    """List the files of an index in the table `found`, and those to look at in `waiting`.

    These tables, and `outdated` for hashes of files to be read again, end with the connection.

    Returns:
        The folders that cannot be listed. What the index knows of them stays.

    Raises:
        BadIndexError: a folder or file that the index follows is gone or out of reach.
    """
    connection = index.connection
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    errors: list[OSError] = []
    for number, path, glob in connection.execute("SELECT number, path, glob FROM roots").fetchall():
        place = Path(os.fsdecode(path))
        if not place.exists():
            raise BadIndexError(
                f"{shown_path(path)} is gone or out of reach, and {index.folder} follows it; bring it back, or forget"
                f" it with: colde index {index.folder} --forget {shown_path(path)}"
            )
        refused: list[OSError] = []
        rows = (_found(file, number) for file in walk([place], glob, refused.append))
        connection.executemany("INSERT OR IGNORE INTO found VALUES (?, ?, ?, ?, 1)", rows)
        _check_listed(index, path, refused)
        errors += refused
    for error in errors:
        connection.execute(
            f"INSERT OR IGNORE INTO found SELECT path, root, size, mtime_ns, 0 FROM documents WHERE {_BELOW}",
            _below(os.fsencode(error.filename)),
        )
    connection.execute(_FILL_WAITING)
    return tuple(Skipped(str(error.filename), str(error.strerror)) for error in errors)


def check_losses(index: Index) -> None:
    """Check that no folder of the index is suddenly empty or lacks most of its files; after `list_files`.

    Files that a narrower pattern leaves out do not count as lost, as long as some are left.

    Raises:
        BadIndexError: one does.
    """
    query = index.connection.execute
    for path, glob in query("SELECT path, glob FROM roots ORDER BY path").fetchall():
        (found,) = query(f"SELECT count(*) FROM found WHERE {_BELOW}", _below(path)).fetchone()
        known, wanted = query(
            "SELECT count(*), count(*) FILTER (WHERE ?4 IS NULL OR in_glob(path, ?3, ?4)) FROM documents"
            f" WHERE {_BELOW}",
            (*_below(path), path, glob),
        ).fetchone()
        if (known and not found) or (wanted >= _MANY and found < wanted / 2):
            left, before = (f"only {found} to index", wanted) if found else ("no file to index", known)
            raise BadIndexError(
                f"{shown_path(path)} holds {left}, but {index.folder} knows {before} from there; see that its disk is"
                f" connected, or drop what is missing with: colde index {index.folder} --drop-missing"
            )


def _below(folder: bytes) -> tuple[bytes, bytes]:
    """The range of all paths below a folder, from "folder/" to "folder0": in bytes, "0" follows "/"."""
    stem = folder.rstrip(b"/")
    return stem + b"/", stem + b"0"


def _check_listed(index: Index, path: bytes, errors: list[OSError]) -> None:
    """Check that a folder itself can be listed, if the index knows files below it.

    Raises:
        BadIndexError: it cannot.
    """
    for error in errors:
        known = index.connection.execute(f"SELECT 1 FROM documents WHERE {_BELOW} LIMIT 1", _below(path))
        if os.fsencode(error.filename) == path and known.fetchone():
            raise BadIndexError(
                f"{shown_path(path)} cannot be listed ({error.strerror or error}), and {index.folder} follows it; ask"
                f" its owner for access, or forget it with: colde index {index.folder} --forget {shown_path(path)}"
            )


def _found(file: Path, root: int) -> tuple[bytes, int, int, int]:
    """A row of the table of files that there are."""
    try:
        status = file.stat()
    except OSError:  # gone, or out of reach: looking at it again says so
        return os.fsencode(file), root, -1, -1
    return os.fsencode(file), root, status.st_size, status.st_mtime_ns
