"""Train heads on frozen chunk vectors, serve them as model folders, and score baselines; all kept on disk."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from paper_data import RUNS, PaperSet
from recipes import seeded
from safetensors.torch import load_file, save_file

from colde_cli import settings
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import CONFIG, ENCODER_GRAPHS, HEAD_GRAPH, TOKENIZER, WEIGHTS
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.systems import BASELINES, ModelSystem, make_baselines
from colde_cli.learning import loop
from colde_cli.learning.augmentation import whole_views
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.colde import Colde
from colde_cli.learning.colde_training import ColdeLearner, build_model, set_center
from colde_cli.learning.gradient_cache import FrozenChunks
from colde_cli.learning.graphs import write_head
from colde_cli.learning.recipe import Recipe
from colde_cli.scoring.fit import best_threshold

SPLITS = ("validation", "test")
_TOGETHER = 16


@dataclass(slots=True)
class Run:
    """The result of a training run.

    Attributes:
        data: name of the set.
        seed: of everything random.
        training: documents that trained.
        epochs: passes made.
        best_epoch: the one whose weights were kept.
        steps: updates of these weights.
        updates: of the whole run.
        seconds: it took.
        validation: scores of the validation pairs.
        test: scores of the test pairs.
        untrained: scores of both before the first step, by name of the split.
        curve: validation figures after every epoch, the untrained model first.
        folder: where the head's weights lie.
    """

    data: str
    seed: int
    training: int
    epochs: int
    best_epoch: int
    steps: int
    seconds: float
    validation: list[float]
    test: list[float]
    untrained: dict[str, list[float]] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)
    folder: str = ""
    updates: int = 0


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
        kept = ("epoch", "loss", "auc", "accuracy", "f1")
        self.rows.append({name: float(values[name]) for name in kept})


def run_all(paper_set: PaperSet, recipes: dict[str, Recipe], seeds: Iterable[int]) -> dict[str, list[Run]]:
    """Name of a recipe to its runs, one for every seed; runs on disk are read."""
    # Seed by seed, so that what is stopped has all rows for the first seeds.
    found: dict[str, list[Run]] = {name: [] for name in recipes}
    for seed in seeds:
        for name, recipe in recipes.items():
            run = run_one(paper_set, seeded(recipe, seed))
            print(
                f"{paper_set.name:10} {name:22} seed {seed}: epoch {run.best_epoch} of {run.epochs}",
                flush=True,
            )
            found[name].append(run)
    return found


def run_one(paper_set: PaperSet, recipe: Recipe) -> Run:
    """Train, or read an earlier run of the same recipe, documents, pairs, encoder and code."""
    folder = RUNS / "heads" / paper_set.name / f"{recipe.digest()[:12]}-{paper_set.key}"
    result = folder / "run.json"
    if result.is_file():
        return Run(**json.loads(result.read_text(encoding="utf-8")))
    run, model = train(paper_set, recipe)
    folder.mkdir(parents=True, exist_ok=True)
    run.folder = str(folder)
    weights = {name: tensor.contiguous() for name, tensor in model.head.state_dict().items()}
    save_file(weights, folder / "head.safetensors")
    (folder / "recipe.json").write_text(json.dumps(recipe.to_json()), encoding="utf-8")
    result.write_text(json.dumps(asdict(run)), encoding="utf-8")
    return run


def train(paper_set: PaperSet, recipe: Recipe) -> tuple[Run, Colde]:
    """Train a head on the set's training documents and score its pairs with the best epoch's weights."""
    began = time.perf_counter()
    model = build_model(recipe, _backbone())
    source = FrozenChunks(paper_set.vectors, torch.device("cpu"))
    set_center(model, source, paper_set.task, None, recipe.seed)
    learner, curve = ColdeLearner(model, source, paper_set.task, recipe, torch.device("cpu")), _Curve()
    untrained = {split: pair_scores(model, source, paper_set, split).tolist() for split in SPLITS}
    # The untrained head is a row of its own, so that the best epoch is one of those that trained.
    outcome = loop.train(learner, recipe, [curve], None, keep_untrained=False)
    run = Run(
        data=paper_set.name,
        seed=recipe.seed,
        training=len(paper_set.task.split.training),
        epochs=outcome.progress.epoch,
        best_epoch=outcome.progress.best_epoch,
        steps=outcome.progress.best_step,
        seconds=time.perf_counter() - began,
        validation=list(outcome.scores),
        test=pair_scores(model, source, paper_set, "test").tolist(),
        untrained=untrained,
        curve=curve.rows,
        updates=outcome.progress.step,
    )
    return run, model


@torch.no_grad()
def pair_scores(model: Colde, source: FrozenChunks, paper_set: PaperSet, split: str) -> NDArray[np.float64]:
    """Cosines of document vectors, every document read whole, [P]."""
    model.eval()
    numbers = paper_set.numbers
    pairs = np.array([(numbers[a], numbers[b]) for a, b in paper_set.pairs(split)], np.int64)
    documents, places = np.unique(pairs, return_inverse=True)
    vectors = np.concatenate([_vectors(model, source, paper_set, part) for part in _parts(paper_set, documents)])
    left, right = places.reshape(-1, 2).T
    # `_parts` goes by length; its order is undone here.
    table = np.empty_like(vectors)
    table[_by_length(paper_set, documents)] = vectors
    return np.asarray((table[left] * table[right]).sum(1))


def _vectors(
    model: Colde, source: FrozenChunks, paper_set: PaperSet, documents: NDArray[np.int64]
) -> NDArray[np.float64]:
    views = whole_views(paper_set.store, documents)
    needed = views.needed(source.positioned)
    arrays = (views.lengths, views.partners, views.sections, views.chunk_ids)
    rows = source.vectors(needed)[torch.from_numpy(needed.places)]
    return np.asarray(model.head(rows, *map(torch.from_numpy, arrays)).vectors.double().numpy())


def _by_length(paper_set: PaperSet, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.argsort(np.diff(paper_set.store.documents)[documents], kind="stable")


def _parts(paper_set: PaperSet, documents: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Documents a few at a time, those of about one length together."""
    ordered = documents[_by_length(paper_set, documents)]
    return [ordered[start : start + _TOGETHER] for start in range(0, len(ordered), _TOGETHER)]


