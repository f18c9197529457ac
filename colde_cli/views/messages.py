"""Messages on stderr: errors, warnings, notes and progress, never data."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from colde_cli.views.wording import plain

_DELAY = 1.0
"""Seconds of work before a progress bar is worth its flicker."""


def fail(sentence: str) -> None:
    """Print the one line of an error."""
    _line(f"Error: {sentence}", "red")


def warn(sentence: str) -> None:
    """Print one line of warning."""
    _line(f"Warning: {sentence}", "yellow")


def note(sentence: str) -> None:
    """Print one line of `--verbose`."""
    _line(sentence, "dim")


def _line(text: str, style: str) -> None:
    # One line on any terminal, for scripts; no markup, because paths hold brackets and colons.
    Console(stderr=True, highlight=False, emoji=False).print(
        plain(text), style=style, markup=False, soft_wrap=True
    )


@contextmanager
def progress(
    label: str, unit: str, total: int | None = None, *, show: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on the terminal after a second of work; yield a function to advance it.

    Args:
        label: names the work.
        unit: names what is counted.
        total: None for a running count.
        show: False hides the bar; so does a stderr that is no terminal.
    """
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield lambda number: None
        return
    count = (BarColumn(), MofNCompleteColumn()) if total else (TextColumn("{task.completed}"),)
    bar = Progress(
        SpinnerColumn(), TextColumn(label), *count, TextColumn(unit), console=console, transient=True
    )
    task = bar.add_task(label, total=total)
    started, lock = time.monotonic(), threading.Lock()

    def advance(number: int) -> None:
        with lock:
            bar.advance(task, number)
            if time.monotonic() - started > _DELAY and not bar.live.is_started:
                bar.start()

    try:
        yield advance
    finally:
        bar.stop()
