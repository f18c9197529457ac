"""Metrics against values worked out by hand and against scikit-learn; calibration and its error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from late import needs
from numpy.typing import NDArray

from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.metrics import (
    Draws,
    PairBootstrap,
    bootstrap_p,
    chance_calibration_error,
    expected_calibration_error,
    holm,
    interval,
    mcnemar_p,
    ndcg,
    pair_metrics,
    query_draws,
    reliability,
    retrieval_figures,
    weighted_auc,
    weighted_average_precision,
    weighted_brier,
    weighted_verdict_metrics,
)
from colde_cli.evaluation.systems import PairScorer

pytestmark = needs("sklearn", "scipy")
Scored = tuple[NDArray[np.bool_], NDArray[np.float64]]


def test_nothing_and_everything_said_to_be_related() -> None:
    # Calling all of them related is best here.
    assert pair_metrics([False, True, True], [0.9, 0.5, 0.4]).recall == 1
    found = pair_metrics([True, False], [0.1, 0.2], threshold=0.5)
    assert (found.precision, found.recall, found.f1, found.accuracy) == (0, 0, 0, 0.5)


def test_field_auc_does_not_compare_scores_of_different_fields() -> None:
    """Two fields, each in perfect order, one with far higher scores."""
    related, fields = [1, 0, 1, 0], [0, 0, 1, 1]
    metrics = pair_metrics(related, [0.9, 0.8, 0.2, 0.1], fields=fields)
    assert metrics.field_auc == 1
    assert metrics.auc == 0.75
    assert pair_metrics(related, [0.9, 0.8, 0.2, 0.1]).field_auc == 0.75
    assert pair_metrics(related, [0.9, 0.8, 0.2, 0.1], fields=[0, 1, 1, 1]).field_auc == 0.75, "one field is judged"


@st.composite
def scored(draw: st.DrawFn) -> Scored:
    """Pairs of both kinds, whose scores often tie."""
    judged = draw(st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=2, max_size=40))
    related, scores = zip(*judged, (True, 1), (False, 0), strict=True)
    return np.array(related), np.array(scores) / 4


def ones(related: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.ones((1, len(related)))


def test_a_confusion_table_that_is_not_symmetric() -> None:
    related = np.array([True] * 4 + [False] * 6)
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.85, 0.6, 0.1, 0.1, 0.1, 0.1])
    found = {
        name: float(value[0]) for name, value in weighted_verdict_metrics(related, scores >= 0.5, ones(related)).items()
    }
    assert found == pytest.approx({"precision": 3 / 5, "recall": 3 / 4, "f1": 2 / 3, "accuracy": 0.7})
    whole = pair_metrics(related, scores, threshold=0.5)
    assert (whole.pairs, whole.positives) == (10, 4)
    assert whole.auc == pytest.approx(20 / 24)
    assert {name: getattr(whole, name) for name in found} == found
    # The first related pair counts three times, and the last unrelated one not at all.
    weights = np.array([[3, *[1] * 8, 0]])
    found = {name: float(value[0]) for name, value in weighted_verdict_metrics(related, scores >= 0.5, weights).items()}
    assert found == pytest.approx({"precision": 5 / 7, "recall": 5 / 6, "f1": 10 / 13, "accuracy": 8 / 11})


def test_one_kind_without_weight() -> None:
    related, scores = np.array([True, False]), np.array([0.1, 0.2])
    assert np.isnan(weighted_auc(related, scores, np.array([[1.0, 0.0]]))).all()


def test_brier_by_hand() -> None:
    related = np.array([True, False])
    assert weighted_brier(related, np.array([0.8, 0.4]), ones(related)) == pytest.approx([(0.04 + 0.16) / 2])


@pytest.mark.slow
@settings(deadline=None)
@given(scored())
def test_as_scikit_learn_has_it(judged: Scored) -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

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


@pytest.mark.slow
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


def delong(related: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Standard error of an AUC (DeLong, DeLong and Clarke-Pearson 1988)."""
    wins = (scores[related][:, None] > scores[~related][None, :]).astype(float)
    by_related, by_unrelated = wins.mean(1), wins.mean(0)
    variance = by_related.var(ddof=1) / len(by_related) + by_unrelated.var(ddof=1) / len(by_unrelated)
    return float(variance**0.5)


def drawn(pairs: list[LabelledPair], scores: NDArray[np.float64], draws: int = 1000) -> Draws:
    related = np.array([pair.related for pair in pairs])
    bootstrap = PairBootstrap(pairs, draws, (0, 0))
    wide, narrow = (
        np.concatenate([weighted_auc(related, scores, weights) for weights in weightings])
        for weightings in (bootstrap.by_documents(), bootstrap.by_pairs())
    )
    return Draws(wide, narrow)


def test_where_no_document_recurs_the_bootstrap_is_delong() -> None:
    generator = np.random.default_rng(3)
    related = generator.random(240) < 0.4
    scores = generator.normal(size=240) + related
    pairs = [LabelledPair(f"a{n}", f"b{n}", bool(judged)) for n, judged in enumerate(related)]
    area = float(weighted_auc(related, scores, np.ones((1, 240)))[0])
    draws = drawn(pairs, scores)
    expected = delong(related, scores)
    assert draws.around(area).std() == pytest.approx(expected, rel=0.12)
    assert draws.documents.std() > 1.4 * expected
    low, high = interval(draws.around(area)) or (0, 0)
    assert (low, high) == pytest.approx((area - 1.96 * expected, area + 1.96 * expected), abs=0.02)


