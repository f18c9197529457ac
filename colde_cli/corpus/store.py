"""Keep documents, vectors and weighted words as bytes: in the cache, by the content of the files, and in an index.

A record is a JSON header (deflated) followed by its arrays, little-endian, the first at a multiple of four bytes. A
record that is damaged, or of another layout, is made again. The cache has two per file, because ranking needs a little
of every document and everything of a few:

    card   title, warnings, document vector, chunk vectors and weighted words
    full   everything in `Encoding`

There is also one record for the field profile of a whole corpus.

The cache keeps arrays as float32 or int32, at multiples of four bytes. NumPy multiplies arrays that lie elsewhere in
another order, and a score must not depend on where a vector was kept. An index keeps less, since it lasts and lies on
shared disks:

    chunk vectors    int8 with one scale per vector, after the model's centre is subtracted
    section vectors  int8 with one scale per vector
    words            buckets as differences, split into their bytes and deflated; weights as float16
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as memoised
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import colde_cli
from colde_cli.documents.document import Chunk, Document, Span, document_header, document_of, kept_title
from colde_cli.documents.passages import Passage
from colde_cli.encoder.cache import Cache, digest, file_digest
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, Vectors
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import FieldProfile
from colde_cli.scoring.whitening import unit_rows

FloatArray = NDArray[np.float32]
Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Opened = TypeVar("Opened")

FORMAT = 7
"""Number of the layout of records, a part of their keys: raise it with every change of their names or order."""


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
    """The offset of the arrays after a header of `length` bytes."""
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
    """What an index keeps of an encoding, besides the text.

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
    """The weighted words of a vector record; None for a model without a lexicon."""
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
    made = Vectors(
        vectors,
        centred,
        section_vectors_of(arrays),
        arrays["document_vector"],
        terms_of("terms", arrays),
        terms_of("opening", arrays),
        arrays["domains"],
    )
    return Encoding(document, chunks, made)


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """The part of an encoding that ranking needs.

    Attributes:
        title: as printed, else the file's name.
        document_vector: [D], unit length.
        chunk_vectors: [n, H], as the chunk encoder gives them; a field profile centres them in its own way.
        centred_unit_vectors: [n, H], centred chunk vectors of unit length.
        shares: [n], the share of each chunk in the document's tokens.
        terms: its weighted words; None for a model without a lexicon.
        opening: the weighted words of its beginning; None for a model without a lexicon.
        domains: [1 + K], how much it belongs to each domain, "other" first.
        warnings: sentences on what could not be read.
    """

    path: str
    title: str
    document_vector: FloatArray
    chunk_vectors: FloatArray
    centred_unit_vectors: FloatArray
    shares: FloatArray
    domains: FloatArray
    terms: Terms | None = None
    opening: Terms | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, encoding: Encoding) -> Card:
        """The card of a document."""
        return cls(
            encoding.document.path,
            encoding.document.title,
            encoding.document_vector,
            encoding.chunk_vectors,
            encoding.centred_unit_vectors,
            encoding.shares,
            encoding.domains,
            encoding.terms,
            encoding.opening,
            encoding.document.report.warnings,
        )


class Store:
    """Encodings of files in the cache, for one model and one way of reading."""

    def __init__(self, cache: Cache | None, encoder: DocumentEncoder, options: Sequence[str] = ()) -> None:
        """Keep encodings in `cache` (None keeps none); `options` name everything that changes what is read."""
        self._cache = cache
        self._base = digest(
            f"{FORMAT} {colde_cli.__version__}".encode(),
            reader_digest(),
            encoder.identity,
            *(option.encode() for option in options),
        )

    def key(self, path: Path) -> bytes:
        """The key of a file: its bytes, and its suffix, which also decides how it is read.

        Raises:
            OSError: the file cannot be read.
        """
        return digest(self._base, path.suffix.lower().encode(), file_digest(path))

    def cards(self, keys: Mapping[Path, bytes]) -> dict[Path, Card]:
        """The cards of those files that are known."""
        values = self._get([_card_key(key) for key in keys.values()])
        cards: dict[Path, Card] = {}
        for path, key in keys.items():
            card = _opened(values.get(_card_key(key)), path, _card)
            if card is not None:
                cards[path] = card
        return cards

    def encoding(self, path: Path, key: bytes) -> Encoding | None:
        """The encoding of a file, if it is known."""
        record = self._get([_full_key(key)]).get(_full_key(key))
        return None if record is None else open_encoding(record, path)

    def keep(self, key: bytes, encoding: Encoding) -> None:
        """Keep the encoding of a file."""
        if self._cache is None:
            return
        title = kept_title(encoding.document)
        card = Card.of(encoding)
        arrays = {name: getattr(card, name) for name in _CARD_ARRAYS} | _term_arrays(card)
        packed = pack({"title": title, "warnings": card.warnings}, arrays)
        self._cache.put({_card_key(key): packed, _full_key(key): pack_encoding(encoding, title)})

    def profile(self, name: str, fingerprint: str, keys: Sequence[bytes]) -> FieldProfile | None:
        """The profile of the files with these keys, if it is known.

        Args:
            name: to give it.
            fingerprint: of the model.
            keys: ascending.
        """
        key = _profile_key(fingerprint, keys)

        def make(path: Path, header: Header, arrays: Arrays) -> FieldProfile:
            return FieldProfile.of_arrays(name, len(keys), fingerprint, arrays)

        return _opened(self._get([key]).get(key), Path(), make)

    def keep_profile(self, profile: FieldProfile, keys: Sequence[bytes]) -> None:
        """Keep the profile of the files with these keys."""
        if self._cache is not None:
            key = _profile_key(profile.fingerprint, keys)
            self._cache.put({key: pack({}, profile.arrays)})

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        return self._cache.get(keys) if self._cache is not None else {}


