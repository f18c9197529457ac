"""The result of encoding: vectors of a document's chunks, its sections and the whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document
from colde_cli.scoring.lexicon import Terms

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """A document and its vectors (n chunks, s sections, H hidden size, D size of a document vector).

    Attributes:
        chunks: in reading order.
        chunk_vectors: [n, H], the output of the chunk encoder.
        centred_unit_vectors: [n, H], the chunk vectors minus the model's centre, at unit length; their dot products
            are the chunk scores.
        section_vectors: [s, D], unit length, in the order of `document.sections`; each section is read alone.
        document_vector: [D], unit length, all chunks read as one section (CoLDE §3.3).
        terms: the weighed words; None for a model without a lexicon.
        opening: the weighed words of the opening; None for a model without a lexicon.
        domains: [1 + K], the shares of "other" and of each domain; sums to 1.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    chunk_vectors: FloatArray
    centred_unit_vectors: FloatArray
    section_vectors: FloatArray
    document_vector: FloatArray
    terms: Terms | None = None
    opening: Terms | None = None
    domains: FloatArray = field(default_factory=lambda: np.ones(1, np.float32))

    @property
    def shares(self) -> FloatArray:
        """[n], the share of each chunk in the document's tokens; sums to 1."""
        lengths = np.array([max(1, len(chunk.ids) - 2) for chunk in self.chunks], np.float32)
        shares: FloatArray = lengths / lengths.sum()
        return shares

    @property
    def tokens(self) -> int:
        """Number of tokens, without `[CLS]` and `[SEP]`."""
        return sum(len(chunk.ids) - 2 for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Which model runs where: the `model` object of the JSON views.

    Attributes:
        precision: "int8", "fp16" or "fp32".
        device: "cpu" or "cuda:N".
        reason: why this device, in one sentence.
    """

    name: str
    precision: str
    device: str
    reason: str = ""
