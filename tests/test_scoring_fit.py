"""Shares of the parts of a score, fitted to made-up tables of parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("sklearn")

from colde_cli.corpus.store import Card
from colde_cli.scoring.config import PARTS, Domain, ScoreWeights
from colde_cli.scoring.fit import ENOUGH, USUAL, Fit, fit_combination, part_table
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.score import part_score

NAMES = ("papers", "laws", "poems")


def judged(
    gains: Sequence[float], seed: int = 0, each: int = 300, noise: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """As many related pairs as unrelated ones, and parts that rise so much where a pair is related."""
    generator = np.random.default_rng(seed)
    related = np.arange(2 * each) % 2 == 0
    table = generator.normal(0, noise, (2 * each, len(PARTS))) + np.outer(related, gains)
    return related, table


def fitted(*sets: tuple[np.ndarray, np.ndarray]) -> Fit:
    """The fit of several fields, in this order."""
    related, table = (np.concatenate([one[place] for one in sets]) for place in (0, 1))
    fields = np.repeat(np.arange(len(sets)), [len(one[0]) for one in sets])
    return fit_combination(related, table, fields, NAMES[: len(sets)])


def shares(found: ScoreWeights | Domain) -> np.ndarray:
    return np.array([getattr(found, name) for name in PARTS])


def test_shares_for_too_few_pairs_are_shares() -> None:
    assert shares(USUAL).sum() == pytest.approx(1)
    assert shares(USUAL).min() > 0
    assert USUAL.domains == ()


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_the_part_that_tells_has_nearly_all(part: int) -> None:
    found = fitted(judged(np.eye(len(PARTS))[part] * 0.3)).score_weights
    assert shares(found)[part] > 0.85
    assert shares(found).sum() == pytest.approx(1)


def test_parts_count_by_what_they_tell() -> None:
    """Of independent normal parts of one spread the best weights are as the differences of the means (Fisher)."""
    found = fitted(judged([0.3, 0.1, 0.2, 0.0], each=5000)).score_weights
    assert shares(found) == pytest.approx([1 / 2, 1 / 6, 1 / 3, 0], abs=0.03)


def test_no_share_is_negative() -> None:
    found = fitted(judged([0.3, -0.2, 0.1, -0.4])).score_weights
    assert shares(found).min() == 0
    assert shares(found)[[1, 3]].tolist() == [0, 0]
    assert shares(found)[0] > shares(found)[2] > 0


def test_where_nothing_helps_the_usual_shares_stay() -> None:
    assert shares(fitted(judged([-0.3] * 4)).score_weights) == pytest.approx(shares(USUAL))


def test_too_few_pairs_keep_the_usual_shares() -> None:
    few, enough = (fitted(judged([0.5, 0, 0, 0], each=each)) for each in (ENOUGH - 1, ENOUGH))
    assert shares(few.score_weights) == pytest.approx(shares(USUAL))
    assert shares(enough.score_weights)[0] > 0.8
    # Those of one side do not make up for those of the other.
    related, table = judged([0.5, 0, 0, 0])
    kept = ~related | (np.cumsum(related) < ENOUGH)
    lopsided = fitted((related[kept], table[kept]))
    assert shares(lopsided.score_weights) == pytest.approx(shares(USUAL))


def test_what_is_fitted_keeps_the_rest_of_the_combination() -> None:
    start = ScoreWeights(sharpness=0.5, saturation=0.2, rarity=1.5, opening_words=7)
    related, table = judged([0.1, 0.2, 0.3, 0.1])
    found = fit_combination(related, table, np.zeros(len(related), np.int64), ["one"], start).score_weights
    assert (found.sharpness, found.saturation, found.rarity, found.opening_words) == (0.5, 0.2, 1.5, 7)


def test_fields_weigh_the_same_however_many_pairs_they_have() -> None:
    first, second = judged([0.3, 0, 0, 0.1], 1), judged([0, 0.3, 0, 0.1], 2)
    even = shares(fitted(first, second).score_weights)
    assert even[0] == pytest.approx(even[1], abs=0.08)
    tripled = tuple(np.concatenate([part] * 3) for part in first)
    assert shares(fitted(tripled, second).score_weights) == pytest.approx(even, abs=0.01)  # type: ignore[arg-type]


def test_which_field_scores_high_has_no_say() -> None:
    """One field has far more related pairs and higher values of a part that tells nothing within either."""
    (related, table), other = judged([0.2, 0, 0, 0], 1), judged([0.2, 0, 0, 0], 2)
    kept = related | (np.arange(len(related)) < 150)
    plain = fitted((related[kept], table[kept]), other)
    raised = table[kept] + np.array([0, 0, 0.5, 0])
    shifted = fitted((related[kept], raised), other)
    assert shares(shifted.score_weights) == pytest.approx(shares(plain.score_weights), abs=0.01)
    assert shares(shifted.score_weights)[2] < 0.15


def test_every_field_with_enough_pairs_is_a_kind_of_its_own() -> None:
    gains = ([0.4, 0, 0, 0], [0, 0.4, 0, 0])
    fit = fitted(judged(gains[0], 1), judged(gains[1], 2), judged([0, 0, 0.4, 0], 3, each=ENOUGH - 1))
    assert fit.domains == (0, 1)
    assert [kind.name for kind in fit.score_weights.domains] == ["papers", "laws"]
    for part, kind in enumerate(fit.score_weights.domains):
        assert shares(kind).sum() == pytest.approx(1)
        assert shares(kind).min() >= 0
        assert shares(kind)[part] > 0.8
        assert shares(kind)[part] > shares(fit.score_weights)[part]


def test_one_field_is_no_choice() -> None:
    assert fitted(judged([0.3] * 4)).score_weights.domains == ()
    few = judged([0.3] * 4, each=ENOUGH // 2)
    assert fitted(judged([0.3] * 4), few).domains == ()


def test_thresholds_lie_between_and_probabilities_rise() -> None:
    fit = fitted(judged([0.3] * 4, 1), judged([0.3] * 4, 2))
    verdicts = [(fit.threshold, fit.calibration)]
    verdicts += [(kind.threshold, kind.calibration) for kind in fit.score_weights.domains]
    assert len(verdicts) == 3
    for threshold, calibration in verdicts:
        assert 0 < threshold < 0.3
        assert calibration.slope > 0


def test_what_holds_for_other_fields_was_measured_on_fields_left_out() -> None:
    """Each field alone tells by another part: what is said of a third must not rest on shares that saw the field."""
    sure = judged([0.8, 0, 0, 0], 1), judged([0, 0.8, 0, 0], 2)
    fit = fitted(*sure)
    assert fit.calibration.slope < min(kind.calibration.slope for kind in fit.score_weights.domains) / 2


def test_the_table_holds_every_part_in_order() -> None:
    generator = np.random.default_rng(0)

    def card() -> Card:
        vectors = generator.normal(size=(3, 4)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        words = Terms(np.array([1, 5], np.int32), np.array([0.6, 0.8], np.float32))
        share, one = np.full(3, 1 / 3, np.float32), np.ones(1, np.float32)
        return Card("", "", vectors[0], vectors, share, terms=words, opening=words, domains=one)

    left, right = [card(), card()], [card(), card()]
    table = part_table(left, right, USUAL)
    wanted = [[part_score(name, a, b, USUAL) for name in PARTS] for a, b in zip(left, right, strict=True)]
    assert table.tolist() == wanted
    assert part_table([], [], USUAL).shape == (0, len(PARTS))
