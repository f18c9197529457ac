"""The document head for long documents, in blocks of chunks, with NumPy.

The graph of the head keeps the attention of every chunk to every chunk in memory: 30 bytes a pair, 12 GB of a document
of 20,000 chunks. Here some chunks attend at a time; the result is that of the graph but for rounding. The weights are
those of `model.safetensors`, to which the graph refers as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import ModelConfig, stored_entries
from colde_cli.errors import ModelError
from colde_cli.scoring.score_table import row_blocks
from colde_cli.scoring.whitening import unit_rows

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

_CELLS = 1 << 22
"""Pairs of chunks whose attention is in memory together."""
_PREFIX = "head."
_TYPES = {"F16": np.float16, "F32": np.float32}
_EPSILON = 1e-5  # of PyTorch's LayerNorm


class LongHead:
    """Chunk-wise attention, Bi-LSTM and projection (CoLDE §3.2), as `learning.colde.DocumentHead` defines them."""

    def __init__(self, config: ModelConfig, weights: Sequence[Path]) -> None:
        """Read the weights of the head from safetensors files.

        Raises:
            ModelError: a file is damaged.
        """
        self._config, self._held = config, dict[str, FloatArray]()
        for path in weights:
            try:
                self._held |= _tensors(path)
            except (OSError, ValueError, LookupError, TypeError) as error:
                raise ModelError(f"{path} is damaged; fetch the model again.") from error

    def vector(self, vectors: FloatArray, chunk_ids: IntArray) -> FloatArray:
        """The vector [D] of a document, at unit length, given its chunk vectors [n, H] and their numbers [n].

        Raises:
            ModelError: a weight is missing, or of another shape.
        """
        try:
            rows = self._positioned(vectors, chunk_ids)
            if self._config.lstm_hidden:
                if self._config.attention_heads:
                    rows = self._attended(rows)
                summary = np.concatenate([self._last_state("onward", rows), self._last_state("backward_", rows[::-1])])
            else:
                summary = rows.mean(0)
            vector = _unit(self._linear("projection.1", summary))
            if self._config.residual == "mean":
                mapped = self._linear("residual.map", _unit((vectors - self._held["center"]).mean(0)))
                share = self._config.residual_share
                vector = np.concatenate([_unit(mapped) * np.float32(sqrt(1 - share)), vector * np.float32(sqrt(share))])
        except (KeyError, ValueError) as error:
            raise ModelError(
                "The weights of the model's head do not fit config.json; fetch the model again."
            ) from error
        return vector

    def attention(self, own: FloatArray, other: FloatArray) -> Iterator[FloatArray]:
        """Attention of chunks [n, H] over those of another document [m, H], mean over heads: blocks [r, m] of rows."""
        if not (self._config.lstm_hidden and self._config.attention_heads):
            for start, stop in row_blocks(len(own), len(other), _CELLS):
                yield np.full((stop - start, len(other)), 1 / len(other), np.float32)
            return
        rows, others = (self._positioned(side, np.arange(len(side))) for side in (own, other))
        query, key = self._linear("attention.query", rows), self._linear("attention.key", others)
        for start, stop in row_blocks(len(own), len(other), _CELLS):
            heads = list(self._weights(query[start:stop], key))
            yield sum(heads[1:], heads[0]) / np.float32(len(heads))

    def _positioned(self, vectors: FloatArray, chunk_ids: IntArray) -> FloatArray:
        if "chunk_embedding.weight" not in self._held:
            return vectors
        chunks = self._held["chunk_embedding.weight"]
        placed: FloatArray = (
            vectors + self._held["section_embedding.weight"][0] + chunks[chunk_ids.clip(0, len(chunks) - 1)]
        )
        return placed

    def _linear(self, name: str, rows: FloatArray) -> FloatArray:
        product: FloatArray = rows @ self._held[f"{name}.weight"].T + self._held[f"{name}.bias"]
        return product

    def _weights(self, query: FloatArray, key: FloatArray) -> Iterator[FloatArray]:
        """The attention of some chunks, [r, n], one head after the other."""
        size = query.shape[1] // self._config.attention_heads
        for first in range(0, query.shape[1], size):
            scores = query[:, first : first + size] @ key[:, first : first + size].T
            scores /= np.float32(sqrt(size))
            scores -= scores.max(1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(1, keepdims=True)
            yield scores

    def _attended(self, rows: FloatArray) -> FloatArray:
        query, key, value = (self._linear(f"attention.{name}", rows) for name in ("query", "key", "value"))
        attended = np.empty_like(value)
        size = value.shape[1] // self._config.attention_heads
        for start, stop in row_blocks(len(rows), len(rows), _CELLS):
            for head, weights in enumerate(self._weights(query[start:stop], key)):
                columns = slice(head * size, (head + 1) * size)
                attended[start:stop, columns] = weights @ value[:, columns]
        both = rows + self._linear("attention.output", attended)
        both -= both.mean(1, keepdims=True)
        both /= np.sqrt(both.var(1, keepdims=True) + np.float32(_EPSILON))
        normed: FloatArray = both * self._held["attention.norm.weight"] + self._held["attention.norm.bias"]
        return normed

    def _last_state(self, direction: str, rows: FloatArray) -> FloatArray:
        """The last state [hidden] of an LSTM over rows [n, H]; PyTorch stacks input, forget, cell and output."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights, recurrent, *biases = (self._held[f"lstm.{direction}.{name}_l0"] for name in names)
        inputs, size = rows @ weights.T + (biases[0] + biases[1]), self._config.lstm_hidden
        state = cell = np.zeros(size, np.float32)
        for row in inputs:
            gates = row + recurrent @ state
            opened = 1 / (1 + np.exp(-gates))
            cell = opened[size : 2 * size] * cell + opened[:size] * np.tanh(gates[2 * size : 3 * size])
            state = opened[3 * size :] * np.tanh(cell)
        return state


def _unit(vector: FloatArray) -> FloatArray:
    unit: FloatArray = unit_rows(vector[None])[0]
    return unit


def _tensors(path: Path) -> Mapping[str, FloatArray]:
    """The tensors of the head in a safetensors file, by their names in the head."""
    start, entries = stored_entries(path)
    held = {}
    with path.open("rb") as file:
        for name, entry in entries.items():
            if name.startswith(_PREFIX) and entry["dtype"] in _TYPES:
                first, end = entry["data_offsets"]
                file.seek(start + first)
                values = np.frombuffer(file.read(end - first), _TYPES[entry["dtype"]])
                held[name.removeprefix(_PREFIX)] = values.reshape(entry["shape"]).astype(np.float32)
    return held
