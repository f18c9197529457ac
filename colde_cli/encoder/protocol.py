"""What a document becomes for a model: vectors of its chunks, its sections and itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.runtime import Progress
from colde_cli.scoring.calibration import Calibration
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.score import ScoringConfig

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """A document and its vectors (n chunks, s sections, H hidden size, D size of a document vector).

    Attributes:
        document: what was encoded.
        chunks: its chunks, in reading order.
        chunk_vectors: [n, H], as the chunk encoder gives them.
        centred_unit_vectors: [n, H], centred and of unit length; their dot products are the chunk scores.
        section_vectors: [s, D], unit length, each section read alone; in the order of `document.sections`.
        document_vector: [D], unit length, all chunks read as one section (CoLDE §3.3).
        terms: its words, weighed; None for a model without a lexicon.
        opening: those of its first words; None for a model without a lexicon.
        domains: [1 + K], how much it is of no kind of text that the model knows, and of each; sums to 1.
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
        """[n], the share of each chunk in the document's tokens; they sum to 1."""
        lengths = np.array([max(1, len(chunk.ids) - 2) for chunk in self.chunks], np.float32)
        shares: FloatArray = lengths / lengths.sum()
        return shares

    @property
    def tokens(self) -> int:
        """Tokens read, `[CLS]` and `[SEP]` of every chunk not counted."""
        return sum(len(chunk.ids) - 2 for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """What runs where: the `model` object of the JSON views.

    Attributes:
        name: of the model.
        precision: "int8", "fp16" or "fp32".
        device: "cpu" or "cuda:N".
        reason: why this device, in one sentence.
    """

    name: str
    precision: str
    device: str
    reason: str = ""


class EncoderConfig(ScoringConfig, Protocol):
    """What every model's configuration says."""

    @property
    def system(self) -> str:
        """The name of `colde train --system`."""

    @property
    def chunk_tokens(self) -> int:
        """Tokens of a chunk at most, specials included."""

    @property
    def backbone_name(self) -> str:
        """Where the backbone came from; "" where there is none."""

    def fitted(self, threshold: float, calibration: Calibration) -> EncoderConfig:
        """The same with another threshold and calibration."""

    def to_json(self) -> str:
        """The text of `config.json`."""


class Folder(Protocol):
    """A model on disk."""

    @property
    def path(self) -> Path:
        """The folder."""

    @property
    def name(self) -> str:
        """By which `--model` finds it."""

    def file(self, relative: str) -> Path:
        """Path of one of its files."""


class DocumentEncoder(Protocol):
    """Encodes documents with one model: `Encoder` for CoLDE, `TowerEncoder` for the others."""

    info: RuntimeInfo
    cache: Cache | None

    @property
    def folder(self) -> Folder:
        """The model on disk."""

    @property
    def config(self) -> EncoderConfig:
        """Its configuration."""

    @property
    def identity(self) -> bytes:
        """Hash of all that decides an encoding, beside the document."""

    def chunk(self, document: Document) -> tuple[Chunk, ...]:
        """The chunks of a document."""

    def encode(self, document: Document, progress: Progress | None = None) -> Encoding:
        """Encode one document."""

    def encode_many(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Encode documents, all scheduled together."""

    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """Encode texts that stand alone: centred unit vectors [n, H]; zeros for a text without a token."""

    def attention(self, a: Encoding, b: Encoding) -> tuple[FloatArray, FloatArray]:
        """Of the chunks of A over those of B [n_a, n_b], and back [n_b, n_a]; rows sum to 1."""
