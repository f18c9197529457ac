"""What requests ask for, and the jobs that answer them: a document ranked against the corpus, or two compared.

Documents that clients send are read under a name that is only text, and kept for a while as vectors in memory. A few
jobs run at a time and some wait, none for longer than a limit; what nobody waits for is stopped.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, Unpack

import numpy as np

from colde_cli import Comparison, Encoding, Filter, IgnoreOptions, Ranking, read
from colde_cli.errors import MissingFileError, OptionError, RequestError
from colde_cli.service.corpus import Progress, ServedCorpus, Wanted
from colde_cli.service.guard import Limits, too_large
from colde_cli.types import compare_encodings, readers_that_end
from colde_cli.views.escaping import short

if TYPE_CHECKING:
    from fastapi import UploadFile

BUDGET_TEXT = "Seconds to encode documents of a folder that are not encoded yet, the most promising first."
GLOB_TEXT = "Which files, such as `*.pdf`."
DATE_TEXT = "a date such as 2026-01-31, or an age such as 30d."
SECTION_TEXT = "Only documents with such a section: words of its heading, or a kind such as abstract."
_KEPT, _KEPT_CHUNKS = 32, 10_000
_MINUTES = 15
_TEXTS = frozenset({".txt", ".md", ".markdown"})
_NAME = 120
_LOOK = 0.1  # seconds between two looks at whether the client is still there
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
Gone = Callable[[], Awaitable[bool]]
"""Says whether the client has gone."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Upload:
    """A document that a client sent: its name as the client gave it, without folders, and its encoding."""

    name: str
    encoding: Encoding

    def named(self) -> Encoding:
        """The encoding of a document that has the name which clients know it by."""
        return replace(self.encoding, document=replace(self.encoding.document, path=self.name))


def file_name(name: str) -> str:
    """The last part of a path as a client gave it, on one line and without signs that steer a terminal or a page."""
    last = _STEERING.sub("", re.split(r"[/\\]", name)[-1]).strip()
    if len(last) > _NAME:
        stem, dot, suffix = last.rpartition(".")
        last = f"{stem[: _NAME - 20]}{dot}{suffix[:10]}" if dot else last[:_NAME]
    return short(last, _NAME) if last.strip("-. ") else "upload"


