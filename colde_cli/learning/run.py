"""Train CoLDE from data to model folder: read, cut into chunks, encode, train, export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.layout import CARD, WEIGHTS
from colde_cli.errors import ModelError, OptionError
from colde_cli.evaluation.metrics import PairMetrics
from colde_cli.files import atomic_file
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import CardFacts, write_card
from colde_cli.learning.export.export import calibration_chunks, export_model, frozen_encoder, new_folder
from colde_cli.learning.gradient_cache import ChunkSource, FrozenChunks, TrainedChunks, micro_tokens
from colde_cli.learning.hard_negatives import hard_negatives
from colde_cli.learning.job import (
    Job,
    TaskData,
    TrainingDisplay,
    check_folders,
    make_task,
    open_workshop,
    read_inputs,
    read_tokens,
    run_digest,
    torch_device,
)
from colde_cli.learning.journal import Journal
from colde_cli.learning.learner import CENTER_SAMPLE, ColdeLearner, ColdeTask, set_center
from colde_cli.learning.loop import Outcome, Task, train
from colde_cli.learning.networks.colde import Colde, save_weights
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.serving import fit_served
from colde_cli.learning.tokens import ChunkStore
from colde_cli.recipes import Recipe

_VECTORS = "vectors.npy"
# Chunks encoded between two writes of the table.
_BLOCK = 512


def train_model(
    job: Job[Recipe], display: TrainingDisplay, stop: Callable[[], bool], processes: Processes = ALONE
) -> Outcome:
    """Train a model and write its folder.

    With several processes all of them call this; the main one writes.

    Raises:
        ColdeError: data, backbone, device or options are not right.
        Stopped: `stop` returned True; the run is saved in `job.workshop`.
    """
    job.recipe.check()
    if processes.count > 1 and job.recipe.freeze_backbone:
        raise OptionError("--freeze-backbone trains in one process; start it without accelerate launch.")
    check_folders(job)
    device = processes.device or torch_device(job.device)
    display.phase("Reading the documents")
    backbone = load_backbone(job.backbone)
    inputs = read_inputs(job, backbone)
    read = make_task(job, inputs)
    model = build_model(job.recipe, backbone)
    tokens = read_tokens(inputs, backbone, display)
    store = tokens.chunked(backbone.tokenizer, model.config.chunk_tokens)
    files = np.array([item.file for item in read.data.documents], np.int64)
    run = run_digest(job, read, store.digest(), backbone.weights)
    task = Task(store, read.positives, read.split, files, run)
    saved = checkpoint.load(job.workshop, run) if job.resume else None
    calibration_ids = _calibration_ids(task)
    if processes.main:
        open_workshop(job)
    source: ChunkSource
    if job.recipe.freeze_backbone:
        source = _frozen(job, model, task, backbone.tokenizer, calibration_ids, device, display)
    else:
        model.to(device)
        at_once = micro_tokens(model.encoder, job.recipe.max_memory)
        source = TrainedChunks(model.encoder, store, at_once, device, job.recipe.precision, processes)
    display.phase("Preparing")
    if saved is None:
        sample = None if job.recipe.freeze_backbone else CENTER_SAMPLE
        set_center(model, source, task, sample, job.recipe.seed)
    hard = None
    if job.recipe.hard_negatives:
        display.phase("Finding hard negatives")
        hard = hard_negatives(
            store, backbone.tokenizer, read.positives, read.split.training, files, job.recipe.hard_negatives
        )
    learner = ColdeLearner(model, source, task, job.recipe, device, processes, hard)
    with ExitStack() as stack:
        journal = [stack.enter_context(Journal(job.workshop))] if processes.main else []
        outcome = train(
            learner,
            job.recipe,
            [display, *journal],
            job.workshop,
            resume=saved,
            every=job.checkpoint_every,
            stop=stop,
        )
    if not processes.main:
        return outcome
    display.phase("Writing the model")
    served = _write_model(job, model.cpu(), read, store, outcome, backbone.tokenizer, calibration_ids)
    return replace(outcome, served=served if job.recipe.combine else None)


def build_model(recipe: Recipe, backbone: Backbone) -> Colde:
    """Build the untrained model: pretrained BERT, new head; only the weights to be trained require gradients.

    Raises:
        ModelError: the backbone's weights do not fit its configuration.
    """
    torch.manual_seed(recipe.seed)
    model = Colde(recipe.model_config(backbone))
    try:
        model.encoder.load_bert(backbone.weights)
    except (ValueError, KeyError) as error:
        raise ModelError(f"The backbone {backbone.name} is not a whole BERT: {error}.") from error
    if recipe.freeze_backbone:
        model.encoder.requires_grad_(False)
    elif recipe.trainable_layers is not None:
        model.encoder.train_only(recipe.trainable_layers)
    return model.eval()


def _calibration_ids(task: ColdeTask) -> list[list[int]]:
    chunks = np.concatenate([task.texts.chunks_of(int(number)) for number in task.split.training])
    return calibration_chunks(task.texts.tokens(int(chunk)).tolist() for chunk in chunks)


def _frozen(
    job: Job[Recipe],
    model: Colde,
    task: ColdeTask,
    tokenizer: str,
    calibration_ids: list[list[int]],
    device: torch.device,
    display: TrainingDisplay,
) -> FrozenChunks:
    path = job.workshop / _VECTORS
    if not (job.resume and path.is_file()):
        display.phase("Encoding the chunks", len(task.texts))
        with frozen_vectors(model, tokenizer, calibration_ids, job.device) as encode:
            _write_table(task.texts, encode, model.config.hidden_size, path, display)
    return FrozenChunks(np.load(path, mmap_mode="r"), device)


Encode = Callable[[ChunkStore, range], NDArray[np.float32]]


@contextmanager
def frozen_vectors(
    model: Colde, tokenizer: str, calibration_ids: list[list[int]], device: str
) -> Iterator[Encode]:
    """Encode chunks with the graph that will serve the model, through the cache that all commands share."""
    with (
        Cache.open() as cache,
        frozen_encoder(model, tokenizer, calibration_ids, device=device, cache=cache) as encoder,
    ):
        yield lambda store, numbers: encoder.encode_chunks([store.chunk(number) for number in numbers])


def _write_table(
    store: ChunkStore, encode: Encode, hidden: int, path: Path, display: TrainingDisplay
) -> None:
    """Write all chunk vectors to a memory-mapped file, which appears whole or not at all."""
    with atomic_file(path) as staged:
        table = np.lib.format.open_memmap(staged, "w+", np.float32, (len(store), hidden))
        for start in range(0, len(store), _BLOCK):
            numbers = range(start, min(start + _BLOCK, len(store)))
            table[numbers.start : numbers.stop] = encode(store, numbers)
            display.advance(len(numbers))
        table.flush()


def _write_model(
    job: Job[Recipe],
    model: Colde,
    read: TaskData,
    store: ChunkStore,
    outcome: Outcome,
    tokenizer: str,
    calibration_ids: list[list[int]],
) -> PairMetrics:
    """Write the model folder, and return the validation figures of the model as it is served."""
    with new_folder(job.output, model.config.to_json(), tokenizer) as staged:
        save_weights(model, staged / WEIGHTS)
        export_model(staged, calibration_ids)
        served = fit_served(staged, read, store, combine=job.recipe.combine, device=job.device)
        facts = CardFacts(
            job.output.name,
            job.command,
            read.files,
            len(read.split.training),
            read.split.judged,
            job.note,
            served.metrics,
        )
        card = write_card(facts, served.config, job.recipe, outcome)
        (staged / CARD).write_text(card, encoding="utf-8")
    # The log stays.
    checkpoint.discard(job.workshop)
    (job.workshop / _VECTORS).unlink(missing_ok=True)
    return served.metrics
