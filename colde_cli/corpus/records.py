"""Keep documents, vectors and weighted words as bytes: in the cache, by the content of the files, and in an index.

A record is a JSON header (deflated) followed by its arrays, little-endian, the first at a multiple of four bytes. A
record that is damaged, or of another layout, is made again. The cache has two per file, because ranking needs a little
of every document and everything of a few:

    card   title, warnings, chunk vectors, weighted words, and the document vector, if a score needs it
    full   what else is in `Encoding`

There is also one record for the field profile of a whole corpus.

The cache keeps arrays as float32 or int32, at multiples of four bytes. NumPy multiplies arrays that lie elsewhere in
another order, and a score must not depend on where a vector was kept. An index keeps less, since it lasts and lies on
shared disks:

    chunk vectors    int8 with one scale per vector, after the model's centre is subtracted
    section vectors  int8 with one scale per vector, as the document vector only where a score needs them
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

from colde_cli.documents.document import Chunk, Document, Span, document_header, document_of, kept_title
from colde_cli.documents.passages import Passage
from colde_cli.documents.pdf.scans import way_of_reading
from colde_cli.encoder.checksums import CHECKSUMS, record_checksums
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, OwnVectors, Vectors
from colde_cli.encoder.vector_cache import Cache, digest, file_digest
from colde_cli.errors import OptionError
from colde_cli.files import atomic_folder
from colde_cli.scoring.config import scores_own
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import HEADER, STATISTICS, FieldProfile
from colde_cli.scoring.whitening import unit_rows
from colde_cli.settings import VERSION

FloatArray = NDArray[np.float32]
Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Opened = TypeVar("Opened")

FORMAT = 9
"""Number of the layout of records, a part of their keys: raise it with every change of their names or order."""


def pack(header: Header, arrays: Mapping[str, NDArray[Any]], level: int = 1) -> bytes:
    """A record; `level` is that of zlib, for the header."""
    listed = {name: [values.dtype.str, *values.shape] for name, values in arrays.items()}
    text = zlib.compress(json.dumps({**header, "arrays": listed}).encode(), level)
    head = (struct.pack("<I", len(text)) + text).ljust(_start(len(text)), b"\0")
    return head + b"".join(values.tobytes() for values in arrays.values())


def unpack(blob: bytes | memoryview) -> tuple[Header, Arrays] | None:
    """Header and arrays; None if the record is damaged."""
    try:
        (length,) = struct.unpack_from("<I", blob)
        header = json.loads(zlib.decompress(blob[4 : 4 + length]))
        place, arrays = _start(length), {}
        for name, (kind, *shape) in header["arrays"].items():
            arrays[name] = np.frombuffer(blob, kind, math.prod(shape), place).reshape(shape)
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
    return pack(document_header(document, title), {"passages": np.frombuffer(deflated, np.uint8)}, 6)


def passages_of(document: Document, arrays: Arrays) -> tuple[Passage, ...]:
    """The passages of a text record."""
    places = np.frombuffer(zlib.decompress(arrays["passages"].tobytes()), np.int32).reshape(3, -1).T.tolist()
    return tuple(
        Passage(index, section, Span(start, end), document.pages_of(Span(start, end)))
        for index, (section, start, end) in enumerate(places)
    )


def vector_record(encoding: Encoding, centre: FloatArray | None) -> bytes:
    """What an index keeps of an encoding, besides the text.

    Args:
        encoding: to keep.
        centre: of the model, subtracted before vectors are rounded; None for a model without one.
    """
    chunks = [
        [chunk.section, chunk.position, chunk.span.start, chunk.span.end, len(chunk.ids)] for chunk in encoding.chunks
    ]
    arrays: Arrays = {"chunks": np.asarray(chunks, np.int32).reshape(-1, 5)}
    centred = encoding.chunk_vectors if centre is None else encoding.chunk_vectors - centre
    arrays["chunk_values"], arrays["chunk_scales"] = in_int8(centred)
    arrays["domains"] = encoding.domains
    if (own := encoding.kept_own) is not None:
        arrays["section_values"], arrays["section_scales"] = in_int8(own.sections)
        arrays["document_vector"] = own.document
    for name, terms in _words(encoding):
        planes = np.diff(terms.buckets, prepend=0).astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
        arrays[f"{name}_buckets"] = np.frombuffer(zlib.compress(planes, 1), np.uint8)
        arrays[f"{name}_weights"] = terms.weights.astype(np.float16)
    return pack({}, arrays)


def in_int8(vectors: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Vectors [n, H] rounded, and their scales [n]; the largest number of each row becomes 127 or -127."""
    scales = np.abs(vectors).max(1, initial=0.0) / 127
    safe = np.where(scales > 0, scales, 1)[:, None]
    return np.rint(vectors / safe).astype(np.int8), scales.astype(np.float32)


def _restored(name: str, arrays: Arrays) -> FloatArray:
    restored: FloatArray = arrays[f"{name}_values"] * arrays[f"{name}_scales"][:, None]
    return restored


