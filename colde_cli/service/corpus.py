"""The corpus that is served. Outside, a document has a name relative to the corpus; no path is ever shown."""

from __future__ import annotations

import dataclasses
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from colde_cli import Encoding, Filter, Index, Model, Ranking, open_index
from colde_cli.errors import DocumentError, MissingFileError, OptionError
from colde_cli.types import (
    DocumentEncoder,
    HalfRead,
    Skipped,
    StageClock,
    find_files,
    is_index,
    rank_files,
    rank_index,
)

FieldName = Literal["corpus", "none"]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of the corpus.

    Attributes:
        path: relative to the corpus.
        bytes: of the file; None where the file is gone.
        title: as printed; None in a folder, where it would have to be read.
    """

    path: str
    bytes: int | None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a ranking should list; see `colde_cli.rank`."""

    top: int = 10
    min_score: float | None = None
    explain: bool = False
    chosen: Filter = dataclasses.field(default_factory=Filter)
    field: FieldName = "corpus"
    budget: float | None = None

    def options(self) -> dict[str, Any]:
        """What folders and indexes are ranked with."""
        return {
            "top": self.top,
            "min_score": self.min_score,
            "explain": self.explain,
            "field": "corpus" if self.field == "corpus" else None,
            "chosen": self.chosen,
        }


class ServedCorpus(ABC):
    """Documents to rank and to compare."""

    def __init__(self, place: Path, encoder: DocumentEncoder, roots: Sequence[str]) -> None:
        """Serve documents that lie in `roots`, absolute paths of folders and files; `place` is what was named."""
        self.encoder = encoder
        self._place = place
        # What stands before the names of documents of each root: nothing if there is one root, else its name.
        self._prefixes: dict[str, str] = {}
        for root in sorted(roots, key=len, reverse=True):  # a folder before those that hold it
            name, number = os.path.basename(root), 1  # noqa: PTH119
            while f"{name}/" in self._prefixes.values():
                number += 1
                name = f"{os.path.basename(root)}-{number}"  # noqa: PTH119
            self._prefixes[root] = f"{name}/" if len(roots) > 1 else ""

    @abstractmethod
    def prepare(self, progress: Progress | None = None) -> tuple[Skipped, ...]:
        """Do what the first request would else wait for, and return the files that cannot be read."""

    @abstractmethod
    def documents(self, glob: str | None = None) -> list[CorpusDocument]:
        """All documents that fit a pattern, by path."""

    @abstractmethod
    def encoding(self, name: str, progress: Progress | None = None) -> Encoding:
        """The encoding of a document.

        Args:
            name: one of `documents`. It is looked up among them, never opened as a path.
            progress: called with the number of chunks just encoded, from any thread; what it raises ends the encoding.

        Raises:
            MissingFileError: there is no such document.
            DocumentError: it cannot be read.
        """

    def rank(self, query: Encoding, wanted: Wanted, progress: Progress | None = None) -> Ranking:
        """Order the documents by their score with a query, of any document.

        `progress` is called with the number of documents just done, and with 0 while one is being encoded, from any
        thread; what it raises ends the work.

        Raises:
            OptionError: no document is chosen.
        """
        ranking = self._ranked(query, wanted, progress)
        if not ranking.searched and wanted.chosen != Filter():
            raise OptionError("No document of the corpus fits glob, dates, sizes and section.")
        return ranking

    def shown(self, ranking: Ranking, query: str) -> Ranking:
        """A ranking with names in place of paths, and `query` as the name of its query."""
        names = {ranking.query_path: query}
        return replace(
            ranking,
            query_path=query,
            results=tuple(replace(hit, path=self.name_of(hit.path)) for hit in ranking.results),
            skipped=tuple(
                Skipped(self.name_of(item.path), self.concealed(item.reason)) for item in ranking.skipped
            ),
            half_read=tuple(
                HalfRead(
                    names.get(item.path) or self.name_of(item.path), tuple(map(self.concealed, item.warnings))
                )
                for item in ranking.half_read
            ),
        )

    def name_of(self, path: str | Path) -> str:
        """The name of a document as clients know it. Bytes that are no UTF-8 are written as escapes."""
        text = os.path.abspath(path)  # noqa: PTH100 - of many thousand paths
        for root, prefix in self._prefixes.items():
            if text == root:
                return _clean(prefix + os.path.basename(root))  # noqa: PTH119
            if text.startswith(os.path.join(root, "")):  # noqa: PTH118
                return _clean(prefix + text[len(root) :].strip(os.sep).replace(os.sep, "/"))
        return _clean(os.path.basename(text))  # noqa: PTH119 - what an index no longer follows

    def concealed(self, sentence: str) -> str:
        """A sentence without the folders of the corpus."""
        here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
        for root, prefix in self._prefixes.items():
            for written in (root, root.removeprefix(here)):
                sentence = sentence.replace(f"{written}/", prefix)
            sentence = sentence.replace(root, "the corpus")
        return _clean(sentence.replace(str(self._place.absolute()), "the corpus"))

    @abstractmethod
    def _ranked(self, query: Encoding, wanted: Wanted, progress: Progress | None) -> Ranking:
        """Order the documents."""


