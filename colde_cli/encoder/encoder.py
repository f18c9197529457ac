"""Encode documents with CoLDE: tokenizer, chunk encoder and document head of one model folder.

`rearranged` encodes a document as if its chunks were left out, repeated or reordered. Only the document head runs
again, which takes milliseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.chunking import Chunker, rows_of_sections
from colde_cli.documents.document import Chunk, Document
from colde_cli.documents.selection import one_or_more
from colde_cli.documents.stages import stage
from colde_cli.encoder.document_head import Head
from colde_cli.encoder.encoding import Batch, DocumentEncoder, Encoding, OwnVectors, Vectors
from colde_cli.encoder.layout import (
    DOMAINS,
    ENCODER_GRAPHS,
    FIELDS,
    HEAD_GRAPH,
    LEXICON,
    TOKENIZER,
    ModelConfig,
    ModelFolder,
    model_tensors,
    open_folder,
    weights_file,
)
from colde_cli.encoder.runtime import (
    ChunkRunner,
    DevicePlan,
    Progress,
    encoder_contract,
    open_session,
    plan_for,
)
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.encoder.vector_cache import Cache, digest, file_digest, remembered
from colde_cli.errors import ModelError
from colde_cli.scoring.config import Calibration, scores_own
from colde_cli.scoring.domains import Domains
from colde_cli.scoring.lexicon import Lexicon, Terms
from colde_cli.scoring.profile import DomainFields, ModelStatistics
from colde_cli.scoring.score_table import ScoreTable
from colde_cli.scoring.whitening import unit_rows

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

Opened = TypeVar("Opened")

_CENTRE = "head.center"
# Chunks encoded between two writes to the cache: an interrupted run loses at most these.
_BLOCK = 1024


class _Part(Generic[Opened]):
    """A part of a model that is opened in the background, or without a `pool` where it is first asked for."""

    def __init__(self, opened: Callable[[], Opened], pool: Executor | None) -> None:
        self._open = opened
        self._future = pool.submit(opened) if pool is not None else None
        self._lock = threading.Lock()

    def result(self) -> Opened:
        """The part; what went wrong when it was opened is raised here."""
        with self._lock:
            if self._future is None:
                future = Future[Opened]()
                try:
                    future.set_result(self._open())
                except Exception as error:  # after Ctrl-C the next call opens it
                    future.set_exception(error)
                self._future = future
        return self._future.result()


class Encoder(DocumentEncoder):
    """Encodes documents with one model. Threads may share it.

    The constructor opens the sessions in the background, so that documents can be read meanwhile. Where most documents
    are known, `ahead=False` opens what only new ones need when the first of them comes.

    With `chunk_position="input"` the vector of a chunk depends on its place in the document. As documents are not
    split at inference (CoLDE), every chunk is in section 0 and q counts through the document, up to
    `max_chunks` - 1. Section vectors are made from the same chunk vectors.
    """

    folder: ModelFolder
    config: ModelConfig

    def __init__(
        self, folder: ModelFolder, plan: DevicePlan, *, cache: Cache | None, threads: int, ahead: bool = True
    ) -> None:
        graph = folder.file(plan.graph)
        super().__init__(plan, folder.name, graph, cache)
        self.folder, self.config, self._threads = folder, folder.config, threads
        tokenizer = folder.file(TOKENIZER)
        pool = ThreadPoolExecutor(4, "colde-load")
        now = pool if ahead else None
        self._runner = _Part(lambda: self._open_runner(graph), now)
        self.head = Head(folder, plan.ordinal)
        self._chunker = _Part(lambda: Chunker(open_tokenizer(tokenizer), folder.config.chunk_tokens), now)
        self._lexicon = pool.submit(_open_lexicon, folder)
        self._domains = pool.submit(_open_domains, folder)
        # Only a cache needs the hash, which takes 10 ms or more.
        self._hashed = pool.submit(file_digest, graph) if cache is not None else None
        pool.shutdown(wait=False)

    @classmethod
    def load(
        cls,
        model: str | Path = settings.DEFAULT_MODEL,
        *,
        device: str = "auto",
        precision: str = "auto",
        cache: Cache | None = None,
        threads: int | None = None,
        ahead: bool = True,
    ) -> Encoder:
        """Open a model by name or folder; see `open_encoder`."""
        folder = open_folder(settings.resolve_model(model))
        graphs = [name for name, path in ENCODER_GRAPHS.items() if folder.has(path)]
        plan = plan_for(device, precision, graphs, folder.name)
        return cls(folder, plan, cache=cache, threads=threads or settings.default_threads(), ahead=ahead)

    def _graph_digest(self) -> bytes:
        return super()._graph_digest() if self._hashed is None else self._hashed.result()

    @property
    def family(self) -> bytes:
        """See `DocumentEncoder`."""
        sizes = f"{self.config.chunk_tokens} {self.config.max_chunks}".encode()
        files = self._digests(HEAD_GRAPH, TOKENIZER, LEXICON, DOMAINS)
        score_weights = self.config.score_weights
        reading = b""
        if score_weights is not None:
            domains = len(score_weights.domains)
            reading = f"{score_weights.opening_words} {score_weights.rarity} {domains}".encode()
        return digest(sizes, reading, *files)

    def _digests(self, *names: str) -> list[bytes]:
        """Hashes of these files, as far as the model has them."""
        return [file_digest(self.folder.file(name)) for name in names if self.folder.has(name)]

    @cached_property
    def centre(self) -> FloatArray:
        """The vector [H] that chunk vectors are centred with.

        Raises:
            ModelError: the weights are damaged, or do not fit `config.json`.
        """
        centre = model_tensors(self.folder.path, _CENTRE).get("")
        if centre is None or centre.shape != (self.config.hidden_size,):
            raise ModelError(f"{weights_file(self.folder.path)} does not fit config.json; fetch the model again.")
        return centre

    @cached_property
    def statistics(self) -> ModelStatistics | None:
        """See `DocumentEncoder`."""
        lexicon, score_weights = self._lexicon.result(), self.config.score_weights
        if lexicon is None or score_weights is None:
            return None
        files = self._digests(HEAD_GRAPH, TOKENIZER, LEXICON, DOMAINS, FIELDS)
        # Without the thresholds: a profile stays right if they are fitted again.
        bare = score_weights.with_verdict(0.0, Calibration())
        fingerprint = digest(repr(bare).encode(), *files).hex()
        covariance = None if self.domain_fields is None else self.domain_fields.covariance
        domains = self._domains.result()
        return ModelStatistics(self.centre, lexicon, fingerprint, covariance, domains)

    @cached_property
    def domain_fields(self) -> DomainFields | None:
        """See `DocumentEncoder`.

        Raises:
            ModelError: the file is damaged.
        """
        score_weights = self.config.score_weights
        if score_weights is None or not score_weights.domains or not self.folder.has(FIELDS):
            return None
        fields = DomainFields.load(self.folder.file(FIELDS))
        sizes = {len(item.centre) for item in fields.whitenings}
        if len(fields.whitenings) != len(score_weights.domains) or sizes != {self.config.hidden_size}:
            raise ModelError(
                f"{self.folder.path / FIELDS} does not fit the model's config.json; fetch the model again."
            )
        return fields

    def attention(self, a: Encoding, b: Encoding) -> tuple[ScoreTable, ScoreTable]:
        """Chunk-wise attention of A over B [n_a, n_b] and of B over A [n_b, n_a]; rows sum to 1.

        The documents are each other's partners, unless one has no text.
        """
        sides = a.chunk_vectors, b.chunk_vectors
        shape = len(sides[0]), len(sides[1])
        if not all(shape):
            return ScoreTable(shape, ()), ScoreTable(shape[::-1], ())
        there, back = self.head.attention(*sides), self.head.attention(*sides[::-1])
        return ScoreTable(shape, there), ScoreTable(shape[::-1], back)

    def chunker(self) -> Chunker:
        """See `DocumentEncoder`."""
        return self._chunker.result()

    @stage("encoding")
    def encode_chunks(self, chunks: Sequence[Chunk], progress: Progress | None = None) -> FloatArray:
        """Encode chunks of one or many documents: vectors [n, H]. Chunks in the cache are not computed again.

        Raises:
            ModelError: a graph is damaged or does not fit the tokenizer.
            DeviceError: memory ran out.
        """
        if not chunks:
            return np.zeros((0, self.config.hidden_size), np.float32)
        places: list[list[int]] = [[]] * len(chunks)
        if self.config.chunk_position == "input":
            places = [[0, min(chunk.index, self.config.max_chunks - 1)] for chunk in chunks]
        keys = [
            digest(self.fingerprint, np.asarray([*place, *chunk.ids], np.int32).tobytes())
            for place, chunk in zip(places, chunks, strict=True)
        ]
        vectors = remembered(
            keys, chunks, self.cache, lambda missing: self._runner.result().run(missing, progress), progress, _BLOCK
        )
        return np.stack([vectors[key] for key in keys])

    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """See `DocumentEncoder`."""
        chunker, texts = self._chunker.result(), one_or_more(texts)
        chunks = {row: chunk for row, text in enumerate(texts) if (chunk := chunker.first_chunk(text))}
        vectors = np.zeros((len(texts), self.config.hidden_size), np.float32)
        if chunks:
            encoded = self.encode_chunks(list(chunks.values()), progress)
            vectors[list(chunks)] = self.centred_unit_vectors(encoded)
        return vectors

    def encode_later(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """See `DocumentEncoder`."""
        chunked = [(document, self.chunk(document, progress)) for document in documents]
        encode = partial(self.encode_chunks, progress=progress)
        return Batch(chunked, encode, self.centred_unit_vectors, self.finish).encodings()

    def encode_chunked(
        self, documents: Sequence[Document], chunked: Sequence[tuple[Chunk, ...]], progress: Progress | None = None
    ) -> list[Encoding]:
        """Encode documents whose chunks, `chunked`, are known; each has one at least."""
        vectors = self.encode_chunks([chunk for chunks in chunked for chunk in chunks], progress)
        ends = np.cumsum([len(chunks) for chunks in chunked])
        pieces = np.split(vectors, ends[:-1]) if len(documents) else []
        return [
            Encoding(document, chunks, self.finish(document, chunks, piece))
            for document, chunks, piece in zip(documents, chunked, pieces, strict=True)
        ]

    def centred_unit_vectors(self, vectors: FloatArray) -> FloatArray:
        """Chunk vectors [n, H], n at least 1, centred and of unit length."""
        return unit_rows(vectors - self.centre)

    def finish(self, document: Document, chunks: tuple[Chunk, ...], vectors: FloatArray) -> Vectors:
        """All vectors of a document, from those [n, H] of its chunks."""
        own = cache(partial(self._own, document, chunks, vectors))
        return Vectors(
            vectors,
            self.centred_unit_vectors(vectors),
            own() if scores_own(self.config) else own,
            *self.words(chunks),
            self.domains(vectors),
        )

    def _own(self, document: Document, chunks: tuple[Chunk, ...], vectors: FloatArray) -> OwnVectors:
        whole = self.head.vector(vectors)
        groups = [vectors[rows] for rows in rows_of_sections(document, chunks)]
        # A section without a token has zeros, which resemble nothing.
        sections = [self.head.vector(group) if len(group) else np.zeros_like(whole) for group in groups]
        return OwnVectors(whole, np.stack(sections))

    def domains(self, vectors: FloatArray) -> FloatArray:
        """The shares of "other" and of each domain in a document, given its chunk vectors [n, H]: [1 + K]."""
        domains = self._domains.result()
        return np.ones(1, np.float32) if domains is None else domains.membership(vectors.mean(0))

    def words(self, chunks: Sequence[Chunk]) -> tuple[Terms | None, Terms | None]:
        """Weigh the words of a text, and of its opening; None for a model without a lexicon.

        Raises:
            ModelError: the lexicon is that of another tokenizer.
        """
        lexicon, score_weights = self._lexicon.result(), self.config.score_weights
        if lexicon is None or score_weights is None:
            return None, None
        try:
            return lexicon.terms(chunks), lexicon.terms(chunks, score_weights.opening_words)
        except IndexError as error:
            raise ModelError(
                f"{self.folder.path / LEXICON} does not fit {TOKENIZER}; fetch the model again."
            ) from error

    def _open_runner(self, graph: Path) -> ChunkRunner:
        hidden = self.config.hidden_size
        opened = open_session(graph, encoder_contract(hidden), self._plan.ordinal)
        return ChunkRunner(opened, hidden, self._threads, batched=self._plan.device != "cpu")


def _open_lexicon(folder: ModelFolder) -> Lexicon | None:
    score_weights = folder.config.score_weights
    if score_weights is None or not score_weights.reads_words:
        return None
    return Lexicon.load(folder.file(LEXICON), score_weights.rarity)


def _open_domains(folder: ModelFolder) -> Domains | None:
    score_weights = folder.config.score_weights
    if score_weights is None or not score_weights.domains:
        return None
    domains = Domains.load(folder.file(DOMAINS))
    if domains.prototypes.shape != (len(score_weights.domains), folder.config.hidden_size):
        raise ModelError(f"{folder.path / DOMAINS} does not fit the model's config.json; fetch the model again.")
    return domains


Numbering = Literal["kept", "anew"]
"""The number q of a chunk for the model: "kept" from its document, or "anew", counted in the new order."""


def rearranged(encoding: Encoding, rows: Sequence[int], encoder: Encoder, numbering: Numbering = "anew") -> Encoding:
    """Encode a document as if it had the chunks `rows`, in that order.

    Section vectors stay those of the whole document. With `chunk_position="input"` a chunk vector depends on q, so
    `numbering="anew"` encodes the chunks again.

    Args:
        rows: indices of its chunks, at least one; they may repeat.
        numbering: see `Numbering`.

    Raises:
        ValueError: no rows.
    """
    order = np.asarray(rows, np.int64)
    if not len(order):
        raise ValueError("a document needs at least one chunk")
    numbers = order if numbering == "kept" else np.arange(len(order))
    chunks = tuple(replace(encoding.chunks[row], index=int(number)) for row, number in zip(order, numbers, strict=True))
    moved = any(chunk.index != row for chunk, row in zip(chunks, order, strict=True))
    anew = moved and encoder.config.chunk_position == "input"
    vectors = encoder.encode_chunks(chunks) if anew else encoding.chunk_vectors[order]
    # The numbers q are the order of the chunks, also for the opening.
    terms, opening = encoder.words(sorted(chunks, key=lambda chunk: chunk.index))
    made = replace(
        encoding.vectors,
        chunk_vectors=vectors,
        centred_unit_vectors=encoder.centred_unit_vectors(vectors),
        own=cache(lambda: OwnVectors(encoder.head.vector(vectors, numbers), encoding.section_vectors)),
        terms=terms,
        opening=opening,
        domains=encoder.domains(vectors),
    )
    return Encoding(encoding.document, chunks, made)


def without(encoding: Encoding, row: int, encoder: Encoder) -> Encoding:
    """Encode a document without one of its chunks.

    Raises:
        ValueError: it is the only chunk.
    """
    return rearranged(encoding, [other for other in range(len(encoding.chunks)) if other != row], encoder)
