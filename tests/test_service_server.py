"""A process of `colde serve`: slow and rude clients, signals, and what is said before it serves."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from command_line import EXAMPLES, ROOT, check_trouble, run, run_here, run_python
from served import PATIENT, QUERY, running, small_corpus

pytest.importorskip("fastapi", reason="fastapi is not installed")

from colde_cli.service.server import OF_AN_ADDRESS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_corpus(tmp_path_factory.mktemp("served") / "papers")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with running(folder, *PATIENT) as (found, _):
        yield found


def connect(address: str) -> socket.socket:
    parts = urlsplit(address)
    assert parts.hostname
    assert parts.port
    return socket.create_connection((parts.hostname, parts.port), timeout=120)


def body_of(name: str, content: bytes) -> bytes:
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return head + content + b"\r\n--b--\r\n"


def head_of(address: str, length: int) -> bytes:
    lines = [
        *("POST /v1/rank HTTP/1.1", f"Host: {urlsplit(address).netloc}"),
        *("Content-Type: multipart/form-data; boundary=b", f"Content-Length: {length}", "Connection: close"),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    received = b""
    while part := connection.recv(65536):
        received += part
    return int(received.split(b" ", 2)[1]), received.partition(b"\r\n\r\n")[2]


def healthy(address: str) -> bool:
    with urllib.request.urlopen(f"{address}/v1/health", timeout=120) as found:
        return bool(json.load(found)["status"] == "ok")


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_not_counted_as_served(folder: Path) -> None:
    command = [sys.executable, "-m", "colde_cli", "serve", str(folder), "--port", "0", "--device", "cpu"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr
        said = [process.stderr.readline()]
        while said[-1] and "Serving" not in said[-1]:
            said.append(process.stderr.readline())
        process.terminate()
    assert "broken.pdf" in "".join(said)
    assert said[-1].startswith("Serving 3 documents at ")


def test_an_upload_is_ranked(address: str) -> None:
    body = body_of("q.md", QUERY)
    with connect(address) as connection:
        connection.sendall(head_of(address, len(body)) + body)
        status, sent = answer(connection)
    assert status == 200
    assert json.loads(sent)["schema"] == "colde.rank/1"


@pytest.mark.slow
def test_a_slow_client_is_told_so_and_holds_nobody_up(folder: Path) -> None:
    body = body_of("q.md", QUERY)
    with running(folder, "--timeout", "3s") as (address, _), connect(address) as slow:
        slow.sendall(head_of(address, len(body)) + body[:40])
        assert healthy(address)
        status, sent = answer(slow)
    assert status == 408
    assert "too long to arrive" in json.loads(sent)["detail"]


def test_clients_that_leave_do_no_harm(address: str) -> None:
    body = body_of("q.pdf", Path(EXAMPLES / "field-study-v1.pdf").read_bytes())
    for cut in (10, 300, len(body) // 2, len(body)):
        with connect(address) as connection:
            connection.sendall((head_of(address, len(body)) + body)[: cut + 160])
    with connect(address) as connection:
        connection.sendall(b"GARBAGE \x00\xff\r\n\r\n")
        assert answer(connection)[0] == 400
    test_an_upload_is_ranked(address)


def test_a_port_that_is_taken_is_said_in_a_sentence(address: str, folder: Path) -> None:
    taken = run_here("serve", folder, "--port", str(urlsplit(address).port))
    check_trouble(taken)
    assert "--port" in taken.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "COLDE_TOKEN"),
        (["--host", "0.0.0.0", "--token", "short"], "too short"),
        (["--max-upload", "much"], "--max-upload"),
        (["--timeout", "soon"], "--timeout"),
        (["--host", "203.0.113.7", "--token", "correct horse battery"], "Cannot listen"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], words: str
) -> None:
    refused = run(capsys, "serve", folder, *arguments)
    check_trouble(refused)
    assert words in refused.err
    check_trouble(run(capsys, "serve", folder / "nowhere", *arguments))


@pytest.mark.slow
def test_a_shared_index_is_served(tmp_path: Path) -> None:
    pytest.importorskip("lance")
    place = tmp_path / "papers.lance"
    assert run_here("index", EXAMPLES / "field-study-v1.pdf", "-o", place).status == 0
    with running(place, *PATIENT) as (address, _):
        assert healthy(address)


@pytest.mark.parametrize(("command", "module"), [("serve", "fastapi"), ("mcp", "mcp")])
def test_without_the_extra_the_command_says_how_to_get_it(tmp_path: Path, command: str, module: str) -> None:
    code = (
        "import sys, importlib.util as util; real = util.find_spec\n"
        f"util.find_spec = lambda name, *rest: None if name == {module!r} else real(name, *rest)\n"
        f"sys.argv = ['colde', {command!r}] + {[str(tmp_path)] if command == 'serve' else []!r}\n"
        "from colde_cli.commands.app import main; main()\n"
    )
    done = run_python(code)
    assert f"pip install 'colde[{command}]'" in done.err
    check_trouble(done)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_it_quietly_and_the_port_is_free_again(folder: Path) -> None:
    # At an address where nobody else listens: at the usual one another test could take the port that is free again.
    own = f"127.{os.getpid() >> 8 & 127}.{os.getpid() & 255}.7" if sys.platform == "linux" else "127.0.0.1"
    with running(folder, "--host", own) as (address, process):
        assert healthy(address)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind((own, urlsplit(address).port))


def test_connections_that_ask_nothing_shut_out_nobody(address: str) -> None:
    slow = [connect(address) for _ in range(OF_AN_ADDRESS + 20)]
    try:
        for connection in slow:
            with suppress(OSError):  # turned away
                connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert healthy(address)
        with suppress(ConnectionResetError):  # it sent more than was read
            assert answer(slow[0])[0] == 429
        assert answer(slow[-1])[0] == 408
        assert healthy(address)
    finally:
        for connection in slow:
            connection.close()


def test_a_body_that_nobody_may_send_is_refused_before_it_arrives(address: str) -> None:
    head = f"POST /login HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    for length, body in (
        ("Content-Length: 100000000", b""),
        ("Transfer-Encoding: chunked", b"7d0\r\n" + b"x" * 2000 + b"\r\n7d1\r\n" + b"x" * 2001 + b"\r\n"),
    ):
        with connect(address) as connection:
            connection.sendall(f"{head}{form}{length}\r\n\r\n".encode() + body)
            assert b" 413 " in connection.recv(65536).split(b"\r\n")[0]


@pytest.mark.slow
def test_fifty_clients_of_small_requests_are_all_served(address: str) -> None:
    body = body_of("q.md", QUERY)

    def ask(_: int) -> int:
        with connect(address) as connection:
            connection.sendall(head_of(address, len(body)) + body)
            return answer(connection)[0]

    with ThreadPoolExecutor(50) as clients:
        assert list(clients.map(ask, range(60))) == [200] * 60


@pytest.mark.slow
def test_hundreds_of_made_up_requests_break_nothing_and_write_no_log(folder: Path) -> None:
    with running(folder, *PATIENT) as (address, process), ThreadPoolExecutor(1) as reader:
        assert process.stderr
        said = reader.submit(process.stderr.read)
        send_made_up_requests(address)
        process.terminate()
        # A log that strangers can fill fills a disk, or a pipe that nobody reads and that then holds up the service.
        assert not said.result()


def send_made_up_requests(address: str) -> None:
    draw = random.Random(25)
    methods = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"get", b"\xff"]
    paths = [b"/", b"/login", b"/docs", b"/openapi.json", b"/static/page.css", b"/static/../x", b"*", b"//", b"/%00"]
    paths += [b"/v1/" + name for name in b"rank diff report documents health ready metrics ? %2e%2e".split()]
    lines = [
        *(b"Content-Type: application/x-www-form-urlencoded", b"Content-Type: multipart/form-data; boundary=b"),
        *(b"Content-Type: multipart/form-data", b"Host: evil.example", b"Transfer-Encoding: chunked", b"Expect: x"),
        *(b"Content-Length: -1", b"Content-Length: 99", b"Cookie: colde-session=\xe9;;=", b"Origin: null", b"\x00: x"),
        *(b"Accept: text/html", b"Connection: upgrade", b"Upgrade: websocket", b"X:" * 99),
        b"Authorization: Bearer \xff",
    ]
    parts = [
        *(b"document=a.md", b"&k=", b"&=", b"%", b"\r\n", b"--b\r\n", b"--b--", b"0\r\n\r\n", b"\x00\xff", b"9" * 60),
        b'Content-Disposition: form-data; name="file"; filename="x.md"\r\n\r\nA pump.\r\n',
        b'filename="../../x.pdf"',
    ]
    statuses = Counter[int]()
    for _ in range(200):
        body = b"".join(draw.choices(parts, k=draw.randrange(7)))
        head = [b"%s %s HTTP/1.1" % (draw.choice(methods), draw.choice(paths)), b"Host: 127.0.0.1"]
        head += [*draw.sample(lines, draw.randrange(4)), b"Content-Length: %d" % len(body), b"Connection: close"]
        with connect(address) as connection:
            connection.sendall(b"\r\n".join(head[: None if draw.random() < 0.8 else -1]) + b"\r\n\r\n" + body)
            connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):  # closed while there was more to read
                received = b"".join(iter(lambda: connection.recv(65536), b""))
                statuses[int(received.split(b" ", 2)[1]) if received else 0] += 1
    assert not [status for status in statuses if status >= 500 and status != 503], statuses
    assert statuses[200] > 5
    assert healthy(address)
