"""Whole encodings of files, kept by what the files hold: a second run neither parses nor tokenises nor encodes.

Two records per file, because ranking needs what makes a score of every document and the rest of a few:

    card   title, warnings, document vector, chunk vectors and weighed words
    full   everything in `Encoding`

A record is a JSON header (deflated) followed by its arrays as float32 or int32, little-endian, at multiples of four
bytes: NumPy multiplies what lies elsewhere in another order, and a score must not depend on where a vector was kept.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache as memoised
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import colde_cli
from colde_cli.documents.document import Chunk, Document, Ignored, ReadReport, Section, SectionKind, Span
from colde_cli.encoder.cache import Cache, digest, file_digest
from colde_cli.encoder.protocol import DocumentEncoder, Encoding
from colde_cli.scoring.lexicon import Terms

FloatArray = NDArray[np.float32]

FORMAT = 6
"""Of the records; a new one makes the old ones unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """What ranking needs of a document.

    Attributes:
        path: as given.
        title: as printed, else the file's name.
        document_vector: [D], unit length.
        centred_unit_vectors: [n, H], centred chunk vectors of unit length.
        shares: [n], the share of each chunk in the document's tokens.
        terms: its weighed words; None for a model without a lexicon.
        opening: those of its first words.
        domains: [1 + K], how much it is of each kind of text, "other" first.
        warnings: what of it could not be read, in sentences.
    """

    path: str
    title: str
    document_vector: FloatArray
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
        """Keep encodings in `cache` (None keeps none); `options` are all that changes what is read of a file."""
        self._cache = cache
        self._base = digest(
            f"{FORMAT} {colde_cli.__version__}".encode(),
            _reader_digest(),
            encoder.identity,
            *(option.encode() for option in options),
        )

    def key(self, path: Path) -> bytes:
        """What a file is known by: its bytes, and its suffix, which has a say in how it is read.

        Raises:
            OSError: the file cannot be read.
        """
        return digest(self._base, path.suffix.lower().encode(), file_digest(path))

    def cards(self, keys: Mapping[Path, bytes]) -> dict[Path, Card]:
        """The cards of those files that are known."""
        values = self._get([_card_key(key) for key in keys.values()])
        found: dict[Path, Card] = {}
        for path, key in keys.items():
            value = values.get(_card_key(key))
            unpacked = _unpack(value) if value is not None else None
            if unpacked is not None:
                header, arrays = unpacked
                found[path] = _card(path, header, arrays)
        return found

    def encoding(self, path: Path, key: bytes) -> Encoding | None:
        """The encoding of a file, if it is known."""
        value = self._get([_full_key(key)]).get(_full_key(key))
        unpacked = _unpack(value) if value is not None else None
        return _encoding(path, *unpacked) if unpacked is not None else None

    def keep(self, key: bytes, encoding: Encoding) -> None:
        """Keep the encoding of a file."""
        if self._cache is None:
            return
        document = encoding.document
        # Files of the same content may have other names; a title that is but the name is not kept.
        title = "" if document.title == Path(document.path).name else document.title
        card = Card.of(encoding)
        arrays = {name: getattr(card, name) for name in _CARD_ARRAYS} | _term_arrays(card)
        packed = _pack({"title": title, "warnings": card.warnings}, arrays)
        self._cache.put({_card_key(key): packed, _full_key(key): _packed_encoding(encoding, title)})

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        return self._cache.get(keys) if self._cache is not None else {}


_CARD_ARRAYS = ("document_vector", "centred_unit_vectors", "shares", "domains")


@memoised
def _reader_digest() -> bytes:
    """Hash of the code that reads: a reader that is changed reads anew, without anyone having to think of it."""
    folder = Path(colde_cli.__file__).parent / "documents"
    return digest(*(path.read_bytes() for path in sorted(folder.rglob("*.py"))))


def _card_key(key: bytes) -> bytes:
    return digest(b"card", key)


