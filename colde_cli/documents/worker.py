"""Answer requests inside a reader process, which `sandbox.py` starts and keeps.

Where the system can, every file is read in a child of its own, forked after the libraries are loaded: nothing of one
file reaches the next, and a crash costs the child alone. Elsewhere the worker itself reads one file after another.
Reader processes run isolated (`python -I -S`). An engine is a module with a function `answer`, and perhaps `warm_up`;
from colde it imports only files like this one, which need nothing but the standard library.

    argv     the module, and "children" or "here"
    stdin    per request a line of JSON (the task and its limits, `size`), then `size` bytes of the file
    stdout   JSON lines: those of the engine, then a blank line and `done` (`retire`: the worker should be replaced)

The end of standard input ends the worker, in the middle of a file as well: so it never outlives its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

ON = "[x]"
"""Text of a checkbox or a radio button of a PDF that is on."""
HIDDEN = 2 | 32
"""The flags Hidden and NoView of what a PDF does not show (ISO 32000-1, table 165)."""
Request = dict[str, Any]
Answer = Callable[[Request, bytes], None]
"""Writes the lines of one answer. If the process is `kept`, it closes what it opened."""
MAX_RESIDENT = 384 << 20
"""Bytes in memory after which a worker that reads by itself is replaced; libraries leak."""
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def main() -> None:
    """Load an engine, and answer requests until standard input ends."""
    engine = import_module(sys.argv[1])
    if sys.argv[2] == "children" and _has_children():
        _serve_in_children(engine.answer, getattr(engine, "warm_up", None))
    else:
        _serve_here(engine.answer)


def limit_process(request: Mapping[str, Any], used: float = 0.0) -> None:
    """Limit memory, processor time and core dumps, where the system can.

    Args:
        request: `memory` (bytes) and `seconds` (processor time).
        used: processor time that earlier requests took.
    """
    try:
        import resource
    except ImportError:
        return
    wanted = (
        (resource.RLIMIT_AS, int(request["memory"])),
        (resource.RLIMIT_CPU, math.ceil(used + request["seconds"])),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, amount in wanted:
        _, most = resource.getrlimit(kind)
        value = amount if most == resource.RLIM_INFINITY else min(amount, most)
        with contextlib.suppress(ValueError, OSError):  # some systems know a limit but refuse to set it
            resource.setrlimit(kind, (value, most))


def _resident_bytes() -> int:
    """The most memory that this process ever held, in bytes; 0 where the system does not tell."""
    # The figure of getrusage includes the memory of the parent, up to `exec`, on Linux.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:  # noqa: PTH123
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith(b"VmHWM:"))
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def limit_step(seconds: float) -> None:
    """End the process if the next step takes more processor time than this; 0 ends the limit.

    A busy machine must not cost a page: who waits for its turn is not counted. A step that sleeps is ended by the
    wall time of `sandboxed`.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def write(kind: str, **values: object) -> None:
    """Write a line of the answer; it may be lost if the process dies."""
    sys.stdout.write(json.dumps({"kind": kind, **values}))
    sys.stdout.write("\n")


def send(kind: str, **values: object) -> None:
    """Send a line of the answer at once."""
    write(kind, **values)
    sys.stdout.flush()


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
    sys.stdout.write("\n")
    send("done", retire=retire)


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
        limit_process(request, time.process_time())
        answer({**request, "kept": True}, data)
        limit_step(0)
        del request, data
        _done(retire=_resident_bytes() > MAX_RESIDENT)


def _serve_in_children(answer: Answer, warm_up: Callable[[], None] | None) -> None:
    """Fork a child for each request; end it with the parent of this process.

    `warm_up` does what every child would do anew, such as looking for the fonts of the system; it writes nothing.
    """
    count = 0
    while (item := _next_request()) is not None:
        count += 1
        if count == 2 and warm_up is not None:  # for one file it would cost more than it saves
            warm_up()
            gc.freeze()
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
