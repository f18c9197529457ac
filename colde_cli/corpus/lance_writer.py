"""Write an index in a data set of Lance: bring it up to date, send an index to it, look after it.

An update works on a file of SQLite in a temporary folder, which knows what the data set knows except the records. So
the rules of `index_update` and `index_writer` hold for both. What is committed there is sent to the data set twice a
minute: each version holds all of its changes or does not come to be. A run that is killed loses what was not yet sent.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from colde_cli.corpus.finding import in_glob, is_lance
from colde_cli.corpus.first_stage import NO_TERMS, Measure
from colde_cli.corpus.index_reader import Index, connect, named
from colde_cli.corpus.index_writer import writing
from colde_cli.corpus.lance_store import (
    DOCUMENT,
    LanceIndex,
    about,
    bytes_literal,
    lance_module,
    lance_trouble,
    open_dataset,
    row_id,
    schema_of,
    storage_options,
    term_text,
)
from colde_cli.corpus.records import Card, unpack
from colde_cli.corpus.stores import EXACT, MAX_LEARNED_FROM, Row, field_source, learned_field, shown_path
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.errors import BadIndexError, ColdeError, OptionError

_SENT_BYTES, _SENT_SECONDS = 64_000_000, 30.0
_SENT_ROWS = 1_000  # documents in one version at most
_RETRIES = 30  # of a commit, after those of other writers
_INDEXED = 50_000  # vectors from which on an index of them pays: fewer are compared one by one in 20 ms
_PARTITION = 4_000  # vectors in one of its partitions
_FRAGMENTS = 64  # more small ones are joined

_KNOWN = (
    "kind source path root key reading size mtime_ns checked_ns text_checksum vectors_checksum words chunks pages"
    " reason title warnings headings"
).split()
_TAKE = (
    "INSERT OR IGNORE INTO contents (key, title, words, pages, warnings, headings, reading, checksum, record)"
    " SELECT :key, :title, :words, :pages, :warnings, :headings, :reading, :text_checksum, x''"
    " WHERE :kind = 'document'",
    "INSERT OR IGNORE INTO vectors SELECT 1, number, :chunks, :vectors_checksum, x'' FROM contents"
    " WHERE key = :key AND :kind = 'document'",
    "INSERT INTO documents (path, root, key, content, size, mtime_ns, checked_ns, reason)"
    " SELECT :path, coalesce((SELECT number FROM roots WHERE path = :root), 0), :key,"
    " (SELECT number FROM contents WHERE key = :key AND :kind = 'document'), :size, :mtime_ns, :checked_ns, :reason"
    " WHERE :source = ''",
)
"""What takes over a row of a data set, but for its records; files of an index that was sent are its own."""
_DIRTY = "CREATE TEMP TABLE dirty (kind TEXT, path BLOB, PRIMARY KEY (kind, path)) WITHOUT ROWID"
_TRIGGERS = {
    "INSERT ON documents": "VALUES ('document', new.path)",
    "DELETE ON documents": "VALUES ('document', old.path)",
    "UPDATE ON documents": "VALUES ('document', old.path), ('document', new.path)",
    "UPDATE OF reading ON contents": "SELECT 'document', path FROM documents WHERE content = new.number",
    "INSERT ON roots": "VALUES ('root', new.path)",
    "UPDATE ON roots": "VALUES ('root', new.path)",
    "DELETE ON roots": "VALUES ('root', old.path)",
}
"""What is noted in the table `dirty`, and after which change."""
_FILES = "source = '' AND kind IN ('document', 'unread')"
_NAMES = (*_KNOWN[2:], "text", "vectors")
_ROW = f"""
SELECT {named(_NAMES)}
FROM documents d LEFT JOIN roots r ON r.number = d.root LEFT JOIN contents c ON c.number = d.content
LEFT JOIN vectors v ON v.content = d.content AND v.model = (SELECT value FROM meta WHERE name = 'model') WHERE
"""


def _only_begun(folder: Path) -> bool:
    """Whether a folder holds nothing, or what a writer makes before the first version."""
    return {entry.name for entry in folder.iterdir()} <= {"data", "_transactions", "_versions"}


class Target:
    """A data set that rows are written to.

    `encoder` is the model of its vectors; `source` stands in the rows of an index that was sent.
    """

    def __init__(self, place: str, encoder: DocumentEncoder, source: str = "") -> None:
        self.place, self._encoder, self._measure, self.source = place, encoder, Measure.of(encoder), source

    def open(self) -> LanceIndex | None:
        """The data set as it is now; None where there is none yet.

        Raises:
            BadIndexError: it is of another model, or damaged.
            RemoteError: its bucket cannot be used.
            OptionError: the place holds something else.
        """
        if not is_lance(self.place) and Path(self.place).exists() and not _only_begun(Path(self.place)):
            raise OptionError(f"{self.place} is no index and is not overwritten; choose another name.")
        try:
            opened = LanceIndex.open(self.place)
        except BadIndexError as error:
            if str(error).startswith("There is no index at"):
                return None
            raise
        opened.check_model(self._encoder)
        return opened

    def row(self, kept: Row) -> Row:
        """A row of the data set, from one of `_ROW` with the records of the document."""
        row = {"source": self.source, **kept}
        row["kind"] = kept.get("kind") or ("document" if kept["reason"] is None else "unread")
        row["id"] = row_id(self.source, kept["path"])
        if kept["vectors"] is not None and row.get("vector") is None:
            centre = self._encoder.centre
            card = Card.of_arrays("", "-", (), (unpack(kept["vectors"]) or ({}, {}))[1], centre)
            row |= {"vector": self._measure.vectors([card])[0], "terms": term_text(card.terms or NO_TERMS)}
        return row

    def merge(self, rows: Sequence[Row]) -> None:
        """Write rows, also some of `_ROW`, as one version, in place of those of one identity looked at before.

        Raises:
            BadIndexError, RemoteError: the data set cannot be written.
        """
        import pyarrow as pa

        if not rows:
            return
        rows = [row if "id" in row else self.row(row) for row in rows]
        with lance_trouble(self.place):
            opened = self.open() or self._made(rows)
            (
                opened.dataset.merge_insert("id")
                .when_matched_update_all("source.checked_ns >= target.checked_ns")
                .when_not_matched_insert_all()
                .conflict_retries(_RETRIES)
                .execute(pa.Table.from_pylist(rows, opened.dataset.schema))
            )

    def _made(self, rows: Sequence[Row]) -> LanceIndex:
        """The data set, made empty for rows like these; another writer may make it at the same time."""
        centre = self._encoder.centre
        sizes = [len(row["vector"]) for row in rows if row.get("vector") is not None]
        if centre is not None:
            sizes.append(len(centre))
        if not sizes:
            raise OptionError(f"There is no document that can be read, so {self.place} is not made.")
        schema = schema_of(sizes[0], about(self._encoder, secrets.token_hex(6)))
        lance = lance_module()
        empty = lance.LanceOperation.Overwrite(schema, [])
        # Not `write_dataset`: of two that make it at once, it lets the second write over what the first has sent.
        only_first = {
            "max_retries": 0,
            "enable_v2_manifest_paths": True,
            "storage_options": storage_options(self.place),
        }
        with suppress(OSError):  # somebody else was first: opening it says what is wrong
            lance.LanceDataset.commit(self.place, empty, **only_first)
        return LanceIndex.open(self.place)

    def follow(self, roots: dict[bytes, str | None]) -> dict[bytes, str | None]:
        """Follow folders and files from now on, each with its pattern; return them, or without any all followed."""
        now = {"kind": "root", "source": self.source, "checked_ns": time.time_ns()}
        self.merge(
            [{"id": row_id(self.source, p, "root"), "path": p, "title": glob, **now} for p, glob in roots.items()]
        )
        opened = self.open()
        if roots or opened is None:
            return roots
        return {row["path"]: row["title"] for row in opened.rows(("path", "title"), "kind = 'root' AND source = ''")}

    def append(self, fragments: Sequence[str], old: Sequence[str]) -> None:
        """Make a version of fragments that were written, as JSON; rows with the ids `old` that were there before go.

        Raises:
            BadIndexError, RemoteError: the data set cannot be written.
        """
        lance = lance_module()
        with lance_trouble(self.place):
            for attempt in range(_RETRIES):
                dataset = open_dataset(self.place)
                condition, updated, removed = f"id IN ({', '.join(map(repr, old))})", [], []
                for fragment in dataset.get_fragments() if old else ():
                    if fragment.count_rows(condition):
                        left = fragment.delete(condition)
                        if left is None:
                            removed.append(fragment.fragment_id)
                        else:
                            updated.append(left)
                new = [lance.fragment.FragmentMetadata.from_json(text) for text in fragments]
                change = lance.LanceOperation.Update(removed, updated, new)
                if not (removed or updated or new):
                    return
                try:
                    options = storage_options(self.place)
                    lance.LanceDataset.commit(self.place, change, read_version=dataset.version, storage_options=options)
                    return
                except OSError as error:  # another writer was first, and changed the same fragments
                    if "onflict" not in str(error) or attempt == _RETRIES - 1:
                        raise

    def drop_gone(self, roots: dict[bytes, str | None], drop_missing: bool) -> int:
        """Drop files below some folders that are gone, or fit the pattern no longer; return how many.

        Raises:
            BadIndexError: a folder lacks all of its files or most of them, and `drop_missing` is not set.
        """
        opened, gone = self.open(), list[str]()
        counts = {root: [0, 0] for root in roots}  # known, missing
        for row in opened.rows(("id", "path", "root"), _FILES) if opened is not None else ():
            if row["root"] in counts:
                missing, glob = _is_missing(row["path"]), roots[row["root"]]
                counts[row["root"]][0] += 1
                counts[row["root"]][1] += missing
                if missing or (glob is not None and not in_glob(row["path"], row["root"], glob)):
                    gone.append(row["id"])
        for root, (known, lost) in counts.items():
            if lost and (lost == known or (known >= 20 and lost > known / 2)) and not drop_missing:
                raise BadIndexError(
                    f"{shown_path(root)} lacks {lost} of the {known} files that {self.place} knows from there; see"
                    f" that its disk is connected, or drop them with: colde index {self.place} --drop-missing"
                )
        self.append([], gone)
        return len(gone)

    def drop_twice(self) -> None:
        """Of rows with one identity, which two writers of fragments may bring at the same time, keep the newest."""
        dataset = open_dataset(self.place)
        with lance_trouble(self.place):
            rows = dataset.to_table(["id", "checked_ns"]).group_by("id")
            for row in rows.aggregate([("id", "count"), ("checked_ns", "max")]).to_pylist():
                if row["id_count"] > 1:
                    dataset.delete(f"id = '{row['id']}' AND checked_ns < {row['checked_ns_max']}")

    def _learn(self, opened: LanceIndex) -> None:
        """Learn the field profile, if the documents that it is learned from are others than before."""
        numbers: dict[bytes, int] = {}
        for row in opened.rows(("key",)):
            numbers.setdefault(row["key"], row["_rowid"])
        keys = sorted(numbers)[:MAX_LEARNED_FROM]
        source, known = field_source(keys, self._encoder), opened.profile_row()
        if source is not None and (known is None or known["key"] != source):
            cards = opened.cards([numbers[key] for key in keys])
            learned = learned_field(cards.values(), source, self._encoder)
            field = dict(zip(("title", "key", "words", "text_checksum", "text"), learned, strict=True))
            about_it = {"id": row_id("", b"", "field"), "kind": "field", "source": "", "checked_ns": time.time_ns()}
            self.merge([about_it | field])

    def finish(self) -> int:
        """Learn the field, drop rows of files that are gone, and bring the indexes for the first stage up to date.

        Another writer may do the same meanwhile: what it has done need not be done again.

        Returns:
            How many documents there are.
        """
        opened = self.open()
        if opened is None:
            return 0
        self._learn(opened)
        opened = LanceIndex.open(self.place)
        dataset = opened.dataset
        with suppress(OSError, RuntimeError):
            if dataset.count_rows("kind = 'gone'"):
                dataset.delete("kind = 'gone'")
        if len(dataset.get_fragments()) > _FRAGMENTS:
            with suppress(OSError, RuntimeError):
                dataset.optimize.compact_files()
        count = opened.count()
        present = {name for index in dataset.describe_indices() for name in index.field_names}
        with suppress(OSError, RuntimeError):
            for column, (kind, options) in _SEARCHED.items() if count > EXACT else ():
                if column not in present:
                    dataset.create_scalar_index(column, kind, **options)
            if count > _INDEXED and "vector" not in present:
                partitions = max(1, count // _PARTITION)
                dataset.create_index("vector", "IVF_SQ", metric="dot", num_partitions=partitions)
            dataset.optimize.optimize_indices()
        return count


_PLAIN = ("with_position", "stem", "remove_stop_words", "ascii_folding", "lower_case")
_SEARCHED: dict[str, tuple[str, dict[str, Any]]] = {
    "kind": ("BITMAP", {}),
    "path": ("BTREE", {}),
    "size": ("BTREE", {}),
    "terms": ("INVERTED", {"base_tokenizer": "whitespace", **dict.fromkeys(_PLAIN, False)}),
}
"""The columns in which a query looks for rows, with the kind of index of each and its options.

