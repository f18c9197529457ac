"""Open an index as its only writer, list the files that it follows, and look after it: status, check, compaction.

Only what is an index, or becomes one, is opened. A lost disk is not taken for a deleted corpus: a share that is not
mounted is an empty folder. So a folder that held files and holds none now, or less than half of them, is an error,
unless the user says that the files are gone on purpose.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from colde_cli.corpus import side_file
from colde_cli.corpus.finding import APPLICATION, Skipped, is_sqlite, unlisted, walk
from colde_cli.corpus.index_reader import FORMAT, SCHEMA, Index, connect, trouble
from colde_cli.corpus.records import reading_digest, unpack
from colde_cli.corpus.stores import DocumentStore, decoded, shown_path
from colde_cli.documents.pdf.scans import available
from colde_cli.errors import BadIndexError, OptionError
from colde_cli.settings import INDEX_FILE

LOCK = "writer.lock"
_CACHE_KIB = 98_304
_PATIENCE = 2.0  # seconds that a second writer waits
_RACY_NS = 2_000_000_000  # FAT keeps times to two seconds, other file systems more exactly
_MANY = 20  # a folder of fewer files may lose most of them

_TABLES = """
CREATE TEMP TABLE found (
    path BLOB PRIMARY KEY, root INTEGER, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, listed INTEGER
) WITHOUT ROWID;
CREATE TEMP TABLE waiting (place INTEGER PRIMARY KEY, path BLOB, root INTEGER, known INTEGER);
CREATE TEMP TABLE outdated (key BLOB PRIMARY KEY) WITHOUT ROWID;
"""
_FILL_WAITING = f"""
INSERT INTO waiting (path, root, known)
SELECT f.path, f.root, d.number IS NOT NULL AND d.key IS NOT NULL
    AND d.size = f.size AND d.mtime_ns = f.mtime_ns FROM found f LEFT JOIN documents d ON d.path = f.path
WHERE f.listed AND (d.number IS NULL OR d.key IS NULL OR d.size <> f.size OR d.mtime_ns <> f.mtime_ns
    OR d.mtime_ns + {_RACY_NS} >= d.checked_ns OR f.ctime_ns > d.checked_ns)
