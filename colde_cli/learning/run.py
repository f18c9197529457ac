"""Train CoLDE from data to model folder: read, cut into chunks, encode, train, export.

The first half is for every system: the job of a `colde train`, its folders, its device and its data.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.layout import CARD, ModelConfig, ModelFolder, open_folder
from colde_cli.errors import DataError, DeviceError, ModelError, OptionError
from colde_cli.evaluation.data import DataFile, read_data, read_pairs
from colde_cli.evaluation.metrics import PairMetrics
from colde_cli.files import atomic_file, load_arrays
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import CardFacts, write_card
from colde_cli.learning.export.export import calibration_chunks, export_model, frozen_encoder, new_folder
from colde_cli.learning.gradient_cache import ChunkSource, FrozenChunks, TrainedChunks, micro_tokens
from colde_cli.learning.learner import CENTER_SAMPLE, ColdeLearner, ColdeTask, center_chunks, set_center
from colde_cli.learning.loop import Journal, Observer, Outcome, Task, train
from colde_cli.learning.networks.colde import Colde, load_colde, save_weights
from colde_cli.learning.prepared import Inputs, JudgedPairs, is_prepared, read_prepared, write_prepared
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.sampling import HardNegatives, Positives, hard_negatives
from colde_cli.learning.serving import fit_served
from colde_cli.learning.splits import TaskData, split_by_fraction, split_by_pairs
from colde_cli.learning.tokens import ChunkStore, TokenStore, tokenize_documents
from colde_cli.recipes import Recipe, TowerRecipe

R = TypeVar("R", bound=Recipe | TowerRecipe)


class TrainingDisplay(Observer, Protocol):
    """Shows the phases of a job, how far each is, and how the training goes."""

    def phase(self, text: str, total: int | None = None) -> None:
        """Begin a phase of `total` steps; None if their number is not known."""

    def advance(self, count: int) -> None:
        """Count steps of the phase."""


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """One `colde train`: the data, the recipe and the folder to write.

    Attributes:
        data: files of documents, or one that `prepare_data` wrote.
        output: the model folder to write.
        backbone: see `load_backbone`; unused by systems without one.
        init: folder of the CoLDE model to continue from, also named as `backbone`; None for a new head.
        pairs: file of judged training pairs.
        validation: file of judged pairs, or the share of the documents to hold back.
        device: "auto", "cpu", "cuda" or "cuda:N".
        resume: go on with the run that was stopped.
        overwrite: replace the model folder, or an unfinished run.
        checkpoint_every: steps between checkpoints; 0 writes one after every epoch only.
        shard_bytes: most bytes of a file of weights; None for one file.
        command: the command line, for the card.
        note: text for the card.
    """

    data: tuple[Path, ...]
    output: Path
    recipe: R
    backbone: str
    init: Path | None = None
    pairs: Path | None = None
    validation: Path | float = 0.1
    device: str = "auto"
    resume: bool = False
    overwrite: bool = False
    checkpoint_every: int = 0
    shard_bytes: int | None = None
    command: str = "colde train"
    note: str = ""

    @property
    def workshop(self) -> Path:
        """The folder of checkpoints and logs, beside the model folder."""
        return self.output.with_name(self.output.name + ".training")


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


_VECTORS = "vectors.npy"
_HARD = "hard-negatives.npz"
_DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
# Chunks encoded between two writes of the table.
_BLOCK = 512
# Chunks whose mean is the centre of a model that is finished without training.
_FINAL_SAMPLE = 4096


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
    if not job.recipe.epochs and job.init is None:
        raise OptionError("--epochs 0 trains nothing; give it 1 at least, or name a model with --init.")
    if processes.count > 1 and job.recipe.freeze_backbone:
        raise OptionError("--freeze-backbone trains in one process; start it without accelerate launch.")
    check_folders(job)
    device = processes.device or torch_device(job.device)
    display.phase("Reading the documents")
    start = None if job.init is None else open_folder(job.init)
    backbone = load_backbone(job.backbone)
    inputs = read_inputs(job, backbone)
    read = make_task(job, inputs)
    model = build_model(job.recipe, backbone, start)
    tokens = read_tokens(inputs, backbone, display)
    store = tokens.chunked(backbone.tokenizer, model.config.chunk_tokens)
    files = np.array([item.file for item in read.data.documents], np.int64)
    run = run_digest(job, read, store.digest(), model.state_dict() if start else backbone.weights)
    task = Task(store, read.positives, read.split, files, run)
    saved = checkpoint.load(job.workshop, run) if job.resume else None
    calibration_ids = _calibration_ids(task)
    if processes.main:
        open_workshop(job)
    frozen = job.recipe.freeze_backbone or (not job.recipe.epochs and not model.encoder.takes_positions)
    source: ChunkSource
    if frozen:
        source = _frozen(job, model, task, backbone.tokenizer, calibration_ids, device, display)
    else:
        model.to(device)
        at_once = micro_tokens(
            model.encoder, job.recipe.max_memory, model.config.chunk_tokens, job.recipe.precision
        )
        source = TrainedChunks(model.encoder, store, at_once, device, job.recipe.precision, processes)
    display.phase("Preparing")
    centers = None
    if saved is None:
        centers = set_center(model, source, task, _center_sample(job.recipe), job.recipe.seed)
    hard = _hard_negatives(job, task, backbone.tokenizer, display) if job.recipe.hard_negatives else None
    learner = ColdeLearner(model, source, task, job.recipe, device, processes, hard, centers)
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


def model_config(recipe: Recipe, backbone: Backbone) -> ModelConfig:
    """Describe the model that a recipe trains.

    Raises:
        OptionError: the heads do not divide the backbone's hidden size, or it has too few layers.
    """
    hidden, layers = int(backbone.fields["hidden_size"]), int(backbone.fields["num_hidden_layers"])
    if hidden % recipe.heads:
        raise OptionError(f"--heads {recipe.heads} does not divide the backbone's {hidden} hidden units.")
    if recipe.trainable_layers is not None and recipe.trainable_layers > layers:
        raise OptionError(f"--trainable-layers {recipe.trainable_layers}, but the backbone has {layers}.")
    chosen = recipe.backbone_dropout
    dropouts = {} if chosen is None else dict.fromkeys(_DROPOUTS, chosen)
    return ModelConfig(
        backbone=backbone.fields | dropouts,
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


def _hard_negatives(
    job: Job[Recipe], task: ColdeTask, tokenizer: str, display: TrainingDisplay
) -> HardNegatives:
    """Find the hard negatives; a run that goes on takes those that it found before."""
    path = job.workshop / _HARD
    if not (job.resume and path.is_file()):
        display.phase("Finding hard negatives")
        training, limit = task.split.training, job.recipe.hard_negatives
        found = hard_negatives(task.texts, tokenizer, task.positives, training, task.files, limit)
        sizes = [len(others) for others in found.values()]
        with atomic_file(path) as staged, staged.open("wb") as file:
            np.savez(file, documents=list(found), counts=sizes, others=np.concatenate(list(found.values())))
        return found
    documents, counts, others = load_arrays(path, "documents", "counts", "others", largest=1 << 40)
    return dict(zip(documents.tolist(), np.split(others, np.cumsum(counts)[:-1]), strict=True))


def _center_sample(recipe: Recipe) -> int | None:
    """How many chunks to take the mean of for the centre; None for all, if each has its vector anyway."""
    if not recipe.epochs:
        return _FINAL_SAMPLE
    return None if recipe.freeze_backbone else CENTER_SAMPLE


def build_model(recipe: Recipe, backbone: Backbone, start: ModelFolder | None = None) -> Colde:
    """Build the model to train; only the weights to be trained require gradients.

    Args:
        recipe: says what the network is like.
        backbone: the pretrained BERT, for a new head.
        start: the model to continue from instead, whose network `recipe` describes.

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
        chunks = np.arange(len(task.texts)) if job.recipe.epochs else _chunks_to_finish(task, job.recipe)
        display.phase("Encoding the chunks", len(chunks))
        with frozen_vectors(model, tokenizer, calibration_ids, job.device) as encode:
            _write_table(task.texts, chunks, encode, model.config.hidden_size, path, display)
    return FrozenChunks(np.load(path, mmap_mode="r"), device)


