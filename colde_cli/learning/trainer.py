"""The training loop, to be read from top to bottom (CoLDE §3.3, §4.1).

batch -> views -> chunk vectors -> document head -> SupCon -> AdamW; after every epoch the validation pairs are
scored with whole documents, and the weights with the highest ROC-AUC are kept.
"""

from __future__ import annotations

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
from colde_cli.learning.gradient_cache import plan
from colde_cli.learning.networks.colde import Colde
from colde_cli.learning.objectives.cosine import cosine_loss
from colde_cli.learning.objectives.elongation import elongation_loss
from colde_cli.learning.objectives.supcon import supcon
from colde_cli.learning.positives import Positives
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.sampling import FieldSampler, GroupSampler, Sampler
from colde_cli.learning.sources import ChunkSource
from colde_cli.learning.splits import Split
from colde_cli.learning.tokens import ChunkStore
from colde_cli.learning.views import Needed, Views, training_views, whole_views

CENTER_SAMPLE = 512
"""Chunks that give the centre of a backbone which is trained."""

_WARM_UP = 0.1
_CLIP = 1.0
# Cells of attention, chunks by chunks, of the documents that go through the head together in validation.
_ATTENTION = 1 << 20
_BLOCK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is learnt from.

    Attributes:
        store: chunks of all documents.
        positives: which documents belong together.
        split: training documents and validation pairs.
        files: int64 [N], number of the file each document comes from.
        run: hash of recipe, data and backbone.
    """

    store: ChunkStore
    positives: Positives
    split: Split
    files: NDArray[np.int64]
    run: str

    def sampler(self, recipe: Recipe) -> Sampler:
        """Gives the batches that the recipe asks for."""
        training, size = self.split.training, recipe.batch_size
        if recipe.batches == "by-file":
            return FieldSampler(self.positives, training, self.files, size, recipe.seed)
        return GroupSampler(self.positives, training, size, recipe.seed)


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
    """

    progress: Progress
    untrained: PairMetrics
    trained: PairMetrics
    scores: tuple[float, ...]


