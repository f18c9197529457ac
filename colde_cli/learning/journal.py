"""What surrounds the loop of a training: the log of the run, and the wish to end it between two batches."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

METRICS = "metrics.jsonl"


class Journal:
    """Writes a line of JSON for every batch and for every validation; `event` says which it is."""

    def __init__(self, folder: Path) -> None:
        """Write into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / METRICS
        self._step = 0

    def started(self, steps: int, done: int) -> None:
        """Delete what was written after the step from which a run is resumed: it will be done again."""
        self._step = done
        kept = [line for line in self._lines() if done and json.loads(line)["step"] <= done]
        self._path.write_text("".join(kept), encoding="utf-8")

    def stepped(self, values: dict[str, float]) -> None:
        """Write a line for a batch."""
        self._step = int(values["step"])
        self._write("step", values)

    def validated(self, values: dict[str, float]) -> None:
        """Write a line for a validation."""
        self._write("validation", {"step": self._step, **values})

    def _lines(self) -> list[str]:
        if not self._path.is_file():
            return []
        # A run that was killed may leave half a line.
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        return [line for line in lines if line.endswith("}\n")]

    def _write(self, event: str, values: dict[str, float]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **values}) + "\n")


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
TIME_UP = 124
"""Exit status of a run whose time was up; `timeout` has the same."""


class Interruption:
    """Within its context the first signal is noted, and a second one interrupts at once.

    Before the training loop first asks, there is nothing to save, and signals act as usual.
    """

    def __init__(self, seconds: float | None = None) -> None:
        """Limit the time of the run from now on, in seconds; None sets no limit."""
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

        The loop asks before every batch. The time counts from its second question on: however long the data takes
        to read, a run goes on by one batch at least.
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