ORDER BY f.path
"""
# A range, for which SQLite uses its order by path.
_BELOW = "path >= ?1 AND path < ?2"
_UNNAMED = "SELECT number FROM contents WHERE number NOT IN (SELECT content FROM documents WHERE content IS NOT NULL)"


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
    if not make and not is_sqlite(folder):
        Index.open(folder)  # raises the reason
    try:
        with only_writer(folder), trouble(folder), Index(folder, connect(folder, "rwc")) as index:
            # A transaction is held in memory: without a log, readers are kept waiting by its commit alone.
            index.connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            if not index.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                _make_tables(index.connection)
            index.check_format()
            if sys.platform == "linux" and os.major(folder.stat().st_dev):  # a disk of this machine
                index.connection.execute("PRAGMA journal_mode = WAL")
            yield index
    except BaseException:
        # Another process may have begun to write it.
        if made:
            with suppress(BadIndexError), only_writer(folder, patience=0.0):
                empty = False
                with suppress(sqlite3.Error), closing(connect(folder)) as connection:
                    empty = not connection.execute("SELECT count(*) FROM contents").fetchone()[0]
                if empty:
                    shutil.rmtree(folder, ignore_errors=True)
        raise


def _make_folder(folder: Path) -> bool:
    """Make the folder of an index; return whether there was none."""
    ours = {
        side_file.NAME,
        LOCK,
        f"{LOCK}-journal",
        *(f"{INDEX_FILE}{end}" for end in ("", "-journal", "-wal", "-shm")),
    }
    try:
        with suppress(FileExistsError):  # another process may make it at the same time
            folder.mkdir()
            return True
        if not folder.is_dir():
            raise OptionError(f"{folder} is a file and is not overwritten; choose another name.")
        if not is_sqlite(folder) and {path.name for path in folder.iterdir()} - ours:
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


def list_files(index: Index, only: Sequence[bytes] = ()) -> tuple[Skipped, ...]:
    """List the files of an index in the table `found`, and those to look at in `waiting`.

    Of the folders that the index follows, `only` these are listed, and what it knows of others stays; empty lists all.
    These tables, and `outdated` for hashes of files to be read again, end with the connection.

    Returns:
        The folders that cannot be listed. What the index knows of them stays.

    Raises:
        BadIndexError: a folder or file that the index follows is gone or out of reach.
    """
    query = index.connection.execute
    for statement in filter(str.strip, _TABLES.split(";")):
        query(statement)
    errors: list[OSError] = []
    for number, path, glob in query("SELECT number, path, glob FROM roots").fetchall():
        if only and path not in only:
            stays = "INSERT OR IGNORE INTO found SELECT path, root, size, mtime_ns, 0, 0 FROM documents WHERE root = ?"
            query(stays, (number,))
            continue
        place, shown = Path(os.fsdecode(path)), shown_path(path)
        forget = f"forget it with: colde index {index.place} --forget {shown}"
        if not place.exists():
            raise BadIndexError(
                f"{shown} is gone or out of reach, and {index.place} follows it; bring it back, or {forget}"
            )
        refused: list[OSError] = []
        rows = (_found(file, number) for file in walk([place], glob, refused.append))
        index.connection.executemany("INSERT OR IGNORE INTO found VALUES (?, ?, ?, ?, ?, 1)", rows)
        for error in refused:
            known = query(f"SELECT 1 FROM documents WHERE {_BELOW} LIMIT 1", _below(path))
            if os.fsencode(error.filename) == path and known.fetchone():
                raise BadIndexError(
                    f"{shown} cannot be listed ({error.strerror or error}), and {index.place} follows it; ask its"
                    f" owner for access, or {forget}"
                )
        errors += refused
    for error in errors:
        query(
            f"INSERT OR IGNORE INTO found SELECT path, root, size, mtime_ns, 0, 0 FROM documents WHERE {_BELOW}",
            _below(os.fsencode(error.filename)),
        )
    query(_FILL_WAITING)
    return unlisted(errors)


def check_losses(index: Index) -> None:
    """Check that no folder of the index is suddenly empty or lacks most of its files; after `list_files`.

    Files that a narrower pattern leaves out do not count as lost, as long as some are left.

    Raises:
        BadIndexError: one does.
    """
    query = index.connection.execute
    for path, glob in query("SELECT path, glob FROM roots ORDER BY path").fetchall():
        (now,) = query(f"SELECT count(*) FROM found WHERE {_BELOW}", _below(path)).fetchone()
        known, wanted = query(
            "SELECT count(*), count(*) FILTER (WHERE ?4 IS NULL OR in_glob(path, ?3, ?4)) FROM documents"
            f" WHERE {_BELOW}",
            (*_below(path), path, glob),
        ).fetchone()
        if (known and not now) or (wanted >= _MANY and now < wanted / 2):
            held, before = (f"only {now} to index", wanted) if now else ("no file to index", known)
            raise BadIndexError(
                f"{shown_path(path)} holds {held}, but {index.place} knows {before} from there; see that its disk is"
                f" connected, or drop what is missing with: colde index {index.place} --drop-missing"
            )


def _below(folder: bytes) -> tuple[bytes, bytes]:
    """The range of all paths below a folder, from "folder/" to "folder0": in bytes, "0" follows "/"."""
    stem = folder.rstrip(b"/")
    return stem + b"/", stem + b"0"


def _found(file: Path, root: int) -> tuple[bytes, int, int, int, int]:
    """A row of the table of files that there are. Programs that keep the time of a file cannot keep its ctime."""
    try:
        status = file.stat()
    except OSError:  # gone, or out of reach: looking at it again says so
        return os.fsencode(file), root, -1, -1, 0
    return os.fsencode(file), root, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that an index follows, and which files of the folder it takes."""

    path: str
    glob: str | None


@dataclass(frozen=True, slots=True)
class Staleness:
    """How many files are new, changed and gone since an update, as far as names, sizes and times tell.

    `trouble` says why the files cannot be listed; "" where they can.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0
    trouble: str = ""

    @property
    def stale(self) -> bool:
        """Whether an update would change the index."""
        return bool(self.new or self.changed or self.gone or self.trouble)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What an index holds.

    Attributes:
        documents: that can be found, those that cannot be read left out.
        bad: files that cannot be read, with the reason.
        model: its name; None in an index without documents.
        precision: of the model when the index was made.
        learned_from: documents of the field profile; 0 where there is none.
        size: bytes of all files of the index.
        unused: bytes that compaction would free, about.
        earlier_readers: documents that another version of colde read; `--reread` reads them again.
    """

    place: str
    roots: tuple[Root, ...]
    documents: int
    words: int
    chunks: int
    bad: tuple[Skipped, ...]
    model: str | None
    precision: str | None
    learned_from: int
    size: int
    unused: int
    earlier_readers: int
    ocr: str
    staleness: Staleness

    @property
    def bytes_per_document(self) -> int:
        """Size divided by documents; 0 without documents."""
        return round(self.size / self.documents) if self.documents else 0


def index_status(folder: Path) -> IndexStatus:
    """What an index holds, and whether its files have changed.

    Raises:
        BadIndexError: it is no index, damaged, of another version, or out of reach.
    """
    with Index.open(folder) as index, index.reading():
        query = index.connection.execute
        unused = query("PRAGMA freelist_count").fetchone()[0] * query("PRAGMA page_size").fetchone()[0]
        for table, column in (("contents", "number"), ("vectors", "content")):
            records = f"SELECT total(length(record)) FROM {table} WHERE {column} IN ({_UNNAMED})"
            unused += int(query(records).fetchone()[0])
        roots = [Root(shown_path(path), glob) for path, glob in query("SELECT path, glob FROM roots ORDER BY path")]
        (learned_from,) = query("SELECT documents FROM profile").fetchone() or (0,)
        return status_of(index, index, roots, learned_from, _size(folder), unused)


