"""Publishing an index: what is fetched equals what was pushed, only changes travel, and nothing is ever half there."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import OTHER, V1, V2, run
from permissions import POSIX, permissions_count

from colde_cli.corpus import publishing
from colde_cli.corpus.finding import APPLICATION
from colde_cli.corpus.index_reader import FORMAT
from colde_cli.corpus.publishing import fetch, list_fetched, newest_version, pull, push, remove_fetched, remove_old
from colde_cli.corpus.remotes import FolderRemote, Remote, is_url, open_remote
from colde_cli.errors import ColdeError, OptionError, RemoteError
from colde_cli.settings import INDEX_FILE, cache_dir

ROWS = 60
BIG = 65_536


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A server that speaks S3, with one bucket."""
    pytest.importorskip("obstore")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    boto3 = pytest.importorskip("boto3")
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1", **keys)
    client.create_bucket(Bucket="papers")
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place to publish at."""
    if request.param == "file":
        (tmp_path / "share").mkdir()
        return f"file://{tmp_path}/share/papers.colde"
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_endpoint"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return f"s3://papers/{os.urandom(6).hex()}.colde"


def made(folder: Path, rows: int = ROWS, seed: int = 0) -> Path:
    """An index of a few blocks: publishing looks at nothing but its file."""
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / INDEX_FILE)) as connection, connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, value BLOB)")
    add(folder, rows, seed)
    return folder


def add(folder: Path, rows: int, seed: int) -> None:
    generator = random.Random(seed)
    values = [(generator.randbytes(BIG),) for _ in range(rows)]
    with closing(sqlite3.connect(folder / INDEX_FILE)) as connection, connection:
        connection.executemany("INSERT INTO items (value) VALUES (?)", values)


def contents(folder: Path) -> list[Any]:
    with closing(sqlite3.connect(folder / INDEX_FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute("SELECT * FROM items ORDER BY number").fetchall()


def test_what_is_fetched_equals_what_was_pushed(url: str, tmp_path: Path) -> None:
    index = made(tmp_path / "a.colde")
    (index / "candidates").write_bytes(b"side file")
    pushed = push(index, url)
    fetched = fetch(url)
    assert pushed.version == fetched.version == 1
    assert pushed.sent == fetched.sent == pushed.blocks > 3
    assert contents(fetched.folder) == contents(index)
    assert (fetched.folder / "candidates").read_bytes() == b"side file"


def test_what_was_fetched_is_listed_and_removed(url: str, tmp_path: Path) -> None:
    assert list_fetched() == []
    remove_fetched()
    push(made(tmp_path / "a.colde"), url)
    folder = fetch(url).folder
    (cut_off := cache_dir() / "fetched" / ("0" * 40) / "incoming").mkdir(parents=True)
    (cut_off / INDEX_FILE).write_bytes(bytes(1000))
    part, whole = list_fetched()
    assert (part.url, part.size) == ("", 1000)
    assert whole.url == url
    assert whole.size >= (folder / INDEX_FILE).stat().st_size
    remove_fetched()
    assert list_fetched() == []
    assert not folder.exists()
    assert fetch(url).sent > 3


def test_what_is_known_is_not_sent_again(url: str, tmp_path: Path) -> None:
    index = made(tmp_path / "a.colde", rows=2 * ROWS)
    first = push(index, url)
    again = push(index, url)
    assert (again.version, again.sent) == (1, 0)
    fetch(url)
    assert fetch(url).sent == 0
    add(index, 1, 7)
    more, fetched = push(index, url), fetch(url)
    assert more.version == fetched.version == 2
    assert 0 < more.sent == fetched.sent < first.sent / 2
    assert contents(fetched.folder) == contents(index)


def break_at(monkeypatch: pytest.MonkeyPatch, remote: Remote, method: str, number: int) -> None:
    """The call of a method of all such places that has this number fails, and none before it."""
    real, calls = getattr(type(remote), method), itertools.count(1)

    def failing(self: Remote, *given: Any) -> Any:
        if next(calls) == number:
            raise RemoteError("The network is gone.")
        return real(self, *given)

    monkeypatch.setattr(type(remote), method, failing)


def test_an_interrupted_push_goes_on(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, remote = made(tmp_path / "a.colde"), open_remote(url)
    with monkeypatch.context() as patch:
        break_at(patch, remote, "put", 3)
        with pytest.raises(RemoteError, match="gone"):
            push(index, url)
    assert newest_version(remote) is None
    there = len(remote.list("blocks"))
    assert there >= 2
    assert push(index, url).sent == push(index, url, force=True).blocks - there
    assert contents(fetch(url).folder) == contents(index)


def test_an_interrupted_fetch_goes_on(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, remote = made(tmp_path / "a.colde"), open_remote(url)
    blocks = push(index, url).blocks
    monkeypatch.setattr(publishing, "_AT_ONCE", 1)
    with monkeypatch.context() as patch:
        break_at(patch, remote, "get", 4)
        with pytest.raises(RemoteError, match="gone"):
            fetch(url)
    assert fetch(url).sent == blocks - 2  # The first call was for the version.


def test_a_version_of_another_is_not_replaced(url: str, tmp_path: Path) -> None:
    mine, other = made(tmp_path / "mine.colde"), made(tmp_path / "other.colde", seed=1)
    push(other, url)
    with pytest.raises(RemoteError, match=r"holds version 1, which .*mine\.colde does not know"):
        push(mine, url)
    assert contents(fetch(url).folder) == contents(other)
    assert push(mine, url, force=True).version == 2
    assert contents(fetch(url).folder) == contents(mine)


def test_of_two_pushes_at_once_one_is_told(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = made(tmp_path / "base.colde", rows=3)
    push(base, url)
    copies = [tmp_path / "one.colde", tmp_path / "two.colde"]
    for seed, copy in enumerate(copies):
        pull(url, copy)
        add(copy, 2, seed + 5)
    both, create = threading.Barrier(2), type(open_remote(url)).create

    def together(self: Remote, name: str, content: bytes) -> bool:
        both.wait(600)
        return create(self, name, content)

    monkeypatch.setattr(type(open_remote(url)), "create", together)

    def attempt(copy: Path) -> str:
        try:
            return f"version {push(copy, url).version}"
        except RemoteError as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        told = dict(zip(copies, pool.map(attempt, copies), strict=True))
    assert sorted(told.values())[1] == "version 2"
    assert "came first" in sorted(told.values())[0]
    (winner,) = [copy for copy, sentence in told.items() if sentence == "version 2"]
    assert contents(fetch(url).folder) == contents(winner)


def test_a_damaged_block_is_never_taken(url: str, tmp_path: Path) -> None:
    index, remote = made(tmp_path / "a.colde"), open_remote(url)
    push(index, url)
    name = remote.list("blocks")[0].name
    whole = remote.get(name, 2 << 20)
    assert whole is not None
    for damaged in (whole[:-5], b"", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
        remote.put(name, damaged)
        with pytest.raises(RemoteError, match="is damaged; push the index again with --force"):
            fetch(url)
    remote.delete(name)
    with pytest.raises(RemoteError, match="is missing"):
        fetch(url)
    push(index, url, force=True)
    assert contents(fetch(url).folder) == contents(index)


def test_a_damaged_version_is_one_sentence(url: str, tmp_path: Path) -> None:
    push(made(tmp_path / "a.colde", rows=1), url)
    remote = open_remote(url)
    remote.put("versions/00000001", b"{}")
    with pytest.raises(RemoteError, match="is damaged"):
        fetch(url)


Altered = tuple[str, bytes]


def altered_bytes(content: bytes) -> Iterator[Altered]:
    """A description that was cut, changed at random, or that inflates to more than any has."""
    generator = random.Random(0)
    for length in (0, 1, 2, 10, len(content) // 2, len(content) - 5, len(content) - 1):
        yield f"cut to {length}", content[:length]
    for number in range(20):
        changed = bytearray(content)
        changed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        yield f"bit {number}", bytes(changed)
    yield "followed by more", content + b"x"
    yield "twice", content + content
    yield "not deflated", zlib.decompress(content)
    for name, text in (
        ("zeros", bytes(200 << 20)),
        ("blanks and an end", b" " * (100 << 20) + zlib.decompress(content)),
        ("lists in lists", b"[" * 100_000),
        ("a number of many digits", b'{"schema": ' + b"9" * 10_000 + b"}"),
        ("NaN", b'{"schema": NaN}'),
        ("half a character", b'"\\ud800"'),
        ("not UTF-8", b'{"schema": "\xff"}'),
        *((text, text.encode()) for text in ("null", "[]", "{}", "7", '"text"')),
    ):
        yield name, zlib.compress(text, 1)
    yield "larger than any", os.urandom(9 << 20)


def altered_values(content: bytes) -> Iterator[Altered]:
    """A description with one value that is not as colde writes it."""
    kinds: tuple[Any, ...] = (None, True, 1.5, "text", [], {}, -1, 10**30)
    size, blocks = json.loads(zlib.decompress(content))["files"][INDEX_FILE].values()
    elsewhere = "../../../etc/passwd"
    changes: dict[str, tuple[Any, ...]] = {
        "schema": (*kinds, "colde.published/2", "colde.published/1 "),
        "number": (*kinds, 0, 2, "1", 1.0),
        "files": (*kinds, {"other": {"size": 0, "blocks": []}}, {INDEX_FILE: None}, {INDEX_FILE: []}),
        "size": (*kinds, 0, size + (1 << 20), size - (1 << 20), 10**18, str(size), float(size)),
        "blocks": (
            *(*kinds, [1], [None] * len(blocks), blocks[:-1], blocks + blocks[:1], [blocks] * len(blocks)),
            *([entry, *blocks[1:]] for entry in (elsewhere, "", blocks[0][1:], blocks[0].upper(), "0" * 40)),
            *([f"{blocks[0][:-1]}{end}", *blocks[1:]] for end in ("\n", "g", "é")),
        ),
    }
    for place, values in changes.items():
        for value in values:
            described = json.loads(zlib.decompress(content))
            (described if place in described else described["files"][INDEX_FILE])[place] = value
            yield f"{place}: {value!r:.60}", zlib.compress(json.dumps(described).encode())
    for name in (
        *("../x", "/x", "a/b", "..", ".", "", ".lock", ".x", f"{INDEX_FILE}-journal", f"{INDEX_FILE}-wal"),
        *("INDEX.sqlite-journal", "published.json", "a\0b", "x" * 300, "\u202ex", "a\\b", "a:b", "a\x1b[31m"),
        "ä",
    ):
        described = json.loads(zlib.decompress(content))
        described["files"][name] = {"size": 0, "blocks": []}
        yield f"name {name!r:.30}", zlib.compress(json.dumps(described).encode())
    described = json.loads(zlib.decompress(content))
    described["files"]["fills_the_disk"] = {"size": 100_000 << 20, "blocks": blocks[:1] * 100_000}
    yield "one block a hundred thousand times", zlib.compress(json.dumps(described).encode())


def fetched_or_refused(url: str) -> Path | str:
    """The folder that was fetched, or the sentence that refuses it."""
    try:
        return fetch(url).folder
    except RemoteError as error:
        return str(error)


@pytest.mark.slow
def test_a_description_of_a_stranger_is_refused_or_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it says: one sentence that names the place, no memory for what it claims, no file elsewhere."""
    (tmp_path / "share").mkdir()
    url = f"file://{tmp_path}/share/papers.colde"
    push(made(tmp_path / "a.colde", rows=40), url)
    # On a disk that has room for a hundred gigabytes, they would be written.
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9))
    remote, name = open_remote(url), "versions/00000001"
    content = remote.get(name, 1 << 20)
    assert content is not None
    before = sorted(tmp_path.rglob("*"))
    cases = [*altered_bytes(content), *altered_values(content)]
    assert len(cases) >= 100
    tracemalloc.start()
    for case, altered in cases:
        remote.put(name, altered)
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        found = fetched_or_refused(url)
        assert tracemalloc.get_traced_memory()[1] - held < 100 << 20, case
        if isinstance(found, str):
            assert url in found, case
            assert "\x1b" not in found, case
        else:
            assert contents(found) == contents(tmp_path / "a.colde"), case
    tracemalloc.stop()
    assert sorted(tmp_path.rglob("*")) == before


