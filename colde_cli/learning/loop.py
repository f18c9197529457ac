"""The training loop of every system: batches, a step for each, validation after each epoch, the best weights kept.

`train` reads from top to bottom. A system brings a `Learner`: its network, its batches, the gradient of a batch, and
the scores of the validation pairs. CoLDE's is `colde_training.ColdeLearner`, that of the others
`systems.training.SystemLearner`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.errors import ModelError, OptionError
from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.files import atomic_file
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.sampling import Positives, Split

_CLIP = 1.0
_WARM_UP = 0.1

Texts = TypeVar("Texts")


@dataclass(frozen=True, slots=True, eq=False)
class Task(Generic[Texts]):
    """The data of a run."""

    texts: Texts  # all documents as the network reads them: chunks for CoLDE, packed rows for the other systems
    positives: Positives  # which documents belong together
    split: Split  # training documents and validation pairs
    files: NDArray[np.int64]  # int64 [N], the number of the file that each document comes from
    run: str  # hash of recipe, data and backbone


_FILE = "checkpoint.pt"


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    epoch: int = 0  # epochs done
    batch: int = 0  # batches done of the current epoch
    step: int = 0  # batches done in all
    loss: float = 0.0  # sum of the losses of this epoch's batches
    best_epoch: int = 0  # the epoch that was validated best; 0 is the untrained model
    best_step: int = 0  # batches done by then, which is the number of updates of the weights that are kept
    best_auc: float = -1.0  # its ROC-AUC; -1 before the first validation
    stale: int = 0  # epochs since the best one

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
    """A run as it stood after a batch, on disk: it goes on from there exactly."""

    run: str  # hash of recipe, data and backbone; no other run goes on from this checkpoint
    progress: Progress
    untrained: dict[str, Any]  # validation figures before the first step, the baseline
    weights: dict[str, Tensor]  # all that training changes, by name
    best: dict[str, Tensor]  # the same at the best epoch
    optimiser: dict[str, Any]  # state of AdamW
    scheduler: dict[str, Any]  # state of the learning rate
    # states of PyTorch's generators, the CPU's and each GPU's; those of NumPy follow from seed and step
    random: list[Tensor] = field(default_factory=list)
    averages: dict[str, Tensor] = field(default_factory=dict)  # of the weights, where they are averaged
    memory: dict[str, Tensor] = field(default_factory=dict)  # what the system remembers of earlier batches

    def save(self, folder: Path) -> None:
        """Write the checkpoint into the folder of its run; a write that fails leaves the last one whole."""
        folder.mkdir(parents=True, exist_ok=True)
        values = {item.name: getattr(self, item.name) for item in fields(Checkpoint)}
        with atomic_file(folder / _FILE) as staged:
            torch.save({**values, "progress": asdict(self.progress)}, staged)

    @classmethod
    def load(cls, folder: Path, run: str) -> Checkpoint:
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
            checkpoint = cls(**{**values, "progress": Progress(**values["progress"])})
        except (OSError, RuntimeError, ValueError, TypeError, KeyError, EOFError) as error:
            raise ModelError(f"{path} is damaged; delete it and train from the start.") from error
        if checkpoint.run != run:
            raise OptionError(
                f"The run in {folder} had other options, data or another backbone; repeat them with --resume, "
                "or start anew with --overwrite."
            )
        return checkpoint

    @staticmethod
    def file(folder: Path) -> Path:
        """The file of the run in `folder`."""
        return folder / _FILE


class Learner(Protocol):
    """What differs between the systems."""

    network: nn.Module  # holds all weights to be trained
    task: Task[Any]
    processes: Processes = ALONE  # that train together

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, always the same ones for one epoch."""

    def backward(self, batch: NDArray[np.int64], step: int) -> float:
        """Add the gradient of a batch to the weights, and return its loss; `step` seeds the random choices."""

    def end_epoch(self) -> None:
        """Do what must be done between the last batch of an epoch and its validation; by default nothing."""
        return

    def scores(self) -> NDArray[np.float64]:
        """Return the score of every validation pair; leaves the network in evaluation mode."""

    def state(self) -> Mapping[str, Tensor]:
        """Return the tensors that training changes, by name; not copies."""

    def memory(self) -> Mapping[str, Tensor]:
        """Return what later batches depend on beside `state`, by name, not copies; by default nothing."""
        return {}


class Observer(Protocol):
    """Hears how the run goes; the loop itself neither prints nor writes a log."""

    def started(self, steps: int, done: int) -> None:
        """The run has `steps` steps; the first `done` were taken before it was resumed."""

    def stepped(self, values: dict[str, float]) -> None:
        """A batch is done: step, epoch, loss, learning rate, gradient norm."""

    def validated(self, values: dict[str, float]) -> None:
        """An epoch is validated; epoch 0 is the untrained model."""


