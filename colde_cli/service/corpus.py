"""The corpus that is served. Outside, a document has a name relative to the corpus; no path is ever shown."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

from colde_cli import Encoding, Filter, Model, Ranking, open_index
from colde_cli.errors import DocumentError, MissingFileError, OptionError
from colde_cli.types import DocumentEncoder, DocumentStore, HalfRead, Skipped, StageClock, find_files, is_index

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


class Wanted(TypedDict, total=False):
    """What a ranking should list: the arguments of `Model.rank` that are for clients to choose."""

    top: int
    min_score: float | None
    explain: bool
    chosen: Filter
    field: str | None
    budget: float | None


def ranked(
    model: Model,
    query: Path | Encoding,
    place: str | Path,
    progress: Progress | None,
    ocr: str | None,
    within: Sequence[Path],
    **wanted: Unpack[Wanted],
) -> Ranking:
    """The ranking of a folder or an index; `ocr` and `within` are those of `Model.rank`.

    `progress` is called with the number of documents just done, and with 0 while one is being encoded, from any thread;
    what it raises ends the work.
    """
    clock = None if progress is None else StageClock(partial(progress, 0))
    return model.rank(query, place, progress=progress, clock=clock, ocr=ocr, within=within, **wanted)


class ServedCorpus:
    """Documents to rank and to compare: those of a folder, read and encoded as `colde rank` does, or of an index.

    Of a folder, what links outside hold is left out. Of an index nothing is read again, and the files need not be
    there; it may be brought up to date meanwhile.
    """

    def __init__(self, named: str | Path, encoder: DocumentEncoder, ocr: str | None = None) -> None:
        """Serve a folder or an index, by its path or its URL; `ocr` is as for `read`, of uploads as well.

        Raises:
            MissingFileError: there is no such folder.
            BadIndexError: it is an index that is damaged, or of another model.
        """
        place = Path(named)
        self.encoder, self.ocr, self._place, self._folder = encoder, ocr, place, place.resolve()
        self._model = Model(encoder)
        self._index = None if not is_index(named) else str(named) if "://" in str(named) else place.absolute()
        self._lock = threading.Lock()
        self._known: tuple[str, Mapping[str, int]] = ("", {})
        if self._index is not None:
            with open_index(self._index) as index:
                index.check_model(encoder)
                roots: Sequence[str] = index.roots()
        elif place.is_dir():
            roots = [str(self._folder)]
        else:
            wanted = "name an index, or the folder of the documents"
            raise MissingFileError(f"There is no folder {place}; {wanted}.")
        # What stands before the names of documents of each root: nothing if there is one root, else its name.
        self._prefixes: dict[str, str] = {}
        for root in sorted(roots, key=len, reverse=True):  # a folder before those that hold it
            name, number = os.path.basename(root), 1  # noqa: PTH119
            while f"{name}/" in self._prefixes.values():
                number += 1
                name = f"{os.path.basename(root)}-{number}"  # noqa: PTH119
            self._prefixes[root] = f"{name}/" if len(roots) > 1 else ""

    def prepare(self, progress: Progress | None = None) -> tuple[Skipped, ...]:
        """Do what the first request would else wait for: read and encode what is not in the cache.

        Returns:
            The files that cannot be read.
        """
        if self._index is not None:
            with open_index(self._index) as index:
                return index.bad_files()
        unread = []
        for name in sorted(self._files()):
            try:
                query = self.encoding(name)
            except DocumentError as error:
                unread.append(Skipped(name, str(error)))
                continue
            return self.rank(query, progress, top=1).skipped
        return tuple(unread)

    def check(self) -> None:
        """Check that the corpus can be asked.

        Raises:
            BadIndexError, MissingFileError: it cannot.
        """
        if self._index is not None:
            with open_index(self._index):
                return
        if not self._folder.is_dir():
            raise MissingFileError("The folder of the corpus is gone.")

    def documents(self, glob: str | None = None) -> list[CorpusDocument]:
        """All documents that fit a pattern, by path."""
        if self._index is None:
            return [CorpusDocument(name, _size(path)) for name, path in sorted(self._files(glob).items())]
        with open_index(self._index) as index:
            listed = [
                CorpusDocument(self.name_of(item.path), item.size, item.title) for item in index.documents(Filter(glob))
            ]
        return sorted(listed, key=lambda item: item.path)

    def encoding(self, name: str, progress: Progress | None = None) -> Encoding:
        """The encoding of a document, as the cache or the index knows it.

        Args:
            name: one of `documents`. It is looked up among them, never opened as a path.
            progress: called with the number of chunks just encoded, from any thread; what it raises ends the encoding.

        Raises:
            MissingFileError: there is no such document.
            DocumentError: it cannot be read.
        """
        missing = f"There is no document {name!r} in the corpus; GET /v1/documents lists all."
        if self._index is None:
            path = self._files().get(name)
            if path is None:
                raise MissingFileError(missing)
            return self._model.encode(path, ocr=self.ocr, progress=progress)
        with open_index(self._index) as index, index.reading():
            number = self._numbers(index).get(name)
            if number is None:
                raise MissingFileError(missing)
            return index.encoding(number, self.encoder)

    def rank(self, query: Encoding, progress: Progress | None = None, **wanted: Unpack[Wanted]) -> Ranking:
        """Order the documents by their score with a query, of any document; arguments are those of `ranked`.

        Raises:
            OptionError: no document is chosen.
        """
        place = self._index or self._folder
        ranking = ranked(self._model, query, place, progress, self.ocr, (self._folder,), **wanted)
        if not ranking.searched and wanted.get("chosen", Filter()) != Filter():
            raise OptionError("No document of the corpus fits glob, dates, sizes and section.")
        return ranking

    def _files(self, glob: str | None = None) -> dict[str, Path]:
        try:
            files, _ = find_files(self._folder, glob, within=(self._folder,))
        except OptionError:  # no file
            return {}
        return {self.name_of(path): path for path in files}

    def _numbers(self, index: DocumentStore) -> Mapping[str, int]:
        """The numbers of documents of an index by name, listed once for each state of it."""
        generation = index.generation
        with self._lock:
            if self._known[0] != generation:
                numbers = {self.name_of(item.path): item.number for item in index.documents()}
                self._known = (generation, numbers)
            return self._known[1]

    def shown(self, ranking: Ranking, query: str) -> Ranking:
        """A ranking with names in place of paths, and `query` as the name of its query."""
        names = {ranking.query_path: query}
        return replace(
            ranking,
            query_path=query,
            results=tuple(replace(hit, path=self.name_of(hit.path)) for hit in ranking.results),
            skipped=tuple(Skipped(self.name_of(item.path), self.concealed(item.reason)) for item in ranking.skipped),
            half_read=tuple(
                HalfRead(names.get(item.path) or self.name_of(item.path), tuple(map(self.concealed, item.warnings)))
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


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _clean(text: str) -> str:
    """Text that can be sent: half a character of a name that is no UTF-8 becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()
