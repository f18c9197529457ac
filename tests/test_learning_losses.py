"""The losses against values computed by hand and laws known beforehand."""

from __future__ import annotations

import math
from dataclasses import replace
from math import exp, log
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import made

from colde_cli.scoring.score import counterparts

if TYPE_CHECKING:
    import torch
    from tiny_networks import on_circle
    from torch import Tensor
    from torch.nn import functional

    from colde_cli.learning.losses import (
        ChunkRows,
        PairLoss,
        contrast,
        cosine_loss,
        cosines,
        mean_scores,
        soft_maximum_scores,
        supcon,
    )

pytestmark = pytest.mark.usefixtures("late_imports")


def same(labels: list[int]) -> Tensor:
    values = torch.tensor(labels)
    return values[:, None] == values[None, :]


def golden() -> Tensor:
    return on_circle(0, 10, 90, 100, 45, 60)


def golden_positives() -> Tensor:
    return same([0, 0, 0, 0, 1, 1])


batches = st.integers(2, 9).flatmap(
    lambda rows: st.tuples(
        st.integers(0, 2**31), st.lists(st.integers(0, 3), min_size=rows, max_size=rows), st.integers(2, 6)
    )
)


def drawn(batch: tuple[int, list[int], int]) -> tuple[Tensor, Tensor]:
    seed, labels, size = batch
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(len(labels), size, generator=generator, dtype=torch.float64)
    return functional.normalize(rows, dim=1), same(labels)


def test_golden_supcon() -> None:
    """The mean of 2.2133, 2.1371, 2.1903, 2.2717, 1.2219 and 1.2259, without a base temperature of 0.07."""
    assert float(supcon(golden(), golden_positives(), 0.5)) == pytest.approx(1.8767, abs=5e-5)
    vectors = on_circle(*[30.0] * 16)
    assert float(supcon(vectors, same([1] * 16), 0.5)) == pytest.approx(math.log(15))


def test_an_anchor_without_a_positive_is_skipped() -> None:
    """Two pairs and two loners: the loners stand in the denominators only."""
    scores = (cosines(golden(), golden()) / 0.5).fill_diagonal_(-math.inf)
    by_hand = [float(scores[i].logsumexp(0) - scores[i, i ^ 1]) for i in range(4)]
    loss = supcon(golden(), same([0, 0, 1, 1, 2, 3]), 0.5)
    assert float(loss) == pytest.approx(sum(by_hand) / 4)


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_no_positive_at_all_is_zero_with_zero_gradient(rows: int) -> None:
    vectors = golden()[:rows].float().requires_grad_()
    loss = supcon(vectors, same(list(range(rows))), 0.5)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0.0
    assert vectors.grad is not None
    assert not vectors.grad.any()


@given(batches, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_order_of_rows_does_not_matter(batch: tuple[int, list[int], int], random: Random) -> None:
    vectors, positives = drawn(batch)
    order = list(range(len(vectors)))
    random.shuffle(order)
    mixed, related = vectors[order], positives[order][:, order]
    for loss in (lambda v, p: supcon(v, p, 0.5), cosine_loss):
        torch.testing.assert_close(loss(mixed, related), loss(vectors, positives))


@pytest.mark.slow
@given(batches, st.floats(0.5, 3.0))
@settings(deadline=None)
def test_scale_is_temperature_and_a_low_one_stays_finite(batch: tuple[int, list[int], int], scale: float) -> None:
    vectors, positives = drawn(batch)
    wanted = supcon(vectors, positives, 0.5)
    torch.testing.assert_close(supcon(scale * vectors, positives, 0.5 * scale**2), wanted)
    assert 0 <= float(cosine_loss(vectors, positives)) <= 1.5
    leaf = vectors.float().requires_grad_()
    loss = supcon(leaf, positives, 0.001)
    loss.backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    assert bool(torch.isfinite(loss))
    assert bool(torch.isfinite(leaf.grad).all())


def test_autocast_does_not_narrow_the_losses() -> None:
    vectors = golden().float()
    with torch.autocast("cpu", torch.bfloat16):
        inside = supcon(vectors, golden_positives(), 0.05)
    assert inside.dtype == torch.float32
    torch.testing.assert_close(inside, supcon(vectors, golden_positives(), 0.05))


def test_a_relation_need_not_be_transitive() -> None:
    chain = torch.tensor([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=torch.bool)
    # cosines 0-1 and 1-2 are 0.5, 0-2 is -0.5
    end = math.log(math.exp(0.5) + math.exp(-0.5)) - 0.5
    loss = supcon(on_circle(0, 60, 120), chain, 1.0)
    assert float(loss) == pytest.approx((2 * end + math.log(2)) / 3)


def test_cosine_loss_by_hand() -> None:
    vectors = on_circle(0, 60, 180)
    # positive 0-1: 1 - 0.5; negatives 0-2: max(0, -1), 1-2: max(0, -0.5)
    assert float(cosine_loss(vectors, same([0, 0, 1]))) == pytest.approx(0.25)
    assert float(cosine_loss(vectors, same([0, 1, 2]))) == pytest.approx(0.5 / 3 / 2)
    assert float(cosine_loss(vectors[:2], same([0, 0]))) == pytest.approx(0.25)


def three() -> ChunkRows:
    """Three documents of two chunks each, the second one's second padding."""
    vectors = torch.stack([on_circle(0, 90), on_circle(30, 30), on_circle(60, 180)])
    return ChunkRows(vectors, torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.75, 0.25]], dtype=torch.float64))


