"""The training loop: it learns, stops and goes on exactly, keeps the best, writes a log and obeys signals."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tiny_backbone import Notes, write_documents

from colde_cli.errors import ModelError, OptionError
from colde_cli.evaluation.data import read_data
from colde_cli.learning.augmentation import whole_views
from colde_cli.learning.journal import TIME_UP, Interruption, Journal
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.sampling import Positives, Split
from colde_cli.learning.tokens import chunk_documents

if TYPE_CHECKING:
    import torch
    from tiny_networks import CPU
    from torch import nn

    from colde_cli.learning.backbone import Backbone, load_backbone
    from colde_cli.learning.colde import Colde
    from colde_cli.learning.colde_training import ColdeLearner, ColdeTask, build_model, set_center
    from colde_cli.learning.gradient_cache import FrozenChunks, TrainedChunks, activation_bytes, micro_tokens
    from colde_cli.learning.loop import (
        Averages,
        Checkpoint,
        Optimiser,
        Outcome,
        Stopped,
        Task,
        parameter_groups,
        rate_factor,
        train,
    )
    from colde_cli.learning.losses import PairLoss

pytestmark = pytest.mark.usefixtures("late_imports")

RECIPE = Recipe(
    freeze_backbone=True, epochs=3, batch_size=8, learning_rate=3e-3, projection=16, residual="none", patience=0
)


@pytest.fixture(scope="module")
def backbone(backbone_folder: Path) -> Backbone:
    return load_backbone(str(backbone_folder))


@pytest.fixture(scope="module")
def task(backbone: Backbone, tmp_path_factory: pytest.TempPathFactory) -> ColdeTask:
    """Four classes of six documents, the last two of each for validation, and a short one."""
    data = read_data([write_documents(tmp_path_factory.mktemp("data") / "data.jsonl")])
    store = chunk_documents([item.document for item in data.documents], backbone.tokenizer, 48)
    held = np.array([number for number in range(24) if number % 6 >= 4])
    pairs = np.array([(one, other) for one in held for other in held if one < other])
    split = Split(np.setdiff1d(np.arange(25), held), pairs, pairs[:, 0] // 6 == pairs[:, 1] // 6, judged=False)
    return Task(store, Positives.of(data), split, np.arange(25) // 12, "run")


def learner(task: ColdeTask, backbone: Backbone, recipe: Recipe) -> ColdeLearner:
    """As `train_model` makes it, with the table of a frozen backbone computed by PyTorch."""
    model = build_model(recipe, backbone)
    trained = TrainedChunks(model.encoder, task.texts, 4096, CPU, recipe.precision)
    source: FrozenChunks | TrainedChunks = trained
    if recipe.freeze_backbone:
        every = whole_views(task.texts, range(len(task.texts.documents) - 1)).needed(False)
        source = FrozenChunks(trained.vectors(every).numpy(), CPU)
    centers = set_center(model, source, task, None, recipe.seed)
    return ColdeLearner(model, source, task, recipe, CPU, centers=centers)


def run(made: ColdeLearner, folder: Path, notes: Notes | None = None, **options: object) -> Outcome:
    watched = notes or Notes()
    return train(made, made.recipe, [watched], folder, stop=watched.stop, **options)  # type: ignore[arg-type]


def weights(model: Colde) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy().copy() for name, tensor in model.state_dict().items()}


VARIANTS: dict[str, dict[str, Any]] = {
    "frozen": {"residual": "mean", "batches": "by-file"},
    "no-lstm": {"ablations": ("no-lstm",)},
    "paper": {
        "freeze_backbone": False, "epochs": 2, "chunk_position": "input", "chunk_pool": "pooler", "precision": "bf16",
    },
    "means and memory": {
        "freeze_backbone": False, "epochs": 3, "chunk_loss": 0.4, "mean_loss": 0.3, "memory_bank": 5, "windows": 2,
        "batches": "by-file",
    },
    "averaged": {
        "freeze_backbone": False, "epochs": 2, "average": 0.9, "head_learning_rate": 1e-2, "ablations": ("no-cl",),
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_stopping_and_going_on_changes_nothing(name: str, task: ColdeTask, backbone: Backbone, tmp_path: Path) -> None:
    """The stop is in the second epoch: losses after it depend on the centre that was set at the end of the first."""
    recipe = replace(RECIPE, **VARIANTS[name])
    straight = learner(task, backbone, recipe)
    whole = Notes()
    first = run(straight, tmp_path / "straight", whole)
    notes = Notes(stop_after=4)
    with pytest.raises(Stopped):
        run(learner(task, backbone, recipe), tmp_path / "stopped", notes)
    again = learner(task, backbone, recipe)
    rest = Notes()
    second = run(again, tmp_path / "stopped", rest, resume=Checkpoint.load(tmp_path / "stopped", "run"))
    assert (rest.done, rest.steps) == (4, whole.steps)
    assert notes.losses + rest.losses == whole.losses
    assert notes.validations + rest.validations == whole.validations
    assert first == second
    for key, values in weights(straight.network).items():
        assert np.array_equal(values, weights(again.network)[key]), key


@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_the_untrained_model_is_measured_once(
    stop_after: int, task: ColdeTask, backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before the first batch, in the first epoch, and after it: the control comes from the checkpoint."""
    recipe = replace(RECIPE, epochs=2, patience=2)
    whole = Notes()
    outcome = run(learner(task, backbone, recipe), tmp_path / "whole", whole)
    with pytest.raises(Stopped):
        run(learner(task, backbone, recipe), tmp_path / "stopped", Notes(stop_after))
    measured: list[int] = []
    original = ColdeLearner.scores
    rest = Notes()

    def scores(self: ColdeLearner) -> np.ndarray:
        measured.append(rest.done + len(rest.losses))
        return original(self)

    monkeypatch.setattr(ColdeLearner, "scores", scores)
    saved = Checkpoint.load(tmp_path / "stopped", "run")
    assert run(learner(task, backbone, recipe), tmp_path / "stopped", rest, resume=saved) == outcome
    assert measured == ([6, 6] if stop_after == 3 else [3, 6, 6])
    assert rest.validations == whole.validations[-len(rest.validations) :]
    assert len(rest.validations) == {0: 3, 1: 2, 3: 1}[stop_after]


