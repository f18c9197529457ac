"""How CoLDE learns from a batch: views, chunk vectors, document head, contrastive loss (CoLDE §3.3).

For validation the documents are read whole.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from colde_cli.learning.augmentation import Needed, ViewOptions, Views, training_views, whole_views
from colde_cli.learning.gradient_cache import ChunkSource, plan
from colde_cli.learning.loop import Task
from colde_cli.learning.losses import Variant, chunk_loss, cosine_loss, elongation_loss, supcon
from colde_cli.learning.networks.colde import Colde
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.sampling import FieldSampler, GroupSampler, HardNegatives
from colde_cli.learning.tokens import ChunkStore
from colde_cli.recipes import Recipe
from colde_cli.scoring.fit import USUAL

CENTER_SAMPLE = 512
"""Number of chunks whose mean is the centre, while BERT is trained."""

# Cells of attention, chunks by chunks, of the documents that go through the head together in validation.
_ATTENTION = 1 << 20
_BLOCK = 4096

ColdeTask: TypeAlias = Task[ChunkStore]


class ColdeLearner:
    """CoLDE and its data, for `loop.train`."""

    def __init__(
        self,
        network: Colde,
        source: ChunkSource,
        task: ColdeTask,
        recipe: Recipe,
        device: torch.device,
        processes: Processes = ALONE,
        hard: HardNegatives | None = None,
    ) -> None:
        self.network: Colde = network.to(device)
        self.source = source
        self.task = task
        self.recipe = recipe
        self.device = device
        self.processes = processes
        self._views = ViewOptions(
            recipe.sections_used,
            recipe.window,
            network.config.max_chunks,
            recipe.elongation,
            recipe.window_start,
        )
        self._sampler = _sampler(task, recipe, hard)
        self._trains_encoder = any(weight.requires_grad for weight in network.encoder.parameters())

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, as numbers of documents."""
        return self._sampler.epoch(epoch)

    def backward(self, batch: NDArray[np.int64], step: int) -> float:
        """Add the gradient of a batch of documents to the weights, and return its loss."""
        self.network.train()
        generator = np.random.default_rng([self.recipe.seed, 2, step])
        views = training_views(self.task.texts, batch, self._views, generator)
        positives = torch.from_numpy(self.task.positives.mask(batch)).to(self.device)
        needed = views.needed(self.source.positioned)
        loss = self.source.backward(needed, lambda vectors: self._loss(vectors, needed, views, positives))
        # The same in all processes but for rounding, which would add up.
        for weight in self.network.head.parameters():
            if weight.grad is not None:
                weight.grad = self.processes.from_main(weight.grad)
        return loss

    def _loss(self, vectors: Tensor, needed: Needed, views: Views, positives: Tensor) -> Tensor:
        """Compute the loss of a batch from the vectors of its chunks."""
        share = self.recipe.chunk_loss
        loss = self._document_loss(vectors, needed, views, positives)
        if not share:
            return loss
        return (1 - share) * loss + share * self._chunk_loss(vectors, needed, views, positives)

    def _chunk_loss(self, vectors: Tensor, needed: Needed, views: Views, positives: Tensor) -> Tensor:
        """Compute the chunk-level loss; each document has the chunks of its sections, without repetitions."""
        rows = [needed.places[row, :length] for row, length in enumerate(views.lengths)]
        shown = len(views) - views.elongated
        documents = [
            np.unique(np.concatenate([rows[row] for row in range(shown) if views.owners[row] == owner]))
            for owner in range(len(positives))
        ]
        lengths = [self.task.texts.lengths_of(needed.chunks[places]) - 2 for places in documents]
        most = max(map(len, documents))
        table = np.stack([np.pad(places, (0, most - len(places))) for places in documents])
        weights = np.stack([np.pad(counts / counts.sum(), (0, most - len(counts))) for counts in lengths])
        centred = functional.normalize(vectors - self.network.head.center, dim=-1)
        chunks = _rows_of(centred, torch.from_numpy(table).to(self.device))
        shares = torch.from_numpy(weights.astype(np.float32)).to(self.device)
        variant: Variant = "sincere" if self.recipe.loss_used == "sincere" else "supcon"
        return chunk_loss(chunks, shares, positives, USUAL.sharpness, variant)

    def _document_loss(self, vectors: Tensor, needed: Needed, views: Views, positives: Tensor) -> Tensor:
        """Compute the loss of the document vectors."""
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
        """Run the head: chunk vectors [n, H] to the vectors of all rows [R, D]."""
        places, *others = (
            torch.from_numpy(array).to(self.device)
            for array in (needed.places, views.lengths, views.partners, views.sections, views.chunk_ids)
        )
        rows: Tensor = self.network.head(_rows_of(vectors, places), *others).vectors
        return rows

    def end_epoch(self) -> None:
        """Measure the centre anew, as the exported model will have it: the chunk vectors have moved."""
        if self._trains_encoder:
            set_center(self.network, self.source, self.task, CENTER_SAMPLE, self.recipe.seed)

    @torch.no_grad()
    def scores(self) -> NDArray[np.float64]:
        """Return the cosine of every validation pair, its documents read whole."""
        self.network.eval()
        documents, pairs = np.unique(self.task.split.pairs, return_inverse=True)
        counts = np.diff(self.task.texts.documents)[documents]
        vectors: dict[int, Tensor] = {}
        for part in plan([int(count) ** 2 for count in counts], _ATTENTION):
            views = whole_views(self.task.texts, documents[part])
            needed = views.needed(self.source.positioned)
            rows = self._head(self.source.vectors(needed), needed, views).cpu()
            vectors.update(zip(part, rows, strict=True))
        table = torch.stack([vectors[place] for place in range(len(documents))]).double()
        left, right = pairs.reshape(-1, 2).T
        # Processes with different figures would stop at different epochs.
        return np.asarray(self.processes.from_main((table[left] * table[right]).sum(1)).numpy())

    def state(self) -> dict[str, Tensor]:
        """Return the trained weights, and the centre, which follows them."""
        trained = {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}
        return {**trained, "head.center": self.network.head.center}


