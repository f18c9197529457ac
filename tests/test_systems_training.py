"""How a system learns from pairs: the loss falls, classes are told apart, parts of a batch add up, runs resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tiny_backbone import Notes

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows
from colde_cli.learning.sampling import Positives, Split

if TYPE_CHECKING:
    import torch
    from tiny_networks import CPU, Bag
    from tiny_system import recipe_of, tiny_backbone
    from torch import Tensor
    from torch.nn import functional

    from colde_cli.learning.loop import Checkpoint, Outcome, Stopped, Task, train
    from colde_cli.learning.recipe import Recipe
    from colde_cli.systems import training as module
    from colde_cli.systems.base import SYSTEMS, build_system, system_class, system_config
    from colde_cli.systems.smith import Smith
    from colde_cli.systems.training import SystemLearner, SystemTask, rows_digest

pytestmark = pytest.mark.usefixtures("late_imports")

WORDS = 10
NAMES = "arci dssm han matchbert sbert slong smash smith smith-short".split()


def recipe() -> Recipe:
    return recipe_of("sbert", epochs=12, batch_size=8, learning_rate=0.02, patience=0)


def bag(dropout: float = 0.0) -> Bag:
    return Bag(4 * WORDS + 1, dropout=dropout)


def task(seed: int = 0) -> SystemTask:
    """Forty documents of four classes, each of which has words of its own; every second one validates."""
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), 10).astype(np.int32)
    packed = [
        Rows.of([(1 + WORDS * label + generator.integers(0, WORDS, generator.integers(3, 7))).tolist()])
        for label in labels
    ]
    training = np.arange(0, 40, 2)
    held = np.arange(1, 40, 2)
    pairs = np.array([(a, b) for a in held for b in held if a < b], np.int64)
    none = tuple(frozenset[int]() for _ in labels)
    positives = Positives(labels, tuple(np.flatnonzero(labels == code) for code in range(4)), none, none)
    split = Split(training, pairs, labels[pairs[:, 0]] == labels[pairs[:, 1]], judged=False)
    return Task(packed, positives, split, np.zeros(40, np.int64), "run")


def test_the_loss_falls_and_separable_documents_are_told_apart(tmp_path: Path) -> None:
    watch, network = Notes(), bag()
    # Word vectors begin some 2.8 long: at a smaller rate sixty steps are too few to turn all of them round.
    quick = replace(recipe(), learning_rate=0.2)
    learner = SystemLearner(network, task(), quick, CPU)
    outcome = train(learner, quick, [watch], tmp_path)
    assert len(watch.losses) == watch.steps == 12 * 5
    assert np.mean(watch.losses[-5:]) < 0.5 * np.mean(watch.losses[:5])
    assert outcome.untrained.auc < 0.8
    assert outcome.trained.auc > 0.99
    assert not network.training
    assert float(learner.loss.alpha.detach()) != 6


def test_a_batch_in_parts_gives_the_gradient_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = []
    for tokens in (10**6, 20):
        monkeypatch.setattr(module, "_TOKENS", tokens)
        learner = SystemLearner(bag(), task(), recipe(), CPU)
        batch = learner.batches(0)[0]
        assert len(list(learner.parts(batch))) == (1 if tokens > 20 else 8)
        loss = learner.backward(batch, 0)
        weights = [weight for weight in learner.network.parameters() if weight.requires_grad]
        gradients.append((loss, *(weight.grad.clone() for weight in weights if weight.grad is not None)))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-5)
    for whole, parts in zip(gradients[0][1:], gradients[1][1:], strict=True):
        torch.testing.assert_close(whole, parts, atol=1e-6, rtol=1e-4)


def run(folder: Path, **options: object) -> tuple[Outcome, dict[str, Tensor]]:
    network = bag(dropout=0.3)
    torch.manual_seed(5)
    learner = SystemLearner(network, task(), recipe(), CPU)
    if "resume" not in options:
        learner.fit_scale()
    outcome = train(learner, recipe(), [Notes()], folder, **options)  # type: ignore[arg-type]
    return outcome, network.state_dict()


def test_a_run_that_was_stopped_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    straight, weights = run(tmp_path / "one")
    watch, network = Notes(stop_after=13), bag(dropout=0.3)
    torch.manual_seed(5)
    learner = SystemLearner(network, task(), recipe(), CPU)
    learner.fit_scale()
    with pytest.raises(Stopped):
        train(learner, recipe(), [watch], tmp_path / "two", stop=watch.stop)
    resumed, again = run(tmp_path / "two", resume=Checkpoint.load(tmp_path / "two", "run"))
    assert resumed == straight
    for name, weight in weights.items():
        assert torch.equal(weight, again[name])


@pytest.mark.slow
def test_smith_starts_near_the_loss_of_a_constant_and_learns(tmp_path: Path) -> None:
    """Without a fitted scale the first losses are well above ln 2, that of a constant."""
    sizes = {"hidden": 32, "sentence_layers": 1, "document_layers": 1, "intermediate": 64, "dropout": 0.0}
    config = SystemConfig("smith", "blocks", 12, 4, 32, sizes, vocab_size=4 * WORDS + 1)
    recipe = recipe_of("smith", epochs=8, batch_size=8, learning_rate=2e-3, patience=0)
    losses, aucs = {}, {}
    for fitted in (True, False):
        torch.manual_seed(0)
        learner, watch = SystemLearner(Smith(config), task(), recipe, CPU), Notes()
        if fitted:
            learner.fit_scale()
        outcome = train(learner, recipe, [watch], tmp_path / str(fitted))
        losses[fitted], aucs[fitted] = watch.losses, outcome.trained.auc
    assert np.mean(losses[True][:5]) < 0.9 < np.mean(losses[False][:5])
    assert np.mean(losses[True][-5:]) < 0.3
    assert aucs[True] > 0.75


def test_a_digest_is_of_all_that_is_read() -> None:
    packed = list(task().texts)
    known = rows_digest(packed)
    assert rows_digest([rows.small() for rows in packed]) == known
    assert rows_digest(packed[1:]) != known
    assert rows_digest([Rows.of([[1]]), *packed[1:]]) != known


@pytest.mark.slow
@pytest.mark.parametrize("system", NAMES)
def test_every_network_learns_in_bf16(system: str, tmp_path: Path) -> None:
    assert sorted(SYSTEMS) == NAMES
    kind, backbone = system_class(system), tiny_backbone(tmp_path)
    recipe = recipe_of(system, batch_size=4, max_rows=min(kind.max_rows, 4), row_tokens=32)
    config = system_config(recipe, backbone, kind.vocabulary or backbone.fields["vocab_size"])
    torch.manual_seed(0)
    network = build_system(config)
    generator = np.random.default_rng(0)
    texts: Sequence[Rows] = [
        Rows.of(generator.integers(5, 40, (config.max_rows, length)).tolist())
        for length in (32, 30, 25, 20, 9, 7, 6, 5)
    ]
    labels = np.arange(8, dtype=np.int32) // 4
    none = tuple(frozenset[int]() for _ in labels)
    positives = Positives(labels, (np.arange(4), np.arange(4, 8)), none, none)
    split = Split(np.arange(8), np.array([[0, 1]]), np.array([True]), judged=False)
    given = Task(texts, positives, split, np.zeros(8, np.int64), "run")
    vectors = {}
    for precision in ("fp32", "bf16"):
        learner = SystemLearner(network, given, replace(recipe, precision=precision), CPU)
        learner.reader.eval()
        with torch.no_grad():
            vectors[precision] = learner.vectors(range(8))
    cosines = functional.cosine_similarity(vectors["fp32"], vectors["bf16"])
    assert float(cosines.min()) > 0.999
    assert np.isfinite(learner.backward(learner.batches(0)[0], 0))
    gradients = [weight.grad for weight in network.parameters() if weight.grad is not None]
    assert gradients
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)
