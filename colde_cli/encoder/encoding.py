"""The result of encoding, and the encoder of any system as the rest of the package knows it.

The vectors of an encoding may be made as far as they are asked for: two versions of one text differ in few chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.chunking import Chunker
from colde_cli.documents.document import Chunk, Document
from colde_cli.encoder.layout import ModelConfig, ModelFolder, SystemConfig, SystemFolder
from colde_cli.encoder.runtime import DevicePlan, Progress
from colde_cli.encoder.vector_cache import Cache, digest, file_digest
from colde_cli.errors import LimitError, ModelError, NoTextError
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import DomainFields, ModelStatistics
from colde_cli.scoring.score_table import ScoreTable

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class OwnVectors:
    """The vectors that a model makes of whole texts: z of CoLDE's document head, or those of another system.

    Attributes:
        document: [D], unit length, all chunks read as one section (CoLDE §3.3).
        sections: [s, D], unit length, in the order of `document.sections`; each section is read alone.
    """

    document: FloatArray
    sections: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """What a model makes of a document (n chunks, H hidden size, K domains).

    Attributes:
        chunk_vectors: [n, H], the output of the chunk encoder.
        centred_unit_vectors: [n, H], the chunk vectors minus the model's centre, at unit length; their dot products
            are the chunk scores.
        own: the model's own vectors, or what makes them, where no score needs them (`scoring.config.scores_own`); None
            of a document from a cache or an index that keeps none.
        terms: the weighted words; None for a model without a lexicon.
        opening: the weighted words of the opening; None for a model without a lexicon.
        domains: [1 + K], the shares of "other" and of each domain; sums to 1.
    """

    chunk_vectors: FloatArray
    centred_unit_vectors: FloatArray
    own: OwnVectors | Callable[[], OwnVectors] | None
    terms: Terms | None = None
    opening: Terms | None = None
    domains: FloatArray = field(default_factory=lambda: np.ones(1, np.float32))


class Batch:
    """Documents that are cut into chunks; each chunk is encoded once, when its vector is asked for."""

    def __init__(
        self,
        documents: Sequence[tuple[Document, tuple[Chunk, ...]]],
        encode: Callable[[list[Chunk]], FloatArray],
        centre: Callable[[FloatArray], FloatArray],
        finish: Callable[[Document, tuple[Chunk, ...], FloatArray], Vectors],
    ) -> None:
        """Encode nothing yet.

        Args:
            encode: makes chunk vectors [n, H] of n chunks.
            centre: makes centred unit vectors [n, H] of chunk vectors.
        """
        self._documents, self._encode, self._centre, self._finish = documents, encode, centre, finish
        self._encoded: dict[tuple[int, int], FloatArray] = {}
        self._whole: dict[int, Vectors] = {}

    def encodings(self) -> list[Encoding]:
        """The documents, in order."""
        return [
            Encoding(document, chunks, VectorsLater(self, number))
            for number, (document, chunks) in enumerate(self._documents)
        ]

    def warm(self, places: Iterable[tuple[int, int]]) -> None:
        """Encode chunks, by document and row, as far as they are new."""
        missing = [place for place in places if place not in self._encoded]
        new = self._encode([self._documents[number][1][row] for number, row in missing])
        self._encoded.update(zip(missing, new, strict=True))

    def whole(self, number: int) -> Vectors:
        """The vectors of one document. The chunks of all are encoded together: every processor stays at work."""
        if number not in self._whole:
            counts = [len(chunks) for _, chunks in self._documents]
            self.warm((each, row) for each, count in enumerate(counts) for row in range(count))
            vectors = np.stack([self._encoded[number, row] for row in range(counts[number])])
            self._whole[number] = self._finish(*self._documents[number], vectors)
        return self._whole[number]

    def some(self, number: int, rows: Sequence[int]) -> FloatArray:
        """[len(rows), H], centred unit vectors of some chunks of a document; no others are encoded."""
        self.warm((number, row) for row in rows)
        return self._centre(np.stack([self._encoded[number, row] for row in rows]))


@dataclass(frozen=True, slots=True, eq=False)
class VectorsLater:
    """The vectors of document `number` of a batch, made when they are asked for."""

    batch: Batch
    number: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Encoding:
    """A document, its n chunks in reading order, and its vectors: made, or to be made when they are asked for."""

    document: Document
    chunks: tuple[Chunk, ...]
    source: Vectors | VectorsLater

    def __repr__(self) -> str:
        return f"Encoding({self.document!r}, chunks={len(self.chunks)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (self.document, self.chunks, replace(self.vectors, own=self.own))

    @property
    def vectors(self) -> Vectors:
        """All vectors; encodes what is missing."""
        source = self.source
        return source if isinstance(source, Vectors) else source.batch.whole(source.number)

    @property
    def chunk_vectors(self) -> FloatArray:
        """[n, H], see `Vectors`."""
        return self.vectors.chunk_vectors

    @property
    def centred_unit_vectors(self) -> FloatArray:
        """[n, H], see `Vectors`."""
        return self.vectors.centred_unit_vectors

    @property
    def own(self) -> OwnVectors:
        """The model's own vectors, made now where no score needs them.

        Raises:
            ModelError: the encoding comes from a cache or an index that keeps none, or the model is damaged.
        """
        own = self.vectors.own
        if own is None:
            raise ModelError(
                f"No vector of {self.document.path or self.document.title} as a whole is kept; encode it anew."
            )
        return own() if callable(own) else own

    @property
    def kept_own(self) -> OwnVectors | None:
        """The model's own vectors as far as a score needs them; what keeps an encoding keeps these."""
        own = self.vectors.own
        return own if isinstance(own, OwnVectors) else None

    @property
    def section_vectors(self) -> FloatArray:
        """[s, D], see `OwnVectors`."""
        return self.own.sections

    @property
    def document_vector(self) -> FloatArray:
        """[D], see `OwnVectors`."""
        return self.own.document

    @property
    def terms(self) -> Terms | None:
        """The weighted words; None for a model without a lexicon."""
        return self.vectors.terms

    @property
    def opening(self) -> Terms | None:
        """The weighted words of the opening; None for a model without a lexicon."""
        return self.vectors.opening

    @property
    def domains(self) -> FloatArray:
        """[1 + K], see `Vectors`."""
        return self.vectors.domains

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
        """[len(rows), H], the `centred_unit_vectors` of some chunks; no others are encoded."""
        source = self.source
        if isinstance(source, VectorsLater):
            return source.batch.some(source.number, rows)
        vectors: FloatArray = source.centred_unit_vectors[list(rows)]
        return vectors


