"""One `colde train` from data to model folder: read, cut, encode, train, export."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from colde_cli.encoder.cache import Cache
from colde_cli.errors import DeviceError, ModelError, OptionError
from colde_cli.evaluation.calibration_fit import fit_calibration
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import CardFacts, write_card
from colde_cli.learning.data import DataFile, JudgedPair, TrainingData, read_data, read_pairs
from colde_cli.learning.export.calibration import calibration_chunks
from colde_cli.learning.export.frozen import frozen_encoder
from colde_cli.learning.finish import write_model
from colde_cli.learning.journal import Both, Journal
from colde_cli.learning.networks.colde import Colde
from colde_cli.learning.positives import Positives
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.sources import ChunkSource, FrozenChunks, TrainedChunks, micro_tokens
from colde_cli.learning.splits import Split, split_by_fraction, split_by_pairs
from colde_cli.learning.tokens import ChunkStore, chunk_documents
from colde_cli.learning.trainer import CENTER_SAMPLE, Observer, Outcome, Task, Trainer, set_center

_VECTORS = "vectors.npy"
# Chunks encoded between two writes of the table.
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Job:
    """What `colde train` was asked to do.

    Attributes:
        data: files of documents.
        output: the model folder to write.
        recipe: how to train.
        backbone: see `load_backbone`.
        pairs: judged training pairs.
        validation: file of judged pairs, or share of the documents to hold back.
        device: "auto", "cpu", "cuda" or "cuda:N".
        resume: go on with the run that was stopped.
        overwrite: replace the model folder, and an unfinished run.
        checkpoint_every: steps between checkpoints; 0 for one after every epoch.
        command: as it was given, for the card.
        note: for the card.
    """

    data: tuple[Path, ...]
    output: Path
    recipe: Recipe
    backbone: str
    pairs: Path | None = None
    validation: Path | float = 0.1
    device: str = "auto"
    resume: bool = False
    overwrite: bool = False
    checkpoint_every: int = 0
    command: str = "colde train"
    note: str = ""

    @property
    def workshop(self) -> Path:
        """The folder of checkpoints and logs."""
        return self.output.with_name(self.output.name + ".training")


class Reporter(Protocol):
    """Told what a run is about to do, and how far it is."""

    def phase(self, text: str, total: int | None = None) -> None:
        """A new phase begins, of so many steps if known."""

    def advance(self, count: int) -> None:
        """So many steps of the phase are done."""


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Everything read and checked, before any computing."""

    data: TrainingData
    files: tuple[DataFile, ...]
    positives: Positives
    split: Split


def train_model(
    job: Job,
    reporter: Reporter,
    observer: Observer,
    stop: Callable[[], bool],
    processes: Processes = ALONE,
) -> Outcome:
    """Train a model and write its folder.

    With several processes all of them call this; the main one writes.

    Raises:
        ColdeError: data, backbone, device or options are not right.
        Stopped: `stop` said so; the run is saved in `job.workshop`.
    """
    job.recipe.check()
    if processes.count > 1 and job.recipe.freeze_backbone:
        raise OptionError("--freeze-backbone trains in one process; start it without accelerate launch.")
    _check_folders(job)
    device = processes.device or torch_device(job.device)
    reporter.phase("Reading the documents")
    read = _read(job)
    backbone = load_backbone(job.backbone)
    model = build_model(job.recipe, backbone)
    reporter.phase("Cutting them into chunks", len(read.data.documents))
    documents = [item.document for item in read.data.documents]
    store = chunk_documents(documents, backbone.tokenizer, model.config.chunk_tokens, reporter.advance)
    files = np.array([item.file for item in read.data.documents], np.int64)
    task = Task(store, read.positives, read.split, files, _digest(job, read, store, backbone))
    saved = checkpoint.load(job.workshop, task.run) if job.resume else None
    calibration_ids = _calibration_ids(task)
    if processes.main:
        _open_workshop(job)
    source: ChunkSource
    if job.recipe.freeze_backbone:
        source = _frozen(job, model, task, backbone.tokenizer, calibration_ids, device, reporter)
    else:
        model.to(device)
        tokens = micro_tokens(model.encoder, job.recipe.max_memory)
        source = TrainedChunks(model.encoder, store, tokens, device, job.recipe.precision, processes)
    reporter.phase("Preparing")
    if saved is None:
        sample = None if job.recipe.freeze_backbone else CENTER_SAMPLE
        set_center(model, source, task, sample, job.recipe.seed)
    trainer = Trainer(model, source, task, job.recipe, device, processes)
    run = partial(trainer.run, job.workshop, resume=saved, every=job.checkpoint_every, stop=stop)
    if not processes.main:
        return run(observer)
    with Journal(job.workshop) as journal:
        outcome = run(Both(observer, journal))
    reporter.phase("Writing the model")
    _finish(job, model.cpu(), read, outcome, backbone.tokenizer, calibration_ids)
    return outcome


def build_model(recipe: Recipe, backbone: Backbone) -> Colde:
    """The untrained model: pretrained BERT, fresh head, and what is trained set to require gradients.

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


def torch_device(name: str) -> torch.device:
    """The device to train on.

    Raises:
        DeviceError: it is not there.
        OptionError: not the name of a device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise OptionError(f"--device {name} is not auto, cpu, cuda or cuda:N.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise DeviceError(
            f"PyTorch sees {torch.cuda.device_count()} GPUs, not {name}; train with --device cpu, or install "
            "a PyTorch for CUDA."
        )
    return torch.device(name)


