"""Encode documents with CoLDE: tokenizer, chunk encoder and document head of one model folder.

`rearranged` encodes a document as if its chunks were left out, repeated or reordered. Only the document head runs
again, which takes milliseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.chunking import Chunker, rows_of_sections
from colde_cli.documents.document import Chunk, Document
from colde_cli.documents.selection import one_or_more
from colde_cli.documents.stages import stage
from colde_cli.encoder.encoding import Batch, DocumentEncoder, Encoding, Vectors
from colde_cli.encoder.layout import (
    DOMAINS,
    ENCODER_GRAPHS,
    FIELDS,
    HEAD_GRAPH,
    LEXICON,
    TOKENIZER,
    ModelConfig,
    ModelFolder,
    open_folder,
    weight_files,
    weights_file,
)
from colde_cli.encoder.long_head import LongHead
from colde_cli.encoder.runtime import (
    ChunkRunner,
    DevicePlan,
    Graph,
    Progress,
    check_finite,
    encoder_contract,
    head_contract,
    open_session,
    plan_for,
)
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.encoder.vector_cache import Cache, digest, file_digest, remembered
from colde_cli.errors import ModelError
from colde_cli.scoring.config import Calibration
from colde_cli.scoring.domains import Domains
from colde_cli.scoring.lexicon import Lexicon, Terms
from colde_cli.scoring.profile import DomainFields, ModelStatistics
from colde_cli.scoring.score_table import ScoreTable

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

# Chunks of one call: enough to pay for the call, few enough that attention [rows, C, C] stays small.
_CALL_CHUNKS = 512
# Chunks from which the attention of a document would take some 100 MB.
_LONG = 2000
# Pairs of chunks that take as much time and memory as a token of a chunk encoder may.
_PAIRS = 500


@dataclass(frozen=True, slots=True, eq=False)
class HeadOutput:
    """The output of the head for S groups of chunks.

    Attributes:
        vectors: [S, D], unit length.
        attention: for each group [n_i, n_partner(i)], mean over heads; rows sum to 1. Without partners, and of a group
            too long for the graph, it is empty.
        centred_unit_vectors: for each group [n_i, H], centred chunk vectors of unit length.
    """

    vectors: FloatArray
    attention: tuple[FloatArray, ...]
    centred_unit_vectors: tuple[FloatArray, ...]


class HeadRunner:
    """Chunk-wise attention with a partner, Bi-LSTM, projection (CoLDE §3.2), as an ONNX graph."""

    def __init__(self, graph: Graph, max_chunks: int, long: Callable[[], LongHead] | None = None) -> None:
        """Run `graph`; `long` opens what reads long documents, None leaves them to the graph."""
        self._graph, self._max_chunks = graph, max_chunks
        self._long = None if long is None else cache(long)

    def reads_long(self, *groups: FloatArray) -> bool:
        """Whether some of these chunk vectors [n, H] are too many for the graph, which keeps all of the attention."""
        return self._long is not None and any(len(group) > _LONG for group in groups)

    def run(
        self,
        groups: Sequence[FloatArray],
        partners: Sequence[int] | None = None,
        chunk_ids: Sequence[IntArray] | None = None,
    ) -> HeadOutput:
        """Run the head over groups of chunk vectors; a group is a section or a whole document.

        Without partners, groups run in batches of equal length, which bounds memory. The output for a group depends
        neither on other groups nor on padding.

        Args:
            groups: [n_i, H] each, n_i at least 1.
            partners: for each group, the index of the group whose chunks are keys and values; None for itself.
            chunk_ids: for each group q of the paper, [n_i]; None for 0, 1, ... Larger numbers than the embedding has
                rows are clamped to its last row.

        Raises:
            ModelError: the graph fails, or gives what no document head gives.
        """
        numbers = [np.arange(len(group)) for group in groups] if chunk_ids is None else chunk_ids
        if partners is not None:
            return self._run_together(groups, partners, numbers)
        parts: dict[int, HeadOutput] = {}
        for indices in _batches([len(group) for group in groups]):
            if self._long is not None and self.reads_long(groups[indices[0]]):
                for index in indices:
                    vector = self._long().vector(groups[index], np.asarray(numbers[index]))
                    directions = self.centred_unit_vectors(groups[index])
                    parts[index] = HeadOutput(vector[None], (np.zeros((0, 0), np.float32),), (directions,))
                continue
            chosen, named = [groups[index] for index in indices], [numbers[index] for index in indices]
            output = self._run_together(chosen, range(len(indices)), named)
            for row, index in enumerate(indices):
                one = output.vectors[row : row + 1]
                parts[index] = HeadOutput(one, (output.attention[row],), (output.centred_unit_vectors[row],))
        listed = [parts[index] for index in range(len(groups))]
        return HeadOutput(
            np.concatenate([part.vectors for part in listed]),
            tuple(part.attention[0] for part in listed),
            tuple(part.centred_unit_vectors[0] for part in listed),
        )

    def attention(self, a: FloatArray, b: FloatArray) -> tuple[Iterable[FloatArray], Iterable[FloatArray]]:
        """Attention of chunks [n, H] over chunks [m, H], and back: blocks of rows, [r, m] and [r, n]."""
        if self._long is not None and self.reads_long(a, b):
            return self._long().attention(a, b), self._long().attention(b, a)
        there, back = self.run([a, b], [1, 0]).attention
        return [there], [back]

    def centred_unit_vectors(self, vectors: FloatArray) -> FloatArray:
        """Chunk vectors [n, H], n at least 1, centred and of unit length."""
        return np.concatenate(self.run([vector[None] for vector in vectors]).centred_unit_vectors)

    def centre(self, size: int) -> FloatArray:
        """The vector c [H] that the graph subtracts from chunk vectors; `size` is H.

        It is not an output, but two answers give it away. That to the vector 0 is -c / |c|. That to a unit vector w
        at right angles to c is (w - c) / sqrt(1 + |c|²), whose product with w gives |c|.
        """
        direction = -self.centred_unit_vectors(np.zeros((1, size), np.float32))[0].astype(np.float64)
        if not direction.any():
            return np.zeros(size, np.float32)
        across = -direction * direction[direction.argmin()]
        across[direction.argmin()] += 1
        across /= np.linalg.norm(across)
        product = float(self.centred_unit_vectors(across[None].astype(np.float32))[0] @ across)
        length = np.sqrt(max(0.0, 1 / product**2 - 1))
        return np.asarray(length * direction, np.float32)

    def _run_together(
        self, groups: Sequence[FloatArray], partners: Sequence[int], chunk_ids: Sequence[IntArray]
    ) -> HeadOutput:
        lengths = np.array([len(group) for group in groups], np.int64)
        count, width = len(groups), int(lengths.max())
        rows = np.zeros((count, width, groups[0].shape[1]), np.float32)
        positions = np.zeros((count, width), np.int64)
        for row, position, group, ids in zip(rows, positions, groups, chunk_ids, strict=True):
            row[: len(group)] = group
            position[: len(group)] = np.minimum(ids, self._max_chunks - 1)
        feed: dict[str, NDArray[Any]] = {
            "chunk_vectors": rows,
            "lengths": lengths,
            "partners": np.array(partners, np.int64),
            "section_ids": np.zeros(count, np.int64),
            "chunk_ids": positions,
        }
        shapes = {
            "vectors": (count, None),
            "attention": (count, width, width),
            "directions": (count, width, rows.shape[2]),
        }
        vectors, attention, centred_unit_vectors = self._graph.run(feed, shapes, tokens=count * width * width // _PAIRS)
        pairs = list(zip(lengths, lengths[list(partners)], strict=True))
        cropped = tuple(weights[:own, :other] for weights, (own, other) in zip(attention, pairs, strict=True))
        check_finite(cropped, self._graph.path)
        return HeadOutput(
            vectors, cropped, tuple(values[:own] for values, own in zip(centred_unit_vectors, lengths, strict=True))
        )


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Batch the indices of `lengths` by equal length.

    Papers have many sections of one chunk and a few long ones. Padding them together made the head 3 to 12 times
    slower than one call for each length.
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        length = lengths[index]
        last = batches[-1] if batches else []
        if last and lengths[last[0]] == length and (len(last) + 1) * length <= _CALL_CHUNKS:
            last.append(index)
        else:
            batches.append([index])
    return batches


Opened = TypeVar("Opened")

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
        graph, head = folder.file(plan.graph), folder.file(HEAD_GRAPH)
        super().__init__(plan, folder.name, graph, cache)
        self.folder, self.config, self._threads = folder, folder.config, threads
        tokenizer = folder.file(TOKENIZER)
        pool = ThreadPoolExecutor(4, "colde-load")
        now = pool if ahead else None
        self._runner = _Part(lambda: self._open_runner(graph), now)
        self._head = pool.submit(self._open_head, head)
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

    @property
    def head(self) -> HeadRunner:
        """The document head.

        Raises:
            ModelError: its graph is damaged.
        """
        return self._head.result()

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
        """The vector [H] that chunk vectors are centred with."""
        return self.head.centre(self.config.hidden_size)

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

        The documents are each other's partners in one run of the document head, unless one has no text.
        """
        sides = a.chunk_vectors, b.chunk_vectors
        there, back = self.head.attention(*sides) if len(sides[0]) and len(sides[1]) else ((), ())
        shape = len(sides[0]), len(sides[1])
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
        return self.head.centred_unit_vectors(vectors)

    def finish(self, document: Document, chunks: tuple[Chunk, ...], vectors: FloatArray) -> Vectors:
        """All vectors of a document, from those [n, H] of its chunks."""
        whole = self.head.run([vectors])
        groups = [vectors[rows] for rows in rows_of_sections(document, chunks)]
        vectors_of_sections = iter(self.head.run([group for group in groups if len(group)]).vectors)
        # A section without a token has zeros, which resemble nothing.
        zeros = np.zeros_like(whole.vectors[0])
        return Vectors(
            vectors,
            whole.centred_unit_vectors[0],
            np.stack([next(vectors_of_sections) if len(group) else zeros for group in groups]),
            whole.vectors[0],
            *self.words(chunks),
            self.domains(vectors),
        )

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

    def _open_head(self, graph: Path) -> HeadRunner:
        opened = open_session(graph, head_contract(self.config.hidden_size), self._plan.ordinal, keep=False)
        folder = self.folder.path
        there = weights_file(folder).is_file()  # models of earlier versions have none
        return HeadRunner(
            opened, self.config.max_chunks, (lambda: LongHead(self.config, weight_files(folder))) if there else None
        )


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
    output = encoder.head.run([vectors], chunk_ids=[numbers])
    # The numbers q are the order of the chunks, also for the opening.
    terms, opening = encoder.words(sorted(chunks, key=lambda chunk: chunk.index))
    made = replace(
        encoding.vectors,
        chunk_vectors=vectors,
        centred_unit_vectors=output.centred_unit_vectors[0],
        document_vector=output.vectors[0],
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