@pytest.mark.slow
def test_a_head_learns_the_classes(task: ColdeTask, backbone: Backbone, tmp_path: Path) -> None:
    recipe = replace(RECIPE, epochs=12)
    notes = Notes()
    outcome = run(learner(task, backbone, recipe), tmp_path, notes)
    assert np.mean(notes.losses[-4:]) < np.mean(notes.losses[:4])
    assert outcome.trained.auc > 0.9
    assert outcome.trained.auc >= outcome.untrained.auc
    assert notes.validations[0]["auc"] == outcome.untrained.auc
    assert outcome.progress.best_auc == outcome.trained.auc == max(value["auc"] for value in notes.validations)


def test_the_untrained_model_is_kept_if_nothing_beats_it(task: ColdeTask, backbone: Backbone, tmp_path: Path) -> None:
    recipe = replace(RECIPE, learning_rate=1e-12, patience=2, epochs=6)
    made = learner(task, backbone, recipe)
    before = weights(made.network)
    outcome = run(made, tmp_path)
    assert (outcome.progress.best_epoch, outcome.progress.epoch) == (0, 2)
    assert all(np.array_equal(values, before[name]) for name, values in weights(made.network).items())


def test_the_centre_is_the_mean_of_the_training_chunks(task: ColdeTask, backbone: Backbone) -> None:
    made = learner(task, backbone, RECIPE)
    chunks = np.concatenate([task.texts.chunks_of(number) for number in task.split.training])
    table = made.source._table[chunks]  # type: ignore[attr-defined]
    assert np.allclose(made.network.head.center.numpy(), table.mean(0), atol=1e-6)


