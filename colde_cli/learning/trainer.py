"""How CoLDE learns, to be read from top to bottom (§3.3, §4.1); the loop around it is `loop.Loop`.

batch -> views -> chunk vectors -> document head -> SupCon -> AdamW; the validation pairs are scored with whole
documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from colde_cli.learning.augmentation import Needed, Views, training_views, whole_views
from colde_cli.learning.loop import Loop
from colde_cli.learning.losses import cosine_loss, elongation_loss, supcon
from colde_cli.learning.networks.document_head import Colde
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.sampling import FieldSampler, GroupSampler, Positives, Sampler
from colde_cli.learning.sources import ChunkSource, plan
from colde_cli.learning.splits import Split
from colde_cli.learning.tokens import ChunkStore

CENTER_SAMPLE = 512
"""Chunks that give the centre of a backbone which is trained."""

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


class Trainer(Loop):
    """One run: a model, where its chunk vectors come from, what it learns from, and how."""

    recipe: Recipe
    task: Task

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
        self.moving = any(weight.requires_grad for weight in model.encoder.parameters())
        self.prepare(model, [len(self.sampler.epoch(epoch)) for epoch in range(recipe.epochs)])

    def _batches(self, epoch: int) -> list[NDArray[np.int64]]:
        return self.sampler.epoch(epoch)

    def _epoch_done(self) -> None:
        if self.moving:
            # Chunk vectors have moved, and their mean with them; what is measured now is what would be exported.
            set_center(self.model, self.source, self.task, CENTER_SAMPLE, self.recipe.seed)

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
        return {"loss": loss, **self._update()}

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

    @property
    def _changing(self) -> dict[str, Tensor]:
        """What is trained, and the centre that follows it."""
        return {**self.trained, "head.center": self.model.head.center}


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
