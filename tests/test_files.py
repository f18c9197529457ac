"""Files and folders that appear whole or not at all, and arrays read from several threads."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from colde_cli import files
from colde_cli.errors import ModelError
from colde_cli.files import atomic_file, atomic_folder, load_arrays


class Loop:
    """Part of a cycle; while it is collected, another thread gets its turn."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads that take turns as often as they can, collection of garbage in the midst of everything."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "arrays.npz"
    np.savez(path, one=np.arange(3), two=np.ones((2, 2)))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("restless")
def test_threads_that_read_at_the_same_time_all_get_their_arrays(archive: Path) -> None:
    def read(_: int) -> int:
        for _ in range(400):
            Loop()
            one, two = load_arrays(archive, "one", "two")
        return int(one.sum() + two.sum())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(4))) == [7] * 4


def test_a_broken_archive_and_a_missing_array_are_one_sentence(archive: Path) -> None:
    with pytest.raises(ModelError, match="is damaged"):
        load_arrays(archive, "one", "three")
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(ModelError, match="is damaged"):
        load_arrays(archive, "one")


@pytest.fixture
def private_files() -> Iterator[None]:
    """New files are for their owner and group alone."""
    mask = os.umask(0o027)
    yield
    os.umask(mask)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


class Cut(BaseException):
    """What ends a program without being an error, such as Ctrl-C."""


def fail_midway(path: Path, error: type[BaseException]) -> None:
    path.write_text("half")
    raise error


@pytest.mark.usefixtures("private_files")
def test_a_new_file_has_the_permissions_of_the_umask_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    new, old = tmp_path / "new.txt", tmp_path / "old.txt"
    old.write_text("before")
    old.chmod(0o604)
    for path in (new, old):
        with atomic_file(path) as staged:
            assert staged.suffix == ".txt"
            staged.write_text("after")
            assert path.exists() == (path == old), "nothing shows before the end"
    assert [path.read_text() for path in (new, old)] == ["after", "after"]
    assert [mode(path) for path in (new, old)] == [0o640, 0o604]
    assert sorted(tmp_path.iterdir()) == [new, old]


@pytest.mark.parametrize("error", [ValueError, Cut])
@pytest.mark.parametrize("existing", [True, False])
def test_a_writer_that_fails_changes_nothing(tmp_path: Path, error: type[BaseException], existing: bool) -> None:
    path, folder = tmp_path / "file", tmp_path / "folder"
    if existing:
        path.write_text("before")
        folder.mkdir()
        (folder / "part").write_text("before")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error), atomic_file(path) as staged:
        fail_midway(staged, error)
    with pytest.raises(error), atomic_folder(folder) as filled:
        fail_midway(filled / "part", error)
    assert sorted(tmp_path.rglob("*")) == before
    assert all(item.read_text() == "before" for item in before if item.is_file())


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    with atomic_file(link) as staged:
        staged.write_text("after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_file_cannot_take_the_place_of_a_folder_nor_a_folder_that_of_a_file(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("before")
    with pytest.raises(OSError, match="directory"), atomic_file(folder) as staged:
        staged.write_text("after")
    with pytest.raises(OSError, match="directory"), atomic_folder(file):
        pass
    assert sorted(tmp_path.iterdir()) == [file, folder]
    assert file.read_text() == "before"


@pytest.mark.usefixtures("private_files")
def test_a_folder_takes_the_place_of_an_earlier_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "model"
    for name in ("one", "two"):
        with atomic_folder(path) as staged:
            (staged / "sub").mkdir()
            (staged / "sub" / name).write_text(name)
        assert [item.name for item in path.rglob("*")] == ["sub", name]
    assert mode(path) == 0o750
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_folder_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "none" / "file"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="processes are asked for with signals")
@pytest.mark.parametrize("kind", ["atomic_file", "atomic_folder"])
def test_what_a_killed_process_began_is_removed_by_the_next(tmp_path: Path, kind: str) -> None:
    killed = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom colde_cli import files\n"
        f"with files.{kind}(Path(sys.argv[1])):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    target = tmp_path / "target"
    assert subprocess.run([sys.executable, "-c", killed, target], check=False).returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    writer = getattr(files, kind)
    with writer(target), writer(tmp_path / "other"), writer(target):  # its own are left alone
        assert len(list(tmp_path.glob(".colde-*"))) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "target"]
