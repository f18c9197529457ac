"""One SMITH, pre-trained or not and then fine-tuned, kept on disk: its curve and the scores of the judged pairs.

Networks, pre-training, pairs, loss and loop are those of `colde train --system smith`; what is added here is that
several networks are fine-tuned from one pre-training.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from paper_data import RUNS
from safetensors.torch import load_file, save_file
from smith_data import BLOCKS, ROW_TOKENS, SmithSet, filled
from smith_settings import Setting, Start, key
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.towers.packing import Rows
from colde_cli.evaluation.metrics import PairMetrics
from colde_cli.learning.losses import ALPHA
from colde_cli.learning.networks.towers.smith import Smith
from colde_cli.learning.towers.pretraining import PretrainingRecipe, pretrain
from colde_cli.learning.towers.registry import SYSTEMS
from colde_cli.learning.towers.trainer import TowerRecipe, TowerTask, TowerTrainer

Floats = NDArray[np.float64]


@dataclass(slots=True)
class SmithRun:
    """What came of a setting.

    Attributes:
        data: name of the set.
        training: documents that trained.
        best_epoch: the one whose weights were kept.
        seconds: of CPU that fine-tuning took.
        validation: scores of the validation pairs.
        test: scores of all test pairs.
        curve: validation figures after every epoch, those before the first one first.
    """

    data: str
    training: int
    best_epoch: int
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


def scale(cosines: Floats) -> tuple[float, float]:
    """α and β with which α cos + β has mean 0 and deviation 1; α is 1,000 at most."""
    alpha = 1 / max(float(cosines.std()), 1e-3)
    return alpha, -alpha * float(cosines.mean())


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


class _BriefTrainer(TowerTrainer):
    """The trainer of `colde train`, without checkpoints; the best epoch is one of those that trained."""

    dot = False

    def _keep_if_best(self, metrics: PairMetrics, epoch: int) -> None:
        """Of epoch 0 nothing is kept."""
        if epoch:
            super()._keep_if_best(metrics, epoch)

    def _save(self, folder: Path) -> None:
        """Nothing is kept of a run that is stopped."""

    def fit_loss(self) -> None:
        """Let α cos + β start with mean 0 and deviation 1 on pairs of the first batches.

        Untrained cosines lie close together, far from 0: from α = 6 and β = 0 hundreds of steps go by before the loss
        is below that of a constant.
        """
        cosines = self.pair_scores(np.concatenate(self.sampler.epoch(0)[:4])[:, :2])
        alpha, beta = scale(cosines)
        nn.init.constant_(self.loss.alpha, alpha)
        nn.init.constant_(self.loss.beta, beta)

    def _scores(self) -> Floats:
        return self.pair_scores(self.task.split.pairs)

    @torch.no_grad()
    def pair_scores(self, pairs: NDArray[np.int64]) -> Floats:
        """Scores of pairs of documents [P, 2]."""
        self.network.eval()
        documents, places = np.unique(pairs, return_inverse=True)
        parts = np.array_split(documents, max(1, len(documents) // 64))
        table = torch.cat([self._vectors(part.tolist()) for part in parts]).double()
        table = table if self.dot else functional.normalize(table)
        left, right = places.reshape(-1, 2).T
        return np.asarray((table[left] * table[right]).sum(1).numpy())


def run_all(
    data: SmithSet, settings: Mapping[str, Setting], seeds: Iterable[int]
) -> dict[str, list[SmithRun]]:
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
    """Train, or read what an earlier call trained by the same setting on as many documents."""
    count = len(data.split.training)
    target = RUNS / "smith" / data.name / f"{key(setting)}-{count}.json"
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
    recipe = TowerRecipe(
        "smith",
        setting.epochs,
        setting.batch,
        learning_rate=setting.rate,
        seed=setting.seed,
        patience=0,
    )
    files = np.zeros(len(data.rows), np.int64)
    task = TowerTask(data.documents(setting.blocks), data.positives, data.split, files, data.name)
    trainer, curve = _BriefTrainer(network, task, recipe, torch.device("cpu")), _Curve()
    if setting.dot:
        trainer.dot, trainer.loss = True, DotLoss()  # type: ignore[assignment]
    elif setting.fitted:
        trainer.fit_loss()
    outcome = trainer.run(folder, curve)
    return SmithRun(
        data=data.name,
        training=len(data.split.training),
        best_epoch=outcome.progress.best_epoch,
        seconds=time.process_time() - began,
        validation=list(outcome.scores),
        test=trainer.pair_scores(data.places()).tolist(),
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
    path = folder / f"start-{key(start)}-{len(data.split.training)}.safetensors"
    if not path.is_file():
        network = build(data, start)
        recipe = PretrainingRecipe(start.pretrain, start.epochs, start.batch, start.rate, seed=start.seed)
        began = time.process_time()
        parts = passages(data.rows[data.split.training], start.passage)
        losses = pretrain(network, parts, data.masking, recipe, torch.device("cpu"))
        words, blocks = (" ".join(f"{loss:.2f}" for loss in found) for found in (losses.words, losses.blocks))
        seconds = time.process_time() - began
        print(
            f"{start.pretrain}, {len(parts)} passages, {seconds:.0f} s: words {words}, blocks {blocks}",
            flush=True,
        )
        folder.mkdir(parents=True, exist_ok=True)
        # The head of masked words shares the word table, and safetensors keeps no weight twice.
        save_file({name: weight.contiguous() for name, weight in network.state_dict().items()}, path)
    return load_file(path)


def build(
    data: SmithSet, start: Start, combine: str = "normal", compat: bool = False, blocks: int = BLOCKS
) -> Smith:
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
    }
    system = SYSTEMS["smith"]
    recipe = TowerRecipe("smith", network=tuple(sizes.items()), row_tokens=ROW_TOKENS, max_rows=blocks)
    torch.manual_seed(start.seed)
    network = system.build(system.config(recipe, None, len(data.kept)))
    assert isinstance(network, Smith)
    _draw(network, start.std)
    return network


def _draw(network: Smith, std: float) -> None:
    """Draw the weights of all layers anew, but those of the attention that combines, which are PyTorch's own.

    With BERT's 0.02 a layer of 64 units passes on a sixth of what it gets: what the first token gathers of a block is
    lost beside the token itself, and two documents begin with a cosine of 0.9999.
    """
    for part in (network.words, network.blocks, network.block_dense, network.document_dense):
        for module in part.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=std)


def passages(rows: NDArray[np.int32], blocks: int) -> list[Rows]:
    """Documents [N, R, L] cut every so many blocks; passages of one block are left out: nothing tells of it."""
    parts = [
        filled(document[at : at + blocks]) for document in rows for at in range(0, rows.shape[1], blocks)
    ]
    return [Rows.of(part).small() for part in parts if len(part) > 1]
