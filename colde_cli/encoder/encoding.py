"""The result of encoding, and the encoder of any system as the rest of the package knows it.

An encoding may be made as far as its vectors are asked for: two versions of one text differ in few chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.layout import ModelConfig, ModelFolder, TowerConfig, TowerFolder
from colde_cli.encoder.runtime import Progress
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import DomainFields, ModelStatistics

if TYPE_CHECKING:
    from colde_cli.encoder.encoder import Encoder

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
        terms: the weighted words; None for a model without a lexicon.
        opening: the weighted words of the opening; None for a model without a lexicon.
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

    def vectors_of(self, rows: Sequence[int]) -> FloatArray:
        """[len(rows), H], the `centred_unit_vectors` of some chunks."""
        vectors: FloatArray = self.centred_unit_vectors[list(rows)]
        return vectors

    def vectors_beside(
        self, other: Encoding, rows: Sequence[int], others: Sequence[int]
    ) -> tuple[FloatArray, FloatArray]:
        """`vectors_of` some chunks of this document, and of some of another one."""
        return self.vectors_of(rows), other.vectors_of(others)


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
        """Hash of everything that decides an encoding, except the document."""

    @property
    def family(self) -> bytes:
        """Hash of the model without precision and device: vectors of one family can be compared."""

    @property
    def centre(self) -> FloatArray | None:
        """[H], subtracted from chunk vectors before they get unit length; None for a model that subtracts none."""

    @property
    def statistics(self) -> ModelStatistics | None:
        """What field profiles are blended with; None for a model without a lexicon, which has no profiles."""

    @property
    def domain_fields(self) -> DomainFields | None:
        """The statistics of the model's own domains; None for a model without them."""

    def chunk(self, document: Document) -> tuple[Chunk, ...]:
        """Cut a document into chunks."""

    def encode(self, document: Document, progress: Progress | None = None) -> Encoding:
        """Encode one document."""

    def encode_many(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Encode several documents, all scheduled together."""

    def encode_later(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Cut documents into chunks; encode them when their vectors are asked for, if the model can."""

    def encode_chunked(
        self,
        documents: Sequence[Document],
        chunked: Sequence[tuple[Chunk, ...]],
        progress: Progress | None = None,
    ) -> list[Encoding]:
        """Encode several documents whose chunks are known, all scheduled together."""

    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """Encode texts that stand alone: centred unit vectors [n, H]; zeros for a text without a token."""

    def attention(self, a: Encoding, b: Encoding) -> tuple[FloatArray, FloatArray]:
        """Attention of the chunks of A over those of B [n_a, n_b], and back [n_b, n_a]; rows sum to 1."""


class DocumentsLater:
    """Documents that are cut into chunks; each chunk is encoded once, when its vector is asked for."""

    def __init__(self, encoder: Encoder, documents: Sequence[Document], progress: Progress | None) -> None:
        self._encoder = encoder
        self._documents = documents
        self._progress = progress
        self._chunked = [encoder.chunk(document) for document in documents]
        self._vectors: dict[tuple[int, int], FloatArray] = {}
        self._encodings: list[Encoding] | None = None

    def encodings(self) -> list[Encoding]:
        """The documents, in order."""
        return [EncodedLater.of(self, number) for number in range(len(self._documents))]

    def begin(self, number: int) -> dict[str, object]:
        """The fields of an encoding that need no vectors."""
        return {"document": self._documents[number], "chunks": self._chunked[number]}

    def whole(self, number: int) -> Encoding:
        """The encoding of one document. All are encoded together, which keeps every processor at work."""
        if self._encodings is None:
            places = [(each, row) for each, chunks in enumerate(self._chunked) for row in range(len(chunks))]
            self._encodings = self._encoder.assemble(self._documents, self._chunked, self._at(places))
        return self._encodings[number]

    def some(self, places: Sequence[tuple[int, int]]) -> FloatArray:
        """[len(places), H], centred unit vectors of chunks, by document and row."""
        return self._encoder.head.centred_unit_vectors(self._at(places))

    def _at(self, places: Sequence[tuple[int, int]]) -> FloatArray:
        """[len(places), H], chunk vectors by document and row; those that are new are encoded."""
        missing = [place for place in places if place not in self._vectors]
        chunks = [self._chunked[number][row] for number, row in missing]
        new = self._encoder.encode_chunks(chunks, self._progress)
        self._vectors.update(zip(missing, new, strict=True))
        return np.stack([self._vectors[place] for place in places])


_KNOWN_AT_ONCE = ("document", "chunks")
_MADE_LATER = tuple(item.name for item in fields(Encoding) if item.name not in _KNOWN_AT_ONCE)


class EncodedLater(Encoding):
    """An encoding whose vectors are made when they are asked for: all of them, or those of some chunks."""

    __slots__ = ("_documents", "_number")
    _documents: DocumentsLater
    _number: int

    def __new__(cls, *values: Any, **named: Any) -> Encoding:  # type: ignore[misc]  # noqa: ANN401 - any field
        """Make an encoding like any other: whoever names all fields (`dataclasses.replace`) has nothing to wait for."""
        return Encoding(*values, **named)

    @classmethod
    def of(cls, documents: DocumentsLater, number: int) -> EncodedLater:
        """One of several documents that are encoded together."""
        made = object.__new__(cls)
        made._fill({**documents.begin(number), "_documents": documents, "_number": number})
        return made

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of any field
        """Encode the document: Python comes here only for fields that have no value yet, and for unknown names."""
        if name not in _MADE_LATER:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        whole = self._documents.whole(self._number)
        self._fill({item: getattr(whole, item) for item in _MADE_LATER})
        return object.__getattribute__(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, tuple(getattr(self, item.name) for item in fields(Encoding))

    def vectors_of(self, rows: Sequence[int]) -> FloatArray:
        """[len(rows), H], the `centred_unit_vectors` of some chunks; no others are encoded."""
        return self._documents.some(self._places(rows))

    def vectors_beside(
        self, other: Encoding, rows: Sequence[int], others: Sequence[int]
    ) -> tuple[FloatArray, FloatArray]:
        """As of any encoding; chunks of two documents that belong together are encoded together."""
        if not (isinstance(other, EncodedLater) and other._documents is self._documents):
            return super().vectors_beside(other, rows, others)
        both = self._documents.some([*self._places(rows), *other._places(others)])
        return both[: len(rows)], both[len(rows) :]

    def _places(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        return [(self._number, row) for row in rows]

    def _fill(self, values: dict[str, object]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)
