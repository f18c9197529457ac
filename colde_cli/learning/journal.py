"""The log of a run: `metrics.jsonl`, and TensorBoard where it is installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

METRICS = "metrics.jsonl"


class Journal:
    """Writes a JSON object a line for every batch and every validation; `event` says which of the two."""

    def __init__(self, folder: Path) -> None:
        """Write into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / METRICS
        self._step = 0
        self._board = _board(folder / "tensorboard")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            self._board.close()

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
        if self._board is not None:
            for name in sorted(values.keys() - {"step", "epoch", "pairs", "positives"}):
                self._board.add_scalar(f"{event}/{name}", values[name], self._step)


def _board(folder: Path) -> Any:  # noqa: ANN401 (a class of an optional package)
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder))
