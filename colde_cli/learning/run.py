"""A training from data to model folder: prepare, fit, write. It reads the same for every system.

`train_model` is the whole of it. What differs is a `Training`: CoLDE's is `colde_training`, that of the other systems
`systems.training`.
"""

from __future__ import annotations

import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from colde_cli.encoder.runtime import probe_cuda
from colde_cli.errors import DeviceError, OptionError
from colde_cli.evaluation.data import VALIDATION, DataFile, LabelledPair, TrainingData, read_data, read_pairs
from colde_cli.learning.card import CardFacts
from colde_cli.learning.journal import Journal
from colde_cli.learning.loop import Checkpoint, Learner, Observer, Outcome, train
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.sampling import Positives, TaskData, split_by_fraction, split_by_pairs


class TrainingDisplay(Observer, Protocol):
    """Shows the phases of a job, how far each is, and how the training goes."""

    def phase(self, text: str, total: int | None = None) -> None:
        """Begin a phase of `total` steps; None if their number is not known."""

    def advance(self, count: int) -> None:
        """Count steps of the phase."""


@dataclass(frozen=True, slots=True)
class Job:
    """One `colde train`: the data, the recipe and the folder to write."""

    data: tuple[Path, ...]  # files of documents, and folders of labelled sets
    output: Path
    recipe: Recipe
    backbone: str
    # folder of the CoLDE model to continue from, also named as `backbone`; None for a new head
    init: Path | None = None
    pairs: Path | None = None  # file of judged training pairs
    validation: Path | float = 0.1  # file of judged pairs, or the share of the documents to hold back
    device: str = "auto"
    resume: bool = False
    overwrite: bool = False
    command: str = "colde train"  # the command line, for the card; `note` is its text of the user's own
    note: str = ""

    @property
    def workshop(self) -> Path:
        """The folder of checkpoints and logs, beside the model folder."""
        return workshop(self.output)


def workshop(output: Path) -> Path:
    """The folder of checkpoints and logs of a run, beside the model folder."""
    return output.with_name(output.name + ".training")


class Training(ABC):
    """What a system does before and after the loop. The methods are called once each, in this order."""

    read: TaskData
    """The data of the job; `prepare` sets it."""

    def __init__(self, job: Job, display: TrainingDisplay, processes: Processes = ALONE) -> None:
        self.job, self.display, self.processes = job, display, processes

    @abstractmethod
    def prepare(self) -> str:
        """Read the data, build the network, and return the digest of the run."""

    @abstractmethod
    def learner(self, saved: Checkpoint | None) -> Learner:
        """Make ready to learn, or to go on from a checkpoint."""

    @abstractmethod
    def write(self, outcome: Outcome) -> Outcome:
        """Write the model folder, and return the outcome with the figures of the model as it is served."""

    def facts(self, **more: Any) -> CardFacts:  # noqa: ANN401 - fields of `CardFacts`
        """What the card says of the run."""
        job, split = self.job, self.read.split
        return CardFacts(
            job.output.name, job.command, self.read.files, len(split.training), split.judged, job.note, **more
        )


def train_model(training: Training, stop: Callable[[], bool]) -> Outcome:
    """Train a model and write its folder. With several processes all of them call this; the main one writes.

    Raises:
        ColdeError: data, backbone, device or options are not right.
        Stopped: `stop` returned True; the run is saved in the job's workshop.
    """
    job, display, main = training.job, training.display, training.processes.main
    check_folders(job)
    display.phase("Reading the documents")
    run = training.prepare()
    saved = Checkpoint.load(job.workshop, run) if job.resume else None
    if main:
        if not job.resume:
            shutil.rmtree(job.workshop, ignore_errors=True)
        job.workshop.mkdir(parents=True, exist_ok=True)
    learner = training.learner(saved)
    observers: list[Observer] = [display, Journal(job.workshop)] if main else [display]
    outcome = train(learner, job.recipe, observers, job.workshop, resume=saved, stop=stop)
    if not main:
        return outcome
    display.phase("Writing the model")
    outcome = training.write(outcome)
    Checkpoint.file(job.workshop).unlink(missing_ok=True)  # the log stays
    return outcome


def training_device(job: Job, assigned: torch.device | None = None) -> torch.device:
    """Return the device to train on, or the GPU of this process, `assigned`, when all can be done on it.

    Raises:
        DeviceError: this machine lacks it, or it lacks the arithmetic of the recipe.
        OptionError: it is not the name of a device.
    """
    name = job.device
    kind, _, number = name.partition(":")
    if name == "auto":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    elif kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise OptionError(f"--device {name} is not auto, cpu, cuda or cuda:N.")
    elif kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise DeviceError(
            f"PyTorch sees {torch.cuda.device_count()} GPUs, not {name}; train with --device cpu, or install "
            "a PyTorch for CUDA."
        )
    elif kind == "cuda" and not (cuda := probe_cuda()).usable:  # the model is fitted with it when it is trained
        raise DeviceError(f"ONNX Runtime cannot use CUDA here: {cuda.problem}; train with --device cpu.")
    else:
        device = torch.device(name)
    # PyTorch emulates bf16 on older GPUs, many times slower than fp32.
    if job.recipe.precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported(False):
        raise DeviceError("This GPU does not compute in bf16; train with --set precision=fp32.")
    return assigned or device


