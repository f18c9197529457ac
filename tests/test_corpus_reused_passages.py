"""Passages that stand in several documents, and what they are made from."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.corpus import sorted_entries
from colde_cli.corpus.near_pairs import NearPairs, text_words, word_numbers
from colde_cli.corpus.reused_passages import LEAST_WORDS, Reuse, Spot, connected, extended, word_places
from colde_cli.corpus.sorted_entries import SortedEntries


def prose(count: int, seed: int) -> list[str]:
    return [f"w{number}" for number in random.Random(seed).choices(range(10**6), k=count)]


def passages(texts: list[list[str]], groups: list[int] | None = None) -> list[list[Spot]]:
    with NearPairs() as near:
        for words in texts:
            near.add(word_numbers(words))
        held = np.arange(len(texts)) if groups is None else np.array(groups)
        return Reuse(near).passages(held, 100, lambda known: False)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(LEAST_WORDS, 80), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_every_run_of_enough_words_is_found_where_it_stands(first: int, second: int, length: int, seed: int) -> None:
    run, texts = prose(length, seed), [prose(300, 1000 + seed), prose(300, 2000 + seed), prose(300, 3000 + seed)]
    for number, at in enumerate((first, second)):
        texts[number][at:at] = run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_entries, "_ENTRIES", 64)
        patch.setattr(sorted_entries, "_STEP", 8)
        ((a, b),) = passages(texts)
    numbers = [word_numbers(text) for text in texts]
    assert extended([a, b], numbers[:2]) == [Spot(0, first, first + length), Spot(1, second, second + length)]


def test_a_common_sentence_does_not_glue_the_passages_around_it() -> None:
    common, one, other = prose(12, 1), prose(60, 2), prose(60, 3)
    texts = [[*prose(100, 10 + number), *common, *prose(100, 50 + number)] for number in range(20)]
    for number in (0, 1):
        texts[number] += [*one, *common, *prose(50, 90 + number)]
    for number in (2, 3):
        texts[number] += [*prose(50, 90 + number), *common, *other]
    held = [{spot.document for spot in spots} for spots in passages(texts) if len(spots) < 20]
    assert held in ([{0, 1}, {2, 3}], [{2, 3}, {0, 1}])


def test_versions_of_one_document_share_no_passage() -> None:
    text = prose(300, 1)
    assert passages([text, [*text, "more"]], [0, 0]) == []


@given(st.text(max_size=200))
def test_words_have_places(text: str) -> None:
    assert [word for word, _ in word_places(text)] == text_words(text)


@given(st.integers(1, 30), st.data())
def test_components_are_those_of_a_walk(count: int, data: st.DataObject) -> None:
    node = st.integers(0, count - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=40))
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    known = list(range(count))
    for _ in range(count):
        for a, b in pairs:
            known[a] = known[b] = min(known[a], known[b])
    assert connected(count, ends[:, 0], ends[:, 1]).tolist() == known


@given(st.lists(st.integers(0, 50), max_size=300))
def test_entries_come_in_the_order_of_their_keys_and_those_of_one_key_together(keys: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(sorted_entries, "_ENTRIES", 20)
        patch.setattr(sorted_entries, "_STEP", 3)
        entries = SortedEntries(Path(folder) / "entries")
        for number, key in enumerate(keys):
            entries.add(np.array([key], np.uint64), number)
        blocks = [(found.tolist(), values.tolist()) for found, values in entries.blocks(1)]
    assert [pair for block in blocks for pair in zip(*block, strict=True)] == sorted(
        zip(keys, range(len(keys)), strict=True)
    )
    for (before, _), (after, _) in pairwise(blocks):
        assert before[-1] >> 1 < after[0] >> 1
