"""List the files that an index follows, and refuse to take a lost disk for a deleted corpus.

A share that is not mounted is an empty folder. So a folder that held files and holds none now, or less than half of
them, is an error, unless the user says that the files are gone on purpose.
"""

from __future__ import annotations

import os
from pathlib import Path

from colde_cli.corpus.collecting import Skipped, walk
from colde_cli.corpus.index import Index, shown_path
from colde_cli.errors import BadIndexError

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
    """The range of all paths below a folder: "0" follows "/"."""
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
