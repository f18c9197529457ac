"""Run a reader in a separate process, under limits that the operating system enforces.

The reader sets the limits on itself (`limits.py`) before it touches the file.
"""

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
"""Environment variable with the request; a password on the command line would be visible to everybody."""

_ROOT = Path(__file__).resolve().parents[2]
"""The folder that contains `colde_cli`; it may be on `sys.path` only as the working directory."""

_running: set[subprocess.Popen[bytes]] = set()
_interrupted = threading.Event()
_lock = threading.Lock()


@contextmanager
def readers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Start threads that read. An error cancels waiting files; Ctrl-C or a closed generator also ends readers."""
    pool = ThreadPoolExecutor(threads, "colde-read")
    try:
        yield pool
    except (KeyboardInterrupt, GeneratorExit):
        with _lock:
            _interrupted.set()
            for process in _running:
                process.kill()
        pool.shutdown(cancel_futures=True)
        _interrupted.clear()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def sandboxed(
    program: Path, file: BinaryIO, request: dict[str, Any], seconds: float
) -> Iterator[Iterator[dict[str, Any]]]:
    """Run a reader script and iterate over the JSON lines of its answer, up to a truncated line.

    Args:
        program: the script.
        file: standard input of the script; needs a file descriptor.
        request: the task and its limits; `path` for `sys.path` is added.
        seconds: wall time after which the process is killed.
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
        # A reader killed by Ctrl-C looks like a failed one: without this, its successor would start.
        if _interrupted.is_set():
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
    """Decode the lines of an answer; the last one may be truncated, if the process died."""
    for line in stream:
        try:
            yield json.loads(line)
        except ValueError:
            return
