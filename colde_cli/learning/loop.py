"""The training loop of every system: batches, a step for each, validation after each epoch, the best weights kept.

`train` reads from top to bottom. A system brings a `Learner`: its network, its batches, the gradient of a batch, and
the scores of the validation pairs. CoLDE's is `learner.ColdeLearner`, that of the others `towers.run.TowerLearner`.

A `Journal` writes the log of a run, an `Interruption` ends it between two batches.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.learning import checkpoint
from colde_cli.learning.checkpoint import Checkpoint, Progress
from colde_cli.learning.processes import Processes
from colde_cli.learning.sampling import Positives
from colde_cli.learning.splits import Split
from colde_cli.recipes import Recipe, TowerRecipe

_CLIP = 1.0
_WARM_UP = 0.1

Texts = TypeVar("Texts")
_BACKBONE = "encoder."


@dataclass(frozen=True, slots=True, eq=False)
class Task(Generic[Texts]):
    """The data of a run.

    Attributes:
        texts: all documents as the network reads them: chunks for CoLDE, packed rows for the other systems.
        positives: which documents belong together.
        split: training documents and validation pairs.
        files: int64 [N], the number of the file that each document comes from.
        run: hash of recipe, data and backbone.
    """

    texts: Texts
    positives: Positives
    split: Split
    files: NDArray[np.int64]
    run: str


class Learner(Protocol):
    """What differs between the systems."""

    @property
    def network(self) -> nn.Module:
        """The module that holds all weights to be trained."""

    @property
    def task(self) -> Task[Any]:
        """The data."""

    @property
    def processes(self) -> Processes:
        """The processes that train together."""

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, always the same ones for one epoch."""

    def backward(self, batch: NDArray[np.int64], step: int) -> float:
        """Add the gradient of a batch to the weights, and return its loss; `step` seeds the random choices."""

    def end_epoch(self) -> None:
        """Do what must be done between the last batch of an epoch and its validation."""

    def scores(self) -> NDArray[np.float64]:
        """Return the score of every validation pair; leaves the network in evaluation mode."""

    def state(self) -> Mapping[str, Tensor]:
        """Return the tensors that training changes, by name; not copies."""

    def memory(self) -> Mapping[str, Tensor]:
        """Return what later batches depend on beside `state`, by name; not copies."""


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
    """How a run ended.

    Attributes:
        progress: epochs and steps done, and the best epoch.
        untrained: validation figures before the first step, the baseline.
        trained: validation figures of the weights that are kept.
        scores: score of every validation pair with these weights.
        served: validation figures of the finished model, where its score has more parts than the trained cosine.
    """

    progress: Progress
    untrained: PairMetrics
    trained: PairMetrics
    scores: tuple[float, ...]
    served: PairMetrics | None = None


