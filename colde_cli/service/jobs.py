"""The documents that requests name, and the jobs that answer them.

Documents that clients send are read under a name that is only text, and kept for a while as vectors in memory. A few
jobs run at a time and some wait, none for longer than a limit; what nobody waits for is stopped.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from colde_cli import Encoding, read
from colde_cli.errors import MissingFileError, OptionError, RequestError
from colde_cli.service.corpus import Progress, ServedCorpus
from colde_cli.service.guard import Limits, too_large
from colde_cli.types import readers_that_end
from colde_cli.views.escaping import short

_KEPT, _KEPT_CHUNKS = 32, 10_000
_MINUTES = 15
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


class Service:
    """The corpus, the workers, and the documents that requests name; what was sent is kept for some minutes.

    So a client can rank a document and then compare it without sending it again.
    """

    def __init__(self, corpus: ServedCorpus, limits: Limits) -> None:
        self.corpus = corpus
        self.workers = Workers(limits.threads, limits.waiting, limits.seconds)
        self._upload_bytes = limits.upload_bytes
        self._kept: dict[str, Upload] = {}

    def read(self, form: Any, end: str, progress: Progress) -> Upload:  # noqa: ANN401 - of a request that names one
        """The document that a form names, in one of three fields whose names end in `end`.

        By its bytes (file), its path in the corpus (document), or the id of an earlier upload.

        Raises:
            OptionError: it is named twice, or not at all.
            MissingFileError: it is not in the corpus, or an upload that is no longer kept.
            DocumentError: it cannot be read.
        """
        file, document, upload = named = [getattr(form, f"{way}{end}") for way in ("file", "document", "upload")]
        if sum(map(bool, named)) != 1:
            raise OptionError(f"Name one document, by one of file{end}, document{end} and upload{end}.")
        if document:
            return Upload(document, self.corpus.encoding(document, progress))
        if upload:
            kept = self._kept.get(upload)
            if kept is None:
                raise MissingFileError("This upload is not kept any more; send the document again.")
            return kept
        if (file.size or 0) > self._upload_bytes:
            raise too_large(self._upload_bytes)
        name = file_name(file.filename or "")
        sent = read(name, password=form.password or None, ocr=self.corpus.ocr, stream=file.file)
        # A path could be that of a file of this machine. Ranking would then take that file for the query's own.
        return Upload(name, self.corpus.encoder.encode(replace(sent, path=""), progress))

    def keep(self, upload: Upload) -> str:
        """Keep an upload and return the id to ask for it; nobody can guess one. Only for the thread of the loop."""
        number = secrets.token_urlsafe(16)
        self._kept[number] = upload
        asyncio.get_running_loop().call_later(60 * _MINUTES, self._kept.pop, number, None)
        while len(self._kept) > _KEPT or (len(self._kept) > 1 and self._chunks() > _KEPT_CHUNKS):
            del self._kept[next(iter(self._kept))]
        return number

    def _chunks(self) -> int:
        return sum(len(upload.encoding.chunks) for upload in self._kept.values())


class Workers:
    """Threads for the jobs of requests. They share the model, so more threads than a few make nothing faster."""

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        """Run `threads` jobs at a time, let `waiting` more wait, and give each `seconds` in all."""
        self.seconds, self.threads, self.most = seconds, threads, threads + waiting
        self._jobs: set[Future[Any]] = set()
        self._mean = 1.0  # seconds of a job, the last ones counting most
        self._pool = ThreadPoolExecutor(threads, "colde-serve")

    @property
    def known(self) -> int:
        """The number of jobs that run or wait."""
        return len(self._jobs)

    @property
    def full(self) -> bool:
        """Whether no more jobs are taken."""
        return self.known >= self.most

    async def run(self, job: Callable[[Progress], Result], gone: Gone) -> Result:
        """Run a job in a thread. It gets a function to call now and then, which ends a job that nobody waits for.

        Raises:
            RequestError: too many jobs wait (429); this one took too long (503); or the client has gone (499).
        """
        if self.full:
            retry = min(60.0, self._mean * self.known / self.threads)
            raise RequestError(429, "Too many requests are waiting; try again in a few seconds.", retry)
        stop = threading.Event()
        end_readers: list[Callable[[], None]] = []

        def check(_: int) -> None:
            if stop.is_set():
                raise CancelledError

        def checked() -> Result:
            begun = time.monotonic()
            with readers_that_end() as end:
                end_readers.append(end)
                check(0)
                done = job(check)
            self._mean += 0.1 * (time.monotonic() - begun - self._mean)
            return done

        future = self._pool.submit(checked)
        self._jobs.add(future)
        future.add_done_callback(self._jobs.discard)
        try:
            return await self._result(future, gone)
        finally:
            stop.set()
            for end in end_readers:
                end()

    async def _result(self, future: Future[Result], gone: Gone) -> Result:
        loop, waiting = asyncio.get_running_loop(), asyncio.wrap_future(future)
        end = loop.time() + self.seconds
        try:
            while not (await asyncio.wait({waiting}, timeout=_LOOK))[0]:
                if loop.time() > end:
                    raise RequestError(
                        503,
                        f"The request took longer than {self.seconds:g} seconds; try it with a smaller document.",
                        5,
                    )
                if await gone():
                    raise RequestError(499, "The client has gone.")
            return waiting.result()
        finally:
            waiting.cancel()  # a job that has not begun never will
