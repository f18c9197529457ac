"""An index: a corpus that has been read and encoded, kept in a folder `NAME.colde`.

`index.sqlite` holds everything. Files beside it, such as vectors to find candidates with, can be made from it again;
each names the generation that it was made from.

    documents   a row for each file: place, size, time, and the number of its content, or why it cannot be read
    contents    the text of files by the hash of their bytes, with sections and passages
    vectors     what a model makes of a content
    models      the models that there are vectors of
    profile     the field profile of the corpus
    roots       the folders and files that the index follows
    meta        current model, generation

The number of a document stands for one content and is never used again, so that a side file need not look at a
document twice. A file that is only renamed keeps its number.

Every change is whole or undone, and a reader sees the index as it was when its transaction began. On a local disk a
write-ahead log keeps readers and the writer from waiting for each other; elsewhere, where it may not be used, SQLite's
rollback journal does, and a commit waits for readers.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter, Skipped, has_section, in_glob, is_sqlite
from colde_cli.corpus.records import mode_of
from colde_cli.corpus.stores import DocumentStore, IndexedModel, Row, damaged, decoded, shown_path
from colde_cli.errors import BadIndexError
from colde_cli.files import cannot_lock, open_sqlite
from colde_cli.settings import INDEX_FILE

FORMAT = 2
"""Number of the layout: raise it with every change of a table or record."""

_WAIT = 60.0  # seconds that a reader or a commit waits for the other

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE roots (number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, glob TEXT);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL UNIQUE,
    root INTEGER NOT NULL,
    key BLOB,
    content INTEGER,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    checked_ns INTEGER NOT NULL,
    reason TEXT
);
CREATE INDEX documents_content ON documents (content);
CREATE INDEX documents_size ON documents (size);
CREATE INDEX documents_bad ON documents (path) WHERE reason IS NOT NULL;
CREATE TABLE contents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE,
    title TEXT NOT NULL,
    words INTEGER NOT NULL,
    pages INTEGER,
    warnings TEXT NOT NULL,
    headings TEXT NOT NULL,
    reading BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    record BLOB NOT NULL
);
CREATE TABLE models (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    family BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    precision TEXT NOT NULL,
    centre BLOB
);
CREATE TABLE vectors (
    model INTEGER NOT NULL,
    content INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (model, content)
);
CREATE TABLE profile (
    fingerprint TEXT NOT NULL,
    learned_from BLOB NOT NULL,
    documents INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    record BLOB NOT NULL
);
"""

_COLUMNS = {
    **{name: f"d.{name}" for name in ("path", "key", "size", "mtime_ns", "checked_ns", "reason")},
    **{name: f"c.{name}" for name in ("title", "words", "pages", "warnings", "headings", "reading")},
    **{"_rowid": "d.number", "root": "r.path", "chunks": "v.chunks"},
    **{"text": "c.record", "text_checksum": "c.checksum", "vectors": "v.record", "vectors_checksum": "v.checksum"},
}
# CROSS JOIN has SQLite begin with the documents. By itself it would go through all vectors of the model to find a few.
_GOOD = """
FROM documents d CROSS JOIN roots r ON r.number = d.root CROSS JOIN contents c ON c.number = d.content
CROSS JOIN vectors v ON v.model = {model} AND v.content = d.content
WHERE {where}
"""


