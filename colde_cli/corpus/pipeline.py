"""Read, chunk and encode documents at the same time, with a bounded number of tokens in memory.

Threads read files ahead (the work is in reader processes) and cut them into chunks. Another thread encodes windows of
documents, the longest chunk of all first, so that batches hold little padding and cores end together. The caller takes
the encodings, and writes them while the next window is encoded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from colde_cli.documents.document import Chunk, Document
from colde_cli.documents.sandbox import readers
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.errors import DocumentError
from colde_cli.settings import usable_cores

Failure = TypeVar("Failure")

CPU_WINDOW, DEVICE_WINDOW = 1 << 16, 1 << 18
"""Tokens encoded together: a few seconds' work of a CPU, several batches of an accelerator."""
_WINDOWS_AHEAD = 3
"""Windows of tokens that may wait for the encoder; with as many, no further file is read."""
_MIN_TOKENS = 256
"""Tokens counted for every document in addition to its own: a million empty documents fill the memory, too."""
_FILES_AHEAD = 32
"""Files that are read, or wait to be, at the same time; only as many as there are cores are being read."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """How long each stage took, in seconds. Stages run at the same time, so that their sum exceeds `total`.

    Attributes:
        read: summed over all threads that read.
        chunk: summed over the same threads.
        encode: that the encoder was at work.
        write: that the caller took with what it was given.
        wait: that the encoder waited for documents.
        total: from the first file to the last.
        documents: that were encoded.
        pages: of those documents that have pages.
        tokens: of their chunks.
    """

    read: float = 0.0
    chunk: float = 0.0
    encode: float = 0.0
    write: float = 0.0
    wait: float = 0.0
    total: float = 0.0
    documents: int = 0
    pages: int = 0
    tokens: int = 0

    def share(self, stage: str) -> float:
        """The share of a stage in the whole time; that of reading can exceed 1."""
        seconds: float = getattr(self, stage)
        return seconds / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class PipelineProgress:
    """How far reading and encoding are.

    Attributes:
        files: in all; None before they are counted.
        read: how many of them were read, or cannot be.
        encoded: how many were encoded, with parts of those that are being encoded.
    """

    files: int | None
    read: int
    encoded: float


class StageClock:
    """Adds up the times of stages, and says how far the work is; threads may share it."""

    def __init__(self, check: Callable[[], object] = lambda: None) -> None:
        """Start at zero; `check` is called while documents are encoded, and what it raises ends the work."""
        self.check = check
        self._files: int | None = None
        self._finished, self._read, self._chunks_read, self._chunks_encoded = 0, 0, 0, 0
        self._told = 0.0  # files encoded, as the last look said
        self._seconds = dict.fromkeys(("read", "chunk", "encode", "write", "total"), 0.0)
        self._counts = dict.fromkeys(("documents", "pages", "tokens"), 0)
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        start = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._seconds[name] += time.monotonic() - start

    def encoded(self, window: Sequence[_Chunked]) -> None:
        """Count documents that were encoded."""
        with self._lock:
            self._counts["documents"] += len(window)
            self._counts["pages"] += sum(len(item.document.page_starts) for item in window)
            self._counts["tokens"] += sum(len(chunk.ids) for item in window for chunk in item.chunks)

    def expect(self, files: int) -> None:
        """Raise the number of expected files by `files`, or lower it."""
        with self._lock:
            self._files = (self._files or 0) + files

    def finish(self, files: int) -> None:
        """Count files that somebody else read and encoded."""
        with self._lock:
            self._finished += files

    def count_read(self, chunks: int) -> None:
        """Count a file that was read; one that cannot be has no chunks."""
        with self._lock:
            self._read += 1
            self._chunks_read += chunks

    def count_encoded(self, chunks: int) -> None:
        """Count chunks that were encoded."""
        self.check()
        with self._lock:
            self._chunks_encoded += chunks

    @property
    def progress(self) -> PipelineProgress:
        """How far the work is: the chunks of a file are taken for those of all files read so far.

        It never goes back, although a long file that has just been read makes less of what is encoded.
        """
        with self._lock:
            share = self._chunks_encoded / self._chunks_read if self._chunks_read else 1.0
            done = self._finished
            self._told = max(self._told, done + self._read * min(1.0, share))
            return PipelineProgress(self._files, done + self._read, self._told)

    @property
    def times(self) -> StageTimes:
        """The times so far."""
        with self._lock:
            waited = max(0.0, self._seconds["total"] - self._seconds["encode"])
            values: dict[str, Any] = {**self._seconds, **self._counts}
            return StageTimes(wait=waited, **values)


@dataclass(frozen=True, slots=True)
class _Chunked:
    """A document that waits to be encoded.

    Attributes:
        tokens: what it counts in a window.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    tokens: int


class _StoppedError(Exception):
    """Ends the encoding of a window that nobody waits for."""