def test_old_blocks_go_after_a_time(url: str, tmp_path: Path) -> None:
    index = made(tmp_path / "a.colde")
    push(index, url)
    with closing(sqlite3.connect(index / INDEX_FILE)) as connection, connection:
        connection.execute("UPDATE items SET value = zeroblob(length(value))")
    push(index, url)
    assert remove_old(url) == 0, "versions of today are kept"
    assert len(open_remote(url).list("versions")) == 2
    time.sleep(1.1)  # The clock of an object store counts seconds.
    assert remove_old(url, grace=0) > 3
    assert len(open_remote(url).list("versions")) == 1
    assert contents(fetch(url).folder) == contents(index)


def test_a_pulled_index_is_worked_on_and_pushed(url: str, tmp_path: Path) -> None:
    index, copy = made(tmp_path / "a.colde"), tmp_path / "copy.colde"
    push(index, url)
    assert pull(url, copy).version == 1
    add(copy, 1, 3)
    with pytest.raises(OptionError, match="has changes that were not pushed"):
        pull(url, copy)
    assert push(copy, url).version == 2
    assert pull(url, index).version == 2
    assert contents(index) == contents(copy)
    assert pull(url, index).sent == 0


def test_a_folder_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    url = f"file://{tmp_path}/share/papers.colde"
    push(made(tmp_path / "a.colde", rows=1), url)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(OptionError, match="is not overwritten"):
            pull(url, precious, force=force)
    assert [path.name for path in precious.iterdir()] == ["thesis.txt"]
    other = made(tmp_path / "other.colde", rows=1, seed=2)
    with pytest.raises(OptionError, match="was not fetched from"):
        pull(url, other)
    pull(url, other, force=True)
    assert contents(other) == contents(tmp_path / "a.colde")