class Index(DocumentStore):
    """An open index. Use it from one thread at a time.

    All methods raise `BadIndexError` where the index is damaged or out of reach.

    Attributes:
        connection: for `corpus.index_update` and `corpus.index_writer`, which change the index.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self.place, self.connection = folder, str(folder), connection
        self._depth = 0
        self._unlocked = _file_state(folder) if cannot_lock(folder / INDEX_FILE) else None
        connection.create_function("in_glob", 3, in_glob, deterministic=True)
        connection.create_function("has_section", 2, has_section, deterministic=True)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open an index to read it.

        Raises:
            BadIndexError: it is no index, damaged, of another version, or out of reach.
        """
        folder = Path(folder)
        if not is_sqlite(folder):
            if (folder / INDEX_FILE).exists():
                raise BadIndexError(f"{folder} is damaged or no index; delete it and make it again.")
            raise BadIndexError(f"{folder} is no index; make one with: colde index FOLDER -o {folder}")
        with trouble(folder):
            index = cls(folder, connect(folder))
            try:
                index.check_format()
            except BaseException:
                index.close()
                raise
        return index

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def check_format(self) -> None:
        """Check the version.

        Raises:
            BadIndexError: it is another.
        """
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise BadIndexError(f"{self.folder} was made by a later colde; upgrade colde.")
        if not version and not self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise BadIndexError(f"{self.folder} holds nothing yet; make it with: colde index FOLDER -o {self.folder}")
        if version < FORMAT:
            raise BadIndexError(f"{self.folder} was made by an earlier colde; delete it and make it again.")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the index in one state, whatever another process writes meanwhile, which waits before it commits."""
        with trouble(self.folder):
            if not self._depth:
                self.connection.execute("BEGIN")
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self.connection.execute("COMMIT")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Refuse the answer if the file changed meanwhile: a reader who may not write cannot lock it."""
        try:
            with trouble(self.folder):
                yield
        finally:
            if self._unlocked is not None and _file_state(self.folder) != self._unlocked:
                raise BadIndexError(f"{self.folder} was changed while it was read; try again when that has finished.")

    def _all(self, query: str, *values: object) -> list[Any]:
        with self._asking():
            return self.connection.execute(query, values).fetchall()

    def _first(self, query: str, *values: object) -> Any:  # noqa: ANN401 - a row, or None
        with self._asking():
            return self.connection.execute(query, values).fetchone()

    @property
    def generation(self) -> str:
        """Name the state of the index; it changes with every change."""
        return f"{self.meta('lineage')}-{self.meta('generation')}"

    @property
    def lineage(self) -> str:
        """Changes when the index is made again or with another model: document numbers are then given anew."""
        return str(self.meta("lineage"))

    def meta(self, name: str) -> Any:  # noqa: ANN401 - text or number
        """A value of the table `meta`; None if there is none."""
        row = self._first("SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else row[0]

    @property
    def ocr(self) -> tuple[str, ...]:
        """The modes of OCR in which its documents were read, the most frequent first: one, unless a run was killed."""
        used = "SELECT reading FROM contents WHERE number IN (SELECT content FROM documents)"
        rows = self._all(f"{used} GROUP BY reading ORDER BY count(*) DESC, reading")
        return tuple(dict.fromkeys(mode_of(reading) for (reading,) in rows))

    @property
    def model(self) -> IndexedModel | None:
        """The model whose vectors are used; None in an index without documents."""
        columns = "number, family, name, precision, centre"
        row = self._first(f"SELECT {columns} FROM models WHERE number = ?", self.meta("model"))
        if row is None:
            return None
        number, family, name, precision, centre = row
        with decoded(self.folder):
            vector = None if centre is None else np.frombuffer(centre, np.float32)
        return IndexedModel(number, family, name, precision, vector)

    def count(self) -> int:
        """How many documents there are."""
        return int(self._first("SELECT count(content) FROM documents")[0])

    def roots(self) -> tuple[str, ...]:
        """The folders and files that the index follows, as absolute paths."""
        rows = self._all("SELECT path FROM roots ORDER BY number")
        with decoded(self.folder):
            return tuple(os.fsdecode(path) for (path,) in rows)

    def chosen(self, columns: Sequence[str], chosen: Filter = ALL, only: str = "") -> Iterator[Row]:
        """See `DocumentStore`."""
        names = ("_rowid", *columns)
        return (dict(zip(names, row, strict=True)) for row in self._rows(names, chosen, only))

    def numbers(self, chosen: Filter = ALL) -> NDArray[np.int64]:
        """See `DocumentStore`; of a million documents, rows by name would take half a second more."""
        return np.fromiter((number for (number,) in self._rows(("_rowid",), chosen)), np.int64)

    def _rows(self, names: Sequence[str], chosen: Filter, only: str = "") -> Iterator[tuple[Any, ...]]:
        condition, values = chosen.condition()
        good = _GOOD.format(model=self.meta("model") or 0, where=f"{only or 1} AND {condition}")
        with self._asking():
            yield from self.connection.execute(f"SELECT {named(names)} {good} ORDER BY d.number", values)

    def taken(self, numbers: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[Row]:
        """See `DocumentStore`."""
        return self.chosen(columns, ALL, f"d.number IN ({','.join(str(int(number)) for number in numbers)})")

    def _alike(self, names: Collection[bytes], size: int) -> Iterable[tuple[int, bytes]]:
        query = "SELECT number, path FROM documents WHERE path IN (?, ?) OR size = ?"
        return self._all(query, min(names), max(names), size)

    def bad_files(self) -> tuple[Skipped, ...]:
        """The files that cannot be read, with the reason, by path."""
        rows = self._all("SELECT path, reason FROM documents WHERE reason IS NOT NULL ORDER BY path")
        with decoded(self.folder):
            return tuple(Skipped(shown_path(path), json.loads(reason)) for path, reason in rows)

    def _profile(self, fingerprint: str) -> tuple[int, int, bytes] | None:
        query = "SELECT documents, checksum, record FROM profile WHERE fingerprint = ?"
        row: tuple[int, int, bytes] | None = self._first(query, fingerprint)
        if row is None and self._first("SELECT documents FROM profile") is not None:
            warn(
                f"{self.folder} has the statistics of an earlier version; the model's own are used until they are"
                f" learned anew with: colde index {self.folder}",
                stacklevel=3,
            )
        return row


def named(columns: Iterable[str]) -> str:
    """Columns of `stores.Row`, or `reason`, of documents `d`, roots `r`, contents `c` and vectors `v`, in SQL."""
    return ", ".join(f"{_COLUMNS[name]} AS {name}" for name in columns)


def connect(folder: Path, mode: str = "rw") -> sqlite3.Connection:
    """Open the file of an index, in autocommit mode; SQLite undoes what a killed writer left half-done."""
    return open_sqlite(folder / INDEX_FILE, mode, _WAIT, isolation_level=None)


def _file_state(folder: Path) -> tuple[int, int] | None:
    try:
        facts = (folder / INDEX_FILE).stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


@contextmanager
def trouble(folder: Path) -> Iterator[None]:
    """Turn SQLite's errors into a sentence.

    Raises:
        BadIndexError: the index is damaged, in use, out of reach, or cannot be written.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise BadIndexError(_sentence(folder, error)) from error
    except UnicodeDecodeError as error:  # in SQLite's own message on a damaged table
        raise damaged(folder) from error


def _sentence(folder: Path, error: sqlite3.Error) -> str:
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return f"{folder} is in use by another process; try again when it has finished."
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")):
        return f"{folder} is damaged ({error}); delete it and make it again."
    if name.startswith("SQLITE_FULL"):
        return f"The disk of {folder} is full; free some space and run colde index again, which goes on."
    if name.startswith("SQLITE_READONLY"):
        return f"{folder} cannot be written; ask its owner for access."
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")):
        return f"{folder} cannot be read or written ({error}); see that its disk is there and has space, and try again."
    return f"{folder} cannot be used ({error}); check it with: colde index {folder} --verify"
