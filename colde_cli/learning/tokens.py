"""The chunks of documents in flat arrays: 5,000 documents have some 90,000 chunks.

Systems without a backbone learn a vocabulary of words from the training texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.chunking import Chunker, plain_tokenizer
from colde_cli.documents.document import Chunk, Document, Span
from colde_cli.errors import DataError
from colde_cli.scoring.lexicon import continuations

# Below this many documents, starting processes takes longer than they save.
_PARALLEL = 500
_SHARE = 32

Chunked = list[tuple[int, NDArray[np.int32]]]
"""The section and the token ids of every chunk of a document."""


def ends(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of several pieces in a row begins, and where the last one ends: int64 [n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkStore:
    """The chunks of N documents, one after another.

    Token ids with specials, where each of n chunks begins in them [n + 1], its section, counted within the document
    [n], and the first chunk of each document [N + 1].
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    sections: NDArray[np.int32]
    documents: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths_of(self, chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens of each of these chunks, specials included."""
        return self.starts[chunks + 1] - self.starts[chunks]

    def tokens(self, chunk: int) -> NDArray[np.int32]:
        """Token ids of one chunk."""
        return self.ids[self.starts[chunk] : self.starts[chunk + 1]]

    def chunks_of(self, document: int) -> NDArray[np.int64]:
        """Numbers of the chunks of a document."""
        return np.arange(self.documents[document], self.documents[document + 1])

    def chunk(self, number: int) -> Chunk:
        """Return a chunk as the runtime encoder reads it, without its place in the text."""
        return Chunk(number, int(self.sections[number]), 0, Span(0, 0), tuple(self.tokens(number).tolist()))

    def chunks(self, document: int) -> tuple[Chunk, ...]:
        """Return the chunks of a document as the runtime encoder reads them, without their places in the text."""
        return tuple(
            Chunk(place, int(self.sections[number]), 0, Span(0, 0), tuple(self.tokens(int(number)).tolist()))
            for place, number in enumerate(self.chunks_of(document))
        )

    def digest(self) -> str:
        """Hash of all chunks: two stores with one digest train the same model."""
        state = hashlib.blake2b(digest_size=16)
        for array in (self.ids, self.starts, self.sections, self.documents):
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()


def chunk_documents(
    documents: Sequence[Document], tokenizer: str, chunk_tokens: int, progress: Callable[[int], None] | None = None
) -> ChunkStore:
    """Cut documents into chunks, in several processes where there are many; `progress` hears of every document.

    Raises:
        DataError: a document has no token.
    """
    chunked: list[Chunked] = []
    for chunks in _chunked(documents, tokenizer, chunk_tokens):
        if not chunks:
            raise DataError(f"The document {documents[len(chunked)].title!r} has no words; remove it.")
        chunked.append(chunks)
        if progress is not None:
            progress(1)
    every = [chunk for chunks in chunked for chunk in chunks]
    return ChunkStore(
        np.concatenate([ids for _, ids in every]),
        ends([len(ids) for _, ids in every]),
        np.array([section for section, _ in every], np.int32),
        ends([len(chunks) for chunks in chunked]),
    )


def _chunked(documents: Sequence[Document], tokenizer: str, chunk_tokens: int) -> Iterator[Chunked]:
    if len(documents) <= _PARALLEL:
        _load(tokenizer, chunk_tokens)
        yield from map(_chunk, documents)
        return
    # Spawned, not forked: a fork of a process with threads (torch, onnxruntime) may hang.
    with ProcessPoolExecutor(settings.usable_cores(), get_context("spawn"), _load, (tokenizer, chunk_tokens)) as pool:
        yield from pool.map(_chunk, documents, chunksize=_SHARE)


_loaded: list[Chunker] = []  # that of this process: a tokenizer is costly to send with every document


def _load(tokenizer: str, chunk_tokens: int) -> None:
    _loaded[:] = [Chunker(plain_tokenizer(tokenizer), chunk_tokens)]


def _chunk(document: Document) -> Chunked:
    return [(chunk.section, np.array(chunk.ids, np.int32)) for chunk in _loaded[0].chunks(document)]


def word_continuations(tokenizer: str) -> NDArray[np.bool_]:
    """Whether a token continues the word before it, bool [vocabulary]; `tokenizer` is the text of `tokenizer.json`."""
    from tokenizers import Tokenizer

    read = Tokenizer.from_str(tokenizer)
    return continuations([read.id_to_token(number) or "" for number in range(read.get_vocab_size())])


SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""Ids 0 to 3 of every vocabulary made here."""
WORDS = 50_000
"""Size of a vocabulary: the most frequent words of the training texts."""


def learn_vocabulary(texts: Iterable[str], size: int = WORDS) -> str:
    """The text of a `tokenizer.json` with one word or punctuation mark a token, lower-cased; at most `size` ids.

    The same texts in any order give the same file: words of one count are taken in the order of the alphabet.
    """
    from tokenizers import models, trainers

    tokenizer = _words(models.WordLevel({}, unk_token="[UNK]"))
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=1, show_progress=False, special_tokens=list(SPECIALS)
    )
    tokenizer.train_from_iterator(texts, trainer)
    text: str = tokenizer.to_str()
    return text


def bare_tokenizer() -> str:
    """A `tokenizer.json` that knows no word: it only says where words are, for systems that read letters."""
    from tokenizers import models

    ids = {token: number for number, token in enumerate(SPECIALS)}
    text: str = _words(models.WordLevel(ids, unk_token="[UNK]")).to_str()
    return text


def vocabulary_size(tokenizer: str) -> int:
    """Number of ids of a `tokenizer.json`."""
    from tokenizers import Tokenizer

    return int(Tokenizer.from_str(tokenizer).get_vocab_size())


def _words(model: object) -> Any:  # noqa: ANN401 - `tokenizers` is not typed
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer
