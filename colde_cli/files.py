"""Files and folders that are written atomically, their sizes, and arrays read from several threads."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from colde_cli.errors import ModelError

if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray

# NumPy parses the head of an array with `ast.literal_eval`, which in CPython 3.11 fails now and then while another
# thread parses too (SystemError: AST constructor recursion depth mismatch; python/cpython issue 106905).
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Write a file that takes the place of `path` at once, when the context ends without an exception.

    An existing file keeps its permissions; a new one gets those that the umask gives. Where `path` is a link, the
    file that it points to is replaced. After an exception everything is as before.

    Yields:
        An empty file beside `path`, with the same suffix, to write to.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full.
    """
    target = path.resolve()
    _remove_leftovers(target)
    staged = _sibling(target, target.suffix)
    staged.touch(exist_ok=False)
    try:
        yield staged
        if target.exists():
            staged.chmod(stat.S_IMODE(target.stat().st_mode))
        _flush(staged)
        staged.replace(target)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that takes the place of `path`, when the context ends without an exception.

    What `path` held before is deleted then. After an exception everything is as before.

    Yields:
        An empty folder beside `path`, to fill.

    Raises:
        OSError: the parent is not writable, the disk is full, or `path` is a file.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    staged = _sibling(target)
    staged.mkdir()
    try:
        yield staged
        for file in staged.rglob("*"):
            if file.is_file():
                _flush(file)
        replace_folder(staged, target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def replace_folder(staged: Path, target: Path) -> None:
    """Rename `staged` to `target`, in place of a folder that may hold something.

    Raises:
        OSError: one of them cannot be renamed; both are as before.
    """
    if not target.is_dir():
        staged.rename(target)
        return
    old = target.with_name(f".colde-{os.urandom(8).hex()}")  # the one copy there is, for a moment
    target.rename(old)
    try:
        staged.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _sibling(target: Path, suffix: str = "") -> Path:
    """A hidden name in the same folder that nothing else has; it tells which process works on which target."""
    return target.with_name(f"{_mark(target)}{os.getpid()}-{os.urandom(6).hex()}{suffix}")


def _mark(target: Path) -> str:
    """The beginning of the hidden names for a target, on this machine."""
    machine = os.uname().nodename if hasattr(os, "uname") else ""
    place = f"{machine}/{target.name}".encode(errors="surrogateescape")
    return f".colde-{zlib.crc32(place):08x}-"


def _remove_leftovers(target: Path) -> None:
    """Remove what processes that were killed had begun to write for a target."""
    if os.name != "posix":  # elsewhere a signal of number 0 would end the process
        return
    mark = _mark(target)
    for left in target.parent.glob(f"{mark}*"):
        number = left.name.removeprefix(mark).partition("-")[0]
        if number.isdecimal() and not _runs(int(number)):
            with contextlib.suppress(OSError):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        return True
    return True


def _flush(file: Path) -> None:
    """Have the system write a file's content to the disk, so that no crash leaves the name without it."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


_LARGEST_VALUE = 1e3
"""Larger values occur in no usable array; a product of four such values does not overflow."""
_LARGEST = 1_000_000_000
"""Maximum size of the arrays of one file in bytes: a few kilobytes of an archive can inflate to any size."""


def load_arrays(path: Path, *names: str, largest: int = _LARGEST) -> tuple[NDArray[Any], ...]:
    """The arrays of these names, in this order.

    Args:
        path: of a `.npz` file.
        names: of the arrays.
        largest: bytes that they may take together; a larger file is refused before it is inflated.

    Raises:
        ModelError: the file is not there, damaged, too large, lacks one of them, or holds NaN or far too large values.
    """
    import numpy as np  # here, because every command imports this file and few read arrays

    try:
        # Opened here, because NumPy leaves what is no archive open.
        with _ONE_AT_A_TIME, path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            size = sum(entry.file_size for entry in file.zip.infolist())
            arrays = tuple(file[name] for name in names) if size <= largest else ()
    except PermissionError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from error
    except Exception as error:  # of the archive, of inflation, of the parser of array headers
        raise ModelError(f"{path} is damaged; fetch or train the model again.") from error
    if size > largest:
        raise ModelError(f"{path} would take {size / 1e6:,.0f} MB of memory; it is not a file of this version.")
    if not all((np.abs(array) <= _LARGEST_VALUE).all() for array in arrays if array.dtype.kind == "f"):
        raise ModelError(f"{path} holds values that are not numbers; fetch or train the model again.")
    return arrays


def open_sqlite(path: Path, mode: str, seconds: float, **options: Any) -> sqlite3.Connection:  # noqa: ANN401
    """Open a file of SQLite in a `mode` of its URLs: "rw", or "rwc", which makes it.

    Others are waited for so many seconds; `options` are those of `sqlite3.connect`.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    import sqlite3  # `colde --help` loads no store

    name = quote(os.fsencode(path.absolute()))
    unlocked = "&immutable=1" if cannot_lock(path) else ""
    address = f"file:{name}?mode={mode}{unlocked}"
    connection: sqlite3.Connection = sqlite3.connect(
        address, uri=True, timeout=seconds, check_same_thread=False, **options
    )
    return connection


def cannot_lock(path: Path) -> bool:
    """Whether SQLite can lock nothing here: nobody writes, so there is no log, and this user may not make one."""
    if os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return False
    try:
        with path.open("rb") as file:  # whose head says whether it is written through a write-ahead log
            return file.read(19)[18:] == b"\x02" and not path.with_name(f"{path.name}-wal").exists()
    except OSError:
        return False
