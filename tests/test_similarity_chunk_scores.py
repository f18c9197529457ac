"""Scores and probabilities as functions of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from colde_cli.scoring.calibration import Calibration, probability
from colde_cli.similarity.chunk_scores import cosine, cosines, explanation, relative_attention

VECTORS = arrays(np.float32, (4, 3), elements=st.floats(-100, 100, width=32))


@given(VECTORS, VECTORS)
def test_cosines_are_bounded_and_symmetric(a: np.ndarray, b: np.ndarray) -> None:
    scores = cosines(a, b)
    assert scores.shape == (4, 4)
    assert np.all(np.abs(scores) <= 1.0)
    assert np.allclose(scores, cosines(b, a).T, atol=1e-6)


def test_cosines_are_those_of_the_textbook() -> None:
    a = np.array([[3, 4], [1, 0], [0, 0]], np.float32)
    assert np.allclose(cosines(a, a), [[1, 0.6, 0], [0.6, 1, 0], [0, 0, 0]])
    assert cosine(a[0], -a[0]) == pytest.approx(-1.0)


def test_uniform_attention_is_1_and_unlike_chunks_explain_nothing() -> None:
    a_to_b = np.full((2, 4), 0.25, np.float32)
    b_to_a = np.full((4, 2), 0.5, np.float32)
    assert np.allclose(relative_attention(a_to_b), 1.0)
    scores = np.array([[0.8, -0.5, 0.0, 1.0], [0.1, 0.2, 0.3, 0.4]], np.float32)
    assert np.allclose(explanation(a_to_b, b_to_a, scores), np.maximum(scores, 0))


def test_platt_is_a_sigmoid_that_never_overflows() -> None:
    calibration = Calibration(slope=10.0, intercept=-5.0)
    assert probability(0.5, calibration) == pytest.approx(0.5)
    assert probability(0.7, calibration) == pytest.approx(1 / (1 + np.exp(-2.0)))
    extreme = probability([-1e6, 1e6], calibration)
    assert extreme.tolist() == [0.0, 1.0]


def test_isotonic_runs_between_its_knots() -> None:
    calibration = Calibration("isotonic", scores=(0.2, 0.6), probabilities=(0.1, 0.9))
    assert probability([0.0, 0.2, 0.4, 0.6, 1.0], calibration).tolist() == pytest.approx(
        [0.1, 0.1, 0.5, 0.9, 0.9]
    )