@pytest.mark.slow
def test_a_push_that_is_killed_leaves_the_version_before(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    url = f"file://{tmp_path}/share/papers.colde"
    index = made(tmp_path / "a.colde", rows=5)
    push(index, url)
    before = contents(index)
    add(index, 60, 9)
    script = "import sys, pathlib, colde_cli.corpus.publishing as p; p.push(pathlib.Path(sys.argv[1]), sys.argv[2])"
    process = subprocess.Popen([sys.executable, "-c", script, str(index), url])
    remote, known = open_remote(url), len(open_remote(url).list("blocks"))
    while len(remote.list("blocks")) == known and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.wait()
    newest = newest_version(remote)
    assert newest is not None
    assert contents(fetch(url).folder) == (before if newest.number == 1 else contents(index))
    push(index, url)
    assert contents(fetch(url).folder) == contents(index)
    assert not (index / ".snapshot").exists(), "what the killed push left is gone"


def test_a_share_that_is_lost_is_one_sentence(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/share/papers.colde"
    index = made(tmp_path / "a.colde", rows=1)
    actions: list[Callable[[], object]] = [
        *(lambda: push(index, url), lambda: fetch(url), lambda: pull(url, tmp_path / "b.colde"))
    ]
    for action in actions:
        with pytest.raises(RemoteError, match="cannot be reached: there is no folder"):
            action()
    assert not (tmp_path / "share").exists(), "nothing was made where the share is not mounted"
    (tmp_path / "share").mkdir()
    with pytest.raises(RemoteError, match="There is no index at"):
        fetch(url)


def test_trouble_with_a_bucket_is_one_sentence(
    s3_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = made(tmp_path / "a.colde", rows=1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    with pytest.raises(RemoteError, match="there are no keys"):
        fetch("s3://papers/a.colde")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(RemoteError, match="there is no such bucket"):
        push(index, "s3://another/a.colde")
    with pytest.raises(RemoteError, match="there is no such bucket"):
        fetch("s3://another/a.colde")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(RemoteError, match="there is no answer"):
        fetch("s3://papers/a.colde")


@pytest.mark.parametrize("text", ["papers.colde", "http://host/papers.colde", "s3://bucket", "s3:///x"])
def test_what_is_no_place_is_one_sentence(text: str) -> None:
    with pytest.raises(OptionError):
        open_remote(text)


def test_a_url_is_told_from_a_path() -> None:
    assert is_url("s3://bucket/a.colde")
    assert is_url("file:///share/a.colde")
    assert not is_url("papers.colde")
    assert not is_url(Path("s3/papers"))


@POSIX
def test_a_share_without_rights_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir(mode=0o500)
    with permissions_count(), pytest.raises(ColdeError, match="Permission denied"):
        push(made(tmp_path / "a.colde", rows=1), f"file://{tmp_path}/share/papers.colde")


def test_a_folder_creates_a_name_once(tmp_path: Path) -> None:
    remote = FolderRemote("file:///x", tmp_path / "papers.colde")
    assert remote.create("versions/1", b"one")
    assert not remote.create("versions/1", b"two")
    assert remote.get("versions/1", 3) == b"one"
    with pytest.raises(RemoteError, match="too large"):
        remote.get("versions/1", 2)
    assert [item.name for item in remote.list("versions")] == ["versions/1"]


@pytest.mark.slow
def test_an_index_is_pushed_and_searched_by_its_url(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    index, url = tmp_path / "a.colde", f"file://{tmp_path}/share.colde"
    made_and_pushed = run(capsys, "index", V1, OTHER, "-o", index, "--push", url)
    assert made_and_pushed.status == 0
    assert "version 1, 1 of 1 blocks" in made_and_pushed.err
    here = run(capsys, "rank", V2, index, "--format", "csv")
    there = run(capsys, "rank", V2, url, "--format", "csv")
    assert here.status == there.status == 0
    assert there.out == here.out
    for command in ("dupes", "clusters"):
        local, remote = (run(capsys, command, place, "--format", "csv") for place in (index, url))
        assert local.status == remote.status
        assert remote.out == local.out
    pulled = run(capsys, "index", tmp_path / "b.colde", "--pull", url)
    assert pulled.status == 0
    assert run(capsys, "rank", V2, tmp_path / "b.colde", "--format", "csv").out == here.out


def test_trouble_with_a_place_is_status_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lost = f"file://{tmp_path}/share/a.colde"
    for arguments in (
        ("rank", V2, lost),
        ("dupes", lost),
        ("clusters", lost),
        ("index", tmp_path / "b.colde", "--pull", lost),
        ("index", tmp_path / "b.colde", "-o", tmp_path / "c.colde", "--pull", lost),
    ):
        got = run(capsys, *arguments)
        assert got.status == 2
        assert got.err.startswith("Error: ")
        assert "Traceback" not in got.err
