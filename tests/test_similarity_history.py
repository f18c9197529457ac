"""The history of sections: each is followed through all versions, whatever becomes of it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hand_made import compared, document, sections
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.similarity.history import History, SectionHistory, history_of
from colde_cli.similarity.section_changes import SectionState

PUMPS = ("Pumps", "The pump of the eastern well lifts water into the tower, and runs at night.")
FEES = ("Fees", "The fee is 58 dollars a month and is due on the first day of each quarter.")
LAWS = ("Laws", "The laws of the valley apply, and its court decides whatever is in dispute here.")
ENDS = ("Ends", "This agreement ends after nine years, unless the council asks for another nine.")


def made(*versions: list[tuple[str, str]]) -> History:
    documents = [document(parts) for parts in versions]
    return history_of(compared(a, b) for a, b in pairwise(documents))


def row(history: History, heading: str) -> SectionHistory:
    (found,) = (
        section
        for section in history.sections
        if heading
        in [
            of.sections[index].heading
            for of, index in zip(history.versions, section.places, strict=True)
            if index is not None
        ]
    )
    return found


def states(section: SectionHistory) -> list[str | None]:
    return [None if step is None else step.state.value for step in section.steps]


@given(st.lists(sections, min_size=2, max_size=4))
@settings(max_examples=25)
def test_every_section_of_every_version_is_in_one_row_once(versions: list[list[tuple[str, str]]]) -> None:
    history = made(*([*parts, ("Last", "The end.")] for parts in versions))
    for number, version in enumerate(history.versions):
        places = [section.places[number] for section in history.sections]
        assert sorted(place for place in places if place is not None) == list(range(len(version.sections)))
    for section in history.sections:
        assert len(section.places) == len(section.steps) + 1 == len(versions)
        for (before, after), step in zip(pairwise(section.places), section.steps, strict=True):
            assert (step is None) == (before is None and after is None)
            if before is None and step is not None:
                assert step.state in (SectionState.ADDED, SectionState.SPLIT)
            if after is None and step is not None:
                assert step.state in (SectionState.DROPPED, SectionState.MERGED)


def test_a_section_is_edited_renamed_and_dropped() -> None:
    dearer = ("Fees", FEES[1].replace("58", "63"))
    renamed = ("What it costs", dearer[1])
    history = made([PUMPS, FEES, LAWS], [PUMPS, dearer, LAWS], [PUMPS, renamed, LAWS], [PUMPS, LAWS])
    fees = row(history, "Fees")
    assert states(fees) == ["matched", "renamed", "dropped"]
    first = fees.steps[0]
    assert first is not None
    assert (first.words, first.flagged, first.same) == (2, 1, False)
    assert fees.places == (1, 1, 1, None)
    assert [section.changed for section in history.sections] == [False, True, False]


def test_a_section_that_comes_back_is_the_same_section() -> None:
    history = made([PUMPS, FEES, LAWS], [PUMPS, LAWS], [PUMPS, FEES, LAWS])
    assert states(row(history, "Fees")) == ["dropped", "added"]
    assert len(history.sections) == 3


def test_a_new_section_stands_after_the_one_before_it() -> None:
    history = made([PUMPS, LAWS], [PUMPS, FEES, LAWS], [ENDS, PUMPS, FEES, LAWS])
    names = [history.versions[-1].sections[section.places[-1] or 0].heading for section in history.sections]
    assert names == ["Ends", "Pumps", "Fees", "Laws"]
    assert states(row(history, "Ends")) == [None, "added"]


def test_a_section_that_moved_is_said_to_have_moved() -> None:
    history = made([PUMPS, FEES, LAWS, ENDS], [FEES, LAWS, ENDS, PUMPS])
    step = row(history, "Pumps").steps[0]
    assert step is not None
    assert (step.state, step.moved, step.same) == (SectionState.MATCHED, True, True)


def test_a_history_needs_a_step() -> None:
    with pytest.raises(ValueError, match="at least one"):
        history_of([])
