"""Settings, data and training of small SMITH networks; every run is kept on disk with its curve and pair scores.

Networks, pre-training, pairs, loss and loop are those of `colde train --system smith`; here several networks are
fine-tuned from one pre-training. Documents are packed once to `BLOCKS` blocks of 32 tokens; a network that reads fewer
reads the first ones. Word pieces that the training documents hold fewer than `RARE` times become one [UNK]: masked
words are then guessed among thousands, not among 30,522.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from paper_data import RUNS, run_key
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.documents.chunking import plain_tokenizer, special_token
from colde_cli.documents.document import document_text
from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, pack_blocks
from colde_cli.evaluation.data import LabelledPair, TrainingData, read_data, read_pairs
from colde_cli.learning import loop
from colde_cli.learning.backbone import DEFAULT_BACKBONE, Backbone, load_backbone
from colde_cli.learning.loop import Task
from colde_cli.learning.losses import ALPHA
from colde_cli.learning.sampling import Positives, Split, split_by_pairs
from colde_cli.systems.base import Pretraining, build_system, system_config, system_recipe
from colde_cli.systems.smith import MaskingVocabulary, Smith, pretrain_blocks
from colde_cli.systems.training import SystemLearner


@dataclass(frozen=True, slots=True)
class Start:
    """The network that fine-tuning starts from.

    Attributes:
        pretrain: "none" (NP), "wp", or "wp+sp".
        hidden: H of both Transformers; their feed-forward layers have twice as many units.
        sentence_layers: L1.
        document_layers: L2.
        passage: blocks of a passage; every passage of a training document is one document of pre-training.
        epochs: passes over the passages.
        rate: of learning.
        batch: passages in a batch.
        std: of the weights that a layer starts with; BERT's is 0.02, and 0 is 1/√`hidden`, as in `colde train`.
        dropout: everywhere, in training.
        seed: of the weights, masks and batches.
    """

    pretrain: Literal["none", "wp", "wp+sp"] = "none"
    hidden: int = 64
    sentence_layers: int = 1
    document_layers: int = 1
    passage: int = 8
    epochs: int = 3
    rate: float = 2e-3
    batch: int = 32
    std: float = 0.0
    dropout: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """How a SMITH is fine-tuned.

    Attributes:
        start: from what.
        blocks: read of a document, in training and in the test.
        combine: as in `SmithSizes`.
        dot: score by 6 times the dot product of vectors that are not normalised, as the public code does.
        fitted: let α and β of the loss start where scores of training pairs have mean 0 and deviation 1, as in
            `colde train`; otherwise at 6 and 0.
        epochs: passes over the pairs.
        rate: of learning.
        batch: pairs in a batch.
        seed: of the batches.
    """

    start: Start = field(default_factory=Start)
    blocks: int = 8
    combine: str = "normal"
    dot: bool = False
    fitted: bool = True
    epochs: int = 5
    rate: float = 2e-3
    batch: int = 32
    seed: int = 0

    def seeded(self, seed: int) -> Setting:
        """The same with another seed, from the pre-training on."""
        return replace(self, seed=seed, start=replace(self.start, seed=seed))

    def after(self, pretrain: Literal["wp", "wp+sp"], epochs: int) -> Setting:
        """The same after so many epochs of pre-training."""
        return replace(self, start=replace(self.start, pretrain=pretrain, epochs=epochs))


def key(setting: Setting | Start) -> str:
    """Hash of all fields of a setting."""
    return hashlib.blake2b(json.dumps(asdict(setting)).encode(), digest_size=6).hexdigest()


STANDARD = Setting()
# With one layer over words masked blocks are hardly learnt: their loss ends at 3.9, and at 3.5 with two; chance is 4.2.
DEEPER = replace(STANDARD, start=Start(sentence_layers=2))
LAYERS = ((1, 1), (2, 1), (4, 1), (1, 2))
COMBINATIONS = {"Normal": "normal", "Sum-Concat": "sum-concat", "Mean-Concat": "mean-concat", "Attention": "attention"}
LENGTHS = (2, 4, 8, 16, 32)


def table_5() -> dict[str, Setting]:
    """The effect of pre-training, and of the deviation of the initial weights."""
    return {
        "NP, BERT's weights": replace(DEEPER, start=replace(DEEPER.start, std=0.02), fitted=False),
        "NP": DEEPER,
        "WP": replace(DEEPER, start=replace(DEEPER.start, pretrain="wp")),
        "WP+SP": replace(DEEPER, start=replace(DEEPER.start, pretrain="wp+sp")),
    }


def table_6() -> dict[str, Setting]:
    """Layers over words and over blocks."""
    return {
        f"L1 = {words}, L2 = {blocks}": replace(
            STANDARD, start=replace(STANDARD.start, sentence_layers=words, document_layers=blocks)
        )
        for words, blocks in LAYERS
    }


def table_7() -> dict[str, Setting]:
    """Ways to combine, with our scores and with those of the public code.

    "α = 6" starts the loss as the public code does, on cosines. "Dot product" also leaves vectors without
    normalisation, and keeps α = 6 and β = 0.
    """
    modes = {name: replace(STANDARD, combine=mode) for name, mode in COMBINATIONS.items()}
    raw = {f"{name}, α = 6": replace(modes[name], fitted=False) for name in ("Normal", "Sum-Concat")}
    dots = {f"{name}, dot product": replace(modes[name], dot=True) for name in ("Sum-Concat", "Mean-Concat")}
    return {**modes, **raw, **dots}


def figure_4() -> dict[str, Setting]:
    """Tokens that are read of a document."""
    return {f"{32 * blocks} tokens": replace(STANDARD, blocks=blocks) for blocks in LENGTHS}


ROW_TOKENS = 32
BLOCKS = 32
RARE = 10
_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SmithSet:
    """One set.

    Attributes:
        name: of its folder.
        data: its documents.
        rows: int32 [N, BLOCKS, ROW_TOKENS], the blocks of every document in ids from 0 to `len(kept)` - 1.
        kept: int64 [V], what the ids are in BERT's vocabulary; the first are those of `_SPECIALS`.
        positives: which documents belong together.
        split: documents that train, and the validation pairs: related and random ones, as many of each.
        pairs: the test pairs.
        key: hash of documents, pairs, training documents, vocabulary and code.
    """

    name: str
    data: TrainingData
    rows: NDArray[np.int32]
    kept: IntArray
    positives: Positives
    split: Split
    pairs: tuple[LabelledPair, ...]
    key: str

    @property
    def masking(self) -> MaskingVocabulary:
        """The vocabulary as pre-training needs it."""
        return MaskingVocabulary(len(self.kept), _SPECIALS.index("[MASK]"), tuple(range(len(_SPECIALS))))

    def documents(self, blocks: int) -> list[Rows]:
        """The first so many blocks of every document."""
        return [Rows.of(filled(rows[:blocks])).small() for rows in self.rows]

    def places(self) -> IntArray:
        """Numbers of the documents of the test pairs, [P, 2]."""
        numbers = self.data.numbers()
        return np.array([(numbers[pair.a], numbers[pair.b]) for pair in self.pairs], np.int64)


def load_smith_set(folder: Path, most: int | None = None) -> SmithSet:
    """Read and pack a set; `most` bounds its training documents (the first ones).

    Raises:
        ColdeError: the files are not as docs/training-data.md says.
    """
    data = read_data([folder / "docs.jsonl.gz"])
    pairs = read_pairs(folder / "pairs.jsonl.gz", data.numbers())
    split = split_by_pairs(data, even([pair for pair in pairs if pair.split == "validation"]))
    training = split.training[:most]
    split = Split(training, split.pairs, split.related, split.judged)
    packed = _packed(folder, data)
    kept = frequent(packed[training], backbone_specials(backbone()), RARE)
    test = tuple(pair for pair in pairs if pair.split == "test")
    found_key = run_key(folder, split.training.tobytes(), kept.tobytes())
    return SmithSet(folder.name, data, renumbered(packed, kept), kept, Positives.of(data), split, test, found_key)


def even(pairs: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Keep related and random pairs, which are 1:1, as in the paper."""
    return [pair for pair in pairs if pair.related or pair.relation == "random"]


