"""Jobs of requests: a few at a time, some waiting, none for longer than a limit; what nobody waits for is stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from colde_cli.errors import RequestError

Result = TypeVar("Result")
Progress = Callable[[int], None]

_LOOK = 0.1
"""Seconds between two looks at whether the client is still there."""


class StoppedError(Exception):
    """Raised inside a job that nobody waits for any more; nobody sees it."""


class Workers:
    """Threads for the jobs of requests. They share the model, so more threads than a few make nothing faster."""

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        """Run `threads` jobs at a time, let `waiting` more wait, and give each `seconds` in all."""
        self.seconds = seconds
        self._pool = ThreadPoolExecutor(threads, "colde-serve")
        self._places = threading.BoundedSemaphore(threads + waiting)
        self._closed = threading.Event()

    async def run(
        self, job: Callable[[Progress], Result], gone: Callable[[], Awaitable[bool]] | None = None
    ) -> Result:
        """Run a job in a thread.

        Args:
            job: takes a function that it calls now and then; that function ends a job that nobody waits for.
            gone: says whether the client has gone.

        Raises:
            RequestError: too many jobs wait, or this one took too long (503); or the client has gone (499).
        """
        if self._closed.is_set() or not self._places.acquire(blocking=False):
            raise RequestError(503, "Too many requests are waiting; try again in a few seconds.")
        stop = threading.Event()
        future = self._pool.submit(self._run, job, stop)
        future.add_done_callback(lambda _: self._places.release())
        try:
            return await self._result(future, gone)
        finally:
            stop.set()
            future.cancel()

    def close(self) -> None:
        """Stop all jobs."""
        self._closed.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, job: Callable[[Progress], Result], stop: threading.Event) -> Result:
        def check(_: int) -> None:
            if stop.is_set() or self._closed.is_set():
                raise StoppedError

        check(0)
        return job(check)

    async def _result(self, future: Future[Result], gone: Callable[[], Awaitable[bool]] | None) -> Result:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        waiting = asyncio.wrap_future(future)
        waiting.add_done_callback(_seen)
        while not (await asyncio.wait({waiting}, timeout=_LOOK))[0]:
            if loop.time() > end:
                raise RequestError(
                    503,
                    f"The request took longer than {self.seconds:g} seconds; try it with a smaller document.",
                )
            if gone is not None and await gone():
                raise RequestError(499, "The client has gone.")
        return waiting.result()


def _seen(waiting: asyncio.Future[Result]) -> None:
    """Asyncio complains about errors that nobody looks at."""
    if not waiting.cancelled():
        waiting.exception()