def _full_key(key: bytes) -> bytes:
    return digest(b"full", key)


def _pack(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    listed = {name: [values.dtype.str, *values.shape] for name, values in arrays.items()}
    text = zlib.compress(json.dumps({**header, "arrays": listed}).encode(), 1)
    head = (struct.pack("<I", len(text)) + text).ljust(_start(len(text)), b"\0")
    return head + b"".join(values.tobytes() for values in arrays.values())


def _start(length: int) -> int:
    """Where the arrays begin after a header of so many bytes."""
    return 4 + -(-length // 4) * 4


def _unpack(blob: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """Header and arrays; None where the record is damaged, which costs only the work of making it again."""
    try:
        (length,) = struct.unpack_from("<I", blob)
        header = json.loads(zlib.decompress(blob[4 : 4 + length]))
        place, arrays = _start(length), {}
        for name, (kind, *shape) in header["arrays"].items():
            count = math.prod(shape)
            arrays[name] = np.frombuffer(blob, kind, count, place).reshape(shape)
            place += arrays[name].nbytes
    except (struct.error, zlib.error, ValueError, KeyError):
        return None
    return header, arrays


def _packed_encoding(encoding: Encoding, title: str) -> bytes:
    document, chunks = encoding.document, encoding.chunks
    header = {
        "title": title,
        "text": document.text,
        "page_starts": document.page_starts,
        "sections": [asdict(section) for section in document.sections],
        "chunks": [[chunk.section, chunk.position, chunk.span.start, chunk.span.end] for chunk in chunks],
        "report": asdict(document.report),
    }
    arrays: dict[str, NDArray[Any]] = {
        "ids": np.array([token for chunk in chunks for token in chunk.ids], np.int32),
        "lengths": np.array([len(chunk.ids) for chunk in chunks], np.int32),
        "chunk_vectors": encoding.chunk_vectors,
        "centred_unit_vectors": encoding.centred_unit_vectors,
        "section_vectors": encoding.section_vectors,
        "document_vector": encoding.document_vector,
        "domains": encoding.domains,
    }
    return _pack(header, arrays | _term_arrays(encoding))


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


def _card(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Card:
    vectors = (arrays["document_vector"], arrays["centred_unit_vectors"], arrays["shares"], arrays["domains"])
    return Card(str(path), header["title"] or path.name, *vectors, *_terms(arrays), tuple(header["warnings"]))


def _encoding(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Encoding:
    document = Document(
        str(path),
        header["title"] or path.name,
        header["text"],
        tuple(_section(values) for values in header["sections"]),
        tuple(header["page_starts"]),
        _report(header["report"]),
    )
    ends = np.cumsum(arrays["lengths"])
    ids = np.split(arrays["ids"], ends[:-1])
    chunks = []
    for index, ((section, position, start, end), tokens) in enumerate(
        zip(header["chunks"], ids, strict=True)
    ):
        span = Span(start, end)
        pages = document.pages_of(span)
        chunks.append(Chunk(index, section, position, span, tuple(tokens.tolist()), pages))
    return Encoding(
        document,
        tuple(chunks),
        arrays["chunk_vectors"],
        arrays["centred_unit_vectors"],
        arrays["section_vectors"],
        arrays["document_vector"],
        *_terms(arrays),
        arrays["domains"],
    )


def _report(values: dict[str, Any]) -> ReadReport:
    frozen = {name: _frozen(value) for name, value in values.items()}
    ignored = frozen["ignored"]
    if ignored is not None:
        ignored = Ignored(**{name: _frozen(value) for name, value in ignored.items()})
    return ReadReport(**{**frozen, "ignored": ignored})


def _section(values: dict[str, Any]) -> Section:
    frozen = {name: _frozen(value) for name, value in values.items()}
    return replace(Section(**frozen), kind=SectionKind(values["kind"]), span=Span(**values["span"]))


def _frozen(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    return tuple(value) if isinstance(value, list) else value
