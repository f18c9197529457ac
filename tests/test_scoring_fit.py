"""Weights of the parts of a score, fitted to made-up tables of parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from late import needs

from colde_cli.corpus.records import Card
from colde_cli.scoring.config import PARTS, Calibration, Domain, ScoreWeights, probability
from colde_cli.scoring.fit import (
    MIN_PAIRS,
    SHORT_TEXTS,
    USUAL,
    FitPairs,
    PartTables,
    ScoreFit,
    best_threshold,
    fit_calibration,
    fit_domain_calibration,
    fit_score_weights,
    fit_within_field,
    has_enough,
    part_table,
)
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import FieldProfile
from colde_cli.scoring.score import part_score

pytestmark = needs("sklearn")

NAMES = ("papers", "laws", "poems")
FITTED = np.array([part != "wording" for part in PARTS])


def judged(gains: Sequence[float], seed: int = 0, each: int = 300, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """As many related pairs as unrelated ones, and parts that rise so much where a pair is related; 0 for the last."""
    gains = [*gains, *[0.0] * (len(PARTS) - len(gains))]
    generator = np.random.default_rng(seed)
    related = np.arange(2 * each) % 2 == 0
    table = generator.normal(0, noise, (2 * each, len(PARTS))) + np.outer(related, gains)
    return related, table


def fitted(*sets: tuple[np.ndarray, np.ndarray]) -> ScoreFit:
    """The fit of several domains, in this order."""
    related, table = (np.concatenate([one[place] for one in sets]) for place in (0, 1))
    domains = np.repeat(np.arange(len(sets)), [len(one[0]) for one in sets])
    return fit(related, table, domains, NAMES[: len(sets)])


def fit(
    related: np.ndarray, table: np.ndarray, domains: np.ndarray, names: Sequence[str], start: ScoreWeights = USUAL
) -> ScoreFit:
    """The fit of parts that no statistics change, each pair of two documents of its own."""
    documents = np.arange(2 * len(related)).reshape(-1, 2)
    return fit_score_weights(FitPairs(related, documents, domains, names), PartTables(table, table), start)


def weights(found: ScoreWeights | Domain) -> np.ndarray:
    return np.array([getattr(found, name) for name in PARTS])


def test_shares_for_too_few_pairs_are_weights() -> None:
    assert weights(USUAL).sum() == pytest.approx(1)
    assert weights(USUAL)[FITTED].min() > 0
    assert USUAL.domains == ()


def test_wording_has_its_weight_in_short_texts_alone() -> None:
    """Long texts of one subject share too little of it; every fitted model knows short texts."""
    for found in (fitted(judged([0.1] * len(PARTS), 1)), fitted(judged([0.1] * 7, 1), judged([0.2] * 7, 2))):
        assert [found.score_weights.wording, *(kind.wording for kind in found.score_weights.domains)] == [0] * (
            1 + len(found.score_weights.domains)
        )
        assert found.score_weights.short == SHORT_TEXTS
    assert weights(SHORT_TEXTS).sum() == pytest.approx(1)
    assert SHORT_TEXTS.wording > 0.5
    likely = probability(np.array([SHORT_TEXTS.threshold]), SHORT_TEXTS.calibration)
    assert likely == pytest.approx([0.5], abs=0.05)


def test_parts_count_by_what_they_tell() -> None:
    """Of independent normal parts of one spread the best weights are as the differences of the means (Fisher)."""
    found = fitted(judged([0.3, 0.1, 0.2, 0.0], each=5000)).score_weights
    assert weights(found) == pytest.approx([1 / 2, 1 / 6, 1 / 3, 0, 0, 0, 0], abs=0.03)


def test_no_weight_is_negative() -> None:
    found = fitted(judged([0.3, -0.2, 0.1, -0.4])).score_weights
    assert weights(found).min() == 0
    assert weights(found)[[1, 3]].tolist() == [0, 0]
    assert weights(found)[0] > weights(found)[2] > 0


def test_where_nothing_helps_the_usual_weights_stay() -> None:
    assert weights(fitted(judged([-0.3] * len(PARTS))).score_weights) == pytest.approx(weights(USUAL))


def test_too_few_pairs_keep_the_usual_weights() -> None:
    few, enough = (fitted(judged([0.5, 0, 0, 0], each=each)) for each in (MIN_PAIRS - 1, MIN_PAIRS))
    assert weights(few.score_weights) == pytest.approx(weights(USUAL))
    assert weights(enough.score_weights)[0] > 0.6
    # Those of one side do not make up for those of the other.
    related, table = judged([0.5, 0, 0, 0])
    kept = ~related | (np.cumsum(related) < MIN_PAIRS)
    lopsided = fitted((related[kept], table[kept]))
    assert weights(lopsided.score_weights) == pytest.approx(weights(USUAL))


def test_what_is_fitted_keeps_the_constants() -> None:
    start = ScoreWeights(sharpness=0.5, saturation=0.2, rarity=1.5, opening_words=7)
    related, table = judged([0.1, 0.2, 0.3, 0.1])
    found = fit(related, table, np.zeros(len(related), np.int64), ["one"], start).score_weights
    assert (found.sharpness, found.saturation, found.rarity, found.opening_words) == (0.5, 0.2, 1.5, 7)


@pytest.mark.slow
def test_domains_weigh_the_same_however_many_pairs_they_have() -> None:
    first, second = judged([0.3, 0, 0, 0.1], 1), judged([0, 0.3, 0, 0.1], 2)
    even = weights(fitted(first, second).score_weights)
    assert even[0] == pytest.approx(even[1], abs=0.08)
    tripled = tuple(np.concatenate([part] * 3) for part in first)
    assert weights(fitted(tripled, second).score_weights) == pytest.approx(even, abs=0.01)  # type: ignore[arg-type]


@pytest.mark.slow
def test_which_domain_scores_high_has_no_say() -> None:
    """One domain has far more related pairs and higher values of a part that tells nothing within either."""
    (related, table), other = judged([0.2, 0, 0, 0], 1), judged([0.2, 0, 0, 0], 2)
    kept = related | (np.arange(len(related)) < 150)
    plain = fitted((related[kept], table[kept]), other)
    raised = table[kept] + np.array([0, 0, 0.5, 0, 0, 0, 0])
    shifted = fitted((related[kept], raised), other)
    assert weights(shifted.score_weights) == pytest.approx(weights(plain.score_weights), abs=0.01)
    assert weights(shifted.score_weights)[2] < 0.15


@pytest.mark.slow
def test_every_set_with_enough_pairs_is_a_domain_of_its_own() -> None:
    gains = ([0.4, 0, 0, 0], [0, 0.4, 0, 0])
    found = fitted(judged(gains[0], 1), judged(gains[1], 2), judged([0, 0, 0.4, 0], 3, each=MIN_PAIRS - 1))
    assert found.domains == (0, 1)
    assert [domain.name for domain in found.score_weights.domains] == ["papers", "laws"]
    for part, domain in enumerate(found.score_weights.domains):
        assert weights(domain).sum() == pytest.approx(1)
        assert weights(domain).min() >= 0
        assert weights(domain)[part] > 0.75
        assert weights(domain)[part] > weights(found.score_weights)[part]


@pytest.mark.slow
def test_shares_within_an_unknown_field_are_not_fitted() -> None:
    found = fitted(judged([0.3, 0, 0.1], 1), judged([0.2, 0, 0.3], 2)).score_weights
    assert found.in_field == USUAL.in_field
    assert sum(found.in_field) == pytest.approx(1)


def test_one_domain_is_no_choice() -> None:
    assert fitted(judged([0.3] * 4)).score_weights.domains == ()
    few = judged([0.3] * 4, each=MIN_PAIRS // 2)
    assert fitted(judged([0.3] * 4), few).domains == ()


@pytest.mark.slow
def test_thresholds_lie_between_and_probabilities_rise() -> None:
    found = fitted(judged([0.3] * 4, 1), judged([0.3] * 4, 2))
    verdicts = [(found.threshold, found.calibration)]
    verdicts += [(domain.threshold, domain.calibration) for domain in found.score_weights.domains]
    assert len(verdicts) == 3
    for threshold, calibration in verdicts:
        assert 0 < threshold < 0.3
        assert calibration.slope > 0


@pytest.mark.slow
def test_what_holds_for_other_domains_was_measured_on_domains_left_out() -> None:
    """Each domain tells by another part: the verdict for a third must not rest on weights that saw the domain."""
    sure = judged([0.8, 0, 0, 0], 1), judged([0, 0.8, 0, 0], 2)
    found = fitted(*sure)
    assert found.calibration.slope < min(domain.calibration.slope for domain in found.score_weights.domains) / 2


def test_the_table_holds_every_part_in_order() -> None:
    generator = np.random.default_rng(0)

    def card() -> Card:
        vectors = generator.normal(size=(3, 4)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        words = Terms(np.array([1, 5], np.int32), np.array([0.6, 0.8], np.float32))
        share, one = np.full(3, 1 / 3, np.float32), np.ones(1, np.float32)
        return Card("", "", vectors, vectors, share, one, words, words, vectors[0])

    left, right = [card(), card()], [card(), card()]
    table = part_table(left, right, USUAL)
    wanted = [[part_score(name, a, b, USUAL) for name in PARTS] for a, b in zip(left, right, strict=True)]
    assert table.tolist() == wanted
    assert part_table([], [], USUAL).shape == (0, len(PARTS))


# Within a field


def field_profile(spread: float = 0.15, documents: int = 100) -> FieldProfile:
    scores = np.sort(np.random.default_rng(0).normal(0.3, spread, 2000)).astype(np.float32)
    empty = np.zeros(0, np.float32)
    return FieldProfile(
        "field",
        documents,
        "model",
        empty,
        empty,
        empty,
        np.zeros(0, np.uint16),
        np.zeros(len(PARTS)),
        scores,
        empty,
        empty,
    )


def pairs_of_field(count: int, seed: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn by the log-odds slope · (score - 0.45)."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(0.4, 0.15, count)
    return generator.random(count) < probability(scores, Calibration("platt", slope, -0.45 * slope)), scores


def test_few_pairs_of_a_field_leave_the_slope_near_the_usual_one() -> None:
    usual, scores = 1.4 / field_profile().scores.std(), np.arange(10) / 20
    # The first can be told apart without an error, the second not at all: slopes without end, and of 0.
    apart, mixed = np.arange(10) >= 5, np.arange(10) % 2 == 1
    steep, flat = (fit_within_field(related, scores, field_profile())[1].slope for related in (apart, mixed))
    assert 0.4 * usual < flat < usual < steep < 1.6 * usual


def test_many_pairs_of_a_field_decide_the_slope() -> None:
    related, scores = pairs_of_field(900, 1, 25.0)
    _, found = fit_within_field(related, scores, field_profile())
    assert found.slope == pytest.approx(fit_calibration(related, scores).slope, rel=0.1)
    assert fit_within_field(*pairs_of_field(1000, 1, 25.0), field_profile())[1].kind == "isotonic"


def test_the_probabilities_of_a_field_are_those_of_new_pairs() -> None:
    """Closer to the true ones than Platt's sigmoid alone, over many draws of 20 pairs."""
    grid = np.linspace(0.2, 0.6, 9)
    true = probability(grid, Calibration("platt", 10.0, -4.5))
    errors = []
    for seed in range(40):
        related, scores = pairs_of_field(20, seed, 10.0)
        if min(related.sum(), (~related).sum()) < 5:
            continue
        both = fit_within_field(related, scores, field_profile())[1], fit_calibration(related, scores)
        errors.append([np.abs(probability(grid, found) - true).mean() for found in both])
    here, plain = np.mean(errors, axis=0)
    assert here < plain
    assert here < 0.12


