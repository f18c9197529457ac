"""Run readers in separate processes, under limits that the operating system enforces.

A reader process is kept for the next file of its kind, as its start costs more than a short file. It gets each file
through a pipe and needs no rights of its own; before it touches the file it sets limits on itself
(`worker.py`). One that dies, or that has to be killed, is replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

MAX_FILES = 200
"""Files after which a reader process is replaced, as libraries leak."""
_RESTARTS = 3
CHILDREN = sys.platform == "linux"
"""Whether each file is read in a forked child of the reader process."""
_START = (
    "import json, os, sys; sys.path.extend(json.loads(os.environ['COLDE_READER_PATH']));"
    " from colde_cli.documents.worker import main; main()"
)
_ROOT = Path(__file__).resolve().parents[2]
"""The folder that contains `colde_cli`; it may be on `sys.path` only as the working directory."""


class _Process:
    """A reader process, which answers one request at a time."""

    def __init__(self, engine: str) -> None:
        path = [*(entry for entry in sys.path if entry), str(_ROOT)]
        self.files = 0
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, engine, "children" if CHILDREN else "here"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "COLDE_READER_PATH": json.dumps(path)},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self.kill = self._process.kill  # from any thread

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End it, and free what it held."""
        self.kill()
        with contextlib.suppress(OSError):  # what it was sent last did not arrive
            self._input.close()
        self._output.close()
        self._process.wait()

    def send(self, request: dict[str, Any], file: BinaryIO) -> None:
        """Send a request and its file. If the process is dead, the answer will show it."""
        self.files += 1
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        with contextlib.suppress(BrokenPipeError):
            # The password must not stand on the command line, nor in the environment: both can be read.
            self._input.write(json.dumps({**request, "size": size}).encode() + b"\n")
            shutil.copyfileobj(file, self._input, 1 << 20)
            self._input.flush()

    def lines(self) -> Iterator[dict[str, Any]]:
        """Decode the lines of an answer; the last ones may be lost or cut, if the process died."""
        for line in self._output:
            with contextlib.suppress(ValueError):
                yield json.loads(line)


class _Running:
    """The readers of one call, which end together. Threads of `readers` know theirs."""

    def __init__(self) -> None:
        self.ended = False
        self.busy: set[_Process] = set()

    def end(self) -> None:
        """Kill those at work, and have no other start; from any thread."""
        with _lock:
            self.ended = True
            for process in self.busy:
                process.kill()


_idle: dict[str, list[_Process]] = {}
_lock = threading.Lock()
_local = threading.local()


@contextmanager
def readers(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Start threads that read. An error cancels waiting files; Ctrl-C or a closed generator also ends readers."""
    running = _Running()
    pool = ThreadPoolExecutor(threads, "colde-read", lambda: setattr(_local, "running", running))
    try:
        yield pool
    except (KeyboardInterrupt, GeneratorExit):
        running.end()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def readers_that_end() -> Iterator[Callable[[], None]]:
    """Let another thread end the readers that this thread waits for, by calling what this yields."""
    running = _local.running = _Running()
    try:
        yield running.end
    finally:
        _local.running = None


def start_reader(engine: str, count: int = 1) -> None:
    """Start reader processes before they are needed, up to `count` idle ones."""
    with _lock:
        waiting = _idle.setdefault(engine, [])
        waiting.extend(_Process(engine) for _ in range(count - len(waiting)))


@contextmanager
def sandboxed(
    engine: str, file: BinaryIO, request: dict[str, Any], seconds: float
) -> Iterator[Iterator[dict[str, Any]]]:
    """Let a reader process read a file, and iterate over the JSON lines of its answer, up to a truncated line.

    Args:
        engine: the module that answers in the process.
        file: open and seekable.
        request: the task and its limits: `memory` in bytes, `seconds` of processor time.
        seconds: wall time after which the process is killed.
    """
    process = _take(engine)
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.daemon = True
    watchdog.start()
    kept = False

    def messages() -> Iterator[dict[str, Any]]:
        nonlocal kept
        for message in process.lines():
            if message["kind"] == "done":
                kept = not message["retire"] and process.files < MAX_FILES
                return
            yield message

    try:
        process.send(request, file)
        yield messages()
    finally:
        watchdog.cancel()
        _give_back(engine, process, kept=kept)


def each_of(
    engine: str, file: BinaryIO, request: dict[str, Any], wanted: Mapping[Any, Any], seconds: float
) -> Iterator[dict[str, Any]]:
    """Ask for several things of a file; one at which the process dies is left out, and another one goes on.

    Args:
        engine: the module that answers; it sends `begin` before each of them, and `end`.
        file: open and seekable.
        request: as for `sandboxed`; `wanted` is added.
        wanted: the things, and what the engine has to know of each.
        seconds: wall time of a process.
    """
    left = dict(wanted)
    for _ in range(_RESTARTS + 1):
        before = len(left)
        if not left:
            return
        with sandboxed(engine, file, {**request, "wanted": [*left.items()]}, seconds) as messages:
            for message in messages:
                if message["kind"] == "end":
                    return
                if message["kind"] == "begin":
                    left.pop(message["of"], None)
                else:
                    yield message
        if len(left) == before:
            return  # it could not be started


def _take(engine: str) -> _Process:
    running: _Running | None = getattr(_local, "running", None)
    with _lock:
        # A reader killed by Ctrl-C looks like a failed one: without this, its successor would start.
        if running is not None and running.ended:
            raise KeyboardInterrupt
        waiting = _idle.setdefault(engine, [])
        while waiting and not waiting[-1].alive:
            waiting.pop().close()
        process = waiting.pop() if waiting else _Process(engine)
        if running is not None:
            running.busy.add(process)
        return process


def _give_back(engine: str, process: _Process, *, kept: bool) -> None:
    running: _Running | None = getattr(_local, "running", None)
    with _lock:
        if running is not None:
            running.busy.discard(process)
            kept = kept and not running.ended
        if kept:
            _idle.setdefault(engine, []).append(process)
            return
    process.close()


def end_idle() -> None:
    """End the reader processes that have nothing to do."""
    with _lock:
        processes = [process for waiting in _idle.values() for process in waiting]
        _idle.clear()
    for process in processes:
        process.close()


def kill_idle() -> None:
    """Kill the reader processes that have nothing to do, from a signal handler: it must not wait for a lock."""
    for waiting in list(_idle.values()):
        for process in list(waiting):
            process.kill()


def _forget() -> None:
    """Leave the reader processes to the process that was forked: two must not write into the same pipe."""
    _idle.clear()
    _lock.release()


atexit.register(end_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget)
