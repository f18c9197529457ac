"""What every `colde train` begins with, whatever the system: the job, its folders, its data."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from colde_cli.errors import DeviceError, OptionError
from colde_cli.evaluation.data import DataFile, LabelledPair, TrainingData, read_data, read_pairs
from colde_cli.learning import checkpoint
from colde_cli.learning.sampling import Positives
from colde_cli.learning.splits import Split, split_by_fraction, split_by_pairs


class JobRecipe(Protocol):
    """What the job asks of a recipe."""

    @property
    def seed(self) -> int:
        """Of everything random."""

    def digest(self) -> str:
        """Hash of every option."""


R = TypeVar("R", bound=JobRecipe)


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """What `colde train` was asked to do.

    Attributes:
        data: files of documents.
        output: the model folder to write.
        recipe: how to train.
        backbone: see `load_backbone`; unused by systems without one.
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
        """The folder of checkpoints and logs."""
        return self.output.with_name(self.output.name + ".training")


class TrainingDisplay(Protocol):
    """Told what a run is about to do, and how far it is."""

    def phase(self, text: str, total: int | None = None) -> None:
        """A new phase begins, of so many steps if known."""

    def advance(self, count: int) -> None:
        """So many steps of the phase are done."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskData:
    """Everything read and checked, before any computing."""

    data: TrainingData
    files: tuple[DataFile, ...]
    positives: Positives
    split: Split


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


def check_folders(job: Job[Any]) -> None:
    """See that nothing is overwritten, and nothing forgotten, that was not meant to be.

    Raises:
        OptionError: it would be.
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
    """Make the folder of the run, without what an earlier one left there."""
    if not job.resume:
        shutil.rmtree(job.workshop, ignore_errors=True)
    job.workshop.mkdir(parents=True, exist_ok=True)


def read_task(job: Job[Any]) -> TaskData:
    """Read documents and judgements, and part those that train from those that validate.

    Raises:
        DataError: something in them is not right.
    """
    data = read_data(job.data)
    numbers = data.numbers()
    files = list(data.files)

    def judged(path: Path) -> tuple[LabelledPair, ...]:
        pairs = read_pairs(path, numbers)
        files.append(DataFile(path.name, len(pairs)))
        return pairs

    positives = Positives.of(data, judged(job.pairs) if job.pairs else ())
    if isinstance(job.validation, Path):
        split = split_by_pairs(data, judged(job.validation))
    else:
        split = split_by_fraction(data, positives, job.validation, job.recipe.seed)
    return TaskData(data, tuple(files), positives, split)


def run_digest(job: Job[Any], read: TaskData, texts: str, weights: Mapping[str, Tensor]) -> str:
    """Hash of recipe, documents, supervision and backbone.

    Args:
        job: whose recipe counts.
        read: the supervision.
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
