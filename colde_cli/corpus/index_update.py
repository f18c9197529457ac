"""Bring an index up to date: only files that are new or changed are read, and only unknown text is encoded.

A file counts as unchanged while its size and the time of its last change are those that the index knows. Where that
time is within two seconds of the last look, a later change might not show in it (git calls this racy): such a file is
hashed again. Files are known by the hash of their bytes: one that was renamed or copied is not read again.

Everything is written in transactions of a few seconds. A run that is killed loses the last of them, and the next run
goes on.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colde_cli.corpus import side_file
from colde_cli.corpus.finding import LANCE, Skipped, headings_of, is_lance
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_writer import check_losses, list_files, writing
from colde_cli.corpus.lance_store import LanceIndex
from colde_cli.corpus.lance_writer import WorkingIndex, working
from colde_cli.corpus.pipeline import (
    CorpusReader,
    StageClock,
    StageTimes,
    call_ahead,
    encode_each,
    encode_files,
    skipping,
)
from colde_cli.corpus.records import reading_digest, text_record, vector_record
from colde_cli.corpus.stores import MAX_LEARNED_FROM, field_source, learned_field, shown_path
from colde_cli.documents.document import Document, document_of, kept_title
from colde_cli.documents.passages import passages
from colde_cli.documents.pdf.scans import available, chosen
from colde_cli.documents.sandbox import readers
from colde_cli.documents.stages import stage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.vector_cache import digest, file_digest
from colde_cli.errors import MissingExtraError, MissingFileError, OptionError
from colde_cli.settings import usable_cores

STAGES = ("scan", "hash", "encode", "write", "profile", "candidates")
"""Whose seconds an update gives."""
_WINDOW = 64  # files hashed together
_COMMIT_SECONDS, _COMMIT_BYTES = 3.0, 32_000_000
_BATCH = 16  # documents encoded together
_REREAD = 1_000  # paths in memory
# One file of each content; another may have changed since, which is found when it is hashed.
_ONE_OF_EACH = """
SELECT d.content, min(d.path) FROM documents d JOIN found f ON f.path = d.path
WHERE f.listed AND d.content > ? GROUP BY d.content ORDER BY d.content LIMIT ?
"""
_WAIT = """
INSERT INTO waiting (path, root, known) SELECT f.path, f.root, 0 FROM found f JOIN documents d ON d.path = f.path
WHERE f.listed AND d.key IN (SELECT key FROM outdated) AND f.path NOT IN (SELECT path FROM waiting) ORDER BY f.path
"""


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """What bringing an index up to date did.

    Attributes:
        documents: in the index now, those that cannot be read left out.
        added, changed, renamed, removed: files that were new, had a new content, were known by another name, are gone.
        encoded: contents that were encoded, in files or from the kept text.
        failed: files that were tried now and cannot be read.
        unlisted: folders that cannot be listed; what the index knows of them stays.
        seconds: by stage of the index.
        times: of reading and encoding files.
    """

    place: str
    documents: int
    added: int
    changed: int
    renamed: int
    removed: int
    encoded: int
    failed: tuple[Skipped, ...]
    unlisted: tuple[Skipped, ...]
    seconds: dict[str, float]
    times: StageTimes


@stage("indexing")
def update_index(
    place: str | Path,
    places: Sequence[Path],
    encoder: DocumentEncoder,
    *,
    forget: Sequence[Path] = (),
    glob: str | None = None,
    drop_missing: bool = False,
    reread: bool = False,
    ocr: str | None = None,
    password: str | None = None,
    progress: Callable[[int], None] | None = None,
    clock: StageClock | None = None,
) -> IndexUpdate:
    """Bring an index up to date with its files, and make it where there is none.

    Arguments are those of `colde_cli.index`; `places` are folders and files that it is to follow from now on, beside
    those that it follows already.

    Raises:
        BadIndexError: the index is damaged, of another version, in use, or cannot be written; or a place that it
            follows is gone, empty or lacks most of its files. The index is left as it was.
        MissingFileError: one of the places does not exist.
        OptionError: the folder of the index holds something else, or there is no document.
    """
    for root in places:
        if not root.exists():
            raise MissingFileError(f"There is no file or folder {root}.")
    shared = is_lance(place) or str(place).endswith(LANCE)
    make = bool(places)
    with working(str(place), encoder, make=make) if shared else writing(Path(place), make=make) as index:
        reader = CorpusReader(password, ocr=ocr_of(index, ocr))
        reread = reread or any(mode != reader.ocr for mode in index.ocr)
        run = _Update(index, encoder, reader, progress or (lambda number: None), clock or StageClock())
        return run.run(places, glob, forget, drop_missing=drop_missing, reread=reread)


@dataclass(slots=True)
class LookedAt:
    """A file that is looked at; `key` is the hash of its bytes and suffix, None if it cannot be opened."""

    path: bytes
    root: int
    size: int = 0
    mtime_ns: int = 0
    checked_ns: int = 0
    key: bytes | None = None
    reason: str | None = None

    @property
    def shown(self) -> str:
        """The path as a person writes it."""
        return shown_path(self.path)

    def hashed(self) -> LookedAt:
        """Look at it: size, time and hash, or the reason why that cannot be; none of both where it is gone."""
        path, shown = Path(os.fsdecode(self.path)), Path(self.shown)
        self.checked_ns = time.time_ns()
        try:
            status = path.stat()
            self.size, self.mtime_ns = status.st_size, status.st_mtime_ns
            if path.is_file():
                self.key = digest(path.suffix.lower().encode(errors="replace"), file_digest(path))
            else:
                self.reason = Skipped.unopened(shown).reason
        except FileNotFoundError:
            pass
        except OSError as error:
            self.reason = Skipped.unopened(shown, error).reason
        return self

    @property
    def is_changed(self) -> bool:
        """Whether it has changed since it was hashed."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - of bytes
        except OSError:
            return True
        return (status.st_size, status.st_mtime_ns) != (self.size, self.mtime_ns)


