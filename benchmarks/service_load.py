"""Load `colde serve` as rude clients do: memory of the server and of its readers, and how long health is silent.

    python benchmarks/service_load.py [--text FILE]

Four loads, one after another, on a server of its own over the examples, on the loopback: eight posts of 100 MB to
/login that never end; 210 connections with an unfinished head; 100 small requests of 50 clients; a text of 40 MB, or
FILE, sent to /v1/rank. Meanwhile /v1/health is asked twenty times a second.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = b"The pump lifts water into the tower at night, when the valley is asleep and the well is full.\n"
FORM = {"Content-Type": "multipart/form-data; boundary=b"}
HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="long.txt"\r\n\r\n'


def memory(process: int) -> tuple[int, int]:
    """Megabytes of a process, and with all processes under it."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
        listed = [path.read_text(encoding="ascii").split() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return 0, 0
    own = int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) >> 10 if "VmRSS" in status else 0
    return own, own + sum(memory(int(child))[1] for children in listed for child in children)


class Watched:
    """The server while it is loaded."""

    def __init__(self, process: int, port: int) -> None:
        self.process, self.port = process, port
        self.worst, self.own, self.all = 0.0, 0, 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            begun = time.monotonic()
            answer = post(self.port, "GET", "/v1/health")
            silent = time.monotonic() - begun if answer == 200 else float("inf")
            own, whole = memory(self.process)
            self.worst, self.own, self.all = max(self.worst, silent), max(self.own, own), max(self.all, whole)

    def end(self) -> str:
        """Stop looking: the largest values."""
        self._ended.set()
        self._thread.join()
        return f"server {self.own} MB, with readers {self.all} MB, health silent for {self.worst:.2f} s at most"


@contextmanager
def served() -> Iterator[tuple[int, int]]:
    """Process and port of a server over the examples."""
    command = [sys.executable, "-m", "colde_cli", "serve", str(ROOT / "examples"), "--port", "0", "--device", "cpu"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr
        port = next(int(found[1]) for line in process.stderr if (found := re.search(r"at http://[\d.]+:(\d+)/", line)))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield process.pid, port
        finally:
            process.terminate()


def post(port: int, method: str, path: str, body: bytes = b"") -> int:
    """Send a request; its status, or 0 where the connection fails."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    try:
        connection.request(method, path, body or None, FORM if body else {})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def logins(port: int) -> str:
    """Eight posts of 100 MB that never end."""
    head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    with ThreadPoolExecutor(8) as clients:
        return f"{sum(clients.map(lambda _: _push(port, head), range(8))) / 1e6:.1f} MB taken"


def _push(port: int, head: bytes) -> int:
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection, suppress(OSError):
        connection.sendall(head + b"Content-Length: 100000000\r\n\r\ntoken=")
        for _ in range(990):
            connection.sendall(b"x" * 100_000)
            sent += 100_000
    return sent


def heads(port: int) -> str:
    """210 connections with an unfinished head, for 15 seconds."""
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(210)]
    for connection in connections:
        with suppress(OSError):
            connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    time.sleep(15)
    for connection in connections:
        connection.close()
    return ""


def clients(port: int) -> str:
    """100 small requests of 50 clients."""
    body = HEAD + SENTENCE + b"\r\n--b--\r\n"
    begun = time.monotonic()
    with ThreadPoolExecutor(50) as pool:
        statuses = Counter(pool.map(lambda _: post(port, "POST", "/v1/rank", body), range(100)))
    return f"statuses {dict(statuses)} in {time.monotonic() - begun:.1f} s"


def main() -> None:
    """Run all loads and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--text", type=Path, help="text to send in place of 40 MB of one sentence")
    given = parser.parse_args()
    text = given.text.read_bytes() if given.text else SENTENCE * (40_000_000 // len(SENTENCE))

    def long(port: int) -> str:
        begun = time.monotonic()
        status = post(port, "POST", "/v1/rank", HEAD + text + b"\r\n--b--\r\n")
        return f"status {status} after {time.monotonic() - begun:.1f} s"

    loads: dict[str, Callable[[int], str]] = {
        "8 posts of 100 MB to /login": logins,
        "210 unfinished heads": heads,
        "50 clients": clients,
        f"a text of {len(text) / 1e6:.1f} MB": long,
    }
    for name, load in loads.items():
        with served() as (process, port):
            start, watched = memory(process)[0], Watched(process, port)
            said = load(port)
            print(f"{name}: {said}; start {start} MB, {watched.end()}", flush=True)


if __name__ == "__main__":
    main()
