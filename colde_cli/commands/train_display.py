"""What `colde train` shows: bars on a terminal, a line per epoch elsewhere, the result on stdout."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from colde_cli.learning.job import Job
    from colde_cli.learning.loop import Outcome


class Display:
    """Reports phases, batches and epochs to stderr; what the run came to goes to stdout."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def phase(self, text: str, total: int | None = None) -> None:
        """A new phase begins, of so many steps if known."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(text, total=total)
        if not self._console.is_terminal:
            self._console.print(f"{text} …" if total is None else f"{text} ({total:,}) …")

    def advance(self, count: int) -> None:
        """So many steps of the phase are done."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def started(self, steps: int, done: int) -> None:
        """Training begins."""
        self.phase("Training", steps)
        self.advance(done)

    def stepped(self, values: dict[str, float]) -> None:
        """A batch is done."""
        if self._task is not None:
            self._bars.update(self._task, description=f"Training, loss {values['loss']:.3f}")
        self.advance(1)

    def validated(self, values: dict[str, float]) -> None:
        """An epoch is done; epoch 0 is the untrained model."""
        name = f"epoch {values['epoch']:.0f}" if values["epoch"] else "untrained"
        loss = f"loss {values['loss']:.4f}, " if values["epoch"] else ""
        self._console.print(f"{name}: {loss}validation AUC {values['field_auc']:.4f}, F1 {values['f1']:.4f}")

    def stopped(self, job: Job[Any]) -> None:
        """The run was interrupted and is saved."""
        self._bars.stop()
        self._console.print(f"Stopped and saved in {job.workshop}. Go on with the same command and --resume.")

    def finished(self, job: Job[Any], outcome: Outcome) -> None:
        """The model is written."""
        self._bars.stop()
        if self._quiet:
            return
        if not outcome.progress.best_epoch:
            self._console.print(
                "No epoch was better than the untrained model, which was kept.", style="yellow"
            )
        kept = outcome.served or outcome.trained
        others = [("its vectors alone", outcome.trained)] if outcome.served else []
        others.append(("untrained", outcome.untrained))
        areas = ", ".join(f"{name} {found.field_auc:.4f}" for name, found in others)
        best = ", ".join(f"{found.f1:.4f}" for _, found in others)
        sys.stdout.write(
            f"{job.output}: validation AUC {kept.field_auc:.4f} ({areas}), F1 {kept.f1:.4f} ({best}), "
            f"threshold {kept.threshold:.4f}, {kept.pairs:,} pairs, best epoch {outcome.progress.best_epoch}\n"
        )
