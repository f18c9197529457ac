"""What a terminal shows of long work, and where nothing is shown."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import ROOT

from colde_cli.views import progress as views

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("total", [None, 5])
def test_a_bar_waits_a_moment_and_then_counts(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(views, "_DELAY", 60.0)
    with views.progress("Reading", "files", total) as advance:
        advance(2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(views, "_DELAY", 0.0)
    shown, wanted = "", "2/5 files" if total else "2 files"
    with views.progress("Reading", "files", total) as advance:
        advance(2)
        end = time.monotonic() + 120
        while wanted not in shown and time.monotonic() < end:
            time.sleep(0.05)
            shown += capsys.readouterr().err
    assert "Reading" in shown
    assert wanted in shown
    assert capsys.readouterr().out == ""


def test_nothing_is_shown_off_a_terminal_or_when_quiet(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_DELAY", 0.0)
    with views.progress("Reading", "files", 5) as advance:
        advance(5)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with views.progress("Reading", "files", 5, show=False) as advance:
        advance(5)
        time.sleep(0.3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.4, "3 s"), (119, "119 s"), (130, "2 min"), (7_100, "118 min"), (9_000, "2 h")]
)
def test_the_time_left_has_one_unit(seconds: float, text: str) -> None:
    assert views._count(views.Bar("Encoding", 1, 3), "documents", seconds) == f"1/3 documents, {text} left"


def on_a_terminal(tmp_path: Path, *arguments: str) -> str:
    """What `colde` writes to a terminal as its standard error, without the codes of the terminal.

    It draws at once and often: how fast the machine is does not matter.
    """
    code = (
        "from colde_cli.views import progress; progress._DELAY, progress._PAUSE = 0.0, 0.01\n"
        "from colde_cli.commands.app import main; main()"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # what Linux says when the other end is closed
            break
        written += part
        if not part:
            break
    os.close(ours)
    assert process.wait() == 0, written
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())


@pytest.mark.slow
def test_a_terminal_shows_how_far_a_corpus_is_and_the_time_left(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for number in range(12):
        words = " ".join(f"Pump {number * place} lifts water." for place in range(60))
        (tmp_path / "corpus" / f"{number}.txt").write_text(words)
    shown = on_a_terminal(tmp_path, "index", "corpus", "-o", "papers.colde", "--threads", "1", "--no-cache")
    assert re.search(r"Reading +\S+ [0-9]+/12 documents", shown)
    assert re.search(r"Encoding +\S+ [0-9]+/12 documents, [0-9]+ (s|min) left", shown)
    few = [f"corpus/{number}.txt" for number in range(2)]
    assert on_a_terminal(tmp_path, "index", *few, "-o", "few.colde", "--threads", "1", "--no-cache", "-q") == ""
