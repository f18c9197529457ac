"""Many sections as their chapters."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Part, Section, assemble
from colde_cli.similarity.section_changes import outline


def sections(levels: list[int]) -> tuple[Section, ...]:
    parts = [Part(f"Heading {number}", "Text.", level=level) for number, level in enumerate(levels)]
    return assemble("", "", parts).sections


def test_chapters_stand_for_their_sections_with_the_best_score() -> None:
    a, b = sections([1, 2, 2, 1, 2]), sections([1, 2, 1])
    scores = np.array([[1, 2, 3], [9, 1, 1], [0, 0, 0], [1, 1, 1], [0, 7, -1]], np.float32) / 10
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
