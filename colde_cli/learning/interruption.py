"""End a run between two batches, so that it can be saved: at Ctrl-C, at SIGTERM, or when its time is up."""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
TIME_UP = 124
"""Exit status of a run whose time was up; `timeout` has the same."""


class Interruption:
    """Within its context the first signal is noted, and a second one interrupts at once.

    Before the training loop first asks, there is nothing to save, and signals act as usual.
    """

    def __init__(self, seconds: float | None = None) -> None:
        """Give the run so many seconds from now on; None sets no limit."""
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._received: int | None = None
        self._armed = False
        self._before: dict[int, object] = {}

    @property
    def status(self) -> int:
        """Exit status of the process that was stopped: 130 or 143 by a signal, 124 by the time."""
        return TIME_UP if self._received is None else 128 + self._received

    def asked(self) -> bool:
        """Return whether a signal was received or the time is up.

        The loop asks before every batch. The first question is never answered by the time, so that a run goes on
        by a batch at least, however long its data takes to read.
        """
        late = self._armed and self._deadline is not None and time.monotonic() >= self._deadline
        self._armed = True
        return late or self._received is not None

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None or not self._armed:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        self._received = number