def _chunks_to_finish(task: ColdeTask, recipe: Recipe) -> NDArray[np.int64]:
    """The chunks that a model needs to be finished: those of the validation pairs, and a sample for the centre."""
    judged = [task.texts.chunks_of(int(number)) for number in np.unique(task.split.pairs)]
    return np.unique(np.concatenate([*judged, center_chunks(task, _FINAL_SAMPLE, recipe.seed)]))


Encode = Callable[[ChunkStore, Iterable[int]], NDArray[np.float32]]


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
    store: ChunkStore,
    chunks: NDArray[np.int64],
    encode: Encode,
    hidden: int,
    path: Path,
    display: TrainingDisplay,
) -> None:
    """Write the vectors of these chunks to a memory-mapped file of all chunks, atomically."""
    with atomic_file(path) as staged:
        table = np.lib.format.open_memmap(staged, "w+", np.float32, (len(store), hidden))
        for start in range(0, len(chunks), _BLOCK):
            numbers = chunks[start : start + _BLOCK]
            table[numbers] = encode(store, numbers.tolist())
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
        save_weights(model, staged, job.shard_bytes)
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
            job.init.name if job.init else "",
            served.parts,
        )
        card = write_card(facts, served.config, job.recipe, outcome)
        (staged / CARD).write_text(card, encoding="utf-8")
    # The log stays.
    checkpoint.discard(job.workshop)
    for name in (_VECTORS, _HARD):
        (job.workshop / name).unlink(missing_ok=True)
    return served.metrics
