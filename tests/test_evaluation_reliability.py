"""What an expected calibration error amounts to."""

from __future__ import annotations

import numpy as np
import pytest

from colde_cli.evaluation.metrics import error_by_chance, expected_calibration_error, reliability


def test_by_chance_even_perfect_probabilities_have_an_error() -> None:
    few, many = np.full(60, 0.5), np.full(60_000, 0.5)
    assert error_by_chance(few) > 10 * error_by_chance(many) > 0
    # Of certain verdicts none can be wrong.
    assert error_by_chance(np.array([0.0, 1.0] * 50)) == 0


def test_by_chance_is_what_repeated_judgements_give() -> None:
    generator = np.random.default_rng(3)
    probabilities = generator.uniform(size=300)
    errors = [
        expected_calibration_error(reliability(generator.random(300) < probabilities, probabilities))
        for _ in range(200)
    ]
    assert error_by_chance(probabilities) == pytest.approx(np.mean(errors), rel=0.1)
