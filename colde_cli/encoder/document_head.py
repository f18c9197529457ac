"""The document head of a CoLDE model (CoLDE §3.2): its vectors z, and chunk-wise attention.

Most models give z no weight, and attention is shown only on demand: both are opened when they are first asked for. The
graph makes z. It keeps the attention of every chunk to every chunk in memory, 30 bytes a pair, so that a long text is
read in stretches. Attention between two documents is made here, some chunks at a time, from the weights to which the
graph refers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import HEAD_GRAPH, ModelFolder, model_tensors
from colde_cli.encoder.runtime import Graph, head_contract, open_session
from colde_cli.errors import ModelError
from colde_cli.scoring.score_table import row_blocks
from colde_cli.scoring.whitening import unit_rows

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

_STRETCH = 2048
"""Chunks whose attention to each other is in memory together, some 125 MB."""
_PAIRS = 500
"""Pairs of chunks that take as much time and memory as a token of a chunk encoder may."""


class Head:
    """The document head of one model. Threads may share it."""

    def __init__(self, folder: ModelFolder, cuda: int | None = None) -> None:
        """Open nothing yet; `cuda` is the number of the device that runs the graph, None for the CPU."""
        self._folder, self._cuda = folder, cuda

    @cached_property
    def _graph(self) -> Graph:
        contract = head_contract(self._folder.config.hidden_size)
        return open_session(self._folder.file(HEAD_GRAPH), contract, self._cuda, keep=False)

    @cached_property
    def _weights(self) -> dict[str, FloatArray]:
        return model_tensors(self._folder.path, "head.")

    def vector(self, vectors: FloatArray, numbers: IntArray | None = None) -> FloatArray:
        """Z of a section or document, [D], at unit length.

        That of a text of more than `_STRETCH` chunks is the mean of those of stretches of equal length.

        Args:
            vectors: of its chunks, [n, H], n at least 1.
            numbers: q of the paper, [n]; None for 0, 1, ... Larger numbers than the embedding has rows are clamped to
                its last row.

        Raises:
            ModelError: the graph is damaged, fails, or gives what no document head gives.
        """
        parts = ceil(len(vectors) / _STRETCH)
        counted = np.arange(len(vectors)) if numbers is None else numbers
        stretches = zip(np.array_split(vectors, parts), np.array_split(counted, parts), strict=True)
        found = np.concatenate([self._run(*stretch) for stretch in stretches])
        vector: FloatArray = found[0] if parts == 1 else unit_rows(found.sum(0, keepdims=True))[0]
        return vector

    def _run(self, vectors: FloatArray, numbers: IntArray) -> FloatArray:
        """Z of one text, [1, D]."""
        feed: dict[str, NDArray[Any]] = {
            "chunk_vectors": vectors[None],
            "lengths": np.array([len(vectors)], np.int64),
            "partners": np.zeros(1, np.int64),
            "section_ids": np.zeros(1, np.int64),
            "chunk_ids": np.minimum(numbers, self._folder.config.max_chunks - 1)[None],
        }
        return self._graph.run(feed, {"vectors": (1, None)}, tokens=len(vectors) ** 2 // _PAIRS)[0]

    def attention(self, own: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
        """Attention of chunks [n, H] over those of another document [m, H], mean over heads: blocks [r, m] of rows.

        Raises:
            ModelError: the weights are damaged, or do not fit the configuration.
        """
        blocks, config = row_blocks(len(own), len(other)), self._folder.config
        if not (config.lstm_hidden and config.attention_heads):
            for start, stop in blocks:
                yield np.full((stop - start, len(other)), 1 / len(other), np.float32)
            return
        try:
            query, key = self._projected("query", own), self._projected("key", other)
            for start, stop in blocks:
                heads = list(self._of_heads(query[start:stop], key))
                yield sum(heads[1:], heads[0]) / np.float32(len(heads))
        except (KeyError, ValueError) as error:
            raise ModelError(
                "The weights of the model's head do not fit config.json; fetch the model again."
            ) from error

    def _projected(self, name: str, vectors: FloatArray) -> FloatArray:
        if "chunk_embedding.weight" in self._weights:
            places = np.minimum(np.arange(len(vectors)), self._folder.config.max_chunks - 1)
            vectors = vectors + self._weights["section_embedding.weight"][0]
            vectors += self._weights["chunk_embedding.weight"][places]
        weight, bias = (self._weights[f"attention.{name}.{kind}"] for kind in ("weight", "bias"))
        product: FloatArray = vectors @ weight.T + bias
        return product

    def _of_heads(self, query: FloatArray, key: FloatArray) -> Iterator[FloatArray]:
        """The attention of some chunks, [r, m], one head after the other."""
        size = query.shape[1] // self._folder.config.attention_heads
        for first in range(0, query.shape[1], size):
            scores = query[:, first : first + size] @ key[:, first : first + size].T
            scores /= np.float32(sqrt(size))
            scores -= scores.max(1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(1, keepdims=True)
            yield scores
