"""Bringing an index up to date: only what is new or changed is read, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from permissions import POSIX, permissions_count

from colde_cli.corpus import index_writer as writing_module
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_update import IndexUpdate, update_index
from colde_cli.corpus.index_writer import index_status, verify_index, writing
from colde_cli.corpus.rank_corpus import encode_query, rank_files, rank_index
from colde_cli.encoder.encoder import Encoder
from colde_cli.errors import BadIndexError
from colde_cli.settings import INDEX_FILE

OPEN_FILES = Path("/proc/self/fd")
TEXTS = {
    "pump.txt": "The pump runs at night. It lifts water from the well into the tower.",
    "well.txt": "A well gives water, and a pump lifts it into the tower by night.",
    "deep/tax.md": "# Tax\n\nThe council levies a tax on houses, payable in March.\n",
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    age(folder)
    return folder


def age(folder: Path, seconds: int = 100) -> None:
    """Make all files older, so that a later change shows in their time."""
    for path in folder.rglob("*"):
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - seconds * 10**9))


@pytest.fixture
def index(corpus: Path, encoder: Encoder) -> Path:
    folder = corpus.parent / "papers.colde"
    update_index(folder, [corpus], encoder)
    return folder


def names(folder: Path) -> dict[str, int]:
    with Index.open(folder) as index:
        return {Path(item.path).name: item.number for item in index.documents()}


Update = Callable[..., tuple[int, int, int, int, int]]


@pytest.fixture
def update(index: Path, encoder: Encoder) -> Update:
    """Bring the index up to date: files added, changed, renamed and removed, and contents encoded."""

    def run(*places: Path, **options: Any) -> tuple[int, int, int, int, int]:
        return counts(update_index(index, places, encoder, **options))

    return run


def counts(update: IndexUpdate) -> tuple[int, int, int, int, int]:
    return update.added, update.changed, update.renamed, update.removed, update.encoded


def test_a_new_index_holds_every_document(index: Path, corpus: Path) -> None:
    with Index.open(index) as opened:
        found = {Path(item.path).name: item for item in opened.documents()}
        assert set(found) == {"pump.txt", "well.txt", "tax.md"}
        assert found["tax.md"].title == "Tax"
        assert found["pump.txt"].title == "pump.txt"
        assert found["pump.txt"].words == len(TEXTS["pump.txt"].split())
        assert found["pump.txt"].chunks == 1
        assert (
            opened.document(found["tax.md"].number).text
            == "Tax\n\nThe council levies a tax on houses, payable in March."
        )


def test_only_what_changed_costs_anything(index: Path, corpus: Path, encoder: Encoder) -> None:
    before = names(index)
    (corpus / "pump.txt").write_text("The pump stands still.")
    (corpus / "well.txt").rename(corpus / "deep" / "moved.txt")
    shutil.copy(corpus / "deep" / "tax.md", corpus / "copy.md")
    (corpus / "new.txt").write_text("A new document on trees.")
    update = update_index(index, [], encoder)
    # Added: the copy and the new one; encoded: the new and the changed one.
    assert counts(update) == (2, 1, 1, 0, 2)
    after = names(index)
    assert set(after) == {"pump.txt", "moved.txt", "tax.md", "copy.md", "new.txt"}
    assert after["moved.txt"] == before["well.txt"]
    assert after["tax.md"] == before["tax.md"]
    assert after["pump.txt"] not in before.values()


def test_a_file_that_is_gone_is_dropped_and_costs_nothing_when_it_is_back(
    index: Path, corpus: Path, update: Update
) -> None:
    (corpus / "well.txt").unlink()
    assert update() == (0, 0, 0, 1, 0)
    assert "well.txt" not in names(index)
    (corpus / "well.txt").write_text(TEXTS["well.txt"])
    assert update() == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("seconds", [0, 100])  # copies that keep the time of a file leave an old one
def test_a_change_within_the_same_time_and_size_is_found(corpus: Path, encoder: Encoder, seconds: int) -> None:
    folder, path = corpus.parent / "papers.colde", corpus / "pump.txt"
    path.write_text("The pump runs at night.")
    age(corpus, seconds)
    status = path.stat()
    update_index(folder, [corpus], encoder)
    path.write_text("The pump rests at noon.")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert update_index(folder, [], encoder).changed == 1


@pytest.mark.slow
def test_a_bad_file_is_kept_with_its_reason_and_tried_again_when_it_changes(
    index: Path, corpus: Path, encoder: Encoder
) -> None:
    bad = corpus / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing more")
    update = update_index(index, [], encoder)
    assert [Path(item.path).name for item in update.failed] == ["bad.pdf"]
    with Index.open(index) as opened:
        assert [item.path for item in opened.bad_files()] == [str(bad)]
        assert opened.bad_files()[0].reason == update.failed[0].reason
    assert update_index(index, [], encoder).failed == ()
    bad.write_bytes(b"%PDF-1.7 still nothing")
    assert len(update_index(index, [], encoder).failed) == 1
    shutil.copy(Path(__file__).parent.parent / "examples" / "field-study-v1.pdf", bad)
    assert update_index(index, [], encoder).failed == ()
    assert "bad.pdf" in names(index)


def test_ranking_in_an_index_is_that_of_the_files(index: Path, corpus: Path, encoder: Encoder) -> None:
    query = encode_query(corpus / "pump.txt", encoder)
    files = sorted(path for path in corpus.rglob("*") if path.is_file())
    exact = rank_files(query, files, encoder, explain=True)
    with Index.open(index) as opened:
        ranking = rank_index(query, opened, encoder, explain=True)
    assert [hit.path for hit in ranking.results] == [hit.path for hit in exact.results]
    assert ranking.searched == exact.searched == 2
    for hit, other in zip(ranking.results, exact.results, strict=True):
        assert hit.score == pytest.approx(other.score, abs=2e-3)
        assert [match.hit.text for match in hit.matches] == [match.hit.text for match in other.matches]


def test_an_encoding_survives_the_index(index: Path, corpus: Path, encoder: Encoder) -> None:
    path = corpus / "pump.txt"
    exact = encode_query(path, encoder)
    with Index.open(index) as opened:
        kept = opened.encoding(names(index)["pump.txt"], encoder)
        document, cut = opened.passages(names(index)["pump.txt"])
    assert kept.document == exact.document == document
    assert kept.chunks == exact.chunks
    assert [document.text[item.span.start : item.span.end] for item in cut] == [TEXTS["pump.txt"]]
    for name in ("chunk_vectors", "centred_unit_vectors"):
        a, b = getattr(kept, name), getattr(exact, name)
        assert np.abs(a - b).max() <= np.abs(b).max() / 100, name
    assert kept.terms is not None
    assert exact.terms is not None
    assert (kept.terms.buckets == exact.terms.buckets).all()


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system lists no open files")
def test_an_index_of_another_version_is_closed_again(index: Path) -> None:
    with contextlib.closing(sqlite3.connect(index / INDEX_FILE)) as connection:
        connection.execute("PRAGMA user_version = 1")
    errors = []
    before = len(list(OPEN_FILES.iterdir()))
    for _ in range(5):
        with pytest.raises(BadIndexError, match="made by an earlier colde") as raised:
            Index.open(index)
        errors.append(raised.value)  # whose frames keep what was not closed
    assert len(list(OPEN_FILES.iterdir())) == before


@pytest.mark.slow
def test_there_is_one_writer(index: Path, update: Update) -> None:
    with writing(index), pytest.raises(BadIndexError, match="being written by another process"):
        update()


def test_a_reader_and_a_writer_do_not_wait_for_each_other(
    index: Path, corpus: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux" or not os.major(index.stat().st_dev):
        pytest.skip("this folder is not on a disk of this machine")
    monkeypatch.setattr("colde_cli.corpus.index_reader._WAIT", 0.0)
    with Index.open(index) as opened, opened.reading():
        before = names(index)
        assert opened.count() == len(before)
        (corpus / "late.txt").write_text("What came while somebody read.")
        assert update_index(index, [], encoder).added == 1
        assert opened.count() == len(before)
        with writing(index) as written:
            written.connection.execute("BEGIN IMMEDIATE")
            written.connection.execute("DELETE FROM documents")
            assert len(names(index)) == len(before) + 1
            written.connection.execute("ROLLBACK")


@contextlib.contextmanager
def somebody_else(index: Path) -> Iterator[None]:
    """Be a user who may read an index and not write it."""
    for folder in index.parents:
        if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o055)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can read as somebody else")
@pytest.mark.parametrize("written", [False, True], ids=["alone", "while it is written"])
def test_who_may_not_write_may_read(index: Path, written: bool) -> None:
    before = names(index)
    with writing(index) if written else contextlib.nullcontext(), somebody_else(index):
        assert not os.access(index, os.W_OK, effective_ids=True)
        assert names(index) == before


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can read as somebody else")
def test_who_may_not_write_hears_that_the_index_changed(index: Path, corpus: Path, update: Update) -> None:
    with somebody_else(index):
        opened = Index.open(index)
    with opened:
        assert opened.count()
        (corpus / "late.txt").write_text("The choir sings at noon, in the hall beside the river.\n")
        update()
        with pytest.raises(BadIndexError, match="was changed while it was read"):
            opened.count()


def test_one_emptied_folder_of_two_keeps_the_documents_of_both(index: Path, corpus: Path, update: Update) -> None:
    more = corpus.parent / "corpus0"  # a name that begins with the other's
    more.mkdir()
    (more / "tree.txt").write_text("A tree grows.")
    update(more)
    (more / "tree.txt").unlink()
    (corpus / "pump.txt").unlink()
    with pytest.raises(BadIndexError, match=r"corpus0 holds no file to index, but .* knows 1 "):
        update()
    assert set(names(index)) == {"pump.txt", "well.txt", "tax.md", "tree.txt"}
    assert update(forget=[more]) == (0, 0, 0, 2, 0)


@pytest.fixture
def many(corpus: Path, update: Update) -> Path:
    """A folder of 21 files in the corpus, beside three others."""
    folder = corpus / "many"
    folder.mkdir()
    for number in range(21):
        (folder / f"{number}.txt").write_text(f"Tree {number} grows.")
    update()
    return folder


def test_statistics_of_an_earlier_version_are_told_and_learned_anew(
    index: Path, many: Path, update: Update, encoder: Encoder
) -> None:
    with contextlib.closing(sqlite3.connect(index / INDEX_FILE)) as connection, connection:
        connection.execute("UPDATE profile SET fingerprint = 'earlier', learned_from = x'00'")
    with Index.open(index) as opened, pytest.warns(UserWarning, match="an earlier version; .*colde index"):
        assert opened.field(encoder) is None
    assert update() == (0, 0, 0, 0, 0)
    with Index.open(index) as opened:
        assert opened.field(encoder) is not None


def test_a_folder_that_lost_most_of_many_files_is_taken_for_a_lost_disk(
    index: Path, many: Path, update: Update
) -> None:
    for number in range(13):
        (many / f"{number}.txt").unlink()
    with pytest.raises(BadIndexError, match=r"holds only 11 to index, but .* knows 24 "):
        update()
    (many / "0.txt").write_text("Tree 0 is back.")
    assert update() == (0, 1, 0, 12, 1)


def test_many_files_may_be_renamed_or_left_out_by_a_pattern(
    index: Path, corpus: Path, many: Path, update: Update
) -> None:
    many.rename(corpus / "renamed")
    assert update() == (0, 0, 21, 0, 0)
    assert update(corpus, glob="t*") == (0, 0, 0, 23, 0)
    with pytest.raises(BadIndexError, match=r"no file to index, but .* knows 1 "):
        update(corpus, glob="*.mistyped")


@POSIX
def test_a_folder_that_cannot_be_listed_keeps_its_documents(corpus: Path, update: Update) -> None:
    corpus.chmod(0)
    try:
        with permissions_count(), pytest.raises(BadIndexError, match="cannot be listed"):
            update(drop_missing=True)
    finally:
        corpus.chmod(0o700)
    assert update() == (0, 0, 0, 0, 0)


def as_read_by_other_readers(index: Path) -> None:
    """Swap the texts of two documents, and have a third not read."""
    with sqlite3.connect(index / "index.sqlite") as connection:
        (one, first), (two, second), (three, _) = connection.execute(
            "SELECT c.number, c.record FROM contents c JOIN documents d ON d.content = c.number ORDER BY d.path DESC"
        ).fetchall()
        for number, record in ((one, second), (two, first)):
            values = (zlib.crc32(record), record, number)
            connection.execute("UPDATE contents SET checksum = ?, record = ? WHERE number = ?", values)
        connection.execute("UPDATE contents SET reading = x'00'")
        bad = "UPDATE documents SET content = NULL, reason = '\"not read\"' WHERE content = ?"
        connection.execute(bad, (three,))
        connection.execute("DELETE FROM contents WHERE number = ?", (three,))
        connection.execute("DELETE FROM vectors WHERE content = ?", (three,))
    connection.close()


def test_only_another_text_is_encoded_again(index: Path, corpus: Path, update: Update) -> None:
    fresh = contents_of(index)
    (corpus / "same.txt").write_text("This text is read as before.")
    before = names(index)
    as_read_by_other_readers(index)
    assert contents_of(index) != fresh
    assert update() == (1, 0, 0, 0, 1)
    assert index_status(index).earlier_readers == 2
    assert update(reread=True) == (0, 3, 0, 0, 3)
    (corpus / "same.txt").unlink()
    update()
    assert contents_of(index) == fresh
    assert index_status(index).earlier_readers == 0
    assert not set(names(index).values()) & set(before.values())
    assert verify_index(index).problems == ()


def contents_of(index: Path) -> dict[str, tuple[str, bytes]]:
    """Text and chunk vectors by name of file."""
    with Index.open(index) as opened:
        found = {
            Path(item.path).name: (opened.document(item.number).text, opened.cards([item.number])[item.number])
            for item in opened.documents()
        }
    return {name: (text, card.chunk_vectors.tobytes()) for name, (text, card) in found.items()}


def with_header(record: bytes, **values: object) -> bytes:
    """A record whose header holds other values."""
    (length,) = struct.unpack_from("<I", record)
    header = json.loads(zlib.decompress(record[4 : 4 + length])) | values
    text = zlib.compress(json.dumps(header).encode())
    return (struct.pack("<I", len(text)) + text).ljust(4 + -(-len(text) // 4) * 4, b"\0")


BY_HAND: list[tuple[str, str, object]] = [
    ("roots", "path", 7), ("models", "centre", "text"), ("models", "centre", b"abc"), ("models", "centre", b"abcdefgh"),
    ("models", "number", 99), ("documents", "reason", "["), ("documents", "path", 1.5), ("contents", "title", "{"),
    ("contents", "warnings", "null"), ("contents", "record", "text"), ("contents", "record", {"sections": [{}]}),
    ("contents", "record", {"text": None, "page_starts": None}), ("vectors", "record", None),
    ("vectors", "record", {"arrays": []}), ("vectors", "record", {"arrays": {"chunks": 5}}),
    ("vectors", "record", {"arrays": {"chunks": ["<i4", "x"]}}),
    ("vectors", "record", {"arrays": {"chunks": ["no", 1]}}),
    ("vectors", "record", {"arrays": {"chunks": ["<i4", 10**30]}}),
]  # fmt: skip


@pytest.mark.parametrize("change", BY_HAND, ids=lambda change: f"{change[0]}.{change[1]}={change[2]}"[:40])
def test_an_index_made_by_hand_is_damaged_and_no_more(index: Path, change: tuple[str, str, object]) -> None:
    table, column, value = change
    with contextlib.closing(sqlite3.connect(index / "index.sqlite", isolation_level=None)) as connection:
        if isinstance(value, dict):
            (record,) = connection.execute(f"SELECT record FROM {table}").fetchone()
            value = with_header(record, **value)
        if value is None:
            value = 5
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))
        if isinstance(value, bytes) and column == "record":
            connection.execute(f"UPDATE {table} SET checksum = ?", (zlib.crc32(value),))
    refused = 0
    steps: list[Callable[[Index], object]] = [
        lambda opened: (opened.model, opened.roots(), opened.bad_files(), opened.half_read()),
        lambda opened: list(opened.documents()),
        lambda opened: list(opened.all_cards()),
        lambda opened: opened.passages(1),
    ]
    with Index.open(index) as opened:
        for step in steps:
            try:
                step(opened)
            except BadIndexError:
                refused += 1
    assert refused or verify_index(index).problems


@pytest.mark.slow
def test_an_index_that_another_process_writes_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who makes the folder may be overtaken before it holds the lock: the other's index holds nothing yet."""
    folder, make = tmp_path / "papers.colde", writing_module._make_folder

    def overtaken(place: Path) -> bool:
        made = make(place)
        monkeypatch.undo()
        other.enter_context(writing(place, make=True))
        return made

    monkeypatch.setattr(writing_module, "_make_folder", overtaken)
    with contextlib.ExitStack() as other:
        with pytest.raises(BadIndexError, match="being written by another process"), writing(folder, make=True):
            pass
        assert (folder / INDEX_FILE).exists()


def test_an_index_that_comes_to_nothing_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "papers.colde"
    with pytest.raises(KeyboardInterrupt), writing(folder, make=True):
        raise KeyboardInterrupt
    assert not folder.exists()
