"""Documents to chunks in flat arrays, in one process or several."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from tiny_backbone import write_backbone

from colde_cli.documents.chunking import Chunker
from colde_cli.documents.document import Document, Part, assemble
from colde_cli.errors import DataError
from colde_cli.learning import tokens
from colde_cli.learning.tokens import chunk_documents, tokenize_documents


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_backbone(tmp_path_factory.mktemp("backbones") / "tiny")
    return (folder / "tokenizer.json").read_text(encoding="utf-8")


def document(number: int) -> Document:
    text = "the hive and the queen. " * (number % 7 + 1)
    return assemble("", str(number), [Part("honey", text), Part("", text * 3)])


def test_chunks_are_those_of_the_chunker(tokenizer: str) -> None:
    from tokenizers import Tokenizer

    documents = [document(number) for number in range(5)]
    done: list[int] = []
    store = tokenize_documents(documents, tokenizer, done.append).chunked(tokenizer, 16)
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


def test_several_processes_give_the_same(tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [document(number) for number in range(70)]
    alone = chunk_documents(documents, tokenizer, 16)
    monkeypatch.setattr(tokens, "_PARALLEL", 10)
    assert chunk_documents(documents, tokenizer, 16).digest() == alone.digest()


def test_a_document_without_words(tokenizer: str) -> None:
    with pytest.raises(DataError, match="'blank' has no words"):
        chunk_documents([document(1), Document("", "blank", " ", ())], tokenizer, 16)
