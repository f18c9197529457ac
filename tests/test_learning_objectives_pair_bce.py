"""BCE of scaled cosines, by hand."""

from __future__ import annotations

from math import exp, log

import pytest

torch = pytest.importorskip("torch")

from colde_cli.learning.losses import PairLoss


def test_golden_value() -> None:
    # Cosines 1, 0 and 0.6 (of a right-angled triangle 3-4-5); lengths do not matter.
    left = torch.tensor([[2.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    right = torch.tensor([[1.0, 0.0], [0.0, 3.0], [3.0, 4.0]])
    related = torch.tensor([1, 0, 0])
    expected = (log(1 + exp(-6)) + log(2) + log(1 + exp(3.6))) / 3
    loss = PairLoss()
    assert loss(left, right, related).item() == pytest.approx(expected, rel=1e-6)
    with torch.no_grad():
        loss.alpha.fill_(2)
        loss.beta.fill_(-1)
    expected = (log(1 + exp(-1)) + log(1 + exp(-1)) + log(1 + exp(0.2))) / 3
    assert loss(left, right, related).item() == pytest.approx(expected, rel=1e-6)


def test_the_scale_is_learnt_unless_it_is_kept() -> None:
    vectors = torch.eye(2)
    for learnt in (True, False):
        loss = PairLoss(learnt)
        value = loss(vectors.clone().requires_grad_(), vectors.flip(0), torch.tensor([1, 0]))
        value.backward()
        assert (loss.alpha.grad is not None, loss.beta.grad is not None) == (learnt, learnt)
