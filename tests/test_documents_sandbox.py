"""Readers in processes of their own: kept, replaced, broken off, and never outliving their parent."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command_line import V1, V2

from colde_cli.documents import sandbox
from colde_cli.documents.reading import read
from colde_cli.documents.sandbox import end_idle, readers, readers_that_end, sandboxed, start_reader

_READER = """
import ctypes, os, sys, time
from colde_cli.documents.worker import limit_step, send, write

seen = []

def answer(request, data):
    task = request["task"]
    seen.append(task)
    send("begin", worker=os.getppid() if not request["kept"] else os.getpid(), process=os.getpid(), seen=len(seen))
    if task == "sleep":
        time.sleep(120)
    elif task == "step":
        limit_step(0.2)
        while True:
            pass
    elif task == "crash":
        ctypes.string_at(0)
    elif task == "cut":
        sys.stdout.write('{"kind": "half')
        sys.stdout.flush()
        os._exit(1)
    elif task == "memory":
        bytearray(1 << 30)
    elif task == "spin":
        while True:
            pass
    elif task == "fill":
        bytearray(500 << 20)
    write("end", read=len(data))
"""
WAYS = [pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux")), False]


@pytest.fixture(params=WAYS, ids=["children", "here"])
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The module of a reader that does as it is told, in both ways of reading."""
    monkeypatch.setattr(sandbox, "CHILDREN", request.param)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "obedient.py").write_text(_READER)
    end_idle()
    yield "obedient"
    end_idle()


def ask(program: str, task: str, data: bytes = b"", *, wall: float = 60, **limits: float) -> list[dict[str, Any]]:
    request = {"task": task, "memory": 1 << 31, "seconds": 60, **limits}
    with sandboxed(program, io.BytesIO(data), request, wall) as messages:
        return list(messages)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends_soon(process: int) -> bool:
    """Whether a process ends long before its sleep of two minutes."""
    for _ in range(6000):
        if not is_running(process):
            return True
        time.sleep(0.01)
    return False


def test_a_reader_is_kept_for_the_next_file_and_gets_all_of_each(program: str) -> None:
    sizes = [0, 1, 3_000_000, 70_000]
    answers = [ask(program, "read", b"x" * size) for size in sizes]
    assert [answer[-1]["read"] for answer in answers] == sizes
    assert len({answer[0]["worker"] for answer in answers}) == 1


def test_nothing_of_one_file_reaches_the_next(program: str) -> None:
    answers = [ask(program, "read")[0] for _ in range(3)]
    assert [answer["seen"] for answer in answers] == ([1, 1, 1] if sandbox.CHILDREN else [1, 2, 3])
    assert len({answer["process"] for answer in answers}) == (3 if sandbox.CHILDREN else 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "limits"),
    [
        *(("crash", {}), ("cut", {}), ("step", {}), ("sleep", {"wall": 0.5})),
        *(("memory", {"memory": 1 << 29}), ("spin", {"seconds": 1})),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="limits of memory and time are those of POSIX")
def test_a_reader_that_fails_or_passes_a_limit_answers_no_more_and_the_next_file_is_read(
    program: str, task: str, limits: dict[str, float]
) -> None:
    assert [message["kind"] for message in ask(program, "read")] == ["begin", "end"]
    kinds = [message["kind"] for message in ask(program, task, b"", **limits)]
    while not kinds and 0 < limits.get("wall", 0) < 100:  # a busy machine did not get as far as to begin
        limits = {"wall": 4 * limits["wall"]}
        kinds = [message["kind"] for message in ask(program, task, b"", **limits)]
    assert kinds == ["begin"]
    assert [message["kind"] for message in ask(program, "read", b"abc")] == ["begin", "end"]


def test_another_thread_ends_the_readers_that_a_thread_waits_for(program: str) -> None:
    begun, known = threading.Event(), dict[str, Any]()

    def read() -> None:
        with readers_that_end() as end, suppress(KeyboardInterrupt):
            known["end"] = end
            with sandboxed(program, io.BytesIO(), {"task": "sleep", "memory": 1 << 31, "seconds": 60}, 900) as messages:
                for message in messages:
                    known["process"] = message["process"]
                    begun.set()
            ask(program, "read")  # no other starts
            known["went on"] = True

    reading = threading.Thread(target=read)
    reading.start()
    assert begun.wait(120)
    known["end"]()
    reading.join(100)
    assert not reading.is_alive()
    assert ends_soon(known["process"])
    assert "went on" not in known


