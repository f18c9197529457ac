"""`colde index`, from the command line to what rank finds, with the real model."""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, V1, check_trouble, run, run_json, validate
from permissions import POSIX, permissions_count

from colde_cli.corpus.finding import APPLICATION

Capture = pytest.CaptureFixture[str]

TEXTS = {
    "pump.txt": "The pump runs at night. It lifts water from the well into the tower.",
    "well.txt": "A well gives water, and a pump lifts it into the tower by night.",
    "tax.md": "# Tax\n\nThe council levies a tax on houses, payable in March.\n",
}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus named `corpus` in the working folder, all its files older than the racy seconds."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture
def index(capsys: Capture, corpus: Path) -> Path:
    assert run(capsys, "index", "corpus", "-o", "papers.colde").status == 0
    return corpus.parent / "papers.colde"


def as_json(capsys: Capture, *arguments: str | Path, status: int = 0) -> dict[str, Any]:
    result = run(capsys, "index", *arguments, "--format", "json")
    assert result.status == status, result.err
    value: dict[str, Any] = json.loads(result.out)
    validate(value, "colde.index.1")
    return value


def ranked(capsys: Capture, *arguments: str | Path) -> dict[str, Any]:
    return run_json(capsys, "rank", *arguments)


def test_no_file_is_needed_to_rank_in_an_index(capsys: Capture, corpus: Path, index: Path, tmp_path: Path) -> None:
    shutil.copy(corpus / "pump.txt", tmp_path / "query.txt")
    shutil.rmtree(corpus)
    assert ranked(capsys, "query.txt", "papers.colde")["results"][0]["path"] == "corpus/pump.txt"


