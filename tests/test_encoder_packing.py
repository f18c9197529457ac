"""Texts to rows: the first tokens between their specials, whatever the text."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from colde_cli.documents.chunking import TextTokenizer, plain_tokenizer
from colde_cli.documents.document import Part, assemble, document_text
from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, packing, stack
from colde_cli.encoder.system_encoder import section_text

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "bee", "hive", "##s", "."]


def tokenizer() -> TextTokenizer:
    made = Tokenizer(models.WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return plain_tokenizer(made.to_str())


TOKENIZER = tokenizer()


def pack(text: str, tokens: int, **network: object) -> Rows:
    config = SystemConfig("sbert", "flat", tokens, 1, 8, network, vocab_size=8)
    return packing("flat", "here")(text, TOKENIZER, config)


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
    ids = TOKENIZER.encode(text, add_special_tokens=False).ids[: tokens - 2]
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
