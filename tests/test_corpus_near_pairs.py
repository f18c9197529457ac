"""Shingles, sketches and the pairs that they find, beside the same worked out the long way."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.corpus import near_pairs, sorted_entries
from colde_cli.corpus.near_pairs import (
    SHINGLE,
    NearPair,
    NearPairs,
    ShingleTable,
    seeds,
    shared_words,
    shingles,
    text_digest,
    text_words,
    word_numbers,
)

texts = st.lists(st.sampled_from("abcd"), max_size=40)


def table(words: list[str]) -> ShingleTable:
    return ShingleTable.of(word_numbers(words))


def share_by_hand(words: list[str], others: list[str]) -> float:
    runs = {tuple(others[place : place + SHINGLE]) for place in range(len(others) - SHINGLE + 1)}
    covered = {
        place + step
        for place in range(len(words) - SHINGLE + 1)
        if tuple(words[place : place + SHINGLE]) in runs
        for step in range(SHINGLE)
    }
    return len(covered) / len(words) if words else 0.0


def prose(count: int, seed: int) -> list[str]:
    return [f"w{number}" for number in random.Random(seed).choices(range(5000), k=count)]


def found(documents: list[list[str]], both: float = 0.4, one: float = 0.8) -> list[NearPair]:
    with NearPairs(min(both, one)) as pairs:
        for words in documents:
            pairs.add(word_numbers(words))
        return list(pairs.pairs(both, one))


@given(texts, texts)
def test_shares_are_those_of_runs_of_words(a: list[str], b: list[str]) -> None:
    assert shared_words(table(a), table(b)) == pytest.approx((share_by_hand(a, b), share_by_hand(b, a)))


@given(texts, texts)
def test_shingles_of_a_text_are_those_of_its_continuation(a: list[str], b: list[str]) -> None:
    whole = shingles(word_numbers(a + b))
    own = shingles(word_numbers(a))
    assert len(own) == max(0, len(a) - SHINGLE + 1)
    assert np.array_equal(whole[: len(own)], own)


@given(st.lists(st.integers(0, 30), max_size=60), st.sampled_from([1, 4, 8]))
def test_a_seed_is_the_least_of_a_window_and_every_window_has_one(values: list[int], window: int) -> None:
    hashes = np.array(values, np.uint64)
    if len(values) < window:
        assert len(seeds(hashes, window)) >= bool(values)
        return
    least = {
        place
        for start in range(len(values) - window + 1)
        for place in range(start, start + window)
        if values[place] == min(values[start : start + window])
    }
    assert seeds(hashes, window).tolist() == sorted(least)


def test_two_shingles_in_nine_are_seeds() -> None:
    assert len(seeds(shingles(word_numbers(prose(40_000, 1))))) == pytest.approx(40_000 * 2 / 9, rel=0.05)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2])
def test_the_sample_follows_from_the_share_that_is_wanted(share: float) -> None:
    """Pairs of 600 words that share one run of so many of them, among as many that share nothing."""
    documents = [prose(600, seed) for seed in range(60)]
    run = int(share * 600) + 1
    for first in range(0, 30, 2):
        documents[first + 1][100 : 100 + run] = documents[first][400 : 400 + run]
    pairs = {(pair.a, pair.b) for pair in found(documents, share, 1.0)}
    assert {(first, first + 1) for first in range(0, 30, 2)} == pairs


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("An inter-\nnational treaty.", "An international treaty"),
        ("“Quoted” words – and more", 'quoted words, and "more"'),
        ("• one\n• two", "1one two".removeprefix("1")),
        ("The ﬁrst oﬃce", "The first office"),
    ],
)
def test_the_same_text_in_other_files_has_one_digest(text: str, other: str) -> None:
    assert text_digest(text_words(text)) == text_digest(text_words(other))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        *(("due in 30 days", "due in 60 days"), ("1 23 parts", "12 3 parts"), ("1.5 m", "15 m")),
        *(("a gain of -3 points", "a gain of 3 points"), ("x ≤ 5", "x ≥ 5"), ("€ 20", "$ 20")),
        ("5 % more", "5 more"),
    ],
)
def test_numbers_and_their_signs_make_another_text(text: str, other: str) -> None:
    assert text_digest(text_words(text)) != text_digest(text_words(other))


def test_versions_parts_and_strangers() -> None:
    text = prose(2000, 3)
    version = [word if place % 20 else "changed" for place, word in enumerate(text)]
    volume = prose(30_000, 4) + text[500:1000] + prose(9000, 5)
    pairs = found([text, prose(2000, 6), version, volume, text[500:1000]])
    assert [(pair.a, pair.b) for pair in pairs] == [(0, 2), (0, 4), (2, 4), (3, 4)]
    assert pairs[0].share_a == pytest.approx(0.95)
    assert [pairs[3].share_a, pairs[3].share_b] == pytest.approx([500 / 39_500, 1.0])


@given(st.lists(st.integers(0, 5), min_size=2, max_size=9), st.integers(0, 9))
@settings(max_examples=15, deadline=None)
def test_every_pair_that_shares_enough_is_found_once_and_in_order(kinds: list[int], seed: int) -> None:
    choose = random.Random(seed)
    sources = [prose(800, kind) for kind in range(6)]
    documents = [
        [word if choose.random() > 0.03 else "new" for word in sources[kind][choose.randrange(300) :]] for kind in kinds
    ]
    expected = [
        (a, b)
        for a, b in combinations(range(len(documents)), 2)
        if min(share_by_hand(documents[a], documents[b]), share_by_hand(documents[b], documents[a])) >= 0.4
    ]
    pairs = found(documents, 0.4, 1.0)
    assert [(pair.a, pair.b) for pair in pairs if min(pair.share_a, pair.share_b) >= 0.4] == expected


def test_blocks_and_kept_tables_change_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [prose(900, seed // 3)[seed % 3 * 20 :] for seed in range(30)]
    whole = found(documents)
    assert len(whole) == 30
    monkeypatch.setattr(sorted_entries, "_ENTRIES", 100)
    monkeypatch.setattr(sorted_entries, "_STEP", 7)
    monkeypatch.setattr(near_pairs, "_TABLES", 100)
    assert found(documents) == whole


def test_a_large_family_hangs_together_without_all_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_pairs, "NEIGHBOURS", 3)
    text = prose(600, 1)
    with NearPairs() as texts:
        for number in range(40):
            texts.add(word_numbers([*text, f"copy{number}"]))
        pairs = list(texts.pairs(0.4, 0.8))
        assert texts.crowded == 40  # none is compared with all that it shares much with
    assert len(pairs) < 40 * 6
    assert {(pair.a, pair.b) for pair in pairs} >= {(number, number + 1) for number in range(39)}


@pytest.mark.parametrize("words", [12, 600])
def test_a_copy_is_paired_with_so_many_of_the_next(monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    monkeypatch.setattr(near_pairs, "NEIGHBOURS", 3)
    pairs = {(pair.a, pair.b) for pair in found([prose(words, 1)] * 10)}
    assert pairs == {(a, b) for a, b in combinations(range(10), 2) if b - a <= 3}


def test_texts_without_shingles_have_no_pairs() -> None:
    assert found([[], [], ["one"], ["one"], ["a", "b", "c", "d"]]) == []
    assert found([]) == []
