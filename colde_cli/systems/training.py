"""What `learning.run.train_model` does for the other systems: pack texts into rows, learn from pairs, export.

Their loss is the binary cross-entropy of the cosine of two documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.documents.chunking import plain_tokenizer
from colde_cli.documents.document import document_text
from colde_cli.encoder.layout import CARD
from colde_cli.encoder.packing import Rows, packing, stack
from colde_cli.errors import DataError, ModelError, OptionError
from colde_cli.learning.backbone import Backbone, load_backbone, save_tensors
from colde_cli.learning.card import write_card
from colde_cli.learning.gradient_cache import plan
from colde_cli.learning.graphs import new_folder
from colde_cli.learning.loop import Checkpoint, Learner, Outcome, Task
from colde_cli.learning.losses import PairLoss
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.run import Training, make_task, read_inputs, run_digest, training_device
from colde_cli.learning.sampling import PairSampler
from colde_cli.learning.tokens import bare_tokenizer, learn_vocabulary, vocabulary_size
from colde_cli.scoring.fit import fit_calibration
from colde_cli.systems.base import (
    Pretraining,
    System,
    build_system,
    export_system,
    is_pretrained,
    system_class,
    system_config,
)

# Documents on which the exported graph must agree with the network: the shortest, the longest, some between.
_SAMPLES = 8


class SystemTraining(Training):
    """The training of one of the other systems."""

    def prepare(self) -> str:
        """See `Training`."""
        job, recipe = self.job, self.job.recipe
        system = system_class(recipe.system)
        if self.processes.count > 1:
            raise OptionError(f"--system {recipe.system} trains in one process; start it without accelerate launch.")
        self.device = training_device(job)
        self.read = make_task(job, read_inputs(job))
        self.texts = [document_text(item.document) for item in self.read.data.documents]
        backbone = self._backbone(system)
        if backbone is not None:
            self.tokenizer = backbone.tokenizer
        else:
            letters = system.start == "letters"
            training = (self.texts[number] for number in self.read.split.training)
            self.tokenizer = bare_tokenizer() if letters else learn_vocabulary(training)
        vocabulary = system.vocabulary or vocabulary_size(self.tokenizer)
        self.config = system_config(recipe, backbone, vocabulary)
        weights = backbone.weights if backbone is not None and is_pretrained(system) else {}
        torch.manual_seed(recipe.seed)
        self.network = build_system(self.config).eval()
        if weights:
            try:
                self.network.load_pretrained(weights)
            except (ValueError, KeyError) as error:
                raise ModelError(f"The backbone {self.config.backbone_name} is not whole: {error}.") from error
        if recipe.trainable_layers is not None:
            self.network.train_only(recipe.trainable_layers)
        packed: Sequence[Rows] = self._pack()
        run = run_digest(job, self.read, f"{rows_digest(packed)} {self.config.to_json()}", weights)
        files = np.array([item.file for item in self.read.data.documents], np.int64)
        self.task = Task(packed, self.read.positives, self.read.split, files, run)
        return run

    def learner(self, saved: Checkpoint | None) -> SystemLearner:
        """See `Training`."""
        recipe, training = self.job.recipe, self.task.split.training
        self.display.phase("Preparing")
        if recipe.pretrain != "none" and saved is None:
            if len(training) < 2:
                raise DataError("pretrain needs two training documents at least.")
            self.display.phase(f"Learning {recipe.pretrain} from {len(training):,} documents")
            documents = [(self.texts[number], self.task.texts[number]) for number in training]
            tokenizer = plain_tokenizer(self.tokenizer)
            self.network.pretrain(documents, tokenizer, self._pretraining())
        learner = SystemLearner(self.network, self.task, recipe, self.device)
        if saved is None and recipe.epochs:
            learner.fit_scale()
        return learner

    def _pretraining(self) -> Pretraining:
        recipe, system = self.job.recipe, self.network
        of_system = (recipe.pretrain, recipe.pretrain_epochs, system.pretraining_batch, system.pretraining_rate)
        advance = self.display.advance
        return Pretraining(*of_system, recipe.precision, recipe.seed, device=self.device, told=advance)

    def write(self, outcome: Outcome) -> Outcome:
        """See `Training`."""
        calibration = fit_calibration(self.read.split.related, outcome.scores)
        config = replace(self.config, threshold=outcome.trained.threshold, calibration=calibration)
        card = write_card(self.facts(), config, self.job.recipe, outcome)
        order = sorted(self.task.texts, key=lambda rows: rows.ids.size)
        places = np.unique(np.linspace(0, len(order) - 1, _SAMPLES).astype(int))
        with new_folder(self.job.output, config.to_json(), self.tokenizer) as staged:
            (staged / CARD).write_text(card, encoding="utf-8")
            save_tensors(self.network.state_dict(), staged)
            export_system(staged, [order[place] for place in places])
        return outcome

    def _backbone(self, system: type[System]) -> Backbone | None:
        """The network or the tokenizer that the system starts from."""
        if system.start in ("words", "letters"):
            return None
        if system.start != "longformer":
            return load_backbone(self.job.backbone)
        backbone, recipe = load_backbone(self.job.backbone, longformer=True), self.job.recipe
        if backbone.fields.get("model_type") == "longformer":
            return backbone
        from colde_cli.systems.longformer import longformer_of_bert

        window = int({**system.sizes, **dict(recipe.network)}["window"])
        return longformer_of_bert(backbone, recipe.row_tokens or system.row_tokens, window)

    def _pack(self) -> list[Rows]:
        """Pack every document into rows.

        Raises:
            DataError: the network would read nothing of a document.
        """
        self.display.phase("Packing them", len(self.texts))
        pack, tokenizer = packing(self.config.packing, self.config.system), plain_tokenizer(self.tokenizer)
        packed = []
        for text, item in zip(self.texts, self.read.data.documents, strict=True):
            rows = pack(text, tokenizer, self.config)
            if rows.empty:
                raise DataError(f"{item.place}: the document {item.id!r} has no words; remove it.")
            packed.append(rows.small())
            self.display.advance(1)
        return packed


def rows_digest(packed: Sequence[Rows]) -> str:
    """Hash all that a network reads of a collection."""
    state = hashlib.blake2b(digest_size=16)
    for rows in packed:
        state.update(rows.to_bytes())
    return state.hexdigest()


# Tokens of the documents that go through the network together, padding included. A batch is cut into parts of this
# size, whose gradients add up to that of the batch.
_TOKENS = 16_384
# Batches whose pairs tell where the cosines of the untrained network lie.
_FIRST = 4

SystemTask: TypeAlias = Task[Sequence[Rows]]


class SystemLearner(Learner):
    """A network that reads each text alone, and its data, for `loop.train`."""

    def __init__(self, reader: nn.Module, task: SystemTask, recipe: Recipe, device: torch.device) -> None:
        self.reader = reader.to(device)
        self.loss = PairLoss().to(device)
        self.network = nn.ModuleDict({"network": self.reader, "loss": self.loss})
        self.task, self.recipe, self.device = task, recipe, device

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
        self.reader.train()
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
        if hasattr(self.reader, "pair_logits"):
            # SMASH's own score of a pair cannot be indexed; trained beside the cosine, it shapes the vectors.
            logits = self.reader.pair_logits(vectors[left], vectors[right])  # type: ignore[operator]
            loss = loss + nn.functional.binary_cross_entropy_with_logits(logits, related.float())
        return loss

    def vectors(self, documents: Sequence[int]) -> Tensor:
        """Compute the vectors of documents, [n, D]."""
        rows = stack([self.task.texts[number] for number in documents])
        ids, paragraphs = (torch.from_numpy(part).to(self.device) for part in (rows.ids, rows.paragraphs))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
            vectors: Tensor = self.reader(ids, paragraphs)
        return vectors.float()

    def fit_scale(self) -> None:
        """Fit the scale of the loss to the cosines of the first batches, once, before training."""
        pairs = np.concatenate(self.batches(0)[:_FIRST])[:, :2]
        self.loss.start_at(torch.from_numpy(self.pair_scores(pairs)))

    def scores(self) -> NDArray[np.float64]:
        """Return the cosine of every validation pair."""
        return self.pair_scores(self.task.split.pairs)

    @torch.no_grad()
    def pair_scores(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosines of pairs of documents [P, 2], and leave the network in evaluation mode."""
        self.reader.eval()
        documents, places = np.unique(pairs, return_inverse=True)
        vectors: dict[int, Tensor] = {}
        # Documents of like size together, so that little is padding.
        for part in plan([self.task.texts[int(document)].ids.size for document in documents], _TOKENS):
            vectors.update(zip(part, self.vectors(documents[part].tolist()).cpu(), strict=True))
        table = nn.functional.normalize(torch.stack([vectors[place] for place in range(len(documents))]).double())
        left, right = places.reshape(-1, 2).T
        return np.asarray((table[left] * table[right]).sum(1).numpy())

    def state(self) -> dict[str, Any]:
        """Return the trained weights, and the scale at which the loss began."""
        state = {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}
        return {**state, "loss.start": self.loss.start}