def filled(rows: NDArray[np.integer]) -> list[list[int]]:
    """Rows [R, L] without padding, and without empty rows."""
    return [row[row != 0].tolist() for row in rows if row.any()]


def frequent(rows: NDArray[np.integer], specials: Sequence[int], least: int) -> IntArray:
    """Ids that occur in `rows` so many times at least, ascending, behind the special ones."""
    counts = np.bincount(rows.ravel())
    counts[[number for number in specials if number < len(counts)]] = 0
    return np.concatenate([np.asarray(specials, np.int64), np.flatnonzero(counts >= least)])


def renumbered(rows: NDArray[np.integer], kept: IntArray) -> NDArray[np.int32]:
    """Each id by its place in `kept`, where padding comes first; others become the second, which is [UNK]."""
    table = np.ones(int(max(rows.max(), kept.max())) + 1, np.int32)
    table[kept] = np.arange(len(kept))
    return np.asarray(table[rows])


def backbone() -> Backbone:
    """MiniLM, for its word pieces."""
    return load_backbone(DEFAULT_BACKBONE)


def backbone_specials(found: Backbone) -> list[int]:
    """Ids of `_SPECIALS` in its vocabulary."""
    tokenizer = plain_tokenizer(found.tokenizer)
    return [special_token(tokenizer, token) for token in _SPECIALS]


