"""What `run.train_model` does for CoLDE: cut documents into chunks, encode or train them, export and fit the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from colde_cli.encoder.layout import CARD, ModelConfig, ModelFolder, open_folder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import ModelError, OptionError
from colde_cli.files import atomic_file, load_arrays
from colde_cli.learning.augmentation import Needed, Views, side_by_side, training_views, whole_views
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import write_card
from colde_cli.learning.colde import Colde, load_colde, save_weights
from colde_cli.learning.distillation import StudentLearner, student_of
from colde_cli.learning.gradient_cache import ChunkSource, FrozenChunks, TrainedChunks, micro_tokens, plan
from colde_cli.learning.graphs import calibration_chunks, export_model, frozen_encoder, new_folder
from colde_cli.learning.loop import Checkpoint, Learner, Outcome, Task
from colde_cli.learning.losses import (
    CHUNK_TEMPERATURE,
    MEAN_TEMPERATURE,
    ChunkRows,
    contrast,
    cosine_loss,
    mean_scores,
    soft_maximum_scores,
    supcon,
)
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.run import Training, make_task, read_inputs, run_digest, training_device
from colde_cli.learning.sampling import (
    FieldSampler,
    GroupSampler,
    HardNegatives,
    hard_negatives,
    require_pairs,
)
from colde_cli.learning.serving import fit_served
from colde_cli.learning.tokens import ChunkStore, chunk_documents
from colde_cli.scoring.fit import USUAL

_VECTORS = "vectors.npy"
_HARD = "hard-negatives.npz"
# Chunks encoded between two writes of the table.
_BLOCK = 512
# Chunks whose mean is the centre of a model that is finished without training.
_FINAL_SAMPLE = 4096


class ColdeTraining(Training):
    """The training of a CoLDE model."""

    def prepare(self) -> str:
        """See `Training`."""
        job, recipe = self.job, self.job.recipe
        if not recipe.epochs and job.init is None:
            raise OptionError("--epochs 0 trains nothing; give it 1 at least, or name a model with --init.")
        if recipe.student_layers and job.init is None:
            raise OptionError("student_layers needs --init with the model that teaches.")
        if self.processes.count > 1 and recipe.freeze_backbone:
            raise OptionError("--freeze-backbone trains in one process; start it without accelerate launch.")
        self.device = training_device(job, self.processes.device)
        start = None if job.init is None else open_folder(job.init)
        backbone = load_backbone(job.backbone)
        self.tokenizer = backbone.tokenizer
        self.read = make_task(job, read_inputs(job))
        self.model = build_model(recipe, backbone, start)
        self.teacher = self.model.encoder
        if recipe.student_layers:
            if self.teacher.takes_positions:
                raise OptionError("student_layers needs a model that reads a chunk by itself (chunk_position=post).")
            self.model = student_of(self.model, recipe.student_layers)
        documents = [item.document for item in self.read.data.documents]
        self.display.phase("Tokenizing them", len(documents))
        size = self.model.config.chunk_tokens
        store = chunk_documents(documents, backbone.tokenizer, size, self.display.advance)
        files = np.array([item.file for item in self.read.data.documents], np.int64)
        weights = self.model.state_dict() if start else backbone.weights
        run = run_digest(job, self.read, store.digest(), weights)
        self.task = Task(store, self.read.positives, self.read.split, files, run)
        chunks = np.concatenate([store.chunks_of(int(number)) for number in self.read.split.training])
        self.calibration_ids = calibration_chunks(store.tokens(int(chunk)).tolist() for chunk in chunks)
        return run

    def learner(self, saved: Checkpoint | None) -> ColdeLearner | StudentLearner:
        """See `Training`."""
        recipe, model, task = self.job.recipe, self.model, self.task
        source = self._source()
        self.display.phase("Preparing")
        centers = None
        if saved is None:
            # While the backbone is frozen, every chunk has its vector anyway.
            sample = None if recipe.freeze_backbone else CENTER_SAMPLE
            centers = set_center(model, source, task, sample if recipe.epochs else _FINAL_SAMPLE, recipe.seed)
        if recipe.student_layers and isinstance(source, TrainedChunks):
            return StudentLearner(model, self.teacher, source, task, recipe, self.device)
        hard = self._hard_negatives() if recipe.hard_negatives else None
        return ColdeLearner(model, source, task, recipe, self.device, self.processes, hard, centers)

    def write(self, outcome: Outcome) -> Outcome:
        """See `Training`."""
        job, model, combine, area = self.job, self.model.cpu(), self.job.recipe.combine, outcome.trained.field_auc
        with new_folder(job.output, model.config.to_json(), self.tokenizer) as staged:
            save_weights(model, staged)
            export_model(staged, self.calibration_ids)
            served = fit_served(staged, self.read, self.task.texts, combine=combine, device=job.device)
            if combine and served.metrics.field_auc < area:
                # Even on the pairs that they were fitted to, the parts are worse: there are too few pairs, or they
                # go by something else than words. What was learnt is better served alone.
                combine = False
                served = fit_served(staged, self.read, self.task.texts, combine=False, device=job.device)
            start = job.init.name if job.init else ""
            facts = self.facts(served=served.metrics, start=start)
            card = write_card(facts, served.config, job.recipe, outcome)
            (staged / CARD).write_text(card, encoding="utf-8")
        for name in (_VECTORS, _HARD):
            (job.workshop / name).unlink(missing_ok=True)
        return replace(outcome, served=served.metrics if combine else None)

    def _source(self) -> ChunkSource:
        """Serve chunk vectors: a table where BERT is frozen, or a BERT that is trained."""
        recipe, model = self.job.recipe, self.model
        if recipe.freeze_backbone or (not recipe.epochs and not model.encoder.takes_positions):
            return FrozenChunks(self._table(), self.device)
        model.to(self.device)
        at_once = micro_tokens(model.encoder, recipe.max_memory, model.config.chunk_tokens, recipe.precision)
        return TrainedChunks(model.encoder, self.task.texts, at_once, self.device, recipe.precision, self.processes)

    def _table(self) -> NDArray[np.float32]:
        """Vectors of chunks by the graph that will serve them, memory-mapped; a run that goes on has them already."""
        path, store = self.job.workshop / _VECTORS, self.task.texts
        if not (self.job.resume and path.is_file()):
            chunks = np.arange(len(store)) if self.job.recipe.epochs else self._chunks_to_finish()
            self.display.phase("Encoding the chunks", len(chunks))
            frozen = {"device": self.job.device}
            with (
                Cache.open() as cache,
                frozen_encoder(self.model, self.tokenizer, self.calibration_ids, cache=cache, **frozen) as encoder,
                atomic_file(path) as staged,
            ):
                shape = len(store), self.model.config.hidden_size
                table = np.lib.format.open_memmap(staged, "w+", np.float32, shape)
                for start in range(0, len(chunks), _BLOCK):
                    numbers = chunks[start : start + _BLOCK]
                    table[numbers] = encoder.encode_chunks([store.chunk(int(number)) for number in numbers])
                    self.display.advance(len(numbers))
                table.flush()
        return np.asarray(np.load(path, mmap_mode="r"))

    def _chunks_to_finish(self) -> NDArray[np.int64]:
        """The chunks that a model needs to be finished: those of the validation pairs, and a sample for the centre."""
        judged = [self.task.texts.chunks_of(int(number)) for number in np.unique(self.task.split.pairs)]
        sample = center_chunks(self.task, _FINAL_SAMPLE, self.job.recipe.seed)
        return np.unique(np.concatenate([*judged, sample]))

    def _hard_negatives(self) -> HardNegatives:
        """Find the hard negatives; a run that goes on takes those that it found before."""
        path, task = self.job.workshop / _HARD, self.task
        if self.job.resume and path.is_file():
            documents, counts, others = load_arrays(path, "documents", "counts", "others", largest=1 << 40)
            return dict(zip(documents.tolist(), np.split(others, np.cumsum(counts)[:-1]), strict=True))
        self.display.phase("Finding hard negatives")
        count, training = self.job.recipe.hard_negatives, task.split.training
        near = hard_negatives(task.texts, self.tokenizer, task.positives, training, task.files, count)
        sizes = [len(others) for others in near.values()]
        with atomic_file(path) as staged, staged.open("wb") as file:
            np.savez(file, documents=list(near), counts=sizes, others=np.concatenate(list(near.values())))
        return near


def build_model(recipe: Recipe, backbone: Backbone, start: ModelFolder | None = None) -> Colde:
    """Build the model to train, from a backbone or from the model to continue from.

    Only what is trained requires gradients.

    Raises:
        ModelError: weights do not fit their configuration.
    """
    torch.manual_seed(recipe.seed)
    config = model_config(recipe, backbone)
    if start is not None:
        kept = replace(config, max_chunks=start.config.max_chunks, lstm_hidden=start.config.lstm_hidden)
        model = load_colde(replace(start, config=kept))
    else:
        model = Colde(config)
        try:
            model.encoder.load_bert(backbone.weights)
        except (ValueError, KeyError) as error:
            raise ModelError(f"The backbone {backbone.name} is not a whole BERT: {error}.") from error
    if recipe.freeze_backbone:
        model.encoder.requires_grad_(False)
    elif recipe.trainable_layers is not None:
        model.encoder.train_only(recipe.trainable_layers)
    return model.eval()


def model_config(recipe: Recipe, backbone: Backbone) -> ModelConfig:
    """Describe the model that a recipe trains.

    Raises:
        OptionError: the heads do not divide the backbone's hidden size, or it has too few layers.
    """
    hidden, layers = int(backbone.fields["hidden_size"]), int(backbone.fields["num_hidden_layers"])
    if hidden % recipe.heads:
        raise OptionError(f"heads={recipe.heads} does not divide the backbone's {hidden} hidden units.")
    if recipe.trainable_layers is not None and recipe.trainable_layers > layers:
        raise OptionError(f"trainable_layers={recipe.trainable_layers}, but the backbone has {layers}.")
    dropouts: Iterable[str] = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    dropout = recipe.backbone_dropout
    return ModelConfig(
        backbone=backbone.fields | ({} if dropout is None else dict.fromkeys(dropouts, dropout)),
        backbone_name=backbone.name,
        chunk_tokens=min(recipe.chunk_tokens, int(backbone.fields["max_position_embeddings"])),
        chunk_pool=recipe.chunk_pool,
        chunk_position=recipe.chunk_position_used,
        sections=recipe.sections_used,
        attention_heads=recipe.heads,
        lstm_hidden=0 if "no-lstm" in recipe.ablations else 256,
        projection=recipe.projection,
        residual=recipe.residual,
        residual_share=recipe.residual_share,
        dropout=recipe.dropout,
    )


CENTER_SAMPLE = 512
"""Number of chunks whose mean is the centre, while BERT is trained."""

# Cells of attention, chunks by chunks, of the documents that go through the head together in validation.
_ATTENTION = 1 << 20
_CENTER_BLOCK = 4096

ColdeTask: TypeAlias = Task[ChunkStore]


class ColdeLearner(Learner):
    """How CoLDE learns from a batch: views, chunk vectors, document head, contrastive loss (CoLDE §3.3).

    For validation the documents are read whole, or in windows if they train in windows.
    """

    network: Colde

    def __init__(
        self,
        network: Colde,
        source: ChunkSource,
        task: ColdeTask,
        recipe: Recipe,
        device: torch.device,
        processes: Processes = ALONE,
        hard: HardNegatives | None = None,
        centers: Tensor | None = None,
    ) -> None:
        """Learn from `task` with the vectors of `source`.

        `centers` [F, H] are those of the files, the head's if None.
        """
        self.network = network.to(device)
        self.source = source
        self.task = task
        self.recipe = recipe
        self.device = device
        self.processes = processes
        self._sampler = _sampler(task, recipe, hard)
        count = int(task.files.max()) + 1
        head_center = network.head.center
        self._centers = (head_center.expand(count, -1) if centers is None else centers).clone().to(device)
        self._memory = _memory(task, recipe, network.config.hidden_size) if recipe.memory_bank else None
        if recipe.head_learning_rate is not None:
            network.head.learning_rate = recipe.head_learning_rate  # read by `loop.parameter_groups`
        self._trains_encoder = any(weight.requires_grad for weight in network.encoder.parameters())

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return the batches of an epoch, as numbers of documents."""
        return self._sampler.epoch(epoch)

    def backward(self, batch: NDArray[np.int64], step: int) -> float:
        """Add the gradient of a batch of documents to the weights, and return its loss."""
        self.network.train()
        generator = np.random.default_rng([self.recipe.seed, 2, step])
        views = training_views(self.task.texts, batch, self.recipe, self.network.config.max_chunks, generator)
        needed = views.needed(self.source.positioned)
        loss = self.source.backward(needed, lambda vectors: self._loss(vectors, needed, views, batch, step))
        # The same in all processes but for rounding, which would add up.
        for weight in self.network.head.parameters():
            if weight.grad is not None:
                weight.grad = self.processes.from_main(weight.grad)
        return loss

    def _loss(self, vectors: Tensor, needed: Needed, views: Views, documents: NDArray[np.int64], step: int) -> Tensor:
        """Compute the loss of a batch from the vectors of its chunks: shares of up to three losses."""
        positives = torch.from_numpy(self.task.positives.mask(documents)).to(self.device)
        loss = self._document_loss(vectors, needed, views, positives)
        share = self.recipe.chunk_loss + self.recipe.mean_loss
        if not share:
            return loss
        return (1 - share) * loss + self._chunk_losses(self._chunk_rows(vectors, needed, views), documents, step)

    def _chunk_losses(self, shown: ChunkRows, documents: NDArray[np.int64], step: int) -> Tensor:
        """Compute the shares of the chunk scores and of the means, against the batch and the memory."""
        rows = columns = self._centred(shown, documents)
        numbers = documents
        if self._memory is not None:
            others = self._memory.recall(documents, step)
            columns = rows.followed_by(self._centred(self._memory.rows(others).to(self.device), others))
            numbers = np.concatenate([documents, others])
            self._memory.keep(documents, shown, step)
        related = torch.from_numpy(self.task.positives.mask(numbers)[: len(documents)]).to(self.device)
        losses = []
        if self.recipe.chunk_loss:
            scores = soft_maximum_scores(rows, columns, USUAL.sharpness)
            losses.append(self.recipe.chunk_loss * contrast(scores, related, CHUNK_TEMPERATURE))
        if self.recipe.mean_loss:
            scores = mean_scores(rows, columns)
            losses.append(self.recipe.mean_loss * contrast(scores, related, MEAN_TEMPERATURE))
        return torch.stack(losses).sum()

    def _centred(self, rows: ChunkRows, documents: NDArray[np.int64]) -> ChunkRows:
        """Centre chunk vectors as they will be served: by the field, where the batches are of one, else by all."""
        if self.recipe.batches == "by-file":
            center = self._centers[torch.from_numpy(self.task.files[documents]).to(self.device)][:, None]
        else:
            center = self.network.head.center
        return ChunkRows(rows.vectors - center, rows.shares)

    def _chunk_rows(self, vectors: Tensor, needed: Needed, views: Views) -> ChunkRows:
        """Return the chunks of the documents of a batch, each once, whatever its rows repeat."""
        rows = [needed.places[row, :length] for row, length in enumerate(views.lengths)]
        documents = [
            np.unique(np.concatenate([rows[row] for row in range(len(views)) if views.owners[row] == owner]))
            for owner in range(int(views.owners.max()) + 1)
        ]
        lengths = [self.task.texts.lengths_of(needed.chunks[places]) - 2 for places in documents]
        table = side_by_side(documents)
        weights = [np.pad(counts / counts.sum(), (0, table.shape[1] - len(counts))) for counts in lengths]
        shares = torch.from_numpy(np.stack(weights).astype(np.float32)).to(self.device)
        return ChunkRows(_rows_of(vectors, torch.from_numpy(table).to(self.device)), shares)

    def _document_loss(self, vectors: Tensor, needed: Needed, views: Views, positives: Tensor) -> Tensor:
        """Compute the loss of the document vectors."""
        rows = self._head(vectors, needed, views)
        owners = torch.from_numpy(views.owners).to(self.device)
        related = positives[owners][:, owners]
        if "no-cl" in self.recipe.ablations:
            return cosine_loss(rows, related)
        return supcon(rows, related, self.recipe.temperature)

    def _head(self, vectors: Tensor, needed: Needed, views: Views) -> Tensor:
        """Run the head: chunk vectors [n, H] to the vectors of all rows [R, D]."""
        places, *others = (
            torch.from_numpy(array).to(self.device)
            for array in (needed.places, views.lengths, views.partners, views.sections, views.chunk_ids)
        )
        rows: Tensor = self.network.head(_rows_of(vectors, places), *others).vectors
        return rows

    def end_epoch(self) -> None:
        """Measure the centre again, as the exported model will have it: the chunk vectors have moved."""
        if self._trains_encoder:
            centers = set_center(self.network, self.source, self.task, CENTER_SAMPLE, self.recipe.seed)
            self._centers.copy_(centers)

    @torch.no_grad()
    def scores(self) -> NDArray[np.float64]:
        """Return the cosine of every validation pair, its documents read whole, or twice as many windows of them."""
        self.network.eval()
        documents, pairs = np.unique(self.task.split.pairs, return_inverse=True)
        most = 2 * self.recipe.windows
        counts = np.diff(self.task.texts.documents)[documents]
        counts = np.minimum(counts, most) if most else counts
        vectors: dict[int, Tensor] = {}
        for part in plan([int(count) ** 2 for count in counts], _ATTENTION):
            views = whole_views(self.task.texts, documents[part], most)
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

    def memory(self) -> dict[str, Tensor]:
        """Return the centres of the files, and the memory bank."""
        bank = self._memory.state() if self._memory is not None else {}
        return {"centers": self._centers, **bank}