def test_the_threshold_of_a_field_has_the_best_expected_f1() -> None:
    related, scores = pairs_of_field(60, 3, 12.0)
    threshold, found = fit_within_field(related, scores, field_profile())
    likely = probability(scores, found)

    def expected(at: float) -> float:
        return float(2 * likely[scores >= at].sum() / ((scores >= at).sum() + likely.sum()))

    assert expected(threshold) == pytest.approx(max(expected(score) for score in scores))
    assert scores.min() < threshold < scores.max()


def test_a_field_of_few_documents_has_the_usual_spread() -> None:
    related, scores = np.arange(10) >= 5, np.arange(10) / 10
    small, other = (fit_within_field(related, scores, field_profile(spread, 5)) for spread in (0.01, 0.9))
    assert small == other


@pytest.mark.slow
def test_a_domain_drops_a_part_that_tells_elsewhere_alone() -> None:
    """The common weight of a part of small spread holds in a domain of few pairs, where it may tell nothing."""
    narrow = np.where(np.arange(len(PARTS)) == 1, 0.1, 1.0)
    sets = [judged([0.2, 0.4], 1), judged([0.2, 0.4], 2), judged([0.2, 0.0], 3, each=60)]
    found = fitted(*((related, table * narrow) for related, table in sets)).score_weights
    assert [weights(domain)[1] > 0 for domain in found.domains] == [True, True, False]


