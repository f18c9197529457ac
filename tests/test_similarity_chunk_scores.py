"""Scores and probabilities as functions of arrays; wording shared by chunks of made-up tokens."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from colde_cli.documents.document import Chunk, Part, Span, assemble
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import ModelConfig
from colde_cli.scoring.fit import USUAL
from colde_cli.scoring.score import cosine, cosines
from colde_cli.similarity.chunk_scores import (
    SHARPNESS,
    TELLING,
    agreements,
    closest_pairs,
    shared_runs,
    shared_stretches,
    table_of_chunks,
    table_of_sections,
    tables,
    with_shared_wording,
)


def test_cosines_are_those_of_the_textbook() -> None:
    a = np.array([[3, 4], [1, 0], [0, 0]], np.float32)
    assert np.allclose(cosines(a, a), np.array([[1, 0.6, 0], [0.6, 1, 0], [0, 0, 0]]))
    many = np.random.default_rng(0).standard_normal((400, 7)).astype(np.float32)  # rounding goes beyond 1 and -1
    assert cosines(many, many).max() <= 1.0
    assert cosines(many, -many).min() >= -1.0
    assert cosine(a[0], -a[0]) == pytest.approx(-1.0)


def test_the_closest_pairs_are_the_best_of_all_each_place_once() -> None:
    scores = np.array([[0.75, 0.5, 0.1], [0.7, 0.25, 0.0], [0.75, 0.375, -0.5]], np.float32)
    everywhere = ([0, 1, 2], [0, 1, 2])
    assert closest_pairs(scores, everywhere, 5) == [(0.75, 0, 0), (0.375, 2, 1)]
    assert closest_pairs(scores, everywhere, 1) == [(0.75, 0, 0)]
    assert closest_pairs(scores, ([0, 2], [1, 2]), 5) == [(0.5, 0, 1)]
    assert closest_pairs(scores, ([], [0]), 5) == []


def test_of_equal_pairs_the_longest_come_first_whatever_the_last_digits() -> None:
    scores = np.array([[0.5, 0.1], [0.5 + 1e-7, 0.1], [0.5 - 1e-7, 0.1]], np.float32)
    places = ([0, 1, 2], [0, 1])
    assert [pair[1:] for pair in closest_pairs(scores, places, 1)] == [(0, 0)]
    assert [pair[1:] for pair in closest_pairs(scores, places, 1, [3, 4, 9])] == [(2, 0)]
    assert [pair[1:] for pair in closest_pairs(scores, places, 2, [9, 4, 5])] == [(0, 0), (2, 1)]
    many = np.ones((700, 2), np.float32)  # more than are looked at
    assert [row for _, row, _ in closest_pairs(many, (range(700), [0]), 1, list(range(700)))] == [699]


@given(arrays(np.float32, (7, 5), elements=st.floats(-1, 1, width=16)), st.integers(1, 6))
def test_no_pair_that_was_left_out_is_closer_than_both_its_places(scores: np.ndarray, limit: int) -> None:
    found = closest_pairs(scores, (range(7), range(5)), limit)
    values = [score for score, _, _ in found]
    rounded = [round(value, 6) for value in values]
    assert rounded == sorted(rounded, reverse=True)
    assert all(value > 0 for value in values)
    by_row = {row: score for score, row, _ in found}
    by_column = {column: score for score, _, column in found}
    assert len(by_row) == len(by_column) == len(found) <= limit
    last = values[-1] if len(found) == limit else 0.0
    for row, column in np.ndindex(scores.shape):
        best = max(0.0, last, by_row.get(row, 0.0), by_column.get(column, 0.0))
        assert scores[row, column] <= best + 1e-6


def test_pairs_found_in_blocks_of_rows_are_those_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).uniform(-1, 1, (50, 40)).astype(np.float32).round(1)
    kept = (list(range(3, 50)), list(range(38)))
    whole = closest_pairs(scores, kept, 40)  # so many that every cell is looked at
    monkeypatch.setattr("colde_cli.similarity.chunk_scores.BLOCK", 7)
    assert closest_pairs(scores, kept, 40) == whole


@given(
    arrays(np.float32, (5, 4), elements=st.floats(-1, 1, width=16)),
    arrays(np.float32, 5, elements=st.floats(0.125, 1, width=16)),
)
def test_sections_score_by_the_counterparts_of_their_chunks(chunks: np.ndarray, shares: np.ndarray) -> None:
    others = np.array([0.1, 0.4, 0.3, 0.2], np.float32)
    of_a, of_b = [[0, 1], [2], [2, 3, 4]], [[0, 1, 2], [3]]

    def soft(best: np.ndarray, weights: np.ndarray) -> float:
        weights = weights.astype(float) / weights.sum()
        return SHARPNESS * float(np.log(weights @ np.exp(best.astype(float) / SHARPNESS)))

    found = table_of_sections(chunks, (shares, others), (of_a, of_b))
    for i, j in np.ndindex(3, 2):
        cells = chunks[np.ix_(of_a[i], of_b[j])]
        both = (soft(cells.max(1), shares[of_a[i]]) + soft(cells.max(0), others[of_b[j]])) / 2
        assert found[i, j] == pytest.approx(max(-1, min(1, both)), abs=1e-5)
    turned = table_of_sections(chunks.T, (others, shares), (of_b, of_a))
    assert np.array_equal(turned, found.T)


def test_a_section_without_a_chunk_resembles_nothing() -> None:
    ones = np.ones((2, 2), np.float32)
    half = np.full(2, 0.5, np.float32)
    found = table_of_sections(ones, (half, half), ([[0, 1], []], [[0, 1], []]))
    assert np.array_equal(found, [[1, 0], [0, 0]])


PASSAGE = """
The bell of the harbour chapel was cast in 1743 by a founder from the hills, who asked for no money but a place in the
churchyard. It cracked in the winter of the great frost and was mended with a band of copper. Sailors say that its tone
fell by a third and that fog comes when it is struck by hand. The parish keeps the clapper in a glass case.
"""
FIELDS = (
    "Rye was sown in the upper fields after the rain, and barley near the brook. Two thirds of the seed came up. ",
    "The committee met on Tuesdays and wrote no minutes. Its chair resigned over the price of paper and string. ",
)


def test_sections_that_share_a_passage_are_the_closest_and_paper_models_keep_the_cosine(
    encoder: Encoder,
) -> None:
    one, other = (
        encoder.encode(
            assemble(
                f"{name}.txt",
                name,
                [
                    Part("1 Opening", text * 4),
                    Part("2 Middle", f"{text}{PASSAGE}{text * 3}"),
                    Part("3 End", text * 5),
                ],
            )
        )
        for name, text in zip("ab", FIELDS, strict=True)
    )
    sections, chunks = tables(one, other, encoder.config)
    assert sections.shape == (len(one.document.sections), len(other.document.sections))
    row, column = np.unravel_index(int(np.argmax(sections)), sections.shape)
    assert {one.document.sections[row].heading, other.document.sections[column].heading} == {"2 Middle"}
    paper = ModelConfig(encoder.config.backbone, "bert", 8)
    plain, same = tables(one, other, paper)
    assert np.array_equal(plain, cosines(one.section_vectors, other.section_vectors))
    assert np.array_equal(same, chunks)
    whole, _ = tables(one, one, encoder.config)
    assert np.allclose(np.diag(whole), 1, atol=1e-5)


CLAUSE = "The tenant shall pay the rent of 500 euros on the first day of each month into the account of the landlord."


def test_a_short_section_scores_by_how_much_of_another_it_holds(encoder: Encoder) -> None:
    """A clause that was edited in more places is less like the old one; words in another order are not the same."""
    edited = ("the rent", "the whole rent", "first day", "last day"), ("500 euros", "a sum to be agreed upon by letter")
    texts = [CLAUSE]
    for changes in edited:
        text = texts[-1]
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            text = text.replace(old, new)
        texts.append(text)
    texts += [" ".join(reversed(CLAUSE.split())), FIELDS[0]]
    one, other = (
        encoder.encode(assemble(f"{name}.txt", name, [Part("", text) for text in parts]))
        for name, parts in (("a", [CLAUSE]), ("b", texts))
    )
    config = replace(encoder.config, score_weights=USUAL)
    found = np.asarray(tables(one, other, config)[0])[0]
    assert found[0] == pytest.approx(1, abs=1e-5)
    assert found[0] > found[1] > found[2] > found[4]
    assert found[0] - 0.1 > found[3]
    assert np.allclose(np.asarray(tables(other, one, config)[0])[:, 0], found, atol=1e-6)
    without = np.asarray(tables(one, other, replace(config, score_weights=replace(USUAL, short=None)))[0])[0]
    assert (found[1:4] < without[1:4]).all(), "one chunk each would hardly see the edits"


def test_agreement_is_the_share_of_items_that_both_hold() -> None:
    a = [np.array([1, 2, 3]), np.array([], np.int64), np.arange(100)]
    b = [np.array([2, 3, 4, 5]), np.arange(50)]
    assert np.stack(list(agreements(a, b))) == pytest.approx(np.array([[2 / 5, 3 / 50], [0, 0], [4 / 100, 50 / 100]]))


CLS, SEP = 101, 102


def chunk(*tokens: int) -> Chunk:
    return Chunk(0, 0, 0, Span(0, 1), (CLS, *tokens, SEP))


def stretch(a: Chunk, b: Chunk) -> float:
    return float(shared_stretches([a], [b])[0, 0])


def test_the_share_of_runs_is_that_of_the_document_with_fewer() -> None:
    whole, half, other = (
        [chunk(*range(10, 30))], [chunk(*range(10, 20)), chunk(*range(50, 60))], [chunk(*range(70, 90))],
    )  # fmt: skip
    assert shared_runs(whole, whole) == 1
    # Of 16 runs of either, the 6 in the first half are shared: those across two chunks are runs, too.
    assert shared_runs(whole, half) == shared_runs(half, whole) == pytest.approx(6 / 16)
    assert shared_runs(whole, other) == 0
    assert shared_runs(whole, [chunk(*range(11, 17))]) == 1
    assert shared_runs(whole, [chunk(10, 11, 12, 13)]) == shared_runs(whole, []) == 1


def slow(own: Chunk, other: Chunk) -> float:
    """The definition, word for word."""
    known = {other.ids[place : place + 2] for place in range(1, len(other.ids) - 2)}
    values = [1.0 if own.ids[place : place + 2] in known else -0.5 for place in range(1, len(own.ids) - 2)]
    runs = (sum(values[i:j]) for i in range(len(values)) for j in range(i + 1, len(values) + 1))
    return max(0.0, max(runs, default=0.0))


def chunks_with_vectors(count: int, seed: int) -> tuple[np.ndarray, list[Chunk]]:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, 3)).astype(np.float32)
    return vectors, [chunk(*tokens) for tokens in rng.integers(0, 9, (count, 6)).tolist()]


def test_a_table_made_in_blocks_of_rows_is_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    (a, left), (b, right) = chunks_with_vectors(45, 1), chunks_with_vectors(30, 2)
    stretches = shared_stretches(left, right)
    assert stretches.any()
    whole = with_shared_wording(cosines(a, b), stretches)
    assert np.array_equal(table_of_chunks((a, b), (left, right)), whole)
    monkeypatch.setattr("colde_cli.similarity.chunk_scores.BLOCK", 7)
    monkeypatch.setattr("colde_cli.similarity.chunk_scores._PAIRS", 11)
    assert np.allclose(table_of_chunks((a, b), (left, right)), whole, atol=1e-6)


def test_a_large_table_lies_in_a_file_and_is_read_as_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.similarity.chunk_scores.BLOCK", 16)
    monkeypatch.setattr("colde_cli.scoring.score_table.BLOCK", 16)
    (a, left), (b, right) = chunks_with_vectors(700, 1), chunks_with_vectors(700, 2)
    small = table_of_chunks((a, b), (left, right))
    monkeypatch.setattr("colde_cli.scoring.score_table._IN_MEMORY", 1000)
    tracemalloc.start()
    try:
        table = table_of_chunks((a, b), (left, right))
        pairs = closest_pairs(table, (range(700), range(700)), 1)
        best = table.best()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * table.size / 2
    whole = np.asarray(small)
    assert np.array_equal(table, whole)
    assert np.array_equal(table[650:690], whole[650:690])
    assert np.array_equal(list(table), whole)
    assert np.array_equal(pickle.loads(pickle.dumps(table)), whole)
    assert pairs == closest_pairs(whole, (range(700), range(700)), 1)
    for (places, scores), axis in zip(best, (1, 0), strict=True):
        assert np.array_equal(places, whole.argmax(axis))
        assert np.array_equal(scores, whole.max(axis))
    assert np.array_equal(table.at(best[0][0]), whole.max(1))


def test_nothing_shared() -> None:
    assert stretch(chunk(1, 2, 3), chunk(3, 2, 1)) == 0
    assert stretch(chunk(1), chunk(1)) == 0, "one word is no wording"
    assert stretch(chunk(), chunk(1, 2)) == 0
    assert shared_stretches([], [chunk(1)]).shape == (0, 1)


def test_a_stretch_may_be_as_long_as_a_chunk() -> None:
    one, two = chunk(*range(200)), chunk(*range(80), *range(300, 310), *range(90, 200), 7, 7)
    assert stretch(one, one) == 199
    assert stretch(one, two) == stretch(two, one) == slow(one, two) == 79 - 11 / 2 + 109


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=14), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 4), max_size=14), min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_as_defined(left: list[list[int]], right: list[list[int]]) -> None:
    a, b = [chunk(*tokens) for tokens in left], [chunk(*tokens) for tokens in right]
    found = shared_stretches(a, b)
    wanted = [[min(slow(one, two), slow(two, one)) for two in b] for one in a]
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_array_equal(found.T, shared_stretches(b, a))


def test_scores_grow_with_what_is_shared() -> None:
    cosines = np.array([[-0.2, 0.3, 1.0]], np.float32)
    nothing = with_shared_wording(cosines, np.zeros_like(cosines))
    np.testing.assert_allclose(nothing, cosines, atol=1e-6)
    some = with_shared_wording(cosines, np.full_like(cosines, TELLING))
    np.testing.assert_allclose(some, 1 - (1 - cosines) / np.e, atol=1e-6)
    assert some.max() <= 1
