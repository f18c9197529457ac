"""Encodings whose chunks are left out, repeated or put in another order.

Chunk vectors are kept and only the document head is run again, which answers in milliseconds what a document would
score without a passage, in another order, or elongated. All this is pure in `Encoding`: nothing is changed in place.
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
"""Which number q a chunk has for the model: the one it had in its document, or that of its new place."""


def rearranged(
    encoding: Encoding, rows: Sequence[int], encoder: Encoder, numbering: Numbering = "anew"
) -> Encoding:
    """The encoding with chunks `rows`, in that order, in the place of all.

    Vectors of sections stay those of the whole document. Models with `chunk_position="input"` read where a chunk
    stands, so that `numbering="anew"` encodes their chunks again.

    Args:
        encoding: of the whole document.
        rows: indices of its chunks, at least one; they may repeat.
        encoder: what encoded it.
        numbering: "kept" leaves every chunk its number q; "anew" counts 0, 1, ... in the new order.

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
    # What a document opens with goes by the numbers of its chunks, as everything does that knows of their order.
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
    """The encoding with one chunk occluded: what the document would be had it not been there.

    Raises:
        ValueError: it is the only chunk.
    """
    return rearranged(encoding, [other for other in range(len(encoding.chunks)) if other != row], encoder)


def _vectors(encoding: Encoding, chunks: tuple[Chunk, ...], order: IntArray, encoder: Encoder) -> FloatArray:
    moved = any(chunk.index != row for chunk, row in zip(chunks, order, strict=True))
    if moved and encoder.config.chunk_position == "input":
        return encoder.encode_chunks(chunks)
    return encoding.chunk_vectors[order]