def encode_ahead(
    files: Iterable[Path],
    read: Callable[[Path], Document],
    encoder: DocumentEncoder,
    failed: Callable[[Path, DocumentError], Failure],
    clock: StageClock,
) -> Generator[Encoding | Failure, None, None]:
    """Read and encode files; yield each in the order of completion. Closing the generator ends all of it at once.

    Args:
        files: taken by the thread that takes the results, and only as fast as they are read.
        read: called from several threads.
        encoder: of the model.
        failed: what to yield for a file that `read` refuses, or that has no token.
        clock: measures the stages.
    """
    run = _PipelineRun(encoder, read, failed, clock)
    with clock.stage("total"), readers(usable_cores()) as pool, run.encoding():
        waiting = iter(files)
        while True:
            run.read_ahead(pool, waiting)
            done = run.take_done()
            if not done:
                return
            with clock.stage("write"):
                while done:  # nothing that was yielded is kept
                    yield done.popleft()


class _PipelineRun(Generic[Failure]):
    """The state that the caller's thread, the reading threads and the encoding thread share."""

    def __init__(
        self,
        encoder: DocumentEncoder,
        read: Callable[[Path], Document],
        failed: Callable[[Path, DocumentError], Failure],
        clock: StageClock,
    ) -> None:
        self._encoder, self._read, self._failed, self._clock = encoder, read, failed, clock
        self._most = CPU_WINDOW if encoder.info.device == "cpu" else DEVICE_WINDOW
        self._changed = threading.Condition()
        self._reading = 0  # files that are read or wait to be
        self._waiting: deque[_Chunked] = deque()
        self._encoding = False
        self._done: deque[Encoding | Failure] = deque()
        self._error: BaseException | None = None
        self._stopped = False

    @contextmanager
    def encoding(self) -> Iterator[None]:
        """Encode in a thread, which ends with the block, in the middle of a window if it must."""
        thread = threading.Thread(target=self._encode_all, name="colde-encode", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            thread.join()

    def read_ahead(self, pool: ThreadPoolExecutor, files: Iterator[Path]) -> None:
        """Let further files be read, unless enough text waits."""
        with self._changed:
            enough = sum(item.tokens for item in self._waiting) >= _WINDOWS_AHEAD * self._most
            free = 0 if enough else _FILES_AHEAD - self._reading
        for path in islice(files, free):
            with self._changed:
                self._reading += 1
            pool.submit(self._read_one, path)

    def take_done(self) -> deque[Encoding | Failure]:
        """Wait until something is done, and take it; nothing at the end of all files."""
        with self._changed:
            self._changed.wait_for(lambda: self._done or self._error or self._is_idle())
            if self._error is not None:
                raise self._error
            done, self._done = self._done, deque()
            return done

    def _is_idle(self) -> bool:
        return not (self._reading or self._waiting or self._encoding)

    def _read_one(self, path: Path) -> None:
        chunked: _Chunked | None = None
        failure: list[Failure] = []
        error: BaseException | None = None
        try:
            chunked = self._chunked(path)
        except DocumentError as reason:
            failure.append(self._failed(path, reason))
        except BaseException as reason:  # for the caller's thread, which waits
            error = reason
        self._clock.count_read(len(chunked.chunks) if chunked else 0)
        with self._changed:
            self._reading -= 1
            self._waiting.extend([chunked] if chunked else [])
            self._done.extend(failure)
            self._error = self._error or error
            self._changed.notify_all()

    def _chunked(self, path: Path) -> _Chunked:
        with self._clock.stage("read"):
            document = self._read(path)
        with self._clock.stage("chunk"):
            chunks = self._encoder.chunk(document)
        return _Chunked(document, chunks, _MIN_TOKENS + sum(len(chunk.ids) for chunk in chunks))

    def _encode_all(self) -> None:
        """Encode windows until there is an error, or nobody waits for more."""
        while window := self._next_window():
            encodings: list[Encoding] = []
            error: BaseException | None = None
            try:
                encodings = self._encode(window)
            except BaseException as reason:  # for the caller's thread, which waits
                error = reason
            with self._changed:
                self._encoding = False
                self._done.extend(encodings)
                self._error = self._error or error
                self._changed.notify_all()

    def _next_window(self) -> list[_Chunked]:
        """Wait for documents; take as many as fit, but one at least. Nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
            window: list[_Chunked] = []
            left = self._most
            while not self._stopped and self._waiting and (not window or self._waiting[0].tokens <= left):
                window.append(self._waiting.popleft())
                left -= window[-1].tokens
            self._encoding = bool(window)
            self._changed.notify_all()  # there is room to read ahead
            return window

    def _encode(self, window: Sequence[_Chunked]) -> list[Encoding]:
        left = sum(len(item.chunks) for item in window)

        def go_on(chunks: int) -> None:
            nonlocal left
            if self._stopped:
                raise _StoppedError
            left -= chunks
            self._clock.count_encoded(chunks)

        with self._clock.stage("encode"):
            documents = [item.document for item in window]
            encodings = self._encoder.encode_chunked(documents, [item.chunks for item in window], go_on)
        self._clock.count_encoded(left)  # equal chunks are encoded once
        self._clock.encoded(window)
        return encodings
