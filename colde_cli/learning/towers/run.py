"""One `colde train` of a tower from data to model folder: read, pack, train, export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import nn

from colde_cli.documents.chunking import plain_tokenizer
from colde_cli.encoder.layout import CARD, WEIGHTS
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.packing import document_text, packing
from colde_cli.encoder.towers.rows import Rows
from colde_cli.errors import DataError, ModelError, OptionError
from colde_cli.evaluation.calibration_fit import fit_calibration
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import CardFacts, write_card
from colde_cli.learning.finish import new_folder
from colde_cli.learning.job import (
    Job,
    Reporter,
    TaskData,
    check_folders,
    open_workshop,
    read_task,
    run_digest,
    torch_device,
)
from colde_cli.learning.journal import Both, Journal
from colde_cli.learning.loop import Observer, Outcome
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.towers.export import export_tower, save_tower
from colde_cli.learning.towers.longformer_backbone import longformer_of_bert
from colde_cli.learning.towers.recipe import TowerRecipe
from colde_cli.learning.towers.registry import SYSTEMS, System
from colde_cli.learning.towers.trainer import TowerTask, TowerTrainer, rows_digest
from colde_cli.learning.towers.unlabelled import learn_unlabelled
from colde_cli.learning.towers.vocabulary import bare_tokenizer, learn_vocabulary, vocabulary_size

# Documents on which the exported graph must agree with the network: the shortest, the longest, some between.
_SAMPLES = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """What is trained.

    Attributes:
        network: with the weights that it starts from.
        config: its sizes.
        tokenizer: the text of `tokenizer.json`.
        backbone: what it starts from; None where that is nothing.
    """

    network: nn.Module
    config: TowerConfig
    tokenizer: str
    backbone: Backbone | None


def train_tower(
    job: Job[TowerRecipe],
    reporter: Reporter,
    observer: Observer,
    stop: Callable[[], bool],
    processes: Processes = ALONE,
) -> Outcome:
    """Train a tower and write its folder.

    Raises:
        ColdeError: data, backbone, device or options are not right.
        Stopped: `stop` said so; the run is saved in `job.workshop`.
    """
    system = SYSTEMS[job.recipe.system]
    if processes.count > 1:
        raise OptionError(
            f"--system {system.name} trains in one process; start it without accelerate launch."
        )
    check_folders(job)
    device = torch_device(job.device)
    reporter.phase("Reading the documents")
    read = read_task(job)
    texts = [document_text(item.document) for item in read.data.documents]
    made = _make(job, system, [texts[number] for number in read.split.training])
    reporter.phase("Packing them", len(texts))
    packed = _pack(texts, made, read, reporter)
    files = np.array([item.file for item in read.data.documents], np.int64)
    weights = made.backbone.weights if made.backbone is not None and system.pretrained else {}
    run = run_digest(job, read, f"{rows_digest(packed)} {made.config.to_json()}", weights)
    task = TowerTask(packed, read.positives, read.split, files, run)
    saved = checkpoint.load(job.workshop, task.run) if job.resume else None
    open_workshop(job)
    reporter.phase("Preparing")
    if job.recipe.pretrain != "none" and saved is None:
        documents = [(texts[number], packed[number]) for number in read.split.training]
        network, config, tokenizer = made.network, made.config, made.tokenizer
        learn_unlabelled(network, config, tokenizer, documents, job.recipe, device, reporter)
    trainer = TowerTrainer(made.network, task, job.recipe, device)
    train = partial(trainer.run, job.workshop, resume=saved, every=job.checkpoint_every, stop=stop)
    with Journal(job.workshop) as journal:
        outcome = train(Both(observer, journal))
    reporter.phase("Writing the model")
    _finish(job, made, read, outcome, _samples(packed))
    return outcome


def _make(job: Job[TowerRecipe], system: System, training_texts: Sequence[str]) -> _Made:
    """The untrained network and what goes with it.

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
    return _Made(network.eval(), config, tokenizer, backbone)


def _backbone(job: Job[TowerRecipe], system: System) -> Backbone:
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


def _pack(texts: Sequence[str], made: _Made, read: TaskData, reporter: Reporter) -> list[Rows]:
    """The rows of every document.

    Raises:
        DataError: of one of them the network would read nothing.
    """
    pack = packing(made.config.packing, made.config.system)
    tokenizer = plain_tokenizer(made.tokenizer)
    packed = []
    for text, item in zip(texts, read.data.documents, strict=True):
        rows = pack(text, tokenizer, made.config)
        if rows.empty:
            raise DataError(f"{item.place}: the document {item.id!r} has no words; remove it.")
        packed.append(rows.small())
        reporter.advance(1)
    return packed


def _samples(packed: Sequence[Rows]) -> list[Rows]:
    order = sorted(range(len(packed)), key=lambda number: packed[number].ids.size)
    chosen = np.unique(np.linspace(0, len(order) - 1, _SAMPLES).astype(int))
    return [packed[order[place]] for place in chosen]


def _finish(
    job: Job[TowerRecipe], made: _Made, read: TaskData, outcome: Outcome, samples: Sequence[Rows]
) -> None:
    calibration = fit_calibration(read.split.related, outcome.scores)
    config = replace(made.config, threshold=outcome.trained.threshold, calibration=calibration)
    facts = CardFacts(
        job.output.name, job.command, read.files, len(read.split.training), read.split.judged, job.note
    )
    card = write_card(facts, config, job.recipe, outcome)
    with new_folder(job.output, config.to_json(), made.tokenizer) as staged:
        (staged / CARD).write_text(card, encoding="utf-8")
        save_tower(made.network.cpu(), staged / WEIGHTS)
        export_tower(staged, samples)
    checkpoint.discard(job.workshop)
