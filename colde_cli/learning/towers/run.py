"""Train a tower from data to model folder: read, pack into rows, pre-train, train, export.

`TowerLearner` learns from a batch of pairs: vectors of both documents, their cosine, binary cross-entropy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.documents.chunking import plain_tokenizer
from colde_cli.documents.document import document_text
from colde_cli.encoder.layout import CARD, TowerConfig
from colde_cli.encoder.towers.packing import Rows, packing, stack
from colde_cli.errors import DataError, ModelError, OptionError
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone, load_backbone, save_tensors
from colde_cli.learning.card import CardFacts, write_card
from colde_cli.learning.export.export import export_tower, new_folder
from colde_cli.learning.loop import Journal, Outcome, Task, train
from colde_cli.learning.losses import PairLoss
from colde_cli.learning.networks.longformer import longformer_of_bert
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.run import (
    Job,
    TrainingDisplay,
    check_folders,
    make_task,
    open_workshop,
    read_inputs,
    run_digest,
    torch_device,
)
from colde_cli.learning.sampling import PairSampler
from colde_cli.learning.splits import TaskData
from colde_cli.learning.tokens import bare_tokenizer, learn_vocabulary, vocabulary_size
from colde_cli.learning.towers.pretraining import PretrainingRecipe, masking_vocabulary, pretrain
from colde_cli.learning.towers.registry import MASKING, SYSTEMS, TowerSystem
from colde_cli.learning.towers.unsupervised import (
    PairOptions,
    UnsupervisedRecipe,
    specials_of,
    split_sentences,
    train_unsupervised,
)
from colde_cli.recipes import TowerRecipe
from colde_cli.scoring.fit import fit_calibration

# Documents on which the exported graph must agree with the network: the shortest, the longest, some between.
_SAMPLES = 8


@dataclass(frozen=True, slots=True, eq=False)
class _TowerParts:
    """The parts of a tower.

    Attributes:
        network: with the weights that it starts from.
        config: its sizes.
        tokenizer: the text of `tokenizer.json`.
        backbone: the pretrained network that it starts from; None where there is none.
    """

    network: nn.Module
    config: TowerConfig
    tokenizer: str
    backbone: Backbone | None


def train_tower(
    job: Job[TowerRecipe], display: TrainingDisplay, stop: Callable[[], bool], processes: Processes = ALONE
) -> Outcome:
    """Train a tower and write its folder.

    Raises:
        ColdeError: data, backbone, device or options are not right.
        Stopped: `stop` returned True; the run is saved in `job.workshop`.
    """
    system = SYSTEMS[job.recipe.system]
    if processes.count > 1:
        raise OptionError(
            f"--system {system.name} trains in one process; start it without accelerate launch."
        )
    check_folders(job)
    device = torch_device(job.device)
    display.phase("Reading the documents")
    read = make_task(job, read_inputs(job, None))
    texts = [document_text(item.document) for item in read.data.documents]
    parts = _build(job, system, [texts[number] for number in read.split.training])
    display.phase("Packing them", len(texts))
    packed: Sequence[Rows] = _pack(texts, parts, read, display)
    files = np.array([item.file for item in read.data.documents], np.int64)
    weights = parts.backbone.weights if parts.backbone is not None and system.pretrained else {}
    run = run_digest(job, read, f"{rows_digest(packed)} {parts.config.to_json()}", weights)
    saved = checkpoint.load(job.workshop, run) if job.resume else None
    open_workshop(job)
    display.phase("Preparing")
    if job.recipe.pretrain != "none" and saved is None:
        documents = [(texts[number], packed[number]) for number in read.split.training]
        _learn_unlabelled(parts, documents, job.recipe, device, display)
    task = Task(packed, read.positives, read.split, files, run)
    learner = TowerLearner(parts.network, task, job.recipe, device)
    if saved is None and job.recipe.epochs and not job.recipe.fixed_scale:
        learner.fit_scale()
    with Journal(job.workshop) as journal:
        outcome = train(
            learner,
            job.recipe,
            [display, journal],
            job.workshop,
            resume=saved,
            every=job.checkpoint_every,
            stop=stop,
        )
    display.phase("Writing the model")
    _write_tower(job, parts, read, outcome, _samples(packed))
    return outcome


def _learn_unlabelled(
    parts: _TowerParts,
    documents: Sequence[tuple[str, Rows]],
    recipe: TowerRecipe,
    device: torch.device,
    display: TrainingDisplay,
) -> None:
    """Train the network in place by `recipe.pretrain`, on text and rows of each training document.

    Raises:
        DataError: too few documents.
        OptionError: the tokenizer lacks a token that the objective needs.
    """
    if len(documents) < 2:
        raise DataError("--pretrain needs two training documents at least.")
    display.phase(f"Learning {recipe.pretrain} from {len(documents):,} documents")
    options: dict[str, Any] = {
        "epochs": recipe.pretrain_epochs,
        "seed": recipe.seed,
        "precision": recipe.precision,
    }
    plain = plain_tokenizer(parts.tokenizer)

    def count(values: dict[str, float]) -> None:
        display.advance(1)

    objective: Any = recipe.pretrain
    network: Any = parts.network
    if objective in MASKING:
        vocabulary = masking_vocabulary(plain, parts.config.vocab_size)
        masking = PretrainingRecipe(objective=objective, **options)
        pretrain(network, [rows for _, rows in documents], vocabulary, masking, device, count)
        return
    longest = min(recipe.longest, parts.config.row_tokens)
    pairs = PairOptions(objective, longest, recipe.anchor, recipe.repeat)
    sentences = [split for text, _ in documents if (split := split_sentences(text, plain)) is not None]
    laser = UnsupervisedRecipe(pairs=pairs, **options)
    train_unsupervised(network, sentences, specials_of(plain), laser, device, count)


def _build(job: Job[TowerRecipe], system: TowerSystem, training_texts: Sequence[str]) -> _TowerParts:
    """Build the untrained network, and all that belongs to it.

    Raises:
        ModelError: the backbone's weights do not fit its configuration.
    """
    recipe = job.recipe
    backbone = _backbone(job, system) if system.uses_backbone else None
    if backbone is not None:
        tokenizer = backbone.tokenizer
    else:
        tokenizer = bare_tokenizer() if system.start == "letters" else learn_vocabulary(training_texts)
    vocabulary = system.vocabulary or vocabulary_size(tokenizer)
    config = system.config(recipe, backbone, vocabulary)
    torch.manual_seed(recipe.seed)
    network = system.build(config)
    if backbone is not None and system.pretrained:
        load = getattr(network, "load_longformer" if system.start == "longformer" else "load_bert")
        try:
            load(backbone.weights)
        except (ValueError, KeyError) as error:
            raise ModelError(f"The backbone {backbone.name} is not whole: {error}.") from error
    if recipe.trainable_layers is not None:
        if not hasattr(network, "train_only"):
            raise OptionError(f"--trainable-layers is not for {system.name}, which is trained as a whole.")
        network.train_only(recipe.trainable_layers)  # type: ignore[operator]
    return _TowerParts(network.eval(), config, tokenizer, backbone)


def _backbone(job: Job[TowerRecipe], system: TowerSystem) -> Backbone:
    if system.start != "longformer":
        return load_backbone(job.backbone)
    found = load_backbone(job.backbone, longformer=True)
    if found.fields.get("model_type") == "longformer":
        return found
    sizes = dict(job.recipe.network)
    window = int(sizes.get("window", system.sizes["window"]))
    if window < 2 or window % 2:
        raise OptionError(f"--network window={window}: a window has an even number of tokens, 2 at least.")
    return longformer_of_bert(found, job.recipe.row_tokens or system.row_tokens, window)


def _pack(texts: Sequence[str], parts: _TowerParts, read: TaskData, display: TrainingDisplay) -> list[Rows]:
    """Pack every document into rows.

    Raises:
        DataError: the network would read nothing of a document.
    """
    pack = packing(parts.config.packing, parts.config.system)
    tokenizer = plain_tokenizer(parts.tokenizer)
    packed = []
    for text, item in zip(texts, read.data.documents, strict=True):
        rows = pack(text, tokenizer, parts.config)
        if rows.empty:
            raise DataError(f"{item.place}: the document {item.id!r} has no words; remove it.")
        packed.append(rows.small())
        display.advance(1)
    return packed


def rows_digest(packed: Sequence[Rows]) -> str:
    """Hash all that a network reads of a collection."""
    state = hashlib.blake2b(digest_size=16)
    for rows in packed:
        state.update(rows.to_bytes())
    return state.hexdigest()


def _samples(packed: Sequence[Rows]) -> list[Rows]:
    order = sorted(range(len(packed)), key=lambda number: packed[number].ids.size)
    chosen = np.unique(np.linspace(0, len(order) - 1, _SAMPLES).astype(int))
    return [packed[order[place]] for place in chosen]


def _write_tower(
    job: Job[TowerRecipe], parts: _TowerParts, read: TaskData, outcome: Outcome, samples: Sequence[Rows]
) -> None:
    calibration = fit_calibration(read.split.related, outcome.scores)
    config = replace(parts.config, threshold=outcome.trained.threshold, calibration=calibration)
    facts = CardFacts(
        job.output.name, job.command, read.files, len(read.split.training), read.split.judged, job.note
    )
    card = write_card(facts, config, job.recipe, outcome)
    with new_folder(job.output, config.to_json(), parts.tokenizer) as staged:
        (staged / CARD).write_text(card, encoding="utf-8")
        save_tensors(parts.network.state_dict(), staged, job.shard_bytes)
        export_tower(staged, samples)
    checkpoint.discard(job.workshop)


# Tokens of the documents that go through the network together, padding included. A batch is cut into parts of this
# size, whose gradients add up to that of the batch.
_TOKENS = 16_384
# Batches whose pairs tell where the cosines of the untrained network lie.
_FIRST = 4

TowerTask: TypeAlias = Task[Sequence[Rows]]


class TowerLearner:
    """A tower and its data, for `loop.train`."""

    def __init__(self, tower: nn.Module, task: TowerTask, recipe: TowerRecipe, device: torch.device) -> None:
        self.tower = tower.to(device)
        self.loss = PairLoss(not recipe.fixed_scale, recipe.scale_rate).to(device)
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
        self.tower.eval()
        documents, places = np.unique(pairs, return_inverse=True)
        vectors: dict[int, Tensor] = {}
        for part in self._groups(documents):
            vectors.update(zip(part, self.vectors(documents[part].tolist()).cpu(), strict=True))
        table = self.comparable(torch.stack([vectors[place] for place in range(len(documents))]).double())
        left, right = places.reshape(-1, 2).T
        return np.asarray((table[left] * table[right]).sum(1).numpy())

    def comparable(self, vectors: Tensor) -> Tensor:
        """Scale vectors [n, D] so that their products are scores: to unit length."""
        return nn.functional.normalize(vectors)

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
        """Return the trained weights, and the scale at which the loss began."""
        state: dict[str, Tensor] = {
            name: weight for name, weight in self.network.named_parameters() if weight.requires_grad
        }
        return state if self.recipe.fixed_scale else {**state, "loss.start": self.loss.start}

    def memory(self) -> dict[str, Tensor]:
        """Remember nothing: a batch depends on the weights alone."""
        return {}
