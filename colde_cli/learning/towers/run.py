"""Train a tower from data to model folder: read, pack into rows, pre-train, train, export."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from colde_cli.documents.chunking import plain_tokenizer
from colde_cli.encoder.layout import CARD, WEIGHTS
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.packing import Rows, document_text, packing
from colde_cli.errors import DataError, ModelError, OptionError
from colde_cli.learning import checkpoint
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.card import CardFacts, write_card
from colde_cli.learning.export.export import new_folder
from colde_cli.learning.job import (
    Job,
    TaskData,
    TrainingDisplay,
    check_folders,
    make_task,
    open_workshop,
    read_inputs,
    run_digest,
    torch_device,
)
from colde_cli.learning.journal import Journal
from colde_cli.learning.loop import Outcome, Task, train
from colde_cli.learning.networks.longformer import longformer_of_bert
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.towers.export import export_tower, save_tower
from colde_cli.learning.towers.learner import TowerLearner
from colde_cli.learning.towers.pretraining import PretrainingRecipe, masking_vocabulary, pretrain
from colde_cli.learning.towers.registry import MASKING, SYSTEMS, TowerSystem
from colde_cli.learning.towers.unsupervised import (
    PairOptions,
    UnsupervisedRecipe,
    specials_of,
    split_sentences,
    train_unsupervised,
)
from colde_cli.learning.towers.vocabulary import bare_tokenizer, learn_vocabulary, vocabulary_size
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
    pairs = PairOptions(objective=objective, row_tokens=parts.config.row_tokens)
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
        save_tower(parts.network.cpu(), staged / WEIGHTS)
        export_tower(staged, samples)
    checkpoint.discard(job.workshop)