class Centres(Notes):
    """Notes at every validation the centre, and the mean that it should be."""

    def __init__(self, made: ColdeLearner, task: ColdeTask) -> None:
        super().__init__()
        self.made = made
        self.needed = whole_views(task.texts, task.split.training).needed(made.source.positioned)
        self.centres: list[tuple[np.ndarray, np.ndarray]] = []

    def now(self) -> tuple[np.ndarray, np.ndarray]:
        mean = self.made.source.vectors(self.needed).double().mean(0).float()
        return self.made.network.head.center.numpy().copy(), mean.numpy()

    def validated(self, values: dict[str, float]) -> None:
        super().validated(values)
        self.centres.append(self.now())


@pytest.mark.slow
@pytest.mark.parametrize("position", ["post", "input"])
def test_the_centre_follows_a_backbone_that_is_trained(
    position: str, task: ColdeTask, backbone: Backbone, tmp_path: Path
) -> None:
    """What is kept is the best epoch's encoder with its own centre, and the scores were measured with it."""
    recipe = replace(RECIPE, freeze_backbone=False, residual="mean", chunk_position=position)  # type: ignore[arg-type]
    made = learner(task, backbone, recipe)
    notes = Centres(made, task)
    outcome = run(made, tmp_path, notes)
    for centre, mean in [*notes.centres, notes.now()]:
        np.testing.assert_allclose(centre, mean, atol=1e-6)
    first, last = notes.centres[0][0], notes.centres[-1][0]
    assert np.linalg.norm(last - first) > 1e-3 * np.linalg.norm(first)
    assert np.array_equal(notes.now()[0], notes.centres[outcome.progress.best_epoch][0])
    assert np.array_equal(made.scores(), outcome.scores)


def test_scores_do_not_depend_on_the_company(task: ColdeTask, backbone: Backbone) -> None:
    made = learner(task, backbone, RECIPE)
    few = replace(task, split=replace(task.split, pairs=task.split.pairs[:1], related=task.split.related[:1]))
    alone = ColdeLearner(made.network, made.source, few, RECIPE, CPU)
    assert made.scores()[0] == pytest.approx(alone.scores()[0], abs=1e-5)


def test_a_checkpoint_belongs_to_its_run(task: ColdeTask, backbone: Backbone, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nothing to resume"):
        Checkpoint.load(tmp_path, "run")
    run(learner(task, backbone, replace(RECIPE, epochs=1)), tmp_path)
    assert Checkpoint.load(tmp_path, "run").progress.epoch == 1
    assert not list(tmp_path.glob("*.tmp"))
    with pytest.raises(OptionError, match="other options, data or another backbone"):
        Checkpoint.load(tmp_path, "another")
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelError, match="damaged"):
        Checkpoint.load(tmp_path, "run")


def test_no_decay_on_what_is_no_matrix(backbone: Backbone) -> None:
    model = build_model(replace(RECIPE, freeze_backbone=False, residual="mean"), backbone)
    decayed, spared = parameter_groups(model, 0.01)
    names = {id(weight): name for name, weight in model.named_parameters()}
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.01, 0.0)
    assert len(decayed["params"]) + len(spared["params"]) == len(names)
    for weight in decayed["params"]:
        assert "embedding" not in names[id(weight)]
        assert "bias" not in names[id(weight)]
    assert "head.attention.norm.weight" in {names[id(weight)] for weight in spared["params"]}


def test_a_module_may_have_a_rate_of_its_own() -> None:
    loss = PairLoss()
    network = nn.ModuleDict({"network": nn.Linear(2, 2), "loss": loss})
    *shared, own = parameter_groups(network, 0.01)
    assert [weight for group in shared for weight in group["params"]] == list(network["network"].parameters())
    assert not any("lr" in group for group in shared)
    assert own == {"params": [loss.gain, loss.shift], "weight_decay": 0.0, "lr": 0.01}
    optimiser = Optimiser(network, 100, 1e-3, 0.01)
    rates = [group["lr"] for group in optimiser.adamw.param_groups]
    assert rates == pytest.approx([1e-3 * rate_factor(100)(0)] * 2 + [0.01 * rate_factor(100)(0)])


def test_the_rate_rises_and_falls() -> None:
    factor = rate_factor(100)
    rates = [factor(step) for step in range(101)]
    assert rates[9] < rates[10] == max(rates) == 1
    assert rates[0] > 0
    assert rates[100] == 0
    assert np.allclose(np.diff(rates, 2)[12:], 0)


