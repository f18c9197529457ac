"""The web server under the service: its sockets and its limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from colde_cli.errors import OptionError
from colde_cli.service.guard import App

CONNECTIONS, OF_AN_ADDRESS = 256, 64
"""Maximum number of connections at a time, of all and of one address. Slow clients hold these, never a thread."""
HEADER_SECONDS = 10.0
"""Time for the head of a request to arrive, from the opening of the connection or the end of the answer before."""


class Connection(H11Protocol):  # type: ignore[misc]  # uvicorn is not looked into
    """A connection on which the head of a request has a deadline.

    Where there are too many, the one that has waited for a head for longest makes room: whoever opens connections and
    sends nothing shuts out nobody.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection, or turn one away."""
        super().connection_made(transport)
        self.since, self.deadline = self.loop.time(), self.loop.call_later(HEADER_SECONDS, self._late)
        address = (self.client or ("",))[0]
        of_address = [one for one in self.connections if (one.client or ("",))[0] == address]
        for those, most in ((of_address, OF_AN_ADDRESS), (self.connections, CONNECTIONS)):
            if len(those) > most:
                waiting = [one for one in those if one is not self and one.deadline is not None]
                min(waiting, key=lambda one: one.since, default=self).turn_away("429 Too Many Requests", 5)

    def data_received(self, data: bytes) -> None:
        """Take what arrives; a head that is whole has no deadline."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_clock()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it has begun."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._stop_clock()
            self.since, self.deadline = self.loop.time(), self.loop.call_later(HEADER_SECONDS, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline with the connection."""
        self._stop_clock()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP. Where it is the body of a request, that request ends as if its client had left.

        uvicorn would let the request answer as well, and write a traceback for each such body.
        """
        begun = False
        if self.cycle is not None and not self.cycle.response_complete:
            begun, self.cycle.disconnected = self.cycle.response_started, True
            self.cycle.message_event.set()
        if begun:
            self.transport.close()
        else:
            self.turn_away("400 Bad Request")

    def turn_away(self, status: str, retry_seconds: int | None = None) -> None:
        """Answer in a line, before anything is answered, and close."""
        self._stop_clock()
        self.connections.discard(self)
        if not self.transport.is_closing():
            retry = [] if retry_seconds is None else [f"Retry-After: {retry_seconds}"]
            lines = (f"HTTP/1.1 {status}", *retry, "Content-Length: 0", "Connection: close", "", "")
            self.transport.write("\r\n".join(lines).encode())
            self.transport.close()

    def _late(self) -> None:
        self.turn_away("408 Request Timeout", 1)

    def _stop_clock(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


@contextmanager
def taken(host: str, port: int) -> Iterator[socket.socket]:
    """Take an address before anything slow is done. Nobody can connect before its `listen`.

    Raises:
        OptionError: it is taken, or not one of this machine.
    """
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as waiting:
        try:
            if os.name == "posix":  # else a restart would wait until the last connections are forgotten
                waiting.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            waiting.bind((host, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise OptionError(
                f"Cannot listen at {host}, port {port}: {reason}; choose another --port or --host."
            ) from error
        yield waiting


def address_of(place: socket.socket) -> str:
    """What to type into a browser."""
    host, port = place.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run(app: App, place: socket.socket) -> None:
    """Serve until Ctrl-C."""
    # What strangers send wrongly would fill the log.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=CONNECTIONS,
        timeout_keep_alive=int(HEADER_SECONDS),
        http=Connection,
        timeout_graceful_shutdown=5,
        ws="none",
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[place])