def pairs_of_domain(ceiling: float, groups: int = 40, each: int = 30) -> tuple[FitPairs, np.ndarray]:
    """Pairs within groups of four documents, labels drawn by ceiling · sigmoid(20 · score - 4)."""
    generator = np.random.default_rng(4)
    scores = generator.uniform(0, 0.8, groups * each)
    likely = ceiling * probability(scores, Calibration("platt", 20.0, -4.0))
    places = np.array([(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)])[np.arange(groups * each) % 6]
    documents = places + 4 * (np.arange(groups * each) // each)[:, None]
    related = generator.random(len(scores)) < likely
    return FitPairs(related, documents, np.zeros(len(scores), np.int64), ("contracts",)), scores


def test_a_domain_in_which_likeness_is_not_enough_gets_a_ceiling() -> None:
    """Beyond .3 every pair is related with the same probability, one half: no sigmoid says so."""
    pairs, scores = pairs_of_domain(0.5, each=20)
    found = fit_domain_calibration(pairs, np.arange(len(scores)), scores)
    assert found.ceiling == pytest.approx(0.5, abs=0.06)
    grid = np.linspace(0.1, 0.8, 8)
    true = 0.5 * probability(grid, Calibration("platt", 20.0, -4.0))
    plain = fit_calibration(pairs.related, scores)
    assert np.abs(probability(grid, found) - true).mean() < 0.05
    assert np.abs(probability(grid, plain) - true).mean() > 0.08


def test_a_domain_in_which_likeness_is_enough_gets_none() -> None:
    pairs, scores = pairs_of_domain(1.0, each=20)
    found = fit_domain_calibration(pairs, np.arange(len(scores)), scores)
    assert found == fit_calibration(pairs.related, scores)
    assert found.ceiling == 1.0


def test_a_domain_that_cannot_be_halved_gets_no_ceiling() -> None:
    pairs, scores = pairs_of_domain(0.5, groups=1, each=60)
    assert fit_domain_calibration(pairs, np.arange(len(scores)), scores).ceiling == 1.0


# Verdicts, by hand


def f1(related: np.ndarray, scores: np.ndarray, threshold: float) -> float:
    found = scores >= threshold
    return float(2 * (found & related).sum() / (found.sum() + related.sum()))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=20))
