"""Where the time of a command goes: `--verbose` shows it at the end.

Stages of the main thread are counted, each without the stages within it. What other threads do at the same time, such
as reading while the model opens, counts where the main thread waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

page_read: Callable[[int, int], None] | None = None
"""Called where pages of a document are read by OCR, with how many are done and how many there are, from any thread."""
_SHOWN = 0.005  # stages that took less are part of the rest


class _Stopwatch:
    """Counts the seconds of each stage."""

    def __init__(self) -> None:
        self.begun = self.since = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.running: list[str] = []

    def turn(self) -> None:
        """Count the time since the last turn towards the stage that was running."""
        now = time.perf_counter()
        if self.running:
            name = self.running[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self.since
        self.since = now


_watch = _Stopwatch()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count the time of a block towards the stage `name`, if the main thread runs it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _watch.turn()
    _watch.running.append(name)
    try:
        yield
    finally:
        _watch.turn()
        _watch.running.pop()


def summary() -> str:
    """All stages so far: `Took 1.32 s: reading 0.21 s, encoding 0.64 s, start and rest 0.47 s.`."""
    total = time.perf_counter() - _watch.begun
    shown = {name: seconds for name, seconds in _watch.seconds.items() if seconds >= _SHOWN}
    listed = [*shown.items(), ("start and rest", total - sum(shown.values()))]
    return f"Took {total:.2f} s: {', '.join(f'{name} {seconds:.2f} s' for name, seconds in listed)}."