Without an index, Lance reads the column of every row."""


class WorkingIndex(Index):
    """What a data set knows, in a temporary file of SQLite; what changes there is sent to the data set."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, target: Target) -> None:
        super().__init__(folder, connection)
        self.place, self._target = target.place, target
        self._sent, self._known = time.monotonic(), target.open()
        self._fill()

    def _fill(self) -> None:
        """Take over what the data set knows."""
        run = self.connection.execute
        run("BEGIN")
        if self._known is not None:
            model = self._known.model
            values = (model.family, model.name, model.precision, None if model.centre is None else model.centre)
            run("INSERT INTO models (number, family, name, precision, centre) VALUES (1, ?, ?, ?, ?)", values)
            run("INSERT INTO meta VALUES ('model', 1)")
            for row in self._known.rows(("path", "title"), "kind = 'root' AND source = ''"):
                run("INSERT INTO roots (path, glob) VALUES (?, ?)", (row["path"], row["title"]))
            for row in self._known.rows(_KNOWN, f"{DOCUMENT} OR (kind = 'unread' AND source = '')"):
                for statement in _TAKE:
                    run(statement, row)
        run("COMMIT")
        run(_DIRTY)
        for number, (change, noted) in enumerate(_TRIGGERS.items()):
            run(f"CREATE TEMP TRIGGER t{number} AFTER {change} BEGIN INSERT OR IGNORE INTO dirty {noted}; END")

    def committed(self) -> None:
        """Send what was committed, now and then."""
        (changes,) = self.connection.execute("SELECT count(*) FROM dirty").fetchone()
        if changes >= _SENT_ROWS or time.monotonic() - self._sent > _SENT_SECONDS:
            self.send()

    def send(self) -> None:
        """Send all that was committed."""
        run = self.connection.execute
        for waiting, rows in _blocks(self, self._target, run("SELECT kind, path FROM dirty").fetchall()):
            self._bring_records(rows)
            self._target.merge(rows)
            # The data set has them now.
            for table, column in (("contents", "number"), ("vectors", "content")):
                sent = "(SELECT content FROM documents WHERE path = ?) AND record <> x''"
                values = [(path,) for kind, path in waiting if kind == "document"]
                self.connection.executemany(f"UPDATE {table} SET record = x'' WHERE {column} IN {sent}", values)
            self.connection.executemany("DELETE FROM dirty WHERE kind = ? AND path = ?", waiting)
        self._sent = time.monotonic()

    def _bring_records(self, rows: Sequence[Row]) -> None:
        """Bring records that only the data set has: of documents that were renamed, copied or looked at again."""
        lacking = {row["key"] for row in rows if row.get("text") == b"" or row.get("vectors") == b""}
        if not lacking:
            return
        known, columns = self._target.open(), ("key", "text", "vectors", "vector", "terms")
        listed = ", ".join(map(bytes_literal, sorted(lacking)))
        condition = f"{DOCUMENT} AND key IN ({listed})"
        kept = {} if known is None else {row["key"]: row for row in known.rows(columns, condition)}
        for row in rows:
            if row.get("text") == b"" or row.get("vectors") == b"":
                if row["key"] not in kept:
                    raise BadIndexError(f"{self.place} was changed meanwhile; run colde index again, which goes on.")
                row.update({name: kept[row["key"]][name] for name in columns})

    def finish(self) -> int:
        """Send the rest, and bring the data set in order; return how many documents it has."""
        self.send()
        return self._target.finish()


