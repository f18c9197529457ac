"""What `config.json` says of a score: probabilities, and weights by domain."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from colde_cli.scoring.config import (
    IN_FIELD,
    PART_NAMES,
    PARTS,
    Calibration,
    Domain,
    ScoreWeights,
    calibration_of,
    is_sound,
    probability,
    score_weights_of,
)

CURVE = Calibration("isotonic", scores=(0.2, 0.4, 0.8), probabilities=(0.1, 0.5, 0.9))


def test_a_sigmoid_is_that_of_the_formula_under_its_ceiling() -> None:
    scores = np.array([[-1.0, 0.0], [0.25, 1.0]])
    for slope, intercept, ceiling in ((1.0, 0.0, 1.0), (12.0, -3.0, 0.6), (-2.0, 1.0, 0.9)):
        wanted = [[ceiling / (1 + math.exp(-slope * x - intercept)) for x in row] for row in scores.tolist()]
        found = probability(scores, Calibration("platt", slope, intercept, ceiling=ceiling))
        assert found == pytest.approx(np.array(wanted))
    assert probability([-1e6, 1e6], Calibration("platt", 1.0)).tolist() == [0, 1], "no overflow"
    assert probability([-1e6, 1e6], Calibration("platt", 1.0, ceiling=0.6)).tolist() == [0, 0.6]
    assert float(probability(0.0, Calibration())) == 0.5


def test_a_curve_is_straight_between_its_knots_and_level_beyond() -> None:
    found = probability([-1, 0.2, 0.3, 0.4, 0.6, 0.8, 2], CURVE)
    assert found == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9])


@pytest.mark.parametrize(
    ("calibration", "sound"),
    [
        *((Calibration(), True), (CURVE, True), (Calibration("platt", 3, ceiling=0.0), True)),
        *((Calibration("platt", math.nan), False), (Calibration("platt", 1, math.inf), False)),
        *((Calibration("platt", 1, ceiling=1.01), False), (Calibration("platt", 1, ceiling=-0.01), False)),
        (Calibration("step"), False),  # type: ignore[arg-type]
        (Calibration("isotonic"), False),
        (Calibration("isotonic", scores=(0.1,), probabilities=(0.2,)), True),
        (Calibration("isotonic", scores=(0.1, 0.1), probabilities=(0.0, 1.0)), True),
        (Calibration("isotonic", scores=(0.1, 0.2), probabilities=(0.2,)), False),
        (Calibration("isotonic", scores=(0.2, 0.1), probabilities=(0.2, 0.3)), False),
        (Calibration("isotonic", scores=(0.1, 0.2), probabilities=(0.3, 0.2)), False),
        (Calibration("isotonic", scores=(0.1, 0.2), probabilities=(-0.1, 0.2)), False),
        (Calibration("isotonic", scores=(0.1, 0.2), probabilities=(0.1, 1.2)), False),
    ],
)
def test_only_curves_that_never_fall_are_sound(calibration: Calibration, sound: bool) -> None:
    assert is_sound(calibration) is sound


def test_weights_are_listed_by_kind_of_text_in_the_order_of_the_parts() -> None:
    other, of_laws = [0.0, 0.5, 0.25, 0.15, 0.05, 0.05, 0.0], [0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0]
    laws, short = Domain("laws", 0.5, CURVE, *of_laws), Domain("short texts", 0.5, CURVE, mean=0.4, wording=0.6)
    weights = ScoreWeights(**dict(zip(PARTS, other, strict=True)), domains=(laws,))  # type: ignore[arg-type]
    assert weights.by_kind.tolist() == [other, of_laws]
    whole = replace(weights, short=short)
    assert whole.by_kind.tolist() == [other, of_laws, [0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.6]]
    again = whole.with_verdict(0.7, Calibration())
    assert [(kind.threshold, kind.calibration) for kind in again.kinds] == [(0.7, Calibration())] * 2
    assert again.by_kind.tolist() == whole.by_kind.tolist()
    assert set(PART_NAMES) == set(PARTS)
    assert sum(IN_FIELD) == 1


@pytest.mark.parametrize(
    ("part", "reads"), list(zip(PARTS, [False, False, False, True, True, True, True], strict=True))
)
def test_parts_of_words_need_a_lexicon_in_any_domain(part: str, reads: bool) -> None:
    alone = {**dict.fromkeys(PARTS, 0.0), part: 1.0}
    assert ScoreWeights(**alone).reads_words is reads  # type: ignore[arg-type]
    assert ScoreWeights(domains=(Domain("laws", 0.5, Calibration(), **alone),)).reads_words is reads


def test_what_a_file_says_is_read() -> None:
    curve = {"kind": "isotonic", "scores": [0.2, 0.4, 0.8], "probabilities": [0.1, 0.5, 0.9]}
    assert calibration_of(curve) == CURVE
    domain = {"name": "laws", "threshold": 0.5, "calibration": curve, "colde": 0.3, "words": 0.7}
    found = score_weights_of({"colde": 0.6, "chunks": 0.4, "sharpness": 0.1, "domains": [domain]})
    laws = Domain("laws", 0.5, CURVE, colde=0.3, words=0.7)
    assert found == ScoreWeights(colde=0.6, chunks=0.4, sharpness=0.1, domains=(laws,))
    assert score_weights_of({"in_field": [1, 0, 0, 0, 0, 0, 0]}).in_field == (1, 0, 0, 0, 0, 0, 0)
    assert score_weights_of({"short": {**domain, "words": 0.6, "wording": 0.1}}).short == replace(
        laws, words=0.6, wording=0.1
    )
    assert score_weights_of({"domains": None, "in_field": None}) == ScoreWeights()
