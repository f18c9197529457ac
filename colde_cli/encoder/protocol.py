"""What the rest of the house asks of a model, whichever system it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.layout import Calibration, Combination
from colde_cli.encoder.runtime import Progress

FloatArray = NDArray[np.float32]


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


class EncoderConfig(Protocol):
    """What every model's configuration says."""

    @property
    def system(self) -> str:
        """The name of `colde train --system`."""

    @property
    def threshold(self) -> float | None:
        """Document score at which the verdict flips."""

    @property
    def calibration(self) -> Calibration | None:
        """Of the document score."""

    @property
    def combination(self) -> Combination | None:
        """Of what the document score is made; None for the cosine of the document vectors alone."""

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

    def attention(self, a: Encoding, b: Encoding) -> tuple[FloatArray, FloatArray]:
        """Of the chunks of A over those of B [n_a, n_b], and back [n_b, n_a]; rows sum to 1."""
