"""The job of a `colde train`, and what comes first for every system: folders, device, data."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from colde_cli.errors import DataError, DeviceError, OptionError
from colde_cli.evaluation.data import DataFile, TrainingData, read_data, read_pairs
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone
from colde_cli.learning.loop import Observer
from colde_cli.learning.prepared import Inputs, JudgedPairs, is_prepared, read_prepared, write_prepared
from colde_cli.learning.sampling import Positives
from colde_cli.learning.splits import Split, split_by_fraction, split_by_pairs
from colde_cli.learning.tokens import TokenStore, tokenize_documents
from colde_cli.recipes import Recipe, TowerRecipe

R = TypeVar("R", bound=Recipe | TowerRecipe)


class TrainingDisplay(Observer, Protocol):
    """Shows the phases of a job, how far each is, and how the training goes."""

    def phase(self, text: str, total: int | None = None) -> None:
        """Begin a phase, of so many steps if known."""

    def advance(self, count: int) -> None:
        """Count steps of the phase."""


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """One `colde train`: the data, the recipe and the folder to write.

    Attributes:
        data: files of documents, or one that `prepare_data` wrote.
        output: the model folder to write.
        backbone: see `load_backbone`; unused by systems without one.
        pairs: file of judged training pairs.
        validation: file of judged pairs, or the share of the documents to hold back.
        device: "auto", "cpu", "cuda" or "cuda:N".
        resume: go on with the run that was stopped.
        overwrite: replace the model folder, or an unfinished run.
        checkpoint_every: steps between checkpoints; 0 writes one after every epoch only.
        command: the command line, for the card.
        note: text for the card.
    """

    data: tuple[Path, ...]
    output: Path
    recipe: R
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
        """The folder of checkpoints and logs, beside the model folder."""
        return self.output.with_name(self.output.name + ".training")


@dataclass(frozen=True, slots=True, eq=False)
class TaskData:
    """The data of a job, read and checked."""

    data: TrainingData
    files: tuple[DataFile, ...]
    positives: Positives
    split: Split


def torch_device(name: str) -> torch.device:
    """Return the device to train on.

    Raises:
        DeviceError: this machine lacks it.
        OptionError: it is not the name of a device.
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


def check_folders(job: Job[Any]) -> None:
    """Check that no model and no unfinished run is lost by mistake.

    Raises:
        OptionError: the options do not say what should become of one.
    """
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


def open_workshop(job: Job[Any]) -> None:
    """Make the folder of the run; a new run deletes what an earlier one left there."""
    if not job.resume:
        shutil.rmtree(job.workshop, ignore_errors=True)
    job.workshop.mkdir(parents=True, exist_ok=True)


def read_inputs(job: Job[Any], backbone: Backbone | None) -> Inputs:
    """Read documents and judged pairs, without the documents that the run does not use.

    Args:
        job: names the files.
        backbone: to read a prepared file for; None for a system that reads texts.

    Raises:
        DataError: the data is not right.
        MissingFileError: there is no such file.
    """
    inputs = _documents(job, backbone)
    numbers = inputs.data.numbers()

    def judged(path: Path) -> JudgedPairs:
        return JudgedPairs(path.name, read_pairs(path, numbers))

    if job.pairs is not None:
        inputs = replace(inputs, pairs=judged(job.pairs))
    if isinstance(job.validation, Path):
        inputs = replace(inputs, validation=judged(job.validation))
    return _used(inputs) if inputs.tokens is None else inputs


def _documents(job: Job[Any], backbone: Backbone | None) -> Inputs:
    prepared = [path for path in job.data if is_prepared(path)]
    if not prepared:
        return Inputs(read_data(job.data), None, None)
    if len(job.data) > 1:
        raise DataError(f"{prepared[0]} is prepared data and holds a whole run; name it alone.")
    if backbone is None:
        raise DataError(
            f"{prepared[0]} holds tokens without their text, for --system colde; name the JSON Lines."
        )
    return read_prepared(prepared[0], backbone)


def _used(inputs: Inputs) -> Inputs:
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


def make_task(job: Job[Any], inputs: Inputs) -> TaskData:
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


def prepare_data(job: Job[Any], backbone: Backbone, path: Path, display: TrainingDisplay) -> TaskData:
    """Write the data of a job to one file, for `colde train` on this machine or another.

    Raises:
        ColdeError: the data is not right, or the file cannot be written.
    """
    display.phase("Reading the documents")
    inputs = read_inputs(job, backbone)
    task = make_task(job, inputs)
    tokens = read_tokens(inputs, backbone, display)
    write_prepared(path, inputs, tokens, backbone)
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


def run_digest(job: Job[Any], read: TaskData, texts: str, weights: Mapping[str, Tensor]) -> str:
    """Hash recipe, documents, supervision and backbone: a checkpoint belongs to one such run.

    Args:
        job: gives the recipe.
        read: gives labels, links, judged pairs and split.
        texts: hash of the documents as the network reads them.
        weights: of the backbone; empty where there is none.
    """
    state = hashlib.blake2b(digest_size=16)
    positives, split = read.positives, read.split
    relations = [[sorted(found) for found in relation] for relation in (positives.links, positives.excluded)]
    state.update(f"{job.recipe.digest()} {texts} {relations}".encode())
    for array in (positives.labels, split.training, split.pairs, split.related):
        state.update(np.ascontiguousarray(array).tobytes())
    for name in sorted(weights):
        state.update(name.encode() + np.ascontiguousarray(weights[name].numpy()).tobytes())
    return state.hexdigest()
