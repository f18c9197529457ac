"""Figures against tables worked by hand; calibration against what it must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from colde_cli.evaluation.metrics import pair_metrics
from colde_cli.scoring.calibration import probability
from colde_cli.scoring.fit import best_threshold, fit_calibration


def test_precision_and_recall_are_not_exchanged() -> None:
    # 3 related pairs found of 4, and 2 false alarms among 6.
    related = [True] * 4 + [False] * 6
    scores = [0.9, 0.8, 0.7, 0.2, 0.85, 0.6, 0.1, 0.1, 0.1, 0.1]
    found = pair_metrics(related, scores, threshold=0.5)
    assert (found.pairs, found.positives) == (10, 4)
    assert found.precision == pytest.approx(3 / 5)
    assert found.recall == pytest.approx(3 / 4)
    assert found.f1 == pytest.approx(2 / 3)
    assert found.accuracy == pytest.approx(0.7)
    # Of 24 (related, unrelated) pairs, .9 wins 6, .8 wins 5, .7 wins 5, .2 wins 4.
    assert found.auc == pytest.approx(20 / 24)


def test_nothing_said_to_be_related() -> None:
    found = pair_metrics([True, False], [0.1, 0.2], threshold=0.5)
    assert (found.precision, found.recall, found.f1, found.accuracy) == (0, 0, 0, 0.5)


def test_threshold_lies_between_scores() -> None:
    related, scores = np.array([True, True, False, False]), np.array([0.9, 0.7, 0.3, 0.1])
    assert best_threshold(related, scores) == pytest.approx(0.5)
    # Calling all of them related is best here.
    last = best_threshold(np.array([False, True, True]), np.array([0.9, 0.5, 0.4]))
    assert last == pytest.approx(0.4)
    assert pair_metrics([False, True, True], [0.9, 0.5, 0.4]).recall == 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=2, max_size=40))
def test_no_other_threshold_is_better(pairs: list[tuple[bool, int]]) -> None:
    related, scores = np.array([pair[0] for pair in pairs]), np.array([pair[1] / 4 for pair in pairs])
    if related.all() or not related.any():
        return
    best = pair_metrics(related, scores)
    for cut in np.arange(-1.125, 1.2, 0.25):
        assert pair_metrics(related, scores, float(cut)).f1 <= best.f1 + 1e-12


@pytest.mark.parametrize(("count", "kind"), [(200, "platt"), (2000, "isotonic")])
def test_calibration_finds_the_probability(count: int, kind: str) -> None:
    generator = np.random.default_rng(0)
    scores = generator.uniform(-1, 1, count)
    truth = 1 / (1 + np.exp(-(6 * scores - 1)))
    calibration = fit_calibration(generator.random(count) < truth, scores)
    assert calibration.kind == kind
    found = probability(scores, calibration)
    assert np.abs(found - truth).mean() < 0.06
    order = np.argsort(scores)
    assert (np.diff(found[order]) >= 0).all()
    assert (found.min(), found.max()) >= (0, 0)
    assert found.max() <= 1


def test_separable_pairs_do_not_become_certain() -> None:
    calibration = fit_calibration([True] * 10 + [False] * 10, [0.9] * 10 + [0.1] * 10)
    low, high = probability([0.1, 0.9], calibration)
    assert low == pytest.approx(1 / 12, abs=1e-3)
    assert high == pytest.approx(11 / 12, abs=1e-3)


def test_field_auc_does_not_compare_scores_of_different_fields() -> None:
    """Two fields, each in perfect order, one with far higher scores."""
    related, fields = [1, 0, 1, 0], [0, 0, 1, 1]
    metrics = pair_metrics(related, [0.9, 0.8, 0.2, 0.1], fields=fields)
    assert metrics.field_auc == 1
    assert metrics.auc == 0.75
    assert pair_metrics(related, [0.9, 0.8, 0.2, 0.1]).field_auc == 0.75
    assert pair_metrics(related, [0.9, 0.8, 0.2, 0.1], fields=[0, 1, 1, 1]).field_auc == 0.75, (
        "one field is judged"
    )
