"""All that decides how a tower is trained, beside data and backbone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.encoder.towers.packing import Rows, stack
from colde_cli.errors import DataError
from colde_cli.learning.loop import Loop
from colde_cli.learning.losses import PairLoss
from colde_cli.learning.processes import ALONE
from colde_cli.learning.sampling import Positives
from colde_cli.learning.splits import Split

LEARNING_RATE = 1e-3
"""Of networks that start from nothing."""
BERT_LEARNING_RATE = 2e-5
"""Of networks that start from a pretrained BERT."""


@dataclass(frozen=True, slots=True)
class TowerRecipe:
    """The options of a run; names and meaning as on the command line.

    Attributes:
        system: which network.
        epochs: passes over the pairs at most; 0 for none.
        batch_size: pairs in a batch, half of them related.
        batches: where negatives come from: "by-file" from the file of the document, "mixed" from all.
        learning_rate: AdamW's peak, after warm-up.
        weight_decay: AdamW's, decoupled.
        trainable_layers: last Transformer layers of the backbone to train; None for all.
        row_tokens: tokens of a row, specials included; None for the system's own number.
        max_rows: rows of a document; None for the system's own number.
        network: sizes and switches of the network that differ from the system's own.
        pretrain: what is learnt of unlabelled documents first; "none" for nothing.
        pretrain_epochs: passes over them.
        fixed_scale: keep α = 6 and β = 0 in the loss.
        precision: "fp32" or "bf16" (autocast).
        seed: of everything random.
        patience: epochs without a better validation AUC before the run ends; 0 never ends it early.
    """

    system: str
    epochs: int = 10
    batch_size: int = 32
    batches: Literal["mixed", "by-file"] = "by-file"
    learning_rate: float = LEARNING_RATE
    weight_decay: float = 0.01
    trainable_layers: int | None = None
    row_tokens: int | None = None
    max_rows: int | None = None
    network: tuple[tuple[str, Any], ...] = ()
    pretrain: str = "none"
    pretrain_epochs: int = 1
    fixed_scale: bool = False
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0
    patience: int = 5

    def to_json(self) -> dict[str, Any]:
        """Every option by name."""
        return asdict(self)

    def digest(self) -> str:
        """Hash of every option: runs of one digest, on the same data, train the same model."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()


# How often a pair that somebody judged unrelated is taken as the negative of a document that has one.
_JUDGED = 0.5
# Draws from the field before all its unrelated documents are listed.
_DRAWS = 16


class PairSampler:
    """Gives the batches of every epoch, which depend on nothing but its seed and the epoch's number.

    Every document that belongs with another is paired once in an epoch with a random one of those, and once with
    one that it does not belong with: judged unrelated in half of the draws where there is such a one, else random
    within its field, where negatives are harder.
    """

    def __init__(
        self,
        positives: Positives,
        documents: Sequence[int] | NDArray[np.int64],
        fields: NDArray[np.int64],
        size: int,
        seed: int,
    ) -> None:
        """Sample from `documents`, whose fields are `fields[document]`, `size` pairs to a batch.

        Raises:
            DataError: no two documents belong together, or no two do not.
        """
        self.documents = np.asarray(documents, np.int64)
        self.size, self.seed = size, seed
        chosen = set(self.documents.tolist())
        self.partners = {
            number: [other for other in positives.partners(number).tolist() if other in chosen]
            for number in sorted(chosen)
        }
        self.together = {number: set(found) for number, found in self.partners.items()}
        self.judged = {number: sorted(positives.excluded[number] & chosen) for number in sorted(chosen)}
        self.fields = {
            int(field): self.documents[fields[self.documents] == field]
            for field in np.unique(fields[self.documents])
        }
        self.field_of = {number: int(fields[number]) for number in sorted(chosen)}
        paired = [number for number, found in self.partners.items() if found]
        if not paired:
            raise DataError("No two training documents belong together; give them labels, links or pairs.")
        everyone = self.documents.tolist()
        anchors = [number for number in paired if any(self._apart(number, other) for other in everyone)]
        if not anchors:
            raise DataError("All training documents belong together; add some that do not.")
        self.anchors = np.array(anchors, np.int64)

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch, int64 [B, 3]: two documents, and 1 if they belong together, else 0."""
        generator = np.random.default_rng([self.seed, 1, number])
        order = generator.permutation(self.anchors)
        half = max(1, self.size // 2)
        return [self._batch(order[start : start + half], generator) for start in range(0, len(order), half)]

    def _batch(self, anchors: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        rows = []
        for anchor in anchors.tolist():
            partners = self.partners[anchor]
            rows.append((anchor, partners[generator.integers(len(partners))], 1))
            rows.append((anchor, self._negative(anchor, generator), 0))
        return np.array(rows, np.int64)

    def _negative(self, anchor: int, generator: np.random.Generator) -> int:
        judged = self.judged[anchor]
        if judged and generator.random() < _JUDGED:
            return int(judged[generator.integers(len(judged))])
        field = self.fields[self.field_of[anchor]]
        for other in field[generator.integers(len(field), size=_DRAWS)].tolist():
            if self._apart(anchor, other):
                return int(other)
        found = self._unrelated(anchor)
        return found[generator.integers(len(found))]

    def _unrelated(self, anchor: int) -> list[int]:
        """Documents that do not belong with `anchor`: those of its field, else of all."""
        for candidates in (self.fields[self.field_of[anchor]], self.documents):
            found = [int(other) for other in candidates.tolist() if self._apart(anchor, other)]
            if found:
                break
        return found

    def _apart(self, anchor: int, other: int) -> bool:
        return other != anchor and other not in self.together[anchor]


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
