"""The cache: what goes in comes out, whatever happens to the file."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.encoder.vector_cache import Cache, digest, file_digest


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", limit=10**9)


def keys(count: int) -> list[bytes]:
    return [digest(str(number).encode()) for number in range(count)]


def test_values_survive_a_new_process(cache: Cache) -> None:
    items = {key: key * 3 for key in keys(1200)}
    cache.put(items)
    cache.close()
    again = Cache(cache.path.parent, limit=10**9)
    assert again.get(list(items)) == items
    assert again.get([b"unknown"]) == {}
    assert again.count() == 1200


def test_nothing_is_created_by_looking_at_size_and_count(cache: Cache) -> None:
    assert (cache.size(), cache.count()) == (0, 0)
    assert not cache.path.exists()


def test_clear_removes_the_file(cache: Cache) -> None:
    cache.put({b"a": b"1"})
    cache.clear()
    assert not list(cache.path.parent.iterdir())
    cache.put({b"a": b"2"})
    assert cache.get([b"a"]) == {b"a": b"2"}


def test_least_recently_used_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=400_000)
    old, young = keys(40)[:20], keys(40)[20:]
    cache.put(dict.fromkeys(old, bytes(10_000)))
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE items SET used = 1")
        connection.execute("UPDATE items SET used = 2 WHERE key = ?", (old[0],))
    connection.close()
    assert cache.get([old[0]]), "a look-up makes it recent"
    cache.put(dict.fromkeys(young, bytes(10_000)))
    left = cache.get(old + young)
    assert set(young) <= set(left)
    assert old[0] in left
    assert len(left) < 40
    assert sum(map(len, left.values())) <= 400_000


def test_the_file_itself_shrinks_to_the_limit(tmp_path: Path) -> None:
    limit = 2_000_000
    with Cache(tmp_path, limit) as cache:
        for batch in range(4):
            cache.put({digest(bytes([batch]), key): bytes(1500) for key in keys(1000)})
    assert 0.5 * limit < cache.path.stat().st_size <= limit
    assert cache.size() == cache.path.stat().st_size


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are of another kind there")
def test_others_on_the_machine_cannot_read_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new", 10**9)
    cache.put({b"a": b"text of a document"})
    files = list(cache.path.parent.iterdir())
    assert len(files) == 3, "the file, its log and its index"
    assert not any(path.stat().st_mode & 0o077 for path in (cache.path.parent, *files))


@pytest.mark.parametrize("damage", ["header", "middle"])
def test_a_damaged_file_is_replaced_with_a_warning(cache: Cache, damage: str) -> None:
    cache.put({key: bytes(500) for key in keys(200)})
    cache.close()
    content = bytearray(cache.path.read_bytes())
    start = 0 if damage == "header" else 4096
    content[start : start + 60_000] = b"\xff" * min(60_000, len(content) - start)
    cache.path.write_bytes(content)
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.get(keys(200)) == {}
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {b"a": b"1"}


def test_a_value_that_changed_on_disk_is_not_given_back(cache: Cache) -> None:
    """SQLite does not notice bytes that change inside a value."""
    items = {key: key * 100 for key in keys(200)}
    cache.put(items)
    cache.close()
    content = cache.path.read_bytes()
    inside = content.index(keys(200)[7] * 50)
    cache.path.write_bytes(content[:inside] + b"\0" + content[inside + 1 :])
    with pytest.warns(UserWarning, match="1 damaged"):
        left = cache.get(list(items))
    assert left == {key: value for key, value in items.items() if key != keys(200)[7]}
    cache.put(items)
    assert cache.get(list(items)) == items


def test_values_of_two_keys_that_changed_places_are_not_given_back(cache: Cache) -> None:
    cache.put({b"a": b"1", b"b": b"2"})
    with sqlite3.connect(cache.path) as connection:
        connection.execute(
            "UPDATE items SET value = (SELECT value FROM items WHERE key = ?) WHERE key = ?", (b"b", b"a")
        )
    connection.close()
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.get([b"a", b"b"]) == {b"b": b"2"}


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user who may not write where root may."""
    if os.getuid():
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are of another kind there")
def test_a_cache_that_may_not_be_written_is_read() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Cache(folder, 10**9) as cache:
            cache.put({b"a": b"1"})
        cache.path.chmod(0o444)
        folder.chmod(0o555)
        before = sorted(path.name for path in folder.iterdir())
        with unprivileged(), Cache(folder, 10**9) as cache:
            cache.put({b"b": b"2"})
            assert cache.get([b"a", b"b"]) == {b"a": b"1"}
            assert cache.count() == 1
        assert sorted(path.name for path in folder.iterdir()) == before
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are of another kind there")
@pytest.mark.parametrize("folder_mode", [0o555, 0o1777], ids=["read-only", "another user's file"])
@pytest.mark.parametrize("start", [0, 4096])
def test_a_damaged_cache_that_may_not_be_deleted_costs_a_warning_only(folder_mode: int, start: int) -> None:
    if os.getuid() and folder_mode != 0o555:
        pytest.skip("needs two users")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Cache(folder, 10**9) as cache:
            cache.put({key: bytes(500) for key in keys(200)})
        with cache.path.open("r+b") as file:
            file.seek(start)
            file.write(b"\xff" * 60_000)
        cache.path.chmod(0o666)
        folder.chmod(folder_mode)
        with unprivileged(), Cache(folder, 10**9) as cache:
            with pytest.warns(UserWarning, match="damaged and cannot be emptied"):
                assert cache.get(keys(200)) == {}
            cache.put({b"a": b"1"})  # warned once
            assert cache.get(keys(200)) == {}
        folder.chmod(0o755)
        assert cache.path.exists()