_CARD_ARRAYS = ("document_vector", "chunk_vectors", "centred_unit_vectors", "shares", "domains")


@memoised
def reader_digest() -> bytes:
    """Hash of the code of all readers: when one changes, files are read again."""
    folder = Path(colde_cli.__file__).parent / "documents"
    return digest(*(path.read_bytes() for path in sorted(folder.rglob("*.py"))))


def _card_key(key: bytes) -> bytes:
    return digest(b"card", key)


def _profile_key(fingerprint: str, keys: Sequence[bytes]) -> bytes:
    return digest(b"profile", fingerprint.encode(), *keys)


def _full_key(key: bytes) -> bytes:
    return digest(b"full", key)


def _opened(blob: bytes | None, path: Path, make: Callable[[Path, Header, Arrays], Opened]) -> Opened | None:
    """What a record holds; None if it is missing, damaged or of another layout."""
    unpacked = unpack(blob) if blob is not None else None
    try:
        return make(path, *unpacked) if unpacked is not None else None
    except (KeyError, TypeError, ValueError):
        return None


def open_encoding(record: bytes, path: Path) -> Encoding | None:
    """The encoding of a record; None if it is damaged or of another layout."""
    return _opened(record, path, _encoding)


def pack_encoding(encoding: Encoding, title: str) -> bytes:
    """The record of an encoding; `title` is "" where it is only the name of a file."""
    document, chunks = encoding.document, encoding.chunks
    header = document_header(document, title)
    header["chunks"] = [[chunk.section, chunk.position, chunk.span.start, chunk.span.end] for chunk in chunks]
    arrays: dict[str, NDArray[Any]] = {
        "ids": np.array([token for chunk in chunks for token in chunk.ids], np.int32),
        "lengths": np.array([len(chunk.ids) for chunk in chunks], np.int32),
        "chunk_vectors": encoding.chunk_vectors,
        "centred_unit_vectors": encoding.centred_unit_vectors,
        "section_vectors": encoding.section_vectors,
        "document_vector": encoding.document_vector,
        "domains": encoding.domains,
    }
    return pack(header, arrays | _term_arrays(encoding))


def _term_arrays(source: Card | Encoding) -> dict[str, NDArray[Any]]:
    """Weighed words as arrays; none for a model without a lexicon."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, terms in (("terms", source.terms), ("opening", source.opening)):
        if terms is not None:
            arrays |= {f"{name}_buckets": terms.buckets, f"{name}_weights": terms.weights}
    return arrays


def _terms(arrays: Mapping[str, NDArray[Any]]) -> tuple[Terms | None, Terms | None]:
    found = [
        Terms(arrays[f"{name}_buckets"], arrays[f"{name}_weights"]) if f"{name}_buckets" in arrays else None
        for name in ("terms", "opening")
    ]
    return found[0], found[1]


def _card(path: Path, header: Header, arrays: Arrays) -> Card:
    terms, opening = _terms(arrays)
    return Card(
        str(path),
        header["title"] or path.name,
        arrays["document_vector"],
        arrays["chunk_vectors"],
        arrays["centred_unit_vectors"],
        arrays["shares"],
        arrays["domains"],
        terms,
        opening,
        tuple(header["warnings"]),
    )


def _encoding(path: Path, header: Header, arrays: Arrays) -> Encoding:
    document = document_of(str(path), path.name, header)
    ends = np.cumsum(arrays["lengths"])
    ids = np.split(arrays["ids"], ends[:-1])
    chunks = []
    for index, ((section, position, start, end), tokens) in enumerate(
        zip(header["chunks"], ids, strict=True)
    ):
        span = Span(start, end)
        pages = document.pages_of(span)
        chunks.append(Chunk(index, section, position, span, tuple(tokens.tolist()), pages))
    made = Vectors(
        arrays["chunk_vectors"],
        arrays["centred_unit_vectors"],
        arrays["section_vectors"],
        arrays["document_vector"],
        *_terms(arrays),
        arrays["domains"],
    )
    return Encoding(document, tuple(chunks), made)
