"""The web server under the service: its sockets and its limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from colde_cli.errors import OptionError

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
        self.timeout_keep_alive_task = self.loop.call_later(HEADER_SECONDS, self.timeout_keep_alive_handler)
        address = (self.client or ("",))[0]
        of_address = [one for one in self.connections if (one.client or ("",))[0] == address]
        for those, most in ((of_address, OF_AN_ADDRESS), (self.connections, CONNECTIONS)):
            if len(those) > most:
                waiting = [one for one in those if one is not self and one.timeout_keep_alive_task is not None]
                first = min(waiting, key=lambda one: one.timeout_keep_alive_task.when(), default=self)
                first.turn_away("429 Too Many Requests", 5)

    def data_received(self, data: bytes) -> None:
        """Take what arrives: only a whole head ends its deadline, which to uvicorn is that of the first byte."""
        deadline, self.timeout_keep_alive_task, before = self.timeout_keep_alive_task, None, self.cycle
        super().data_received(data)
        if self.cycle is before:
            self.timeout_keep_alive_task = deadline
        elif deadline is not None:
            deadline.cancel()

    def timeout_keep_alive_handler(self) -> None:
        """Close at the deadline; who has begun a request, or never did, is told why."""
        if self.cycle is None or self.conn.trailing_data[0]:
            self.turn_away("408 Request Timeout", 1)
        else:
            super().timeout_keep_alive_handler()

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
        self.connections.discard(self)
        if not self.transport.is_closing():
            retry = [] if retry_seconds is None else [f"Retry-After: {retry_seconds}"]
            lines = (f"HTTP/1.1 {status}", *retry, "Content-Length: 0", "Connection: close", "", "")
            self.transport.write("\r\n".join(lines).encode())
            self.transport.close()


def taken(host: str, port: int) -> socket.socket:
    """Take an address before anything slow is done. Nobody can connect before its `listen`.

    Raises:
        OptionError: it is taken, or not one of this machine.
    """
    place = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # else a restart would wait until the last connections are forgotten
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((host, port))
    except OSError as error:
        place.close()
        reason = error.strerror or str(error)
        raise OptionError(
            f"Cannot listen at {host}, port {port}: {reason}; choose another --port or --host."
        ) from error
    return place


def address_of(place: socket.socket) -> str:
    """What to type into a browser."""
    host, port = place.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run(app: ASGIApp, place: socket.socket) -> None:
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
