"""Documents to chunks in flat arrays, in one process or several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from colde_cli.documents.chunking import Chunker, plain_tokenizer
from colde_cli.documents.document import Document, Part, assemble
from colde_cli.errors import DataError
from colde_cli.learning import tokens
from colde_cli.learning.tokens import (
    SPECIALS,
    bare_tokenizer,
    chunk_documents,
    learn_vocabulary,
    vocabulary_size,
)


@pytest.fixture(scope="module")
def tokenizer(backbone_folder: Path) -> str:
    return (backbone_folder / "tokenizer.json").read_text(encoding="utf-8")


def document(number: int) -> Document:
    text = "the hive and the queen. " * (number % 7 + 1)
    return assemble("", str(number), [Part("honey", text), Part("", text * 3)])


def test_chunks_are_those_of_the_chunker(tokenizer: str) -> None:
    from tokenizers import Tokenizer

    documents = [document(number) for number in range(5)]
    done: list[int] = []
    store = chunk_documents(documents, tokenizer, 16, done.append)
    assert sum(done) == 5
    chunker = Chunker(Tokenizer.from_str(tokenizer), 16)
    for number, one in enumerate(documents):
        chunks = chunker.chunk(one)
        assert [store.tokens(chunk).tolist() for chunk in store.chunks_of(number)] == [
            list(chunk.ids) for chunk in chunks
        ]
        assert store.sections[store.chunks_of(number)].tolist() == [chunk.section for chunk in chunks]
    assert store.ids.dtype == np.int32
    assert store.lengths_of(np.arange(len(store))).max() <= 16


@pytest.mark.slow
def test_several_processes_give_the_same(tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [document(number) for number in range(70)]
    alone = chunk_documents(documents, tokenizer, 16)
    monkeypatch.setattr(tokens, "_PARALLEL", 10)
    assert chunk_documents(documents, tokenizer, 16).digest() == alone.digest()


def test_a_document_without_words(tokenizer: str) -> None:
    with pytest.raises(DataError, match="'blank' has no words"):
        chunk_documents([document(1), Document("", "blank", " ", ())], tokenizer, 16)


TEXTS = ["The hive, the queen.", "A hive and a bee; the end.", "Zebra yak"]


def test_the_most_frequent_words_are_known_and_all_others_are_one() -> None:
    made = learn_vocabulary(TEXTS, size=8)
    tokenizer = plain_tokenizer(made)
    assert vocabulary_size(made) == 8
    assert [tokenizer.token_to_id(token) for token in SPECIALS] == [0, 1, 2, 3]
    assert tokenizer.encode("THE hive zebra", add_special_tokens=False).ids == [
        tokenizer.token_to_id("the"), tokenizer.token_to_id("hive"), 1,
    ]  # fmt: skip


def test_the_order_of_the_texts_does_not_matter() -> None:
    # Of the many words that occur once only some fit.
    assert learn_vocabulary(TEXTS, 9) == learn_vocabulary(TEXTS[::-1], 9)


def test_a_bare_tokenizer_says_where_words_are() -> None:
    tokenizer = plain_tokenizer(bare_tokenizer())
    encoded = tokenizer.encode("Bees fly.", add_special_tokens=False)
    assert encoded.ids == [1, 1, 1]
    assert encoded.offsets == [(0, 4), (5, 8), (8, 9)]