def test_recurring_documents_widen_the_interval() -> None:
    """Every document stands in 20 pairs and shifts all of them, so that there are fewer independent pairs."""
    generator = np.random.default_rng(0)
    shift = generator.normal(size=30) * 2
    rows = [(a, b) for a in range(30) for b in range(a + 1, a + 11)]
    related = generator.random(len(rows)) < 0.5
    pairs = [LabelledPair(str(a), str(b % 30), bool(judged)) for (a, b), judged in zip(rows, related, strict=True)]
    flat = np.array([shift[a] + shift[b % 30] for a, b in rows])
    # Documents of related pairs are the same as of unrelated ones: what varies is which ones were drawn.
    draws = drawn(pairs, flat * np.where(related, 1, -1))
    area = float(weighted_auc(related, flat * np.where(related, 1, -1), np.ones((1, len(rows))))[0])
    assert draws.around(area).std() > 1.5 * draws.pairs.std()


def test_draws_are_brought_to_the_variance_of_shared_documents() -> None:
    spread = np.array([-1.0, 1.0])
    assert Draws(2 * spread, spread).around(0).var() == pytest.approx(4 - 2)
    # Never narrower than independent pairs, never wider than what was drawn.
    assert Draws(1.5 * spread, spread).around(0).var() == pytest.approx(1)
    assert Draws(0.5 * spread, spread).around(0).var() == pytest.approx(0.25)
    assert Draws(spread, 0 * spread).around(3).tolist() == [-1, 1]


def test_the_same_seed_gives_the_same_draws() -> None:
    pairs = [LabelledPair("a", "b", True), LabelledPair("b", "c", False)]
    one, again = (list(PairBootstrap(pairs, 5, (7, 0)).by_documents()) for _ in range(2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, list(PairBootstrap(pairs, 5, (8, 0)).by_documents()))
    means = query_draws(np.array([0.0, 1.0]), 500, (0, 0)).documents
    assert means.mean() == pytest.approx(0.5, abs=0.05)
    assert interval(np.zeros(0)) is None


def test_mcnemar_by_hand() -> None:
    # Right alone: 10 and 2. Twice the chance of 2 or fewer heads in 12: (1 + 12 + 66) / 4096.
    one = [True] * 10 + [False] * 2 + [True] * 5
    other = [False] * 10 + [True] * 2 + [True] * 5
    assert mcnemar_p(one, other) == pytest.approx(2 * 79 / 4096)
    assert mcnemar_p(one, one) == 1


def test_bootstrap_p_by_hand() -> None:
    differences = np.array([-0.1] + [0.1] * 98)
    assert bootstrap_p(differences) == pytest.approx(2 * 2 / 100)
    assert bootstrap_p(-differences) == pytest.approx(2 * 2 / 100)
    assert bootstrap_p(np.zeros(9)) == 1
    assert bootstrap_p(np.zeros(0)) is None


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([None, 0.04, 0.03]) == [None, pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([0.9, 0.8]) == [1, 1]


def test_calibration_error_by_hand() -> None:
    probabilities = np.repeat([0.1, 0.9], 4)
    related = np.array([1, 0, 0, 0, 1, 1, 1, 0], bool)
    bins = reliability(related, probabilities, bins=2)
    assert [(item.count, item.share) for item in bins] == [(4, 0.25), (4, 0.75)]
    assert expected_calibration_error(bins) == pytest.approx(0.15)
    # Equal probabilities stay together whatever the number of bins.
    assert reliability(related, probabilities, bins=15) == bins


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10)), min_size=1, max_size=60), st.randoms())
def test_calibration_error_does_not_hang_on_the_order(judged: list[tuple[bool, int]], mixer: object) -> None:
    mixed = judged.copy()
    mixer.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = (
        reliability(np.array([pair[0] for pair in some]), np.array([pair[1] / 10 for pair in some]))
        for some in (judged, mixed)
    )
    assert sum(item.count for item in one) == len(judged)
    assert expected_calibration_error(one) == pytest.approx(expected_calibration_error(other))


def test_ndcg_by_hand() -> None:
    hits = np.array([False, True, False, True])
    assert ndcg(hits) == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / (1 + 1 / np.log2(3)))
    assert ndcg(hits, depth=1) == 0
    assert ndcg(np.array([True, True, False])) == 1


def test_retrieval_by_hand() -> None:
    table = {"ab": 0.9, "ac": 0.5, "ad": 0.1, "bc": 0.2, "bd": 0.8, "cd": 0.4}
    scorer = PairScorer(lambda pairs: np.array([table["".join(sorted(pair))] for pair in pairs]))
    found = retrieval_figures(scorer, "abcd", {"a": frozenset("c"), "d": frozenset("bc")})
    # From a: b, c, d; from d: b, c, a.
    assert found["mrr"].tolist() == [1 / 2, 1]
    assert found["recall_at_10"].tolist() == [1, 1]
    assert found["ndcg_at_10"] == pytest.approx([1 / np.log2(3), 1])
