"""What became of whole sections, and their scores folded into chapters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, Section, assemble
from colde_cli.similarity.alignment import align
from colde_cli.similarity.section_changes import SectionChange, outline, section_changes

BODIES = {
    "Pump": "The pump lifts water from the well into the tower every night while the whole town is asleep.",
    "Tax": "The council shall levy a tax of EUR 40 on every house, payable by 3 March, and does not refund it.",
    "Choir": "The choir rehearses a requiem on Thursdays, and the altos are always late, to the tenors' grief.",
    "Bridge": "A bridge of larch was built across the gorge by prisoners, and it has never needed any repair.",
    "School": "Children of the upper valley walk an hour to school, and in winter they come by sledge or ski.",
}


def document(*parts: tuple[str, str]) -> Document:
    return assemble("", "", [Part(heading, text, heading.split(" ")[0].count(".") + 1) for heading, text in parts])


def numbered(*names: str) -> Document:
    return document(*((f"{number} {name}", BODIES[name]) for number, name in enumerate(names, 1)))


def changes(a: Document, b: Document) -> list[SectionChange]:
    return list(section_changes(align(a, b, None), a, b))


def told(a: Document, b: Document) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(c.state.value, c.a, c.b) for c in changes(a, b) if c.state.value != "matched" or c.moved or not c.same]


def test_numbers_are_no_part_of_a_name() -> None:
    assert told(numbered("Pump", "Tax", "Choir"), numbered("Pump", "Bridge", "Tax", "Choir")) == [("added", (), (1,))]
    assert told(numbered("Pump", "Tax", "Choir"), numbered("Pump", "Choir")) == [("dropped", (1,), ())]


def test_a_section_that_changed_places_has_moved() -> None:
    found = changes(numbered(*BODIES), numbered("Tax", "Choir", "Bridge", "School", "Pump"))
    assert [change.moved for change in found] == [True, False, False, False, False]
    assert all(change.same for change in found)


def test_renamed_split_and_merged() -> None:
    both = f"{BODIES['Tax']}\n\n{BODIES['Choir']}"
    one = document(("1 Pump", BODIES["Pump"]), ("2 Town", both))
    two = document(("1 Machines", BODIES["Pump"]), ("2 Town", BODIES["Tax"]), ("3 Music", BODIES["Choir"]))
    assert told(one, two) == [("renamed", (0,), (0,)), ("split", (1,), (1, 2))]
    assert told(two, one) == [("renamed", (0,), (0,)), ("merged", (1, 2), (1,))]


def test_a_heading_over_others_follows_them_and_a_part_that_leaves_it_has_moved() -> None:
    one = document(
        ("1 Works", ""), ("1.1 Pump", BODIES["Pump"]), ("1.2 Bridge", BODIES["Bridge"]), ("1.3 Tax", BODIES["Tax"]),
        ("2 People", ""), ("2.1 Choir", BODIES["Choir"]), ("2.2 School", BODIES["School"]),
    )  # fmt: skip
    two = document(
        ("1 Constructions", ""), ("1.1 Pump", BODIES["Pump"]), ("1.2 Bridge", BODIES["Bridge"]),
        ("2 People", ""), ("2.1 Tax", BODIES["Tax"]), ("2.2 Choir", BODIES["Choir"]), ("2.3 School", BODIES["School"]),
    )  # fmt: skip
    assert told(one, two) == [("renamed", (0,), (0,)), ("matched", (3,), (4,))]


@pytest.mark.parametrize("text", [BODIES["Tax"].replace("shall", "may"), BODIES["Tax"] + " It is new."])
def test_a_section_is_the_same_only_word_for_word(text: str) -> None:
    (change,) = changes(document(("1 Tax", BODIES["Tax"])), document(("1 Tax", text)))
    assert (change.state.value, change.same) == ("matched", False)


names = st.lists(st.sampled_from(list(BODIES)), unique=True, min_size=1)


@settings(max_examples=60, deadline=None)
@given(names, names)
def test_the_other_way_round_added_and_dropped_are_exchanged(a: list[str], b: list[str]) -> None:
    there, back = changes(numbered(*a), numbered(*b)), changes(numbered(*b), numbered(*a))
    mirror = {"added": "dropped", "dropped": "added", "split": "merged", "merged": "split"}
    assert sorted((mirror.get(c.state.value, c.state.value), c.b, c.a) for c in there) == sorted(
        (c.state.value, c.a, c.b) for c in back
    )
    every = sorted(section for change in there for section in change.a)
    assert every == list(range(len(a)))


def sections(levels: list[int]) -> tuple[Section, ...]:
    parts = [Part(f"Heading {number}", "Text.", level=level) for number, level in enumerate(levels)]
    return assemble("", "", parts).sections


def test_chapters_stand_for_their_sections_with_the_best_score() -> None:
    a, b = sections([1, 2, 2, 1, 2]), sections([1, 2, 1])
    scores = np.array([[1, 2, 3], [9, 1, 1], [0, 0, 0], [1, 1, 1], [0, 7, -1]], np.float32) / np.float32(10)
    found = outline(scores, a, b, 2)
    assert (found.a, found.b) == ((0, 3), (0, 2))
    assert np.allclose(found.scores, [[0.9, 0.3], [0.7, 0.1]])
    assert np.array_equal(outline(scores, a, b, 5).scores, scores)


def test_only_as_many_levels_as_needed_are_folded_and_never_the_first() -> None:
    deep = sections([2, 1, 2, 3, 3, 2, 1])
    scores = np.eye(7, dtype=np.float32)
    assert outline(scores, deep, deep, 6).a == (0, 1, 2, 5, 6)
    assert outline(scores, deep, deep, 4).a == (0, 1, 6)
    assert outline(scores, deep, deep, 1).a == (0, 1, 6)


def test_a_flat_document_stays_whole_under_its_front_matter() -> None:
    parts = [Part("", "Front matter."), *(Part(f"Heading {number}", "Text.") for number in range(9))]
    flat = assemble("", "", parts).sections
    assert len(outline(np.eye(10, dtype=np.float32), flat, flat, 4).a) == 10


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=30),
    st.lists(st.integers(1, 4), min_size=1, max_size=30),
    st.integers(1, 20),
)
def test_every_cell_is_the_best_of_its_group(left: list[int], right: list[int], most: int) -> None:
    a, b = sections(left), sections(right)
    scores = np.random.default_rng(1).uniform(-1, 1, (len(a), len(b))).astype(np.float32)
    found = outline(scores, a, b, most)
    for i, (first, after) in enumerate(zip(found.a, (*found.a[1:], len(a)), strict=True)):
        for j, (start, stop) in enumerate(zip(found.b, (*found.b[1:], len(b)), strict=True)):
            assert found.scores[i, j] == scores[first:after, start:stop].max()
    assert found.a[0] == found.b[0] == 0
