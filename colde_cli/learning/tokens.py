"""Documents as token ids, and the chunks cut from them, in flat arrays: 5,000 documents have some 90,000 chunks.

The tokens also say where sentences and words begin, so that chunks of any size can be cut without the text.

Systems without a backbone learn a vocabulary of words from the training texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.chunking import (
    TextTokenizer,
    begins_word,
    cut_at,
    plain_tokenizer,
    sections_with_text,
    sentence_starts,
    sentence_tokens,
    special_token,
)
from colde_cli.documents.document import Chunk, Document, Span
from colde_cli.errors import DataError
from colde_cli.scoring.lexicon import continuations

# Below this many documents, starting processes takes longer than they save.
_PARALLEL = 500
_SHARE = 32

_SENTENCE, _WORD = 1, 2

Tokenized = list[tuple[int, NDArray[np.int32], NDArray[np.uint8]]]
"""Number, token ids and breaks of every section of a document that has tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenStore:
    """The tokens of N documents, one section after another; bare headings over sub-sections are left out."""

    ids: NDArray[np.int32]  # int32 [T], token ids without specials
    breaks: NDArray[np.uint8]  # uint8 [T], what begins with each token: 1 a sentence, 2 a word, 3 both
    starts: NDArray[np.int64]  # int64 [S + 1], where each section begins in `ids`
    sections: NDArray[np.int32]  # int32 [S], the number of each section within its document
    documents: NDArray[np.int64]  # int64 [N + 1], the first section of each document

    def chunked(self, tokenizer: str, chunk_tokens: int) -> ChunkStore:
        """Cut every section into chunks of so many tokens, specials included, as `Chunker` does."""
        plain = plain_tokenizer(tokenizer)
        first, last = ([special_token(plain, name)] for name in ("[CLS]", "[SEP]"))
        cuts = [self._cut(section, chunk_tokens - 2) for section in range(len(self.sections))]
        ids = [np.concatenate([first, self.ids[begin:end], last]) for cut in cuts for begin, end in pairwise(cut)]
        counts = np.array([len(cut) - 1 for cut in cuts], np.int64)
        return ChunkStore(
            np.concatenate(ids).astype(np.int32),
            ends([len(chunk) for chunk in ids]),
            np.repeat(self.sections, counts),
            ends(counts)[self.documents],
        )

    def _cut(self, section: int, capacity: int) -> list[int]:
        """Where the chunks of a section begin and end in `ids`."""
        start, end = int(self.starts[section]), int(self.starts[section + 1])
        breaks = self.breaks[start:end]
        sentences = np.flatnonzero(breaks & _SENTENCE).tolist()
        words = (breaks & _WORD).astype(bool)
        return [start + cut for cut in cut_at(end - start, sentences, lambda token: bool(words[token]), capacity)]


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


def chunk_documents(documents: Sequence[Document], tokenizer: str, chunk_tokens: int) -> ChunkStore:
    """Cut documents into chunks; see `tokenize_documents` and `TokenStore.chunked`."""
    return tokenize_documents(documents, tokenizer).chunked(tokenizer, chunk_tokens)


def tokenize_documents(
    documents: Sequence[Document], tokenizer: str, progress: Callable[[int], None] | None = None
) -> TokenStore:
    """Tokenize documents, in several processes where there are many; `progress` hears of every one.

    Raises:
        DataError: a document has no token.
    """
    tokenized: list[Tokenized] = []
    for sections in _tokenized(documents, tokenizer):
        if not sections:
            raise DataError(f"The document {documents[len(tokenized)].title!r} has no words; remove it.")
        tokenized.append(sections)
        if progress is not None:
            progress(1)
    every = [section for sections in tokenized for section in sections]
    return TokenStore(
        np.concatenate([ids for _, ids, _ in every]),
        np.concatenate([breaks for *_, breaks in every]),
        ends([len(ids) for _, ids, _ in every]),
        np.array([number for number, *_ in every], np.int32),
        ends([len(sections) for sections in tokenized]),
    )


def _tokenized(documents: Sequence[Document], tokenizer: str) -> Iterator[Tokenized]:
    if len(documents) <= _PARALLEL:
        _load(tokenizer)
        yield from map(_tokenize, documents)
        return
    # Spawned, not forked: a fork of a process with threads (torch, onnxruntime) may hang.
    with ProcessPoolExecutor(settings.usable_cores(), get_context("spawn"), _load, (tokenizer,)) as pool:
        yield from pool.map(_tokenize, documents, chunksize=_SHARE)


_loaded: list[TextTokenizer] = []  # the tokenizer of this process: it is costly to send with every document


def _load(tokenizer: str) -> None:
    _loaded[:] = [plain_tokenizer(tokenizer)]


def _tokenize(document: Document) -> Tokenized:
    tokenized = []
    for section in sections_with_text(document):
        text = document.section_text(section)
        encoding = _loaded[0].encode(text, add_special_tokens=False)
        if encoding.ids:
            tokenized.append((section.index, np.array(encoding.ids, np.int32), _breaks(text, encoding.offsets)))
    return tokenized


def _breaks(text: str, offsets: list[tuple[int, int]]) -> NDArray[np.uint8]:
    breaks = np.array([0, *(_WORD * begins_word(offsets, token) for token in range(1, len(offsets)))], np.uint8)
    sentences = np.array(sentence_tokens(sentence_starts(text), offsets), np.int64)
    breaks[sentences[sentences < len(breaks)]] |= _SENTENCE
    return breaks


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