def test_the_threshold_has_the_best_f1_of_all(pairs: list[tuple[bool, int]]) -> None:
    related, scores = (np.array([pair[place] for pair in pairs]) for place in (0, 1))
    if not related.any():
        return
    threshold = best_threshold(related, scores.astype(np.float64))
    # Every way to part the scores, from the highest threshold to the lowest.
    known = sorted(set(scores.tolist()), reverse=True)
    between = [(high + low) / 2 for high, low in pairwise(known)] + [known[-1]]
    values = [f1(related, scores, place) for place in between]
    assert threshold == between[int(np.argmax(np.round(values, 12)))]


def test_expected_counts_decide_where_labels_are_probabilities() -> None:
    # F1 of the first 1, 2, 3: 2 * .9 / 2.5, 2 * 1.4 / 3.5, 2 * 1.5 / 4.5
    found = best_threshold(np.array([0.9, 0.5, 0.1]), np.array([0.8, 0.6, 0.2]))
    assert found == pytest.approx(0.4)


def test_a_sigmoid_meets_the_smoothed_targets() -> None:
    """At the optimum of the log-loss the errors sum to 0, also weighted by the scores (Platt 1999, eq. 1)."""
    generator = np.random.default_rng(0)
    related = np.arange(60) % 3 == 0
    scores = generator.normal(0.2, 0.2, 60) + 0.4 * related
    found = fit_calibration(related, scores)
    assert found.kind == "platt"
    target = np.where(related, 21 / 22, 1 / 42)
    errors = probability(scores, found) - target
    assert errors.sum() == pytest.approx(0, abs=1e-2)
    assert errors @ scores == pytest.approx(0, abs=1e-2)


@pytest.mark.parametrize(("count", "kind"), [(999, "platt"), (1000, "isotonic")])
def test_a_thousand_pairs_give_a_curve_of_steps(count: int, kind: str) -> None:
    scores = np.linspace(0, 1, count)
    related = np.random.default_rng(0).random(count) < scores
    found = fit_calibration(related.tolist(), scores.tolist())
    assert found.kind == kind
    assert probability(0.5, found) == pytest.approx(0.5, abs=0.1)
    if kind == "isotonic":
        assert all(isinstance(value, float) for value in (*found.scores, *found.probabilities))
        assert probability(scores, found).sum() == pytest.approx(related.sum(), rel=1e-6)
        assert (np.diff(found.probabilities) >= 0).all()


def test_a_fit_needs_enough_pairs_of_either_label() -> None:
    for related, unrelated, enough in ((50, 50, True), (49, 99, False), (99, 49, False), (0, 99, False)):
        assert has_enough(np.repeat([True, False], [related, unrelated])) is enough