def test_a_large_corpus_is_said_to_want_an_index(
    capsys: Capture, corpus: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("rank", "corpus/pump.txt", "corpus")
    assert "colde index" not in run(capsys, *arguments).err
    monkeypatch.setattr("colde_cli.commands.rank.INDEX_PAYS", 3)
    assert "colde index CORPUS -o INDEX" in run(capsys, *arguments).err
    assert run(capsys, *arguments, "-q").err == ""
    assert run(capsys, "rank", "corpus/pump.txt", "papers.colde").err == ""


def test_bad_files_of_an_index_take_one_line(capsys: Capture, corpus: Path, index: Path) -> None:
    for number in range(2):
        (corpus / f"bad{number}.pdf").write_bytes(b"%PDF-1.7 nothing more")
    run(capsys, "index", "papers.colde")
    result = run(capsys, "rank", "corpus/pump.txt", "papers.colde")
    assert result.err == "Warning: 2 files cannot be read; list them with: colde index papers.colde --status\n"
    assert len(ranked(capsys, "corpus/pump.txt", "papers.colde")["skipped"]) == 2


def test_an_index_that_was_killed_before_its_tables_were_made(capsys: Capture, corpus: Path, index: Path) -> None:
    empty = index.parent / "empty.colde"
    empty.mkdir()
    with sqlite3.connect(empty / "index.sqlite") as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.close()
    result = run(capsys, "rank", "corpus/pump.txt", "empty.colde")
    check_trouble(result)
    assert "holds nothing yet" in result.err
    assert "3 documents, 3 added" in run(capsys, "index", "corpus", "-o", "empty.colde").err


@pytest.mark.usefixtures("own_cache")
def test_the_table_says_what_was_done_and_how_long_it_took(capsys: Capture, corpus: Path) -> None:
    first = run(capsys, "index", "corpus", "-o", "papers.colde", "-v")
    assert first.out == ""
    assert "papers.colde: 3 documents, 3 added." in first.err
    assert "encode " in next(line for line in first.err.splitlines() if line.startswith("Encoded 3 documents"))
    assert first.err.splitlines()[-1].startswith("Took ")
    assert run(capsys, "index", "papers.colde").err == "papers.colde: 3 documents, nothing changed.\n"
    assert run(capsys, "index", "papers.colde", "-q").err == ""


def test_an_update_as_json(capsys: Capture, corpus: Path, index: Path) -> None:
    (corpus / "new.txt").write_text("A new document on trees.")
    (corpus / "tax.md").rename(corpus / "duty.md")
    (corpus / "bad.pdf").write_bytes(b"%PDF-1.7 nothing more")
    update = as_json(capsys, "papers.colde")["update"]
    assert (update["documents"], update["added"], update["renamed"], update["encoded"]) == (4, 1, 1, 1)
    assert [item["path"] for item in update["failed"]] == ["corpus/bad.pdf"]
    assert as_json(capsys, "papers.colde")["update"]["failed"] == []


def test_the_status_shows_what_an_update_would_change(capsys: Capture, corpus: Path, index: Path) -> None:
    status = as_json(capsys, "papers.colde", "--status")["status"]
    assert (status["documents"], status["chunks"], status["stale"], status["bad"]) == (3, 3, False, [])
    assert status["model"] == {"name": "colde-minilm-l6", "precision": "int8"}
    assert status["roots"] == [{"path": "corpus", "glob": None}]
    assert status["size"] == sum(path.stat().st_size for path in index.iterdir())
    (corpus / "tax.md").unlink()
    (corpus / "well.txt").write_text("Another text.")
    (corpus / "new.txt").write_text("A new document on trees.")
    (corpus / "bad.pdf").write_bytes(b"%PDF-1.7 nothing more")
    status = as_json(capsys, "papers.colde", "--status")["status"]
    assert (status["new"], status["changed"], status["gone"], status["stale"]) == (2, 1, 1, True)
    run(capsys, "index", "papers.colde")
    shown = run(capsys, "index", "papers.colde", "--status").out
    assert "Files      up to date" in shown
    assert "Cannot be read: 1 file" in shown
    shutil.rmtree(corpus)
    assert "gone or out of reach" in run(capsys, "index", "papers.colde", "--status").out


@pytest.mark.slow
def test_compaction_drops_what_no_document_needs(capsys: Capture, corpus: Path, index: Path) -> None:
    (corpus / "long.txt").write_text(" ".join(f"word{number}" for number in range(4_000)))
    run(capsys, "index", "papers.colde")
    (corpus / "long.txt").unlink()
    run(capsys, "index", "papers.colde")
    assert as_json(capsys, "papers.colde", "--status")["status"]["unused"] > 10_000
    assert as_json(capsys, "papers.colde", "--compact")["compact"]["freed"] > 10_000
    assert as_json(capsys, "papers.colde", "--status")["status"]["unused"] == 0
    assert as_json(capsys, "papers.colde", "--verify")["verify"] == {"records": 6, "problems": []}


def test_folders_are_added_and_forgotten(capsys: Capture, corpus: Path, index: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "tree.txt").write_text("A tree grows.")
    (tmp_path / "more" / "leaf.md").write_text("A leaf falls.")
    assert "4 documents, 1 added" in run(capsys, "index", "more", "-o", "papers.colde", "--glob", "*.txt").err
    assert ranked(capsys, "corpus/pump.txt", "papers.colde", "--glob", "tree*")["searched"] == 1
    assert "3 documents, 1 removed" in run(capsys, "index", "papers.colde", "--forget", "more").err
    check_trouble(run(capsys, "index", "papers.colde", "--forget", "more"))


def test_a_lost_disk_drops_nothing_unasked(capsys: Capture, corpus: Path, index: Path) -> None:
    for path in corpus.iterdir():
        path.unlink()
    result = run(capsys, "index", "papers.colde")
    check_trouble(result)
    assert "corpus holds no file to index, but papers.colde knows 3 from there" in result.err
    assert "no file to index" in run(capsys, "index", "papers.colde", "--status").out
    assert run(capsys, "index", "papers.colde", "--verify").status == 0
    assert "0 documents, 3 removed" in run(capsys, "index", "papers.colde", "--drop-missing").err


def test_documents_of_other_readers_are_read_again_when_asked(capsys: Capture, corpus: Path, index: Path) -> None:
    with sqlite3.connect(index / "index.sqlite") as connection:
        connection.execute("UPDATE contents SET reading = x'00'")
    connection.close()
    shown = run(capsys, "index", "papers.colde", "--status").out
    assert "another version for 3 documents; read again with: colde index papers.colde --reread" in shown
    assert run(capsys, "index", "papers.colde", "--reread").err == "papers.colde: 3 documents, nothing changed.\n"
    assert "another version" not in run(capsys, "index", "papers.colde", "--status").out


def test_a_folder_with_its_own_index_in_it(capsys: Capture, corpus: Path) -> None:
    assert run(capsys, "index", "corpus", "-o", "corpus/own.colde").status == 0
    (corpus / "own.colde" / "notes.txt").write_text("This is no document of the corpus.")
    assert "nothing changed" in run(capsys, "index", "corpus/own.colde").err
    assert ranked(capsys, "corpus/pump.txt", "corpus")["searched"] == 2


@pytest.mark.slow
def test_another_model_encodes_the_kept_text(
    capsys: Capture, corpus: Path, index: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shutil.copytree(model_folder, other)
    config = other / "config.json"
    config.write_text(config.read_text().replace('"chunk_tokens": 256', '"chunk_tokens": 128'))
    (tmp_path / "query.txt").write_text("A pump.")
    refused = run(capsys, "rank", "query.txt", "papers.colde", "--model", other)
    check_trouble(refused)
    assert "colde index papers.colde --model other" in refused.err
    for path in corpus.iterdir():  # None of them can be read again.
        status = path.stat()
        path.write_bytes(b"\0" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with sqlite3.connect(index / "index.sqlite") as connection:  # as if they were written before they were looked at
        connection.execute("UPDATE documents SET checked_ns = ?", (time.time_ns(),))
    connection.close()
    assert run(capsys, "index", "papers.colde", "--model", other).status == 0
    assert ranked(capsys, "query.txt", "papers.colde", "--model", other)["searched"] == 3
    check_trouble(run(capsys, "index", "papers.colde"))  # nothing is encoded anew unasked
    monkeypatch.setenv("COLDE_MODELS", str(tmp_path))
    assert run(capsys, "index", "papers.colde").err == "papers.colde: 3 documents, nothing changed.\n"
    monkeypatch.delenv("COLDE_MODELS")
    check_trouble(run(capsys, "rank", "query.txt", "papers.colde"))
    with sqlite3.connect(index / "index.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (3,)
    connection.close()


def test_what_is_no_index_is_said_in_one_sentence(capsys: Capture, corpus: Path, index: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no index")
    (tmp_path / "fake.colde").mkdir()
    (tmp_path / "fake.colde" / "index.sqlite").write_text("no index")
    for arguments in (
        *(("corpus",), ("nowhere.colde",), ("nowhere", "-o", "new.colde"), ("corpus", "-o", "file")),
        *(("corpus", "-o", "corpus"), ("corpus", "-o", "nowhere/new.colde"), ("corpus", "-o", "fake.colde")),
        *(("papers.colde", "--status", "--verify"), ("papers.colde", "corpus")),
        *(("corpus", "-o", "papers.colde", "--compact"), ("fake.colde", "--verify")),
    ):
        check_trouble(run(capsys, "index", *arguments))
    assert not (tmp_path / "new.colde").exists()
    check_trouble(run(capsys, "rank", "corpus/pump.txt", "papers.colde", "corpus"))
    check_trouble(run(capsys, "rank", "corpus/pump.txt", "papers.colde", "--ignore-like", "corpus/tax.md"))


def test_an_index_of_another_version_names_the_remedy(capsys: Capture, corpus: Path, index: Path) -> None:
    for version, remedy in ((0, "make it again"), (99, "upgrade")):
        with sqlite3.connect(index / "index.sqlite") as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        for arguments in (("index", "papers.colde"), ("rank", "corpus/pump.txt", "papers.colde")):
            result = run(capsys, *arguments)
            check_trouble(result)
            assert remedy in result.err


def test_a_damaged_record_is_found(capsys: Capture, corpus: Path, index: Path) -> None:
    with sqlite3.connect(index / "index.sqlite") as connection:
        connection.execute("UPDATE contents SET record = zeroblob(100) WHERE number = 1")
        connection.execute("DELETE FROM vectors WHERE content = 2")
    connection.close()
    problems = as_json(capsys, "papers.colde", "--verify", status=2)["verify"]["problems"]
    assert [("damaged" in problem, "missing" in problem) for problem in problems] == [(True, False), (False, True)]
    assert run(capsys, "index", "papers.colde", "--verify").out.count("corpus/") == 2


def test_damaged_pages_are_found(capsys: Capture, corpus: Path, index: Path) -> None:
    path = index / "index.sqlite"
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = b"\xaa" * (len(content) - 4096 * 3)
    path.write_bytes(content)
    assert run(capsys, "index", "papers.colde", "--verify").status == 2
    for arguments in (("index", "papers.colde"), ("rank", "corpus/pump.txt", "papers.colde")):
        result = run(capsys, *arguments)
        check_trouble(result)
        assert "is damaged" in result.err


def test_an_encrypted_file_is_left_out_and_listed(capsys: Capture, corpus: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(V1))
    writer.encrypt("secret")
    writer.write(corpus / "secret.pdf")
    result = run(capsys, "index", "corpus", "-o", "papers.colde")
    assert result.status == 0
    assert "secret.pdf" in result.err
    assert "3 documents, 3 added" in result.err


@POSIX
def test_a_folder_that_cannot_be_written_is_left_as_it_is(capsys: Capture, corpus: Path, index: Path) -> None:
    (corpus / "new.txt").write_text("A new document on trees.")
    before = (index / "index.sqlite").read_bytes()
    for path in (*index.iterdir(), index):
        path.chmod(0o500 if path.is_dir() else 0o400)
    with permissions_count():
        check_trouble(run(capsys, "index", "papers.colde"))
        check_trouble(run(capsys, "index", "papers.colde", "--compact"))
        assert (index / "index.sqlite").read_bytes() == before
        assert ranked(capsys, "corpus/pump.txt", "papers.colde")["searched"] == 2
    index.chmod(0o700)


@pytest.mark.slow
def test_a_full_disk_leaves_the_index_whole(capsys: Capture, corpus: Path, index: Path) -> None:
    before = (index / "index.sqlite").stat().st_size
    for number in range(5):
        words = " ".join(f"word{number}{place}" for place in range(500))
        (corpus / f"new{number}.txt").write_text(words)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before + 8192, limit[1]))  # which SQLite meets as a full disk
    try:
        full = run(capsys, "index", "papers.colde", "--no-cache")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    check_trouble(full)
    assert "space" in full.err
    assert as_json(capsys, "papers.colde", "--verify")["verify"]["problems"] == []
    assert as_json(capsys, "papers.colde", "--status")["status"]["documents"] >= 3
    run(capsys, "index", "papers.colde")
    assert as_json(capsys, "papers.colde", "--status")["status"]["documents"] == 8


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "colde_cli", "index", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_a_killed_run_is_gone_on_with(
    capsys: Capture, corpus: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    snapshot = importlib.import_module("kills").snapshot

    for number in range(20):
        (corpus / f"{number}.txt").write_text(f"Document {number} tells of pump {number}. " * 100)
    run(capsys, "index", "corpus", "-o", "whole.colde")
    for wait in (0.0, 0.1):
        process = start("corpus", "-o", "papers.colde")
        path = Path("papers.colde/index.sqlite-journal")
        while process.poll() is None and not path.exists():
            time.sleep(0.005)
        time.sleep(wait)
        process.kill()
        process.communicate()
    assert run(capsys, "index", "corpus", "-o", "papers.colde").status == 0
    assert as_json(capsys, "papers.colde", "--verify")["verify"]["problems"] == []
    assert snapshot(Path("papers.colde")) == snapshot(Path("whole.colde"))


def test_the_name_of_a_file_need_not_be_utf_8(capsys: Capture, corpus: Path, index: Path) -> None:
    (corpus / os.fsdecode(b"caf\xe9.txt")).write_text("The pump of the café lifts water.")
    assert run(capsys, "index", "papers.colde").status == 0
    assert ranked(capsys, "corpus/pump.txt", "papers.colde")["searched"] == 3
    assert "up to date" in run(capsys, "index", "papers.colde", "--status").out


def test_encrypted_files_are_indexed_with_the_passwords_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, index = tmp_path / "corpus", tmp_path / "a.colde"
    corpus.mkdir()
    for name in ("encrypted.pdf", "encrypted_aes256.pdf"):
        shutil.copy(ROOT / "tests" / "data" / name, corpus)
    assert "--password" in run(capsys, "index", corpus, "-o", index).err
    (tmp_path / "passwords").write_text("wrong\ntide\nebb ünd flow\n")
    done = run(capsys, "index", corpus, "-o", index, "--password-file", tmp_path / "passwords")
    assert (done.status, "Skipped" in done.err) == (0, False), done.err
    copy = shutil.copy(corpus / "encrypted.pdf", tmp_path)
    assert run_json(capsys, "rank", copy, index, "--password-file", tmp_path / "passwords")["searched"] == 2
    check_trouble(run(capsys, "index", corpus, "-o", index, "--password-file", tmp_path / "none"))
