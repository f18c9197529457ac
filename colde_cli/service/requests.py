"""What requests ask for: a document ranked against the corpus, or two documents compared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from colde_cli import Comparison, Encoding, IgnoreOptions, Ranking, compare_encodings
from colde_cli.errors import OptionError
from colde_cli.service.corpus import CorpusDocument, ServedCorpus, Wanted
from colde_cli.service.guard import too_large
from colde_cli.service.uploads import KeptUploads, read_upload
from colde_cli.service.work import Progress, Workers

if TYPE_CHECKING:
    from fastapi import UploadFile

Gone = Callable[[], Awaitable[bool]]
"""Says whether the client has gone."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much the service does at once.

    Attributes:
        upload_bytes: of one document that is sent.
        seconds: for a request in all.
        threads: requests worked on at the same time.
        waiting: requests that may wait beside them.
    """

    upload_bytes: int = 50_000_000
    seconds: float = 120
    threads: int = 2
    waiting: int = 16

    @property
    def request_bytes(self) -> int:
        """Of the largest request: two documents, and a little beside them."""
        return 2 * self.upload_bytes + 100_000


@dataclass(frozen=True, slots=True)
class Named:
    """A document as a request names it: by its bytes, its path in the corpus, or the id of an earlier upload."""

    file: UploadFile | None = None
    document: str | None = None
    upload: str | None = None

    def check(self, end: str = "") -> None:
        """Check that the document is named once; `end` is that of the names of the fields, such as "_a".

        Raises:
            OptionError: it is named twice, or not at all.
        """
        if sum(bool(value) for value in (self.file, self.document, self.upload)) != 1:
            raise OptionError(f"Name one document, by one of file{end}, document{end} and upload{end}.")


@dataclass(frozen=True, slots=True)
class Found:
    """A document that was read: its name for clients, its encoding, and the id of its upload."""

    name: str
    encoding: Encoding
    upload: str | None = None


class Service:
    """Does what requests ask for, in the threads of its workers."""

    def __init__(self, corpus: ServedCorpus, settings: Settings) -> None:
        self.corpus = corpus
        self.workers = Workers(settings.threads, settings.waiting, settings.seconds)
        self._upload_bytes = settings.upload_bytes
        self._uploads = KeptUploads()

    async def documents(self, gone: Gone, glob: str | None) -> list[CorpusDocument]:
        """The documents of the corpus, by path."""
        return await self.workers.run(lambda _: self.corpus.documents(glob), gone)

    async def rank(
        self, gone: Gone, query: Named, wanted: Wanted, password: str | None = None
    ) -> tuple[Ranking, str]:
        """Rank the corpus.

        Returns:
            The ranking as clients may see it, and the id of the upload; "" if nothing was sent.

        Raises:
            ColdeError: the document cannot be read, or an option is not valid.
        """
        query.check()

        def job(progress: Progress) -> tuple[Ranking, str]:
            found = self._found(query, password)
            ranking = self.corpus.rank(found.encoding, wanted, progress)
            return self.corpus.shown(ranking, found.name), found.upload or ""

        return await self.workers.run(job, gone)

    async def compare(
        self,
        gone: Gone,
        pair: tuple[Named, Named],
        view: Callable[[Comparison], str],
        *,
        ignore: IgnoreOptions,
        password: str | None = None,
        passages: bool = True,
    ) -> str:
        """Compare two documents; the comparison as `view` shows it.

        Raises:
            ColdeError: a document cannot be read.
        """
        for named, end in zip(pair, ("_a", "_b"), strict=True):
            named.check(end)

        def job(progress: Progress) -> str:
            a, b = (_under_its_name(self._found(named, password)) for named in pair)
            return view(
                compare_encodings(a, b, self.corpus.encoder, ignore, passages=passages, progress=progress)
            )

        return await self.workers.run(job, gone)

    def _found(self, named: Named, password: str | None) -> Found:
        if named.document:
            return Found(named.document, self.corpus.encoding(named.document))
        if named.upload:
            upload = self._uploads.get(named.upload)
            return Found(upload.name, upload.encoding, named.upload)
        assert named.file is not None
        if (named.file.size or 0) > self._upload_bytes:
            raise too_large(self._upload_bytes)
        upload = read_upload(named.file.file, named.file.filename or "", self.corpus.encoder, password)
        return Found(upload.name, upload.encoding, self._uploads.keep(upload))


def _under_its_name(found: Found) -> Encoding:
    """An encoding whose document has the name that clients know it by."""
    return replace(found.encoding, document=replace(found.encoding.document, path=found.name))
