"""Vocabularies learnt from texts: the most frequent words, and the same ones every time."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from colde_cli.documents.chunking import plain_tokenizer
from colde_cli.learning.towers.vocabulary import SPECIALS, bare_tokenizer, learn_vocabulary, vocabulary_size

TEXTS = ["The hive, the queen.", "A hive and a bee; the end.", "Zebra yak"]


def test_the_most_frequent_words_are_known_and_all_others_are_one() -> None:
    made = learn_vocabulary(TEXTS, size=8)
    tokenizer = plain_tokenizer(made)
    assert vocabulary_size(made) == 8
    assert [tokenizer.token_to_id(token) for token in SPECIALS] == [0, 1, 2, 3]
    assert tokenizer.encode("THE hive zebra", add_special_tokens=False).ids == [
        tokenizer.token_to_id("the"),
        tokenizer.token_to_id("hive"),
        1,
    ]


def test_the_order_of_the_texts_does_not_matter() -> None:
    # Of the many words that occur once only some fit.
    assert learn_vocabulary(TEXTS, 9) == learn_vocabulary(TEXTS[::-1], 9)


def test_a_bare_tokenizer_says_where_words_are() -> None:
    tokenizer = plain_tokenizer(bare_tokenizer())
    encoded = tokenizer.encode("Bees fly.", add_special_tokens=False)
    assert encoded.ids == [1, 1, 1]
    assert encoded.offsets == [(0, 4), (5, 8), (8, 9)]
