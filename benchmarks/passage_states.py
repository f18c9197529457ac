"""Passage vectors from the forward pass that gives the chunk vectors, beside those of an extra pass.

The shipped graph is opened, its token states become a further output in memory, and a passage is the mean over the
states of its tokens, whichever chunks they stand in. Nothing on disk changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.document import Chunk, Document, Part, assemble
from colde_cli.documents.passages import Passage
from colde_cli.encoder.encoder import Encoder, open_tokenizer
from colde_cli.encoder.layout import ENCODER_GRAPHS, TOKENIZER

FloatArray = NDArray[np.float32]


class SamePass:
    """A chunk encoder that also gives its token states."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        graph = encoder.folder.file(ENCODER_GRAPHS[encoder.info.precision])
        self._session, self._states = _session_with_states(graph.read_bytes())
        self._tokenizer = open_tokenizer(encoder.folder.file(TOKENIZER))

    def read(self, document: Document, found: Sequence[Passage]) -> tuple[FloatArray, FloatArray]:
        """Chunk vectors [n, H], and passage vectors [p, H] of the same pass; neither is centred."""
        chunks = self.encoder.chunk(document)
        rows = {chunk.index: n for n, chunk in enumerate(chunks)}
        # Longest first, as the encoder does it.
        order = sorted(chunks, key=lambda chunk: -len(chunk.ids))
        with ThreadPoolExecutor(settings.default_threads()) as pool:
            ran = dict(zip((chunk.index for chunk in order), pool.map(self._run, order), strict=True))
        vectors = np.stack([ran[chunk.index][0] for chunk in sorted(chunks, key=lambda c: rows[c.index])])
        states = {index: tokens for index, (_, tokens) in ran.items()}
        return vectors, self._pooled(document, found, chunks, states)

    def _run(self, chunk: Chunk) -> tuple[FloatArray, FloatArray]:
        feed = {"input_ids": np.array([chunk.ids], np.int64)}
        vectors, states = self._session.run(["chunk_vectors", self._states], feed)
        return vectors[0], states[0, 1:-1]

    def _pooled(
        self,
        document: Document,
        found: Sequence[Passage],
        chunks: Sequence[Chunk],
        states: dict[int, FloatArray],
    ) -> FloatArray:
        """Means over the tokens that begin in each passage; zeros where there is none."""
        pooled = np.zeros((len(found), self.encoder.config.hidden_size), np.float32)
        for section in document.sections:
            own = [states[chunk.index] for chunk in chunks if chunk.section == section.index]
            if not own:
                continue
            tokens = np.concatenate(own)
            text = document.section_text(section)
            offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
            starts = np.array([section.span.start + start for start, _ in offsets])
            for passage in found:
                if passage.section == section.index:
                    first, last = np.searchsorted(starts, (passage.span.start, passage.span.end))
                    if first < last:
                        pooled[passage.index] = tokens[first:last].mean(0)
        return pooled


def _session_with_states(graph: bytes) -> tuple[onnxruntime.InferenceSession, str]:
    """A session as the encoder opens it, and the name of its further output: what the mean is taken of."""
    model = onnx.load_from_string(graph)
    (pool,) = (node for node in model.graph.node if "chunk_vectors" in node.output)
    name = pool.input[0]
    model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["SkipLayerNormFusion"],
    )
    return session, name


def extra_pass(document: Document, found: Sequence[Passage], encoder: Encoder) -> FloatArray:
    """Vectors [p, H] of passages that are read alone, each its first chunk; not centred."""
    parts = [Part("", document.text[passage.span.start : passage.span.end]) for passage in found]
    chunks = encoder.chunk(assemble("", "", parts))
    first = {chunk.section: row for row, chunk in reversed(list(enumerate(chunks)))}
    vectors = encoder.encode_chunks(chunks)
    none = np.zeros_like(vectors[0])
    return np.stack([vectors[first[n]] if n in first else none for n in range(len(found))])


def centred(vectors: FloatArray, encoder: Encoder) -> FloatArray:
    """[p, H], less the training corpus' mean and of unit length, as chunk scores have it."""
    return encoder.head.run([vectors]).centred_unit_vectors[0]


def centred_on_own(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same, less the mean over the passages of the two documents."""
    mean = np.concatenate([a, b]).mean(0)
    return a - mean, b - mean