def train(
    learner: Learner,
    recipe: Recipe | TowerRecipe,
    observers: Sequence[Observer],
    folder: Path | None,
    *,
    resume: Checkpoint | None = None,
    every: int = 0,
    stop: Callable[[], bool] = lambda: False,
    keep_untrained: bool = True,
) -> Outcome:
    """Train, and leave the network with its best weights, in evaluation mode.

    The best weights are those with the highest ROC-AUC on the validation pairs, the mean of the files where there are
    several.

    Args:
        learner: the network and its data.
        recipe: epochs, patience, learning rate and weight decay are read here.
        observers: hear how it goes.
        folder: of the checkpoints; None writes none.
        resume: the checkpoint to go on from.
        every: steps between checkpoints; one is written after every epoch in any case.
        stop: asked before every step; if it returns True, the run is saved and ends.
        keep_untrained: keep the untrained weights if no epoch is better.

    Raises:
        Stopped: `stop` returned True; the run is saved.
    """
    steps = sum(len(learner.batches(epoch)) for epoch in range(recipe.epochs))
    kept = KeptWeights(learner.network)
    if isinstance(recipe, Recipe):
        kept = KeptWeights(learner.network, recipe.average, recipe.keep_pretrained)
    optimiser = Optimiser(learner.network, steps, recipe.learning_rate, recipe.weight_decay)
    run = _Run(learner, optimiser, kept, folder)
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
            run.kept.follow(progress.step)
            for observer in observers:
                observer.stepped({"step": progress.step, "epoch": progress.epoch, "loss": loss, **figures})
            if every and progress.step % every == 0:
                run.save()
        mean_loss = progress.end_epoch(len(batches))
        with run.kept.in_place():
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

    def __init__(
        self, learner: Learner, optimiser: Optimiser, kept: KeptWeights, folder: Path | None
    ) -> None:
        self.learner, self.optimiser, self.kept, self.folder = learner, optimiser, kept, folder
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
            random=checkpoint.random_states(),
            averages=_copies(self.kept.averages),
            memory=_copies(self.learner.memory()),
        )
        checkpoint.save(saved, self.folder)

    def restore(self, saved: Checkpoint) -> None:
        """Go on where a checkpoint was written."""
        self.progress, self.best = saved.progress, saved.best
        self.untrained = PairMetrics(**saved.untrained)
        self.set_weights(saved.weights)
        self.kept.restore(saved.averages)
        for name, tensor in self.learner.memory().items():
            tensor.copy_(saved.memory[name])
        self.optimiser.adamw.load_state_dict(saved.optimiser)
        self.optimiser.schedule.load_state_dict(saved.scheduler)
        checkpoint.set_random_states(saved.random)


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
        """Clip the gradients to norm 1, update the weights and clear the gradients.

        Returns:
            The learning rate of this step, and the norm of the gradient before clipping.
        """
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
        {"params": weights, "weight_decay": weight_decay if decays else 0.0}
        | ({} if rate is None else {"lr": rate})
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


METRICS = "metrics.jsonl"


class Journal:
    """Writes a line of JSON for every batch and for every validation; `event` says which it is."""

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


class KeptWeights:
    """Follows the weights that a run trains.

    - Averaging (Polyak & Juditsky 1992, as an exponential moving average): ā ← d ā + (1 - d) w after every step, where
      d is at most `decay` and smaller in the first steps, so that the start is soon forgotten.
    - Interpolation (WiSE-FT, Wortsman et al. 2022, eq. 1): (1 - α) ā + α w₀ for the backbone, whose weights before
      training are w₀. It keeps more of what the backbone knew about texts unlike the training data.
    """

    def __init__(self, network: nn.Module, decay: float = 0.0, pretrained: float = 0.0) -> None:
        """Follow the weights of `network` from where they are now; 0 and 0 keep them as they are.

        Args:
            network: its weights that require gradients are followed; those before training are these.
            decay: d; 0 for no average.
            pretrained: α; 0 for no interpolation.
        """
        self._weights = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
        self._decay, self._pretrained = decay, pretrained
        backbone = [name for name in self._weights if name.startswith(_BACKBONE)] if pretrained else []
        self._before = {name: self._weights[name].detach().clone() for name in backbone}
        followed = self._weights if decay else {}
        self.averages = {name: weight.detach().clone() for name, weight in followed.items()}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take the weights after step number `step`, counted from 1, into the averages."""
        decay = min(self._decay, step / (step + 9))
        for name, average in self.averages.items():
            average.lerp_(self._weights[name], 1 - decay)

    @torch.no_grad()
    def restore(self, averages: dict[str, Tensor]) -> None:
        """Take the averages of a checkpoint."""
        for name, average in self.averages.items():
            average.copy_(averages[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the network the weights to be kept, for as long as the context lasts."""
        changed = self._before.keys() | self.averages.keys()
        trained = {name: self._weights[name].detach().clone() for name in changed}
        self._set({name: self._kept(name) for name in changed})
        yield
        self._set(trained)

    def _kept(self, name: str) -> Tensor:
        weight = self.averages.get(name, self._weights[name]).detach()
        return weight.lerp(self._before[name], self._pretrained) if name in self._before else weight

    @torch.no_grad()
    def _set(self, weights: dict[str, Tensor]) -> None:
        for name, weight in weights.items():
            self._weights[name].copy_(weight)