def check_folders(job: Job) -> None:
    """Check that no model and no unfinished run is lost by mistake.

    Raises:
        OptionError: the options do not say what should become of one.
    """
    if job.output.exists() and not job.overwrite:
        raise OptionError(f"{job.output} exists; name another --output, or replace it with --overwrite.")
    if job.output.exists() and not (job.output / "config.json").is_file():
        raise OptionError(f"{job.output} is not a model and will not be overwritten; name another --output.")
    unfinished = Checkpoint.file(job.workshop).is_file()
    if job.resume and not unfinished:
        raise OptionError(f"There is nothing to resume in {job.workshop}; train without --resume.")
    if unfinished and not (job.resume or job.overwrite):
        raise OptionError(
            f"An unfinished run lies in {job.workshop}; go on with --resume, or start anew with --overwrite."
        )


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The pairs of a file, with its name."""

    name: str
    pairs: tuple[LabelledPair, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The documents and judged pairs of a run."""

    data: TrainingData
    pairs: JudgedPairs | None = None  # to train on; None without
    validation: JudgedPairs | None = None  # to validate on; None without


def read_inputs(job: Job) -> Inputs:
    """Read documents and judged pairs, without the documents that the run does not use.

    Raises:
        DataError: the data is not right.
        MissingFileError: there is no such file.
    """
    inputs = Inputs(read_data(job.data))
    numbers = inputs.data.numbers()
    for name, path in (("pairs", job.pairs), ("validation", job.validation)):
        if isinstance(path, Path):
            judged: Any = JudgedPairs(path.name, read_pairs(path, numbers))
            inputs = replace(inputs, **{name: judged})
    sets = [path for path in job.data if path.is_dir()]
    if sets and inputs.validation is None:
        judged = [pair for path in sets for pair in read_pairs(path, numbers) if pair.split == VALIDATION]
        if judged:
            inputs = replace(inputs, validation=JudgedPairs("validation pairs", tuple(judged)))
    return _without_unused(inputs)


def _without_unused(inputs: Inputs) -> Inputs:
    """Leave out the documents of the test split that no judged pair names, and the links to them."""
    documents = inputs.data.documents
    if not any(item.split == "train" for item in documents):
        return inputs
    judged = [pair for source in (inputs.pairs, inputs.validation) if source for pair in source.pairs]
    named = {name for pair in judged for name in (pair.a, pair.b)}
    kept = [item for item in documents if item.split != "test" or item.id in named]
    known = {item.id for item in kept}
    linked = (replace(item, related=tuple(filter(known.__contains__, item.related))) for item in kept)
    return replace(inputs, data=replace(inputs.data, documents=tuple(linked)))


def make_task(job: Job, inputs: Inputs) -> TaskData:
    """Split the data of a run into training and validation.

    Raises:
        DataError: there is nothing to train or to validate on.
    """
    sources = [source for source in (inputs.pairs, inputs.validation) if source is not None]
    files = [*inputs.data.files, *(DataFile(source.name, len(source.pairs)) for source in sources)]
    positives = Positives.of(inputs.data, inputs.pairs.pairs if inputs.pairs else ())
    if inputs.validation is not None:
        split = split_by_pairs(inputs.data, inputs.validation.pairs)
    else:
        share = job.validation if isinstance(job.validation, float) else 0.0
        split = split_by_fraction(inputs.data, positives, share, job.recipe.seed)
    return TaskData(inputs.data, tuple(files), positives, split)


def run_digest(job: Job, read: TaskData, texts: str, weights: Mapping[str, Tensor]) -> str:
    """Hash recipe, documents, supervision and backbone: a checkpoint belongs to one such run.

    `texts` is a hash of the documents as the network reads them; `weights` are those of the backbone, if there is one.
    """
    state = hashlib.blake2b(digest_size=16)
    positives, split = read.positives, read.split
    relations = [[sorted(each) for each in relation] for relation in (positives.links, positives.excluded)]
    state.update(f"{job.recipe.digest()} {texts} {relations}".encode())
    for array in (positives.labels, split.training, split.pairs, split.related):
        state.update(np.ascontiguousarray(array).tobytes())
    for name in sorted(weights):
        state.update(name.encode() + np.ascontiguousarray(weights[name].numpy()).tobytes())
    return state.hexdigest()
