"""Handle Ctrl-C and SIGTERM between two batches, so that the run can be saved."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Within its context the first signal is noted, and a second one interrupts at once.

    Before the training loop first asks, there is nothing to save, and signals act as usual.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._armed = False
        self._before: dict[int, object] = {}

    @property
    def status(self) -> int:
        """Exit status of a process that ended by the signal: 130 or 143."""
        return 128 + (self._received or 0)

    def asked(self) -> bool:
        """Return whether a signal was received."""
        self._armed = True
        return self._received is not None

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