class Stopped(Exception):  # noqa: N818
    """The run was asked to stop, and is saved."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    progress: Progress  # epochs and steps done, and the best epoch
    untrained: PairMetrics  # validation figures before the first step, the baseline
    trained: PairMetrics  # validation figures of the weights that are kept
    scores: tuple[float, ...]  # score of every validation pair with these weights
    # validation figures of the finished model, where its score has more parts than the trained cosine
    served: PairMetrics | None = None


def train(
    learner: Learner,
    recipe: Recipe,
    observers: Sequence[Observer],
    folder: Path | None,
    *,
    resume: Checkpoint | None = None,
    stop: Callable[[], bool] = lambda: False,
    keep_untrained: bool = True,
) -> Outcome:
    """Train, and leave the network with its best weights, in evaluation mode.

    The best weights are those with the highest ROC-AUC on the validation pairs, the mean of the files where there are
    several.

    Args:
        learner: the network and its data.
        recipe: epochs, patience, average, learning rate and weight decay are read here.
        observers: hear how it goes.
        folder: of the checkpoints, one after every epoch; None writes none.
        resume: the checkpoint to go on from.
        stop: asked before every step; if it returns True, the run is saved and ends.
        keep_untrained: keep the untrained weights if no epoch is better.

    Raises:
        Stopped: `stop` returned True; the run is saved.
    """
    steps = sum(len(learner.batches(epoch)) for epoch in range(recipe.epochs))
    optimiser = Optimiser(learner.network, steps, recipe.learning_rate, recipe.weight_decay)
    run = _Run(learner, optimiser, Averages(learner.network, recipe.average), folder)
    if resume is None:
        run.measure_untrained(keep_untrained)
    else:
        run.restore(resume)
    learner.processes.agree_on_numbers()
    progress = run.progress
    for observer in observers:
        observer.started(steps, progress.step)
        if not progress.step:
            observer.validated({"epoch": 0, "loss": 0.0, **run.untrained.to_json()})

    while progress.epoch < recipe.epochs and not (recipe.patience and progress.stale >= recipe.patience):
        batches = learner.batches(progress.epoch)
        while progress.batch < len(batches):
            if learner.processes.any(stop()):
                run.save()
                raise Stopped
            loss = learner.backward(batches[progress.batch], progress.step)
            figures = run.optimiser.step()
            progress.add_batch(loss)
            run.averages.follow(progress.step)
            for observer in observers:
                observer.stepped({"step": progress.step, "epoch": progress.epoch, "loss": loss, **figures})
        mean_loss = progress.end_epoch(len(batches))
        with run.averages.in_place():
            learner.end_epoch()
            metrics = validation_metrics(learner.task, learner.scores())
            run.keep_if_best(metrics)
        for observer in observers:
            observer.validated({"epoch": progress.epoch, "loss": mean_loss, **metrics.to_json()})
        run.save()

    run.set_weights(run.best)
    scores = learner.scores()
    trained = validation_metrics(learner.task, scores)
    return Outcome(replace(progress), run.untrained, trained, tuple(scores.tolist()))


class _Run:
    """The state of a run: progress, optimiser, the weights to be kept, the best so far, and the baseline."""

    untrained: PairMetrics

    def __init__(self, learner: Learner, optimiser: Optimiser, averages: Averages, folder: Path | None) -> None:
        self.learner, self.optimiser, self.averages, self.folder = learner, optimiser, averages, folder
        self.progress = Progress()
        self.best = self.weights()

    def measure_untrained(self, keep: bool) -> None:
        """Validate before the first step."""
        self.untrained = validation_metrics(self.learner.task, self.learner.scores())
        if keep:
            self.keep_if_best(self.untrained)

    def keep_if_best(self, metrics: PairMetrics) -> None:
        """Copy the weights if no epoch before was validated better."""
        if self.progress.validated(metrics.field_auc):
            self.best = self.weights()

    def weights(self) -> dict[str, Tensor]:
        """Copy what training changes, to the CPU."""
        return _copies(self.learner.state())

    @torch.no_grad()
    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Give the network these weights."""
        for name, tensor in self.learner.state().items():
            tensor.copy_(weights[name])

    def save(self) -> None:
        """Write a checkpoint, in the main process only."""
        if self.folder is None or not self.learner.processes.main:
            return
        saved = Checkpoint(
            run=self.learner.task.run,
            progress=replace(self.progress),
            untrained=self.untrained.to_json(),
            weights=self.weights(),
            best=self.best,
            optimiser=self.optimiser.adamw.state_dict(),
            scheduler=self.optimiser.schedule.state_dict(),
            random=[torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])],
            averages=_copies(self.averages.values),
            memory=_copies(self.learner.memory()),
        )
        saved.save(self.folder)

    @torch.no_grad()
    def restore(self, saved: Checkpoint) -> None:
        """Go on where a checkpoint was written."""
        self.progress, self.best = saved.progress, saved.best
        self.untrained = PairMetrics(**saved.untrained)
        self.set_weights(saved.weights)
        for own, others in ((self.averages.values, saved.averages), (self.learner.memory(), saved.memory)):
            for name, tensor in own.items():
                tensor.copy_(others[name])
        self.optimiser.adamw.load_state_dict(saved.optimiser)
        self.optimiser.schedule.load_state_dict(saved.scheduler)
        torch.set_rng_state(saved.random[0])
        if torch.cuda.is_available() and len(saved.random) > 1:
            for device, state in zip(range(torch.cuda.device_count()), saved.random[1:], strict=False):
                torch.cuda.set_rng_state(state, device)  # there may be fewer devices now