class Trainer:
    """One run: a model, where its chunk vectors come from, what it learns from, and how."""

    def __init__(
        self,
        model: Colde,
        source: ChunkSource,
        task: Task,
        recipe: Recipe,
        device: torch.device,
        processes: Processes = ALONE,
    ) -> None:
        self.model = model.to(device)
        self.source = source
        self.task = task
        self.recipe = recipe
        self.device = device
        self.processes = processes
        self.views = recipe.view_options(model.config.max_chunks)
        self.sampler = task.sampler(recipe)
        self.steps = sum(len(self.sampler.epoch(epoch)) for epoch in range(recipe.epochs))
        self.trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.moving = any(weight.requires_grad for weight in model.encoder.parameters())
        self.optimiser = torch.optim.AdamW(
            parameter_groups(model, recipe.weight_decay), recipe.learning_rate, betas=(0.9, 0.999)
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimiser, rate_factor(self.steps))
        self.progress = Progress()
        self.best = self._weights()
        self.untrained: PairMetrics

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
        batches = self.sampler.epoch(progress.epoch)
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
        if self.moving:
            # Chunk vectors have moved, and their mean with them; what is measured now is what would be exported.
            set_center(self.model, self.source, self.task, CENTER_SAMPLE, self.recipe.seed)
        metrics = self._validate()
        observer.validated(
            {"epoch": progress.epoch + 1, "loss": progress.loss / len(batches), **metrics.to_json()}
        )
        progress.epoch, progress.batch, progress.loss = progress.epoch + 1, 0, 0.0
        self._keep_if_best(metrics, progress.epoch)
        self._save(folder)

    def _step(self, documents: np.ndarray) -> dict[str, float]:
        """One batch: loss, gradient, update."""
        self.model.train()
        generator = np.random.default_rng([self.recipe.seed, 2, self.progress.step])
        views = training_views(self.task.store, documents, self.views, generator)
        positives = torch.from_numpy(self.task.positives.mask(documents)).to(self.device)
        needed = views.needed(self.source.positioned)
        loss = self.source.backward(needed, lambda vectors: self._loss(vectors, needed, views, positives))
        # The same in all processes but for rounding, which would add up.
        for weight in self.model.head.parameters():
            if weight.grad is not None:
                weight.grad = self.processes.from_main(weight.grad)
        norm = nn.utils.clip_grad_norm_(self.trained.values(), _CLIP)
        rate = float(self.scheduler.get_last_lr()[0])
        self.optimiser.step()
        self.scheduler.step()
        self.optimiser.zero_grad(set_to_none=True)
        return {"loss": loss, "learning_rate": rate, "gradient_norm": float(norm)}

    def _loss(self, vectors: Tensor, needed: Needed, views: Views, positives: Tensor) -> Tensor:
        """The objective of a batch, given the vectors of its chunks."""
        rows = self._head(vectors, needed, views)
        owners = torch.from_numpy(views.owners).to(self.device)
        related = positives[owners][:, owners]
        if self.recipe.elongation != "loss":
            return self._contrast(rows, related)
        count = len(views) - views.elongated
        related = related[:count, :count]
        apart = elongation_loss(rows[:count], rows[count:], related)
        return self._contrast(rows[:count], related) + self.recipe.elongation_weight * apart

    def _contrast(self, rows: Tensor, related: Tensor) -> Tensor:
        loss = self.recipe.loss_used
        if loss == "cosine":
            return cosine_loss(rows, related)
        return supcon(rows, related, self.recipe.temperature, loss)

    def _head(self, vectors: Tensor, needed: Needed, views: Views) -> Tensor:
        """Chunk vectors [n, H] to the vectors of all rows [R, D]."""
        places, *others = (
            torch.from_numpy(array).to(self.device)
            for array in (needed.places, views.lengths, views.partners, views.sections, views.chunk_ids)
        )
        found: Tensor = self.model.head(vectors[places], *others).vectors
        return found

    def _validate(self) -> PairMetrics:
        return self._metrics(self._scores())

    def _metrics(self, scores: np.ndarray) -> PairMetrics:
        split = self.task.split
        return pair_metrics(split.related, scores, fields=self.task.files[split.pairs[:, 0]])

    @torch.no_grad()
    def _scores(self) -> np.ndarray:
        """Score of every validation pair, its documents read whole."""
        self.model.eval()
        documents, pairs = np.unique(self.task.split.pairs, return_inverse=True)
        counts = np.diff(self.task.store.documents)[documents]
        vectors: dict[int, Tensor] = {}
        for part in plan([int(count) ** 2 for count in counts], _ATTENTION):
            views = whole_views(self.task.store, documents[part])
            needed = views.needed(self.source.positioned)
            found = self._head(self.source.vectors(needed), needed, views).cpu()
            vectors.update(zip(part, found, strict=True))
        table = torch.stack([vectors[place] for place in range(len(documents))]).double()
        left, right = pairs.reshape(-1, 2).T
        # Processes that saw different figures would stop at different epochs.
        return np.asarray(self.processes.from_main((table[left] * table[right]).sum(1)).numpy())

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

    @property
    def _changing(self) -> dict[str, Tensor]:
        """What differs between two moments of the run: what is trained, and the centre that follows it."""
        return {**self.trained, "head.center": self.model.head.center}

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


@torch.no_grad()
def set_center(model: Colde, source: ChunkSource, task: Task, sample: int | None, seed: int) -> None:
    """Set the head's centre to the mean chunk vector of the training documents, each read whole.

    Chunk scores are cosines of centred vectors: all texts share a large common direction, which says nothing.

    Args:
        model: whose head is set.
        source: gives the chunk vectors, of the encoder as it is now.
        task: names the training documents.
        sample: how many chunks to take the mean of; all if None.
        seed: of the sample, which is always the same.
    """
    chunks = np.concatenate([task.store.chunks_of(int(number)) for number in task.split.training])
    if sample is not None and len(chunks) > sample:
        chunks = np.sort(np.random.default_rng([seed, 3]).choice(chunks, sample, replace=False))
    starts = task.store.documents[:-1]
    total = torch.zeros(model.config.hidden_size, dtype=torch.float64)
    for start in range(0, len(chunks), _BLOCK):
        part = chunks[start : start + _BLOCK]
        zeros = np.zeros_like(part)
        places = part - starts[np.searchsorted(starts, part, side="right") - 1]
        total += source.vectors(Needed(part, zeros, places, zeros[:, None])).double().sum(0).cpu()
    model.head.center.copy_(total / len(chunks))
