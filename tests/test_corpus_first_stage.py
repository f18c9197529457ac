"""The first stage of a ranking: what it computes equals the plain way, and its side file is whole or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import WEIGHTS, MadeUp, learned, made, statistics

from colde_cli.corpus import side_file
from colde_cli.corpus.first_stage import (
    HEAVIEST,
    NO_TERMS,
    Measure,
    Segment,
    best,
    candidates,
    fused,
    heaviest,
    words_read,
)
from colde_cli.corpus.side_file import CandidateFile, build
from colde_cli.scoring.config import ScoreWeights
from colde_cli.scoring.lexicon import BUCKETS, Terms, overlap
from colde_cli.scoring.profile import Field
from colde_cli.scoring.score import part_score

FIELD = Field(learned(), statistics())
WITHIN = Measure(FIELD, WEIGHTS)
MANY = [made(seed) for seed in range(100)]


def wordy(seed: int, words: int) -> Terms:
    """A text of so many words."""
    generator = np.random.default_rng(seed)
    buckets = np.sort(generator.choice(2 * BUCKETS, words, replace=False)).astype(np.int32)
    weights = generator.random(words) + 0.01
    return Terms(buckets, (weights / np.linalg.norm(weights)).astype(np.float32))


def numbered(documents: Sequence[MadeUp], first: int = 0) -> Iterator[tuple[int, MadeUp]]:
    """The documents with even numbers as their ids."""
    return ((2 * number, document) for number, document in enumerate(documents, first))


def segment(documents: Sequence[MadeUp], field: Field | None = FIELD, first: int = 0) -> Segment:
    found = Measure(field, WEIGHTS).segment(numbered(documents, first))
    assert found is not None
    return found


def of_vectors(vectors: np.ndarray) -> Segment:
    return Segment.of(range(len(vectors)), [vectors], [NO_TERMS] * len(vectors))


def of_words(*words: Terms) -> Segment:
    return Segment.of(range(len(words)), [np.zeros((len(words), 2), np.float32)], [heaviest(terms) for terms in words])


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 5000), st.integers(1, 8))
def test_products_are_those_of_the_matrix(seed: int, rows: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(rows, size)).astype(np.float32)
    query = generator.normal(size=size).astype(np.float32)
    short = of_vectors(vectors)
    rounding = np.abs(vectors).max(axis=1) / 127 / 2 * np.abs(query).sum()
    assert (np.abs(short.products(query) - vectors @ query) <= rounding + 1e-4).all()
    plain = (short.values.astype(np.float32) * short.vector_scales[:, None]) @ query
    assert short.products(query) == pytest.approx(plain, rel=1e-4, abs=1e-4)


def test_a_vector_of_zeros_resembles_nothing() -> None:
    assert of_vectors(np.zeros((2, 3), np.float32)).products(np.ones(3, np.float32)).tolist() == [0, 0]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(0, 300))
def test_sums_of_inverted_lists_are_dense_sums(lengths: list[int], own: int) -> None:
    documents = [wordy(seed, length) for seed, length in enumerate(lengths)]
    query, rounding = wordy(99, own), max(float(words.weights.max(initial=0.0)) for words in documents) / 510
    dense = np.zeros((len(documents), 2 * BUCKETS), np.float32)
    for row, words in zip(dense, documents, strict=True):
        kept = heaviest(words)
        row[kept.buckets] = kept.weights
    bound = rounding * float(query.weights.sum()) + 1e-5
    assert of_words(*documents).sums(query) == pytest.approx(dense[:, query.buckets] @ query.weights, abs=bound)


def test_few_words_are_kept_whole_and_of_many_the_heaviest() -> None:
    few, many = wordy(1, HEAVIEST), wordy(2, 5 * HEAVIEST)
    assert heaviest(few).buckets.tolist() == few.buckets.tolist()
    kept = np.isin(many.buckets, heaviest(many).buckets)
    assert kept.sum() == HEAVIEST
    assert many.weights[kept].min() >= many.weights[~kept].max()
    words = of_words(few, many)
    assert len(words.documents) == 2 * HEAVIEST
    assert words.sums(few)[0] == pytest.approx(overlap(few, few), abs=0.01)


def test_a_bound_on_entries_drops_the_lightest_words(monkeypatch: pytest.MonkeyPatch) -> None:
    one = np.ones(1, np.float32)
    words = [of_words(Terms(np.array([bucket], np.int32), one)) for bucket in (5, 9)]
    query = Terms(np.array([5, 9], np.int32), np.array([0.6, 0.8], np.float32))
    assert words_read(query, words).buckets.tolist() == [9, 5]
    monkeypatch.setattr("colde_cli.corpus.first_stage.MAX_POSTINGS", 1)
    assert words_read(query, words).buckets.tolist() == [9]


@pytest.mark.parametrize("field", [None, FIELD], ids=["model", "field"])
def test_both_measures_are_parts_of_the_score(field: Field | None) -> None:
    query, documents = made(500), MANY[:30]
    measure = Measure(field, WEIGHTS)
    first = measure.query(query)
    adapted = query if field is None else field.adapt(query)
    others = documents if field is None else [field.adapt(item) for item in documents]
    means = [part_score("mean", adapted, item, ScoreWeights()) for item in others]
    assert measure.vectors(documents) @ first.vector == pytest.approx(means, abs=1e-5)
    words = [overlap(adapted.terms, item.terms) for item in others if adapted.terms and item.terms]
    found = [overlap(first.words, item) for item in measure.words(documents)]
    assert found == pytest.approx(words, abs=1e-5)
    assert segment(documents, field).sums(first.words) == pytest.approx(words, abs=0.01)


def test_documents_without_words_are_found_by_vectors() -> None:
    documents = [replace(item, terms=None, opening=None) for item in MANY]
    query = WITHIN.query(documents[3])
    assert 6 in candidates(query, [segment(documents)], 5)


@given(st.integers(0, 30), st.integers(1, 120))
def test_candidates_are_the_best_by_the_fused_score(seed: int, most: int) -> None:
    query, whole = WITHIN.query(made(seed)), segment(MANY)
    scores = fused(whole.products(query.vector), whole.sums(query.words), query)
    ordered = np.argsort(-scores, kind="stable")[:most]
    assert candidates(query, [whole], most).tolist() == sorted(2 * ordered)


@pytest.mark.slow
@given(st.integers(0, 30), st.integers(1, 99), st.integers(1, 40))
def test_side_file_and_tail_find_what_a_new_one_finds(seed: int, cut: int, most: int) -> None:
    query = WITHIN.query(made(seed))
    parts = [segment(MANY[:cut]), segment(MANY[cut:], first=cut)]
    assert candidates(query, parts, most).tolist() == candidates(query, [segment(MANY)], most).tolist()


def test_only_allowed_documents_are_chosen() -> None:
    query, whole = WITHIN.query(made(1)), segment(MANY)
    allowed = np.array([4, 8, 9, 196], np.int64)  # 9 is no document.
    assert candidates(query, [whole], 2, allowed).tolist() in ([4, 8], [4, 196], [8, 196])
    assert candidates(query, [whole], 9, allowed).tolist() == [4, 8, 196]
    assert candidates(query, [whole], 9, np.zeros(0, np.int64)).tolist() == []


def test_of_equal_scores_the_first_are_best() -> None:
    assert best(np.array([1.0, 3.0, 1.0, 1.0]), 3).tolist() == [1, 0, 2]
    assert best(np.array([1.0, 2.0]), 3).tolist() == [0, 1]


@pytest.mark.parametrize("field", [None, FIELD], ids=["model", "field"])
def test_a_side_file_holds_what_was_put_in(
    tmp_path: Path, field: Field | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_file, "_FULL", 40)
    path = tmp_path / "candidates.bin"
    build(path, "mine", 100, numbered(MANY), Measure(field, WEIGHTS))
    opened = CandidateFile.open(path, "mine")
    assert opened is not None
    assert opened.last == 198
    for first, held in zip((0, 40, 80), opened.segments, strict=True):
        expected = segment(MANY[first : first + 40], field, first)
        for part in fields(held):
            assert np.array_equal(getattr(held, part.name), getattr(expected, part.name))
    if field is None:
        assert opened.profile is None
    else:
        assert opened.profile is not None
        assert opened.profile.frequencies.tolist() == field.profile.frequencies.tolist()
        assert opened.profile.info == field.profile.info
    assert list(tmp_path.iterdir()) == [path]


def test_documents_that_are_added_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_file, "_FULL", 20)
    build(tmp_path / "whole", "mine", 70, numbered(MANY), WITHIN)
    build(tmp_path / "grown", "mine", 70, numbered(MANY[:70]), WITHIN)
    before = CandidateFile.open(tmp_path / "grown", "mine")
    assert before is not None
    last, kept = before.full
    assert last == 2 * 59
    build(tmp_path / "grown", "mine", 100, numbered(MANY[60:], 60), WITHIN, kept)
    assert (tmp_path / "grown").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("side") / "candidates.bin"
    build(path, "mine", 100, numbered(MANY), WITHIN)
    return path.read_bytes()


@given(data=st.data())
def test_a_damaged_side_file_is_none(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "side"
    place = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert CandidateFile.open(path, "mine") is None
    path.write_bytes(whole[:place])
    assert CandidateFile.open(path, "mine") is None


def test_a_failed_build_leaves_the_file_before(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "side"
    path.write_bytes(whole)

    def failing() -> Iterator[tuple[int, MadeUp]]:
        yield 0, MANY[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        build(path, "mine", 1, failing(), WITHIN)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_a_model_that_scores_no_chunks_is_served_by_document_vectors() -> None:
    found = Measure(None, ScoreWeights()).vectors(MANY)
    assert found == pytest.approx(np.stack([item.document_vector for item in MANY]), abs=1e-6)