def _memory(task: ColdeTask, recipe: Recipe, hidden: int) -> ChunkMemory:
    """Make room for the chunks of a document that are shown at most."""
    longest = int(np.diff(task.texts.documents).max())
    shown = recipe.windows or recipe.window * recipe.sections_used or longest
    return ChunkMemory(task.files, min(shown, longest), hidden, recipe.memory_bank)


def _rows_of(vectors: Tensor, places: Tensor) -> Tensor:
    """Return `vectors[places]`, with a gradient that is the same in every run.

    Threads add up the gradient of plain indexing in an order that changes from run to run.
    """
    return functional.embedding(places, vectors)


def _sampler(task: ColdeTask, recipe: Recipe, hard: HardNegatives | None) -> FieldSampler | GroupSampler:
    training, size = task.split.training, recipe.batch_size
    require_pairs(task.positives, training)
    if recipe.batches == "by-file":
        return FieldSampler(task.positives, training, task.files, size, recipe.seed, hard)
    return GroupSampler(task.positives, training, size, recipe.seed, hard)


@torch.no_grad()
def set_center(model: Colde, source: ChunkSource, task: ColdeTask, sample: int | None, seed: int) -> Tensor:
    """Set the head's centre to the mean chunk vector of the training documents, each read whole.

    Of a `sample` of chunks.

    Chunk scores are cosines of centred vectors: all texts share one large direction, which says nothing about them.

    Returns:
        The mean of each file's chunks, [F, H]; the head's centre for files without any.
    """
    chunks = center_chunks(task, sample, seed)
    owners = np.searchsorted(task.texts.documents, chunks, side="right") - 1
    files = torch.from_numpy(task.files[owners])
    totals = torch.zeros(int(task.files.max()) + 1, model.config.hidden_size, dtype=torch.float64)
    for start in range(0, len(chunks), _CENTER_BLOCK):
        part = slice(start, start + _CENTER_BLOCK)
        zeros = np.zeros_like(chunks[part])
        places = chunks[part] - task.texts.documents[owners[part]]
        vectors = source.vectors(Needed(chunks[part], zeros, places, zeros[:, None]))
        totals.index_add_(0, files[part], vectors.double().cpu())
    counts = files.bincount(minlength=len(totals))[:, None]
    model.head.center.copy_(totals.sum(0) / len(chunks))
    means = (totals / counts.clamp(min=1)).float()
    return torch.where(counts > 0, means, model.head.center.cpu())


