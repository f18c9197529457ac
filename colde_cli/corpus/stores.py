"""What an index gives to those who search it, wherever it is kept.

`index_reader.Index` keeps it in a file of SQLite, for one machine; `lance_store.LanceIndex` in a data set of Lance, on
a local disk, a share or an object store, for many. Records are the same in both, and so are scores.
"""

from __future__ import annotations

import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter, HalfRead, Skipped, file_identity
from colde_cli.corpus.records import Arrays, Card, Header, encoding_of, pack, passages_of, unpack
from colde_cli.documents.document import Document, document_of
from colde_cli.documents.passages import Passage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.loading import learn_field
from colde_cli.encoder.vector_cache import digest
from colde_cli.errors import BadIndexError, called
from colde_cli.scoring.profile import MIN_DOCUMENTS, Field, FieldProfile
from colde_cli.settings import CORPUS

FloatArray = NDArray[np.float32]
Ints = NDArray[np.int64]

EXACT = 1_000
"""Maximum number of documents of an index that is searched by exact scores alone."""
SCORED = 300
"""Number of candidates that get an exact score; twice the number of hits asked for, if that is more."""
MAX_LEARNED_FROM = 2_000
"""Documents that the field profile of an index is learned from: those with the smallest hashes."""


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """The documents that deserve an exact score.

    `numbers` ascend, int64 [n]; a document of the side file that is gone may be among them. `searched` is the number of
    documents that they were chosen from.
    """

    numbers: Ints
    searched: int


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document of an index, without its text and vectors.

    Attributes:
        number: stands for it in one state of the index; SQLite never uses it again.
        content: the same for files of the same bytes.
        path: relative to the working folder where it lies below, else absolute.
        title: as printed, else the file's name.
        size: bytes.
        mtime_ns: time of its last change, in nanoseconds since 1970.
        warnings: sentences on what could not be read.
    """

    number: int
    content: bytes
    path: str
    title: str
    size: int
    mtime_ns: int
    words: int
    chunks: int
    pages: int | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class IndexedModel:
    """The model whose vectors an index holds, with the `precision` that it had when the index was made.

    For `family` and `centre` [H] see `DocumentEncoder`; chunk vectors are kept centred.
    """

    number: int
    family: bytes
    name: str
    precision: str
    centre: FloatArray | None


Row = dict[str, Any]
"""Columns of a document by their names in a data set, which has all of them; its number is `_rowid`."""

_CARD = ("path", "title", "warnings", "vectors_checksum", "vectors")
_FACTS = ("path", "key", "title", "size", "mtime_ns", "words", "chunks", "pages", "warnings")


class DocumentStore(ABC):
    """An open index, in one state. Use it from one thread at a time.

    All methods raise `BadIndexError` where the index is damaged or out of reach.

    Attributes:
        place: its folder or URL, as a person writes it.
    """

    place: str

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Read the index in one state, whatever another process writes meanwhile."""

    @property
    @abstractmethod
    def generation(self) -> str:
        """Name the state of the index; it changes with every change."""

    @property
    @abstractmethod
    def model(self) -> IndexedModel | None:
        """The model whose vectors are used; None in an index without documents."""

    @abstractmethod
    def count(self) -> int:
        """How many documents there are."""

    @abstractmethod
    def roots(self) -> tuple[str, ...]:
        """The folders and files that the index follows, as absolute paths."""

    @abstractmethod
    def chosen(self, columns: Sequence[str], chosen: Filter = ALL, only: str = "") -> Iterator[Row]:
        """Columns of documents in the order of numbers; `only` is a further condition of SQL."""

    @abstractmethod
    def taken(self, numbers: Sequence[int] | Ints, columns: Sequence[str]) -> Iterator[Row]:
        """Columns of the documents with these numbers; those that are gone are left out."""

    def numbers(self, chosen: Filter = ALL) -> Ints:
        """The numbers of the documents, ascending."""
        return np.fromiter((row["_rowid"] for row in self.chosen((), chosen)), np.int64)

    def documents(self, chosen: Filter = ALL) -> Iterator[IndexedDocument]:
        """The documents, by number."""
        for row in self.chosen(_FACTS, chosen):
            with decoded(self.place):
                shown, said = shown_path(row["path"]), tuple(json.loads(row["warnings"]))
                title = json.loads(row["title"]) or Path(shown).name
                facts = {name: row[name] for name in ("size", "mtime_ns", "words", "chunks", "pages")}
            yield IndexedDocument(row["_rowid"], row["key"], shown, title, warnings=said, **facts)

    def cards(self, numbers: Sequence[int] | Ints) -> dict[int, Card]:
        """The cards of documents, by number; numbers that are gone are left out."""
        return dict(self._cards(self.taken(numbers, _CARD)))

    def all_cards(self, chosen: Filter = ALL, only: str = "") -> Iterator[tuple[int, Card]]:
        """Numbers and cards in the order of numbers, read one after the other; arguments are those of `chosen`."""
        return self._cards(self.chosen(_CARD, chosen, only))

    def _cards(self, rows: Iterable[Row]) -> Iterator[tuple[int, Card]]:
        model = self.model
        for row in rows:
            _, arrays = self.unpacked(row["vectors"], row["vectors_checksum"])
            if model is None:
                raise damaged(self.place)
            with decoded(self.place):
                title, said = json.loads(row["title"]), json.loads(row["warnings"])
                card = Card.of_arrays(shown_path(row["path"]), title, said, arrays, model.centre)
            yield row["_rowid"], card

    def numbers_of(self, path: str | Path) -> tuple[int, ...]:
        """The numbers of the documents that are this file, by whatever name or link."""
        if str(path) in ("", "-"):
            return ()
        names = {os.fsencode(os.path.abspath(path)), os.fsencode(os.path.realpath(path))}  # noqa: PTH100
        itself = file_identity(path)
        size = -1 if itself is None else os.stat(path).st_size  # noqa: PTH116 - beside `file_identity`
        rows = self._alike(names, size)
        return tuple(number for number, other in rows if other in names or file_identity(other) == itself)

    @abstractmethod
    def _alike(self, names: Collection[bytes], size: int) -> Iterable[tuple[int, bytes]]:
        """Number and path of the documents that have one of these paths, or as many bytes."""

    def half_read(self, chosen: Filter = ALL) -> tuple[HalfRead, ...]:
        """The documents of which something could not be read, with the sentences that say what, by path."""
        rows = self.chosen(("path", "warnings"), chosen, "warnings <> '[]'")
        with decoded(self.place):
            return tuple(sorted(HalfRead(shown_path(row["path"]), tuple(json.loads(row["warnings"]))) for row in rows))

    @abstractmethod
    def bad_files(self) -> tuple[Skipped, ...]:
        """The files that cannot be read, with the reason, by path."""

    @abstractmethod
    def _profile(self, fingerprint: str) -> tuple[int, int, bytes] | None:
        """Of the field of the corpus: how many documents it was learned from, checksum and record."""

    def check_model(self, encoder: DocumentEncoder) -> None:
        """Check that a model is the one of the index.

        Raises:
            BadIndexError: it is another.
        """
        model = self.model
        if model is not None and model.family != encoder.family:
            raise BadIndexError(
                f"{self.place} holds vectors of another model, {model.name}; choose it with {called('model')}, or"
                f" {self._other_model(encoder.info.name)}"
            )

    def _other_model(self, name: str) -> str:
        return f"encode the index anew with: colde index {self.place} --model {name}"

    def document(self, number: int) -> Document:
        """The text of a document, with its sections."""
        return self._text(number)[0]

    def passages(self, number: int) -> tuple[Document, tuple[Passage, ...]]:
        """The text of a document, and its passages."""
        document, arrays = self._text(number)
        with decoded(self.place):
            return document, passages_of(document, arrays)

    def _text(self, number: int) -> tuple[Document, Arrays]:
        path, (header, arrays) = self._record(number, "text")
        with decoded(self.place):
            shown = shown_path(path)
            return document_of(shown, Path(shown).name, header), arrays

    def encoding(self, number: int, encoder: DocumentEncoder) -> Encoding:
        """The encoding of a document; `encoder` is the model of the index, which cuts the text into chunks again.

        Raises:
            BadIndexError: it is gone, a record is damaged, or the model is another.
        """
        self.check_model(encoder)
        model = self.model
        if model is None:
            raise damaged(self.place)
        _, (_, arrays) = self._record(number, "vectors")
        document = self.document(number)
        chunks = encoder.chunk(document) if len(arrays["chunks"]) else ()
        with decoded(self.place):
            return encoding_of(document, chunks, arrays, model.centre)

    def _record(self, number: int, part: str) -> tuple[bytes, tuple[Header, Arrays]]:
        """The path of a document, and its record "text" or "vectors"."""
        checksum = f"{part}_checksum"
        for row in self.taken([number], ("path", checksum, part)):
            return row["path"], self.unpacked(row[part], row[checksum])
        raise BadIndexError(f"Document {number} is no longer in {self.place}; search again.")

    def unpacked(self, record: bytes, checksum: int) -> tuple[Header, Arrays]:
        """Header and arrays of a record.

        Raises:
            BadIndexError: it is damaged.
        """
        with decoded(self.place):
            parts = unpack(record) if zlib.crc32(record) == checksum else None
        if parts is None:
            raise damaged(self.place)
        return parts

    def field(self, encoder: DocumentEncoder) -> Field | None:
        """The field that the corpus is; None in a small one, or for a model that has none."""
        statistics = encoder.statistics
        row = None if statistics is None else self._profile(statistics.fingerprint)
        if statistics is None or row is None:
            return None
        documents, checksum, record = row
        with decoded(self.place):
            if zlib.crc32(record) != checksum:
                raise damaged(self.place)
            _, arrays = unpack(zlib.decompress(record)) or ({}, {})
            profile = FieldProfile.of_arrays(CORPUS, documents, statistics.fingerprint, arrays)
            return Field(profile, statistics)