def _rows_of(vectors: Tensor, places: Tensor) -> Tensor:
    """Return `vectors[places]`, with a gradient that is the same in every run.

    Threads add up the gradient of plain indexing in an order that changes from run to run.
    """
    return functional.embedding(places, vectors)


def _sampler(task: ColdeTask, recipe: Recipe, hard: HardNegatives | None) -> FieldSampler | GroupSampler:
    training, size = task.split.training, recipe.batch_size
    if recipe.batches == "by-file":
        return FieldSampler(task.positives, training, task.files, size, recipe.seed, hard)
    return GroupSampler(task.positives, training, size, recipe.seed, hard)


@torch.no_grad()
def set_center(model: Colde, source: ChunkSource, task: ColdeTask, sample: int | None, seed: int) -> None:
    """Set the head's centre to the mean chunk vector of the training documents, each read whole.

    Chunk scores are cosines of centred vectors: all texts share one large direction, which says nothing about them.

    Args:
        model: the model whose head is set.
        source: gives the chunk vectors of the encoder as it is now.
        task: names the training documents.
        sample: number of chunks to take the mean of; None takes all.
        seed: of the sample, which is always the same.
    """
    chunks = center_chunks(task, sample, seed)
    starts = task.texts.documents[:-1]
    total = torch.zeros(model.config.hidden_size, dtype=torch.float64)
    for start in range(0, len(chunks), _BLOCK):
        part = chunks[start : start + _BLOCK]
        zeros = np.zeros_like(part)
        places = part - starts[np.searchsorted(starts, part, side="right") - 1]
        total += source.vectors(Needed(part, zeros, places, zeros[:, None])).double().sum(0).cpu()
    model.head.center.copy_(total / len(chunks))


def center_chunks(task: ColdeTask, sample: int | None, seed: int) -> NDArray[np.int64]:
    """Choose the chunks whose mean is the centre: all of the training documents, or a sample, ascending."""
    chunks = np.concatenate([task.texts.chunks_of(int(number)) for number in task.split.training])
    if sample is not None and len(chunks) > sample:
        chunks = np.sort(np.random.default_rng([seed, 3]).choice(chunks, sample, replace=False))
    return chunks
