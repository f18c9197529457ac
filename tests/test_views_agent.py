"""What an agent is told of two documents: what differs in versions of one text, what is close in different texts."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hand_made import compared, document

from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.pairs import State
from colde_cli.views.agent import comparison_answer, pairs_answer


def test_of_two_different_texts_an_agent_learns_why_and_where_they_are_close(strangers: Comparison) -> None:
    answer = comparison_answer(strangers, 6000)
    assert (answer.versions, answer.sections) == (False, [])
    assert answer.reasons.startswith("Unlike in ")
    assert 0 < len(answer.closest_sections) <= 4
    assert 0 < len(answer.closest_chunks) <= 4
    assert all(change.state not in {"only in A", "only in B"} for change in answer.changes)
    text = str(answer)
    assert answer.reasons in text
    assert text.index("Closest sections:\n- 0.") < text.index("Closest chunks:\n- 0.")
    for noise in ("dropped", "added", "only_a", "only_b", "Passages:"):
        assert noise not in text


@pytest.mark.parametrize("most", [1000, 1500, 3000])
def test_what_is_close_fits_into_the_room(strangers: Comparison, most: int) -> None:
    answer = comparison_answer(strangers, most)
    assert max(len(str(answer)), len(json.dumps(asdict(answer), ensure_ascii=False))) <= most


def test_versions_of_one_text_have_changes_and_nothing_closest(field_study: Comparison) -> None:
    answer = comparison_answer(field_study, 6000)
    assert (answer.versions, answer.reasons) == (True, "")
    assert (answer.closest_sections, answer.closest_chunks) == ([], [])
    assert answer.changes_in_all == 34


def test_a_state_is_said_in_words() -> None:
    a = document([("Pumps", "The pump costs 58 dollars.\n\nIt runs at night, as the council has decided.")])
    b = document([("Pumps", "The pump costs 58 dollars.")])
    found = compared(a, b)
    assert found.summary[State.ONLY_A] == 1
    assert [change.state for change in comparison_answer(found, 3000).changes] == ["only in A"]
    assert [passage.state for passage in pairs_answer(found, 3000).passages] == ["only in A"]
