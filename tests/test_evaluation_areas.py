"""Weighted figures: worked by hand, against scikit-learn, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("sklearn")

from sklearn.metrics import average_precision_score, roc_auc_score

from colde_cli.evaluation.metrics import average_precisions, brier_scores, roc_areas, threshold_figures

Scored = tuple[NDArray[np.bool_], NDArray[np.float64]]


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
    assert roc_areas(related, scores, ones(related)) == pytest.approx([3.5 / 4])
    # Precision is 1 at .8 and 2/3 at .5, where a related pair and an unrelated one come together.
    assert average_precisions(related, scores, ones(related)) == pytest.approx([(1 + 2 / 3) / 2])


def test_a_confusion_table_that_is_not_symmetric() -> None:
    related = np.array([True] * 4 + [False] * 6)
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.85, 0.6, 0.1, 0.1, 0.1, 0.1])
    found = {
        name: float(value[0])
        for name, value in threshold_figures(related, scores >= 0.5, ones(related)).items()
    }
    assert found == pytest.approx({"precision": 3 / 5, "recall": 3 / 4, "f1": 2 / 3, "accuracy": 0.7})
    # The first related pair counts three times, and the last unrelated one not at all.
    weights = np.array([[3, *[1] * 8, 0]])
    found = {
        name: float(value[0]) for name, value in threshold_figures(related, scores >= 0.5, weights).items()
    }
    assert found == pytest.approx({"precision": 5 / 7, "recall": 5 / 6, "f1": 10 / 13, "accuracy": 8 / 11})


def test_nothing_called_related_and_one_kind_without_weight() -> None:
    related, scores = np.array([True, False]), np.array([0.1, 0.2])
    found = threshold_figures(related, scores >= 0.5, ones(related))
    assert [float(value[0]) for value in found.values()] == [0, 0, 0, 0.5]
    assert np.isnan(roc_areas(related, scores, np.array([[1.0, 0.0]]))).all()


def test_brier_by_hand() -> None:
    related = np.array([True, False])
    assert brier_scores(related, np.array([0.8, 0.4]), ones(related)) == pytest.approx([(0.04 + 0.16) / 2])


@settings(deadline=None)
@given(scored())
def test_as_scikit_learn_has_it(judged: Scored) -> None:
    related, scores = judged
    assert roc_areas(related, scores, ones(related))[0] == pytest.approx(roc_auc_score(related, scores))
    found = average_precisions(related, scores, ones(related))[0]
    assert found == pytest.approx(average_precision_score(related, scores))


@settings(deadline=None)
@given(scored(), st.data())
def test_a_weight_is_a_repetition_and_order_does_not_matter(judged: Scored, data: st.DataObject) -> None:
    related, scores = judged
    counts = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(related), max_size=len(related))))
    mixed = np.array(data.draw(st.permutations(range(counts.sum()))))
    again, twice = np.repeat(related, counts)[mixed], np.repeat(scores, counts)[mixed]
    for figure in (roc_areas, average_precisions):
        weighted = figure(related, scores, counts[None].astype(float))
        assert weighted == pytest.approx(figure(again, twice, ones(again)))


@settings(deadline=None)
@given(scored())
def test_areas_only_see_the_order_of_scores(judged: Scored) -> None:
    related, scores = judged
    for figure in (roc_areas, average_precisions):
        assert figure(related, np.exp(3 * scores), ones(related)) == figure(related, scores, ones(related))
    assert roc_areas(~related, scores, ones(related)) == pytest.approx(
        1 - roc_areas(related, scores, ones(related))
    )
