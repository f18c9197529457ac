"""Arrays of a model's folder."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from colde_cli.errors import ModelError
from colde_cli.files import load_arrays


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
