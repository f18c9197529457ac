"""Metrics against values worked out by hand and against scikit-learn; calibration and its error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("sklearn")

from sklearn.metrics import average_precision_score, roc_auc_score

from colde_cli.evaluation.metrics import (
    chance_calibration_error,
    expected_calibration_error,
    pair_metrics,
    reliability,
    weighted_auc,
    weighted_average_precision,
    weighted_brier,
    weighted_verdict_metrics,
)
from colde_cli.scoring.config import probability
from colde_cli.scoring.fit import best_threshold, fit_calibration

Scored = tuple[NDArray[np.bool_], NDArray[np.float64]]


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


@st.composite
def scored(draw: st.DrawFn) -> Scored:
    """Pairs of both kinds, whose scores often tie."""
    judged = draw(st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=2, max_size=40))
    related, scores = zip(*judged, (True, 1), (False, 0), strict=True)
    return np.array(related), np.array(scores) / 4


def ones(related: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.ones((1, len(related)))


def test_areas_with_ties_by_hand() -> None:
    related, scores = np.array([True, True, False, False]), np.array([0.8, 0.5, 0.5, 0.2])
    # .8 wins both, .5 ties one and wins one.
    assert weighted_auc(related, scores, ones(related)) == pytest.approx([3.5 / 4])
    # Precision is 1 at .8 and 2/3 at .5, where a related pair and an unrelated one come together.
    assert weighted_average_precision(related, scores, ones(related)) == pytest.approx([(1 + 2 / 3) / 2])


def test_a_confusion_table_that_is_not_symmetric() -> None:
    related = np.array([True] * 4 + [False] * 6)
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.85, 0.6, 0.1, 0.1, 0.1, 0.1])
    found = {
        name: float(value[0])
        for name, value in weighted_verdict_metrics(related, scores >= 0.5, ones(related)).items()
    }
    assert found == pytest.approx({"precision": 3 / 5, "recall": 3 / 4, "f1": 2 / 3, "accuracy": 0.7})
    # The first related pair counts three times, and the last unrelated one not at all.
    weights = np.array([[3, *[1] * 8, 0]])
    found = {
        name: float(value[0])
        for name, value in weighted_verdict_metrics(related, scores >= 0.5, weights).items()
    }
    assert found == pytest.approx({"precision": 5 / 7, "recall": 5 / 6, "f1": 10 / 13, "accuracy": 8 / 11})


def test_nothing_called_related_and_one_kind_without_weight() -> None:
    related, scores = np.array([True, False]), np.array([0.1, 0.2])
    found = weighted_verdict_metrics(related, scores >= 0.5, ones(related))
    assert [float(value[0]) for value in found.values()] == [0, 0, 0, 0.5]
    assert np.isnan(weighted_auc(related, scores, np.array([[1.0, 0.0]]))).all()


def test_brier_by_hand() -> None:
    related = np.array([True, False])
    assert weighted_brier(related, np.array([0.8, 0.4]), ones(related)) == pytest.approx([(0.04 + 0.16) / 2])


@settings(deadline=None)
@given(scored())
def test_as_scikit_learn_has_it(judged: Scored) -> None:
    related, scores = judged
    assert weighted_auc(related, scores, ones(related))[0] == pytest.approx(roc_auc_score(related, scores))
    found = weighted_average_precision(related, scores, ones(related))[0]
    assert found == pytest.approx(average_precision_score(related, scores))


@settings(deadline=None)
@given(scored(), st.data())
def test_a_weight_is_a_repetition_and_order_does_not_matter(judged: Scored, data: st.DataObject) -> None:
    related, scores = judged
    counts = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(related), max_size=len(related))))
    mixed = np.array(data.draw(st.permutations(range(counts.sum()))))
    again, twice = np.repeat(related, counts)[mixed], np.repeat(scores, counts)[mixed]
    for figure in (weighted_auc, weighted_average_precision):
        weighted = figure(related, scores, counts[None].astype(float))
        assert weighted == pytest.approx(figure(again, twice, ones(again)))


@settings(deadline=None)
@given(scored())
def test_areas_only_see_the_order_of_scores(judged: Scored) -> None:
    related, scores = judged
    for figure in (weighted_auc, weighted_average_precision):
        assert figure(related, np.exp(3 * scores), ones(related)) == figure(related, scores, ones(related))
    assert weighted_auc(~related, scores, ones(related)) == pytest.approx(
        1 - weighted_auc(related, scores, ones(related))
    )


def test_by_chance_even_perfect_probabilities_have_an_error() -> None:
    few, many = np.full(60, 0.5), np.full(60_000, 0.5)
    assert chance_calibration_error(few) > 10 * chance_calibration_error(many) > 0
    # Of certain verdicts none can be wrong.
    assert chance_calibration_error(np.array([0.0, 1.0] * 50)) == 0


def test_by_chance_is_what_repeated_judgements_give() -> None:
    generator = np.random.default_rng(3)
    probabilities = generator.uniform(size=300)
    errors = [
        expected_calibration_error(reliability(generator.random(300) < probabilities, probabilities))
        for _ in range(200)
    ]
    assert chance_calibration_error(probabilities) == pytest.approx(np.mean(errors), rel=0.1)
