"""Texts to rows: the first tokens between specials, sentences of words, letter trigrams, and the blocks of SMITH."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from system_texts import WORDS, word_tokenizer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from colde_cli.documents.chunking import TextTokenizer, plain_tokenizer
from colde_cli.documents.document import Part, assemble, document_text
from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import (
    BUCKETS,
    Rows,
    Sentence,
    fill_blocks,
    pack_blocks,
    pack_sentences,
    pack_trigrams,
    packing,
    read_sentences,
    stack,
    trigram_ids,
)
from colde_cli.encoder.system_encoder import section_text
from colde_cli.errors import ModelError

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "bee", "hive", "##s", "."]


def tokenizer() -> TextTokenizer:
    made = Tokenizer(models.WordPiece({word: number for number, word in enumerate(PIECES)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return plain_tokenizer(made.to_str())


OF_PIECES = tokenizer()


def pack(text: str, tokens: int, **network: object) -> Rows:
    config = SystemConfig("sbert", "flat", tokens, 1, 8, network, vocab_size=8)
    return packing("flat", "here")(text, OF_PIECES, config)


def test_the_first_tokens_stand_between_the_specials() -> None:
    assert pack("Bees. Hive", 16).ids.tolist() == [[2, 4, 6, 7, 5, 3]]
    assert pack("Bees. Hive", 4).ids.tolist() == [[2, 4, 6, 3]]
    assert pack("Bees.", 16, id_shift=1).ids.tolist() == [[3, 5, 7, 8, 4]]


def test_a_text_without_tokens_is_a_row_of_padding() -> None:
    rows = pack(" \n ", 16)
    assert rows.empty
    assert rows.ids.shape == (1, 1)
    assert rows.paragraphs.tolist() == [0]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["bee", "hive.", "bees", "x" * 60, "\n\n", ". ."]), min_size=1, max_size=200),
    st.integers(3, 12),
)
def test_reading_the_beginning_gives_what_reading_all_gives(words: list[str], tokens: int) -> None:
    text = " ".join(words)
    ids = OF_PIECES.encode(text, add_special_tokens=False).ids[: tokens - 2]
    assert pack(text, tokens).ids.tolist() == ([[2, *ids, 3]] if ids else [[0]])


def test_a_document_is_all_its_sections_and_a_bare_heading_what_stands_under_it() -> None:
    document = assemble("", "", [Part("1 Bees", ""), Part("1.1 Hives", "Many.", 2), Part("2 End", "Over.")])
    texts = [section_text(document, section) for section in document.sections]
    assert texts[0].split() == "1 Bees 1.1 Hives Many.".split()
    assert texts[1].split() == "1.1 Hives Many.".split()
    assert document_text(document).split() == "1 Bees 1.1 Hives Many. 2 End Over.".split()


def test_a_batch_is_padded_to_its_largest() -> None:
    batch = stack([Rows.of([[1, 2, 3]]).small(), Rows.of([[4], [5]], [0, 1])])
    assert batch.ids.dtype == np.int64
    assert batch.ids.tolist() == [[[1, 2, 3], [0, 0, 0]], [[4, 0, 0], [5, 0, 0]]]
    assert batch.paragraphs.tolist() == [[0, 0], [0, 1]]


def test_rows_of_different_shape_differ() -> None:
    assert Rows.of([[1, 2], [3, 4]]).to_bytes() != Rows.of([[1, 2, 3, 4]]).to_bytes()
    assert Rows.of([[1], [2]], [0, 1]).to_bytes() != Rows.of([[1], [2]]).to_bytes()
    assert Rows.of([[1], [2]]).small().to_bytes() == Rows.of([[1], [2]]).to_bytes()


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
    assert rows.ids.tolist() == [ids("wax honey comb frame"), [*ids("brood ."), 0, 0], [*ids("mast"), 0, 0, 0]]
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
    assert counts(trigrams("Gro\u0308ße")) == counts(trigrams("größe")) == dict.fromkeys(trigram_ids("größe"), 1)


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


# Blocks

TREES = "[PAD] [UNK] [CLS] [SEP] . red oak elm sun sky Ash Bay Elm".split()
CONFIG = SystemConfig("smith", "blocks", row_tokens=8, max_rows=4, dim=16, vocab_size=len(TREES))


def words_of(*left_out: str) -> Tokenizer:
    names = [word for word in TREES if word not in left_out]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(names)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def trees(text: str) -> list[int]:
    return [TREES.index(word) for word in text.split()]


lengths = st.lists(st.integers(1, 12), max_size=30)


def numbered(counts: list[int]) -> list[Sentence]:
    """Sentences whose pieces say which sentence and which word they are."""
    return [Sentence([100 * place + word for word in range(count)], place // 3) for place, count in enumerate(counts)]


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
def test_order_is_kept_and_what_is_left_out_lies_at_the_end(counts: list[int], capacity: int, most: int) -> None:
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
        [2, *trees("Ash red oak ."), 3, 0, 0], [2, *trees("Bay elm . Ash oak ."), 3],
        [2, *trees("Elm"), 3, 0, 0, 0, 0, 0], [2, *trees("Ash red oak elm sun sky"), 3],
    ]  # fmt: skip
    assert rows.paragraphs.tolist() == [0, 0, 0, 1]
    more = pack_blocks(text, words_of(), replace(CONFIG, max_rows=9))
    assert more.ids[4].tolist() == [2, *trees("Bay ."), 3, 0, 0, 0, 0]


def test_reading_stops_when_the_blocks_are_full() -> None:
    read = read_sentences("Ash red. " * 1000, words_of())
    fill_blocks(read, 6, 2)
    assert len(list(read)) > 900


def test_specials_and_room_are_needed() -> None:
    with pytest.raises(ModelError, match=r"\[SEP\]"):
        pack_blocks("Ash red.", words_of("[SEP]"), CONFIG)
    with pytest.raises(ValueError, match="no room"):
        pack_blocks("Ash red.", words_of(), replace(CONFIG, row_tokens=2))