@lru_cache(maxsize=1)
def _backbone() -> Backbone:
    return load_backbone(settings.DEFAULT_MODEL)


def open_encoder(cache: Cache, model: str) -> Encoder:
    """The model whose chunk vectors all heads are trained on."""
    return Encoder.load(model, device="cpu", cache=cache)


def load_head(run: Run) -> tuple[Recipe, Colde]:
    """The trained model of a run, in evaluation mode.

    Raises:
        FileNotFoundError: its weights are gone; delete its folder and run again.
    """
    folder = Path(run.folder)
    values = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    recipe = Recipe(**{**values, "ablations": tuple(values["ablations"])})
    model = build_model(recipe, _backbone())
    model.head.load_state_dict(load_file(folder / "head.safetensors"))
    return recipe, model.eval()


def mean_curve(runs: Sequence[Run], figure: str) -> list[float]:
    """A validation figure after every epoch, the untrained model first, seeds averaged."""
    values = np.array([[point[figure] for point in run.curve] for run in runs], np.float64)
    return [float(value) for value in values.mean(axis=0)]


def untrained(runs: Sequence[Run], split: str) -> NDArray[np.float64]:
    """Scores of the heads before training, [runs, P]."""
    return np.array([run.untrained[split] for run in runs], np.float64)


def of_split(runs: Sequence[Run], split: str) -> NDArray[np.float64]:
    """Scores of the runs, [runs, P]."""
    return np.array([run.validation if split == "validation" else run.test for run in runs], np.float64)


def serve(run: Run, paper_set: PaperSet, frozen: Encoder, cache: Cache) -> Encoder:
    """An encoder with the head of `run`, its threshold from the validation pairs, on the frozen chunk encoder.

    Args:
        run: a training run.
        paper_set: what it was trained on.
        frozen: whose chunk encoder the head was trained on, so that its vectors in the cache serve again.
        cache: of chunk vectors.
    """
    folder = Path(run.folder) / "served"
    if not (folder / CONFIG).is_file():
        _build(run, paper_set, frozen, folder)
    return Encoder.load(folder, device="cpu", cache=cache)


def _build(run: Run, paper_set: PaperSet, frozen: Encoder, folder: Path) -> None:
    _, model = load_head(run)
    for name in (ENCODER_GRAPHS["int8"], WEIGHTS, TOKENIZER):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(frozen.folder.file(name), folder / name)
    write_head(model.head, folder / HEAD_GRAPH)
    threshold = best_threshold(paper_set.related("validation"), np.array(run.validation))
    # Last, since it says that the folder is whole.
    (folder / CONFIG).write_text(replace(model.config, threshold=threshold).to_json(), encoding="utf-8")


Scores = dict[str, dict[str, list[float]]]
"""Name of a baseline to split ("validation", "test") to scores."""


def baseline_scores(paper_set: PaperSet, encoder: Encoder) -> Scores:
    """Scores of every baseline; chunk vectors come from `encoder`."""
    path = RUNS / "controls" / f"{paper_set.name}-{paper_set.key}.json"
    if path.is_file():
        found: Scores = json.loads(path.read_text(encoding="utf-8"))
        return found
    model = ModelSystem("vectors", encoder, retrieval=False)
    scores: Scores = {}
    for system in make_baselines(BASELINES, model):
        scorer = system.open(paper_set.evaluation_set)
        scores[system.name] = {
            split: scorer.scores(paper_set.pairs(split)).tolist() for split in ("validation", "test")
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(scores), encoding="utf-8")
    return scores
