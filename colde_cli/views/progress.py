"""Show on a terminal how far long work is: bars on stderr with the total and the time left, gone when the work ends."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from colde_cli.corpus.pipeline import StageClock

_DELAY = 0.5
"""Seconds of work before bars are worth their flicker."""
_PAUSE = 0.2  # seconds between two looks


@dataclass(frozen=True, slots=True)
class Bar:
    """How much of a part of the work is done; `total` is None where it is not known."""

    label: str
    done: float = 0
    total: int | None = None


@contextmanager
def progress(
    label: str, unit: str = "", total: int | None = None, *, show: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show one bar; yield a function to advance it, from any thread.

    `unit` names what is counted; "" counts nothing. Without a `total` the count runs.
    """
    lock, done = threading.Lock(), 0

    def advance(number: int) -> None:
        nonlocal done
        with lock:
            done += number

    with bars(lambda: [Bar(label, done, total)], unit, show=show):
        yield advance


@contextmanager
def corpus_progress(clock: StageClock, *, show: bool = True) -> Iterator[None]:
    """Show how far reading and encoding many documents are; `show` as of `bars`."""

    def look() -> list[Bar]:
        found = clock.progress
        if found.files is None:
            return [Bar("Finding documents")]
        return [Bar("Reading", found.read, found.files), Bar("Encoding", found.encoded, found.files)]

    with bars(look, "documents", show=show):
        yield


@contextmanager
def bars(look: Callable[[], Sequence[Bar]], unit: str, *, show: bool = True) -> Iterator[None]:
    """Show bars after a moment of work, until the block ends; nothing on a stderr that is no terminal.

    `look` says how far the work is: it is called several times a second, from another thread.
    """
    if not show or not (sys.stderr.isatty() or os.environ.get("FORCE_COLOR")):
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_draw, args=(look, unit, ended), name="colde-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _draw(look: Callable[[], Sequence[Bar]], unit: str, ended: threading.Event) -> None:
    """Draw until the work has ended. Rich is imported when there is something to draw."""
    if ended.wait(_DELAY):
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        _draw_on(console, look, unit, ended)


def _draw_on(console: Console, look: Callable[[], Sequence[Bar]], unit: str, ended: threading.Event) -> None:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[count]}")]
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as display:
        tasks: dict[str, TaskID] = {}
        while True:
            seen = list(look())
            for label, task in tasks.items():
                display.update(task, visible=label in {bar.label for bar in seen})
            for bar in seen:
                if bar.label not in tasks:
                    tasks[bar.label] = display.add_task(bar.label, count="")
                task = tasks[bar.label]
                display.update(task, total=bar.total, completed=bar.done)
                display.update(task, count=_count(bar, unit, display.tasks[task].time_remaining))
            if ended.wait(_PAUSE):
                return


def _count(bar: Bar, unit: str, left: float | None) -> str:
    """How much is done, of how much, and how long the rest takes."""
    if not unit or (not bar.total and not bar.done):
        return ""
    if bar.total is None:
        return f"{int(bar.done):,} {unit}"
    count = f"{int(bar.done):,}/{bar.total:,} {unit}"
    return count if left is None or bar.done >= bar.total else f"{count}, {_span(left)} left"


def _span(seconds: float) -> str:
    """A span of time in one unit, since it is a guess."""
    for size, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