def center_chunks(task: ColdeTask, sample: int | None, seed: int) -> NDArray[np.int64]:
    """Choose the chunks whose mean is the centre: all of the training documents, or a sample, ascending."""
    chunks = np.concatenate([task.texts.chunks_of(int(number)) for number in task.split.training])
    if sample is not None and len(chunks) > sample:
        chunks = np.sort(np.random.default_rng([seed, 3]).choice(chunks, sample, replace=False))
    return chunks


class ChunkMemory:
    """A memory bank: the chunk vectors, fp16, that N documents had when they were last shown, as further contrast.

    A batch on a CPU holds a dozen documents, and most of them are soon told apart. Vectors of earlier batches cost no
    pass through BERT (Wu et al. 2018, §3.2). They are stale by a few updates, and get no gradient.
    """

    def __init__(self, files: NDArray[np.int64], most: int, hidden: int, batches: int) -> None:
        """Keep up to `most` vectors of size `hidden` a document, and recall those of the last `batches` batches.

        `files` int64 [N] is the file of each document.
        """
        self._files, self._batches = files, batches
        self.vectors = torch.zeros(len(files), most, hidden, dtype=torch.float16)
        self.shares = torch.zeros(len(files), most)
        self.shown = torch.full((len(files),), -1)
        """The step at which each document was last shown, -1 for never."""

    def recall(self, batch: NDArray[np.int64], step: int) -> NDArray[np.int64]:
        """Return the other documents that were shown lately and come from the files of this batch, ascending."""
        shown = self.shown.numpy()
        recent = (shown >= 0) & (shown >= step - self._batches)
        recent &= np.isin(self._files, self._files[batch])
        recent[batch] = False
        return np.flatnonzero(recent)

    def rows(self, documents: NDArray[np.int64]) -> ChunkRows:
        """Return the vectors of documents, not centred."""
        numbers = torch.from_numpy(documents)
        return ChunkRows(self.vectors[numbers].float(), self.shares[numbers])

    def keep(self, batch: NDArray[np.int64], rows: ChunkRows, step: int) -> None:
        """Take the vectors of a batch, not centred, in the place of those that its documents had."""
        documents, most = torch.from_numpy(batch), rows.shares.shape[1]
        for table, values in ((self.vectors, rows.vectors), (self.shares, rows.shares)):
            table[documents] = 0
            table[documents, :most] = values.detach().to("cpu", table.dtype)
        self.shown[documents] = step

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold; not copies."""
        return {"memory.vectors": self.vectors, "memory.shares": self.shares, "memory.shown": self.shown}