def test_a_reader_is_replaced_after_so_many_files(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_FILES", 2)
    workers = [ask(program, "read")[0]["worker"] for _ in range(4)]
    assert workers[0] == workers[1] != workers[2] == workers[3]


def test_a_reader_is_replaced_after_a_file_that_took_much_memory(program: str) -> None:
    workers = [ask(program, task)[0]["worker"] for task in ("fill", "read")]
    # A child returns its memory when it ends.
    assert (workers[0] == workers[1]) == sandbox.CHILDREN


def test_a_reader_that_died_while_idle_is_replaced(program: str) -> None:
    worker = ask(program, "read")[0]["worker"]
    os.kill(worker, signal.SIGTERM)
    assert ends_soon(worker)
    while any(process.alive for process in sandbox._idle[program]):
        time.sleep(0.01)  # its threads end after the process shows as ended
    assert [message["kind"] for message in ask(program, "read")] == ["begin", "end"]


def test_readers_started_before_they_are_needed_are_used(program: str) -> None:
    start_reader(program, 2)
    start_reader(program, 2)
    workers = [ask(program, "read")[0]["worker"] for _ in "ab"]
    assert len(sandbox._idle[program]) == 2
    assert workers[0] == workers[1], "the one that was used last is warm"


def test_an_answer_that_is_not_read_to_its_end_costs_the_reader(program: str) -> None:
    request = {"task": "sleep", "memory": 1 << 31, "seconds": 60}
    with sandboxed(program, io.BytesIO(), request, 60) as messages:
        process = next(messages)["process"]
    assert ends_soon(process)
    assert [message["kind"] for message in ask(program, "read")] == ["begin", "end"]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_reader_does_not_outlive_its_parent(program: str, sent: signal.Signals) -> None:
    """Whatever ends the parent; the reader sleeps, and another one waits for a file."""
    code = f"""
import io, signal, sys
from colde_cli.documents import sandbox
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
sys.path.append({sys.path[0]!r})
sandbox.CHILDREN = {sandbox.CHILDREN}
program = {program!r}
sandbox.start_reader(program, 2)
idle = sandbox._idle[program][0]._process.pid
request = {{"task": "sleep", "memory": 1 << 31, "seconds": 60}}
with sandbox.sandboxed(program, io.BytesIO(), request, 60) as messages:
    begun = next(messages)
    print(begun["worker"], begun["process"], idle, flush=True)
    next(messages)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        processes = {int(number) for number in parent.stdout.readline().split()}
        assert len(processes) == (3 if sandbox.CHILDREN else 2)
        assert all(is_running(process) for process in processes)
        parent.send_signal(sent)
        parent.wait()
    assert all(ends_soon(process) for process in processes)


def test_an_interrupt_ends_the_readers_and_begins_no_other(program: str) -> None:
    begun: list[object] = []
    ended: list[object] = []

    def answers() -> list[dict[str, Any]]:
        request = {"task": "sleep", "memory": 1 << 31, "seconds": 60}
        with sandboxed(program, io.BytesIO(), request, 120) as messages:
            begun.append(next(messages))
            rest = list(messages)
            ended.extend(rest)
            return rest

    def interrupted() -> None:
        with readers(1) as pool:
            waiting.extend(pool.submit(answers) for _ in range(2))
            while not begun:
                time.sleep(0.01)
            raise KeyboardInterrupt

    waiting: list[Future[list[dict[str, Any]]]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # It was ended and did not end, which takes it two minutes.
    assert waiting[0].result() == []
    assert waiting[1].cancelled()
    assert not ended
    assert read(V1).text


@pytest.mark.slow
@pytest.mark.usefixtures("program")
def test_both_ways_read_the_same(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<h1>Lease</h1><p>It ends in May.</p>")
    first = [read(path) for path in (V1, page, V2, V1)]
    assert first[0] == first[3]
    sandbox.CHILDREN = not sandbox.CHILDREN
    end_idle()
    assert [read(path) for path in (V1, page, V2, V1)] == first
