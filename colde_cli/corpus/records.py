"""Bytes that hold documents, vectors and weighed words: what the cache and an index write and read.

A record is a JSON header (deflated) followed by its arrays, little-endian, the first at a multiple of four bytes.

The cache keeps arrays as float32. An index keeps less, since it lasts and lies on shared disks:

    chunk vectors    int8 with one scale per vector, after the model's centre is subtracted
    section vectors  int8 with one scale per vector
    words            buckets as differences, split into their bytes and deflated; weights as float16
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk, Document, Span, document_header
from colde_cli.documents.passages import Passage
from colde_cli.encoder.encoding import Encoding
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.whitening import unit_rows

FloatArray = NDArray[np.float32]
Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def pack(header: Header, arrays: Mapping[str, NDArray[Any]], level: int = 1) -> bytes:
    """A record; `level` is that of zlib, for the header."""
    listed = {name: [values.dtype.str, *values.shape] for name, values in arrays.items()}
    text = zlib.compress(json.dumps({**header, "arrays": listed}).encode(), level)
    head = (struct.pack("<I", len(text)) + text).ljust(_start(len(text)), b"\0")
    return head + b"".join(values.tobytes() for values in arrays.values())


def unpack(blob: bytes) -> tuple[Header, Arrays] | None:
    """Header and arrays; None if the record is damaged."""
    try:
        (length,) = struct.unpack_from("<I", blob)
        header = json.loads(zlib.decompress(blob[4 : 4 + length]))
        place, arrays = _start(length), {}
        for name, (kind, *shape) in header["arrays"].items():
            count = math.prod(shape)
            arrays[name] = np.frombuffer(blob, kind, count, place).reshape(shape)
            place += arrays[name].nbytes
    except (struct.error, zlib.error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return None
    except (SyntaxError, RecursionError):  # of the name of a kind, which NumPy parses; of JSON without end
        return None
    return header, arrays


def _start(length: int) -> int:
    """Where the arrays begin after a header of so many bytes."""
    return 4 + -(-length // 4) * 4


def text_record(document: Document, title: str, cut: Sequence[Passage]) -> bytes:
    """What an index keeps of a document's text: all of it, its sections, and the passages with their places."""
    places = [[passage.section, passage.span.start, passage.span.end] for passage in cut]
    deflated = zlib.compress(np.asarray(places, np.int32).reshape(-1, 3).T.tobytes(), 6)
    arrays = {"passages": np.frombuffer(deflated, np.uint8)}
    return pack(document_header(document, title), arrays, 6)


def passages_of(document: Document, arrays: Arrays) -> tuple[Passage, ...]:
    """The passages of a text record."""
    places = np.frombuffer(zlib.decompress(arrays["passages"].tobytes()), np.int32).reshape(3, -1).T.tolist()
    spans = [(section, Span(start, end)) for section, start, end in places]
    return tuple(
        Passage(index, section, span, document.pages_of(span)) for index, (section, span) in enumerate(spans)
    )


def vector_record(encoding: Encoding, centre: FloatArray | None) -> bytes:
    """What an index keeps of an encoding, beside the text.

    Args:
        encoding: to keep.
        centre: of the model, subtracted before vectors are rounded; None for a model without one.
    """
    chunks = [
        [chunk.section, chunk.position, chunk.span.start, chunk.span.end, len(chunk.ids)]
        for chunk in encoding.chunks
    ]
    centred = encoding.chunk_vectors if centre is None else encoding.chunk_vectors - centre
    arrays: dict[str, NDArray[Any]] = {
        "chunks": np.asarray(chunks, np.int32).reshape(-1, 5),
        **_rounded("chunk", centred),
        **_rounded("section", encoding.section_vectors),
        "document_vector": encoding.document_vector,
        "domains": encoding.domains,
    }
    for name, terms in (("terms", encoding.terms), ("opening", encoding.opening)):
        if terms is not None:
            arrays |= _packed_terms(name, terms)
    return pack({}, arrays)


def _rounded(name: str, vectors: FloatArray) -> Arrays:
    """Vectors [n, H] as int8 and their scales [n]."""
    scales = np.abs(vectors).max(1, initial=0.0) / 127
    safe = np.where(scales > 0, scales, 1)[:, None]
    return {
        f"{name}_values": np.rint(vectors / safe).astype(np.int8),
        f"{name}_scales": scales.astype(np.float32),
    }


def _restored(name: str, arrays: Arrays) -> FloatArray:
    restored: FloatArray = arrays[f"{name}_values"] * arrays[f"{name}_scales"][:, None]
    return restored


def _packed_terms(name: str, terms: Terms) -> Arrays:
    gaps = np.diff(terms.buckets, prepend=0).astype("<u4")
    planes = gaps.view(np.uint8).reshape(-1, 4).T.tobytes()
    return {
        f"{name}_buckets": np.frombuffer(zlib.compress(planes, 1), np.uint8),
        f"{name}_weights": terms.weights.astype(np.float16),
    }


def terms_of(name: str, arrays: Arrays) -> Terms | None:
    """The weighed words of a vector record; None for a model without a lexicon."""
    if f"{name}_buckets" not in arrays:
        return None
    planes = np.frombuffer(zlib.decompress(arrays[f"{name}_buckets"].tobytes()), np.uint8)
    gaps = np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").ravel()
    weights = arrays[f"{name}_weights"].astype(np.float32)
    return Terms(np.cumsum(gaps, dtype=np.int32), weights / max(float(np.linalg.norm(weights)), 1e-12))


def chunk_vectors_of(arrays: Arrays, centre: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Chunk vectors [n, H] of a vector record, and the same centred and of unit length."""
    centred = _restored("chunk", arrays)
    if centre is None:
        return centred, centred
    return centred + centre, unit_rows(centred)


def section_vectors_of(arrays: Arrays) -> FloatArray:
    """Section vectors [s, D] of a vector record, of unit length."""
    return unit_rows(_restored("section", arrays))


def shares_of(arrays: Arrays) -> FloatArray:
    """The share of each chunk in the tokens of a vector record, [n]; see `Encoding.shares`."""
    lengths = np.maximum(1, arrays["chunks"][:, 4] - 2).astype(np.float32)
    shares: FloatArray = lengths / lengths.sum()
    return shares


def encoding_of(
    document: Document, chunks: tuple[Chunk, ...], arrays: Arrays, centre: FloatArray | None
) -> Encoding:
    """The encoding of a document, from its chunks and its vector record."""
    vectors, centred = chunk_vectors_of(arrays, centre)
    return Encoding(
        document,
        chunks,
        vectors,
        centred,
        section_vectors_of(arrays),
        arrays["document_vector"],
        terms_of("terms", arrays),
        terms_of("opening", arrays),
        arrays["domains"],
    )
