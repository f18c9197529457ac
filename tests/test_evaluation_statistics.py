"""Bootstrap, tests, calibration error and retrieval against values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("scipy")

from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.metrics import (
    expected_calibration_error,
    ndcg,
    reliability,
    retrieval_figures,
    weighted_auc,
)
from colde_cli.evaluation.statistics import (
    Draws,
    PairBootstrap,
    bootstrap_p,
    holm,
    interval,
    mcnemar_p,
    query_draws,
)
from colde_cli.evaluation.systems import PairScorer


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
    pairs = [
        LabelledPair(str(a), str(b % 30), bool(judged)) for (a, b), judged in zip(rows, related, strict=True)
    ]
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