def _check_folders(job: Job) -> None:
    if job.output.exists() and not job.overwrite:
        raise OptionError(f"{job.output} exists; name another --output, or replace it with --overwrite.")
    if job.output.exists() and not (job.output / "config.json").is_file():
        raise OptionError(f"{job.output} is not a model and will not be overwritten; name another --output.")
    unfinished = checkpoint.exists(job.workshop)
    if job.resume and not unfinished:
        raise OptionError(f"There is nothing to resume in {job.workshop}; train without --resume.")
    if unfinished and not (job.resume or job.overwrite):
        raise OptionError(
            f"An unfinished run lies in {job.workshop}; go on with --resume, or start anew with --overwrite."
        )


def _open_workshop(job: Job) -> None:
    """Make the folder of the run, without what an earlier one left there."""
    if not job.resume:
        shutil.rmtree(job.workshop, ignore_errors=True)
    job.workshop.mkdir(parents=True, exist_ok=True)


def _read(job: Job) -> _Read:
    data = read_data(job.data)
    numbers = data.numbers()
    files = list(data.files)

    def judged(path: Path) -> tuple[JudgedPair, ...]:
        pairs = read_pairs(path, numbers)
        files.append(DataFile(path.name, len(pairs)))
        return pairs

    positives = Positives.of(data, judged(job.pairs) if job.pairs else ())
    if isinstance(job.validation, Path):
        split = split_by_pairs(data, judged(job.validation))
    else:
        split = split_by_fraction(data, positives, job.validation, job.recipe.seed)
    return _Read(data, tuple(files), positives, split)


def _digest(job: Job, read: _Read, store: ChunkStore, backbone: Backbone) -> str:
    """Hash of recipe, documents, supervision and backbone."""
    state = hashlib.blake2b(digest_size=16)
    positives, split = read.positives, read.split
    relations = [[sorted(found) for found in relation] for relation in (positives.links, positives.excluded)]
    state.update(f"{job.recipe.digest()} {store.digest()} {relations}".encode())
    for array in (positives.labels, split.training, split.pairs, split.related):
        state.update(np.ascontiguousarray(array).tobytes())
    for name in sorted(backbone.weights):
        state.update(name.encode() + np.ascontiguousarray(backbone.weights[name].numpy()).tobytes())
    return state.hexdigest()


def _calibration_ids(task: Task) -> list[list[int]]:
    chunks = np.concatenate([task.store.chunks_of(int(number)) for number in task.split.training])
    return calibration_chunks(task.store.tokens(int(chunk)).tolist() for chunk in chunks)


def _frozen(
    job: Job,
    model: Colde,
    task: Task,
    tokenizer: str,
    calibration_ids: list[list[int]],
    device: torch.device,
    reporter: Reporter,
) -> FrozenChunks:
    path = job.workshop / _VECTORS
    if not (job.resume and path.is_file()):
        reporter.phase("Encoding the chunks", len(task.store))
        with frozen_vectors(model, tokenizer, calibration_ids, job.device) as encode:
            _write_table(task.store, encode, model.config.hidden_size, path, reporter)
    return FrozenChunks(np.load(path, mmap_mode="r"), device)


Encode = Callable[[ChunkStore, range], NDArray[np.float32]]


@contextmanager
def frozen_vectors(
    model: Colde, tokenizer: str, calibration_ids: list[list[int]], device: str
) -> Iterator[Encode]:
    """Encodes chunks with the graph that will serve the model, through the cache that all commands share."""
    with (
        Cache.open() as cache,
        frozen_encoder(model, tokenizer, calibration_ids, device=device, cache=cache) as encoder,
    ):
        yield lambda store, numbers: encoder.encode_chunks([store.chunk(number) for number in numbers])


def _write_table(store: ChunkStore, encode: Encode, hidden: int, path: Path, reporter: Reporter) -> None:
    """All chunk vectors to a file that is read through memory; it appears whole or not at all."""
    staged = path.with_suffix(".tmp")
    table = np.lib.format.open_memmap(staged, "w+", np.float32, (len(store), hidden))
    for start in range(0, len(store), _BLOCK):
        numbers = range(start, min(start + _BLOCK, len(store)))
        table[numbers.start : numbers.stop] = encode(store, numbers)
        reporter.advance(len(numbers))
    table.flush()
    staged.replace(path)


def _finish(
    job: Job, model: Colde, read: _Read, outcome: Outcome, tokenizer: str, calibration_ids: list[list[int]]
) -> None:
    calibration = fit_calibration(read.split.related, outcome.scores)
    model.config = replace(model.config, threshold=outcome.trained.threshold, calibration=calibration)
    facts = CardFacts(
        job.output.name, job.command, read.files, len(read.split.training), read.split.judged, job.note
    )
    card = write_card(facts, model.config, job.recipe, outcome)
    write_model(model, tokenizer, card, calibration_ids, job.output)
    # The log stays; what was needed to go on is not needed any more.
    checkpoint.discard(job.workshop)
    (job.workshop / _VECTORS).unlink(missing_ok=True)