class _Update:
    """One run over the files of an index."""

    def __init__(
        self,
        index: Index,
        encoder: DocumentEncoder,
        reader: CorpusReader,
        progress: Callable[[int], None],
        clock: StageClock,
    ) -> None:
        self._index, self._sql, self._encoder = index, index.connection.execute, encoder
        self._reader, self._progress, self._clock = reader, progress, clock
        self._reading = reading_digest(reader.ocr or "never")
        self._model = 0
        # Files that are being read, by their path, and with them others of the same content.
        self._busy: dict[str, list[LookedAt]] = {}
        self._by_key: dict[bytes, list[LookedAt]] = {}
        self._counts = dict.fromkeys(("added", "changed", "renamed", "removed", "encoded"), 0)
        self._failed: list[Skipped] = []
        self._written, self._committed, self._dirty = 0, time.monotonic(), False

    def run(
        self, places: Sequence[Path], glob: str | None, forget: Sequence[Path], *, drop_missing: bool, reread: bool
    ) -> IndexUpdate:
        self._begin()
        try:
            with self._timed("scan"):
                self._follow(places, glob, forget)
                shared = isinstance(self._index, WorkingIndex)
                named = [os.fsencode(os.path.abspath(place)) for place in (*places, *forget)]  # noqa: PTH100
                # The folders of other machines may not be there.
                unlisted = list_files(self._index, named if shared else ())
                if not drop_missing:
                    check_losses(self._index)
                moved = "f.path = documents.path AND f.root <> documents.root"
                self._sql(f"UPDATE documents SET root = f.root FROM found f WHERE {moved}")
            self._use_model()
            if reread:
                with self._timed("encode"):
                    self._wait_for_outdated()
            elif self._reader.password:  # it may open what could not be opened before
                bad = "documents WHERE reason LIKE '%password%' AND key IS NOT NULL"
                self._sql(f"INSERT OR IGNORE INTO outdated SELECT key FROM {bad}")
                self._sql(_WAIT)
            self._read_files()
            # Contents of files that are gone stay until the index is compacted.
            gone = "DELETE FROM documents WHERE path NOT IN (SELECT path FROM found)"
            self._counts["removed"] = self._sql(gone).rowcount
            self._dirty |= self._counts["removed"] > 0
            if not isinstance(self._index, WorkingIndex):
                with self._timed("profile"):
                    self._learn()
            self._commit()
            with self._timed("candidates"):
                if isinstance(self._index, WorkingIndex):
                    documents = self._index.finish()
                else:
                    side_file.refresh(self._index, self._encoder)
                    documents = self._index.count()
        except BaseException:
            with suppress(sqlite3.Error):  # an error of the disk has ended the transaction
                self._sql("ROLLBACK")
            raise
        return IndexUpdate(
            self._index.place,
            documents,
            **self._counts,
            failed=tuple(sorted(self._failed, key=lambda item: item.path)),
            unlisted=unlisted,
            seconds={name: self._clock.seconds(f"index: {name}") for name in STAGES},
            times=self._clock.times,
        )

    def _timed(self, name: str) -> AbstractContextManager[None]:
        return self._clock.stage(f"index: {name}")

    def _begin(self) -> None:
        self._sql("BEGIN IMMEDIATE")
        self._dirty = False

    def _commit(self) -> None:
        if self._dirty:
            self._sql("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
        self._sql("COMMIT")
        if isinstance(self._index, WorkingIndex):
            self._index.committed()
        self._written, self._committed = 0, time.monotonic()

    def _wrote(self, size: int = 0) -> None:
        """Commit now and then."""
        self._dirty = True
        self._written += size
        if self._written > _COMMIT_BYTES or time.monotonic() - self._committed > _COMMIT_SECONDS:
            self._commit()
            self._begin()

    def _follow(self, places: Sequence[Path], glob: str | None, forget: Sequence[Path]) -> None:
        """Follow places from now on, or no longer; the documents of those are dropped with what is gone."""
        for place in forget:
            path = os.fsencode(os.path.abspath(place))  # noqa: PTH100 - keeps links
            if not self._sql("DELETE FROM roots WHERE path = ?", (path,)).rowcount:
                raise OptionError(
                    f"{place} is not a folder of {self._index.place}; colde index INDEX --status lists them."
                )
        for place in places:
            self._sql(
                "INSERT INTO roots (path, glob) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET glob = excluded.glob"
                " WHERE glob IS NOT excluded.glob",
                (os.fsencode(os.path.abspath(place)), glob),  # noqa: PTH100
            )

    def _use_model(self) -> None:
        """Make sure that every content that is used has vectors of the model."""
        current, encoder = self._index.model, self._encoder
        if current is not None and current.family == encoder.family:
            self._model = current.number
            return
        centre = None if encoder.centre is None else encoder.centre.tobytes()
        self._sql(
            "INSERT OR IGNORE INTO models (family, name, precision, centre) VALUES (?, ?, ?, ?)",
            (encoder.family, encoder.info.name, encoder.info.precision, centre),
        )
        (self._model,) = self._sql("SELECT number FROM models WHERE family = ?", (encoder.family,)).fetchone()
        self._encode_anew()
        self._sql("INSERT OR REPLACE INTO meta VALUES ('model', ?)", (self._model,))
        self._sql("UPDATE meta SET value = ? WHERE name = 'lineage'", (secrets.token_hex(6),))
        self._sql("DELETE FROM vectors WHERE model <> ?", (self._model,))
        self._sql("DELETE FROM models WHERE number <> ?", (self._model,))
        self._dirty = True
        self._commit()
        self._begin()

    def _encode_anew(self) -> None:
        """Encode the kept texts that have no vectors of the model, without reading a file."""
        query = (
            "SELECT number, checksum, record FROM contents WHERE number > ? AND number IN"
            " (SELECT content FROM documents) AND number NOT IN (SELECT content FROM vectors WHERE model = ?)"
            " ORDER BY number LIMIT ?"
        )
        (count,) = self._sql(
            "SELECT count(DISTINCT content) FROM documents WHERE content NOT IN"
            " (SELECT content FROM vectors WHERE model = ?)",
            (self._model,),
        ).fetchone()
        self._clock.count(expected=count)
        last = 0
        while rows := self._sql(query, (last, self._model, _BATCH)).fetchall():
            last = rows[-1][0]
            documents = [document_of("", "", self._index.unpacked(record, checksum)[0]) for _, checksum, record in rows]
            with self._timed("encode"):
                encoded = encode_each(documents, self._encoder)
            for (number, _, _), item in zip(rows, encoded, strict=True):
                if isinstance(item, Skipped):
                    self._sql(
                        "UPDATE documents SET content = NULL, reason = ? WHERE content = ?",
                        (json.dumps(item.reason), number),
                    )
                else:
                    self._put_vectors(number, item)
            self._clock.count(finished=len(rows))
            self._progress(len(rows))
            self._wrote()

    def _put_vectors(self, content: int, encoding: Encoding) -> None:
        with self._timed("write"):
            record = vector_record(encoding, self._encoder.centre)
            row = (self._model, content, len(encoding.chunks), zlib.crc32(record), record)
            self._sql("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", row)
            self._counts["encoded"] += 1
        self._wrote(len(record))

    def _wait_for_outdated(self) -> None:
        """Add files whose text would be another today to the table `waiting`, and their hashes to `outdated`.

        After an upgrade of colde's readers every file is read again, and its text compared with that of the index: only
        where they differ is it encoded again. So it is where another mode of OCR is asked for. Files that could not be
        read are tried again too.
        """
        outdated = "INSERT OR IGNORE INTO outdated SELECT key FROM"
        self._sql(f"{outdated} documents WHERE reason IS NOT NULL AND key IS NOT NULL")
        self._clock.count(expected=self._sql("SELECT count(DISTINCT content) FROM documents").fetchone()[0])
        last = 0
        with readers(usable_cores()) as pool:
            while rows := self._sql(_ONE_OF_EACH, (last, _REREAD)).fetchall():
                last = rows[-1][0]
                records = call_ahead(pool, skipping(self._record), [Path(os.fsdecode(path)) for _, path in rows])
                for (content, _), record in zip(rows, records, strict=True):
                    # A data set keeps the record elsewhere.
                    same = "SELECT record = ?1 OR (record = x'' AND checksum = ?2) FROM contents WHERE number = ?3"
                    checksum = None if isinstance(record, Skipped) else zlib.crc32(record)
                    if checksum is not None and self._sql(same, (record, checksum, content)).fetchone()[0]:
                        self._sql("UPDATE contents SET reading = ? WHERE number = ?", (self._reading, content))
                    else:
                        self._sql(f"{outdated} contents WHERE number = ?", (content,))
                    self._clock.count(finished=1)
        self._sql(_WAIT)

    def _read_files(self) -> None:
        """Look at all files that may have changed; read and encode those with an unknown content."""
        self._clock.count(expected=self._sql("SELECT count(*) FROM waiting").fetchone()[0])
        with ExitStack() as stack:
            paths = stack.enter_context(closing(self._unknown()))
            items = stack.enter_context(closing(encode_files(paths, self._encoder, self._reader, self._clock)))
            while True:
                with self._timed("encode"):
                    item = next(items, None)
                if item is None:
                    break
                self._finish(item)

    def _finish(self, item: Encoding | Skipped) -> None:
        """Write what came of a file, for it and all others of its content."""
        path = item.path if isinstance(item, Skipped) else item.document.path
        files = self._busy.pop(path)
        key = files[0].key
        assert key is not None, "a file that is read was hashed"
        del self._by_key[key]
        if files[0].is_changed:
            reason = f"{files[0].shown} changed while it was read; the next run reads it again."
            self._failed += [Skipped(file.shown, reason) for file in files]
        elif isinstance(item, Skipped):
            for file in files:
                self._put_bad(file, item.reason.replace(path, file.shown))
        else:
            content = self._put_content(key, item)
            for file in files:
                self._put(file, content)
        self._progress(len(files))

    def _put_content(self, key: bytes, encoding: Encoding) -> int:
        with self._timed("write"):
            row = {"key": key, **content_row(encoding.document, self._reading)}
            columns, values = ", ".join(row), ", ".join("?" * len(row))
            anew = ", ".join(f"{name} = excluded.{name}" for name in row if name != "key")
            self._sql(
                f"INSERT INTO contents ({columns}) VALUES ({values}) ON CONFLICT (key) DO UPDATE SET {anew}",
                tuple(row.values()),
            )
            number: int = self._sql("SELECT number FROM contents WHERE key = ?", (key,)).fetchone()[0]
        # A number stands for one text: the documents of a content that was read again get new ones.
        columns = "path, root, key, content, size, mtime_ns, checked_ns, reason"
        again = f"INSERT OR REPLACE INTO documents ({columns}) SELECT {columns} FROM documents WHERE content = ?"
        self._sql(again, (number,))
        self._sql("DELETE FROM outdated WHERE key = ?", (key,))
        self._written += len(row["record"])
        self._put_vectors(number, encoding)
        return number

    def _unknown(self) -> Generator[Path, None, None]:
        """Yield the files to read; those of a known content are dealt with on the way."""
        query = "SELECT place, path, root FROM waiting WHERE place > ? ORDER BY place LIMIT ?"
        last = 0
        with ThreadPoolExecutor(usable_cores(), "colde-hash") as pool:
            while rows := self._sql(query, (last, _WINDOW)).fetchall():
                last = rows[-1][0]
                with self._timed("hash"):
                    files = list(pool.map(LookedAt.hashed, (LookedAt(path, root) for _, path, root in rows)))
                for file in files:
                    if self._is_unknown(file):
                        yield Path(os.fsdecode(file.path))
                    else:
                        self._clock.count(expected=-1)

    def _is_unknown(self, file: LookedAt) -> bool:
        """Whether a file has to be read; if not, it is dealt with."""
        if file.reason is not None:
            self._put_bad(file, file.reason)
        elif file.key is None:  # gone since the scan
            self._sql("DELETE FROM found WHERE path = ?", (file.path,))
        elif not self._is_known(file, file.key):
            files = self._by_key.setdefault(file.key, [])
            files.append(file)
            if len(files) == 1:
                self._busy[os.fsdecode(file.path)] = files
            return len(files) == 1
        self._progress(1)
        return False

    def _is_known(self, file: LookedAt, key: bytes) -> bool:
        """Whether the content is known, or known to be bad in this very file."""
        if self._sql("SELECT 1 FROM outdated WHERE key = ?", (key,)).fetchone():
            return False
        row = self._sql("SELECT number FROM documents WHERE path = ? AND key = ?", (file.path, key)).fetchone()
        if row is not None:
            self._sql(
                "UPDATE documents SET size = ?, mtime_ns = ?, checked_ns = ? WHERE number = ?",
                (file.size, file.mtime_ns, file.checked_ns, row[0]),
            )
            return True
        query = "SELECT c.number FROM contents c JOIN vectors v ON v.model = ? AND v.content = c.number WHERE c.key = ?"
        row = self._sql(query, (self._model, key)).fetchone()
        if row is not None:
            self._put(file, row[0])
        return row is not None

    def _put_bad(self, file: LookedAt, reason: str) -> None:
        self._put(file, None, reason)
        self._failed.append(Skipped(file.shown, reason))

    def _put(self, file: LookedAt, content: int | None, reason: str | None = None) -> None:
        """Write the row of a file that is new or has another content."""
        seen = (file.size, file.mtime_ns, file.checked_ns)
        gone_files = "path NOT IN (SELECT path FROM found)"
        query = f"SELECT number FROM documents WHERE content = ? AND {gone_files} ORDER BY path"
        gone = None if content is None else self._sql(query, (content,)).fetchone()
        replaced = self._sql("DELETE FROM documents WHERE path = ?", (file.path,)).rowcount
        if gone is not None:  # the file of another name whose content this is
            self._sql(
                "UPDATE documents SET path = ?, root = ?, size = ?, mtime_ns = ?, checked_ns = ? WHERE number = ?",
                (file.path, file.root, *seen, gone[0]),
            )
            self._counts["renamed"] += 1
        else:
            self._sql(
                "INSERT INTO documents (path, root, key, content, size, mtime_ns, checked_ns, reason)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (file.path, file.root, file.key, content, *seen, reason and json.dumps(reason)),
            )
            if reason is None:
                self._counts["changed" if replaced else "added"] += 1
        self._wrote()

    def _learn(self) -> None:
        """Learn the field profile, if the documents that it is learned from are others than before."""
        rows = self._sql(
            "SELECT c.key, min(d.number) FROM documents d JOIN contents c ON c.number = d.content"
            " GROUP BY c.key ORDER BY c.key LIMIT ?",
            (MAX_LEARNED_FROM,),
        ).fetchall()
        source = field_source([key for key, _ in rows], self._encoder)
        known = self._sql("SELECT learned_from FROM profile").fetchone()
        if source == (known and known[0]):
            return
        self._dirty = True
        self._sql("DELETE FROM profile")
        if source is not None:
            cards = self._index.cards([number for _, number in rows])
            values = learned_field((cards[number] for _, number in rows), source, self._encoder)
            self._sql("INSERT INTO profile VALUES (?, ?, ?, ?, ?)", values)

    def _record(self, path: Path) -> bytes:
        document = self._reader.read(path)
        return text_record(document, kept_title(document), passages(document))


def ocr_of(index: Index | LanceIndex, asked: str | None) -> str:
    """The mode in which to read the files of an index: what is asked for, else that in which it was read.

    Raises:
        MissingExtraError: its documents were read by OCR, and the extra is not here: their text would be lost.
    """
    before = next(iter(index.ocr), None)
    mode = chosen(asked or before)
    if available() or mode == "never":
        return mode
    if before not in (None, "never"):
        raise MissingExtraError(
            f"{index.place} was read by OCR, for which packages are missing: pip install 'colde[ocr]'; --ocr never"
            " reads it anew without."
        )
    return "never"


def content_row(document: Document, reading: bytes) -> dict[str, Any]:
    """What an index keeps of a document's text, as columns of the table `contents`."""
    title, report = kept_title(document), document.report
    record = text_record(document, title, passages(document))
    return {
        "title": json.dumps(title),
        "words": len(document.text.split()),
        "pages": report.pages,
        "warnings": json.dumps(report.warnings),
        "headings": headings_of(document),
        "reading": reading,
        "checksum": zlib.crc32(record),
        "record": record,
    }
