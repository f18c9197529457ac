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
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, OwnVectors, Vectors
from colde_cli.encoder.layout import SYSTEM_GRAPH, TOKENIZER, SystemConfig, SystemFolder, open_system_folder
from colde_cli.encoder.packing import Rows, packing
from colde_cli.encoder.runtime import PRECISIONS, Contract, DevicePlan, Graph, Progress, open_session, plan_for
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.encoder.vector_cache import Cache, digest, file_digest, remembered
from colde_cli.errors import NoTextError, OptionError
from colde_cli.scoring.score_table import ScoreTable

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


class SystemEncoder(DocumentEncoder):
    """Encodes documents with one of the other systems, as `Encoder` does with CoLDE.

    The document, each section and each chunk are texts that the system reads alone. Chunk scores are the cosines of
    chunk vectors. Attention between documents is uniform, because these systems have none. A text without tokens has a
    vector of zeros, which resembles nothing. Vectors are not centred, and without a lexicon and domains there are no
    field profiles.
    """

    folder: SystemFolder
    config: SystemConfig

    def __init__(
        self, folder: SystemFolder, plan: DevicePlan, *, cache: Cache | None, threads: int, parts: bool = True
    ) -> None:
        self._pack = packing(folder.config.packing, str(folder.path))
        graph, tokenizer = folder.file(SYSTEM_GRAPH), folder.file(TOKENIZER)
        super().__init__(plan, folder.name, graph, cache)
        self.folder, self.config, self.parts = folder, folder.config, parts
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
        """Open a model by name or folder; see `open_encoder`."""
        folder = open_system_folder(settings.resolve_model(model))
        if precision in PRECISIONS and precision not in ("auto", _PRECISION):
            raise OptionError(f"{folder.name} has one graph, in {_PRECISION}; leave out --precision {precision}.")
        plan = plan_for(device, precision, [_PRECISION], folder.name)
        return cls(folder, plan, cache=cache, threads=threads or settings.default_threads(), parts=parts)

    @cached_property
    def family(self) -> bytes:
        """See `DocumentEncoder`."""
        fixed = replace(self.config, threshold=None, calibration=None)
        read = fixed.to_json() if self.parts else f"{fixed.to_json()} whole"
        files = (file_digest(self.folder.file(name)) for name in (SYSTEM_GRAPH, TOKENIZER))
        return digest(read.encode(), *files)

    def chunker(self) -> Chunker:
        """See `DocumentEncoder`."""
        return Chunker(self._tokenizer.result(), self.config.chunk_tokens)

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
        """See `DocumentEncoder`."""
        chunker = self.chunker()
        chunks = [(text, chunker.first_chunk(text)) for text in one_or_more(texts)]
        return self.encode_texts(
            [text[chunk.span.start : chunk.span.end] if chunk else "" for text, chunk in chunks], progress
        )

    def encode_many(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoding]:
        """See `DocumentEncoder`; without `parts` they have no chunks or sections."""
        chunked = [self.chunk(document, progress) if self.parts else () for document in documents]
        return self.encode_chunked(documents, chunked, progress)

    def encode_chunked(
        self, documents: Sequence[Document], chunked: Sequence[tuple[Chunk, ...]], progress: Progress | None = None
    ) -> list[Encoding]:
        """See `DocumentEncoder`; without `parts` the chunks are not used."""
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

    def attention(self, a: Encoding, b: Encoding) -> tuple[ScoreTable, ScoreTable]:
        """Uniform: each document is read alone."""
        a_to_b, b_to_a = (
            ScoreTable((n, m), (np.full((1, m), 1 / max(1, m), np.float32) for _ in range(n)))
            for n, m in ((len(a.chunks), len(b.chunks)), (len(b.chunks), len(a.chunks)))
        )
        return a_to_b, b_to_a

    def _encoding(self, document: Document, chunks: tuple[Chunk, ...], vectors: FloatArray) -> Encoding:
        """Make an encoding from the vectors of the document, its sections and its chunks, in this order."""
        end = 1 + len(document.sections) if self.parts else 1
        of_chunks = vectors[end:]
        kept = chunks if self.parts else ()
        return Encoding(document, kept, Vectors(of_chunks, of_chunks, OwnVectors(vectors[0], vectors[1:end])))


def section_text(document: Document, section: Section) -> str:
    """The text of a section; a bare heading includes the sections under it."""
    bare = section.body_start >= section.span.end
    under = document.subsections(section) if bare else ()
    return "\n\n".join(document.section_text(part) for part in (section, *under))
