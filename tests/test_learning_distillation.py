"""A student of all layers has nothing to learn; one of some comes nearer to its teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from colde_cli.errors import OptionError
from colde_cli.learning.tokens import ChunkStore, ends

if TYPE_CHECKING:
    import torch
    from tiny_colde import batch, model

    from colde_cli.learning.distillation import StudentLearner, state_loss, student_of
    from colde_cli.learning.gradient_cache import TrainedChunks
    from colde_cli.learning.loop import Optimiser, Task
    from colde_cli.learning.recipe import Recipe
    from colde_cli.learning.sampling import Positives, Split

pytestmark = pytest.mark.usefixtures("late_imports")

NONE: tuple[frozenset[int], ...] = (frozenset(),) * 6


def learner(layers: tuple[int, ...], precision: str = "fp32") -> StudentLearner:
    """Six documents of four chunks, in two files; the last one of each is for validation."""
    chunks = batch((5, 3, 9, 9, 4, 7, 6, 3) * 3)
    owners = np.zeros(len(chunks), np.int32)
    store = ChunkStore(np.concatenate(chunks), ends([len(ids) for ids in chunks]), owners, ends([4] * 6))
    positives = Positives(np.array([0, 0, 0, 1, 1, 1], np.int32), (np.arange(3), np.arange(3, 6)), NONE, NONE)
    split = Split(np.array([0, 1, 3, 4]), np.array([[2, 5], [1, 2]]), np.array([False, True]), False)
    task = Task(store, positives, split, np.array([0, 0, 0, 1, 1, 1]), "run")
    recipe = Recipe.of({"student_layers": layers, "batch_size": 4, "precision": precision})
    teacher = model(0.1)
    student, device = student_of(teacher, layers), torch.device("cpu")
    source = TrainedChunks(student.encoder, store, 1000, device, precision)
    return StudentLearner(student, teacher.encoder, source, task, recipe, device)


def test_a_student_of_all_layers_has_nothing_to_learn() -> None:
    whole = learner((0, 1))
    for step, chunks in enumerate(whole.batches(0)[:6]):
        assert whole.backward(chunks, step) == pytest.approx(0, abs=1e-5)
    gradients = [weight.grad.abs().max() for weight in whole.state().values() if weight.grad is not None]
    assert len(gradients) > 20
    assert max(map(float, gradients)) < 1e-4


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_student_of_some_layers_comes_nearer(precision: str) -> None:
    one = learner((1,), precision)
    frozen = one.network.encoder.bert.embeddings.word_embeddings.weight.clone()
    optimiser = Optimiser(one.network, 90, 0.01, 0.0)
    losses = []
    for step, chunks in enumerate(one.batches(0)[:90]):
        losses.append(one.backward(chunks, step))
        optimiser.step()
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:5])
    assert torch.equal(one.network.encoder.bert.embeddings.word_embeddings.weight, frozen)
    assert one.scores().shape == (2,)
    assert np.all(np.abs(one.scores()) <= 1 + 1e-6)


def test_batches_are_of_one_field_and_of_training_documents() -> None:
    drawn = learner((0,)).batches(3)
    fields = {tuple(np.unique(chunks // 12)) for chunks in drawn}
    assert fields == {(0,), (1,)}
    assert set(np.concatenate(drawn).tolist()) == {*range(8), *range(12, 20)}
    assert all(np.array_equal(a, b) for a, b in zip(drawn, learner((0,)).batches(3), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(drawn, learner((0,)).batches(4), strict=True))


def test_padding_is_no_state() -> None:
    told, mask = torch.randn(2, 3, 4), torch.tensor([[1, 1, 0], [1, 1, 1]])
    own = told + mask.logical_not()[:, :, None] * 7.0
    assert float(state_loss([own], [told], mask)) == 0
    shifted = told + 1.0
    # A last layer and one below it that are all off by 1: 1 + 1/2, in units of the teacher's variance.
    assert float(state_loss([shifted, shifted], [told, told], mask)) == pytest.approx(1.5 / float(told.var()))


@pytest.mark.parametrize("layers", [(2,), (1, 0), (0, 0), (-1,)])
def test_layers_that_are_not_there(layers: tuple[int, ...]) -> None:
    with pytest.raises(OptionError, match="student_layers must rise"):
        student_of(model(0.0), layers)
