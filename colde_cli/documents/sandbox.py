"""A reader in a process of its own, under limits that the operating system enforces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

REQUEST = "COLDE_READER_REQUEST"
"""The variable that carries the request; a password on the command line would be seen by everybody."""

_ROOT = Path(__file__).resolve().parents[2]
"""Where `colde_cli` lies, which the working directory may have led to."""


_running: set[subprocess.Popen[bytes]] = set()
_broken_off = threading.Event()
_lock = threading.Lock()


@contextmanager
def readers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that read; when the work is broken off, nothing more is begun, and after Ctrl-C nothing finished."""
    pool = ThreadPoolExecutor(threads, "colde-read")
    try:
        yield pool
    except KeyboardInterrupt:
        with _lock:
            _broken_off.set()
            for process in _running:
                process.kill()
        pool.shutdown(cancel_futures=True)
        _broken_off.clear()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def sandboxed(
    program: Path, file: BinaryIO, request: dict[str, Any], seconds: float
) -> Iterator[Iterator[dict[str, Any]]]:
    """Run a reader script, and iterate over the JSON lines it answers, up to one that was cut off.

    Args:
        program: the script, which sets its own limits before it touches the file.
        file: what the script finds on its standard input; has a file descriptor.
        request: what to do and within which limits; `path` for `sys.path` is added.
        seconds: wall time after which the process is ended.
    """
    request = {**request, "path": [*(entry for entry in sys.path if entry), str(_ROOT)]}
    process = _start(program, file, {**os.environ, REQUEST: json.dumps(request)})
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.daemon = True
    watchdog.start()
    assert process.stdout is not None
    try:
        yield _messages(process.stdout)
    finally:
        watchdog.cancel()
        with _lock:
            _running.discard(process)
        process.kill()
        process.stdout.close()
        process.wait()


def _start(program: Path, file: BinaryIO, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with _lock:
        # A reader that Ctrl-C ended looks like one that failed, and would be followed by the next.
        if _broken_off.is_set():
            raise KeyboardInterrupt
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        _running.add(process)
    return process


def _messages(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The lines of an answer, up to one that was cut off when the process died."""
    for line in stream:
        try:
            yield json.loads(line)
        except ValueError:
            return