def status_of(
    store: DocumentStore, files: Index, roots: Sequence[Root], learned_from: int, size: int, unused: int
) -> IndexStatus:
    """What an index holds; `files` knows its files, and the rest are attributes of `IndexStatus`."""
    documents = words = chunks = earlier = 0
    model, ocr = store.model, next(iter(files.ocr), "never")
    reading = reading_digest(ocr if available() else "never")
    for row in store.chosen(("words", "chunks", "reading")):
        documents, words, chunks = documents + 1, words + row["words"], chunks + row["chunks"]
        earlier += row["reading"] != reading
    return IndexStatus(
        store.place,
        tuple(roots),
        documents,
        words,
        chunks,
        store.bad_files(),
        None if model is None else model.name,
        None if model is None else model.precision,
        learned_from,
        size,
        unused,
        earlier,
        ocr,
        compare_files(files),
    )


def _size(folder: Path) -> int:
    """Bytes of the files of an index, but for memory that open connections share."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file() and path.suffix != ".sqlite-shm")


def compare_files(index: Index) -> Staleness:
    """Compare an index that temporary tables can be made in with its files."""
    query = index.connection.execute
    try:
        list_files(index)
        check_losses(index)
    except BadIndexError as error:
        return Staleness(trouble=str(error))
    new, changed = query(
        "SELECT count(*) FILTER (WHERE d.number IS NULL), count(*) FILTER (WHERE d.number IS NOT NULL AND NOT"
        " w.known) FROM waiting w LEFT JOIN documents d ON d.path = w.path"
    ).fetchone()
    (gone,) = query("SELECT count(*) FROM documents WHERE path NOT IN (SELECT path FROM found)").fetchone()
    return Staleness(new, changed, gone)


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """What a check of an index found: how many records were read, and sentences on problems."""

    place: str
    records: int
    problems: tuple[str, ...]


def verify_index(folder: Path) -> IndexCheck:
    """Check the file of an index, the checksum of every record, that none is missing, and the side file.

    Raises:
        BadIndexError: it cannot even be opened.
    """
    with Index.open(folder) as index:
        problems: list[str] = []
        try:
            with index.reading(), decoded(folder):
                pages = [row[0] for row in index.connection.execute("PRAGMA integrity_check(20)")]
                problems += [f"SQLite finds: {sentence}." for sentence in pages if sentence != "ok"]
                records, damaged = _check_records(index.connection)
                problems += [*damaged, *_missing(index), *side_file.side_file_problems(index)]
        except BadIndexError as error:
            return IndexCheck(str(folder), 0, (*problems, str(error)))
        return IndexCheck(str(folder), records, tuple(problems))


def _check_records(connection: sqlite3.Connection) -> tuple[int, list[str]]:
    """The number of records, and sentences on those that are damaged."""
    tables = {"contents": ("number", "text"), "vectors": ("content", "vectors"), "profile": ("documents", "profile")}
    count, problems = 0, []
    for table, (column, name) in tables.items():
        for number, checksum, record in connection.execute(f"SELECT {column}, checksum, record FROM {table}"):
            count += 1
            whole = isinstance(record, bytes) and zlib.crc32(record) == checksum
            if not whole or (table != "profile" and unpack(record) is None):
                paths = connection.execute("SELECT path FROM documents WHERE content = ?", (number,))
                shown = ", ".join(shown_path(path) for (path,) in paths) if table != "profile" else ""
                problems.append(f"The {name} of {shown or 'the corpus'} are damaged.")
    return count, problems


def _missing(index: Index) -> Iterator[str]:
    """Sentences on documents without text or vectors."""
    model = index.model
    rows = index.connection.execute(
        "SELECT d.path FROM documents d LEFT JOIN contents c ON c.number = d.content"
        " LEFT JOIN vectors v ON v.content = d.content AND v.model = ?"
        " WHERE d.reason IS NULL AND (c.number IS NULL OR v.content IS NULL)",
        (0 if model is None else model.number,),
    )
    for (path,) in rows:
        yield f"The text or the vectors of {shown_path(path)} are missing."


def compact_index(folder: Path) -> int:
    """Drop what no document needs, and give the space back; return the bytes that were freed.

    A process that is killed meanwhile leaves the index as it was.

    Raises:
        BadIndexError: the index is damaged, of another version, in use, or cannot be written.
    """
    before = _size(folder) if folder.is_dir() else 0
    with writing(folder) as index:
        for statement in (
            "BEGIN IMMEDIATE",
            f"DELETE FROM contents WHERE number IN ({_UNNAMED})",
            "DELETE FROM vectors WHERE content NOT IN (SELECT number FROM contents)",
            "COMMIT",
            "VACUUM",
        ):
            index.connection.execute(statement)
    return max(0, before - _size(folder))
