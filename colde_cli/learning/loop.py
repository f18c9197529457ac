"""The loop that every system is trained with: batches, validation after every epoch, the best weights kept.

After every epoch the validation pairs are scored, and the weights with the highest ROC-AUC are kept (CoLDE §4.1).
What a batch is and what it teaches is the business of those who inherit: `trainer.Trainer` for CoLDE,
`towers.trainer.TowerTrainer` for the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.learning import checkpoint
from colde_cli.learning.checkpoint import Checkpoint, Progress
from colde_cli.learning.processes import Processes
from colde_cli.learning.splits import Split

CLIP = 1.0
"""The most that the norm of a gradient may be."""

_WARM_UP = 0.1


class LoopRecipe(Protocol):
    """What the loop needs of the options of a run."""

    @property
    def epochs(self) -> int:
        """Passes over the data at most."""

    @property
    def patience(self) -> int:
        """Epochs without a better validation until the end; 0: all."""

    @property
    def learning_rate(self) -> float:
        """AdamW's peak, after warm-up."""

    @property
    def weight_decay(self) -> float:
        """AdamW's, decoupled."""


class LoopTask(Protocol):
    """What the loop needs to know of the data."""

    @property
    def split(self) -> Split:
        """Training documents and validation pairs."""

    @property
    def files(self) -> NDArray[np.int64]:
        """Number of the file that each document comes from, [N]."""

    @property
    def run(self) -> str:
        """Hash of recipe, data and backbone."""


class Observer(Protocol):
    """Told how the run goes; the loop neither prints nor writes logs itself."""

    def started(self, steps: int, done: int) -> None:
        """The run has so many steps, of which some were done before it was taken up."""

    def stepped(self, values: dict[str, float]) -> None:
        """A batch is done: step, loss, learning rate, gradient norm."""

    def validated(self, values: dict[str, float]) -> None:
        """An epoch is done and validated; epoch 0 is the untrained model."""


class Stopped(Exception):  # noqa: N818
    """The run was asked to stop, and is saved."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        progress: epochs and steps done, and the best epoch.
        untrained: validation figures before the first step, the control.
        trained: validation figures of the weights that are kept.
        scores: score of every validation pair with these weights.
        served: validation figures of the scores that the finished model gives, where they are made of more than the
            cosine that was trained.
    """

    progress: Progress
    untrained: PairMetrics
    trained: PairMetrics
    scores: tuple[float, ...]
    served: PairMetrics | None = None


