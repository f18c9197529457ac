"""Tokenizers of systems that read words and have no backbone to bring one along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    open_workshop,
    read_task,
    run_digest,
    torch_device,
)
from colde_cli.learning.journal import Both, Journal
from colde_cli.learning.loop import Observer, Outcome
from colde_cli.learning.networks.towers.longformer import longformer_of_bert
from colde_cli.learning.processes import ALONE, Processes
from colde_cli.learning.towers.export import export_tower, save_tower
from colde_cli.learning.towers.pretraining import PretrainingRecipe, masking_vocabulary, pretrain
from colde_cli.learning.towers.registry import MASKING, SYSTEMS, System
from colde_cli.learning.towers.trainer import TowerRecipe, TowerTask, TowerTrainer, rows_digest
from colde_cli.learning.towers.unsupervised import (
    PairOptions,
    UnsupervisedRecipe,
    specials_of,
    split_sentences,
    train_unsupervised,
)
from colde_cli.scoring.fit import fit_calibration

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""Ids 0 to 3 of every vocabulary made here."""
WORDS = 50_000
"""Size of a vocabulary: the most frequent words of the training texts."""


def learn_vocabulary(texts: Iterable[str], size: int = WORDS) -> str:
    """The text of a `tokenizer.json` with one word or punctuation mark a token, lower-cased.

    The same texts in any order give the same file: words of one count are taken in the order of the alphabet.

    Args:
        texts: to learn from; those that train, and no others.
        size: ids at most, the four special ones included.
    """
    from tokenizers import models, trainers

    tokenizer = _words(models.WordLevel({}, unk_token="[UNK]"))
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=1, show_progress=False, special_tokens=list(SPECIALS)
    )
    tokenizer.train_from_iterator(texts, trainer)
    text: str = tokenizer.to_str()
    return text


def bare_tokenizer() -> str:
    """A `tokenizer.json` that knows no word: it only says where words are, for systems that read letters."""
    from tokenizers import models

    ids = {token: number for number, token in enumerate(SPECIALS)}
    text: str = _words(models.WordLevel(ids, unk_token="[UNK]")).to_str()
    return text


def vocabulary_size(tokenizer: str) -> int:
    """Number of ids of a `tokenizer.json`."""
    from tokenizers import Tokenizer

    return int(Tokenizer.from_str(tokenizer).get_vocab_size())


def _words(model: object) -> Any:  # noqa: ANN401 - `tokenizers` is not typed
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def learn_unlabelled(
    network: nn.Module,
    config: TowerConfig,
    tokenizer: str,
    documents: Sequence[tuple[str, Rows]],
    recipe: TowerRecipe,
    device: torch.device,
    reporter: TrainingDisplay,
) -> None:
    """Train `network` in place by `recipe.pretrain`.

    Args:
        network: with the weights that it starts from.
        config: its sizes.
        tokenizer: the text of `tokenizer.json`.
        documents: text and rows of each document that trains.
        recipe: says which objective, and for how long.
        device: where.
        reporter: told of every batch.

    Raises:
        DataError: too few documents.
        OptionError: the tokenizer lacks what the objective needs.
    """
    if len(documents) < 2:
        raise DataError("--pretrain needs two training documents at least.")
    reporter.phase(f"Learning {recipe.pretrain} from {len(documents):,} documents")
    options: dict[str, Any] = {
        "epochs": recipe.pretrain_epochs,
        "seed": recipe.seed,
        "precision": recipe.precision,
    }
    plain = plain_tokenizer(tokenizer)

    def told(values: dict[str, float]) -> None:
        reporter.advance(1)

    objective: Any = recipe.pretrain
    learner: Any = network
    if objective in MASKING:
        vocabulary = masking_vocabulary(plain, config.vocab_size)
        masking = PretrainingRecipe(objective=objective, **options)
        pretrain(learner, [rows for _, rows in documents], vocabulary, masking, device, told)
        return
    laser = UnsupervisedRecipe(
        pairs=PairOptions(objective=objective, row_tokens=config.row_tokens), **options
    )
    sentences = [found for text, _ in documents if (found := split_sentences(text, plain)) is not None]
    train_unsupervised(network, sentences, specials_of(plain), laser, device, told)


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
    reporter: TrainingDisplay,
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


def _pack(texts: Sequence[str], made: _Made, read: TaskData, reporter: TrainingDisplay) -> list[Rows]:
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
