"""The web server under the service: its sockets and its limits."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from colde_cli.errors import OptionError
from colde_cli.service.guard import App

CONNECTIONS = 200
"""Maximum number of connections at a time. Slow clients hold these, never a thread."""


@contextmanager
def taken(host: str, port: int) -> Iterator[socket.socket]:
    """Take an address before anything slow is done. Nobody can connect before its `listen`.

    Raises:
        OptionError: it is taken, or not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    waiting = socket.socket(family)
    try:
        if os.name == "posix":  # else a restart would wait until the last connections are forgotten
            waiting.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        waiting.bind((host, port))
    except OSError as error:
        waiting.close()
        reason = error.strerror or str(error)
        raise OptionError(
            f"Cannot listen at {host}, port {port}: {reason}; choose another --port or --host."
        ) from error
    with waiting:
        yield waiting


def address_of(place: socket.socket) -> str:
    """What to type into a browser."""
    host, port = place.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run(app: App, place: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=CONNECTIONS,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
        ws="none",
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[place])