class KeptUploads:
    """The uploads of the last minutes, so that a client can rank one and then compare it without sending it again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, Upload]] = OrderedDict()

    def keep(self, upload: Upload) -> str:
        """Keep an upload and return the id to ask for it; nobody can guess one."""
        number = secrets.token_urlsafe(16)
        with self._lock:
            self._forget()
            self._kept[number] = (time.monotonic(), upload)
            while len(self._kept) > _KEPT or (len(self._kept) > 1 and self._chunks() > _KEPT_CHUNKS):
                self._kept.popitem(last=False)
        return number

    def get(self, number: str) -> Upload:
        """The upload with this id.

        Raises:
            MissingFileError: there is none, or no longer.
        """
        with self._lock:
            self._forget()
            if number not in self._kept:
                raise MissingFileError("This upload is not kept any more; send the document again.")
            return self._kept[number][1]

    def _chunks(self) -> int:
        return sum(len(upload.encoding.chunks) for _, upload in self._kept.values())

    def _forget(self) -> None:
        oldest = time.monotonic() - 60 * _MINUTES
        for number in [key for key, (since, _) in self._kept.items() if since < oldest]:
            del self._kept[number]


def asked_filter(**asked: str | None) -> Filter:
    """The filter that a request or an agent asks for; arguments as for `Filter.parse`, empty ones set no condition.

    Raises:
        OptionError: a text is no moment or no size.
    """
    given: dict[str, Any] = {name: text for name, text in asked.items() if text}
    if "section" in given:
        given["section"] = re.escape(given["section"])  # Words, no pattern: one of a stranger could take hours.
    return Filter.parse(**given)


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


class Service:
    """Does what requests ask for, in the threads of its workers."""

    def __init__(self, corpus: ServedCorpus, limits: Limits) -> None:
        self.corpus = corpus
        self.workers = Workers(limits.threads, limits.waiting, limits.seconds)
        self._upload_bytes = limits.upload_bytes
        self._uploads = KeptUploads()

    async def rank(
        self, gone: Gone, query: Named, password: str | None = None, **wanted: Unpack[Wanted]
    ) -> tuple[Ranking, str]:
        """Rank the corpus: the ranking as clients may see it, and the id of the upload; "" if nothing was sent.

        Raises:
            ColdeError: the document cannot be read, or an option is not valid.
        """
        query.check()

        def job(progress: Progress) -> tuple[Ranking, str]:
            document, upload = self._read(query, password, progress)
            ranking = self.corpus.rank(document.encoding, progress, **wanted)
            return self.corpus.shown(ranking, document.name), upload

        return await self.workers.run(job, gone)

    async def compare(
        self,
        gone: Gone,
        pair: tuple[Named, Named],
        view: Callable[[Comparison], str],
        ignore: IgnoreOptions,
        password: str | None = None,
        *,
        passages: bool = True,
    ) -> str:
        """Compare two documents; the comparison as `view` shows it.

        Raises:
            ColdeError: a document cannot be read.
        """
        for named, end in zip(pair, ("_a", "_b"), strict=True):
            named.check(end)

        def job(progress: Progress) -> str:
            a, b = (self._read(named, password, progress)[0].named() for named in pair)
            comparison = compare_encodings(a, b, self.corpus.encoder, ignore, passages=passages, progress=progress)
            progress(0)  # showing a long comparison takes time as well
            return view(comparison)

        return await self.workers.run(job, gone)

    def _read(self, named: Named, password: str | None, progress: Progress) -> tuple[Upload, str]:
        """A document and the id of its upload; "" for one of the corpus."""
        if named.document:
            return Upload(named.document, self.corpus.encoding(named.document, progress)), ""
        if named.upload:
            return self._uploads.get(named.upload), named.upload
        assert named.file is not None
        if (named.file.size or 0) > self._upload_bytes:
            raise too_large(self._upload_bytes)
        name = file_name(named.file.filename or "")
        if Path(name).suffix.lower() in _TEXTS:  # read whole, such a file takes fifteen times its size in memory
            self.corpus.encoder.check_length(_letters(named.file.file), name)
        document = read(name, password=password, ocr=self.corpus.ocr, stream=named.file.file)
        # A path could be that of a file of this machine. Ranking would then take that file for the query's own.
        upload = Upload(name, self.corpus.encoder.encode(replace(document, path=""), progress))
        return upload, self._uploads.keep(upload)


def _letters(file: BinaryIO) -> int:
    """Count the characters of a file of text that are no blanks; 0 where it is none, or of more bytes a letter."""
    head = file.read(4096)
    file.seek(0)
    if b"\0" in head or head.startswith((b"%PDF", b"PK", b"\xff\xfe", b"\xfe\xff")):
        return 0
    letters = 0
    while block := file.read(1 << 20):
        codes = np.frombuffer(block, np.uint8)
        letters += int(np.count_nonzero((codes > 32) & (codes & 0xC0 != 0x80)))  # UTF-8: no byte but the first
    file.seek(0)
    return letters


class StoppedError(Exception):
    """Raised inside a job that nobody waits for, to end it; nobody sees it."""


class Workers:
    """Threads for the jobs of requests. They share the model, so more threads than a few make nothing faster.

    Attributes:
        known: jobs that run or wait.
    """

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        """Run `threads` jobs at a time, let `waiting` more wait, and give each `seconds` in all."""
        self.seconds, self.threads, self.most, self.known = seconds, threads, threads + waiting, 0
        self._lock = threading.Lock()
        self._mean = 1.0  # seconds of a job, the last ones counting most
        self._pool = ThreadPoolExecutor(threads, "colde-serve")
        self._closed = threading.Event()

    async def run(self, job: Callable[[Progress], Result], gone: Gone | None = None) -> Result:
        """Run a job in a thread. It gets a function to call now and then, which ends a job that nobody waits for.

        Raises:
            RequestError: too many jobs wait (429); this one took too long, or the service ends (503); or the client
                has gone (499).
        """
        if self._closed.is_set():
            raise RequestError(503, "The service is being stopped; try again later.", 5)
        if self.full:
            retry = min(60.0, self._mean * self.known / self.threads)
            raise RequestError(429, "Too many requests are waiting; try again in a few seconds.", retry)
        stop = threading.Event()
        end_readers: list[Callable[[], None]] = []

        def check(_: int) -> None:
            if stop.is_set() or self._closed.is_set():
                raise StoppedError

        def checked() -> Result:
            begun = time.monotonic()
            with readers_that_end() as end:
                end_readers.append(end)
                check(0)
                done = job(check)
            self._mean += 0.1 * (time.monotonic() - begun - self._mean)
            return done

        with self._lock:
            self.known += 1
        future = self._pool.submit(checked)
        future.add_done_callback(self._forget)
        try:
            return await self._result(future, gone)
        finally:
            stop.set()
            if not future.cancel():
                for end in end_readers:
                    end()

    @property
    def full(self) -> bool:
        """Whether no more jobs are taken."""
        return self.known >= self.most

    def _forget(self, _: Future[Any]) -> None:
        with self._lock:
            self.known -= 1

    def close(self) -> None:
        """Stop all jobs."""
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _result(self, future: Future[Result], gone: Gone | None) -> Result:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        waiting = asyncio.wrap_future(future)
        # Asyncio complains about errors that nobody looks at.
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        while not (await asyncio.wait({waiting}, timeout=_LOOK))[0]:
            if loop.time() > end:
                raise RequestError(
                    503, f"The request took longer than {self.seconds:g} seconds; try it with a smaller document.", 5
                )
            if gone is not None and await gone():
                raise RequestError(499, "The client has gone.")
        return waiting.result()