def _packed(folder: Path, data: TrainingData) -> NDArray[np.int32]:
    """Blocks in BERT's ids [N, BLOCKS, ROW_TOKENS], kept in a file."""
    found = backbone()
    name = f"{folder.name}-{ROW_TOKENS}-{BLOCKS}-{run_key(folder, found.tokenizer.encode())}.npy"
    path = RUNS / "smith" / "rows" / name
    if not path.is_file():
        tokenizer = plain_tokenizer(found.tokenizer)
        config = SystemConfig("smith", "blocks", ROW_TOKENS, BLOCKS, 1)
        table = np.zeros((len(data.documents), BLOCKS, ROW_TOKENS), np.int32)
        for place, item in zip(table, data.documents, strict=True):
            ids = pack_blocks(document_text(item.document), tokenizer, config).ids
            place[: ids.shape[0], : ids.shape[1]] = ids
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, table)
    kept: NDArray[np.int32] = np.load(path)
    return kept


@dataclass(slots=True)
class SmithRun:
    """The result of a setting.

    Attributes:
        data: name of the set.
        training: documents that trained.
        best_epoch: the one whose weights were kept.
        steps: updates of these weights.
        seconds: of CPU that fine-tuning took.
        validation: scores of the validation pairs.
        test: scores of all test pairs.
        curve: validation figures after every epoch, those before the first one first.
    """

    data: str
    training: int
    best_epoch: int
    steps: int
    seconds: float
    validation: list[float]
    test: list[float]
    curve: list[dict[str, float]]


class DotLoss(nn.Module):
    """BCE(σ(6 s·t), y): the loss of SMITH's public code, where s and t may have any length."""

    def forward(self, left: Tensor, right: Tensor, related: Tensor) -> Tensor:
        """The mean loss of B pairs [B, D], [B, D], [B]."""
        logits = ALPHA * (left * right).sum(-1)
        return functional.binary_cross_entropy_with_logits(logits, related.float())


class _Curve:
    """Remembers the validations."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def started(self, steps: int, done: int) -> None:
        """Nothing to do."""

    def stepped(self, values: dict[str, float]) -> None:
        """Nothing to do."""

    def validated(self, values: dict[str, float]) -> None:
        """An epoch is over."""
        self.rows.append({name: float(values[name]) for name in ("epoch", "loss", "auc", "accuracy")})


class _DotLearner(SystemLearner):
    """The learner of `colde train` with the loss of SMITH's public code."""

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - as `SystemLearner`
        super().__init__(*given)
        self.loss = DotLoss()  # type: ignore[assignment]
        self.network = nn.ModuleDict({"network": self.reader})

    def comparable(self, vectors: Tensor) -> Tensor:
        """Leave vectors at their own length."""
        return vectors

    def state(self) -> dict[str, Tensor]:
        """Return the trained weights."""
        return {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}


def run_all(data: SmithSet, settings: Mapping[str, Setting], seeds: Iterable[int]) -> dict[str, list[SmithRun]]:
    """Runs by name of the setting, a run for every seed; those already on disk are read."""
    # Seed by seed, so that what is stopped has all rows for the first seeds.
    found: dict[str, list[SmithRun]] = {name: [] for name in settings}
    for seed in seeds:
        for name, setting in settings.items():
            run = run_one(data, setting.seeded(seed))
            curve = " ".join(f"{point['auc']:.3f}" for point in run.curve)
            print(f"{data.name:10} {name:24} seed {seed}: {run.seconds:4.0f} s, AUC {curve}", flush=True)
            found[name].append(run)
    return found


