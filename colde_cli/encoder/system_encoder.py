"""Encode documents with a model of another system than CoLDE: tokenizer, packing and graph of its folder."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.chunking import Chunker, TextTokenizer
from colde_cli.documents.document import Chunk, Document, Section, document_text
from colde_cli.documents.selection import one_or_more
from colde_cli.encoder.encoder import encodable
from colde_cli.encoder.encoding import Encoding, RuntimeInfo, Vectors
from colde_cli.encoder.layout import SYSTEM_GRAPH, TOKENIZER, SystemConfig, SystemFolder, open_system_folder
from colde_cli.encoder.packing import Rows, packing
from colde_cli.encoder.runtime import (
    PRECISIONS,
    Contract,
    Cuda,
    DevicePlan,
    Graph,
    Progress,
    decide,
    open_session,
    probe_cuda,
)
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.encoder.vector_cache import Cache, digest, file_digest, remembered
from colde_cli.errors import NoTextError, OptionError

FloatArray = NDArray[np.float32]

_PRECISION = "fp32"
# Texts encoded between two writes to the cache.
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class SystemRunner:
    """Encodes texts with one session, each in a call of its own at its exact size, so that no text affects another.

    Attributes:
        threads: texts encoded at the same time.
    """

    graph: Graph
    dim: int
    threads: int

    @classmethod
    def open(cls, graph: Path, dim: int, threads: int = 1, cuda: int | None = None) -> SystemRunner:
        """Open a graph that makes vectors of size `dim`."""
        contract = Contract(frozenset(("rows", "paragraphs")), {"vectors": dim})
        return cls(open_session(graph, contract, cuda), dim, 1 if cuda is not None else threads)

    def run(self, rows: Sequence[Rows], progress: Progress | None = None) -> list[FloatArray]:
        """Vectors [D] in the order of `rows`.

        Raises:
            ModelError: the graph cannot take these rows.
            DeviceError: memory ran out.
        """

        def encode(item: Rows) -> FloatArray:
            feed = {"rows": item.ids[None].astype(np.int64), "paragraphs": item.paragraphs[None].astype(np.int64)}
            (vectors,) = self.graph.run(feed, {"vectors": (1, self.dim)}, tokens=item.ids.size)
            if progress is not None:
                progress(1)
            vector: FloatArray = np.asarray(vectors[0], np.float32)
            return vector

        with self.graph.job(), ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(encode, rows))


class SystemEncoder:
    """Encodes documents with one of the other systems, as `Encoder` does with CoLDE.

    The document, each section and each chunk are texts that the system reads alone. Chunk scores are the cosines of
    chunk vectors. Attention between documents is uniform, because these systems have none. A text without tokens has a
    vector of zeros, which resembles nothing. Vectors are not centred, and without a lexicon and domains there are no
    field profiles.
    """

    centre = statistics = domain_fields = None

    def __init__(
        self, folder: SystemFolder, plan: DevicePlan, *, cache: Cache | None, threads: int, parts: bool = True
    ) -> None:
        self.folder = folder
        self.config: SystemConfig = folder.config
        self.info = RuntimeInfo(folder.name, plan.precision, plan.device, plan.reason)
        self.cache = cache
        self.parts = parts
        self._plan = plan
        self._pack = packing(self.config.packing, str(folder.path))
        graph, tokenizer = folder.file(SYSTEM_GRAPH), folder.file(TOKENIZER)
        pool = ThreadPoolExecutor(2, "colde-load")
        self._runner: Future[SystemRunner] = pool.submit(
            SystemRunner.open, graph, self.config.dim, threads, plan.ordinal
        )
        self._tokenizer: Future[TextTokenizer] = pool.submit(open_tokenizer, tokenizer)
        pool.shutdown(wait=False)

    @classmethod
    def load(
        cls,
        model: str | Path,
        *,
        device: str = "auto",
        precision: str = "auto",
        cache: Cache | None = None,
        threads: int | None = None,
        parts: bool = True,
    ) -> SystemEncoder:
        """Open a model by name or folder; see `open_encoder`.

        Raises:
            ModelError: there is no such model, or a file of it is missing.
            DeviceError: the device is not usable.
            OptionError: there is no such device, or the model lacks this precision.
        """
        folder = open_system_folder(settings.resolve_model(model))
        if precision in PRECISIONS and precision not in ("auto", _PRECISION):
            raise OptionError(f"{folder.name} has one graph, in {_PRECISION}; leave out --precision {precision}.")
        cuda = Cuda(problem="it was not asked for") if device == "cpu" else probe_cuda()
        plan = decide(device, precision, [_PRECISION], cuda, folder.name)
        return cls(folder, plan, cache=cache, threads=threads or settings.default_threads(), parts=parts)

    @cached_property
    def fingerprint(self) -> bytes:
        """Hash of all that decides the vector of given rows: the graph, and the device that rounds."""
        graph = file_digest(self.folder.file(SYSTEM_GRAPH))
        return digest(graph, self._plan.device.partition(":")[0].encode())

    @cached_property
    def identity(self) -> bytes:
        """Hash of everything that decides an encoding, except the document."""
        return digest(self.family, self.fingerprint)

    @cached_property
    def family(self) -> bytes:
        """Hash of the model without its device: vectors of one family can be compared."""
        fixed = replace(self.config, threshold=None, calibration=None)
        read = fixed.to_json() if self.parts else f"{fixed.to_json()} whole"
        files = (file_digest(self.folder.file(name)) for name in (SYSTEM_GRAPH, TOKENIZER))
        return digest(read.encode(), *files)

    def chunk(self, document: Document) -> tuple[Chunk, ...]:
        """Cut a document into chunks.

        Raises:
            NoTextError: it has no text.
            LimitError: it has too many chunks.
        """
        chunker = Chunker(self._tokenizer.result(), self.config.chunk_tokens)
        return encodable(chunker.chunk(document), document)

    def encode_texts(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """Encode texts: vectors [n, D]. Texts in the cache are not computed again.

        Raises:
            ModelError: the graph is damaged or does not fit the tokenizer.
            DeviceError: memory ran out.
        """
        packed = [self._pack(text, self._tokenizer.result(), self.config) for text in one_or_more(texts)]
        keys = [digest(self.fingerprint, rows.to_bytes()) for rows in packed]
        nonempty = [(key, rows) for key, rows in zip(keys, packed, strict=True) if not rows.empty]
        if progress is not None and len(packed) > len(nonempty):
            progress(len(packed) - len(nonempty))
        vectors = remembered(
            [key for key, _ in nonempty],
            [rows for _, rows in nonempty],
            self.cache,
            lambda missing: self._runner.result().run(missing, progress),
            progress,
            _BLOCK,
        )
        zeros = np.zeros(self.config.dim, np.float32)
        return np.array([vectors.get(key, zeros) for key in keys], np.float32).reshape(-1, self.config.dim)

    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
        """Encode texts that stand alone, each by its first chunk: vectors [n, D]; zeros for a text without a token."""
        chunker = Chunker(self._tokenizer.result(), self.config.chunk_tokens)
        chunks = [(text, chunker.first_chunk(text)) for text in one_or_more(texts)]
        return self.encode_texts(
            [text[chunk.span.start : chunk.span.end] if chunk else "" for text, chunk in chunks], progress
        )

    def encode(self, document: Document, progress: Progress | None = None) -> Encoding:
        """Encode one document.

        Raises:
            NoTextError: it has no text.
        """
        return self.encode_many([document], progress)[0]

    def encode_many(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Encode several documents, their texts scheduled together; without `parts` they have no chunks or sections.

        Raises:
            NoTextError: one of them has no text.
        """
        chunked = [self.chunk(document) if self.parts else () for document in documents]
        return self.encode_chunked(documents, chunked, progress)

    def encode_later(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """Encode several documents now: each is read as a whole."""
        return self.encode_many(documents, progress)

    def encode_chunked(
        self, documents: Sequence[Document], chunked: Sequence[tuple[Chunk, ...]], progress: Progress | None = None
    ) -> list[Encoding]:
        """Encode several documents whose chunks are known; without `parts` the chunks are not used."""
        texts = []
        for document, chunks in zip(documents, chunked, strict=True):
            if not self.parts and not document.text.strip():
                raise NoTextError(f"{document.path or document.title} has no text to compare.")
            sections = [section_text(document, section) for section in document.sections]
            parts = [document.text[chunk.span.start : chunk.span.end] for chunk in chunks]
            texts.append([document_text(document), *(sections + parts if self.parts else ())])
        vectors = iter(self.encode_texts([text for listed in texts for text in listed], progress))
        return [
            self._encoding(document, chunks, np.stack([next(vectors) for _ in listed]))
            for document, chunks, listed in zip(documents, chunked, texts, strict=True)
        ]

    def attention(self, a: Encoding, b: Encoding) -> tuple[FloatArray, FloatArray]:
        """Uniform: each document is read alone."""
        shape = len(a.chunks), len(b.chunks)
        return np.full(shape, 1 / shape[1], np.float32), np.full(shape[::-1], 1 / shape[0], np.float32)

    def _encoding(self, document: Document, chunks: tuple[Chunk, ...], vectors: FloatArray) -> Encoding:
        """Make an encoding from the vectors of the document, its sections and its chunks, in this order."""
        end = 1 + len(document.sections) if self.parts else 1
        of_chunks = vectors[end:]
        kept = chunks if self.parts else ()
        return Encoding(document, kept, Vectors(of_chunks, of_chunks, vectors[1:end], vectors[0]))


def section_text(document: Document, section: Section) -> str:
    """The text of a section; a bare heading includes the sections under it."""
    bare = section.body_start >= section.span.end
    under = document.subsections(section) if bare else ()
    return "\n\n".join(document.section_text(part) for part in (section, *under))