class ServedFolder(ServedCorpus):
    """A folder of documents, read and encoded as `colde rank` does, without what links outside hold."""

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        self._folder = folder.resolve()
        super().__init__(folder, encoder, [str(self._folder)])

    def prepare(self, progress: Progress | None = None) -> tuple[Skipped, ...]:
        """Read and encode what is not in the cache."""
        unread = []
        for name in sorted(self._files()):
            try:
                query = self.encoding(name)
            except DocumentError as error:
                unread.append(Skipped(name, str(error)))
                continue
            return self.rank(query, Wanted(top=1), progress).skipped
        return tuple(unread)

    def documents(self, glob: str | None = None) -> list[CorpusDocument]:
        """All documents that fit a pattern, by path."""
        return [CorpusDocument(name, _size(path)) for name, path in sorted(self._files(glob).items())]

    def encoding(self, name: str, progress: Progress | None = None) -> Encoding:
        """The encoding of a document; one that the cache knows is not read again."""
        path = self._files().get(name)
        if path is None:
            raise _no_document(name)
        return Model(self.encoder).encode(path, progress=progress)

    def _ranked(self, query: Encoding, wanted: Wanted, progress: Progress | None) -> Ranking:
        return rank_files(
            query,
            tuple(self._files(wanted.chosen.glob).values()),
            self.encoder,
            budget=wanted.budget,
            progress=progress,
            clock=None if progress is None else StageClock(partial(progress, 0)),
            **wanted.options(),
        )

    def _files(self, glob: str | None = None) -> dict[str, Path]:
        try:
            files, _ = find_files(self._folder, glob, within=(self._folder,))
        except OptionError:  # no file
            return {}
        return {self.name_of(path): path for path in files}


class ServedIndex(ServedCorpus):
    """An index: nothing is read again, and the files need not be there. It may be brought up to date meanwhile."""

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        """Serve an index.

        Raises:
            BadIndexError: it is damaged, or holds vectors of another model.
        """
        self._folder, self._lock = folder.absolute(), threading.Lock()
        self._known: tuple[str, Mapping[str, int]] = ("", {})
        with open_index(folder) as index:
            index.check_model(encoder)
            super().__init__(self._folder, encoder, index.roots())

    def prepare(self, progress: Progress | None = None) -> tuple[Skipped, ...]:
        """Nothing is left to do."""
        with open_index(self._folder) as index:
            return index.bad_files()

    def documents(self, glob: str | None = None) -> list[CorpusDocument]:
        """All documents that fit a pattern, by path."""
        with open_index(self._folder) as index:
            listed = [
                CorpusDocument(self.name_of(item.path), item.size, item.title)
                for item in index.documents(Filter(glob))
            ]
        return sorted(listed, key=lambda item: item.path)

    def encoding(self, name: str, progress: Progress | None = None) -> Encoding:
        """The encoding of a document, as it was kept."""
        with open_index(self._folder) as index, index.reading():
            number = self._numbers(index).get(name)
            if number is None:
                raise _no_document(name)
            return index.encoding(number, self.encoder)

    def _ranked(self, query: Encoding, wanted: Wanted, progress: Progress | None) -> Ranking:
        with open_index(self._folder) as index:
            return rank_index(query, index, self.encoder, progress=progress, **wanted.options())

    def _numbers(self, index: Index) -> Mapping[str, int]:
        """The numbers of documents by name, listed once for each state of the index."""
        generation = index.generation
        with self._lock:
            if self._known[0] != generation:
                numbers = {self.name_of(item.path): item.number for item in index.documents()}
                self._known = (generation, numbers)
            return self._known[1]


def open_corpus(place: Path, encoder: DocumentEncoder) -> ServedCorpus:
    """Serve a folder or an index.

    Raises:
        MissingFileError: there is no such folder.
        BadIndexError: it is an index that is damaged, or of another model.
    """
    if is_index(place):
        return ServedIndex(place, encoder)
    if not place.is_dir():
        raise MissingFileError(f"There is no folder {place}; name an index, or the folder of the documents.")
    return ServedFolder(place, encoder)


def _no_document(name: str) -> MissingFileError:
    return MissingFileError(f"There is no document {name!r} in the corpus; GET /v1/documents lists all.")


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _clean(text: str) -> str:
    """Text that can be sent: half a character of a name that is no UTF-8 becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()