def run_one(data: SmithSet, setting: Setting) -> SmithRun:
    """Train, or read what an earlier call trained by the same setting, documents, pairs and code."""
    target = RUNS / "smith" / data.name / f"{key(setting)}-{data.key}.json"
    if target.is_file():
        return SmithRun(**json.loads(target.read_text(encoding="utf-8"))["run"])
    run = train(data, setting, RUNS / "smith" / data.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"setting": asdict(setting), "run": asdict(run)}), encoding="utf-8")
    return run


def train(data: SmithSet, setting: Setting, folder: Path) -> SmithRun:
    """Fine-tune on the set's training documents, and score its pairs with the best epoch's weights."""
    network = started(data, setting, folder)
    began = time.process_time()
    torch.manual_seed(setting.seed)
    values = {"epochs": setting.epochs, "batch_size": setting.batch, "learning_rate": setting.rate}
    recipe = system_recipe("smith", {**values, "seed": setting.seed, "patience": 0})
    files = np.zeros(len(data.rows), np.int64)
    task = Task(data.documents(setting.blocks), data.positives, data.split, files, data.name)
    learner = (_DotLearner if setting.dot else SystemLearner)(network, task, recipe, torch.device("cpu"))
    curve = _Curve()
    if setting.fitted and not setting.dot:
        learner.fit_scale()
    outcome = loop.train(learner, recipe, [curve], None, keep_untrained=False)
    return SmithRun(
        data=data.name,
        training=len(data.split.training),
        best_epoch=outcome.progress.best_epoch,
        steps=outcome.progress.best_step,
        seconds=time.process_time() - began,
        validation=list(outcome.scores),
        test=learner.pair_scores(data.places()).tolist(),
        curve=curve.rows,
    )


def started(data: SmithSet, setting: Setting, folder: Path) -> Smith:
    """The network of a setting with the weights that fine-tuning starts from."""
    weights = pretrained(data, setting.start, folder)
    network = build(data, setting.start, setting.combine, setting.dot, setting.blocks)
    places = "blocks.embeddings.position_embeddings.weight"
    # What combines the vectors is not pre-trained.
    network.load_state_dict({**weights, places: weights[places][: setting.blocks]}, strict=False)
    return network


def pretrained(data: SmithSet, start: Start, folder: Path) -> Mapping[str, Tensor]:
    """The weights that fine-tuning starts from, kept on disk where they took time."""
    if start.pretrain == "none":
        return build(data, start).state_dict()
    path = folder / f"start-{key(start)}-{data.key}.safetensors"
    if not path.is_file():
        network = build(data, start)
        options = Pretraining(start.pretrain, start.epochs, start.batch, start.rate, seed=start.seed)
        began = time.process_time()
        parts = passages(data.rows[data.split.training], start.passage)
        losses = pretrain_blocks(network, parts, data.masking, options)
        words, blocks = (" ".join(f"{loss:.2f}" for loss in column) for column in losses.T)
        seconds = time.process_time() - began
        print(f"{start.pretrain}, {len(parts)} passages, {seconds:.0f} s: words {words}, blocks {blocks}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        # The head of masked words shares the word table, and safetensors keeps no weight twice.
        save_file({name: weight.contiguous() for name, weight in network.state_dict().items()}, path)
    return load_file(path)


def build(data: SmithSet, start: Start, combine: str = "normal", compat: bool = False, blocks: int = BLOCKS) -> Smith:
    """The untrained network, for so many blocks."""
    sizes = {
        "hidden": start.hidden,
        "intermediate": 2 * start.hidden,
        "sentence_layers": start.sentence_layers,
        "document_layers": start.document_layers,
        "combine": combine,
        "attention_hidden": start.hidden,
        "paper_compat": compat,
        "dropout": start.dropout,
        "deviation": start.std,
    }
    given = {"network": tuple(sizes.items()), "row_tokens": ROW_TOKENS, "max_rows": blocks}
    torch.manual_seed(start.seed)
    network = build_system(system_config(system_recipe("smith", given), None, len(data.kept)))
    assert isinstance(network, Smith)
    return network


def passages(rows: NDArray[np.int32], blocks: int) -> list[Rows]:
    """Documents [N, R, L] cut every so many blocks; passages of one block are left out: nothing tells of it."""
    parts = [filled(document[at : at + blocks]) for document in rows for at in range(0, rows.shape[1], blocks)]
    return [Rows.of(part).small() for part in parts if len(part) > 1]