def _words(source: Encoding) -> list[tuple[str, Terms]]:
    """The weighted words by name; none for a model without a lexicon."""
    named = (("terms", source.terms), ("opening", source.opening))
    return [(name, terms) for name, terms in named if terms is not None]


def terms_of(name: str, arrays: Arrays) -> Terms | None:
    """The weighted words of a record of vectors; None for a model without a lexicon."""
    if f"{name}_buckets" not in arrays:
        return None
    buckets, weights = arrays[f"{name}_buckets"], arrays[f"{name}_weights"]
    if buckets.dtype != np.uint8:
        return Terms(buckets, weights)
    planes = np.frombuffer(zlib.decompress(buckets.tobytes()), np.uint8)
    gaps = np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").ravel()
    kept: FloatArray = weights.astype(np.float32)
    return Terms(np.cumsum(gaps, dtype=np.int32), kept / max(float(np.linalg.norm(kept)), 1e-12))


def chunk_vectors_of(arrays: Arrays, centre: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Chunk vectors [n, H] of a record, and the same centred and of unit length."""
    if "chunk_vectors" in arrays:
        return arrays["chunk_vectors"], arrays["centred_unit_vectors"]
    centred = _restored("chunk", arrays)
    return (centred, centred) if centre is None else (centred + centre, unit_rows(centred))


def own_vectors_of(arrays: Arrays) -> OwnVectors | None:
    """The model's own vectors of a record; None where it keeps none."""
    if "document_vector" not in arrays:
        return None
    kept = "section_vectors" in arrays
    sections = arrays["section_vectors"] if kept else unit_rows(_restored("section", arrays))
    return OwnVectors(arrays["document_vector"], sections)


def shares_of(arrays: Arrays) -> FloatArray:
    """The share of each chunk in the tokens of a document, [n]; see `Encoding.shares`."""
    if "shares" in arrays:
        return arrays["shares"]
    lengths = np.maximum(1, arrays["chunks"][:, 4] - 2).astype(np.float32)
    shares: FloatArray = lengths / lengths.sum()
    return shares


def encoding_of(
    document: Document, chunks: tuple[Chunk, ...], arrays: Arrays, centre: FloatArray | None = None
) -> Encoding:
    """The encoding of a document, from its chunks and a record of its vectors."""
    vectors = Vectors(
        *chunk_vectors_of(arrays, centre),
        own_vectors_of(arrays),
        terms_of("terms", arrays),
        terms_of("opening", arrays),
        arrays["domains"],
    )
    return Encoding(document, chunks, vectors)


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """The part of an encoding that ranking needs: arrays and words as of `Scorable`.

    `title` is as printed, else the file's name; `warnings` are sentences on what could not be read.
    """

    path: str
    title: str
    chunk_vectors: FloatArray
    centred_unit_vectors: FloatArray
    shares: FloatArray
    domains: FloatArray
    terms: Terms | None = None
    opening: Terms | None = None
    document_vector: FloatArray | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, encoding: Encoding) -> Card:
        """The card of a document."""
        document, own = encoding.document, encoding.kept_own
        parts: dict[str, Any] = {name: getattr(encoding, name) for name in (*_CARD_ARRAYS, "terms", "opening")}
        vector = None if own is None else own.document
        return cls(document.path, document.title, **parts, document_vector=vector, warnings=document.report.warnings)

    @classmethod
    def of_arrays(
        cls, path: str, title: str, warnings: Sequence[str], arrays: Arrays, centre: FloatArray | None = None
    ) -> Card:
        """The card of a record; a title of "" stands for the name of the file."""
        return cls(
            path,
            title or Path(path).name,
            *chunk_vectors_of(arrays, centre),
            shares_of(arrays),
            arrays["domains"],
            terms_of("terms", arrays),
            terms_of("opening", arrays),
            arrays.get("document_vector"),
            tuple(warnings),
        )


_CARD_ARRAYS = ("chunk_vectors", "centred_unit_vectors", "shares", "domains")