def test_a_place_that_cannot_be_written_costs_a_warning_only(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = Cache(blocked / "cache", limit=10**9)
    with pytest.warns(UserWarning, match="not usable"):
        cache.put({b"a": b"1"})


def test_processes_may_write_at_the_same_time(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from colde_cli.encoder.vector_cache import Cache, digest\n"
        "cache = Cache(Path(sys.argv[1]), 10**9)\n"
        "for n in range(60): cache.put({digest(sys.argv[2].encode(), bytes([n, k])): bytes(100) for k in range(20)})"
    )
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path)]
    running = [subprocess.Popen([*command, name]) for name in ("one", "two")]
    assert [process.wait(120) for process in running] == [0, 0]
    assert Cache(tmp_path, 10**9).count() == 2 * 60 * 20


@given(st.lists(st.binary(max_size=5), max_size=4), st.lists(st.binary(max_size=5), max_size=4))
@settings(max_examples=200)
def test_digest_tells_lists_of_parts_apart(left: list[bytes], right: list[bytes]) -> None:
    assert (digest(*left) == digest(*right)) == (left == right)


def test_file_digest_is_of_the_content(tmp_path: Path) -> None:
    for name, content in (("a", b"same"), ("b", b"same"), ("c", b"other")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (file_digest(tmp_path / name) for name in "abc")
    assert a == b != c


def test_a_cache_that_cannot_be_opened_serves_every_thread(tmp_path: Path) -> None:
    """What takes its place was made in one thread, and closed in another: "colde failed (ProgrammingError ...)"."""
    (tmp_path / "file").write_text("no folder")
    cache = Cache(tmp_path / "file", 10**9)
    with pytest.warns(UserWarning, match="not usable"):
        cache.put({b"key": b"value"})
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(cache.get, [b"key"]).result() == {b"key": b"value"}
        pool.submit(cache.close).result()


def test_a_cache_that_nobody_holds_closes_its_file(cache: Cache) -> None:
    kept = Cache(cache.path.parent, limit=10**9)
    kept.put({b"key": b"value"})
    connection = kept._connection
    assert connection is not None
    del kept
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
