"""Checkpoints: the state of a run on disk, from which it goes on exactly where it stopped."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from colde_cli.errors import ModelError, OptionError
from colde_cli.files import atomic_file

_FILE = "checkpoint.pt"


@dataclass(slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        epoch: epochs done.
        batch: batches done of the current epoch.
        step: batches done in all.
        loss: sum of the losses of this epoch's batches.
        best_epoch: the epoch that was validated best; 0 is the untrained model.
        best_step: batches done by then, which is the number of updates of the weights that are kept.
        best_auc: its ROC-AUC; -1 before the first validation.
        stale: epochs since the best one.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss: float = 0.0
    best_epoch: int = 0
    best_step: int = 0
    best_auc: float = -1.0
    stale: int = 0

    def add_batch(self, loss: float) -> None:
        """Count a batch."""
        self.batch += 1
        self.step += 1
        self.loss += loss

    def end_epoch(self, batches: int) -> float:
        """Count an epoch of `batches` batches, and return their mean loss."""
        mean = self.loss / batches
        self.epoch, self.batch, self.loss = self.epoch + 1, 0, 0.0
        return mean

    def validated(self, auc: float) -> bool:
        """Note how the epochs so far were validated, and return whether that is the best result."""
        self.stale += 1
        best = auc > self.best_auc
        if best:
            self.best_auc, self.best_epoch, self.best_step, self.stale = auc, self.epoch, self.step, 0
        return best


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A run as it stood after a batch.

    Attributes:
        run: hash of recipe, data and backbone; no other run goes on from this checkpoint.
        untrained: validation figures before the first step, the baseline.
        weights: all that training changes, by name.
        best: the same at the best epoch.
        optimiser: state of AdamW.
        scheduler: state of the learning rate.
        random: states of PyTorch's generators: the CPU's, and each GPU's.
        averages: of the weights, where they are averaged.
        memory: what the system remembers of earlier batches.
    """

    run: str
    progress: Progress
    untrained: dict[str, Any]
    weights: dict[str, Tensor]
    best: dict[str, Tensor]
    optimiser: dict[str, Any]
    scheduler: dict[str, Any]
    random: list[Tensor] = field(default_factory=list)
    averages: dict[str, Tensor] = field(default_factory=dict)
    memory: dict[str, Tensor] = field(default_factory=dict)


def save(checkpoint: Checkpoint, folder: Path) -> None:
    """Write a checkpoint into the folder of its run; a write that fails leaves the last one whole."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {item.name: getattr(checkpoint, item.name) for item in fields(Checkpoint)}
    with atomic_file(folder / _FILE) as staged:
        torch.save({**values, "progress": asdict(checkpoint.progress)}, staged)


def exists(folder: Path) -> bool:
    """Return whether a run in this folder can be resumed."""
    return (folder / _FILE).is_file()


def load(folder: Path, run: str) -> Checkpoint:
    """Read the checkpoint in `folder`.

    Raises:
        OptionError: there is none, or it belongs to another recipe, other data or another backbone.
        ModelError: it is damaged.
    """
    path = folder / _FILE
    if not path.is_file():
        raise OptionError(f"There is nothing to resume in {folder}; train without --resume.")
    try:
        # Tensors and plain values only: a checkpoint cannot run code.
        values = torch.load(path, map_location="cpu", weights_only=True)
        checkpoint = Checkpoint(**{**values, "progress": Progress(**values["progress"])})
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, EOFError) as error:
        raise ModelError(f"{path} is damaged; delete it and train from the start.") from error
    if checkpoint.run != run:
        raise OptionError(
            f"The run in {folder} had other options, data or another backbone; repeat them with --resume, "
            "or start anew with --overwrite."
        )
    return checkpoint


def random_states() -> list[Tensor]:
    """Return the states of PyTorch's generators; those of NumPy follow from seed and step."""
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])]


def set_random_states(states: list[Tensor]) -> None:
    """Set PyTorch's generators to these states."""
    torch.set_rng_state(states[0])
    if torch.cuda.is_available() and len(states) > 1:
        torch.cuda.set_rng_state_all(states[1:])


def discard(folder: Path) -> None:
    """Delete the checkpoint of a run that is finished."""
    (folder / _FILE).unlink(missing_ok=True)
