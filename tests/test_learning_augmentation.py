"""What the head is shown: sections, windows, partners, positions, repetitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.learning.augmentation import Views, cut_sections, training_views, whole_views
from colde_cli.learning.recipe import Recipe
from colde_cli.learning.tokens import ChunkStore


def store(*documents: list[int]) -> ChunkStore:
    """Documents given as the section of each chunk; chunk n holds n % 5 + 3 tokens."""
    sections = np.array([section for document in documents for section in document], np.int32)
    lengths = np.arange(len(sections)) % 5 + 3
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counts = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    return ChunkStore(np.arange(starts[-1], dtype=np.int32), starts, sections, counts)


def views(chunks: ChunkStore, *numbers: int, seed: int = 0, **options: object) -> Views:
    max_chunks = int(str(options.pop("max_chunks", 64)))
    recipe = Recipe(**options)  # type: ignore[arg-type]
    return training_views(chunks, numbers, recipe, max_chunks, np.random.default_rng(seed))


def test_the_store_counts_tokens() -> None:
    chunks = store([0, 0], [0])
    assert len(chunks) == 3
    assert chunks.chunks_of(1).tolist() == [2]
    assert chunks.lengths_of(np.array([0, 2])).tolist() == [3, 5]
    assert chunks.tokens(1).tolist() == [3, 4, 5, 6]
    assert chunks.chunk(1).ids == (3, 4, 5, 6)
    assert chunks.digest() != store([0], [0, 0]).digest()


@pytest.mark.parametrize(
    ("sections", "tokens", "parts", "cuts"),
    [
        ([0, 0, 1, 1], [5, 5, 5, 5], 2, [0, 2, 4]),
        ([0, 1, 1, 1], [5, 5, 5, 5], 2, [0, 1, 4]),  # a section's end goes before the half
        ([0, 0, 0, 0], [5, 5, 5, 5], 2, [0, 2, 4]),  # one section: at a chunk
        ([0, 1, 2, 3], [1, 1, 1, 9], 2, [0, 3, 4]),
        ([0, 1, 2], [1, 1, 1], 3, [0, 1, 2, 3]),
        ([0, 0, 1], [1, 1, 1], 5, [0, 1, 2, 3]),  # no more parts than chunks
        ([0], [7], 2, [0, 1]),
    ],
)
def test_cuts(sections: list[int], tokens: list[int], parts: int, cuts: list[int]) -> None:
    assert cut_sections(sections, np.array(tokens), parts) == cuts


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 510)), min_size=1, max_size=30), st.integers(1, 6))
def test_cuts_part_a_document(chunks: list[tuple[bool, int]], parts: int) -> None:
    sections = np.cumsum([new for new, _ in chunks])
    cuts = cut_sections(sections, np.array([tokens for _, tokens in chunks]), parts)
    assert (cuts[0], cuts[-1]) == (0, len(chunks))
    assert len(cuts) == min(parts, len(chunks)) + 1
    assert all(begin < end for begin, end in pairwise(cuts))


def test_two_sections_face_each_other_or_themselves() -> None:
    chunks = store([0, 0, 1, 1])
    facing = set()
    for seed in range(20):
        shown = views(chunks, 0, seed=seed)
        assert [row.tolist() for row in shown.chunks] == [[0, 1], [2, 3]]
        assert shown.sections.tolist() == [0, 1]
        facing.add(tuple(shown.partners.tolist()))
    assert facing == {(0, 1), (1, 0)}


def test_partners_stay_within_their_document() -> None:
    chunks = store([0] * 5, [0], [0, 1, 2], [0, 1])
    shown = views(chunks, 0, 1, 2, 3, sections=3)
    assert (shown.owners == shown.owners[shown.partners]).all()


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 9))
def test_windows_and_positions(seed: int, count: int, window: int) -> None:
    shown = views(store([0] * 30, [0] * count), 1, seed=seed, window=window, max_chunks=16)
    for row, positions in zip(shown.chunks, shown.positions, strict=True):
        if count > 1:
            assert len(row) <= window
            assert (np.diff(row) == 1).all()
            assert (np.diff(positions) == 1).all()
        assert row.min() >= 30
        assert 0 <= positions.min() <= positions.max() < 16


def test_a_window_may_begin_with_its_section() -> None:
    chunks, starts = store([0] * 30), set()
    for seed in range(20):
        shown = views(chunks, 0, seed=seed, window=4, window_start="first")
        assert [row.tolist() for row in shown.chunks] == [[0, 1, 2, 3], [15, 16, 17, 18]]
        starts.add(int(views(chunks, 0, seed=seed, window=4).chunks[0][0]))
    assert len(starts) > 3


def test_offsets_reach_every_number() -> None:
    seen = {int(views(store([0, 1]), 0, seed=seed, max_chunks=4).positions[0][0]) for seed in range(40)}
    assert seen == {0, 1, 2, 3}


def test_a_document_of_one_chunk_is_repeated() -> None:
    repeats = set()
    for seed in range(30):
        shown = views(store([0, 1], [0]), 1, seed=seed, max_chunks=4)
        assert shown.chunks[0].tolist() == [2]
        assert set(shown.chunks[1].tolist()) == {2}
        assert len(set(shown.positions[0].tolist()) | set(shown.positions[1].tolist())) == 1
        assert shown.partners.tolist() == [0, 1]
        repeats.add(len(shown.chunks[1]))
    assert repeats == {2, 3, 4}


def test_without_augmentation_a_document_is_one_row() -> None:
    shown = views(store([0, 0, 1], [0]), 0, 1, sections=1)
    assert [row.tolist() for row in shown.chunks] == [[0, 1, 2], [3]]
    assert shown.partners.tolist() == [0, 1]


def test_needed_chunks_come_once_unless_their_place_matters() -> None:
    shown = views(store([0, 1], [0]), 0, 1)
    plain, placed = shown.needed(False), shown.needed(True)
    assert plain.chunks.tolist() == [0, 1, 2]
    for needed in (plain, placed):
        for row, places in zip(shown.chunks, needed.places, strict=True):
            assert needed.chunks[places[: len(row)]].tolist() == row.tolist()
            assert not places[len(row) :].any()
    for row, positions, section, places in zip(
        shown.chunks, shown.positions, shown.sections, placed.places, strict=True
    ):
        assert placed.positions[places[: len(row)]].tolist() == positions.tolist()
        assert set(placed.sections[places[: len(row)]].tolist()) == {int(section)}


def test_whole_documents() -> None:
    shown = whole_views(store([0, 1, 1], [0, 1]), [1, 0])
    assert [row.tolist() for row in shown.chunks] == [[3, 4], [0, 1, 2]]
    assert [row.tolist() for row in shown.positions] == [[0, 1], [0, 1, 2]]
    assert shown.partners.tolist() == [0, 1]
    assert shown.sections.tolist() == [0, 0]
    assert shown.chunk_ids.tolist() == [[0, 1, 0], [0, 1, 2]]


@given(st.integers(2, 40), st.integers(1, 3), st.integers(2, 9), st.integers(0, 50))
def test_windows_are_spread_over_the_document(chunks: int, sections: int, windows: int, seed: int) -> None:
    """Of every equal part of a section one chunk is shown, in order; of a short section all."""
    windows = max(windows, sections)
    made = views(store([0] * chunks), 0, seed=seed, sections=sections, windows=windows)
    cuts = cut_sections([0] * chunks, store([0] * chunks).lengths_of(np.arange(chunks)), sections)
    each = windows // (len(cuts) - 1)
    for row, (begin, end) in zip(made.chunks, pairwise(cuts), strict=True):
        assert len(row) == min(each, end - begin)
        if end - begin > each:
            edges = [(part * (end - begin) // each, (part + 1) * (end - begin) // each) for part in range(each)]
            assert all(low <= number - begin < high for number, (low, high) in zip(row, edges, strict=True))
        assert sorted(set(row.tolist())) == row.tolist()
