"""Texts to sentences of words, and to letter trigrams."""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from system_texts import WORDS, word_tokenizer

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import BUCKETS, Rows, pack_sentences, pack_trigrams, trigram_ids

TOKENIZER = word_tokenizer()

SPACES = st.sampled_from([" ", " ", " ", "\n", ". ", ".\n\n", "\n\n", "\n \n\n", "? "])
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), SPACES), max_size=40).map(
    lambda pairs: "".join(part for pair in pairs for part in pair)
)


def ids(text: str) -> list[int]:
    listed: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return listed


def sentences(text: str, row_tokens: int = 50, max_rows: int = 100) -> Rows:
    return pack_sentences(text, TOKENIZER, SystemConfig("han", "sentences", row_tokens, max_rows, 8))


def trigrams(text: str, row_tokens: int = 1000, buckets: int = BUCKETS) -> Rows:
    config = SystemConfig("dssm", "trigrams", row_tokens, 2, 8, vocab_size=buckets + 1)
    return pack_trigrams(text, None, config)


def counts(rows: Rows) -> dict[int, int]:
    return dict(zip(*rows.ids.tolist(), strict=True))


# Sentences


def test_a_row_a_sentence_with_its_paragraph() -> None:
    rows = sentences("Hive Queen. The sail is near.\n\nDough\n\nAnchor, rope. The unheard-of tide!")
    expected = ["hive queen .", "the sail is near .", "dough", "anchor , rope .", "the unheard - of tide !"]
    assert [[word for word in row if word] for row in rows.ids.tolist()] == [ids(text) for text in expected]
    assert rows.ids.shape == (5, 6)
    assert rows.paragraphs.tolist() == [0, 0, 1, 2, 2]
    assert rows.ids.dtype == rows.paragraphs.dtype == np.int64


def test_a_blank_line_ends_a_sentence_whatever_stands_around_it() -> None:
    rows = sentences("Wax etc.\n\nand pollen e.g.\n\n*\n\nHoney")
    assert rows.paragraphs.tolist() == [0, 1, 2, 3]


def test_padding_spelt_out_does_not_end_a_row() -> None:
    assert sentences("wax [PAD] honey").ids.tolist() == [ids("wax honey")]


def test_a_long_sentence_goes_on_in_the_next_row() -> None:
    rows = sentences("wax honey comb frame brood. Mast", row_tokens=4)
    assert rows.ids.tolist() == [
        ids("wax honey comb frame"),
        [*ids("brood ."), 0, 0],
        [*ids("mast"), 0, 0, 0],
    ]
    assert rows.paragraphs.tolist() == [0, 0, 0]


@pytest.mark.parametrize("text", ["", " \n\n ", "[PAD]"])
def test_a_text_without_words_is_one_row_of_padding(text: str) -> None:
    for rows in (sentences(text), trigrams("" if text == "[PAD]" else text)):
        assert rows.empty
        assert rows.ids.shape[1] == 1
        assert rows.paragraphs.shape == rows.ids.shape[:1]


@given(TEXTS, st.integers(1, 6), st.integers(1, 12))
def test_no_word_is_lost_up_to_the_limit(text: str, row_tokens: int, max_rows: int) -> None:
    everything, rows = sentences(text, row_tokens, 1000), sentences(text, row_tokens, max_rows)
    assert everything.ids[everything.ids != 0].tolist() == ids(text)
    height, width = rows.ids.shape
    assert height <= max_rows
    assert width <= row_tokens
    kept = rows.ids != 0
    assert rows.ids[kept].tolist() == ids(text)[: kept.sum()]
    assert height == min(max_rows, everything.ids.shape[0])
    # Words first, padding last, no row without a word.
    assert (np.sort(~kept, axis=1) == ~kept).all()
    assert rows.empty or kept.any(axis=1).all()
    steps = np.diff(rows.paragraphs, prepend=0)
    assert set(steps.tolist()) <= {0, 1}


# Trigrams


def test_trigrams_of_the_papers_example() -> None:
    """`good` is #go, goo, ood, od# (Huang et al. 2013, §3.2)."""
    expected = [1 + zlib.crc32(trigram) % 2**15 for trigram in (b"#go", b"goo", b"ood", b"od#")]
    assert list(trigram_ids("good")) == expected
    assert trigrams("Good").ids.tolist() == [expected, [1, 1, 1, 1]]


def test_an_accent_is_part_of_its_letter() -> None:
    assert (
        counts(trigrams("Gro\u0308ße")) == counts(trigrams("größe")) == dict.fromkeys(trigram_ids("größe"), 1)
    )


def test_hash_stays_what_it_was() -> None:
    """A model's table is read by these numbers: they are part of its format."""
    assert trigram_ids("good") == (8195, 3863, 1831, 2783)
    assert len(trigram_ids("Größe")) == 5


def test_trigrams_are_counted_over_the_text() -> None:
    rows = trigrams("anana, good; GOOD-good")
    a, n = trigram_ids("anana"), trigram_ids("good")
    assert counts(rows) == {**Counter(a), **dict.fromkeys(n, 3)}
    assert counts(rows)[a[1]] == 2  # "ana" occurs twice within the word
    assert rows.ids[0].tolist() == list(dict.fromkeys([*a, *n]))


@given(TEXTS, st.integers(1, 30), st.sampled_from([20, BUCKETS]))
def test_the_first_trigrams_are_kept_and_counted_in_full(text: str, row_tokens: int, buckets: int) -> None:
    words = [word for word in text.replace(".", " ").replace("?", " ").split() if word]
    everything = Counter(trigram for word in words for trigram in trigram_ids(word, buckets))
    kept = list(everything)[:row_tokens]
    found = trigrams(text, row_tokens, buckets)
    assert counts(found) == ({trigram: everything[trigram] for trigram in kept} or {0: 0})
    assert found.ids[0].tolist() == (kept or [0])
    assert found.ids[0].max() <= buckets