def test_soft_maximum_by_hand() -> None:
    """Document 1 has one chunk; the second place of its row is padding."""
    t = 0.1
    forth = t * log(0.5 * exp(math.cos(math.pi / 6) / t) + 0.5 * exp(0.5 / t))
    back = math.cos(math.pi / 6)
    scores = soft_maximum_scores(three(), three(), t)
    assert float(scores[0, 1]) == pytest.approx((forth + back) / 2)
    torch.testing.assert_close(scores, scores.T)
    torch.testing.assert_close(scores.diagonal(), torch.ones(3, dtype=torch.float64))


@given(st.integers(0, 2**31), st.lists(st.integers(1, 5), min_size=2, max_size=5), st.floats(0.02, 1))
def test_the_soft_maximum_is_the_score_that_is_served(seed: int, counts: list[int], sharpness: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    chunks = functional.normalize(torch.randn(len(counts), max(counts), 4, generator=generator), dim=2)
    present = torch.arange(max(counts)) < torch.tensor(counts)[:, None]
    drawn = torch.rand(present.shape, generator=generator).clamp(min=0.05) * present
    shares = drawn / drawn.sum(1, keepdim=True)
    # Lengths of vectors do not count.
    rows_given = ChunkRows(3 * chunks, shares)
    scores = soft_maximum_scores(rows_given, rows_given, sharpness)
    rows = [
        replace(made(0), centred_unit_vectors=chunks[row, :count].numpy(), shares=shares[row, :count].numpy())
        for row, count in enumerate(counts)
    ]
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            assert float(scores[i, j]) == pytest.approx(counterparts(one, other, sharpness), abs=1e-4)


def test_golden_contrast_of_means() -> None:
    """The means point to 45, 30 and 120 degrees; the padding of document 1 does not count."""
    scores = mean_scores(three(), three())
    assert float(scores[0, 1]) == pytest.approx(math.cos(math.radians(15)))
    assert float(scores[1, 2]) == pytest.approx(0.0, abs=1e-12)
    loss = contrast(scores, same([0, 0, 1]), 0.07)
    by_hand = [log(1 + exp((scores[i, 2] - scores[0, 1]) / 0.07)) for i in (0, 1)]
    assert float(loss) == pytest.approx(sum(by_hand) / 2)
    assert float(loss) == pytest.approx(2.0e-5, abs=5e-6)


def test_others_join_the_contrast_without_being_anchors() -> None:
    """Two anchors and a memory of three."""
    vectors, labels = on_circle(0, 50, 20, 70, 100), same([0, 1, 0, 1, 0])
    scores = vectors @ vectors.T
    logits = (scores / 0.5).fill_diagonal_(-math.inf)
    wanted = [(logits[row].logsumexp(0) - logits[row][others].mean()) for row, others in ((0, [2, 4]), (1, [3]))]
    assert float(contrast(scores[:2], labels[:2], 0.5)) == pytest.approx(float(sum(wanted)) / 2)


def test_rows_of_different_widths_follow_one_another() -> None:
    narrow = ChunkRows(three().vectors[1:2, :1], three().shares[1:2, :1])
    joined = narrow.followed_by(three())
    expected = ChunkRows(three().vectors[[1, 0, 1, 2]], three().shares[[1, 0, 1, 2]])
    torch.testing.assert_close(joined.shares, expected.shares)
    for score in (lambda a, b: soft_maximum_scores(a, b, 0.1), mean_scores):
        torch.testing.assert_close(score(joined, three()), score(expected, three()))


def test_golden_value() -> None:
    # Cosines 1, 0 and 0.6 (of a right-angled triangle 3-4-5); lengths do not matter.
    left = torch.tensor([[2.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    right = torch.tensor([[1.0, 0.0], [0.0, 3.0], [3.0, 4.0]])
    related = torch.tensor([1, 0, 0])
    expected = (log(1 + exp(-6)) + log(2) + log(1 + exp(3.6))) / 3
    loss = PairLoss()
    assert loss(left, right, related).item() == pytest.approx(expected, rel=1e-6)
    with torch.no_grad():
        loss.start.copy_(torch.tensor([4.0, -1.0]))
        loss.gain.fill_(0.5)
        loss.shift.fill_(-0.5)
    assert (loss.alpha.item(), loss.beta.item()) == (2, -1)
    expected = (log(1 + exp(-1)) + log(1 + exp(-1)) + log(1 + exp(0.2))) / 3
    assert loss(left, right, related).item() == pytest.approx(expected, rel=1e-6)


def test_the_scale_starts_where_the_loss_feels_the_cosines() -> None:
    loss = PairLoss()
    scores = torch.tensor([0.99, 0.97, 0.98, 0.95])
    loss.start_at(scores)
    logits = loss.alpha * scores + loss.beta
    assert logits.mean().item() == pytest.approx(0, abs=1e-3)
    assert logits.std(correction=0).item() == pytest.approx(1, abs=1e-2)
    loss.start_at(torch.ones(3))
    assert (loss.alpha.item(), loss.beta.item()) == (1000, -1000)