class Loop(ABC):
    """One run, from the first batch to the best weights."""

    recipe: LoopRecipe
    task: LoopTask
    processes: Processes

    def prepare(self, model: nn.Module, epochs: list[int]) -> None:
        """Make optimiser and schedule for what of `model` is trained, and `epochs` of so many batches each."""
        self.steps = sum(epochs)
        self.trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.optimiser = torch.optim.AdamW(
            parameter_groups(model, self.recipe.weight_decay), self.recipe.learning_rate, betas=(0.9, 0.999)
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimiser, rate_factor(self.steps))
        self.progress = Progress()
        self.best = self._weights()
        self.untrained: PairMetrics

    @abstractmethod
    def _batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """The batches of an epoch."""

    @abstractmethod
    def _step(self, batch: NDArray[np.int64]) -> dict[str, float]:
        """One batch: loss, gradient, update."""

    @abstractmethod
    def _scores(self) -> NDArray[np.float64]:
        """Score of every validation pair."""

    def _epoch_done(self) -> None:  # noqa: B027 - most have nothing to do
        """What is to be done before an epoch is validated."""

    @property
    def _changing(self) -> dict[str, Tensor]:
        """What differs between two moments of the run."""
        return dict(self.trained)

    def run(
        self,
        folder: Path,
        observer: Observer,
        *,
        resume: Checkpoint | None = None,
        every: int = 0,
        stop: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Train, and leave the model with its best weights, in evaluation mode.

        Args:
            folder: where checkpoints lie.
            observer: is told how it goes.
            resume: go on from here.
            every: steps between checkpoints; one is written after every epoch in any case.
            stop: asked before every step; if True the run is saved and ends.

        Raises:
            Stopped: `stop` said so; the run is saved.
        """
        if resume is not None:
            self._restore(resume)
        else:
            self.untrained = self._validate()
            self._keep_if_best(self.untrained, 0)
        self.processes.agree_on_numbers()
        observer.started(self.steps, self.progress.step)
        if not self.progress.step:
            observer.validated({"epoch": 0, "loss": 0.0, **self.untrained.to_json()})
        while self.progress.epoch < self.recipe.epochs and not self._stale():
            self._epoch(folder, observer, every, stop)
        self._set_weights(self.best)
        scores = self._scores()
        return Outcome(replace(self.progress), self.untrained, self._metrics(scores), tuple(scores.tolist()))

    def _epoch(self, folder: Path, observer: Observer, every: int, stop: Callable[[], bool]) -> None:
        progress = self.progress
        batches = self._batches(progress.epoch)
        while progress.batch < len(batches):
            if self.processes.any(stop()):
                self._save(folder)
                raise Stopped
            values = self._step(batches[progress.batch])
            progress.batch += 1
            progress.step += 1
            progress.loss += values["loss"]
            observer.stepped({"step": progress.step, "epoch": progress.epoch, **values})
            if every and progress.step % every == 0:
                self._save(folder)
        self._epoch_done()
        metrics = self._validate()
        observer.validated(
            {"epoch": progress.epoch + 1, "loss": progress.loss / len(batches), **metrics.to_json()}
        )
        progress.epoch, progress.batch, progress.loss = progress.epoch + 1, 0, 0.0
        self._keep_if_best(metrics, progress.epoch)
        self._save(folder)

    def _update(self) -> dict[str, float]:
        """Use up the gradients: clip, step, schedule."""
        norm = nn.utils.clip_grad_norm_(self.trained.values(), CLIP)
        rate = float(self.scheduler.get_last_lr()[0])
        self.optimiser.step()
        self.scheduler.step()
        self.optimiser.zero_grad(set_to_none=True)
        return {"learning_rate": rate, "gradient_norm": float(norm)}

    def _validate(self) -> PairMetrics:
        return self._metrics(self._scores())

    def _metrics(self, scores: NDArray[np.float64]) -> PairMetrics:
        split = self.task.split
        return pair_metrics(split.related, scores, fields=self.task.files[split.pairs[:, 0]])

    def _keep_if_best(self, metrics: PairMetrics, epoch: int) -> None:
        self.progress.stale += 1
        if metrics.field_auc > self.progress.best_auc:
            self.progress.best_auc, self.progress.best_epoch, self.progress.stale = (
                metrics.field_auc,
                epoch,
                0,
            )
            self.best = self._weights()

    def _stale(self) -> bool:
        return bool(self.recipe.patience) and self.progress.stale >= self.recipe.patience

    def _weights(self) -> dict[str, Tensor]:
        return {name: weight.detach().cpu().clone() for name, weight in self._changing.items()}

    @torch.no_grad()
    def _set_weights(self, weights: dict[str, Tensor]) -> None:
        for name, weight in self._changing.items():
            weight.copy_(weights[name])

    def _save(self, folder: Path) -> None:
        if not self.processes.main:
            return
        optimiser, scheduler = self.optimiser.state_dict(), self.scheduler.state_dict()
        states = checkpoint.random_states()
        saved = Checkpoint(
            self.task.run,
            replace(self.progress),
            self.untrained.to_json(),
            self._weights(),
            self.best,
            optimiser,
            scheduler,
            states,
        )
        checkpoint.save(saved, folder)

    def _restore(self, saved: Checkpoint) -> None:
        self.progress, self.best = saved.progress, saved.best
        self.untrained = PairMetrics(**saved.untrained)
        self._set_weights(saved.weights)
        self.optimiser.load_state_dict(saved.optimiser)
        self.scheduler.load_state_dict(saved.scheduler)
        checkpoint.set_random_states(saved.random)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Trained weights in two groups: matrices decay; biases, norms, gates and embeddings do not."""
    spared = {
        id(weight)
        for module in model.modules()
        if isinstance(module, nn.Embedding | nn.LayerNorm)
        for weight in module.parameters(recurse=False)
    }
    groups: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for weight in model.parameters():
        if weight.requires_grad:
            groups[weight.ndim > 1 and id(weight) not in spared].append(weight)
    decays = ((True, weight_decay), (False, 0.0))
    return [{"params": groups[kind], "weight_decay": decay} for kind, decay in decays]


def rate_factor(steps: int) -> Callable[[int], float]:
    """The learning rate as a share of its peak: 10 % of the steps rising linearly, the rest falling to zero."""
    warm = max(1, round(_WARM_UP * steps))

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / (warm + 1)
        return max(0.0, (steps - step) / max(1, steps - warm))

    return factor
