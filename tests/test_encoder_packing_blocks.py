"""SMITH's greedy sentence filling."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Sentence, fill_blocks, pack_blocks, read_sentences
from colde_cli.errors import ModelError

WORDS = "[PAD] [UNK] [CLS] [SEP] . red oak elm sun sky Ash Bay Elm".split()
CONFIG = SystemConfig("smith", "blocks", row_tokens=8, max_rows=4, dim=16, vocab_size=len(WORDS))


def words_of(*left_out: str) -> Tokenizer:
    names = [word for word in WORDS if word not in left_out]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(names)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def ids(text: str) -> list[int]:
    return [WORDS.index(word) for word in text.split()]


lengths = st.lists(st.integers(1, 12), max_size=30)


def numbered(counts: list[int]) -> list[Sentence]:
    """Sentences whose pieces say which sentence and which word they are."""
    return [
        Sentence([100 * place + word for word in range(count)], place // 3)
        for place, count in enumerate(counts)
    ]


@given(lengths, st.integers(1, 10), st.integers(1, 20))
def test_a_sentence_that_fits_a_block_is_never_split(counts: list[int], capacity: int, most: int) -> None:
    blocks = [block.pieces for block in fill_blocks(numbered(counts), capacity, most)]
    assert len(blocks) <= most
    places = {piece: place for place, block in enumerate(blocks) for piece in block}
    for sentence in numbered(counts):
        found = [places[piece] for piece in sentence.pieces if piece in places]
        assert len(found) in (0, min(len(sentence.pieces), capacity))
        assert len(set(found)) <= 1


@given(lengths, st.integers(1, 10), st.integers(1, 20))
def test_order_is_kept_and_what_is_left_out_lies_at_the_end(
    counts: list[int], capacity: int, most: int
) -> None:
    kept = [piece for block in fill_blocks(numbered(counts), capacity, most) for piece in block.pieces]
    whole = [piece for sentence in numbered(counts) for piece in sentence.pieces[:capacity]]
    assert kept == whole[: len(kept)]
    assert len(kept) == len(whole) or len(fill_blocks(numbered(counts), capacity, most)) == most


@given(lengths, st.integers(1, 10))
def test_blocks_are_filled_until_the_next_sentence_would_overflow(counts: list[int], capacity: int) -> None:
    blocks = [block.pieces for block in fill_blocks(numbered(counts), capacity, 1000)]
    firsts = {block[0] // 100: len(block) for block in blocks}
    for block, following in pairwise(blocks):
        assert 1 <= len(block) <= capacity
        assert len(block) + counts[following[0] // 100] > capacity
    assert (0 in firsts) == bool(counts)


def test_rows_by_hand() -> None:
    text = "Ash red oak. Bay elm. Ash oak. Elm\n\nAsh red oak elm sun sky red oak. Bay."
    rows = pack_blocks(text, words_of(), CONFIG)
    # The first two sentences are seven pieces, one more than a block holds; the long one loses its end.
    assert rows.ids.tolist() == [
        [2, *ids("Ash red oak ."), 3, 0, 0],
        [2, *ids("Bay elm . Ash oak ."), 3],
        [2, *ids("Elm"), 3, 0, 0, 0, 0, 0],
        [2, *ids("Ash red oak elm sun sky"), 3],
    ]
    assert rows.paragraphs.tolist() == [0, 0, 0, 1]
    more = pack_blocks(text, words_of(), replace(CONFIG, max_rows=9))
    assert more.ids[4].tolist() == [2, *ids("Bay ."), 3, 0, 0, 0, 0]


def test_reading_stops_when_the_blocks_are_full() -> None:
    read = read_sentences("Ash red. " * 1000, words_of())
    fill_blocks(read, 6, 2)
    assert len(list(read)) > 900


def test_specials_and_room_are_needed() -> None:
    with pytest.raises(ModelError, match=r"\[SEP\]"):
        pack_blocks("Ash red.", words_of("[SEP]"), CONFIG)
    with pytest.raises(ValueError, match="no room"):
        pack_blocks("Ash red.", words_of(), replace(CONFIG, row_tokens=2))
