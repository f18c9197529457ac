"""The corpus that is served. Outside, a document is its path relative to the corpus; no other path is ever shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from colde_cli import (
    DocumentEncoder,
    Encoding,
    HalfRead,
    Ranking,
    Search,
    Skipped,
    encode,
    find_files,
)
from colde_cli.errors import ColdeError, DocumentError, MissingFileError, OptionError

FieldName = Literal["corpus", "none"]


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of the corpus: its path relative to the corpus, and its size in bytes."""

    path: str
    bytes: int


class ServedCorpus:
    """A folder of documents."""

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        """Serve the documents in a folder and below.

        Raises:
            MissingFileError: there is no such folder.
        """
        if not folder.is_dir():
            raise MissingFileError(f"There is no folder {folder}; name the folder of the documents to serve.")
        self._folder, self._encoder = folder.resolve(), encoder

    def prepare(self, progress: Callable[[int], None] | None = None) -> tuple[Skipped, ...]:
        """Read and encode what is not in the cache, so that the first request need not wait for it.

        Returns:
            The files that cannot be read.
        """
        for name in sorted(self._files()):
            try:
                query = self.encoding(name)
            except DocumentError:  # listed by `rank`, unless no file can be read
                continue
            return self.rank(query, top=1, progress=progress).skipped
        return ()

    def documents(self, glob: str | None = None) -> list[CorpusDocument]:
        """All documents that fit a pattern, by path."""
        files = self._files(glob)
        return [CorpusDocument(name, files[name].stat().st_size) for name in sorted(files)]

    def encoding(self, name: str) -> Encoding:
        """The encoding of a document.

        Args:
            name: one of `documents`. It is looked up among them, never opened as a path.

        Raises:
            MissingFileError: there is no such document.
            DocumentError: it cannot be read.
        """
        path = self._files().get(name)
        if path is None:
            raise MissingFileError(
                f"There is no document {name!r} in the corpus; GET /v1/documents lists all."
            )
        return encode(path, self._encoder)

    def rank(
        self,
        query: Encoding,
        *,
        top: int = 10,
        min_score: float | None = None,
        explain: bool = False,
        glob: str | None = None,
        field: FieldName = "corpus",
        progress: Callable[[int], None] | None = None,
    ) -> Ranking:
        """Order the documents by their score with a query; see `api.rank`.

        Raises:
            OptionError: no document fits `glob`.
        """
        files = tuple(self._files(glob).values())
        if not files:
            raise OptionError(f"No document of the corpus fits {glob!r}." if glob else "The corpus is empty.")
        chosen: Literal["corpus"] | None = "corpus" if field == "corpus" else None
        search = Search(query, files, self._encoder, field=chosen)
        return search.rank(top=top, min_score=min_score, explain=explain, progress=progress)

    def shown(self, ranking: Ranking, query: str) -> Ranking:
        """A ranking with paths relative to the corpus, and a name for its query."""
        return replace(
            ranking,
            query_path=query,
            results=tuple(replace(hit, path=self.relative(hit.path)) for hit in ranking.results),
            skipped=tuple(
                Skipped(self.relative(item.path), self.concealed(item.reason)) for item in ranking.skipped
            ),
            half_read=tuple(
                HalfRead(
                    query if item.path == ranking.query_path else self.relative(item.path),
                    tuple(map(self.concealed, item.warnings)),
                )
                for item in ranking.half_read
            ),
        )

    def relative(self, path: str) -> str:
        """The path of a document of the corpus as clients know it."""
        return Path(path).relative_to(self._folder).as_posix()

    def concealed(self, sentence: str) -> str:
        """A sentence without the folder of the corpus."""
        return sentence.replace(f"{self._folder}/", "").replace(str(self._folder), "the corpus")

    def _files(self, glob: str | None = None) -> dict[str, Path]:
        try:
            files, _ = find_files(self._folder, glob)
        except OptionError:  # no file
            return {}
        except ColdeError as error:
            raise type(error)(self.concealed(str(error))) from error
        return {self.relative(str(path)): path for path in files}