def test_memory_decides_how_much_goes_through_bert(backbone: Backbone) -> None:
    whole = build_model(replace(RECIPE, freeze_backbone=False), backbone).encoder
    last = build_model(replace(RECIPE, freeze_backbone=False, trainable_layers=1), backbone).encoder
    assert 512 <= micro_tokens(whole, 10**7) < micro_tokens(last, 10**7)
    # What goes through at once, and the weights beside it, stays within what was allowed.
    longest = whole.bert.config.max_position_embeddings
    weights = 16 * sum(weight.numel() for weight in whole.parameters())
    assert weights + micro_tokens(whole, 10**7) * activation_bytes(whole.bert.config, longest) <= 10**7
    with pytest.raises(OptionError, match="max_memory"):
        micro_tokens(whole, 10**5)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_run_taken_up_writes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.started(6, 0)
    journal.validated({"epoch": 0, "auc": 0.5})
    for step in (1, 2, 3):
        journal.stepped({"step": step, "epoch": 0, "loss": 1 / step})
    journal.validated({"epoch": 1, "auc": 0.6})
    journal.stepped({"step": 4, "epoch": 1, "loss": 0.2})
    with (tmp_path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"event": "step", "step"')  # killed while it wrote
    journal = Journal(tmp_path)
    journal.started(6, 3)
    journal.stepped({"step": 4, "epoch": 1, "loss": 0.3})
    events = [(line["event"], line["step"]) for line in lines(tmp_path)]
    assert events == [
        ("validation", 0), ("step", 1), ("step", 2), ("step", 3), ("validation", 3), ("step", 4),
    ]  # fmt: skip
    assert lines(tmp_path)[-1]["loss"] == 0.3


def test_a_signal_before_training_interrupts_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(SystemExit) as ended, Interruption():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 143


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_training_is_noted(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(number)
    with Interruption() as interruption:
        assert not interruption.asked()
        signal.raise_signal(number)
        assert interruption.asked()
        assert interruption.status == status
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_the_time_is_up_after_a_batch_at_least() -> None:
    with Interruption(1e-9) as interruption:
        assert [interruption.asked() for _ in range(3)] == [False, True, True]
        assert interruption.status == TIME_UP
    with Interruption(3600) as interruption:
        assert not any(interruption.asked() for _ in range(3))


def network() -> nn.ModuleDict:
    made = nn.ModuleDict({"encoder": nn.Linear(2, 2), "head": nn.Linear(2, 2)})
    with torch.no_grad():
        for weight in made.parameters():
            weight.fill_(1.0)
    made["encoder"].bias.requires_grad_(False)
    return made


def values(made: nn.ModuleDict) -> dict[str, float]:
    return {name: weight.detach().flatten()[0].item() for name, weight in made.named_parameters()}


def step(made: nn.ModuleDict, kept: Averages, number: int) -> None:
    """Every trained weight grows by 1."""
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(float(weight.requires_grad))
    kept.follow(number)


def test_the_average_by_hand() -> None:
    """Weights 1, 2, 3, 4 with d = 1/10, 2/11 and 1/5: averages 1, 1.9, 2.8, then 3.76."""
    made = network()
    kept = Averages(made, decay=0.2)
    for number in (1, 2, 3):
        step(made, kept, number)
    average = 1.0
    for weight, decay in ((2, 1 / 10), (3, 2 / 11), (4, 1 / 5)):
        average = decay * average + (1 - decay) * weight
    before = {name: weight.clone() for name, weight in made.state_dict().items()}
    with kept.in_place():
        shown = values(made)
    assert shown["head.weight"] == shown["encoder.weight"] == pytest.approx(average)
    assert shown["encoder.bias"] == 1.0
    for name, weight in made.state_dict().items():
        assert torch.equal(weight, before[name]), name


def test_without_averages_nothing_is_touched() -> None:
    made = network()
    kept = Averages(made)
    step(made, kept, 1)
    assert not kept.values
    with kept.in_place():
        assert values(made)["head.weight"] == values(made)["encoder.weight"] == 2.0