@contextmanager
def working(place: str, encoder: DocumentEncoder, *, make: bool = False) -> Iterator[WorkingIndex]:
    """A working copy of a data set; what was committed there is sent even if the work ends with an error.

    Raises:
        BadIndexError: there is no such data set and none is to be made, or it is of another model.
        RemoteError: its bucket cannot be used.
    """
    target = Target(place, encoder)
    if not make:
        LanceIndex.open(place)  # raises the reason
    with TemporaryDirectory(prefix="colde-", ignore_cleanup_errors=True) as folder:
        temporary = Path(folder, "working.colde")
        with writing(temporary, make=True):
            pass
        with WorkingIndex(temporary, connect(temporary), target) as index:
            try:
                yield index
            except BaseException:
                with suppress(ColdeError):
                    index.send()
                raise


def send_index(
    folder: Path, place: str, encoder: DocumentEncoder, progress: Callable[[int], None] | None = None
) -> tuple[int, int]:
    """Send an index of SQLite to a data set: documents that are new, changed or gone since it was last sent.

    Returns:
        How many rows were written, and how many documents the data set has now.

    Raises:
        BadIndexError: one of the two is damaged, of another model, or out of reach.
        RemoteError: the bucket cannot be used.
    """
    origin = _origin(folder)
    with Index.open(folder) as index, index.reading():
        index.check_model(encoder)
        target = Target(place, encoder, origin)
        known, own = target.open(), f"source = '{target.source}'"
        before: dict[bytes, tuple[Any, ...]] = {}
        if known is not None:
            names = ("path", "key", "size", "mtime_ns", "reason", "reading")
            for row in known.rows(names, f"{own} AND kind IN ('document', 'unread')"):
                before[row["path"]] = tuple(row[name] for name in names[1:])
        cursor = index.connection.execute(
            "SELECT d.path, d.key, d.size, d.mtime_ns, d.reason, c.reading FROM documents d"
            " LEFT JOIN contents c ON c.number = d.content"
        )
        changed = [("document", path) for path, *state in cursor if before.pop(path, None) != tuple(state)]
        changed += [("document", path) for path in before]
        roots = [("root", path) for (path,) in index.connection.execute("SELECT path FROM roots")]
        for sent, rows in _blocks(index, target, changed + roots):
            target.merge(rows)
            if progress is not None:
                progress(len(sent))
        return len(changed), target.finish()