def _copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}


def validation_metrics(task: Task[Any], scores: NDArray[np.float64]) -> PairMetrics:
    """Measure the scores of the validation pairs; a pair counts for the file of its first document."""
    return pair_metrics(task.split.related, scores, fields=task.files[task.split.pairs[:, 0]])


class Optimiser:
    """AdamW over the trained weights of a network, with clipped gradients.

    The learning rate rises over the first tenth of the steps and then falls linearly to zero.
    """

    def __init__(
        self, network: nn.Module, steps: int, learning_rate: float, weight_decay: float, eps: float = 1e-8
    ) -> None:
        self.weights = [weight for weight in network.parameters() if weight.requires_grad]
        groups = parameter_groups(network, weight_decay)
        self.adamw = torch.optim.AdamW(groups, learning_rate, betas=(0.9, 0.999), eps=eps)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.adamw, rate_factor(steps))

    def step(self) -> dict[str, float]:
        """Clip the gradients to norm 1, update the weights, and return learning rate and norm before clipping."""
        norm = nn.utils.clip_grad_norm_(self.weights, _CLIP)
        rate = float(self.schedule.get_last_lr()[0])
        self.adamw.step()
        self.schedule.step()
        self.adamw.zero_grad(set_to_none=True)
        return {"learning_rate": rate, "gradient_norm": float(norm)}


def parameter_groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Group the trained weights: matrices decay; biases, norms, gates and embeddings do not.

    Those of a module with a `learning_rate` of its own form groups of their own, after these two.
    """
    spared = {
        id(weight)
        for module in network.modules()
        if isinstance(module, nn.Embedding | nn.LayerNorm)
        for weight in module.parameters(recurse=False)
    }
    rates = {
        id(weight): float(module.learning_rate)  # type: ignore[arg-type]
        for module in network.modules()
        if hasattr(module, "learning_rate")
        for weight in module.parameters()
    }
    groups: dict[tuple[bool, float | None], list[nn.Parameter]] = {(True, None): [], (False, None): []}
    for weight in network.parameters():
        if weight.requires_grad:
            decays = weight.ndim > 1 and id(weight) not in spared
            groups.setdefault((decays, rates.get(id(weight))), []).append(weight)
    return [
        {"params": weights, "weight_decay": weight_decay if decays else 0.0} | ({} if rate is None else {"lr": rate})
        for (decays, rate), weights in groups.items()
    ]


def rate_factor(steps: int) -> Callable[[int], float]:
    """Return the learning rate of a step as a share of its peak."""
    warm = max(1, round(_WARM_UP * steps))

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / (warm + 1)
        return max(0.0, (steps - step) / max(1, steps - warm))

    return factor


class Averages:
    """Exponential moving averages of the weights that a run trains (Polyak & Juditsky 1992).

    ā ← d ā + (1 - d) w after every step, where d is at most `decay` and smaller in the first steps, so that the start
    is soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float = 0.0) -> None:
        """Follow the trained weights of `network` from where they are now; a decay of 0 follows none."""
        self._decay = decay
        self._weights = {name: weight for name, weight in network.named_parameters() if weight.requires_grad and decay}
        self.values = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take the weights after step number `step`, counted from 1, into the averages."""
        decay = min(self._decay, step / (step + 9))
        for name, average in self.values.items():
            average.lerp_(self._weights[name], 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the network the averages, for as long as the context lasts."""
        trained = {name: weight.detach().clone() for name, weight in self._weights.items()}
        self._set(self.values)
        yield
        self._set(trained)

    @torch.no_grad()
    def _set(self, weights: Mapping[str, Tensor]) -> None:
        for name, weight in weights.items():
            self._weights[name].copy_(weight)
