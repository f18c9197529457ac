"""How a tower learns from a batch of pairs: the vectors of both documents, their cosine, binary cross-entropy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.encoder.towers.packing import Rows, stack
from colde_cli.learning.loop import Task
from colde_cli.learning.losses import PairLoss
from colde_cli.learning.processes import ALONE
from colde_cli.learning.sampling import PairSampler
from colde_cli.recipes import TowerRecipe

# Tokens of the documents that go through the network together, padding included. A batch is cut into parts of this
# size, whose gradients add up to that of the batch.
_TOKENS = 16_384

TowerTask: TypeAlias = Task[Sequence[Rows]]


class TowerLearner:
    """A tower and its data, for `loop.train`."""

    def __init__(self, tower: nn.Module, task: TowerTask, recipe: TowerRecipe, device: torch.device) -> None:
        self.tower = tower.to(device)
        self.loss = PairLoss(learnt=not recipe.fixed_scale).to(device)
        self.network = nn.ModuleDict({"network": self.tower, "loss": self.loss})
        self.task = task
        self.recipe = recipe
        self.device = device
        self.processes = ALONE

    @cached_property
    def sampler(self) -> PairSampler:
        """Make the sampler when it is first needed: without epochs, no documents need belong together."""
        fields = self.task.files if self.recipe.batches == "by-file" else np.zeros_like(self.task.files)
        training, size = self.task.split.training, self.recipe.batch_size
        return PairSampler(self.task.positives, training, fields, size, self.recipe.seed)

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, int64 [B, 3]: two documents, and 1 if they belong together, else 0."""
        return self.sampler.epoch(epoch)

    def backward(self, batch: NDArray[np.int64], step: int) -> float:
        """Add the gradient of a batch of pairs [B, 3] to the weights, and return its loss."""
        self.tower.train()
        total = 0.0
        for part in self.parts(batch):
            loss = self._loss(part) * (len(part) / len(batch))
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def parts(self, batch: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Cut a batch into parts that fit; one pair alone always does."""
        most = max(self.task.texts[int(number)].ids.size for number in np.unique(batch[:, :2]))
        count = max(1, _TOKENS // (2 * most))
        for start in range(0, len(batch), count):
            yield batch[start : start + count]

    def _loss(self, pairs: NDArray[np.int64]) -> Tensor:
        """Compute the mean loss of some pairs."""
        documents, places = np.unique(pairs[:, :2], return_inverse=True)
        vectors = self.vectors(documents.tolist())
        left, right = torch.from_numpy(places.reshape(-1, 2)).to(self.device).T
        related = torch.from_numpy(pairs[:, 2]).to(self.device)
        loss: Tensor = self.loss(vectors[left], vectors[right], related)
        if hasattr(self.tower, "pair_logits"):
            # SMASH's own score of a pair cannot be indexed; trained beside the cosine, it shapes the vectors.
            logits = self.tower.pair_logits(vectors[left], vectors[right])  # type: ignore[operator]
            loss = loss + nn.functional.binary_cross_entropy_with_logits(logits, related.float())
        return loss

    def vectors(self, documents: Sequence[int]) -> Tensor:
        """Compute the vectors of documents, [n, D]."""
        rows = stack([self.task.texts[number] for number in documents])
        ids, paragraphs = (torch.from_numpy(part).to(self.device) for part in (rows.ids, rows.paragraphs))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
            vectors: Tensor = self.tower(ids, paragraphs)
        return vectors.float()

    def end_epoch(self) -> None:
        """Nothing to do."""

    @torch.no_grad()
    def scores(self) -> NDArray[np.float64]:
        """Return the cosine of every validation pair."""
        self.tower.eval()
        documents, places = np.unique(self.task.split.pairs, return_inverse=True)
        vectors: dict[int, Tensor] = {}
        for part in self._groups(documents):
            vectors.update(zip(part, self.vectors(documents[part].tolist()).cpu(), strict=True))
        table = torch.stack([vectors[place] for place in range(len(documents))]).double()
        table = nn.functional.normalize(table)
        left, right = places.reshape(-1, 2).T
        return np.asarray((table[left] * table[right]).sum(1).numpy())

    def _groups(self, documents: NDArray[np.int64]) -> Iterator[list[int]]:
        """Group documents of like size, as places in `documents`, so that little is padding."""
        sizes = [self.task.texts[int(document)].ids.size for document in documents]
        group: list[int] = []
        for place in sorted(range(len(sizes)), key=sizes.__getitem__):
            if group and sizes[place] * (len(group) + 1) > _TOKENS:
                yield group
                group = []
            group.append(place)
        if group:
            yield group

    def state(self) -> dict[str, Tensor]:
        """Return the trained weights."""
        return {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}