class Store:
    """Encodings of files in the cache, for one model and one way of reading."""

    def __init__(self, cache: Cache | None, encoder: DocumentEncoder, options: Sequence[str] = ()) -> None:
        """Keep encodings in `cache` (None keeps none); `options` name everything that changes what is read."""
        self._cache = cache
        self._base = digest(
            f"{FORMAT} {VERSION} {scores_own(encoder.config)}".encode(),
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

        def make(path: Path, header: Header, arrays: Arrays) -> Card:
            return Card.of_arrays(str(path), header["title"], header["warnings"], arrays)

        names = {path: digest(b"card", key) for path, key in keys.items()}
        values = self._get(list(names.values()))
        cards = {path: _opened(values.get(name), path, make) for path, name in names.items()}
        return {path: card for path, card in cards.items() if card is not None}

    def encoding(self, path: Path, key: bytes) -> Encoding | None:
        """The encoding of a file, if it is known."""
        names = [digest(part, key) for part in (b"card", b"full")]
        card, full = map(self._get(names).get, names)
        vectors = _opened(card, path, lambda _, __, arrays: arrays)

        def make(path: Path, header: Header, arrays: Arrays) -> Encoding:
            document = document_of(str(path), path.name, header)
            tokens = np.split(arrays["ids"], np.cumsum(arrays["lengths"])[:-1])
            chunks = []
            for index, ((section, position, start, end), ids) in enumerate(zip(header["chunks"], tokens, strict=True)):
                span = Span(start, end)
                chunks.append(Chunk(index, section, position, span, tuple(ids.tolist()), document.pages_of(span)))
            return encoding_of(document, tuple(chunks), {**arrays, **(vectors or {})})

        return _opened(full, path, make)

    def keep(self, key: bytes, encoding: Encoding) -> None:
        """Keep the encoding of a file."""
        if self._cache is None:
            return
        document, chunks, title = encoding.document, encoding.chunks, kept_title(encoding.document)
        vectors: Arrays = {name: getattr(encoding, name) for name in _CARD_ARRAYS}
        for name, terms in _words(encoding):
            vectors |= {f"{name}_buckets": terms.buckets, f"{name}_weights": terms.weights}
        places = [[chunk.section, chunk.position, chunk.span.start, chunk.span.end] for chunk in chunks]
        rest: Arrays = {
            "ids": np.array([token for chunk in chunks for token in chunk.ids], np.int32),
            "lengths": np.array([len(chunk.ids) for chunk in chunks], np.int32),
        }
        if (own := encoding.kept_own) is not None:
            vectors["document_vector"], rest["section_vectors"] = own.document, own.sections
        records = {
            digest(b"card", key): pack({"title": title, "warnings": document.report.warnings}, vectors),
            digest(b"full", key): pack({**document_header(document, title), "chunks": places}, rest),
        }
        self._cache.put(records)

    def profile(self, name: str, fingerprint: str, keys: Sequence[bytes]) -> FieldProfile | None:
        """The profile of the files with these keys, ascending, if it is known.

        Args:
            name: to give it.
            fingerprint: of the model.
            keys: of the files.
        """

        def make(path: Path, header: Header, arrays: Arrays) -> FieldProfile:
            return FieldProfile.of_arrays(name, len(keys), fingerprint, arrays)

        key = digest(b"profile", fingerprint.encode(), *keys)
        return _opened(self._get([key]).get(key), Path(), make)

    def keep_profile(self, profile: FieldProfile, keys: Sequence[bytes]) -> None:
        """Keep the profile of the files with these keys, ascending."""
        if self._cache is not None:
            key = digest(b"profile", profile.fingerprint.encode(), *keys)
            self._cache.put({key: pack({}, profile.arrays)})

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        return self._cache.get(keys) if self._cache is not None else {}


@memoised
def reader_digest() -> bytes:
    """Hash of the code of all readers: when one changes, files are read again."""
    folder = Path(__file__).parents[1] / "documents"
    return digest(*(path.read_bytes() for path in sorted(folder.rglob("*.py"))))


def reading_digest(ocr: str) -> bytes:
    """Hash of all that changes what is read in a file, and after it the mode of OCR in plain letters."""
    return digest(reader_digest(), way_of_reading(ocr).encode()) + ocr.encode()


def mode_of(reading: bytes) -> str:
    """The mode of OCR in a `reading_digest`; earlier versions had none."""
    return reading[len(digest()) :].decode(errors="replace") or "never"


def _opened(blob: bytes | None, path: Path, make: Callable[[Path, Header, Arrays], Opened]) -> Opened | None:
    """What a record holds; None if it is missing, damaged or of another layout."""
    unpacked = unpack(blob) if blob is not None else None
    try:
        return make(path, *unpacked) if unpacked is not None else None
    except (KeyError, TypeError, ValueError):
        return None


def check_profile_folder(folder: Path) -> None:
    """Check that a field profile can be written there, before any work.

    Raises:
        OptionError: the folder holds something else, or its name is not valid.
    """
    try:
        folder.name.encode()
        others = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        taken = bool(others - {HEADER, STATISTICS, CHECKSUMS}) or (folder.exists() and not folder.is_dir())
    except UnicodeEncodeError as error:
        raise OptionError(f"The name {folder.name!a} is not UTF-8; choose another name.") from error
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
    if taken:
        raise OptionError(f"{folder} is not a field profile and is not overwritten; choose another name.")


def save_profile(profile: FieldProfile, folder: Path) -> None:
    """Write a field profile, in place of one that the folder holds.

    Raises:
        OptionError: the folder holds something else, or cannot be written.
    """
    check_profile_folder(folder)
    try:
        with atomic_folder(folder) as staged:
            profile.save(staged)
            record_checksums(staged)
    except OSError as error:
        raise OptionError(f"{folder} cannot be written: {error.strerror or error}.") from error