def _origin(folder: Path) -> str:
    """What stands for an index in the rows that were sent from it, however often it is moved."""
    with writing(folder) as index:
        index.connection.execute("INSERT OR IGNORE INTO meta VALUES ('origin', ?)", (secrets.token_hex(6),))
        return str(index.meta("origin"))


def _blocks(
    index: Index, target: Target, changes: Sequence[tuple[str, bytes]]
) -> Iterator[tuple[list[tuple[str, bytes]], list[Row]]]:
    """Documents and roots, by kind and path, with their rows; up to 64 MB together."""
    sent, rows, size = list[tuple[str, bytes]](), list[Row](), 0
    for change in changes:
        row = _row(index, target, *change)
        sent.append(change)
        rows.append(row)
        size += len(row.get("text") or b"") + len(row.get("vectors") or b"")
        if size > _SENT_BYTES or len(rows) >= _SENT_ROWS:
            yield sent, rows
            sent, rows, size = [], [], 0
    if rows:
        yield sent, rows


def _row(index: Index, target: Target, kind: str, path: bytes) -> Row:
    """The row of a document or a root as it is now; of one that is gone, a row that says so."""
    now, source = time.time_ns(), target.source
    gone = {"id": row_id(source, path, kind), "kind": "gone", "source": source, "path": path, "checked_ns": now}
    if kind == "root":
        found = index.connection.execute("SELECT glob FROM roots WHERE path = ?", (path,)).fetchone()
        return gone if found is None else {**gone, "kind": kind, "title": found[0]}
    found = index.connection.execute(f"{_ROW} d.path = ?", (path,)).fetchone()
    # Files of an index that was sent are not looked at here: the last that was sent counts.
    return gone if found is None else dict(zip(_NAMES, found, strict=True)) | ({"checked_ns": now} if source else {})


def _is_missing(path: bytes) -> bool:
    """Whether a file is gone; one that may not be looked at is not."""
    try:
        os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False
