"""Look after an index: its status, the check of every record, compaction, and files to read again after an upgrade."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colde_cli.corpus import first_stage
from colde_cli.corpus.collecting import CorpusReader, Skipped, call_ahead, skipping
from colde_cli.corpus.index import Index, decoded, shown_path, trouble
from colde_cli.corpus.pipeline import StageClock
from colde_cli.corpus.store import reader_digest, text_record, unpack
from colde_cli.corpus.writing import check_losses, list_files, writing
from colde_cli.documents.document import kept_title
from colde_cli.documents.passages import passages
from colde_cli.documents.sandbox import readers
from colde_cli.errors import BadIndexError
from colde_cli.settings import usable_cores

_EARLIER = "SELECT count(*) FROM documents d JOIN contents c ON c.number = d.content WHERE c.reading <> ?"
_UNNAMED = "SELECT number FROM contents WHERE number NOT IN (SELECT content FROM documents WHERE content IS NOT NULL)"
_BATCH = 1_000  # paths in memory
# One file of each content; another may have changed since, which is found when it is hashed.
_FILES = """
SELECT d.content, min(d.path) FROM documents d JOIN found f ON f.path = d.path
WHERE f.listed AND d.content > ? GROUP BY d.content ORDER BY d.content LIMIT ?
"""
_BAD = "INSERT OR IGNORE INTO outdated SELECT key FROM documents WHERE reason IS NOT NULL AND key IS NOT NULL"
_GOOD = "INSERT OR IGNORE INTO outdated SELECT key FROM documents WHERE content IS NOT NULL"
_WAIT = """
INSERT INTO waiting (path, root, known) SELECT f.path, f.root, 0 FROM found f JOIN documents d ON d.path = f.path
WHERE f.listed AND d.key IN (SELECT key FROM outdated) AND f.path NOT IN (SELECT path FROM waiting) ORDER BY f.path
"""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that an index follows, and which files of the folder it takes."""

    path: str
    glob: str | None


@dataclass(frozen=True, slots=True)
class Staleness:
    """How an index differs from its files, as far as names, sizes and times tell.

    Attributes:
        new: files that the index does not know.
        changed: files with another size or time.
        gone: files of the index that are no longer there.
        trouble: why the files cannot be listed; "" where they can.
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

    folder: Path
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
        roots = query("SELECT path, glob FROM roots ORDER BY path").fetchall()
        model = index.model
        profile = query("SELECT documents FROM profile").fetchone()
        words, chunks = 0, 0
        for document in index.documents():
            words, chunks = words + document.words, chunks + document.chunks
        return IndexStatus(
            folder,
            tuple(Root(shown_path(path), glob) for path, glob in roots),
            len(index.numbers()),
            words,
            chunks,
            index.bad_files(),
            None if model is None else model.name,
            None if model is None else model.precision,
            0 if profile is None else profile[0],
            _size(folder),
            _unused(index),
            query(_EARLIER, (reader_digest(),)).fetchone()[0],
            _staleness(folder),
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def _unused(index: Index) -> int:
    query = index.connection.execute
    (free,) = query("PRAGMA freelist_count").fetchone()
    (page,) = query("PRAGMA page_size").fetchone()
    texts = query(f"SELECT total(length(record)) FROM contents WHERE number IN ({_UNNAMED})").fetchone()[0]
    vectors = query(f"SELECT total(length(record)) FROM vectors WHERE content IN ({_UNNAMED})").fetchone()[0]
    return int(free * page + texts + vectors)


def _staleness(folder: Path) -> Staleness:
    """Compare the index with its files, on a connection of its own: that of a reader can make no tables."""
    with Index.open(folder) as index, trouble(folder):
        index.connection.execute("PRAGMA query_only = OFF")
        try:
            list_files(index)
            check_losses(index)
        except BadIndexError as error:
            return Staleness(trouble=str(error))
        return _counted(index.connection)


def _counted(connection: sqlite3.Connection) -> Staleness:
    new, changed = connection.execute(
        "SELECT count(*) FILTER (WHERE d.number IS NULL), count(*) FILTER (WHERE d.number IS NOT NULL AND NOT w.known)"
        " FROM waiting w LEFT JOIN documents d ON d.path = w.path"
    ).fetchone()
    (gone,) = connection.execute(
        "SELECT count(*) FROM documents WHERE path NOT IN (SELECT path FROM found)"
    ).fetchone()
    return Staleness(new, changed, gone)


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """What a check of an index found.

    Attributes:
        records: that were read.
        problems: sentences; none where all is well.
    """

    folder: Path
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
                problems += _broken_pages(index.connection)
                records, damaged = _check_records(index.connection)
                problems += [*damaged, *_missing(index), *first_stage.side_file_problems(index)]
        except BadIndexError as error:
            return IndexCheck(folder, 0, (*problems, str(error)))
        return IndexCheck(folder, records, tuple(problems))


def _broken_pages(connection: sqlite3.Connection) -> list[str]:
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    return [] if found == ["ok"] else [f"SQLite finds: {sentence}." for sentence in found]


def _check_records(connection: sqlite3.Connection) -> tuple[int, list[str]]:
    """The number of records, and sentences on those that are damaged."""
    tables = {
        "contents": ("number", "text"),
        "vectors": ("content", "vectors"),
        "profile": ("documents", "profile"),
    }
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
        connection = index.connection
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"DELETE FROM contents WHERE number IN ({_UNNAMED})")
        connection.execute("DELETE FROM vectors WHERE content NOT IN (SELECT number FROM contents)")
        connection.execute("COMMIT")
        connection.execute("VACUUM")
    return max(0, before - _size(folder))


def wait_for_outdated(index: Index, clock: StageClock, *, compare: bool) -> None:
    """Add files whose text would be another today to the table `waiting`, and their hashes to `outdated`.

    After an upgrade of colde's readers every file is read again, and its text compared with that of the index: only
    where they differ is it encoded again. Files that could not be read are tried again too.

    Args:
        index: after `list_files`.
        clock: counts the files that were read.
        compare: read files to find out which; without it, every file is one.
    """
    index.connection.execute(_BAD)
    if compare:
        _compare(index, clock)
    else:
        index.connection.execute(_GOOD)
    index.connection.execute(_WAIT)


def _compare(index: Index, clock: StageClock) -> None:
    query, last = index.connection.execute, 0
    (count,) = query("SELECT count(DISTINCT content) FROM documents").fetchone()
    clock.expect(count)
    with readers(usable_cores()) as pool:
        while rows := query(_FILES, (last, _BATCH)).fetchall():
            last = rows[-1][0]
            files = [Path(os.fsdecode(path)) for _, path in rows]
            records = call_ahead(pool, skipping(_record), files)
            for (content, _), record in zip(rows, records, strict=True):
                kept = "SELECT record = ? FROM contents WHERE number = ?"
                if not isinstance(record, Skipped) and query(kept, (record, content)).fetchone()[0]:
                    query("UPDATE contents SET reading = ? WHERE number = ?", (reader_digest(), content))
                else:
                    query(
                        "INSERT OR IGNORE INTO outdated SELECT key FROM contents WHERE number = ?", (content,)
                    )
                clock.finish(1)


def _record(path: Path) -> bytes:
    document = CorpusReader().read(path)
    return text_record(document, kept_title(document), passages(document))
