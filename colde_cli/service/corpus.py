"""The corpus that is served. Outside, a document has a name relative to the corpus; no path is ever shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from colde_cli import Encoding, Filter, Model, Ranking, open_index, read
from colde_cli.errors import MissingFileError, OptionError, RequestError
from colde_cli.types import DocumentEncoder, DocumentStore, HalfRead, Skipped, StageClock, is_index, unlisted, walk

Progress = Callable[[int], None]
GLOB = "Which files, such as `*.pdf`."
_BUDGET = "Seconds to encode documents of a folder that are not encoded yet, the most promising first."
_DATE = "a date such as 2026-01-31, or an age such as 30d."
_SECTION = "Only documents with such a section: words of its heading, or a kind such as abstract."


class RankOptions(BaseModel, extra="forbid"):
    """What a ranking should list, as clients and agents ask for it; what is empty sets no condition."""

    k: int = Field(default=10, ge=1, le=1000, description="Documents to list.")
    min_score: float | None = Field(default=None, ge=-1, le=1, description="List none below.")
    explain: bool = Field(default=False, description="Also list the sections that match.")
    field: Literal["corpus", "none"] = Field(default="corpus", description="Statistics to score with.")
    glob: str = Field(default="", max_length=500, description=GLOB)
    newer: str = Field(default="", max_length=40, description=f"Changed since: {_DATE}")
    older: str = Field(default="", max_length=40, description=f"Not changed since: {_DATE}")
    min_size: str = Field(default="", max_length=20, description="Least size, such as 10kB.")
    max_size: str = Field(default="", max_length=20, description="Most, such as 5MB.")
    section: str = Field(default="", max_length=200, description=_SECTION)
    budget: float | None = Field(default=None, ge=0, le=86_400, description=_BUDGET)

    def chosen(self) -> Filter:
        """Which documents to take.

        Raises:
            OptionError: a text is no moment or no size.
        """
        names = ("glob", "newer", "older", "min_size", "max_size")
        given: dict[str, Any] = {name: getattr(self, name) or None for name in names}
        section = re.escape(self.section) or None  # words, no pattern: one of a stranger could take hours
        return Filter.parse(section=section, **given)

    def wanted(self, progress: Progress) -> dict[str, Any]:
        """The arguments of `Model.rank`.

        `progress` is called with the number of documents just done, and with 0 while one is being encoded, from any
        thread; what it raises ends the work.
        """
        return {
            **self.model_dump(include={"min_score", "explain", "budget"}),
            "top": self.k,
            "chosen": self.chosen(),
            "field": None if self.field == "none" else self.field,
            "progress": progress,
            "clock": StageClock(partial(progress, 0)),
        }


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
        self._known: tuple[str, Mapping[str, int]] = ("", {})
        if self._index is not None:
            with open_index(self._index) as index:
                index.check_model(encoder)
                roots: Sequence[str] = index.roots()
        elif place.is_dir():
            roots = [str(self._folder)]
        else:
            raise MissingFileError(f"There is no folder {place}; name an index, or the folder of the documents.")
        # What stands before the names of documents of each root: nothing if there is one root, else its name.
        self._prefixes: dict[str, str] = {}
        for root in sorted(roots, key=len, reverse=True):  # a folder before those that hold it
            name, number = os.path.basename(root), 1  # noqa: PTH119
            while f"{name}/" in self._prefixes.values():
                number += 1
                name = f"{os.path.basename(root)}-{number}"  # noqa: PTH119
            self._prefixes[root] = f"{name}/" if len(roots) > 1 else ""

    def prepare(self, progress: Progress) -> tuple[Skipped, ...]:
        """Do what the first request would else wait for: read and encode what is not in the cache.

        Returns:
            The files that cannot be read, and the folders that cannot be listed.
        """
        query = self._model.encode(read("colde.txt", stream=BytesIO(b"Any document.")))
        try:
            return self.rank(query, RankOptions(k=1), progress).skipped
        except OptionError:  # there is no document yet
            return self._files()[1]

    def check(self) -> None:
        """Check that the corpus can be asked.

        Raises:
            BadIndexError, RemoteError, RequestError: it cannot.
        """
        if self._index is not None:
            open_index(self._index).close()
        elif not self._folder.is_dir():
            raise RequestError(503, "The folder of the corpus is gone.", 5)

    def documents(self, glob: str | None = None) -> tuple[list[dict[str, Any]], tuple[Skipped, ...]]:
        """All documents that fit a pattern, by path, and what could not be listed, or of an index not be read.

        Of each its path relative to the corpus; its bytes, None where the file is gone; and its title as printed, None
        in a folder, where it would have to be read.
        """
        if self._index is None:
            files, skipped = self._files(glob)
            sizes = {name: path.stat().st_size if path.exists() else None for name, path in files.items()}
            listed: list[dict[str, Any]] = [
                {"path": name, "bytes": size, "title": None} for name, size in sizes.items()
            ]
            return sorted(listed, key=itemgetter("path")), self._concealed(skipped)
        with open_index(self._index) as index, index.reading():
            found = index.documents(Filter(glob))
            listed = [{"path": self.name_of(item.path), "bytes": item.size, "title": item.title} for item in found]
            return sorted(listed, key=itemgetter("path")), self._concealed(index.bad_files())

    def encoding(self, name: str, progress: Progress) -> Encoding:
        """The encoding of a document, as the cache or the index knows it.

        Args:
            name: one of `documents`. It is looked up among them, never opened as a path.
            progress: called with the number of chunks just encoded, from any thread; what it raises ends the encoding.

        Raises:
            MissingFileError: there is no such document.
            DocumentError: it cannot be read.
        """
        if self._index is None:
            path = self._files()[0].get(name)
            if path is not None:
                return self._model.encode(path, ocr=self.ocr, progress=progress)
        else:
            with open_index(self._index) as index, index.reading():
                number = self._numbers(index).get(name)
                if number is not None:
                    return index.encoding(number, self.encoder)
        raise MissingFileError(f"There is no document {name!r} in the corpus; GET /v1/documents lists all.")

    def rank(self, query: Encoding, options: RankOptions, progress: Progress) -> Ranking:
        """Order the documents by their score with a query, of any document; `progress` as for `RankOptions`.

        Raises:
            OptionError: no document is chosen.
        """
        place, wanted = self._index or self._folder, options.wanted(progress)
        ranking = self._model.rank(query, place, ocr=self.ocr, within=(self._folder,), **wanted)
        if not ranking.searched and wanted["chosen"] != Filter():
            raise OptionError("No document of the corpus fits glob, dates, sizes and section.")
        return ranking

    def _files(self, glob: str | None = None) -> tuple[dict[str, Path], tuple[Skipped, ...]]:
        errors: list[OSError] = []
        files = walk([self._folder], glob, errors.append, (self._folder,))
        return {self.name_of(path): path for path in files}, unlisted(errors)

    def _numbers(self, index: DocumentStore) -> Mapping[str, int]:
        """The numbers of documents of an index by name, listed once for each state of it."""
        known = self._known
        if known[0] != index.generation:
            numbers = {self.name_of(item.path): item.number for item in index.documents()}
            known = self._known = (index.generation, numbers)
        return known[1]

    def shown(self, ranking: Ranking, query: str) -> Ranking:
        """A ranking with names in place of paths, and `query` as the name of its query."""
        names = {ranking.query_path: query}
        return replace(
            ranking,
            query_path=query,
            results=tuple(replace(hit, path=self.name_of(hit.path)) for hit in ranking.results),
            skipped=self._concealed(ranking.skipped),
            half_read=tuple(
                HalfRead(names.get(item.path) or self.name_of(item.path), tuple(map(self.concealed, item.warnings)))
                for item in ranking.half_read
            ),
        )

    def name_of(self, path: str | Path) -> str:
        """The name of a document as clients know it. Bytes that are no UTF-8 are written as escapes."""
        text = os.path.abspath(path)  # noqa: PTH100 - of many thousand paths
        for root, prefix in self._prefixes.items():
            if os.path.join(text, "").startswith(os.path.join(root, "")):  # noqa: PTH118
                below = text[len(root) :].strip(os.sep) or os.path.basename(root)  # noqa: PTH119
                return _clean(prefix + below.replace(os.sep, "/"))
        return _clean(os.path.basename(text))  # noqa: PTH119 - what an index no longer follows

    def _concealed(self, skipped: Sequence[Skipped]) -> tuple[Skipped, ...]:
        return tuple(Skipped(self.name_of(item.path), self.concealed(item.reason)) for item in skipped)

    def concealed(self, sentence: str) -> str:
        """A sentence without the folders of the corpus."""
        here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
        for root, prefix in self._prefixes.items():
            for written in (root, root.removeprefix(here)):
                sentence = sentence.replace(f"{written}/", prefix)
            sentence = sentence.replace(root, "the corpus")
        return _clean(sentence.replace(str(self._place.absolute()), "the corpus"))


def _clean(text: str) -> str:
    """Text that can be sent: half a character of a name that is no UTF-8 becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()
