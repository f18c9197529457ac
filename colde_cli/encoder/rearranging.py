"""Leave out, repeat or reorder the chunks of an encoding.

Only the document head runs again, so that it takes milliseconds to find what a document would score without a chunk,
in another order, or elongated. The original encoding is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

Numbering = Literal["kept", "anew"]
"""The number q of a chunk for the model: "kept" from its document, or counted "anew" in the new order."""


def rearranged(
    encoding: Encoding, rows: Sequence[int], encoder: Encoder, numbering: Numbering = "anew"
) -> Encoding:
    """Encode a document as if it had the chunks `rows`, in that order.

    Section vectors stay those of the whole document. With `chunk_position="input"` a chunk vector depends on q, so
    `numbering="anew"` encodes the chunks again.

    Args:
        encoding: of the whole document.
        rows: indices of its chunks, at least one; they may repeat.
        encoder: the encoder that made `encoding`.
        numbering: see `Numbering`.

    Raises:
        ValueError: no rows.
    """
    order = np.asarray(rows, np.int64)
    if not len(order):
        raise ValueError("a document needs at least one chunk")
    numbers = order if numbering == "kept" else np.arange(len(order))
    chunks = tuple(
        replace(encoding.chunks[row], index=int(number)) for row, number in zip(order, numbers, strict=True)
    )
    vectors = _vectors(encoding, chunks, order, encoder)
    output = encoder.head.run([vectors], chunk_ids=[numbers])
    # The opening follows the numbers q, as everything does that depends on the order of chunks.
    terms, opening = encoder.words(sorted(chunks, key=lambda chunk: chunk.index))
    return replace(
        encoding,
        chunks=chunks,
        chunk_vectors=vectors,
        centred_unit_vectors=output.centred_unit_vectors[0],
        document_vector=output.vectors[0],
        terms=terms,
        opening=opening,
        domains=encoder.domains(vectors),
    )


def without(encoding: Encoding, row: int, encoder: Encoder) -> Encoding:
    """Encode a document without one of its chunks.

    Raises:
        ValueError: it is the only chunk.
    """
    return rearranged(encoding, [other for other in range(len(encoding.chunks)) if other != row], encoder)


def _vectors(encoding: Encoding, chunks: tuple[Chunk, ...], order: IntArray, encoder: Encoder) -> FloatArray:
    moved = any(chunk.index != row for chunk, row in zip(chunks, order, strict=True))
    if moved and encoder.config.chunk_position == "input":
        return encoder.encode_chunks(chunks)
    return encoding.chunk_vectors[order]
