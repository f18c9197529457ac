"""Answer requests inside a reader process, which `sandbox.py` starts and keeps.

Where the system can, every file is read in a child of its own, forked after the libraries are loaded: nothing of one
file reaches the next, and a crash costs the child alone. Elsewhere the worker itself reads one file after another.

    argv     "children" or "here"
    stdin    per request a line of JSON (the task and its limits, `size`), then `size` bytes of the file
    stdout   JSON lines: those of the reader, then a blank line and `done` (`retire`: the worker should be replaced)

The end of standard input ends the worker, in the middle of a file as well: so it never outlives its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

from colde_cli.documents.limits import limit_process, limit_step, processor_seconds, resident_bytes

Request = dict[str, Any]
Answer = Callable[[Request, bytes], None]

MOST_RESIDENT = 384 << 20
"""Bytes in memory after which a worker that reads by itself is replaced; libraries leak."""
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def serve(answer: Answer) -> None:
    """Answer requests until standard input ends.

    Args:
        answer: writes the lines of one answer. If the process is `kept`, it closes what it opened.
    """
    if sys.argv[1:] == ["children"] and _has_children():
        _serve_in_children(answer)
    else:
        _serve_here(answer)


def _has_children() -> bool:
    """Whether this system can fork and wait for a child and for its own input at the same time."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _next_request() -> tuple[Request, bytes] | None:
    """Read a request; None at the end of the input."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return None
    request: Request = json.loads(line)
    data = sys.stdin.buffer.read(request["size"])
    return (request, data) if len(data) == request["size"] else None


def _done(*, retire: bool) -> None:
    # The blank line ends a line that a dying child left unfinished.
    sys.stdout.write("\n" + json.dumps({"kind": "done", "retire": retire}) + "\n")
    sys.stdout.flush()


def _serve_here(answer: Answer) -> None:
    """Read in this process. A thread waits for requests, and for the end of the parent."""
    import queue
    import threading

    requests: queue.SimpleQueue[tuple[Request, bytes]] = queue.SimpleQueue()

    def take() -> None:
        while (item := _next_request()) is not None:
            requests.put(item)
        os._exit(0)

    threading.Thread(target=take, daemon=True).start()
    while True:
        request, data = requests.get()
        limit_process(request, processor_seconds())
        answer({**request, "kept": True}, data)
        limit_step(0)
        del request, data
        _done(retire=resident_bytes() > MOST_RESIDENT)


def _serve_in_children(answer: Answer) -> None:
    """Fork a child for each request; end it with the parent of this process."""
    while (item := _next_request()) is not None:
        child = os.fork()
        if not child:
            _be_child(answer, *item)
        del item
        _wait(child)
        _done(retire=False)


def _be_child(answer: Answer, request: Request, data: bytes) -> None:
    status = 1
    try:
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        limit_process(request)
        answer({**request, "kept": False}, data)
        sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)  # without the exit handlers of libraries, which can hang or fail


def _wait(child: int) -> None:
    """Wait for a child; end it and this process if the parent is gone."""
    process = os.pidfd_open(child)
    # Between two requests nothing arrives but the end.
    ready, _, _ = select.select([process, sys.stdin], [], [])
    os.close(process)
    if sys.stdin in ready:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)
