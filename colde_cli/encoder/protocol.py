"""The encoder of any system, as the rest of the package knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoding import Encoding, RuntimeInfo
from colde_cli.encoder.layout import ModelConfig, ModelFolder
from colde_cli.encoder.runtime import Progress
from colde_cli.encoder.towers.layout import TowerConfig, TowerFolder
from colde_cli.scoring.profile import ModelStatistics

FloatArray = NDArray[np.float32]
EncoderConfig = ModelConfig | TowerConfig


class DocumentEncoder(Protocol):
    """Encodes documents with one model: `Encoder` for CoLDE, `TowerEncoder` for the other systems."""

    info: RuntimeInfo
    cache: Cache | None

    @property
    def folder(self) -> ModelFolder | TowerFolder:
        """The model on disk."""

    @property
    def config(self) -> EncoderConfig:
        """The configuration of the model."""

    @property
    def identity(self) -> bytes:
        """Hash of all that decides an encoding, beside the document."""

    @property
    def statistics(self) -> ModelStatistics | None:
        """What field profiles are blended with; None for a model without a lexicon, which has no profiles."""

    def chunk(self, document: Document) -> tuple[Chunk, ...]:
        """Cut a document into chunks."""

    def encode(self, document: Document, progress: Progress | None = None) -> Encoding:
        """Encode one document."""

    def encode_many(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Encode several documents, all scheduled together."""

    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """Encode texts that stand alone: centred unit vectors [n, H]; zeros for a text without a token."""

    def attention(self, a: Encoding, b: Encoding) -> tuple[FloatArray, FloatArray]:
        """Attention of the chunks of A over those of B [n_a, n_b], and back [n_b, n_a]; rows sum to 1."""
