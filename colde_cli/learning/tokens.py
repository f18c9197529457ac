"""Cut documents into chunks of token ids, kept in flat arrays: 5,000 documents have some 90,000 chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.chunking import Chunker, plain_tokenizer
from colde_cli.documents.document import Chunk, Document, Span
from colde_cli.errors import DataError

# Below this many documents, starting processes takes longer than they save.
_PARALLEL = 500
_SHARE = 32

Cut = list[tuple[int, NDArray[np.int32]]]
"""Section and token ids of every chunk of a document."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkStore:
    """The chunks of N documents, one after another.

    Attributes:
        ids: int32 [T], token ids of all chunks, specials included.
        starts: int64 [n + 1], where each chunk begins in `ids`.
        sections: int32 [n], the section of each chunk, counted within its document.
        documents: int64 [N + 1], the first chunk of each document.
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

    def digest(self) -> str:
        """Hash of all chunks: two stores with one digest train the same model."""
        state = hashlib.blake2b(digest_size=16)
        for array in (self.ids, self.starts, self.sections, self.documents):
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()


def chunk_documents(
    documents: Sequence[Document],
    tokenizer: str,
    chunk_tokens: int,
    progress: Callable[[int], None] | None = None,
) -> ChunkStore:
    """Cut documents into chunks, in several processes where there are many.

    Args:
        documents: each with at least one token.
        tokenizer: the text of `tokenizer.json`.
        chunk_tokens: size of a chunk, specials included.
        progress: called with the number of documents just done.

    Raises:
        DataError: a document has no token.
    """
    cuts: list[Cut] = []
    for cut in _cuts(documents, tokenizer, chunk_tokens):
        if not cut:
            raise DataError(f"The document {documents[len(cuts)].title!r} has no words; remove it.")
        cuts.append(cut)
        if progress is not None:
            progress(1)
    chunks = [chunk for cut in cuts for chunk in cut]
    starts = np.concatenate([[0], np.cumsum([len(ids) for _, ids in chunks])]).astype(np.int64)
    counts = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)
    sections = np.array([section for section, _ in chunks], np.int32)
    return ChunkStore(np.concatenate([ids for _, ids in chunks]), starts, sections, counts)


def _cuts(documents: Sequence[Document], tokenizer: str, chunk_tokens: int) -> Iterator[Cut]:
    if len(documents) <= _PARALLEL:
        cutter = _Cutter(tokenizer, chunk_tokens)
        yield from map(cutter.cut, documents)
        return
    # Spawned, not forked: a fork of a process with threads (torch, onnxruntime) may hang.
    with ProcessPoolExecutor(
        settings.usable_cores(), get_context("spawn"), _start_worker, (tokenizer, chunk_tokens)
    ) as pool:
        yield from pool.map(_cut_in_worker, documents, chunksize=_SHARE)


class _Cutter:
    def __init__(self, tokenizer: str, chunk_tokens: int) -> None:
        self._chunker = Chunker(plain_tokenizer(tokenizer), chunk_tokens)

    def cut(self, document: Document) -> Cut:
        return [(chunk.section, np.array(chunk.ids, np.int32)) for chunk in self._chunker.chunk(document)]


# One cutter per worker process: a tokenizer is costly to send with every document.
_workers: list[_Cutter] = []


def _start_worker(tokenizer: str, chunk_tokens: int) -> None:
    _workers.append(_Cutter(tokenizer, chunk_tokens))


def _cut_in_worker(document: Document) -> Cut:
    return _workers[0].cut(document)
