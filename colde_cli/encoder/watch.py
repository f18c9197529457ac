"""Stop a graph that runs or loads for too long, or fills the memory: a model may come from a stranger.

ONNX Runtime stops between two operations when it is told to. One thread looks at all calls that are under way, thirty
times a second. It counts the processor time of the thread that made the call, where the system tells, so that a busy
machine stops nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

SECONDS = 8.0
"""Processor time that a call may take in any case: more than a hundred times that of a chunk."""
MEMORY = 640 << 20
"""Bytes by which the process may grow in a call. Other threads, such as those that score, share them."""
_TICK = 0.03
_PATIENCE = 1.25
"""A call that goes on after it was stopped ends the program when it is over its limits by this factor."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Watch:
    """A call that is watched.

    Attributes:
        reason: why it was stopped, as the end of a sentence; "" if it was not.
    """

    def __init__(self, name: object, stop: Callable[[], None], seconds: float, memory: int) -> None:
        self.reason = ""
        self._name, self._stop, self._seconds, self._memory = name, stop, seconds, memory
        self._clock: Callable[[], float] = time.monotonic
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
        self._started, self._before = self._clock(), _resident()

    def look(self) -> None:
        """Stop the call if it is over a limit, or the program if that was of no use."""
        seconds, memory = 0.0, _resident() - self._before
        with contextlib.suppress(OSError):  # the thread has just ended
            seconds = self._clock() - self._started
        if not self.reason:
            if seconds > self._seconds:
                self.reason = f"takes more than {self._seconds:.0f} seconds"
            if memory > self._memory:
                self.reason = f"takes more than {self._memory / 1e6:,.0f} MB of memory"
            if self.reason:
                self._stop()
        elif seconds > _PATIENCE * self._seconds or memory > _PATIENCE * self._memory:
            end_program(f"{self._name} {self.reason}; colde does not run such a model.")


def end_program(sentence: str) -> None:
    """Does nothing in a program that only uses colde; the command line puts its own way to end in place of this."""


_watches: set[Watch] = set()
_changed = threading.Condition()
_thread: threading.Thread | None = None


@contextmanager
def watched(name: object, stop: Callable[[], None], seconds: float = 0.0, memory: int = MEMORY) -> Iterator[Watch]:
    """Watch a call of this thread.

    Args:
        stop: makes the call end soon, with an exception; called from another thread.
        seconds: of processor time, beyond `SECONDS`.
        memory: bytes by which the process may grow.
    """
    global _thread  # noqa: PLW0603 - one for the process
    watch = Watch(name, stop, SECONDS + seconds, memory)
    with _changed:
        if _thread is None or not _thread.is_alive():  # also in a process that was forked since
            _thread = threading.Thread(target=_look_around, name="colde-watch", daemon=True)
            _thread.start()
        _watches.add(watch)
        if len(_watches) == 1:
            _changed.notify()
    try:
        yield watch
    finally:
        with _changed:
            _watches.discard(watch)


def _look_around() -> None:
    while True:
        with _changed:
            while not _watches:
                _changed.wait()
        time.sleep(_TICK)
        with _changed:
            watches = list(_watches)
        for watch in watches:
            watch.look()


def _resident() -> int:
    """Bytes of this process in memory, files that are mapped aside; 0 where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        # Another thread may be searching an index of a gigabyte.
        resident, shared = file.read().split()[1:3]
        return (int(resident) - int(shared)) * _PAGE
    return 0
