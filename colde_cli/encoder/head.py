"""Run the document head: from chunk vectors to section vectors, document vectors and attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.runtime import Graph, check_finite

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

# Chunks of one call: enough to pay for the call, few enough that attention [rows, C, C] stays small.
_CALL_CHUNKS = 512
# Pairs of chunks that take as much time and memory as a token of a chunk encoder may.
_PAIRS = 500


@dataclass(frozen=True, slots=True, eq=False)
class HeadOutput:
    """The output of the head for S groups of chunks.

    Attributes:
        vectors: [S, D], unit length.
        attention: for each group [n_i, n_partner(i)], mean over heads; rows sum to 1.
        centred_unit_vectors: for each group [n_i, H], centred chunk vectors of unit length.
    """

    vectors: FloatArray
    attention: tuple[FloatArray, ...]
    centred_unit_vectors: tuple[FloatArray, ...]


class HeadRunner:
    """Chunk-wise attention with a partner, Bi-LSTM, projection (CoLDE §3.2), as an ONNX graph."""

    def __init__(self, graph: Graph, max_chunks: int) -> None:
        self._graph = graph
        self._max_chunks = max_chunks

    def run(
        self,
        groups: Sequence[FloatArray],
        partners: Sequence[int] | None = None,
        chunk_ids: Sequence[IntArray] | None = None,
    ) -> HeadOutput:
        """Run the head over groups of chunk vectors; a group is a section or a whole document.

        Without partners, groups run in batches of equal length, which bounds memory. The output for a group depends
        neither on other groups nor on padding.

        Args:
            groups: [n_i, H] each, n_i at least 1.
            partners: for each group, the index of the group whose chunks are keys and values; None for itself.
            chunk_ids: for each group q of the paper, [n_i]; None for 0, 1, ... Larger numbers than the embedding has
                rows are clamped to its last row.

        Raises:
            ModelError: the graph fails, or gives what no document head gives.
        """
        numbers = [np.arange(len(group)) for group in groups] if chunk_ids is None else chunk_ids
        if partners is not None:
            return self._run_together(groups, partners, numbers)
        parts: dict[int, HeadOutput] = {}
        for indices in _batches([len(group) for group in groups]):
            chosen, named = [groups[index] for index in indices], [numbers[index] for index in indices]
            output = self._run_together(chosen, range(len(indices)), named)
            for row, index in enumerate(indices):
                one = output.vectors[row : row + 1]
                parts[index] = HeadOutput(one, (output.attention[row],), (output.centred_unit_vectors[row],))
        listed = [parts[index] for index in range(len(groups))]
        return HeadOutput(
            np.concatenate([part.vectors for part in listed]),
            tuple(part.attention[0] for part in listed),
            tuple(part.centred_unit_vectors[0] for part in listed),
        )

    def centred_unit_vectors(self, vectors: FloatArray) -> FloatArray:
        """Chunk vectors [n, H], n at least 1, centred and of unit length."""
        return np.concatenate(self.run([vector[None] for vector in vectors]).centred_unit_vectors)

    def centre(self, size: int) -> FloatArray:
        """The vector c [H] that the graph subtracts from chunk vectors; `size` is H.

        It is not an output, but two answers give it away. That to the vector 0 is -c / |c|. That to a unit vector w
        at right angles to c is (w - c) / sqrt(1 + |c|²), whose product with w gives |c|.
        """
        direction = -self.centred_unit_vectors(np.zeros((1, size), np.float32))[0].astype(np.float64)
        if not direction.any():
            return np.zeros(size, np.float32)
        across = -direction * direction[direction.argmin()]
        across[direction.argmin()] += 1
        across /= np.linalg.norm(across)
        product = float(self.centred_unit_vectors(across[None].astype(np.float32))[0] @ across)
        length = np.sqrt(max(0.0, 1 / product**2 - 1))
        return np.asarray(length * direction, np.float32)

    def _run_together(
        self, groups: Sequence[FloatArray], partners: Sequence[int], chunk_ids: Sequence[IntArray]
    ) -> HeadOutput:
        lengths = np.array([len(group) for group in groups], np.int64)
        count, width = len(groups), int(lengths.max())
        rows = np.zeros((count, width, groups[0].shape[1]), np.float32)
        positions = np.zeros((count, width), np.int64)
        for row, position, group, ids in zip(rows, positions, groups, chunk_ids, strict=True):
            row[: len(group)] = group
            position[: len(group)] = np.minimum(ids, self._max_chunks - 1)
        feed: dict[str, NDArray[Any]] = {
            "chunk_vectors": rows,
            "lengths": lengths,
            "partners": np.array(partners, np.int64),
            "section_ids": np.zeros(count, np.int64),
            "chunk_ids": positions,
        }
        shapes = {
            "vectors": (count, None),
            "attention": (count, width, width),
            "directions": (count, width, rows.shape[2]),
        }
        vectors, attention, centred_unit_vectors = self._graph.run(feed, shapes, tokens=count * width * width // _PAIRS)
        pairs = list(zip(lengths, lengths[list(partners)], strict=True))
        cropped = tuple(weights[:own, :other] for weights, (own, other) in zip(attention, pairs, strict=True))
        check_finite(cropped, self._graph.path)
        return HeadOutput(
            vectors, cropped, tuple(values[:own] for values, own in zip(centred_unit_vectors, lengths, strict=True))
        )


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Batch the indices of `lengths` by equal length.

    Papers have many sections of one chunk and a few long ones. Padding them together made the head 3 to 12 times
    slower than one call for each length.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        length = lengths[index]
        last = batches[-1] if batches else []
        if last and lengths[last[0]] == length and (len(last) + 1) * length <= _CALL_CHUNKS:
            last.append(index)
        else:
            batches.append([index])
    return batches
