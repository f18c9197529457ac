"""Matching: what stands next to a passage that answers needs less likeness than what stands alone."""

from __future__ import annotations

import pytest

from colde_cli.similarity.candidates import PairCandidate
from colde_cli.similarity.matching import Matching, Thresholds

BAR = Thresholds(0.65, 0.8, 0.5, reach=3)
WEIGHTS = [20] * 40


def grown(candidates: list[PairCandidate], partner: dict[int, int], bar: Thresholds = BAR) -> dict[int, int]:
    """What was matched beyond `partner`."""
    matching = Matching(WEIGHTS)
    for a, b in partner.items():
        matching.add(a, b, 1.0)
    matching.grow(candidates, bar)
    return {a: b for a, b in matching.partner.items() if a not in partner}


@pytest.mark.parametrize(
    ("partner", "candidate", "taken"),
    [
        ({}, PairCandidate(0, 0, 0.79), False),  # where nothing answers, order says nothing
        ({}, PairCandidate(0, 0, 0.8), True),
        ({4: 4}, PairCandidate(5, 5, 0.5), True),  # both next to a neighbour that answers
        ({4: 4}, PairCandidate(3, 3, 0.5), True),
        ({4: 4}, PairCandidate(5, 5, 0.49), False),
        ({4: 4}, PairCandidate(5, 6, 0.64), False),  # near, but out of step
        ({4: 4}, PairCandidate(5, 6, 0.65), True),
        ({4: 4}, PairCandidate(7, 7, 0.5), True),
        ({4: 4}, PairCandidate(8, 8, 0.79), False),  # beyond reach on both sides
        ({4: 4}, PairCandidate(5, 8, 0.79), False),  # on one
        ({4: 4, 9: 9}, PairCandidate(8, 8, 0.5), True),  # the nearer neighbour counts
        ({4: 4}, PairCandidate(5, 3, 0.79), False),  # crosses
        ({4: 4}, PairCandidate(5, 3, 0.8), True),
    ],
)
def test_the_bar_depends_on_where_a_candidate_stands(
    partner: dict[int, int], candidate: PairCandidate, taken: bool
) -> None:
    assert grown([candidate], partner) == ({candidate.a: candidate.b} if taken else {})


def test_without_a_reach_order_holds_at_any_distance() -> None:
    far = [PairCandidate(30, 30, 0.5)]
    assert grown(far, {4: 4}, Thresholds(0.65, 0.8, 0.5)) == {30: 30}
    assert grown(far, {4: 4}) == {}


def test_the_best_come_first_and_take_their_partners() -> None:
    candidates = [
        PairCandidate(0, 0, 0.85), PairCandidate(0, 1, 0.95), PairCandidate(1, 1, 0.9), PairCandidate(1, 0, 0.82),
    ]  # fmt: skip
    assert grown(candidates, {}) == {0: 1, 1: 0}


def test_passages_stand_abreast_of_where_their_neighbours_are() -> None:
    matching = Matching([20] * 6, [20] * 40)
    for a, b in {2: 4, 3: 9, 1: 30}.items():
        matching.add(a, b, 1.0)
    # 1 has moved: what is expected is counted from 2 and 3 alone.
    assert matching.abreast() == [(0, 2), (1, 3), (4, 8), (9, 37), (10, 38), (11, 39)]
    assert Matching([20] * 2, [20] * 5).abreast() == [(0, 3), (1, 4)]