def unencoded(document: Document) -> Encoding:
    """A document without text, such as a scan, which no model can encode."""
    nothing = np.zeros((0, 1), np.float32)
    return Encoding(document, (), Vectors(nothing, nothing, OwnVectors(np.zeros(1, np.float32), nothing)))


def warm(*wanted: tuple[Encoding, Iterable[int]]) -> None:
    """Encode chunks of encodings, by row: those of documents that belong together in one go."""
    places: defaultdict[Batch, list[tuple[int, int]]] = defaultdict(list)
    for encoding, rows in wanted:
        if isinstance(source := encoding.source, VectorsLater):
            places[source.batch] += [(source.number, row) for row in rows]
    for batch, chosen in places.items():
        batch.warm(chosen)


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Which model runs where: the `model` object of the JSON views.

    Attributes:
        precision: "int8", "fp16" or "fp32".
        device: "cpu" or "cuda:N".
        reason: why this device, in one sentence.
        warning: that a graphics card stands idle, and why; "" if none does.
    """

    name: str
    precision: str
    device: str
    reason: str = ""
    warning: str = ""


EncoderConfig = ModelConfig | SystemConfig

MAX_CHUNKS = 20_000
"""Chunks of one document; 500 pages have 1,000. What grows with the pairs of chunks, or of sections, is made in
blocks."""

_CHARACTERS = 8
"""Characters of a token from which a text is refused before any token is made; English has 4 to 5."""


class DocumentEncoder(ABC):
    """Encodes documents with one model: `Encoder` for CoLDE, `SystemEncoder` for the other systems.

    Attributes:
        folder: the model on disk; `config` is its configuration.
        cache: keeps vectors between runs; None keeps none.
    """

    folder: ModelFolder | SystemFolder
    config: EncoderConfig

    def __init__(self, plan: DevicePlan, name: str, graph: Path, cache: Cache | None) -> None:
        self.info = RuntimeInfo(name, plan.precision, plan.device, plan.reason, plan.warning)
        self.cache = cache
        self._plan, self._graph = plan, graph

    @cached_property
    def fingerprint(self) -> bytes:
        """Hash of all that decides the vector of given tokens: the graph, and the device that rounds."""
        return digest(self._graph_digest(), self._plan.device.partition(":")[0].encode())

    def _graph_digest(self) -> bytes:
        return file_digest(self._graph)

    @property
    def identity(self) -> bytes:
        """Hash of everything that decides an encoding, except the document."""
        return digest(self.family, self.fingerprint)

    @property
    @abstractmethod
    def family(self) -> bytes:
        """Hash of the model without precision and device: vectors of one family can be compared."""

    @property
    def centre(self) -> FloatArray | None:
        """[H], subtracted from chunk vectors before they get unit length; None for a model that subtracts none."""
        return None

    @property
    def statistics(self) -> ModelStatistics | None:
        """What field profiles are blended with; None for a model without a lexicon, which has no profiles."""
        return None

    @property
    def domain_fields(self) -> DomainFields | None:
        """The statistics of the model's own domains; None for a model without them."""
        return None

    @abstractmethod
    def chunker(self) -> Chunker:
        """What cuts documents into chunks."""

    def chunk(self, document: Document, progress: Progress | None = None) -> tuple[Chunk, ...]:
        """Cut a document into chunks; `progress` is called with 0 now and then.

        Raises:
            NoTextError: it has no text.
            LimitError: it has too many chunks, or characters.
        """
        name = document.path or document.title
        self.check_length(len(document.text), name)
        chunks = tuple(islice(self.chunker().chunks(document, progress), MAX_CHUNKS + 1))
        if len(chunks) > MAX_CHUNKS:
            raise _too_long(name)
        if not chunks:
            raise NoTextError(f"{name} has no text to compare.")
        return chunks

    def check_length(self, characters: int, name: str) -> None:
        """Refuse a text by its length alone, before any token is made.

        Raises:
            LimitError: it has more characters than the chunks of a document ever hold.
        """
        if characters > MAX_CHUNKS * self.config.chunk_tokens * _CHARACTERS:
            raise _too_long(name)

    def encode(self, document: Document, progress: Progress | None = None) -> Encoding:
        """Encode one document.

        Raises:
            NoTextError, LimitError: as `chunk`.
        """
        return self.encode_many([document], progress)[0]

    def encode_many(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Encode several documents, all scheduled together.

        Raises:
            NoTextError, LimitError: as `chunk`.
        """
        return self.encode_chunked(documents, [self.chunk(document, progress) for document in documents], progress)

    def encode_later(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Cut documents into chunks, and encode those when their vectors are asked for, if the model can.

        Raises:
            NoTextError, LimitError: as `chunk`.
        """
        return self.encode_many(documents, progress)

    @abstractmethod
    def encode_chunked(
        self, documents: Sequence[Document], chunked: Sequence[tuple[Chunk, ...]], progress: Progress | None = None
    ) -> list[Encoding]:
        """Encode several documents whose chunks, `chunked`, are known, all scheduled together."""

    @abstractmethod
    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """Encode texts that stand alone, each by its first chunk: centred unit vectors [n, H].

        A text without a token gets zeros.
        """

    @abstractmethod
    def attention(self, a: Encoding, b: Encoding) -> tuple[ScoreTable, ScoreTable]:
        """Attention of the chunks of A over those of B [n_a, n_b], and back [n_b, n_a]; rows sum to 1."""


def _too_long(name: str) -> LimitError:
    return LimitError(
        f"{name} is too long: colde compares {MAX_CHUNKS:,} chunks of a document at most, and it has more; split it, or"
        " leave out sections."
    )
