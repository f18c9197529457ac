"""Encode documents as far as their vectors are asked for: two versions of one text differ in few chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.runtime import Progress

if TYPE_CHECKING:
    from colde_cli.encoder.encoder import Encoder

FloatArray = NDArray[np.float32]

_KNOWN_AT_ONCE = ("document", "chunks")


class DocumentsLater:
    """Documents that are cut into chunks; each chunk is encoded once, when its vector is asked for."""

    def __init__(self, encoder: Encoder, documents: Sequence[Document], progress: Progress | None) -> None:
        self._encoder = encoder
        self._documents = documents
        self._progress = progress
        self._chunked = [encoder.chunk(document) for document in documents]
        self._vectors: dict[tuple[int, int], FloatArray] = {}
        self._encodings: list[Encoding] | None = None

    def encodings(self) -> list[Encoding]:
        """The documents, in order."""
        return [EncodedLater(self, number) for number in range(len(self._documents))]

    def begin(self, number: int) -> dict[str, object]:
        """The fields of an encoding that need no vectors."""
        return {"document": self._documents[number], "chunks": self._chunked[number]}

    def whole(self, number: int) -> Encoding:
        """The encoding of one document. All are encoded together, which keeps every processor at work."""
        if self._encodings is None:
            places = [(each, row) for each, chunks in enumerate(self._chunked) for row in range(len(chunks))]
            self._encodings = self._encoder.assemble(self._documents, self._chunked, self._at(places))
        return self._encodings[number]

    def some(self, places: Sequence[tuple[int, int]]) -> FloatArray:
        """[len(places), H], centred unit vectors of chunks, by document and row."""
        return self._encoder.head.centred_unit_vectors(self._at(places))

    def _at(self, places: Sequence[tuple[int, int]]) -> FloatArray:
        """[len(places), H], chunk vectors by document and row; those that are new are encoded."""
        missing = [place for place in places if place not in self._vectors]
        chunks = [self._chunked[number][row] for number, row in missing]
        new = self._encoder.encode_chunks(chunks, self._progress)
        self._vectors.update(zip(missing, new, strict=True))
        return np.stack([self._vectors[place] for place in places])


class EncodedLater(Encoding):
    """An encoding whose vectors are made when they are asked for: all of them, or those of some chunks."""

    __slots__ = ("_documents", "_number")
    _documents: DocumentsLater
    _number: int

    def __init__(self, documents: DocumentsLater, number: int) -> None:
        self._fill({**documents.begin(number), "_documents": documents, "_number": number})

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of any field
        """Encode the document: Python comes here only for fields that have no value yet."""
        if name in ("_documents", "_number"):
            raise AttributeError(name)
        whole = self._documents.whole(self._number)
        missing = [item.name for item in fields(Encoding) if item.name not in _KNOWN_AT_ONCE]
        self._fill({item: getattr(whole, item) for item in missing})
        return object.__getattribute__(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, tuple(getattr(self, item.name) for item in fields(Encoding))

    def vectors_of(self, rows: Sequence[int]) -> FloatArray:
        """[len(rows), H], the `centred_unit_vectors` of some chunks; no others are encoded."""
        return self._documents.some(self._places(rows))

    def vectors_beside(
        self, other: Encoding, rows: Sequence[int], others: Sequence[int]
    ) -> tuple[FloatArray, FloatArray]:
        """As of any encoding; chunks of two documents that belong together are encoded together."""
        if not (isinstance(other, EncodedLater) and other._documents is self._documents):
            return super().vectors_beside(other, rows, others)
        both = self._documents.some([*self._places(rows), *other._places(others)])
        return both[: len(rows)], both[len(rows) :]

    def _places(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        return [(self._number, row) for row in rows]

    def _fill(self, values: dict[str, object]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)
