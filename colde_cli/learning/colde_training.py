"""What `run.train_model` does for CoLDE: cut documents into chunks, encode or train them, export and fit the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from colde_cli.encoder.layout import CARD, ModelConfig, ModelFolder, open_folder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import ModelError, OptionError
from colde_cli.files import atomic_file, load_arrays
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import write_card
from colde_cli.learning.colde import Colde, load_colde, save_weights
from colde_cli.learning.gradient_cache import ChunkSource, FrozenChunks, TrainedChunks, micro_tokens
from colde_cli.learning.graphs import calibration_chunks, export_model, frozen_encoder, new_folder
from colde_cli.learning.learner import CENTER_SAMPLE, ColdeLearner, center_chunks, set_center
from colde_cli.learning.loop import Checkpoint, Outcome, Task
from colde_cli.learning.prepared import Inputs, write_prepared
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.run import Job, Training, TrainingDisplay, make_task, read_inputs, run_digest, torch_device
from colde_cli.learning.sampling import HardNegatives, TaskData, hard_negatives
from colde_cli.learning.serving import fit_served
from colde_cli.learning.tokens import TokenStore, tokenize_documents

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
        if self.processes.count > 1 and recipe.freeze_backbone:
            raise OptionError("--freeze-backbone trains in one process; start it without accelerate launch.")
        self.device = self.processes.device or torch_device(job.device)
        start = None if job.init is None else open_folder(job.init)
        backbone = load_backbone(job.backbone)
        self.tokenizer = backbone.tokenizer
        inputs = read_inputs(job, backbone)
        self.read = make_task(job, inputs)
        self.model = build_model(recipe, backbone, start)
        tokens = read_tokens(inputs, backbone, self.display)
        store = tokens.chunked(backbone.tokenizer, self.model.config.chunk_tokens)
        files = np.array([item.file for item in self.read.data.documents], np.int64)
        weights = self.model.state_dict() if start else backbone.weights
        run = run_digest(job, self.read, store.digest(), weights)
        self.task = Task(store, self.read.positives, self.read.split, files, run)
        chunks = np.concatenate([store.chunks_of(int(number)) for number in self.read.split.training])
        self.calibration_ids = calibration_chunks(store.tokens(int(chunk)).tolist() for chunk in chunks)
        return run

    def learner(self, saved: Checkpoint | None) -> ColdeLearner:
        """See `Training`."""
        recipe, model, task = self.job.recipe, self.model, self.task
        source = self._source()
        self.display.phase("Preparing")
        centers = None
        if saved is None:
            # While the backbone is frozen, every chunk has its vector anyway.
            sample = None if recipe.freeze_backbone else CENTER_SAMPLE
            centers = set_center(model, source, task, sample if recipe.epochs else _FINAL_SAMPLE, recipe.seed)
        hard = self._hard_negatives() if recipe.hard_negatives else None
        return ColdeLearner(model, source, task, recipe, self.device, self.processes, hard, centers)

    def write(self, outcome: Outcome) -> Outcome:
        """See `Training`."""
        job, model, combine = self.job, self.model.cpu(), self.job.recipe.combine
        with new_folder(job.output, model.config.to_json(), self.tokenizer) as staged:
            save_weights(model, staged)
            export_model(staged, self.calibration_ids)
            served = fit_served(staged, self.read, self.task.texts, combine=combine, device=job.device)
            start = job.init.name if job.init else ""
            facts = self.facts(served=served.metrics, start=start, parts=served.parts)
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


def prepare_data(job: Job, path: Path, display: TrainingDisplay) -> TaskData:
    """Write the data of a job to one file, for `colde train` on this machine or another.

    Raises:
        ColdeError: the data is not right, or the file cannot be written.
    """
    display.phase("Reading the documents")
    backbone = load_backbone(job.backbone)
    inputs = read_inputs(job, backbone)
    task = make_task(job, inputs)
    write_prepared(path, inputs, read_tokens(inputs, backbone, display), backbone)
    return task


def read_tokens(inputs: Inputs, backbone: Backbone, display: TrainingDisplay) -> TokenStore:
    """Return the tokens of all documents, those of a prepared file or new ones.

    Raises:
        DataError: a document has no token.
    """
    if inputs.tokens is not None:
        return inputs.tokens
    display.phase("Tokenizing them", len(inputs.data.documents))
    documents = [item.document for item in inputs.data.documents]
    return tokenize_documents(documents, backbone.tokenizer, display.advance)


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
        chunk_position=recipe.chunk_position,
        sections=recipe.sections_used,
        attention_heads=recipe.heads,
        lstm_hidden=0 if "no-lstm" in recipe.ablations else 256,
        projection=recipe.projection,
        residual=recipe.residual,
        residual_share=recipe.residual_share,
        dropout=recipe.dropout,
    )
