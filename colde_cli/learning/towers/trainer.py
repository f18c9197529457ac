"""How a tower learns, to be read from top to bottom; the loop around it is `learning.loop.Loop`.

batch of pairs -> rows -> vectors -> BCE of scaled cosines -> AdamW.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.encoder.towers.rows import Rows, stack
from colde_cli.learning.loop import Loop
from colde_cli.learning.objectives.pair_bce import PairLoss
from colde_cli.learning.positives import Positives
from colde_cli.learning.processes import ALONE
from colde_cli.learning.splits import Split
from colde_cli.learning.towers.pair_sampler import PairSampler
from colde_cli.learning.towers.recipe import TowerRecipe

# Tokens of the documents that go through the network together, padding included; a batch is cut into such
# parts, whose gradients add up to that of the batch.
_TOKENS = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class TowerTask:
    """What is learnt from.

    Attributes:
        packed: the rows of every document.
        positives: which documents belong together.
        split: training documents and validation pairs.
        files: int64 [N], number of the file each document comes from.
        run: hash of recipe, data and backbone.
    """

    packed: Sequence[Rows]
    positives: Positives
    split: Split
    files: NDArray[np.int64]
    run: str

    def sampler(self, recipe: TowerRecipe) -> PairSampler:
        """Gives the batches that the recipe asks for."""
        fields = self.files if recipe.batches == "by-file" else np.zeros_like(self.files)
        return PairSampler(self.positives, self.split.training, fields, recipe.batch_size, recipe.seed)


class TowerTrainer(Loop):
    """One run: a network, what it learns from, and how."""

    recipe: TowerRecipe
    task: TowerTask

    def __init__(
        self, network: nn.Module, task: TowerTask, recipe: TowerRecipe, device: torch.device
    ) -> None:
        self.network = network.to(device)
        self.loss = PairLoss(learnt=not recipe.fixed_scale).to(device)
        self.task = task
        self.recipe = recipe
        self.device = device
        self.processes = ALONE
        lengths = [len(self._batches(epoch)) for epoch in range(recipe.epochs)]
        self.prepare(nn.ModuleDict({"network": self.network, "loss": self.loss}), lengths)

    @cached_property
    def sampler(self) -> PairSampler:
        """Gives the batches; without an epoch none is needed, nor documents that belong together."""
        return self.task.sampler(self.recipe)

    def _batches(self, epoch: int) -> list[NDArray[np.int64]]:
        return self.sampler.epoch(epoch)

    def _step(self, batch: NDArray[np.int64]) -> dict[str, float]:
        """One batch of pairs [B, 3]: loss, gradient, update."""
        self.network.train()
        total = 0.0
        for part in self._parts(batch):
            share = len(part) / len(batch)
            loss = self._loss(part) * share
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return {"loss": total, **self._update()}

    def _loss(self, pairs: NDArray[np.int64]) -> Tensor:
        """The mean loss of some pairs."""
        documents, places = np.unique(pairs[:, :2], return_inverse=True)
        vectors = self._vectors(documents.tolist())
        left, right = torch.from_numpy(places.reshape(-1, 2)).to(self.device).T
        related = torch.from_numpy(pairs[:, 2]).to(self.device)
        loss: Tensor = self.loss(vectors[left], vectors[right], related)
        if hasattr(self.network, "pair_logits"):
            # SMASH's own score of a pair cannot be indexed; beside the cosine it shapes the vectors.
            logits = self.network.pair_logits(  # type: ignore[operator]
                vectors[left], vectors[right]
            )
            loss = loss + nn.functional.binary_cross_entropy_with_logits(logits, related.float())
        return loss

    def _vectors(self, documents: Sequence[int]) -> Tensor:
        """Vectors of documents [n, D]."""
        rows = stack([self.task.packed[number] for number in documents])
        ids, paragraphs = (torch.from_numpy(part).to(self.device) for part in (rows.ids, rows.paragraphs))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
            vectors: Tensor = self.network(ids, paragraphs)
        return vectors.float()

    def _parts(self, batch: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The pairs of a batch in parts that fit; a pair alone is never too large."""
        most = max(self.task.packed[int(number)].ids.size for number in np.unique(batch[:, :2]))
        count = max(1, _TOKENS // (2 * most))
        for start in range(0, len(batch), count):
            yield batch[start : start + count]

    @torch.no_grad()
    def _scores(self) -> NDArray[np.float64]:
        """Score of every validation pair: the cosine of its documents."""
        self.network.eval()
        documents, places = np.unique(self.task.split.pairs, return_inverse=True)
        # Documents of like size together, so that little is padding.
        order = sorted(
            range(len(documents)), key=lambda place: self.task.packed[int(documents[place])].ids.size
        )
        vectors: dict[int, Tensor] = {}
        for part in self._groups(order, documents):
            vectors.update(zip(part, self._vectors(documents[part].tolist()).cpu(), strict=True))
        table = nn.functional.normalize(
            torch.stack([vectors[place] for place in range(len(documents))]).double()
        )
        left, right = places.reshape(-1, 2).T
        return np.asarray((table[left] * table[right]).sum(1).numpy())

    def _groups(self, order: Sequence[int], documents: NDArray[np.int64]) -> Iterator[list[int]]:
        group: list[int] = []
        for place in order:
            size = self.task.packed[int(documents[place])].ids.size
            if group and size * (len(group) + 1) > _TOKENS:
                yield group
                group = []
            group.append(place)
        if group:
            yield group


def rows_digest(packed: Sequence[Rows]) -> str:
    """Hash of all that a network reads of a collection."""
    state = hashlib.blake2b(digest_size=16)
    for rows in packed:
        state.update(rows.to_bytes())
    return state.hexdigest()