def field_source(keys: Sequence[bytes], encoder: DocumentEncoder) -> bytes | None:
    """What stands for a field that is learned from the contents with these keys, ascending; None if there is none."""
    if encoder.statistics is None or len(keys) < MIN_DOCUMENTS:
        return None
    return digest(encoder.family, encoder.statistics.fingerprint.encode(), *keys)


def learned_field(cards: Iterable[Card], source: bytes, encoder: DocumentEncoder) -> tuple[str, bytes, int, int, bytes]:
    """Learn a field: its fingerprint, `field_source`, number of documents, checksum and record, as indexes keep it."""
    profile = learn_field(CORPUS, list(cards), encoder).profile
    record = zlib.compress(pack({}, profile.arrays), 1)
    return profile.fingerprint, source, profile.documents, zlib.crc32(record), record


def shown_path(path: bytes) -> str:
    """A path of the index as a person writes it: relative to the working folder where it lies below."""
    text = os.fsdecode(path)
    return text.removeprefix(os.path.join(os.getcwd(), ""))  # noqa: PTH109, PTH118 - of many thousand paths


@contextmanager
def decoded(place: str | Path) -> Iterator[None]:
    """Turn what a value of another kind or size raises into a sentence; around the reading of values, nothing else.

    A checksum guards against accidents, not against those who make an index by hand.

    Raises:
        BadIndexError: the index is damaged.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, zlib.error) as error:
        raise damaged(place) from error


def damaged(place: str | Path) -> BadIndexError:
    """The error of an index that is not whole."""
    return BadIndexError(f"{place} is damaged; delete it and make it again.")
