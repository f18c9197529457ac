"""What a document becomes for a model: vectors of its chunks, its sections and itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.lexicon import Terms

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """A document and its vectors (n chunks, s sections, H hidden size, D size of a document vector).

    Attributes:
        document: what was encoded.
        chunks: its chunks, in reading order.
        chunk_vectors: [n, H], as the chunk encoder gives them.
        directions: [n, H], centred and of unit length; their dot products are the chunk scores.
        section_vectors: [s, D], unit length, each section read alone; in the order of `document.sections`.
        document_vector: [D], unit length, all chunks read as one section (CoLDE §3.3).
        terms: its words, weighed; None for a model without a lexicon.
        opening: those of its first words; None for a model without a lexicon.
        kinds: [1 + K], how much it is of no kind of text that the model knows, and of each; sums to 1.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    chunk_vectors: FloatArray
    directions: FloatArray
    section_vectors: FloatArray
    document_vector: FloatArray
    terms: Terms | None = None
    opening: Terms | None = None
    kinds: FloatArray = field(default_factory=lambda: np.ones(1, np.float32))

    @property
    def shares(self) -> FloatArray:
        """[n], the share of each chunk in the document's tokens; they sum to 1."""
        lengths = np.array([max(1, len(chunk.ids) - 2) for chunk in self.chunks], np.float32)
        shares: FloatArray = lengths / lengths.sum()
        return shares

    @property
    def tokens(self) -> int:
        """Tokens read, `[CLS]` and `[SEP]` of every chunk not counted."""
        return sum(len(chunk.ids) - 2 for chunk in self.chunks)
